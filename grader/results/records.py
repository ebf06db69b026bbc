"""The record of a result, `handgrad/result@1`, which every front end shows and `handgrad grade` writes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from grader.safe_text import escaped

from .points import total

Status = Literal["passed", "failed", "todo", "error"]
Isolation = Literal["box", "kernel", "seccomp", "none"]
SCHEMA = "handgrad/result@1"
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")
ROUNDED = 1e-5  # the points of older records have six decimals
LARGEST_SEED = 2**53 - 1  # a reader of JSON that knows only doubles keeps every digit up to here


@dataclass(frozen=True)
class AnswerResult:
    """Hold the verdict on one answer.

    Args:
        name: the name of the answer, such as `"w.g"` or `"return"`.
        status: whether it is right, wrong, not begun, or could not be judged.
        score: the points reached.
        max_score: the points possible.
        code: the public code of the mistake; `None` if there is none.
        message: the mistake in a sentence.
        evidence: a sentence on one entry by finite differences, or on one call; may be empty.
        hints: three hints, to be shown one at a time.
        error: the greatest scaled error over the trials; `None` if none was computed.
        mistake: the mistake that explains the learner's numbers, as JSON values: its edits, each with operator and
            parameters, and the answer nearer to the loss that has the same cause; `None` if there is none.
    """

    name: str
    status: Status
    score: float
    max_score: float
    code: str | None = None
    message: str = ""
    evidence: str = ""
    hints: tuple[str, ...] = ()
    error: float | None = None
    mistake: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ExerciseResult:
    """Hold the verdicts on one exercise; derived values are computed once, however many students share the result.

    Args:
        id: the id of the exercise.
        unit: the id of its unit.
        answers: the verdict on each answer, in the order of the declaration.
        printed: the output of the learner's code.
        notes: sentences on parts of the code that were not run, with their lines.
        flags: sentences on what a person should look at, though no points were lost for it.
        made_from: the hash of the file's bytes that were graded, if a learner's progress is kept; else empty.
        max_score: the points possible; if left out, the sum over the answers, whose rounded points may differ from it
            in the last digits.
    """

    id: str
    unit: str
    answers: tuple[AnswerResult, ...]
    printed: str = ""
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    made_from: str = ""
    max_score: float = 0.0

    def __post_init__(self) -> None:
        """Set `max_score` to the sum over the answers, unless it is that sum already, up to rounding."""
        listed = total(answer.max_score for answer in self.answers)
        if not math.isclose(self.max_score, listed, rel_tol=ROUNDED):
            object.__setattr__(self, "max_score", listed)

    def with_hash_of(self, content: bytes | None) -> ExerciseResult:
        """Return the same result with the hash of a file's content, or no hash if there is no file."""
        return replace(self, made_from=content_hash(content))

    @cached_property
    def status(self) -> Status:
        """Return the gravest status among the answers: error, failed, todo, passed."""
        statuses = {answer.status for answer in self.answers}
        order: tuple[Status, ...] = ("error", "failed", "todo")
        return next((status for status in order if status in statuses), "passed")

    @cached_property
    def score(self) -> float:
        """Return the exact sum of the points of its answers; `max_score` if all are right."""
        if all(answer.score == answer.max_score for answer in self.answers):
            return self.max_score
        return total(answer.score for answer in self.answers)

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return this exercise as plain JSON values, which must not be changed."""
        return {
            "id": self.id,
            "unit": self.unit,
            "status": self.status,
            "score": self.score,
            "max_score": self.max_score,
            "answers": [_answer_json(answer) for answer in self.answers],
            **({"flags": list(self.flags)} if self.flags else {}),
        }

    @cached_property
    def line(self) -> str:
        """Return this exercise as one line of JSON text."""
        return _line(self.record)


@dataclass(frozen=True)
class CourseResult:
    """Hold everything known of one student's submission.

    Args:
        course: the name of the course.
        student: the id of the student.
        exercises: the result of each exercise.
        seed: the seed of every trial; with it a graded run can be repeated exactly.
        isolation: how learner code was isolated.
        made_from: a hash of all that the result depends on except the seed; `None` if it is not needed.
        notes: sentences on the submission for the instructor.
        possible: the points of the exercises that are graded, by unit; if empty, those of `exercises` count.
    """

    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    seed: int
    isolation: Isolation
    made_from: str | None = None
    notes: tuple[str, ...] = ()
    possible: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Return the points reached."""
        return total(exercise.score for exercise in self.exercises)

    @property
    def max_score(self) -> float:
        """Return the points of all exercises that are graded."""
        return total(self.possible.values()) or total(exercise.max_score for exercise in self.exercises)

    @cached_property
    def units(self) -> list[dict[str, Any]]:
        """Return the points reached and possible in each unit that is graded, as JSON values."""
        return [
            {
                "id": unit,
                "score": total(exercise.score for exercise in self.exercises if exercise.unit == unit),
                "max_score": points,
            }
            for unit, points in self.possible.items()
        ]

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return this submission as plain JSON values, not to be changed, as `result.schema.json` describes them."""
        return {
            "schema": SCHEMA,
            "course": self.course,
            "student": self.student,
            "seed": self.seed,
            "isolation": self.isolation,
            "made_from": self.made_from,
            "score": self.score,
            "max_score": self.max_score,
            **({"units": self.units} if self.units else {}),
            "exercises": [exercise.record for exercise in self.exercises],
            "notes": list(self.notes),
        }


def content_hash(content: bytes | None) -> str:
    """Return the SHA-256 of a file's bytes; empty if there is no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def exit_code(exercises: Sequence[ExerciseResult]) -> int:
    """Return 0 if all exercises passed, 1 if some did not, 3 if the grader itself failed at one."""
    statuses = {exercise.status for exercise in exercises}
    if "error" in statuses:
        return 3
    return 0 if statuses <= {"passed"} else 1


def dumps(result: CourseResult) -> str:
    """Return the record of a submission as JSON text, with one line for each exercise."""
    head = {name: value for name, value in result.record.items() if name not in {"exercises", "notes"}}
    exercises = ",\n  ".join(exercise.line for exercise in result.exercises)
    return f'{_line(head)[:-1]},\n "exercises": [\n  {exercises}\n ],\n "notes": {_line(result.notes)}}}\n'


def _line(value: Any) -> str:
    """Return a value as one line of JSON text."""
    return escaped(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _answer_json(answer: AnswerResult) -> dict[str, Any]:
    """Return an answer as JSON values; the mistake is left out if there is none."""
    return {
        "name": answer.name,
        "status": answer.status,
        "score": answer.score,
        "max_score": answer.max_score,
        "code": answer.code,
        "message": answer.message,
        "evidence": answer.evidence,
        "hints": list(answer.hints),
        "error": answer.error,
        **({} if answer.mistake is None else {"mistake": answer.mistake}),
    }


def exercise_from_json(record: Mapping[str, Any]) -> ExerciseResult:
    """Return the result that a stored or received record of one exercise describes.

    Args:
        record: JSON values as in `ExerciseResult.record`, with `printed` and `notes` if they are sent.
    """
    answers = tuple(AnswerResult(**{**answer, "hints": tuple(answer["hints"])}) for answer in record["answers"])
    notes, flags = (tuple(record.get(name, ())) for name in ("notes", "flags"))
    max_score = float(record.get("max_score", 0.0))
    printed = record.get("printed", "")
    return ExerciseResult(record["id"], record["unit"], answers, printed, notes, flags, max_score=max_score)
