"""Lines on a learner's progress: a bar for each unit, and the exercises of a unit as a list."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from grader.course.course import CourseExercise
from grader.rendering.console import is_plain, report_width
from grader.rendering.render_text import Line, Style

from .progress import UnitProgress
from .session import Session

BAR, SHORTEST_BAR = 14, 6
IN_A_LIST = 30  # columns before an exercise's title


def progress_bars(units: Sequence[UnitProgress], width: int) -> Iterator[Line]:
    """Yield the progress of each unit as a line: a bar if there is room for one, and the numbers."""
    if is_plain():
        yield from (((f"{unit.unit}: {_in_words(unit)}", ""),) for unit in units)
        return
    names = max((len(unit.unit) for unit in units), default=0)
    room = width - names - 4 - max((len(_numbers(unit)) for unit in units), default=0)
    length = min(BAR, room) if room >= SHORTEST_BAR else 0
    for unit in units:
        full = length * unit.done // max(unit.total, 1)
        style: Style = "good" if unit.done == unit.total else "bold" if unit.done else "dim"
        bar = "#" * full + "." * (length - full) + "  " * bool(length)
        yield ((f"{unit.unit:<{names}}  ", ""), (bar, style), (_numbers(unit), ""))


def _numbers(unit: UnitProgress) -> str:
    quiz = f"  quiz {unit.questions_done} of {unit.questions}" if unit.questions else ""
    return f"{unit.done} of {unit.total}{quiz}"


def _in_words(unit: UnitProgress) -> str:
    quiz = f", quiz {unit.questions_done} of {unit.questions} questions" if unit.questions else ""
    return f"{unit.done} of {unit.total} answers{quiz}"


def exercise_lines(session: Session, exercise: CourseExercise) -> Iterator[Line]:
    """Yield the lines of one exercise in a list: its id, its answers done and in all, and its title."""
    result = session.progress.result(exercise)
    done = sum(answer.status == "passed" for answer in result.answers) if result else 0
    total = len(exercise.declaration.answers)
    title = exercise.declaration.title + (" (stretch)" if exercise.stretch else "")
    count = f"{done}/{total}"
    room = max(report_width() - IN_A_LIST, 20)
    first, *more = textwrap.wrap(title, room, break_long_words=False, break_on_hyphens=False)
    style: Style = "good" if done == total else "dim"
    yield (("  ", ""), (f"{exercise.id:<22}", ""), (f"{count:<6}", style), (first, "dim"))
    yield from (((" " * IN_A_LIST + line, "dim"),) for line in more)
