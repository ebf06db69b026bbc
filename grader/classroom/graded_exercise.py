"""One exercise of a record as a class is counted by: what follows from it is worked out once for all who share it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from grader.results.codes import UNNAMED, meaning
from grader.results.records import AnswerResult, ExerciseResult, Status
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
    SHAPES: "Two arrays have shapes that the operation does not take.",
    "unknown name": "A name is used that nothing was given to.",
    "no such attribute": "Something is asked of an object that it does not have.",
    "no such module": "A module is imported that is not there.",
    "wrong kind of value": "An operation got a kind of value that it does not take.",
    "no such entry": "An index or a key is outside of what is there.",
    "arithmetic": "A division by zero, or a number that is too large.",
    "arguments": "The function does not take the arguments that it is called with.",
}
RAISED = re.compile(r"([A-Za-z_]\w{0,40}): (.*?)(?: \([^()]+, line \d+|$)", re.DOTALL)
SHAPE_WORDS = re.compile(r"shape|size|dimension|mat1|mat2|must match|broadcast|operands|indices", re.IGNORECASE)
OF_SHAPES = ("RuntimeError", "ValueError", "IndexError")


def mistake_name(answer: AnswerResult) -> str:
    """What a wrong answer is counted under: its code, and where that is `error`, what failed."""
    if answer.code != ERROR:
        return answer.code or UNNAMED
    failed = _what_failed(answer.message)
    return f"{ERROR}: {failed}" if failed else ERROR


def says(name: str) -> str:
    """The sentence for such a name; an exception of another type stands for itself."""
    code, _, failed = name.partition(": ")
    return MEANINGS.get(failed, "") if code == ERROR and failed else meaning(name)


def is_error(name: str) -> bool:
    return name.partition(":")[0] == ERROR


def _what_failed(message: str) -> str:
    """From the words of `wording.exceptions.diagnose_error`; empty where no exception is named in them."""
    if "; it is called as " in message:
        return "arguments"
    raised = RAISED.match(message)
    if raised is None:
        return ""
    name, text = raised.groups()
    if name in OF_SHAPES and SHAPE_WORDS.search(text) and "out of bounds" not in text:
        return SHAPES
    return BY_TYPE.get(name, name)


Key = tuple[str, str]
Standing = Literal["passed", "wrong", "begun", "unread", "untried", "ungraded"]
OF_ANSWER: Mapping[Status, Standing] = {
    "passed": "passed", "failed": "wrong", "todo": "untried", "error": "ungraded",
}  # fmt: skip
UNREAD = frozenset({"syntax-error", "not-read"})
UNRECOGNISED = frozenset({"unknown", UNNAMED})
NO_MISCONCEPTION = UNREAD | UNRECOGNISED | {"missing-function", "timeout", "memory", "crash"}


def is_misconception(mistake: str) -> bool:
    """Whether a mistake says what somebody takes for true, and not only that something went wrong."""
    return mistake not in NO_MISCONCEPTION and not is_error(mistake)


class _Echo:
    """A file whose `write` gives back what would be written."""

    def write(self, text: str) -> str:
        return text


WRITER: Any = csv.writer(_Echo(), lineterminator="")


@dataclass(frozen=True)
class GradedExercise(ExerciseResult):
    """Hold the verdicts on one exercise for counting, its answers sorted by name."""

    @classmethod
    def counted(cls, result: ExerciseResult) -> GradedExercise:
        """Return a result as one that is ready to be counted."""
        if isinstance(result, cls):
            return result
        answers = tuple(sorted(result.answers, key=lambda answer: answer.name))
        return cls(result.id, result.unit, answers, max_score=result.max_score)

    @cached_property
    def key(self) -> Key:
        return self.unit, self.id

    @cached_property
    def is_quiz(self) -> bool:
        return self.id == f"quiz_{self.unit}"

    @cached_property
    def standing(self) -> Standing:
        """Where a student stands with it; it is unread where nothing that could be read is wrong."""
        standings = {standing for _, standing in self.standings}
        if self.status == "failed" and "wrong" not in standings:
            return "unread"
        if self.status == "todo" and "passed" in standings:
            return "begun"
        return OF_ANSWER[self.status]

    @cached_property
    def standings(self) -> tuple[tuple[str, Standing], ...]:
        """The name of each answer, and where a student stands with it."""
        return tuple((answer.name, standing_with(answer)) for answer in self.answers)

    @cached_property
    def mistakes(self) -> tuple[tuple[str, AnswerResult], ...]:
        """Each wrong answer, with what it is counted under."""
        return tuple((mistake_name(answer), answer) for answer in self.answers if answer.status == "failed")

    @cached_property
    def mistake_names(self) -> tuple[str, ...]:
        """What went wrong, each once."""
        return tuple(sorted({name for name, _ in self.mistakes}))

    @cached_property
    def why_unusable(self) -> str:
        """Why it cannot be counted; empty if it can."""
        names = [answer.name for answer in self.answers]
        if not names or len(set(names)) < len(names):
            return f"{self.id} has no answers, or one of them twice"
        if not all(math.isfinite(answer.score + answer.max_score) for answer in self.answers):
            return f"{self.id} has a score that is no number"
        return ""

    @cached_property
    def table_cells(self) -> tuple[str, ...]:
        """CSV text for each answer, without what is the student's."""
        return tuple(_cells(self.unit, self.id, answer) for answer in self.answers)


def standing_with(answer: AnswerResult) -> Standing:
    """Where a student stands with an answer."""
    return "unread" if answer.status == "failed" and answer.code in UNREAD else OF_ANSWER[answer.status]


def csv_text(cells: Iterable[str]) -> str:
    """Cells by RFC 4180, without the end of the line."""
    written: str = WRITER.writerow(cells)
    return written


def number(points: float) -> str:
    """Return points as text with all their digits, for files that are added up: a third is 0.3333333333333333."""
    return repr(float(points)).removesuffix(".0")


def _cells(unit: str, exercise: str, answer: AnswerResult) -> str:
    score = None if answer.status == "error" else answer.score
    common = _common_cells(unit, exercise, answer.name, answer.status, score, answer.max_score, answer.code or "")
    said = answer.message if answer.status in ("failed", "error") else ""
    return f"{common},{csv_text([no_formula(said), ''])[:-1] if said else ''}"


@lru_cache(1 << 16)  # what most of a class has in common: all but the sentence
def _common_cells(unit: str, exercise: str, name: str, status: str, score: float | None, most: float, code: str) -> str:
    points = ["" if score is None else number(score), number(most)]
    return csv_text([*map(no_formula, (unit, exercise, name)), status, *points, no_formula(code)])
