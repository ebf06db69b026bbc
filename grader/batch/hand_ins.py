"""Finds out who handed in what: a folder or an archive of a class, as it comes from where the class hands in."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TypeVar

from grader.course import Course
from grader.errors import UsageError, file_error

from .exercise_names import ExerciseNames
from .file_tree import MOST_ENTRIES, NAME_IT, File, Folder, is_housekeeping, open_tree, single_file, unlistable
from .gradescope_export import METADATA_FILE, read_submitters
from .hand_in import Entry, HandIn, canvas, folder_of, moodle, plain, stem
from .printable_names import displayable

CLONES = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment's name
PLAIN_KIND = "a folder or an archive for each student"
OF_TOOLS = frozenset({"__MACOSX", ".git", ".ipynb_checkpoints", ".handgrad"})  # no student is called so
APPLE_DOUBLE = "._"
_Reader = Callable[[Entry], HandIn | None]


@dataclass(frozen=True)
class HandIns:
    """A class.

    Args:
        each: by key.
        kind: what it was taken for, such as "a download from Moodle".
        strays: what lies beside the hand-ins, and was ignored.
        absent: who is on the roster and handed in nothing.
        unlisted: who handed in and is not on the roster.
    """

    each: tuple[HandIn, ...]
    kind: str
    strays: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


def find_hand_ins(course: Course, submissions: Path, out: Path) -> HandIns:
    """The hand-ins of a class.

    Args:
        submissions: a folder, or an archive of one.
        out: the results folder, which may lie among the submissions.

    Raises:
        UsageError: there are none, or they cannot be read.
    """
    if os.path.realpath(submissions) == os.path.realpath(out):
        raise UsageError(f"{out} holds the submissions: name another folder for the results with --out.")
    names = ExerciseNames(course, course.exercises)
    try:
        found = _Finder(names, submissions, os.path.realpath(out)).class_in(open_tree(submissions))
    except OSError as error:
        raise file_error(f"{submissions} cannot be read ({error.strerror or error}): {NAME_IT}.", error) from error
    if not found.each:
        raise UsageError(
            f"{submissions} holds no student folders: give each student one, laid out like exercises/, "
            "or name what was downloaded as it came."
        )
    return found


def one_hand_in(path: Path) -> HandIn:
    """What one student handed in: a folder, an archive, or a single file.

    Raises:
        UsageError: it is not there.
    """
    if path.is_dir():
        return HandIn(path.name or path.resolve().name, (open_tree(path),))
    try:
        file = single_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name what one student handed in.") from error
    return HandIn(stem(path.name), (folder_of(path.name, [file]),))


@dataclass
class _Finder:
    """Recognises layouts.

    What one entry raises says nothing of the others: it is not recognised, and whoever reads it is told.

    Args:
        out: the real path of the results folder.
    """

    names: ExerciseNames
    submissions: Path
    out: str
    strays: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def class_in(self, root: Folder) -> HandIns:
        entries = self._entries(root)
        while len(entries) == 1 and isinstance(entries[0], Folder) and _is_true(self._wraps, entries[0]):
            root, entries = entries[0], self._entries(entries[0])
        if self._is_one_students(entries) and not any(_is_true(self._is_student, each) for each in entries):
            says = f"{self.submissions} is laid out like one student's submission: name the folder above it"
            raise UsageError(f"{says}, or grade it alone with --one.")
        kind, found = self._recognised(root, entries)
        strays = [*self.strays, *self.hidden]
        return HandIns(tuple(_merged(found)), kind, tuple(displayable(name) for name in dict.fromkeys(strays)))

    def _entries(self, folder: Folder) -> list[Entry]:
        """What a folder of the class holds; the results may lie there too.

        A student may have the name of what tools leave behind: what holds a submission is one, and of the others each
        folder is named.
        """
        kept = list[Entry]()
        for each in folder.all_entries():
            if isinstance(each, Folder) and _is_true(self._is_out, each):
                continue
            if not _is_true(is_housekeeping, each.name) or _is_true(self._is_hidden_submission, each):
                kept.append(each)
            elif isinstance(each, Folder) and each.name not in OF_TOOLS:
                self.hidden.append(each.name)
        return kept

    def _is_hidden_submission(self, entry: Entry) -> bool:
        """What has the name of something that tools leave behind holds what a student hands in."""
        if isinstance(entry, File):
            return entry.is_archive and not entry.name.startswith(APPLE_DOUBLE)
        inside = entry.all_entries(MOST_ENTRIES)
        named = [each for each in inside if isinstance(each, Folder) or not each.name.startswith(APPLE_DOUBLE)]
        return self._is_one_students(named) or any(
            isinstance(each, File) and (each.is_archive or each.name.lower().endswith(".ipynb")) for each in named
        )

    def _is_out(self, folder: Folder) -> bool:
        return folder.path is not None and os.path.realpath(folder.path) == self.out

    def _wraps(self, folder: Folder) -> bool:
        """A folder that is around a class, and not what somebody handed in."""
        inside = folder.entries()
        if self._is_one_students(inside) or moodle(folder):
            return False
        handed_in = [each for each in inside if _is_true(self._is_handed_in, each)]
        return len(handed_in) > 1 or self._is_from_platform(inside)

    def _is_one_students(self, entries: Sequence[Entry]) -> bool:
        """These are exercises, or folders of them: what one student hands in."""
        return any(_is_true(self._is_of_course, each) for each in entries)

    def _is_of_course(self, entry: Entry) -> bool:
        """It has the name of an exercise's file, or of a folder of the course."""
        if isinstance(entry, Folder):
            return self.names.is_place(entry.name)
        return canvas(entry) is None and self.names.find(entry.name) is not None

    def _is_student(self, entry: Entry) -> bool:
        """A folder that somebody handed in, under a name that is not one of the course's."""
        is_place = isinstance(entry, File) or self.names.is_place(entry.name)
        return not is_place and self._is_handed_in(entry)

    def _is_handed_in(self, entry: Entry) -> bool:
        return entry.is_archive if isinstance(entry, File) else self._is_one_students(entry.all_entries(MOST_ENTRIES))

    def _is_from_platform(self, entries: Sequence[Entry]) -> bool:
        is_export = any(each.name == METADATA_FILE for each in entries)
        return is_export or _are_most(entries, moodle) or _are_most(entries, canvas)

    def _recognised(self, root: Folder, entries: Sequence[Entry]) -> tuple[str, list[HandIn]]:
        """What the class was taken for, and its hand-ins."""
        for each in entries:
            if isinstance(each, File) and each.name == METADATA_FILE:
                return "an export from Gradescope", self._gradescope(each, entries)
        if _are_most(entries, moodle):
            return "a download from Moodle", self._named(entries, moodle)
        if _are_most(entries, canvas):
            return "a download from Canvas", self._named(entries, canvas)
        if self._are_sections(entries):
            sections = [each for each in entries if isinstance(each, Folder)]
            self.strays += [each.name for each in entries if isinstance(each, File)]
            return f"{len(sections)} sections", self._sections(sections)
        prefix = root.name.removesuffix(CLONES) + "-" if root.name.endswith(CLONES) else ""
        return PLAIN_KIND, self._named(entries, lambda entry: plain(entry, prefix))

    def _gradescope(self, metadata: File, entries: Sequence[Entry]) -> list[HandIn]:
        submitters = read_submitters(metadata)
        found = []
        for entry in entries:
            if isinstance(entry, Folder):
                people = submitters.get(entry.name) or [(entry.name, frozenset({entry.name}))]
                found += [HandIn(key, (entry,), known_as) for key, known_as in people]
            elif entry is not metadata:
                self.strays.append(entry.name)
        return found

    def _named(self, entries: Sequence[Entry], read: _Reader) -> list[HandIn]:
        """One hand-in for each entry that `read` understands; the others are strays.

        So is what may be somebody else's, beside what is surely of that student.
        """
        found = [(each.name, _read(each, read)) for each in entries]
        sure = {one.key for _, one in found if one is not None and not one.unsure}
        kept = list[HandIn]()
        for name, one in found:
            if one is None or (one.unsure and one.key in sure):
                self.strays.append(name)
            else:
                kept.append(one)
        return kept

    def _are_sections(self, entries: Sequence[Entry]) -> bool:
        """The folders hold hand-ins and are none themselves: most hold several, and most names are there once."""
        found = list[list[str]]()
        for folder in (each for each in entries if isinstance(each, Folder)):
            inside = _listed(folder)
            from_platform = self._is_from_platform(inside)
            if self._is_one_students(inside) and not from_platform:
                return False
            if handed_in := [each.name for each in inside if from_platform or _is_true(self._is_handed_in, each)]:
                found.append(handed_in)
            elif inside:
                return False
        names = list(chain.from_iterable(found))
        return bool(found) and median(map(len, found)) >= 2 and 2 * len(set(names)) > len(names)

    def _sections(self, sections: Sequence[Folder]) -> list[HandIn]:
        """The hand-ins of all sections; two of one name are told apart by their section."""
        found = list[tuple[Folder, HandIn]]()
        for section in sections:
            try:
                found += [(section, one) for one in self._recognised(section, self._entries(section))[1]]
            except Exception as error:  # a section that cannot be listed is told of as a submission is
                found.append((section, HandIn(section.name, (unlistable(section.name, error),))))
        times = Counter(one.key for _, one in found)
        keys = [one.key if times[one.key] == 1 else f"{section.name} {one.key}" for section, one in found]
        whose = defaultdict[str, set[tuple[str, str]]](set)
        for key, (section, one) in zip(keys, found, strict=True):
            whose[key].add((section.name, one.key))
        return [  # no name has a slash in it
            replace(one, key=key if len(whose[key]) == 1 else f"{section.name}/{one.key}")
            for key, (section, one) in zip(keys, found, strict=True)
        ]


_T = TypeVar("_T")


def _is_true(tells: Callable[[_T], bool], entry: _T) -> bool:
    """Whether this is so of an entry; it is not where that cannot be found out: who reads the entry is told why."""
    try:
        return tells(entry)
    except Exception:
        return False


def _listed(folder: Folder) -> list[Entry]:
    """What a folder holds: nothing, where it cannot be listed."""
    try:
        return folder.entries()
    except Exception:
        return []


def _read(entry: Entry, read: _Reader) -> HandIn | None:
    """Whose an entry is; where that cannot be found out, it is the hand-in of somebody of its name."""
    try:
        return read(entry)
    except Exception as error:
        return HandIn(entry.name, (unlistable(entry.name, error),))


def _are_most(entries: Sequence[Entry], read: _Reader) -> bool:
    """Most have a name that a platform gives; what one student calls a file does not count for the class."""
    return 0 < len(entries) <= 2 * sum(_is_true(lambda each: read(each) is not None, each) for each in entries)


def _merged(found: Sequence[HandIn]) -> Iterator[HandIn]:
    """One hand-in for each student, by key."""
    merged: dict[str, HandIn] = {}
    for one in found:
        merged[one.key] = merged[one.key].together(one) if one.key in merged else one
    yield from (merged[key] for key in sorted(merged))
