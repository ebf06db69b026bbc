"""The names that people and platforms give to what a student hands in, and what such a name tells.

A person names a folder or an archive after the student; Moodle and Canvas put the student, a number and the number of
the upload into the name of an entry, GitHub the student behind the assignment, and Gradescope whose a folder is, and
when it was handed in, into a file beside the folders.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from grader.errors import UsageError

from .archives import is_unread_archive, open_tree
from .file_tree import (
    ARCHIVES,
    NOTEBOOKS,
    UNREAD_ARCHIVES,
    File,
    Folder,
    UnreadableArchiveError,
    displayable_name,
    printable_name,
    single_file,
)

MOODLE = re.compile(r"(?P<who>.+?_\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<name>.*))?", re.DOTALL)
PARTICIPANT = "Participant "  # stands before a student's number in Moodle's worksheets
CANVAS = re.compile(  # it keeps combining marks, such as the vowel signs of Hindi, which are no \w
    r"(?P<who>(?P<late_too>LATE_)?anon_[A-Za-z0-9]+|[\w\x80-\U0010ffff-]+?_(?:(?P<late>LATE)_)?(?P<id>\d+))_"
    r"(?:(?P<upload>\d+)_(?P<name>.+)|(?P<typed>text|link)\.html)",
    re.DOTALL,
)
# A name that holds this twice can be read in two ways: the name of a student or a file may look like a submission's.
MOODLE_MARK, CANVAS_MARK = re.compile(r"_\d+_assignsubmission_(?:file|onlinetext)"), re.compile(r"_\d+_\d+_")
LATE = "it was handed in late, by the name that Canvas gave it"
GRADESCOPE = re.compile(r"submission_\d+")  # a folder of an export from it
METADATA_FILE = "submission_metadata.yml"  # of an export from Gradescope
NO_FOLDER = "the export holds no such folder"
LARGEST_METADATA = 256 << 20  # bytes: it holds the output of every test of every submission
IDENTITY = (":email", ":sid", ":name")  # the first that a submitter has identifies the student
CLONES = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment's name
BRANCH = re.compile(r"-(?:main|master)$")  # what GitHub adds to a repository's name in that of its archive
CODE = (".py", ".py.txt", *NOTEBOOKS)
LOOSE = (*CODE, *UNREAD_ARCHIVES)  # endings of files that may be somebody's whole work
TIME = re.compile(  # a date; a date and the time of a day; or these and the zone
    r"(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?P<clock>\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?) ?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?"
)
KEEP_ONE = "keep the one that counts"  # what to do about two different answers
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Submission:
    """Describe what one student submitted, before any of it is read.

    Args:
        key: identifies the student, and names the result file.
        folders: the folders that were submitted, not yet listed.
        known_as: other names and numbers of the student that came with it.
        guesses: names that the student may have, derived from the name of the submission.
        notes: what an instructor should know of it, such as that it is late.
        is_ambiguous: whether it may be another student's, by a name that can be read in two ways.
        origin: the file or folder in the class's folder that it is, with its section; empty if its key says it.
        section: the section that it lies in; empty if the class has none.
        order: the platform's own number or time of the submission, greater for a later one; `None` if it gives none.
        handed_in: when it was handed in, by the platform or the roster; `None` if neither says it.
        earlier: the origins of earlier submissions of the same student, which do not count.
        nothing: why nothing of it can be graded; empty if it can be read.
        conflict: why nobody can know what counts, so that it is an error; empty if it is known.
        is_of_several: whether the student handed in several that conflict, and can end that.
        is_repository: whether its name is that of a repository on GitHub, or the end of one, which is a login there.
        is_unclaimed: whether it does not fit the layout of the class, so that its name need not be a student's.
    """

    key: str
    folders: tuple[Folder, ...]
    known_as: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    is_ambiguous: bool = False
    guesses: frozenset[str] = frozenset()
    origin: str = ""
    section: str = ""
    order: float | None = None
    handed_in: datetime | None = None
    earlier: tuple[str, ...] = ()
    nothing: str = ""
    conflict: str = ""
    is_of_several: bool = False
    is_repository: bool = False
    is_unclaimed: bool = False

    @property
    def student(self) -> str:
        """Return the name that the student has in the results: the key without unprintable characters."""
        return printable_name(self.key)

    @property
    def other_names(self) -> tuple[str, ...]:
        """Return the other names of the student than `key`, without unprintable characters, sorted, for the record."""
        return tuple(sorted(printable_name(name) for name in self.known_as - {self.key}))

    @property
    def canvas_number(self) -> str:
        """Return the number that Canvas gave the student, with which the key ends; empty if Canvas has not named it."""
        name, _, number = self.key.rpartition("_")
        return number if number.isdecimal() and {name, number} <= self.known_as else ""

    @property
    def platform_number(self) -> str:
        """Return the number that Canvas or Moodle gave the student; empty if neither has named the submission."""
        participants = [name.removeprefix(PARTICIPANT) for name in self.known_as if name.startswith(PARTICIPANT)]
        return next(filter(str.isdecimal, participants), self.canvas_number)

    @property
    def path(self) -> Path | None:
        """Return the folder on disk that was submitted; `None` if it came in an archive, or there are several."""
        return self.folders[0].path if len(self.folders) == 1 else None

    @property
    def title(self) -> str:
        """Return the name of what was submitted, with its section, for a message."""
        return displayable_name(self.origin or self.key)

    def join(self, other: Submission) -> Submission:
        """Return this submission with the folders, names and notes of another part of it added.

        The greater `order` counts; all else is this one's.
        """
        return replace(
            self,
            folders=(*self.folders, *other.folders),
            known_as=self.known_as | other.known_as,
            guesses=self.guesses | other.guesses,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            order=max((order for order in (self.order, other.order) if order is not None), default=None),
        )


def platform_of_several(paths: Sequence[tuple[str, ...]]) -> str:
    """Return "Moodle" or "Canvas" if files have names of more than one student in that platform's form.

    For "Canvas", more than half of the files must have them. "Gradescope" if the files hold the metadata of an export
    of it, and a folder beside them that is named as there; else "".

    Args:
        paths: for each file the names of the folders that it lies in, and its own.
    """
    for platform, pattern, share in (("Moodle", MOODLE, 0.0), ("Canvas", CANVAS, 0.5)):  # lab_1_2_a.py may be one's own
        named = [match for path in paths for match in list(filter(None, map(pattern.fullmatch, path)))[:1]]
        if len({match["who"] for match in named}) > 1 and len(named) > share * len(paths):
            return platform
    exports = {path[:-1] for path in paths if path[-1] == METADATA_FILE}
    if any(
        path[: len(folder)] == folder and GRADESCOPE.fullmatch(path[len(folder)])
        for path in paths
        for folder in exports
    ):
        return "Gradescope"
    return ""


def composed_name(name: str) -> str:
    """Return a name with each accented letter as one character, where Unicode has it."""
    return unicodedata.normalize("NFC", name)


def folded_name(name: str) -> str:
    """Return a name in the form in which names are compared: its letters and digits, without case and accents.

    The signs for vowels of scripts such as Devanagari are letters, which tell names apart; those of Arabic and Hebrew
    are left out, as most people write them.
    """
    text = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in text if character.isalnum() or _is_vowel_sign(character))


def _is_vowel_sign(character: str) -> bool:
    """Return whether a character is a mark of a script such as Devanagari or Thai, and neither an accent nor a point.

    Unicode's combining classes from 10 to 36 are the points of Hebrew and Arabic, those from 200 the accents.
    """
    combining = unicodedata.combining(character)
    return unicodedata.category(character) in ("Mn", "Mc") and not (10 <= combining <= 36 or combining >= 200)


def single_submission(path: Path) -> Submission:
    """Return the submission of one student: a folder, an archive, or a single file.

    Raises:
        UsageError: the path does not exist or cannot be read, or is a link, which a student may have made to the worked
            solutions.
    """
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and is not followed: name the folder or file that was handed in.")
    if path.is_dir():
        return Submission(path.name or path.resolve().name, (open_tree(path),))
    try:
        file = single_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name what one student handed in.") from error
    return Submission(archive_stem(path.name), (_folder_of(path.name, [file]),))


def plain_submission(
    entry: File | Folder, prefix: str, *, is_clone: bool = False, is_download: bool = False
) -> Submission | None:
    """Return the submission of a folder or an archive that is named after its student; `None` for any other file.

    Args:
        entry: the folder or archive.
        prefix: the assignment's name, which may stand before the student's; empty if there is none.
        is_clone: whether it is a clone, so that its name is a repository's, and may end with the student's login.
        is_download: whether it is a repository without its history, whose name may end with that of its branch, too.
    """
    if isinstance(entry, File) and not entry.is_archive:
        return None
    name = archive_stem(entry.name) if isinstance(entry, File) else entry.name
    stem = name.removeprefix(prefix) or name
    key = composed_name(BRANCH.sub("", stem) if is_download else stem)
    folder = entry if isinstance(entry, Folder) else _folder_of(entry.name, [entry])
    is_repository = is_clone or is_download
    notes = (
        ("its name is one that Windows reserves: its record cannot be copied there",) if RESERVED.fullmatch(key) else ()
    )
    return Submission(
        key,
        (folder,),
        frozenset({key}),
        notes,
        guesses=ends_of_name(key) if is_repository and stem == name else frozenset(),
        origin=entry.name,
        is_repository=is_repository,
    )


def ends_of_name(name: str) -> frozenset[str]:
    """Return what follows each hyphen of a name: if it is a repository's, one of these may be its student's login.

    For `lab-ada-b`: `ada-b` and `b`; nothing for a name without a hyphen.
    """
    return frozenset(name[place + 1 :] for place, character in enumerate(name) if character == "-")


def misfit_submission(entry: File | Folder, why: str, *, is_named: bool = False) -> Submission:
    """Return the submission of an entry that does not fit the layout of the class, of which nothing can be graded.

    Args:
        entry: the entry.
        why: the reason, as a clause; a file that is not read at all has a reason of its own.
        is_named: whether archives have the names of their students there; then one that is not read has, too.
    """
    name = entry.name
    is_code = name.lower().endswith(CODE)
    if isinstance(entry, File):
        name = _stem(name, (*ARCHIVES, *LOOSE))
        if is_unread_archive(entry.name):
            why = "such archives are not read; ask for a .zip or a .tar.gz"
        why = entry.why_unread or why
    key = composed_name(name)
    # Without a path: it is no student's folder, in which a results folder would be refused.
    folder = _folder_of(name, [entry]) if isinstance(entry, File) else replace(entry, path=None)
    return Submission(
        key, (folder,), frozenset({key}), origin=entry.name, nothing=f"{displayable_name(entry.name)}: {why}",
        is_unclaimed=is_code or not is_named,
    )  # fmt: skip


def moodle_submission(entry: File | Folder) -> Submission | None:
    """Return the submission of an entry that Moodle has named; `None` if its name has another form.

    Moodle's form is `Name_12345_assignsubmission_file`, for a folder or at the beginning of a file's name.
    """
    match = MOODLE.fullmatch(entry.name)
    if match is None:
        return None
    who = composed_name(match["who"])
    name, _, number = who.rpartition("_")
    folder = entry if isinstance(entry, Folder) else _folder_of(entry.name, [_with_name(entry, match["name"])])
    known_as = frozenset({name, f"{PARTICIPANT}{number}"})
    return Submission(who, (folder,), known_as, is_ambiguous=_is_ambiguous(entry, MOODLE_MARK))


def canvas_submission(entry: File | Folder) -> Submission | None:
    """Return the submission of a file that Canvas has named; `None` for a folder, or if the name has another form.

    `lastnamefirst_LATE_123_456_lin_grad.py` names the student, the student's number, the number of the upload, and
    the file.
    """
    match = CANVAS.fullmatch(entry.name)
    if match is None or isinstance(entry, Folder):
        return None
    late = bool(match["late"] or match["late_too"])
    student = composed_name(match["who"].replace("_LATE_", "_").removeprefix("LATE_"))
    name, upload = match["name"] or f"{match['typed']}.html", int((match["upload"] or "0")[:18])
    file = replace(_with_name(entry, name), upload=upload)  # the later upload is the newer
    known_as = frozenset({student.rpartition("_")[0], match["id"] or student})
    notes, is_ambiguous = (LATE,) if late else (), _is_ambiguous(entry, CANVAS_MARK)
    return Submission(student, (_folder_of(student, [file]),), known_as, notes, is_ambiguous, order=upload)


def _is_ambiguous(entry: File | Folder, mark: re.Pattern[str]) -> bool:
    """Return whether the pattern of a platform's id occurs more than once in the name of an entry."""
    return len(mark.findall(entry.name)) > 1


def _folder_of(name: str, files: Sequence[File]) -> Folder:
    """Return a folder of this name that contains these files, though no such folder is on disk."""
    return Folder(name, None, partial(tuple, files))


def _with_name(file: File, name: str | None) -> File:
    """Return the file under another name; unchanged if the name is `None` or empty."""
    return replace(file, name=name or file.name)


def archive_stem(name: str) -> str:
    """Return the name of an archive without its ending; any other name, or one that is all ending, unchanged."""
    return _stem(name, ARCHIVES)


def _stem(name: str, endings: Sequence[str]) -> str:
    """Return a name without the first of some endings that it has; a name that is all ending, unchanged."""
    ending = next((ending for ending in endings if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)] or name


class _MetadataLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Load plain YAML; a value with a tag of its own, such as an object of Ruby's, becomes `None`."""


_MetadataLoader.add_multi_constructor("", lambda loader, suffix, node: None)


@dataclass(frozen=True)
class GradescopeEntry:
    """Describe one submission in the metadata of an export from Gradescope.

    Args:
        submitters: for each student what identifies the student, and all names; empty if the metadata name nobody.
        created_at: when it was handed in; `None` if the metadata do not say it.
    """

    submitters: tuple[tuple[str, frozenset[str]], ...]
    created_at: datetime | None


def read_submitters(file: File) -> dict[str, GradescopeEntry]:
    """Return whose each submission in an export from Gradescope is, and when it was handed in, by its folder's name.

    Entries of another form are left out; so are all if the file holds no mapping.

    Args:
        file: the export's `submission_metadata.yml`.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        data = file.read(LARGEST_METADATA)
        metadata = yaml.load(data[:LARGEST_METADATA], Loader=_MetadataLoader)
    except (OSError, UnreadableArchiveError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_FILE} cannot be read: export it anew.") from error
    entries = metadata.items() if isinstance(metadata, Mapping) else ()
    return {
        str(folder): GradescopeEntry(_submitters(entry), _created_at(entry))
        for folder, entry in entries
        if isinstance(entry, Mapping)
    }


def _submitters(entry: Mapping[str, Any]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the students in the metadata of one submission; none if the metadata are not laid out as expected.

    Args:
        entry: the value of one submission in the export's YAML file.

    Returns:
        For each student what identifies the student, such as an address, and all names, ids and addresses.
    """
    people = entry.get(":submitters")
    submitters = list[tuple[str, frozenset[str]]]()
    for person in people if isinstance(people, list) else ():
        if isinstance(person, Mapping) and (ids := [str(person[key]).strip() for key in IDENTITY if person.get(key)]):
            submitters.append((ids[0], frozenset(ids)))
    return tuple(submitters)


def read_time(text: str) -> datetime:
    """Return the time that a text such as `2026-04-26T17:34` or `2026-04-26 17:34:05 +02:00` means.

    A date alone means the beginning of that day; the time has a zone only if the text names one.
    `datetime.fromisoformat` reads more, such as 18.45 as 18:00 and 0.45 seconds, which people mean otherwise.

    Raises:
        ValueError: the time is written in another way, or there is no such day or time.
    """
    match = TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time like 2026-04-26T17:34")
    return datetime.fromisoformat(f"{match['day']}T{match['clock'] or '00:00'}{match['zone'] or ''}")


def in_zone_of_machine(moment: datetime) -> datetime:
    """Return a time in the zone of this machine; a time without a zone is what its clocks show.

    A time that the clocks skip, when they go forward by an hour, is one hour later on them: so midnight is the end of a
    day also where the next day begins at 01:00.

    Raises:
        ValueError: the moment is too near to the first or the last possible year to be converted.
        OverflowError: the same, in some zones.
        OSError: the same, on some systems.
    """
    if moment.tzinfo is None:  # by `timestamp`, because `astimezone` reads skipped times wrongly before Python 3.13
        moment = datetime.fromtimestamp(moment.timestamp(), UTC)
    return moment.astimezone()


def _created_at(entry: Mapping[str, Any]) -> datetime | None:
    """Return when a submission was handed in, by its metadata; `None` if they do not say it.

    A time without a zone is in UTC.
    """
    time = entry.get(":created_at")
    with suppress(ValueError, OverflowError):
        time = read_time(time) if isinstance(time, str) else time
        if isinstance(time, datetime):
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    return None


def clones_prefix(root: Folder) -> str:
    """Return the assignment's name that begins the name of each clone in a folder of clones; empty in any other."""
    return root.name.removesuffix(CLONES) + "-" if root.name.endswith(CLONES) else ""


def common_prefix(names: Sequence[str]) -> str:
    """Return the beginning that all names have, with the hyphen that ends it: "lab-" of "lab-ada" and "lab-bob".

    Empty if there is none, and for fewer than two names.
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)  # what these two have in common, all have
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first.rfind("-", 0, length) + 1]
