"""The platforms of `handgrad export --to`, and the formats of those that take a student at a time.

They are PrairieLearn, Submitty and Classroom 50 (JSON), GitHub, JUnit and VPL. GitHub's annotations are workflow
commands, one a line. Everything in them is escaped as the runner undoes it, so that no text can end a command or begin
another.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from grader.course.course import Course
from grader.rendering.render_text import group_alike
from grader.results.points import exact
from grader.results.records import Status, StudentResults

from .feedback import feedback
from .grade_sheets import canvas, moodle
from .graded_work import (
    NOT_GRADED,
    Exported,
    Exporter,
    ExportOptions,
    GradedAnswer,
    answers,
    as_json,
    is_graded,
    markdown,
    max_score,
    notes,
    number,
    of_points,
    score,
    share,
    tagless,
    text,
)
from .gradescope import results_json

LONGEST_STUDENT = 60  # characters
LONGEST_NAME = 160  # bytes; a suffix, the platform's name and a temporary ending keep it below 255
StudentExporter = Callable[[Course, StudentResults, ExportOptions], Mapping[str, bytes]]
MOST_ANNOTATIONS = 10  # the number of a kind that GitHub shows of a step
SUMMARY_BYTES = 1_000_000  # a summary may have 1 MiB
STATUS = {"passed": "right", "failed": "wrong", "todo": "not attempted", "error": "**not graded**"}
TAGS: dict[Status, str] = {"failed": "failure", "error": "error", "todo": "skipped"}
PRAIRIELEARN_BYTES = 1_000_000  # the most that it accepts
FINEST = 1000  # whole points are at most this often as many as the course's
CLASSROOM50 = "classroom50/result/v1"
OF_RUNNER = {  # field: the runner's environment variable
    "classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "assignment_type": "ASSIGNMENT_TYPE", "owner": "OWNER",
    "submission": "SUBMISSION_TAG", "commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL",
    "datetime": "DATETIME",
}  # fmt: skip


def for_each_student(export_one: StudentExporter) -> Exporter:
    """Return an exporter that calls `export_one` for every student.

    The files of a single student keep the names that the platform prescribes; those of several begin with the student's
    name.
    """

    def export(course: Course, records: Sequence[StudentResults], options: ExportOptions) -> Exported:
        if len(records) == 1:
            return Exported(export_one(course, records[0], options))
        files: dict[str, bytes] = {}
        taken: set[str] = set()
        for record in records:
            student = _unique_file_name(record.student, taken)
            for name, content in export_one(course, record, options).items():
                files[f"{student}.{name}"] = content
        return Exported(files)

    return export


def _unique_file_name(student: str, taken: set[str]) -> str:
    """Return a file name for a student that any file system accepts and that is not in `taken`; add it there."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in student).strip(".")[:LONGEST_STUDENT]
    safe = safe.encode()[:LONGEST_NAME].decode("utf-8", "ignore") or "_"
    name, number = safe, 2
    while name.casefold() in taken:
        name, number = f"{safe}-{number}", number + 1
    taken.add(name.casefold())
    return name


def github(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `annotations.txt`, for a step to print, and `summary.md`, to be appended to `$GITHUB_STEP_SUMMARY`.

    Args:
        course: names the file of each exercise.
        record: the student's results.
        options: `lines` holds the line of each exercise's function.
    """
    lines = list(_annotations(course, record, options))
    if len(lines) > MOST_ANNOTATIONS:
        more = len(lines) - MOST_ANNOTATIONS + 1
        lines[MOST_ANNOTATIONS - 1 :] = [
            workflow_command("error", f"{more} more are in the summary of this run.", title="more")
        ]
    annotations = "".join(f"{line}\n" for line in lines)
    return {"annotations.txt": annotations.encode(), "summary.md": _summary(record).encode()}


def _annotations(course: Course, record: StudentResults, options: ExportOptions) -> Iterator[str]:
    """Yield a workflow command for each group of answers that are wrong, or were not graded, in the same way."""
    for exercise in record.exercises:
        for group in group_alike(exercise):
            first = GradedAnswer(exercise, group[0])
            if first.answer.status not in ("failed", "error"):
                continue
            names = ", ".join(answer.name for answer in group)
            code = first.code if first.is_graded else "not graded"
            place = {
                "file": _file_path(course, exercise.id, exercise.unit),
                "line": str(options.lines.get(exercise.id, 1)),
            }
            yield workflow_command(
                "error", "\n".join(first.sentences), **place, title=text(f"{exercise.id} {names}: {code}")
            )


def _file_path(course: Course, exercise: str, unit: str) -> str:
    """Return the path of an exercise's file in the course, or a likely one if another course has graded it."""
    files = (declared.file for declared in course.exercises if declared.id == exercise)
    return next(files, text(f"exercises/{unit}/{exercise}.py"))  # where it was graded by another course


def workflow_command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command of GitHub Actions, `::error file=a.py,line=3::message`, escaped as its toolkit does."""
    listed = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_escaped_message(message)}"


def _escaped_message(words: str) -> str:
    words = words.replace("##[", "# #[")  # the older form of a command, which may stand anywhere in a line
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(words: str) -> str:
    return _escaped_message(words).replace(":", "%3A").replace(",", "%2C")


def _summary(record: StudentResults) -> str:
    """Return a student's points, answers and notes as Markdown, cut between answers at about `SUMMARY_BYTES` bytes."""
    most = number(max_score(record))
    total = f"{number(score(record))} of {most} points" if is_graded(record) else "Not everything could be graded"
    parts, size = [f"## {total}\n\n"], 0
    for answer in answers(record):
        part = _answer_item(answer)
        size += len(part.encode())
        if size > SUMMARY_BYTES:
            parts.append("\nThere is more than a summary can hold.\n")
            break
        parts.append(part)
    parts += [f"\n{markdown(note)}\n" for note in notes(record)[:20]]
    return "".join(parts)


def _answer_item(answer: GradedAnswer) -> str:
    """Return an answer as an item of a Markdown list, with its sentences below it if it is wrong."""
    line = f"- {markdown(answer.name)}: {of_points(answer)}, {STATUS[answer.answer.status]}\n"
    if answer.answer.status in ("passed", "todo"):
        return line
    return line + "".join(f"  - {markdown(words)}\n" for words in answer.sentences)


def junit(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `junit.xml`, with a test for each answer, for Artemis, CodeGrade and any CI.

    What is not attempted is skipped, and what could not be graded is an error and not a failure.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    cases = [_test_case(answer) for answer in answers(record)]
    counts = Counter(child.tag for case in cases for child in case)
    numbers = {"failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
    suite = ET.Element(
        "testsuite",
        {"name": text(record.course), "tests": str(len(cases)), **{name: str(n) for name, n in numbers.items()}},
        time="0",
    )
    suite.extend(cases)
    if lines := notes(record):
        ET.SubElement(suite, "system-out").text = "\n".join(lines)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return {"junit.xml": ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"}


def _test_case(answer: GradedAnswer) -> ET.Element:
    """Return the test case of an answer."""
    case = ET.Element("testcase", classname=text(answer.exercise.unit), name=answer.name, time="0")
    if tag := TAGS.get(answer.answer.status):
        outcome = ET.SubElement(case, tag, message=answer.verdict)
        if tag != "skipped":
            outcome.set("type", answer.code or "error")
            outcome.text = "\n".join(answer.sentences)
    return case


def vpl(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `vpl.txt`, which `vpl_evaluate.sh` prints for VPL in Moodle: a block of comments, and the grade.

    In the block, a line that begins with `-` is a title and one that begins with `>` is shown literally. There is no
    grade if something could not be graded, so that VPL proposes none.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: `out_of` is the maximum grade.
    """
    lines = []
    for answer in answers(record):
        lines.append(f"-{_inert(answer.name)} ({of_points(answer)})")
        lines += [f">{_inert(line)}" for line in answer.sentences if answer.answer.status != "passed"]
    lines += [f">{_inert(note)}" for note in (*notes(record), *(() if is_graded(record) else (NOT_GRADED,)))]
    block = "\n".join(["<|--", *lines, "--|>"])
    most = max_score(record) if options.out_of is None else options.out_of
    grade = f"\nGrade :=>>{number(share(record) * most)}\n" if is_graded(record) else "\n"
    return {"vpl.txt": (block + grade).encode()}


def _inert(words: str) -> str:
    """Return a text in which VPL does not recognise any of its own marks."""
    return tagless(words).replace(":=>>", ": = > >").replace("--|>", "- - | >").replace("<|--", "< | - -")


def prairielearn(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `results.json` of an external grader for PrairieLearn.

    What was not graded, or cannot be read as Python, is not gradable: it costs neither points nor an attempt
    (docs.prairielearn.com, External Grading).

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    listed = list(answers(record))
    unread = [answer.verdict for answer in listed if answer.code == "syntax-error"]
    tried = [answer for answer in listed if answer.answer.status != "todo"]
    if not is_graded(record):
        return {"results.json": as_json({"gradable": False, "format_errors": [NOT_GRADED]})}
    if unread and len(unread) == len(tried):
        errors = [tagless(line) for line in dict.fromkeys(unread)]
        return {"results.json": as_json({"gradable": False, "format_errors": errors})}
    head = {"gradable": True, "score": round(share(record), 6), "message": tagless(" ".join(notes(record)))}
    tests = [_prairielearn_test_entry(answer) for answer in listed]
    content = as_json({**head, "tests": tests})
    if len(content) > PRAIRIELEARN_BYTES:
        content = as_json({**head, "tests": [{**test, "message": "", "output": ""} for test in tests]})
    return {"results.json": content}


def _prairielearn_test_entry(answer: GradedAnswer) -> dict[str, Any]:
    """Return PrairieLearn's test entry of one answer."""
    return {
        "name": answer.name,
        "description": answer.exercise.unit,
        "points": answer.answer.score,
        "max_points": answer.answer.max_score,
        "message": tagless(answer.verdict),
        "output": tagless("\n".join(f"{label}: {words}" for label, words in answer.helps)),
    }


def submitty(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `validation_results.json` of a custom validator for Submitty.

    What was not graded is a failure of the validator, which the instructor sees (submitty.org, Python Custom
    Validation).

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    if not is_graded(record):
        failed = ", ".join(answer.name for answer in answers(record) if not answer.is_graded)
        document: dict[str, Any] = {"status": "failure", "message": f"not graded: {failed}; grade the submission again"}
        return {"validation_results.json": as_json(document)}
    colours = {"passed": "success", "failed": "failure", "todo": "warning"}
    messages = [
        {
            "message": tagless(f"{answer.name} ({of_points(answer)}): {'; '.join(answer.sentences)}"),
            "status": colours[answer.answer.status],
        }
        for answer in answers(record)
    ]
    messages += [{"message": tagless(note), "status": "information"} for note in notes(record)]
    document = {"status": "success", "data": {"score": round(share(record), 6), "message": messages}}
    return {"validation_results.json": as_json(document)}


def classroom50(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `result.json` as `classroom50/result/v1`, in whole numbers of points.

    There is no file if something could not be graded, so that the runner reports an error and no score.

    Args:
        course: its exercises decide the factor that makes points whole.
        record: the student's results.
        options: `runner` names the submission.
    """
    if not is_graded(record):
        return {}
    factor = whole_factor(course)
    listed_answers = list(answers(record))
    worth = whole_points([answer.answer.max_score for answer in listed_answers], factor)
    tests = [
        _classroom50_test_entry(answer, max_points) for answer, max_points in zip(listed_answers, worth, strict=True)
    ]
    listed = sum(test["max-score"] for test in tests)
    document = {
        "schema": CLASSROOM50,
        **_of_runner(options.runner),
        "score": sum(test["score"] for test in tests),
        "max-score": max(listed, round(exact(max_score(record)) * factor)),
        "tests": tests,
    }
    return {"result.json": as_json(document)}


def _of_runner(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that identify a submission, from the runner's variables; those without a value are left out."""
    fields = {name: variables.get(variable, "") for name, variable in OF_RUNNER.items()}
    fields["review"] = fields["review"] or fields["commit"]
    return {name: value for name, value in fields.items() if value}


def _classroom50_test_entry(answer: GradedAnswer, max_points: int) -> dict[str, Any]:
    """Return Classroom 50's test entry of an answer.

    Args:
        answer: the answer's result.
        max_points: the points that are possible, as a whole number.
    """
    reached = exact(answer.answer.score) / exact(answer.answer.max_score) if answer.answer.max_score else Fraction(0)
    return {
        "test-name": answer.name,
        "passed": answer.answer.status == "passed",
        "score": min(round(reached * max_points), max_points),
        "max-score": max_points,
        "status": answer.answer.status,
        "code": answer.code or None,
        "message": tagless("\n".join(answer.sentences)),
    }


def whole_factor(course: Course) -> int:
    """Return the least factor that makes the points of every answer whole, or `FINEST` if that is larger.

    It depends on the course alone, and not on what was handed in: all students are counted alike.
    """
    return min(math.lcm(*(exact(exercise.points_of_answer).denominator for exercise in course.exercises)), FINEST)


def whole_points(points: Sequence[float], factor: int) -> list[int]:
    """Return points times a factor, rounded to whole numbers so that their sum is the rounded sum."""
    sums = [round(partial_sum * factor) for partial_sum in accumulate(map(exact, points), initial=Fraction(0))]
    return [after - before for before, after in pairwise(sums)]


PLATFORMS: Mapping[str, Exporter] = {
    "gradescope": for_each_student(results_json),
    "prairielearn": for_each_student(prairielearn),
    "junit": for_each_student(junit),
    "classroom50": for_each_student(classroom50),
    "github": for_each_student(github),
    "canvas": canvas,
    "moodle": moodle,
    "submitty": for_each_student(submitty),
    "vpl": for_each_student(vpl),
    "feedback": for_each_student(feedback),
}
