"""The code cells of a notebook that was handed in among plain files, and which exercises they answer."""

from __future__ import annotations

import json
import re
from typing import Any

from grader.course import Course

LARGEST = 32 << 20  # bytes: pictures are kept in it
MOST_PARTS = 2_000_000  # lists and maps, each of which takes 20 times the memory of its brackets
MOST_CELLS = 1000
DEFINES = re.compile(r"^(?:async )?def +(\w+) *\(|^(quiz_\w+) *=", re.MULTILINE)


def code_cells(data: bytes) -> tuple[str, ...]:
    """The texts of its code cells, of a notebook of any version.

    Raises:
        ValueError: it is no notebook.
    """
    if has_too_many_parts(data):
        raise ValueError("it has too many parts")
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no notebook that can be read") from error
    cells = [cell for listed in lists_of_cells(notebook) for cell in listed if _get(cell, "cell_type") == "code"]
    return tuple(text_of(_get(cell, "source") or _get(cell, "input")) for cell in cells[:MOST_CELLS])


def has_too_many_parts(data: bytes) -> bool:
    """There is more in a JSON document than in any notebook."""
    return data.count(b"[") + data.count(b"{") > MOST_PARTS


def lists_of_cells(notebook: Any) -> list[list[Any]]:
    """The lists of whatever may be cells, in a notebook of any version; what is none has none."""
    sheets = [notebook, *(_list(notebook, "worksheets") or ())]
    return [listed for sheet in sheets if (listed := _list(sheet, "cells")) is not None]


def text_of(source: object) -> str:
    """The source of a cell, a text or a list of lines, as text that can be written."""
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str)).encode("utf-8", "replace").decode()


def answered(course: Course, cells: tuple[str, ...]) -> list[str]:
    """The exercises that the cells answer, by id."""
    named = {name for cell in cells for names in DEFINES.findall(cell) for name in names}
    return [exercise.id for exercise in course.exercises if exercise.id in named]


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any, key: str) -> list[Any] | None:
    found = _get(value, key)
    return found if isinstance(found, list) else None
