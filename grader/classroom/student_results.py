"""The results of each student of a class, read one record at a time from a folder that `handgrad grade` has written."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from grader.errors import UsageError
from grader.results.records import SCHEMA, Adjustment, ExerciseResult, Isolation, Lateness, StudentResults

from .class_file import GRADES_FILE, assignment_of, grade_command
from .graded_exercise import GradedExercise

SUFFIX = ".json"
CHANGES_FILE, BASIS_FILE = "changes.csv", ".graded-with"
BEFORE_FILE = ".grades-before"  # while a run of the whole class has not finished
SCHEMA_FAMILY = SCHEMA.partition("@")[0] + "@"  # of any version
# The bytes around exercises in a record of handgrad.
BEGIN, BETWEEN, END = b'\n "exercises": [\n  ', b",\n  ", b"\n ]"
CACHED_LINES = 8192  # different results of exercises; most students of a class share theirs with others
ReadExercise = Callable[[bytes], ExerciseResult]


@dataclass(frozen=True)
class UnreadableResult:
    """Describe a result that could not be read, and is not counted.

    Args:
        name: the name of its file.
        why: the reason, as a clause.
    """

    name: str
    why: str


@dataclass(frozen=True)
class Note:
    """Hold a sentence for instructors on the results as a whole.

    Args:
        text: the sentence.
        are_outdated: whether results are not what the course gives now, so that commands that hand them out say so.
    """

    text: str
    are_outdated: bool = False


class ChangeRow(NamedTuple):
    """Hold the cells of a row of `changes.csv`: a grade that differs from the run before.

    Args:
        student: the name of the student.
        exercise: the id of the exercise; empty for the total.
        before: the points before the run; empty if there were none.
        after: the points after the run; empty if there are none.
        why: the reason, as a clause.
    """

    student: str
    exercise: str
    before: str
    after: str
    why: str


def read_changes(folder: Path) -> list[ChangeRow]:
    """Return the changes of grades that the last run wrote into a folder of results; none if it wrote none.

    They come in the order of the file. What a line of it lacks is empty.

    Args:
        folder: the results folder.

    Raises:
        UsageError: the file cannot be read.
    """
    path = folder / CHANGES_FILE
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            return [ChangeRow(*((row.get(name) or "") for name in ChangeRow._fields)) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read ({error}): grade the class again, or remove it.") from error


class Basis(BaseModel):
    """Hold what the last run of a whole class took from outside of the submissions, and later commands compare.

    Args:
        named_by: the heading of the roster's column that names the students; empty without a roster.
        late: what decides what late work loses, as a hash; empty for a run without an assignment.
        zone: the time zone of the machine, which times without one are in; empty for a run without an assignment.
    """

    named_by: str = ""
    late: str = ""
    zone: str = ""


def read_basis(results: Path) -> Basis:
    """Return what the last run of a whole class took from outside: its column of names and its deadlines.

    All fields are empty if there is no such file in the results, or it cannot be read.
    """
    with suppress(OSError, ValueError):
        return Basis.model_validate_json((results / BASIS_FILE).read_text(encoding="utf-8-sig"))
    return Basis()


def unfinished_run(results: Path) -> int | None:
    """Return how many students have no record because the run of their class was stopped; `None` if it has finished.

    0 if the file that tells it is damaged.

    Args:
        results: the results folder.
    """
    try:
        content = json.loads((results / BEFORE_FILE).read_bytes())
    except OSError:
        return None
    except ValueError:
        return 0
    files = [file for file, grades in content.items() if grades is None] if isinstance(content, dict) else []
    return sum(not (results / file).exists() for file in files)


class _Record(BaseModel):
    """Hold the parts of a `handgrad/result@2` that are not computed from others."""

    schema_: Literal["handgrad/result@2"] = Field(alias="schema")
    course: str
    course_digest: str | None
    student: str
    seed: int | None = Field(ge=0)
    isolation: Isolation | None
    made_from: str | None
    reason: str = ""
    exercises: tuple[ExerciseResult, ...]
    adjustments: tuple[Adjustment, ...] = ()
    late: Lateness | None = None
    submission: dict[str, str] = {}
    known_as: tuple[str, ...] = ()
    notes: tuple[str, ...]

    @property
    def results(self) -> StudentResults:
        """Return the record as results; `reason`, why there is no score, stays empty if an exercise holds an error."""
        parts = {name: getattr(self, name) for name in PARTS}
        is_error = any(exercise.status == "error" for exercise in self.exercises)
        return StudentResults(**{**parts, "reason": "" if is_error else self.reason})


PARTS = tuple(name for name in _Record.model_fields if name != "schema_")
EXERCISE = TypeAdapter(ExerciseResult)


def read_folder(folder: Path, *, for_counting: bool = False) -> Iterator[StudentResults | UnreadableResult]:
    """Yield the results of every student, sorted by the names of the files.

    Args:
        folder: the results folder.
        for_counting: whether the exercises are only counted; then `GradedExercise` are yielded, and results that many
            students share are read once.

    Yields:
        The results of a student, or a description of a file that cannot be read, or that is a student's second record.

    Raises:
        UsageError: the folder cannot be read, or holds no results, results of another version, or results of several
            runs.
    """
    students: set[str] = set()
    first, run, seeds = None, tuple[object, ...](), set[int]()
    shares_seed = (folder / GRADES_FILE).exists() and unfinished_run(folder) is None  # else each was graded alone
    exercise_of = cached_exercises(_exercise_in_line if for_counting else EXERCISE.validate_json)
    for path in _records(folder):
        entry = read_record(path, exercise_of)
        if isinstance(entry, StudentResults):
            if entry.student in students:
                entry = UnreadableResult(path.name, f"it holds {entry.student}, who has a record already")
            else:
                students.add(entry.student)
                if first is not None and _run_of(entry) != run:
                    keys = [
                        {(exercise.unit, exercise.id) for exercise in results.exercises} for results in (first, entry)
                    ]
                    command = grade_command(folder, keys[0], "" if keys[0] == keys[1] else "-again")
                    raise UsageError(
                        f"{path} was graded with another version of the course, or for other exercises, than the first "
                        f"record of its folder: grade the class again: {command}"
                    )
                first, run = entry, _run_of(entry)
                if entry.seed is not None:
                    seeds.add(entry.seed)
                if shares_seed and len(seeds) > 1:
                    command = grade_command(folder, {(exercise.unit, exercise.id) for exercise in entry.exercises})
                    raise UsageError(
                        f"{path} was graded with another seed than the records before it, and so in another run: grade "
                        f"the class again: {command}"
                    )
        yield entry
    if not students:
        raise UsageError(f"{folder} holds no readable result: name the folder that handgrad grade --out wrote.")


def _run_of(results: StudentResults) -> tuple[object, ...]:
    """Return the course, its version, and the exercises with their points, which all results of one run share."""
    exercises = tuple((exercise.unit, exercise.id, exercise.max_score) for exercise in results.exercises)
    return results.course, results.course_digest, exercises


def _records(folder: Path) -> list[Path]:
    """Return the paths of all records in a folder, sorted by the names of their students.

    Raises:
        UsageError: the folder cannot be read, or holds no record.
    """
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(SUFFIX) and not e.name.startswith(".") and e.is_file()]
    except OSError as error:
        if name := assignment_of(folder):
            raise UsageError(f"{name} has no results: make them with {grade_command(folder)}") from error
        message = f"{folder} cannot be read ({error.strerror}): name the folder that handgrad grade --out wrote."
        raise UsageError(message) from error
    if not names:
        raise UsageError(f"{folder} holds no results: make them with {grade_command(folder)}")
    return [folder / name for name in sorted(names, key=lambda name: name.removesuffix(SUFFIX))]


def cached_exercises(read: ReadExercise = EXERCISE.validate_json) -> ReadExercise:
    """Return `read` with a cache, so that the equal lines of many records are read once and share one result.

    Args:
        read: reads one exercise of a record from JSON.
    """
    return lru_cache(CACHED_LINES)(read)


def read_record(path: Path, exercise_of: ReadExercise = EXERCISE.validate_json) -> StudentResults | UnreadableResult:
    """Return the results in a student's record; a description of the file if it cannot be read.

    Args:
        path: the file.
        exercise_of: reads one exercise of the record from JSON.

    Raises:
        UsageError: the record is of another version.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return UnreadableResult(path.name, f"it cannot be read ({error.strerror})")
    try:
        record = _by_lines(content, exercise_of) or _Record.model_validate_json(content)
    except ValidationError as error:
        return UnreadableResult(path.name, _record_fault(path, error))
    if why := _why_unusable(record.exercises):
        return UnreadableResult(path.name, why)
    return record.results


def _by_lines(content: bytes, exercise_of: ReadExercise) -> _Record | None:
    """Return a record that is laid out as `results.records.dumps` does, with one exercise in each line.

    Each line is read by itself, so that `exercise_of` can cache lines that many records share.

    Returns:
        The record; `None` if it is laid out in another way or is not valid, so that it must be read as a whole.
    """
    head, begin, after = content.partition(BEGIN)
    lines, end, tail = after.rpartition(END)
    if not begin or not end:
        return None
    try:
        record = _Record.model_validate_json(b'%b "exercises": []%b' % (head, tail))
        exercises = tuple(exercise_of(line) for line in lines.split(BETWEEN))
    except ValidationError:
        return None
    return record.model_copy(update={"exercises": exercises})


def _exercise_in_line(line: bytes) -> GradedExercise:
    """Return the exercise in a line of JSON as a `GradedExercise`."""
    return GradedExercise.for_counting(EXERCISE.validate_json(line))


def _record_fault(path: Path, error: ValidationError) -> str:
    """Return what is wrong with a record, as a clause.

    Raises:
        UsageError: the record is of another version, as others in its folder are likely to be.
    """
    first = error.errors()[0]
    if first["loc"] == ("schema",) and str(first["input"]).startswith(SCHEMA_FAMILY):
        raise UsageError(
            f"{path} is a {first['input']}, and this handgrad reads {SCHEMA}: "
            f"use the handgrad that made it, or grade the class again: {grade_command(path)}"
        )
    if first["type"] == "json_invalid":
        return "it is no valid JSON"
    where = ".".join(str(part) for part in first["loc"])
    return f"it is no {SCHEMA} ({where}: {first['msg'][0].lower()}{first['msg'][1:]})"


def _why_unusable(exercises: Collection[ExerciseResult]) -> str:
    """Return why a record with these exercises cannot be counted, as "it lists an exercise twice"; else empty."""
    if len({(exercise.unit, exercise.id) for exercise in exercises}) < len(exercises):
        return "it lists an exercise twice"
    return next((exercise.why_unusable for exercise in exercises if exercise.why_unusable), "")
