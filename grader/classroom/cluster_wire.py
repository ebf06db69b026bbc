"""The messages between a coordinator and a machine that grades for it: bytes and JSON, nothing that runs.

A setting holds the course, the seed and the isolation; a batch holds the answers of some students. Results come from
another machine, and are checked before they count.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course.course import COURSE_FILE, Course, CourseExercise, load_course
from grader.errors import ProtocolError
from grader.results.records import SCHEMA_FILE, ExerciseResult, exercise_from_json
from grader.sandbox.isolation import Isolation
from grader.sandbox.source_text import Part

SETTING = "setting.json"
LONGEST_BATCH = 1e9  # seconds
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})


@dataclass(frozen=True)
class GradingSetting:
    """Hold the course and the options that a batch is graded with.

    Args:
        course: the course.
        seed: the seed of every trial.
        isolation: how learner code is isolated.
        exercises: the ids of the exercises whose references are computed at the start.
    """

    course: Course
    seed: int
    isolation: Isolation
    exercises: tuple[str, ...]


def pack_setting(setting: GradingSetting) -> bytes:
    """Return a setting as a zip archive, with the course but no learner's work; equal settings give equal bytes."""
    course, archive = setting.course, io.BytesIO()
    files = {COURSE_FILE: course.config.model_dump_json(exclude_none=True).encode()}
    for path in sorted(course.solutions.rglob("*")):
        if path.is_file() and not LEFT_OUT & set(path.parts):
            files[f"solutions/{path.relative_to(course.solutions).as_posix()}"] = path.read_bytes()
    header = {
        "version": __version__,
        "seed": setting.seed,
        "isolation": setting.isolation,
        "exercises": setting.exercises,
    }
    files[SETTING] = json.dumps(header).encode()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def unpack_setting(data: bytes, folder: Path) -> GradingSetting:
    """Return the setting in an archive; its course is unpacked into `folder`, which is empty.

    Raises:
        ProtocolError: the archive was made by another version of handgrad.
        CourseError: the course cannot be used.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        packed.extractall(folder)
    header = json.loads((folder / SETTING).read_bytes())
    if header["version"] != __version__:
        raise ProtocolError(f"it has handgrad {__version__}, and the class is graded with {header['version']}")
    return GradingSetting(load_course(folder), header["seed"], header["isolation"], tuple(header["exercises"]))


def setting_name(data: bytes) -> str:
    """Return the SHA-256, in hexadecimal, of a setting that `pack_setting` packed, which names it on the cluster."""
    return hashlib.sha256(data).hexdigest()


def pack_batch(batch: Sequence[Sequence[Part]]) -> bytes:
    """Return the parts of submissions as bytes; a file that several exercises of a student share is stored once."""
    return zlib.compress(json.dumps([pack_submission(parts) for parts in batch]).encode(), 1)


def unpack_batch(data: bytes) -> list[list[Part]]:
    """Return the parts of each submission in a batch from the bytes that `pack_batch` makes of them."""
    return [unpack_submission(submission) for submission in json.loads(zlib.decompress(data))]


def pack_submission(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the parts of one submission as JSON values, with each different file stored once.

    Returns:
        Under "contents" the files, in base64. Under "parts" for each part its "exercise", its "file" (an index into
        the contents) or its "cells", and "beside": the index of each file beside it, by name.
    """
    contents: dict[bytes, int] = {}

    def place_of(content: bytes) -> int:
        return contents.setdefault(content, len(contents))

    part_values = [
        {
            "exercise": part.exercise,
            **({"file": place_of(part.content)} if isinstance(part.content, bytes) else {"cells": part.content}),
            "beside": {name: place_of(content) for name, content in part.beside.items()},
        }
        for part in parts
    ]
    return {"parts": part_values, "contents": [base64.b64encode(content).decode() for content in contents]}


def unpack_submission(submission: Mapping[str, Any]) -> list[Part]:
    """Return the parts of one submission from the JSON values that `pack_submission` makes of them."""
    contents = [base64.b64decode(content) for content in submission["contents"]]
    return [
        Part(
            part["exercise"],
            contents[part["file"]] if "file" in part else tuple(part["cells"]),
            {name: contents[place] for name, place in part["beside"].items()},
        )
        for part in submission["parts"]
    ]


def pack_results(results: Iterable[Sequence[ExerciseResult]], seconds: float) -> bytes:
    """Return the results of a batch as bytes, with the seconds that grading took.

    Args:
        results: the results of each submission, one for each of its parts.
        seconds: how long grading took.
    """
    values = [
        [(json.dumps(result.record), result.printed, result.notes) for result in submission_results]
        for submission_results in results
    ]
    return zlib.compress(json.dumps({"seconds": seconds, "results": values}).encode(), 1)


def unpack_results(
    data: bytes, course: Course, batch: Sequence[Sequence[Part]]
) -> tuple[list[list[ExerciseResult]], float]:
    """Return the results of a batch, checked against it, and the seconds that grading took.

    Args:
        data: the bytes that `pack_results` made on another machine.
        course: the course.
        batch: the parts of the submissions that were sent there.

    Raises:
        ProtocolError: the bytes are not results of exactly this batch; the message says what is wrong.
    """
    try:
        document = json.loads(zlib.decompress(data), parse_constant=_refuse_constant, parse_float=_finite_number)
        seconds = document["seconds"]
        if type(seconds) not in (int, float) or not 0 <= seconds <= LONGEST_BATCH:
            raise ValueError(f"{seconds!r} seconds")
        results = [
            [
                _result(course.find(part.exercise), *values)
                for values, part in zip(submission_values, parts, strict=True)
            ]
            for submission_values, parts in zip(document["results"], batch, strict=True)
        ]
        return results, float(seconds)
    except (zlib.error, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ProtocolError(f"the answer cannot be read ({type(error).__name__}: {error})") from error


def _refuse_constant(constant: str) -> float:
    """Raise `ValueError` for `NaN` or `Infinity`, which no grading machine sends and no record can hold."""
    raise ValueError(f"{constant} is no number")


def _finite_number(digits: str) -> float:
    """Return the number with these digits.

    Raises:
        ValueError: the number is beyond the range of a float.
    """
    number = float(digits)
    return number if math.isfinite(number) else _refuse_constant(digits[:20])


def _result(exercise: CourseExercise, record: str, printed: str, notes: list[str]) -> ExerciseResult:
    """Return the result of an exercise, from the values that a machine sent.

    Args:
        exercise: the exercise.
        record: the JSON of the exercise's part of a record.
        printed: the text that the learner's code printed.
        notes: the notes on the answer.

    Raises:
        ProtocolError: the values are no result of this exercise.
    """
    if not isinstance(notes, list) or not all(isinstance(text, str) for text in (printed, *notes)):
        raise ProtocolError(f"the output or the notes of {exercise.id} are no text")
    return replace(_checked_result(record, exercise, exercise.answer_names), printed=printed, notes=tuple(notes))


@lru_cache(1024)  # most students make the same mistakes, or none
def _checked_result(text: str, exercise: CourseExercise, answers: tuple[str, ...]) -> ExerciseResult:
    """Return the result in the JSON of a record, after checking its schema, exercise, answers and points.

    Args:
        text: the JSON of the exercise's part of a record.
        exercise: the exercise that it must be about.
        answers: the names of the exercise's answers.

    Raises:
        ProtocolError: the record does not pass.
    """
    record = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite_number)
    schema_error = next(_exercise_schema().iter_errors(record), None)
    if schema_error is not None:
        raise ProtocolError(f"a result is none of handgrad's ({schema_error.message[:200]})")
    result = exercise_from_json(record)
    if (result.id, result.unit, *(answer.name for answer in result.answers)) != (exercise.id, exercise.unit, *answers):
        raise ProtocolError(f"a result for {exercise.id} is about something else")
    points, max_score = exercise.points_of_answer, exercise.points
    in_range = all(0 <= answer.score <= answer.max_score == points for answer in result.answers)
    if result.record != record or result.max_score != max_score or not in_range:
        raise ProtocolError(f"the points of a result for {exercise.id} do not add up")
    return result


@cache
def _exercise_schema() -> Any:
    """Return the validator for one exercise of a record."""
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/exercise"})
