"""What pytest's terminal shows of exercises: one line a unit for what is to do, the bars, and what comes next."""

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

from .pytest_items import AnswerItem, CourseRun, write

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise
    from grader.rendering.render_text import Line

UNIT_LINES = "handgrad-unit-lines"


class UnitLines:
    """Tells all files of a unit in which nothing is attempted in one line, in place of a line of `T` for each.

    Args:
        reporter: pytest's terminal reporter.
        items: what runs.
        apart: files that keep a line of their own: they were asked for by name.
    """

    def __init__(self, reporter: Any, items: Sequence[pytest.Item], apart: set[Path]) -> None:
        self.reporter = reporter
        self.last = items[-1].nodeid
        answers = [item for item in items if isinstance(item, AnswerItem) and item.path not in apart]
        self.units = {_file(item.nodeid): item.parent.exercise.unit for item in answers}
        self.quizzes = {_file(item.nodeid) for item in answers if item.parent.exercise.is_quiz}
        self.longest = max(map(len, self.units.values()), default=0)
        self.told: set[str] = set()
        self.folder = ""
        self.todo = {False: 0, True: 0}  # of exercises, and of quizzes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Keep pytest from writing a file's path before it is known whether anything in it is attempted."""
        file = _file(nodeid)
        folder = file.rpartition("/")[0] if file in self.units else ""
        if folder != self.folder:
            self.write()
        self.folder = folder
        self.reporter.showfspath = not folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count what is to do, and write the path of a file in which something is attempted."""
        if _file(report.nodeid) not in self.units:
            return
        found = getattr(report, "handgrad", None)
        if found is not None and not found["attempted"]:
            found["counted"] = True
            self.todo[_file(report.nodeid) in self.quizzes] += 1
        elif report.when == "call" or not report.passed:
            self.reporter.write_fspath_result(report.nodeid, "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the last line while pytest's [100%] can still end it."""
        if nodeid == self.last:
            self.write()

    def pytest_sessionfinish(self) -> None:
        """Write what was counted in a run that was stopped."""
        self.write()

    def write(self) -> None:
        """One line for the unit whose answers were counted."""
        answers, questions = self.todo[False], self.todo[True]
        if answers or questions:
            unit = self.folder.rpartition("/")[2]
            says = f"{answers:>3} to do" + (f"  quiz {questions}" if questions else "")
            self.reporter.write_fspath_result(self.folder, "")
            self.reporter.write(f"{'':{self.longest - len(unit)}} {says}", yellow=True)
            self.reporter.currentfspath = None  # else pytest would end the line with how far the next unit is
            self.told.add(unit)
            self.todo = {False: 0, True: 0}


def _file(nodeid: str) -> str:
    return nodeid.split("::")[0]


def fold_units(session: pytest.Session, named: set[Path]) -> None:
    """One line a unit for what is to do, where pytest would write one for each file.

    Args:
        named: what was asked for on the command line.
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
    """Record what was checked in this run, and write flags, progress bars, the next step and files out of place."""
    course, progress = course_run.course, course_run.session.progress
    touched = [exercise for exercise in course.exercises if exercise.id in course_run.seen]
    for exercise in touched:
        progress.record(exercise, course_run.seen[exercise.id])
    if touched:
        progress.save()
    _write_flags(reporter, course_run, touched)
    reporter.section("progress", sep="-")
    only_todo = exitstatus == pytest.ExitCode.TESTS_FAILED and not {"failed", "error"} & set(reporter.stats)
    for line in _closing(reporter, course_run, touched, only_todo):
        write(reporter._tw, line)
    lost = [exercise for exercise in touched if not exercise.path.exists()]
    for note in (*map(missing_stub, lost), *progress.notes, *map(stray_file, course_run.strays)):
        write(reporter._tw, ((note, "todo"),))


def _write_flags(reporter: Any, course_run: CourseRun, touched: list[CourseExercise]) -> None:
    """Write, for each checked file, what a person should look at, as `handgrad check` does."""
    from grader.rendering.render_text import flag_lines

    flagged = [exercise for exercise in touched if course_run.seen[exercise.id].flags]
    if flagged:
        reporter.section("to look at", sep="-")
    for exercise in flagged:
        write(reporter._tw, ((exercise.file, "bold"),))
        for line in flag_lines(course_run.seen[exercise.id], reporter._tw.fullwidth):
            write(reporter._tw, line)


def _closing(reporter: Any, course_run: CourseRun, touched: list[CourseExercise], only_todo: bool) -> Iterator[Line]:
    """Yield the closing lines: progress bars, why pytest exits with 1 although nothing is wrong, and the next step.

    A unit has a bar unless its folded line has shown its progress.
    """
    from grader.rendering.render_text import lesson_file, next_step

    from .progress import by_unit, is_attempted, next_exercise
    from .progress_terminal import progress_bars

    course, progress, width = course_run.course, course_run.session.progress, reporter._tw.fullwidth
    begun = {each.unit for each in course.exercises if (known := progress.result(each)) and is_attempted(known)}
    untold = {exercise.unit for exercise in touched} - (_told(reporter.config) - begun)
    yield from progress_bars(by_unit(course, progress, untold), width)
    following = next_exercise(progress, touched) or next_exercise(progress, course.exercises)
    if reporter.verbosity >= 0 and touched:
        if only_todo:
            yield from _why_one(not begun, width)
        if not begun:
            yield from where_to_study(course, reporter.startpath, width)
        if following and following.unit not in begun:
            yield (("lesson: ", ""), (lesson_file(following), "bold"))
    yield next_step(following)


def _why_one(is_new: bool, width: int) -> Iterator[Line]:
    says = "pytest exits with 1 until every answer passes."
    for line in textwrap.wrap(f"Nothing is attempted yet. {says}" if is_new else says, width):
        yield ((line, ""),)


def _told(config: pytest.Config) -> set[str]:
    """The units whose answers to do are told in a line."""
    lines = config.pluginmanager.get_plugin(UNIT_LINES)
    return set() if lines is None else lines.told


def where_to_study(course: Course, here: Path, width: int) -> Iterator[Line]:
    """The command to study with: a course beside its solutions is best left as it is.

    Args:
        here: the folder in which the command will be typed.
    """
    if course.solutions.parent == course.root:
        says, command = "Study in a folder of your own:", "handgrad init my-course"
    else:
        says, command = "Have each file checked as you save it:", "handgrad"
    command = f"{_activation(here)}{command}"
    if len(f"{says} {command}") <= width:
        yield ((f"{says} ", ""), (command, "bold"))
    else:  # the command stays in one piece, to be copied
        yield ((says, ""),)
        yield ((f"  {command}", "bold"),)


def _activation(here: Path) -> str:
    """What makes `handgrad` a command, where pytest was called by its path in an environment that is not activated."""
    script = Path(sys.executable).with_name("activate")
    if shutil.which("handgrad") is not None or not script.is_file():
        return ""
    shown = os.path.relpath(script, here) if here in script.parents else str(script)
    return f"{shown} && " if os.name == "nt" else f". {shlex.quote(shown)} && "


def missing_stub(exercise: CourseExercise) -> str:
    """How to get a stub back that is not there."""
    return f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"


def stray_file(path: Path) -> str:
    """What becomes of a file that is no exercise."""
    return f"{path.name} in {path.parent.name} is no exercise of this course: it was left alone; move or rename it."
