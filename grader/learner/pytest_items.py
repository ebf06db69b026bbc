"""What pytest collects and reports: exercise files, their answers, and the text of a failure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise
    from grader.rendering.render_text import Line
    from grader.results.records import AnswerResult, ExerciseResult
    from grader.sandbox.worker import Worker

    from .session import Session

MARKUP: dict[str, dict[str, bool]] = {
    "bold": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "todo": {"yellow": True},
    "dim": {"light": True},
}


class CourseRun:
    """Hold the state of one course within one pytest run.

    Args:
        root: the course folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.worker: Worker | None = None
        self.is_broken = False
        self.expected: list[CourseExercise] = []
        self.seen: dict[str, ExerciseResult] = {}
        self.shown: dict[tuple[str, str], str] = {}
        self.strays: list[Path] = []

    @cached_property
    def course(self) -> Course:
        """Return the course, loaded at first use."""
        from grader.garbage import without_garbage_collection

        with without_garbage_collection():
            from grader.course.course import load_course

            return load_course(self.root)

    @cached_property
    def session(self) -> Session:
        """Return the session that checks exercises, opened at first use."""
        from .session import Session

        session = Session(self.course, self.worker)
        session.expect(self.expected)
        return session

    def close(self) -> None:
        """End the worker, if there is one."""
        if "session" in vars(self):
            self.session.close()
        elif self.worker is not None:
            self.worker.close()


class ExerciseFile(pytest.File):
    """Collect the answers of an exercise from a learner's file, each as an item."""

    exercise: CourseExercise
    course_run: CourseRun
    outer_limit = math.inf  # seconds that pytest-timeout allows for an answer

    @classmethod
    def of(cls, parent: pytest.Collector, course_run: CourseRun, exercise: CourseExercise) -> ExerciseFile:
        """Return the collector of one exercise's file."""
        file: ExerciseFile = cls.from_parent(parent, path=exercise.path)
        file.exercise, file.course_run = exercise, course_run
        return file

    def collect(self) -> Iterable[AnswerItem]:
        """Yield an item for each answer."""
        for name in self.exercise.answer_names:
            yield AnswerItem.from_parent(self, name=name)

    @cached_property
    def text(self) -> str:
        """Return the text of the file; empty if it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @cached_property
    def result(self) -> ExerciseResult:
        """Return the verdicts on the file, checked once within the shorter limit, the course's or pytest-timeout's."""
        from grader.errors import HandgradError

        course_limit = self.exercise.course.policy.time_limit
        is_shorter = self.outer_limit < course_limit
        exercise = self.exercise.with_time_limit(self.outer_limit) if is_shorter else self.exercise
        try:
            result = self.course_run.session.check(exercise)
        except HandgradError as error:
            raise pytest.exit.Exception(str(error), returncode=error.exit_code) from None
        if is_shorter:
            reason = f"pytest-timeout allows {self.outer_limit:g} seconds here, the course {course_limit:g}"
            answers = (
                replace(answer, message=f"{answer.message}; {reason}") if answer.code == "timeout" else answer
                for answer in result.answers
            )
            result = replace(result, answers=tuple(answers))
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
            return Report(self.parent.course_run, self.parent.exercise, excinfo.value.answer)
        return super().repr_failure(excinfo)

    @cached_property
    def line(self) -> int:
        """The line of the learner's file, from 0, in which the answer is stored first, or what holds it begins."""
        name = re.escape(self.name)
        places = (rf"^\s*{name}\b[^=\n]*=(?!=)", rf"^\s*{name}:", rf"^def {re.escape(self.parent.exercise.id)}\b")
        found = (re.search(place, self.parent.text, re.MULTILINE) for place in places)
        return next((self.parent.text.count("\n", 0, match.end()) for match in found if match), 0)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self.line, f"{self.parent.exercise.file}  {self.name}"


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

    def __init__(self, course_run: CourseRun, exercise: CourseExercise, answer: AnswerResult) -> None:
        self.exercise, self.answer = exercise, answer
        self.hints_seen = course_run.session.progress.hints_seen(exercise, answer)
        self.reprcrash = Summary(f"{answer.code}: {answer.message}")
        reason = (exercise.id, f"{answer.status} {answer.code} {answer.message} {answer.evidence}")
        first = course_run.shown.setdefault(reason, answer.name)
        self.same_as = first if first != answer.name and answer.status != "todo" else ""

    def lines(self, width: int) -> Iterator[Line]:
        from grader.rendering.render_text import failure_lines

        if self.same_as:
            yield ((f"the same as {self.same_as} above", "bad"),)
        else:
            yield from failure_lines(self.exercise, self.answer, width, self.hints_seen)

    def toterminal(self, tw: Any) -> None:
        for line in self.lines(tw.fullwidth):
            write(tw, line)

    def __str__(self) -> str:
        from grader.rendering.render_text import as_text

        return as_text(self.lines(100))


def write(tw: Any, line: Line) -> None:
    """One line on pytest's terminal."""
    for text, style in line:
        tw.write(text, **MARKUP.get(style, {}))
    tw.line()
