"""The roster of a class: any CSV that a school or a platform exports, and which student of it each submission is of."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from grader.errors import UsageError

from .class_folder import ClassFolder, counted_submission, first_few_names, named_titles, similar_names
from .file_tree import displayable_name
from .platform_names import BRANCH, PARTICIPANT, Submission, composed_name, ends_of_name, folded_name, read_time

# Columns that identify a student, the best first; spelled without spaces, case and punctuation.
IDENTITIES = (
    "studentid sid username login loginid userid user sisloginid sisuserid idnumber matriculation student emailaddress "
    "email mail identifier rosteridentifier githubusername github id githubid integrationid name fullname displayname"
).split()
FULL_NAMES = "name fullname student displayname".split()
NO_PERSON = frozenset({"pointspossible", "manualposting", "studenttest"})  # lines of a gradebook from Canvas
OF_SIS = ("sisloginid", "sisuserid")  # columns of a gradebook from Canvas
LOGINS = "githubusername github".split()  # columns of logins on GitHub
FIRST_NAMES = "firstname givenname forename first".split()
LAST_NAMES = "lastname surname familyname last".split()
SECTIONS = "section sections classsection group".split()
KNOWN = frozenset((*IDENTITIES, *FULL_NAMES, *SECTIONS))
HANDED_IN = "handedin"
MOST_SHOWN = 5  # submissions that a remark on a column lists
POINTS = re.compile(  # in headings of columns that name nobody: of points, and of other numbers that many share
    r"score|grade|points|punkte|\bnoten?\b|\bpts\b|\bmarks?\b|percent|%|\btotal\b|\bsum\b|\bbonus\b|\bmid-?term\b|\(\d+\)$"
    r"|\b(quiz|test|exam|homework|assignment|exercise)s?( ?\d+)?$|\b(hw|lab|week|sheet|project) ?\d+$"
    r"|\b(semester|year|age)$",
    re.IGNORECASE,
)
AMOUNT = re.compile(r"\d+(?:[.,]\d+)?")
LARGEST = 16 << 20  # bytes of a table
EXCEL = "cp1252"  # the encoding of a CSV file that Excel saves on Windows in most of Europe and America
MOST_LINES = 3  # in a sentence
QUOTE = 'a cell that begins with a quotation mark (") does not end with one before the next cell: correct the marks'


@dataclass(frozen=True)
class RosterStudent:
    """Describe one student of a class.

    Args:
        key: what identifies the student, and names the results.
        names: the student's names, numbers and addresses in other columns, as they are spelled there.
        derived: names that are made of these, such as the part of an address before the @.
        section: the student's section; empty if the roster has none.
        handed_in: when the student handed in, in UTC; `None` if the roster does not say it.
        others: what stands in the columns that handgrad does not know, by heading.
        login: the student's login on GitHub; empty if the roster has none.
        number: what stands in the column ID, where Canvas's gradebook has its number; empty if there is no such column.
        platform_number: the number that Canvas or Moodle gave the student, if the roster is its gradebook or worksheet.
    """

    key: str
    names: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    section: str = ""
    handed_in: datetime | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    login: str = ""
    number: str = ""
    platform_number: str = ""


class Naming(NamedTuple):
    """Hold the heading of the column that earlier results are named by, and the folder of these results."""

    column: str
    results: Path


Certainty = Literal["key", "exact", "folded", "column", "number", "derived"]
CERTAINTIES: tuple[Certainty, ...] = get_args(Certainty)  # the most certain first
SURE = frozenset({"key", "exact", "folded", "column"})  # certainties with which two submissions are of one student


@dataclass(frozen=True)
class Match:
    """Hold who on the roster may have submitted something.

    Args:
        places: the indices of these students in `Roster.students`; more than one if nothing tells which of them it is.
        certainty: how the names agree: the key of the submission is the student's, a name is spelled in the same way,
            it differs in case or accents, it stands in a column that handgrad does not know, it is a number that
            differs in zeros at its beginning, or only a part of it is the same.
    """

    places: tuple[int, ...] = ()
    certainty: Certainty = "derived"


class Roster:
    """Hold the students of a class, and find the student of a submission.

    Args:
        students: the students; no two have one key.
        aliases: the keys of students by the names that their submissions have.
        remarks: sentences on how the file was read.
        named_by: the heading of the column that the keys are from.

    Raises:
        UsageError: an alias is of nobody on the roster.
    """

    def __init__(
        self,
        students: Sequence[RosterStudent],
        aliases: Mapping[str, str] | None = None,
        remarks: Sequence[str] = (),
        named_by: str = "",
    ) -> None:
        """Index the students by key, alias and every other name.

        Args:
            students: the students on the roster.
            aliases: the keys of students by the names that their submissions have.
            remarks: sentences on how the roster was read.
            named_by: the heading of the column whose cells are the keys; empty if there is none.
        """
        self.students, self.remarks, self.named_by = tuple(students), tuple(remarks), named_by
        places = {student.key: place for place, student in enumerate(students)}
        for alias, key in (aliases or {}).items():
            if composed_name(key) not in places:
                raise UsageError(f"The alias {alias!r} is of {key!r}, who is not on the roster: name a student's key.")
        names = [(name, place) for place, student in enumerate(students) for name in student.names]
        self._by_key = {key: (place,) for key, place in places.items()}
        self._aliases = {composed_name(alias): (places[composed_name(key)],) for alias, key in (aliases or {}).items()}
        # An exact spelling goes before a folded one, so that it never loses to what only looks alike.
        self._exact: tuple[Mapping[str, tuple[int, ...]], ...] = (
            self._by_key,
            self._aliases,
            _places_by_name(names),
        )
        self._folded: tuple[Mapping[str, tuple[int, ...]], ...] = (
            _places_by_name((folded_name(key), place) for key, place in places.items()),
            _places_by_name((folded_name(name), place) for name, place in names),
        )
        logins = [(student.login.casefold(), place) for place, student in enumerate(students) if student.login]
        self._logins = _places_by_name(logins)
        derived = [(name, place) for place, student in enumerate(students) for name in student.derived]
        self._derived = _places_by_name((folded_name(name), place) for name, place in derived)
        amounts = _headings_of_amounts(students)
        others = [
            (cell, place)
            for place, student in enumerate(students)
            for heading, cell in student.others.items()
            if not (heading in amounts and cell.isdecimal())
        ]
        self._others = _places_by_name((folded_name(cell), place) for cell, place in others)
        self._numbers = _places_by_number([*places.items(), *names])
        ids = [(student.number, place) for place, student in enumerate(students)]
        self._ids, self._id_numbers = _places_by_name(ids), _places_by_number(ids)
        numbered = _identifying_numbers(students)
        self._other_numbers = _places_by_number(
            (student.others[heading], place) for heading in numbered for place, student in enumerate(students)
        )

    def find(self, submission: Submission) -> Match:
        """Return the students on the roster who may have made a submission; no places if there are none.

        Nobody to whom the platform gave another number than the submission has: another person is called the same.

        Args:
            submission: the submission.
        """
        match, number = self._find_by_names(submission), submission.platform_number.lstrip("0")
        if not number or self._is_named_by_alias(submission):
            return match
        places = [p for p in match.places if self.students[p].platform_number.lstrip("0") in ("", number)]
        return replace(match, places=tuple(places))

    def _find_by_names(self, submission: Submission) -> Match:
        """Return the students on the roster whose names a submission has; no places if there are none.

        The names of the submission are compared with the keys, the aliases and the other columns, exactly; if none is
        there, without case and accents; then with columns that handgrad does not know; then as numbers without the
        zeros at their beginning. If none is known, a first and last name in another order or a part of a name counts,
        such as the end of a repository's. If names mean different students, all of these are returned. A section tells
        students of one name apart. A repository is that of the student whose login its name is, or ends with, though
        this may be another student's key. If Canvas gave the name and the ID of one student, the submission is that
        student's, unless an alias says otherwise. The number that Canvas gave is compared with the column ID alone.
        """
        if submission.is_repository and (places := self._logins.get(submission.key.casefold())) is not None:
            return Match(places, "exact")
        names = (submission.key, *sorted(submission.known_as))
        if places := self._places_of_name_and_number(submission):
            return Match(places, "exact")
        if submission.key in self._by_key:
            return Match(self._by_key[submission.key], "key")
        if self.has_alias(submission):
            return Match(self._aliases[composed_name(submission.title)], "exact")
        numbers = [name for name in names if name.isdecimal()]
        for match in (
            _joint_match([self._match_of(name, submission) for name in names]),
            _joint_match([Match(self._others.get(folded_name(name), ()), "column") for name in names]),
            _joint_match([self._match_without_zeros(number, submission) for number in numbers]),
            _joint_match([Match(self._other_numbers.get(number.lstrip("0"), ()), "number") for number in numbers]),
        ):
            if match.places:
                return self._with_person_named(match, submission)
        other_names = [name for name in names if not self._is_id(name, submission)]
        own = [self._places_of_derived(name, submission.section) for name in other_names]
        addresses = [name.partition("@")[0] for name in names if "@" in name]
        own += [self._match_of_name(name, submission.section).places for name in addresses]
        guesses = [
            self._logins.get(guess.casefold()) or self._match_of_name(guess, submission.section).places
            for guess in sorted(submission.guesses)
        ]
        guesses += [self._places_of_derived(guess, submission.section) for guess in sorted(submission.guesses)]
        return _joint_match([Match(places) for places in (*guesses, *own)])

    def _with_person_named(self, match: Match, submission: Submission) -> Match:
        """Return a match with the student whose name a submission has, if its number alone is another student's.

        The number may be one that a platform has given, such as 201 in `lovelaceada_201`, and the roster's may be of
        another kind.

        Args:
            match: the students who were found.
            submission: the submission.
        """
        names = {submission.key, *submission.known_as}
        people = [name for name in names if not name.isdecimal()]
        numbers = [self._match_of(name, submission).places for name in names if name.isdecimal()]
        if len(match.places) != 1 or match.places not in numbers:
            return match
        if any(match.places[0] in self._match_of_name(name, submission.section).places for name in people):
            return match
        named = {place for name in people for place in self._places_of_derived(name, submission.section)}
        return Match(tuple(sorted({*match.places, *named})), match.certainty) if len(named) == 1 else match

    def key_of(self, submission: Submission, is_sure: bool) -> str:
        """Return the key of the only student who may have made a submission; empty if nobody, or several may have.

        Args:
            submission: the submission.
            is_sure: whether the student counts only if it is not found by a part of a name, or by a number without its
                zeros.
        """
        match = self.find(submission)
        is_one = len(match.places) == 1 and (match.certainty in SURE or not is_sure)
        return self.students[match.places[0]].key if is_one else ""

    def has_alias(self, submission: Submission) -> bool:
        """Return whether an alias names a submission by its title, in which its section stands if it has one."""
        return composed_name(submission.title) in self._aliases

    def unused_aliases(self, submissions: Sequence[Submission], certain: Collection[int]) -> list[str]:
        """Return the aliases that no submission has as its name, its title, or the name of its student.

        An alias of a student whose submission is known is left out: it may be used in another assignment.

        Args:
            submissions: the submissions of the class.
            certain: the places on the roster of the students whose submissions are known.
        """
        names = {
            composed_name(name)
            for submission in submissions
            for name in (submission.key, submission.title, *submission.known_as, *submission.guesses)
        }
        return [alias for alias, (place,) in self._aliases.items() if alias not in names and place not in certain]

    def _is_named_by_alias(self, submission: Submission) -> bool:
        """Return whether an alias is a submission's title or another of its names."""
        return self.has_alias(submission) or not self._aliases.keys().isdisjoint(submission.known_as)

    def _is_id(self, name: str, submission: Submission) -> bool:
        """Return whether a name of a submission is Canvas's number, which stands in the column ID alone.

        `False` if there is no such column, or if the number is an alias.
        """
        return bool(self._ids) and name == submission.canvas_number and name not in self._aliases

    def _places_of_name_and_number(self, submission: Submission) -> tuple[int, ...]:
        """Return the place of the only student with the name and the ID that Canvas gave; empty if there is none.

        It is empty as well if an alias names the submission.
        """
        if self._is_named_by_alias(submission):
            return ()
        name = folded_name(submission.key.removesuffix(submission.canvas_number))
        people = [(place, self.students[place]) for place in self._ids.get(submission.canvas_number, ())]
        places = [
            place
            for place, student in people
            if name and name in map(folded_name, (student.key, *student.names, *student.derived))
        ]
        return tuple(places) if len(places) == 1 else ()

    def _match_of(self, name: str, submission: Submission) -> Match:
        """Return the students of whom a name of a submission is a key, an alias or another name, or the ID."""
        if self._is_id(name, submission):
            return Match(self._ids.get(name, ()), "exact")
        return self._match_of_name(name, submission.section)

    def _match_without_zeros(self, number: str, submission: Submission) -> Match:
        """Return the students of whom a number of a submission is one but for the zeros at the beginning."""
        index = self._id_numbers if self._is_id(number, submission) else self._numbers
        return Match(index.get(number.lstrip("0"), ()), "number")

    def _match_of_name(self, name: str, section: str) -> Match:
        """Return the students of whom a key, an alias or another name is `name`; no places if there are none.

        It is looked for as it is spelled, among keys, then aliases, then other names, and after that folded; the first
        of these that has it decides, and `certainty` is "exact" or "folded". Folding loses which part of a name comes
        first, so that a student who has a folded name in the other order is returned as well. If several students have
        the name there, and some of them are in the section, only these are returned.
        """
        lookups: list[tuple[Certainty, Mapping[str, tuple[int, ...]], str]] = [
            *(("exact", index, name) for index in self._exact),
            *(("folded", index, folded_name(name)) for index in self._folded),
        ]
        for certainty, index, spelled in lookups:
            if places := index.get(spelled):
                if index is self._folded[-1]:
                    places = tuple(sorted({*places, *self._derived.get(spelled, ())}))
                return Match(self._in_section(places, section), certainty)
        return Match()

    def _places_of_derived(self, name: str, section: str) -> tuple[int, ...]:
        """Return the places of the students from whose cells a name can be made, such as "ada lovelace".

        If there are several, and some of them are in the section, only these are returned.
        """
        return self._in_section(self._derived.get(folded_name(name), ()), section)

    def _in_section(self, places: tuple[int, ...], section: str) -> tuple[int, ...]:
        """Return the places of those students who are in a section.

        All given places are returned if none of them is, or if `section` is empty.

        Args:
            places: the places, on the roster, of students.
            section: the name of the section.
        """
        inside = [place for place in places if folded_name(self.students[place].section) == folded_name(section)]
        return tuple(inside) if inside and section and len(places) > 1 else places


def _joint_match(matches: Sequence[Match]) -> Match:
    """Return the students whom the names of one submission mean: those whom a name of a single student means.

    Only if every name is of several students, or of none, all those are returned. Two names may still mean different
    students. The certainty is that of theirs which comes first in `CERTAINTIES`.

    Args:
        matches: the match of each name.
    """
    certain = [match for match in matches if len(match.places) == 1] or [match for match in matches if match.places]
    places = tuple(sorted({place for match in certain for place in match.places}))
    return Match(places, min((match.certainty for match in certain), key=CERTAINTIES.index, default="derived"))


def read_roster(
    path: Path,
    aliases: Mapping[str, str] | None = None,
    assignment: str = "",
    penalised: Collection[str] = (),
    naming: Naming | None = None,
    assignments: Collection[str] = (),
    exercises: Collection[str] = (),
) -> Roster:
    """Return the roster in a CSV file; its students come in the order of the lines.

    Blank lines, lines of a gradebook that are no person's, and lines that repeat an earlier one are left out.

    Args:
        path: the file.
        aliases: the keys of students by the names that their submissions have.
        assignment: the name of the assignment that is graded, whose column of times goes before `handed_in`.
        penalised: the names of all assignments in which late work loses points.
        naming: the column that earlier results are named by, which stays the same; the best column if `None`.
        assignments: the names of all assignments, each of which may have a column of times.
        exercises: the ids of all exercises, each of which may have a column of points.

    Raises:
        UsageError: the file cannot be read, no column identifies every student, the column of earlier results no longer
            does, or the times in `handed_in` may be those of another assignment, and would cost points.
    """
    text, remarks = read_csv_text(path, "name a CSV file of the class with --roster")
    rows = [(line, row) for line, row in csv_rows(path, text) if any(cell.strip() for cell in row)]
    head = [folded_name(cell) for cell in rows[0][1]] if rows else []
    if rows:
        read = {*KNOWN, *FIRST_NAMES, *LAST_NAMES, HANDED_IN, folded_name(f"handed_in {assignment}")}
        refuse_repeated_headings(str(path), *rows[0], head, read)
    people = [(line, row) for line, row in rows[1:] if NO_PERSON.isdisjoint(map(folded_name, row))]
    people, twice = _without_repeated(head, people)
    if twice:
        remarks.append(f"{path}, {_lines(twice)}: the same student as in an earlier line, read once.")
    columns = {name: _column(head, name, people) for name in (*IDENTITIES, *SECTIONS) if name in head}
    lines = [line for line, _ in people]
    faults = {name: _fault(columns[name], lines) for name in columns if name in IDENTITIES}
    section = next((columns[name] for name in SECTIONS if name in columns), None)
    by_section = {name: _with_sections(columns[name], section) for name in faults if name in FULL_NAMES and section}
    by_section = {name: keys for name, keys in by_section.items() if faults[name] and not _fault(keys, lines)}
    usable = [*(name for name, fault in faults.items() if not fault), *by_section] if people else []
    identity = next(iter(usable), None)
    shown = {name: rows[0][1][head.index(name)].strip() for name in faults}
    if identity is None:
        why = "; ".join(f"{shown[name]} {fault}" for name, fault in faults.items() if fault)
        raise UsageError(
            f"{path} has no column that tells students apart{f' ({why})' if why else ''}: its first line should name "
            "one, such as student, username or email, and every line should have another one there"
            f"{'; a section is no such column' if not set(SECTIONS).isdisjoint(head) else ''}."
        )
    named_by = "" if naming is None else folded_name(naming.column)
    if naming is not None and named_by not in usable:
        column, fault = shown.get(named_by, naming.column), faults.get(named_by, "is gone")
        raise UsageError(
            f"{path}: the results in {naming.results} are named by the column {column}, which {fault}: put that right, "
            f"or move {naming.results} away to name everybody by {shown[identity]}."
        )
    identity = named_by or identity
    keys = by_section.get(identity, columns[identity])
    by = f"{shown[identity]}{' and section' if identity in by_section else ''}"
    for name, fault in faults.items():
        if fault and any(columns[name]):  # else the school does not use the column
            remarks.append(f"{path}: {shown[name]} {fault}, so the results are named by {by}.")
        if name == identity:
            break
    times = _times_column(path, head, people, assignment, penalised)
    timed = {HANDED_IN, *(folded_name(f"handed_in {each}") for each in assignments)}
    for heading, column in zip(rows[0][1], head, strict=True):
        if assignment and column.startswith(HANDED_IN) and column not in timed:
            remarks.append(
                f"{path}: the column {displayable_name(heading.strip())} is of no assignment in class.yaml, and its "
                f"times count for nobody: name the assignment in it, as in 'handed_in {assignment}'."
            )
    used = {*IDENTITIES, *FULL_NAMES, *FIRST_NAMES, *LAST_NAMES, *SECTIONS, times}
    for line, row in [rows[0], *people]:
        # A mark that is closed lines later swallows those between; feedback in a worksheet may well have lines.
        if any(name in used and "\n" in cell.strip() for name, cell in zip(head, row, strict=False)):
            raise UsageError(f"{path}, line {line}: {QUOTE}.")
    students = [
        _student(path, line, rows[0][1], key, row, times, exercises)
        for (line, row), key in zip(people, keys, strict=True)
    ]
    now = datetime.now(UTC)
    future = [
        str(line) for (line, _), each in zip(people, students, strict=True) if each.handed_in and each.handed_in > now
    ]
    if future:
        where = f"line{'' if len(future) == 1 else 's'} {first_few_names(future)}"
        remarks.append(
            f"{path}, {where}: something was handed in at a time in the future: correct it if that is a mistake."
        )
    return Roster(students, aliases, remarks, shown[identity])


def _without_repeated(
    head: Sequence[str], people: Sequence[tuple[int, Sequence[str]]]
) -> tuple[list[tuple[int, Sequence[str]]], list[int]]:
    """Return the lines of a roster without those that are equal to an earlier one, and the numbers of these.

    Blanks around a cell make no difference. A line with nothing but names stays, since two students may have the same
    name, and so does one with nothing but a number, which may be a slip for another one.

    Args:
        head: the folded names of the columns.
        people: the number and the cells of each student's line.
    """
    numbers = set(IDENTITIES) - set(FULL_NAMES)
    kept, seen, repeated = list[tuple[int, Sequence[str]]](), set[tuple[str, ...]](), list[int]()
    for line, row in people:
        cells = tuple(cell.strip() for cell in row)
        has_number = any(name in numbers and cell for name, cell in zip(head, cells, strict=False))
        if cells in seen and has_number and sum(map(bool, cells)) > 1:
            repeated.append(line)
        else:
            kept.append((line, row))
        seen.add(cells)
    return kept, repeated


def _times_column(
    path: Path,
    head: Sequence[str],
    people: Sequence[tuple[int, Sequence[str]]],
    assignment: str,
    penalised: Collection[str],
) -> str:
    """Return the folded name of the column with the times of an assignment.

    That is "handed_in" and the assignment's name if the file has this column, or has no column "handed_in"; else
    "handed_in".

    Args:
        path: the file.
        head: the folded names of the columns.
        people: the number and the cells of each student's line.
        assignment: the name of the assignment; empty if there is none.
        penalised: the names of all assignments in which late work loses points.

    Raises:
        UsageError: `handed_in` holds times, and may be of several assignments that take points off for lateness.
    """
    own = folded_name(f"handed_in {assignment}")
    if own in head or HANDED_IN not in head:
        return own
    column = head.index(HANDED_IN)
    others = [name for name in penalised if folded_name(f"handed_in {name}") not in head]
    if assignment in others and len(others) > 1 and any("".join(row[column : column + 1]).strip() for _, row in people):
        raise UsageError(
            f"{path}: the times in handed_in may be of {' or '.join(others)}, and late work loses points in each: give "
            f"each assignment its column, such as 'handed_in {assignment}', and rename the column handed_in."
        )
    return HANDED_IN


def read_csv_text(path: Path, advice: str) -> tuple[str, list[str]]:
    """Return the text of a table that people save from a spreadsheet, and a remark if it is not in Unicode.

    An accented letter is one character in it, as in the keys of students.

    Args:
        path: the file.
        advice: what to do if there is no such file, as a clause.

    Raises:
        UsageError: the file cannot be read, or is larger than `LARGEST`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): {advice}.") from error
    if len(data) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST >> 20} MiB: name a CSV file that has only the class.")
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return composed_name(data.decode("utf-16")), []
        return composed_name(data.decode("utf-8-sig")), []
    except UnicodeDecodeError:
        pass
    try:
        if b"\0" in data:
            raise UnicodeDecodeError(EXCEL, data, data.index(b"\0"), len(data), "no text")
        return data.decode(EXCEL), [
            f"{path} is not UTF-8: read as Excel's Windows-1252; look at the names with accents."
        ]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"{path} cannot be read (line {line} is not text): save it as CSV in UTF-8."
        raise UsageError(message) from error


def _student(
    path: Path,
    line: int,
    headings: Sequence[str],
    key: str,
    row: Sequence[str],
    times: str,
    exercises: Collection[str],
) -> RosterStudent:
    """Return the student on one line of a roster.

    Args:
        path: the file, for messages.
        line: the number of the line.
        headings: the names of the columns, as they are written.
        key: what identifies the student.
        row: the cells of the line.
        times: the folded name of the column that says when the student handed in; the file need not have it.
        exercises: the ids of the exercises, which are headings of points.

    Raises:
        UsageError: the time cannot be read.
    """
    head = [folded_name(heading) for heading in headings]
    cells = {name: cell.strip() for name, cell in zip(head, row, strict=False)}
    names = {cells[name] for name in (*IDENTITIES, *FULL_NAMES) if name in cells} - {key}
    section = next((cells[name] for name in SECTIONS if name in cells), "")
    time = cells.get(times, "")
    try:
        handed_in = read_time(time).astimezone(UTC) if time else None  # no zone: that of this machine
    except (ValueError, OverflowError, OSError) as error:
        message = f"{path}, line {line}: {time!r} in handed_in is no time: write it like 2026-04-26T17:34."
        raise UsageError(message) from error
    derived = frozenset(_derived_names(cells)) - {""}
    titles = [heading.strip() for heading in headings]
    others = {
        f"{title} (column {column})" if titles.count(title) > 1 else title: cell.strip()
        for column, (title, name, cell) in enumerate(zip(titles, head, row, strict=False), 1)
        if name not in KNOWN
        and not name.startswith(HANDED_IN)
        and not POINTS.search(title)
        and cell.strip()
        and title not in exercises
    }
    login = next((cells[name] for name in LOGINS if cells.get(name)), "")
    number = cells.get("id", "")
    return RosterStudent(
        key, frozenset(names - {""}), derived, section, handed_in, others, login, number, _platform_number(cells)
    )


def _platform_number(cells: Mapping[str, str]) -> str:
    """Return the number that Canvas's gradebook or Moodle's worksheet has for a student; empty in any other roster.

    Args:
        cells: what stands in the columns, by folded heading.
    """
    identifier = cells.get("identifier", "")
    if identifier.startswith(PARTICIPANT):
        return identifier.removeprefix(PARTICIPANT)
    is_gradebook = {"student", "id", "section"} <= cells.keys() and not cells.keys().isdisjoint(OF_SIS)
    return cells["id"] if is_gradebook and cells["id"].isdecimal() else ""


def _derived_names(cells: Mapping[str, str]) -> Iterator[str]:
    """Yield names made of a student's cells: first and last name in both orders, and the start of an address.

    A name that the cells do not give is yielded as an empty text.

    Args:
        cells: the student's cells, by the folded name of their column.
    """
    for name in FULL_NAMES:
        last, comma, first = cells.get(name, "").partition(",")
        yield f"{first} {last}" if comma else ""
        words = cells.get(name, "").split()
        yield f"{words[-1]} {' '.join(words[:-1])}" if words and not comma else ""
    first = next((cells[name] for name in FIRST_NAMES if name in cells), "")
    last = next((cells[name] for name in LAST_NAMES if name in cells), "")
    yield from (f"{first} {last}".strip(), f"{last} {first}".strip())
    yield from (cells[name].partition("@")[0] for name in ("email", "emailaddress", "mail") if name in cells)


def match_roster(class_folder: ClassFolder, roster: Roster) -> ClassFolder:
    """Return the class with the same submissions, each under its student's key on the roster, sorted by these keys.

    A submission of nobody on the roster keeps its own name. If several submissions have a name of one student, the
    newest counts; if no platform says which is the newest, the student is an error. A submission that has only a part
    of a student's name, or a number with other zeros before it, counts only if the student has no other. A submission
    that may be of several students becomes an error, for itself and for each of these students who has no other
    submission.

    Args:
        class_folder: the submissions of the class.
        roster: the roster.
    """
    matches = [(submission, roster.find(submission)) for submission in class_folder.submissions]
    by_place = defaultdict[int, list[tuple[Submission, Match]]](list)
    for submission, match in matches:
        if len(match.places) == 1:
            by_place[match.places[0]].append((submission, match))
    matched, unmatched, certain = dict[int, Submission](), list[Submission](), set[int]()
    counted = list[tuple[Submission, Match]]()
    for place, rivals in by_place.items():
        best = min((match.certainty for _, match in rivals), key=CERTAINTIES.index)
        equal = SURE if best in SURE else {best}
        unmatched += [submission for submission, match in rivals if match.certainty not in equal]
        own = [rival for rival in rivals if rival[1].certainty in equal]
        section = folded_name(roster.students[place].section)
        inside = [rival for rival in own if section and folded_name(rival[0].section) == section]
        if inside and any(rival[0].section for rival in own if rival not in inside):
            inside = [rival for rival in own if rival in inside or roster.has_alias(rival[0])]
            unmatched += [submission for submission, match in own if (submission, match) not in inside]
            own = inside
        matched[place] = counted_submission([_with_student(roster.students[place], *rival) for rival in own])
        counted += own
        certain.add(place)
    unmatched += [submission for submission, match in matches if not match.places]
    ambiguous = defaultdict[tuple[int, ...], list[Submission]](list)
    for submission, match in matches:
        if len(match.places) > 1:
            ambiguous[match.places].append(submission)
    for places, candidates in ambiguous.items():
        who = " or ".join(displayable_name(roster.students[place].key) for place in places)
        unmatched += [replace(submission, conflict=_ambiguity([submission], who)) for submission in candidates]
        for place in set(places) - certain:
            student = roster.students[place]
            former = matched.get(place)
            conflict = "; ".join([*([former.conflict] if former else []), _ambiguity(candidates, who)])
            matched[place] = Submission(student.key, (), student.names, handed_in=student.handed_in, conflict=conflict)
    absent = [student for place, student in enumerate(roster.students) if place not in matched]
    unused = roster.unused_aliases(class_folder.submissions, certain)
    remarks = [*_remarks_on_aliases(unused, unmatched), *_remarks_on_matches(roster, counted)]
    is_plain, keys = class_folder.layout_name == "plain", {student.key for student in absent}
    advice = {
        "plain": "If these are repositories, add --layout github.",
        "github": "If these are theirs, name these students under aliases in class.yaml.",
    }.get(class_folder.layout_name, "")
    if advice and (alike := _names_like_repositories(roster, unmatched, keys)):
        remarks.append(f"Names that end like names on the roster: {first_few_names(alike)}. {advice}")
    elif class_folder.submissions and not matched:
        sections = ", or add --layout sections if these are sections" if is_plain else ""
        remarks.append(f"No submission is of a student on the roster: name the roster of this class{sections}.")
    return replace(
        class_folder,
        submissions=tuple(sorted([*matched.values(), *unmatched], key=lambda submission: submission.key)),
        absent=tuple(displayable_name(student.key) for student in absent),
        absent_names={
            displayable_name(student.key): Submission(student.key, (), student.names).other_names for student in absent
        },
        unlisted=tuple(each.student for each in unmatched if not each.conflict and not each.nothing),
        remarks=(*class_folder.remarks, *roster.remarks, *remarks),
        named_by=roster.named_by,
        key_of=roster.key_of,
    )


def keys_of_records(
    class_folder: ClassFolder, records: Mapping[str, Collection[str]], *, were_listed: bool = False
) -> dict[str, str]:
    """Return the new key of each student who has another name in a record of an earlier run, by that name.

    A submission keeps its earlier name as another one. A student on the roster is found by the rules for a submission,
    by the other names in the record as well.

    Args:
        class_folder: the submissions of the class, under the students' keys.
        records: the other names in each earlier record of a name that is no key now, by this name.
        were_listed: whether a roster named these students, so that a part of a name may be of somebody who came later.
    """
    people = {submission.key: submission.known_as for submission in class_folder.submissions}
    holders = _places_by_name((name, place) for place, known_as in enumerate(people.values()) for name in known_as)
    key_by_name, keys = dict[str, str](), list(people)
    for name, others in records.items():
        former, places = Submission(name, (), frozenset({name, *others})), holders.get(name, ())
        own = {keys[place] for place in places} or ({*others} - {former.canvas_number}) & people.keys()
        own = own or {class_folder.key_of(former, were_listed)} - {""}
        if len(own) == 1:
            key_by_name[name] = own.pop()
    return key_by_name


def _remarks_on_aliases(unused: Iterable[str], unmatched: Iterable[Submission]) -> Iterator[str]:
    """Yield a remark on each alias that is spelled almost like a submission whose student is not known.

    It names only the submission that is spelled most like the alias. Other aliases may well be the names of submissions
    in another assignment.

    Args:
        unused: the aliases that are the name of no submission, of students without one.
        unmatched: the submissions of nobody on the roster, or of nobody knows whom.
    """
    titles = [submission.title for submission in unmatched]
    for alias in unused:
        for title in similar_names(alias, titles, 1)[:1]:
            yield (
                f"{displayable_name(alias)} under aliases in class.yaml is the name of no submission: correct it to "
                f"{title} if that is meant."
            )


def _remarks_on_matches(roster: Roster, matches: Iterable[tuple[Submission, Match]]) -> Iterator[str]:
    """Yield remarks on students who were found on the roster in another way than by their name or address.

    There is one for each further column that names of submissions were found in, and after these one on numbers that
    agree only without their leading zeros, which shows the first pair of them.

    Args:
        roster: the roster.
        matches: the submissions that count for a student, each with the match of that single student.
    """
    columns, numbers = defaultdict[str, list[str]](list), list[tuple[str, str, str]]()
    for submission, match in matches:
        student = roster.students[match.places[0]]
        if match.certainty == "column":
            names = {folded_name(name) for name in (submission.key, *submission.known_as)}
            heading = next(head for head, cell in student.others.items() if folded_name(cell) in names)
            columns[heading].append(f"{submission.title} (of {displayable_name(student.key)})")
        elif match.certainty == "number":
            names = {submission.key, *submission.known_as}
            spelled = {name.lstrip("0"): name for name in sorted(names) if name.isdecimal()}
            cells = (student.key, *sorted(student.names), *student.others.values())
            listed = next(cell for cell in cells if cell.isdecimal() and cell.lstrip("0") in spelled)
            numbers.append((spelled[listed.lstrip("0")], listed, submission.title))
    for heading, titles in columns.items():
        who = "1 submission is" if len(titles) == 1 else f"{len(titles)} submissions are"
        shown = first_few_names(titles, MOST_SHOWN)
        yield f"{who} named as in the column {displayable_name(heading)} of the roster: {shown}."
    if numbers:
        submitted, listed, title = numbers[0]
        place = f", as {title}" if title != submitted else ""
        more = f", one of {len(numbers)} such pairs," if len(numbers) > 1 else ""
        advice = "if a spreadsheet removed them, write them into the roster again, with the column as text."
        if all(len(own) < len(other) for own, other, _ in numbers):
            advice = "the roster has them, so nothing need be done."
        yield (
            f"{submitted} (submitted{place}) and {listed} (on the roster){more} differ in zeros at the beginning only, "
            f"and are taken for one student: {advice}"
        )


def _names_like_repositories(roster: Roster, unmatched: Iterable[Submission], absent: Collection[str]) -> list[str]:
    """Return the names of submissions of nobody that end with the name of a student without a submission.

    The end was not looked up: an archive has no sign that it is of a repository, and what follows the assignment's name
    in that of a clone is a whole login.

    Args:
        roster: the roster.
        unmatched: the submissions of nobody on the roster.
        absent: the keys of the students without a submission.
    """
    return [
        submission.title
        for submission in unmatched
        if not submission.guesses
        and roster.key_of(replace(submission, guesses=ends_of_name(BRANCH.sub("", submission.key))), False) in absent
    ]


def _ambiguity(submissions: Sequence[Submission], who: str) -> str:
    """Return a clause that submissions may be of several students, such as "a.zip may be of ada or bob: rename it ...".

    Args:
        submissions: the submissions.
        who: the students, as words in a sentence.
    """
    them, student = ("it", "its student") if len(submissions) == 1 else ("them", "their students")
    advice = f"rename {them}, or name {student} under aliases in class.yaml"
    return f"{named_titles(submissions)} may be of {who}: {advice}"


def _with_student(student: RosterStudent, submission: Submission, match: Match) -> Submission:
    """Return a submission under its student's key, handed in at the time that the roster gives, if it gives one.

    `known_as` gains the old key and the student's names, the old key becomes the origin if there is none, and the
    submission is no longer unclaimed.

    Args:
        student: the student on the roster.
        submission: the submission.
        match: how the student was found; an uncertain way is noted on the submission.
    """
    how = {"derived": "by a part of a name", "number": "by a number with other zeros at the beginning"}
    note = f"{submission.title} was taken for {displayable_name(student.key)}, {how.get(match.certainty)}"
    return replace(
        submission,
        key=student.key,
        known_as=submission.known_as | student.names | {submission.key},
        notes=(*submission.notes, *([note] if match.certainty in how else [])),
        origin=submission.origin or submission.key,
        handed_in=student.handed_in or submission.handed_in,
        is_unclaimed=False,
    )


def _places_by_name(names: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Return the places of the students who have each name, from pairs of a name and a place; no name is empty.

    The places of a name are in rising order, each once.
    """
    places_of = defaultdict[str, set[int]](set)
    for name, place in names:
        places_of[name].add(place)
    places_of.pop("", None)
    return {name: tuple(sorted(places)) for name, places in places_of.items()}


def _places_by_number(names: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Return the places of the students who have each number, by the number without the zeros at its beginning.

    Args:
        names: pairs of a name and a place; names that are no number are ignored.
    """
    return _places_by_name((name.lstrip("0"), place) for name, place in names if name.isdecimal())


def _headings_of_amounts(students: Sequence[RosterStudent]) -> set[str]:
    """Return the headings of columns, unknown to handgrad, whose numbers are no student's, such as points.

    Most students share their number there with another one, or a number has decimals. A number that occurs twice may
    also be a slip.
    """
    columns = defaultdict[str, list[str]](list)
    for student in students:
        for heading, cell in student.others.items():
            columns[heading] += [cell] if AMOUNT.fullmatch(cell) else []
    return {
        heading
        for heading, cells in columns.items()
        if 2 * sum(1 for count in Counter(cells).values() if count == 1) < len(cells)
        or not all(map(str.isdecimal, cells))
    }


def _identifying_numbers(students: Sequence[RosterStudent]) -> list[str]:
    """Return the headings of columns, unknown to handgrad, in which every student has a different number.

    They are in the order of the columns; there are none for a roster without students.
    """
    headings = [head for head in (students[0].others if students else ()) if all(head in s.others for s in students)]
    columns = {heading: [student.others[heading] for student in students] for heading in headings}
    return [
        heading
        for heading, cells in columns.items()
        if all(map(str.isdecimal, cells)) and len(set(cells)) == len(cells)
    ]


def csv_rows(path: Path, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows of a CSV text that people write, each with the number of its first line.

    The first line shows whether commas, semicolons or tabs separate the cells. The headings come first; a blank line is
    a row without cells.

    Raises:
        UsageError: the text is no CSV.
    """
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        if '"' in text:
            raise UsageError(f"{path}, line {line}: {QUOTE}.") from error
        raise UsageError(f"{path} is no CSV file (line {line}: {error}): save it as CSV.") from error


def refuse_repeated_headings(
    file: str, line: int, headings: Sequence[str], names: Sequence[str], read: Collection[str]
) -> None:
    """Refuse a CSV file in which a column that is read is there twice, since only one of them would count.

    Args:
        file: the file, for the message.
        line: the number of the line with the headings.
        headings: the headings, as they are written.
        names: the same headings, in the form in which they are compared.
        read: the names of the columns that are read.

    Raises:
        UsageError: two columns have the same heading; names both.
    """
    first = dict[str, int]()
    for column, (heading, name) in enumerate(zip(headings, names, strict=True), 1):
        if name in read and (before := first.setdefault(name, column)) != column:
            one, other = (displayable_name(cell.strip()) for cell in (headings[before - 1], heading))
            raise UsageError(
                f"{file}, line {line}: columns {before} ({one}) and {column} ({other}) mean the same: remove one, or "
                "rename it."
            )


def _column(head: Sequence[str], name: str, people: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
    """Return each person's cell in one column; empty where a row is too short.

    Args:
        head: the folded names of all columns.
        name: the folded name of the column, which is one of them.
        people: the number and the cells of each person's line.
    """
    at = head.index(name)
    return ["".join(row[at : at + 1]).strip() for _, row in people]


def _with_sections(names: Sequence[str], sections: Sequence[str]) -> list[str]:
    """Return names that tell people apart: a name that several people have gets the person's section before it.

    If such a person has no section, the name becomes empty. Two people of one name in one section are not told apart.

    Args:
        names: the name of each person.
        sections: the section of each person; empty if there is none.
    """
    count = Counter(names)
    return [
        name if count[name] == 1 else f"{section} {name}" if section and name else ""
        for name, section in zip(names, sections, strict=True)
    ]


def _fault(cells: Sequence[str], lines: Sequence[int]) -> str:
    """Return why cells do not identify every person, such as "is blank in line 3"; empty if they do.

    Blank cells are named before equal ones, and of these the first.

    Args:
        cells: the cell of each person in one column.
        lines: the line of each person in the file.
    """
    lines_of = defaultdict[str, list[int]](list)
    for cell, line in zip(cells, lines, strict=True):
        lines_of[cell].append(line)
    if "" in lines_of:
        return f"is blank in {_lines(lines_of[''])}"
    repeated = next((cell for cell, lines in lines_of.items() if len(lines) > 1), None)
    return "" if repeated is None else f"is {repeated!r} in {_lines(lines_of[repeated])}"


def _lines(numbers: Sequence[int]) -> str:
    """Return the numbers of the first lines, and how many more there are: "lines 2, 3, 5 and 4 more"."""
    more = f" and {len(numbers) - MOST_LINES} more" if len(numbers) > MOST_LINES else ""
    return f"line{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers[:MOST_LINES]))}{more}"
