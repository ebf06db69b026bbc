"""The one result record, `handgrad/result@1`: what every front end renders and `grade` writes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from .points import total
from .safe_text import escaped

Status = Literal["passed", "failed", "todo", "error"]
Isolation = Literal["box", "kernel", "seccomp", "none"]
SCHEMA = "handgrad/result@1"
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")
ROUNDED = 1e-5  # the points of older records have six decimals
LARGEST_SEED = 2**53 - 1  # a reader of JSON that knows only doubles keeps every digit up to here

STRUCTURE_CODES = (
    "todo missing-function syntax-error error timeout memory crash missing-answer returned-not-stored "
    "wrong-attribute wrong-type wrong-shape wrong-dtype not-finite mutated-input used-autograd extra-work "
    "not-repeatable measured"
).split()
VALUE_CODES = (
    "imprecise missing-upstream missing-local extra-factor missing-path missing-batch-sum extra-batch-sum "
    "partial-batch mean-for-sum sum-for-mean sum-of-products summed-wrong-axis transposed "
    "reshape-for-transpose elementwise-for-matmul diagonal-only broadcast-accident wrong-sign wrong-factor "
    "wrong-point wrong-operand value-for-gradient forward-value inverse-for-transpose inverted-mask "
    "overwritten wrong-order stale-gradient shared-array hard-coded shape-special not-linear wrong-local unknown"
).split()
QUIZ_CODES = "not-read rate-for-change wrong-graph".split()
TEST_CODES = "accepts-wrong rejects-right".split()
CODES = frozenset(STRUCTURE_CODES + VALUE_CODES + QUIZ_CODES + TEST_CODES)


@dataclass(frozen=True)
class AnswerResult:
    """The verdict on one answer.

    Args:
        name: `"w.g"`, or `"return"`.
        code: which mistake it was; `None` when passed.
        message: the fact, in a sentence.
        evidence: what finite differences say of one entry; may be empty.
        hints: three steps, to be shown one at a time.
        error: the greatest scaled error, where it could be measured.
        mistake: the mistake without words, where the numbers gave one away: its edits, each with operator and
            parameters, and the answer that has the same cause nearer to the loss.
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
    """The verdicts on one exercise; what follows from them is worked out once, however many students share it.

    Args:
        printed: what the learner's code printed.
        notes: what of it was passed over, and where.
        flags: what a person should look at, though no points were lost for it.
        made_from: the hash of the file's bytes that were graded, where a learner's progress is kept.
        max_score: what the exercise is worth; what its answers are worth together, if left out. It is not their sum
            to the last digit: a third of a point is no float.
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
        listed = total(answer.max_score for answer in self.answers)
        if not math.isclose(self.max_score, listed, rel_tol=ROUNDED):
            object.__setattr__(self, "max_score", listed)

    def of(self, content: bytes | None) -> ExerciseResult:
        """The same verdict, as one on these bytes of a file."""
        return replace(self, made_from=content_hash(content))

    @cached_property
    def status(self) -> Status:
        """The gravest status among the answers: error, failed, todo, passed."""
        found = {answer.status for answer in self.answers}
        order: tuple[Status, ...] = ("error", "failed", "todo")
        return next((status for status in order if status in found), "passed")

    @cached_property
    def score(self) -> float:
        """The points of its answers, added exactly: all of them are all of the exercise's."""
        if all(answer.score == answer.max_score for answer in self.answers):
            return self.max_score
        return total(answer.score for answer in self.answers)

    @cached_property
    def record(self) -> dict[str, Any]:
        """This exercise as plain JSON values, not to be changed."""
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
        """This exercise as one line of JSON text."""
        return _line(self.record)


@dataclass(frozen=True)
class CourseResult:
    """Everything known of one student's submission.

    Args:
        seed: where every trial came from; with it a graded run can be repeated exactly.
        isolation: what learner code was kept in.
        made_from: a hash of what was graded, and by what; `None` where nobody will ask.
        notes: what an instructor should know of the submission.
        possible: the points of what was asked for, by unit; where it is empty, that is what `exercises` holds.
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
        return total(exercise.score for exercise in self.exercises)

    @property
    def max_score(self) -> float:
        return total(self.possible.values()) or total(exercise.max_score for exercise in self.exercises)

    @cached_property
    def units(self) -> list[dict[str, Any]]:
        """The points of each unit that was asked for."""
        return [
            {
                "id": unit,
                "score": total(each.score for each in self.exercises if each.unit == unit),
                "max_score": points,
            }
            for unit, points in self.possible.items()
        ]

    @cached_property
    def record(self) -> dict[str, Any]:
        """This submission as plain JSON values, not to be changed; `result.schema.json` describes it."""
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
    """SHA-256 of a file's bytes; empty where there is no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def exit_code(exercises: Sequence[ExerciseResult]) -> int:
    """0 all passed, 1 something is not yet right, 3 the grader itself failed."""
    statuses = {exercise.status for exercise in exercises}
    if "error" in statuses:
        return 3
    return 0 if statuses <= {"passed"} else 1


def dumps(result: CourseResult) -> str:
    """The record as JSON text, one line for each exercise."""
    head = {name: value for name, value in result.record.items() if name not in {"exercises", "notes"}}
    exercises = ",\n  ".join(exercise.line for exercise in result.exercises)
    return f'{_line(head)[:-1]},\n "exercises": [\n  {exercises}\n ],\n "notes": {_line(result.notes)}}}\n'


def _line(value: Any) -> str:
    return escaped(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _answer_json(answer: AnswerResult) -> dict[str, Any]:
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
    """Read one exercise of a record back (as xdist workers and saved progress hand it over)."""
    answers = tuple(AnswerResult(**{**answer, "hints": tuple(answer["hints"])}) for answer in record["answers"])
    notes, flags = (tuple(record.get(name, ())) for name in ("notes", "flags"))
    worth = float(record.get("max_score", 0.0))
    printed = record.get("printed", "")
    return ExerciseResult(record["id"], record["unit"], answers, printed, notes, flags, max_score=worth)
