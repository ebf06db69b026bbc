"""The code cells of a notebook that was submitted among plain files, and the exercises that they answer."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from grader.course.course import Course
from grader.sandbox.definitions import Definition, definitions

LARGEST = 32 << 20  # bytes, with the pictures in it
MOST_PARTS = 2_000_000  # lists and objects of JSON, each of which takes 20 times the memory of its brackets
MOST_CELLS = 1000
OTHERS = {
    b"<": "a web page", b"%PDF": "a PDF document", b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive",
    b"version https://git-lfs": "a pointer of Git LFS, and not the file",
}  # fmt: skip
BROKEN = "it is no notebook that can be read"
DOWNLOAD = "download the notebook itself, as .ipynb, and hand that in"
AGAIN = "save the notebook, and hand it in again"
SHOWN = 20  # characters of a file that is no notebook
LONGEST_WORD = 6  # characters that JSON cannot be cut within: `false`, or an escape such as `\u00e9`
NEW_LINE = "\n"


class UnreadableNotebook(ValueError):
    """Report a file that is not a notebook, or that cannot be read.

    Args:
        fault: what it is instead, or what is wrong with it, as a clause.
        next_step: what to do, as a clause.
    """

    def __init__(self, fault: str, next_step: str = AGAIN) -> None:
        """Join the fault and the next step, each a clause, to the message."""
        super().__init__(f"{BROKEN} ({fault}): {next_step}")
        self.fault = fault


class NotebookCells(NamedTuple):
    """Hold the texts of a notebook's cells: of those with code, which are run, and of all others."""

    code: tuple[str, ...]
    text: tuple[str, ...]


def notebook_cells(data: bytes) -> NotebookCells:
    """Return the texts of a notebook's first `MOST_CELLS` cells of each kind; the notebook may be of any version.

    Raises:
        UnreadableNotebook: the file is not a notebook.
    """
    sheets = lists_of_cells(read_notebook(data))
    if not sheets:
        raise UnreadableNotebook("it has no list of cells", DOWNLOAD)
    kinds: tuple[list[Any], list[Any]] = ([], [])
    for cell in (cell for sheet in sheets for cell in sheet):
        kinds[_get(cell, "cell_type") != "code"].append(_get(cell, "source") or _get(cell, "input"))
    return NotebookCells(*(tuple(map(text_of, sources[:MOST_CELLS])) for sources in kinds))


def read_notebook(data: bytes) -> Any:
    """Return the JSON document of a notebook file; its structure is not checked.

    Raises:
        UnreadableNotebook: the file is not JSON, or has more lists and maps than any notebook.
    """
    if data.count(b"[") + data.count(b"{") > MOST_PARTS:
        raise UnreadableNotebook("it has too many parts")
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if is_utf16 else "utf-8-sig", "replace")
    if not text.strip(" \t\r\n\0"):
        raise UnreadableNotebook("it holds nothing but zero bytes" if "\0" in text else "it is empty")
    start = data.lstrip(codecs.BOM_UTF8 + b" \t\r\n")
    if other_format := next((name for begins, name in OTHERS.items() if start.startswith(begins)), ""):
        raise UnreadableNotebook(f"it is {other_format}", DOWNLOAD)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise UnreadableNotebook("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        if not start.startswith((b"{", b"[")) and not is_utf16:
            begins = " ".join(text.split())[:SHOWN]
            raise UnreadableNotebook(f"it begins with {begins!r}", DOWNLOAD) from error
        end = text.rstrip()
        if error.pos >= len(end) - LONGEST_WORD or error.msg.startswith("Unterminated string"):
            fault = f"it breaks off in line {end.count(NEW_LINE) + 1}, so a part of it is missing"
            raise UnreadableNotebook(fault) from error
        raise UnreadableNotebook(f"it is damaged in line {error.lineno}, column {error.colno}") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise UnreadableNotebook("it is damaged: it holds a number without end") from error


def lists_of_cells(notebook: Any) -> list[list[Any]]:
    """Return the lists of cells in a notebook: one, or one for each worksheet of an old version.

    The cells are not checked. Any other document has no list.
    """
    sheets = [notebook, *(_list(notebook, "worksheets") or ())]
    return [cells for sheet in sheets if (cells := _list(sheet, "cells")) is not None]


def text_of(source: object) -> str:
    """Return the source of a cell, a text or a list of lines, as text that can be encoded in UTF-8."""
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str)).encode("utf-8", "replace").decode()


def exercises_defined(course: Course, texts: Sequence[str]) -> list[str]:
    """Return the ids of the exercises that a file or cells define, in the course's order.

    A function that is imported from the file named after its exercise does not count: that file defines it.

    Args:
        course: the course.
        texts: the text of the file, or of each code cell.
    """
    ids = {exercise.id for exercise in course.exercises}
    names = {definition.name for definition in definitions(texts, ids) if not _is_from_its_file(definition)}
    return [exercise.id for exercise in course.exercises if exercise.id in names]


def _is_from_its_file(definition: Definition) -> bool:
    """Return whether a definition only imports a function from the file named after it, as `import lin_grad` does."""
    return definition.is_import and definition.name == (definition.module or definition.name).rpartition(".")[2]


def _get(value: Any, key: str) -> Any:
    """Return the value of a key in a JSON object; `None` if `value` is no object, or lacks the key."""
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any, key: str) -> list[Any] | None:
    """Return the list under a key in a JSON object; `None` if `value` is no object, or has no list under the key."""
    entry = _get(value, key)
    return entry if isinstance(entry, list) else None
