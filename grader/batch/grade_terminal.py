"""`handgrad grade` as an instructor sees it: a progress bar while it runs, and a table of mistakes at the end."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from grader.course import Course
from grader.course_file import Policy
from grader.errors import UsageError
from grader.safe_text import escaped, one_line
from grader.sandbox.isolation import Isolation, choose, machine, weakness

from .class_grading import Progress, Report, grade_folder
from .results_folder import GRADES_FILE, Summary

COMMONEST = 3


def grade_with_progress(
    course: Course, submissions: Path, out: Path, *,
    workers: int, timeout: float | None, seed: int | None, isolation: Isolation | None, as_json: bool,
) -> int:  # fmt: skip
    """Grade a class, show how it goes, and return the exit code: 3 if something could not be graded, else 0.

    Raises:
        InfrastructureError: learner code cannot be isolated here, as wanted or at all.
    """
    found = machine()
    chosen = choose(found, isolation)
    if without := weakness(chosen, found):
        print(f"handgrad: {without}", file=sys.stderr)
    if timeout is not None:
        course = with_time_limit(course, timeout)
    try:
        with _bar() as report:
            summary = grade_folder(
                course, submissions, out, workers=workers, seed=seed, isolation=chosen, report=report
            )
    except KeyboardInterrupt:
        print("handgrad: stopped. What was finished is kept; the same command goes on.", file=sys.stderr)
        raise
    if as_json:
        print(escaped(json.dumps(asdict(summary), indent=1, ensure_ascii=False)))
    else:
        _print(course, summary, out)
    return 3 if summary.errors else 0


def with_time_limit(course: Course, seconds: float) -> Course:
    """The same course with another time limit for each exercise file."""
    try:
        policy = Policy.model_validate({**course.config.policy.model_dump(), "time_limit": seconds})
    except ValidationError as error:
        raise UsageError(f"--timeout {seconds:g} is no time limit: name a number of seconds, 3600 at most.") from error
    return replace(course, config=course.config.model_copy(update={"policy": policy}))


@contextmanager
def _bar() -> Iterator[Report]:
    console = Console(stderr=True)
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("grading", total=None, pace="")

        def report(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, pace=_pace(progress))

        yield report


def _pace(progress: Progress) -> str:
    """How fast it goes, and how long it will take if it goes on like this."""
    if not progress.rate:
        return "starting" if progress.done < progress.total else ""
    left = math.ceil((progress.total - progress.done) / progress.rate)
    minutes, seconds = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    rate = f"{progress.rate:.0f}/s" if progress.rate >= 10 else f"{progress.rate:.1f}/s"
    return f"{rate}, {clock} left"


def _print(course: Course, summary: Summary, out: Path) -> None:
    console = Console(highlight=False, markup=False)
    reused = f", {summary.reused} unchanged and kept" if summary.reused else ""
    console.print(f"{summary.graded} submissions graded{reused}, in {summary.seconds:.1f} s.")
    mean = f"Mean score {summary.mean_score:.2f} of {summary.max_score:g}."
    console.print(f"{mean} Results: {out / GRADES_FILE}", soft_wrap=True)
    if any(summary.mistakes.values()):
        console.print(_mistakes(course, summary))
    for name in summary.strays:
        console.print(f"{name} is no student's folder: ignored.", style="yellow", soft_wrap=True)
    for failure in summary.errors:
        text = f"{failure.student}, {failure.exercise}: not graded ({failure.message}). Run the same command again."
        print(one_line(text), file=sys.stderr)


def _mistakes(course: Course, summary: Summary) -> Table:
    """The most frequent mistakes of each exercise, by code."""
    table = Table("exercise", "most frequent mistakes", box=None, pad_edge=False, title_justify="left")
    for exercise in course.exercises:
        found = summary.mistakes.get(exercise.id, ())[:COMMONEST]
        if found:
            table.add_row(exercise.id, ", ".join(f"{mistake.code} ({mistake.students})" for mistake in found))
    return table
