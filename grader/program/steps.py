"""A forward pass that is written as steps: data, as an engine of a learner's own is given it.

A step names an operation and the values that it takes, by number: the inputs come first, and each step makes the next
one. What else it needs, such as an exponent or an axis, stands behind them: `("mul", 0, 1)`, `("pow", 2, 0.5)`,
`("sum", 3, 1)`, `("const", 2.0)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from .forward import INPUT, Forward, Node
from .operation import OPERATIONS, Array, Operand, Operation, Options
from .program import Program

Step = tuple[Any, ...]  # a name and numbers

CONSTANT = "const"
CALLS = ("backward", "zero_grad")  # they make no value
VALUES_TAKEN = {CONSTANT: 0, "pow": 1}  # plain numbers stand behind them; other operations take values alone
POSITIONAL = {"sum": ("dim",)}  # the options that may stand behind the values, in order
USUAL: dict[str, Options] = {"softmax": {"dim": -1}}


class Parts(NamedTuple):
    """A step, read: the values that it takes, the plain numbers behind them, and its options."""

    operands: tuple[int, ...]
    numbers: tuple[float, ...]
    options: Options


def parts_of(step: Step) -> Parts:
    """Return what a step takes; that of a constant is its number alone."""
    name, taken = str(step[0]), step[1:]
    count = values_taken(name)
    operands, others = tuple(map(int, taken[:count])), taken[count:]
    if name in POSITIONAL:
        return Parts(operands, (), dict(zip(POSITIONAL[name], others, strict=False)))
    return Parts(operands, others, USUAL.get(name, {}))


def values_taken(name: str) -> int:
    """Return how many values a step of this name takes."""
    return VALUES_TAKEN[name] if name in VALUES_TAKEN else len(OPERATIONS[name].vjps)


@np.errstate(all="ignore")
def program_of_steps(
    steps: Iterable[Step], inputs: Sequence[Array | float], operations: Mapping[str, Operation] | None = None
) -> Program:
    """Return the program of a list of steps; its output is the last value, and its upstream gradient ones.

    Args:
        steps: what is computed, one value a step.
        inputs: the first values; the program calls them `0`, `1`, ...
        operations: what some of the names stand for in place of the operation of this name.

    Raises:
        NoCandidate: an operation cannot be computed.
    """
    known = {**OPERATIONS, **(operations or {})}
    nodes = [_constant(i, value) for i, value in enumerate(inputs)]
    for i, step in enumerate(steps, len(nodes)):
        operands, numbers, options = parts_of(step)
        if step[0] == CONSTANT:
            nodes.append(_constant(i, *numbers))
            continue
        operation = known[str(step[0])]
        values: tuple[Operand, ...] = (*(nodes[operand].value for operand in operands), *numbers)
        value = operation.run(values, options)
        key = (operation.name, i)
        nodes.append(Node(i, operation, tuple(enumerate(operands)), values, options, value, key, text=str(step)))
    named = {str(i): i for i in range(len(inputs))}
    last = len(nodes) - 1
    forward = Forward(tuple(nodes), named, (last,), named)
    return Program(forward, (np.ones(nodes[last].value.shape),), output_name="the last value", upstream_name="")


def _constant(i: int, value: Array | float) -> Node:
    """Return an input, or a number that a step made; it has memory of its own, for a step may write to it."""
    array = np.array(value, dtype=np.float64)
    return Node(i, INPUT, (), (array,), {}, array, (i,), text=str(i))


def autograd_of_steps(steps: Iterable[Step], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the right gradients for the inputs, by torch's autograd; zeros where nothing depends on an input.

    Args:
        steps: with calls among them, see `Script`, or without: then the last value is differentiated.
        inputs: the first values.
    """
    leaves = [value.detach().requires_grad_() for value in inputs]
    values, called = list(leaves), list[torch.Tensor]()
    has_calls = False
    with torch.enable_grad():
        for step in steps:
            if step[0] in CALLS:
                called = [*called, values[int(step[1])]] if step[0] == "backward" else []
                has_calls = True
                continue
            operands, numbers, options = parts_of(step)
            if step[0] == CONSTANT:
                values.append(leaves[0].new_tensor(numbers[0]))
            else:
                first, *others = (values[operand] for operand in operands)
                values.append(getattr(first, str(step[0]))(*others, *numbers, **options))
        total = sum(called) if has_calls else values[-1]
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    return list(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))


@dataclass(frozen=True)
class Call:
    """A call of `backward` or `zero_grad` in a script.

    Args:
        value: the value that is differentiated; `None` where the gradients are cleared.
        made: how many values there are by then, inputs among them.
        detached: the values that have been detached by then.
    """

    value: int | None
    made: int
    detached: frozenset[int]


@dataclass(frozen=True)
class Script:
    """Steps with calls of `backward` and `zero_grad` between them.

    Args:
        program: the other steps.
        calls: in order.
    """

    program: Program
    calls: tuple[Call, ...]


def script_of_steps(
    steps: Sequence[Step], inputs: Sequence[Array | float], operations: Mapping[str, Operation] | None = None
) -> Script:
    """Return a script from its steps: `("backward", i)` and `("zero_grad",)` make no value.

    Args:
        steps: see `program_of_steps`, as for the other arguments.
        inputs: the first values.
        operations: what some of the names stand for.
    """
    making: list[Step] = []
    calls, detached = list[Call](), frozenset[int]()
    for step in steps:
        if step[0] in CALLS:
            calls.append(Call(step[1] if step[0] == "backward" else None, len(inputs) + len(making), detached))
            continue
        making.append(step)
        if step[0] == "detach":
            detached |= {step[1]}
    return Script(program_of_steps(making, inputs, operations), tuple(calls))


def expand(steps: Sequence[Step], inputs: int, definitions: Mapping[str, Sequence[Step]]) -> list[Step]:
    """Return steps in which some operations are made of others, as many engines make a difference.

    Args:
        steps: what is computed.
        inputs: how many values come before them.
        definitions: for an operation the steps that give its value. There `-1`, `-2`, ... are the values that it takes,
            and `0`, `1`, ... those that the definition has made: `{"sub": [("const", -1.0), ("mul", -2, 0), ("add", -1,
            1)]}`.
    """
    expanded: list[Step] = []
    numbers = list(range(inputs))  # what each value is called now
    for name, *taken in steps:
        count = values_taken(str(name))
        operands = [numbers[int(operand)] for operand in taken[:count]]
        first = inputs + len(expanded)
        for part, *places in definitions.get(str(name), ()):
            own = values_taken(str(part))
            moved = [operands[-1 - p] if p < 0 else first + p for p in map(int, places[:own])]
            expanded.append((part, *moved, *places[own:]))
        if str(name) not in definitions:
            expanded.append((name, *operands, *taken[count:]))
        numbers.append(inputs + len(expanded) - 1)
    return expanded
