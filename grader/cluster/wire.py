"""What goes over the wire between a coordinator and a machine that grades for it: bytes and JSON, nothing that runs.

A setting says what is graded by: the course, the seed, the isolation. A batch holds what some students handed in. What
comes back is facts from somebody else's machine, and is checked before it counts.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course import COURSE_FILE, PACKAGE, Course, CourseExercise, load_course
from grader.errors import ProtocolError
from grader.judging.grading_pool import Part
from grader.results import ExerciseResult, exercise_from_json
from grader.sandbox.isolation import Isolation

SETTING = "setting.json"
LONGEST_BATCH = 1e9  # seconds
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})


@dataclass(frozen=True)
class Setting:
    """What a batch is graded by.

    Args:
        exercises: the ids of those whose references are made at the start.
    """

    course: Course
    seed: int
    isolation: Isolation
    exercises: tuple[str, ...]


def packed_setting(setting: Setting) -> bytes:
    """A setting as a zip archive, the same bytes whenever it is the same: what grades is in it, no learner's work."""
    course, archive = setting.course, io.BytesIO()
    files = {COURSE_FILE: course.config.model_dump_json(exclude_none=True).encode()}
    for path in sorted(course.solutions.rglob("*")):
        if path.is_file() and not LEFT_OUT & set(path.parts):
            files[f"solutions/{path.relative_to(course.solutions).as_posix()}"] = path.read_bytes()
    said = {
        "version": __version__,
        "seed": setting.seed,
        "isolation": setting.isolation,
        "exercises": setting.exercises,
    }
    files[SETTING] = json.dumps(said).encode()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def unpack_setting(data: bytes, folder: Path) -> Setting:
    """A setting, its course laid down in an empty folder.

    Raises:
        ProtocolError: it was made by another version of handgrad.
        CourseError: the course cannot be used.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        packed.extractall(folder)
    said = json.loads((folder / SETTING).read_bytes())
    if said["version"] != __version__:
        raise ProtocolError(f"it has handgrad {__version__}, and the class is graded with {said['version']}")
    return Setting(load_course(folder), said["seed"], said["isolation"], tuple(said["exercises"]))


def setting_name(data: bytes) -> str:
    """What tells one setting from another."""
    return hashlib.sha256(data).hexdigest()


def packed_batch(batch: Sequence[Sequence[Part]]) -> bytes:
    """What some students handed in, a content that several exercises may import only once."""
    return zlib.compress(json.dumps([packed_submission(parts) for parts in batch]).encode(), 1)


def unpack_batch(data: bytes) -> list[list[Part]]:
    """What some students handed in."""
    return [unpacked_submission(submission) for submission in json.loads(zlib.decompress(data))]


def packed_submission(parts: Sequence[Part]) -> dict[str, Any]:
    """What a student handed in, as JSON values."""
    contents: dict[bytes, int] = {}

    def place(content: bytes) -> int:
        return contents.setdefault(content, len(contents))

    told = [
        {
            "exercise": part.exercise,
            **({"file": place(part.content)} if isinstance(part.content, bytes) else {"cells": part.content}),
            "beside": {name: place(content) for name, content in part.beside.items()},
        }
        for part in parts
    ]
    return {"parts": told, "contents": [base64.b64encode(content).decode() for content in contents]}


def unpacked_submission(submission: Mapping[str, Any]) -> list[Part]:
    """What a student handed in, of the JSON values of `packed_submission`."""
    return list(_parts(submission))


def _parts(submission: Mapping[str, Any]) -> Iterator[Part]:
    contents = [base64.b64decode(content) for content in submission["contents"]]
    for part in submission["parts"]:
        content = contents[part["file"]] if "file" in part else tuple(part["cells"])
        yield Part(part["exercise"], content, {name: contents[place] for name, place in part["beside"].items()})


def packed_results(results: Iterable[Sequence[ExerciseResult]], seconds: float) -> bytes:
    """The verdicts on a batch, and how long it took."""
    told = [[(json.dumps(one.record), one.printed, one.notes) for one in each] for each in results]
    return zlib.compress(json.dumps({"seconds": seconds, "results": told}).encode(), 1)


def unpack_results(
    data: bytes, course: Course, batch: Sequence[Sequence[Part]]
) -> tuple[list[list[ExerciseResult]], float]:
    """The verdicts on a batch, and how long it took.

    Raises:
        ProtocolError: they are not what a machine says that graded just this batch; says what is wrong.
    """
    try:
        told = json.loads(zlib.decompress(data), parse_constant=_refuse, parse_float=_finite)
        seconds = told["seconds"]
        if type(seconds) not in (int, float) or not 0 <= seconds <= LONGEST_BATCH:
            raise ValueError(f"{seconds!r} seconds")
        results = [
            [_result(course.find(part.exercise), *said) for said, part in zip(each, parts, strict=True)]
            for each, parts in zip(told["results"], batch, strict=True)
        ]
        return results, float(seconds)
    except (zlib.error, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ProtocolError(f"what came back cannot be read ({type(error).__name__}: {error})") from error


def _refuse(constant: str) -> float:
    """No machine that grades says `NaN` or `Infinity`, and no record can hold them."""
    raise ValueError(f"{constant} is no number")


def _finite(digits: str) -> float:
    """A number with a fraction or an exponent, which may be beyond every number that there is."""
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:20])


def _result(exercise: CourseExercise, record: str, printed: str, notes: list[str]) -> ExerciseResult:
    if not isinstance(notes, list) or not all(isinstance(text, str) for text in (printed, *notes)):
        raise ProtocolError(f"what is said of {exercise.id} is no text")
    return replace(_verdict(record, exercise, exercise.answer_names), printed=printed, notes=tuple(notes))


@lru_cache(1024)  # most of a class makes the same mistakes, or none
def _verdict(text: str, exercise: CourseExercise, answers: tuple[str, ...]) -> ExerciseResult:
    """A verdict as the schema has it, on this exercise, with its points, and with nothing in it that is at odds."""
    record = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    wrong = next(_exercise_schema().iter_errors(record), None)
    if wrong is not None:
        raise ProtocolError(f"a result is none of handgrad's ({wrong.message[:200]})")
    result = exercise_from_json(record)
    if (result.id, result.unit, *(answer.name for answer in result.answers)) != (exercise.id, exercise.unit, *answers):
        raise ProtocolError(f"a result for {exercise.id} is about something else")
    points, worth = exercise.points_of_answer, exercise.points
    in_range = all(0 <= one.score <= one.max_score == points for one in result.answers)
    if result.record != record or result.max_score != worth or not in_range:
        raise ProtocolError(f"the points of a result for {exercise.id} do not add up")
    return result


@cache
def _exercise_schema() -> Any:
    """What the schema of a record says of one exercise."""
    from jsonschema import Draft202012Validator

    schema = json.loads((PACKAGE / "result.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/exercise"})
