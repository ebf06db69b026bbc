"""What every platform is told of graded work: names, points, and a few sentences on each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.classroom.student_results import StudentResults
from grader.course.course import Course, CourseExercise
from grader.results.points import shown, total
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import MARKDOWN, as_markdown, escaped, one_line

LONGEST = 600
TAG = re.compile(r"<(?=[A-Za-z/!?])")
MARKS = re.compile(rf"{MARKDOWN.pattern}|@\w|#\d|\bwww\.|:\w+:|\]:|\A\W|\A\d+[.)]")
NOT_GRADED = "This could not be graded, and that is not your doing. No points are lost: ask whoever teaches the course."


@dataclass(frozen=True)
class ExportOptions:
    """What an export is made with besides the results.

    Args:
        out_of: how many points the platform counts in; its own or the course's if left out.
        sheet: the platform's own CSV file, to be filled; `None` where there is none.
        column: the column of that file which takes the points; found if left out.
        runner: the variables by which a platform's runner names what it grades.
        lines: where each exercise's function begins in the file that was graded, counted from 1, by exercise.
        picture: draws what the record of a seed says of an exercise as HTML; empty where there is nothing to draw.
    """

    out_of: float | None = None
    sheet: bytes | None = None
    column: str = ""
    runner: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    picture: Callable[[CourseExercise, ExerciseResult, int], str] = lambda exercise, result, seed: ""


@dataclass(frozen=True)
class Exported:
    """What an export came to.

    Args:
        files: content by name; a name is one file name without a folder.
        notes: what whoever asked for the export should know, a sentence each.
        problems: the same, of what is not in the files.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


Exporter = Callable[[Course, Sequence[StudentResults], ExportOptions], Exported]


class GradedAnswer(NamedTuple):
    """Hold one answer with the exercise that it belongs to, in the words of an export."""

    exercise: ExerciseResult
    answer: AnswerResult

    @property
    def name(self) -> str:
        """Return the exercise and the answer, as in `lin_grad w.g`; no other answer of a course has this name."""
        return text(f"{self.exercise.id} {self.answer.name}")

    @property
    def code(self) -> str:
        """Return the mistake's public code; empty if there is none."""
        return "" if self.answer.status == "passed" else text(self.answer.code or "")

    @property
    def is_graded(self) -> bool:
        """Return whether the answer was graded, which it is not after an error of the grader."""
        return self.answer.status != "error"

    @property
    def found(self) -> str:
        """Return the verdict in a sentence, without words that are meant for the instructor alone."""
        if not self.is_graded:
            return NOT_GRADED
        if self.answer.status in ("passed", "todo"):
            return "right" if self.answer.status == "passed" else "not attempted"
        code = f" [{self.code}]" if self.code else ""
        return text(self.answer.message or "not right") + code

    @property
    def helps(self) -> tuple[tuple[str, str], ...]:
        """Return the help with a wrong answer, each text with its label: the evidence and one hint."""
        if self.answer.status != "failed":
            return ()
        labelled = (("measured", self.answer.evidence), ("hint", next(iter(self.answer.hints), "")))
        return tuple((label, text(words)) for label, words in labelled if words)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the verdict and the help with it, a line each."""
        return (self.found, *(f"{label}: {words}" for label, words in self.helps))


def answers(record: StudentResults) -> Iterator[GradedAnswer]:
    """Every answer, in teaching order."""
    for exercise in record.exercises:
        yield from (GradedAnswer(exercise, answer) for answer in exercise.answers)


def is_graded(record: StudentResults) -> bool:
    """Everything was graded, so that the score is known."""
    return all(exercise.status != "error" for exercise in record.exercises)


def score(record: StudentResults) -> float:
    """Return the sum of the points of the exercises in a record."""
    return total(exercise.score for exercise in record.exercises)


def max_score(record: StudentResults) -> float:
    """Return the points that were possible, for what was not handed in as well."""
    listed = total(exercise.max_score for exercise in record.exercises)
    return listed if record.max_score is None else max(record.max_score, listed)


def share(record: StudentResults) -> float:
    """The score from 0 to 1."""
    most = max_score(record)
    return min(max(score(record) / most, 0.0), 1.0) if most else 0.0


def number(points: float) -> str:
    """Points as people write them."""
    return shown(points)


def of_points(each: GradedAnswer) -> str:
    """`0 of 1`; what was not graded has no points."""
    got = number(each.answer.score) if each.is_graded else "?"
    return f"{got} of {number(each.answer.max_score)}"


def text(words: str) -> str:
    """Any text as one line that can be printed, not too long."""
    if len(words) <= LONGEST and words.isprintable():
        return words
    line = one_line(words[: 2 * LONGEST])
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def markdown(words: str) -> str:
    """Text as Markdown in which nothing is a mark, a link, a mention or the beginning of a list."""
    return as_markdown(words, MARKS)


def tagless(words: str) -> str:
    """Text without anything that a page would read as a tag, for readers that may or may not escape it."""
    return TAG.sub("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", words)


def notes(record: StudentResults) -> tuple[str, ...]:
    """What was ignored of the submission, and why."""
    return tuple(text(note) for note in record.notes)


def as_json(document: Any) -> bytes:
    """Return a document as one line of JSON, in which everything that does not print is escaped."""
    return (escaped(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n").encode()
