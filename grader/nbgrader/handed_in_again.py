"""Finds submissions that changed since they were graded: nbgrader itself looks only at the times that `collect` notes.

A notebook that is put into `submitted/` by hand has no such time, and would keep the score of the one before it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbgrader.utils import remove, rmtree

from .submission_files import why_unread

MARK, MADE_FROM = "handgrad", "made_from"
NO_RECORD = (
    "%s has changed since %s was graded, perhaps, which does not say what it was made from: "
    "look at it, and grade it again with --force"
)


def content_hash(folder: Path) -> str:
    """A hash of the notebooks and Python files that were handed in, as far as they are the student's own."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.glob("*") if path.suffix in (".ipynb", ".py")):
        if path.is_file() and not why_unread(path, folder):
            found.update(repr((path.name, path.read_bytes())).encode())
    return found.hexdigest()


def mark(metadata: dict[str, Any], folder: Path) -> None:
    """Note in a graded notebook what it was made from."""
    metadata[MARK] = {MADE_FROM: content_hash(folder)}


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
        return str(json.loads(path.read_bytes())["metadata"][MARK][MADE_FROM])
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None


def _is_newer(source: Path, graded: Mapping[Path, object]) -> bool:
    """A submission was written after it was graded, by the clocks of its files."""
    last = max(path.stat().st_mtime for path in graded)
    return any(path.lstat().st_mtime > last for path in source.glob("*.ipynb"))
