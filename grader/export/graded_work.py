"""The interface of exporters, and what all of them write: names, points, and a few sentences on each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.course.course import Course, CourseExercise
from grader.course.questions import NOT_READ
from grader.results.codes import TWO_ANSWERS
from grader.results.points import shown
from grader.results.records import ASKED, BY_PERSON, AnswerResult, ExerciseResult, PointsChange, StudentResults
from grader.safe_text import MARKDOWN, as_markdown, escaped, one_line

LONGEST = 600
TAG = re.compile(r"<(?=[A-Za-z/!?])")
MARKS = re.compile(rf"{MARKDOWN.pattern}|@\w|#\d|\bwww\.|:\w+:|\]:|\A\W|\A\d+[.)]")
NOT_GRADED = "This could not be graded, and that is not your doing. No points are lost: ask whoever teaches the course."
CONFLICT = (
    "This could not be graded: {}. No points are lost: hand in that one alone, or ask whoever teaches the course."
)
UNREADABLE = "This could not be graded. No points are lost. {}"
BY_A_PERSON = "A person has graded this exercise: its points are in its adjustment."


@dataclass(frozen=True)
class ExportOptions:
    """Options and tools for an exporter besides the course and the records.

    Args:
        out_of: the points that the platform counts in; its own or the course's if left out.
        sheet: the content of the platform's own CSV file, to be filled; `None` if there is none.
        column: the name of that file's column for points; empty to look for it.
        runner: the environment variables by which a platform's runner names what it grades.
        lines: the line on which each exercise's function begins in the graded file, from 1, by exercise id.
        picture: returns the HTML that draws an exercise's result for the record's seed; empty where there is none.
        is_single: whether one record is exported, and no class; its files have the names that the platform prescribes.
    """

    out_of: float | None = None
    sheet: bytes | None = None
    column: str = ""
    runner: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    picture: Callable[[CourseExercise, ExerciseResult, int], str] = lambda exercise, result, seed: ""
    is_single: bool = False


@dataclass(frozen=True)
class Exported:
    """The files of an export, and what to tell the instructor.

    Args:
        files: content by name; a name is a plain file name without a folder.
        students: the student that each of the files is about, by its name; empty unless each is about one of a class.
        notes: sentences about the files.
        problems: sentences about results that are not in the files.
        absent: the names of files that must not be there, because the platform would read them.
    """

    files: Mapping[str, bytes]
    students: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


Exporter = Callable[[Course, Sequence[StudentResults], ExportOptions], Exported]


class GradedAnswer(NamedTuple):
    """An answer's result with the exercise that it belongs to, and its texts for an export."""

    exercise: ExerciseResult
    answer: AnswerResult
    is_adjusted: bool = False  # whether a person gave the exercise its points

    @property
    def name(self) -> str:
        """Return the exercise and the answer, as in `lin_grad w.g`; no other answer of a course has this name."""
        return text(f"{self.exercise.id} {self.answer.name}")

    @property
    def code(self) -> str:
        """Return the mistake's public code; empty if there is none."""
        return "" if self.answer.status == "passed" or self.is_by_person else text(self.answer.code or "")

    @property
    def status(self) -> str:
        """Return the status of the answer: "passed", "failed", "todo", or "error" if it was not graded.

        An answer that was not graded, but whose exercise a person gave points, has the status "graded by a person".
        """
        return BY_PERSON if self.is_by_person else self.answer.status

    @property
    def is_graded(self) -> bool:
        """Return whether the answer was graded, which it is not after an error of the grader."""
        return self.answer.status != "error"

    @property
    def is_by_person(self) -> bool:
        """Return whether the answer was not graded, and a person gave its exercise points."""
        return not self.is_graded and self.is_adjusted

    @property
    def has_no_points(self) -> bool:
        """Return whether the answer was not graded, and no person gave its exercise points."""
        return not self.is_graded and not self.is_adjusted

    @property
    def verdict(self) -> str:
        """Return the verdict in a sentence; an error's own message is replaced by one for the student."""
        if not self.is_graded:
            return BY_A_PERSON if self.is_adjusted else why_not_graded(self.answer)
        if self.answer.status in ("passed", "todo"):
            return "right" if self.answer.status == "passed" else "not attempted"
        code = f" [{self.code}]" if self.code else ""
        return text(self.answer.message or "not right") + code

    @property
    def helps(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of a label and a text that help with a wrong answer: its evidence and its first hint, if any.

        Empty for any other answer.
        """
        if self.answer.status != "failed":
            return ()
        is_asked = self.answer.evidence.startswith(ASKED)
        evidence = (ASKED.removesuffix(": ") if is_asked else "measured", self.answer.evidence.removeprefix(ASKED))
        labelled = (evidence, ("hint", next(iter(self.answer.hints), "")))
        return tuple((label, text(words)) for label, words in labelled if words)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the verdict on the answer, and its evidence and hints, each as "label: text"."""
        return (self.verdict, *(f"{label}: {words}" for label, words in self.helps))


def answers(record: StudentResults) -> Iterator[GradedAnswer]:
    """Yield every answer of a student's record, in teaching order."""
    for exercise in record.exercises:
        is_adjusted = exercise.id in record.adjusted_ids
        yield from (GradedAnswer(exercise, answer, is_adjusted) for answer in exercise.answers)


def changes(record: StudentResults) -> tuple[PointsChange, ...]:
    """Return the changes of a record's points with their texts on one line and cut, as exports show them."""
    return tuple(change._replace(name=text(change.name), reason=text(change.reason)) for change in record.changes)


def no_score(record: StudentResults) -> str:
    """Return a sentence for the student on why there is no score; empty if there is one.

    The reason for an error of the grader is for the instructor alone, and is replaced.
    """
    if record.score is not None:
        return ""
    if not record.ungraded:
        return text(f"There is no score: {record.reason}.")
    failed = [next(a for a in exercise.answers if a.status == "error") for exercise in record.ungraded]
    return text(" ".join(dict.fromkeys(map(why_not_graded, failed))))


def why_not_graded(answer: AnswerResult) -> str:
    """Return a sentence for the student on why an answer is an error.

    The answer's message, which is for the instructor, is in the sentence only if the student can fix the reason, as
    where two files answer an exercise, or the notebook breaks off.
    """
    if answer.code == NOT_READ:
        return text(UNREADABLE.format(answer.message))
    return text(CONFLICT.format(answer.message)) if answer.code == TWO_ANSWERS else NOT_GRADED


def points_reached(record: StudentResults) -> str:
    """Return "6.3 of 10 points", and the raw score as well if lateness changed it.

    Without a score, why there is none.
    """
    if record.score is None or record.raw_score is None:
        return no_score(record)
    points = f"{number(record.score)} of {number(record.max_score)} points"
    return points if record.score == record.raw_score else f"{points} after lateness, {number(record.raw_score)} before"


def share(record: StudentResults) -> float:
    """Return the score divided by the possible points, from 0 to 1; 0 without a score or possible points."""
    points = record.score or 0.0
    return min(max(points / record.max_score, 0.0), 1.0) if record.max_score else 0.0


def number(points: float) -> str:
    """Return points as people write them, `0.5` or `3`: at most 3 decimals, and no trailing zeros."""
    return shown(points)


def of_points(answer: GradedAnswer) -> str:
    """Return the points of an answer out of the possible ones, such as "0 of 1"; "? of 1" if it has no points."""
    points = "?" if answer.has_no_points else number(answer.answer.score)
    return f"{points} of {number(answer.answer.max_score)}"


def text(words: str) -> str:
    """Return any text as a single printable line of at most `LONGEST` characters, and an ellipsis if it was longer."""
    if len(words) <= LONGEST and words.isprintable():
        return words
    line = one_line(words[: 2 * LONGEST])
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def markdown(words: str) -> str:
    """Return a text as Markdown that shows it literally: without marks, links, mentions or list items."""
    return as_markdown(words, MARKS)


def tagless(words: str) -> str:
    """Return a text without any character that could begin a tag of HTML, for a page that may or may not escape it."""
    return TAG.sub("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", words)


def notes(record: StudentResults) -> tuple[str, ...]:
    """Return sentences on the submission, such as on files that were ignored, and why.

    A clause that begins with "it" gets the submission as its subject.
    """
    sentences = (re.sub("^it ", "The submission ", note) for note in record.remarks)
    return tuple(text(sentence if sentence.endswith((".", "?")) else f"{sentence}.") for sentence in sentences)


def as_json(document: Any) -> bytes:
    """Return a document as one line of JSON, in which everything that does not print is escaped."""
    return (escaped(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n").encode()
