"""The submissions in the folder or archive of a class, in the layout of any platform that students submit to.

A platform or a person names files and folders after students; `find_submissions` recognises the layout and returns one
submission per student.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from grader.course.course import Course
from grader.errors import UsageError, file_error
from grader.results.records import RECORD_START
from grader.safe_text import no_formula, plain

from .archives import CLONE, MOST_ENTRIES, NAME_IT, open_tree, unpack
from .exercise_names import ExerciseNames
from .file_tree import (
    ARCHIVES,
    DEEPEST_WORK,
    File,
    Folder,
    displayable_name,
    failing_folder,
    is_housekeeping,
)
from .platform_names import (
    GRADESCOPE,
    KEEP_ONE,
    LOOSE,
    METADATA_FILE,
    NO_FOLDER,
    GradescopeEntry,
    Submission,
    archive_stem,
    canvas_submission,
    clones_prefix,
    common_prefix,
    composed_name,
    folded_name,
    misfit_submission,
    moodle_submission,
    plain_submission,
    read_submitters,
)

PLAIN_LAYOUT = "a folder or an archive for each student"
APPLE_DOUBLE = "._"
LayoutName = Literal["plain", "sections", "canvas", "moodle", "gradescope", "github"]
LAYOUTS: Mapping[LayoutName, str] = {
    "plain": PLAIN_LAYOUT,
    "sections": "sections",
    "canvas": "a download from Canvas",
    "moodle": "a download from Moodle",
    "gradescope": "an export from Gradescope",
    "github": "clones from GitHub",
}
PLATFORMS: Mapping[LayoutName, str] = {"canvas": "Canvas", "moodle": "Moodle", "gradescope": "Gradescope"}
MOST_NAMED = 3  # names in a sentence
MOST_SEARCHED = 100  # folders in which code is looked for, and files of which one may be a record
RECORD_HEAD = 1 << 10  # bytes of a record with its version and its course
GRADED_BY_COURSE = b'"course_digest": "'  # which is null in the record of a learner's own check
REMOVED = "removed"  # a folder among results, for those of students who left
COPY_MARK = re.compile(r"(?: ?\(\d{1,3}\)| - copy| copy)+$", re.IGNORECASE)


def counted_submission(submissions: Sequence[Submission]) -> Submission:
    """Return the newest of a student's submissions, by the platform's number or time; the others do not count at all.

    If one of the submissions has no such number or time, or two have the greatest, the result is a submission without
    folders whose `conflict` names all of them, with the time at which they were handed in if they have one in common. A
    note on the newest submission names the earlier ones.

    Args:
        submissions: the submissions of one student, all with the same key; at least one.
    """
    first = submissions[0]
    if len(submissions) == 1:
        return first
    orders = [submission.order for submission in submissions]
    known = [order for order in orders if order is not None]
    if len(known) < len(orders) or known.count(max(known)) > 1:
        titles = {composed_name(submission.title) for submission in submissions}
        twice = ", spelled in two ways in Unicode" if len(titles) < len(submissions) else ""
        who = f"{len(submissions)} submissions of one student: {named_titles(submissions)}{twice}"
        times = {submission.handed_in for submission in submissions}
        return Submission(
            first.key,
            (),
            frozenset().union(*(submission.known_as for submission in submissions)),
            origin=first.origin,
            section=first.section,
            handed_in=first.handed_in if len(times) == 1 else None,
            conflict=f"{who}; {KEEP_ONE}",
            is_of_several=True,
        )
    *earlier, newest = sorted(submissions, key=lambda submission: submission.order or 0)
    verb = "does" if len(earlier) == 1 else "do"
    note = f"{newest.title} is the newest submission and counts alone: {named_titles(earlier)} {verb} not count"
    return replace(newest, notes=(*newest.notes, note), earlier=tuple(submission.title for submission in earlier))


def named_titles(submissions: Sequence[Submission]) -> str:
    """Return the titles of submissions as a list in a sentence: "a.zip, b.zip and c.zip"."""
    return enumeration([submission.title for submission in submissions], "and")


def enumeration(names: Sequence[str], conjunction: str) -> str:
    """Return names as a list in a sentence, with a conjunction before the last: "a, b and c" or "Lee, Bo; b and c"."""
    separator = "; " if any("," in name for name in names) else ", "
    return f" {conjunction} ".join(filter(None, (separator.join(names[:-1]), names[-1])))


def find_student(submissions: Sequence[Submission], name: str) -> Submission:
    """Return the submission of the student who is called `name`.

    The key of a submission and its student's name in the results, also as `grades.csv` shows it, go before the other
    names in `known_as`.

    Raises:
        UsageError: no student is called so, or several are; the message names the students who may be meant.
    """
    spelled = composed_name(name)
    for submission in submissions:
        if spelled in (submission.key, submission.student, no_formula(plain(submission.student))):
            return submission
    matches = [submission for submission in submissions if spelled in submission.known_as]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"{len(matches)} students are called {name!r}: name {_alternatives(matches)}.")
    similar = [
        submission
        for submission in submissions
        if spelled in submission.guesses
        or folded_name(name) in {folded_name(other) for other in (submission.key, *submission.known_as)}
    ]
    words = set(map(folded_name, name.split())) - {""}
    similar = similar or [
        submission
        for submission in submissions
        if words and any(words <= _words_of(other) for other in (submission.key, *submission.known_as))
    ]
    if similar:
        raise UsageError(f"Nobody is called {name!r}. Did you mean {_alternatives(similar)}?")
    students = [submission.student for submission in submissions]
    if spelled_so := similar_names(name, students, MOST_NAMED):
        raise UsageError(f"Nobody is called {name!r}. Did you mean {enumeration([*map(repr, spelled_so)], 'or')}?")
    raise UsageError(f"Nobody who handed in is called {name!r}: known are {first_few_names(sorted(students))}.")


def similar_names(name: str, names: Iterable[str], most: int) -> list[str]:
    """Return the names that are spelled most like another; capital letters, accents and punctuation make no difference.

    The most similar come first; there are none if no name is similar enough.

    Args:
        name: the name that was typed.
        names: the names that there are.
        most: how many spellings; names that differ in capital letters alone, say, count as one.
    """
    spellings: dict[str, list[str]] = {}
    for each in names:
        spellings.setdefault(folded_name(each) or each, []).append(each)
    similar = difflib.get_close_matches(folded_name(name) or name, list(spellings), most, 0.6)
    return [each for spelling in similar for each in spellings[spelling]]


def _words_of(name: str) -> set[str]:
    """Return the words of a name, in the form in which names are compared."""
    return set(map(folded_name, re.split(r"[\W_]+", name)))


def _alternatives(submissions: Sequence[Submission]) -> str:
    """Return the first few students as alternatives in a sentence, such as "'ada', 'bob', 'eve' or 4 more"."""
    names = [repr(submission.student) for submission in submissions[:MOST_NAMED]]
    more = len(submissions) - len(names)
    return enumeration([*names, *([f"{more} more"] if more else [])], "or")


@dataclass(frozen=True)
class ClassFolder:
    """Hold the submissions of a class, from its folder or archive.

    Args:
        submissions: one per student, sorted by key.
        layout: the layout, such as "a download from Moodle".
        strays: the names of files and folders beside the submissions, which are ignored.
        absent: the students on the roster who submitted nothing.
        absent_names: the other names of each of these on the roster, by the student's name in `absent`.
        unlisted: the students who submitted something that can be graded under a name that is not on the roster.
        layout_name: the value of `--layout` for this layout.
        doubt: why the layout that was recognised may be another; empty if it was named, or cannot be mistaken.
        remarks: sentences to show before the class is graded.
        named_by: the heading of the roster's column that names the students; empty without a roster.
        key_of: returns the key on the roster of the only student who may have made a submission, and empty if there is
            none; with `True`, a part of a name or a number without its zeros is not enough.
    """

    submissions: tuple[Submission, ...]
    layout: str
    strays: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    absent_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlisted: tuple[str, ...] = ()
    layout_name: LayoutName = "plain"
    doubt: str = ""
    remarks: tuple[str, ...] = ()
    named_by: str = ""
    key_of: Callable[[Submission, bool], str] = lambda submission, is_sure: ""

    @property
    def count(self) -> int:
        """Return how many students handed in; what is of no known student does not count."""
        return sum(not submission.is_unclaimed for submission in self.submissions)

    @property
    def heading(self) -> str:
        """Return the layout and the number of students in one phrase: "a download from Moodle, 30 students"."""
        parts = [self.layout, f"{self.count} student{'' if self.count == 1 else 's'}"]
        if repeated := sum(bool(submission.earlier) for submission in self.submissions):
            parts.append(f"{repeated} with more than one submission: the newest counts")
        return ", ".join(parts)


def find_submissions(course: Course, folder: Path, out: Path, layout: LayoutName | None = None) -> ClassFolder:
    """Return the submissions of a class, sorted by their keys.

    Args:
        course: the course, whose names of exercises and units tell submissions from other folders.
        folder: the folder of the class, or an archive of it.
        out: the results folder, which may lie directly in the class's folder.
        layout: the layout; recognised if `None`.

    Raises:
        UsageError: there are no submissions, or they cannot be read, or `out` lies in one of them, or holds other
            submissions.
    """
    refuse_out_in_submission(folder, out)
    refuse_folder_of_submissions(out, folder)
    names = ExerciseNames(course, course.exercises)
    try:
        class_folder = _LayoutFinder(names, folder, os.path.realpath(out)).find_class(open_tree(folder), layout)
    except OSError as error:
        raise file_error(f"{folder} cannot be read ({error.strerror or error}): {NAME_IT}.", error) from error
    loose = [submission for submission in class_folder.submissions if submission.nothing]
    if len(loose) == len(class_folder.submissions):
        example = next((submission for submission in loose if submission.origin), None)
        such = f", such as {displayable_name(example.key)}/{example.title}" if example else ""
        raise UsageError(
            f"{folder} holds no student folders: give each student one{such}, laid out like exercises/, "
            "or name what was downloaded as it came."
        )
    return class_folder


def refuse_out_in_submission(folder: Path, out: Path) -> None:
    """Refuse a results folder that is the class's folder, or that may be a student's folder or lie in one.

    Every folder directly in `folder` may be a student's, except one that does not exist yet or holds results of
    handgrad; `folder/results` is accepted before the first run, and at every later one.

    Args:
        folder: the class's folder.
        out: the results folder, inside `folder` or elsewhere.

    Raises:
        UsageError: `out` is such a folder; the message says to name another one.
    """
    around, inner = os.path.realpath(folder), os.path.realpath(out)
    if around == inner:
        raise UsageError(f"{out} holds the submissions: name another folder for the results with --out.")
    if not inner.startswith(os.path.join(around, "")):
        return
    is_nested = os.path.dirname(inner) != around
    if is_nested or (os.path.isdir(inner) and not _holds_results(inner)):
        where = "lies inside a folder of" if is_nested else "is a folder among"
        raise UsageError(
            f"{out} {where} the submissions in {folder}, and may be a student's: name another folder with --out."
        )


def refuse_folder_of_submissions(out: Path, graded: Path | None = None) -> None:
    """Refuse an output folder that holds what students may have handed in, and no results of handgrad.

    A folder that does not exist is accepted; hidden entries are not looked at.

    Args:
        out: the folder.
        graded: the folder of the class that is graded, which is allowed in the output folder; `None` to allow none.

    Raises:
        UsageError: the folder holds such work; names an entry.
    """
    with suppress(OSError):  # no folder, or one that cannot be listed, and that nothing can be written to either
        for entry in () if _holds_results(str(out)) else sorted(out.iterdir()):
            if entry.name[0] == "." or entry.name == REMOVED or (graded is not None and _lies_in(graded, entry)):
                continue
            if _may_hold_work(entry):
                says = f"{out} holds {displayable_name(entry.name)}, which a student may have handed in"
                raise UsageError(f"{says}: name another folder with --out.")


def _lies_in(path: Path, folder: Path) -> bool:
    """Return whether a path is that of this folder, or of something in it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _may_hold_work(entry: Path) -> bool:
    """Return whether an entry of a folder is code, an archive, or a folder that contains either and no results.

    Of a folder, the first `MOST_SEARCHED` folders in it are looked at.
    """
    if not entry.is_dir():
        return entry.name.lower().endswith((*ARCHIVES, *LOOSE))
    walk = islice(os.walk(entry), MOST_SEARCHED)
    is_work = any(name.lower().endswith((*ARCHIVES, *LOOSE)) for _, _, names in walk for name in names)
    return is_work and not _holds_results(str(entry))


def _holds_results(folder: str) -> bool:
    """Return whether a folder directly holds `grades.csv`, or nothing but `.json` and hidden files; none is opened."""
    names = os.listdir(folder)
    return "grades.csv" in names or (bool(names) and all(name.endswith(".json") or name[0] == "." for name in names))


@dataclass(frozen=True)
class _EntryInfo:
    """Describe one entry of a class's folder, as far as is needed to recognise the layout.

    Args:
        entry: the entry.
        moodle: the submission, if the name has the form that Moodle gives.
        canvas: the submission, if the name has the form that Canvas gives.
        is_of_course: whether it has the name of an exercise's file, or of a folder of the course.
        is_submission: whether it is an archive, or a folder that contains exercises.
        holds_work: whether it is an archive, or a folder that contains a file that may be somebody's work.
        inside: the entries of a folder.
        is_results: whether it is a folder of results of handgrad, and so nobody's submission.
        error: the error that kept all this from being known; it is reported when the entry is read.
    """

    entry: File | Folder
    moodle: Submission | None = None
    canvas: Submission | None = None
    is_of_course: bool = False
    is_submission: bool = False
    holds_work: bool = False
    inside: tuple[File | Folder, ...] = ()
    is_results: bool = False
    error: Exception | None = None

    @property
    def is_student(self) -> bool:
        """Return whether the entry is a folder that contains exercises, and has no name of a folder of the course."""
        return isinstance(self.entry, Folder) and not self.is_of_course and self.is_submission

    @property
    def may_be_submission(self) -> bool:
        """Return whether the entry is a folder, an archive, or a file that may be somebody's whole work.

        Such a file is named by Moodle or Canvas, or is code without an exercise's name, or a link without an ending.
        """
        if isinstance(self.entry, Folder) or self.moodle or self.canvas:
            return True
        name = self.entry.name
        is_link = bool(self.entry.why_unread) and "." not in name
        is_loose = name.lower().endswith((*ARCHIVES, *LOOSE)) and not self.is_of_course
        return (is_loose or is_link) and not ("/" in name or "\\" in name or name.startswith(APPLE_DOUBLE))


@dataclass
class _LayoutFinder:
    """Recognise the layout of a class's folder; an error at one entry leaves only that entry unrecognised.

    Args:
        names: finds the exercise or unit that a name means.
        folder: the folder of the class, as the user named it.
        out: the real path of the results folder.
        strays: the names of entries that are no student's, collected while the layout is recognised.
        hidden: the names of folders that are called like what tools leave behind, and contain no submission, and of
            folders of results.
    """

    names: ExerciseNames
    folder: Path
    out: str
    strays: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def find_class(self, root: Folder, layout: LayoutName | None) -> ClassFolder:
        """Return the submissions of a class, sorted by their keys; its folder may be wrapped in others.

        Args:
            root: the folder of the class.
            layout: the layout of the class; `None` to recognise it.

        Raises:
            UsageError: the folder is laid out like the submission of one student, has another layout than `layout`, or
                holds one folder that may be the class's or a student's.
        """
        outer = root
        root, infos = self._unwrap(root, guesses=layout is None or root.path is None)
        if any(info.is_of_course for info in infos) and not any(info.is_student for info in infos):
            message = f"{self.folder} is laid out like one student's submission: name the folder above it"
            raise UsageError(f"{message}, or grade it alone with --one.")
        name, doubt = (layout, "") if layout else self._recognise(root, infos)
        if layout is None and name == "plain" and root.path is not None and root is not outer:
            inside = first_few_names([displayable_name(info.entry.name) for info in infos if info.may_be_submission])
            raise UsageError(
                f"{self.folder} holds one folder, which may be the class's or its only student's, because it holds "
                f"{inside}: name {displayable_name(str(root.path))} for the class, or --layout plain for the student."
            )
        submissions = self._sections(root, infos) if name == "sections" else self._submissions(name, root, infos)
        if layout in PLATFORMS and submissions and all(submission.nothing for submission in submissions):
            raise UsageError(
                f"{self.folder} has no entry that is named as {PLATFORMS[name]} names them: name another layout."
            )
        outside = sum(bool(submission.nothing) and not submission.section for submission in submissions)
        count = sum(info.may_be_submission for info in infos) - outside
        phrase = f"{count} section{'' if count == 1 else 's'}" if name == "sections" else LAYOUTS[name]
        strays = dict.fromkeys([*self.strays, *self.hidden])
        return ClassFolder(
            tuple(_with_notes_on_names(sorted(submissions, key=lambda submission: submission.key))),
            phrase,
            tuple(displayable_name(stray) for stray in strays),
            layout_name=name,
            doubt=doubt,
            remarks=self._remarks(name, outer, root, infos, submissions),
        )

    def _remarks(
        self,
        layout: LayoutName,
        outer: Folder,
        root: Folder,
        infos: Sequence[_EntryInfo],
        submissions: Sequence[Submission],
    ) -> tuple[str, ...]:
        """Return one sentence if a folder may be that of the class or of its only student, and none otherwise.

        There is none in a layout other than "plain".

        Args:
            layout: the layout of the class.
            outer: the folder or archive that the user named.
            root: the folder in it that is taken for the class's.
            infos: the entries of `root`.
            submissions: the submissions.
        """
        if layout != "plain":
            return ()
        if root is not outer:
            shown = displayable_name(root.name)
            return (f"{shown} is taken for the folder of the class: if it is one student's, use --one {self.folder}.",)
        name = next((info.entry.name for info in infos if not info.is_submission and info.inside), "")
        if len(submissions) != 1 or not name:
            return ()
        shown = displayable_name(name)
        step = f"name {self.folder / shown}" if root.path is not None else f"unpack {self.folder} and name {shown}"
        return (f"{shown} is taken for the only student: if it is the folder of a class, {step}.",)

    def _unwrap(self, folder: Folder, *, guesses: bool) -> tuple[Folder, list[_EntryInfo]]:
        """Return the folder of a class or a section, and its entries.

        That is the outermost folder or, as long as a folder contains nothing but another one, the folder in it. What is
        left out on the way is added to `self.hidden`.

        Args:
            folder: the outermost folder.
            guesses: whether a folder that may also be that of the only student, with several attempts, is a wrapper.
        """
        infos = self._infos_without_results(folder)
        while len(infos) == 1 and isinstance(infos[0].entry, Folder) and self._is_wrapper(infos[0], guesses=guesses):
            folder = infos[0].entry
            infos = self._infos_without_results(folder)
        return folder, infos

    def _infos_without_results(self, folder: Folder) -> list[_EntryInfo]:
        """Return the `_EntryInfo` of each entry of a folder of the class that may be a submission.

        The names of folders of results, which are left out, are added to `self.hidden`.
        """
        infos = self._infos(self._entries(folder))
        self.hidden += [info.entry.name for info in infos if info.is_results]
        return [info for info in infos if not info.is_results]

    def _entries(self, folder: Folder) -> list[File | Folder]:
        """Return the entries of a folder of the class that may be submissions.

        The results folder is left out, and so is what is called like something that tools leave behind, unless it
        contains a submission. The names of folders that are left out for their name are added to `self.hidden`.
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
        """Return the `_EntryInfo` of each entry, in order; where an entry cannot be looked at, its `error` says why."""
        infos = list[_EntryInfo]()
        for entry in entries:
            try:
                infos.append(self._info(entry))
            except Exception as error:
                infos.append(_EntryInfo(entry, error=error))
        return infos

    def _info(self, entry: File | Folder) -> _EntryInfo:
        """Return the facts about the layout that the name of an entry gives, and for a folder its entries."""
        if isinstance(entry, File):
            names = moodle_submission(entry), canvas_submission(entry)
            return _EntryInfo(entry, *names, self._is_of_course(entry), entry.is_archive, entry.is_archive)
        inside = tuple(inner for inner in entry.all_entries(MOST_ENTRIES) if not is_housekeeping(inner.name))
        has_exercises = any(map(self._is_of_course, inside))
        has_work = has_exercises or any(
            isinstance(inner, File) and inner.name.lower().endswith((*ARCHIVES, *LOOSE)) for inner in inside
        )
        is_of_course = self._is_of_course(entry)
        is_results = not has_work and self._are_results(inside, DEEPEST_WORK)
        return _EntryInfo(
            entry, moodle_submission(entry), None, is_of_course, has_exercises, has_work, inside, is_results
        )

    def _are_results(self, entries: Sequence[File | Folder], depth: int) -> bool:
        """Return whether a folder holds results of handgrad: records or folders of them, and nobody's work.

        Args:
            entries: the entries of the folder.
            depth: how many levels of entries are looked at; a folder below may hold work.
        """
        files = [entry for entry in entries if isinstance(entry, File)]
        folders = [entry for entry in entries if isinstance(entry, Folder)]
        with suppress(Exception):  # of a file or a folder that cannot be read: it is reported when it is read as work
            possible_records = (file for file in files if file.name.endswith(".json") and not file.why_unread)
            if any(map(_begins_like_graded_record, islice(possible_records, MOST_SEARCHED))):
                return not self._may_contain_work(entries, depth)
            if folders and not files and depth > 1:
                inside = (folder.all_entries(MOST_ENTRIES) for folder in folders)
                return all(self._are_results(inner, depth - 1) for inner in inside)
        return False

    def _may_contain_work(self, entries: Iterable[File | Folder], depth: int) -> bool:
        """Return whether an entry may be somebody's work: an exercise, code, a notebook, an archive, or a deep folder.

        Args:
            entries: the entries to look at.
            depth: how many levels of entries are looked at; a folder below may hold work.
        """
        return any(
            self._is_of_course(entry)
            or (
                depth <= 1 or self._may_contain_work(entry.all_entries(MOST_ENTRIES), depth - 1)
                if isinstance(entry, Folder)
                else entry.name.lower().endswith((*ARCHIVES, *LOOSE))
            )
            for entry in entries
        )

    def _is_hidden_submission(self, entry: File | Folder) -> bool:
        """Return whether an entry with the name of a hidden file or a cache contains a submission.

        A file does if it is an archive, a folder if an exercise, an archive or a notebook is in it.
        """
        if isinstance(entry, File):
            return entry.is_archive and not entry.name.startswith(APPLE_DOUBLE)
        inside = entry.all_entries(MOST_ENTRIES)
        candidates = [inner for inner in inside if isinstance(inner, Folder) or not inner.name.startswith(APPLE_DOUBLE)]
        depth = DEEPEST_WORK if entry.name[:1].isalpha() else 1  # a person may be called env, but not .x
        return self._holds_exercise(candidates, depth) or any(
            isinstance(inner, File) and (inner.is_archive or inner.is_notebook) for inner in candidates
        )

    def _holds_exercise(self, entries: Iterable[File | Folder], depth: int) -> bool:
        """Return whether an entry has the name of an exercise's file or of a folder of the course.

        Args:
            entries: the entries to look at.
            depth: how many levels of entries are looked at: 1 for these entries alone.
        """
        return any(
            self._is_of_course(entry)
            or (
                isinstance(entry, Folder)
                and depth > 1
                and self._holds_exercise(entry.all_entries(MOST_ENTRIES), depth - 1)
            )
            for entry in entries
        )

    def _is_results_folder(self, folder: Folder) -> bool:
        """Return whether a folder is the results folder."""
        return folder.path is not None and os.path.realpath(folder.path) == self.out

    def _is_wrapper(self, info: _EntryInfo, *, guesses: bool) -> bool:
        """Return whether a folder contains a class, and is not the submission of one student.

        A platform's download is a class. So are, if `guesses` is true, several folders or archives of which one holds
        somebody's work, although they may be attempts of one student.

        Args:
            info: the entry of the folder.
            guesses: whether to take such folders and archives for a class.
        """
        if info.is_submission or info.moodle:
            return False
        inside = self._infos(info.inside)
        if _download(inside) is not None:
            return True
        parts = [inner for inner in inside if inner.holds_work or isinstance(inner.entry, Folder)]
        return guesses and len(parts) > 1 and any(inner.holds_work for inner in parts)

    def _is_of_course(self, entry: File | Folder) -> bool:
        """Return whether an entry has the name of an exercise's file, or of a folder of the course."""
        if isinstance(entry, Folder):
            return self.names.is_place(entry.name)
        return canvas_submission(entry) is None and self.names.find(entry.name) is not None

    def _recognise(self, root: Folder, infos: Sequence[_EntryInfo]) -> tuple[LayoutName, str]:
        """Return the layout that the entries of a class have, and a clause on why it may be another.

        The clause is empty if the layout is certain.

        Args:
            root: the folder of the class.
            infos: the entries of the folder.

        Raises:
            UsageError: the class is an export from Gradescope without its metadata.
        """
        platform = self._platform(root, infos)
        if platform is not None:
            return platform, self._misfit_doubt(platform, root, infos)
        folders = [info for info in infos if isinstance(info.entry, Folder)]
        if folders and len(folders) <= 2 * sum(GRADESCOPE.fullmatch(info.entry.name) is not None for info in folders):
            raise UsageError(
                f"{self.folder} looks like an export from Gradescope without {METADATA_FILE}, which says whose each "
                "submission is: name the export as it came, or --layout plain."
            )
        sections = [info for info in infos if self._may_be_section(info)]
        students = [info for info in infos if info.holds_work and not info.is_of_course]
        if not sections:
            doubt = self._doubt_about_archives(infos)
            return "sections" if doubt else "plain", doubt
        names = {section.entry.name for section in sections}
        are_mixed = all(isinstance(info.entry, File) for info in students if info.entry.name not in names)
        largest = max(sum(map(_is_part_of_class, self._infos(section.inside))) for section in sections)
        has_class = are_mixed and largest > len(students)  # more in one folder than archives beside it
        if 2 * len(sections) <= len(students) and not has_class:
            return "plain", ""
        shown = displayable_name(sections[0].entry.name)
        inner = [
            displayable_name(inner.entry.name) for inner in self._infos(sections[0].inside) if inner.may_be_submission
        ]
        doubt = _section_doubt(shown, inner)
        are_students = len(sections) <= len(students) and not has_class
        return "plain" if are_students or self._hold_equal_archives(sections) else "sections", doubt

    def _platform(self, root: Folder, infos: Sequence[_EntryInfo]) -> LayoutName | None:
        """Return the platform that at least half of the entries come from, by their names; `None` if there is none."""
        if (download := _download(infos)) is not None:
            return download
        prefix = clones_prefix(root)
        folders = [info.entry for info in infos if isinstance(info.entry, Folder)]
        if prefix and folders and len(folders) <= 2 * sum(folder.name.startswith(prefix) for folder in folders):
            return "github"
        return None

    def _misfit_doubt(self, platform: LayoutName, root: Folder, infos: Sequence[_EntryInfo]) -> str:
        """Return a clause on the entries that have no name of `platform`: "a and b are not named as there".

        Empty if all have.
        """
        prefix = "submission_" if platform == "gradescope" else clones_prefix(root)
        misfits = [
            displayable_name(info.entry.name)
            for info in infos
            if info.may_be_submission
            and info.error is None
            and not (
                getattr(info, platform) if platform in ("moodle", "canvas") else info.entry.name.startswith(prefix)
            )
        ]
        verb = "is" if len(misfits) == 1 else "are"
        return f"{first_few_names(misfits)} {verb} not named as there" if misfits else ""

    def _may_be_section(self, info: _EntryInfo) -> bool:
        """Return whether a folder may be a section: it is no submission, and contains several or a download."""
        if not isinstance(info.entry, Folder) or info.error is not None:
            return False
        inside = self._infos(info.inside)
        if _download(inside) is not None:
            return True
        return not info.is_submission and sum(inner.holds_work for inner in inside) > 1

    def _doubt_about_archives(self, infos: Sequence[_EntryInfo]) -> str:
        """Return a clause on archives that may all be sections: each holds several folders or archives with work.

        Empty as soon as an entry is one student's work: a folder, a file of the course, or an archive with such a file,
        or with fewer than two folders or archives. So no student alone can make the command ask. Of many entries the
        first ones are looked at. An archive that cannot be read, or is a platform's download, is passed over.

        Args:
            infos: the entries of the folder of the class.
        """
        entries = [info.entry for info in infos if isinstance(info.entry, Folder) or info.holds_work]
        hidden, clause = list(self.hidden), ""
        for entry in entries[:MOST_SEARCHED]:
            if isinstance(entry, Folder) or self._is_of_course(entry):
                return ""
            try:
                _, inside = self._unwrap(unpack(entry), guesses=True)
            except Exception:  # it is reported when it is read
                continue
            finally:
                self.hidden = list(hidden)
            if _download(inside) is not None:  # of a platform: it gets no points when it is read
                continue
            several = [displayable_name(info.entry.name) for info in inside if info.holds_work]
            if len(several) < 2 or any(info.is_of_course for info in inside):
                return ""
            clause = clause or _section_doubt(displayable_name(entry.name), several)
        return clause

    def _hold_equal_archives(self, sections: Sequence[_EntryInfo]) -> bool:
        """Return whether several folders hold archives alone, of at most half as many names as there are archives.

        Then each folder may be one student's work.
        """
        names = [
            (inner.entry.name, isinstance(inner.entry, File))
            for info in sections
            for inner in self._infos(info.inside)
            if inner.holds_work
        ]
        return len(sections) > 1 and all(is_file for _, is_file in names) and 2 * len(set(names)) <= len(names)

    def _submissions(self, layout: LayoutName, root: Folder, infos: Sequence[_EntryInfo]) -> list[Submission]:
        """Return the submissions of a folder that has no sections, one for each student.

        The names of entries that are nobody's are added to `self.strays`.

        Args:
            layout: the layout of the folder.
            root: the folder of the class or of a section.
            infos: the entries of the folder.
        """
        if layout == "gradescope":
            return self._gradescope(infos)
        if layout in ("moodle", "canvas"):
            why = f"its name is not one that {PLATFORMS[layout]} gives; rename it, or name another --layout"
            parts = self._one_per_entry(infos, lambda info: info.moodle if layout == "moodle" else info.canvas, why)
            return [_join_parts(same) for same in _by_key(parts)]
        prefix = ""
        if layout == "github":
            prefix = clones_prefix(root) or common_prefix([info.entry.name for info in infos])
        why = "it lies outside of any student's folder; put it into a folder with the student's name"

        def submission(info: _EntryInfo) -> Submission | None:
            """Return the submission that an entry is; `None` if it is none."""
            is_clone = _is_clone(info.entry)
            is_download = layout == "github" and not is_clone
            return plain_submission(info.entry, prefix, is_clone=is_clone, is_download=is_download)

        return _one_per_student(self._one_per_entry(infos, submission, why, are_named=True))

    def _gradescope(self, infos: Sequence[_EntryInfo]) -> list[Submission]:
        """Return the submissions of an export from Gradescope, one for each submitter that its metadata names.

        A folder that they do not name is of a submitter called like the folder. A submission whose folder is missing,
        and a file beside the folders that may be somebody's, say in `nothing` why they are not graded. The names of
        entries that are nobody's are added to `self.strays`.

        Raises:
            UsageError: there are no metadata.
        """
        metadata = next((info.entry for info in infos if info.entry.name == METADATA_FILE), None)
        if not isinstance(metadata, File):
            raise UsageError(
                f"{self.folder} holds no {METADATA_FILE}, which says whose each submission is: name the export from "
                "Gradescope as it came."
            )
        entries = read_submitters(metadata)
        submissions = list[Submission]()
        for info in infos:
            name = info.entry.name
            if isinstance(info.entry, Folder):
                entry = entries.pop(name, GradescopeEntry((), None))
                entry = entry if entry.submitters else replace(entry, submitters=((name, frozenset({name})),))
                submissions += _gradescope_submissions(name, entry, (info.entry,), "")
            elif info.may_be_submission:
                submissions.append(misfit_submission(info.entry, "it lies outside of any submission's folder"))
            elif info.entry is not metadata:
                self.strays.append(name)
        for name, entry in entries.items():
            why = f"{displayable_name(name)}: {NO_FOLDER}, though {METADATA_FILE} names it"
            submissions += _gradescope_submissions(name, entry, (), why)
        return _one_per_student(submissions)

    def _one_per_entry(
        self,
        infos: Sequence[_EntryInfo],
        submission_of: Callable[[_EntryInfo], Submission | None],
        why: str,
        *,
        are_named: bool = False,
    ) -> list[Submission]:
        """Return one submission for each entry that may be a student's; the names of all others are added to `strays`.

        An entry whose name can be read in two ways is a stray if another entry is surely of the same student. An entry
        that could not be looked at becomes a submission that reports the error. Those that do not fit the layout come
        last; one of these that would have another's key is keyed by its own file's name, and is of no known student.

        Args:
            infos: the entries.
            submission_of: returns the submission that an entry is; `None` if it does not fit the layout.
            why: why nothing of an entry that does not fit can be graded.
            are_named: whether archives have the names of their students.
        """
        named_submissions = list[tuple[str, Submission | None]]()
        misfits = list[Submission]()
        for info in infos:
            try:
                submission = submission_of(info) if info.error is None else _failing_submission(info.entry, info.error)
            except Exception as error:
                submission = _failing_submission(info.entry, error)
            if submission is None and info.may_be_submission:
                misfits.append(misfit_submission(info.entry, why, is_named=are_named))
            else:
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
        times = Counter(submission.key for submission in (*kept, *misfits))
        return kept + [
            misfit if times[misfit.key] == 1 else replace(misfit, key=composed_name(misfit.origin), is_unclaimed=True)
            for misfit in misfits
        ]

    def _sections(self, root: Folder, infos: Sequence[_EntryInfo]) -> list[Submission]:
        """Return the submissions of all sections, those with the same key at the place of the first of them.

        If a platform numbers students, submissions with the same key are of one student, and the newest counts.
        Otherwise they are of different students, and each key gets the name of the section before it. The names of
        entries that are nobody's are added to `self.strays`.

        Args:
            root: the folder of the class.
            infos: the entries of the folder, sections and others.
        """
        submissions = list[Submission]()
        for info in infos:
            if not info.may_be_submission:
                self.strays.append(info.entry.name)
                continue
            try:
                section_submissions = self._in_section(root, info)
            except Exception as error:  # a section that cannot be listed is reported like a submission
                section_submissions = [_failing_submission(info.entry, error)]
            submissions += section_submissions
        counted = list[Submission]()
        for same in _by_key(submissions):
            if len(same) == 1 or all(submission.order is not None for submission in same):
                counted += _one_per_student(same)
            else:
                counted += [replace(other, key=f"{other.section} {other.key}") for other in same]
        sections_by_key = defaultdict[str, set[str]](set)
        for submission in counted:
            sections_by_key[submission.key].add(submission.origin)
        return [  # no name has a slash in it
            submission if len(sections_by_key[submission.key]) == 1 else replace(submission, key=submission.origin)
            for submission in counted
        ]

    def _in_section(self, root: Folder, info: _EntryInfo) -> list[Submission]:
        """Return the submissions in a section; for an entry that is no section, one submission that says why.

        Args:
            root: the folder of the class.
            info: the entry: a folder or an archive if it is a section.

        Raises:
            OSError: the section cannot be listed.
        """
        if info.error is not None:
            return [_failing_submission(info.entry, info.error)]
        name, section = info.entry.name, info.entry
        if isinstance(section, File):
            if not section.is_archive:
                return [misfit_submission(section, "it lies outside of any section; put it into one")]
            if root.path is None:
                return [
                    misfit_submission(section, "a section is not read from an archive in another; unpack one of them")
                ]
            try:
                section = open_tree(root.path / name)
            except UsageError as error:
                why = str(error).removeprefix(f"{root.path / name} ").rstrip(".")
                return [misfit_submission(section, f"it {why}")]
        section, inside = self._unwrap(section, guesses=section.path is None)
        platform = self._platform(section, inside)
        if platform is None and (download := self._download_in_archive(section, inside)):
            section, inside, platform = download
        if platform is None and any(inner.is_of_course for inner in inside):
            return [
                misfit_submission(info.entry, "it is one student's, and lies outside of any section; put it into one")
            ]
        submissions = self._submissions(platform or "plain", section, inside)
        if not submissions:
            return [misfit_submission(info.entry, "no student's folder or archive lies in it")]
        shown = archive_stem(name)
        return [
            replace(submission, section=shown, origin=f"{shown}/{submission.origin or submission.key}")
            for submission in submissions
        ]

    def _download_in_archive(
        self, section: Folder, infos: Sequence[_EntryInfo]
    ) -> tuple[Folder, list[_EntryInfo], LayoutName] | None:
        """Return the download that a section holds as one archive: its folder, its entries and its platform.

        `None` if the section lies in an archive itself, holds another submission too, or one that is no download. The
        names of the files beside the download are added to `strays`.

        Args:
            section: the folder of the section.
            infos: the entries of the section.
        """
        candidates = [info.entry for info in infos if info.may_be_submission]
        archive = candidates[0] if len(candidates) == 1 else None
        if section.path is None or not isinstance(archive, File) or not archive.is_archive:
            return None
        hidden = list(self.hidden)
        with suppress(UsageError):  # a damaged archive is reported when it is read as a student's
            download, inside = self._unwrap(open_tree(section.path / archive.name), guesses=True)
            platform = self._platform(download, inside)
            if platform is not None and not any(inner.is_of_course for inner in inside):
                self.strays += [info.entry.name for info in infos if info.entry is not archive]
                return download, inside, platform
        self.hidden = hidden
        return None


def _gradescope_submissions(
    name: str, entry: GradescopeEntry, folders: tuple[Folder, ...], nothing: str
) -> list[Submission]:
    """Return one submission for each student who made a submission of an export from Gradescope, perhaps as a group.

    Args:
        name: the name of the submission's folder.
        entry: what the metadata say about the submission.
        folders: the folder of the submission, as the only element; empty if the export does not hold it.
        nothing: why nothing of the submission can be graded; empty if it can be read.
    """
    order = entry.created_at.timestamp() if entry.created_at is not None else None
    return [
        Submission(
            composed_name(key), folders, known_as, origin=name, order=order, handed_in=entry.created_at,
            nothing=nothing,
        )
        for key, known_as in entry.submitters
    ]  # fmt: skip


def _section_doubt(name: str, inside: Sequence[str]) -> str:
    """Return a clause on an entry that may be a section or a student.

    Args:
        name: the name of the entry, as it is shown.
        inside: the names of the submissions that it holds if it is a section.
    """
    return f"{name} may be a section or a student, because it holds {first_few_names(inside)}"


def _begins_like_graded_record(file: File) -> bool:
    """Return whether a file begins like a record that `handgrad grade` wrote, and not one of a learner's own check.

    Raises:
        OSError, UnreadableArchiveError: the file cannot be read.
    """
    head = file.read(RECORD_HEAD)
    return head.startswith(RECORD_START) and GRADED_BY_COURSE in head


def _is_part_of_class(info: _EntryInfo) -> bool:
    """Return whether an entry of a folder may be a submission, if the folder is a section."""
    return info.holds_work or info.moodle is not None or info.canvas is not None


def _is_clone(entry: File | Folder) -> bool:
    """Return whether an entry is a folder that holds a clone of a git repository."""
    return isinstance(entry, Folder) and any(inner.name == CLONE for inner in entry.all_entries(MOST_ENTRIES))


def _failing_submission(entry: File | Folder, error: Exception) -> Submission:
    """Return a submission, for an entry that could not be looked at, that raises `error` when it is read."""
    return Submission(entry.name, (failing_folder(entry.name, error),))


def _download(infos: Sequence[_EntryInfo]) -> Literal["gradescope", "moodle", "canvas"] | None:
    """Return the platform that a folder was downloaded from, by its entries; `None` if from none.

    A download from Gradescope has a metadata file; in one from Moodle or Canvas at least half of the entries that may
    be submissions have names in the form that this platform gives. Moodle goes before Canvas.
    """
    if any(isinstance(info.entry, File) and info.entry.name == METADATA_FILE for info in infos):
        return "gradescope"
    candidates = [info for info in infos if info.may_be_submission]
    platforms: tuple[Literal["moodle", "canvas"], ...] = ("moodle", "canvas")
    for platform in platforms:
        if 0 < len(candidates) <= 2 * sum(getattr(info, platform) is not None for info in candidates):
            return platform
    return None


def first_few_names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first `most` of some names, and how many more there are: "a, b, c and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return listed(names[:most]) + more


def listed(names: Sequence[str]) -> str:
    """Return names as a list, with semicolons between them if a name has a comma, as in "Smith, Bob; Lee, Ada"."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def _by_key(submissions: Iterable[Submission]) -> list[list[Submission]]:
    """Return the submissions grouped by their key, which names the student, in the order of their first ones."""
    groups: dict[str, list[Submission]] = {}
    for submission in submissions:
        groups.setdefault(submission.key, []).append(submission)
    return list(groups.values())


def _one_per_student(submissions: Iterable[Submission]) -> list[Submission]:
    """Return for each student the submission that counts, in the order of the students' first ones.

    Where an error prevents that, one that raises it when read.
    """
    counted = list[Submission]()
    for same in _by_key(submissions):
        try:
            counted.append(counted_submission(same))
        except Exception as error:
            counted.append(Submission(same[0].key, (failing_folder(same[0].key, error),)))
    return counted


def _join_parts(parts: Sequence[Submission]) -> Submission:
    """Return the submission that consists of these parts, which a platform downloads as several entries."""
    submission = parts[0]
    for part in parts[1:]:
        submission = submission.join(part)
    return submission


def _with_notes_on_names(submissions: Sequence[Submission]) -> list[Submission]:
    """Return the submissions, with a note on each whose name is another's but for case, accents or a copy's number.

    A copy's number is what a browser adds to a second download, as in `ada (1)`.
    """
    alike = defaultdict[str, list[Submission]](list)
    for submission in submissions:
        with suppress(Exception):  # a note is not worth a student
            alike[folded_name(COPY_MARK.sub("", submission.key))].append(submission)
    alike.pop("", None)
    almost_equal = {submission.key for same in alike.values() if len(same) > 1 for submission in same}
    note = "its name is almost that of another student here"  # who is not named: a student reads this, too
    return [
        replace(submission, notes=(*submission.notes, note))
        if submission.key in almost_equal and not submission.conflict
        else submission
        for submission in submissions
    ]
