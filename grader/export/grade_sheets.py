"""Points entered in the CSV file that an instructor exported from Canvas or Moodle, to be imported there again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

from grader.classroom.student_results import StudentResults
from grader.course.course import Course
from grader.errors import UsageError
from grader.safe_text import no_formula

from .graded_work import Exported, ExportOptions, answers, is_graded, max_score, number, of_points, score, share, text

BYTE_ORDER_MARK = "\ufeff"
DELIMITERS = ",;\t"
NAMED = 5
MOST_FEEDBACK = 60
WORDS = re.compile(r"[^\W_]+")
PARTICIPANT = re.compile(r"(?:\A|\D)(\d+)\Z")
HANDED_IN = re.compile(r"_(\d+)_assignsubmission_")
CANVAS_ASSIGNMENT = re.compile(r" \(\d+\)\Z")
POSSIBLE, READ_ONLY = "Points Possible", "(read only)"
GRADE, MAXIMUM, FEEDBACK = "grade", "maximum grade", "feedback comments"


@dataclass
class CsvCell:
    """One cell as it is written, and what follows it: a delimiter, the end of a line, or nothing."""

    written: str
    end: str

    @property
    def value(self) -> str:
        """The cell as a reader gets it."""
        if len(self.written) > 1 and self.written.startswith('"') and self.written.endswith('"'):
            return self.written[1:-1].replace('""', '"')
        return self.written


class CellTable:
    """The rows of a CSV file by RFC 4180, delimited by commas, semicolons or tabs; the first row is its header.

    Raises:
        UsageError: it is empty.
    """

    def __init__(self, content: bytes) -> None:
        try:
            text, self._encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:  # any byte is a character of it, and the same byte again when it is written
            text, self._encoding = content.decode("latin-1"), "latin-1"
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        text = text.removeprefix(BYTE_ORDER_MARK)
        first = text.partition("\n")[0]
        if not first.strip():
            raise UsageError("The CSV file is empty: export it once more, and name it with --fill.")
        self._delimiter = max(DELIMITERS, key=first.count)
        self.rows = list(self._read(text))

    def _read(self, text: str) -> Iterator[list[CsvCell]]:
        quoted, plain = r'"(?:[^"]|"")*+(?:"|\Z)', rf'[^"{self._delimiter}\r\n]+'
        cell = re.compile(rf"((?:{quoted}|{plain})*+)({self._delimiter}|\r\n|\n|\r|\Z)")
        row: list[CsvCell] = []
        for found in cell.finditer(text):
            if found.end() == found.start() and not row:  # after the end of the last line
                return
            row.append(CsvCell(found[1], found[2]))
            if found[2] != self._delimiter:
                yield row
                row = []

    def values(self, row: int) -> list[str]:
        return [cell.value for cell in self.rows[row]]

    def put(self, row: int, column: int, value: str) -> None:
        """Write one cell, in quotes if it needs them."""
        needs = any(c in value for c in f'"\r\n{self._delimiter}')
        self.rows[row][column].written = '"' + value.replace('"', '""') + '"' if needs else value

    def content(self) -> bytes:
        """The whole file; a character that its encoding does not have is written as HTML does it."""
        text = "".join(f"{cell.written}{cell.end}" for row in self.rows for cell in row)
        return (self._mark + text).encode(self._encoding, "xmlcharrefreplace")


@dataclass(frozen=True)
class GradeSheet:
    """Where the points go.

    Args:
        column: the cells that take them.
        students: the columns that say who a row is.
        feedback: the column for what was found, if there is one.
    """

    table: CellTable
    column: int
    students: range
    feedback: int | None = None


def canvas(course: Course, records: Sequence[StudentResults], wanted: ExportOptions) -> Exported:
    """Canvas's gradebook. What is left alone: the cells of whoever could not be graded, or has no record.

    Raises:
        UsageError: there is no such file, or it is no gradebook of Canvas.
    """
    table = _table(wanted, "Grades, Export, Export Entire Gradebook")
    header = table.values(0)
    row = next((row for row in range(1, len(table.rows)) if POSSIBLE in table.values(row)[0]), None)
    possible = table.values(row) if row is not None else [""] * len(header)
    if "ID" not in header[1:3]:
        raise UsageError("This is no gradebook of Canvas: its first columns must be Student and ID. Export it again.")
    open_ones = [
        at for at, name in enumerate(header)
        if CANVAS_ASSIGNMENT.search(name) and READ_ONLY not in (possible[at] if at < len(possible) else "")
    ]  # fmt: skip
    column = _column(header, wanted.column, open_ones)
    last = header.index("Section") if "Section" in header else column
    most = _points(possible[column]) if column < len(possible) else None
    sheet = GradeSheet(table, column, range(min(last, column)))
    rows = [each for each in range(1, len(table.rows)) if each != row]
    return _filled(sheet, records, wanted, dict.fromkeys(rows, most), "canvas.csv")


def moodle(course: Course, records: Sequence[StudentResults], wanted: ExportOptions) -> Exported:
    """The grading worksheet of a Moodle assignment, with feedback comments where it has a column for them.

    Raises:
        UsageError: there is no such file, or it is no grading worksheet.
    """
    table = _table(wanted, "View all submissions, Download grading worksheet")
    header = table.values(0)
    names = [name.strip().casefold() for name in header]
    column = _column(header, wanted.column, [at for at, name in enumerate(names) if name == GRADE])
    maximum = names.index(MAXIMUM) if MAXIMUM in names else None
    feedback = names.index(FEEDBACK) if FEEDBACK in names else None
    sheet = GradeSheet(table, column, range(column), feedback)
    most = {}
    for row in range(1, len(table.rows)):
        values = table.values(row)
        most[row] = _points(values[maximum]) if maximum is not None and maximum < len(values) else None
    return _filled(sheet, records, wanted, most, "moodle.csv")


def _table(wanted: ExportOptions, where: str) -> CellTable:
    if wanted.sheet is None:
        raise UsageError(f"Points are entered in a CSV file of yours: export it ({where}), and name it with --fill.")
    return CellTable(wanted.sheet)


def _column(header: Sequence[str], named: str, found: Sequence[int]) -> int:
    """The column that takes the points.

    Raises:
        UsageError: it is not clear which.
    """
    if named:
        asked = named.strip().casefold()
        known = [CANVAS_ASSIGNMENT.sub("", name.strip()).casefold() for name in header]
        found = [at for at, name in enumerate(header) if asked in (name.strip().casefold(), known[at])]
    if len(found) != 1:
        listed = ", ".join(text(header[at]) for at in (found or range(len(header)))[:20])
        raise UsageError(f"Which column takes the points? Name one with --column. There are: {listed}.")
    return found[0]


def _points(cell: str) -> float | None:
    """How many points a cell says that there are; `None` where it says none."""
    try:
        most = float(cell.strip().replace(",", "."))
    except ValueError:
        return None
    return most if 0 < most < float("inf") else None


def _filled(
    sheet: GradeSheet,
    records: Sequence[StudentResults],
    wanted: ExportOptions,
    most: Mapping[int, float | None],
    name: str,
) -> Exported:
    """The sheet with the points of everybody whose points are known and whose row is found.

    Args:
        most: the points that the platform counts, by row.
    """
    rows, problems = _rows_of(sheet, records, most)
    changed = filled = 0
    scaled = False
    for record, row in rows:
        if not is_graded(record):
            continue
        out_of = wanted.out_of or most[row] or max_score(record)
        points = number(share(record) * out_of)
        changed += _differs(sheet.table.values(row)[sheet.column], points)
        scaled |= abs(out_of - max_score(record)) > 1e-6
        filled += 1
        sheet.table.put(row, sheet.column, points)
        if sheet.feedback is not None and sheet.feedback < len(sheet.table.rows[row]):
            sheet.table.put(row, sheet.feedback, no_formula(_feedback(record)))
    notes = [f"{filled} of {len(most)} rows filled; {changed} had other points before."]
    if scaled:
        notes.append("Points are scaled to what the file says that there are; --out-of N names another number.")
    return Exported({name: sheet.table.content()}, tuple(notes), problems)


def _differs(before: str, points: str) -> bool:
    """A cell held something else than these points."""
    try:
        return before.strip() != "" and float(before.strip().replace(",", ".")) != float(points)
    except ValueError:
        return True


def _rows_of(
    sheet: GradeSheet, records: Sequence[StudentResults], rows: Iterable[int]
) -> tuple[list[tuple[StudentResults, int]], tuple[str, ...]]:
    """Each record with the one row that it is of; and a sentence on those that have none."""
    known: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows:
        values = sheet.table.values(row)
        if len(values) > sheet.column:
            ending = PARTICIPANT.search(values[0].strip())
            numbered = [f"#{ending[1]}"] if ending else []
            for key in chain(numbered, *(_keys(values[at]) for at in sheet.students)):
                known[key].add(row)
    found = [(record, _row_of(record.student, known)) for record in records]
    taken = Counter(row for _, row in found if row is not None)
    lost = [record.student for record, row in found if row is None or taken[row] > 1]
    named = ", ".join(text(student) for student in lost[:NAMED])
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    problem = f"No row of their own was found for {named}{more}: enter their points by hand."
    return [(record, row) for record, row in found if row is not None and taken[row] == 1], (problem,) if lost else ()


def _row_of(student: str, known: Mapping[str, set[int]]) -> int | None:
    """The row of a student, if there is one and no other."""
    participant = HANDED_IN.search(student)
    numbered = [f"#{participant[1]}"] if participant else []
    for key in (*numbered, *_keys(student)):
        if key in known:
            return next(iter(known[key])) if len(known[key]) == 1 else None
    return None


def _keys(cell: str) -> Iterable[str]:
    """What a student may be known by: an address, a number, or a name, whichever part of it comes first."""
    whole = cell.strip().casefold()
    words = WORDS.findall(whole)
    if not words:
        return
    yield f"={whole}"
    if "@" not in whole:
        yield "".join(words)
        yield " ".join(sorted(words))


def _feedback(record: StudentResults) -> str:
    """What was found, as the HTML that Moodle's comments are."""
    head = f"<p>{number(score(record))} of {number(max_score(record))} points</p>"
    wrong = [each for each in answers(record) if each.answer.status == "failed"]
    items = "".join(
        f"<li><b>{escape(each.name)}</b> ({of_points(each)}): {'<br>'.join(map(escape, each.sentences))}</li>"
        for each in wrong[:MOST_FEEDBACK]
    )
    more = f"<p>and {len(wrong) - MOST_FEEDBACK} more</p>" if len(wrong) > MOST_FEEDBACK else ""
    return f"{head}<ul>{items}</ul>{more}" if wrong else head
