"""Say what points the docs promise each person of a drawn class; written from docs/ alone, without the grader."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from helpers.drawn_assignments import DrawnClass, Person

SHARES = {"right": Fraction(1), "part": Fraction(2, 3), "third": Fraction(1, 3)}  # of an exercise; all else is 0
CONFLICT = "different answers"


@dataclass(frozen=True)
class Expected:
    """The points of a person; without points, whether nothing was handed in or grading failed."""

    raw: Fraction | None
    score: Fraction | None
    kind: str  # "", "nothing" or "ungraded"
    has_reason: bool = False  # why nothing could be graded, which stays beside points that a person gave


def expected(drawn: DrawnClass, person: Person, unit: Collection[str] = ()) -> Expected:
    """Return the points of a person, or those for some exercises, as class.md, hand-ins.md and exports.md say."""
    answers, handed_in = counted(drawn, person)
    if all(name.startswith("quiz_") and kind == "broken" for name, kind in answers.items()):
        answers = {}  # sheets that cannot be read, and nothing else
    changes = [(exercise, points) for student, exercise, points in drawn.adjustments if student == person.key]
    by_hand = {exercise: points for exercise, points in changes if exercise}
    asked = set(unit or drawn.points)
    if any(answers.get(name) == CONFLICT for name in asked - set(by_hand)):
        return Expected(None, None, "ungraded", has_reason=True)
    giving = [exercise for exercise, points in changes if exercise or points >= 0]
    is_changed = any(not unit or exercise in asked for exercise in giving)
    if not answers and not is_changed and (giving or not drawn.enters_zero):
        return Expected(None, None, "nothing", has_reason=True)
    graded = {name: drawn.points[name] * SHARES.get(answers.get(name, ""), 0) for name in asked}
    graded |= {name: points for name, points in by_hand.items() if name in asked}
    added = sum((points for exercise, points in changes if not exercise and not unit), Fraction(0))
    raw = max(Fraction(0), sum(graded.values(), added))
    time = person.handed_in or handed_in if person.attempts else None
    return Expected(raw, raw * (1 - lost(drawn, person, time)), "", has_reason=not answers and bool(giving))


def counted(drawn: DrawnClass, person: Person) -> tuple[dict[str, str], datetime | None]:
    """Return the kind of file that counts for each exercise, and when it was handed in."""
    attempts = sorted(person.attempts, key=lambda attempt: attempt.handed_in or attempt.number)
    if drawn.layout == "gradescope" and attempts:
        return attempts[-1].files, attempts[-1].handed_in
    files: dict[str, str] = {}
    for kinds in (attempt.files for attempt in attempts):
        answers = {name: kind for name, kind in kinds.items() if kind != "untouched" or name not in files}
        if drawn.layout != "canvas":  # where a later upload counts
            answers = {name: _either(files.get(name, kind), kind) for name, kind in answers.items()}
        files |= answers
    if len(attempts) > 1 and drawn.layout != "canvas" and not person.has_one_folder:
        files = dict.fromkeys(drawn.points, CONFLICT)
    return files, None


def _either(first: str, second: str) -> str:
    return second if first in (second, "untouched") else CONFLICT


def lost(drawn: DrawnClass, person: Person, handed_in: datetime | None) -> Fraction:
    """Return the share of the score that lateness takes off."""
    due = person.extension or drawn.due
    if due is None or handed_in is None or handed_in <= due + drawn.grace:
        return Fraction(0)
    days = -((due + drawn.grace - handed_in) // timedelta(days=1))  # a day counts as soon as it begins
    return min(drawn.at_most, drawn.per_day * max(0, days - drawn.free_days))
