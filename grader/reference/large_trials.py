"""Draws large trials, on which a formula finishes at once and a numerical measurement does not finish in time.

Finite differences, a complex step and forward mode take a forward pass for each nudge. Entries that one output depends
on must be nudged one by one: those along an axis that the output does not have. In a large trial such an axis is long
and every other one has size one: what is sent is no longer than need be, and nothing less than a pass over all of it
for each of its entries measures a gradient.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch

from grader.child.cost_meter import Meter, measure_cost
from grader.exercise import Answer, Declaration, Exercise, sizes_of
from grader.shapes import Axes, Sizes, guess_axes, named_axes
from grader.trial_sizes import Setting

from .compare import scaled_error
from .references import REDRAWS, autograd_answer, exercise_trial, right_answer
from .trial import Trial

AT_FIRST = 60_000  # entries: a table of an axis this long with itself is more than the usual memory limit
FOR_TABLES = 6_000  # and of one this long is made in no time
AT_LAST = 75_000  # for a time limit of one second
SINGLE_PRECISION = 1e-4
PROBE, MOST_WORK = 2048, 1024
BEYOND, SINGLE = 1.1, 4  # times the room that there is, so that half of it still fits; bytes of a float32
MOST_SENT = 4 << 20  # entries
KIND = "a large input"


def large_trials(declaration: Declaration, first: Trial, entries: int, rng: np.random.Generator) -> tuple[Trial, ...]:
    """The large trials of an exercise, one for each long axis, without what the learner's function is not given.

    None for routines, for Jacobians, and where each output depends on one entry of every input: two evaluations
    measure all of these at once, at any size.

    Args:
        first: the first ordinary trial.
        entries: how many the arguments of one trial have together, about.
    """
    if not isinstance(declaration, Exercise):
        return ()
    least = {axis: min(sizes) for axis, sizes in sizes_of(declaration).items()}
    settings = [_setting(first, axis, entries, least) for axis in long_axes(declaration, first)]
    drawn = [_drawn(declaration, setting, rng) for setting in settings if _grows_evenly(declaration, setting, rng)]
    return tuple(trial for trial in drawn if trial is not None)


def tight_memory_trials(exercise: Declaration, first: Trial, room: int, rng: np.random.Generator) -> tuple[Trial, ...]:
    """A trial with no room for the array that must never be held; none where there is no such array.

    Nor where there is so much room that the trial would be too large to send.

    The kernel, and no meter in the learner's process, says then whether it was held.

    Args:
        first: the first ordinary trial.
        room: bytes that a learner's function may use.
    """
    axes = named_axes([exercise.never_holds])
    if not isinstance(exercise, Exercise) or not axes:
        return ()
    side = math.ceil((BEYOND * room / SINGLE) ** (1 / len(axes)))
    sizes = {**dict.fromkeys(first.setting.sizes, 1), **dict.fromkeys(axes, side)}
    sent = sum(math.prod(sizes.get(axis, 1) for axis in first.axes(name) or ()) for name in first.arguments)
    trial = _drawn(exercise, Setting(0, KIND, sizes), rng) if sent <= MOST_SENT else None
    return () if trial is None else (trial,)


def most_entries(time_limit: float) -> int:
    """How many entries tell loops from measurements in this time.

    The time of a loop over entries grows as their number E, that of a measurement as its square. With E^3 growing as
    the square of the limit, the loop is as far below the limit as the measurement is above it, whatever the limit is.
    """
    return int(AT_LAST * time_limit ** (2 / 3))


def long_axes(exercise: Exercise, first: Trial) -> tuple[str, ...]:
    """As few axes as will do, so that each differentiated input has one of them that the output does not have.

    An input without such an axis is left out.
    """
    assert first.out is not None
    marked = first.axes(exercise.argument_with_role("output"))
    kept = marked or guess_axes(tuple(first.out.shape), first.setting.sizes)
    summed = set(first.setting.sizes) - set(named_axes(kept))
    owners = [summed & set(first.axes(answer.wrt) or ()) for answer in exercise.answers if answer.kind == "gradient"]
    chosen: tuple[str, ...] = ()
    while left := [axes for axes in owners if axes and axes.isdisjoint(chosen)]:
        chosen += (max(first.setting.sizes, key=lambda axis: sum(axis in axes for axes in left)),)
    return chosen


def entries_are_coupled(exercise: Exercise, first: Trial) -> bool:
    """An entry of some answer depends on other entries along a long axis.

    Then a table of all entries with all is a right way to compute it, if not a lean one.
    """
    return any(_is_coupled_along(exercise, first, axis) for axis in long_axes(exercise, first))


def _is_coupled_along(exercise: Exercise, first: Trial, axis: str) -> bool:
    """Moving the first entries along an axis changes an answer at others."""
    moved = {name: _moved(value, first.axes(name) or (), axis) for name, value in first.inputs.items()}
    for answer in exercise.answers:
        axes = first.axes(answer.wrt) or ()
        if answer.kind == "gradient" and axis in axes:
            before, after = (autograd_answer(exercise, answer, inputs, first.out_g) for inputs in (first.inputs, moved))
            if not np.allclose(np.delete(after - before, 0, axes.index(axis)), 0):
                return True
    return False


def _moved(value: object, axes: Axes, axis: str) -> object:
    if not (isinstance(value, torch.Tensor) and value.is_floating_point() and axis in axes):
        return value
    moved = value.clone()
    moved.select(axes.index(axis), 0).add_(0.5)
    return moved


def _setting(first: Trial, axis: str, entries: int, least: Sizes) -> Setting:
    """No array alone has more than half of the entries; axes that may not have the size one have the `least`."""
    arrays = sum(axis in (first.axes(name) or ()) for name in first.arguments)
    sizes = {**dict.fromkeys(first.setting.sizes, 1), **least}
    others = max(1, *(math.prod(sizes.get(a, 1) for a in first.axes(n) or () if a != axis) for n in first.arguments))
    return Setting(0, KIND, {**sizes, axis: entries // (max(2, arrays) * others)})


def _grows_evenly(exercise: Exercise, setting: Setting, rng: np.random.Generator) -> bool:
    """The work of the reference grows with the entries, not with their square."""
    sizes = {axis: min(size, PROBE) for axis, size in setting.sizes.items()}
    meter = Meter()
    with measure_cost(meter, True):
        exercise_trial(exercise, replace(setting, sizes=sizes), rng)
    return meter.work <= MOST_WORK * PROBE


def _drawn(exercise: Exercise, setting: Setting, rng: np.random.Generator) -> Trial | None:
    """A trial in which single precision is enough to be right; none if there is no such."""
    for _ in range(REDRAWS):
        trial = exercise_trial(exercise, setting, rng)
        if all(_is_benign(exercise, answer, trial) for answer in exercise.answers):
            return replace(trial, inputs={}, out=None, out_g=None)
    return None


def _is_benign(exercise: Exercise, answer: Answer, trial: Trial) -> bool:
    right = trial.expected[answer.name]
    if right is None or trial.out_g is None:
        return True
    inputs = {name: _single(value) for name, value in trial.inputs.items()}
    found = right_answer(exercise, answer, trial.arguments, inputs, trial.out_g.float(), exercise.forward(**inputs))
    return found is not None and scaled_error(found, right) <= SINGLE_PRECISION


def _single(value: object) -> object:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
