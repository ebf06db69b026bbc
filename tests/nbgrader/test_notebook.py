"""The source notebooks: valid for nbformat and nbgrader, worth what the course says, the same in every build."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator

from grader.authoring.build import stub
from grader.course.course import CourseExercise, load_course
from grader.course.course_file import Unit
from grader.nbgrader.source_notebook import (
    answer_id,
    check_id,
    grade_id,
    is_derived,
    notebook_lesson,
    solution_id,
    source_notebook,
    stub_of,
    title_id,
)

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
UNITS = pytest.mark.parametrize("unit", REAL.config.units, ids=lambda unit: unit.id)


def built(unit: Unit) -> NotebookNode:
    return source_notebook(REAL, unit, notebook_lesson(REAL, unit))


def exercises_of(unit: Unit) -> list[CourseExercise]:
    return [exercise for exercise in REAL.exercises if exercise.unit == unit.id]


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    (found,) = (cell for cell in notebook.cells if grade_id(cell) == name)
    return found


@pytest.mark.parametrize("unit", REAL.config.units[::5], ids=lambda unit: unit.id)
def test_it_is_valid_for_nbformat_and_for_nbgrader_and_the_same_each_time(unit: Unit):
    """Of three units; `thorough/test_nbgrader_course_notebooks.py` has all."""
    assert_valid(unit)


def assert_valid(unit: Unit) -> None:
    """Check that nbformat and nbgrader accept the notebook of a unit, which is the same when it is built again."""
    notebook = built(unit)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    assert nbformat.writes(notebook) == nbformat.writes(built(unit))
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


@UNITS
def test_each_exercise_has_its_cells_in_order(unit: Unit):
    expected = ["lesson", "handgrad"]
    for exercise in exercises_of(unit):
        expected += [title_id(exercise.id), solution_id(exercise.id), check_id(exercise.id)]
        expected += [answer_id(exercise.id, answer.name) for answer in exercise.declaration.answers]
    notebook = built(unit)
    assert [grade_id(cell) for cell in notebook.cells] == expected
    assert all(is_derived(cell) for cell in notebook.cells)


@UNITS
def test_the_grade_cells_are_worth_what_the_course_says(unit: Unit):
    points: Counter[str] = Counter()
    for cell in built(unit).cells:
        record = cell.metadata.nbgrader
        assert (record.solution, record.locked) == ((True, False) if grade_id(cell) == owner(cell) else (False, True))
        if record.grade:
            exercise_id, answer = ast.literal_eval(cell.source.removeprefix("score"))
            assert grade_id(cell) == answer_id(exercise_id, answer)
            points[exercise_id] += record.points
    assert points == pytest.approx({exercise.id: exercise.points for exercise in exercises_of(unit)})


def owner(cell: NotebookNode) -> str | None:
    """The exercise that a cell of code defines, if it is a solution cell."""
    found = re.findall(r"^(?:def )?(\w+)(?: = dict)?\(", cell.source, re.MULTILINE)
    return (
        found[-1] if found and cell.cell_type == "code" and not cell.source.startswith(("check(", "score(")) else None
    )


FUNCTIONS = [exercise for exercise in REAL.exercises if not exercise.is_quiz]


@pytest.mark.parametrize("exercise", FUNCTIONS[::8], ids=lambda exercise: exercise.id)
def test_the_solution_cell_is_the_worked_file_and_its_stub_the_one_of_the_exercises(exercise):
    (unit,) = (unit for unit in REAL.config.units if unit.id == exercise.unit)
    solution = cell(built(unit), exercise.id)
    text = exercise.solution.read_text(encoding="utf-8")
    assert text.endswith(f"\n{solution.source}\n")
    assert ast.dump(ast.Module(ast.parse(text).body[1:], [])) == ast.dump(ast.parse(solution.source))
    todo = "\n".join("    " + line for line in (stub_of(solution) or "").splitlines())
    released = re.sub(r"    ### BEGIN SOLUTION.*?### END SOLUTION", lambda _: todo, solution.source, flags=re.DOTALL)
    assert stub(exercise).endswith(f"\n{released}\n")


def test_a_copy_under_another_grade_id_is_the_instructors_own():
    mine = copy.deepcopy(cell(built(REAL.config.units[3]), "lin_grad"))
    mine.metadata.nbgrader.grade_id = "my_task"
    assert not is_derived(mine)
    assert stub_of(mine) is None
    assert not is_derived(nbformat.v4.new_code_cell("1 + 1"))


def test_it_holds_no_time_and_no_path():
    text = json.dumps([built(unit) for unit in REAL.config.units])
    assert str(ROOT) not in text
    assert not re.search(r"\d{4}-\d\d-\d\d", text)
