"""Runs one submission's code on trials, more than once, within the time limit of its exercise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.child import protocol
from grader.course import CourseExercise
from grader.reference.trial import Trial
from grader.sampling import Array, Dtype, Function
from grader.sandbox.checked_reply import read
from grader.sandbox.worker import Reply, Worker

from .cost_checks import is_metered
from .judge import CELL_SHARE
from .large_trial_checks import LargeCase, split_observation
from .source_text import Source


@dataclass
class TimeLeft:
    """Seconds that an exercise's code may still run for; what it waits for a free worker does not count."""

    seconds: float

    def run(self, worker: Worker, job: Callable[[float], bytes]) -> Reply:
        """Run a job, which is made with its time limit."""
        reply = worker.run(job(self.seconds), self.seconds)
        self.seconds -= reply.seconds
        return reply


@dataclass(frozen=True)
class SubmissionCode:
    """The code that answers an exercise, the worker that runs it, and the time that is left."""

    exercise: CourseExercise
    source: Source
    worker: Worker
    time_left: TimeLeft

    def run(self, trials: Sequence[Trial], large: Sequence[Trial], *, tight_memory: bool = False) -> Reply:
        """Run ordinary and large trials.

        Args:
            tight_memory: there is no room for what these trials are about, and holes in memory may not count as used.
        """
        return self.time_left.run(
            self.worker, lambda limit: _job(self.exercise, self.source, trials, large, limit, tight_memory=tight_memory)
        )

    def run_large(self, large: Sequence[Trial], *, tight_memory: bool = False) -> tuple[LargeCase, float]:
        """Run large trials alone, in the time that is left; their outcome, and the processor time that they took."""
        if self.time_left.seconds <= 0:
            return LargeCase(large, timed_out=True), 0.0
        reply = self.run((), large, tight_memory=tight_memory)
        if reply.frame is not None:
            return split_observation(read(reply.frame), 0, large)[1], reply.cpu
        return LargeCase(large, timed_out=reply.end == "timeout"), reply.cpu


def _job(
    exercise: CourseExercise,
    source: Source,
    trials: Sequence[Trial],
    large: Sequence[Trial],
    time_limit: float,
    *,
    tight_memory: bool,
) -> bytes:
    arrays: list[np.ndarray] = []
    asked = [_encode_call(trial, arrays, meter=is_metered(trial), after=True) for trial in trials]
    asked += [_encode_call(trial, arrays, meter=False, after=False) for trial in large]
    policy = exercise.course.policy
    header = {
        "cells": source.cells,
        "modules": source.modules,
        "cell_limit": None if source.file else policy.time_limit * CELL_SHARE,
        "filename": exercise.file,
        "function": exercise.id,
        "time_limit": time_limit,
        "memory_limit": policy.memory_limit,
        "tight_memory": tight_memory,
        "calls": asked,
    }
    return protocol.pack(header, arrays)


def _encode_call(trial: Trial, arrays: list[np.ndarray], **report: bool) -> dict[str, Any]:
    """One call: its arguments, and what is to be reported of it."""
    return {"arguments": [[name, _encode_argument(value, arrays)] for name, value in trial.arguments.items()], **report}


def _encode_argument(value: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
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
