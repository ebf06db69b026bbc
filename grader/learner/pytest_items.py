"""What pytest collects and reports: exercise files, their answers, the text of a failure, and what is to do."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grader.course import Course, CourseExercise
    from grader.results import AnswerResult, ExerciseResult
    from grader.sandbox.worker import Worker

    from .render_text import Line
    from .session import Session

MARKUP: dict[str, dict[str, bool]] = {
    "bold": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "todo": {"yellow": True},
    "dim": {"light": True},
}


class Sitting:
    """One course within one pytest run.

    Args:
        root: the course folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.worker: Worker | None = None
        self.seen: dict[str, ExerciseResult] = {}
        self.shown: dict[tuple[str, str], str] = {}
        self.strays: list[Path] = []

    @cached_property
    def course(self) -> Course:
        from grader.judging.lazy_grader import without_garbage_collection

        with without_garbage_collection():
            from grader.course import load_course

            return load_course(self.root)

    @cached_property
    def session(self) -> Session:
        from .session import Session

        return Session(self.course, self.worker)

    def close(self) -> None:
        """End the worker, if there is one."""
        if "session" in vars(self):
            self.session.close()
        elif self.worker is not None:
            self.worker.close()


class ExerciseFile(pytest.File):
    """A learner's file; its items are the answers of the exercise."""

    exercise: CourseExercise
    sitting: Sitting

    @classmethod
    def of(cls, parent: pytest.Collector, sitting: Sitting, exercise: CourseExercise) -> ExerciseFile:
        """The collector of one exercise's file."""
        file: ExerciseFile = cls.from_parent(parent, path=exercise.path)
        file.exercise, file.sitting = exercise, sitting
        return file

    def collect(self) -> Iterable[AnswerItem]:
        for name in self.exercise.answer_names:
            yield AnswerItem.from_parent(self, name=name)

    @cached_property
    def result(self) -> ExerciseResult:
        """The verdict on the whole file, asked for once."""
        from grader.errors import HandgradError

        try:
            result = self.sitting.session.check(self.exercise)
        except HandgradError as error:
            raise pytest.exit.Exception(str(error), returncode=error.exit_code) from None
        if self.config.option.capture == "no" and result.printed.strip():
            print(f"\n{result.printed.rstrip()}")
        return result


class NotYet(Exception):
    """An answer that has not passed; carries its result."""

    def __init__(self, answer: AnswerResult) -> None:
        super().__init__(answer.message)
        self.answer = answer


class AnswerItem(pytest.Item):
    """One answer of one exercise file."""

    parent: ExerciseFile

    @property
    def answer(self) -> AnswerResult:
        return next(answer for answer in self.parent.result.answers if answer.name == self.name)

    def runtest(self) -> None:
        if self.answer.status != "passed":
            raise NotYet(self.answer)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotYet):
            return Report(self.parent.sitting, self.parent.exercise, excinfo.value.answer)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.parent.exercise.file}  {self.name}"


@dataclass(frozen=True)
class Summary:
    """One line for pytest's short summary."""

    message: str

    def __str__(self) -> str:
        return self.message


class Report:
    """What a learner reads of one failed answer; pytest prints it where a traceback would stand.

    Of several answers of a file that fail for the very same reason only the first is told in full.
    """

    def __init__(self, sitting: Sitting, exercise: CourseExercise, answer: AnswerResult) -> None:
        self.exercise, self.answer = exercise, answer
        self.hints_seen = sitting.session.progress.hints_seen(exercise, answer)
        self.reprcrash = Summary(f"{answer.code}: {answer.message}")
        reason = (exercise.id, f"{answer.status} {answer.code} {answer.message} {answer.evidence}")
        first = sitting.shown.setdefault(reason, answer.name)
        self.same_as = first if first != answer.name and answer.status != "todo" else ""

    def lines(self, width: int) -> Iterator[Line]:
        from .render_text import failure_lines

        if self.same_as:
            yield ((f"the same as {self.same_as} above", "bad"),)
        else:
            yield from failure_lines(self.exercise, self.answer, width, self.hints_seen)

    def toterminal(self, tw: Any) -> None:
        for line in self.lines(tw.fullwidth):
            write(tw, line)

    def __str__(self) -> str:
        from .render_text import as_text

        return as_text(self.lines(100))


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
        self.longest = max(map(len, self.units.values()), default=0)
        self.told: set[str] = set()
        self.folder = ""
        self.todo = 0

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
            self.todo += 1
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
        if self.todo:
            unit = self.folder.rpartition("/")[2]
            self.reporter.write_fspath_result(self.folder, "")
            self.reporter.write(f"{'':{self.longest - len(unit)}} {self.todo:>3} to do", yellow=True)
            self.reporter.currentfspath = None  # else pytest would end the line with how far the next unit is
            self.told.add(unit)
            self.todo = 0


def _file(nodeid: str) -> str:
    return nodeid.split("::")[0]


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


def write(tw: Any, line: Line) -> None:
    """One line on pytest's terminal."""
    for text, style in line:
        tw.write(text, **MARKUP.get(style, {}))
    tw.line()
