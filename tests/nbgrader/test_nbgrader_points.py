"""Points that changed after a class was graded; what Validate says of an answer; a gradebook as files for platforms."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.nbgrader_class import (
    BMM,
    RIGHT,
    UNIT,
    answered,
    hand_in,
    handgrad,
    nbgrader,
    released,
    released_folder,
    totals,
)
from nbgrader.api import Gradebook
from test_session import KeptWorker

from grader.classroom.student_results import Note
from grader.judging.grading import Grader
from grader.nbgrader.cells import VALIDATING, score
from grader.nbgrader.gradebook_results import read_gradebook
from grader.sandbox.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]
URL = "sqlite:///gradebook.db"
OUTDATED = (
    f"{UNIT}: graded with other points than the unit has now: ann. To grade them again: nbgrader autograde {UNIT} for"
    f" notebooks, handgrad grade SUBMISSIONS --unit {UNIT} --gradebook URL for other files"
)


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """The nbgrader folder of a class of two that was graded: all right, and nothing done."""
    folder = released_folder(tmp_path)
    hand_in(folder, "ann", answered(released(folder), lin_grad=RIGHT, bmm_grad=BMM))
    hand_in(folder, "bob", released(folder))
    nbgrader("autograde", UNIT, cwd=folder)
    return folder


def notes(folder: Path) -> list[str]:
    url = f"sqlite:///{folder / 'gradebook.db'}"
    return [entry.text for entry in read_gradebook(url) if isinstance(entry, Note)]


def test_points_that_changed_after_grading_are_noticed_by_every_command(graded: Path):
    root = graded.parent
    assert notes(graded) == []
    course = root / "course.yaml"
    course.write_text(course.read_text().replace("points: 3", "points: 9"))
    said = handgrad("nbgrader", "init", str(graded), "--course", str(root), cwd=root)
    assert f"{UNIT} was graded with other points than the course has now" in said
    assert f"nbgrader generate_assignment {UNIT} --force and nbgrader autograde {UNIT}" in said
    assert f"{UNIT} is released in an older form: nbgrader generate_assignment {UNIT} --force" in said
    assert "next:" not in said
    nbgrader("generate_assignment", UNIT, "--force", cwd=graded)
    assert notes(graded) == [OUTDATED]
    said = handgrad("export", "--gradebook", URL, "--to", "vpl", "--out", "old", cwd=graded, code=1)
    assert f"handgrad: {OUTDATED}\n" in said, "old points were exported without a word"
    assert OUTDATED in handgrad("report", "--gradebook", URL, cwd=graded)
    said = nbgrader("autograde", UNIT, cwd=graded)
    assert said.count("was graded with other points, and is graded again") == 2
    assert totals(graded) == {"ann": 11.0, "bob": 0.0}
    assert notes(graded) == []
    assert "graded again" not in nbgrader("autograde", UNIT, cwd=graded)
    assert "graded with other points" not in handgrad("nbgrader", "init", str(graded), cwd=root)


def test_new_points_wait_for_a_new_release_where_the_unit_was_released(graded: Path):
    """Plain files were entered with the old points of the release, as if nothing had changed."""
    root = graded.parent
    (root / "files" / "zed").mkdir(parents=True)
    (root / "files" / "zed" / "lin_grad.py").write_text(RIGHT)
    words = ("grade", "../files", "--workers", "1", "--gradebook", URL)
    handgrad(*words, cwd=graded)
    assert totals(graded) == {"ann": 5.0, "bob": 0.0, "zed": 3.0}
    course = root / "course.yaml"
    course.write_text(course.read_text().replace("points: 3", "points: 9"))
    said = handgrad(*words, cwd=graded, code=1)
    assert f"{UNIT} was released with other points than the course has now, and {URL} keeps them: the new" in said
    assert f"handgrad nbgrader init ., and there nbgrader generate_assignment {UNIT} --force" in said
    assert totals(graded) == {"ann": 5.0, "bob": 0.0, "zed": 3.0}
    told = f"{UNIT}: graded with other points than the course has now: ann, zed. To enter them: for notebooks, "
    assert told in handgrad("report", "--gradebook", URL, cwd=graded)
    assert told in handgrad("export", "--gradebook", URL, "--to", "vpl", cwd=graded, code=1)
    handgrad("nbgrader", "init", ".", cwd=graded)
    nbgrader("generate_assignment", UNIT, "--force", cwd=graded)
    handgrad(*words, cwd=graded)
    assert totals(graded) == {"ann": 5.0, "bob": 0.0, "zed": 9.0}
    assert notes(graded) == [OUTDATED]
    nbgrader("autograde", UNIT, cwd=graded)
    assert totals(graded) == {"ann": 11.0, "bob": 0.0, "zed": 9.0}
    assert notes(graded) == []


def test_points_that_a_person_entered_are_not_outdated(graded: Path):
    """They were taken for points of an old maximum, and grading again did not end that."""
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}", "small") as gradebook:
        for student, points in (("ann", 0.25), ("bob", 0.5)):
            grade = gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, student)
            grade.manual_score, grade.needs_manual_grade = points, False
            gradebook.find_grade("lin_grad-w-g", UNIT, UNIT, student).extra_credit = 0.25
            gradebook.find_grade("lin_grad-inp-g", UNIT, UNIT, student).manual_score = 1.0
        gradebook.db.commit()
    assert notes(graded) == []
    assert "other points" not in handgrad("report", "--gradebook", URL, cwd=graded)
    assert "other points" not in handgrad("export", "--gradebook", URL, "--to", "vpl", cwd=graded)


def test_a_gradebook_is_exported_as_records_are(graded: Path):
    csv = graded / "canvas.csv"
    csv.write_text("Student,ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,5\nAnn,1,ann,A,\nBob,2,bob,A,\n")
    handgrad("export", "--gradebook", URL, "--to", "canvas", "--fill", str(csv), "--out", "out", cwd=graded)
    (filled,) = (graded / "out").glob("*.csv")
    assert [line.split(",")[-1] for line in filled.read_text().splitlines()[2:]] == ["5", "0"]
    handgrad("export", "--gradebook", URL, "--to", "feedback", "--out", "pages", cwd=graded)
    (page,) = (path for path in (graded / "pages").glob("*.html") if "ann" in path.name)
    assert "lin_grad" in page.read_text()
    said = handgrad("export", "grades", "--gradebook", URL, "--to", "canvas", cwd=graded, code=2)
    assert "Name one class to export" in said


class Shell:
    """The part of a notebook's shell that a score reads: the cells that were run."""

    def __init__(self, *cells: str) -> None:
        self.history_manager = self
        self.input_hist_raw = ["", *cells]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (RIGHT, ""),
        ("def lin_grad(inp, out, w, b):\n    inp.g = ...\n    w.g = ...\n    b.g = ...", "b.g: not attempted yet\n"),
        (RIGHT.replace("sum(0)", "mean(0)"), "[mean-for-sum]\n"),
    ],
    ids=["right", "not attempted", "wrong"],
)
def test_validate_shows_the_mistake_or_that_nothing_was_attempted(
    answer: str,
    says: str,
    worker: Worker,
    grader: Grader,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """nbgrader's Validate shows what a score prints on stderr, and "Partial credit" where it prints nothing."""
    KeptWorker(worker).serve(grader, monkeypatch)
    monkeypatch.setattr("grader.nbgrader.cells._shell", lambda: Shell(answer))
    points = score("lin_grad", "b.g")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(VALIDATING, "1")
    assert score("lin_grad", "b.g") == points
    shown = capsys.readouterr().err
    assert shown.endswith(says)
    assert bool(shown) == bool(says) == (points == 0.0)
    assert all(len(line) <= 70 for line in shown.splitlines())
