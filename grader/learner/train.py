"""Trains a unit's model: the learner's gradients in the worker's child, torch's here, a part of the steps at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from grader.authoring.build import worked_text
from grader.child import protocol
from grader.course.course import Course, CourseExercise
from grader.errors import ProtocolError, UsageError
from grader.reference.references import one_thread
from grader.results.records import ExerciseResult
from grader.sandbox import checked_reply
from grader.sandbox.source_text import Source, UnreadableSource, importable_files
from grader.sandbox.worker import Worker

from . import training_loop
from .trained import FILE, Curve, Trained, load_training

PARTS = 25  # that all steps are sent in; between two of them the curve is drawn, and Ctrl-C loses no more than one
TIME_LIMIT = 60.0  # seconds for one part
CELL = "from training_loop import run\n"
OnPart = Callable[[Trained], None]


def train(
    course: Course, unit: str, results: Sequence[ExerciseResult], worker: Worker, on_part: OnPart = lambda _: None
) -> Trained:
    """Train with the learner's gradients, and with torch's.

    Args:
        results: the verdict on each exercise that the training uses.
        on_part: called after each part of the steps.

    Raises:
        UsageError: the unit has no training, or none of its own exercises is written yet.
    """
    training = load_training(course, unit)
    exercises = {each.id: course.find(each.id) for each in results}
    empty = [each.id for each in results if all(answer.status == "todo" for answer in each.answers)]
    own = [name for name, exercise in exercises.items() if exercise.unit == unit]
    if set(own) <= set(empty):
        raise UsageError(f"There is nothing to train with yet: write {exercises[own[0]].file} first.")
    begun = training_loop.begin(training)
    trained = Trained(unit, training, results, empty, training.data(), Curve(begun), Curve(begun))
    modules = _modules(course, unit, exercises, empty)
    part = -(-training.steps // PARTS)
    try:
        while not trained.why and len(trained.yours.losses) < training.steps:
            first = len(trained.yours.losses)
            last = min(first + part, training.steps)
            trained.why = _step_yours(trained, first, last, modules, worker)
            _step_torchs(trained, len(trained.yours.losses))
            on_part(trained)
    except KeyboardInterrupt:
        trained.stopped, trained.why = True, "you stopped it"
    if trained.why and not trained.stopped:
        _step_torchs(trained, training.steps)  # what it should have been
        on_part(trained)
    return trained


def _step_torchs(trained: Trained, until: int) -> None:
    curve = trained.torchs
    steps = range(len(curve.losses), until)
    if steps:
        with one_thread():
            curve.state, losses = training_loop.advance(
                trained.training, curve.state, dict(trained.data), steps, training_loop.by_autograd
            )
        curve.losses += losses.tolist()


def _step_yours(trained: Trained, first: int, last: int, modules: Mapping[str, str], worker: Worker) -> str:
    """Some steps in the worker's child; why there can be no more, if so."""
    curve, data = trained.yours, trained.data
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
    reply = worker.run(protocol.pack(header, arrays), TIME_LIMIT)
    if reply.frame is None:
        return f"step {first}: " + ("it took too long" if reply.end == "timeout" else "the process ended")
    seen = checked_reply.read(reply.frame)
    error = seen.facts.error or (seen.facts.calls[0].error if seen.facts.calls else None)
    if error is not None:
        return f"step {first}: {error.type}: {error.message}" if error.message else f"step {first}: {error.type}"
    state, losses = _read(seen, curve)
    curve.state = state
    curve.losses += losses
    if losses and not math.isfinite(losses[-1]):
        return f"the loss is not finite any more after step {len(curve.losses) - 1}"
    return ""


def _read(seen: checked_reply.CheckedReply, before: Curve) -> tuple[torch.Tensor, list[float]]:
    """The state and the losses of a reply.

    Raises:
        ProtocolError: it holds something else.
    """
    found = [seen.array(item) for call in seen.facts.calls for item in call.returned.items]
    arrays = [array for array in found if array is not None]
    if [array.ndim for array in arrays] == [2, 1] and len(arrays[1]):
        state, losses = arrays
        if state.shape == tuple(before.state.shape) and state.dtype == np.float32:
            return torch.from_numpy(state.copy()), [float(loss) for loss in losses]
    raise ProtocolError("the reply holds no steps of the training")


def _modules(
    course: Course, unit: str, exercises: Mapping[str, CourseExercise], solved: Sequence[str]
) -> dict[str, str]:
    """What the child may import: the learner's files and what they import, the unit's training, and the loop."""
    found: dict[str, str] = {}
    for exercise in exercises.values():
        if exercise.id not in solved:
            try:
                source = Source.of(exercise.path.read_bytes(), exercise.file, importable_files(exercise.path.parent))
            except (OSError, UnreadableSource) as error:
                raise UsageError(f"{exercise.file} cannot be read ({error}): put it right, and try again.") from error
            found |= {**source.modules, exercise.id: source.cells[0]}
    found |= {name: worked_text(exercises[name]) for name in solved}
    found["training"] = (course.solutions / unit / FILE).read_text(encoding="utf-8")
    found["training_loop"] = Path(training_loop.__file__).read_text(encoding="utf-8")
    return found
