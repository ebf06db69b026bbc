"""Trains a unit's model with the learner's gradients in the worker's child, and with torch's gradients here.

All steps are sent in parts, so that both loss curves can be drawn while the training runs.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from grader.authoring.build import worked_text
from grader.child import protocol
from grader.course.course import Course, CourseExercise, load_module
from grader.errors import ProtocolError, UsageError
from grader.reference.references import one_thread
from grader.results.records import ExerciseResult
from grader.sandbox import checked_reply
from grader.sandbox.source_text import Source, UnreadableSource, importable_files
from grader.sandbox.worker import Unanswered, Worker

from . import training_loop

PARTS = 25  # that all steps are sent in; between two of them the curve is drawn, and Ctrl-C loses no more than one
TIME_LIMIT = 60.0  # seconds for one part
CELL = "from training_loop import run\n"
FILE = "training.py"
TOLERANCE = 0.01  # of a loss, relative to torch's: rounding is a tenth of a percent at most
SMOOTHED = 50  # steps whose mean is the final loss


@dataclass
class Curve:
    """A loss curve.

    Args:
        state: the weights and their speeds after the last step; shape: `(2, weights)`.
        losses: the loss before each step.
    """

    state: torch.Tensor
    losses: list[float] = field(default_factory=list)

    @property
    def last(self) -> float:
        """Return the mean loss of the last `SMOOTHED` steps; not finite without a step, or if one of these is not."""
        losses = self.losses[-SMOOTHED:]
        return sum(losses) / len(losses) if losses else math.nan


@dataclass
class Training:
    """A training with the learner's gradients, and the same one with torch's.

    Args:
        unit: the unit whose gradients it uses.
        model: the unit's `training.py`.
        results: the verdicts on each exercise that is used.
        solved: the exercises whose worked solution is used, because nothing was written for them.
        data: the tensors of the training data, by name.
        yours: the curve of the learner's gradients.
        torchs: the curve of torch's gradients.
        why: the reason why it ended before its last step; empty if it did not.
        is_stopped: whether the learner stopped it.
    """

    unit: str
    model: ModuleType
    results: Sequence[ExerciseResult]
    solved: Sequence[str]
    data: Mapping[str, torch.Tensor]
    yours: Curve
    torchs: Curve
    why: str = ""
    is_stopped: bool = False

    @property
    def is_goal_reached(self) -> bool:
        """Return whether all steps were made and the final loss is at most the goal."""
        return bool(len(self.yours.losses) == self.model.steps and self.yours.last <= self.model.goal)

    def weights_file(self) -> bytes:
        """Return the learner's current weights as the bytes of an .npz file."""
        file = io.BytesIO()
        weights = {
            name: weight.numpy() for name, weight in training_loop.unpacked(self.model, self.yours.state).items()
        }
        np.savez(file, allow_pickle=False, **weights)
        return file.getvalue()

    @property
    def first_difference(self) -> int | None:
        """Return the number of the first step at which the curves differ; `None` if they do not differ.

        If the training ended early, not stopped by the learner, they differ, at the latest at the step not made.
        """
        pairs = zip(self.yours.losses, self.torchs.losses, strict=False)
        different = (step for step, (loss, torchs) in enumerate(pairs) if not abs(loss - torchs) <= TOLERANCE * torchs)
        return next(different, len(self.yours.losses) if self.why and not self.is_stopped else None)

    @property
    def failed(self) -> list[ExerciseResult]:
        """Return the verdicts on those of the learner's functions that the training used and that do not pass."""
        return [result for result in self.results if result.id not in self.solved and result.status != "passed"]


def units_with_training(course: Course) -> list[str]:
    """Return the ids of the units that have a training, in teaching order."""
    return [unit.id for unit in course.config.units if (course.solutions / unit.id / FILE).is_file()]


def load_training(course: Course, unit: str) -> ModuleType:
    """Return a unit's `training.py` as a module.

    Raises:
        UsageError: the unit has none; the message names those that have one.
        SpecError: the file cannot be run.
    """
    path: Path = course.solutions / unit / FILE
    if not path.is_file():
        others = " or ".join(f"handgrad train {name}" for name in units_with_training(course))
        raise UsageError(f"{unit} has nothing to train. " + (f"Try: {others}" if others else "No unit of it has."))
    return load_module(path, f"handgrad_training_{unit}")


OnPart = Callable[[Training], None]


def train(
    course: Course, unit: str, results: Sequence[ExerciseResult], worker: Worker, on_part: OnPart = lambda _: None
) -> Training:
    """Train with the learner's gradients, and with torch's; return the training at its end.

    If the learner's steps end early, the training says why, and torch's go on to the last step, except after Ctrl-C.

    Args:
        course: the course.
        unit: the id of the unit.
        results: the verdicts on each exercise that the training uses.
        worker: runs the learner's code.
        on_part: called with the training after each part of its steps.

    Raises:
        UsageError: the unit has no training, or none of its own exercises is written yet.
    """
    model = load_training(course, unit)
    exercises = {result.id: course.find(result.id) for result in results}
    empty = [result.id for result in results if all(answer.status == "todo" for answer in result.answers)]
    own = [name for name, exercise in exercises.items() if exercise.unit == unit]
    if set(own) <= set(empty):
        raise UsageError(f"There is nothing to train with yet: write {exercises[own[0]].file} first.")
    start = training_loop.begin(model)
    training = Training(unit, model, results, empty, model.data(), Curve(start), Curve(start))
    modules = _modules(course, unit, exercises, empty)
    part = -(-model.steps // PARTS)
    try:
        while not training.why and len(training.yours.losses) < model.steps:
            first = len(training.yours.losses)
            last = min(first + part, model.steps)
            training.why = _step_yours(training, first, last, modules, worker)
            _step_torchs(training, len(training.yours.losses))
            on_part(training)
    except KeyboardInterrupt:
        training.is_stopped, training.why = True, "you stopped it"
    if training.why and not training.is_stopped:
        _step_torchs(training, model.steps)  # the whole curve to compare with
        on_part(training)
    return training


def _step_torchs(training: Training, end: int) -> None:
    """Train with torch's gradients up to the step `end`, and append the losses to `training.torchs`.

    Nothing is done if that has as many losses already.
    """
    curve = training.torchs
    steps = range(len(curve.losses), end)
    if steps:
        with one_thread():
            curve.state, losses = training_loop.advance(
                training.model, curve.state, dict(training.data), steps, training_loop.by_autograd
            )
        curve.losses += losses.tolist()


def _step_yours(training: Training, first: int, last: int, modules: Mapping[str, str], worker: Worker) -> str:
    """Train with the learner's gradients from the step `first` to the step before `last`, in the worker's child.

    Args:
        training: the training, whose curve `yours` is extended.
        first: the number of the first step.
        last: the number after that of the last step.
        modules: the texts of the modules that the child can import, by name.
        worker: runs the learner's code.

    Returns:
        The reason why no more steps can be made; empty if they can.
    """
    curve, data = training.yours, training.data
    arrays = [curve.state.numpy(), *(value.numpy() for value in data.values())]
    arguments = [
        ["state", {"tensor": 0, "g": None}],
        ["first", {"literal": repr(first)}],
        ["last", {"literal": repr(last)}],
        ["names", {"literal": repr(list(data))}],
        *([f"data[{number}]", {"tensor": number + 1, "g": None}] for number in range(len(data))),
    ]
    header = {
        "cells": [CELL], "modules": dict(modules), "cell_limit": None, "filename": FILE, "function": "run",
        "time_limit": TIME_LIMIT, "memory_limit": 1024,
        "calls": [{"arguments": arguments, "meter": False, "after": False}],
    }  # fmt: skip
    reply = worker.run(protocol.Frame(header, arrays), TIME_LIMIT)
    if isinstance(reply, Unanswered):
        return f"step {first}: " + ("it took too long" if reply.end == "timeout" else "the process ended")
    facts = checked_reply.read(reply)
    error = facts.error or (facts.calls[0].error if facts.calls else None)
    if error is not None:
        return f"step {first}: {error.type}: {error.message}" if error.message else f"step {first}: {error.type}"
    state, losses = _state_and_losses(facts, curve)
    curve.state = state
    curve.losses += losses
    if losses and not math.isfinite(losses[-1]):
        return f"the loss is not finite any more after step {len(curve.losses) - 1}"
    return ""


def _state_and_losses(facts: checked_reply.Facts, before: Curve) -> tuple[torch.Tensor, list[float]]:
    """Return the state of the optimiser after some steps of training, and the loss of each step, from a child's reply.

    The state holds the weights and their speeds, the running sums of the gradients with which the optimiser steps;
    shape: `(2, weights)`.

    Args:
        facts: the facts of the reply.
        before: the curve before these steps.

    Raises:
        ProtocolError: the reply holds anything else.
    """
    items = [item.array for call in facts.calls for item in call.returned.items]
    arrays = [array for array in items if array is not None]
    if [array.ndim for array in arrays] == [2, 1] and len(arrays[1]):
        state, losses = arrays
        if state.shape == tuple(before.state.shape) and state.dtype == np.float32:
            return torch.from_numpy(state.copy()), [float(loss) for loss in losses]
    raise ProtocolError("the reply holds no steps of the training")


def _modules(
    course: Course, unit: str, exercises: Mapping[str, CourseExercise], solved: Sequence[str]
) -> dict[str, str]:
    """Return the texts of the modules that the child can import, by name.

    These are the learner's files and the files that they import, the unit's training, and the training loop.

    Args:
        course: the course.
        unit: the id of the unit.
        exercises: the exercises that the training uses, by id.
        solved: the ids of those whose worked solution stands in for the learner's file.

    Raises:
        UsageError: a file of the learner's cannot be read.
    """
    modules: dict[str, str] = {}
    for exercise in exercises.values():
        if exercise.id not in solved:
            try:
                source = Source.of(exercise.path.read_bytes(), exercise.file, importable_files(exercise.path.parent))
            except (OSError, UnreadableSource) as error:
                raise UsageError(f"{exercise.file} cannot be read ({error}): put it right, and try again.") from error
            modules |= {**source.modules, exercise.id: source.cells[0]}
    modules |= {name: worked_text(exercises[name]) for name in solved}
    modules["training"] = (course.solutions / unit / FILE).read_text(encoding="utf-8")
    modules["training_loop"] = Path(training_loop.__file__).read_text(encoding="utf-8")
    return modules
