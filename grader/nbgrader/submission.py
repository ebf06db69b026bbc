"""A submitted notebook, read so that nothing in it can stop the class: what is broken is left out, and said."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict
from traitlets.log import get_logger

from grader.judging.source import LONGEST
from grader.text import plain

MOST_CELLS = 1000
CELL_TYPES = ("code", "markdown", "raw")
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CODE_TAG = re.compile("</?code>")
MOST_NOTES = 20
COPY_OF = "handgrad_copy_of"
ABOUT = "**About this submission**\n"
TOO_LONG = "# This cell was left out: it is longer than 1 MiB. Hand in the code alone."
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def read_submitted(data: bytes) -> NotebookNode:
    """The cells of a notebook file, sound whatever the file is: no outputs, no metadata but nbgrader's own.

    What had to be left out is said in a cell at the top.
    """
    notes: list[str] = []
    cells, seen = list[NotebookNode](), set[str]()
    for found in _found_cells(data, notes):
        if len(cells) == MOST_CELLS:
            notes.append(f"It has more than {MOST_CELLS} cells: the rest was left out.")
            break
        cells.append(_cell(found, seen))
    if any(cell.source == TOO_LONG for cell in cells):
        notes.append("A cell that is longer than 1 MiB was left out.")
    notebook: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells}
    )
    add_notes(notebook, notes)
    return notebook


def add_notes(notebook: NotebookNode, notes: list[str]) -> None:
    """Say something of a submission in a cell at its top."""
    if not notes:
        return
    if not (notebook.cells and notebook.cells[0].source.startswith(ABOUT)):
        notebook.cells.insert(0, new_cell("markdown", ABOUT))
    notebook.cells[0].source += "".join(f"\n- {note}" for note in notes)


def notes_in(notebook: NotebookNode) -> list[str]:
    """What is said in the cell at its top, as plain text."""
    first = notebook.cells[0].source if notebook.cells else ""
    lines = first.splitlines()[:MOST_NOTES] if first.startswith(ABOUT) else []
    return [plain(unescape(CODE_TAG.sub("`", line[2:]))) for line in lines if line.startswith("- ")]


def new_cell(cell_type: str, source: str, record: Mapping[str, Any] | None = None, name: str = "") -> NotebookNode:
    """A cell of a notebook, a code cell without outputs.

    Args:
        record: nbgrader's metadata.
        name: the cell's own id; a new one if left out.
    """
    metadata = {"nbgrader": dict(record)} if record else {}
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if cell_type == "code" else {}
    cell: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {"cell_type": cell_type, "id": name or secrets.token_hex(4), "metadata": metadata, "source": source, **code}
    )
    return cell


def named(text: str) -> str:
    """A name of the student's own choosing, as harmless Markdown."""
    return f"<code>{escape(plain(text))[:200]}</code>"


def find_renamed(assignment: str, student: str, notebooks: list[str]) -> None:
    """An nbgrader `pre_convert_hook`: a notebook handed in under another name is graded under the released one's.

    Only where one notebook is missing and one has no other use; a copy with the right name is laid beside it, and made
    anew whenever the submission is graded again.

    Args:
        notebooks: the files of one submission, below the course folder; the copy takes the place of the other.
    """
    released = {path.stem for path in Path("source", assignment).glob("*.ipynb")}
    others = [Path(name) for name in notebooks if Path(name).stem not in released]
    if not others:
        return
    there = [Path(name) for name in notebooks if Path(name).stem in released]
    missing = sorted(released - {path.stem for path in there if _copied_from(path) not in {o.name for o in others}})
    if len(missing) == 1 and len(others) == 1 and others[0].is_file() and not others[0].is_symlink():
        copy = _copy(others[0], f"{missing[0]}.ipynb")
        notebooks[:] = [name for name in dict.fromkeys([*notebooks, str(copy)]) if Path(name) != others[0]]
    elif missing:
        names, wanted = ", ".join(plain(path.name) for path in others), " or ".join(f"{one}.ipynb" for one in missing)
        says = "%s holds %s, and no %s: rename the notebook that counts, and run the same command again"
        get_logger().error(says, others[0].parent, names, wanted)


def _copy(path: Path, name: str) -> Path:
    """A copy of a submitted notebook under another name, which says so."""
    notebook = read_submitted(path.read_bytes())
    add_notes(notebook, [f"It was handed in as {named(path.name)}, not as `{name}`."])
    notebook.metadata[COPY_OF] = plain(path.name)
    nbformat.write(notebook, path.with_name(name))  # type: ignore[no-untyped-call]
    return path.with_name(name)


def _copied_from(path: Path) -> str | None:
    """The name of the notebook that this one is our copy of; `None` if it is none."""
    try:
        return str(json.loads(path.read_bytes())["metadata"][COPY_OF]) if path.is_file() else None
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None


def _found_cells(data: bytes, notes: list[str]) -> Iterator[Mapping[str, Any]]:
    """Whatever may be a cell, in a notebook of any version."""
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        notes.append(f"The file is no notebook that can be read ({named(str(error))}): hand it in again.")
        return
    sheets = [notebook]
    if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        sheets += notebook["worksheets"]
    lists = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    if not lists:
        notes.append("The file holds no cells: hand in the notebook itself.")
    for cells in lists:
        yield from (cell for cell in cells if isinstance(cell, dict))


def _cell(found: Mapping[str, Any], seen: set[str]) -> NotebookNode:
    kind = found.get("cell_type")
    source = _text(found.get("source", found.get("input")))
    if len(source) > LONGEST:
        kind, source = "code", TOO_LONG
    name = found.get("id")
    own = isinstance(name, str) and CELL_ID.fullmatch(name) and name not in seen
    seen.add(str(name))
    metadata = found.get("metadata")
    record = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    sound = _sound(record) if isinstance(record, dict) else None
    return new_cell(str(kind) if kind in CELL_TYPES else "markdown", source, sound, str(name) if own else "")


def _text(source: object) -> str:
    """The source of a cell, a text or a list of lines, as text that can be written."""
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    return text.encode("utf-8", "replace").decode()


def _sound(record: Mapping[str, Any]) -> dict[str, Any]:
    """nbgrader's record without what cannot be written: lone surrogates, nested values, numbers beyond reason."""
    return {
        _text(key): _text(value) if isinstance(value, str) else value
        for key, value in record.items()
        if isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and abs(value) < 1e9)
    }
