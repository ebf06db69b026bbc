"""A forward pass that is not quite the given one (an input is left out, a constant, an operation) and its gradient.

Where nothing is differentiated, `wrt` is empty and the value of the other pass is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.reference.trace import Step, Trace
from grader.reference.trial import Vague

from .detours import Sweep, Uses, idle_paths
from .fault import AVERAGES, RESHAPES, SUMS, words

Slip = tuple[str, str, Sweep]
PRODUCTS = {"mul", "div"}
REDUCED_OTHERWISE: Mapping[str, Callable[..., torch.Tensor]] = {"mean": torch.sum, "sum": torch.mean}
TURNED: Mapping[str, Callable[..., torch.Tensor]] = {
    "add": torch.sub,
    "sub": torch.add,
    "__rsub__": lambda x, constant: constant + x,
}


def with_other_inputs(trace: Trace, wrt: str) -> Iterator[Slip]:
    """An input is left out, or its places are counted from 1."""
    biases = [name for name in trace.inputs if _is_bias(trace, name)]
    if len(biases) > 1:
        says = f"{' and '.join(biases)} are left out on the way forward: none of them is added"
        yield "wrong-point", says, with_inputs(wrt, dict.fromkeys(biases, torch.zeros_like))
    for name, value in trace.inputs.items():
        if name == wrt:
            if all(trace.steps[step].name in SUMS for step, _ in trace.uses(name)):
                says = f"{name} is left out on the way forward: it is not added"
                yield "wrong-point", says, with_input(wrt, name, torch.zeros_like)
            continue
        if not value.is_floating_point():
            says = f"{name} is taken as if it were counted from 1: each place is one too small"
            yield "wrong-operand", says, with_input(wrt, name, lambda places: places - 1)
            says = f"{name} is not asked: 0, 1, 2 and so on stand in its place"
            yield "wrong-operand", says, with_input(wrt, name, _counted)
            continue
        for code, constant in (("wrong-point", 0.0), ("missing-local", 1.0)):
            says = f"{name} is left out: this is what {constant:g} in its place gives"
            yield code, says, with_input(wrt, name, partial(torch.full_like, fill_value=constant))


def with_other_steps(trace: Trace, wrt: str) -> Iterator[tuple[int, str, str, Sweep]]:
    """A constant is left out, a sign is another one, or a shape is not brought in line; the step, then the slip."""
    for step in trace.steps:
        for code, says, sweep in _otherwise(trace, step, wrt):
            yield step.index, code, says, sweep


def _otherwise(trace: Trace, step: Step, wrt: str) -> Iterator[Slip]:
    yield from _constant_left_out(step, wrt, last=step.key == trace.out)
    if step.name in TURNED:
        says = f"`{step.label}` has the wrong sign from there on: the other of + and - stands in its place"
        for skip in _skips(trace, wrt):
            yield "wrong-sign", says, with_step(wrt, step.index, _turned, skip)
    if step.name in REDUCED_OTHERWISE and step.key != trace.out:
        says = f"{words(step)} is taken as a {{}} on the way forward"
        code, other = ("sum-for-mean", "sum") if step.name in AVERAGES else ("mean-for-sum", "mean")
        for skip in _skips(trace, wrt):
            yield code, says.format(other), _with_value(wrt, step.index, _reduced_otherwise, skip)
    if _is_left_out_easily(trace, step):
        says = f"{words(step)} is left out, on the way forward as on the way back"
        yield "missing-local", says, with_step(wrt, step.index, _as_it_was)
    if step.name in RESHAPES and len(step.operands) == 1:
        yield from _not_rearranged(trace, step, wrt)


def _skips(trace: Trace, wrt: str) -> Iterator[Uses]:
    """Paths that a learner may leave out unharmed, and none."""
    yield from dict.fromkeys((idle_paths(trace, wrt) if wrt else Uses(), Uses()))


def _is_bias(trace: Trace, name: str) -> bool:
    """It is added to something larger, and used for nothing else."""
    used = [trace.steps[step] for step, _ in trace.uses(name)]
    return all(step.name == "add" and trace.inputs[name].numel() < step.value.numel() for step in used) and bool(used)


def _counted(places: torch.Tensor) -> torch.Tensor:
    return torch.arange(places.numel()).view(places.shape)


def with_input(wrt: str, name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Sweep:
    """The gradient where one input of the forward pass is another."""
    return with_inputs(wrt, {name: change})


def with_inputs(wrt: str, changes: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]) -> Sweep:
    """The gradient where some inputs of the forward pass are others."""

    def sweep(trace: Trace) -> torch.Tensor:
        others = {name: change(trace.inputs[name]) for name, change in changes.items()}
        other = replace(trace.again(others), out_g=trace.out_g)
        return _read(other, wrt)

    return sweep


def _read(trace: Trace, wrt: str, skip: Uses | None = None) -> torch.Tensor:
    """What an answer is in this pass."""
    return _something(trace.backward(wrt, skip=skip or Uses())) if wrt else trace.values()[trace.out]


def _something(gradient: torch.Tensor) -> torch.Tensor:
    """The gradient, unless nothing is left of it: zeros come from elsewhere, too."""
    if not bool(gradient.any()):
        raise Vague("nothing is left of the gradient")
    return gradient


def _constant_left_out(step: Step, wrt: str, *, last: bool) -> Iterator[Slip]:
    """A number that is added, or multiplied with, is forgotten for all that comes later."""
    constants = [i for i, value in enumerate(step.args) if type(value) in (int, float) or isinstance(value, float)]
    if len(step.operands) != 1 or len(constants) != 1 or step.name not in SUMS | PRODUCTS:
        return
    code, instead = ("wrong-point", 0.0) if step.name in SUMS else ("missing-local", 1.0)
    change = partial(_with_constant, place=constants[0], constant=instead)
    yield code, f"the number of {words(step)} is left out from there on", with_step(wrt, step.index, change)
    if wrt and not last and step.name in PRODUCTS:
        says = f"the number of {words(step)} is left out on the way forward, and is there on the way back"
        yield "wrong-point", says, _with_value(wrt, step.index, change)


def _with_constant(step: Step, place: int, constant: float) -> Step:
    return replace(step, args=(*step.args[:place], constant, *step.args[place + 1 :]))


def _turned(step: Step) -> Step:
    return replace(step, func=TURNED[step.name])


def with_step(wrt: str, index: int, change: Callable[[Step], Step], skip: Uses | None = None) -> Sweep:
    """The gradient where one step of the forward pass is another."""
    return lambda trace: _read(trace.with_step(index, change), wrt, skip)


def _is_left_out_easily(trace: Trace, step: Step) -> bool:
    """A function of one value that is not the whole pass; what would be left has the same shapes."""
    if len(step.operands) != 1 or len(trace.steps) == 1 or step.name in RESHAPES | SUMS | PRODUCTS:
        return False
    return step.value.shape == step.operand(step.operands[0][0]).shape and step.value.dim() > 0


def _reduced_otherwise(step: Step) -> Step:
    return replace(step, func=REDUCED_OTHERWISE[step.name])


def _with_value(wrt: str, index: int, change: Callable[[Step], Step], skip: Uses | None = None) -> Sweep:
    """One step has another value, and the rule that it should have."""

    def sweep(trace: Trace) -> torch.Tensor:
        other = trace.with_step(index, change)
        steps = [_as_before(here, there) for here, there in zip(trace.steps, other.steps, strict=True)]
        return _read(replace(other, steps=tuple(steps), memo={}), wrt, skip)

    return sweep


def _as_before(here: Step, there: Step) -> Step:
    """The operation of one step with the values of another."""
    both = zip(here.args, there.args, strict=True)
    args = tuple(value if isinstance(value, torch.Tensor) else constant for constant, value in both)
    return replace(there, func=here.func, args=args)


def _not_rearranged(trace: Trace, step: Step, wrt: str) -> Iterator[Slip]:
    """A shape is not brought in line with another, so that the two broadcast against each other."""
    try:
        other = trace.with_step(step.index, _as_it_was)
    except RuntimeError:
        return
    later = zip(trace.steps[step.index + 1 :], other.steps[step.index + 1 :], strict=True)
    if all(there.value.numel() <= here.value.numel() for here, there in later):
        return
    says = f"without {words(step)} the shapes broadcast against each other"
    yield "broadcast-accident", says, with_step(wrt, step.index, _as_it_was)
    yield "broadcast-accident", f"{says}, and the extra entries are added up", _added_up(wrt, step.index)


def _as_it_was(step: Step) -> Step:
    def nothing(value: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return value

    return replace(step, func=nothing)


def _added_up(wrt: str, index: int) -> Sweep:
    """Where the forward pass averages, it still divides by the right count, not by that of the broadcast entries."""

    def sweep(trace: Trace) -> torch.Tensor:
        other, times = trace.with_step(index, _as_it_was), 1.0
        for here, there in zip(trace.steps, other.steps, strict=True):
            if here.name in AVERAGES:
                (position, _), *_ = here.operands
                times *= there.operand(position).numel() / here.operand(position).numel()
        return _read(other, wrt) * times

    return sweep
