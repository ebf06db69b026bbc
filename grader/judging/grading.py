"""Grading one exercise, from a file or the cells of a notebook: ask the worker, climb the rungs, name the mistake."""

from __future__ import annotations

import codecs
import io
import math
import secrets
import tokenize
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.child import protocol
from grader.course import CourseExercise
from grader.diagnosis.diagnose import Diagnosis
from grader.errors import InfrastructureError, ProtocolError
from grader.exercise import Exercise
from grader.reference.large_trials import (
    AT_FIRST,
    FOR_TABLES,
    entries_are_coupled,
    large_trials,
    most_entries,
    roomless_trials,
)
from grader.reference.references import make_trials
from grader.reference.threads import one_thread
from grader.reference.trial import Trial
from grader.results import LARGEST_SEED, ExerciseResult
from grader.sampling import Array, Dtype, Function
from grader.sandbox.observation import read
from grader.sandbox.worker import Reply, Worker

from . import quizzes as quiz_grading
from .cost import metered
from .judge import CELL_SHARE, Judge, calls, everywhere
from .large_case import A_TABLE, TABLES_TAKE, UNSUSPICIOUS, LargeCase, parted
from .source import Source

LONGEST_REASON = 200
ATTEMPTS = 8
Onlooker = Callable[[Judge], None]
FOR_DOMAINS = frozenset(("punycode", "idna"))  # decoded in time that grows with the square of the length


class Grader:
    """Grades exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, list[Trial]] = {}
        self._large: dict[tuple[str, int], tuple[Trial, ...]] = {}
        self._absent: dict[str, ExerciseResult] = {}

    def prepare(self, exercise: CourseExercise, *, isolated: bool) -> None:
        """Load what grading this exercise takes, so that threads can share it."""
        if exercise.is_quiz:
            _ = exercise.quiz
        else:
            self.trials(exercise)
            _ = self.large(exercise) if isolated else ()

    def trials(self, exercise: CourseExercise) -> list[Trial]:
        """This run's trials of an exercise."""
        if exercise.id not in self._trials:
            self._trials[exercise.id] = make_trials(exercise.function, self._random(exercise))
        return self._trials[exercise.id]

    def large(self, exercise: CourseExercise, entries: int = AT_FIRST) -> tuple[Trial, ...]:
        """This run's trials of an exercise with so many entries, which only isolated code is given."""
        key = (exercise.id, entries)
        if key not in self._large:
            first, rng = self.trials(exercise)[0], self._random(exercise, entries)
            self._large[key] = large_trials(exercise.function, first, entries, rng)
        return self._large[key]

    def roomless(self, exercise: CourseExercise) -> tuple[Trial, ...]:
        """This run's trials of an exercise with no room for the array that must never be held."""
        key = (exercise.id, 0)
        if key not in self._large:
            room, first = exercise.course.policy.memory_limit << 20, self.trials(exercise)[0]
            self._large[key] = roomless_trials(exercise.function, first, room, self._random(exercise, 0))
        return self._large[key]

    def _random(self, exercise: CourseExercise, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(exercise.id.encode()), *stream])

    def grade(
        self, exercise: CourseExercise, content: bytes | None, worker: Worker, onlooker: Onlooker | None = None
    ) -> ExerciseResult:
        """The verdict on one file, which is the case of one cell.

        Args:
            content: the file's bytes, `None` where there is no such file.
            worker: runs them; an answer sheet is only read.
            onlooker: told of whoever judged, once that is done.
        """
        if content is None:
            return self.not_handed_in(exercise)
        if exercise.is_quiz:
            return quiz_grading.grade_sheet(exercise, exercise.quiz, content)
        try:
            source = Source.of_file(_decode(content), exercise.file)
        except (SyntaxError, LookupError, UnicodeError) as error:
            says = f"{exercise.file} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            return everywhere(exercise, Diagnosis("syntax-error", says, ("Which editor or system wrote this file?",)))
        return self._grade(exercise, source, worker, onlooker)

    def not_handed_in(self, exercise: CourseExercise) -> ExerciseResult:
        """One result for all who have not: most of a class, in most exercises."""
        if exercise.id not in self._absent:
            says = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
            self._absent[exercise.id] = (
                quiz_grading.grade_sheet(exercise, exercise.quiz, None)
                if exercise.is_quiz
                else everywhere(exercise, Diagnosis("todo", says))
            )
        return self._absent[exercise.id]

    def grade_cells(
        self, exercise: CourseExercise, cells: Sequence[str], worker: Worker, onlooker: Onlooker | None = None
    ) -> ExerciseResult:
        """The verdict on the code cells of a notebook, run in their order; an error in one does not stop the rest."""
        if exercise.is_quiz:
            return quiz_grading.grade_cells(exercise, exercise.quiz, cells)
        return self._grade(exercise, Source.of_cells(cells), worker, onlooker)

    def _grade(
        self, exercise: CourseExercise, source: Source, worker: Worker, onlooker: Onlooker | None
    ) -> ExerciseResult:
        try:
            with one_thread(), np.errstate(all="ignore"):  # whatever numbers an answer holds
                return self._judged(exercise, source, worker, onlooker)
        except ProtocolError as error:
            return everywhere(exercise, Diagnosis("crash", f"it tampered with the grader's messages: {error}"))
        except InfrastructureError as error:
            return everywhere(exercise, Diagnosis("error", str(error)), "error")

    def _judged(
        self, exercise: CourseExercise, source: Source, worker: Worker, onlooker: Onlooker | None
    ) -> ExerciseResult:
        trials, limit = self.trials(exercise), exercise.course.policy.time_limit
        large = self.large(exercise) if worker.isolation != "none" else ()
        asked, left = calls(trials), _TimeLeft(limit)
        reply = left.run(worker, lambda limit: _job(exercise, source, asked, large, limit))
        if reply.end == "timeout":
            says = f"it was still running after {limit:g} seconds{', perhaps on a large input' if large else ''}"
            return everywhere(exercise, Diagnosis("timeout", says))
        if reply.frame is None:
            return everywhere(exercise, Diagnosis("crash", f"it brought Python down: {reply.detail}"))
        observed, at_large = parted(read(reply.frame), len(asked), large)
        judge = Judge(exercise, source, trials, observed)
        result = judge.result()
        if onlooker is not None:
            onlooker(judge)
        judged = at_large.judged(exercise, result, source)
        passed = result.status == "passed"
        if passed and at_large.lacked_memory and (tables := self._with_tables(exercise, source, worker, left)):
            return tables.judged(exercise, result, source)
        if exercise.function.never_holds and large and any(answer.code is None for answer in judged.answers):
            drawn = partial(self.roomless, exercise)
            roomless, _ = self._called_again(exercise, source, worker, drawn, left, scarce=True)
            judged = roomless.judged(exercise, judged, source)
        if reply.cpu <= UNSUSPICIOUS or not large or all(answer.code for answer in judged.answers):
            return judged
        entries = most_entries(limit) // len(large)
        at_last, _ = self._called_again(exercise, source, worker, lambda: self.large(exercise, entries), left)
        return at_last.judged(exercise, judged, source)

    def _with_tables(
        self, exercise: CourseExercise, source: Source, worker: Worker, left: _TimeLeft
    ) -> LargeCase | None:
        """A smaller large case, where a table of all entries with all has room, if it is a right way to answer."""
        declaration = exercise.function
        if not isinstance(declaration, Exercise) or not entries_are_coupled(declaration, self.trials(exercise)[0]):
            return None
        least = a_table = math.inf  # a machine that is busy, or short of memory, only ever adds to them
        for _ in range(ATTEMPTS):
            case, cpu = self._called_again(exercise, source, worker, lambda: self.large(exercise, FOR_TABLES), left)
            least, a_table = min(least, cpu), min(a_table, self._table(exercise, worker, left))
            if least <= TABLES_TAKE * a_table:
                return case
        return None

    def _table(self, exercise: CourseExercise, worker: Worker, left: _TimeLeft) -> float:
        """The processor time that a table of all entries with all takes now."""
        source = Source.of_file(A_TABLE.format(exercise.id), exercise.file)
        return self._called_again(exercise, source, worker, lambda: self.large(exercise, FOR_TABLES), left)[1]

    def _called_again(
        self,
        exercise: CourseExercise,
        source: Source,
        worker: Worker,
        drawn: Callable[[], Sequence[Trial]],
        left: _TimeLeft,
        *,
        scarce: bool = False,
    ) -> tuple[LargeCase, float]:
        """What becomes of other large trials in the time that is left, and the processor time they took."""
        if left.seconds <= 0:
            return LargeCase(self.large(exercise), late=True), 0.0
        large = drawn()
        reply = left.run(worker, lambda limit: _job(exercise, source, (), large, limit, scarce=scarce))
        if reply.frame is not None:
            return parted(read(reply.frame), 0, large)[1], reply.cpu
        return LargeCase(large, late=reply.end == "timeout"), reply.cpu


@dataclass
class _TimeLeft:
    """Seconds that an exercise's code may still run for; what it waits for a free worker does not count."""

    seconds: float

    def run(self, worker: Worker, job: Callable[[float], bytes]) -> Reply:
        """What becomes of a job, which is made with its time limit."""
        reply = worker.run(job(self.seconds), self.seconds)
        self.seconds -= reply.seconds
        return reply


def _decode(content: bytes) -> str:
    """Source text, by the encoding that the file declares, UTF-8 without one."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    if codecs.lookup(encoding).name in FOR_DOMAINS:
        raise LookupError(f"{encoding} is for names of domains")
    text = content.decode(encoding)
    if "\0" in text:
        raise UnicodeError("it has zero bytes in it, like a file in UTF-16")
    return text


def _job(
    exercise: CourseExercise,
    source: Source,
    trials: Sequence[Trial],
    large: Sequence[Trial],
    time_limit: float,
    *,
    scarce: bool = False,
) -> bytes:
    arrays: list[np.ndarray] = []
    asked = [_asked(trial, arrays, meter=metered(trial), after=True) for trial in trials]
    asked += [_asked(trial, arrays, meter=False, after=False) for trial in large]
    policy = exercise.course.policy
    header = {
        "cells": source.cells,
        "cell_limit": None if source.file else policy.time_limit * CELL_SHARE,
        "filename": exercise.file,
        "function": exercise.id,
        "time_limit": time_limit,
        "memory_limit": policy.memory_limit,
        "scarce": scarce,
        "calls": asked,
    }
    return protocol.pack(header, arrays)


def _asked(trial: Trial, arrays: list[np.ndarray], **report: bool) -> dict[str, Any]:
    """One call: its arguments, and what is to be reported of it."""
    return {"arguments": [[name, _sent(value, arrays)] for name, value in trial.arguments.items()], **report}


def _sent(value: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    if isinstance(value, Array):
        arrays.append(value.values)
        first = len(arrays) - 1
        if value.g is None:
            return {"tensor": first, "g": None}
        arrays.append(value.g)
        return {"tensor": first, "g": first + 1}
    if isinstance(value, Function):
        return {"function": value.source}
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    if isinstance(value, tuple):
        return {"tuple": list(value)}
    return {"set": sorted(value)} if isinstance(value, frozenset) else {"literal": value}
