"""Writes one student's results to nbgrader's gradebook, as a submission for each unit."""

from __future__ import annotations

import copy
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, ComputeChecksums, LockCells, SaveCells
from sqlalchemy import make_url
from sqlalchemy.exc import SAWarning
from tornado.log import app_log
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom.submissions import FileContent, SubmissionContent, UnreadFile
from grader.course.course import Course
from grader.course.course_file import Unit
from grader.errors import CourseError, UsageError
from grader.files import write_atomically
from grader.results.records import ExerciseResult, exercise_from_json
from grader.safe_text import as_markdown

from .feedback import comment, share_of, write_outputs
from .source_notebook import (
    LESSON_ID,
    SETUP_ID,
    KeepStubs,
    Lesson,
    answer_id,
    grade_id,
    notebook_lesson,
    solution_id,
    source_notebook,
)
from .submission import TIMESTAMP, add_notes, timestamp_in

CONFIG_FILE = "nbgrader_config.py"
NOTHING = "# Nothing was handed in for this exercise."


@contextmanager
def open_gradebook(course: Course, url: str) -> Iterator[GradebookWriter]:
    """A gradebook to enter a class in; made if it is not there."""
    settings = settings_for(url)
    tools = str(Path(sys.executable).parent)  # nbgrader runs alembic by name, wherever this environment is
    os.environ["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", "")])
    with warnings.catch_warnings(), Gradebook(url, course.config.course) as gradebook:
        warnings.simplefilter("ignore", SAWarning)  # of how nbgrader adds a submission
        app_log.setLevel(logging.CRITICAL)  # where nbgrader writes tracebacks of errors that it raises too
        yield GradebookWriter(gradebook, url, course, settings)


@dataclass(frozen=True)
class _Cells:
    """The cells of a unit's notebook in the gradebook, which are asked for once: names, and the most points of each."""

    names: Mapping[str, str]
    most: Mapping[str, float]


class GradebookWriter:
    """Enters one student after the other."""

    def __init__(self, gradebook: Gradebook, url: str, course: Course, settings: Settings) -> None:
        self.gradebook, self.url, self.course, self.settings = gradebook, url, course, settings
        self.blank: list[tuple[str, str]] = []
        self._released: dict[str, NotebookNode] = {}
        self._cells: dict[str, _Cells] = {}

    @property
    def units(self) -> tuple[str, ...]:
        """The units that something was entered for."""
        return tuple(self._released)

    def undo_last_student(self) -> None:
        """Leave the gradebook as it was before the last student, who could not be entered."""
        self.gradebook.db.rollback()

    def write_student(
        self, student: str, folder: Path | None, content: SubmissionContent, record: Mapping[str, Any]
    ) -> None:
        """Enter a student's result for each unit that they handed in something of; manual scores stay as they are.

        What is there of a unit already is kept where nothing but blanks came: who hands in a notebook for one unit, and
        the whole folder of the course for another, loses nothing. Such units are listed in `blank`.

        Args:
            folder: the student's, if that is on disk.
            content: what was read of the student's submission.
            record: the student's `handgrad/result@1`.

        Raises:
            ValueError: the gradebook refuses something, such as a name that is too long.
        """
        for unit in self.course.config.units:
            if any(name in content.files for name in unit.ids):
                found = [exercise_from_json(each) for each in record["exercises"] if each["unit"] == unit.id]
                if all(result.status == "todo" for result in found) and self._is_graded(unit, student):
                    self.blank.append((student, unit.id))
                else:
                    self._write_unit(unit, student, folder, content, found)

    def _is_graded(self, unit: Unit, student: str) -> bool:
        """There are points in the gradebook already."""
        try:
            return bool(self.gradebook.find_submission(unit.id, student).score > 0)
        except MissingEntry:
            return False

    def _write_unit(
        self, unit: Unit, student: str, folder: Path | None, content: SubmissionContent, results: list[ExerciseResult]
    ) -> None:
        if unit.id not in self._released:
            self._released[unit.id] = prepare_assignment(self.gradebook, self.url, self.course, unit)
            self._cells[unit.id] = _cells(self.gradebook.find_notebook(unit.id, unit.id))
        stamp = _timestamp(folder, unit)
        self.gradebook.update_or_create_student(student)
        submitted = self.gradebook.update_or_create_submission(
            unit.id, student, **({} if stamp is None else {"timestamp": stamp})
        )
        notebook = self.gradebook.find_submission_notebook(unit.id, unit.id, student)
        _score(notebook, self._cells[unit.id], results)
        self.gradebook.db.commit()
        if submitted.total_seconds_late > 0 or notebook.late_submission_penalty is not None:
            self._penalise(unit, student)
        place = self.settings.autograded(student, unit.id)
        if place is not None:
            page = graded_notebook(self._released[unit.id], self.course, content, results)
            write_page(place / f"{unit.id}.ipynb", page, None if stamp is None else place / TIMESTAMP, stamp)

    def _penalise(self, unit: Unit, student: str) -> None:
        """Let nbgrader assign the late penalty, with the plugin that the instructor configured."""
        place = {"notebook": unit.id, "assignment": unit.id, "student": student, "db_url": self.url}
        nothing = NotebookNode(cells=[], metadata={})  # type: ignore[no-untyped-call]
        AssignLatePenalties(config=self.settings.config).preprocess(nothing, ResourcesDict(nbgrader=place))
        self.gradebook.db.expire_all()


def _cells(released: Any) -> _Cells:
    graded = list(released.grade_cells)
    names = {cell.id: cell.name for cell in (*graded, *released.solution_cells)}
    return _Cells(names, {cell.id: float(cell.max_score) for cell in graded})


def _score(notebook: Any, cells: _Cells, results: list[ExerciseResult]) -> None:
    """Set automatic scores and comments; what could not be graded is left to a person."""
    names, most = cells.names, cells.most
    answers = {answer_id(result.id, answer.name): answer for result in results for answer in result.answers}
    said = {solution_id(result.id): comment(result) for result in results}
    for grade in notebook.grades:
        answer = answers.get(names.get(grade.cell_id, ""))
        if answer is not None:
            share = answer.score / answer.max_score
            grade.auto_score = None if answer.status == "error" else share_of(most[grade.cell_id], share)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
    for entry in notebook.comments:
        name = names.get(entry.cell_id, "")
        if name in said:
            entry.auto_comment = said[name]


def _timestamp(folder: Path | None, unit: Unit) -> datetime | None:
    """When it was handed in, where nbgrader or the instructor noted it: in the unit's folder, or in the student's."""
    if folder is None:
        return None
    found = (timestamp_in(place) for place in (folder / unit.id, folder / "exercises" / unit.id, folder))
    return next((stamp for stamp in found if stamp is not None), None)


@dataclass(frozen=True)
class Settings:
    """What an instructor configured.

    Args:
        folder: the nbgrader course folder, `None` where the gradebook stands alone.
    """

    folder: Path | None
    config: Config

    def autograded(self, student: str, assignment: str) -> Path | None:
        """Where nbgrader keeps a graded submission."""
        if self.folder is None:
            return None
        directory = CourseDirectory(config=self.config)
        directory.root = str(self.folder.resolve())
        return Path(directory.format_path(directory.autograded_directory, student, assignment))


def settings_for(url: str) -> Settings:
    """The settings beside the gradebook, if it is a file, or else here.

    Raises:
        UsageError: the configuration cannot be run.
    """
    address = make_url(url)
    beside = [Path(address.database).parent] if address.get_backend_name() == "sqlite" and address.database else []
    folder = next((place for place in (*beside, Path()) if (place / CONFIG_FILE).is_file()), None)
    if folder is None:
        return Settings(None, Config())
    try:
        config = PyFileConfigLoader(CONFIG_FILE, path=str(folder)).load_config()
    except Exception as error:  # whatever an instructor's file raises
        raise UsageError(
            f"{folder / CONFIG_FILE} cannot be used ({type(error).__name__}: {error}): correct it."
        ) from error
    return Settings(folder, config)


def graded_notebook(
    released: NotebookNode, course: Course, submission: SubmissionContent, results: Sequence[ExerciseResult]
) -> NotebookNode:
    """The released notebook with a student's files in its cells, and the verdicts as their outputs."""
    notebook = copy.deepcopy(released)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) not in (LESSON_ID, SETUP_ID)]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
    cells = {grade_id(cell): cell for cell in code}
    for result in results:
        if result.id in cells:
            cells[result.id].source = _text(submission.files.get(result.id))
        write_outputs(course.find(result.id), result, cells)
    add_notes(notebook, [as_markdown(note) for note in submission.notes])
    return notebook


def write_page(path: Path, notebook: NotebookNode, stamped: Path | None, stamp: datetime | None) -> None:
    """Write a graded notebook, and beside it when the files were handed in, where that is known."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (nbformat.writes(notebook) + "\n").encode())  # type: ignore[no-untyped-call]
    if stamped is not None:
        write_atomically(stamped, f"{stamp} UTC\n".encode())


def _text(content: FileContent | None) -> str:
    if content is None:
        return NOTHING
    if isinstance(content, UnreadFile):
        return f"# {content.why}"
    if isinstance(content, tuple):
        return "\n\n".join(content)
    return content.decode("utf-8", "replace").replace("\r\n", "\n")


def prepare_assignment(gradebook: Gradebook, url: str, course: Course, unit: Unit) -> NotebookNode:
    """The unit's notebook as it is released; its assignment, cells and points are in the gradebook from now on.

    What is there already stays as it is; an answer that has no cell yet is added, for every student.
    """
    notebook = _released_notebook(course, unit)
    gradebook.update_or_create_assignment(unit.id)
    try:
        known = gradebook.find_notebook(unit.id, unit.id)
    except MissingEntry:
        place = {"notebook": unit.id, "assignment": unit.id, "db_url": url}
        SaveCells().preprocess(copy.deepcopy(notebook), ResourcesDict(nbgrader=place))
        gradebook.db.expire_all()
        known = gradebook.find_notebook(unit.id, unit.id)
    _add_missing(gradebook, course, unit, known)
    return notebook


def _released_notebook(course: Course, unit: Unit) -> NotebookNode:
    """What `nbgrader generate_assignment` makes of the unit's source notebook."""
    try:
        lesson = notebook_lesson(course, unit)
    except CourseError:
        lesson = Lesson("", ())
    notebook = source_notebook(course, unit, lesson)
    for step in (LockCells(), KeepStubs(), ComputeChecksums()):
        notebook, _ = step.preprocess(notebook, ResourcesDict())
    return notebook


def _add_missing(gradebook: Gradebook, course: Course, unit: Unit, notebook: Any) -> None:
    """Add the answers and exercises to the gradebook that a notebook released earlier did not have."""
    grades = {cell.name for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    for exercise in course.exercises:
        if exercise.unit != unit.id:
            continue
        if exercise.id not in solutions:
            added = gradebook.add_solution_cell(exercise.id, unit.id, unit.id)
            gradebook.db.add_all(Comment(cell_id=added.id, notebook=each) for each in notebook.submissions)
        for answer in exercise.declaration.answers:
            name = answer_id(exercise.id, answer.name)
            if name not in grades:
                most = exercise.points_of_answer
                cell = gradebook.add_grade_cell(name, unit.id, unit.id, max_score=most, cell_type="code")
                gradebook.db.add_all(Grade(cell_id=cell.id, notebook=each) for each in notebook.submissions)
    gradebook.db.commit()
