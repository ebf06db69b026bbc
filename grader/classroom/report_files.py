"""The report on a class as an HTML page and as a CSV table."""

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
from grader.results.points import shown
from grader.safe_text import no_formula, plain

from .class_report import BINS, SEVERAL, ClassReport, Counts, StudentLine
from .graded_exercise import GradedExercise, Key, csv_text, number, says

if TYPE_CHECKING:
    from jinja2 import Template

FOLDER = Path(__file__).parent
TEMPLATE, STYLE = "report_page.html.jinja", "report_page.css"
LONGEST = 600
CHART_HEIGHT = 120
STANDINGS = {
    "passed": "passed", "wrong": "wrong", "begun": "part done", "unread": "not readable", "untried": "not tried",
    "ungraded": "not graded",
}  # fmt: skip


@dataclass(frozen=True)
class PageLimits:
    """How many entries each part of the page lists at most; the CSV has them all."""

    students: int = 300
    stuck: int = 60
    not_begun: int = 200
    class_mistakes: int = 10
    exercise_mistakes: int = 8
    where: int = 8
    worst: int = 4
    aside: int = 40


@dataclass(frozen=True)
class PageSource:
    """What a page was made from, and when.

    Args:
        source: what it was made from, as it was named.
        table: the name of the CSV file beside it.
    """

    source: str
    table: str
    on: datetime


@dataclass(frozen=True)
class Segment:
    """A part of a bar: where it begins and how wide it is, in percent."""

    standing: str
    x: float
    width: float


@dataclass(frozen=True)
class Column:
    """One tenth of the points in the chart of scores; heights in pixels.

    Args:
        blank: of the `count` students, those who have not begun.
    """

    begins: int
    count: int
    blank: int
    height: float
    blank_height: float


def html(report: ClassReport, made: PageSource) -> str:
    """The whole page: everything in it is escaped, and its policy lets no script run and nothing be loaded."""
    from markupsafe import Markup

    style = (FOLDER / STYLE).read_text(encoding="utf-8")
    return _template().render(
        report=report, made=made, most=PageLimits(), version=__version__, several=SEVERAL, standings=STANDINGS,
        style=Markup(style), style_hash=_hash(style), columns=list(columns(report)), chart_height=CHART_HEIGHT,
        anchors=_anchors(report), rows=_rows(report),
    )  # fmt: skip


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        finalize=printable_and_short,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(points=points, quote=partial(quote, errors="replace"))
    environment.globals.update(
        segments=segments,
        percent=percent,
        count_of=count_of,
        meaning=says,
        breakdown=breakdown,
        separation=separation,
    )
    return environment.get_template(TEMPLATE)


def printable_and_short(value: object) -> object:
    """A value as the page shows it: text is made printable, and cut where it is too long."""
    from markupsafe import Markup

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    shown = plain(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def points(score: float) -> str:
    """Return points as the page shows them."""
    return shown(score)


def percent(part: float, whole: float) -> str:
    """A whole percentage; 0 and 100 mean none and all."""
    share = 100 * part / whole if whole else 0
    shown = round(share)
    if 0 < share < 100:
        shown = min(max(shown, 1), 99)
    return f"{shown}%"


def separation(found: float | None) -> str:
    """How well a question separates strong from weak: `+0.42`; empty where it is not known."""
    return "" if found is None else f"{found:+.2f}"


def count_of(count: int, one: str, several: str = "") -> str:
    """A count and its noun: `1 student`, `2 students`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def breakdown(counts: Counts) -> str:
    """The counts in words, without those that are zero."""
    found = ((getattr(counts, name), words) for name, words in STANDINGS.items())
    return ", ".join(f"{count:,} {words}" for count, words in found if count)


def segments(counts: Counts) -> Iterator[Segment]:
    """The parts of a bar that stands for everybody."""
    x = 0.0
    for name in STANDINGS:
        width = 100 * getattr(counts, name) / max(counts.total, 1)
        if width:
            yield Segment(name, round(x, 2), round(width, 2))
        x += width


def columns(report: ClassReport) -> Iterator[Column]:
    """The chart of scores; those who have not begun are a part of the first column."""
    scale = CHART_HEIGHT / max(*report.bins, 1)
    for i, count in enumerate(report.bins):
        blank = len(report.not_begun) if i == 0 else 0
        yield Column(100 * i // BINS, count, blank, round(count * scale, 1), round(blank * scale, 1))


def _anchors(report: ClassReport) -> dict[Key, str]:
    keys = [(exercise.unit, exercise.id) for unit in report.units for exercise in unit.exercises]
    return {key: f"exercise-{number}" for number, key in enumerate(keys, 1)}


def _rows(report: ClassReport) -> list[StudentLine]:
    """The table of students: the lowest score first."""
    return sorted(report.students, key=lambda line: (line.score, line.name))


def _hash(style: str) -> str:
    """What the page's policy knows its own style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


HEADER = ("student", "unit", "exercise", "answer", "status", "score", "max_score", "code", "message", "stuck")

Add = Callable[[StudentLine, Iterable[GradedExercise]], None]


@contextmanager
def answer_table(file: BinaryIO) -> Iterator[Add]:
    """Lines by RFC 4180, written student by student.

    The scores in a student's lines add up to the student's score, as far as it is known: what is not graded has none.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    text.write(f"{csv_text(HEADER)}\r\n")

    def add(line: StudentLine, exercises: Iterable[GradedExercise]) -> None:
        name, stuck = (csv_text([no_formula(cell), ""]) for cell in (plain(line.name), line.stuck))
        end = f",{stuck[:-1]}\r\n"
        text.write("".join(f"{name}{cells}{end}" for exercise in exercises for cells in exercise.table_cells))
        for unit, points in line.late:
            late = csv_text([no_formula(unit), "", "", "late", number(-points), "", "", ""])
            text.write(f"{name}{late}{end}")

    yield add
    text.flush()
    text.detach()
