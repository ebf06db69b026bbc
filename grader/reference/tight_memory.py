"""Draws the trial of a graded run that has no room for the array which must never be held.

The kernel, and no meter in the learner's process, says then whether it was held.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from grader.course.exercise import Declaration, Exercise
from grader.course.shapes import axes_of
from grader.course.trial_sizes import Setting

from .references import exercise_trial
from .trial import Trial

ROOM = 300  # MiB: more than a worker holds already, which code may write over
BEYOND, SINGLE = 1.9, 4  # times the room that there is, so that half of it still fits; bytes of a float32
MOST_SENT = 4 << 20  # entries


def tight_memory_trial(declaration: Declaration, first: Trial, rng: np.random.Generator) -> Trial | None:
    """A trial with no room for the array that must never be held; none where there is no such array, or it is sent,
    or the forward pass holds as much.

    Args:
        first: the first ordinary trial.
    """
    axes = axes_of(declaration.never_holds)
    if not isinstance(declaration, Exercise) or not axes or declaration.held_by_forward:
        return None
    side = math.ceil((BEYOND * (ROOM << 20) / SINGLE) ** (1 / len(axes)))
    sizes = {**dict.fromkeys(first.setting.sizes, 1), **dict.fromkeys(axes, side)}
    if sum(math.prod(sizes.get(axis, 1) for axis in first.axes(name) or ()) for name in first.arguments) > MOST_SENT:
        return None
    trial = exercise_trial(declaration, Setting(0, "an input without room", sizes), rng)
    return replace(trial, inputs={}, out=None, out_g=None)
