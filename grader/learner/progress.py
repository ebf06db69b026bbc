"""A learner's progress: the last verdicts and the hints already seen, in `.handgrad/progress.json`."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from grader.course.course import Course, CourseExercise
from grader.course.questions import NOT_READ
from grader.errors import describe_error
from grader.files import FOLDER, write_atomically
from grader.results.records import AnswerResult, ExerciseResult, content_hash
from grader.safe_text import plain

VERSION = 1
FILE, BROKEN = "progress.json", ".broken.json"
LONGEST = 200  # characters of what is said of a state that cannot be read


@dataclass(frozen=True)
class HintsSeen:
    """Hold how many hints on the mistake in an answer have been shown.

    Args:
        code: the public code of the mistake; `None` for an answer that is not begun.
        seen: the number of hints.
    """

    code: str | None
    seen: int


@dataclass(frozen=True)
class ExerciseState:
    """Hold what is remembered of one exercise.

    Args:
        result: the last result, with the hash of the bytes that were graded; `None` if only hints were shown.
        hints: the hints seen, by the answer's name.
        counted: the codes that have been counted since an answer was last right, by the answer's name.
    """

    result: ExerciseResult | None = None
    hints: Mapping[str, HintsSeen] = field(default_factory=dict)
    counted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def json(self) -> dict[str, Any]:
        """Return the state as the JSON values that stand in the state file."""
        return {
            "hash": self.result.made_from if self.result else "",
            "result": self.result.record if self.result else None,
            "hints": {name: asdict(hints) for name, hints in self.hints.items()},
            "counted": {name: list(codes) for name, codes in self.counted.items()},
        }


@dataclass
class Progress:
    """Hold the state of one workspace, and read and write it; changes are in memory alone until `save`.

    Args:
        path: the state file.
        exercises: what is remembered of each exercise that was checked or hinted at, by its id.
        met: by code and exercise id: how often a mistake was met, less how often it was overcome in a review.
        notes: messages about the state file itself.
    """

    path: Path
    exercises: dict[str, ExerciseState] = field(default_factory=dict)
    met: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, root: Path) -> Progress:
        """Return the state of the workspace in `root`.

        If there is no state file, the state is empty; so it is if the file cannot be read, which is then moved aside. A
        damaged entry of an exercise is left out, and a copy of the file kept. Notes say what was done.
        """
        progress = cls(root / FOLDER / FILE)
        try:
            state = json.loads(progress.path.read_text(encoding="utf-8"))
            if state["version"] != VERSION:
                raise ValueError(f"version {state['version']}"[:LONGEST])
            json.dumps(state, ensure_ascii=False).encode()  # half a character could not be written again
            entries = {str(key): _state_from_json(value) for key, value in state["exercises"].items()}
            met = _valid_counts(state.get("met"))
        except FileNotFoundError:
            return progress
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            progress._move_broken_state(error)
            return progress
        progress.exercises = {key: entry for key, entry in entries.items() if entry is not None}
        progress.met = met
        if damaged := [key for key, entry in entries.items() if entry is None]:
            progress._copy_damaged_state(plain(damaged[0])[:LONGEST])
        return progress

    def _copy_damaged_state(self, name: str) -> None:
        """Keep a copy of the state file before its damaged part is dropped; add a note on that, or why it failed.

        Args:
            name: the exercise whose entry is damaged.
        """
        aside = self.path.with_suffix(BROKEN)
        try:
            shutil.copyfile(self.path, aside)
        except OSError as error:
            self.notes.append(f"{self.path} is damaged at {name}, and no copy can be kept ({error.strerror}).")
        else:
            self.notes.append(
                f"{self.path} is damaged at {name}: it is kept as {aside.name}, and what was damaged is begun anew."
            )

    def _move_broken_state(self, error: Exception) -> None:
        """Move a state file that cannot be read aside; add a note on why, or that it could not be moved."""
        aside = self.path.with_suffix(BROKEN)
        try:
            os.replace(self.path, aside)
        except OSError:
            self.notes.append(f"{self.path} cannot be used ({error}): move it away, or progress is not remembered.")
        else:
            why = describe_error(error)[:LONGEST]
            self.notes.append(f"{self.path} could not be read ({why}): it is kept as {aside.name}, a new one is begun.")

    def result(self, exercise: CourseExercise) -> ExerciseResult | None:
        """Return the last result of an exercise; `None` if there is none, or the exercise's file has changed since."""
        state = self.exercises.get(exercise.id)
        result = state and state.result
        return result if result and result.made_from == file_hash(exercise.path) else None

    def record(self, exercise: CourseExercise, result: ExerciseResult) -> None:
        """Record a result; forget the hints seen of mistakes that are no longer made. The file is not written.

        A mistake in an answer is counted once until that answer is right, however often the file is checked.
        """
        before = self.exercises.get(exercise.id, ExerciseState())
        failed = [answer for answer in result.answers if answer.status == "failed" and answer.code != NOT_READ]
        counted = {name: set(codes) for name, codes in before.counted.items()}
        for code in {str(answer.code) for answer in failed if str(answer.code) not in counted.get(answer.name, ())}:
            where = self.met.setdefault(code, {})
            where[exercise.id] = where.get(exercise.id, 0) + 1
        for answer in failed:
            counted.setdefault(answer.name, set()).add(str(answer.code))
        right = {answer.name for answer in result.answers if answer.status == "passed"}
        self.exercises[exercise.id] = ExerciseState(
            result,
            {
                answer.name: before.hints[answer.name]
                for answer in result.answers
                if answer.name in before.hints and before.hints[answer.name].code == answer.code
            },
            {name: sorted(codes) for name, codes in counted.items() if name not in right},
        )

    def remove_one_mistake(self, code: str) -> None:
        """Reduce the count of the mistake with this code by one, in the exercise in which it was met most.

        Of several it is the first. Nothing changes if it is not on record. The file is not written.
        """
        where = self.met.get(code)
        if where:
            most = max(where, key=lambda name: where[name])
            where[most] -= 1
            self.met[code] = {name: times for name, times in where.items() if times > 0}

    def hints_seen(self, exercise: CourseExercise, answer: AnswerResult) -> int:
        """Return how many hints on the mistake in an answer have been shown; the first is shown with the failure."""
        first = 0 if answer.status == "todo" else 1
        hints = self.exercises.get(exercise.id, ExerciseState()).hints.get(answer.name)
        return hints.seen if hints is not None and hints.code == answer.code else first

    def record_hints_seen(self, exercise: CourseExercise, answer: AnswerResult, count: int) -> None:
        """Record that `count` hints on the mistake in an answer have been shown."""
        state = self.exercises.get(exercise.id, ExerciseState())
        hints = {**state.hints, answer.name: HintsSeen(answer.code, count)}
        self.exercises[exercise.id] = replace(state, hints=hints)

    def forget(self, exercise: CourseExercise) -> None:
        """Remove the last result of an exercise and the hints seen, if any; mistakes stay counted in `met`."""
        self.exercises.pop(exercise.id, None)

    def save(self) -> None:
        """Write the state whole or not at all; if that fails, note why."""
        exercises = {name: state.json for name, state in self.exercises.items()}
        state = {"version": VERSION, "exercises": exercises, "met": self.met}
        text = json.dumps(state, indent=1, ensure_ascii=False)
        try:
            write_atomically(self.path, text.encode("utf-8", "replace"))
        except OSError as error:
            self.notes.append(f"Progress is not remembered: {self.path.parent} cannot be written ({error.strerror}).")


def file_hash(path: Path) -> str:
    """Return the hash of a file's content; empty if the file cannot be read."""
    try:
        return content_hash(path.read_bytes())
    except OSError:
        return content_hash(None)


def _valid_counts(counts: Any) -> dict[str, dict[str, int]]:
    """Return how often each mistake was met, by code and exercise id, without entries that are no positive count.

    Args:
        counts: the counts from JSON, a value of any type.
    """
    return {
        str(code): {str(name): times for name, times in where.items() if type(times) is int and times > 0}
        for code, where in (counts.items() if isinstance(counts, dict) else ())
        if isinstance(where, dict)
    }


def _state_from_json(entry: Any) -> ExerciseState | None:
    """Return the state of one exercise in a state file, without parts of the wrong type.

    `None` if the hash or the result is damaged.

    Args:
        entry: the exercise's entry from JSON, a value of any type.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("hash"), str):
        return None
    result = None
    if entry.get("result") is not None:
        result = _valid_result(entry["result"])
        if result is None:
            return None
        result = replace(result, made_from=entry["hash"])
    hints, counted = entry.get("hints"), entry.get("counted")
    seen = {
        str(name): HintsSeen(hint.get("code"), hint["seen"])
        for name, hint in (hints.items() if isinstance(hints, dict) else ())
        if isinstance(hint, dict) and type(hint.get("seen")) is int and hint["seen"] >= 0
    }
    codes = {
        str(name): [str(code) for code in codes_of_answer]
        for name, codes_of_answer in (counted.items() if isinstance(counted, dict) else ())
        if isinstance(codes_of_answer, list)
    }
    return ExerciseState(result, seen, codes)


@cache
def _result_validator() -> TypeAdapter[ExerciseResult]:
    """Return pydantic's validator for an `ExerciseResult`."""
    return TypeAdapter(ExerciseResult)


def _valid_result(record: Any) -> ExerciseResult | None:
    """Return the result in an exercise's record, from JSON.

    `None` if a value has a wrong type, or a number is not finite.
    """
    try:
        result = _result_validator().validate_python(record)
    except ValidationError:
        return None
    numbers = [number for answer in result.answers for number in (answer.score, answer.max_score, answer.error)]
    return result if all(number is None or math.isfinite(number) for number in numbers) else None


@dataclass(frozen=True)
class UnitProgress:
    """The progress of one unit: answers to its exercises and questions of its quiz, done and in all.

    Args:
        unit: the id of the unit.
        done: the answers that are right.
        total: all of them.
        questions_done: the questions of its quiz that are answered.
        questions: all of them.
        counted: what is counted in place of the answers.
    """

    unit: str
    done: int
    total: int
    questions_done: int = 0
    questions: int = 0
    counted: str = "answers"


def by_unit(course: Course, progress: Progress, units: Iterable[str]) -> list[UnitProgress]:
    """Return the progress of each of these units, in the order of the course, from the last results."""
    return [_unit(course, progress, unit.id) for unit in course.config.units if unit.id in set(units)]


def whole_course(course: Course, progress: Progress) -> UnitProgress:
    """Return how many exercises of the course are solved, and how many there are, without quizzes.

    No `spec.py` is run: the list of exercises and the last results suffice.
    """
    results = [progress.result(exercise) for exercise in course.exercises if not exercise.is_quiz]
    solved = sum(result is not None and result.status == "passed" for result in results)
    return UnitProgress("whole course", solved, len(results), counted="exercises")


def _unit(course: Course, progress: Progress, unit: str) -> UnitProgress:
    """Return how many answers of a unit are right, and how many it has: in exercises to write, and in its quiz."""
    counts = {False: (0, 0), True: (0, 0)}
    for exercise in course.exercises:
        if exercise.unit == unit:
            result = progress.result(exercise)
            passed = sum(answer.status == "passed" for answer in result.answers) if result else 0
            done, total = counts[exercise.is_quiz]
            counts[exercise.is_quiz] = done + passed, total + len(exercise.declaration.answers)
    return UnitProgress(unit, *counts[False], *counts[True])


def next_exercise(progress: Progress, exercises: Iterable[CourseExercise]) -> CourseExercise | None:
    """Return the exercise to do next; `None` if all have passed.

    It is the first that has not passed and is neither marked `stretch` nor a quiz that was skipped; without one, the
    first that has not passed.
    """
    open_ones = [e for e in exercises if (result := progress.result(e)) is None or result.status != "passed"]
    return next(iter(sorted(open_ones, key=lambda e: e.stretch or _is_skipped_quiz(progress, e))), None)


def _is_skipped_quiz(progress: Progress, exercise: CourseExercise) -> bool:
    """Return whether an exercise is a quiz, and an exercise after it in teaching order has been attempted."""
    exercises = exercise.course.exercises
    later = exercises[exercises.index(exercise) + 1 :] if exercise.is_quiz else ()
    return any(is_attempted(result) for e in later if (result := progress.result(e)) is not None)


def is_attempted(result: ExerciseResult) -> bool:
    """Return whether any answer of an exercise is more than its stub."""
    return any(answer.status != "todo" for answer in result.answers)
