"""Say what points the docs promise each person of a drawn class; written from docs/ alone, without the grader."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

SHARES = {"right": Fraction(1), "part": Fraction(2, 3), "third": Fraction(1, 3)}  # of an exercise; all else is 0


@dataclass(frozen=True)
class Attempt:
    """Something that one person, or a group, handed in: which kind of file for which exercise."""

    number: int  # Canvas's of the upload
    files: dict[str, str]
    handed_in: datetime | None = None  # what the platform says
    is_archive: bool = False


@dataclass
class Person:
    """A person under the name that the results have, and what is known of them."""

    key: str
    attempts: list[Attempt] = field(default_factory=list)
    handed_in: datetime | None = None  # what the roster says
    extension: datetime | None = None


@dataclass
class DrawnClass:
    """A class, its assignment and the changes of its grades."""

    layout: str
    people: list[Person]
    points: dict[str, Fraction]
    adjustments: list[tuple[str, str, Fraction]]  # student, exercise or nothing, points
    due: datetime | None
    grace: timedelta
    per_day: Fraction
    at_most: Fraction
    free_days: int
    enters_zero: bool  # --yes


@dataclass(frozen=True)
class Expected:
    """The points of a person; without points, whether nothing was handed in or grading failed."""

    raw: Fraction | None
    score: Fraction | None
    kind: str  # "", "nothing" or "ungraded"


def expected(drawn: DrawnClass, person: Person) -> Expected:
    """Return the points of a person by the rules of docs/class.md, docs/hand-ins.md and docs/exports.md."""
    answers, handed_in = newest(drawn.layout, person)
    changes = [(exercise, points) for student, exercise, points in drawn.adjustments if student == person.key]
    by_hand = {exercise: points for exercise, points in changes if exercise}
    if answers is None and set(by_hand) != set(drawn.points):
        return Expected(None, None, "ungraded")
    if answers is not None and not answers and not changes and not drawn.enters_zero:
        return Expected(None, None, "nothing")
    graded = {name: most * SHARES.get((answers or {}).get(name, ""), 0) for name, most in drawn.points.items()}
    added = sum((points for exercise, points in changes if not exercise), Fraction(0))
    raw = max(Fraction(0), sum({**graded, **by_hand}.values(), added))
    time = person.handed_in or handed_in if person.attempts else None
    return Expected(raw, raw * (1 - lost(drawn, person, time)), "")


def newest(layout: str, person: Person) -> tuple[dict[str, str] | None, datetime | None]:
    """Return the files that count and their time; no files where nobody knows which attempt is the newest."""
    attempts = sorted(person.attempts, key=lambda attempt: attempt.handed_in or attempt.number)
    if not attempts:
        return {}, None
    if layout == "canvas":  # all uploads are one submission: of two files for an exercise the newest counts
        files: dict[str, str] = {}
        for attempt in attempts:
            files |= {name: kind for name, kind in attempt.files.items() if kind != "untouched" or name not in files}
        return files, None
    if len(attempts) > 1 and layout != "gradescope":
        return None, None
    return attempts[-1].files, attempts[-1].handed_in


def lost(drawn: DrawnClass, person: Person, handed_in: datetime | None) -> Fraction:
    """Return the share of the score that lateness takes off."""
    due = person.extension or drawn.due
    if due is None or handed_in is None or handed_in <= due + drawn.grace:
        return Fraction(0)
    days = -((due + drawn.grace - handed_in) // timedelta(days=1))  # a day counts as soon as it begins
    return min(drawn.at_most, drawn.per_day * max(0, days - drawn.free_days))
