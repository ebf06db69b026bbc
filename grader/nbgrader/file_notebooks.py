"""Makes the graded notebook that formgrader shows, and feedback is made from, of files that were handed in."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.classroom.submissions import Content, Submission, UnreadFile
from grader.course.course import Course
from grader.files import write_atomically
from grader.results.records import ExerciseResult
from grader.safe_text import as_markdown

from .cell_outputs import write_outputs
from .source_notebook import LESSON_ID, SETUP_ID, grade_id
from .submission import add_notes

NOTHING = "# Nothing was handed in for this exercise."


def graded_notebook(
    released: NotebookNode, course: Course, submission: Submission, results: Sequence[ExerciseResult]
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


def _text(content: Content | None) -> str:
    if content is None:
        return NOTHING
    if isinstance(content, UnreadFile):
        return f"# {content.why}"
    if isinstance(content, tuple):
        return "\n\n".join(content)
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
