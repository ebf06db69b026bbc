"""What lies in a submission and is no file of its own: it is explained or taken away, and the class is graded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.nbgrader_class import UNIT, comments, read, totals
from helpers.nbgrader_students import ALL, BESIDE, COPIED, GRADED, HONEST, NAME, UNREAD, NbgraderClass

from grader.export.graded_work import no_score
from grader.nbgrader.gradebook_results import read_gradebook
from grader.nbgrader.submission import LARGEST, TIMESTAMP, UNREADABLE_SUFFIX, remove_traps, timestamp_in, why_unread
from grader.results.records import StudentResults

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graded(graded_class: NbgraderClass) -> tuple[Path, str]:
    """The course folder, and what was said while it was graded."""
    return graded_class.folder, graded_class.said


def test_everybody_else_is_graded_and_nothing_ends_in_a_traceback(graded: tuple[Path, str]):
    folder, said = graded
    assert "Traceback" not in said
    assert "\x1b" not in said
    worth = {**dict.fromkeys((*HONEST, *COPIED, "exits"), ALL), **dict.fromkeys(GRADED, None)}
    found = totals(folder)
    assert {student: found[student] for student in worth} == worth


@pytest.mark.parametrize("student", GRADED)
def test_a_notebook_that_must_not_be_opened_scores_nothing_with_a_note(graded: tuple[Path, str], student: str):
    folder, said = graded
    says = UNREAD[student][1]
    assert says in said
    assert all(says in (text or "") and "no cell of" not in (text or "") for text in comments(folder)[student].values())
    page = read(folder / "autograded" / student / UNIT / NAME)
    assert says in page.cells[0].source
    assert "out.g @" not in "".join(cell.source for cell in page.cells if cell.cell_type == "code")


def test_the_report_says_that_it_was_not_read(graded: tuple[Path, str]):
    handed = {each.student: each for each in read_gradebook(f"sqlite:///{graded[0] / 'gradebook.db'}")
              if isinstance(each, StudentResults)}  # fmt: skip
    for student in GRADED:
        answers = [answer for exercise in handed[student].exercises for answer in exercise.answers]
        assert {(answer.status, answer.code) for answer in answers} == {("error", "not-read")}
        assert all(answer.message.startswith("The file ") for answer in answers)
        assert no_score(handed[student]) == f"This could not be graded. No points are lost. {answers[0].message}"
        assert "hand in" in no_score(handed[student]) or "hand it in again" in no_score(handed[student])


@pytest.mark.parametrize("student", COPIED)
def test_traps_for_nbgrader_are_reported(graded: tuple[Path, str], student: str):
    folder, said = graded
    trap = TIMESTAMP if student.startswith("time") else "data.csv"
    assert f"{folder / 'submitted' / student / UNIT / trap} " in said
    assert not os.path.lexists(folder / "autograded" / student / UNIT / trap)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a submission of an nbgrader course lies."""
    (tmp_path / "source" / UNIT).mkdir(parents=True)
    place = tmp_path / "submitted" / "eve" / UNIT
    place.mkdir(parents=True)
    return place


@pytest.mark.parametrize("what", BESIDE)
def test_a_trap_is_removed_or_renamed(place: Path, what: str):
    BESIDE[what](place)
    remove_traps(place)
    assert {path.name for path in place.iterdir()} <= {TIMESTAMP + UNREADABLE_SUFFIX}


def test_a_trap_is_removed_at_any_depth(place: Path):
    """Remove traps below more folders than Python's recursion limit."""
    folders = [f"{place}/a" + "/b" * depth for depth in range(1200)]
    for folder in (*folders, place / "c"):
        os.mkdir(folder)
    traps = [place / "c" / "data.csv", Path(folders[-1], "data.csv")]
    for trap in traps:
        trap.symlink_to("/dev/zero")
    remove_traps(place)
    found = [os.path.lexists(trap) for trap in traps]
    Path(traps[1]).unlink(missing_ok=True)
    for folder in reversed(folders):  # pytest would not get so deep
        os.rmdir(folder)
    assert found == [False, False]


@pytest.mark.parametrize("what", [what for what in UNREAD if what not in ("half", "empty")])
def test_it_is_not_opened(place: Path, what: str):
    UNREAD[what][0](place)
    remove_traps(place)
    assert f"it is {why_unread(place / NAME, place)}" == UNREAD[what][1]


def test_allowed_files_stay(tmp_path: Path):
    own = tmp_path / "own"
    (own / "data").mkdir(parents=True)
    (own / "data" / "a.csv").write_text("1")
    (own / "b.csv").symlink_to("data/a.csv")
    (own / "large.csv").write_bytes(b"1" * (LARGEST + 1))
    (own / NAME).symlink_to("b.csv")
    (own / TIMESTAMP).write_text("2030-01-10 12:00:00 UTC\n")
    before = sorted(own.rglob("*"))
    remove_traps(own)
    assert sorted(own.rglob("*")) == before
    assert why_unread(own / NAME, own) == why_unread(own / "missing.ipynb", own) == ""
    assert str(timestamp_in(own)) == "2030-01-10 12:00:00"
    (own / TIMESTAMP).write_text("")
    remove_traps(own)
    assert sorted(own.rglob("*")) == before
