"""nbgrader's own commands on our folder: what is released gives nothing away, and stock nbgrader grades it."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.authoring.build import read_worked, stub
from grader.course import CourseExercise, load_course
from grader.nbgrader.course_folder import build_folder
from grader.notebook.source_notebook import grade_id
from grader.quiz.notebook_quiz import assignment_lines

ROOT = Path(__file__).resolve().parent.parent
REAL = load_course(ROOT)
NETWORK = "07_network"
EXERCISES = pytest.mark.parametrize("exercise", REAL.exercises, ids=lambda exercise: exercise.id)
RELEASE_ALL = """
import sys
from nbgrader.apps import GenerateAssignmentApp
for unit in sys.argv[1:]:
    GenerateAssignmentApp.clear_instance()
    GenerateAssignmentApp.launch_instance(argv=[unit])
"""


def python(*arguments: str, cwd: Path) -> str:
    """Run Python away from the machine's own Jupyter settings; returns what it said."""
    own = {name: str(cwd / ".jupyter") for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env={**os.environ, **own}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    (found,) = (cell for cell in notebook.cells if grade_id(cell) == name)
    return found


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder whose every unit was released under our configuration."""
    folder = tmp_path_factory.mktemp("nbgrader")
    build_folder(REAL, folder)
    mine = folder / "source" / NETWORK / f"{NETWORK}.ipynb"
    notebook = read(mine)
    record = {"schema_version": 3, "grade_id": "essay", "grade": True, "solution": True, "locked": False, "task": False}
    notebook.cells.append(
        nbformat.v4.new_code_cell(
            "### BEGIN SOLUTION\nmine = 1\n### END SOLUTION", metadata={"nbgrader": {**record, "points": 1}}
        )
    )
    nbformat.write(notebook, mine)
    python("-c", RELEASE_ALL, *[unit.id for unit in REAL.config.units], cwd=folder)
    return folder / "release"


@EXERCISES
def test_a_released_exercise_is_the_stub_of_the_exercises_folder(released: Path, exercise: CourseExercise):
    notebook = read(released / exercise.unit / f"{exercise.unit}.ipynb")
    solution = cell(notebook, exercise.id)
    if exercise.is_quiz:
        assert solution.source.splitlines() == assignment_lines(exercise.id, exercise.quiz)
    else:
        assert stub(exercise).endswith(f"\n{solution.source}\n")
    assert (solution.metadata.get("editable", True), solution.metadata.deletable) == (True, False)
    assert all(
        cell.metadata.editable is False for cell in notebook.cells if grade_id(cell).startswith(f"{exercise.id}-")
    )


@EXERCISES
def test_a_release_holds_no_solution_no_hidden_test_and_no_seed(released: Path, exercise: CourseExercise):
    text = (released / exercise.unit / f"{exercise.unit}.ipynb").read_text(encoding="utf-8")
    assert not re.search(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS)|\bseed|\breference", text)
    if exercise.is_quiz:
        told = [text for question in exercise.quiz.questions.values() for text in (question.because, *question.hints)]
        told += [mistake.says for question in exercise.quiz.questions.values() for mistake in question.wrong.values()]
        assert [words for words in told if words in text] == []
        assert not set(assignment_lines(exercise.id, exercise.quiz, solved=True)[2:-1]) & set(text.split("\\n"))
        return
    solution = read_worked(exercise)
    region = [line.strip() for line in solution.lines[solution.begin : solution.end - 1]]
    taught = (ROOT / "exercises" / exercise.unit / "README.md").read_text(encoding="utf-8")
    lines = [line for line in region if line and line not in taught]
    assert lines
    sources = "\n".join(cell.source for cell in read(released / exercise.unit / f"{exercise.unit}.ipynb").cells)
    assert [line for line in lines if line in sources] == []
    for misconception in exercise.declaration.misconceptions:
        assert not misconception.says or misconception.says not in sources


def test_an_instructors_own_solution_cell_is_cleared_in_nbgraders_way(released: Path):
    notebook = read(released / NETWORK / f"{NETWORK}.ipynb")
    assert cell(notebook, "essay").source == "# YOUR CODE HERE\nraise NotImplementedError()"


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder graded by nbgrader as it comes, without our configuration: three students."""
    folder = tmp_path_factory.mktemp("stock")
    build_folder(REAL, folder)
    (folder / "nbgrader_config.py").unlink()
    python("-m", "nbgrader", "generate_assignment", NETWORK, cwd=folder)
    right = read(folder / "source" / NETWORK / f"{NETWORK}.ipynb")
    wrong = read(folder / "source" / NETWORK / f"{NETWORK}.ipynb")
    answer = cell(wrong, "forward_and_backward")
    answer.source = answer.source.replace("b2.g = out.g.sum(0)", "b2.g = out.g.mean(0)")
    untouched = read(folder / "release" / NETWORK / f"{NETWORK}.ipynb")
    for student, notebook in {"right": right, "wrong": wrong, "untouched": untouched}.items():
        path = folder / "submitted" / student / NETWORK / f"{NETWORK}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    python("-m", "nbgrader", "autograde", NETWORK, cwd=folder)
    return folder


def test_stock_nbgrader_releases_its_own_stub(stock: Path):
    source = cell(read(stock / "release" / NETWORK / f"{NETWORK}.ipynb"), "forward_and_backward").source
    assert source.endswith('"""\n    # YOUR CODE HERE\n    raise NotImplementedError()')


def test_stock_nbgrader_grades_our_notebooks(stock: Path):
    query = """
        select student_id, cells.name, auto_score, needs_manual_grade from grade
        join base_cell cells on grade.cell_id = cells.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    """
    with sqlite3.connect(stock / "gradebook.db") as gradebook:
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


def test_the_autograded_notebook_shows_the_feedback(stock: Path):
    notebook = read(stock / "autograded" / "wrong" / NETWORK / f"{NETWORK}.ipynb")
    (shown,) = cell(notebook, "forward_and_backward-check").outputs
    assert "<b>b2.g</b>" in shown.data["text/html"]
    assert "hint 1/3: " in shown.data["text/plain"]


def test_nbgrader_validate_accepts_the_worked_solutions(stock: Path):
    unit = "05_activations"
    says = python("-m", "nbgrader", "validate", f"source/{unit}/{unit}.ipynb", cwd=stock)
    assert "Success! Your notebook passes all the tests." in says
