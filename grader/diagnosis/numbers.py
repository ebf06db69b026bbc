"""Slips in the plain numbers of a forward pass: two that are exchanged, and one made of another size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.reference.operand_view import At
from grader.reference.operations import ALONG_AN_AXIS, PRODUCTS, REDUCTIONS, RESHAPES, step_name
from grader.reference.other_steps import with_constant
from grader.reference.trace import Line, Rules, Step, Trace

from .operator import Kind, Operator, Parameters


def has_number(at: At) -> bool:
    """A plain number that is no axis and no exponent, and is taken together with an array."""
    return (
        bool(at.step.sources)
        and len(at.step.constants) == 1
        and at.name not in RESHAPES | ALONG_AN_AXIS | REDUCTIONS | {"pow"}
    )


def _other_numbers(at: At) -> Iterator[Parameters]:
    """Other lines in front of it that do the same with another number."""
    for line in dict.fromkeys(step.line for step in at.trace.steps[: at.step.index] if step.name == at.name):
        other = At(at.trace, at.trace.steps[at.trace.turns[line][-1]])
        plain = all(has_number(one) and not one.others for one in (at, other))
        if plain and other.step.constants != at.step.constants:
            yield {"line": line}


def _exchanged_numbers(trace: Trace, spot: Any, line: Line) -> dict[int, float]:
    """The steps of two lines, each with the number of the other."""
    mine, others = spot.steps(trace), trace.turns[line]
    own, other = (next(iter(trace.steps[steps[0]].constants.values())) for steps in (mine, others))
    return {**dict.fromkeys(mine, other), **dict.fromkeys(others, own)}


SIZES: Mapping[str, Callable[[float], float]] = {"{}": float, "sqrt({})": math.sqrt}


def _sizes(trace: Trace) -> dict[str, int]:
    """The sizes of the axes, and the products of two."""
    sizes = {name: size for name, size in trace.sizes.items() if not name.startswith("_")}
    return sizes | {f"{a} * {b}": sizes[a] * sizes[b] for a, b in itertools.combinations(sizes, 2)}


def _other_sizes(at: At) -> Iterator[Parameters]:
    """For a number that is made of the size of an axis: another axis, or a product that this one is in."""
    (constant,) = at.step.constants.values() if at.name in PRODUCTS and has_number(at) else (1,)
    for form, made in SIZES.items() if constant > 1 else ():
        for here, there in itertools.permutations(_sizes(at.trace), 2):
            plain = " * " not in there or here in there.split(" * ")
            if plain and " * " not in here and math.isclose(made(_sizes(at.trace)[here]), constant):
                yield {"form": form, "here": here, "there": there}


def _another_size(trace: Trace, spot: Any, form: str, here: str, there: str) -> dict[int, float]:
    sizes, steps = _sizes(trace), spot.steps(trace)
    if any(not math.isclose(SIZES[form](sizes[here]), *trace.steps[i].constants.values()) for i in steps):
        raise ValueError("the number is made of something else in this trial")
    return dict.fromkeys(steps, SIZES[form](sizes[there]))


def _numbers_forward(numbers_of: Callable[..., dict[int, float]]) -> Callable[..., Trace]:
    """Other numbers in some steps of the forward pass."""

    def rule(trace: Trace, spot: Any, **chosen: Any) -> Trace:
        numbers = numbers_of(trace, spot, **chosen)
        return trace.with_steps(dict.fromkeys(numbers, lambda step: with_constant(step, lambda _: numbers[step.index])))

    return rule


def _numbers_back(numbers_of: Callable[..., dict[int, float]]) -> Callable[..., Rules]:
    """The same on the way back alone."""

    def rule(trace: Trace, spot: Any, **chosen: Any) -> Rules:
        numbers = numbers_of(trace, spot, **chosen)

        def back(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            ((where, _),) = step.operands
            other = with_constant(step, lambda _: numbers[step.index])
            return other.vjp(where, g, {where: step.operand(where)})

        return {(i, trace.steps[i].operands[0][0]): back for i in numbers}

    return rule


def _sizes_told(at: At, form: str, here: str, there: str) -> Parameters:
    return {"here": form.format(here), "there": form.format(there)}


def _numbers_told(at: At, line: Line) -> Parameters:
    other = at.trace.steps[at.trace.turns[line][-1]]
    return {"there": step_name(replace(other, nth=0)), "here": step_name(replace(at.step, nth=0))}


NUMBERS = (
    Operator("number-of-another-size", "wrong-factor", _numbers_forward(_another_size), each=_other_sizes,
             tell=_sizes_told, kind=Kind.TRACE),
    Operator("numbers-exchanged", "wrong-operand", _numbers_forward(_exchanged_numbers), each=_other_numbers,
             tell=_numbers_told, kind=Kind.TRACE),
)  # fmt: skip
NUMBERS_BACK = (
    Operator("number-of-another-size-back", "wrong-factor", _numbers_back(_another_size), each=_other_sizes,
             tell=_sizes_told, kind=Kind.RULES),
    Operator("numbers-exchanged-back", "wrong-operand", _numbers_back(_exchanged_numbers), each=_other_numbers,
             tell=_numbers_told, kind=Kind.RULES),
)  # fmt: skip
