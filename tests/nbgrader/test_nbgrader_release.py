"""nbgrader's own command on our folder: what is released gives nothing away."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
from helpers.nbgrader_class import cell, nbgrader, read

from grader.authoring.build import read_worked, stub
from grader.course.course import CourseExercise, load_course
from grader.nbgrader.course_folder import build_folder
from grader.nbgrader.source_notebook import grade_id
from grader.quiz.notebook_quiz import assignment_lines

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
NETWORK = "07_network"
UNITS = ("04_linear", NETWORK)  # all of them are in thorough/test_every_release.py


@pytest.fixture(scope="module")
def units() -> Sequence[str]:
    """The units that are released."""
    return UNITS


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, units: Sequence[str]) -> Path:
    """A course folder whose units were released under our configuration."""
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
    for unit in units:
        nbgrader("generate_assignment", unit, cwd=folder)
    return folder / "release"


@pytest.fixture(params=[exercise.id for exercise in REAL.exercises if exercise.unit in UNITS])
def exercise(request: pytest.FixtureRequest) -> CourseExercise:
    """Each exercise of these units."""
    return REAL.find(request.param)


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
    beside = [each for each in REAL.exercises if each.unit == exercise.unit and not each.is_quiz]
    forward = "".join(ast.get_docstring(read_worked(each).function) or "" for each in beside)
    to_mend = "".join(each.function.faulty for each in beside)
    lines = [line for line in region if line and line not in taught + forward + to_mend]
    assert lines
    sources = "\n".join(cell.source for cell in read(released / exercise.unit / f"{exercise.unit}.ipynb").cells)
    assert [line for line in lines if line in sources] == []
    for misconception in exercise.declaration.misconceptions:
        assert not misconception.says or misconception.says not in sources


def test_an_instructors_own_solution_cell_is_cleared_in_nbgraders_way(released: Path):
    notebook = read(released / NETWORK / f"{NETWORK}.ipynb")
    assert cell(notebook, "essay").source == "# YOUR CODE HERE\nraise NotImplementedError()"
