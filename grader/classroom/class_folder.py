"""The submissions in the folder or archive of a class, in the layout of any platform that students submit to.

A platform or a person names files and folders after students; `find_submissions` recognises the layout and returns one
submission per student.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
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
    displayable_name,
    failing_folder,
    is_housekeeping,
    printable_name,
    single_file,
)

MOODLE = re.compile(r"(?P<who>.+?_\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<name>.*))?", re.DOTALL)
CANVAS = re.compile(
    r"(?P<who>(?P<late_too>LATE_)?anon_[A-Za-z0-9]+|[\w-]+?_(?:(?P<late>LATE)_)?(?P<id>\d+))_"
    r"(?:(?P<upload>\d+)_(?P<name>.+)|(?P<typed>text|link)\.html)",
    re.DOTALL,
)
# A name that holds this twice can be read in two ways: the name of a student or a file may look like a submission's.
MOODLE_MARK, CANVAS_MARK = re.compile(r"_\d+_assignsubmission_(?:file|onlinetext)"), re.compile(r"_\d+_\d+_")
LATE = "it was handed in late, by the name that Canvas gave it"
METADATA_FILE = "submission_metadata.yml"  # of an export from Gradescope
LARGEST_METADATA = 256 << 20  # bytes: it holds the output of every test of every submission
IDENTITY = (":email", ":sid", ":name")  # the first that a submitter has identifies the student
CLONES = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment's name
PLAIN_LAYOUT = "a folder or an archive for each student"
APPLE_DOUBLE = "._"


@dataclass(frozen=True)
class Submission:
    """Describe what one student submitted, before any of it is read.

    Args:
        key: identifies the student, and names the result file.
        folders: the folders that were submitted, not yet listed.
        known_as: other names and numbers of the student that came with it, for a roster.
        notes: what an instructor should know of it, such as that it is late.
        is_ambiguous: whether it may be another student's, by a name that can be read in two ways.
        handed_in: when it was handed in, by the platform or the roster; `None` if neither says it.
    """

    key: str
    folders: tuple[Folder, ...]
    known_as: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    is_ambiguous: bool = False
    handed_in: datetime | None = None

    @property
    def student(self) -> str:
        """Return the name of the student in the results."""
        return printable_name(self.key)

    @property
    def path(self) -> Path | None:
        """Return the one folder on disk that it is; `None` if it came in an archive, or has several folders."""
        return self.folders[0].path if len(self.folders) == 1 else None

    def join(self, other: Submission) -> Submission:
        """Return this submission with the folders, names and notes of another one added."""
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return replace(
            self, folders=(*self.folders, *other.folders), known_as=self.known_as | other.known_as, notes=notes
        )


@dataclass(frozen=True)
class ClassFolder:
    """Hold the submissions of a class, from its folder or archive.

    Args:
        submissions: one per student, sorted by key.
        layout: the layout that was recognised, such as "a download from Moodle".
        strays: the names of files and folders beside the submissions, which are ignored.
        absent: the students on the roster who submitted nothing.
        unlisted: the students who submitted something and are not on the roster.
    """

    submissions: tuple[Submission, ...]
    layout: str
    strays: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


def find_submissions(course: Course, folder: Path, out: Path) -> ClassFolder:
    """Return the submissions of a class.

    Args:
        course: the course, whose names of exercises and units tell submissions from other folders.
        folder: the folder of the class, or an archive of it.
        out: the results folder, which may lie among the submissions.

    Raises:
        UsageError: there are none, or they cannot be read.
    """
    if os.path.realpath(folder) == os.path.realpath(out):
        raise UsageError(f"{out} holds the submissions: name another folder for the results with --out.")
    names = ExerciseNames(course, course.exercises)
    try:
        class_folder = _LayoutFinder(names, folder, os.path.realpath(out)).find_class(open_tree(folder))
    except OSError as error:
        raise file_error(f"{folder} cannot be read ({error.strerror or error}): {NAME_IT}.", error) from error
    if not class_folder.submissions:
        raise UsageError(
            f"{folder} holds no student folders: give each student one, laid out like exercises/, "
            "or name what was downloaded as it came."
        )
    return class_folder


def single_submission(path: Path) -> Submission:
    """Return the submission of one student: a folder, an archive, or a single file.

    Raises:
        UsageError: the path does not exist.
    """
    if path.is_dir():
        return Submission(path.name or path.resolve().name, (open_tree(path),))
    try:
        file = single_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name what one student handed in.") from error
    return Submission(archive_stem(path.name), (_folder_of(path.name, [file]),))


def plain_submission(entry: File | Folder, prefix: str) -> Submission | None:
    """Return the submission that a folder or an archive with the student's name is; `None` for any other file.

    Args:
        entry: the folder or archive.
        prefix: the assignment's name, which may stand before the student's; empty if there is none.
    """
    if isinstance(entry, File) and not entry.is_archive:
        return None
    name = archive_stem(entry.name) if isinstance(entry, File) else entry.name
    key = name.removeprefix(prefix) or name
    guesses = (key[place + 1 :] for place, character in enumerate(key) if character == "-" and key == name)
    known_as = {key, *guesses}
    folder = entry if isinstance(entry, Folder) else _folder_of(entry.name, [entry])
    return Submission(key, (folder,), frozenset(known_as))


def moodle_submission(entry: File | Folder) -> Submission | None:
    """Return the submission that an entry is by the name that Moodle gives; `None` if it has no such name.

    The name is `Name_12345_assignsubmission_file`, that of a folder or the beginning of a file's name.
    """
    match = MOODLE.fullmatch(entry.name)
    if match is None:
        return None
    name, _, number = match["who"].rpartition("_")
    folder = entry if isinstance(entry, Folder) else _folder_of(entry.name, [_renamed(entry, match["name"])])
    known_as = frozenset({name, number, f"Participant {number}"})
    return Submission(match["who"], (folder,), known_as, is_ambiguous=_is_ambiguous(entry, MOODLE_MARK))


def canvas_submission(entry: File | Folder) -> Submission | None:
    """Return the submission that a file is by the name that Canvas gives; `None` if it has no such name.

    `lastnamefirst_LATE_123_456_lin_grad.py` names the student, the student's number, the number of the upload, which
    becomes the time of the file, and the file.
    """
    match = CANVAS.fullmatch(entry.name)
    if match is None or isinstance(entry, Folder):
        return None
    late = bool(match["late"] or match["late_too"])
    student = match["who"].replace("_LATE_", "_").removeprefix("LATE_")
    name = match["name"] or f"{match['typed']}.html"
    file = replace(_renamed(entry, name), modified=int((match["upload"] or "0")[:18]))  # the later upload is the newer
    known_as = frozenset({student.rpartition("_")[0], match["id"] or student})
    notes, is_ambiguous = (LATE,) if late else (), _is_ambiguous(entry, CANVAS_MARK)
    return Submission(student, (_folder_of(student, [file]),), known_as, notes, is_ambiguous)


def _is_ambiguous(entry: File | Folder, mark: re.Pattern[str]) -> bool:
    """Return whether the name of an entry holds a platform's mark more than once."""
    return len(mark.findall(entry.name)) > 1


def _folder_of(name: str, files: Sequence[File]) -> Folder:
    """Return a folder with these files, which is not on disk."""
    return Folder(name, None, partial(tuple, files))


def _renamed(file: File, name: str | None) -> File:
    """Return the file under another name, or as it is if the name is `None` or empty."""
    return replace(file, name=name or file.name)


def archive_stem(name: str) -> str:
    """Return the name of an archive without its ending; any other name, or one that is all ending, unchanged."""
    ending = next((ending for ending in ARCHIVES if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)] or name


class _MetadataLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Load plain YAML; a value with a tag of its own, such as an object of Ruby's, becomes `None`."""


_MetadataLoader.add_multi_constructor("", lambda loader, suffix, node: None)
Submitters = list[tuple[str, frozenset[str]]]  # of each student: what identifies the student, and all names


def read_submitters(file: File) -> dict[str, Submitters]:
    """Return the students whose submission each folder of an export from Gradescope is, by the folder's name.

    Args:
        file: the export's `submission_metadata.yml`.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        data = file.read(LARGEST_METADATA)
        metadata = yaml.load(data[:LARGEST_METADATA], Loader=_MetadataLoader)
    except (OSError, UnreadableArchiveError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_FILE} cannot be read ({type(error).__name__}): export it anew.") from error
    entries = metadata.items() if isinstance(metadata, Mapping) else ()
    return {str(folder): submitters for folder, entry in entries if (submitters := _submitters(entry))}


def _submitters(entry: Any) -> Submitters:
    """Return the students in the metadata of one submission; none if it is not laid out as expected."""
    people = entry.get(":submitters") if isinstance(entry, Mapping) else None
    submitters = Submitters()
    for person in people if isinstance(people, list) else ():
        if isinstance(person, Mapping) and (ids := [str(person[key]).strip() for key in IDENTITY if person.get(key)]):
            submitters.append((ids[0], frozenset(ids)))
    return submitters


@dataclass(frozen=True)
class _EntryInfo:
    """Describe one entry of a class's folder, as far as is needed to recognise the layout.

    Args:
        entry: the entry.
        moodle: the submission, if the name has the form that Moodle gives.
        canvas: the submission, if the name has the form that Canvas gives.
        is_of_course: whether it has the name of an exercise's file, or of a folder of the course.
        is_submission: whether it is an archive, or a folder that contains exercises.
        inside: the entries of a folder.
        error: the error that kept all this from being known; it is reported when the entry is read.
    """

    entry: File | Folder
    moodle: Submission | None = None
    canvas: Submission | None = None
    is_of_course: bool = False
    is_submission: bool = False
    inside: tuple[File | Folder, ...] = ()
    error: Exception | None = None

    @property
    def is_student(self) -> bool:
        """Return whether it is a folder that contains exercises, under a name that is not one of the course's."""
        return isinstance(self.entry, Folder) and not self.is_of_course and self.is_submission


@dataclass
class _LayoutFinder:
    """Recognise the layout of a class's folder; an error at one entry leaves only that entry unrecognised.

    Args:
        names: finds the exercise or unit that a name means.
        folder: the folder of the class, as the user named it.
        out: the real path of the results folder.
        strays: the names of entries that are no student's, collected while the layout is recognised.
        hidden: the names of folders that are called like what tools leave behind, and contain no submission.
    """

    names: ExerciseNames
    folder: Path
    out: str
    strays: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def find_class(self, root: Folder) -> ClassFolder:
        """Return the submissions of a class, whose folder may be wrapped in others.

        Raises:
            UsageError: the folder is laid out like the submission of one student.
        """
        infos = self._infos(self._entries(root))
        while len(infos) == 1 and isinstance(infos[0].entry, Folder) and self._is_wrapper(infos[0]):
            root = infos[0].entry
            infos = self._infos(self._entries(root))
        if any(info.is_of_course for info in infos) and not any(info.is_student for info in infos):
            message = f"{self.folder} is laid out like one student's submission: name the folder above it"
            raise UsageError(f"{message}, or grade it alone with --one.")
        layout, submissions = self._recognise(root, infos)
        strays = [*self.strays, *self.hidden]
        return ClassFolder(
            tuple(_merge(submissions)), layout, tuple(displayable_name(name) for name in dict.fromkeys(strays))
        )

    def _entries(self, folder: Folder) -> list[File | Folder]:
        """Return the entries of a folder of the class that may be submissions.

        The results folder is left out, and so is what is called like something that tools leave behind, unless it
        contains a submission; folders of that kind are added to `hidden`.
        """
        kept = list[File | Folder]()
        for entry in folder.all_entries():
            try:
                is_out = isinstance(entry, Folder) and self._is_results_folder(entry)
                is_tool = is_housekeeping(entry.name) and not self._is_hidden_submission(entry)
            except Exception:  # it is looked at once more, and then reported
                is_out = is_tool = False
            if not is_out and not is_tool:
                kept.append(entry)
            elif is_tool and isinstance(entry, Folder):
                self.hidden.append(entry.name)
        return kept

    def _infos(self, entries: Sequence[File | Folder]) -> list[_EntryInfo]:
        """Return the description of each entry."""
        infos = list[_EntryInfo]()
        for entry in entries:
            try:
                infos.append(self._info(entry))
            except Exception as error:
                infos.append(_EntryInfo(entry, error=error))
        return infos

    def _info(self, entry: File | Folder) -> _EntryInfo:
        """Return the description of one entry."""
        if isinstance(entry, File):
            return _EntryInfo(
                entry, moodle_submission(entry), canvas_submission(entry), self._is_of_course(entry), entry.is_archive
            )
        inside = tuple(inner for inner in entry.all_entries(MOST_ENTRIES) if not is_housekeeping(inner.name))
        has_exercises = any(map(self._is_of_course, inside))
        return _EntryInfo(entry, moodle_submission(entry), None, self._is_of_course(entry), has_exercises, inside)

    def _is_hidden_submission(self, entry: File | Folder) -> bool:
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
        """Return whether a folder contains a class, and is not the submission of one student."""
        if info.is_submission or info.moodle:
            return False
        inside = self._infos(info.inside)
        return sum(inner.is_submission for inner in inside) > 1 or _is_from_platform(inside)

    def _is_of_course(self, entry: File | Folder) -> bool:
        """Return whether an entry has the name of an exercise's file, or of a folder of the course."""
        if isinstance(entry, Folder):
            return self.names.is_place(entry.name)
        return canvas_submission(entry) is None and self.names.find(entry.name) is not None

    def _recognise(self, root: Folder, infos: Sequence[_EntryInfo]) -> tuple[str, list[Submission]]:
        """Return the layout of a class as a phrase, and its submissions, several of which may be one student's."""
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
        return PLAIN_LAYOUT, self._one_per_entry(infos, lambda info: plain_submission(info.entry, prefix))

    def _gradescope(self, metadata: File, entries: Sequence[File | Folder]) -> list[Submission]:
        """Return the submissions of an export from Gradescope, one for each submitter that its metadata names."""
        submitters = read_submitters(metadata)
        submissions = []
        for entry in entries:
            if isinstance(entry, Folder):
                students = submitters.get(entry.name) or [(entry.name, frozenset({entry.name}))]
                submissions += [Submission(key, (entry,), known_as) for key, known_as in students]
            elif entry is not metadata:
                self.strays.append(entry.name)
        return submissions

    def _one_per_entry(
        self, infos: Sequence[_EntryInfo], submission_of: Callable[[_EntryInfo], Submission | None]
    ) -> list[Submission]:
        """Return one submission for each entry that `submission_of` assigns to a student; the others become strays.

        An entry that may be one of two students' becomes a stray if the student has another that is sure. An entry that
        could not be looked at becomes a submission that reports the error.

        Args:
            infos: the entries.
            submission_of: returns the submission that an entry is; `None` if it is no student's.
        """
        named_submissions = list[tuple[str, Submission | None]]()
        for info in infos:
            try:
                submission = submission_of(info) if info.error is None else _failing_submission(info.entry, info.error)
            except Exception as error:
                submission = _failing_submission(info.entry, error)
            named_submissions.append((info.entry.name, submission))
        sure_keys = {
            submission.key
            for _, submission in named_submissions
            if submission is not None and not submission.is_ambiguous
        }
        kept = list[Submission]()
        for name, submission in named_submissions:
            if submission is None or (submission.is_ambiguous and submission.key in sure_keys):
                self.strays.append(name)
            else:
                kept.append(submission)
        return kept

    def _are_sections(self, infos: Sequence[_EntryInfo]) -> bool:
        """Return whether the folders are sections of the class.

        They are if no folder is itself a submission, the median folder contains two or more, and most names are unique.
        """
        names_by_section = list[list[str]]()
        for info in (info for info in infos if isinstance(info.entry, Folder)):
            if info.is_submission and not self._is_from_platform_inside(info):
                return False
            inside = self._infos(info.inside)
            from_platform = _is_from_platform(inside)
            if student_names := [inner.entry.name for inner in inside if from_platform or inner.is_submission]:
                names_by_section.append(student_names)
            elif inside:
                return False
        names = list(chain.from_iterable(names_by_section))
        return bool(names_by_section) and median(map(len, names_by_section)) >= 2 and 2 * len(set(names)) > len(names)

    def _is_from_platform_inside(self, info: _EntryInfo) -> bool:
        """Return whether a folder contains a download from a platform."""
        return _is_from_platform(self._infos(info.inside))

    def _sections(self, sections: Sequence[Folder]) -> list[Submission]:
        """Return the submissions of all sections; those with the same key get their section's name before it."""
        submissions = list[tuple[Folder, Submission]]()
        for section in sections:
            try:
                infos = self._infos(self._entries(section))
                submissions += [(section, submission) for submission in self._recognise(section, infos)[1]]
            except Exception as error:  # a section that cannot be listed is reported like a submission
                submissions.append((section, _failing_submission(section, error)))
        times = Counter(submission.key for _, submission in submissions)
        keys = [
            submission.key if times[submission.key] == 1 else f"{section.name} {submission.key}"
            for section, submission in submissions
        ]
        sections_by_key = defaultdict[str, set[tuple[str, str]]](set)
        for key, (section, submission) in zip(keys, submissions, strict=True):
            sections_by_key[key].add((section.name, submission.key))
        return [  # no name has a slash in it
            replace(submission, key=key if len(sections_by_key[key]) == 1 else f"{section.name}/{submission.key}")
            for key, (section, submission) in zip(keys, submissions, strict=True)
        ]


def _failing_submission(entry: File | Folder, error: Exception) -> Submission:
    """Return a submission that reports `error` when it is read, for an entry that could not be looked at."""
    return Submission(entry.name, (failing_folder(entry.name, error),))


def _is_from_platform(infos: Sequence[_EntryInfo]) -> bool:
    """Return whether entries are an export from Gradescope, or a download from Moodle or Canvas."""
    is_export = any(info.entry.name == METADATA_FILE for info in infos)
    return is_export or _are_most(infos, "moodle") or _are_most(infos, "canvas")


def _are_most(infos: Sequence[_EntryInfo], platform: Literal["moodle", "canvas"]) -> bool:
    """Return whether at least half of the entries are named as `platform` names them."""
    return 0 < len(infos) <= 2 * sum(getattr(info, platform) is not None for info in infos)


def _merge(submissions: Sequence[Submission]) -> Iterator[Submission]:
    """Yield one submission for each student, sorted by key; those with the same key are joined."""
    merged: dict[str, Submission] = {}
    for submission in submissions:
        merged[submission.key] = merged[submission.key].join(submission) if submission.key in merged else submission
    yield from (merged[key] for key in sorted(merged))
