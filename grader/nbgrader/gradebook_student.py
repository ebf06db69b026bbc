"""Writes one student's results to nbgrader's gradebook, as a submission for each unit."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import SAWarning
from tornado.log import app_log

from grader.classroom.submissions import Submission
from grader.course.course import Course
from grader.course.course_file import Unit
from grader.results.records import ExerciseResult, exercise_from_json

from .cell_outputs import share_of
from .comments import comment
from .configuration import Settings, settings_for
from .file_notebooks import graded_notebook, write_page
from .source_notebook import answer_id, solution_id
from .submission_files import TIMESTAMP, timestamp_in
from .unit_assignments import prepare_assignment


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
        self, student: str, folder: Path | None, submission: Submission, record: Mapping[str, Any]
    ) -> None:
        """Enter a student's result for each unit that they handed in something of; manual scores stay as they are.

        What is there of a unit already is kept where nothing but blanks came: who hands in a notebook for one unit, and
        the whole folder of the course for another, loses nothing. Such units are listed in `blank`.

        Args:
            folder: the student's, if that is on disk.
            record: the student's `handgrad/result@1`.

        Raises:
            ValueError: the gradebook refuses something, such as a name that is too long.
        """
        for unit in self.course.config.units:
            if any(name in submission.files for name in unit.ids):
                found = [exercise_from_json(each) for each in record["exercises"] if each["unit"] == unit.id]
                if all(result.status == "todo" for result in found) and self._is_graded(unit, student):
                    self.blank.append((student, unit.id))
                else:
                    self._write_unit(unit, student, folder, submission, found)

    def _is_graded(self, unit: Unit, student: str) -> bool:
        """There are points in the gradebook already."""
        try:
            return bool(self.gradebook.find_submission(unit.id, student).score > 0)
        except MissingEntry:
            return False

    def _write_unit(
        self, unit: Unit, student: str, folder: Path | None, submission: Submission, results: list[ExerciseResult]
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
            page = graded_notebook(self._released[unit.id], self.course, submission, results)
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
