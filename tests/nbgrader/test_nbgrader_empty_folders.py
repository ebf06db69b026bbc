"""A student whose folder holds no notebook: a row everywhere, and no points until a person or a notebook gives some."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from helpers.courses import ROOT
from helpers.nbgrader_class import (
    BMM,
    GRADES,
    RIGHT,
    UNIT,
    answered,
    comments,
    hand_in,
    handgrad,
    nbgrader,
    read,
    released,
    released_folder,
    rows,
    totals,
)
from helpers.nbgrader_students import ALL, feedback

from grader.nbgrader.gradebook_results import read_gradebook
from grader.results.records import StudentResults

pytestmark = pytest.mark.slow
NEXT = "`essay.docx`, `lin_grad.py`: hand in the notebook, with the name that it was given"
EMPTY = {
    "bob": "Nothing was handed in: there is no notebook in the folder (it is empty).",
    "cem": f"No notebook was handed in, but {NEXT}.",
    "dan": "Nothing was handed in: there is no notebook in the folder (it is empty).",
}
REASONS = {
    **dict.fromkeys(EMPTY, "nothing was handed in"),
    "cem": f"no notebook was handed in, but {NEXT}",
}


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory: pytest.TempPathFactory, warm_pool: None) -> Path:
    """The nbgrader folder of a class that was graded: a right notebook, and three students without any."""
    folder = released_folder(tmp_path_factory.mktemp("graded"))
    hand_in(folder, "ann", answered(released(folder), lin_grad=RIGHT, bmm_grad=BMM))
    for place in (f"bob/{UNIT}", f"cem/{UNIT}", "dan"):
        (folder / "submitted" / place).mkdir(parents=True)
    for name in ("essay.docx", "lin_grad.py"):
        (folder / "submitted" / "cem" / UNIT / name).write_bytes(b"PK")
    said = nbgrader("autograde", UNIT, cwd=folder)
    assert said.count(" holds no notebook: to be graded by hand") == 3
    return folder


@pytest.fixture
def graded(tmp_path: Path, graded_once: Path) -> Path:
    """A copy of that folder with its course, for a test to change."""
    return shutil.copytree(graded_once.parent, tmp_path / "copy") / graded_once.name


def results(folder: Path) -> dict[str, StudentResults]:
    entries = read_gradebook(f"sqlite:///{folder / 'gradebook.db'}")
    return {entry.student: entry for entry in entries if isinstance(entry, StudentResults)}


def test_an_empty_folder_has_a_row_without_points_and_with_the_reason(graded: Path):
    assert totals(graded) == {"ann": ALL, **dict.fromkeys(EMPTY)}
    assert {student for student, *_, manual in rows(graded, GRADES) if manual} == set(EMPTY)
    for student, says in EMPTY.items():
        assert set(comments(graded)[student].values()) == {says}
        assert says in read(graded / "autograded" / student / UNIT / f"{UNIT}.ipynb").cells[0].source
        result = results(graded)[student]
        assert (result.score, result.max_score, result.why_no_score) == (None, ALL, REASONS[student])
        assert [exercise.status for exercise in result.exercises] == ["todo", "todo"]
    assert "there is no notebook in the folder" in feedback(graded, "bob")


def test_the_page_of_a_student_without_a_notebook_says_what_was_handed_in(graded: Path):
    handgrad("export", "--gradebook", "sqlite:///gradebook.db", "--to", "feedback", "--out", "out", cwd=graded, code=1)
    assert f"There is no score: {REASONS['cem']}." in (graded / "out" / "cem.feedback.html").read_text()


def test_the_report_and_the_exports_name_who_has_an_empty_folder(graded: Path):
    handgrad("report", "--gradebook", "sqlite:///gradebook.db", cwd=graded)
    page = (graded / "report.html").read_text()
    assert all(f">{student}<" in page for student in ("ann", *EMPTY))
    (graded / "canvas.csv").write_text(
        "Student,ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,5\n"
        + "".join(f"{student},{student},{student},A,\n" for student in ("ann", *EMPTY))
    )
    words = ("--gradebook", "sqlite:///gradebook.db", "--to", "canvas", "--fill", "canvas.csv", "--out", "out")
    said = handgrad("export", *words, cwd=graded, code=1)
    assert all(f"{student} ({why})" in said for student, why in REASONS.items())
    filled = (graded / "out" / "canvas.csv").read_text().splitlines()
    assert [line.split(",")[-1] for line in filled[2:]] == ["5", "", "", ""]


def test_nbgrader_exports_0_for_what_waits_as_the_page_says(graded: Path):
    nbgrader("export", cwd=graded)
    with (graded / "grades.csv").open(newline="") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert exported == {"ann": ALL, **dict.fromkeys(EMPTY, 0.0)}
    page = (ROOT / "docs/nbgrader.md").read_text("utf-8").partition("## Collect and grade")[2]
    assert page.partition("itself works differently")[0].count("`nbgrader export` gives 0.0 to what waits for you") == 1


def test_a_notebook_that_comes_later_and_the_points_of_a_person_count(graded: Path):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        for name in ("lin_grad-w-g", "lin_grad-b-g", "lin_grad-inp-g", "bmm_grad-a-g", "bmm_grad-b-g"):
            gradebook.find_grade(name, UNIT, UNIT, "cem").manual_score = 0.5
        gradebook.db.commit()
    hand_in(graded, "dan", answered(released(graded), lin_grad=RIGHT, bmm_grad=BMM))
    said = nbgrader("autograde", UNIT, cwd=graded)
    assert said.count("was handed in again, and is graded again") == 1
    assert {name: result.score for name, result in results(graded).items()} == {
        "ann": ALL, "bob": None, "cem": 2.5, "dan": ALL,
    }  # fmt: skip


def test_plain_files_that_were_entered_keep_their_points(graded: Path):
    place = graded / "submitted" / "eve" / UNIT
    place.mkdir(parents=True)
    (place / "lin_grad.py").write_text(RIGHT)
    handgrad("grade", "submitted", "--out", "g", "--gradebook", "sqlite:///gradebook.db", "--yes", cwd=graded)
    assert results(graded)["eve"].score == 3.0
    nbgrader("autograde", UNIT, "--force", cwd=graded)
    assert results(graded)["eve"].score == 3.0
