"""What platforms read, in the words of their own documentation: schemas, and readers as small as can be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from grader.export.platforms import PLATFORMS

CLASS_SHEETS = ("canvas", "moodle")
"""Platforms that read one sheet of a class, which is filled."""
STUDENT_PLATFORMS = tuple(name for name in PLATFORMS if name not in CLASS_SHEETS)
"""Platforms that read files of each student: every test of all of them tries a new one, too."""
RUNNER = {
    "CLASSROOM": "nn", "ASSIGNMENT": "linear", "ASSIGNMENT_TYPE": "individual", "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d", "COMMIT_URL": "c", "RELEASE_URL": "r",
    "DATETIME": "2026-06-01T14:32:01Z",
}  # fmt: skip
"""The environment variables of a runner of Classroom 50."""

POINTS = {"type": "number", "minimum": 0}
ANY_POINTS = {"type": "number"}  # of a test; neither page names a least value
TEXT = {"type": "string"}
VISIBLE = {"enum": ["visible", "hidden", "after_due_date", "after_published"]}
FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}


def closed(required: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object", "additionalProperties": False, "required": required.split(), "properties": properties,
    }  # fmt: skip


# gradescope-autograders.readthedocs.io/en/latest/specs, "Output format"
GRADESCOPE = closed(
    "tests",
    {
        "score": POINTS, "execution_time": POINTS, "output": TEXT, "output_format": FORMATS,
        "test_output_format": FORMATS, "test_name_format": FORMATS, "visibility": VISIBLE,
        "stdout_visibility": VISIBLE, "extra_data": {"type": "object"}, "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": closed(
                "name",
                {
                    "score": ANY_POINTS, "max_score": POINTS, "status": {"enum": ["passed", "failed"]}, "name": TEXT,
                    "name_format": FORMATS, "number": TEXT, "output": TEXT, "output_format": FORMATS,
                    "tags": {"type": "array", "items": TEXT}, "visibility": VISIBLE, "extra_data": {"type": "object"},
                },
            ),
        },
    },
)  # fmt: skip

# PrairieLearn/PrairieLearn, docs/externalGrading.md, "Grading results", at commit 06a6d59
PRAIRIELEARN = {
    **closed(
        "gradable",
        {
            "gradable": {"type": "boolean"}, "score": {"type": "number", "minimum": 0, "maximum": 1},
            "message": TEXT, "output": TEXT, "format_errors": {"type": "array", "items": TEXT},
            "tests": {
                "type": "array",
                "items": closed(
                    "name points max_points",
                    {
                        "name": TEXT, "description": TEXT, "points": ANY_POINTS, "max_points": POINTS, "message": TEXT,
                        "output": TEXT,
                    },
                ),
            },
        },
    ),
    "if": {"properties": {"gradable": {"const": True}}},
    "then": {"required": ["score"]},
}  # fmt: skip

# Submitty/submitty.github.io, _docs/instructor/autograding/validation.md, "Success" and "Failure", at commit 3df7839
COLOUR = {"enum": ["information", "failure", "warning", "success"]}
SUBMITTY = {
    "oneOf": [
        closed("status message", {"status": {"const": "failure"}, "message": TEXT}),
        closed(
            "status data",
            {
                "status": {"const": "success"},
                "data": closed(
                    "score message",
                    {
                        "score": {"type": "number", "minimum": 0, "maximum": 1},
                        "message": {
                            "type": "array",
                            "items": closed("message status", {"message": TEXT, "status": COLOUR}),
                        },
                    },
                ),
            },
        ),
    ]
}

# foundation50/classroom50, wiki page "Advanced Autograding", "The result.json contract", and what
# `validate_result` of its collect_scores.py refuses, once its runner has stamped what is its own to say
NAME = {"type": "string", "minLength": 1}
WHOLE = {"type": "integer", "minimum": 0}
CLASSROOM50 = closed(
    "schema classroom assignment assignment_type owner submission commit release review datetime score max-score tests",
    {
        "schema": {"const": "classroom50/result/v1"}, "classroom": NAME, "assignment": NAME,
        "assignment_type": {"enum": ["individual", "group", "team"]}, "owner": NAME,
        "submission": {"type": "string", "pattern": "^submit/"}, "commit": NAME, "release": NAME, "review": NAME,
        "datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "score": WHOLE, "max-score": WHOLE,
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["test-name", "passed", "score", "max-score"],
                "properties": {"test-name": NAME, "passed": {"type": "boolean"}, "score": WHOLE, "max-score": WHOLE},
            },
        },
    },
)  # fmt: skip


def junit_tests(content: bytes) -> dict[str, tuple[str, str]]:
    """Return outcome and message by test name, as Artemis reads them; two tests of one name are an error.

    See ls1intum/Artemis, TestResultXmlParser.java at commit 1393b0d.
    """
    root = ET.fromstring(content)
    entries: dict[str, tuple[str, str]] = {}
    for case in root.iter("testcase"):
        children = [child for child in case if child.tag in ("failure", "error", "skipped")]
        assert len(children) <= 1
        assert case.get("name") not in entries
        outcome = (children[0].tag, children[0].get("message", "")) if children else ("passed", "")
        entries[case.get("name", "")] = outcome
    for suite in root.iter("testsuite"):
        counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
        tags = [tag for tag, _ in entries.values()]
        assert counts == [str(len(tags)), *(str(tags.count(tag)) for tag in ("failure", "error", "skipped"))]
    return entries


COMMAND = re.compile(r"::(\w[\w-]*)(?: ([^:]*))?::(.*)")


def workflow_commands(log: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the commands to GitHub's runner in a log: name, properties and message of each, unescaped."""
    entries = []
    for line in re.split(r"\r\n|\r|\n", log):
        if at := re.match(r"\s*" + COMMAND.pattern, line):
            properties = dict(pair.split("=", 1) for pair in at[2].split(",")) if at[2] else {}
            shown = {
                key: _unescaped(value.replace("%3A", ":").replace("%2C", ",")) for key, value in properties.items()
            }
            entries.append((at[1], shown, _unescaped(at[3])))
        elif "##[" in line:
            entries.append(("old", {}, line))
    return entries


def _unescaped(text: str, besides: dict[str, str] | None = None) -> str:
    for written, meant in {**(besides or {}), "%0D": "\r", "%0A": "\n", "%25": "%"}.items():
        text = text.replace(written, meant)
    return text


def vpl_grade(output: str) -> tuple[list[str], list[str]]:
    """Return what VPL reads in a program's output: the proposed grades, and the titles of the comments."""
    grades, titles, inside = [], [], False
    for line in output.splitlines():
        if line.startswith("Grade :=>>"):
            grades.append(line.removeprefix("Grade :=>>").strip())
        elif line in ("<|--", "--|>"):
            inside = line == "<|--"
        elif line.startswith("Comment :=>>"):
            titles.append(line)
        elif inside and line.startswith("-"):
            titles.append(line[1:])
    return grades, titles


def score_in(platform: str, files: Mapping[str, bytes], most: float) -> float | None:
    """Return the points, of `most`, that a platform reads in one student's files; `None` if there is no score.

    A platform that is not named here must be told "2 of 10 points".
    """
    texts = [content.decode() for content in files.values()]
    if platform == "vpl":
        grades, _ = vpl_grade(texts[0])
        return float(grades[0]) if grades else None
    if platform == "gradescope":
        return json.loads(texts[0]).get("score")
    if platform == "prairielearn":
        result = json.loads(texts[0])
        return result["score"] * most if result["gradable"] else None
    if platform == "submitty":
        result = json.loads(texts[0])
        return result["data"]["score"] * most if result["status"] == "success" else None
    if platform == "classroom50":
        return most * json.loads(texts[0])["score"] / json.loads(texts[0])["max-score"] if texts else None
    points = (re.search(r"(-?[\d.]+) of [\d.]+ points", re.sub("</?b>", "", text)) for text in texts)
    return next((float(match[1]) for match in points if match), None)
