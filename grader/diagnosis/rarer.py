"""Rarer mistakes in the forward graph: other rows of an input, an option that is not asked, a shifted upstream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.exercise import Answer, Exercise
from grader.reference.references import right_answer
from grader.reference.trace import Step, Trace
from grader.reference.trial import Candidate, Trial

from .detours import Sweep
from .fault import CONTRACTIONS, RESHAPES, SUMS, name_of, words
from .graph_faults import candidate, faithful, trace_of
from .other_passes import PRODUCTS, with_input, with_step
from .pointwise_faults import is_pointwise
from .relations import right_in

Change = Callable[[torch.Tensor], torch.Tensor]

# What may stand in an input's place. (Another value of the variable itself is another point.)
INSTEAD: tuple[tuple[str, str, Change], ...] = (
    ("wrong-operand", "the mean of {} over its first axis", lambda x: x.mean(0, keepdim=True).expand(x.shape)),
    ("wrong-operand", "the mean of all of {}", lambda x: x.mean().expand(x.shape)),
    ("wrong-operand", "the sum of {} over its first axis", lambda x: x.sum(0, keepdim=True).expand(x.shape)),
    ("wrong-operand", "the sum of all of {}", lambda x: x.sum().expand(x.shape)),
    ("partial-batch", "the first row of {}", lambda x: x[:1].expand(x.shape)),
    ("partial-batch", "the last row of {}", lambda x: x[-1:].expand(x.shape)),
    ("wrong-operand", "the row of {} that comes before", lambda x: x.roll(1, 0)),
    ("wrong-operand", "the row of {} that comes next", lambda x: x.roll(-1, 0)),
    ("wrong-operand", "the row of {} that comes before, and none in the first place,",
     lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1]))),
    ("wrong-operand", "the row of {} that comes next, and none in the last place,",
     lambda x: torch.cat((x[1:], torch.zeros_like(x[:1])))),
    ("wrong-operand", "{}, its rows back to front,", lambda x: x.flip(0)),
    ("wrong-operand", "{}, sorted,", lambda x: x.sort(0).values),
    ("wrong-operand", "{} less its mean over the first axis", lambda x: x - x.mean(0)),
    ("wrong-operand", "{} without its sign", torch.abs),
    ("wrong-operand", "{}, rounded,", torch.round),
    ("wrong-operand", "the square of {}", torch.square),
)  # fmt: skip
# What may stand in the upstream gradient's place, too.
CUT: tuple[tuple[str, str, Change], ...] = (
    ("not-linear", "the sign of {} alone", torch.sign),
    ("not-linear", "{}, cut off at -1 and 1,", lambda g: g.clamp(-1, 1)),
)
OF_VALUES: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("the root", lambda right: np.sqrt(np.abs(right))),
    ("the square", np.square),
    ("the logarithm", lambda right: np.log(np.abs(right))),
    ("the exponential", np.exp),
)
VALUES = {bool: (True, False), int: (1, 2, 3, 0, -1)}


def candidates(exercise: Exercise, answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Every rarer mistake about one answer.

    Args:
        trial: the first trial.
    """
    trace = trace_of(exercise, trial)
    if answer.kind == "value":
        yield from _activated_as_well(exercise, answer, trace)
        for what, taken in OF_VALUES:
            yield Candidate("wrong-local", f"it is {what} of the right value", partial(_of_value, answer, taken))
        return
    if answer.kind != "gradient" or not faithful(exercise, answer, trial):
        return
    for name, value in trace.inputs.items():
        if value.is_floating_point() and value.dim():
            for code, what, change in INSTEAD:
                says = f"{what.format(name)} stands in every place where {name} belongs"
                sweep = with_input(answer.wrt, name, change)
                of_itself = name == answer.wrt and code == "wrong-operand"
                yield candidate(exercise, answer, trace, "wrong-point" if of_itself else code, says, sweep)
    yield from _activated_as_well(exercise, answer, trace)
    for name, option in trial.inputs.items():
        for fixed in VALUES.get(type(option), ()):
            says = f"this is what {name} = {fixed} gives, whatever {name} is"
            yield Candidate("hard-coded", says, partial(_with_option, exercise, answer, name, fixed))
    for key in (*trace.inputs, trace.out) if exercise.gives_upstream else ():
        what = name_of(trace, key)
        for sign, verb, word in ((1, "added", "to"), (-1, "subtracted", "from")):
            says = f"{what} is {verb} {word} out.g before that is used"
            yield candidate(exercise, answer, trace, "wrong-operand", says, _with_upstream(answer.wrt, key, sign))
        says = f"out.g is let through only where {what} is positive, as behind a relu; there is none here"
        yield candidate(exercise, answer, trace, "wrong-local", says, _with_gate(answer.wrt, key))
    for code, what, change in (*INSTEAD, *CUT) if exercise.gives_upstream and trace.out_g.dim() else ():
        says = f"{what.format('out.g')} stands where out.g belongs"
        yield candidate(exercise, answer, trace, code, says, _with_other_upstream(answer.wrt, change))


def _activated_as_well(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """A function that is applied to one value of the forward pass, applied to another as well."""
    for step, other in itertools.permutations(trace.steps, 2):
        if _is_activation(step) and other.name in CONTRACTIONS | SUMS and step.operands[0][1] != other.key:
            back = ", on the way forward and back" if answer.wrt else ""
            says = f"{words(step)} is applied to {name_of(trace, other.key)} as well{back}"
            sweep = with_step(answer.wrt, other.index, partial(_followed_by, step))
            yield candidate(exercise, answer, trace, "wrong-local", says, sweep)


def _of_value(answer: Answer, change: Callable[[np.ndarray], np.ndarray], trial: Trial) -> np.ndarray:
    return change(right_in(answer, trial))


def _is_activation(step: Step) -> bool:
    """A function of one value, entry by entry, that is more than a sum or a product with a number."""
    if len(step.operands) != 1 or step.name in RESHAPES | SUMS | PRODUCTS | {"pow"}:
        return False
    return step.value.dim() > 0 and is_pointwise(step, step.operands[0][0])


def _followed_by(step: Step, other: Step) -> Step:
    """`other`, with the function of `step` taken of its value."""
    ((position, _),) = step.operands
    constants = [value for place, value in enumerate(step.args) if (place,) != position]

    def both(*args: Any, **kwargs: Any) -> torch.Tensor:
        found: torch.Tensor = step.func(other.func(*args, **kwargs), *constants, **step.kwargs)
        return found

    return replace(other, func=both)


def _with_option(exercise: Exercise, answer: Answer, name: str, value: int, trial: Trial) -> np.ndarray:
    inputs = {**trial.inputs, name: value}
    assert trial.out_g is not None
    assert trial.out is not None
    found = right_answer(exercise, answer, trial.arguments, inputs, trial.out_g, trial.out)
    return right_in(answer, trial) if found is None else found


def _with_upstream(wrt: str, key: str, sign: int) -> Sweep:
    def sweep(trace: Trace) -> torch.Tensor:
        return replace(trace, out_g=trace.out_g + sign * trace.values()[key].expand(trace.out_g.shape)).backward(wrt)

    return sweep


def _with_other_upstream(wrt: str, change: Change) -> Sweep:
    return lambda trace: replace(trace, out_g=change(trace.out_g)).backward(wrt)


def _with_gate(wrt: str, key: str) -> Sweep:
    def sweep(trace: Trace) -> torch.Tensor:
        return replace(trace, out_g=trace.out_g * (trace.values()[key].expand(trace.out_g.shape) > 0)).backward(wrt)

    return sweep
