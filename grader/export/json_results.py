"""The JSON documents of PrairieLearn, Submitty and Classroom 50."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from grader.classroom.student_results import StudentResults
from grader.course.course import Course
from grader.results.points import exact

from .graded_work import (
    NOT_GRADED,
    ExportOptions,
    GradedAnswer,
    answers,
    as_json,
    is_graded,
    max_score,
    notes,
    of_points,
    share,
    tagless,
)

MOST_BYTES = 1_000_000  # PrairieLearn takes no more than 1 MB
FINEST = 1000
CLASSROOM50 = "classroom50/result/v1"
OF_RUNNER = {
    "classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "assignment_type": "ASSIGNMENT_TYPE", "owner": "OWNER",
    "submission": "SUBMISSION_TAG", "commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL",
    "datetime": "DATETIME",
}  # fmt: skip


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
    if len(content) > MOST_BYTES:
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
