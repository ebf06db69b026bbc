"""Which rows counted, or stand in the place of others: of the output, of an input or of the upstream gradient.

A gradient is linear in what arrives at each row of the output, or at each term of the sum that a loss ends in. So
what it would be if some of these counted less, or more, is one reverse sweep with them weighed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from grader.reference.answer_view import End
from grader.reference.operations import REDUCTIONS, SUMS, value_name
from grader.reference.other_steps import INSTEAD
from grader.reference.row_split import PATTERNS, RowParts, Split
from grader.reference.trace import Trace
from grader.reference.trial import IMPOSSIBLE, Trial

from .along_axis import PICKS
from .mistake import Fact, Mistake
from .operator import Kind, Operator, Parameters

Traced = Callable[[Trial], Trace]
Pair = tuple[Trial, np.ndarray]

MOST_ROWS = 9  # of which every choice is tried
FEWEST, LEAST_TRIALS, SPARE = 4, 2, 2


UNEVEN = {"first-twice", "last-twice", "running-from-first", "running-from-last"}


ROWS = Operator("rows-in-pattern", "partial-batch", kind=Kind.SWEEP,
                rule=lambda trace, wrt, split, pattern: split.weighed(trace, wrt, PATTERNS[pattern]))  # fmt: skip


def row_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Every pattern in which rows may count, along every axis: operator, parameters, what is told."""
    for split, name in itertools.product(_splits(trace, wrt), PATTERNS):
        operator = replace(ROWS, code="wrong-factor") if name in UNEVEN else ROWS
        yield operator, {"split": split, "pattern": name}, {"pattern": name, "axes": split.axes(trace)}


def _splits(trace: Trace, wrt: str) -> Iterator[Split]:
    """The upstream gradient along each of its axes; without one, what the last reduction to one number takes."""
    for step in reversed(trace.steps):
        if step.key == trace.out and trace.upstream_name:
            return (Split((step.index, None), axis) for axis in range(step.value.dim()))
        if step.name in REDUCTIONS and not step.value.dim() and step.key in trace.depends(wrt):
            ((where, _), *_) = step.operands
            return (Split((step.index, where), axis) for axis in range(step.operand(where).dim()))
    return iter(())


def counted(end: End, traced: Traced, pairs: Sequence[Pair]) -> Mistake | None:
    """Where some rows count and others do not, or otherwise, in no pattern with a name."""
    for split in _splits(traced(pairs[0][0]), end.answer.wrt):
        known = [one for pair in pairs if (one := _counted(end, traced, split, *pair))]
        if found := _in_counts(known) or _in_weights(known):
            return found
    return None


def _counted(end: End, traced: Traced, split: Split, trial: Trial, array: np.ndarray) -> RowParts | None:
    """Of a trial that is not too large, with an array of the right shape."""
    here = End(end.answer, trial)
    try:
        trace = traced(trial)
        if array.shape != here.right.shape or split.rows(trace) > MOST_ROWS:
            return None
    except IMPOSSIBLE:
        return None
    parts = trial.remember(("rows", end.answer.wrt, split), lambda: split.parts(trace, end.answer.wrt))
    return RowParts(split.axes(trace), parts, (array if here.prior is None else array - here.prior).flatten())


def _in_counts(known: Sequence[RowParts]) -> Mistake | None:
    """Each row counts or not."""
    found = [(one, told) for one in known if (told := one.chosen()) is not None]
    uneven = [(one, told) for one, told in found if told.any() and not told.all()]
    enough = sum(one.array.size for one, _ in uneven) >= FEWEST and len(uneven) >= LEAST_TRIALS
    if len(found) < len(known) or not enough:
        return None
    one, told = uneven[0]
    once = [int(i) for i in np.flatnonzero(told)]
    return Mistake("partial-batch", (Fact("rows-once", {"axes": one.axes, "once": once}),))


def _in_weights(known: Sequence[RowParts]) -> Mistake | None:
    """Each row has a weight of its own, where the answer has entries enough to tell."""
    several = [one for one in known if 1 < len(one.parts) <= one.array.size - SPARE]
    if len(several) < LEAST_TRIALS:
        return None
    found = [one.weights() for one in several]
    if any(weights is None for weights in found) or found[0] is None:
        return None
    facts = {"axes": several[0].axes, "first": float(found[0][0]), "last": float(found[0][-1])}
    apart = any(((np.abs(one.parts) > 0).sum(axis=0) <= 1).all() for one in several)  # each row has its own entries
    return Mistake("wrong-factor", (Fact("rows-scaled" if apart else "rows-weighed", facts),))


LEVEL = {"mean-of-rows", "mean", "sum-of-rows", "sum", "first-row", "last-row", "sum-of-columns", "mean-of-columns"}
OF_PLACES = {how: INSTEAD[how] for how in "first-row last-row row-before row-behind rows-turned-round".split()} | {
    "read-down": lambda x: x.mT.reshape(x.shape),
}
OF_UPSTREAM = INSTEAD | {"sign": torch.sign, "cut-off": lambda g: g.clamp(-1, 1)}
CODES = {
    "sum-of-columns": "sum-of-products", "read-down": "reshape-for-transpose", "first-row": "partial-batch",
    "last-row": "partial-batch", "sign": "not-linear", "cut-off": "not-linear",
}  # fmt: skip


def _input(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    return Operator(name, code, lambda trace, names, **how: {key: change(trace.inputs[key], **how) for key in names},
                    kind=Kind.INPUTS)  # fmt: skip


BIASES_MISSING = _input("biases-missing", "wrong-point", torch.zeros_like)
NOT_ADDED = _input("input-not-added", "wrong-point", torch.zeros_like)
OF_VALUES = (
    _input("input-as-zero", "wrong-point", torch.zeros_like), _input("input-as-one", "missing-local", torch.ones_like),
)  # fmt: skip
OF_NUMBERS = (
    _input("counted-from-one", "wrong-operand", lambda places: places - 1),
    _input("input-not-asked", "wrong-operand", lambda places: torch.arange(places.numel()).view(places.shape)),
)
REARRANGED = _input("input-rearranged", "wrong-operand", lambda x, how: (INSTEAD | OF_PLACES)[how](x))


def _is_bias(trace: Trace, name: str) -> bool:
    """It is added to something larger, and used for nothing else."""
    used = [trace.steps[step] for step, _ in trace.uses(name)]
    return all(step.name == "add" and trace.inputs[name].numel() < step.value.numel() for step in used) and bool(used)


def input_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """An input is left out, or its places are counted from 1: operator, parameters, what is told."""
    biases = tuple(name for name in trace.inputs if _is_bias(trace, name))
    if len(biases) > 1:
        yield BIASES_MISSING, {"names": biases}, {"names": list(biases)}
    for name, value in trace.inputs.items():
        operators: tuple[Operator, ...] = OF_VALUES if value.is_floating_point() else OF_NUMBERS
        if name == wrt:
            operators = (NOT_ADDED,) if all(trace.steps[i].name in SUMS for i, _ in trace.uses(name)) else ()
        yield from ((operator, {"names": (name,)}, {"name": name}) for operator in operators)


def exchanged_inputs(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Two inputs of one shape that are taken for each other: operator, parameters, what is told."""
    inputs = {name: value for name, value in trace.inputs.items() if value.dim()}
    for a, b in itertools.combinations(inputs, 2):
        if (inputs[a].shape, inputs[a].dtype) == (inputs[b].shape, inputs[b].dtype):
            yield INPUTS_EXCHANGED, {"names": (a, b)}, {"names": [a, b]}


def _inputs_exchanged(trace: Trace, wrt: str, names: tuple[str, str]) -> torch.Tensor:
    a, b = names
    other = trace.again({a: trace.inputs[b], b: trace.inputs[a]})
    return replace(other, out_g=trace.out_g).gradient({a: b, b: a}.get(wrt, wrt))


INPUTS_EXCHANGED = Operator("inputs-exchanged", "wrong-operand", _inputs_exchanged, kind=Kind.SWEEP)


def rarer_input_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Other rows of an input, or its numbers changed; another value of the variable itself is another point."""
    for name, value in trace.inputs.items():
        for how in (INSTEAD if value.is_floating_point() else OF_PLACES) if value.dim() else ():
            if how in LEVEL and any(step.name in PICKS for step in trace.steps):
                continue  # of equal entries each is the largest
            code = CODES.get(how, "wrong-point" if name == wrt else "wrong-operand")
            yield replace(REARRANGED, code=code), {"names": (name,), "how": how}, {"name": name, "how": how}


def _upstream(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    """Something is done to the upstream gradient before it is used, with a value of the pass or without."""

    def rule(trace: Trace, wrt: str, key: str = "", **chosen: Any) -> torch.Tensor:
        values = [trace.values()[key].expand(trace.out_g.shape)] if key else []
        return replace(trace, out_g=change(trace.out_g, *values, **chosen), memo={}).backward(wrt)

    return Operator(name, code, rule, kind=Kind.SWEEP)


ADDED_TO_UPSTREAM = _upstream("added-to-upstream", "wrong-operand", lambda g, value, sign: g + sign * value)
GATED = _upstream("gated-upstream", "wrong-local", lambda g, value: g * (value > 0))
REARRANGED_UPSTREAM = _upstream("upstream-rearranged", "wrong-operand", lambda g, how: OF_UPSTREAM[how](g))


def rarer_upstream_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Something is done to the upstream gradient, where one is given."""
    if not trace.upstream_name:
        return
    upstream = {"upstream": trace.upstream_name}
    for key in (*trace.inputs, trace.out):
        told = {"value": value_name(trace, key), **upstream}
        for sign, verb in ((1, "added to"), (-1, "subtracted from")):
            yield ADDED_TO_UPSTREAM, {"key": key, "sign": sign}, {"verb": verb, **told}
        yield GATED, {"key": key}, told
    gone = trace.inputs[wrt].shape[:1] != trace.out_g.shape[:1]  # the way back sums over the first axis, too
    codes = CODES | ({"sum-of-rows": "sum-of-products"} if gone else {})
    for how in OF_UPSTREAM if trace.out_g.dim() else ():
        code = codes.get(how, "wrong-operand")
        yield replace(REARRANGED_UPSTREAM, code=code), {"how": how}, {"how": how, **upstream}
