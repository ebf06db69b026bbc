"""`handgrad grade` as an instructor sees it: how it goes, and what it came to, with nothing left unsaid."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from grader.course.course import Course
from grader.course.course_file import Policy
from grader.errors import UsageError
from grader.safe_text import escaped, one_line, plain
from grader.sandbox.isolation import Isolation, choose, machine, weakness

from .class_folder import PLAIN_KIND, HandIns
from .class_grading import Grading, Progress, Report, grade_class
from .grades_table import Failure, Nothing, Summary
from .results_folder import GRADES_FILE

COMMONEST = 3
SHOWN = 10
NAMED = 3  # exercises that fail for one reason
AGAIN = "run the same command again"
EVERY = 30.0  # seconds between two lines in a log
ASKS = "Enter 0 points for them? Otherwise they have none, and the table is blank there."


def grade_with_progress(
    course: Course, found: HandIns, out: Path, grading: Grading, *, yes: bool, as_json: bool
) -> int:
    """Grade a class, show the progress, and ask before giving 0 points to students who handed in nothing gradable.

    Args:
        yes: give them without asking.
        as_json: print the summary as JSON.

    Returns:
        The exit code: 3 if something could not be graded, 1 if a student has no points for want of anything to grade,
        else 0.

    Raises:
        KeyboardInterrupt: the run was stopped; all finished results are written.
    """
    asked: list[Nothing] = []

    def ask(nothing: Sequence[Nothing]) -> bool:
        asked.extend(nothing)
        return yes or _confirmed(nothing, found, as_json)

    try:
        with _signals_as_interrupt(), showing_progress(sys.stderr.isatty()) as report:
            summary = grade_class(course, found, out, grading, report, ask)
    except KeyboardInterrupt:
        print("handgrad: stopped. What was finished is kept; the same command goes on.", file=sys.stderr)
        raise
    if as_json:
        print(escaped(json.dumps(asdict(summary), indent=1, ensure_ascii=False)))
    else:
        _print(course, summary, out)
    if summary.errors:
        return 3
    return 1 if summary.nothing and not summary.entered else 0


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at SIGTERM and SIGHUP inside the block, so that results are written as after Ctrl-C."""
    before = {}
    if threading.current_thread() is threading.main_thread():  # nobody else may set handlers
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def isolated_here(grading: Grading, wanted: Isolation | None) -> Grading:
    """The same grading, in the isolation that is wanted, or the strongest that there is.

    Raises:
        InfrastructureError: learner code cannot be isolated here, as wanted or at all.
    """
    found = machine()
    chosen = choose(found, wanted)
    if without := weakness(chosen, found):
        print(f"handgrad: {without}", file=sys.stderr)
    return replace(grading, isolation=chosen)


def with_time_limit(course: Course, seconds: float) -> Course:
    """The same course with another time limit for each exercise file."""
    try:
        policy = Policy.model_validate({**course.config.policy.model_dump(), "time_limit": seconds})
    except ValidationError as error:
        raise UsageError(f"--timeout {seconds:g} is no time limit: name a number of seconds, 3600 at most.") from error
    return replace(course, config=course.config.model_copy(update={"policy": policy}))


@contextmanager
def showing_progress(on_terminal: bool, clock: Callable[[], float] = time.monotonic) -> Iterator[Report]:
    """A bar on a terminal; in a log, a line now and then."""
    console = Console(stderr=True)
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Bar(*columns, console=console, transient=True, disable=not on_terminal) as bar:
        task = bar.add_task("grading", total=None, pace="")
        last = clock()

        def report(progress: Progress) -> None:
            nonlocal last
            bar.update(task, completed=progress.done, total=progress.total, pace=_pace(progress))
            if progress.done == progress.total:
                bar.stop()  # it would be drawn over a question
            if not on_terminal and clock() >= last + EVERY:
                last = clock()
                print(f"graded {progress.done} of {progress.total}, {_pace(progress)}", file=sys.stderr, flush=True)

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


def _confirmed(nothing: Sequence[Nothing], found: HandIns, as_json: bool) -> bool:
    """Ask on a terminal; where there is none, nobody has said yes."""
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print("\n".join(_nothing_lines(nothing, len(found.each))), file=sys.stderr)
    print(f"{ASKS} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _nothing_lines(nothing: Sequence[Nothing], total: int) -> list[str]:
    holds = "holds" if len(nothing) == 1 else "hold"
    lines = [f"{len(nothing)} of {total} {holds} nothing that could be graded:"]
    lines += [one_line(f"  {plain(one.student)}: {plain(one.why)}") for one in nothing[:SHOWN]]
    return [*lines, *([f"  and {len(nothing) - SHOWN} more, in {GRADES_FILE}"] if len(nothing) > SHOWN else [])]


def _print(course: Course, summary: Summary, out: Path) -> None:
    """Print the counts of a class."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    reused = f", {summary.reused} unchanged and kept" if summary.reused else ""
    kind = f" Taken for {summary.kind}." if summary.kind != PLAIN_KIND else ""
    console.print(f"{_submissions(summary.graded)} graded{reused}, in {summary.seconds:.1f} s.{kind}")
    console.print(f"Mean score {summary.mean_score:.2f} of {summary.max_score:g}. Results: {out / GRADES_FILE}")
    if len(summary.units) > 1 or any(unit.max_score < summary.max_score for unit in summary.units.values()):
        console.print(_units(summary), soft_wrap=False)
    if any(summary.mistakes.values()):
        console.print(_mistakes(course, summary), soft_wrap=False)
    for says in _remarks(summary):
        console.print(says, style="yellow")
    for line in _failure_lines(summary.errors):
        print(line, file=sys.stderr)


def _failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    """Yield one line for each student and reason, with the exercises that could not be graded for it."""
    exercises = dict[tuple[str, str], list[str]]()
    for failure in failures:
        exercises.setdefault((failure.student, failure.message), []).append(failure.exercise)
    for (student, message), names in exercises.items():
        which = "".join(f", {name}" for name in names if name) if len(names) <= NAMED else f", {len(names)} exercises"
        again = "" if message.endswith(AGAIN) else f" {AGAIN[0].upper()}{AGAIN[1:]}."
        yield one_line(f"{student}{which}: not graded ({message}).{again}")


def _remarks(summary: Summary) -> Iterator[str]:
    """What an instructor should know, and might not expect."""
    for name in summary.strays[:SHOWN]:
        yield f"{name} is nobody's hand-in: ignored."
    if len(summary.strays) > SHOWN:
        yield f"And {len(summary.strays) - SHOWN} more that are nobody's hand-in: ignored."
    if summary.unlisted:
        yield f"Not on the roster, and graded under their own names: {_listed(summary.unlisted)}."
    if summary.absent:
        yield f"On the roster, and handed in nothing: {_listed(summary.absent)}."
    if summary.removed:
        yield f"No longer handed in, and put away in removed/: {_listed(summary.removed)}."
    empty = {one.student for one in summary.nothing}
    for student, notes in [each for each in summary.noted.items() if each[0] not in empty][:SHOWN]:
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        yield one_line(f"{student}: {notes[0]}{more}.")
    if summary.with_notes > SHOWN:
        yield f"{summary.with_notes - SHOWN} more students have notes: see {GRADES_FILE}."
    if summary.nothing:
        yield from _nothing_lines(summary.nothing, summary.students + len(summary.nothing) * (not summary.entered))
        yield "They have 0 points." if summary.entered else "They have no points. To enter 0 for them: --yes"


def _submissions(count: int) -> str:
    return f"{count} submission{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return one_line(plain(", ".join(names[:SHOWN]))) + more


def _units(summary: Summary) -> Table:
    """How many handed in something of each unit, and their mean."""
    table = Table("unit", "handed in", "mean", box=None, pad_edge=False, title_justify="left")
    for name, unit in summary.units.items():
        table.add_row(name, str(unit.students), f"{unit.mean_score:.2f} of {unit.max_score:g}")
    return table


def _mistakes(course: Course, summary: Summary) -> Table:
    """The most frequent mistakes of each exercise, by code."""
    table = Table("exercise", "most frequent mistakes", box=None, pad_edge=False, title_justify="left")
    for exercise in course.exercises:
        found = summary.mistakes.get(exercise.id, ())[:COMMONEST]
        if found:
            table.add_row(exercise.id, ", ".join(f"{mistake.code} ({mistake.students})" for mistake in found))
    return table
