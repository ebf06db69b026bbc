"""Grading one exercise, from a file or the cells of a notebook: ask the worker, climb the rungs, name the mistake."""

from __future__ import annotations

import codecs
import io
import secrets
import tokenize
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import protocol
from .course import CourseExercise
from .diagnose import Diagnosis
from .errors import InfrastructureError, ProtocolError
from .judge import CELL_SHARE, Judge, calls, candidates, everywhere, is_right, metered, mistake  # noqa: F401
from .observation import read
from .reference import make_trials
from .results import LARGEST_SEED, ExerciseResult
from .sampling import Array, Dtype, Function
from .sandbox import Worker
from .source import Source
from .trial import Trial

LONGEST_REASON = 200
FOR_DOMAINS = frozenset(("punycode", "idna"))  # decoded in time that grows with the square of the length


class Grader:
    """Grades exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, list[Trial]] = {}

    def trials(self, exercise: CourseExercise) -> list[Trial]:
        """This run's trials of an exercise."""
        if exercise.id not in self._trials:
            rng = np.random.default_rng([self.seed, zlib.crc32(exercise.id.encode())])
            self._trials[exercise.id] = make_trials(exercise.declaration, rng)
        return self._trials[exercise.id]

    def grade(self, exercise: CourseExercise, content: bytes | None, worker: Worker) -> ExerciseResult:
        """The verdict on one file, which is the case of one cell.

        Args:
            content: the file's bytes, `None` where there is no such file.
        """
        if content is None:
            says = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
            return everywhere(exercise, Diagnosis("todo", says))
        try:
            source = Source.of_file(_decode(content), exercise.file)
        except (SyntaxError, LookupError, UnicodeError) as error:
            says = f"{exercise.file} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            return everywhere(exercise, Diagnosis("syntax-error", says, ("Which editor or system wrote this file?",)))
        return self._grade(exercise, source, worker)

    def grade_cells(self, exercise: CourseExercise, cells: Sequence[str], worker: Worker) -> ExerciseResult:
        """The verdict on the code cells of a notebook, run in their order; an error in one does not stop the rest."""
        return self._grade(exercise, Source.of_cells(cells), worker)

    def _grade(self, exercise: CourseExercise, source: Source, worker: Worker) -> ExerciseResult:
        try:
            return self._judged(exercise, source, worker)
        except InfrastructureError as error:
            return everywhere(exercise, Diagnosis("error", str(error)), "error")

    def _judged(self, exercise: CourseExercise, source: Source, worker: Worker) -> ExerciseResult:
        trials = self.trials(exercise)
        reply = worker.run(_job(exercise, source, trials), exercise.course.policy.time_limit)
        if reply.end == "timeout":
            limit = exercise.course.policy.time_limit
            return everywhere(exercise, Diagnosis("timeout", f"it was still running after {limit:g} seconds"))
        if reply.end == "crash":
            return everywhere(exercise, Diagnosis("crash", f"it brought Python down: {reply.detail}"))
        try:
            observed = read(reply.frame)
            return Judge(exercise, source, trials, observed).result()
        except ProtocolError as error:
            return everywhere(exercise, Diagnosis("crash", f"it tampered with the grader's messages: {error}"))


def _decode(content: bytes) -> str:
    """Source text, by the encoding that the file declares, UTF-8 without one."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    if codecs.lookup(encoding).name in FOR_DOMAINS:
        raise LookupError(f"{encoding} is for names of domains")
    return content.decode(encoding)


def _job(exercise: CourseExercise, source: Source, trials: Sequence[Trial]) -> bytes:
    arrays: list[np.ndarray] = []
    asked = [
        {
            "arguments": [[name, _sent(value, arrays)] for name, value in trial.arguments.items()],
            "meter": metered(trial),
        }
        for trial in calls(trials)
    ]
    policy = exercise.course.policy
    header = {
        "cells": source.cells,
        "cell_limit": None if source.file else policy.time_limit * CELL_SHARE,
        "filename": exercise.file,
        "function": exercise.id,
        "time_limit": policy.time_limit,
        "memory_limit": policy.memory_limit,
        "calls": asked,
    }
    return protocol.pack(header, arrays)


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
