"""Whose a file or folder is, by the name that a platform or a person gave it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .file_tree import ARCHIVES, File, Folder
from .printable_names import printable

MOODLE = re.compile(r"(?P<who>.+?_\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<name>.*))?", re.DOTALL)
CANVAS = re.compile(
    r"(?P<who>(?P<late_too>LATE_)?anon_[A-Za-z0-9]+|[\w-]+?_(?:(?P<late>LATE)_)?(?P<id>\d+))_"
    r"(?:(?P<upload>\d+)_(?P<name>.+)|(?P<typed>text|link)\.html)",
    re.DOTALL,
)
# What stands twice in a name with a second reading: a student may be called, or call a file, like another's hand-in.
MOODLE_MARK, CANVAS_MARK = re.compile(r"_\d+_assignsubmission_(?:file|onlinetext)"), re.compile(r"_\d+_\d+_")
LATE = "it was handed in late, by the name that Canvas gave it"
Entry = File | Folder


@dataclass(frozen=True)
class HandIn:
    """What one student handed in.

    Args:
        key: tells students apart, and names the result file.
        folders: what was handed in, not yet looked into.
        known_as: other names and numbers of the student that came with it, for a roster.
        notes: what came with it that an instructor should know.
        unsure: it may be somebody else's, by a name that can be read in two ways.
    """

    key: str
    folders: tuple[Folder, ...]
    known_as: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    unsure: bool = False

    @property
    def student(self) -> str:
        """What the student is called in the results."""
        return printable(self.key)

    @property
    def path(self) -> Path | None:
        """The one folder on disk that it is; `None` where it came in an archive, or among others' files."""
        return self.folders[0].path if len(self.folders) == 1 else None

    def together(self, other: HandIn) -> HandIn:
        """What both hold, as one student's."""
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return replace(
            self, folders=(*self.folders, *other.folders), known_as=self.known_as | other.known_as, notes=notes
        )


def plain(entry: Entry, prefix: str) -> HandIn | None:
    """A folder or an archive under the student's name, which may have the assignment's name before it."""
    if isinstance(entry, File) and not entry.is_archive:
        return None
    name = stem(entry.name) if isinstance(entry, File) else entry.name
    key = name.removeprefix(prefix) or name
    guesses = (key[at + 1 :] for at, character in enumerate(key) if character == "-" and key == name)
    known_as = {key, *guesses}
    return HandIn(key, (_as_folder(entry),), frozenset(known_as))


def moodle(entry: Entry) -> HandIn | None:
    """`Name_12345_assignsubmission_file`, a folder, or the beginning of a file's name."""
    found = MOODLE.fullmatch(entry.name)
    if found is None:
        return None
    name, _, number = found["who"].rpartition("_")
    folder = entry if isinstance(entry, Folder) else folder_of(entry.name, [_renamed(entry, found["name"])])
    known_as = frozenset({name, number, f"Participant {number}"})
    return HandIn(found["who"], (folder,), known_as, unsure=_can_be_read_twice(entry, MOODLE_MARK))


def canvas(entry: Entry) -> HandIn | None:
    """`lastnamefirst_LATE_123_456_lin_grad.py`: the student, the student's number, the upload's, the file."""
    found = CANVAS.fullmatch(entry.name)
    if found is None or isinstance(entry, Folder):
        return None
    late = bool(found["late"] or found["late_too"])
    who = found["who"].replace("_LATE_", "_").removeprefix("LATE_")
    name = found["name"] or f"{found['typed']}.html"
    file = replace(_renamed(entry, name), modified=int((found["upload"] or "0")[:18]))  # the later upload is the newer
    known_as = frozenset({who.rpartition("_")[0], found["id"] or who})
    unsure = _can_be_read_twice(entry, CANVAS_MARK)
    return HandIn(who, (folder_of(who, [file]),), known_as, (LATE,) if late else (), unsure)


def _can_be_read_twice(entry: Entry, mark: re.Pattern[str]) -> bool:
    return len(mark.findall(entry.name)) > 1


def _as_folder(entry: Entry) -> Folder:
    return entry if isinstance(entry, Folder) else folder_of(entry.name, [entry])


def folder_of(name: str, files: Sequence[File]) -> Folder:
    """Return a folder with these files, which is not on disk."""
    return Folder(name, None, partial(tuple, files))


def _renamed(file: File, name: str | None) -> File:
    return replace(file, name=name or file.name)


def stem(name: str) -> str:
    """The name of an archive without its ending."""
    ending = next((each for each in ARCHIVES if name.lower().endswith(each)), "")
    return name[: len(name) - len(ending)] or name
