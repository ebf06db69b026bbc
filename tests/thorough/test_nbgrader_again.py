"""A class graded by nbgrader under worse conditions: a hang, a grader that fails, scores by hand, no isolation."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.nbgrader_class import (
    BMM,
    GRADES,
    UNIT,
    answered,
    comments,
    hand_in,
    nbgrader,
    released,
    released_folder,
    rows,
    scores,
    small_course,
)
from test_nbgrader_autograde import LOOP, a_copy_of, extended, fail_at_value_errors, left_to_a_person

from grader.child import seccomp


def test_an_answer_that_hangs_is_stopped_and_named(tmp_path: Path):
    folder = released_folder(tmp_path)
    hand_in(folder, "loops", answered(released(folder), lin_grad=LOOP, bmm_grad=BMM))
    soon = small_course(tmp_path / "soon", time_limit=2).root
    nbgrader("autograde", UNIT, f"--SecureExecute.course={soon}", "--SecureExecute.isolation=none", cwd=folder)
    told = comments(folder)["loops"]["lin_grad"] or ""
    assert "[timeout]" in told
    assert "after 2 seconds" in told
    assert scores(folder)["loops"]["lin_grad-w-g"] == 0.0


def test_a_grader_that_fails_gives_no_zero_and_the_next_student_is_graded(
    extended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """nbgrader reports the submission as one that could not be graded, and its points stay open."""
    folder = a_copy_of(extended, tmp_path)
    fail_at_value_errors(monkeypatch)
    said = nbgrader("autograde", UNIT, cwd=folder, fails=True)
    assert "There was an error processing assignment '04_linear' for student 'bob'" in said
    assert "for student 'ann'" not in said
    assert "lin_grad could not be graded: no disk" in said
    found = {(student, name): (score, manual) for student, name, score, _, manual in rows(folder, GRADES)}
    assert found["bob", "lin_grad-w-g"] == (None, 1)
    assert found["ann", "lin_grad-w-g"] == (1.0, 0)
    assert (folder / "autograded" / "ann" / UNIT / f"{UNIT}.ipynb").exists()
    assert not (folder / "autograded" / "bob" / UNIT).exists()


def test_without_isolation_nothing_is_graded_and_one_sentence_says_why(
    extended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = a_copy_of(extended, tmp_path)
    monkeypatch.setattr(seccomp, "unavailable_reason", lambda: "this kernel filters no system calls")
    said = nbgrader("autograde", UNIT, cwd=folder, fails=True)
    assert "this kernel filters no system calls" in said
    assert 'c.SecureExecute.isolation = "none"' in said
    assert "Traceback" not in said
    assert not (folder / "autograded").exists()
    assert rows(folder, GRADES) == []
    said = nbgrader("autograde", UNIT, "--SecureExecute.isolation=none", "--SecureExecute.seed=7", cwd=folder)
    assert "NO ISOLATION" in said
    assert "Trials are drawn from seed 7" in said
    left_to_a_person(folder, said)
