"""Classes for `nbgrader_config.py` that make `nbgrader autograde` safe and fast: student code runs in isolation.

They take the places of nbgrader's own, and judge where student code cannot reach; see `handgrad nbgrader init`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
from traitlets import Enum, Integer, Unicode

from grader.course.course import CourseExercise, load_course, notebook_course
from grader.errors import HandgradError
from grader.safe_text import as_markdown
from grader.sandbox.isolation import Isolation, choose, machine, weakness
from grader.sandbox.source_text import files_beside

from .autograde_session import AutogradeSession
from .cell_outputs import points_output, write_outputs
from .comments import comment
from .handed_in_again import forget_outdated, mark
from .source_notebook import answer_id, solution_id
from .submission import read_submitted, unread_note, unread_notebook
from .submission_files import why_unread

SESSION, FINDINGS = "_handgrad_session", "handgrad"
NOTHING: dict[str, Any] = {"comments": {}, "manual": []}
SETTING = 'c.SecureExecute.isolation = "{}"'


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
        beside = {name: text for name, text in files_beside(folder).items() if not why_unread(folder / name, folder)}
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
