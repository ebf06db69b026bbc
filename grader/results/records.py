"""The record of a result, `handgrad/result@2`, which every front end shows and `handgrad grade` writes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from grader.safe_text import escaped

from .points import exact, shown, total

Status = Literal["passed", "failed", "todo", "error"]
Isolation = Literal["box", "kernel", "seccomp", "none"]
SCHEMA = "handgrad/result@2"
RECORD_START = f'{{"schema": "{SCHEMA.partition("@")[0]}@'.encode()  # of a record of any version
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")
ROUNDED = 1e-5  # the points of older records have six decimals
BY_PERSON = "graded by a person"  # the standing of what could not be graded and was adjusted, in every output
ASKED = "asked: "  # before the question, in the evidence of an answer in a quiz
AFTER = frozenset({"adjustments", "late", "notes"})  # the exercises in a record's text
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
        evidence: a sentence on one entry by finite differences, or on one call; of a wrong answer in a quiz, the
            question behind `ASKED`; may be empty.
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

    def without_mistakes(self, why: str) -> ExerciseResult:
        """Return the same result with a note that mistakes could not be searched for, and why."""
        note = f"the mistakes could not be named ({why}); the verdicts are unaffected"
        return replace(self, notes=(*self.notes, note))

    @cached_property
    def status(self) -> Status:
        """Return the gravest status among the answers: error, failed, todo, passed; passed if there are none."""
        statuses = {answer.status for answer in self.answers}
        order: tuple[Status, ...] = ("error", "failed", "todo")
        return next((status for status in order if status in statuses), "passed")

    @property
    def failure(self) -> str:
        """Return the message of the first answer that is an error, why the exercise could not be graded.

        Empty if there is none.
        """
        return next((answer.message for answer in self.answers if answer.status == "error"), "")

    @cached_property
    def score(self) -> float:
        """Return the exact sum of the points of the exercise's answers; `max_score` if all are right."""
        if all(answer.score == answer.max_score for answer in self.answers):
            return self.max_score
        return total(answer.score for answer in self.answers)

    @cached_property
    def why_unusable(self) -> str:
        """Return why the result is unusable, missing or doubled answers or a score that is no number; else empty."""
        names = [answer.name for answer in self.answers]
        if not names or len(set(names)) < len(names):
            return f"{self.id} has no answers, or one of them twice"
        if not all(math.isfinite(answer.score + answer.max_score) for answer in self.answers):
            return f"{self.id} has a score that is no number"
        return ""

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
class Adjustment:
    """Hold a change of the points that a person made.

    Args:
        exercise: the id of the exercise; empty for the total.
        points: the difference that the change makes, positive or negative.
        reason: the reason that the person gave.
    """

    exercise: str
    points: float
    reason: str


def gives_points(exercise: str, points: float) -> bool:
    """Return whether a change by a person makes a score where nothing could be graded.

    Only what takes points off a total makes none.

    Args:
        exercise: the id of the exercise; empty for the total.
        points: the points of the exercise, or what is added to the total.
    """
    return bool(exercise) or points >= 0


@dataclass(frozen=True)
class Lateness:
    """Hold what a late submission costs.

    Args:
        due: the time at which it was due, in ISO 8601.
        handed_in: the time at which it was handed in, in ISO 8601.
        days: the days that count.
        points: the difference that they make, negative or 0.
        reason: the rule in a clause, such as "2 days late: 5 % a day".
        share: the share of the raw score that they cost; `None` in a record that does not know it.
    """

    due: str
    handed_in: str
    days: int
    points: float
    reason: str
    share: float | None = None

    def of_score(self, raw_score: float) -> Lateness:
        """Return what the same lateness costs of another raw score, by its share.

        Args:
            raw_score: the points before lateness.
        """
        return self if self.share is None else replace(self, points=float(-exact(self.share) * exact(raw_score)))

    @property
    def record(self) -> dict[str, Any]:
        """Return the lateness as JSON values; a share that is not known is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class PointsChange(NamedTuple):
    """Hold a change of the points that no answer shows.

    Args:
        status: `changed` by a person, or for the `late` submission.
        place: the id of the exercise or unit; empty for the total.
        name: a name for people.
        points: the difference, positive or negative.
        reason: why, as a clause.
    """

    status: Literal["changed", "late"]
    place: str
    name: str
    points: float
    reason: str

    @property
    def signed(self) -> str:
        """Return the points with their sign, as in `-0.7`."""
        return f"{'+' if self.points > 0 else ''}{shown(self.points)}"

    @property
    def sentence(self) -> str:
        """Return the change as text: name, points and reason, as in "late (-0.7 points): 2 days"."""
        return f"{self.name} ({self.signed} points): {self.reason}"


@dataclass(frozen=True)
class StudentResults:
    """Hold the results of one student, and everything that a record of them says.

    Args:
        course: the name of the course.
        student: the id of the student.
        exercises: the result of each exercise of the run, in teaching order; those that were not handed in are `todo`.
        seed: the seed of every trial, by which a run can be repeated exactly; `None` if nothing was graded.
        isolation: how learner code was isolated; `None` if nothing was graded.
        made_from: a hash of all that the result depends on except the seed; `None` if it is not needed.
        notes: sentences on the submission for the instructor.
        course_digest: a hash of the course and of handgrad's version; `None` in a learner's own check.
        reason: why nothing could be graded, though no exercise is an error, as a clause; then only a person's points
            make a score.
        adjustments: the changes of points that a person made.
        late: what a late submission costs; `None` if it was in time, or nobody knows.
        submission: hashes of what was handed in for each exercise, by its id, and of all of it under the empty id;
            empty in a record that does not know them.
        known_as: other names, numbers and addresses of the student, which may name the results of a later run.
        penalties: the points that nbgrader takes off for lateness, by unit; no record has them.
        missing: why nothing could be graded in a unit that is an assignment of nbgrader's, by unit; no record has them.
    """

    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    seed: int | None = None
    isolation: Isolation | None = None
    made_from: str | None = None
    notes: tuple[str, ...] = ()
    course_digest: str | None = None
    reason: str = ""
    adjustments: tuple[Adjustment, ...] = ()
    late: Lateness | None = None
    submission: Mapping[str, str] = field(default_factory=dict)
    known_as: tuple[str, ...] = ()
    penalties: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def ungraded(self) -> tuple[ExerciseResult, ...]:
        """Return the exercises that are errors of the grader, and have no points from a person either."""
        return tuple(e for e in self.exercises if e.status == "error" and e.id not in self.adjusted_ids)

    @property
    def graded_by_person(self) -> tuple[str, ...]:
        """Return the ids of the exercises that are errors of the grader, and have their points from a person."""
        return tuple(e.id for e in self.exercises if e.status == "error" and e.id in self.adjusted_ids)

    @cached_property
    def adjusted_ids(self) -> frozenset[str]:
        """Return the ids of the exercises whose points are from a person."""
        return frozenset(adjustment.exercise for adjustment in self.adjustments if adjustment.exercise)

    @cached_property
    def why_no_score(self) -> str:
        """Return why there is no score, as a clause; empty if there is one."""
        for exercise in self.ungraded[:1]:
            return f"{exercise.id} could not be graded: {exercise.failure}"
        return self.reason if self.is_blank else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the notes; before them, if all points are from a person, the reason why nothing could be graded."""
        return self.notes if self.is_blank or not self.reason else (self.reason, *self.notes)

    @property
    def is_blank(self) -> bool:
        """Return whether nothing could be graded, and no person gave points."""
        return bool(self.reason) and not any(gives_points(each.exercise, each.points) for each in self.adjustments)

    @cached_property
    def raw_score(self) -> float | None:
        """Return the points reached, at least 0, with adjustments and before lateness; `None` if there is no score."""
        return None if self.why_no_score else max(self._points(), 0.0)

    @cached_property
    def score(self) -> float | None:
        """Return the points that count: the raw score with lateness; `None` if there is no score."""
        if self.raw_score is None or not (self.late or self.penalties):
            return self.raw_score
        late = [self.late.points] if self.late else []
        return total([self.raw_score, *late, *(-points for _, points in self.late_penalties)])

    @cached_property
    def changes(self) -> tuple[PointsChange, ...]:
        """Return the changes of the points; with the scores of all answers they add up to the score, if there is one.

        They are, in this order, the adjustments, what makes a total below 0 into 0, and what lateness costs.
        """
        adjusted = [
            PointsChange(
                "changed", change.exercise, f"adjustment {change.exercise}".strip(), change.points, change.reason
            )
            for change in self.adjustments
        ]
        points = self._points()
        floor = [PointsChange("changed", "", "no total below 0", -points, "more was taken off")] if points < 0 else []
        late = [PointsChange("late", "", "lateness", self.late.points, self.late.reason)] if self.late else []
        penalties = [
            PointsChange("late", unit, f"lateness {unit}", -penalty, "the late penalty of nbgrader")
            for unit, penalty in self.late_penalties
        ]
        return (*adjusted, *floor, *late, *penalties)

    @cached_property
    def late_penalties(self) -> tuple[tuple[str, float], ...]:
        """Return the points that nbgrader takes off in each unit, by unit, no more than were earned there."""
        capped = ((unit, min(self._points(unit), points)) for unit, points in sorted(self.penalties.items()))
        return tuple((unit, points) for unit, points in capped if points > 0)

    @cached_property
    def max_score(self) -> float:
        """Return the points of all exercises."""
        return total(exercise.max_score for exercise in self.exercises)

    @cached_property
    def units(self) -> list[dict[str, Any]]:
        """Return for each unit, as JSON values, `"id"`, `"score"` (`None` where there is none) and `"max_score"`.

        The units are in the order of the exercises.
        """
        ungraded = {exercise.unit for exercise in self.ungraded}
        units = dict.fromkeys(exercise.unit for exercise in self.exercises)
        return [
            {
                "id": unit,
                "score": None if self.is_blank or unit in ungraded else max(self._points(unit), 0.0),
                "max_score": total(exercise.max_score for exercise in self.exercises if exercise.unit == unit),
            }
            for unit in units
        ]

    def in_units(self, units: Collection[str]) -> StudentResults:
        """Return the results in some units alone, with their adjustments and their part of what lateness costs.

        What lateness costs is a share of the raw score, here of that of the units alone, also where the total is 0. An
        adjustment of the total belongs to no unit and is left out. Where nothing was handed in for units of nbgrader's,
        there is no score.
        """
        exercises = tuple(exercise for exercise in self.exercises if exercise.unit in units)
        ids = {exercise.id for exercise in exercises}
        reasons = [self.missing.get(exercise.unit, "") for exercise in exercises]
        part = replace(
            self,
            exercises=exercises,
            adjustments=tuple(adjustment for adjustment in self.adjustments if adjustment.exercise in ids),
            late=None,
            penalties={unit: points for unit, points in self.penalties.items() if unit in units},
            reason=self.reason or (reasons[0] if all(reasons) and reasons else ""),
        )
        if self.late is None or part.raw_score is None:
            return part
        late = self.late
        if late.share is None and self.raw_score:
            late = replace(late, share=float(-exact(late.points) / exact(self.raw_score)))
        return replace(part, late=late.of_score(part.raw_score))

    def _points(self, unit: str = "") -> float:
        """Return the points of the exercises of a unit, or of all units if it is empty, with their adjustments.

        An adjustment that is of no exercise counts only for all units together.
        """
        counted = [exercise for exercise in self.exercises if unit in ("", exercise.unit)]
        ids = {exercise.id for exercise in counted} if self.adjustments else set()
        adjusted = (a.points for a in self.adjustments if a.exercise in ids or not (unit or a.exercise))
        return total((*(exercise.score for exercise in counted if exercise.score), *adjusted))

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return this submission as plain JSON values, not to be changed, as `result.schema.json` describes them."""
        return {
            "schema": SCHEMA,
            "course": self.course,
            "course_digest": self.course_digest,
            "student": self.student,
            **({"known_as": list(self.known_as)} if self.known_as else {}),
            "seed": self.seed,
            "isolation": self.isolation,
            "made_from": self.made_from,
            **({"submission": self.submission} if self.submission else {}),
            "score": self.score,
            "raw_score": self.raw_score,
            "max_score": self.max_score,
            **({"reason": why} if (why := self.why_no_score or self.reason) else {}),
            "units": self.units,
            "exercises": [exercise.record for exercise in self.exercises],
            **({"adjustments": [asdict(adjustment) for adjustment in self.adjustments]} if self.adjustments else {}),
            **({"late": self.late.record} if self.late else {}),
            "notes": list(self.notes),
        }


def content_hash(content: bytes | None) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal digits; empty if there is no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def exit_code(exercises: Sequence[ExerciseResult]) -> int:
    """Return 0 if all exercises passed or there are none, 1 if some did not, 3 if the grader itself failed at one."""
    statuses = {exercise.status for exercise in exercises}
    if "error" in statuses:
        return 3
    return 0 if statuses <= {"passed"} else 1


def dumps(result: StudentResults) -> str:
    """Return the record of a submission as JSON text, with one line for each exercise."""
    head, after = (
        {name: value for name, value in result.record.items() if name != "exercises" and (name in AFTER) == is_after}
        for is_after in (False, True)
    )
    exercises = ",\n  ".join(exercise.line for exercise in result.exercises)
    return f'{_line(head)[:-1]},\n "exercises": [\n  {exercises}\n ],\n {_line(after)[1:]}\n'


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
