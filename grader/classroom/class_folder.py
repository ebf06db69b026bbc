"""The submissions in the folder or archive of a class, laid out as the place where the class hands in lays them out."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, Literal

import yaml

from grader.course.course import Course
from grader.errors import UsageError, file_error

from .archives import MOST_ENTRIES, NAME_IT, open_tree
from .exercise_names import ExerciseNames
from .file_tree import (
    ARCHIVES,
    File,
    Folder,
    UnreadableArchiveError,
    displayable,
    is_housekeeping,
    printable,
    single_file,
    unlistable,
)

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


METADATA_FILE = "submission_metadata.yml"
LARGEST_METADATA = 256 << 20  # bytes: it holds the output of every test of every submission
IDENTITY = (":email", ":sid", ":name")  # the first that there is tells students apart


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain YAML; what Ruby marks as an object of its own is passed over."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)
People = list[tuple[str, frozenset[str]]]


def read_submitters(file: File) -> dict[str, People]:
    """For each folder of the export, the students whose submission it is: what tells each apart, and all names.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        data = file.read(LARGEST_METADATA)
        found = yaml.load(data[:LARGEST_METADATA], Loader=_Loader)
    except (OSError, UnreadableArchiveError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_FILE} cannot be read ({type(error).__name__}): export it anew.") from error
    entries = found.items() if isinstance(found, Mapping) else ()
    return {str(folder): people for folder, entry in entries if (people := _people(entry))}


def _people(entry: Any) -> People:
    listed = entry.get(":submitters") if isinstance(entry, Mapping) else None
    found = []
    for person in listed if isinstance(listed, list) else ():
        said = [str(person[key]).strip() for key in IDENTITY if person.get(key)] if isinstance(person, Mapping) else []
        if said:
            found.append((said[0], frozenset(said)))
    return found


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
