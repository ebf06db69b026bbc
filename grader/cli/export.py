"""The command `handgrad export`: results in the form that another platform takes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from grader.errors import UsageError
from grader.results.points import total
from grader.safe_text import one_line

if TYPE_CHECKING:
    from grader.classroom.student_results import StudentResults
    from grader.course.course import Course, CourseExercise
    from grader.export.graded_work import Exported
    from grader.rendering.marked_graph import RecordedMistakes
    from grader.results.records import ExerciseResult

Platform = Literal[
    "gradescope", "prairielearn", "junit", "classroom50", "github", "canvas", "moodle", "submitty", "vpl",
    "feedback",
]  # fmt: skip
STDOUT = "-"
NAMED = 10


def export(
    results: Annotated[
        Path, typer.Argument(metavar="RECORD|DIR", help="One student's record, or the folder that grade --out wrote.")
    ],
    to: Annotated[
        Platform,
        typer.Option(
            metavar="PLATFORM", help=f"Who is to read it: {', '.join(get_args(Platform))} (a page for each student)."
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder for what is written; - prints it, if it is one file.")
    ] = Path("exported"),
    fill: Annotated[
        Path | None, typer.Option(metavar="CSV", help="For canvas and moodle: their file, exported by you.")
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="The column of that file which takes the points.")] = "",
    out_of: Annotated[
        float | None, typer.Option(min=0.01, metavar="N", help="How many points there are to get on the platform.")
    ] = None,
    unit: Annotated[list[str] | None, typer.Option(metavar="UNIT", help="Only this unit; may be repeated.")] = None,
) -> None:
    """For instructors: write results as another platform reads them."""
    from grader.classroom.course_choice import class_course
    from grader.export.graded_work import ExportOptions
    from grader.export.platforms import PLATFORMS
    from grader.garbage import without_garbage_collection

    course = class_course(Path.cwd())
    with without_garbage_collection():  # nothing is thrown away before the end
        records, unread = _records(results)
        records = [_restrict_to_units(course, record, unit) for record in records] if unit else records
        sheet = None if fill is None else _content(fill)
        wanted = ExportOptions(out_of, sheet, column, *_surroundings(course, to, records))
        if to == "feedback":
            wanted = replace(wanted, picture=_pictures())
        made = PLATFORMS[to](course, records, wanted)
    _write(made, out)
    problems = [*unread, *made.problems, *_ungraded(records)]
    for line in (*made.notes, *problems):
        shown = one_line(line).replace("##[", "# #[")  # which a GitHub runner obeys, wherever it stands in a line
        print(f"handgrad: {shown}", file=sys.stderr)
    raise typer.Exit(3 if problems else 0)


def _records(results: Path) -> tuple[list[StudentResults], list[str]]:
    """The records, and what could not be read.

    Raises:
        UsageError: there is none.
    """
    from grader.classroom.student_results import StudentResults, UnreadableResult, read_folder, read_record

    entries = list(read_folder(results)) if results.is_dir() else [read_record(results)]
    unread = [f"not exported: {each.name}: {each.why}." for each in entries if isinstance(each, UnreadableResult)]
    records = [each for each in entries if isinstance(each, StudentResults)]
    if not records:
        raise UsageError(f"{results} is no record: name one that handgrad grade wrote, or its folder. {unread[0]}")
    return records, unread


def _restrict_to_units(course: Course, record: StudentResults, units: Collection[str]) -> StudentResults:
    """Return the record with only the exercises of these units, and with the points that are to be had there.

    Raises:
        UsageError: the course has no such unit.
    """
    known = {unit.id for unit in course.config.units}
    if unknown := next((unit for unit in units if unit not in known), None):
        raise UsageError(f"There is no unit {unknown!r}. Units: {', '.join(sorted(known))}.")
    kept = tuple(exercise for exercise in record.exercises if exercise.unit in units)
    max_score = total(each.points for each in course.exercises if each.unit in units)
    return replace(record, exercises=kept, max_score=max_score)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name the file that you exported.") from error


def _surroundings(
    course: Course, to: Platform, records: Sequence[StudentResults]
) -> tuple[dict[str, str], dict[str, int]]:
    """What only the place of the run knows: the variables of a runner, and the lines of what was graded here."""
    if to == "classroom50":
        return {"DATETIME": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **os.environ}, {}
    if to != "github" or len(records) > 1:
        return {}, {}
    lines = {}
    for exercise in course.exercises:
        if not exercise.is_quiz and exercise.path.is_file():
            text = exercise.path.read_text(encoding="utf-8", errors="replace")
            if found := re.search(rf"^def {exercise.id}\b", text, re.MULTILINE):
                lines[exercise.id] = text.count("\n", 0, found.start()) + 1
    return {}, lines


def _pictures() -> Callable[[CourseExercise, ExerciseResult, int], str]:
    """Draws forward passes with mistakes marked; torch is imported for the first one that there is."""
    album: list[RecordedMistakes] = []

    def picture(exercise: CourseExercise, result: ExerciseResult, seed: int) -> str:
        if not any(answer.mistake for answer in result.answers):
            return ""
        from grader.rendering.marked_graph import RecordedMistakes
        from grader.rendering.picture_html import forward_pass_html

        album.extend([] if album else [RecordedMistakes()])
        graph = album[0].graph(exercise, result, seed)
        return "" if graph is None else forward_pass_html(graph)

    return picture


def _write(made: Exported, out: Path) -> None:
    """Write each file whole, or print the only one.

    Raises:
        UsageError: there are several to be printed, or they cannot be written.
    """
    from grader.files import write_atomically

    if str(out) == STDOUT:
        if len(made.files) > 1:
            raise UsageError(f"{len(made.files)} files cannot be printed: name a folder for them with --out.")
        for content in made.files.values():
            sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in made.files.items():
            write_atomically(out / name, content)
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}): name another folder with --out.") from error
    print(f"{len(made.files)} file(s) written to {out}.")


def _ungraded(records: Sequence[StudentResults]) -> list[str]:
    """Who could not be graded in full, and why."""
    from grader.export.graded_work import answers, is_graded

    said = []
    for record in (record for record in records if not is_graded(record)):
        failed = next((each for each in answers(record) if not each.is_graded), None)
        if failed is not None:
            why = failed.answer.message or "not graded"
            said.append(f"{record.student}, {failed.name}: not graded ({why}), so no points are exported.")
    more = [f"and {len(said) - NAMED} more were not graded."] if len(said) > NAMED else []
    return [*said[:NAMED], *more]
