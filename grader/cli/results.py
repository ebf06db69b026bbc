"""The commands for instructors that make something of graded results: a report on the class, files for platforms."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from grader.errors import UsageError
from grader.safe_text import one_line, plain, print_message

if TYPE_CHECKING:
    from grader.classroom.class_report import AnswerReport, ClassReport, ExerciseReport
    from grader.classroom.student_results import Note, UnreadableResult
    from grader.course.course import Course, CourseExercise
    from grader.course.course_file import CourseFile
    from grader.export.graded_work import Exported
    from grader.rendering.picture_making import RecordedMistakes
    from grader.results.records import ExerciseResult, StudentResults

    Entries = Iterable[StudentResults | UnreadableResult | Note]

# --- report ---------------------------------------------------------------------------------------------------------

PAGE, TABLE_SUFFIX = "report.html", ".csv"
MOST_NAMED = 5
LEAST_SEPARATION = 0.1


def report(
    results: Annotated[
        str | None,
        typer.Argument(
            metavar="DIR",
            help="The folder that grade --out wrote, or an assignment of class.yaml; grades, if left out.",
        ),
    ] = None,
    gradebook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="nbgrader's gradebook, such as sqlite:///gradebook.db, in place of DIR."),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Only this unit, such as 04_linear or 4; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The file of the page; the CSV goes beside it. DIR/report.html, if left out."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print how the class answered each quiz question, as JSON.")
    ] = False,
) -> None:
    """For instructors: show how a class is doing, on one HTML page and as CSV."""
    entries, source, folder = _open_source(results, gradebook)
    page = out or folder / PAGE
    with _naming_outdated(None if gradebook else folder) as note:
        class_report = _write_report(map(note, entries), source, page, unit or (), None if gradebook else folder)
    print_message(questions_json(class_report) if as_json else summary_line(class_report, page))
    if class_report.broken:
        named = "; ".join(f"{plain(entry.name)}: {plain(entry.why)}" for entry in class_report.broken[:MOST_NAMED])
        more = f"; and {len(class_report.broken) - MOST_NAMED} more" if len(class_report.broken) > MOST_NAMED else ""
        print_message(f"handgrad: not counted: {named}{more}. Put that right, and make the report anew.", sys.stderr)
    raise typer.Exit(3 if class_report.broken else 1 if gradebook is None and _is_unfinished(folder) else 0)


@contextmanager
def _naming_outdated(
    results: Path | None,
) -> Iterator[Callable[[StudentResults | UnreadableResult | Note], StudentResults | UnreadableResult | Note]]:
    """Yield a function to call with each entry; at the end say on stderr what has changed since the results were made.

    That is: whose record lacks changes in `adjustments.csv`, whether a line of this file is wrong, whether the units of
    the assignment or what late work loses have changed, and whether the run that made the results has not finished.

    Args:
        results: the results folder, or a record; `None` for a gradebook, to which none of this applies.

    Yields:
        The function, which returns the entry unchanged.
    """
    from grader.classroom.class_file import CLASS_FILE, are_units_outdated, grade_command
    from grader.classroom.class_folder import first_few_names
    from grader.classroom.score_changes import (
        ADJUSTMENTS_FILE,
        outdated_lateness,
        outdated_students,
        wrong_adjustment,
    )
    from grader.classroom.student_results import UnreadableResult, unfinished_run
    from grader.results.records import StudentResults

    is_outdated, late_files = None, ""
    try:
        if results is not None:
            is_outdated, late_files = outdated_students(results), outdated_lateness(results)
    except UsageError as error:  # the results are what they were
        print_message(f"handgrad: {one_line(plain(str(error)))}", sys.stderr)
    students, everybody, unread, points = list[str](), set[str](), list[str](), dict[str, float]()
    units, outdated = set[str](), list[str]()

    def note(entry: StudentResults | UnreadableResult | Note) -> StudentResults | UnreadableResult | Note:
        """Keep the student's name if the entry is a record that lacks changes, and return the entry."""
        if isinstance(entry, StudentResults):
            everybody.add(entry.student)
            units.update(exercise.unit for exercise in entry.exercises)
            points.update(points or {exercise.id: exercise.max_score for exercise in entry.exercises})
            if is_outdated is not None and is_outdated(entry):
                students.append(entry.student)
        elif isinstance(entry, UnreadableResult):
            unread.append(entry.name)
        elif entry.are_outdated:
            outdated.append(entry.text)
        return entry

    yield note
    for sentence in outdated:
        print_message(f"handgrad: {one_line(plain(sentence))}", sys.stderr)
    if results is not None and _is_unfinished(results):
        missing = unfinished_run(results)
        who = "1 student has" if missing == 1 else f"{missing} students have"
        says = f"the run that grades into {results} has not finished{f': {who} no record' if missing else ''}"
        print_message(f"handgrad: {one_line(plain(says))}. To finish it: {grade_command(results)}", sys.stderr)
    elif (
        results is not None
        and is_outdated is not None
        and results.is_dir()
        and not unread
        and (sentence := wrong_adjustment(results, everybody, points))
    ):
        print_message(f"handgrad: {one_line(plain(sentence))}", sys.stderr)
    if is_outdated is not None and results is not None and are_units_outdated(results, units):
        says = f"{CLASS_FILE} names other units than these results have"
        print_message(f"handgrad: {says}. To grade them: {grade_command(results)}", sys.stderr)
    if late_files and results is not None:
        says = f"{late_files} has changed what late work loses since these points were made"
        print_message(f"handgrad: {one_line(plain(says))}. To apply it: {grade_command(results)}", sys.stderr)
    if students and results is not None:
        says = f"{ADJUSTMENTS_FILE} has changed since these points were made: {first_few_names(students, MOST_NAMED)}"
        print_message(f"handgrad: {one_line(plain(says))}. To apply it: {grade_command(results)}", sys.stderr)


def _is_unfinished(results: Path) -> bool:
    """Return whether a path is a results folder whose class is not graded to the end."""
    from grader.classroom.student_results import unfinished_run

    return unfinished_run(results) is not None


def _open_source(results: str | None, gradebook: str | None) -> tuple[Entries, str, Path]:
    """Open the folder of results or the gradebook; the first entry is read, so that a source that is missing raises.

    Args:
        results: the folder or the name of an assignment; `None` for the usual folder, or if there is a gradebook.
        gradebook: the URL of nbgrader's gradebook; `None` for a folder.

    Returns:
        The entries, the name of their source, without a password, and the folder for the report: for a gradebook, the
        working folder.

    Raises:
        UsageError: both are given, or the source cannot be read.
    """
    if results is not None and gradebook is not None:
        raise UsageError("A report is made from one class: name a folder or --gradebook, not both.")
    entries: Iterator[StudentResults | UnreadableResult | Note]
    if gradebook is None:
        from grader.classroom.class_file import read_class_file, results_path
        from grader.classroom.student_results import read_folder

        folder = results_path(read_class_file(Path.cwd()), results)
        source, entries = str(folder), read_folder(folder, for_counting=True)
    else:
        from grader.nbgrader.database import url_without_password
        from grader.nbgrader.gradebook_results import read_gradebook

        folder, entries = Path(), read_gradebook(gradebook, _course_file_here())
    first = next(entries)
    return chain([first], entries), source if gradebook is None else url_without_password(gradebook), folder


def _course_file_here() -> CourseFile | None:
    """Return the course file of the course that a class is graded with in this folder; `None` if it cannot be used."""
    from grader.classroom.class_file import read_class_file
    from grader.classroom.course_choice import class_course
    from grader.errors import CourseError

    with suppress(CourseError):
        return class_course(Path.cwd(), read_class_file(Path.cwd()).content.course).config
    return None


def _write_report(
    entries: Entries, source: str, page: Path, units: Collection[str], folder: Path | None
) -> ClassReport:
    """Write the page and the CSV, each whole or not at all, and return the report that they show.

    Args:
        entries: the results of the class.
        source: the name of the folder or gradebook that they were read from.
        page: the file of the page.
        units: the units that count; all if empty.
        folder: the folder of the results; `None` if they are in a gradebook.

    Raises:
        UsageError: the files cannot be written, or there is no such unit.
    """
    from grader.classroom.class_report import Tally
    from grader.classroom.report_files import PageSource, answer_table, html
    from grader.classroom.student_results import read_changes
    from grader.files import whole_file, write_atomically
    from grader.results.records import StudentResults

    entries, first = _with_first_results(entries)
    config = None if first is None else _course_file(first, source, units)
    table, tally = _csv_path(page), Tally(config, units if config is None else list(map(config.unit_id, units)))
    with _writable(table), whole_file(table) as file:
        with answer_table(file) as add:
            for entry in entries:
                if isinstance(entry, StudentResults):
                    add(*tally.add(entry))
                else:
                    tally.add_uncounted(entry)
        counted = tally.report([] if folder is None else read_changes(folder))
    text = html(counted, PageSource(source, table.name, datetime.now().astimezone()))
    with _writable(page):
        write_atomically(page, text.encode("utf-8", "replace"))
    return counted


def _csv_path(page: Path) -> Path:
    """Return the file of the CSV, which lies beside the page.

    Raises:
        UsageError: `page` is a folder, or the name of a CSV file itself.
    """
    if page.is_dir():
        raise UsageError(f"{page} is a folder: name a file with --out, such as {page / PAGE}")
    if page.suffix.lower() == TABLE_SUFFIX:
        raise UsageError(f"--out names the page, and the CSV goes beside it: --out {page.with_suffix('.html')}")
    return page.with_suffix(TABLE_SUFFIX)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Raise a `UsageError` that names the file where writing it, within the block, raises an `OSError`."""
    try:
        yield
    except OSError as error:
        why = "its folder is a file" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"{path} cannot be written ({why}): name another file with --out.") from error


def _with_first_results(entries: Entries) -> tuple[Entries, StudentResults | None]:
    """Read entries up to the first student's results; return all entries again, and these results or `None`."""
    from grader.classroom.student_results import Note, UnreadableResult
    from grader.results.records import StudentResults

    read, unread = list[StudentResults | UnreadableResult | Note](), iter(entries)
    for entry in unread:
        read.append(entry)
        if isinstance(entry, StudentResults):
            return chain(read, unread), entry
    return read, None


def _course_file(results: StudentResults, source: str, units: Collection[str]) -> CourseFile | None:
    """Return the course file to take titles and teaching order from; `None` if there is none for these results.

    The course is the one that `class.yaml` names, or else that of the current folder or of a folder above it, even if
    the results are of another one. Without these, it is the one that `class_course` finds, if the results are of it.

    Args:
        results: the results of any student of the class.
        source: the folder or gradebook that the results were read from, for messages.
        units: the ids of units that the results must cover.

    Raises:
        UsageError: the course is of another version than the results, or the results do not cover the units.
    """
    from grader.classroom.class_file import read_class_file
    from grader.classroom.course_choice import class_course
    from grader.course.course import COURSE_FILE, find_root
    from grader.course.course_file import read_course_file
    from grader.errors import CourseError

    folder = read_class_file(Path.cwd()).content.course
    root = find_root(Path.cwd()) if folder is None else folder
    config = None if root is None else read_course_file(root / COURSE_FILE)
    if config is not None and (config.course != results.course or results.course_digest is None):
        return config
    try:
        course = class_course(Path.cwd(), folder)
    except CourseError:
        return config
    if course.config.course != results.course:
        return config
    _refuse_other_version(course, results, source)
    _refuse_partly_graded_units(course, results, [course.config.unit_id(name) for name in units], source)
    return course.config


def _refuse_other_version(course: Course, results: StudentResults, source: str) -> None:
    """Refuse results of an older or newer version of a course.

    Results of another course, and results that do not name their version, are accepted.

    Args:
        course: the course that the user has.
        results: the results of any student of the class.
        source: the folder of the results, for the message.

    Raises:
        UsageError: the course with the name in the results has another content now.
    """
    from grader.classroom.class_file import grade_command
    from grader.classroom.results_folder import course_digest

    if course.config.course != results.course or results.course_digest is None:
        return
    if course_digest(course) != results.course_digest:
        graded = {(exercise.unit, exercise.id) for exercise in results.exercises}
        raise UsageError(
            f"{source} was graded with another version of the course {results.course}: grade the class again: "
            f"{grade_command(Path(source), graded)}"
        )


def _refuse_partly_graded_units(course: Course, results: StudentResults, units: Collection[str], source: str) -> None:
    """Refuse units of which not every exercise was graded.

    Args:
        course: the course.
        results: the results of any student of the class.
        units: the ids of the units.
        source: the folder of the results, for the message.

    Raises:
        UsageError: there is no such unit, or the results do not have all of its exercises.
    """
    from grader.classroom.class_file import nearest, unit_advice

    graded = {(exercise.unit, exercise.id) for exercise in results.exercises}
    is_same = course.config.course == results.course
    known = {unit.id for unit in course.config.units} if is_same else {unit for unit, _ in graded}
    for unit in units:
        if unit not in known:
            near = nearest(unit, known)
            advice = f": {near}" if near.endswith("?") else f". Units: {', '.join(sorted(known))}."
            raise UsageError(f"There is no unit {unit!r}{advice}")
        if results.course_digest is None and unit not in {graded_unit for graded_unit, _ in graded}:
            raise UsageError(f"{source} has no results for {unit}: grade it first.")
        declared = {(exercise.unit, exercise.id) for exercise in course.exercises if exercise.unit == unit}
        if is_same and results.course_digest is not None and not declared <= graded:
            missing = len(declared - graded)
            raise UsageError(
                f"{source} has no results for {missing} of the {len(declared)} exercises of {unit}: "
                f"{unit_advice(Path(source), unit)}"
            )


def summary_line(class_report: ClassReport, page: Path) -> str:
    """Return one line on the class: the files that were written, how many students, their median, weak questions.

    After them come the numbers of those without a score and not graded in full, and of results not read, if any.
    """
    from grader.classroom.report_files import count_of
    from grader.results.points import shown

    parts = [count_of(len(class_report.students), "student")]
    if class_report.median is not None:
        parts.append(f"median {shown(class_report.median)} of {shown(class_report.max_score)}")
    parts += [f"{class_report.finished} finished", f"{len(class_report.stuck)} stuck"]
    if class_report.without_work:
        parts.append(f"{len(class_report.without_work)} without a score")
    if ungraded := len(class_report.students) - len(class_report.scored) - len(class_report.without_work):
        parts.append(f"{ungraded} not graded in full")
    if class_report.broken:
        parts.append(f"{count_of(len(class_report.broken), 'result')} not read")
    return f"{page} and {_csv_path(page)}: {', '.join(parts)}.{_weak_questions(class_report)}"


def _weak_questions(class_report: ClassReport) -> str:
    """Return a sentence on quiz questions that hardly separate strong from weak students; empty if there are none.

    It names at most `MOST_NAMED`, those that separate least first.
    """
    from grader.classroom.report_files import separation

    weak = sorted(
        (question.separation, quiz.id, question.name)
        for quiz, question in _questions(class_report)
        if question.separation is not None and question.separation < LEAST_SEPARATION
    )
    named = ", ".join(f"{quiz} {name} ({separation(value)})" for value, quiz, name in weak[:MOST_NAMED])
    more = f" and {len(weak) - MOST_NAMED} more" if len(weak) > MOST_NAMED else ""
    return f" Hardly separates strong from weak: {named}{more}." if weak else ""


def _questions(class_report: ClassReport) -> Iterator[tuple[ExerciseReport, AnswerReport]]:
    """Yield for every question of every quiz the report on the quiz and the report on the question."""
    for unit in class_report.units:
        for exercise in unit.exercises:
            if exercise.is_quiz:
                yield from ((exercise, answer) for answer in exercise.answers)


def questions_json(class_report: ClassReport) -> str:
    """Return JSON on each quiz question: how many answered it how, the wrong answers, and its item-rest correlation."""
    import json

    questions = [
        {
            "quiz": quiz.id,
            "question": question.name,
            "passed": question.counts.passed,
            "wrong": question.counts.wrong,
            "not_read": question.counts.unread,
            "wrong_answers": dict(question.given),
            "separation": None if question.separation is None else round(question.separation, 3),
        }
        for quiz, question in _questions(class_report)
    ]
    return json.dumps({"questions": questions}, indent=1)


# --- export ---------------------------------------------------------------------------------------------------------

Platform = Literal[
    "gradescope",
    "prairielearn",
    "junit",
    "classroom50",
    "github",
    "canvas",
    "moodle",
    "submitty",
    "vpl",
    "feedback",
]
STDOUT = "-"
EXPORTED = Path("exported")  # with a folder for each platform
MOST_PROBLEMS = 10
LEAST_OUT_OF, MOST_OUT_OF = 0.01, 1e6  # points


def export(
    to: Annotated[
        Platform,
        typer.Option(
            metavar="PLATFORM",
            help=f"The platform that reads it: {', '.join(get_args(Platform))} (a page for each student).",
        ),
    ],
    results: Annotated[
        str | None,
        typer.Argument(
            metavar="RECORD|DIR",
            help="One student's record, the folder that grade --out wrote, or an assignment of class.yaml.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for the files; exported/PLATFORM or exported/ASSIGNMENT/PLATFORM, if left out; - prints "
            "the file, if there is only one.",
        ),
    ] = None,
    fill: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="For canvas and moodle: the CSV of grades exported there, to be filled in."),
    ] = None,
    column: Annotated[
        str, typer.Option(metavar="NAME", help="The column of that CSV which takes the points; found if left out.")
    ] = "",
    out_of: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="For canvas, moodle and vpl: the highest score there; if left out, the platform's or the course's.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Only this unit, such as 04_linear or 4; may be repeated.")
    ] = None,
    gradebook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="nbgrader's gradebook, such as sqlite:///gradebook.db, in place of DIR."),
    ] = None,
) -> None:
    """For instructors: write results as another platform reads them."""
    from grader.classroom.class_file import assignment_of, read_class_file, refuse_out_in_assignments, results_path
    from grader.classroom.course_choice import class_course
    from grader.classroom.student_results import Note
    from grader.export.graded_work import ExportOptions
    from grader.export.platforms import PLATFORMS, RECORD_FILES
    from grader.garbage import without_garbage_collection

    _refuse_unread_options(to, fill, column, out_of)
    plan = read_class_file(Path.cwd())
    course = class_course(Path.cwd(), plan.content.course)
    units = [course.config.unit_id(name) for name in unit or ()]
    is_known = results is not None or (gradebook is None and bool(plan.content.assignments))
    path = results_path(plan, results) if is_known else None
    exported_to = EXPORTED / ("" if path is None or path.is_file() else assignment_of(path)) / to
    folder, is_single = out or exported_to, path is not None and not path.is_dir()
    if str(folder) != STDOUT:
        refuse_out_in_assignments(plan, folder)
    own = RECORD_FILES.get(to, ()) if is_single else ()
    with _putting_away(own, folder, to), without_garbage_collection():  # nothing is thrown away before the end
        records, others, source = _records(path, gradebook)
        with _naming_outdated(path) as note:
            for record in records:
                note(record)
            for entry in others:
                note(entry)
        for record in records[:1]:  # the others of a folder are of the same run
            _refuse_other_version(course, record, source)
            _refuse_partly_graded_units(course, record, units, source)
        records = [record.in_units(units) for record in records] if units else records
        sheet = None if fill is None else _content(fill)
        options = ExportOptions(out_of, sheet, column, *_surroundings(course, to, records))
        options = replace(options, is_single=is_single)
        if to == "feedback":
            options = replace(options, picture=_pictures())
        exported = PLATFORMS[to](course, records, options)
    exported = replace(exported, absent=tuple(name for name in own if name not in exported.files))
    removed, unwritten = _write_exported(exported, folder, to, _without_score(records))
    problems = [*_not_exported(others), *exported.problems, *_first_few(unwritten), *_ungraded_students(records)]
    for line in (*exported.notes, *_capped_students(records, to), *removed, *problems):
        shown = one_line(line).replace("##[", "# #[")  # which a GitHub runner obeys, wherever it stands in a line
        print_message(f"handgrad: {shown}", sys.stderr)
    are_outdated = any(isinstance(entry, Note) and entry.are_outdated for entry in others)
    is_unfinished = path is not None and _is_unfinished(path)
    is_partial = any(record.score is None for record in records) or are_outdated or is_unfinished
    raise typer.Exit(3 if problems else 1 if is_partial else 0)


def _refuse_unread_options(to: Platform, fill: Path | None, column: str, out_of: float | None) -> None:
    """Refuse options that the platform does not read, and a highest score to which no points can be scaled.

    Args:
        to: the platform.
        fill: the value of `--fill`; `None` if it was left out.
        column: the value of `--column`; empty if it was left out.
        out_of: the value of `--out-of`; `None` if it was left out.

    Raises:
        UsageError: an option is for other platforms, or `out_of` is not between the bounds, or not a number.
    """
    from grader.classroom.class_folder import enumeration
    from grader.export.platforms import OPTION_READERS
    from grader.results.points import shown

    given = {"--fill": fill is not None, "--column": bool(column), "--out-of": out_of is not None}
    for option, platforms in OPTION_READERS.items():
        if given[option] and to not in platforms:
            raise UsageError(f"{option} is for {enumeration(platforms, 'and')}: leave it out for {to}.")
    if out_of is not None and not LEAST_OUT_OF <= out_of <= MOST_OUT_OF:
        bounds = f"from {LEAST_OUT_OF:g} to {MOST_OUT_OF:.0f}"
        raise UsageError(f"--out-of {shown(out_of)} is no highest score: name a number {bounds}.")


def _records(
    results: Path | None, gradebook: str | None
) -> tuple[list[StudentResults], list[UnreadableResult | Note], str]:
    """Return the records in a file, folder or gradebook, the other entries, and the name of their source.

    Args:
        results: the file or folder; `None` if a gradebook is named.
        gradebook: the URL of the gradebook; `None` if a file or folder is named.

    Raises:
        UsageError: there is no record, or not exactly one source is named.
    """
    from grader.classroom.class_file import assignment_of
    from grader.classroom.student_results import read_folder, read_record
    from grader.results.records import StudentResults

    if results is None or gradebook is not None:
        if results is not None or gradebook is None:
            raise UsageError("Name one class to export: a record, the folder that grade --out wrote, or --gradebook.")
        opened, source, _ = _open_source(None, gradebook)
        entries = list(opened)
    else:
        source = str(results)
        is_folder = results.is_dir() or (not results.exists() and assignment_of(results))
        entries = list(read_folder(results)) if is_folder else [read_record(results)]
    others = [entry for entry in entries if not isinstance(entry, StudentResults)]
    records = [entry for entry in entries if isinstance(entry, StudentResults)]
    if not records:
        says = f"{source} is no record: name one that handgrad grade wrote, or its folder"
        raise UsageError(" ".join([f"{says}.", *_not_exported(others)]))
    return records, others, source


def _not_exported(entries: Iterable[UnreadableResult | Note]) -> list[str]:
    """Return a sentence on each record among entries that cannot be read and is not exported."""
    from grader.classroom.student_results import UnreadableResult

    return [f"not exported: {entry.name}: {entry.why}." for entry in entries if isinstance(entry, UnreadableResult)]


def _content(path: Path) -> bytes:
    """Return the content of a platform's CSV file.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name the file that you exported.") from error


def _surroundings(
    course: Course, to: Platform, records: Sequence[StudentResults]
) -> tuple[dict[str, str], dict[str, int]]:
    """Return what an export needs of the environment of this command; two empty dicts for most platforms.

    Returns:
        Environment variables: those of this command for classroom50, none for other platforms. And lines: for github
        and a single record the line of each function in the course folder, from 1, by exercise id; none otherwise.
    """
    if to == "classroom50":
        return {"DATETIME": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **os.environ}, {}
    if to != "github" or len(records) > 1:
        return {}, {}
    lines = {}
    for exercise in course.exercises:
        if not exercise.is_quiz and exercise.path.is_file():
            text = exercise.path.read_text(encoding="utf-8", errors="replace")
            if match := re.search(rf"^def {exercise.id}\b", text, re.MULTILINE):
                lines[exercise.id] = text.count("\n", 0, match.start()) + 1
    return {}, lines


def _pictures() -> Callable[[CourseExercise, ExerciseResult, int], str]:
    """Return a function that draws figures of mistakes and the forward pass; its first picture imports torch."""
    made: list[RecordedMistakes] = []

    def picture(exercise: CourseExercise, result: ExerciseResult, seed: int) -> str:
        """Return the mistakes of an exercise as HTML; empty if there is none to draw."""
        if not any(answer.mistake for answer in result.answers):
            return ""
        from grader.rendering.picture_html import pictures_html
        from grader.rendering.picture_making import RecordedMistakes

        if not made:
            made.append(RecordedMistakes())
        shown = made[0].pictures(exercise, result, seed)
        return pictures_html(shown) if shown.pictures or shown.graph is not None else ""

    return picture


def _write_exported(exported: Exported, out: Path, platform: str, unscored: str) -> tuple[list[str], list[str]]:
    """Write the files of an export into a folder and say so, or print the only file if `out` is "-".

    Args:
        exported: the files.
        out: the folder.
        platform: the name of the platform.
        unscored: a sentence on the students without a score; empty if there are none.

    Returns:
        Sentences: one on files of an earlier export that were moved, if any, or `unscored` where the file is printed;
        and one on each file that cannot be written.

    Raises:
        UsageError: several files are to be printed, or nothing can be written to the folder.
    """
    from grader.export.export_folder import write_export

    if str(out) == STDOUT:
        if len(exported.files) > 1:
            raise UsageError(f"{len(exported.files)} files cannot be printed: name a folder for them with --out.")
        for content in exported.files.values():
            sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return [unscored] if unscored else [], []
    removed, problems = write_export(exported, out, platform)
    where = "this folder" if out == Path() else out
    print_message(f"{len(exported.files) - len(problems)} file(s) written to {where}. {unscored}".rstrip())
    return _put_away(removed, out), problems


def _put_away(removed: Sequence[str], out: Path) -> list[str]:
    """Return a sentence on files of an earlier export that are in the folder `removed` of `out` by now.

    It names at most `MOST_PROBLEMS` of them; the list is empty if there are none.

    Args:
        removed: the names of the files.
        out: the folder of the export.
    """
    from grader.classroom.class_folder import REMOVED

    if not removed:
        return []
    named = ", ".join(removed[:MOST_PROBLEMS])
    more = f" and {len(removed) - MOST_PROBLEMS} more" if len(removed) > MOST_PROBLEMS else ""
    return [f"No longer exported, and put away in {out / REMOVED}: {named}{more}."]


@contextmanager
def _putting_away(names: tuple[str, ...], out: Path, platform: str) -> Iterator[None]:
    """Move the files of an earlier export to the folder `removed/` in `out` if the block raises a `UsageError`.

    A platform would read them. Which are moved is printed, and the error is raised again.

    Args:
        names: the names of the files.
        out: the folder of the export.
        platform: the name of the platform.
    """
    from grader.export.export_folder import write_export
    from grader.export.graded_work import Exported

    try:
        yield
    except UsageError:
        if names and out.is_dir():
            with suppress(UsageError):  # which is not an export's folder
                for line in _put_away(write_export(Exported({}, absent=names), out, platform)[0], out):
                    print_message(one_line(f"handgrad: {line}"), sys.stderr)
        raise


def _without_score(records: Sequence[StudentResults]) -> str:
    """Return a sentence that counts and names the students without a score; empty if there are none.

    It names at most `MOST_PROBLEMS` of them.
    """
    unscored = [record for record in records if record.score is None]
    if not unscored:
        return ""
    named = ", ".join(
        f"{plain(record.student)} ({'not graded' if record.ungraded else plain(record.reason)})"
        for record in unscored[:MOST_PROBLEMS]
    )
    more = f" and {len(unscored) - MOST_PROBLEMS} more" if len(unscored) > MOST_PROBLEMS else ""
    who = "1 student has no score" if len(unscored) == 1 else f"{len(unscored)} students have no score"
    return one_line(f"{who}: {named}{more}.")


def _capped_students(records: Sequence[StudentResults], to: Platform) -> list[str]:
    """Return sentences on the first few students with more points than the maximum, if the platform cuts these off."""
    from grader.export.platforms import CAPPED
    from grader.results.points import shown

    return _first_few(
        [
            f"{record.student}: {shown(record.score)} of {shown(record.max_score)} points, and {to} takes no points "
            "above the maximum: they are cut there."
            for record in records
            if to in CAPPED and record.score is not None and record.score > record.max_score
        ]
    )


def _ungraded_students(records: Sequence[StudentResults]) -> list[str]:
    """Return sentences on the first few students who could not be graded in full, and how many more there are."""
    from grader.export.graded_work import answers

    sentences = []
    for record in (record for record in records if record.ungraded):
        failed = next((answer for answer in answers(record) if answer.has_no_points), None)
        if failed is not None:
            why = failed.answer.message or "not graded"
            sentences.append(f"{record.student}, {failed.name}: not graded ({why}), so no points are exported.")
    return _first_few(sentences)


def _first_few(sentences: Sequence[str]) -> list[str]:
    """Return the first sentences, at most `MOST_PROBLEMS`, and "and 3 more of this kind." if there are others."""
    more = len(sentences) - MOST_PROBLEMS
    return [*sentences[:MOST_PROBLEMS], *([f"and {more} more of this kind."] if more > 0 else [])]
