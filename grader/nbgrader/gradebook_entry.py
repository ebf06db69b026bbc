"""Enter the results of a class in nbgrader's gradebook, for `handgrad grade --gradebook`.

Each student gets a submission for each unit, and the notebook that formgrader shows. Importing this imports nbgrader.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from sqlalchemy.exc import OperationalError, SAWarning
from tornado.log import app_log
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom.class_file import CLASS_FILE
from grader.classroom.class_folder import ClassFolder, listed
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.file_tree import displayable_name
from grader.classroom.platform_names import Submission, composed_name
from grader.classroom.report_files import count_of
from grader.classroom.results_folder import result_file
from grader.classroom.submissions import (
    FileContent,
    SubmissionContent,
    SubmissionFacts,
    SubmissionReader,
    UnreadFile,
)
from grader.course.course import Course, CourseExercise
from grader.course.course_file import Unit
from grader.errors import CourseError, InfrastructureError, UsageError
from grader.files import write_atomically
from grader.judging.grading_pool import ReadingPool
from grader.rendering.console import Spinner
from grader.results.points import total
from grader.results.records import ExerciseResult, exercise_from_json
from grader.safe_text import as_markdown, one_line, print_message

from .database import (
    assignments_of_units,
    database_address,
    explain_errors,
    note_assignment,
    refuse_in_memory,
    url_without_password,
)
from .feedback import comment, points_for_share, write_outputs
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
    states_other_points,
    title_id,
)
from .submission import TIMESTAMP, add_notes, timestamp_in

CONFIG_FILE = "nbgrader_config.py"
NOTHING = "# Nothing was handed in for this exercise."
NAMED = 5
OLD_POINTS = (
    "{unit} was released with other points than the course has now, and {url} keeps them: the new points are not"
    " entered. To enter them: handgrad nbgrader init {folder}, and there nbgrader generate_assignment {unit} --force"
    " and nbgrader autograde {unit}; then run this command again."
)


@contextmanager
def entering_in_gradebook(
    names: ExerciseNames,
    url: str,
    class_folder: ClassFolder,
    out: Path,
    adjusted: Collection[str] = (),
    assignment: str = "",
    known: Collection[str] = (),
) -> Iterator[set[str]]:
    """Enter the results of a class in the gradebook at the end of a `with` block that grades it.

    The gradebook is opened before the block as well, so that an error in its address costs no grading time.

    Args:
        names: the course, and which of its exercises are graded.
        url: any SQLAlchemy URL that nbgrader accepts.
        class_folder: the submissions of the class, and who is absent.
        out: the results folder that the block grades into.
        adjusted: the students to whom `adjustments.csv` gives points, which are named and not entered.
        assignment: the name of the assignment of `class.yaml` that is graded; empty if it is none.
        known: the names of all its assignments.

    Yields:
        A set, which has the ids of the units with other points in the gradebook than in the course after the block.

    Raises:
        UsageError: this is no gradebook that can be written, or another assignment of `class.yaml` is entered there for
            the same units.
        InfrastructureError: some students could not be entered; the others were.
    """
    old_points = set[str]()
    refuse_in_memory(url)
    with explain_errors(url, "written"), open_gradebook(names.course, url, assignment) as writer:
        others = writer.other_assignments
    _refuse_shared_units(names, url, others, assignment, known)
    yield old_points
    try:
        with explain_errors(url, "written"):
            old_points |= write_class(names, url, class_folder.submissions, out, class_folder.absent, assignment)
        if adjusted:
            says = f"Adjustments are not entered in {url_without_password(url)}: enter them in formgrader, for"
            print_message(f"{says} {one_line(listed(sorted(map(displayable_name, adjusted))))}.", sys.stderr)
    except KeyboardInterrupt:
        print("handgrad: stopped. What was entered is kept; the same command goes on.", file=sys.stderr)
        raise


def _refuse_shared_units(
    names: ExerciseNames, url: str, others: Mapping[str, str], assignment: str, known: Collection[str]
) -> None:
    """Refuse to enter results in a gradebook that has points of another assignment of `class.yaml` for the same unit.

    A gradebook has one score for each student and unit, so what is entered last would replace the other.

    Args:
        names: the course, and which of its exercises are graded.
        url: the URL of the gradebook.
        others: the assignment whose points the gradebook has, by the id of the unit.
        assignment: the name of the assignment that is graded; empty if it is none of `class.yaml`.
        known: the names of all its assignments.

    Raises:
        UsageError: the gradebook has points of another assignment; names both.
    """
    units = {exercise.unit for exercise in names.wanted}
    for other in sorted({others[unit] for unit in units & others.keys()}):
        shared = ", ".join(sorted(unit for unit in units if others.get(unit) == other))
        says = f"{url_without_password(url)} has the points of {other} for {shared}, and"
        if not assignment:
            advice = f", or grade the assignment: handgrad grade {other}" if other in known else ""
            raise UsageError(
                f"{says} these submissions, which are no assignment's, would replace them: name another "
                f"gradebook{advice or '.'}"
            )
        advice = "" if other in known else f"; or, if {assignment} was called {other}, call it so again in {CLASS_FILE}"
        raise UsageError(
            f"{says} {assignment} would replace them: name another gradebook for {assignment}, such as "
            f"sqlite:///{assignment}.db{advice}"
        )


def write_class(
    names: ExerciseNames,
    url: str,
    submissions: Sequence[Submission],
    out: Path,
    absent: Sequence[str] = (),
    assignment: str = "",
) -> set[str]:
    """Enter the records of a class in the gradebook; a student whose record is refused does not stop the others.

    Points of 0 that `--yes` gave are entered in each unit that anybody's results are entered in, or else in all units.
    So are those of a student who handed in nothing and has points from a person. A unit in which a person gave a
    student points is entered in any case: formgrader takes points only for what was submitted.

    What was entered, and what was not and why, is printed on stderr.

    Args:
        names: the course, and which of its exercises are graded.
        url: the URL of the gradebook.
        submissions: the submissions of the class.
        out: the results folder.
        absent: the students who handed in nothing.
        assignment: the name of the assignment of `class.yaml` whose results are entered; empty if they are of none.

    Returns:
        The ids of the units that keep other points in the gradebook than the course has, because they were released.

    Raises:
        InfrastructureError: some students could not be entered.
    """
    failed = dict[str, str]()
    # A submission without a result has nothing to grade, or is not graded yet.
    everybody = [*submissions, *(Submission(name, ()) for name in absent)]
    graded = [submission for submission in everybody if result_file(out, submission.key).is_file()]
    reader = SubmissionReader(tuple(exercise.id for exercise in names.wanted), digest="", keeps_parts=True)
    with (
        open_gradebook(names.course, url, assignment) as writer,
        Spinner("entering") as say,
        ReadingPool(names.course, 1, reader) as pool,
    ):
        zeros = list[tuple[Submission, SubmissionContent, list[ExerciseResult], set[str]]]()
        unit_of = {exercise.id: exercise.unit for exercise in names.wanted}
        late = 0
        for number, read in enumerate(filter(None, pool.read(zip(graded, graded, strict=True))), 1):
            submission: Submission = read.key
            say(f"{number} of {len(graded)} in {url_without_password(url)}")
            if read.facts is None:
                failed[submission.student] = read.failure
                continue
            try:
                content = SubmissionFacts.from_json(read.facts).content
                record = json.loads(result_file(out, submission.key).read_bytes())
                results = [exercise_from_json(result) for result in record["exercises"]]
            except Exception as error:
                failed[submission.student] = _first_line(error)
                continue
            late += record.get("late", {}).get("points", 0) < 0
            adjusted = {change["exercise"] for change in record.get("adjustments", ())}
            by_person = {unit for exercise, unit in unit_of.items() if exercise in adjusted}
            if (
                record.get("seed", 0) is None and record.get("score") is not None
            ):  # 0 was entered, or points by a person
                zeros.append((submission, content, results, by_person))
                continue
            if submission.key in absent:
                continue
            units = {exercise.unit for exercise in names.wanted if exercise.id in content.files} | by_person
            if refusal := _enter_student(writer, submission, content, results, units, by_person):
                failed[submission.student] = refusal
        units = set(writer.units) or set(unit_of.values())
        for submission, content, results, by_person in zeros:
            entered = units | by_person
            if refusal := _enter_student(writer, submission, content, results, entered, entered):
                failed[submission.student] = refusal
    students = count_of(len(writer.students - failed.keys()), "student")
    said = f"{students} ({', '.join(writer.units) or 'nothing was handed in'})"
    print_message(f"Entered in {url_without_password(url)}: {said}.", sys.stderr)
    if late:
        says = f"Lateness is not entered in {url_without_password(url)}, where nbgrader's late penalty counts"
        print_message(f"{says}: here it costs {count_of(late, 'student')} points.", sys.stderr)
    for unit in sorted(writer.old_points):
        says = OLD_POINTS.format(unit=unit, url=url_without_password(url), folder=writer.settings.folder)
        print_message(one_line(says), sys.stderr)
    if writer.blank:
        print_message(f"Left as they were, where only blanks were handed in: {_name_list(writer.blank)}.", sys.stderr)
    if writer.lowered:
        says = f"Fewer points than before in {url_without_password(url)}: {_name_list(writer.lowered)}"
        step = "of a notebook and files of the same unit, only what is graded last counts"
        print_message(f"{says}; {step}.", sys.stderr)
    if failed:
        name, why = next(iter(failed.items()))
        reason = f"{len(failed)} students could not be entered, {name} for one ({why}): put it right, and run it again."
        raise InfrastructureError(one_line(reason))
    return writer.old_points


def _enter_student(
    writer: GradebookWriter,
    submission: Submission,
    content: SubmissionContent,
    results: Sequence[ExerciseResult],
    units: Collection[str],
    zeros: Collection[str] = (),
) -> str:
    """Enter a student's record in the gradebook.

    Args:
        writer: the gradebook.
        submission: the student's submission.
        content: what was read of it.
        results: the results in the student's record.
        units: the units whose results are entered.
        zeros: the units, among these, that are entered although the submission has no file of them.

    Returns:
        The reason why the gradebook refused the record; empty if it did not.

    Raises:
        OperationalError: the database fails, for the other students as well.
    """
    try:
        entered = [result for result in results if result.unit in units]
        writer.write_student(submission.student, submission.path, content, entered, zeros)
    except OperationalError:
        raise
    except Exception as error:  # what the gradebook refuses of one student, it may take of another
        writer.undo_last_student()
        if isinstance(error.__context__, OperationalError):  # such as a full disk
            raise error.__context__ from None
        return _first_line(error)
    return ""


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message; the name of its type if the message is empty."""
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]


def _name_list(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the first `NAMED` pairs of a student and a unit in words, and how many more there are."""
    more = f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else ""
    return one_line(", ".join(f"{student} {unit}" for student, unit in pairs[:NAMED])) + more


@contextmanager
def open_gradebook(course: Course, url: str, assignment: str = "") -> Iterator[GradebookWriter]:
    """Open a gradebook for entering results, as a context manager; a missing one is made.

    From then on this process has no log of nbgrader's, and the programs of its environment on the path.

    Args:
        course: the course.
        url: any SQLAlchemy URL that nbgrader accepts.
        assignment: the name of the assignment of `class.yaml` whose results are entered; empty if they are of none.

    Yields:
        The writer.
    """
    settings = settings_for(url)
    tools = str(Path(sys.executable).parent)  # nbgrader runs alembic by name, wherever this environment is
    os.environ["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", "")])
    with warnings.catch_warnings(), Gradebook(url, course.config.course) as gradebook:
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's way of adding a submission warns
        app_log.setLevel(logging.CRITICAL)  # nbgrader logs tracebacks of errors that it raises as well
        yield GradebookWriter(gradebook, url, course, settings, assignment)


@dataclass(frozen=True)
class _Cells:
    """The cells of a unit's notebook in the gradebook: their names, and the most points of each graded one, by id."""

    names: Mapping[str, str]
    most: Mapping[str, float]


class GradebookWriter:
    """A gradebook that the results of students are entered in, one student after the other.

    `students` has those with the results of a unit. `blank` lists pairs of a student and a unit that were left
    unchanged because only blanks were handed in, and `lowered` those whose points have become fewer, with the points
    after the unit. `old_points` has the units that keep other points than the course
    has, because nbgrader released them with these points.

    Args:
        gradebook: nbgrader's gradebook, opened for writing.
        url: the URL of the gradebook.
        course: the course.
        settings: the configuration of nbgrader, with the folder for graded notebooks and the late penalty.
        assignment: the name of the assignment of `class.yaml` whose results are entered; empty if they are of none.
    """

    def __init__(
        self, gradebook: Gradebook, url: str, course: Course, settings: NbgraderSettings, assignment: str = ""
    ) -> None:
        """Begin with no unit and no student entered."""
        self.gradebook, self.url, self.course, self.settings = gradebook, url, course, settings
        self.assignment = assignment
        self.students, self.old_points = set[str](), set[str]()
        self.blank, self.lowered = list[tuple[str, str]](), list[tuple[str, str]]()
        self._released: dict[str, NotebookNode] = {}
        self._cells: dict[str, _Cells] = {}
        self._ids = {composed_name(student.id): student.id for student in gradebook.students}

    @property
    def units(self) -> tuple[str, ...]:
        """Return the ids of the units that something was entered for."""
        return tuple(self._released)

    @property
    def other_assignments(self) -> dict[str, str]:
        """Return by the id of a unit the other assignment of `class.yaml` whose points the gradebook has for it."""
        handed_in = {unit.name for unit in self.gradebook.assignments if unit.submissions}
        entered = assignments_of_units(self.gradebook.db.connection())
        return {unit: name for unit, name in entered.items() if unit in handed_in and name != self.assignment}

    def undo_last_student(self) -> None:
        """Undo what was entered of the last student, whom the gradebook refused."""
        self.gradebook.db.rollback()

    def write_student(
        self,
        student: str,
        folder: Path | None,
        content: SubmissionContent,
        results: Sequence[ExerciseResult],
        zeros: Collection[str] = (),
    ) -> None:
        """Enter a student, and the result for each unit that the submission has a file of; manual scores stay.

        If only blanks were handed in for a unit, points that the gradebook already has there stay, and the unit is
        listed in `blank`: whoever hands in a notebook for a unit, and the whole course folder for another, loses
        nothing.

        Args:
            student: the student's id. If the gradebook has it with accents as characters of their own, as macOS writes
                them, that student is meant.
            folder: the student's folder on disk; `None` if there is none.
            content: the submission's files and notes.
            results: the student's results, of all exercises in the units that are entered.
            zeros: the ids of the units that are entered though the submission has no file of them.

        Raises:
            ValueError: the gradebook refuses something, such as a name that is too long.
        """
        entry = self._ids.get(composed_name(student), student)
        self.gradebook.update_or_create_student(entry)
        self.gradebook.db.commit()
        for unit in self.course.config.units:
            if unit.id in zeros or any(name in content.files for name in unit.ids):
                self.students.add(student)
                unit_results = [result for result in results if result.unit == unit.id]
                if all(result.status == "todo" for result in unit_results) and self._is_graded(unit, entry):
                    self.blank.append((student, unit.id))
                else:
                    self._write_unit(unit, entry, folder, content, unit_results)

    def _is_graded(self, unit: Unit, student: str) -> bool:
        """Return whether the gradebook has more than 0 points of a student for a unit."""
        try:
            return bool(self.gradebook.find_submission(unit.id, student).score > 0)
        except MissingEntry:
            return False

    def _write_unit(
        self, unit: Unit, student: str, folder: Path | None, content: SubmissionContent, results: list[ExerciseResult]
    ) -> None:
        """Enter a student's results of a unit: scores, comments, the late penalty, and the graded notebook.

        Args:
            unit: the unit.
            student: the student's id.
            folder: the student's folder on disk, which may note the time of submission; `None` if there is none.
            content: the submission's files and notes.
            results: the results of the unit.
        """
        if unit.id not in self._released:
            self._prepare_unit(unit)
        stamp = _timestamp(folder, unit)
        submitted = self.gradebook.update_or_create_submission(
            unit.id, student, **({} if stamp is None else {"timestamp": stamp})
        )
        notebook = self.gradebook.find_submission_notebook(unit.id, unit.id, student)
        before = _points(notebook)
        _enter_scores(notebook, self._cells[unit.id], results)
        if (points := _points(notebook)) < before:
            self.lowered.append((student, f"{unit.id} ({before:g} before, {points:g} now)"))
        self.gradebook.db.commit()
        if submitted.total_seconds_late > 0 or notebook.late_submission_penalty is not None:
            self._penalise(unit, student)
        place = self.settings.autograded(student, unit.id)
        if place is not None:
            page = graded_notebook(self._released[unit.id], self.course, content, results)
            write_notebook(place / f"{unit.id}.ipynb", page, None if stamp is None else place / TIMESTAMP, stamp)

    def _prepare_unit(self, unit: Unit) -> None:
        """Enter a unit as an assignment of nbgrader's, and the course's points of it if they have changed.

        Points of a unit that nbgrader released stay: its notebooks tell them to the students.

        Args:
            unit: the unit.
        """
        notebook = prepare_assignment(self.gradebook, self.url, self.course, unit)
        known = self.gradebook.find_notebook(unit.id, unit.id)
        exercises = [exercise for exercise in self.course.exercises if exercise.unit == unit.id]
        changed = [exercise for exercise in exercises if _has_other_points(known, exercise)]
        if self.settings.is_released(unit.id, self.url):
            released = [exercise for exercise in changed if _is_saved(known, exercise)]
            changed = [exercise for exercise in changed if exercise not in released]
            self.old_points.update(exercise.unit for exercise in released)
        titles = {grade_id(cell): cell for cell in notebook.cells}
        for exercise in changed:
            _enter_points(known, exercise, titles[title_id(exercise.id)])
        note_assignment(self.gradebook.db.connection(), unit.id, self.assignment)
        self.gradebook.db.commit()
        if changed:
            for submitted in self.gradebook.find_assignment(unit.id).submissions:
                if submitted.late_submission_penalty:
                    self._penalise(unit, submitted.student_id)
        self._cells[unit.id] = _cells(self.gradebook.find_notebook(unit.id, unit.id))
        most = {self._cells[unit.id].names[cell]: points for cell, points in self._cells[unit.id].most.items()}
        for cell in notebook.cells:
            if grade_id(cell) in most:
                cell.metadata["nbgrader"]["points"] = most[grade_id(cell)]
        self._released[unit.id] = notebook

    def _penalise(self, unit: Unit, student: str) -> None:
        """Let nbgrader assign the late penalty, with the plugin that the instructor configured.

        The penalty is written to the gradebook, which is then read anew.
        """
        place = {"notebook": unit.id, "assignment": unit.id, "student": student, "db_url": self.url}
        nothing = NotebookNode(cells=[], metadata={})  # type: ignore[no-untyped-call]
        AssignLatePenalties(config=self.settings.config).preprocess(nothing, ResourcesDict(nbgrader=place))
        self.gradebook.db.expire_all()


def _has_other_points(notebook: Any, exercise: CourseExercise) -> bool:
    """Return whether the course's points of an exercise have changed since they were entered in the gradebook.

    The title of the exercise in the gradebook states what they were: a person may have given a cell other points there,
    or in the source notebook, and these stay. Points of cells that handgrad added later are compared themselves.

    Args:
        notebook: nbgrader's record of the unit's notebook.
        exercise: the exercise.
    """
    if _is_saved(notebook, exercise):
        return any(states_other_points(title.source, exercise.points) for title in _title_cells(notebook, exercise))
    return any(cell.max_score != exercise.points_of_answer for cell in _answer_cells(notebook, exercise))


def _is_saved(notebook: Any, exercise: CourseExercise) -> bool:
    """Return whether the gradebook has the sources of an exercise's title and scores, as nbgrader saves them.

    Args:
        notebook: nbgrader's record of the unit's notebook.
        exercise: the exercise.
    """
    cells = {title_id(exercise.id), *(answer_id(exercise.id, answer) for answer in exercise.answer_names)}
    return cells <= {cell.name for cell in notebook.source_cells}


def _title_cells(notebook: Any, exercise: CourseExercise) -> list[Any]:
    """Return nbgrader's record of the source of an exercise's title in a list, which is empty if there is none.

    Args:
        notebook: nbgrader's record of the unit's notebook.
        exercise: the exercise.
    """
    return [cell for cell in notebook.source_cells if cell.name == title_id(exercise.id)]


def _answer_cells(notebook: Any, exercise: CourseExercise) -> list[Any]:
    """Return nbgrader's records of the cells that score the answers of an exercise.

    Args:
        notebook: nbgrader's record of the unit's notebook.
        exercise: the exercise.
    """
    names = {answer_id(exercise.id, answer) for answer in exercise.answer_names}
    return [cell for cell in notebook.grade_cells if cell.name in names]


def _enter_points(notebook: Any, exercise: CourseExercise, title: NotebookNode) -> None:
    """Enter the course's points of an exercise, and scale the automatic scores of all students to them.

    So nobody whose work is not in this run is left with points of the old maximum. Manual scores stay.

    Args:
        notebook: nbgrader's record of the unit's notebook, whose cells and grades are changed.
        exercise: the exercise.
        title: the title of the exercise, which states its points.
    """
    for cell in _title_cells(notebook, exercise):
        cell.source, cell.checksum = title.source, title.metadata["nbgrader"]["checksum"]
    most = exercise.points_of_answer
    for cell in _answer_cells(notebook, exercise):
        for grade in cell.grades:
            if grade.auto_score and cell.max_score:
                grade.auto_score = points_for_share(most, grade.auto_score / cell.max_score)
        cell.max_score = most


def _cells(notebook: Any) -> _Cells:
    """Return the names and the points of the cells of a unit's notebook.

    Args:
        notebook: nbgrader's record of the notebook.
    """
    graded = list(notebook.grade_cells)
    names = {cell.id: cell.name for cell in (*graded, *notebook.solution_cells)}
    return _Cells(names, {cell.id: float(cell.max_score) for cell in graded})


def _enter_scores(notebook: Any, cells: _Cells, results: list[ExerciseResult]) -> None:
    """Set the automatic scores and comments of a submitted notebook.

    An answer of status `error`, which handgrad could not grade through no fault of the student, gets no automatic score
    and is marked as needing manual grading. So is an answer with a manual score, beside its automatic one. Code that
    raises is simply wrong.

    Args:
        notebook: nbgrader's record of the submitted notebook, which is changed.
        cells: the cells of the unit's notebook.
        results: the results of the unit.
    """
    names, most = cells.names, cells.most
    answers = {answer_id(result.id, answer.name): answer for result in results for answer in result.answers}
    comments = {solution_id(result.id): comment(result) for result in results}
    for grade in notebook.grades:
        answer = answers.get(names.get(grade.cell_id, ""))
        if answer is not None:
            share = answer.score / answer.max_score
            grade.auto_score = None if answer.status == "error" else points_for_share(most[grade.cell_id], share)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
    for entry in notebook.comments:
        name = names.get(entry.cell_id, "")
        if name in comments:
            entry.auto_comment = comments[name]


def _points(notebook: Any) -> float:
    """Return the points of a submitted notebook as formgrader shows them: manual scores and extra credit count."""
    scores = (grade.auto_score if grade.manual_score is None else grade.manual_score for grade in notebook.grades)
    return total([*(score or 0.0 for score in scores), *(grade.extra_credit or 0.0 for grade in notebook.grades)])


def _timestamp(folder: Path | None, unit: Unit) -> datetime | None:
    """Return the time of submission that is noted in the folder of the unit, or else of the student.

    `None` if none is.
    """
    if folder is None:
        return None
    stamps = (timestamp_in(place) for place in (folder / unit.id, folder / "exercises" / unit.id, folder))
    return next((stamp for stamp in stamps if stamp is not None), None)


@dataclass(frozen=True)
class NbgraderSettings:
    """An instructor's configuration of nbgrader.

    Args:
        folder: the nbgrader course folder; `None` if there is none beside the gradebook or here.
        config: the content of `nbgrader_config.py`.
    """

    folder: Path | None
    config: Config

    def autograded(self, student: str, assignment: str) -> Path | None:
        """Return the folder for a student's graded submission to an assignment; `None` without a course folder."""
        if self.folder is None:
            return None
        directory = self._directory(self.folder)
        return Path(directory.format_path(directory.autograded_directory, student, assignment))

    def is_released(self, assignment: str, url: str) -> bool:
        """Return whether `nbgrader generate_assignment` made a notebook of an assignment, and entered its points.

        Args:
            assignment: the name of the assignment.
            url: the URL of the gradebook; `False` if it is not the one of the nbgrader course folder.
        """
        if self.folder is None:
            return False
        directory = self._directory(self.folder)
        if database_address(directory.db_url) != database_address(url):
            return False
        return Path(directory.format_path(directory.release_directory, ".", assignment)).is_dir()

    def _directory(self, folder: Path) -> CourseDirectory:
        """Return nbgrader's paths in the course folder."""
        directory = CourseDirectory(config=self.config)
        directory.root = str(folder.resolve())
        return directory


def settings_for(url: str) -> NbgraderSettings:
    """Return the configuration that lies beside the gradebook, if that is a file, or else in the current folder.

    Args:
        url: the URL of the gradebook.

    Raises:
        UsageError: the configuration cannot be run.
    """
    address = make_url(url)
    own_folder = [Path(address.database).parent] if address.get_backend_name() == "sqlite" and address.database else []
    folder = next((place for place in (*own_folder, Path()) if (place / CONFIG_FILE).is_file()), None)
    if folder is None:
        return NbgraderSettings(None, Config())
    try:
        config = PyFileConfigLoader(CONFIG_FILE, path=str(folder)).load_config()
    except Exception as error:  # whatever an instructor's file raises
        raise UsageError(
            f"{folder / CONFIG_FILE} cannot be used ({type(error).__name__}: {error}): correct it."
        ) from error
    return NbgraderSettings(folder, config)


def graded_notebook(
    released: NotebookNode, course: Course, content: SubmissionContent, results: Sequence[ExerciseResult]
) -> NotebookNode:
    """Return the released notebook with a student's files in its cells, and their results as outputs.

    Args:
        released: the notebook of the unit, which stays unchanged.
        course: the course.
        content: the submission's files and notes.
        results: the results of the unit.
    """
    notebook = copy.deepcopy(released)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) not in (LESSON_ID, SETUP_ID)]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
    cells = {grade_id(cell): cell for cell in code}
    for result in results:
        if result.id in cells:
            cells[result.id].source = _source_text(content.files.get(result.id))
        write_outputs(course.find(result.id), result, cells)
    add_notes(notebook, [as_markdown(note) for note in content.notes])
    return notebook


def write_notebook(path: Path, notebook: NotebookNode, stamped: Path | None, stamp: datetime | None) -> None:
    """Write a graded notebook, and the time of its submission.

    Args:
        path: the notebook's file.
        notebook: the notebook.
        stamped: the file for the time; `None` if the time is unknown.
        stamp: the time, in UTC.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (nbformat.writes(notebook) + "\n").encode())  # type: ignore[no-untyped-call]
    if stamped is not None:
        write_atomically(stamped, f"{stamp} UTC\n".encode())


def _source_text(content: FileContent | None) -> str:
    """Return the source of a cell for a submitted file; if the file has no text, a comment that says why.

    `NOTHING` for `None`: nothing was handed in. The cells of a notebook are joined by blank lines.
    """
    if content is None:
        return NOTHING
    if isinstance(content, UnreadFile):
        return f"# {content.why}"
    if isinstance(content, tuple):
        return "\n\n".join(content)
    return content.decode("utf-8", "replace").replace("\r\n", "\n")


def prepare_assignment(gradebook: Gradebook, url: str, course: Course, unit: Unit) -> NotebookNode:
    """Enter a unit as an assignment in the gradebook, whether or not its notebook was ever released.

    An assignment that is there stays; answers without a cell get one, for every student.

    Args:
        gradebook: nbgrader's gradebook.
        url: the URL of the gradebook.
        course: the course.
        unit: the unit.

    Returns:
        The unit's notebook in its released form.
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
    _add_missing_cells(gradebook, course, unit, known)
    return notebook


def _released_notebook(course: Course, unit: Unit) -> NotebookNode:
    """Return a unit's notebook as students get it: what `nbgrader generate_assignment` makes of its source notebook.

    If the lesson cannot be read, the notebook has the exercises alone.
    """
    try:
        lesson = notebook_lesson(course, unit)
    except CourseError:
        lesson = Lesson("", ())
    notebook = source_notebook(course, unit, lesson)
    for step in (LockCells(), KeepStubs(), ComputeChecksums()):
        notebook, _ = step.preprocess(notebook, ResourcesDict())
    return notebook


def _add_missing_cells(gradebook: Gradebook, course: Course, unit: Unit, notebook: Any) -> None:
    """Add to the gradebook the exercises and answers that an earlier release of the unit's notebook did not have.

    Args:
        gradebook: nbgrader's gradebook.
        course: the course.
        unit: the unit.
        notebook: nbgrader's record of the unit's notebook.
    """
    grades = {cell.name for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    for exercise in course.exercises:
        if exercise.unit != unit.id:
            continue
        if exercise.id not in solutions:
            added = gradebook.add_solution_cell(exercise.id, unit.id, unit.id)
            gradebook.db.add_all(Comment(cell_id=added.id, notebook=submitted) for submitted in notebook.submissions)
        for answer in exercise.declaration.answers:
            name = answer_id(exercise.id, answer.name)
            if name not in grades:
                most = exercise.points_of_answer
                cell = gradebook.add_grade_cell(name, unit.id, unit.id, max_score=most, cell_type="code")
                gradebook.db.add_all(Grade(cell_id=cell.id, notebook=submitted) for submitted in notebook.submissions)
    gradebook.db.commit()
