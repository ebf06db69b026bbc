"""A unit's nbgrader source notebook, built from its lesson, its declarations and its worked solutions."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbgrader.preprocessors import ClearSolutions

from grader import INSTALL
from grader.authoring.build import placeholders, read_worked
from grader.course.course import BEGIN, END, Course, CourseExercise
from grader.course.course_file import Unit
from grader.errors import CourseError
from grader.quiz.notebook_quiz import assignment_lines, questions_markdown

LESSON = "README.md"
HOW_TO_CHECK = (
    "Each exercise has a cell below. Write your answers in it, run it (Shift+Enter), and then run the `check` under "
    "it, which says what is right. Each `score` shows the points of one answer."
)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[#/]")
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```[ \t]*\n?", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:pytest|handgrad)\b")
_QUIZ = re.compile(r"^- `quiz\.yaml`[^\n]*(\n  [^\n]*)*", re.MULTILINE)
_NEXT = re.compile(r"^Next: \[[^\n]*\n?", re.MULTILINE)
_POINTS = re.compile(r"^(\S+) points?(?=,|$)", re.MULTILINE)
LESSON_ID, SETUP_ID = "lesson", "handgrad"
SETUP = f"""from handgrad import check, score  # {INSTALL}

import torch

# Checks and graded runs have Python's modules, torch, numpy, and the .py files beside this notebook.
# Plots, tables and progress bars are ignored there; there is no keyboard, and no other file."""
MARK = "handgrad"
LONGEST_ID = 64
HOW_TO_ANSWER = (
    "Answer in the cell below, in place of each `...`: a word, a formula, a shape in quotes, a number without. The "
    "cell is read, not run: where quotes are missing, Python shows a NameError, and the answer counts all the same."
)
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Lesson:
    """The lesson of a unit for a notebook.

    Args:
        text: the Markdown.
        files: the files of the unit's folder that it links to, relative to that folder.
    """

    text: str
    files: tuple[Path, ...]


def notebook_lesson(course: Course, unit: Unit) -> Lesson:
    """Return the lesson of a unit, with links that work in a notebook and without commands for the terminal.

    A link to a file outside of the unit's folder becomes text: where other notebooks are depends on who reads this one.
    So does a link to a stub or an answer sheet, which would be a second place for an answer.

    Args:
        course: the course.
        unit: the unit, whose lesson is `exercises/<unit>/README.md`.

    Raises:
        CourseError: the lesson is missing or cannot be read.
    """
    text = _FENCED.sub(_without_commands, _lesson_text(course, unit))
    for entry in unit.exercises:
        text = text.replace(f"`{entry.id}.py`", f"`{entry.id}`")
    text = _QUIZ.sub(f"- `{unit.quiz_id}`: the quiz of this unit; its questions stand at the end.", text)
    files: dict[Path, None] = {}
    folder = course.root / "exercises" / unit.id
    answers = {exercise.name for exercise in course.exercises if exercise.unit == unit.id}
    text = _LINK.sub(lambda match: _link(match, folder, files, answers), _NEXT.sub("", text))
    return Lesson(text.strip(), tuple(files))


def _lesson_text(course: Course, unit: Unit) -> str:
    """Return the text of a unit's lesson.

    Raises:
        CourseError: the file is not there or cannot be read.
    """
    file = f"exercises/{unit.id}/{LESSON}"
    try:
        return (course.root / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{course.root / file} cannot be read ({error}): write the unit's lesson there.") from error


def _without_commands(block: re.Match[str]) -> str:
    """Return a fenced block of a lesson; if it has only terminal commands, what to do in a notebook instead."""
    lines = [line for line in block[1].splitlines() if line.strip()]
    commands = bool(lines) and all(_COMMAND.match(line) for line in lines)
    return f"{HOW_TO_CHECK}\n" if commands else block[0]


def _link(match: re.Match[str], folder: Path, files: dict[Path, None], answers: Collection[str]) -> str:
    """Return a Markdown link that works in a notebook; its text alone if there is no such link.

    Args:
        match: the link in the lesson.
        folder: the folder of the lesson.
        files: the files that links lead to, relative to the folder; that of this link is added.
        answers: the names of files that are for answers.
    """
    image, label, target = match[1], match[2], match[3]
    if _ELSEWHERE.match(target):
        return match[0]
    path = (folder / target.partition("#")[0]).resolve()
    if path.is_file() and path.name not in {LESSON, *answers} and path.is_relative_to(folder.resolve()):
        files[path.relative_to(folder.resolve())] = None
        return f"{image}[{label}]({target})"
    return label


def title_id(exercise_id: str) -> str:
    """Return the grade_id of an exercise's heading."""
    return f"{exercise_id}-title"


def solution_id(exercise_id: str) -> str:
    """Return the grade_id of the cell that holds a learner's answers."""
    return exercise_id


def check_id(exercise_id: str) -> str:
    """Return the grade_id of the cell that checks an exercise."""
    return f"{exercise_id}-check"


def answer_id(exercise_id: str, answer: str) -> str:
    """Return the grade_id of the cell that scores an answer: `lin_grad-w-g` for `w.g`."""
    return f"{exercise_id}-{answer.replace('.', '-')}"


def source_notebook(course: Course, unit: Unit, lesson: Lesson) -> NotebookNode:
    """Return the source notebook of a unit; an unchanged course gives the same bytes.

    Args:
        course: the course.
        unit: the unit.
        lesson: the lesson of the unit.

    Raises:
        CourseError: a worked solution is missing or cannot be used.
        SpecError: a declaration cannot be used.
    """
    cells = [_markdown_cell(LESSON_ID, lesson.text), _code_cell(SETUP_ID, SETUP)]
    for exercise in course.exercises:
        if exercise.unit == unit.id:
            cells += _exercise_cells(exercise)
    notebook: NotebookNode = from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells})  # type: ignore[no-untyped-call]
    return notebook


def grade_id(cell: NotebookNode) -> str:
    """Return the grade_id of a cell; empty if it has none."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def is_derived(cell: NotebookNode) -> bool:
    """Return whether a build, this one or an earlier one, made the cell.

    False for a copy of it under another grade_id.
    """
    name = grade_id(cell)
    return bool(name) and cell.metadata.get(MARK, {}).get("id") == name


def stub_of(cell: NotebookNode) -> str | None:
    """Return the lines that a derived cell is released with in place of its answers; `None` for any other cell."""
    stub = cell.metadata[MARK].get("stub") if is_derived(cell) else None
    return None if stub is None else str(stub)


def _exercise_cells(exercise: CourseExercise) -> list[dict[str, Any]]:
    """Return the cells of an exercise: its title, the worked solution, a check, and a scored cell for each answer."""
    answers = exercise.declaration.answers
    points = exercise.points_of_answer
    stub = {"stub": "\n".join(_placeholders(exercise))}
    return [
        _markdown_cell(title_id(exercise.id), _title(exercise)),
        _code_cell(solution_id(exercise.id), _marked_solution(exercise), stub, solution=True, locked=False),
        _code_cell(check_id(exercise.id), f'check("{exercise.id}")'),
        *(
            _code_cell(
                answer_id(exercise.id, answer.name),
                f'score("{exercise.id}", "{answer.name}")',
                grade=True,
                points=points,
            )
            for answer in answers
        ),
    ]


def _placeholders(exercise: CourseExercise) -> list[str]:
    """Return the lines of a released stub that the student fills in: assignments of a quiz, or placeholders in code."""
    return assignment_lines(exercise.id, exercise.quiz) if exercise.is_quiz else placeholders(exercise)


def _title(exercise: CourseExercise) -> str:
    """Return the Markdown above an exercise: its id, title and points; for a quiz, also its questions."""
    points = f"{_points_text(exercise.points)} point{'' if exercise.points == 1 else 's'}"
    stretch = ", a stretch exercise: the unit is complete without it" if exercise.stretch else ""
    title = f"## `{exercise.id}`: {exercise.declaration.title}\n\n{points}{stretch}"
    return f"{title}\n\n{HOW_TO_ANSWER}\n\n{questions_markdown(exercise.quiz)}" if exercise.is_quiz else title


def _points_text(points: float) -> str:
    """Return points as the title of an exercise states them."""
    return f"{points:g}"


def states_other_points(title: str, points: float) -> bool:
    """Return whether the Markdown above an exercise states other points than these; `False` if it states none.

    Args:
        title: the source of the cell with the `title_id` of the exercise.
        points: the points of the exercise.
    """
    stated = _POINTS.search(title)
    return stated is not None and stated[1] != _points_text(points)


def _marked_solution(exercise: CourseExercise) -> str:
    """Return the worked solution between nbgrader's marks, without the docstring at the top of the file."""
    if exercise.is_quiz:
        return "\n".join([BEGIN, *assignment_lines(exercise.id, exercise.quiz, solved=True), END])
    lines = read_worked(exercise).lines
    first = ast.parse("\n".join(lines)).body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines = lines[first.end_lineno :]
    return "\n".join(lines).strip("\n")


def _markdown_cell(name: str, source: str) -> dict[str, Any]:
    """Return a locked Markdown cell in the notebook format; `name` is its id for nbgrader."""
    return {"cell_type": "markdown", "id": _cell_id(name), "metadata": _metadata(name), "source": source}


def _code_cell(name: str, source: str, mark: dict[str, str] | None = None, **grading: bool | float) -> dict[str, Any]:
    """Return a code cell without outputs in the notebook format.

    Args:
        name: the id of the cell for nbgrader.
        source: the code of the cell.
        mark: further entries of the mark that a derived cell has; `None` for none.
        **grading: the fields of nbgrader's metadata that differ from those of a locked cell without points.
    """
    return {
        "cell_type": "code",
        "id": _cell_id(name),
        "metadata": _metadata(name, mark, **grading),
        "source": source,
        "execution_count": None,
        "outputs": [],
    }


def _metadata(name: str, mark: dict[str, str] | None = None, **grading: bool | float) -> dict[str, Any]:
    """Return the metadata of a cell: nbgrader's, schema 3, and the mark of a derived cell.

    Args:
        name: the id of the cell for nbgrader.
        mark: the entries of the mark besides the id; `None` for none.
        **grading: the fields of nbgrader's metadata that differ from those of a locked cell without points.
    """
    record = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False, "locked": True, "task": False}
    return {"nbgrader": {**record, **grading}, MARK: {"id": name, **(mark or {})}}


def _cell_id(name: str) -> str:
    """Return the notebook format's id of the cell with a grade_id: the same or, if that is too long, a hash of it."""
    return name if len(name) <= LONGEST_ID else hashlib.sha256(name.encode()).hexdigest()[:LONGEST_ID]


class KeepStubs(ClearSolutions):  # type: ignore[misc]
    """A preprocessor that clears worked solutions as nbgrader does, but leaves derived cells their placeholders."""

    code_stub: dict[str, str]

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        """Replace the worked solution of a cell by the stub that `handgrad build` writes, and not by nbgrader's.

        Args:
            cell: the cell, which is changed.
            resources: nbgrader's resources.
            cell_index: the cell's place in the notebook.

        Returns:
            The cell and the resources.
        """
        stub = stub_of(cell)
        if stub is None:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        usual = self.code_stub
        self.code_stub = {**usual, "python": stub}
        try:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        finally:
            self.code_stub = usual
