"""The nbgrader course folder of a course: made anew, or rebuilt around the instructor's own cells and files."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.course.course import COURSE_VARIABLE, Course, bundled_folder, find_root
from grader.course.course_file import Unit
from grader.errors import CourseError, InfrastructureError
from grader.files import keep_copy, write_atomically

from .database import connect_read_only
from .source_notebook import answer_id, grade_id, is_derived, notebook_lesson, source_notebook

GRADEBOOK = "gradebook.db"
CONFIG_FILE = "nbgrader_config.py"
RELEASE = (
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "handgrad.KeepStubs",  # in place of nbgrader's ClearSolutions
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
)
SANITIZE = ("handgrad.RestoreCells",)  # in place of all of nbgrader's
AUTOGRADE = (
    "handgrad.SecureExecute",  # in place of nbgrader's Execute
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "handgrad.ExplainScores",  # in place of nbgrader's SaveAutoGrades
    "nbgrader.preprocessors.AssignLatePenalties",
)
FEEDBACK = (
    "nbgrader.preprocessors.GetGrades",
    "handgrad.SummaryFirst",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
)
CONFIG = '''\
"""nbgrader's configuration for this course. Yours to change: `handgrad nbgrader init` leaves your changes alone."""
{course}
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "{course_id}"

# nbgrader's own list, but for KeepStubs: a released exercise is the stub that every handgrad learner gets.
c.GenerateAssignment.preprocessors = [
{release}
]

# Submissions are read whatever they are, and found under another name. RestoreCells does what nbgrader's own list does,
# and more: each released cell is there once, as it was, whatever was deleted, copied, retyped or edited.
c.Autograde.pre_convert_hook = "handgrad.find_renamed"
c.Autograde.exporter_class = "handgrad.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
{sanitize}
]

# nbgrader's own list, but for SecureExecute, which runs student code isolated and scores it out of its reach,
# and ExplainScores, which saves the scores and says beside each which mistake it was.
c.Autograde.autograde_preprocessors = [
{autograde}
]

# nbgrader's own list, and SummaryFirst: a page begins with the points of each exercise, and folds the lesson away.
c.GenerateFeedback.preprocessors = [
{feedback}
]
'''
OWN_COURSE = """
import os

# The course that the notebooks were made from: its declarations are needed to grade them.
os.environ.setdefault("{variable}", {root!r})
"""
# What the configurations of two courses differ in.
NAMED_COURSE = re.compile(rf"^\nimport os\n\n.*\nos\.environ\.setdefault\(\"{COURSE_VARIABLE}\", .*\)\n", re.MULTILINE)
COURSE_ID = re.compile(r"^c\.CourseDirectory\.course_id = .*$", re.MULTILINE)


@dataclass(frozen=True)
class FolderChanges:
    """The files that a build wrote, and the state of the configuration.

    Args:
        files: the files written, relative to the folder.
        backups: copies of the notebooks that were replaced, relative to the folder.
        own_config: whether the configuration is the instructor's, and was not changed.
        unprotected: whether that configuration lacks the preprocessor that isolates student code.
        released: the units whose notebook was written anew after its release.
        regraded: the units that were graded with other points than the course has.
        course_line: the line without which that configuration does not find the course; empty if it needs none.
    """

    files: tuple[Path, ...]
    backups: tuple[Path, ...]
    own_config: bool = False
    unprotected: bool = False
    released: tuple[str, ...] = ()
    regraded: tuple[str, ...] = ()
    course_line: str = ""


def build_folder(course: Course, folder: Path) -> FolderChanges:
    """Make or rebuild a course folder, and return what changed; first everything is read and derived, then written.

    The instructor's own cells, assignments and configuration stay. Each notebook that changes is copied before.

    Args:
        course: the course.
        folder: the folder, which need not exist.

    Raises:
        CourseError: the course, or a notebook in the folder, cannot be used.
        InfrastructureError: the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InfrastructureError(f"{folder} is not a folder: name a new one, such as my-nbgrader-course.")
    derived = {path: data for unit in course.config.units for path, data in _unit_files(course, unit, folder)}
    try:
        changes = _write(folder, derived, config(course, folder))
        written = {path.parent.name for path in changes.files if path.suffix == ".ipynb"}
        released = tuple(unit for unit in sorted(written) if (folder / "release" / unit).is_dir())
        return replace(changes, released=released, regraded=tuple(_units_with_other_points(course, folder)))
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename or folder} cannot be written ({error.strerror}): make it writable, or make room, and "
            "run the same command again."
        ) from error


def _units_with_other_points(course: Course, folder: Path) -> Iterator[str]:
    """Yield the ids of the units that have submissions in the folder's gradebook, with other points than the course's.

    Nothing is yielded if the folder has no gradebook.
    """
    gradebook = folder / GRADEBOOK
    if not gradebook.is_file():
        return
    from nbgrader.api import Assignment, GradeCell, Notebook, SubmittedAssignment
    from sqlalchemy import select

    points = {
        (exercise.unit, answer_id(exercise.id, name)): exercise.points_of_answer
        for exercise in course.exercises
        for name in exercise.answer_names
    }
    query = select(Assignment.name, GradeCell.name, GradeCell.max_score).select_from(GradeCell)
    query = query.join(Notebook, GradeCell.notebook_id == Notebook.id).join(Assignment)
    query = query.where(Assignment.id.in_(select(SubmittedAssignment.assignment_id)))
    with connect_read_only(f"sqlite:///{gradebook}") as db:
        rows = [tuple(row) for row in db.execute(query)]
    yield from sorted({unit for unit, cell, most in rows if points.get((unit, cell), most) != most})


def config(course: Course, folder: Path) -> str:
    """Return the text of `nbgrader_config.py` for a course and the folder that it goes into."""
    known = course.root in (bundled_folder(), find_root(folder))
    return CONFIG.format(
        course="" if known else OWN_COURSE.format(variable=COURSE_VARIABLE, root=str(course.root)),
        course_id=course.config.course,
        release=_list_entries(RELEASE),
        sanitize=_list_entries(SANITIZE),
        autograde=_list_entries(AUTOGRADE),
        feedback=_list_entries(FEEDBACK),
    )


def merge_cells(derived: NotebookNode, existing: NotebookNode) -> NotebookNode:
    """Return the derived notebook with the instructor's own cells, each behind the cell that it followed.

    A cell is derived if it carries the mark of a build, or the grade_id of a derived cell. The existing notebook's
    metadata, such as its kernel, stay. A second cell with the grade_id of an earlier one is the instructor's own.
    """
    known = {grade_id(cell) for cell in derived.cells}
    followers: dict[str, list[NotebookNode]] = {}
    seen: set[str] = set()
    last = ""
    for cell in existing.cells:
        name = grade_id(cell)
        if (name in known or is_derived(cell)) and name not in seen:
            seen.add(name)
            last = name if name in known else last
        else:
            followers.setdefault(last, []).append(cell)
    result = copy.deepcopy(derived)
    result.metadata = existing.metadata
    own = followers.get("", [])
    result.cells = own + [kept for cell in derived.cells for kept in (cell, *followers.get(grade_id(cell), []))]
    return result


def _unit_files(course: Course, unit: Unit, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the path in the folder and the content of a unit's notebook and of each file that its lesson shows.

    A notebook that is in the folder already keeps the instructor's own cells.
    """
    lesson = notebook_lesson(course, unit)
    place = Path("source", unit.id)
    notebook = source_notebook(course, unit, lesson)
    path = place / f"{unit.id}.ipynb"
    if (folder / path).exists():
        notebook = merge_cells(notebook, _read(folder / path))
    yield path, (nbformat.writes(notebook) + "\n").encode()  # type: ignore[no-untyped-call]
    for file in lesson.files:
        yield place / file, (course.root / "exercises" / unit.id / file).read_bytes()


def _read(path: Path) -> NotebookNode:
    """Return a notebook, upgraded to the current format and validated.

    Raises:
        CourseError: the notebook cannot be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without an id: they get one
            notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            notebook = nbformat.v4.upgrade(notebook, notebook.nbformat, notebook.nbformat_minor)  # type: ignore[no-untyped-call]
            nbformat.validate(notebook)
    except Exception as error:  # whatever a broken file makes of nbformat
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CourseError(
            f"{path} is not a notebook that can be read ({first}): repair it or move it away, and run the same command "
            "again. Nothing was written."
        ) from error
    return notebook


def _write(folder: Path, derived: dict[Path, bytes], configuration: str) -> FolderChanges:
    """Write the derived files that differ from those in the folder, and the configuration unless it was edited.

    Return what was written.

    Args:
        folder: the course folder.
        derived: the content of each file, by its path relative to the folder.
        configuration: the text of `nbgrader_config.py`.

    Raises:
        OSError: a file cannot be read or written.
    """
    files, backups = [], []
    for path, data in derived.items():
        target = folder / path
        if target.is_file() and target.read_bytes() == data:
            continue
        backup = keep_copy(target, folder)
        if backup is not None:
            backups.append(backup.relative_to(folder))
        write_atomically(target, data)
        files.append(path)
    settings = folder / CONFIG_FILE
    text = settings.read_text(encoding="utf-8", errors="replace") if settings.exists() else None
    if text is None or (text != configuration and _without_course(text) == _without_course(configuration)):
        write_atomically(settings, configuration.encode())
        return FolderChanges((*files, Path(CONFIG_FILE)), tuple(backups))
    needed = (line for line in configuration.splitlines() if COURSE_VARIABLE in line and line not in text)
    return FolderChanges(
        tuple(files), tuple(backups), text != configuration, AUTOGRADE[0] not in text, course_line=next(needed, "")
    )


def _without_course(configuration: str) -> str:
    """Return the text of a configuration without what tells one course from another, as `config` writes it."""
    return COURSE_ID.sub("", NAMED_COURSE.sub("", configuration))


def _list_entries(names: tuple[str, ...]) -> str:
    """Return the entries of a list in `nbgrader_config.py`, one a line: the names of preprocessors, in quotes."""
    return "\n".join(f'    "{name}",' for name in names)
