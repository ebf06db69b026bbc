"""The report on a class as an HTML page and as a CSV table.

The page needs nothing else: no script, no network, no other file.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

from grader import __version__
from grader.rendering.page import stylesheet, text_html
from grader.results.points import shown
from grader.results.records import BY_PERSON
from grader.safe_text import no_formula, plain

from .class_report import BINS, SEVERAL, ClassReport, Counts, StudentLine
from .graded_exercise import GradedExercise, Key, csv_text, mistake_meaning, number

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

FOLDER = Path(__file__).parent
TEMPLATE = "report_page.html.jinja"
LONGEST = 600  # characters of a text on the page
CHART_HEIGHT = 120  # pixels
STANDINGS = {
    "passed": "passed", "wrong": "wrong", "begun": "part done", "unread": "not readable", "untried": "not tried",
    "adjusted": BY_PERSON, "ungraded": "not graded",
}  # fmt: skip


@dataclass(frozen=True)
class PageLimits:
    """Limit the entries that each part of the page lists; the CSV has them all.

    Args:
        students: the lines of the table of students.
        stuck: the students with a misconception, and those with more exercises wrong than passed.
        not_begun: the students who have tried nothing.
        class_mistakes: the mistakes in any exercise.
        exercise_mistakes: the mistakes in one exercise.
        where: the wrong exercises of one student.
        worst: the exercises in which one mistake occurs, and the wrong answers to one question.
        aside: the unreadable results, the ungraded exercises, and the students without work.
        changed: the changes of points, and those of grades since the run before.
    """

    students: int = 300
    stuck: int = 60
    not_begun: int = 200
    class_mistakes: int = 10
    exercise_mistakes: int = 8
    where: int = 8
    worst: int = 4
    aside: int = 40
    changed: int = 100


@dataclass(frozen=True)
class PageSource:
    """Describe the source of a page.

    Args:
        source: the folder or gradebook that it was made from, as the user named it.
        table: the name of the CSV file in the same folder.
        made_at: the time at which it was made.
    """

    source: str
    table: str
    made_at: datetime


@dataclass(frozen=True)
class BarSegment:
    """Describe a part of a bar: the standing that it shows, where it begins and how wide it is, in percent."""

    standing: str
    x: float
    width: float


@dataclass(frozen=True)
class Column:
    """Describe a column in the chart of scores, which stands for a tenth of the points.

    Args:
        begins: the lowest score in it, in percent.
        count: how many students it holds.
        blank: how many of them have not begun.
        height: its height in pixels.
        blank_height: the height in pixels of the part for those who have not begun.
    """

    begins: int
    count: int
    blank: int
    height: float
    blank_height: float


def html(report: ClassReport, source: PageSource) -> str:
    """Return the report on a class as an HTML page.

    All text in it is escaped, and its security policy allows no script and no other file.

    Args:
        report: the report.
        source: what the page says of its origin.
    """
    from markupsafe import Markup

    style = stylesheet()
    return _template().render(
        report=report, source=source, most=PageLimits(), version=__version__, several=SEVERAL, standings=STANDINGS,
        style=Markup(style), style_hash=_hash(style), columns=list(columns(report)), chart_height=CHART_HEIGHT,
        anchors=_anchors(report), rows=_rows(report),
    )  # fmt: skip


@cache
def _template() -> Template:
    """Return the template of the page, with its filters and functions."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        finalize=printable_and_short,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        points=shown,
        quote=partial(quote, errors="replace"),
        told_html=told_html,
        minus=with_minus_signs,
        breakable=breakable,
    )
    environment.globals.update(
        segments=segments,
        percent=percent,
        count_of=count_of,
        meaning=mistake_meaning,
        breakdown=breakdown,
        separation=separation,
    )
    return environment.get_template(TEMPLATE)


def printable_and_short(value: object) -> object:
    """Return a value as the page shows it: a text in a printable form, cut where it is too long.

    Values that are no texts, and markup, are returned unchanged.
    """
    from markupsafe import Markup

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    shown = plain(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def told_html(text: str) -> Markup:
    """Return what a student was told, cut where it is too long, with a `<code>` element for each part in backticks."""
    from markupsafe import Markup

    return Markup(text_html(str(printable_and_short(text))))


def breakable(name: str) -> Markup:
    """Return a name as HTML that a narrow page breaks behind an underscore, not within a word."""
    from markupsafe import Markup, escape

    return escape(printable_and_short(name)).replace("_", Markup("_<wbr>"))


def with_minus_signs(number: str) -> str:
    """Return a number as text with a minus sign for a hyphen."""
    return number.replace("-", "\N{MINUS SIGN}")


def percent(part: float, whole: float) -> str:
    """Return `part` of `whole` as a whole percentage, such as "33%".

    Only nothing and everything are "0%" and "100%"; "0%" if `whole` is 0.
    """
    share = 100 * part / whole if whole else 0
    percentage = round(share)
    if 0 < share < 100:
        percentage = min(max(percentage, 1), 99)
    return f"{percentage}%"


def separation(correlation: float | None) -> str:
    """Return a correlation with its sign and two decimals, such as "+0.42"; empty for `None`."""
    return "" if correlation is None else f"{correlation:+.2f}"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: `1 student`, `2 students`; the plural ends in `s` unless it is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def breakdown(counts: Counts) -> str:
    """Return the counts in words, without those that are zero: `3 passed, 1 not tried`."""
    counts_in_words = ((getattr(counts, name), words) for name, words in STANDINGS.items())
    return ", ".join(f"{count:,} {words}" for count, words in counts_in_words if count)


def segments(counts: Counts) -> Iterator[BarSegment]:
    """Yield the parts of a bar of width 100 that stands for the whole class, one for each standing that occurs."""
    x = 0.0
    for name in STANDINGS:
        width = 100 * getattr(counts, name) / max(counts.total, 1)
        if width:
            yield BarSegment(name, round(x, 2), round(width, 2))
        x += width


def columns(report: ClassReport) -> Iterator[Column]:
    """Yield the columns of the chart of scores; students who have not begun are a part of the first one."""
    scale = CHART_HEIGHT / max(*report.bins, 1)
    for i, count in enumerate(report.bins):
        blank = sum(report.bin_of(line) == 0 for line in report.not_begun if not line.why_no_score) if i == 0 else 0
        yield Column(100 * i // BINS, count, blank, round(count * scale, 1), round(blank * scale, 1))


def _anchors(report: ClassReport) -> dict[Key, str]:
    """Return by unit and id of an exercise the HTML id of its element on the page, such as "exercise-1"."""
    keys = [(exercise.unit, exercise.id) for unit in report.units for exercise in unit.exercises]
    return {key: f"exercise-{number}" for number, key in enumerate(keys, 1)}


def _rows(report: ClassReport) -> list[StudentLine]:
    """Return the lines of the table of students: those without work, then the lowest score first."""
    without = set(report.without_work)
    return sorted(report.students, key=lambda line: (line not in without, line.score, line.name))


def _hash(style: str) -> str:
    """Return the hash by which the page's security policy allows its own style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


TABLE_HEADER = ("student", "unit", "exercise", "answer", "status", "score", "max_score", "code", "message", "stuck")

AddStudent = Callable[[StudentLine, Iterable[GradedExercise]], None]


@contextmanager
def answer_table(file: BinaryIO) -> Iterator[AddStudent]:
    """Write a CSV table to a file, student by student, with one line for each answer.

    The scores in a student's lines add up to the student's score; an answer that is not graded has none. A change of
    the points is a line of its own, and so is the reason why a student has no score. The file stays open.

    Yields:
        The function to call with each student's line and exercises.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    text.write(f"{csv_text(TABLE_HEADER)}\r\n")

    def add(line: StudentLine, exercises: Iterable[GradedExercise]) -> None:
        name, stuck = (csv_text([no_formula(cell), ""]) for cell in (plain(line.name), line.stuck))
        end = f",{stuck[:-1]}\r\n"
        text.write("".join(f"{name}{cells}{end}" for exercise in exercises for cells in exercise.table_cells))
        for change in line.changes:
            unit, exercise = (change.place, "") if change.status == "late" else ("", change.place)
            places = map(no_formula, (unit, exercise))
            cells = [*places, "", change.status, number(change.points), "", "", no_formula(plain(change.reason))]
            text.write(f"{name}{csv_text(cells)}{end}")
        if line.why_no_score and not line.exercises.ungraded:
            cells = ["", "", "", "no score", "", "", "", no_formula(plain(line.why_no_score))]
            text.write(f"{name}{csv_text(cells)}{end}")

    yield add
    text.flush()
    text.detach()
