"""Classes for `nbgrader_config.py` that make `nbgrader autograde` safe and fast: student code runs in isolation.

They take the places of nbgrader's own, and judge where student code cannot reach; see `handgrad nbgrader init`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import remove, rmtree
from traitlets import Enum, Integer, Unicode

from grader.course.course import Course, CourseExercise, load_course, notebook_course
from grader.errors import HandgradError, InfrastructureError
from grader.judging.grading_pool import GradingPool, Part
from grader.results.records import ExerciseResult
from grader.safe_text import as_markdown
from grader.sandbox.isolation import Isolation, choose, machine, weakness
from grader.sandbox.source_text import Files, importable_files

from .feedback import comment, points_output, write_outputs
from .source_notebook import answer_id, solution_id
from .submission import read_submitted, unread_note, unread_notebook, why_unread

SESSION, FINDINGS = "_handgrad_session", "handgrad"
NOTHING: dict[str, Any] = {"comments": {}, "manual": []}
SETTING = 'c.SecureExecute.isolation = "{}"'
METADATA_KEY, MADE_FROM = "handgrad", "made_from"
NO_RECORD = (
    "%s has changed since %s was graded, perhaps, which does not say what it was made from: "
    "look at it, and grade it again with --force"
)


class SubmissionExporter(NotebookExporter):
    """Reads submissions whatever they are; set it as `Autograde.exporter_class`.

    Student code that cannot be isolated here is found out before the first submission is touched.
    """

    optimistic_validation = True  # once, after the last preprocessor

    def __init__(self, **options: Any) -> None:
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
            forget_outdated(self.parent)

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        why = why_unread(Path(filename), Path(filename).parent)
        read: tuple[NotebookNode, dict[str, Any]] = (
            self.from_notebook_node(unread_notebook(f"it is {why}"), resources=resources, **options)  # type: ignore[no-untyped-call]
            if why
            else super().from_filename(filename, resources=resources, **options)
        )
        return read

    def from_file(
        self, file_stream: Any, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        notebook = read_submitted(file_stream.buffer.read())
        read: tuple[NotebookNode, dict[str, Any]] = self.from_notebook_node(  # type: ignore[no-untyped-call]
            notebook, resources=resources, **options
        )
        return read


class SecureExecute(NbGraderPreprocessor):  # type: ignore[misc]
    """Grade a notebook in the place of nbgrader's `Execute`, with no student code in this process."""

    course = Unicode(
        "", help="The course folder; the one around the nbgrader course, or handgrad's own, if empty."
    ).tag(config=True)
    isolation = Enum(
        ("strongest", "box", "kernel", "seccomp", "none"), "strongest", help="What student code is kept in."
    ).tag(config=True)
    seed = Integer(None, allow_none=True, help="Draw the same trials as an earlier run.").tag(config=True)

    def session(self) -> AutogradeSession:
        """Return the grading session of this command, which the exporter keeps because it outlives its preprocessors.

        Raises:
            InfrastructureError: student code cannot be isolated here.
            CourseError: the course cannot be used.
        """
        keeper = self.parent or self
        found: AutogradeSession | None = vars(keeper).get(SESSION)
        if found is None:
            this = machine()
            wanted: Isolation | None = None if self.isolation == "strongest" else self.isolation  # type: ignore[assignment]
            chosen = choose(this, wanted, SETTING)
            if without := weakness(chosen, this):
                self.log.warning("%s", without)
            course = load_course(Path(self.course)) if self.course else notebook_course(_root(self))
            found = AutogradeSession(course, chosen, self.seed)
            self.log.info("Trials are drawn from seed %s; student code is isolated: %s", found.seed, chosen)
            setattr(keeper, SESSION, found)
        return found

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Grade the notebook and write points, reports and comments for the steps that follow."""
        session = self.session()
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        for number, cell in enumerate(code, 1):
            cell.outputs, cell.execution_count = [], number
        cells = {cell.metadata["nbgrader"].get("grade_id"): cell for cell in code if "nbgrader" in cell.metadata}
        sources = ["" if _is_test(cell) else cell.source for cell in code]
        findings: dict[str, str | None] = {}
        exercises = _exercises(session, cells)
        folder = Path(resources["metadata"]["path"])
        beside = {
            name: text for name, text in importable_files(folder).items() if not why_unread(folder / name, folder)
        }
        for exercise, result in zip(exercises, session.verdicts(exercises, sources, beside), strict=True):
            write_outputs(exercise, result, cells)
            findings[solution_id(exercise.id)] = comment(result)
        resources[FINDINGS] = {"comments": findings, "manual": self._leave_to_manual_grading(code)}
        return nb, resources

    def _leave_to_manual_grading(self, code: list[NotebookNode]) -> list[str]:
        """Give 0 points for each test that is not handgrad's, for a person to grade; return their names."""
        others = [cell for cell in code if _is_test(cell) and not cell.outputs]
        for cell in others:
            cell.outputs = [points_output(0.0, cell)]
        names = [cell.metadata["nbgrader"]["grade_id"] for cell in others]
        if names:
            self.log.warning("No test of handgrad's, or not judged, so to be graded by hand: %s", ", ".join(names))
        return names


class ExplainScores(SaveAutoGrades):  # type: ignore[misc]
    """Saves the scores as nbgrader's `SaveAutoGrades` does, and beside each which mistake it was, in one transaction.

    It may stand in the place of `SaveAutoGrades` or after it; manual scores and comments stay as they are.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        place, found = resources["nbgrader"], resources.get(FINDINGS, NOTHING)
        if unread := unread_note(nb):
            found = {**found, "comments": dict.fromkeys(found["comments"], f"{as_markdown(unread)} [syntax-error]")}
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
                    self._save_score(cell, grades[name], by_hand=name in found["manual"])
                if name in comments:
                    untouched = cell.metadata["nbgrader"].get("checksum") == utils.compute_checksum(cell)
                    usual = "No response." if untouched and not utils.is_task(cell) else None
                    comments[name].auto_comment = found["comments"].get(name, usual)
            gradebook.db.commit()
        mark(nb.metadata, _submitted(self, place["assignment"], place["student"]))
        return nb, resources

    def _save_score(self, cell: NotebookNode, grade: Any, *, by_hand: bool) -> None:
        grade.auto_score = None if by_hand else utils.determine_grade(cell, self.log)[0]
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None


def _report_interrupt(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """In the place of `sys.excepthook`: nbgrader lets Ctrl-C end in a traceback, though it has cleared up after it."""
    if issubclass(kind, KeyboardInterrupt):
        print("Stopped. What was finished is kept; the same command goes on.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _root(configurable: Any) -> Path:
    """The nbgrader course folder that a preprocessor works in."""
    while configurable is not None:
        if (folder := getattr(configurable, "coursedir", None)) is not None:
            return Path(folder.root)
        configurable = configurable.parent
    return Path.cwd()


def _submitted(configurable: Any, assignment: str, student: str) -> Path:
    """The folder that a submission was read from."""
    while (folder := getattr(configurable, "coursedir", None)) is None and configurable.parent is not None:
        configurable = configurable.parent
    if folder is None:
        return Path("submitted", student, assignment)
    return Path(folder.format_path(folder.submitted_directory, student, assignment))


def _is_test(cell: NotebookNode) -> bool:
    return bool(utils.is_grade(cell)) and not utils.is_solution(cell)


def _exercises(session: AutogradeSession, cells: Mapping[str, NotebookNode]) -> list[CourseExercise]:
    """The exercises that the notebook has points for."""
    return [
        exercise
        for exercise in session.course.exercises
        if any(answer_id(exercise.id, name) in cells for name in exercise.answer_names)
    ]


class AutogradeSession:
    """Grade the cells of notebooks, one notebook after the other, the exercises of each in parallel.

    Args:
        course: the course to grade with; the expected numbers are never shown to students.
        isolation: how student code is isolated.
        seed: the seed of every trial; drawn at random if not given.

    Raises:
        NoGradedRuns: student code cannot be run here.
    """

    def __init__(self, course: Course, isolation: Isolation, seed: int | None = None) -> None:
        policy = course.policy.model_copy(update={"show_expected": False})
        self.course = replace(course, config=course.config.model_copy(update={"policy": policy}), _specs={})
        most = max(len(unit.ids) for unit in course.config.units)
        self.pool = GradingPool(self.course, isolation, min(os.cpu_count() or 1, most), seed)
        weakref.finalize(self, self.pool.close)  # when the command ends, or has no more need of it
        self.pool.probe()

    @property
    def seed(self) -> int:
        """Return the seed of every trial."""
        return self.pool.grader.seed

    def verdicts(
        self, exercises: Sequence[CourseExercise], cells: Sequence[str], beside: Files
    ) -> list[ExerciseResult]:
        """Grade what a notebook's code cells define; return the result of each of these exercises.

        Args:
            beside: the files in the notebook's folder, which it may import.

        Raises:
            InfrastructureError: there is none, which is not the student's doing.
            SpecError: a declaration of the course cannot be used.
        """
        self.pool.prepare(exercises)
        shares = [exercises[first :: self.pool.processes] for first in range(self.pool.processes)]
        parts = ((first, [Part(each.id, tuple(cells), beside) for each in share]) for first, share in enumerate(shares))
        try:
            graded = [found for found in self.pool.grade(parts) if found is not None]
        except BaseException:  # Ctrl-C waits for no student's code
            self.pool.close()
            raise
        if failure := next((found.failure for found in graded if found.failure), ""):
            raise InfrastructureError(f"The notebook could not be graded: {failure}")
        found = {result.id: result for each in graded for result in each.results}
        results = [found[each.id] for each in exercises]
        for result in results:
            if all(answer.status == "error" for answer in result.answers):
                raise InfrastructureError(f"{result.id} could not be graded: {result.answers[0].message}")
        return results


def content_hash(folder: Path) -> str:
    """A hash of the notebooks and Python files that were handed in, as far as they are the student's own."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.glob("*") if path.suffix in (".ipynb", ".py")):
        if path.is_file() and not why_unread(path, folder):
            found.update(repr((path.name, path.read_bytes())).encode())
    return found.hexdigest()


def mark(metadata: dict[str, Any], folder: Path) -> None:
    """Note in a graded notebook what it was made from."""
    metadata[METADATA_KEY] = {MADE_FROM: content_hash(folder)}


def forget_outdated(converter: Any) -> None:
    """Remove the graded notebooks of submissions that have changed since, so that `nbgrader autograde` makes them anew.

    Args:
        converter: nbgrader's, which has listed the submissions.
    """
    for name, notebooks in converter.assignments.items():
        source = Path(name)
        graded = _graded_folder(converter, source)
        known = {path: _made_from(path) for book in notebooks if (path := graded / Path(book).name).is_file()}
        if converter.force or not known:
            continue
        if any(found not in (None, content_hash(source)) for found in known.values()):
            converter.log.warning("%s was handed in again, and is graded again: its content has changed", source)
            if converter.coursedir.notebook_id == "*":
                rmtree(str(graded))
            for path in known if graded.exists() else ():
                remove(str(path))
        elif None in known.values() and _is_newer(source, known):
            converter.log.warning(NO_RECORD, source, graded)


def _graded_folder(converter: Any, source: Path) -> Path:
    """Where nbgrader keeps what it makes of a submission."""
    pattern = converter._format_source("(?P<assignment_id>.*)", "(?P<student_id>.*)", escape=True)
    return Path(converter._format_dest(**re.match(pattern, str(source)).groupdict()))  # type: ignore[union-attr]


def _made_from(path: Path) -> str | None:
    """What a graded notebook says that it was made from."""
    try:
        return str(json.loads(path.read_bytes())["metadata"][METADATA_KEY][MADE_FROM])
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None


def _is_newer(source: Path, graded: Mapping[Path, object]) -> bool:
    """A submission was written after it was graded, by the clocks of its files."""
    last = max(path.stat().st_mtime for path in graded)
    return any(path.lstat().st_mtime > last for path in source.glob("*.ipynb"))
