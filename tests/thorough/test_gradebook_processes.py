"""`handgrad grade` as a process of its own: a gradebook without room for the class, no nbgrader, no gradebook."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from helpers.nbgrader_class import (
    BMM,
    GRADES,
    RIGHT,
    UNIT,
    cell,
    handgrad,
    handgrad_process,
    nbgrader,
    read,
    rows,
    scores,
    totals,
)
from nbgrader.api import Gradebook
from test_nbgrader_gradebook import URL, course, graded, hand_in, lin_grad_results, own

from grader.classroom.submissions import SubmissionContent
from grader.course.course import Course
from grader.nbgrader.course_folder import build_folder
from grader.nbgrader.gradebook_entry import open_gradebook

FULL = """
from sqlalchemy import Engine, event
event.listens_for(Engine, "connect")(lambda connection, _: connection.execute("PRAGMA max_page_count = 1"))
"""


def test_a_full_disk_ends_it_in_one_sentence_and_what_was_entered_is_kept(course: Course):
    grade = ("grade", "submissions", "--gradebook", URL, "--workers", "1")
    hand_in(course.root, "ann", lin_grad=RIGHT)
    handgrad(*grade, cwd=course.root)
    for number in range(30):
        hand_in(course.root, f"bob{number:02}" + "b" * 50, lin_grad=RIGHT)
    said = handgrad_process(*grade, cwd=course.root, before=FULL, code=2)
    assert "gradebook.db cannot be written (database or disk is full): put that right" in said.splitlines()[-1]
    assert 1 <= len(scores(course.root)) < 31
    handgrad(*grade, cwd=course.root)
    assert set(totals(course.root).values()) == {3.0}
    assert len(totals(course.root)) == 31


def test_without_nbgrader_one_sentence_says_how_to_get_it(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    absent = "import sys; sys.modules['nbgrader'] = None"
    words = ("grade", "submissions", "--gradebook", URL, "--workers", "1")
    said = handgrad_process(*words, cwd=course.root, code=2, before=absent)
    assert 'install it with pip install "nbgrader>=0.9.5"' in said
    assert len(said.strip().splitlines()) == 1


def test_without_the_option_nothing_of_nbgrader_is_imported(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    watched = "import atexit, sys; atexit.register(lambda: print({'nbgrader', 'sqlalchemy'} & set(sys.modules)))"
    words = ("grade", "submissions", "--workers", "1")
    assert "\nset()\n" in handgrad_process(*words, cwd=course.root, before=watched)
    results = json.loads((course.root / "grades" / "ann.json").read_text())
    assert results["score"] == 3.0


def test_another_address_of_the_same_gradebook_and_files_that_were_handed_in_again(own: Path):
    hand_in(own, "bob", bmm_grad=BMM)
    url = f"sqlite+pysqlite:///{own / 'gradebook.db'}?timeout=30"
    handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", url, cwd=own)
    assert totals(own)["bob"] == 4.0
    assert len(rows(own, GRADES)) == 4 * 5


def test_the_assignment_can_still_be_released_and_its_notebooks_graded(own: Path):
    nbgrader("generate_assignment", UNIT, "--force", cwd=own)
    notebook = read(own / "release" / UNIT / f"{UNIT}.ipynb")
    cell(notebook, "lin_grad").source = RIGHT
    path = own / "submitted" / "cyd" / UNIT / f"{UNIT}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    nbgrader("autograde", UNIT, "--student=cyd", cwd=own)
    assert totals(own)["cyd"] == 3.0


@pytest.mark.parametrize(
    ("stamp", "late"),
    [
        ("2030-01-10 13:00:00.000000 UTC", 3600.0),
        ("2030-01-10T13:00:00+02:00\n", 0.0),
        ("soon", 0.0),
        ("", 0.0),
        ("9" * 10_000, 0.0),
        ("\0", 0.0),
    ],
)
def test_when_it_was_handed_in_is_read_where_it_can_be(course: Course, tmp_path: Path, stamp: str, late: float):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    with Gradebook(url, "small") as gradebook:
        gradebook.add_assignment(UNIT, duedate=datetime(2030, 1, 10, 12))
    folder = tmp_path / "ann"
    folder.mkdir()
    (folder / "timestamp.txt").write_text(stamp)
    with open_gradebook(course, url) as entry:
        entry.write_student("ann", folder, SubmissionContent({"lin_grad": b""}), lin_grad_results())
    with Gradebook(url) as gradebook:
        assert gradebook.find_submission(UNIT, "ann").total_seconds_late == late


def test_a_class_is_graded_in_an_nbgrader_folder_that_holds_no_course(course: Course, tmp_path: Path):
    folder = tmp_path / "class"
    build_folder(course, folder)
    hand_in(folder, "ann", lin_grad=RIGHT)
    said = handgrad("grade", "submissions", "--workers", "1", "--gradebook", URL, cwd=folder)
    assert f"No course.yaml here: grading with {course.root}." in said
    assert totals(folder) == {"ann": 3.0}
    handgrad("report", "--gradebook", URL, cwd=folder)
    assert "A linear layer" in (folder / "report.html").read_text()
