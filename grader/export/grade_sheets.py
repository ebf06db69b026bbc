"""Points entered in the CSV file that an instructor exported from Canvas or Moodle, for import there.

Every byte of the file but the cells that are filled stays unchanged.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import chain

from grader.classroom.class_folder import first_few_names, listed
from grader.classroom.platform_names import composed_name, folded_name
from grader.course.course import Course
from grader.errors import UsageError
from grader.results.points import exact
from grader.results.records import BY_PERSON, StudentResults
from grader.safe_text import no_formula

from .graded_work import Exported, ExportOptions, answers, changes, number, of_points, points_reached, text

CANVAS_FILE, MOODLE_FILE = "canvas.csv", "moodle.csv"
BYTE_ORDER_MARK = "\ufeff"
DELIMITERS = ",;\t"
NAMED = 5
ROUNDING = 1e-6  # points
MOST_FEEDBACK = 60
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
WORDS = re.compile(r"[^\W_]+")
FULL_NAME = re.compile(r"\w[ ,]+\w")  # of two words or more
PARTICIPANT = re.compile(r"(?:\A|\D)(\d+)\Z")
HANDED_IN = re.compile(r"_(\d+)_assignsubmission_")
DOWNLOADED = re.compile(r"(.+)_(\d+)")  # the name of a student in a download of Canvas or Moodle that had no roster
CANVAS_ASSIGNMENT = re.compile(r" \(\d+\)\Z")
TEST_STUDENT = "Student, Test"
EXCUSED = "EX"  # in the cell of a student who need not hand in
POSSIBLE, READ_ONLY = "Points Possible", "(read only)"
GRADE, MAXIMUM, FEEDBACK = "grade", "maximum grade", "feedback comments"
NO_POINTS = frozenset({  # columns of the platforms that take no points
    "student", "id", "sis user id", "sis login id", "integration id", "root account", "section", "identifier",
    "full name", "id number", "email address", "status", MAXIMUM, "grade can be changed", "last modified (submission)",
    "last modified (grade)", "online text", FEEDBACK,
})  # fmt: skip

COLUMNS = {  # what identifies a student in the columns of the platforms; the form of other cells shows it
    "id": "platform", "student": "full", "full name": "full", "status": "", "root account": "",
    **dict.fromkeys(("sis user id", "sis login id", "integration id", "id number", "email address"), "login"),
}  # fmt: skip
BY_NAME = "Found by the name alone, since the file has other addresses, logins or numbers than the results"
BY_LOGIN = "Found by a login or number alone, since the file has other names than the results"


@dataclass
class CsvCell:
    """A cell exactly as the file writes it, and what ends it: a delimiter, an end of line, or nothing."""

    written: str
    end: str

    @property
    def value(self) -> str:
        """Return the text of the cell: without quotes around it, if any, and with each doubled quote inside as one."""
        if len(self.written) > 1 and self.written.startswith('"') and self.written.endswith('"'):
            return self.written[1:-1].replace('""', '"')
        return self.written


class CellTable:
    """The rows of a CSV file by RFC 4180, delimited by commas, semicolons or tabs; the first row is its header.

    Args:
        content: the bytes of the file.

    Raises:
        UsageError: the file is empty.
    """

    def __init__(self, content: bytes) -> None:
        """Read the rows of a file; the character that occurs most often in its first line is the delimiter.

        The bytes are read as UTF-8 or, if they are none, as Latin-1.

        Raises:
            UsageError: the file is empty.
        """
        try:
            text, self._encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:  # latin-1 decodes any byte and encodes it unchanged
            text, self._encoding = content.decode("latin-1"), "latin-1"
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        text = text.removeprefix(BYTE_ORDER_MARK)
        first = text.partition("\n")[0]
        if not first.strip():
            raise UsageError("The CSV file is empty: export it once more, and name it with --fill.")
        self._delimiter = max(DELIMITERS, key=first.count)
        self.rows = list(self._read(text))

    def _read(self, text: str) -> Iterator[list[CsvCell]]:
        """Yield the rows of the file's text, the header first.

        An empty line is a row of one empty cell; a quote that is never closed takes in the rest of the text.
        """
        quoted, plain = r'"(?:[^"]|"")*+(?:"|\Z)', rf'[^"{self._delimiter}\r\n]+'
        cell = re.compile(rf"((?:{quoted}|{plain})*+)({self._delimiter}|\r\n|\n|\r|\Z)")
        row: list[CsvCell] = []
        for match in cell.finditer(text):
            if match.end() == match.start() and not row:  # after the end of the last line
                return
            row.append(CsvCell(match[1], match[2]))
            if match[2] != self._delimiter:
                yield row
                row = []

    def values(self, row: int) -> list[str]:
        """Return the texts of the cells of the row with this index, from 0, which is the header."""
        return [cell.value for cell in self.rows[row]]

    @cached_property
    def decimal_mark(self) -> str:
        """Return what its numbers have before their decimals: a comma if any cell is such a number, else a point."""
        cells = (cell.value.strip() for row in self.rows[1:] for cell in row)
        return "," if any(map(DECIMAL_COMMA.fullmatch, cells)) else "."

    def put(self, row: int, column: int, value: str) -> None:
        """Write a value into the cell with these indices, from 0, in quotes if the value needs them."""
        needs = any(c in value for c in f'"\r\n{self._delimiter}')
        self.rows[row][column].written = '"' + value.replace('"', '""') + '"' if needs else value

    def content(self) -> bytes:
        """Return the bytes of the whole file; a character that its encoding lacks becomes an HTML reference."""
        text = "".join(f"{cell.written}{cell.end}" for row in self.rows for cell in row)
        return (self._mark + text).encode(self._encoding, "xmlcharrefreplace")


@dataclass(frozen=True)
class GradeSheet:
    """A platform's table, and where points go in it.

    Args:
        table: the file's cells.
        column: the index of the column for points.
        students: the indices of the columns that identify a row's student.
        feedback: the index of the column for feedback; `None` if there is none.
    """

    table: CellTable
    column: int
    students: range
    feedback: int | None = None


@dataclass(frozen=True)
class Identity:
    """Hold what identifies a student, as a record or a row has it, in the form in which it is compared.

    Args:
        addresses: the e-mail addresses.
        logins: what is one word, such as a login.
        numbers: the numbers, without the zeros at their beginning.
        platform_numbers: the numbers that the platform gave, or may have given.
        full_names: the names of several words.
    """

    addresses: frozenset[str]
    logins: frozenset[str]
    numbers: frozenset[str]
    platform_numbers: frozenset[str]
    full_names: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str], platform_numbers: Iterable[str] = (), logins: Iterable[str] = ()) -> Identity:
        """Return what identifies a student by all names that are known; empty ones are ignored.

        Args:
            names: the names, logins, numbers and addresses of the student, which are told apart by their form.
            platform_numbers: numbers that the platform gave; that of "Participant 411" is added.
            logins: logins, numbers and addresses, which are no names, whatever their form.
        """
        folded, others = ({_folded_cell(name) for name in each} - {""} for each in (names, logins))
        addresses = {name for name in folded | others if "@" in name}
        numbers = {name for name in folded | others if name.isdecimal()}
        full_names = {name for name in folded - addresses if FULL_NAME.search(name)}
        participants = [match[1] for name in full_names if (match := PARTICIPANT.search(name))]
        return cls(
            frozenset(addresses),
            frozenset(others | (folded - full_names)) - addresses - numbers,
            frozenset(number.lstrip("0") for number in numbers),
            frozenset((*platform_numbers, *participants)),
            frozenset(full_names),
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words of the full names, without those of names that end with a number, such as a platform's."""
        names = (name for name in self.full_names if not PARTICIPANT.search(name))
        return frozenset(folded_name(word) for name in names for word in WORDS.findall(name))

    def agreeing(self, row: Identity) -> set[str]:
        """Return the fields, except the words of names, in which a row has something of a record.

        A login may be the part of an address before the @, on either side, and any number the one that Canvas gave.
        """
        starts, starts_there = ({address.partition("@")[0] for address in each.addresses} for each in (self, row))
        pairs = {
            "addresses": self.addresses & row.addresses,
            "logins": (self.logins | self.full_names | starts) & row.logins | self.logins & starts_there,
            "numbers": self.numbers & row.numbers,
            "platform_numbers": (self.platform_numbers | self.numbers) & row.platform_numbers,
        }
        return {field for field, shared in pairs.items() if shared}

    def differing(self, row: Identity) -> set[str]:
        """Return the fields, of addresses, logins and numbers, in which a record and a row have nothing in common."""
        pairs = {
            "addresses": (self.addresses, row.addresses),
            "logins": (self.logins, row.logins),
            "numbers": (self.numbers, row.numbers),
        }
        return {field for field, (own, there) in pairs.items() if own and there and not own & there}

    def is_called_otherwise(self, row: Identity) -> bool:
        """Return whether no word of the names is the same, in names that can be compared: not in two scripts."""
        are_latin = [any(map(str.isascii, words)) for words in (self.words, row.words)]
        return bool(self.words and row.words and not self.words & row.words) and are_latin[0] == are_latin[1]


@dataclass(frozen=True)
class _RowMatches:
    """Hold which record belongs in which row of a sheet.

    Args:
        rows: each record that has a row of its own, with that row's index, in the order of the records.
        notes: sentences on students who were found by one thing alone, though something else in the row differs.
        problems: sentences on the students with a score but without a row.
    """

    rows: Sequence[tuple[StudentResults, int]]
    notes: Sequence[str]
    problems: tuple[str, ...]


def canvas(course: Course, records: Sequence[StudentResults], options: ExportOptions) -> Exported:
    """Fill Canvas's gradebook; cells of students without a record or without a known score stay unchanged.

    So does a cell that says `EX`, for a student who is excused.

    Args:
        course: not read; every exporter takes it.
        records: the students' results.
        options: `sheet` is the gradebook as Canvas exported it; `column` and `out_of` are read as well.

    Returns:
        `canvas.csv`, and notes on rows and students.

    Raises:
        UsageError: there is no sheet, the sheet is not Canvas's gradebook, it is unclear which column takes the points,
            or Canvas computes that column itself.
    """
    table = _table(options, "Grades, Export, Export Entire Gradebook")
    header = table.values(0)
    row = next((row for row in range(1, len(table.rows)) if POSSIBLE in table.values(row)[0]), None)
    possible = table.values(row) if row is not None else [""] * len(header)
    if "ID" not in header[1:3]:
        raise UsageError("This is no gradebook of Canvas: its first columns must be Student and ID. Export it again.")
    open_ones = [
        at for at, name in enumerate(header)
        if CANVAS_ASSIGNMENT.search(name) and READ_ONLY not in (possible[at] if at < len(possible) else "")
    ]  # fmt: skip
    column = _column(header, options.column, open_ones)
    if column < len(possible) and READ_ONLY in possible[column]:
        raise UsageError(
            f"Canvas does not import the column {text(header[column])}, which it computes itself: name the column of "
            "an assignment with --column."
        )
    last = header.index("Section") if "Section" in header else column
    most = _points(possible[column]) if column < len(possible) else None
    sheet = GradeSheet(table, column, range(min(last, column)))
    rows = [index for index in range(1, len(table.rows)) if index != row and _is_of_student(table.values(index), sheet)]
    return _filled_sheet(sheet, records, options, dict.fromkeys(rows, most), CANVAS_FILE)


def moodle(course: Course, records: Sequence[StudentResults], options: ExportOptions) -> Exported:
    """Fill the grading worksheet of a Moodle assignment, and its feedback comments if it has a column for them.

    Args:
        course: not read; every exporter takes it.
        records: the students' results.
        options: `sheet` is the worksheet as Moodle exported it; `column` and `out_of` are read as well.

    Returns:
        `moodle.csv`, and notes on rows and students.

    Raises:
        UsageError: there is no sheet, the sheet is not a grading worksheet or has a column twice, it is unclear which
            column takes the points, or `out_of` is above a maximum in the worksheet.
    """
    table = _table(options, "View all submissions, Download grading worksheet")
    header = table.values(0)
    if header[:2] == ["Student", "ID"]:
        raise UsageError("This is a gradebook of Canvas, and no grading worksheet of Moodle: export --to canvas.")
    names = [_folded_cell(name) for name in header]
    column = _column(header, options.column, [at for at, name in enumerate(names) if name == GRADE])
    if repeated := next((name for name in (MAXIMUM, FEEDBACK) if names.count(name) > 1), ""):
        raise UsageError(f"The worksheet has several columns {header[names.index(repeated)]!r}: remove all but one.")
    maximum = names.index(MAXIMUM) if MAXIMUM in names else None
    feedback = names.index(FEEDBACK) if FEEDBACK in names else None
    sheet = GradeSheet(table, column, range(column), feedback)
    most = {}
    for row in range(1, len(table.rows)):
        values = table.values(row)
        most[row] = _points(values[maximum]) if maximum is not None and maximum < len(values) else None
    return _filled_sheet(sheet, records, options, most, MOODLE_FILE)


def _is_of_student(values: Sequence[str], sheet: GradeSheet) -> bool:
    """Return whether a row of Canvas's gradebook is of a student, and not of settings or of Canvas's test student.

    Args:
        values: the values of the row.
        sheet: the gradebook, which has the columns that identify a student.
    """
    names = [values[at].strip() for at in sheet.students if at < len(values)]
    return any(names) and names[0] != TEST_STUDENT


def _table(options: ExportOptions, menu_path: str) -> CellTable:
    """Return the cells of the platform's CSV file.

    Args:
        options: the options of the export; `sheet` is the content of the platform's file.
        menu_path: where the platform exports the file, for the message.

    Raises:
        UsageError: no file was given, or the file is empty.
    """
    if options.sheet is None:
        raise UsageError(
            f"Points are entered in a CSV file of yours: export it ({menu_path}), and name it with --fill."
        )
    return CellTable(options.sheet)


def _column(header: Sequence[str], name: str, candidates: Sequence[int]) -> int:
    """Return the index of the column for the points.

    Args:
        header: the names of all columns.
        name: the name that the instructor gave; empty if none. Case, and the number that Canvas adds, do not matter. A
            column that it names need not be a candidate.
        candidates: the indices that the platform's format allows.

    Raises:
        UsageError: none or several columns fit.
    """
    if name:
        wanted = _folded_cell(name)
        without_ids = [_folded_cell(CANVAS_ASSIGNMENT.sub("", title.strip())) for title in header]
        candidates = [at for at, title in enumerate(header) if wanted in (_folded_cell(title), without_ids[at])]
    possible = [at for at, title in enumerate(header) if _folded_cell(title) not in NO_POINTS]
    candidates = [at for at in candidates if at in possible]
    if len(candidates) != 1:
        listed = ", ".join(text(header[at]) for at in (candidates or possible)[:20])
        which = f"{name} is no column for points" if name and not candidates else "Which column takes the points?"
        advice = f"Name one with --column. There are: {listed or 'none'}."
        raise UsageError(f"{which}{'.' if name and not candidates else ''} {advice}")
    return candidates[0]


def _points(cell: str) -> float | None:
    """Return the possible points that a cell holds; `None` if it holds no number, or a negative one."""
    try:
        most = float(cell.strip().replace(",", "."))
    except ValueError:
        return None
    return most if 0 <= most < float("inf") else None


def _filled_sheet(
    sheet: GradeSheet,
    records: Sequence[StudentResults],
    options: ExportOptions,
    most: Mapping[int, float | None],
    name: str,
) -> Exported:
    """Return the file with the points of every student whose score is known and whose row is unique.

    A cell that says `EX` stays as it is. A row's cell for feedback, where the sheet has one, is filled as well.

    Args:
        sheet: the platform's file, which is changed.
        records: the students' results.
        options: `out_of` overrides the possible points of every row.
        most: the possible points of each row of a student, by the index of the row; `None` where the platform names
            none.
        name: the name of the file that is returned.

    Raises:
        UsageError: `out_of` is above a maximum of Moodle's, which takes no grade above it.
    """
    out_of, least = options.out_of or 0.0, min(filter(None, most.values()), default=math.inf)
    is_above = out_of > least + ROUNDING
    if is_above and name == MOODLE_FILE:
        raise UsageError(
            f"--out-of {number(out_of)} is above the maximum grade in the worksheet, {number(least)}, and Moodle takes "
            "no grade above it: leave out --out-of, or raise the maximum in Moodle and download the worksheet again."
        )
    matches = _match_rows(sheet, records, most)
    changed = filled = late = 0
    scaled, excused = False, list[str]()
    for record, row in matches.rows:
        if record.score is None:
            continue
        if sheet.table.values(row)[sheet.column].strip().upper() == EXCUSED:
            excused.append(text(record.student))
            continue
        possible = out_of or most[row] or record.max_score
        points = number(_scaled_score(record, possible, is_capped=name == MOODLE_FILE))
        changed += _differs(sheet.table.values(row)[sheet.column], points)
        scaled |= abs(possible - record.max_score) > ROUNDING
        late += record.score != record.raw_score
        filled += 1
        sheet.table.put(row, sheet.column, points.replace(".", sheet.table.decimal_mark))
        if sheet.feedback is not None and sheet.feedback < len(sheet.table.rows[row]):
            sheet.table.put(row, sheet.feedback, no_formula(_feedback(record)))
    notes = [f"{filled} of {len(most)} rows filled; {changed} had other points before."]
    if scaled and not out_of:
        notes.append("Points are scaled to what the file says that there are; --out-of N names another number.")
    if filled and not out_of and None in most.values():
        notes.append("The file does not say how many points there are, so none are scaled; --out-of N names a number.")
    if filled and not out_of and 0 in most.values():
        notes.append("The file says that 0 points are possible, so none are scaled; --out-of N names another number.")
    if is_above:
        notes.append(f"The file says that {number(least)} points are possible, fewer than --out-of names.")
    if excused:
        notes.append(f"Excused there, and left as they are: {listed(excused)}.")
    if name == MOODLE_FILE and sheet.feedback is None:
        notes.append(f"No comments are written: the file has no column {FEEDBACK.capitalize()}.")
    notes += matches.notes
    if late:
        notes.append(f"{late} of the scores are after lateness; the records have the raw scores, too.")
    return Exported({name: sheet.table.content()}, notes=tuple(notes), problems=matches.problems)


def _scaled_score(record: StudentResults, out_of: float, *, is_capped: bool) -> float:
    """Return the score of a record, scaled from its possible points to others.

    It stays as it is if no points are possible in the record.

    Args:
        record: the student's results, with a score.
        out_of: the possible points on the platform.
        is_capped: whether a score above `out_of` becomes `out_of`; Moodle ignores a grade above its maximum.
    """
    reached = exact(record.score or 0.0)
    points = reached * exact(out_of) / exact(record.max_score) if record.max_score else reached
    return min(float(points), out_of) if is_capped else float(points)


def _differs(before: str, points: str) -> bool:
    """Return whether a cell held anything else than these points before, a text included; false if it was empty."""
    try:
        return before.strip() != "" and float(before.strip().replace(",", ".")) != float(points)
    except ValueError:
        return True


def _match_rows(sheet: GradeSheet, records: Sequence[StudentResults], rows: Iterable[int]) -> _RowMatches:
    """Match records with rows of a sheet.

    Args:
        sheet: the platform's file.
        records: the students' results.
        rows: the indices of the rows that are a student's.

    Returns:
        The records that have a row of their own, and sentences on students with a score but without a row.
    """
    rows_of: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows:
        values = sheet.table.values(row)
        if len(values) > sheet.column:
            ending = PARTICIPANT.search(values[0].strip())
            numbered = [f"#{ending[1]}"] if ending else []
            keys = list(chain.from_iterable(_keys(values[at]) for at in sheet.students))
            numbers = [number[1] for at in sheet.students if (number := PARTICIPANT.search(values[at].strip()))]
            # Canvas writes the names of files without accents.
            folded = [key for at in sheet.students if (key := folded_name(values[at]))]
            # A login may be the name in either order as one word: two rows where names are each other's reverse.
            reverse = [_reverse_name(values[at]) for at in sheet.students]
            keys += filter(None, reverse)
            exact = [f"=={cell}" for at in sheet.students if (cell := composed_name(values[at].strip()))]
            for key in (
                *exact,
                *numbered,
                *keys,
                *(f"{key}#{number}" for key in (*keys, *folded) for number in numbers),
            ):
                rows_of[key].add(row)
    fits = [(record, at) for record in records if (at := _row_of_record(record, rows_of)) is not None]
    wrong, alone = _contradicted(fits, sheet, rows_of)
    claims: defaultdict[int, list[str]] = defaultdict(list)
    for record, row in fits:
        if record.student not in wrong:
            claims[row].append(record.student)
    own = [
        (record, row)
        for record, row in fits
        if record.student not in wrong and (len(claims[row]) == 1 or _is_exact(record.student, claims[row], sheet, row))
    ]
    students = {record.student for record, _ in own}
    unmatched = [record.student for record in records if record.student not in students and record.score is not None]
    names = [text(student) for student in unmatched]
    # Whose points are entered by hand must be known: no file of the export names them.
    problem = f"No row of their own was found for {listed(names)}: enter their points by hand."
    if not own:
        says = f"No row of their own was found for {first_few_names(names, NAMED)}"
        problem = (
            f"{says}: grade the class with this file as its roster (if you use nbgrader, enter the names with "
            "nbgrader db student import), and export again."
        )
    problems = [problem] if unmatched else []
    if others := [text(student) for student in unmatched if student in wrong]:
        problems.append(
            f"The file has a row with a name or a number of {first_few_names(others, NAMED)}, but what else identifies "
            "its student differs: if it is the same person, correct your roster, and grade the class again."
        )
    students_by = defaultdict[str, list[str]](list)
    for record, _ in own:
        if record.score is not None and record.student in alone:
            students_by[alone[record.student]].append(text(record.student))
    notes = [f"{how}: {first_few_names(students, NAMED)}." for how, students in students_by.items()]
    return _RowMatches(own, notes, tuple(problems))


def _record_identity(record: StudentResults) -> Identity:
    """Return what identifies the student of a record: the name in the results, and all others that are known.

    A name in a download, such as `Ada Lovelace_411` or `lovelaceada_201`, is a number of the platform's.
    """
    names = {record.student, *record.known_as}
    downloads = [match for name in names if (match := DOWNLOADED.fullmatch(name) or HANDED_IN.search(name))]
    return Identity.of(names, {match.groups()[-1] for match in downloads})


def _row_identity(sheet: GradeSheet, row: int) -> Identity:
    """Return what identifies the student of a row of a sheet, by its columns, and by the form of other cells."""
    cells = defaultdict[str, set[str]](set)
    for heading, cell in zip(sheet.table.values(0), sheet.table.values(row)[: sheet.students.stop], strict=False):
        cells[COLUMNS.get(_folded_cell(heading), "name")].add(cell.strip())
    full_names = filter(FULL_NAME.search, cells["full"])  # a single word is no login there
    return Identity.of({*cells["name"], *full_names}, cells["platform"], cells["login"])


def _contradicted(
    fits: Sequence[tuple[StudentResults, int]], sheet: GradeSheet, rows_of: Mapping[str, set[int]]
) -> tuple[set[str], dict[str, str]]:
    """Return the students whose rows are another student's, and of others, in a clause, what alone they were found by.

    A row that was found by a name is another student's if it has another address, login or number, and one that was
    found by a number or login, if it has another name. Where most of the class has others there, they are of another
    kind than in the records, and say nothing; neither do other names in a file that has nobody's. A number in Canvas's
    own column must agree with something else, since the roster's may be of another kind.

    Args:
        fits: the records that fit a row, each with the index of that row.
        sheet: the platform's file.
        rows_of: the rows that each key of `_keys` occurs in.
    """
    wrong, differing, kinds = set[str](), dict[str, set[str]](), Counter[tuple[str, bool]]()
    for record, row in fits:
        own, there = _record_identity(record), _row_identity(sheet, row)
        names = {login for login in own.logins if row in _rows_of_name(login, rows_of)} - there.logins
        own = replace(own, logins=own.logins - names)  # such as franklinben, which is a name
        agreeing, others = own.agreeing(there), own.differing(there)
        is_named = bool(own.words & there.words)
        if agreeing == {"platform_numbers"} and not (own.platform_numbers & there.platform_numbers or is_named):
            wrong |= {record.student} if own.words or own.addresses else set()
        elif not agreeing:
            differing[record.student] = others
        elif "addresses" not in agreeing and own.is_called_otherwise(there):
            differing[record.student] = {"words"}
        kinds.update((kind, True) for kind in (*agreeing, *(["words"] if is_named else [])))
        kinds.update((kind, False) for kind in (*others, *(["words"] if own.is_called_otherwise(there) else [])))
    alone = dict[str, str]()
    for student, fields in differing.items():
        # One student alone does not show that addresses are of another kind; a single name shows that names are not.
        least = {field: 0 if field == "words" else 1 for field in fields}
        if any(kinds[field, False] <= max(kinds[field, True], least[field]) for field in fields):
            wrong.add(student)
        elif fields:
            alone[student] = BY_LOGIN if fields == {"words"} else BY_NAME
    return wrong, alone


def _is_exact(student: str, claims: Sequence[str], sheet: GradeSheet, row: int) -> bool:
    """Return whether a row belongs to a student, though several students fit the row.

    It does if the student's name stands in a cell exactly, and the other names are the same but for capital letters.

    Args:
        student: the student's name in the record.
        claims: the names of all students that the row fits.
        sheet: the platform's file.
        row: the index of the row.
    """
    cells = [sheet.table.values(row)[at] for at in sheet.students]
    return student in cells and {other.casefold() for other in claims} == {student.casefold()}


def _row_of_record(record: StudentResults, rows_of: Mapping[str, set[int]]) -> int | None:
    """Return the index of the only row that fits a record; `None` if none does, or another fits another of its names.

    If no row fits the record's own name, its other full names and addresses count. A number on the roster may be of
    another kind than the platform's, and another student's there.

    Args:
        record: the student's results.
        rows_of: the rows that each key of `_keys` occurs in.
    """
    rows = _rows_of_name(record.student, rows_of)
    rows_by_name = {name: _rows_of_name(name, rows_of) for name in record.known_as if not name.isdecimal()}
    others = [other for other in rows_by_name.values() if other]
    if not rows:  # a single word may be another student's login there
        by_full_name = [
            other for name, other in rows_by_name.items() if other and (FULL_NAME.search(name) or "@" in name)
        ]
        rows = set.intersection(*by_full_name) if by_full_name else set()
    return next(iter(rows)) if len(rows) == 1 and all(rows <= other for other in others) else None


def _rows_of_name(student: str, rows_of: Mapping[str, set[int]]) -> set[int]:
    """Return the indices of the rows that the strictest of a student's keys occurs in; empty if none does.

    Args:
        student: the student's name in the record.
        rows_of: the rows that each key of `_keys` occurs in.
    """
    participant = HANDED_IN.search(student)
    numbered = [f"#{participant[1]}"] if participant else []
    downloaded = DOWNLOADED.fullmatch(student)
    names = [*_keys(downloaded[1]), folded_name(downloaded[1])] if downloaded else []
    named = [f"{name}#{downloaded[2]}" for name in names if downloaded and name]
    for key in (f"=={composed_name(student.strip())}", *numbered, *_keys(student), *named):
        if key in rows_of:
            return rows_of[key]
    return set()


def _folded_cell(cell: str) -> str:
    """Return a heading or a name without space around it, in lower case, and with each accented letter as one."""
    return composed_name(cell.strip()).casefold()


def _keys(cell: str) -> Iterable[str]:
    """Yield keys under which a student's name or address is looked up, the strictest first.

    "Lovelace, Ada" gives "=lovelace, ada", "ada lovelace" and "lovelaceada"; an address gives the first kind alone. The
    second key is the same whichever part of a name comes first, so that it has two rows where two students have the
    same names in the other order; the third is for names that platforms write as one word.
    """
    whole = _folded_cell(cell)
    words = WORDS.findall(whole)
    if whole:
        yield f"={whole}"
    if words and "@" not in whole:
        yield " ".join(sorted(words))
        yield "".join(words)


def _reverse_name(cell: str) -> str:
    """Return a name as one word, in the other order: "adalovelace" of "Lovelace, Ada".

    Without a comma the last word comes first: "lovelaceadaking" of "Ada King Lovelace". Empty of an address or of a
    single word.
    """
    last, comma, first = _folded_cell(cell).partition(",")
    words = WORDS.findall(last)
    if "@" in cell or not (comma or len(words) > 1):
        return ""
    return "".join([*WORDS.findall(first), *words] if comma else [words[-1], *words[:-1]])


def _feedback(record: StudentResults) -> str:
    """Return what a student is told of the grade as HTML, the format of Moodle's comments.

    That is the points; the wrong answers, of which at most `MOST_FEEDBACK` are written out; the exercises graded by a
    person; the changes of points; and what was not attempted.
    """
    parts = [f"<p>{points_reached(record)}</p>"]
    wrong = [answer for answer in answers(record) if answer.answer.status == "failed"]
    items = [
        f"<li><b>{escape(answer.name)}</b> ({of_points(answer)}): {'<br>'.join(map(escape, answer.sentences))}</li>"
        for answer in wrong[:MOST_FEEDBACK]
    ]
    items += [f"<li><b>{escape(text(name))}</b>: {BY_PERSON}</li>" for name in record.graded_by_person]
    items += [f"<li>{escape(change.sentence)}</li>" for change in changes(record)]
    if items:
        parts.append(f"<ul>{''.join(items)}</ul>")
    if len(wrong) > MOST_FEEDBACK:
        parts.append(f"<p>and {len(wrong) - MOST_FEEDBACK} more</p>")
    if todo := [answer.name for answer in answers(record) if answer.answer.status == "todo"]:
        parts.append(f"<p>Not attempted: {escape(', '.join(todo))}</p>")
    return "".join(parts)
