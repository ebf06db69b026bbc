"""Exercise files and their answers as pytest collects and runs them, and the report on a failed answer."""

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
    from grader.results.records import AnswerResult, ExerciseResult, Status
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

    Attributes:
        worker: runs learner code; `None` until it is started.
        is_broken: whether the course cannot be read.
        expected: the exercises that this run will check, in order.
        results: the verdicts of this run, by the exercise's id.
        first_answers: the first answer that failed for a reason, by the exercise's id and the reason.
        strays: files among the exercises that belong to none.
    """

    def __init__(self, root: Path) -> None:
        """Begin with no worker and no results; nothing is loaded yet."""
        self.root = root
        self.worker: Worker | None = None
        self.is_broken = False
        self.expected: list[CourseExercise] = []
        self.results: dict[str, ExerciseResult] = {}
        self.first_answers: dict[tuple[str, str], str] = {}
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
    """Collect the answers of an exercise from a learner's file, each as an item.

    Attributes:
        exercise: the exercise.
        course_run: its course, and the results of this run.
    """

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
        """Return the verdicts on the file, which is checked at the first access.

        The time limit is the course's or pytest-timeout's, whichever is shorter. With `-s`, what the file printed is
        printed then.

        Raises:
            pytest.exit.Exception: the file cannot be checked; this ends pytest, with the exit code of the error.
        """
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


@dataclass
class AnswerOutcome:
    """The outcome of one answer, which pytest's report on it carries.

    Args:
        root: the course folder.
        name: the answer's name.
        result: the verdicts on the exercise.
        is_folded: whether the line of its unit shows it, instead of a letter of its own.
    """

    root: Path
    name: str
    result: ExerciseResult
    is_folded: bool = False

    @property
    def answer(self) -> AnswerResult:
        """Return the verdict on the answer."""
        return next(answer for answer in self.result.answers if answer.name == self.name)

    @property
    def status(self) -> Status:
        """Return the status of the answer."""
        return self.answer.status

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values, for another process: "root", "name", "exercise" and "made_from"."""
        result = self.result
        return {
            "root": str(self.root), "name": self.name, "exercise": result.record, "made_from": result.made_from
        }  # fmt: skip

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> AnswerOutcome:
        """Return the outcome from the JSON values that `as_json` returned in another process."""
        from grader.results.records import exercise_from_json

        result = replace(exercise_from_json(record["exercise"]), made_from=record["made_from"])
        return cls(Path(record["root"]), record["name"], result)


class AnswerFailed(Exception):
    """Say that an answer has not passed.

    Args:
        answer: the verdict on it.
    """

    def __init__(self, answer: AnswerResult) -> None:
        """Make an error whose message is that of the verdict."""
        super().__init__(answer.message)
        self.answer = answer


class AnswerItem(pytest.Item):
    """One answer of one exercise file, as an item that pytest runs."""

    parent: ExerciseFile

    @property
    def answer(self) -> AnswerResult:
        """Return the verdict on the answer; the first answer of a file that is asked for has the file checked."""
        return next(answer for answer in self.parent.result.answers if answer.name == self.name)

    def runtest(self) -> None:
        """Check the answer.

        Raises:
            AnswerFailed: the answer has not passed.
        """
        if self.answer.status != "passed":
            raise AnswerFailed(self.answer)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report on an answer that failed; for any other exception pytest's own. `style` is not used."""
        if isinstance(excinfo.value, AnswerFailed):
            return Report(self.parent.course_run, self.parent.exercise, excinfo.value.answer)
        return super().repr_failure(excinfo)

    @cached_property
    def line(self) -> int:
        """Return the line, from 0, that first assigns the answer; if none does, that of its question or function.

        0 if there is none of these.
        """
        name = re.escape(self.name)
        places = (rf"^\s*{name}\b[^=\n]*=(?!=)", rf"^\s*{name}:", rf"^def {re.escape(self.parent.exercise.id)}\b")
        matches = (re.search(place, self.parent.text, re.MULTILINE) for place in places)
        return next((self.parent.text.count("\n", 0, match.end()) for match in matches if match), 0)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the path, the line from 0, and the title of the answer's report."""
        return self.path, self.line, f"{self.parent.exercise.file}  {self.name}"


@dataclass(frozen=True)
class SummaryLine:
    """The line on a failed answer in pytest's short summary."""

    message: str

    def __str__(self) -> str:
        """Return the line."""
        return self.message


class Report:
    """The report on one failed answer, which pytest prints in place of a traceback.

    If several answers of a file fail for the same reason, all but the first refer to the first.

    Args:
        course_run: the course, and the answers reported before.
        exercise: the exercise.
        answer: the verdict on the answer.
    """

    def __init__(self, course_run: CourseRun, exercise: CourseExercise, answer: AnswerResult) -> None:
        """Look up the hints seen, and whether an earlier answer of the same file failed for the same reason.

        If none did, this answer is kept as the first one, in `course_run.first_answers`.
        """
        self.exercise, self.answer = exercise, answer
        self.hints_seen = course_run.session.progress.hints_seen(exercise, answer)
        self.reprcrash = SummaryLine(f"{answer.code}: {answer.message}")
        reason = (exercise.id, f"{answer.status} {answer.code} {answer.message} {answer.evidence}")
        first = course_run.first_answers.setdefault(reason, answer.name)
        self.same_as = first if first != answer.name and answer.status != "todo" else ""

    def lines(self, width: int) -> Iterator[Line]:
        """Yield the lines of the report on the answer, at most `width` columns wide."""
        from grader.rendering.render_text import failure_lines

        if self.same_as:
            yield ((f"the same as {self.same_as} above", "bad"),)
        else:
            yield from failure_lines(self.exercise, self.answer, width, self.hints_seen)

    def toterminal(self, tw: Any) -> None:
        """Write the report to pytest's terminal writer."""
        for line in self.lines(tw.fullwidth):
            write(tw, line)

    def __str__(self) -> str:
        """Return the report as plain text."""
        from grader.rendering.render_text import as_text

        return as_text(self.lines(100))


def write(tw: Any, line: Line) -> None:
    """Write a line with its styles to pytest's terminal writer."""
    for text, style in line:
        tw.write(text, **MARKUP.get(style, {}))
    tw.line()
