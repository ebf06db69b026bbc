"""A class graded twice: the same bytes from the same seed, the same scores and codes from another."""

from __future__ import annotations

import shutil
import signal
import threading
from dataclasses import replace

import pytest
from test_class_grading import (
    LIN,
    RIGHT,
    SEED,
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

from grader.batch.class_grading import Progress
from grader.results import LARGEST_SEED


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

    def interrupt(progress: Progress) -> None:
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
