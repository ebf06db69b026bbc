"""A class list: whatever CSV a school or a platform exports, and which of its people each hand-in belongs to."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError

from .class_folder import HandIn, HandIns
from .file_tree import displayable

# What tells people apart, the best first; spelled without spaces, case and punctuation.
IDENTITIES = (
    "studentid sid username login loginid userid user sisloginid sisuserid idnumber matriculation student emailaddress "
    "email mail identifier rosteridentifier githubusername github id githubid integrationid"
).split()
FULL_NAMES = "name fullname student displayname".split()
NO_PERSON = frozenset({"pointspossible", "manualposting"})  # lines of a gradebook from Canvas
FIRST_NAMES = "firstname givenname forename first".split()
LAST_NAMES = "lastname surname familyname last".split()
LARGEST = 16 << 20


@dataclass(frozen=True)
class Roster:
    """The people of a class.

    Args:
        students: what each is called in the results.
        people: by number in `students`, for every name and number of a person; several where it is not one person's.
        spelled: the same, of names as they are spelled; in `people` they are without case and punctuation.
    """

    students: tuple[str, ...]
    people: Mapping[str, frozenset[int]]
    spelled: Mapping[str, frozenset[int]]

    def find(self, hand_in: HandIn) -> int | None:
        """Whose it is; `None` where that is nobody of the roster, or might be several."""
        known = (hand_in.key, *sorted(hand_in.known_as))
        for people, names in ((self.spelled, known), (self.people, map(_folded, known))):
            hits = [people[name] for name in names if name in people]
            certain = {next(iter(found)) for found in hits if len(found) == 1}
            if certain:
                return certain.pop() if len(certain) == 1 else None
        return None


def read_roster(path: Path) -> Roster:
    """Read a class list.

    Raises:
        UsageError: it cannot be read, or no column tells people apart.
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
    identity = next((at for name in IDENTITIES if (at := _unique_column(name, head, people)) is not None), None)
    if identity is None:
        raise UsageError(
            f"{path} has no column that tells students apart: its first line should name one, such as student, "
            "username or email, and every line should have another one there."
        )
    students = tuple(row[identity].strip() for row in people)
    named = [(name, number) for number, row in enumerate(people) for name in _names(head, row)]
    return Roster(students, _numbers((_folded(name), number) for name, number in named), _numbers(named))


def by_roster(hand_ins: HandIns, roster: Roster) -> HandIns:
    """Return the same hand-ins, each under its student's name on the roster; those of one student are joined.

    A hand-in of nobody on the roster keeps its own name.
    """
    of: dict[int, HandIn] = {}
    unlisted, spelled = [], set[int]()
    for hand_in in sorted(hand_ins.each, key=lambda hand_in: hand_in.key not in roster.spelled):
        number, is_spelled = roster.find(hand_in), hand_in.key in roster.spelled
        if number is not None and is_spelled:
            spelled.add(number)
        if number is None or (number in spelled and not is_spelled):  # who has that very name keeps it
            unlisted.append(hand_in)
        elif number in of:
            both = of[number].together(hand_in)
            of[number] = replace(
                both, notes=(*both.notes, f"{displayable(hand_in.key)} was taken for the same student")
            )
        else:
            of[number] = replace(hand_in, key=roster.students[number])
    taken, others = {hand_in.key for hand_in in of.values()}, list[HandIn]()
    for hand_in in unlisted:
        key = hand_in.key
        while key in taken:
            key = f"{key} (not on the roster)"
        taken.add(key)
        others.append(replace(hand_in, key=key))
    each = sorted([*of.values(), *others], key=lambda hand_in: hand_in.key)
    absent = tuple(displayable(name) for number, name in enumerate(roster.students) if number not in of)
    return replace(hand_ins, each=tuple(each), absent=absent, unlisted=tuple(hand_in.student for hand_in in others))


def _numbers(named: Iterable[tuple[str, int]]) -> dict[str, frozenset[int]]:
    """The people who have each name."""
    found = defaultdict[str, set[int]](set)
    for name, number in named:
        found[name.strip()].add(number)
    found.pop("", None)
    return {name: frozenset(numbers) for name, numbers in found.items()}


def _table(text: str) -> Iterator[Sequence[str]]:
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    except csv.Error as error:
        raise UsageError(f"The roster is no CSV file ({error}): save it as CSV.") from error


def _unique_column(name: str, head: Sequence[str], people: Sequence[Sequence[str]]) -> int | None:
    """The column of this name, if everybody has something else there."""
    if name not in head:
        return None
    at = head.index(name)
    cells = [row[at].strip() if at < len(row) else "" for row in people]
    return at if all(cells) and len(set(cells)) == len(cells) else None


def _names(head: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    """Every name and number of a person: what is in the columns, and both orders of a name in two."""
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
    """A name as it is compared: letters and digits alone, whatever their case and accents."""
    text = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in text if character.isalnum())
