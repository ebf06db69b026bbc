"""A class ten times as large takes hardly more memory: what is held for each student is a line of the gradebook."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest
from helpers.grading import codes
from test_class_grading import LIN, MEAN, RELU_FILE, Crashing, hand_in

from grader.classroom import class_grading as batch
from grader.course.course import Course
from grader.judging import grading_pool
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

FEW, MANY = 30, 230
BYTES_PER_STUDENT = 2_000
ROUNDS = 60
BYTES_PER_VERDICT = 1_000


@pytest.fixture
def school(tmp_path: Path) -> Path:
    """A small class and a large one."""
    for name, students in (("few", FEW), ("many", MANY)):
        for i in range(students):
            hand_in(tmp_path / name, f"student {i:03}", {LIN: MEAN, RELU_FILE: "# to do\n" * 1000})
    return tmp_path


def peak(course: Course, submissions: Path, out: Path) -> int:
    """The most bytes that grading a class held at once, more than there were before."""
    gc.collect()
    gc.freeze()  # what earlier tests left in this process must not make collections rare
    gc.collect()
    tracemalloc.start()
    batch.grade_folder(course, submissions, out, workers=2, isolation="none", seed=1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.unfreeze()
    return most


def test_grading_and_resuming_hold_a_line_for_each_student(
    course: Course, school: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grader = Grader(1)
    monkeypatch.setattr(grading_pool, "new_grader", lambda seed: grader)
    monkeypatch.setattr(grading_pool, "start_worker", Crashing)
    for kept in (False, True):
        few, many = (peak(course, school / name, school / f"{name}-graded") for name in ("few", "many"))
        assert many - few < BYTES_PER_STUDENT * (MANY - FEW), f"kept: {kept}"


def test_naming_mistakes_again_and_again_holds_nothing_more(course: Course, worker: Worker) -> None:
    """Candidates, traces and arrays are remembered once for each trial, not once for each submission."""
    grader, exercise = Grader(1), course.find("lin_grad")
    held = []
    tracemalloc.start()
    for i in range(3 * ROUNDS):
        result = grader.grade(exercise, f"# {i}\n{MEAN}".encode(), worker)
        assert codes(result)["b.g"] == "mean-for-sum"
        gc.collect()  # what only waits to be collected is not held
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert min(held[2 * ROUNDS :]) - min(held[ROUNDS : 2 * ROUNDS]) < BYTES_PER_VERDICT * ROUNDS
