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

from grader.course.course import Course
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
    """Hold the hand-ins of a class.

    Args:
        each: one per student, sorted by key.
        kind: the layout that was recognised, such as "a download from Moodle".
        strays: the names of files and folders beside the hand-ins, which are ignored.
        absent: the students on the roster who handed in nothing.
        unlisted: the students who handed in and are not on the roster.
    """

    each: tuple[HandIn, ...]
    kind: str
    strays: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


def find_hand_ins(course: Course, submissions: Path, out: Path) -> HandIns:
    """Return the hand-ins of a class.

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
        hand_ins = _LayoutFinder(names, submissions, os.path.realpath(out)).find_class(open_tree(submissions))
    except OSError as error:
        raise file_error(f"{submissions} cannot be read ({error.strerror or error}): {NAME_IT}.", error) from error
    if not hand_ins.each:
        raise UsageError(
            f"{submissions} holds no student folders: give each student one, laid out like exercises/, "
            "or name what was downloaded as it came."
        )
    return hand_ins


def one_hand_in(path: Path) -> HandIn:
    """Return the hand-in of one student: a folder, an archive, or a single file.

    Raises:
        UsageError: the path does not exist.
    """
    if path.is_dir():
        return HandIn(path.name or path.resolve().name, (open_tree(path),))
    try:
        file = single_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name what one student handed in.") from error
    return HandIn(stem(path.name), (folder_of(path.name, [file]),))


@dataclass(frozen=True)
class _EntryInfo:
    """Describe one entry of a class's folder, as far as it takes to recognise the layout.

    Args:
        moodle: the hand-in, if the name has the form that Moodle gives.
        canvas: the hand-in, if the name has the form that Canvas gives.
        is_of_course: whether it has the name of an exercise's file, or of a folder of the course.
        is_handed_in: whether it is an archive, or a folder that contains exercises.
        inside: the entries of a folder.
        error: the error that kept all this from being known; it is reported when the entry is read.
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
        """Return whether it is a folder that contains exercises, under a name that is not one of the course's."""
        return isinstance(self.entry, Folder) and not self.is_of_course and self.is_handed_in


@dataclass
class _LayoutFinder:
    """Recognise the layout of a class's folder; an error at one entry leaves only that entry unrecognised.

    Args:
        out: the real path of the results folder.
        hidden: the names of folders that are called like what tools leave behind, and contain no submission.
    """

    names: ExerciseNames
    submissions: Path
    out: str
    strays: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def find_class(self, root: Folder) -> HandIns:
        """Return the hand-ins of a class, whose folder may be wrapped in others.

        Raises:
            UsageError: the folder is laid out like the submission of one student.
        """
        infos = self._infos(self._entries(root))
        while len(infos) == 1 and isinstance(infos[0].entry, Folder) and self._is_wrapper(infos[0]):
            root = infos[0].entry
            infos = self._infos(self._entries(root))
        if any(info.is_of_course for info in infos) and not any(info.is_student for info in infos):
            message = f"{self.submissions} is laid out like one student's submission: name the folder above it"
            raise UsageError(f"{message}, or grade it alone with --one.")
        kind, hand_ins = self._recognise(root, infos)
        strays = [*self.strays, *self.hidden]
        return HandIns(tuple(_merge(hand_ins)), kind, tuple(displayable(name) for name in dict.fromkeys(strays)))

    def _entries(self, folder: Folder) -> list[Entry]:
        """Return the entries of a folder of the class that may be hand-ins.

        The results folder is left out, and so is what is called like something that tools leave behind, unless it
        contains a submission; folders of that kind are added to `hidden`.
        """
        kept = list[Entry]()
        for entry in folder.all_entries():
            try:
                is_out = isinstance(entry, Folder) and self._is_results_folder(entry)
                is_tool = is_housekeeping(entry.name) and not self._is_hidden_submission(entry)
            except Exception:  # it is looked at once more, and then told of
                is_out = is_tool = False
            if not is_out and not is_tool:
                kept.append(entry)
            elif is_tool and isinstance(entry, Folder):
                self.hidden.append(entry.name)
        return kept

    def _infos(self, entries: Sequence[Entry]) -> list[_EntryInfo]:
        """Return the description of each entry."""
        infos = list[_EntryInfo]()
        for entry in entries:
            try:
                infos.append(self._info(entry))
            except Exception as error:
                infos.append(_EntryInfo(entry, error=error))
        return infos

    def _info(self, entry: Entry) -> _EntryInfo:
        """Return the description of one entry."""
        if isinstance(entry, File):
            return _EntryInfo(entry, moodle(entry), canvas(entry), self._is_of_course(entry), entry.is_archive)
        inside = tuple(inner for inner in entry.all_entries(MOST_ENTRIES) if not is_housekeeping(inner.name))
        return _EntryInfo(
            entry, moodle(entry), None, self._is_of_course(entry), any(map(self._is_of_course, inside)), inside
        )

    def _is_hidden_submission(self, entry: Entry) -> bool:
        """Return whether an entry that is called like something that tools leave behind contains a submission."""
        if isinstance(entry, File):
            return entry.is_archive and not entry.name.startswith(APPLE_DOUBLE)
        inside = entry.all_entries(MOST_ENTRIES)
        candidates = [inner for inner in inside if isinstance(inner, Folder) or not inner.name.startswith(APPLE_DOUBLE)]
        return any(map(self._is_of_course, candidates)) or any(
            isinstance(inner, File) and (inner.is_archive or inner.name.lower().endswith(".ipynb"))
            for inner in candidates
        )

    def _is_results_folder(self, folder: Folder) -> bool:
        """Return whether a folder is the results folder."""
        return folder.path is not None and os.path.realpath(folder.path) == self.out

    def _is_wrapper(self, info: _EntryInfo) -> bool:
        """Return whether a folder contains a class, and is not the hand-in of one student."""
        if info.is_handed_in or info.moodle:
            return False
        inside = self._infos(info.inside)
        return sum(inner.is_handed_in for inner in inside) > 1 or _is_from_platform(inside)

    def _is_of_course(self, entry: Entry) -> bool:
        """Return whether an entry has the name of an exercise's file, or of a folder of the course."""
        if isinstance(entry, Folder):
            return self.names.is_place(entry.name)
        return canvas(entry) is None and self.names.find(entry.name) is not None

    def _recognise(self, root: Folder, infos: Sequence[_EntryInfo]) -> tuple[str, list[HandIn]]:
        """Return the layout of a class as a phrase, and its hand-ins."""
        for info in infos:
            if isinstance(info.entry, File) and info.entry.name == METADATA_FILE:
                return "an export from Gradescope", self._gradescope(info.entry, [info.entry for info in infos])
        if _are_most(infos, "moodle"):
            return "a download from Moodle", self._one_per_entry(infos, lambda info: info.moodle)
        if _are_most(infos, "canvas"):
            return "a download from Canvas", self._one_per_entry(infos, lambda info: info.canvas)
        if self._are_sections(infos):
            sections = [info.entry for info in infos if isinstance(info.entry, Folder)]
            self.strays += [info.entry.name for info in infos if isinstance(info.entry, File)]
            return f"{len(sections)} sections", self._sections(sections)
        prefix = root.name.removesuffix(CLONES) + "-" if root.name.endswith(CLONES) else ""
        return PLAIN_KIND, self._one_per_entry(infos, lambda info: plain(info.entry, prefix))

    def _gradescope(self, metadata: File, entries: Sequence[Entry]) -> list[HandIn]:
        """Return the hand-ins of an export from Gradescope, one for each submitter that its metadata names."""
        submitters = read_submitters(metadata)
        hand_ins = []
        for entry in entries:
            if isinstance(entry, Folder):
                students = submitters.get(entry.name) or [(entry.name, frozenset({entry.name}))]
                hand_ins += [HandIn(key, (entry,), known_as) for key, known_as in students]
            elif entry is not metadata:
                self.strays.append(entry.name)
        return hand_ins

    def _one_per_entry(self, infos: Sequence[_EntryInfo], whose: Callable[[_EntryInfo], HandIn | None]) -> list[HandIn]:
        """Return one hand-in for each entry that `whose` assigns to a student; the other entries become strays.

        An entry that may be of one of two students becomes a stray if the student has another that is sure. An entry
        that could not be looked at becomes a hand-in that reports the error.

        Args:
            whose: returns the hand-in that an entry is, `None` if it is nobody's.
        """
        named_hand_ins = list[tuple[str, HandIn | None]]()
        for info in infos:
            try:
                hand_in = whose(info) if info.error is None else _unreadable_hand_in(info.entry, info.error)
            except Exception as error:
                hand_in = _unreadable_hand_in(info.entry, error)
            named_hand_ins.append((info.entry.name, hand_in))
        sure_keys = {hand_in.key for _, hand_in in named_hand_ins if hand_in is not None and not hand_in.unsure}
        kept = list[HandIn]()
        for name, hand_in in named_hand_ins:
            if hand_in is None or (hand_in.unsure and hand_in.key in sure_keys):
                self.strays.append(name)
            else:
                kept.append(hand_in)
        return kept

    def _are_sections(self, infos: Sequence[_EntryInfo]) -> bool:
        """Return whether the folders are sections of the class.

        They are if no folder is itself a hand-in, the median folder contains two or more, and most names are unique.
        """
        names_by_section = list[list[str]]()
        for info in (info for info in infos if isinstance(info.entry, Folder)):
            if info.is_handed_in and not self._is_from_platform_inside(info):
                return False
            inside = self._infos(info.inside)
            from_platform = _is_from_platform(inside)
            if handed_in := [inner.entry.name for inner in inside if from_platform or inner.is_handed_in]:
                names_by_section.append(handed_in)
            elif inside:
                return False
        names = list(chain.from_iterable(names_by_section))
        return bool(names_by_section) and median(map(len, names_by_section)) >= 2 and 2 * len(set(names)) > len(names)

    def _is_from_platform_inside(self, info: _EntryInfo) -> bool:
        """Return whether a folder contains a download from a platform."""
        return _is_from_platform(self._infos(info.inside))

    def _sections(self, sections: Sequence[Folder]) -> list[HandIn]:
        """Return the hand-ins of all sections; those with the same key get their section's name before it."""
        hand_ins = list[tuple[Folder, HandIn]]()
        for section in sections:
            try:
                infos = self._infos(self._entries(section))
                hand_ins += [(section, hand_in) for hand_in in self._recognise(section, infos)[1]]
            except Exception as error:  # a section that cannot be listed is told of as a submission is
                hand_ins.append((section, _unreadable_hand_in(section, error)))
        times = Counter(hand_in.key for _, hand_in in hand_ins)
        keys = [
            hand_in.key if times[hand_in.key] == 1 else f"{section.name} {hand_in.key}" for section, hand_in in hand_ins
        ]
        whose = defaultdict[str, set[tuple[str, str]]](set)
        for key, (section, hand_in) in zip(keys, hand_ins, strict=True):
            whose[key].add((section.name, hand_in.key))
        return [  # no name has a slash in it
            replace(hand_in, key=key if len(whose[key]) == 1 else f"{section.name}/{hand_in.key}")
            for key, (section, hand_in) in zip(keys, hand_ins, strict=True)
        ]


def _unreadable_hand_in(entry: Entry, error: Exception) -> HandIn:
    """Return a hand-in that reports `error` for an entry that could not be looked at; its key is the entry's name."""
    return HandIn(entry.name, (unlistable(entry.name, error),))


def _is_from_platform(infos: Sequence[_EntryInfo]) -> bool:
    """Return whether entries are an export from Gradescope, or a download from Moodle or Canvas."""
    is_export = any(info.entry.name == METADATA_FILE for info in infos)
    return is_export or _are_most(infos, "moodle") or _are_most(infos, "canvas")


def _are_most(infos: Sequence[_EntryInfo], platform: Literal["moodle", "canvas"]) -> bool:
    """Return whether at least half of the entries are named as `platform` names them."""
    return 0 < len(infos) <= 2 * sum(getattr(info, platform) is not None for info in infos)


def _merge(hand_ins: Sequence[HandIn]) -> Iterator[HandIn]:
    """Yield one hand-in for each student, sorted by key; those with the same key are joined."""
    merged: dict[str, HandIn] = {}
    for hand_in in hand_ins:
        merged[hand_in.key] = merged[hand_in.key].together(hand_in) if hand_in.key in merged else hand_in
    yield from (merged[key] for key in sorted(merged))
