"""Reads a folder of results as `handgrad grade` leaves it, one record at a time."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from grader.errors import UsageError
from grader.results import SCHEMA, ExerciseResult

from .class_statistics import StudentResults, UnreadableResult

SUFFIX = ".json"
FAMILY = SCHEMA.partition("@")[0] + "@"


class _Record(BaseModel):
    """The parts of `handgrad/result@1` that a report counts; scores of exercises are added up anew."""

    schema_: Literal["handgrad/result@1"] = Field(alias="schema")
    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()
    max_score: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    seed: int | None = Field(default=None, ge=0)


def read_folder(folder: Path) -> Iterator[StudentResults | UnreadableResult]:
    """Every student's record by name; a record that cannot be read is named in its place.

    Raises:
        UsageError: this is no folder of results, or one of another version.
    """
    students: set[str] = set()
    for path in _records(folder):
        entry = read_record(path)
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


def read_record(path: Path) -> StudentResults | UnreadableResult:
    """One student's record.

    Raises:
        UsageError: it is of another version.
    """
    try:
        record = _Record.model_validate_json(path.read_bytes())
    except OSError as error:
        return UnreadableResult(path.name, f"it cannot be read ({error.strerror})")
    except ValidationError as error:
        return UnreadableResult(path.name, _explained(path, error))
    if why := _why_unusable(record.exercises):
        return UnreadableResult(path.name, why)
    return StudentResults(
        record.course, record.student, record.exercises, record.notes, max_score=record.max_score, seed=record.seed
    )


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
    keys = [(exercise.unit, exercise.id) for exercise in exercises]
    if len(set(keys)) < len(keys):
        return "it lists an exercise twice"
    for exercise in exercises:
        names = [answer.name for answer in exercise.answers]
        if not names or len(set(names)) < len(names):
            return f"{exercise.id} has no answers, or one of them twice"
        if not all(math.isfinite(answer.score + answer.max_score) for answer in exercise.answers):
            return f"{exercise.id} has a score that is no number"
    return ""
