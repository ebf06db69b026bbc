"""The command `handgrad report`: a class's results as one page to read and one table to calculate with."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.errors import UsageError
from grader.safe_text import plain

if TYPE_CHECKING:
    from grader.classroom.class_report import AnswerReport, ClassReport, ExerciseReport
    from grader.classroom.student_results import Note, StudentResults, UnreadableResult
    from grader.course.course_file import CourseFile

    Entries = Iterable[StudentResults | UnreadableResult | Note]

RESULTS, PAGE, TABLE_SUFFIX = Path("grades"), "report.html", ".csv"
NAMED = 5
LEAST_SEPARATION = 0.1


def report(
    results: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="What grade --out wrote; the folder grades, if left out.")
    ] = None,
    gradebook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="nbgrader's gradebook, such as sqlite:///gradebook.db, in place of DIR."),
    ] = None,
    unit: Annotated[list[str] | None, typer.Option(metavar="UNIT", help="Only this unit; may be repeated.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; the CSV goes beside it. DIR/report.html, if left out."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what the class made of each quiz question, as JSON.")
    ] = False,
) -> None:
    """For instructors: show how a class is doing, on one HTML page and as CSV."""
    entries, source, folder = _open_source(results, gradebook)
    page = out or folder / PAGE
    made = _write(entries, source, page, unit or ())
    print(_questions_json(made) if as_json else _summary(made, page))
    if made.broken:
        named = "; ".join(f"{plain(entry.name)}: {plain(entry.why)}" for entry in made.broken[:NAMED])
        more = f"; and {len(made.broken) - NAMED} more" if len(made.broken) > NAMED else ""
        print(f"handgrad: not counted: {named}{more}. Put that right, and make the report anew.", file=sys.stderr)
    raise typer.Exit(3 if made.broken else 0)


def _open_source(results: Path | None, gradebook: str | None) -> tuple[Entries, str, Path]:
    """The class, what it is called, and the folder for its report; reading has begun, so that the source is there.

    Raises:
        UsageError: it cannot be read.
    """
    if results is not None and gradebook is not None:
        raise UsageError("A report is made from one class: name a folder or --gradebook, not both.")
    entries: Iterator[StudentResults | UnreadableResult | Note]
    if gradebook is None:
        from grader.classroom.student_results import read_folder

        folder = results or RESULTS
        source, entries = str(folder), read_folder(folder, for_counting=True)
    else:
        from grader.nbgrader.database import url_without_password
        from grader.nbgrader.gradebook_results import read_gradebook

        folder, entries = Path(), read_gradebook(gradebook)
    first = next(entries)
    return chain([first], entries), source if gradebook is None else url_without_password(gradebook), folder


def _write(entries: Entries, source: str, page: Path, units: Collection[str]) -> ClassReport:
    """Write both files, each whole or not at all.

    Raises:
        UsageError: they cannot be written, or there is no such unit.
    """
    from grader.classroom.class_report import Tally
    from grader.classroom.report_files import PageSource, answer_table, html
    from grader.classroom.student_results import StudentResults
    from grader.files import whole_file, write_atomically

    entries, course = _with_course_name(entries)
    table, tally = _csv_path(page), Tally(_course_file(course), units)
    with _writable(table), whole_file(table) as file:
        with answer_table(file) as add:
            for entry in entries:
                if isinstance(entry, StudentResults):
                    add(*tally.add(entry))
                else:
                    tally.add_uncounted(entry)
        counted = tally.report()
    text = html(counted, PageSource(source, table.name, datetime.now().astimezone()))
    with _writable(page):
        write_atomically(page, text.encode("utf-8", "replace"))
    return counted


def _csv_path(page: Path) -> Path:
    """Where the CSV goes.

    Raises:
        UsageError: the page has no place there.
    """
    if page.is_dir():
        raise UsageError(f"{page} is a folder: name a file with --out, such as {page / PAGE}")
    if page.suffix.lower() == TABLE_SUFFIX:
        raise UsageError(f"--out names the page, and the CSV goes beside it: --out {page.with_suffix('.html')}")
    return page.with_suffix(TABLE_SUFFIX)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = "its folder is a file" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"{path} cannot be written ({why}): name another file with --out.") from error


def _with_course_name(entries: Entries) -> tuple[Entries, str]:
    """The same entries, and the course that the first student was graded in; empty where there is none."""
    from grader.classroom.student_results import Note, StudentResults, UnreadableResult

    read, rest = list[StudentResults | UnreadableResult | Note](), iter(entries)
    for entry in rest:
        read.append(entry)
        if isinstance(entry, StudentResults):
            return chain(read, rest), entry.course
    return read, ""


def _course_file(course: str) -> CourseFile | None:
    """The course that the command is run in, else the one graded with here if it has this name: it knows titles,
    teaching order and what is stretch.
    """
    from grader.classroom.course_choice import class_course
    from grader.course.course import COURSE_FILE, find_root
    from grader.course.course_file import read_course_file
    from grader.errors import CourseError

    if root := find_root(Path.cwd()):
        return read_course_file(root / COURSE_FILE)
    try:
        found = class_course(Path.cwd()).config
    except CourseError:
        return None
    return found if found.course == course else None


def _summary(made: ClassReport, page: Path) -> str:
    from grader.classroom.report_files import count_of, points

    median = "" if made.median is None else f", median {points(made.median)} of {points(made.max_score)}"
    broken = f", {count_of(len(made.broken), 'result')} not read" if made.broken else ""
    class_ = (
        f"{count_of(len(made.students), 'student')}{median}, {made.finished} finished, {len(made.stuck)} stuck{broken}"
    )
    return f"{page} and {_csv_path(page)}: {class_}.{_weak_questions(made)}"


def _weak_questions(made: ClassReport) -> str:
    """The quiz questions that do not separate strong from weak; empty where all do, or nothing is known."""
    from grader.classroom.report_files import separation

    weak = sorted((asked.separation, quiz.id, asked.name) for quiz, asked in _questions(made)
                  if asked.separation is not None and asked.separation < LEAST_SEPARATION)  # fmt: skip
    named = ", ".join(f"{quiz} {name} ({separation(found)})" for found, quiz, name in weak[:NAMED])
    more = f" and {len(weak) - NAMED} more" if len(weak) > NAMED else ""
    return f" Hardly separates strong from weak: {named}{more}." if weak else ""


def _questions(made: ClassReport) -> Iterator[tuple[ExerciseReport, AnswerReport]]:
    """Every question of every quiz."""
    for unit in made.units:
        for exercise in unit.exercises:
            if exercise.is_quiz:
                yield from ((exercise, answer) for answer in exercise.answers)


def _questions_json(made: ClassReport) -> str:
    """What the class made of each question."""
    import json

    questions = [
        {
            "quiz": quiz.id, "question": asked.name, "passed": asked.counts.passed, "wrong": asked.counts.wrong,
            "not_read": asked.counts.unread, "wrong_answers": dict(asked.given),
            "separation": None if asked.separation is None else round(asked.separation, 3),
        }
        for quiz, asked in _questions(made)
    ]  # fmt: skip
    return json.dumps({"questions": questions}, indent=1)
