"""Gradescope's `results.json` (gradescope-autograders.readthedocs.io/en/latest/specs)."""

from __future__ import annotations

import json
from typing import Any

from grader.course import Course
from grader.report.class_statistics import StudentResults
from grader.safe_text import escaped

from .exporter import Wanted
from .graded_work import NOT_GRADED, GradedAnswer, answers, is_graded, markdown, notes, score, tagless


def results_json(course: Course, record: StudentResults, wanted: Wanted) -> dict[str, bytes]:
    """One test for each answer. Where anything could not be graded nothing has a score: Gradescope shows the message
    and takes the run for a failed one, which can be run again.
    """
    known = is_graded(record)
    tests = [_test(each, number, known) for number, each in enumerate(answers(record), 1)]
    said = [*([] if known else [NOT_GRADED]), *notes(record)]
    document = {
        **({"score": score(record)} if known else {}),
        "output": tagless("\n".join(said)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"schema": "handgrad/result@1", "course": record.course},
    }
    return {"results.json": as_json(document)}


def _test(each: GradedAnswer, number: int, known: bool) -> dict[str, Any]:
    points = {"score": each.answer.score, "max_score": each.answer.max_score}
    passed = each.answer.status == "passed"
    return {
        **(points if known else {}),
        **({"status": "passed" if passed else "failed"} if each.is_graded else {}),
        "name": each.name,
        "number": str(number),
        "output": "" if passed else "\n\n".join(markdown(line) for line in each.sentences),
        "output_format": "md",
        "visibility": "visible",
        "tags": [tag for tag in (each.exercise.unit, each.code) if tag],
        "extra_data": {"status": each.answer.status, "code": each.code or None},
    }


def as_json(document: Any) -> bytes:
    """A document on one line, in which everything that does not print is escaped."""
    return (escaped(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n").encode()
