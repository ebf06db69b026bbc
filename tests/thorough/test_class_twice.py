"""A class graded twice, or on: the same bytes from a seed, the same scores from another, also where something fails."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from dataclasses import replace

import pytest
from test_class_grading import (
    LIN,
    RIGHT,
    SEED,
    Lost,
    codes,
    course,
    files_in,
    grade_folder,
    gradebook,
    graded,
    hand_in,
    pair,
    record,
    school,
    submission,
)

from grader.classroom.class_grading import GradingProgress
from grader.classroom.grades_table import Failure
from grader.judging import grading_pool
from grader.results.records import LARGEST_SEED


def test_the_same_seed_gives_the_same_bytes(course, pair, tmp_path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        grade_folder(course, pair, tmp_path / name, workers=workers, seed=SEED)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_another_seed_gives_the_same_scores_and_codes(course, graded, tmp_path, school) -> None:
    submissions = tmp_path / "submissions"
    for student in ("mean", "partly", "all right"):
        shutil.copytree(school / student, submissions / student)
    grade_folder(course, submissions, tmp_path / "out", workers=2)
    for student in ("mean", "partly", "all right"):
        assert codes(tmp_path / "out", student) == codes(graded[0], student)
        assert record(tmp_path / "out", student)["score"] == record(graded[0], student)["score"]


def test_a_seed_that_is_drawn_reproduces_the_results_to_the_byte(course, pair, tmp_path) -> None:
    grade_folder(course, pair, tmp_path / "drawn", workers=2)
    seed = record(tmp_path / "drawn", "ada")["seed"]
    assert 0 <= seed <= LARGEST_SEED
    grade_folder(course, pair, tmp_path / "disputed", workers=1, seed=seed)
    assert files_in(tmp_path / "disputed") == files_in(tmp_path / "drawn")


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(course, tmp_path) -> None:
    submissions, out = tmp_path / "submissions", tmp_path / "out"
    for student in ("ada", "bob", "dan"):
        hand_in(submissions, student, {LIN: RIGHT})
    cem = hand_in(submissions, "cem", {LIN: submission("time.sleep(600)")})
    policy = course.policy.model_copy(update={"time_limit": 600})
    patient = replace(course, config=course.config.model_copy(update={"policy": policy}))

    def interrupt(progress: GradingProgress) -> None:
        if progress.done == 1:  # ada or bob: nobody else is under way before one of them is done
            signal.raise_signal(signal.SIGINT)

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        grade_folder(patient, submissions, out, workers=1, report=interrupt)
    assert threading.active_count() == threads
    kept = [row["student"] for row in gradebook(out)]
    assert kept in (["ada"], ["bob"])
    (cem / LIN).unlink()
    summary = grade_folder(patient, submissions, out, workers=2)
    assert (summary.graded, summary.reused) == (2, 1)
    assert [row["score"] for row in gradebook(out)] == ["3", "3", "0", "3"]  # cem's is empty now, and was asked for
    assert not list(out.glob(".*.tmp"))


def test_a_worker_that_dies_is_replaced_and_its_submission_retried(course, pair, tmp_path, monkeypatch) -> None:
    start, ours = grading_pool.start_worker, os.getpid()

    def lost_at_first(isolation: str) -> object:
        return Lost() if os.getpid() == ours else start(isolation)

    monkeypatch.setattr(grading_pool, "start_worker", lost_at_first)
    summary = grade_folder(course, pair, tmp_path / "out", workers=1)
    assert summary.errors == ()
    assert record(tmp_path / "out", "ada")["score"] == 3


def test_a_bug_in_the_grader_does_not_stop_the_rest(course, pair, tmp_path, monkeypatch) -> None:
    from grader.judging.grading import Grader

    grade = Grader.grade

    def buggy(self, exercise, content, worker, **more):
        if content is not None and b"mean" in content:
            raise ZeroDivisionError("division by zero")
        return grade(self, exercise, content, worker, **more)

    monkeypatch.setattr(Grader, "grade", buggy)
    summary = grade_folder(course, pair, tmp_path / "out", workers=1)
    says = "the grader failed (ZeroDivisionError: division by zero): run the same command again"
    assert summary.errors == (Failure("bob", "lin_grad", says),)
    assert record(tmp_path / "out", "ada")["score"] == 3
