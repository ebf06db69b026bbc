"""Gradescope's `results.json` (gradescope-autograders.readthedocs.io/en/latest/specs)."""

from __future__ import annotations

import json
from typing import Any

from grader.classroom.student_results import StudentResults
from grader.course.course import Course
from grader.safe_text import escaped

from .exporter import Wanted
from .graded_work import NOT_GRADED, GradedAnswer, answers, is_graded, markdown, notes, score, tagless


def results_json(course: Course, record: StudentResults, wanted: Wanted) -> dict[str, bytes]:
    """Return `results.json` with one test for each answer.

    If anything could not be graded nothing has a score, because Gradescope then shows the message and treats the run as
    a failed one, which can be run again.
    """
    is_all_graded = is_graded(record)
    tests = [_test_entry(answer, number, is_all_graded) for number, answer in enumerate(answers(record), 1)]
    output_lines = [*([] if is_all_graded else [NOT_GRADED]), *notes(record)]
    document = {
        **({"score": score(record)} if is_all_graded else {}),
        "output": tagless("\n".join(output_lines)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"schema": "handgrad/result@1", "course": record.course},
    }
    return {"results.json": as_json(document)}


def _test_entry(answer: GradedAnswer, number: int, is_all_graded: bool) -> dict[str, Any]:
    """Return the test entry of one answer.

    Args:
        number: counted from 1, in the order of the answers.
        is_all_graded: whether everything in the record was graded, so that points are shown.
    """
    points = {"score": answer.answer.score, "max_score": answer.answer.max_score}
    passed = answer.answer.status == "passed"
    return {
        **(points if is_all_graded else {}),
        **({"status": "passed" if passed else "failed"} if answer.is_graded else {}),
        "name": answer.name,
        "number": str(number),
        "output": "" if passed else "\n\n".join(markdown(line) for line in answer.sentences),
        "output_format": "md",
        "visibility": "visible",
        "tags": [tag for tag in (answer.exercise.unit, answer.code) if tag],
        "extra_data": {"status": answer.answer.status, "code": answer.code or None},
    }


def as_json(document: Any) -> bytes:
    """Return a document as one line of JSON, in which everything that does not print is escaped."""
    return (escaped(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n").encode()
