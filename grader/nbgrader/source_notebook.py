"""A unit's nbgrader source notebook, built from its lesson, its declarations and its worked solutions."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
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
LESSON_ID, SETUP_ID = "lesson", "handgrad"
SETUP = f"""import torch

from handgrad import check, score  # {INSTALL}

# Checks and graded runs have Python's modules, torch, numpy, and the .py files beside this notebook.
# Plots, tables and progress bars are passed over in them; there is no keyboard, and no other file."""
# Checks and graded runs have Python's modules, torch, numpy, and the .py files beside this notebook.
# Plots, tables and progress bars are passed over in them; there is no keyboard, and no other file."""
MARK = "handgrad"
LONGEST_ID = 64
HOW_TO_ANSWER = (
    "Answer in the cell below, in place of each `...`: a word, a formula, a shape in quotes, a number without."
)
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Lesson:
    """A lesson for a notebook.

    Args:
        text: the Markdown.
        files: the files of the unit's folder that it links to, relative to that folder.
    """

    text: str
    files: tuple[Path, ...]


def notebook_lesson(course: Course, unit: Unit) -> Lesson:
    """The lesson of a unit, from `exercises/<unit>/README.md`.

    A link to another unit's lesson leads to its notebook; a link to what is not in the unit's folder becomes text.

    Raises:
        CourseError: the lesson is missing or cannot be read.
    """
    text = _FENCED.sub(_without_commands, _read(course, unit))
    for entry in unit.exercises:
        text = text.replace(f"`{entry.id}.py`", f"`{entry.id}`")
    text = _QUIZ.sub(f"- `{unit.quiz_id}`: the quiz of this unit; its questions stand at the end.", text)
    files: dict[Path, None] = {}
    text = _LINK.sub(lambda found: _link(found, course, unit, files), _NEXT.sub("", text))
    return Lesson(text.strip(), tuple(files))


def _read(course: Course, unit: Unit) -> str:
    file = f"exercises/{unit.id}/{LESSON}"
    try:
        return (course.root / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{course.root / file} cannot be read ({error}): write the unit's lesson there.") from error


def _without_commands(block: re.Match[str]) -> str:
    """A block of nothing but commands for the terminal becomes what to do in a notebook."""
    lines = [line for line in block[1].splitlines() if line.strip()]
    commands = bool(lines) and all(_COMMAND.match(line) for line in lines)
    return f"{HOW_TO_CHECK}\n" if commands else block[0]


def _link(found: re.Match[str], course: Course, unit: Unit, files: dict[Path, None]) -> str:
    image, label, target = found[1], found[2], found[3]
    if _ELSEWHERE.match(target):
        return found[0]
    folder = course.root / "exercises" / unit.id
    path = (folder / target.partition("#")[0]).resolve()
    if path.name == LESSON and path.parent.name in {known.id for known in course.config.units}:
        name = path.parent.name
        return f"[{label}]({PurePosixPath('..', name, f'{name}.ipynb')})"
    if path.is_file() and path.is_relative_to(folder.resolve()):
        files[path.relative_to(folder.resolve())] = None
        return f"{image}[{label}]({target})"
    return label


def title_id(exercise_id: str) -> str:
    """The grade_id of an exercise's heading."""
    return f"{exercise_id}-title"


def solution_id(exercise_id: str) -> str:
    """The grade_id of the cell that holds a learner's answers."""
    return exercise_id


def check_id(exercise_id: str) -> str:
    """The grade_id of the cell that checks them."""
    return f"{exercise_id}-check"


def answer_id(exercise_id: str, answer: str) -> str:
    """The grade_id of the cell that scores one answer: `lin_grad-w-g` for `w.g`."""
    return f"{exercise_id}-{answer.replace('.', '-')}"


def source_notebook(course: Course, unit: Unit, lesson: Lesson) -> NotebookNode:
    """The source notebook of a unit: the same bytes whenever the course is the same.

    Raises:
        CourseError: a worked solution is missing or cannot be used.
        SpecError: a declaration cannot be used.
    """
    cells = [_markdown(LESSON_ID, lesson.text), _code(SETUP_ID, SETUP)]
    for exercise in course.exercises:
        if exercise.unit == unit.id:
            cells += _exercise_cells(exercise)
    notebook: NotebookNode = from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells})  # type: ignore[no-untyped-call]
    return notebook


def grade_id(cell: NotebookNode) -> str:
    """The cell's grade_id, empty if it has none."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def is_derived(cell: NotebookNode) -> bool:
    """The cell was made here, by this or an earlier build; a copy of one under another grade_id was not."""
    name = grade_id(cell)
    return bool(name) and cell.metadata.get(MARK, {}).get("id") == name


def stub_of(cell: NotebookNode) -> str | None:
    """What stands in a derived cell in place of the answers; `None` for any other cell."""
    stub = cell.metadata[MARK].get("stub") if is_derived(cell) else None
    return None if stub is None else str(stub)


def _exercise_cells(exercise: CourseExercise) -> list[dict[str, Any]]:
    """Return the cells of an exercise: its title, the stub, a check, and one scored cell for each answer."""
    answers = exercise.declaration.answers
    points = exercise.points_of_answer
    stub = {"stub": "\n".join(_placeholders(exercise))}
    return [
        _markdown(title_id(exercise.id), _title(exercise)),
        _code(solution_id(exercise.id), _solution(exercise), stub, solution=True, locked=False),
        _code(check_id(exercise.id), f'check("{exercise.id}")'),
        *(
            _code(
                answer_id(exercise.id, answer.name),
                f'score("{exercise.id}", "{answer.name}")',
                grade=True,
                points=points,
            )
            for answer in answers
        ),
    ]


def _placeholders(exercise: CourseExercise) -> list[str]:
    return assignment_lines(exercise.id, exercise.quiz) if exercise.is_quiz else placeholders(exercise)


def _title(exercise: CourseExercise) -> str:
    points = f"{exercise.points:g} point{'' if exercise.points == 1 else 's'}"
    stretch = ", a stretch exercise: the unit is complete without it" if exercise.stretch else ""
    title = f"## `{exercise.id}`: {exercise.declaration.title}\n\n{points}{stretch}"
    return f"{title}\n\n{HOW_TO_ANSWER}\n\n{questions_markdown(exercise.quiz)}" if exercise.is_quiz else title


def _solution(exercise: CourseExercise) -> str:
    """The worked solution with its marks, without the docstring that heads the file."""
    if exercise.is_quiz:
        return "\n".join([BEGIN, *assignment_lines(exercise.id, exercise.quiz, solved=True), END])
    lines = read_worked(exercise).lines
    first = ast.parse("\n".join(lines)).body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines = lines[first.end_lineno :]
    return "\n".join(lines).strip("\n")


def _markdown(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": _cell_id(name), "metadata": _metadata(name), "source": source}


def _code(name: str, source: str, mark: dict[str, str] | None = None, **grading: bool | float) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": _cell_id(name),
        "metadata": _metadata(name, mark, **grading),
        "source": source,
        "execution_count": None,
        "outputs": [],
    }


def _metadata(name: str, mark: dict[str, str] | None = None, **grading: bool | float) -> dict[str, Any]:
    """nbgrader's own record, schema 3, and beside it what marks the cell as derived."""
    record = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False, "locked": True, "task": False}
    return {"nbgrader": {**record, **grading}, MARK: {"id": name, **(mark or {})}}


def _cell_id(name: str) -> str:
    return name if len(name) <= LONGEST_ID else hashlib.sha256(name.encode()).hexdigest()[:LONGEST_ID]


class KeepStubs(ClearSolutions):  # type: ignore[misc]
    """Clears worked solutions as nbgrader does, but leaves each derived cell its own placeholders."""

    code_stub: dict[str, str]

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        stub = stub_of(cell)
        if stub is None:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        usual = self.code_stub
        self.code_stub = {**usual, "python": stub}
        try:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        finally:
            self.code_stub = usual
