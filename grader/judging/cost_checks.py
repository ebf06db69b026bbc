"""Checks what a right answer cost: memory that must not be held at once, and gradients that were not asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.diagnosis.mistake import Diagnosis
from grader.exercise import Answer, Declaration
from grader.reference.option_arguments import describe_options
from grader.reference.trial import Trial, requested_gradients
from grader.sandbox.checked_reply import Call
from grader.shapes import named_axes, shape_of

LARGEST_SHARE = 0.9
TrialCalls = Sequence[tuple[Trial, Call]]


def is_metered(trial: Trial) -> bool:
    """The worker is to measure this call's work and memory."""
    return trial.metered or requested_gradients(trial.arguments) is not None


def check_memory(function: Declaration, rounds: TrialCalls) -> Diagnosis | None:
    """An array that the exercise forbids was held, or as much memory as it takes (float32)."""
    for trial, call in rounds:
        if trial.metered:
            axes = named_axes([function.never_holds])
            entries = int(np.prod(shape_of(axes, trial.setting.sizes)))
            if call.peak >= LARGEST_SHARE * entries * 4:
                says = f"the function holds {call.peak // 1024} KiB at once, as much as an array ({', '.join(axes)})"
                return Diagnosis("memory", says)
    return None


def check_unasked_work(answer: Answer, rounds: TrialCalls) -> Diagnosis | None:
    """Leaving this gradient out must save work, where any work was seen."""
    first = rounds[0][0]
    work = {
        asked: call.work
        for trial, call in rounds
        if trial.setting == first.setting and (asked := requested_gradients(trial.arguments)) is not None
    }
    everything = requested_gradients(first.arguments)
    if everything is not None and 0 < work[everything] <= work[everything - {answer.wrt}]:
        without = next(
            trial for trial, _ in rounds if requested_gradients(trial.arguments) == everything - {answer.wrt}
        )
        where = describe_options(without)
        return Diagnosis("extra-work", f"{answer.name} is worked out even where {where}")
    return None
