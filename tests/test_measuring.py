"""A right gradient that was measured passes, and is flagged for a person to look at; a formula never is."""

from __future__ import annotations

import pytest
from conftest import Grade, codes, with_policy
from corpus import RIGHT, SUBMISSIONS, found_codes
from measurements import SOURCES

from grader.course import Course
from grader.exercise import Exercise
from grader.judging.grading import Grader
from grader.results import ExerciseResult, exercise_from_json
from grader.sandbox.worker import Worker

BY_HAND = ("lin_grad", "forward mode by hand")  # runs the forward pass at directions, not beside the arguments
FLAGGED = [source for source in SOURCES if source != BY_HAND]


@pytest.mark.parametrize("source", FLAGGED, ids=" ".join)
def test_a_measurement_is_flagged(source: tuple[str, str], grade: Grade) -> None:
    result = grade(source[0], SOURCES[source])
    assert result.status == "passed"
    assert "points beside" in " ".join(result.flags)


def test_a_measurement_is_told_kindly(grade: Grade) -> None:
    """Which answer it is, and what was seen: nothing but the answer that was measured."""
    flags = grade("lin_grad", SOURCES["lin_grad", "only one of them"]).flags
    (flag,) = flags
    assert flag.startswith("w.g: the forward pass was run at ")
    assert flag.endswith(" points beside w: this looks like a measurement, not like a formula")


def test_a_course_may_refuse_what_was_measured(course: Course, grader: Grader, worker: Worker) -> None:
    """Only the answers that were measured; the check says so as the graded run does."""
    strict = with_policy(course, measuring="refuse")
    source = SOURCES["lin_grad", "only one of them"]
    result = grader.grade(strict.find("lin_grad"), source.encode(), worker)
    assert codes(result) == {"inp.g": None, "w.g": "measured", "b.g": None}
    assert "formula" in " ".join(result.answers[1].hints)
    assert not result.flags


@pytest.mark.parametrize("name", sorted(RIGHT)[::64])
def test_no_right_answer_of_the_corpus_is_flagged(name: str, course: Course, grade: Grade) -> None:
    submission = SUBMISSIONS[name]
    exercise = course.find(submission.exercise)
    flagged = grade(submission.exercise, submission.source).flags
    assert not flagged or "measur" in submission.title, flagged
    assert isinstance(exercise.declaration, Exercise) or not flagged


def test_who_never_ends_in_the_watched_call_is_judged_by_the_others(grade: Grade) -> None:
    """Nobody looks on for ever, and what was answered before counts."""
    right = "import torch\n\ndef right(x):\n    return 6 * (x + 2) / x.numel()\n"
    looping = f"""
{right}
import sys

def dout_dx(x):
    frame = sys._getframe(1)
    while frame is not None and "call" not in frame.f_locals:
        frame = frame.f_back
    while frame is not None and frame.f_locals["call"].get("nudges"):
        x + 1
    return right(x)
"""
    result = grade("dout_dx", looping)
    assert result.status == "passed"


def test_a_flag_is_kept_in_the_record(grade: Grade) -> None:
    result = grade("lin_grad", SOURCES["lin_grad", "numpy"])
    assert len(result.record["flags"]) == 3
    assert exercise_from_json(result.record).flags == result.flags
    assert "flags" not in ExerciseResult("x", "01_x", ()).record


def test_what_must_not_be_held_costs_the_answer_that_was_made_from_it(grade: Grade) -> None:
    """A right `b.g` has no part in an array that `w.g` was summed from."""
    held = """
def lin_grad_lean(inp, out, w, b):
    w.g = (inp[:, :, None] * out.g[:, None, :]).sum(0)
    inp.g, b.g = out.g @ w.t(), out.g.sum(0)
"""
    assert codes(grade("lin_grad_lean", held)) == {"inp.g": None, "w.g": "memory", "b.g": None}


def test_a_way_that_needs_little_has_room(course: Course, grader: Grader, worker: Worker) -> None:
    for way in ("one row at a time, with addr_ and mv", "three rows of the batch at a time"):
        assert set(found_codes(SUBMISSIONS[f"04_linear/lin_grad_lean: {way}"], course, grader, worker).values()) == {
            None
        }
