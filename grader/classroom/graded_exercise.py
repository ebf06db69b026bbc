"""The verdicts on one exercise in the form in which a class is counted: standings, mistakes and lines of a table.

Students often have equal verdicts, so everything that follows from them is computed once for all who share them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from grader.results.codes import UNNAMED, meaning
from grader.results.records import BY_PERSON, AnswerResult, ExerciseResult, Status
from grader.safe_text import no_formula

ERROR = "error"
SHAPES = "shapes do not fit"
BY_TYPE = {
    "NameError": "unknown name", "UnboundLocalError": "unknown name",
    "AttributeError": "no such attribute",
    "ImportError": "no such module", "ModuleNotFoundError": "no such module",
    "TypeError": "wrong kind of value",
    "IndexError": "no such entry", "KeyError": "no such entry",
    "ZeroDivisionError": "arithmetic", "OverflowError": "arithmetic", "FloatingPointError": "arithmetic",
}  # fmt: skip
MEANINGS = {
    SHAPES: "Two arrays have shapes that do not fit the operation.",
    "unknown name": "A name is used that has no value.",
    "no such attribute": "An object is used with an attribute or a method that it does not have.",
    "no such module": "A module is imported that does not exist.",
    "wrong kind of value": "An operation got a kind of value that it does not take.",
    "no such entry": "An index or a key is outside of an array, a list or a dict.",
    "arithmetic": "A division by zero, or a number that is too large.",
    "arguments": "The function does not take the arguments that it is called with.",
}
RAISED = re.compile(r"([A-Za-z_]\w{0,40}): (.*?)(?: \([^()]+, line \d+|$)", re.DOTALL)
SHAPE_WORDS = re.compile(r"shape|size|dimension|mat1|mat2|must match|broadcast|operands|indices", re.IGNORECASE)
SHAPE_ERRORS = ("RuntimeError", "ValueError", "IndexError")


def mistake_name(answer: AnswerResult) -> str:
    """Return the name that a wrong answer is counted under: its code, and for an error its kind: `error: arguments`.

    It is `error` alone for one of no known kind, and `UNNAMED` without a code.
    """
    if answer.code != ERROR:
        return answer.code or UNNAMED
    kind = _error_kind(answer.message)
    return f"{ERROR}: {kind}" if kind else ERROR


def mistake_meaning(name: str) -> str:
    """Return the sentence that explains a name of `mistake_name`; empty for an exception without a kind of its own."""
    code, _, kind = name.partition(": ")
    return MEANINGS.get(kind, "") if code == ERROR and kind else meaning(name)


def is_error(name: str) -> bool:
    """Return whether a name of `mistake_name` says that the learner's code raised an exception."""
    return name.partition(":")[0] == ERROR


def _error_kind(message: str) -> str:
    """Return the kind of an error by its message, which `diagnosis.exceptions` wrote.

    Returns:
        A key of `MEANINGS`, such as "arguments", "shapes do not fit" or "unknown name"; for any other exception its
        name, such as "RuntimeError"; empty if the message names no exception.
    """
    if "; it is called as " in message:
        return "arguments"
    raised = RAISED.match(message)
    if raised is None:
        return ""
    name, text = raised.groups()
    if name in SHAPE_ERRORS and SHAPE_WORDS.search(text) and "out of bounds" not in text:
        return SHAPES
    return BY_TYPE.get(name, name)


Key = tuple[str, str]
Standing = Literal["passed", "wrong", "begun", "unread", "untried", "adjusted", "ungraded"]
STANDING_OF_STATUS: Mapping[Status, Standing] = {
    "passed": "passed", "failed": "wrong", "todo": "untried", "error": "ungraded",
}  # fmt: skip
UNREAD = frozenset({"syntax-error", "not-read"})
UNRECOGNISED = frozenset({"unknown", UNNAMED})
NO_MISCONCEPTION = UNREAD | UNRECOGNISED | {"missing-function", "timeout", "memory", "crash"}


def is_misconception(mistake: str) -> bool:
    """Return whether a mistake shows a misconception, and not only that the code failed or was not recognised.

    Args:
        mistake: the name of the mistake, as `mistake_name` returns it.
    """
    return mistake not in NO_MISCONCEPTION and not is_error(mistake)


class _Echo:
    """Act as a file whose `write` returns the text, so that `csv` returns its lines."""

    def write(self, text: str) -> str:
        """Return the text, so that `csv.writer` returns the line that it writes."""
        return text


WRITER: Any = csv.writer(_Echo(), lineterminator="")


@dataclass(frozen=True)
class GradedExercise(ExerciseResult):
    """Hold the verdicts on one exercise for counting, its answers sorted by name.

    Args:
        is_adjusted: whether it could not be graded, and has its points from a person.
    """

    is_adjusted: bool = False

    @classmethod
    def for_counting(cls, result: ExerciseResult, adjusted_ids: Collection[str] = ()) -> GradedExercise:
        """Return the result of an exercise as a `GradedExercise`, with its answers sorted by name.

        Args:
            result: the result.
            adjusted_ids: the ids of the student's exercises whose points are from a person.
        """
        is_adjusted = result.status == "error" and result.id in adjusted_ids
        if isinstance(result, cls) and result.is_adjusted == is_adjusted:
            return result
        answers = tuple(sorted(result.answers, key=lambda answer: answer.name))
        return cls(result.id, result.unit, answers, max_score=result.max_score, is_adjusted=is_adjusted)

    @cached_property
    def key(self) -> Key:
        """Return the ids of the unit and the exercise."""
        return self.unit, self.id

    @cached_property
    def is_quiz(self) -> bool:
        """Return whether the exercise is the quiz of its unit."""
        return self.id == f"quiz_{self.unit}"

    @cached_property
    def standing(self) -> Standing:
        """Return the standing of a student in the exercise.

        It is `unread` if an answer could not be read and no other one is wrong, `begun` if some answers are right and
        the others were not attempted, and `adjusted` if the exercise could not be graded, and a person gave it points.
        In any other case it is that of the exercise's status, such as `passed` or `wrong`.
        """
        if self.is_adjusted:
            return "adjusted"
        standings = {standing for _, standing in self.standings}
        if self.status == "failed" and "wrong" not in standings:
            return "unread"
        if self.status == "todo" and "passed" in standings:
            return "begun"
        return STANDING_OF_STATUS[self.status]

    @cached_property
    def standings(self) -> tuple[tuple[str, Standing], ...]:
        """Return the name of each answer, with its standing, such as "passed", "wrong" or "adjusted"."""
        return tuple(
            (answer.name, "adjusted" if self.is_adjusted and answer.status == "error" else standing_with(answer))
            for answer in self.answers
        )

    @cached_property
    def mistakes(self) -> tuple[tuple[str, AnswerResult], ...]:
        """Return each wrong answer, with the name that it is counted under."""
        return tuple((mistake_name(answer), answer) for answer in self.answers if answer.status == "failed")

    @cached_property
    def mistake_names(self) -> tuple[str, ...]:
        """Return the names that the wrong answers are counted under, each once, sorted."""
        return tuple(sorted({name for name, _ in self.mistakes}))

    @cached_property
    def table_cells(self) -> tuple[str, ...]:
        """Return the CSV text of each answer's line in the table of a class, without the student's name."""
        return tuple(_csv_line(self, answer) for answer in self.answers)


def standing_with(answer: AnswerResult) -> Standing:
    """Return the standing of a student with an answer: a `Standing` such as "passed", "wrong" or "untried"."""
    return "unread" if answer.status == "failed" and answer.code in UNREAD else STANDING_OF_STATUS[answer.status]


def csv_text(cells: Iterable[str]) -> str:
    """Return cells as one line of CSV by RFC 4180, without its end."""
    written: str = WRITER.writerow(cells)
    return written


def number(points: float) -> str:
    """Return points as text with all digits: "3", "2.5", or "0.3333333333333333" for a third."""
    return repr(float(points)).removesuffix(".0")


def _csv_line(exercise: GradedExercise, answer: AnswerResult) -> str:
    """Return the line of an answer in the table of a class as CSV text, from its unit to its message.

    The message is empty unless the answer is wrong or could not be graded.
    """
    status, score = answer.status, None if answer.status == "error" else answer.score
    shown_status = BY_PERSON if status == "error" and exercise.is_adjusted else status
    common = _common_cells(
        exercise.unit, exercise.id, answer.name, shown_status, score, answer.max_score, answer.code or ""
    )
    message = answer.message if status in ("failed", "error") else ""
    return f"{common},{csv_text([no_formula(message), ''])[:-1] if message else ''}"


@lru_cache(1 << 16)  # most of a class has these cells in common, and differs in the message
def _common_cells(
    unit: str, exercise: str, name: str, status: str, score: float | None, max_score: float, code: str
) -> str:
    """Return the cells of an answer's line from the unit to the code, before the message, as CSV text."""
    points = ["" if score is None else number(score), number(max_score)]
    return csv_text([*map(no_formula, (unit, exercise, name)), status, *points, no_formula(code)])
