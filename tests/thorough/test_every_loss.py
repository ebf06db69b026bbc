"""Every other way to lose a grading process; see `test_grading_pool`."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from helpers.courses import solution
from test_grading_pool import (
    HOSTILE,
    NAME,
    attack,
    bloat,
    burn,
    fail,
    freeze,
    graded,
    hostile,
    kill,
    leave,
    lose_the_search,
    stop,
)

from grader.course.course import Course
from grader.judging import grading_pool
from grader.judging.grading import Grader
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import Part
from grader.sandbox.worker import Worker

__all__ = ["hostile"]


@pytest.mark.parametrize(
    ("happen", "status", "says"),
    [
        (burn, "failed", "judging it took more than 1.5 seconds of processor time"),
        (bloat, "error", "judging it takes more memory than there is for one exercise"),
        (leave, "error", "the grading process was lost (it ended with 0)"),
        (stop, "error", "the grading process was lost (it did not answer any more)"),
        (freeze, "error", "the grading process was lost (it did not answer any more)"),
        (fail, "error", "the grader failed (ZeroDivisionError: division by zero)"),
    ],
)
def test_who_loses_the_grading_process_loses_that_exercise_alone(
    happen: Callable[[], None], status: str, says: str, course: Course, hostile: Callable[..., None]
) -> None:
    attack(happen, status, says, course, hostile)


@pytest.mark.parametrize(
    ("happen", "why"),
    [
        (burn, "judging it took more than 1.5 seconds of processor time"),
        (fail, "ZeroDivisionError: division by zero"),
        (bloat, "that takes more memory than there is for one exercise"),
    ],
)
def test_verdicts_stand_when_the_search_for_mistakes_is_lost(
    happen: Callable[[], None], why: str, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_the_search(happen, why, course, monkeypatch)


SLOWLY_READ = {  # in time that grows with the square of the length
    "a name of combining characters": "x = a" + "\u0301\u0327" * 200_000,
    "a chain of modules": f"import {'a.' * 400_000}a",
    "one huge f-string": f"x = f'{'{x}' * 300_000}'",
}


@pytest.mark.parametrize("source", SLOWLY_READ.values(), ids=SLOWLY_READ)
def test_a_source_that_python_reads_slowly_takes_nobodys_points(source: str, course: Course) -> None:
    honest = [Part(NAME, solution(course, NAME))]
    results = graded(course, honest, [Part(NAME, source.encode())], honest, honest)
    assert [results[student][0].status for student in range(4)] == ["passed", "failed", "passed", "passed"]


MOMENTS = 16  # new ones every time
WAYS = (kill, leave, stop, bloat)
LOST = ("the grading process was lost", "judging it takes more memory than there is")


def at_call(number: int, happen: Callable[[], None]) -> Callable[..., None]:
    """A profile function that lets something happen at this call of a Python function; it goes on from there."""
    calls = count(1)

    def profile(_frame: object, event: str, _argument: object) -> None:
        if event == "call" and next(calls) == number:
            sys.setprofile(None)
            happen()

    return profile


def calls_of(job: Callable[[], object]) -> int:
    """How many calls of Python functions a job takes."""
    calls = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        job()
    finally:
        sys.setprofile(None)
    return calls


def test_at_whatever_moment_a_grading_process_is_lost_nobody_else_notices(
    course: Course, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed, leaves, is stopped or takes all memory while it reads, runs, judges or words a wrong answer.

    From when the verdicts are there, they stand.
    """
    wrong = HOSTILE + solution(course, NAME).replace(b"out.g.sum(0)", b"out.g.mean(0)")
    grader = Grader(1)
    grader.grade(course.find(NAME), solution(course, NAME), worker)
    last = calls_of(lambda: grader.grade(course.find(NAME), wrong, worker))
    drawn = random.SystemRandom()
    moments = [(drawn.randint(1, last), WAYS[i % len(WAYS)]) for i in range(MOMENTS)]
    grade = Grader.grade

    def lost(self: Grader, exercise: Any, content: Any, *rest: Any, **more: Any) -> ExerciseResult:
        if not content.startswith(HOSTILE):
            return grade(self, exercise, content, *rest, **more)
        moment, way = moments[int(content.rpartition(b"# ")[2])]
        sys.setprofile(at_call(moment, way))
        try:
            result = grade(self, exercise, content, *rest, **more)
        finally:
            sys.setprofile(None)
        way()  # the moment did not come: some of the work was done before
        return result

    monkeypatch.setattr(Grader, "grade", lost)
    monkeypatch.setattr(grading_pool, "ATTEMPTS", 1)
    honest = [Part(NAME, solution(course, NAME)), Part("tanh_grad", solution(course, "tanh_grad"))]
    hostile_ones = [[Part(NAME, wrong + b"\n# %d" % i), honest[1]] for i in range(MOMENTS)]
    results = graded(course, *(student for each in hostile_ones for student in (each, honest)))
    statuses = {student: [result.status for result in found] for student, found in results.items()}
    kept = {student: found for student, found in statuses.items() if student % 2}
    assert kept == {student: ["passed", "passed"] for student in range(1, 2 * MOMENTS, 2)}
    for number, (moment, way) in enumerate(moments):
        attacked, after = results[2 * number]
        stand = [answer.status for answer in attacked.answers] == ["passed", "passed", "failed"] and attacked.notes
        assert stand or attacked.answers[0].message.startswith(LOST), (moment, way, attacked)
        assert after.status == "passed", (moment, way)


def test_whoever_ends_the_child_takes_nobody_along(course: Course) -> None:
    """Nor the next exercise of the same student."""
    ends = ["import os\nos._exit(1)", "while True:\n    pass", "def", "raise ValueError", "..."]
    found = graded(course, *([Part("tanh_grad", end.encode()), Part(NAME, solution(course, NAME))] for end in ends))
    statuses = {ends[student]: tuple(result.status for result in results) for student, results in found.items()}
    assert statuses == dict.fromkeys(ends, ("failed", "passed"))
