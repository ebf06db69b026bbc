"""What lies in a submission and is no file of its own: it is explained or taken away, and the class is graded."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader_class import (
    BMM,
    RIGHT,
    UNIT,
    answered,
    comments,
    environment,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    totals,
)

from grader.nbgrader.gradebook_results import read_gradebook
from grader.nbgrader.submission_files import LARGEST, SET_ASIDE, TIMESTAMP, remove_traps, timestamp_in, why_unread
from grader.report.class_statistics import StudentResults

NAME = f"{UNIT}.ipynb"
ALL = 5.0
LEADS_OUT = "it is a link that leads out of the submission"
Lay = Callable[[Path], object]


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


# student: (what is laid where the notebook should be, what is said of it)
UNREAD: dict[str, tuple[Lay, str]] = {
    "folder": (lambda place: (place / NAME).mkdir(), "it is a folder"),
    "pipe": (lambda place: os.mkfifo(place / NAME), "it is no file, but a pipe or a device"),
    "link-to-the-solution": (
        lambda place: (place / NAME).symlink_to(place.parents[2] / "source" / UNIT / NAME), LEADS_OUT),
    "link-to-a-neighbour": (lambda place: (place / NAME).symlink_to(f"../../ann/{UNIT}/{NAME}"), LEADS_OUT),
    "link-to-nothing": (lambda place: (place / NAME).symlink_to("/nowhere/at/all"), LEADS_OUT),
    "link-of-a-folder": (
        lambda place: (place.rmdir(), place.symlink_to(place.parents[2] / "source" / UNIT)), LEADS_OUT),
    "sparse": (lambda place: sparse(place / NAME), "it is larger than 64 MiB"),
    "half": (lambda place: (place / NAME).write_text('{"cells": ['), "no notebook that can be read"),
    "empty": (lambda place: (place / NAME).write_text("{}"), "The file holds no cells"),
}  # fmt: skip
# student: what lies beside a right notebook
BESIDE: dict[str, Lay] = {
    "link-to-the-gradebook": lambda place: (place / "data.csv").symlink_to(place.parents[2] / "gradebook.db"),
    "link-without-end": lambda place: (place / "data.csv").symlink_to("/dev/zero"),
    "link-to-itself": lambda place: (place / "data.csv").symlink_to("data.csv"),
    "hollow-beside": lambda place: sparse(place / "data.csv"),
    "pipe-beside": lambda place: os.mkfifo(place / "data.csv"),
    "time-is-a-pipe": lambda place: os.mkfifo(place / TIMESTAMP),
    "time-is-a-folder": lambda place: (place / TIMESTAMP).mkdir(),
    "time-is-a-word": lambda place: (place / TIMESTAMP).write_text("yesterday\x1b[2J"),
    "time-is-bytes": lambda place: (place / TIMESTAMP).write_bytes(b"\xff\xfe"),
    "time-is-too-late": lambda place: (place / TIMESTAMP).write_text("9999-12-31 23:59:59 UTC-14"),
    "time-is-endless": lambda place: (place / TIMESTAMP).write_text("1" * 5000),
}
HONEST = ("ann", "zoe")
GRADED = ("folder", "pipe", "link-to-the-solution", "link-of-a-folder", "half", "empty")
COPIED = ("link-to-the-gradebook", "pipe-beside", "time-is-a-word")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The course folder, and what was said while it was graded."""
    folder = released_folder(tmp_path_factory.mktemp("traps"))
    right = answered(released(folder), lin_grad=RIGHT, bmm_grad=BMM)
    for student in (*HONEST, *COPIED, "exits"):
        hand_in(folder, student, exits(right) if student == "exits" else right)
    for student in GRADED:
        (folder / "submitted" / student / UNIT).mkdir(parents=True)
        UNREAD[student][0](folder / "submitted" / student / UNIT)
    for student in COPIED:
        BESIDE[student](folder / "submitted" / student / UNIT)
    return folder, nbgrader("autograde", UNIT, cwd=folder)


def exits(notebook: NotebookNode) -> NotebookNode:
    leaves = [nbformat.v4.new_code_cell(f"import os\nos.{end}") for end in ("_exit(0)", "abort()")]
    return NotebookNode({**notebook, "cells": [leaves[0], *notebook.cells, leaves[1]]})


def test_everybody_else_is_graded_and_nothing_ends_in_a_traceback(graded: tuple[Path, str]):
    folder, said = graded
    assert "Traceback" not in said
    assert "\x1b" not in said
    assert totals(folder) == {**dict.fromkeys((*HONEST, *COPIED, "exits"), ALL), **dict.fromkeys(GRADED, 0.0)}


@pytest.mark.parametrize("student", GRADED)
def test_a_notebook_that_is_no_file_of_the_students_scores_nothing_and_is_explained(
    graded: tuple[Path, str], student: str
):
    folder, said = graded
    says = UNREAD[student][1]
    assert says in said
    assert all(says in (text or "") and "[syntax-error]" in (text or "") for text in comments(folder)[student].values())
    page = read(folder / "autograded" / student / UNIT / NAME)
    assert says in page.cells[0].source
    assert "out.g @" not in "".join(cell.source for cell in page.cells if cell.cell_type == "code")


def test_the_report_says_that_it_was_not_read(graded: tuple[Path, str]):
    handed = {each.student: each for each in read_gradebook(f"sqlite:///{graded[0] / 'gradebook.db'}")
              if isinstance(each, StudentResults)}  # fmt: skip
    for student in GRADED:
        answers = [answer for exercise in handed[student].exercises for answer in exercise.answers]
        assert {answer.code for answer in answers} == {"syntax-error"}
        assert all(answer.message.startswith("The file ") for answer in answers)


@pytest.mark.parametrize("student", COPIED)
def test_what_nbgrader_would_stop_at_is_said(graded: tuple[Path, str], student: str):
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
def test_it_is_taken_away_or_set_aside(place: Path, what: str):
    BESIDE[what](place)
    remove_traps(place)
    assert {path.name for path in place.iterdir()} <= {TIMESTAMP + SET_ASIDE}


def test_it_is_found_however_deep_a_folder_beside_it_is(place: Path):
    """Deeper than Python calls itself."""
    folders = [f"{place}/a" + "/b" * depth for depth in range(1200)]
    for folder in (*folders, place / "c"):
        os.mkdir(folder)
    traps = [place / "c" / "data.csv", Path(folders[-1], "data.csv")]
    for trap in traps:
        trap.symlink_to("/dev/zero")
    remove_traps(place)
    found = [os.path.lexists(trap) for trap in traps]
    for folder in reversed(folders):  # pytest would not get so deep
        shutil.rmtree(folder)
    assert found == [False, False]


@pytest.mark.parametrize("what", [what for what in UNREAD if what not in ("half", "empty")])
def test_it_is_not_opened(place: Path, what: str):
    UNREAD[what][0](place)
    remove_traps(place)
    assert f"it is {why_unread(place / NAME, place)}" == UNREAD[what][1]


def test_what_a_student_may_hand_in_stays(tmp_path: Path):
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


def test_stopped_by_ctrl_c_it_says_so_in_one_sentence(graded: tuple[Path, str]):
    folder, _ = graded
    hand_in(folder, "loops", answered(released(folder), lin_grad="while True: pass"))
    command = [sys.executable, "-m", "nbgrader", "autograde", UNIT, "--student=loops"]
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True) as running:
        said = ""
        while "Autograding" not in said:
            said += running.stderr.readline()  # type: ignore[union-attr]
        running.send_signal(signal.SIGINT)
        said += running.communicate(timeout=60)[1]
    assert running.returncode not in (0, 1)
    assert said.endswith("Stopped. What was finished is kept; the same command goes on.\n")
    assert "Traceback" not in said
    assert not (folder / "autograded" / "loops" / UNIT).exists()
