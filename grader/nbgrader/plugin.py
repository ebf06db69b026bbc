"""Classes for `nbgrader_config.py` that make `nbgrader autograde` safe and fast: student code runs in isolation.

They replace nbgrader's own, and judge where student code has no access; `handgrad nbgrader init` writes them into a
configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from types import TracebackType
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import remove, rmtree
from traitlets import Enum, Integer, Unicode

from grader.course.course import Course, CourseExercise, load_course, notebook_course
from grader.course.course_file import QUIZ_FILE
from grader.errors import HandgradError, InfrastructureError
from grader.judging.grading_pool import GradingPool
from grader.judging.unanswered_stubs import answered_cells, with_answer_beside
from grader.results.records import ExerciseResult
from grader.safe_text import as_markdown
from grader.sandbox.isolation import Isolation, choose, machine, weakness
from grader.sandbox.source_text import LONGEST_MODULES, NO_FILES, Files, Part, Source, importable_files

from .feedback import comment, points_output, write_outputs
from .gradebook_results import UNREAD
from .source_notebook import answer_id, grade_id, solution_id
from .submission import (
    EMPTY_FOLDER,
    MOST_NOTES,
    TIMESTAMP,
    WITHOUT_NOTEBOOK,
    add_notes,
    chosen_notebook,
    name_as_markdown,
    notes_in,
    read_submitted,
    released_names,
    ungradable_note,
    ungradable_notebook,
    why_unread,
    wrong_notebook,
)

SESSION, POINTS, FINDINGS = "_handgrad_session", "_handgrad_points", "handgrad"
NOTHING: dict[str, Any] = {"comments": {}, "manual": []}
SETTING = 'c.SecureExecute.isolation = "{}"'
METADATA_KEY, MADE_FROM = "handgrad", "made_from"
MOST_NAMES = 5
NO_RECORD = (
    "%s has changed since %s was graded, perhaps, which does not say what it was made from: "
    "look at it, and grade it again with --force"
)


class SubmissionExporter(NotebookExporter):
    """A reader of submissions that no file can stop; set it as `Autograde.exporter_class`.

    It fails before the first submission is read if student code cannot be isolated on this machine, and removes graded
    notebooks of submissions that have changed.
    """

    optimistic_validation = True  # validated once, after the last preprocessor

    def __init__(self, **options: Any) -> None:
        """Check that student code can be isolated, and prepare the submissions of the command.

        Submissions without a notebook are listed, and outdated graded notebooks removed.

        Args:
            **options: the arguments of nbconvert's `NotebookExporter`.

        Raises:
            NbGraderException: student code cannot be isolated here, or the course cannot be used.
        """
        super().__init__(**options)  # type: ignore[no-untyped-call]
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _report_interrupt
        executes = SecureExecute(parent=self)
        if executes.enabled:
            try:
                executes.session()
            except HandgradError as error:
                self.log.error("%s", error)
                raise NbGraderException(str(error)) from error
        if hasattr(self.parent, "assignments"):
            add_empty_submissions(self.parent)
            remove_outdated(self.parent)

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Read a submitted notebook, or the notebook beside it that holds the answers.

        If the file is missing or must not be opened, several notebooks could be meant, or none of the assignment is
        there, the notebook returned holds a note that says so.

        Args:
            filename: the notebook's path.
            resources: nbconvert's resources, with the name of the assignment under `nbgrader`.
            options: nbconvert's options.

        Returns:
            The notebook and the resources.
        """
        path = Path(filename)
        if not os.path.lexists(path):
            chosen: NotebookNode | None = ungradable_notebook(_why_without_notebook(path.parent))
        elif why := why_unread(path, path.parent):
            chosen = ungradable_notebook(UNREAD.format(f"it is {why}"))
        else:
            chosen = chosen_notebook(path, _assignment(resources))
        if chosen is not None:
            return self._convert(chosen, path.parent, resources, options)
        read: tuple[NotebookNode, dict[str, Any]] = super().from_filename(filename, resources=resources, **options)
        return read

    def from_file(
        self, file_stream: Any, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Read a submitted notebook from an open file, without anything that could stop a later step.

        Args:
            file_stream: a text file, whose bytes are read.
            resources: nbconvert's resources.
            options: nbconvert's options.

        Returns:
            The notebook and the resources.
        """
        notebook = read_submitted(file_stream.buffer.read())
        return self._convert(notebook, Path(file_stream.name).parent, resources, options)

    def _convert(
        self, notebook: NotebookNode, folder: Path, resources: dict[str, Any] | None, options: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Run the preprocessors on a submitted notebook, with a note if it is not one of the assignment.

        Args:
            notebook: the notebook, which is changed.
            folder: the submission's folder.
            resources: nbconvert's resources.
            options: nbconvert's options.

        Returns:
            The notebook and the resources.
        """
        assignment = _assignment(resources)
        why = wrong_notebook(notebook, assignment)
        if why and not self._has_answer_beside(folder, assignment):
            add_notes(notebook, [why])
        read: tuple[NotebookNode, dict[str, Any]] = self.from_notebook_node(  # type: ignore[no-untyped-call]
            notebook, resources=resources, **options
        )
        return read

    def _has_answer_beside(self, folder: Path, assignment: str) -> bool:
        """Return whether a file in a submission's folder answers an exercise of an assignment, as `lin_grad.py` may."""
        session: AutogradeSession | None = vars(self).get(SESSION)
        if session is None:
            return False
        files, released = _readable_files(folder), released_names(assignment).exercises
        exercises = [known for known in session.course.exercises if known.id in released and not known.is_quiz]
        return any(with_answer_beside(exercise, (), files)[1] for exercise in exercises)


class SecureExecute(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that replaces nbgrader's `Execute`: it grades a notebook with no student code in this process."""

    course = Unicode(
        "", help="The course folder; the one around the nbgrader course, or handgrad's own, if empty."
    ).tag(config=True)
    isolation = Enum(
        ("strongest", "box", "kernel", "seccomp", "none"), "strongest", help="What student code is kept in."
    ).tag(config=True)
    seed = Integer(None, allow_none=True, help="Draw the same trials as an earlier run.").tag(config=True)

    def session(self) -> AutogradeSession:
        """Return the grading session of this command.

        The exporter keeps it, because nbgrader makes new preprocessors for each submission.

        Raises:
            InfrastructureError: student code cannot be isolated here.
            CourseError: the course cannot be used.
        """
        keeper = self.parent or self
        session: AutogradeSession | None = vars(keeper).get(SESSION)
        if session is None:
            this_machine = machine()
            wanted: Isolation | None = None if self.isolation == "strongest" else self.isolation  # type: ignore[assignment]
            chosen = choose(this_machine, wanted, SETTING)
            if without := weakness(chosen, this_machine):
                self.log.warning("%s", without)
            course = load_course(Path(self.course)) if self.course else notebook_course(_root(self))
            session = AutogradeSession(course, chosen, self.seed)
            self.log.info("Trials are drawn from seed %s; student code is isolated: %s", session.seed, chosen)
            setattr(keeper, SESSION, session)
        return session

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Grade a notebook, and write points and reports into its outputs; comments are left in `resources`.

        Args:
            nb: the notebook, which is changed.
            resources: nbgrader's resources.

        Returns:
            The notebook and the resources.
        """
        session = self.session()
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        for number, cell in enumerate(code, 1):
            cell.outputs, cell.execution_count = [], number
        cells = {grade_id(cell): cell for cell in code}
        exercises = _exercises(session, cells)
        findings: dict[str, str | None] = {}
        if why := ungradable_note(nb):
            findings = {solution_id(exercise.id): as_markdown(why) for exercise in exercises}
        else:
            about = [as_markdown(note) for note in notes_in(nb)]
            folder = Path(resources["metadata"]["path"])
            place, names_of_answers = resources.get("nbgrader", {}), {exercise.name for exercise in exercises}
            submitted = _folder_of_submission(self, place.get("assignment", ""), place.get("student", ""))
            files = _readable_files(folder) | {  # nbgrader has put files that it released in their place
                name: content for name, content in _readable_files(submitted).items() if name in names_of_answers
            }
            answers = [answer_cells(exercise, code, files) for exercise in exercises]
            results = session.grade([(e, answer.cells) for e, answer in zip(exercises, answers, strict=True)], files)
            for exercise, answer, result in zip(exercises, answers, results, strict=True):
                write_outputs(exercise, result, cells)
                add_notes(nb, [as_markdown(note) for note in answer.notes])
                findings[solution_id(exercise.id)] = comment(result, (*about, *map(as_markdown, answer.notes)))
                about = []  # notes on the whole notebook stand with its first exercise
                for note in answer.notes:
                    self.log.warning("%s, %s: %s", *_student_and_notebook(resources), note)
        resources[FINDINGS] = {"comments": findings, "manual": self._leave_to_manual_grading(code)}
        return nb, resources

    def _leave_to_manual_grading(self, code: list[NotebookNode]) -> list[str]:
        """Give 0 points to each test that has no outputs, since handgrad has not graded it.

        Return the ids of these cells.

        Args:
            code: the code cells of the notebook.
        """
        others = [cell for cell in code if _is_test(cell) and not cell.outputs]
        for cell in others:
            cell.outputs = [points_output(0.0, cell)]
        names = [cell.metadata["nbgrader"]["grade_id"] for cell in others]
        if names:
            self.log.warning("No test of handgrad's, or not judged, so to be graded by hand: %s", ", ".join(names))
        return names


class ExplainScores(SaveAutoGrades):  # type: ignore[misc]
    """A preprocessor that saves scores as nbgrader's `SaveAutoGrades` does, and each mistake as a comment.

    Both are saved in one transaction. It replaces `SaveAutoGrades`, or follows it. Manual scores and comments stay.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Save the scores and comments of a graded notebook, and note in it which submission it was made from.

        Args:
            nb: the notebook, with the outputs of `SecureExecute`.
            resources: nbgrader's resources, with the comments of `SecureExecute`.

        Returns:
            The notebook and the resources.
        """
        place, graded = resources["nbgrader"], resources.get(FINDINGS, NOTHING)
        with Gradebook(place["db_url"]) as gradebook:
            submitted = gradebook.find_submission_notebook(place["notebook"], place["assignment"], place["student"])
            released = submitted.notebook
            cells = (*released.grade_cells, *released.solution_cells, *released.task_cells)
            names = {cell.id: cell.name for cell in cells}
            grades = {names[grade.cell_id]: grade for grade in submitted.grades}
            comments = {names[entry.cell_id]: entry for entry in submitted.comments}
            for cell in nb.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                if name in grades and utils.is_grade(cell):
                    self._save_score(cell, grades[name], by_hand=name in graded["manual"])
                if name in comments:
                    untouched = cell.metadata["nbgrader"].get("checksum") == utils.compute_checksum(cell)
                    usual = "No response." if untouched and not utils.is_task(cell) else None
                    comments[name].auto_comment = graded["comments"].get(name, usual)
            gradebook.db.commit()
        note_content_hash(nb.metadata, _folder_of_submission(self, place["assignment"], place["student"]))
        return nb, resources

    def _save_score(self, cell: NotebookNode, grade: Any, *, by_hand: bool) -> None:
        """Set the automatic score of a cell, and whether a person must grade it, in nbgrader's database.

        Args:
            cell: the executed cell.
            grade: the cell's `nbgrader.api.Grade`.
            by_hand: whether the cell could not be graded, so that it gets no automatic score.
        """
        grade.auto_score = None if by_hand else utils.determine_grade(cell, self.log)[0]
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None


def _readable_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of the Python files and the answer sheet in a submission, without links that lead out.

    An answer sheet of more than `LONGEST_MODULES` bytes is left out, too.
    """
    files = importable_files(folder)
    with suppress(OSError):
        if not why_unread(folder / QUIZ_FILE, folder) and (folder / QUIZ_FILE).stat().st_size <= LONGEST_MODULES:
            files[QUIZ_FILE] = (folder / QUIZ_FILE).read_bytes()
    return {name: content for name, content in files.items() if not why_unread(folder / name, folder)}


def _report_interrupt(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a line instead of a traceback for Ctrl-C, as a `sys.excepthook`; nbgrader has cleaned up by then."""
    if issubclass(kind, KeyboardInterrupt):
        print("Stopped. What was finished is kept; the same command goes on.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _root(configurable: Any) -> Path:
    """Return the course folder of an object of nbgrader's, such as a preprocessor.

    The current folder if it has none.
    """
    while configurable is not None:
        if (folder := getattr(configurable, "coursedir", None)) is not None:
            return Path(folder.root)
        configurable = configurable.parent
    return Path.cwd()


def _folder_of_submission(configurable: Any, assignment: str, student: str) -> Path:
    """Return the folder that a student's submission was read from.

    Args:
        configurable: an object of nbgrader's; its course folder, or a parent's, gives the path. If none has one, it is
            `submitted/<student>/<assignment>`.
        assignment: the name of the assignment.
        student: the student's id.
    """
    while (folder := getattr(configurable, "coursedir", None)) is None and configurable.parent is not None:
        configurable = configurable.parent
    if folder is None:
        return Path("submitted", student, assignment)
    return Path(folder.format_path(folder.submitted_directory, student, assignment))


def _assignment(resources: Mapping[str, Any] | None) -> str:
    """Return the assignment whose submission is read; empty outside of nbgrader's commands."""
    return str((resources or {}).get("nbgrader", {}).get("assignment", ""))


def _is_test(cell: NotebookNode) -> bool:
    """Return whether a cell has points and no solution in it, as the cells that call `score` have."""
    return bool(utils.is_grade(cell)) and not utils.is_solution(cell)


def _student_and_notebook(resources: ResourcesDict) -> tuple[str, str]:
    """Return the names of the student and of the notebook that are graded; empty outside of nbgrader's commands."""
    place = resources.get("nbgrader", {})
    return place.get("student", ""), place.get("notebook", "")


@dataclass(frozen=True)
class AnswerCells:
    """Hold the code cells that are run for one exercise, and what a person should know about them.

    Args:
        cells: the sources, in the notebook's order; empty for cells that test.
        notes: a sentence on each cell that defines the exercise's function beside the one that counts.
    """

    cells: tuple[str, ...]
    notes: tuple[str, ...] = ()


def answer_cells(exercise: CourseExercise, code: Sequence[NotebookNode], files: Files = NO_FILES) -> AnswerCells:
    """Return the code cells that are run for an exercise, and notes on those that are not.

    Like `nbgrader validate`, it runs the cells above the first cell that scores the exercise; all cells if none above
    that answers it.

    Args:
        exercise: the exercise.
        code: the code cells of a notebook in which each released cell is there once.
        files: the files in the notebook's folder, one of which may hold an answer, too.
    """
    sources = ["" if _is_test(cell) else cell.source for cell in code]
    scores = {answer_id(exercise.id, name) for name in exercise.answer_names}
    first = next((number for number, cell in enumerate(code) if grade_id(cell) in scores), len(code))
    answered = answered_cells(exercise, sources)
    above = [number for number in answered if number < first]
    counted, passed_over = (above, answered[len(above) :]) if above else (answered, [])
    names = [Source.cell_name(number) for number in counted]
    notes = [f"{name} defines {exercise.id} again: it counts, and not {names[i]}" for i, name in enumerate(names[1:])]
    notes += [
        f"{Source.cell_name(number)} defines {exercise.id} again below its scores, and is passed over: what stands in "
        f"{names[-1]} counts"
        for number in passed_over
    ]
    if not above and answered:
        notes.append(f"{names[-1]} answers {exercise.id} below its scores, where Validate does not see it")
    cells = tuple(sources[:first] if above else sources)
    _, beside = with_answer_beside(exercise, cells, files)
    notes += [beside] if beside else []
    return AnswerCells(cells, tuple(notes[:MOST_NOTES]))


def _exercises(session: AutogradeSession, cells: Mapping[str, NotebookNode]) -> list[CourseExercise]:
    """Return the exercises of the session's course whose answers are scored in a notebook.

    Args:
        session: the grading session.
        cells: the notebook's code cells, by grade_id.
    """
    return [
        exercise
        for exercise in session.course.exercises
        if any(answer_id(exercise.id, name) in cells for name in exercise.answer_names)
    ]


class AutogradeSession:
    """A course, a seed and a warm worker for each core, for all notebooks of an `nbgrader autograde`.

    Notebooks are graded one after the other, the exercises of each in parallel.

    Args:
        course: the course to grade with; its expected numbers are never shown to students.
        isolation: how student code is isolated.
        seed: the seed of every trial; drawn at random if not given.

    Raises:
        NoGradedRuns: student code cannot be run here.
    """

    def __init__(self, course: Course, isolation: Isolation, seed: int | None = None) -> None:
        """Start a pool with a process for each core, and check that it can run student code.

        A seed is drawn at random if `seed` is `None`.

        Raises:
            NoGradedRuns: the pool cannot run student code here.
        """
        policy = course.policy.model_copy(update={"show_expected": False})
        self.course = replace(course, config=course.config.model_copy(update={"policy": policy}), _specs={})
        most = max(len(unit.ids) for unit in course.config.units)
        self.pool = GradingPool(self.course, isolation, min(os.cpu_count() or 1, most), seed)
        weakref.finalize(self, self.pool.close)  # at the latest when the command ends
        self.pool.probe()

    @property
    def seed(self) -> int:
        """Return the seed of every trial."""
        return self.pool.grader.seed

    def grade(self, answers: Sequence[tuple[CourseExercise, tuple[str, ...]]], files: Files) -> list[ExerciseResult]:
        """Return the results of exercises, in their order, for what code cells of a notebook define.

        Args:
            answers: pairs of an exercise, and the sources of the code cells that are run for it.
            files: the files in the notebook's folder, which the cells may import.

        Raises:
            InfrastructureError: an exercise could not be graded, through no fault of the student.
            SpecError: a declaration of the course cannot be used.
        """
        self.pool.prepare([exercise for exercise, _ in answers])
        shares = [answers[first :: self.pool.processes] for first in range(self.pool.processes)]
        parts = (
            (first, [Part(exercise.id, cells, files) for exercise, cells in share])
            for first, share in enumerate(shares)
        )
        try:
            graded = [part for part in self.pool.grade(parts) if part is not None]
        except BaseException:  # Ctrl-C waits for no student's code
            self.pool.close()
            raise
        if failure := next((part.failure for part in graded if part.failure), ""):
            raise InfrastructureError(f"The notebook could not be graded: {failure}")
        by_id = {result.id: result for part in graded for result in part.results}
        results = [by_id[exercise.id] for exercise, _ in answers]
        for result in results:
            if all(answer.status == "error" for answer in result.answers):
                raise InfrastructureError(f"{result.id} could not be graded: {result.answers[0].message}")
        return results


def content_hash(folder: Path) -> str:
    """Return the SHA-256 hash, in hex, of the names and bytes of the notebooks and Python files in a submission.

    Only files directly in the folder count, and of these none that `why_unread` refuses, such as links that lead out of
    the folder.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.glob("*") if path.suffix in (".ipynb", ".py")):
        if path.is_file() and not why_unread(path, folder):
            digest.update(repr((path.name, path.read_bytes())).encode())
    return digest.hexdigest()


def note_content_hash(metadata: dict[str, Any], folder: Path) -> None:
    """Note in a graded notebook's metadata the hash of the submission that it was made from."""
    metadata[METADATA_KEY] = {MADE_FROM: content_hash(folder)}


def add_empty_submissions(converter: Any) -> None:
    """Add to nbgrader's list the released notebooks of students whose folders hold no notebook; nbgrader skips these.

    They are entered in the gradebook without points, for a person to look at. A submission of plain files that was
    entered by `handgrad grade --gradebook` stays as it is.

    Args:
        converter: nbgrader's converter, which has listed the submissions.
    """
    coursedir = converter.coursedir
    for source in _submission_folders(converter):
        graded = _graded_folder(converter, source)
        from_files = any(_noted_hash(path) is None for path in graded.glob("*.ipynb"))
        if str(source) in converter.assignments or from_files or any(source.glob("*.ipynb")):
            continue
        with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
            try:
                notebooks = gradebook.find_assignment(coursedir.assignment_id).notebooks
            except MissingEntry:
                continue
            names = [book.name for book in notebooks if fnmatch(book.name, coursedir.notebook_id)]
        if names:
            converter.assignments[str(source)] = [str(source / f"{name}.ipynb") for name in names]
            converter.log.warning("%s holds no notebook: to be graded by hand", source)


def _submission_folders(converter: Any) -> Iterator[Path]:
    """Yield the folder of the assignment in the folder of each student, also if nothing is in the student's folder.

    Args:
        converter: nbgrader's converter, which names the assignment and the students.
    """
    coursedir = converter.coursedir
    folder = converter._format_source(coursedir.assignment_id, coursedir.student_id)
    yield from (Path(name) for name in sorted(glob(folder)) if os.path.isdir(name))
    if Path(coursedir.directory_structure).name == "{assignment_id}":
        for student in sorted(glob(os.path.dirname(folder))):
            if os.path.isdir(student) and not any(entry.is_dir() for entry in os.scandir(student)):
                yield Path(student, coursedir.assignment_id)


def _why_without_notebook(folder: Path) -> str:
    """Return a note that a submission's folder holds no notebook, with the names of some files that it holds."""
    names = sorted(path.name for path in folder.glob("*") if path.name != TIMESTAMP)
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    listed = ", ".join([*map(name_as_markdown, names[:MOST_NAMES]), *more])
    return WITHOUT_NOTEBOOK.format(listed) if listed else EMPTY_FOLDER


def remove_outdated(converter: Any) -> None:
    """Remove the graded notebooks of submissions that changed, or whose points did, so that they are graded again.

    nbgrader itself compares only the times that `collect` notes. A notebook that was put into `submitted/` by hand has
    no such time, and would keep the score of its predecessor.

    Args:
        converter: nbgrader's converter, which has listed the submissions.
    """
    for name, notebooks in converter.assignments.items():
        source = Path(name)
        graded = _graded_folder(converter, source)
        known = {path: _noted_hash(path) for book in notebooks if (path := graded / Path(book).name).is_file()}
        if converter.force or not known:
            continue
        has_changed = any(noted not in (None, content_hash(source)) for noted in known.values())
        if has_changed or any(_has_other_points(converter, source, path) for path in known):
            why = "handed in again" if has_changed else "graded with other points"
            converter.log.warning("%s was %s, and is graded again", source, why)
            if converter.coursedir.notebook_id == "*":
                rmtree(str(graded))
            for path in known if graded.exists() else ():
                remove(str(path))
        elif None in known.values() and _is_newer(source, known):
            converter.log.warning(NO_RECORD, source, graded)


def _graded_folder(converter: Any, source: Path) -> Path:
    """Return the folder in which nbgrader keeps the graded notebooks of the submission in the folder `source`."""
    return Path(converter._format_dest(**_student_and_assignment(converter, source)))


def _student_and_assignment(converter: Any, source: Path) -> dict[str, str]:
    """Return the student and the assignment of the submission in the folder `source`.

    Returns:
        Their names, under `student_id` and `assignment_id`.
    """
    pattern = converter._format_source("(?P<assignment_id>.*)", "(?P<student_id>.*)", escape=True)
    return re.match(pattern, str(source)).groupdict()  # type: ignore[union-attr]


def _has_other_points(converter: Any, source: Path, graded: Path) -> bool:
    """Return whether a graded notebook has cells with other points than the gradebook records for its release.

    Args:
        converter: nbgrader's converter, which caches the points of each notebook.
        source: the folder of the submission.
        graded: the file of the graded notebook.
    """
    assignment = _student_and_assignment(converter, source)["assignment_id"]
    kept: dict[tuple[str, str], dict[str, float]] = vars(converter).setdefault(POINTS, {})
    place = (graded.stem, assignment)
    if place not in kept:
        with Gradebook(converter.coursedir.db_url, converter.coursedir.course_id) as gradebook:
            try:
                cells = gradebook.find_notebook(*place).grade_cells
            except MissingEntry:
                cells = []
            kept[place] = {cell.name: float(cell.max_score) for cell in cells}
    try:
        records = [cell["metadata"].get("nbgrader", {}) for cell in json.loads(graded.read_bytes())["cells"]]
        return any(kept[place].get(record["grade_id"], record["points"]) != record["points"]
                   for record in records if record.get("grade") and "points" in record)  # fmt: skip
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def _noted_hash(path: Path) -> str | None:
    """Return the `content_hash` of a submission's folder from the metadata of the notebook graded from it.

    `None` if the metadata has none, or the notebook cannot be read.
    """
    try:
        return str(json.loads(path.read_bytes())["metadata"][METADATA_KEY][MADE_FROM])
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None


def _is_newer(source: Path, graded: Mapping[Path, object]) -> bool:
    """Return whether a submitted notebook was written after all of its graded notebooks, by the times of the files."""
    last = max(path.stat().st_mtime for path in graded)
    return any(path.lstat().st_mtime > last for path in source.glob("*.ipynb"))
