"""Tests whether folders and files belong to a course of handgrad; in other projects nothing more is imported."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import Any

import pytest

EXERCISES, COURSE, QUIZ, STATE = "exercises", "course.yaml", "quiz.yaml", ".handgrad"
COURSES = pytest.StashKey[dict[Path, bool]]()
"""Whether a folder holds a course, for each folder that was looked at."""
AS_KEYS = tuple(re.compile(rf"\b{key}[\"']?\s*:") for key in ("course", "units", "exercises"))
IN_PLACE = tuple(re.compile(rf"^{key}\b", re.MULTILINE) for key in ("course", "units", r"[ \t]+(- *)?exercises"))
"""How the keys of a course file begin their lines."""


def is_course(folder: Path) -> bool:
    """Return whether a folder contains a `course.yaml` of handgrad, valid or not.

    That is a mapping with `course` and `units`, a list of mappings with `exercises`. Where the file is not valid YAML,
    lines that begin with these keys decide, so that its author reads which line is wrong.
    """
    path = os.path.join(folder, COURSE)
    if not os.path.isfile(path):  # a pipe would be waited for
        return False
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if is_utf16 else "utf-8-sig", errors="replace")
    return all(key.search(text) for key in AS_KEYS) and _is_course_text(text)


def _is_course_text(text: str) -> bool:
    """Return whether the text of a `course.yaml` is a course of handgrad: a mapping with `course` and `units`.

    At least one unit must have `exercises`. If the text is not valid YAML, lines that begin with these keys decide.
    """
    import yaml  # takes longer than everything else here

    try:
        # Nodes, not values: a tag that only its own project can read is no reason to fail.
        document = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return all(line.search(text) for line in IN_PLACE)
    top = _mapping(document)
    units = top.get("units")
    unit_nodes = units.value if isinstance(units, yaml.SequenceNode) else []
    return "course" in top and any("exercises" in _mapping(unit) for unit in unit_nodes)


def _mapping(node: Any) -> dict[Any, Any]:
    """Return the values of a YAML mapping node by their keys; empty for any other node."""
    is_mapping = getattr(node, "id", "") == "mapping"
    return {key.value: value for key, value in node.value if key.id == "scalar"} if is_mapping else {}


def is_exercise_file(path: str) -> bool:
    """Return whether a path has the form `exercises/<unit>/<file>`, the file a Python file or a quiz."""
    parts = path.rsplit(os.sep, 3)
    return len(parts) == 4 and parts[1] == EXERCISES and (parts[3].endswith(".py") or parts[3] == QUIZ)


def named_path(config: pytest.Config, argument: str) -> Path:
    """Return the path in a command-line argument of pytest, resolved, without the part from `::` on."""
    return Path(os.path.realpath(config.invocation_params.dir / argument.split("::")[0]))


def exercises_folder(path: Path) -> Path | None:
    """Return the closest `exercises/` folder with numbered units that a path is or lies in; `None` if there is none."""
    for folder in (path, *path.parents):
        if folder.name == EXERCISES and any(folder.glob("[0-9][0-9]_*")):
            return folder
    return None


def holds_course(config: pytest.Config, folder: Path) -> bool:
    """Return whether a folder contains a `course.yaml` of handgrad, valid or not; looked up once in a run."""
    known = config.stash.setdefault(COURSES, {})
    if folder not in known:
        known[folder] = is_course(folder)
    return known[folder]
