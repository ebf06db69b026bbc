"""Reads what a class handed in: one folder per student, with nothing in it trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.course import Course, CourseExercise
from grader.errors import UsageError
from grader.results import Status
from grader.safe_text import one_line

SIZE_LIMIT = 1 << 20
MOST_NOTES, MOST_HELPERS = 20, 50
WORD = re.compile(rb"\w+")
UNKNOWN = "this course has no exercise there"
NOT_REPORTED = frozenset({"__pycache__", "__MACOSX", "README.md", "timestamp.txt"})


@dataclass(frozen=True)
class UnreadFile:
    """A file that is there but was not read.

    Args:
        status: `failed` where that is the student's doing, `error` where it is not.
    """

    status: Status
    why: str


@dataclass(frozen=True)
class Submission:
    """One student's folder, read.

    Args:
        name: the folder's name.
        files: what was handed in, by exercise id.
        notes: what was ignored, and why.
        helpers: other Python files, by the folder that they lie in, and their name.
    """

    name: str
    files: Mapping[str, bytes | UnreadFile]
    notes: tuple[str, ...] = ()
    helpers: Mapping[tuple[str, str], bytes] = field(default_factory=dict)

    def beside(self, exercise: CourseExercise) -> dict[str, bytes]:
        """The files that an exercise may import: those of its unit."""
        known = {each.id: each.name for each in exercise.course.exercises if each.unit == exercise.unit}
        places = ("exercises", "", f"exercises/{exercise.unit}", exercise.unit)  # the last one counts
        found = {name: content for at in places for (place, name), content in self.helpers.items() if place == at}
        answers = {known[key]: content for key, content in self.files.items() if key in known}
        return {**found, **{name: content for name, content in answers.items() if isinstance(content, bytes)}}


def student_folders(course: Course, submissions: Path, out: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The student folders by name, and the names of everything else."""
    if os.path.realpath(submissions) == os.path.realpath(out):
        raise UsageError(f"{out} holds the submissions: name another folder for the results with --out.")
    try:
        entries = [entry for entry in _entries(submissions).values() if not _is_housekeeping(entry.name)]
    except OSError as error:
        says = f"{submissions} cannot be read ({error.strerror}): name the folder that holds one folder per student."
        raise UsageError(says) from error
    here, results = os.path.realpath(submissions), os.path.realpath(out)
    entries = [entry for entry in entries if _real_path(entry, here) != results]
    folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    if not folders:
        raise UsageError(f"{submissions} holds no student folders: give each student one, laid out like exercises/.")
    if {folder.name for folder in folders} <= {"exercises", *(unit.id for unit in course.config.units)}:
        raise UsageError(f"{submissions} is laid out like one student's submission: name the folder above it.")
    return folders, tuple(_displayable(entry.name) for entry in entries if not entry.is_dir(follow_symlinks=False))


def _real_path(entry: os.DirEntry[str], folder: str) -> str:
    """Where an entry of a folder, given by its own real path, really is."""
    return os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(folder, entry.name)


def _is_housekeeping(name: str) -> bool:
    return name in NOT_REPORTED or name.startswith(".")


def _entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    """What a folder holds, sorted by name."""
    with os.scandir(folder) as entries:
        return {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.name)}


def printable(name: str) -> str:
    """A file name as text that can be written anywhere, another one for each name.

    Bytes that are no UTF-8, and whatever does not print, are written as `\\xe9`, and a backslash as two.
    """
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c != "\\" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character)) if character != "\\" else "\\\\"


def _displayable(name: str) -> str:
    """A file name that is safe to show on a terminal, on one line."""
    return one_line(printable(name))


def read_submission(course: Course, folder: Path) -> Submission:
    """Read one student's folder: `<unit>/<id>.py`, the same below `exercises/`, or `<id>.py`.

    A quiz is `<unit>/quiz.yaml`, or `quiz_<unit>.yaml`.

    Links to folders are not followed, nor is any link that leads out of the submission.
    """
    files: dict[str, bytes | UnreadFile] = {}
    helpers: dict[tuple[str, str], bytes] = {}
    notes: list[str] = []
    try:
        _collect(course, folder, files, helpers, notes)
    except OSError as error:
        unread = UnreadFile(
            "error", f"the submission cannot be read ({error.strerror}): check the permissions of its folder"
        )
        files = {exercise.id: unread for exercise in course.exercises}
    notes += _not_imported(files, helpers)
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{len(notes) - MOST_NOTES} more files were ignored"]
    return Submission(folder.name, files, tuple(notes), helpers)


def _collect(
    course: Course, folder: Path, files: dict[str, bytes | UnreadFile], helpers: dict[tuple[str, str], bytes],
    notes: list[str],
) -> None:  # fmt: skip
    places = _places(course)
    listed = _listed(folder, places)
    for place, known in places.items():
        for entry in listed.get(place, {}).values():
            name = f"{place}/{entry.name}" if place else entry.name
            exercise = known.get(entry.name)
            if _is_housekeeping(entry.name) or (name in places and entry.is_dir(follow_symlinks=False)):
                continue
            ignored = _why_ignored(entry, folder, exercise, files)
            if ignored == UNKNOWN and (helper := _helper(entry)) is not None and len(helpers) < MOST_HELPERS:
                helpers[place, entry.name] = helper
            elif ignored:
                notes.append(f"{_displayable(name)} was ignored: {ignored}")
            elif exercise is not None:
                files[exercise.id] = _content(entry)


def _listed(folder: Path, places: Iterable[str]) -> dict[str, dict[str, os.DirEntry[str]]]:
    """What lies in each of the places that are there, by name; a link to a folder is no folder."""
    listed = {"": _entries(folder)}
    for place in sorted(filter(None, places)):  # each folder before those in it
        above, _, name = place.rpartition("/")
        entry = listed.get(above, {}).get(name)
        if entry is not None and entry.is_dir(follow_symlinks=False):
            listed[place] = _entries(folder / place)
    return listed


def _places(course: Course) -> dict[str, dict[str, CourseExercise]]:
    """The folders of a submission where exercise files may lie, and which; where there are two, the first counts."""
    units: dict[str, dict[str, CourseExercise]] = {}
    for exercise in course.exercises:
        units.setdefault(exercise.unit, {})[exercise.name] = exercise
    anywhere = {exercise.id + os.path.splitext(exercise.name)[1]: exercise for exercise in course.exercises}
    return {
        **units,
        **{f"exercises/{unit}": known for unit, known in units.items()},
        "": anywhere,
        "exercises": anywhere,
    }


def _why_ignored(
    entry: os.DirEntry[str], folder: Path, exercise: CourseExercise | None, files: Mapping[str, object]
) -> str:
    """Why something in a submission is not graded; empty if it is."""
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(folder)):
        return "it is a link that leads out of the submission; ask for the file itself"
    if exercise is None:
        return UNKNOWN
    if not os.path.isfile(entry.path):
        return "it is no file; ask for the file itself"
    if exercise.id in files:
        return f"another {exercise.name} was handed in too, and that one was graded"
    return ""


def _not_imported(files: Mapping[str, bytes | UnreadFile], helpers: Mapping[tuple[str, str], bytes]) -> Iterator[str]:
    """Files that no other file of the submission speaks of: an exercise under a wrong name, perhaps."""
    texts = [content for content in files.values() if isinstance(content, bytes)] if helpers else []
    spoken_of = {word for text in texts for word in WORD.findall(text)}
    for (place, name), content in helpers.items():
        others = (WORD.findall(other) for other in helpers.values() if other is not content)
        if name.removesuffix(".py").encode() not in spoken_of.union(*others):
            yield f"{_displayable(f'{place}/{name}' if place else name)} was ignored: {UNKNOWN}"


def _helper(entry: os.DirEntry[str]) -> bytes | None:
    """What an exercise may import."""
    if not entry.name.endswith(".py") or not os.path.isfile(entry.path):
        return None
    content = _content(entry)
    return content if isinstance(content, bytes) else None


def _content(entry: os.DirEntry[str]) -> bytes | UnreadFile:
    try:
        with open(entry.path, "rb") as stream:
            content = stream.read(min(os.fstat(stream.fileno()).st_size, SIZE_LIMIT) + 1)
    except OSError as error:
        return UnreadFile("error", f"the file cannot be read ({error.strerror}): check its permissions")
    if len(content) > SIZE_LIMIT:
        return UnreadFile("failed", "the file was not read: it is larger than 1 MiB; hand in the answers alone")
    return content
