"""Finds out who handed in what: a folder or an archive of a class, as it comes from where the class hands in."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Literal

from grader.course import Course
from grader.errors import UsageError, file_error

from .exercise_names import ExerciseNames
from .file_tree import MOST_ENTRIES, NAME_IT, File, Folder, is_housekeeping, open_tree, single_file, unlistable
from .gradescope_export import METADATA_FILE, read_submitters
from .hand_in import Entry, HandIn, canvas, folder_of, moodle, plain, stem
from .printable_names import displayable

CLONES = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment's name
PLAIN_KIND = "a folder or an archive for each student"
APPLE_DOUBLE = "._"


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


@dataclass(frozen=True)
class _Look:
    """What one entry of a class looks like.

    Args:
        moodle: whose it is, by a name that Moodle gives.
        canvas: whose it is, by a name that Canvas gives.
        is_of_course: it has the name of an exercise's file, or of a folder of the course.
        is_handed_in: it is an archive, or a folder that holds exercises.
        inside: what a folder holds.
        error: why nothing of this is known; whoever reads the entry is told.
    """

    entry: Entry
    moodle: HandIn | None = None
    canvas: HandIn | None = None
    is_of_course: bool = False
    is_handed_in: bool = False
    inside: tuple[Entry, ...] = ()
    error: Exception | None = None

    @property
    def is_student(self) -> bool:
        """A folder that somebody handed in, under a name that is not one of the course's."""
        return isinstance(self.entry, Folder) and not self.is_of_course and self.is_handed_in


@dataclass
class _Finder:
    """Recognises layouts.

    What is raised at one entry says nothing of the others: that one is not recognised.

    Args:
        out: the real path of the results folder.
        hidden: folders with the names of what tools leave behind, which hold no submission.
    """

    names: ExerciseNames
    submissions: Path
    out: str
    strays: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def class_in(self, root: Folder) -> HandIns:
        looks = self._looks(self._entries(root))
        while len(looks) == 1 and isinstance(looks[0].entry, Folder) and self._wraps(looks[0]):
            root = looks[0].entry
            looks = self._looks(self._entries(root))
        if any(each.is_of_course for each in looks) and not any(each.is_student for each in looks):
            says = f"{self.submissions} is laid out like one student's submission: name the folder above it"
            raise UsageError(f"{says}, or grade it alone with --one.")
        kind, found = self._recognised(root, looks)
        strays = [*self.strays, *self.hidden]
        return HandIns(tuple(_merged(found)), kind, tuple(displayable(name) for name in dict.fromkeys(strays)))

    def _entries(self, folder: Folder) -> list[Entry]:
        """What a folder of the class holds; the results may lie there too.

        A student may have the name of what tools leave behind: what holds a submission is one, and of the others each
        folder is named.
        """
        kept = list[Entry]()
        for each in folder.all_entries():
            try:
                is_out = isinstance(each, Folder) and self._is_out(each)
                is_tool = is_housekeeping(each.name) and not self._is_hidden_submission(each)
            except Exception:  # it is looked at once more, and then told of
                is_out = is_tool = False
            if not is_out and not is_tool:
                kept.append(each)
            elif is_tool and isinstance(each, Folder):
                self.hidden.append(each.name)
        return kept

    def _looks(self, entries: Sequence[Entry]) -> list[_Look]:
        """What each entry looks like."""
        looks = list[_Look]()
        for each in entries:
            try:
                looks.append(self._look(each))
            except Exception as error:
                looks.append(_Look(each, error=error))
        return looks

    def _look(self, entry: Entry) -> _Look:
        if isinstance(entry, File):
            return _Look(entry, moodle(entry), canvas(entry), self._is_of_course(entry), entry.is_archive)
        inside = tuple(each for each in entry.all_entries(MOST_ENTRIES) if not is_housekeeping(each.name))
        return _Look(
            entry, moodle(entry), None, self._is_of_course(entry), any(map(self._is_of_course, inside)), inside
        )

    def _is_hidden_submission(self, entry: Entry) -> bool:
        """What has the name of something that tools leave behind holds what a student hands in."""
        if isinstance(entry, File):
            return entry.is_archive and not entry.name.startswith(APPLE_DOUBLE)
        inside = entry.all_entries(MOST_ENTRIES)
        named = [each for each in inside if isinstance(each, Folder) or not each.name.startswith(APPLE_DOUBLE)]
        return any(map(self._is_of_course, named)) or any(
            isinstance(each, File) and (each.is_archive or each.name.lower().endswith(".ipynb")) for each in named
        )

    def _is_out(self, folder: Folder) -> bool:
        return folder.path is not None and os.path.realpath(folder.path) == self.out

    def _wraps(self, look: _Look) -> bool:
        """A folder that is around a class, and not what somebody handed in."""
        if look.is_handed_in or look.moodle:
            return False
        inside = self._looks(look.inside)
        return sum(each.is_handed_in for each in inside) > 1 or _is_from_platform(inside)

    def _is_of_course(self, entry: Entry) -> bool:
        """It has the name of an exercise's file, or of a folder of the course."""
        if isinstance(entry, Folder):
            return self.names.is_place(entry.name)
        return canvas(entry) is None and self.names.find(entry.name) is not None

    def _recognised(self, root: Folder, looks: Sequence[_Look]) -> tuple[str, list[HandIn]]:
        """What the class was taken for, and its hand-ins."""
        for each in looks:
            if isinstance(each.entry, File) and each.entry.name == METADATA_FILE:
                return "an export from Gradescope", self._gradescope(each.entry, [look.entry for look in looks])
        if _are_most(looks, "moodle"):
            return "a download from Moodle", self._named(looks, lambda look: look.moodle)
        if _are_most(looks, "canvas"):
            return "a download from Canvas", self._named(looks, lambda look: look.canvas)
        if self._are_sections(looks):
            sections = [each.entry for each in looks if isinstance(each.entry, Folder)]
            self.strays += [each.entry.name for each in looks if isinstance(each.entry, File)]
            return f"{len(sections)} sections", self._sections(sections)
        prefix = root.name.removesuffix(CLONES) + "-" if root.name.endswith(CLONES) else ""
        return PLAIN_KIND, self._named(looks, lambda look: plain(look.entry, prefix))

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

    def _named(self, looks: Sequence[_Look], whose: Callable[[_Look], HandIn | None]) -> list[HandIn]:
        """One hand-in for each entry that is anybody's; the others are strays.

        So is what may be somebody else's, beside what is surely of that student. What could not be looked at is the
        hand-in of somebody of its name, and says why.
        """
        found = list[tuple[str, HandIn | None]]()
        for each in looks:
            try:
                one = whose(each) if each.error is None else _unreadable(each.entry, each.error)
            except Exception as error:
                one = _unreadable(each.entry, error)
            found.append((each.entry.name, one))
        sure = {one.key for _, one in found if one is not None and not one.unsure}
        kept = list[HandIn]()
        for name, one in found:
            if one is None or (one.unsure and one.key in sure):
                self.strays.append(name)
            else:
                kept.append(one)
        return kept

    def _are_sections(self, looks: Sequence[_Look]) -> bool:
        """The folders hold hand-ins and are none themselves: most hold several, and most names are there once."""
        found = list[list[str]]()
        for each in (each for each in looks if isinstance(each.entry, Folder)):
            if each.is_handed_in and not self._is_from_platform_inside(each):
                return False
            inside = self._looks(each.inside)
            from_platform = _is_from_platform(inside)
            if handed_in := [look.entry.name for look in inside if from_platform or look.is_handed_in]:
                found.append(handed_in)
            elif inside:
                return False
        names = list(chain.from_iterable(found))
        return bool(found) and median(map(len, found)) >= 2 and 2 * len(set(names)) > len(names)

    def _is_from_platform_inside(self, look: _Look) -> bool:
        return _is_from_platform(self._looks(look.inside))

    def _sections(self, sections: Sequence[Folder]) -> list[HandIn]:
        """The hand-ins of all sections; two of one name are told apart by their section."""
        found = list[tuple[Folder, HandIn]]()
        for section in sections:
            try:
                looks = self._looks(self._entries(section))
                found += [(section, one) for one in self._recognised(section, looks)[1]]
            except Exception as error:  # a section that cannot be listed is told of as a submission is
                found.append((section, _unreadable(section, error)))
        times = Counter(one.key for _, one in found)
        keys = [one.key if times[one.key] == 1 else f"{section.name} {one.key}" for section, one in found]
        whose = defaultdict[str, set[tuple[str, str]]](set)
        for key, (section, one) in zip(keys, found, strict=True):
            whose[key].add((section.name, one.key))
        return [  # no name has a slash in it
            replace(one, key=key if len(whose[key]) == 1 else f"{section.name}/{one.key}")
            for key, (section, one) in zip(keys, found, strict=True)
        ]


def _unreadable(entry: Entry, error: Exception) -> HandIn:
    """What could not be looked at, as the hand-in of somebody of its name."""
    return HandIn(entry.name, (unlistable(entry.name, error),))


def _is_from_platform(looks: Sequence[_Look]) -> bool:
    is_export = any(each.entry.name == METADATA_FILE for each in looks)
    return is_export or _are_most(looks, "moodle") or _are_most(looks, "canvas")


def _are_most(looks: Sequence[_Look], platform: Literal["moodle", "canvas"]) -> bool:
    """Most have a name that a platform gives; what one student calls a file does not count for the class."""
    return 0 < len(looks) <= 2 * sum(getattr(each, platform) is not None for each in looks)


def _merged(found: Sequence[HandIn]) -> Iterator[HandIn]:
    """One hand-in for each student, by key."""
    merged: dict[str, HandIn] = {}
    for one in found:
        merged[one.key] = merged[one.key].together(one) if one.key in merged else one
    yield from (merged[key] for key in sorted(merged))
