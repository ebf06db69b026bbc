"""Submissions as platforms write them: what `test_hand_ins.py` leaves out."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from helpers import platforms
from helpers.platforms import MEAN, RIGHT, put, zipped
from test_class_grading import record
from test_hand_ins import COMMANDS, DOCUMENT, GRADED, Typed, course, grade, said

from grader.classroom.class_folder import find_submissions
from grader.classroom.class_grading import Grading
from grader.classroom.grade_terminal import grade_with_progress
from grader.cli.main import app

pytestmark = pytest.mark.usefixtures("warm_pool")


def test_names_that_browsers_and_people_make_are_understood(grade, tmp_path) -> None:
    points, summary = grade(platforms.odd_names(tmp_path))
    assert len(points) == 15
    assert set(points.values()) == {3}, points
    assert said(summary)["s00"] == ("lin_grad (1).py was taken for lin_grad.py",)
    assert {"s04", "s06", "book", "zip", "tar", "flat"}.isdisjoint(said(summary)), "their names are right"


def test_a_gradebook_from_canvas_is_a_roster(grade, tmp_path) -> None:
    points, summary = grade(platforms.canvas(tmp_path), platforms.CANVAS_GRADES)
    assert points == {
        "ada": 3, "bob": 2, "cem": 3, "dan": None, "eve": 0, "fay": 3, "gil": None, "anon_Ab1Cd": 3,
    }  # fmt: skip
    assert (summary.absent, summary.unlisted) == (("gil",), ("anon_Ab1Cd",))


def test_records_of_students_who_left_are_moved(grade, tmp_path) -> None:
    handed_in = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": MEAN, "cem/lin_grad.py": RIGHT})
    grade(handed_in)
    put(tmp_path / "out", {"other.json": '{"mine": 1}'})
    (handed_in / "bob/lin_grad.py").unlink()
    (handed_in / "cem").rename(tmp_path / "cem")
    points, summary = grade(handed_in)
    assert points == {"ada": 3, "bob": None}
    assert set(summary.removed) == {"bob.json", "cem.json"}
    assert {path.name for path in (tmp_path / "out").glob("*.json")} == {"ada.json", "bob.json", "other.json"}
    assert record(tmp_path / "out", "bob")["score"] is None
    assert {path.name for path in (tmp_path / "out/removed").iterdir()} == {"bob.json", "cem.json"}


def test_zeros_are_entered_only_if_they_are_confirmed(course, grade, tmp_path, capsys, monkeypatch) -> None:
    """On a terminal the command asks; elsewhere, the exit code shows that an answer is needed."""
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "bob/report.pdf": ""})
    found, grading = find_submissions(course, path, tmp_path / "out"), Grading(1, "none", seed=1)

    def entered(typed: str | None, *, yes: bool = False) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", Typed(typed or ""))
        monkeypatch.setattr("sys.stderr", Typed())
        for stream in (sys.stdin, sys.stderr):
            stream.is_terminal = typed is not None  # type: ignore[attr-defined]
        code = grade_with_progress(course, found, tmp_path / "out", grading, yes=yes, as_json=False)
        with open(tmp_path / "out/grades.csv", encoding="utf-8-sig", newline="") as stream:
            return code, [row["score"] for row in csv.DictReader(stream)][1]

    assert entered(None) == (1, "")
    assert entered("n\n") == (1, "")
    assert entered("") == (1, "")
    assert "1 of 2 holds nothing that could be graded:" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "bob: it holds report.pdf" in capsys.readouterr().out
    assert entered("y\n") == (0, "0")
    assert [exercise["status"] for exercise in record(tmp_path / "out", "bob")["exercises"]] == ["todo"] * 2
    capsys.readouterr()
    assert entered(None) == (0, "0")  # it was said before, and is told again
    assert capsys.readouterr().out.endswith("after an exercise\nThey have 0 points.\n")
    (tmp_path / "out/bob.json").unlink()
    assert entered(None, yes=True) == (0, "0")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_commands_on_the_page_on_submissions_give_these_points(grade, tmp_path, monkeypatch, words) -> None:
    monkeypatch.chdir(tmp_path)
    at = tmp_path / "submissions"
    for hand_in in (platforms.moodle, platforms.canvas, platforms.gradescope, platforms.github):
        hand_in(at)
    rosters = {"worksheet": platforms.MOODLE_GRADES, "gradebook": platforms.CANVAS_GRADES}
    put(at, {f"{name}.csv": text for name, text in {**rosters, "classroom_roster": platforms.GITHUB_ROSTER}.items()})
    put(at, {"ada.zip": zipped({"lin_grad.py": RIGHT})})
    ended = app([*words, "--workers", "1"], standalone_mode=False)
    if "--one" in words:
        assert ended == 1, "a unit has more exercises than lin_grad alone"
        assert json.loads((tmp_path / "ada.json").read_text())["score"] == 3
        return
    points, code = GRADED[
        " ".join(word.removeprefix("submissions/") for word in words if word.startswith("submissions/"))
    ]
    assert ended == code
    with open(tmp_path / "grades/grades.csv", encoding="utf-8-sig", newline="") as stream:
        found = {row["student"]: float(row["score"]) if row["score"] else None for row in csv.DictReader(stream)}
    assert {student: found[student] for student in points} == points


def test_the_file_names_of_quizzes_on_the_page_are_understood(tmp_path: Path, monkeypatch) -> None:
    named = next(body for _, body in DOCUMENT.blocks if "quiz" in body).splitlines()[-1].split("   ")
    sheet = "variant: 0\nwhy_sum_0: shared\n"
    put(tmp_path / "in", {f"s{number}/{name}": sheet for number, name in enumerate(named)})
    monkeypatch.chdir(tmp_path)
    assert app(["grade", "in", "--unit", "04_linear", "--workers", "1"], standalone_mode=False) == 0
    with open(tmp_path / "grades/grades.csv", encoding="utf-8-sig", newline="") as stream:
        scores = [float(row["score"]) for row in csv.DictReader(stream)]
    assert len(scores) == len(named)
    assert all(score > 0 for score in scores)
