"""The lines on exercises in pytest's terminal: one for each untouched unit, progress bars, and the next step."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_items import AnswerItem, AnswerOutcome, CourseRun, write

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise
    from grader.rendering.render_text import Line

UNIT_LINES = "handgrad-unit-lines"


class UnitLines:
    """Write one line for all untouched files of a unit, in place of a line of `T` for each.

    Args:
        reporter: pytest's terminal reporter.
        items: the items of the run.
        apart: files that keep their own line, because they were named on the command line.
    """

    def __init__(self, reporter: Any, items: Sequence[pytest.Item], apart: set[Path]) -> None:
        """Find the units of the answers; files in `apart` keep lines of their own. No line is written yet."""
        self.reporter = reporter
        self.last = items[-1].nodeid
        answers = [item for item in items if isinstance(item, AnswerItem) and item.path not in apart]
        self.units = {_file(item.nodeid): item.parent.exercise.unit for item in answers}
        self.quizzes = {_file(item.nodeid) for item in answers if item.parent.exercise.is_quiz}
        self.longest = max(map(len, self.units.values()), default=0)
        self.shown_units: set[str] = set()
        self.folder = ""
        self.todo = {False: 0, True: 0}  # of exercises, and of quizzes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Keep pytest from writing a file's path before it is known whether any answer in the file is attempted."""
        file = _file(nodeid)
        folder = file.rpartition("/")[0] if file in self.units else ""
        if folder != self.folder:
            self.write()
        self.folder = folder
        self.reporter.showfspath = not folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the answers of an untouched file; write the path of a file in which something is attempted."""
        if _file(report.nodeid) not in self.units:
            return
        from .progress import is_attempted

        outcome: AnswerOutcome | None = getattr(report, "handgrad", None)
        if outcome is not None and not is_attempted(outcome.result):
            outcome.is_folded = True
            self.todo[_file(report.nodeid) in self.quizzes] += 1
        elif report.when == "call" or not report.passed:
            self.reporter.write_fspath_result(report.nodeid, "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the line of the last unit after its last answer, so that pytest's [100%] still ends that line."""
        if nodeid == self.last:
            self.write()

    def pytest_sessionfinish(self) -> None:
        """Write the line of the current unit if the run was stopped."""
        self.write()

    def write(self) -> None:
        """Write the line of the current unit, unless no untouched file was counted, and count from 0 again."""
        answers, questions = self.todo[False], self.todo[True]
        if answers or questions:
            unit = self.folder.rpartition("/")[2]
            counts = f"{answers:>3} to do" + (f"  quiz {questions}" if questions else "")
            self.reporter.write_fspath_result(self.folder, "")
            self.reporter.write(f"{'':{self.longest - len(unit)}} {counts}", yellow=True)
            self.reporter.currentfspath = None  # else pytest would end the line with how far the next unit is
            self.shown_units.add(unit)
            self.todo = {False: 0, True: 0}


def _file(nodeid: str) -> str:
    """Return the path of the file in a pytest node id, which is the part before the first `::`."""
    return nodeid.split("::")[0]


def fold_units(session: pytest.Session, named: set[Path]) -> None:
    """Register the plugin that writes one line for all untouched files of a unit, unless pytest's options rule it out.

    Args:
        session: pytest's session.
        named: the paths on the command line, whose files keep lines of their own.
    """
    config, items = session.config, session.items
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not session.items or reporter is None or hasattr(config, "workerinput"):
        return
    if not reporter.showfspath or reporter.showlongtestinfo or config.option.capture == "no":
        return  # -q and xdist write no files, -v each answer; what a file prints with -s stands beside its name
    here = config.invocation_params.dir
    apart = {item.path for item in items if item.path in named or item.path.parent == here}
    config.pluginmanager.register(UnitLines(reporter, items, apart), UNIT_LINES)


def summarise(reporter: Any, exitstatus: int, course_run: CourseRun) -> None:
    """Record what was checked in this run, and write flags, progress bars, the next step and files out of place.

    Args:
        reporter: pytest's terminal reporter.
        exitstatus: the exit code of the run.
        course_run: the run, with its results.
    """
    course, progress = course_run.course, course_run.session.progress
    touched = [exercise for exercise in course.exercises if exercise.id in course_run.results]
    for exercise in touched:
        progress.record(exercise, course_run.results[exercise.id])
    if touched:
        progress.save()
    _write_flags(reporter, course_run, touched)
    reporter.section("progress", sep="-")
    only_todo = exitstatus == pytest.ExitCode.TESTS_FAILED and not {"failed", "error"} & set(reporter.stats)
    for line in _closing_lines(reporter, course_run, touched, only_todo):
        write(reporter._tw, line)
    lost = [exercise for exercise in touched if not exercise.path.exists()]
    for note in (*map(missing_stub, lost), *progress.notes, *map(stray_file, course_run.strays)):
        write(reporter._tw, ((note, "todo"),))


def _write_flags(reporter: Any, course_run: CourseRun, touched: list[CourseExercise]) -> None:
    """Write the flags of each checked file, such as "b.g was measured", under the heading "to look at".

    Args:
        reporter: pytest's terminal reporter.
        course_run: the run, with the results.
        touched: the exercises with tests in this run.
    """
    from grader.rendering.render_text import flag_lines

    flagged = [exercise for exercise in touched if course_run.results[exercise.id].flags]
    if flagged:
        reporter.section("to look at", sep="-")
    for exercise in flagged:
        write(reporter._tw, ((exercise.file, "bold"),))
        for line in flag_lines(course_run.results[exercise.id], reporter._tw.fullwidth):
            write(reporter._tw, line)


def _closing_lines(
    reporter: Any, course_run: CourseRun, touched: list[CourseExercise], only_todo: bool
) -> Iterator[Line]:
    """Yield the closing lines: progress bars, why pytest exits with 1 although nothing is wrong, and the next step.

    Args:
        reporter: pytest's terminal reporter.
        course_run: the run, with the learner's progress.
        touched: the exercises with tests in this run; a unit has a bar unless its exercises share one line.
        only_todo: whether nothing is wrong and pytest exits with 1 only because answers are not begun.
    """
    from grader.rendering.render_text import lesson_file, next_step

    from .check_terminal import progress_bars
    from .progress import by_unit, is_attempted, next_exercise

    course, progress, width = course_run.course, course_run.session.progress, reporter._tw.fullwidth
    begun = {e.unit for e in course.exercises if (result := progress.result(e)) and is_attempted(result)}
    with_bar = {exercise.unit for exercise in touched} - (_folded_units(reporter.config) - begun)
    yield from progress_bars(by_unit(course, progress, with_bar), width)
    following = next_exercise(progress, touched) or next_exercise(progress, course.exercises)
    if reporter.verbosity >= 0 and touched:
        if only_todo:
            yield from _exit_code_lines(not begun, width)
        if not begun:
            yield from where_to_study(course, reporter.startpath, width)
        if following and following.unit not in begun:
            yield (("lesson: ", ""), (lesson_file(following), "bold"))
    yield next_step(following)


def _exit_code_lines(is_new: bool, width: int) -> Iterator[Line]:
    """Yield the lines that explain why pytest exits with 1.

    Args:
        is_new: whether the learner has not attempted any answer, which the lines then mention.
        width: the most columns of a line.
    """
    says = "pytest exits with 1 until every answer passes."
    for line in textwrap.wrap(f"Nothing is attempted yet. {says}" if is_new else says, width):
        yield ((line, ""),)


def _folded_units(config: pytest.Config) -> set[str]:
    """Return the ids of the units whose untouched files have one line together, in place of one for each file."""
    lines = config.pluginmanager.get_plugin(UNIT_LINES)
    return set() if lines is None else lines.shown_units


def where_to_study(course: Course, here: Path, width: int) -> Iterator[Line]:
    """Yield the command to study with: `handgrad`, or `handgrad init` if the course's solutions are beside it.

    Args:
        course: the course.
        here: the folder in which the command will be typed.
        width: the greatest number of columns in a line.
    """
    if course.solutions.parent == course.root:
        advice, command = "Study in a folder of your own:", "handgrad init my-course"
    else:
        advice, command = "Have each file checked as you save it:", "handgrad"
    command = f"{_activation(here)}{command}"
    if len(f"{advice} {command}") <= width:
        yield ((f"{advice} ", ""), (command, "bold"))
    else:  # the command stays in one piece, to be copied
        yield ((advice, ""),)
        yield ((f"  {command}", "bold"),)


def _activation(here: Path) -> str:
    """Return the shell command that activates this environment; empty if `handgrad` is on the path already."""
    script = Path(sys.executable).with_name("activate")
    if shutil.which("handgrad") is not None or not script.is_file():
        return ""
    shown = os.path.relpath(script, here) if here in script.parents else str(script)
    return f"{shown} && " if os.name == "nt" else f". {shlex.quote(shown)} && "


def missing_stub(exercise: CourseExercise) -> str:
    """Return the message that an exercise's file is missing, and how to get its stub back."""
    return f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"


def stray_file(path: Path) -> str:
    """Return the message that a file belongs to no exercise and was not checked."""
    return f"{path.name} in {path.parent.name} is no exercise of this course: it was left alone; move or rename it."
