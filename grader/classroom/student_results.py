"""The graded work of each student, read one record at a time from a folder that `handgrad grade` has written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from grader.errors import UsageError
from grader.results.records import SCHEMA, ExerciseResult

from .graded_exercise import GradedExercise

SUFFIX = ".json"
FAMILY = SCHEMA.partition("@")[0] + "@"
BEGIN, BETWEEN, END = b'\n "exercises": [\n  ', b",\n  ", b"\n ]"
KEPT = 8192  # lines of different content: a class makes the same mistakes, and most exercises it has not begun
ReadExercise = Callable[[bytes], ExerciseResult]


@dataclass(frozen=True)
class StudentResults:
    """One student's graded work.

    Args:
        notes: what an instructor should know of the submission.
        penalties: points taken off for lateness, by unit.
        max_score: the points that there were to get; those of the exercises if left out.
        seed: where every trial came from, where it is known.
    """

    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()
    penalties: Mapping[str, float] = field(default_factory=dict)
    max_score: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class UnreadableResult:
    """A result that could not be read, and is in no number."""

    name: str
    why: str


@dataclass(frozen=True)
class Note:
    """What an instructor should know of the results as a whole."""

    says: str


class _Record(BaseModel):
    """The parts of `handgrad/result@1` that a report counts; scores of exercises are added up anew."""

    schema_: Literal["handgrad/result@1"] = Field(alias="schema")
    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()
    max_score: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    seed: int | None = Field(default=None, ge=0)


EXERCISE = TypeAdapter(ExerciseResult)


def read_folder(folder: Path, *, counted: bool = False) -> Iterator[StudentResults | UnreadableResult]:
    """Every student's record by name; a record that cannot be read is named in its place.

    Args:
        counted: the exercises are only counted: what many records share is read, and judged, once.

    Raises:
        UsageError: this is no folder of results, or one of another version.
    """
    students: set[str] = set()
    exercise_of = lru_cache(KEPT)(_counted if counted else EXERCISE.validate_json)
    for path in _records(folder):
        entry = read_record(path, exercise_of)
        if isinstance(entry, StudentResults):
            if entry.student in students:
                entry = UnreadableResult(path.name, f"it holds {entry.student}, who has a record already")
            else:
                students.add(entry.student)
        yield entry
    if not students:
        raise UsageError(f"{folder} holds no readable result: name the folder that handgrad grade --out wrote.")


def _records(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(SUFFIX) and not e.name.startswith(".") and e.is_file()]
    except OSError as error:
        says = f"{folder} cannot be read ({error.strerror}): name the folder that handgrad grade --out wrote."
        raise UsageError(says) from error
    if not names:
        raise UsageError(f"{folder} holds no results: make them with handgrad grade SUBMISSIONS --out {folder}")
    return [folder / name for name in sorted(names, key=lambda name: name.removesuffix(SUFFIX))]


def read_record(path: Path, exercise_of: ReadExercise = EXERCISE.validate_json) -> StudentResults | UnreadableResult:
    """One student's record.

    Args:
        exercise_of: reads one exercise of it.

    Raises:
        UsageError: it is of another version.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return UnreadableResult(path.name, f"it cannot be read ({error.strerror})")
    try:
        record = _by_lines(content, exercise_of) or _Record.model_validate_json(content)
    except ValidationError as error:
        return UnreadableResult(path.name, _explained(path, error))
    if why := _why_unusable(record.exercises):
        return UnreadableResult(path.name, why)
    return StudentResults(
        record.course, record.student, record.exercises, record.notes, max_score=record.max_score, seed=record.seed
    )


def _by_lines(content: bytes, exercise_of: ReadExercise) -> _Record | None:
    """A record as `results.dumps` lays it out, an exercise in each line: what stands in many records is read once.

    `None` where it is laid out in another way, or is not valid: then it is read as a whole.
    """
    head, begins, rest = content.partition(BEGIN)
    lines, ends, tail = rest.rpartition(END)
    if not begins or not ends:
        return None
    try:
        record = _Record.model_validate_json(b'%b "exercises": []%b' % (head, tail))
        exercises = tuple(exercise_of(line) for line in lines.split(BETWEEN))
    except ValidationError:
        return None
    return record.model_copy(update={"exercises": exercises})


def _counted(line: bytes) -> GradedExercise:
    return GradedExercise.counted(EXERCISE.validate_json(line))


def _explained(path: Path, error: ValidationError) -> str:
    """What is wrong with a record.

    Raises:
        UsageError: it is of another version, and so are others, most likely.
    """
    first = error.errors()[0]
    if first["loc"] == ("schema",) and str(first["input"]).startswith(FAMILY):
        raise UsageError(
            f"{path} is a {first['input']}, and this handgrad reads {SCHEMA}: "
            "grade the class again, or use the handgrad that made it."
        )
    if first["type"] == "json_invalid":
        return "it is no valid JSON"
    where = ".".join(str(part) for part in first["loc"])
    return f"it is no {SCHEMA} ({where}: {first['msg'][0].lower()}{first['msg'][1:]})"


def _why_unusable(exercises: Collection[ExerciseResult]) -> str:
    """Why these exercises cannot be counted; empty if they can."""
    found = [GradedExercise.counted(exercise) for exercise in exercises]
    if len({exercise.key for exercise in found}) < len(found):
        return "it lists an exercise twice"
    return next((exercise.why_unusable for exercise in found if exercise.why_unusable), "")
