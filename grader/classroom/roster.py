"""The roster of a class: any CSV that a school or a platform exports, and which student of it each submission is of."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError

from .class_folder import ClassFolder, Submission
from .file_tree import displayable_name

# Columns that identify a student, the best first; spelled without spaces, case and punctuation.
IDENTITIES = (
    "studentid sid username login loginid userid user sisloginid sisuserid idnumber matriculation student emailaddress "
    "email mail identifier rosteridentifier githubusername github id githubid integrationid"
).split()
FULL_NAMES = "name fullname student displayname".split()
NO_PERSON = frozenset({"pointspossible", "manualposting"})  # lines of a gradebook from Canvas
FIRST_NAMES = "firstname givenname forename first".split()
LAST_NAMES = "lastname surname familyname last".split()
LARGEST = 16 << 20  # bytes of a roster


@dataclass(frozen=True)
class Roster:
    """Hold the students of a class.

    Args:
        students: the name of each student in the results.
        by_exact_name: the places in `students` of everybody who has a name or number, spelled as the roster has it.
        by_folded_name: the same, by names and numbers without case, accents and punctuation.
    """

    students: tuple[str, ...]
    by_exact_name: Mapping[str, frozenset[int]]
    by_folded_name: Mapping[str, frozenset[int]]

    def find(self, submission: Submission) -> int | None:
        """Return the place in `students` of the student who submitted; `None` if nobody or several may be meant."""
        names = (submission.key, *sorted(submission.known_as))
        for places_of, spellings in ((self.by_exact_name, names), (self.by_folded_name, map(_folded, names))):
            matches = [places_of[name] for name in spellings if name in places_of]
            certain = {next(iter(places)) for places in matches if len(places) == 1}
            if certain:
                return certain.pop() if len(certain) == 1 else None
        return None


def read_roster(path: Path) -> Roster:
    """Return the roster in a CSV file.

    Raises:
        UsageError: it cannot be read, or no column identifies every student.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path} cannot be read ({why}): name a CSV file of the class with --roster.") from error
    rows = [row for row in _table(text) if any(cell.strip() for cell in row)]
    head = [_folded(cell) for cell in rows[0]] if rows else []
    people = [row for row in rows[1:] if NO_PERSON.isdisjoint(map(_folded, row))]
    columns = (_unique_column(name, head, people) for name in IDENTITIES)
    identity = next((column for column in columns if column is not None), None)
    if identity is None:
        raise UsageError(
            f"{path} has no column that tells students apart: its first line should name one, such as student, "
            "username or email, and every line should have another one there."
        )
    students = tuple(row[identity].strip() for row in people)
    names = [(name, place) for place, row in enumerate(people) for name in _names(head, row)]
    return Roster(students, _places_by_name(names), _places_by_name((_folded(name), place) for name, place in names))


def match_roster(class_folder: ClassFolder, roster: Roster) -> ClassFolder:
    """Return the same submissions, each under its student's name on the roster; those of one student are joined.

    A submission of nobody on the roster keeps its own name. One whose key is a name on the roster goes before others
    that may be of the same student.
    """
    by_place: dict[int, Submission] = {}
    unmatched, exact_places = list[Submission](), set[int]()
    exact_first = sorted(class_folder.submissions, key=lambda submission: submission.key not in roster.by_exact_name)
    for submission in exact_first:
        place, is_exact = roster.find(submission), submission.key in roster.by_exact_name
        if place is not None and is_exact:
            exact_places.add(place)
        if place is None or (place in exact_places and not is_exact):  # who has that very name keeps it
            unmatched.append(submission)
        elif place in by_place:
            both = by_place[place].join(submission)
            note = f"{displayable_name(submission.key)} was taken for the same student"
            by_place[place] = replace(both, notes=(*both.notes, note))
        else:
            by_place[place] = replace(submission, key=roster.students[place])
    keys, unlisted = {submission.key for submission in by_place.values()}, list[Submission]()
    for submission in unmatched:
        key = submission.key
        while key in keys:
            key = f"{key} (not on the roster)"
        keys.add(key)
        unlisted.append(replace(submission, key=key))
    absent = [displayable_name(name) for place, name in enumerate(roster.students) if place not in by_place]
    return replace(
        class_folder,
        submissions=tuple(sorted([*by_place.values(), *unlisted], key=lambda submission: submission.key)),
        absent=tuple(absent),
        unlisted=tuple(submission.student for submission in unlisted),
    )


def _places_by_name(names: Iterable[tuple[str, int]]) -> dict[str, frozenset[int]]:
    """Return the places of the students who have each name, from pairs of a name and a place; no name is empty."""
    places_of = defaultdict[str, set[int]](set)
    for name, place in names:
        places_of[name.strip()].add(place)
    places_of.pop("", None)
    return {name: frozenset(places) for name, places in places_of.items()}


def _table(text: str) -> Iterator[Sequence[str]]:
    """Yield the rows of a CSV text whose first line shows whether commas, semicolons or tabs separate its cells.

    Raises:
        UsageError: it is no CSV.
    """
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    except csv.Error as error:
        raise UsageError(f"The roster is no CSV file ({error}): save it as CSV.") from error


def _unique_column(name: str, head: Sequence[str], people: Sequence[Sequence[str]]) -> int | None:
    """Return the index of the column of this name; `None` if there is none, or it does not tell all people apart."""
    if name not in head:
        return None
    column = head.index(name)
    cells = [row[column].strip() if column < len(row) else "" for row in people]
    return column if all(cells) and len(set(cells)) == len(cells) else None


def _names(head: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    """Yield every name and number of a person: the cells that hold one, and first and last name in both orders."""
    cells = {name: cell.strip() for name, cell in zip(head, row, strict=False)}
    yield from (cells[name] for name in (*IDENTITIES, *FULL_NAMES) if name in cells)
    for name in FULL_NAMES:
        last, comma, first = cells.get(name, "").partition(",")
        yield f"{first} {last}" if comma else ""
        words = cells.get(name, "").split()
        yield f"{words[-1]} {' '.join(words[:-1])}" if words and not comma else ""
    first = next((cells[name] for name in FIRST_NAMES if name in cells), "")
    last = next((cells[name] for name in LAST_NAMES if name in cells), "")
    yield from (f"{first} {last}", f"{last} {first}")
    yield from (cells[name].partition("@")[0] for name in ("email", "emailaddress", "mail") if name in cells)


def _folded(name: str) -> str:
    """Return a name in the form in which names are compared: its letters and digits, without case and accents."""
    text = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in text if character.isalnum())
