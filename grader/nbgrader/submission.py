"""The reading of submissions so that no file can stop a class: whatever is broken is left out, with a note."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict
from nbgrader.utils import compute_checksum, parse_utc
from traitlets.log import get_logger

from grader.classroom.notebook_code import MOST_CELLS, UnreadableNotebook, lists_of_cells, read_notebook, text_of
from grader.files import write_atomically
from grader.safe_text import as_code, one_line, plain
from grader.sandbox.definitions import definitions
from grader.sandbox.source_text import LONGEST

from .gradebook_results import (
    ANOTHER_FILE_HELPS,
    NO_CELLS,
    NO_NOTEBOOK,
    NOTHING_DEFINED,
    OTHER_ASSIGNMENT,
    OTHER_FILES,
    UNREAD,
)
from .source_notebook import check_id, grade_id

CELL_TYPES = ("code", "markdown", "raw")
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PASTED = re.compile("image/(png|jpeg|gif)")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
PASTED_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
ATTACHMENT = re.compile(r"attachment:([A-Za-z0-9_.-]*)(?=([)\s\"'>]|$)?)")
MOST_NOTES = 20
COPY_OF = "handgrad_copy_of"
ABOUT = "**About this submission**\n"
UNDECIDED = "It is not known which notebook is meant ({}): ask, and delete or rename the others."
EMPTY_FOLDER = NO_NOTEBOOK + "there is no notebook in the folder (it is empty)."
WITHOUT_NOTEBOOK = OTHER_FILES + "{}: hand in the notebook, with the name that it was given."
MISSING_PICTURE = "missing-picture"
LONGEST_TEXT, MOST_TEXT = 64 << 10, 512 << 10  # rendering a page takes time quadratic in its length
TOO_LONG = "# This cell was left out: code longer than 1 MiB, or text longer than 64 KiB. Hand in the answers alone."
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
LARGEST = 64 << 20
BLOCK, HOLLOW = 512, 100  # bytes; a ratio that no file system's compression of text reaches
TIMESTAMP = "timestamp.txt"
LONGEST_TIMESTAMP = 100
UNREADABLE_SUFFIX = ".unreadable"


def read_submitted(data: bytes) -> NotebookNode:
    """Return a valid notebook with the cells of a submitted file, whatever the file is.

    Outputs, and all metadata but nbgrader's, are dropped. A cell at the top notes what had to be left out.

    Args:
        data: the content of the file.
    """
    notes: list[str] = []
    cells, seen, room = list[NotebookNode](), set[str](), MOST_TEXT
    for raw_cell in _possible_cells(data, notes):
        if len(cells) == MOST_CELLS:
            notes.append(f"It has more than {MOST_CELLS} cells: the rest was left out.")
            break
        cells.append(_sound_cell(raw_cell, seen, room))
        room -= 0 if cells[-1].cell_type == "code" else len(cells[-1].source)
    if any(cell.source == TOO_LONG for cell in cells):
        notes.append("A cell with code longer than 1 MiB, or with far too much text, was left out.")
    notebook: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells}
    )
    add_notes(notebook, notes)
    return notebook


def ungradable_notebook(why: str) -> NotebookNode:
    """Return a notebook without cells but for a note that says why nothing of a submission is graded.

    Args:
        why: a sentence that begins with `UNDECIDED`, `NO_NOTEBOOK`, `OTHER_FILES` or one of `ANOTHER_FILE_HELPS`.
    """
    notebook = read_submitted(b'{"cells": []}')
    add_notes(notebook, [why])
    return notebook


def ungradable_note(notebook: NotebookNode) -> str | None:
    """Return the note that nothing of a submission is graded before a person has looked; `None` if there is none."""
    beginnings = (*ANOTHER_FILE_HELPS, UNDECIDED.split("{")[0], NO_NOTEBOOK, OTHER_FILES)
    return next((note for note in notes_in(notebook) if note.startswith(beginnings)), None)


def has_answers(notebook: NotebookNode) -> bool:
    """Return whether a notebook holds more than nbgrader released: a solution cell that was changed, or a new cell."""
    for cell in notebook.cells:
        record = cell.metadata.get("nbgrader", {})
        is_new = not record.get("grade_id") and cell.cell_type == "code" and bool(cell.source.strip())
        if is_new or (record.get("solution") and record.get("checksum") != compute_checksum(cell)):
            return True
    return False


@dataclass(frozen=True)
class ReleasedNames:
    """The names by which the notebooks of an assignment are recognised.

    Args:
        cells: the grade_ids of all cells.
        exercises: those of handgrad's solution cells, which are also the names that these cells define.
    """

    cells: frozenset[str]
    exercises: frozenset[str]


def wrong_notebook(notebook: NotebookNode, assignment: str) -> str:
    """Return a sentence that a submitted notebook is not one of an assignment.

    It is one if a cell has the id of a solution, or defines what a solution cell defines and is not the solution of
    another assignment. A damaged notebook of the assignment may lack all of these. Therefore it is also one if a cell
    has the id of any other released cell, unless another assignment has all such ids in the notebook, and more of them.

    Args:
        notebook: the notebook, as `read_submitted` returns it.
        assignment: the name of the assignment, whose notebooks are in the folder `source`.

    Returns:
        The sentence; empty if the notebook is one of the assignment, or if this is not known, because it could not be
        read or because the assignment has no exercises of handgrad's.
    """
    own = released_names(assignment)
    if not own.exercises or ungradable_note(notebook) is not None:
        return ""
    folders = sorted(path.name for path in Path("source").iterdir() if path.is_dir() and path.name != assignment)
    others = {name: released_names(name) for name in folders}
    of_others = frozenset[str]().union(*(other.exercises for other in others.values()))
    ids = [{grade_id(cell), cell.id} for cell in notebook.cells]
    code = [
        cell.source
        for cell, ids_of_cell in zip(notebook.cells, ids, strict=True)
        if cell.cell_type == "code" and not ids_of_cell & (of_others - own.exercises)  # it may define such a helper
    ]
    defined = {place.name for place in definitions(code, own.exercises | of_others, literals_count=True)}
    names = defined.union(*ids)
    if names & own.exercises:
        return ""
    likeliest = max(others, key=lambda name: len(names & others[name].cells), default="")
    if likeliest and names & own.cells < names & others[likeliest].cells:
        return OTHER_ASSIGNMENT.format(name_as_markdown(likeliest), name_as_markdown(assignment))
    return "" if names & own.cells else NOTHING_DEFINED.format(name_as_markdown(assignment))


def released_names(assignment: str) -> ReleasedNames:
    """Return the names in all source notebooks of an assignment, in the folder `source` of the working folder."""
    paths = [path for path in Path("source", assignment).glob("*.ipynb") if path.is_file()]
    parts = [_names_in_source(path.resolve(), path.stat().st_mtime_ns) for path in paths]
    return ReleasedNames(
        frozenset().union(*(part.cells for part in parts)), frozenset().union(*(part.exercises for part in parts))
    )


@lru_cache(maxsize=256)  # a course has a few dozen notebooks, and each student's may be compared with all of them
def _names_in_source(path: Path, changed: int) -> ReleasedNames:
    """Return the names in a source notebook, read once for each time at which it was changed."""
    cells = read_submitted(path.read_bytes()).cells
    ids = frozenset(filter(None, map(grade_id, cells)))
    solutions = (grade_id(cell) for cell in cells if cell.metadata.get("nbgrader", {}).get("solution"))
    return ReleasedNames(ids, frozenset(name for name in solutions if check_id(name) in ids))


def chosen_notebook(path: Path, assignment: str) -> NotebookNode | None:
    """Return the notebook that is graded where others lie beside the one with the released name.

    It is the notebook of the assignment that holds answers. If several others do, and the one with the released name
    does not, a notebook with a note is returned, so that a person decides which one is meant.

    Args:
        path: the notebook with the released name.
        assignment: the name of the assignment, whose notebooks are in the folder `source`.

    Returns:
        The notebook, with a note on the others; `None` if no other holds answers, so that the file itself is to be
        read.
    """
    others = _unreleased_beside(path, assignment)
    if not others or _copied_from(path) is not None:  # `find_renamed` has made it of one of them
        return None
    read = {other: read_submitted(other.read_bytes()) for other in others}
    answered = {other: notebook for other, notebook in read.items() if has_answers(notebook)}
    if not answered:
        return None
    own = read_submitted(path.read_bytes())
    is_wrong = bool(wrong_notebook(own, assignment))
    meant = {other: notebook for other, notebook in answered.items() if not wrong_notebook(notebook, assignment)}
    if not meant or (has_answers(own) and not is_wrong):
        add_notes(own, [f"Beside it lies {_name_list(answered)}, which was not graded."])
        return own
    names = _name_list(meant)
    why, verb = ("is not of this assignment", "are") if is_wrong else ("holds no answers", "do")
    if len(meant) > 1:
        return ungradable_notebook(UNDECIDED.format(f"{name_as_markdown(path.name)} {why}, {names} {verb}"))
    (notebook,) = meant.values()
    add_notes(notebook, [f"It was handed in as {names}, beside {name_as_markdown(path.name)}, which {why}."])
    return notebook


def _unreleased_beside(path: Path, assignment: str) -> list[Path]:
    """Return the other notebooks beside one that have no released name and may be opened, sorted by name.

    There are none if the notebook has no released name itself.

    Args:
        path: the notebook.
        assignment: the name of the assignment, whose notebooks are in the folder `source`.
    """
    released = {other.stem for other in Path("source", assignment).glob("*.ipynb")}
    others = sorted(other for other in path.parent.glob("*.ipynb") if other.stem not in released)
    return [other for other in others if path.stem in released and _may_be_opened(other)]


def _name_list(paths: Iterable[Path]) -> str:
    """Return the names of files as harmless Markdown."""
    return ", ".join(name_as_markdown(path.name) for path in paths)


def add_notes(notebook: NotebookNode, notes: list[str]) -> None:
    """Add notes on a submission, as Markdown, to the cell at the top of its notebook; insert it if it is missing."""
    if not notes:
        return
    if not (notebook.cells and notebook.cells[0].source.startswith(ABOUT)):
        notebook.cells.insert(0, new_cell("markdown", ABOUT))
    notebook.cells[0].source += "".join(f"\n- {note}" for note in notes)


def notes_in(notebook: NotebookNode) -> list[str]:
    """Return the notes in the cell at the top of a notebook, in its first `MOST_NOTES` lines, as plain text."""
    first = notebook.cells[0].source if notebook.cells else ""
    lines = first.splitlines()[:MOST_NOTES] if first.startswith(ABOUT) else []
    return [plain(line[2:]) for line in lines if line.startswith("- ")]


def new_cell(
    cell_type: str, source: str, record: Mapping[str, Any] | None = None, name: str = "",
    attachments: Mapping[str, Any] | None = None,
) -> NotebookNode:  # fmt: skip
    """Return a new cell of a notebook; a code cell has no outputs.

    Args:
        cell_type: `code`, `markdown` or `raw`.
        source: the text of the cell.
        record: nbgrader's metadata; `None` for none.
        name: the cell's own id; a random one if left out.
        attachments: the pictures pasted into a cell of Markdown.
    """
    metadata = {"nbgrader": dict(record)} if record else {}
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if cell_type == "code" else {}
    pasted = {"attachments": attachments} if attachments and cell_type == "markdown" else {}
    cell: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {
            "cell_type": cell_type, "id": name or secrets.token_hex(4), "metadata": metadata, "source": source,
            **code, **pasted,
        }
    )  # fmt: skip
    return cell


def name_as_markdown(text: str) -> str:
    """Return the first 200 characters of a name that a student chose as harmless Markdown: code in enough backticks."""
    return as_code(" ".join(plain(text).split())[:200])


def find_renamed(assignment: str, student: str, notebooks: list[str]) -> None:
    """Copy a notebook that was handed in under another name to the released name, as nbgrader's `pre_convert_hook`.

    A copy is made only if one released notebook is missing and one other notebook could be meant, and anew whenever the
    submission is graded: an earlier copy never stands for a notebook that was handed in since. Notebooks of
    other assignments are not meant, unless there is no other. If several could be meant, a notebook with a note stands
    for each missing one. Links and pipes are removed from the submission first.

    Args:
        assignment: the assignment's name.
        student: the student's id.
        notebooks: the files of the submission, below the course folder; changed: the copy takes the place of the other
            notebooks.
    """
    for folder in {Path(name).parent for name in notebooks}:
        remove_traps(folder)
    released = {path.stem for path in Path("source", assignment).glob("*.ipynb")}
    others = [Path(name) for name in notebooks if Path(name).stem not in released]
    if not others:
        return
    missing = sorted(released - {path.stem for path in map(Path, notebooks) if _copied_from(path) is None})
    meant = [path for path in others if not _is_wrong(path, assignment)] or others
    if len(missing) == 1 and len(meant) == 1 and _may_be_opened(meant[0]):
        copy = _write_copy(meant[0], f"{missing[0]}.ipynb")
        notebooks[:] = [name for name in dict.fromkeys([*notebooks, str(copy)]) if Path(name) not in others]
    elif missing:
        names, wanted = ", ".join(plain(path.name) for path in meant), " or ".join(f"{stem}.ipynb" for stem in missing)
        message = "%s holds %s, and no %s: rename the notebook that counts, and run the same command again"
        get_logger().error(message, meant[0].parent, names, wanted)
        for stem in [] if meant[0].parent.is_symlink() else missing:  # nbgrader would enter 0 points for it
            place = meant[0].with_name(f"{stem}.ipynb")
            why = UNDECIDED.format(f"there is no {name_as_markdown(place.name)}, but {_name_list(meant)}")
            _write_as_copy(ungradable_notebook(why), meant[0], place)
            notebooks[:] = dict.fromkeys([*notebooks, str(place)])


def _is_wrong(path: Path, assignment: str) -> bool:
    """Return whether a submitted file is a notebook that can be read, and is not one of an assignment."""
    return _may_be_opened(path) and bool(wrong_notebook(read_submitted(path.read_bytes()), assignment))


def _may_be_opened(path: Path) -> bool:
    """Return whether a path is a regular file that is not too large, and no link."""
    return path.is_file() and not path.is_symlink() and not why_unread(path, path.parent)


def _write_copy(path: Path, name: str) -> Path:
    """Write a copy of a submitted notebook under another name, with a note of its former name, and return its path."""
    notebook = read_submitted(path.read_bytes())
    add_notes(notebook, [f"It was handed in as {name_as_markdown(path.name)}, not as `{name}`."])
    _write_as_copy(notebook, path, path.with_name(name))
    return path.with_name(name)


def _write_as_copy(notebook: NotebookNode, path: Path, place: Path) -> None:
    """Write a notebook that stands for a submitted one, and mark it as a copy, so that the next grading replaces it.

    Args:
        notebook: the notebook.
        path: the submitted file that it stands for.
        place: the file to write.
    """
    notebook.metadata[COPY_OF] = plain(path.name)
    write_atomically(place, (nbformat.writes(notebook) + "\n").encode())  # type: ignore[no-untyped-call]


def _copied_from(path: Path) -> str | None:
    """Return the name of the notebook that a file was copied from by `find_renamed`; `None` for any other file."""
    try:
        return None if why_unread(path, path.parent) else str(read_notebook(path.read_bytes())["metadata"][COPY_OF])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _possible_cells(data: bytes, notes: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield every JSON object that may be a cell, in a notebook of any version.

    Args:
        data: the content of the file.
        notes: the list to which a note is appended if the file is no notebook, or has no list of cells.
    """
    try:
        notebook = read_notebook(data)
    except UnreadableNotebook as error:
        notes.append(UNREAD.format(name_as_markdown(error.fault)))
        return
    lists = lists_of_cells(notebook)
    if not lists:
        notes.append(NO_CELLS)
    for cells in lists:
        yield from (cell for cell in cells if isinstance(cell, dict))


def _sound_cell(raw_cell: Mapping[str, Any], seen: set[str], room: int) -> NotebookNode:
    """Return a valid cell made of a raw one.

    One that is too long becomes code, with the source `TOO_LONG`. An id that is not valid, or not its own, is replaced.

    Args:
        raw_cell: any mapping.
        seen: the ids of the cells so far; that of this cell is added.
        room: how many characters of text the notebook may still have.
    """
    kind = raw_cell.get("cell_type")
    source = text_of(raw_cell.get("source", raw_cell.get("input")))
    if len(source) > (LONGEST if kind == "code" else min(LONGEST_TEXT, room)):
        kind, source = "code", TOO_LONG
    name = raw_cell.get("id")
    own = isinstance(name, str) and CELL_ID.fullmatch(name) and name not in seen
    seen.add(str(name))
    metadata = raw_cell.get("metadata")
    record = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    sound = _writable_record(record) if isinstance(record, dict) else None
    if kind in ("code", "raw"):
        return new_cell(kind, source, sound, str(name) if own else "")
    pasted = _pasted_pictures(raw_cell.get("attachments"))
    shown = ATTACHMENT.sub(lambda use: use[0] if use[1] in pasted and use[2] is not None else MISSING_PICTURE, source)
    return new_cell("markdown", shown, sound, str(name) if own else "", pasted)


def _pasted_pictures(attachments: object) -> dict[str, dict[str, str]]:
    """Return the valid pictures among the attachments of a cell, by name.

    nbconvert stops at a text that shows a picture which is not attached.
    """
    pictures = {
        name: {kind: data for kind, data in picture.items() if PASTED.fullmatch(kind) and _is_base64(data)}
        for name, picture in (attachments.items() if isinstance(attachments, dict) else ())
        if PASTED_NAME.fullmatch(name) and isinstance(picture, dict)
    }
    return {name: picture for name, picture in pictures.items() if picture}


def _is_base64(data: object) -> bool:
    """Return whether a value is a string of base64."""
    return isinstance(data, str) and BASE64.fullmatch(data) is not None


def _writable_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata as far as they can be written.

    Texts are kept, with "?" in place of lone surrogates, and booleans, and numbers between -1e9 and 1e9; containers,
    `None` and other numbers are dropped.
    """
    return {
        text_of(key): text_of(value) if isinstance(value, str) else value
        for key, value in record.items()
        if isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and abs(value) < 1e9)
    }


def why_unread(path: Path, folder: Path) -> str:
    """Return why a path must not be opened: `a folder`, `a link that leads out of the submission`.

    A link may lead to a worked solution or a neighbour's notebook, and reading a pipe may never end.

    Args:
        path: the path.
        folder: the submission that it lies in.

    Returns:
        The reason; empty for a file of the submission's own, or if there is nothing at the path.
    """
    if folder.is_symlink() or (path.is_symlink() and not _leads_inside(path, folder)):
        return "a link that leads out of the submission"
    try:
        status = path.stat()
    except OSError:
        return ""
    if stat.S_ISDIR(status.st_mode):
        return "a folder"
    if not stat.S_ISREG(status.st_mode):
        return "no file, but a pipe or a device"
    return f"larger than {LARGEST >> 20} MiB" if status.st_size > LARGEST else ""


def _leads_inside(path: Path, folder: Path) -> bool:
    """Return whether a path exists and lies in a folder once all links are resolved."""
    return path.exists() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def remove_traps(folder: Path) -> None:
    """Remove from a submission the files that nbgrader would follow, wait for, or fail at when it copies them.

    These are links that lead out, pipes, devices and sparse files, none of which hold a student's work. Notebooks stay,
    because `why_unread` explains them. A timestamp that cannot be read is renamed. A warning names each file that is
    removed or renamed.
    """
    if folder.is_symlink():
        return  # it is somebody else's
    for path in _files_below(folder):
        why = "" if path.name.endswith(".ipynb") else why_unread(path, folder)
        if why and (path.is_symlink() or not path.is_file() or _is_sparse(path)):
            path.unlink()
            _warn(f"{path} was taken away: it is {why}")
    path = folder / TIMESTAMP
    if path.exists() and timestamp_in(folder) is None and (path.is_dir() or path.stat().st_size):
        path.rename(path.with_name(TIMESTAMP + UNREADABLE_SUFFIX))
        _warn(f"{path} is now called {TIMESTAMP}{UNREADABLE_SUFFIX}: no time can be read in it")


def _is_sparse(path: Path) -> bool:
    """Return whether a file occupies far less than its size, which a copy would occupy in full."""
    status = path.stat()
    return status.st_blocks * BLOCK < status.st_size / HOLLOW


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield every path below a folder that is not itself a folder, at any depth without recursion, unlike `os.walk`."""
    waiting = [str(folder)]
    while waiting:
        place, names = waiting.pop(), list[str]()
        with suppress(OSError):
            names = os.listdir(place)
        for path in (os.path.join(place, name) for name in names):
            if not os.path.isdir(path):
                yield Path(path)
            elif not os.path.islink(path):
                waiting.append(path)


def timestamp_in(folder: Path) -> datetime | None:
    """Return the time of submission, in UTC, that is noted in a folder; `None` if there is none that can be read."""
    path = folder / TIMESTAMP
    if path.is_file() and not path.is_symlink():
        with suppress(OSError, ValueError, ArithmeticError, TypeError, LookupError), path.open("rb") as file:
            text = file.read(LONGEST_TIMESTAMP + 1).decode().strip()
            time: datetime | None = parse_utc(text) if len(text) <= LONGEST_TIMESTAMP else None
            return time
    return None


def _warn(text: str) -> None:
    """Log a warning, on one line, in nbgrader's log."""
    get_logger().warning("%s", one_line(text))
