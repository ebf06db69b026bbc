"""The terminal output of `handgrad grade`: the progress, the question about zeros, and the summary of the class."""

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
from grader.rendering.console import progress_theme
from grader.results.points import shown
from grader.results.records import StudentResults
from grader.safe_text import escaped, one_line, plain, print_message
from grader.sandbox.isolation import Isolation, choose, machine, weakness

from .class_file import CLASS_FILE, GRADES_FILE, ClassPlan
from .class_folder import PLAIN_LAYOUT, ClassFolder, LayoutName, first_few_names
from .class_grading import Grading, GradingProgress, ReportProgress, grade_class
from .grades_table import ClassSummary, Failure, NothingToGrade
from .score_changes import ADJUSTMENTS_FILE
from .student_results import CHANGES_FILE

MOST_MISTAKES = 3  # of each exercise
MOST_NAMES = 10  # in a list of students or files
MOST_EXERCISES = 3  # that fail for one reason, before they are only counted
AGAIN = "run the same command again"
LOG_INTERVAL = 30.0  # seconds between two lines in a log
QUESTION = "Enter 0 points for them? Otherwise they have none, and the table is blank there."


def grade_with_progress(
    course: Course, class_folder: ClassFolder, out: Path, grading: Grading, *, yes: bool, as_json: bool
) -> int:
    """Grade a class, show the progress, and ask before giving 0 points to students who submitted nothing gradable.

    Args:
        course: the course.
        class_folder: the submissions of the class.
        out: the results folder.
        grading: the options.
        yes: whether to give these students 0 points without asking.
        as_json: whether to print the summary as JSON; nothing is asked then.

    Returns:
        The exit code: 3 if something could not be graded, 1 if a student has no points for want of anything to grade,
        or something is of no known student, else 0.

    Raises:
        KeyboardInterrupt: the run was stopped; all finished results are written.
    """

    def ask(nothing: Sequence[NothingToGrade]) -> bool:
        return yes or _confirm_zeros(nothing, class_folder, as_json)

    try:
        with _signals_as_interrupt(), showing_progress(sys.stderr.isatty()) as report:
            summary = grade_class(course, class_folder, out, grading, report, ask)
    except KeyboardInterrupt:
        print_message("handgrad: stopped. What was finished is kept; the same command goes on.", sys.stderr)
        raise
    if as_json:
        print(escaped(json.dumps(asdict(summary), indent=1, ensure_ascii=False)))
    else:
        print_summary(course, summary, out)
    if summary.errors:
        return 3
    return 1 if summary.unclaimed or (summary.nothing and not summary.entered) else 0


def confirm_layout(
    class_folder: ClassFolder, folder: Path, *, is_named: bool, plan: ClassPlan | None = None, assignment: str = ""
) -> None:
    """Show how the class's folder was read, and ask whether that is right where it may be read in another way.

    Args:
        class_folder: the submissions of the class.
        folder: the folder, as the user named it.
        is_named: whether the user named the layout.
        plan: the `class.yaml` that the answer may be written into; `None` if there is none.
        assignment: the name of the assignment in it; empty if none is graded.

    Raises:
        UsageError: the answer is no, or nobody is there to ask.
    """
    if is_named or class_folder.doubt or class_folder.layout != PLAIN_LAYOUT:
        print_message(one_line(f"{folder}: {class_folder.heading}."), sys.stderr)
    for remark in class_folder.remarks:
        print_message(one_line(remark), sys.stderr)
    if is_named or not (class_folder.doubt or class_folder.layout_name == "sections"):
        return
    why = f" ({class_folder.doubt})" if class_folder.doubt else ""
    command = f"--layout {class_folder.layout_name}"
    if sys.stdin.isatty() and sys.stderr.isatty():
        print(one_line(f"Is that right{why}? {command} answers this. [Y/n]"), end=" ", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() in ("", "y", "yes"):
            if plan is not None and assignment:
                _offer_to_write_layout(plan, assignment, class_folder.layout_name)
            return
    others = " or ".join(f"--layout {name}" for name in ("plain", "sections") if name != class_folder.layout_name)
    raise UsageError(
        one_line(f"{folder} looks like {class_folder.layout}{why}: name {command} if that is right, or {others}.")
    )


def _offer_to_write_layout(plan: ClassPlan, assignment: str, layout: LayoutName) -> None:
    """Ask whether to write a layout that was confirmed into `class.yaml`, so that the question is not asked again."""
    question = f"Write layout: {layout} into {CLASS_FILE} for {assignment}? [y/N]"
    print(question, end=" ", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() in ("y", "yes") and not plan.write_layout(assignment, layout):
        print(f"{plan.line('assignments', assignment)}: add layout: {layout} there by hand.", file=sys.stderr)


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at SIGTERM and SIGHUP inside the block, so that results are written as after Ctrl-C.

    Only in the main thread, and for a signal that nobody else handles.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():  # only the main thread may set handlers
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
    """Return the options with the isolation that is wanted, or the strongest that this machine has.

    Prints on stderr what the isolation does not prevent, if there is anything.

    Args:
        grading: the options.
        wanted: the isolation; the strongest one if `None`.

    Raises:
        InfrastructureError: learner code cannot be isolated here, as wanted or at all.
    """
    this_machine = machine()
    chosen = choose(this_machine, wanted)
    if warning := weakness(chosen, this_machine):
        print_message(f"handgrad: {warning}", sys.stderr)
    return replace(grading, isolation=chosen)


def with_time_limit(course: Course, seconds: float) -> Course:
    """Return the course with another time limit, in seconds, for each exercise file.

    Raises:
        UsageError: the number cannot be a time limit, such as 0.
    """
    try:
        policy = Policy.model_validate({**course.config.policy.model_dump(), "time_limit": seconds})
    except ValidationError as error:
        raise UsageError(f"--timeout {seconds:g} is no time limit: name a number of seconds, 3600 at most.") from error
    return replace(course, config=course.config.model_copy(update={"policy": policy}))


@contextmanager
def showing_progress(on_terminal: bool, clock: Callable[[], float] = time.monotonic) -> Iterator[ReportProgress]:
    """Show the progress on stderr: a bar on a terminal, and a line now and then in a log.

    Args:
        on_terminal: whether stderr is a terminal.
        clock: returns the time in seconds.

    Yields:
        The function to call with the progress whenever a submission is done.
    """
    console = Console(stderr=True, theme=progress_theme())
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Bar(*columns, console=console, transient=True, disable=not on_terminal) as bar:
        task = bar.add_task("grading", total=None, pace="")
        last = clock()

        def report(progress: GradingProgress) -> None:
            nonlocal last
            bar.update(task, completed=progress.done, total=progress.total, pace=pace(progress))
            if progress.done == progress.total:
                bar.stop()  # or it would be drawn over a question
            if not on_terminal and clock() >= last + LOG_INTERVAL:
                last = clock()
                print(f"graded {progress.done} of {progress.total}, {pace(progress)}", file=sys.stderr, flush=True)

        yield report


def pace(progress: GradingProgress) -> str:
    """Return the rate and the time that remains at it, such as "2.5/s, 1:05 left".

    Without a rate, that is "starting", or empty if all is done.
    """
    if not progress.rate:
        return "starting" if progress.done < progress.total else ""
    remaining = math.ceil((progress.total - progress.done) / progress.rate)
    minutes, seconds = divmod(remaining, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    rate = f"{progress.rate:.0f}/s" if progress.rate >= 10 else f"{progress.rate:.1f}/s"
    return f"{rate}, {clock} left"


def _confirm_zeros(nothing: Sequence[NothingToGrade], class_folder: ClassFolder, as_json: bool) -> bool:
    """Ask on the terminal whether to enter 0 points for students who submitted nothing gradable; return the answer.

    Whatever is typed other than "y" or "yes" means no.

    Args:
        nothing: these students, each with the reason.
        class_folder: the submissions of the class.
        as_json: whether the output is JSON; then, and where there is no terminal, nothing is asked and it is False.
    """
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    everybody = class_folder.count + len(class_folder.absent)
    print_message("\n".join(_nothing_lines(nothing, everybody)), sys.stderr)
    print(f"{QUESTION} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _nothing_lines(nothing: Sequence[NothingToGrade], total: int) -> list[str]:
    """Return lines that say which students submitted nothing that could be graded, and why; the first says how many.

    Args:
        nothing: these students, each with the reason.
        total: the number of students in the class.
    """
    holds = "holds" if len(nothing) == 1 else "hold"
    return [f"{len(nothing)} of {total} {holds} nothing that could be graded:", *_lines_with_reasons(nothing)]


def _lines_with_reasons(nothing: Sequence[NothingToGrade]) -> list[str]:
    """Return a line for each of the first `MOST_NAMES` submissions with its reason, and a line that counts the rest."""
    lines = [
        one_line(plain(f"  {entry.student}: {entry.why}{_older(entry.earlier)}")) for entry in nothing[:MOST_NAMES]
    ]
    return [
        *lines,
        *([f"  and {len(nothing) - MOST_NAMES} more, in {GRADES_FILE}"] if len(nothing) > MOST_NAMES else []),
    ]


def print_summary(course: Course, summary: ClassSummary, out: Path) -> None:
    """Print the counts of a class on stdout, and what could not be graded on stderr.

    Args:
        course: the course.
        summary: the counts.
        out: the results folder.
    """
    console = Console(highlight=False, markup=False, soft_wrap=not sys.stdout.isatty())
    reused = f", {summary.reused} unchanged and kept" if summary.reused else ""
    kind = f" Taken for {summary.kind}." if summary.kind != PLAIN_LAYOUT else ""
    console.print(f"{_submissions(summary.graded)} graded{reused}, in {summary.seconds:.1f} s.{kind}")
    console.print(f"{_mean(summary)} Results: {out / GRADES_FILE}")
    if len(summary.units) > 1 or any(unit.max_score < summary.max_score for unit in summary.units.values()):
        console.print(_units(summary), soft_wrap=False)
    if any(summary.mistakes.values()):
        console.print(_mistakes(course, summary), soft_wrap=False)
    for remark in _remarks(summary):
        console.print(remark, style="bold")
    for line in _failure_lines(summary.errors, AGAIN if summary.is_whole else f"{AGAIN}, without --student"):
        print_message(line, sys.stderr)


def score_line(results: StudentResults) -> str:
    """Return one line with a student's points, such as "ada: 3.5 of 10 points.", or with why there are none."""
    if results.score is None:
        return one_line(f"{plain(results.student)}: no score ({plain(results.why_no_score)}).")
    return one_line(f"{plain(results.student)}: {shown(results.score)} of {shown(results.max_score)} points.")


def _mean(summary: ClassSummary) -> str:
    """Return a sentence such as "Mean score 7.25 of 10 (28 of 30 students).", or that nobody has a score.

    It says of whom if some have no score, or if the means of the units are of fewer students.
    """
    if summary.mean_score is None:
        return "Nobody has a score."
    who = f" ({summary.scored} of {summary.students} students)" if summary.scored < summary.students else ""
    if not who and _has_means_of_fewer(summary):
        who = f" (all {summary.students} students)"
    return f"Mean score {summary.mean_score:.2f} of {summary.max_score:g}{who}."


def _has_means_of_fewer(summary: ClassSummary) -> bool:
    """Return whether any unit has a mean of fewer students than the mean score is of, so that they do not add up."""
    return any(unit.students < summary.scored for unit in summary.units.values())


def _failure_lines(failures: Sequence[Failure], next_step: str) -> Iterator[str]:
    """Yield one line for each student and reason, with the exercises that could not be graded for this reason.

    They come in the order of the first failure of each; of more than `MOST_EXERCISES` exercises only the number is
    said.

    Args:
        failures: what could not be graded, of students of this run and of others whose records were kept.
        next_step: what to do after the step that a message names, as a clause; not said where the message ends in
            `AGAIN`.
    """
    exercises = dict[tuple[str, str], list[str]]()
    for failure in failures:
        exercises.setdefault((failure.student, failure.message), []).append(failure.exercise)
    for (student, message), names in exercises.items():
        which = (
            "".join(f", {name}" for name in names if name)
            if len(names) <= MOST_EXERCISES
            else f", {len(names)} exercises"
        )
        again = "" if message.endswith(AGAIN) else f" Then {next_step}."
        yield one_line(f"{student}{which}: not graded ({message}).{again}")


def _remarks(summary: ClassSummary) -> Iterator[str]:
    """Yield sentences on ignored files, the roster, notes and empty submissions, which an instructor may not expect."""
    for name in summary.strays[:MOST_NAMES]:
        yield f"{name} is nobody's submission: ignored."
    if len(summary.strays) > MOST_NAMES:
        yield f"And {len(summary.strays) - MOST_NAMES} more that are nobody's submission: ignored."
    if summary.course_changed:
        yield "The course or handgrad has changed since the last run, so everybody was graded again."
    if summary.seed_changed:
        yield "The results here had another seed, so they were graded again: all results of a folder share one seed."
    if summary.gained or summary.lost:
        verbs = ((summary.gained, "gained"), (summary.lost, "lost"))
        changed = [f"{many} student{'' if many == 1 else 's'} {verb} points" for many, verb in verbs if many]
        yield f"Since the last run {' and '.join(changed)}: see {CHANGES_FILE}."
    if summary.late:
        yield f"{summary.late} of {summary.students} lost points for lateness: see the notes in {GRADES_FILE}."
    if summary.undated:
        count = len(summary.undated)
        who, counts = ("1 submission has", "counts") if count == 1 else (f"{count} submissions have", "count")
        yield f"{who} no known time, and {counts} as on time: {_first_few_titles(summary.undated)}."
    if summary.undated_late:
        names = _first_few_titles(summary.undated_late)
        says = f"Late according to the file names that Canvas gave, and counted as on time: {names}"
        yield f"{says}. Write their times into the roster."
    if summary.above:
        more = f"More than {summary.max_score:g} points by {ADJUSTMENTS_FILE}: {_first_few_titles(summary.above)}."
        yield f"{more} Correct the file if that is a mistake."
    if summary.rescaled:
        says = f"Points in {ADJUSTMENTS_FILE} for an exercise whose maximum has changed"
        yield f"{says}: {first_few_names(summary.rescaled, MOST_NAMES)}. Change them if they should change with it."
    if summary.unlisted:
        yield f"Not on the roster, and graded under their own names: {_first_few_titles(summary.unlisted)}."
    yield from _remarks_on_names(summary)
    if summary.removed:
        yield f"Earlier results that no longer count, put away in removed/: {_first_few_titles(summary.removed)}."
    empty = {entry.student for entry in (*summary.nothing, *summary.unclaimed)}
    for student, notes in [(student, notes) for student, notes in summary.noted.items() if student not in empty][
        :MOST_NAMES
    ]:
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        yield one_line(f"{student}: {notes[0]}{more}.")
    if summary.with_notes > MOST_NAMES:
        more_noted = summary.with_notes - MOST_NAMES
        who = "1 more student has" if more_noted == 1 else f"{more_noted} more students have"
        yield f"{who} notes: see {GRADES_FILE}."
    if summary.untouched:
        untouched = "only stubs, blank answer sheets or files without the function"
        yield f"Handed in {untouched}, and graded with 0 points: {_first_few_titles(summary.untouched)}."
    absent, failed = {*summary.absent}, {failure.student for failure in summary.errors}
    if scored := [name for name in summary.absent if name not in empty | failed]:
        yield f"On the roster, with a score, and handed in nothing: {_first_few_titles(scored)}."
    if without := [name for name in summary.absent if name in empty]:
        yield f"On the roster, and handed in nothing: {_first_few_titles(without)}."
    if summary.nothing:
        if others := [entry for entry in summary.nothing if entry.student not in absent]:
            yield from _nothing_lines(others, summary.students)
        how = "--yes" if summary.is_whole else "--yes, without --student"
        yield "They have 0 points." if summary.entered else f"They have no points. To enter 0 for them: {how}"
    if summary.unclaimed:
        count = len(summary.unclaimed)
        yield f"{'1 entry is' if count == 1 else f'{count} entries are'} of no known student, and without points:"
        yield from _lines_with_reasons(summary.unclaimed)


def _remarks_on_names(summary: ClassSummary) -> Iterator[str]:
    """Yield a sentence on the students who are called otherwise than in the last run, for each source of their names.

    Who is not on the roster, perhaps not any more, is named by the submission.
    """
    pairs_by_source = dict[str, list[str]]()
    for before, now in sorted(summary.renamed.items()):
        is_listed = summary.named_by and now not in summary.unlisted
        source = f"the column {summary.named_by}" if is_listed else "the names of their submissions"
        pairs_by_source.setdefault(source, []).append(f"{before} is {now} now")
    for source, pairs in pairs_by_source.items():
        who = f"{len(pairs)} student{' is' if len(pairs) == 1 else 's are'} called otherwise"
        yield one_line(
            plain(f"{who} than in the last run ({first_few_names(pairs)}): their results are now named by {source}.")
        )


def _older(titles: Sequence[str]) -> str:
    """Return a clause on the older submissions of a student; empty if there are none."""
    return f"; the older {first_few_names(titles)} {'does' if len(titles) == 1 else 'do'} not count" if titles else ""


def _submissions(count: int) -> str:
    """Return a number of submissions with its noun: "1 submission" or "3 submissions"."""
    return f"{count} submission{'' if count == 1 else 's'}"


def _first_few_titles(names: Sequence[str]) -> str:
    """Return the first `MOST_NAMES` of some names, and how many more there are: "ada, bob and 3 more"."""
    return one_line(plain(first_few_names(names, MOST_NAMES)))


def _units(summary: ClassSummary) -> Table:
    """Return a table with a row for each unit: how many students submitted something of it, and their mean score."""
    mean = "mean of these" if _has_means_of_fewer(summary) else "mean"
    table = Table("unit", "handed in", mean, box=None, pad_edge=False, title_justify="left")
    for name, unit in summary.units.items():
        table.add_row(name, str(unit.students), f"{unit.mean_score:.2f} of {unit.max_score:g}")
    return table


def _mistakes(course: Course, summary: ClassSummary) -> Table:
    """Return a table of the `MOST_MISTAKES` most frequent mistakes in each exercise, by code.

    The exercises are in teaching order; those without a mistake are left out.
    """
    table = Table("exercise", "most frequent mistakes", box=None, pad_edge=False, title_justify="left")
    for exercise in course.exercises:
        mistakes = summary.mistakes.get(exercise.id, ())[:MOST_MISTAKES]
        if mistakes:
            table.add_row(exercise.id, ", ".join(f"{mistake.code} ({mistake.students})" for mistake in mistakes))
    return table
