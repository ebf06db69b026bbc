"""nbgrader as it comes, in real kernels: it grades our notebooks, and falls for what our preprocessors do not.

Both courses ask for the same function. Stock nbgrader tests it in the kernel, with hidden tests as instructors write
them; in the short suite the same cells are graded by the preprocessors.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import nbformat
import pytest
from helpers.nbgrader_class import (
    ROOT,
    UNIT,
    cell,
    nbgrader,
    nbgrader_process,
    points_for,
    read,
    released_folder,
    scores,
)
from helpers.nbgrader_students import FORGERIES, NEIGHBOUR, OTHER, hand_in_forgeries

from grader.course.course import load_course
from grader.nbgrader.course_folder import build_folder
from grader.nbgrader.source_notebook import grade_id

REAL = load_course(ROOT)
NETWORK = "07_network"
TESTS = {
    "inp.g": "inp.g == out.g @ w.t()",
    "w.g": "w.g == inp.t() @ out.g",
    "b.g": "b.g == out.g.sum(0)",
}
HIDDEN = """
import torch
inp, w, b = torch.rand(4, 3), torch.rand(3, 2), torch.rand(2)
out = inp @ w + b
out.g = torch.rand(4, 2)
points = 0.0
### BEGIN HIDDEN TESTS
lin_grad(inp, out, w, b)
assert ({test}).all()
points = 1.0
### END HIDDEN TESTS
points
"""
"""A test as an instructor writes it: an answer that is not right raises; the last line gives the points."""


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course graded by nbgrader as it comes."""
    folder = released_folder(tmp_path_factory.mktemp("stock"))
    (folder / "nbgrader_config.py").unlink()
    path = folder / "source" / UNIT / f"{UNIT}.ipynb"
    notebook = read(path)
    kept = ["lin_grad", *(f"lin_grad-{name.replace('.', '-')}" for name in TESTS)]
    notebook.cells = [each for each in notebook.cells if grade_id(each) in kept]
    for name, test in TESTS.items():
        cell(notebook, f"lin_grad-{name.replace('.', '-')}").source = HIDDEN.format(test=test)
    nbformat.write(notebook, path)
    (folder / "gradebook.db").unlink()
    nbgrader("generate_assignment", UNIT, "--force", cwd=folder)
    hand_in_forgeries(folder, FORGERIES)
    shutil.rmtree(folder / "submitted" / OTHER)  # each takes a kernel of its own
    nbgrader_process("autograde", UNIT, cwd=folder)
    return folder


@pytest.mark.parametrize("name", FORGERIES)
def test_stock_nbgrader_falls_for_it(stock: Path, name: str):
    assert points_for("lin_grad", stock)[name.replace(" ", "-")] == 3.0


def test_stock_nbgrader_lets_a_student_write_everybodys_scores(stock: Path):
    """The honest student who was graded before had two points of three."""
    assert points_for("lin_grad", stock)[NEIGHBOUR] == 3.0
    assert sum(scores(stock)[NEIGHBOUR].values()) == 2.0  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder graded by nbgrader as it comes, without our configuration: three students."""
    folder = tmp_path_factory.mktemp("stock")
    build_folder(REAL, folder)
    (folder / "nbgrader_config.py").unlink()
    nbgrader("generate_assignment", NETWORK, cwd=folder)
    right = read(folder / "source" / NETWORK / f"{NETWORK}.ipynb")
    wrong = read(folder / "source" / NETWORK / f"{NETWORK}.ipynb")
    answer = cell(wrong, "forward_and_backward")
    answer.source = answer.source.replace("b2.g = out.g.sum(0)", "b2.g = out.g.mean(0)")
    untouched = read(folder / "release" / NETWORK / f"{NETWORK}.ipynb")
    for student, notebook in {"right": right, "wrong": wrong, "untouched": untouched}.items():
        path = folder / "submitted" / student / NETWORK / f"{NETWORK}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    nbgrader_process("autograde", NETWORK, cwd=folder)
    return folder


def test_stock_nbgrader_releases_its_own_stub(graded: Path):
    source = cell(read(graded / "release" / NETWORK / f"{NETWORK}.ipynb"), "forward_and_backward").source
    assert source.endswith('"""\n    # YOUR CODE HERE\n    raise NotImplementedError()')


def test_stock_nbgrader_grades_our_notebooks(graded: Path):
    query = """
        select student_id, cells.name, auto_score, needs_manual_grade from grade
        join base_cell cells on grade.cell_id = cells.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    """
    with sqlite3.connect(graded / "gradebook.db") as gradebook:
        rows = gradebook.execute(query).fetchall()
    gradebook.close()
    names = [f"forward_and_backward-{name}" for name in ("return", "inp-g", "w1-g", "b1-g", "w2-g", "b2-g")]
    names += ["tied_weights_grad-inp-g", "tied_weights_grad-w-g"]
    scores = {student: {cell: score for owner, cell, score, _ in rows if owner == student} for student, *_ in rows}
    quiz = REAL.find(f"quiz_{NETWORK}")
    questions = {f"{quiz.id}-{name}": 0.25 for name in quiz.quiz.questions}
    assert scores["right"] == dict.fromkeys(names, 1.0) | questions
    assert scores["wrong"] == {**scores["right"], "forward_and_backward-b2-g": 0.0}
    assert scores["untouched"] == dict.fromkeys([*names, *questions], 0.0)
    assert not any(manual for *_, manual in rows)


def test_the_autograded_notebook_shows_the_feedback(graded: Path):
    notebook = read(graded / "autograded" / "wrong" / NETWORK / f"{NETWORK}.ipynb")
    (shown,) = cell(notebook, "forward_and_backward-check").outputs
    assert "<b>b2.g</b>" in shown.data["text/html"]
    assert "hint 1/3: " in shown.data["text/plain"]


def test_nbgrader_validate_accepts_the_worked_solutions(graded: Path):
    unit = "05_activations"
    patience = "--Execute.timeout=600", "--Execute.iopub_timeout=60"  # of nbgrader's own, on a busy machine
    says = nbgrader_process("validate", *patience, f"source/{unit}/{unit}.ipynb", cwd=graded)
    assert "Success! Your notebook passes all the tests." in says
