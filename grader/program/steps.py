"""Programs written as lists of steps, the form in which the engine that a learner writes is given them.

A step names an operation and the values that it takes, by number: the inputs come first, and each step makes the next
value. What else it needs, such as an exponent or an axis, stands behind these numbers: `("mul", 0, 1)`, `("pow", 2,
0.5)`, `("sum", 3, 1)`, `("const", 2.0)`.
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
DEFAULT_OPTIONS: dict[str, Options] = {"softmax": {"dim": -1}}


class StepParts(NamedTuple):
    """The parts of a step: of `("pow", 2, 0.5)` the operand 2 and the number 0.5.

    Args:
        operands: the numbers of the values that the step takes.
        numbers: the plain numbers behind them, which are operands too; of a constant its number.
        options: the options by name, such as `dim`.
    """

    operands: tuple[int, ...]
    numbers: tuple[float, ...]
    options: Options


def parts_of(step: Step) -> StepParts:
    """Return the operands, plain numbers and options of a step: of `("pow", 2, 0.5)` value 2 and the number 0.5.

    An operand is the number of a value: the inputs come first, then the values that the steps make. For `("sum", 3,
    1)`: value 3 and the option `dim=1`; for `("const", 2.0)`: the number 2.0 alone.
    """
    name, taken = str(step[0]), step[1:]
    count = operand_count(name)
    operands, others = tuple(map(int, taken[:count])), taken[count:]
    if name in POSITIONAL:
        return StepParts(operands, (), dict(zip(POSITIONAL[name], others, strict=False)))
    return StepParts(operands, others, DEFAULT_OPTIONS.get(name, {}))


def operand_count(name: str) -> int:
    """Return how many values an operation takes by number in a step: 2 for `"mul"`, 1 for `"pow"`, 0 for `"const"`."""
    return VALUES_TAKEN[name] if name in VALUES_TAKEN else len(OPERATIONS[name].vjps)


@np.errstate(all="ignore")
def program_of_steps(
    steps: Iterable[Step], inputs: Sequence[Array | float], operations: Mapping[str, Operation] | None = None
) -> Program:
    """Return a list of steps as a program, whose output is the last value, with an upstream gradient of ones.

    Args:
        steps: such as `[("mul", 0, 1), ("sum", 2)]`, each of which makes one value.
        inputs: the values 0, 1, ..., arrays or numbers, which the program calls `"0"`, `"1"`, ...
        operations: by name, operations that take the place of those of the same name in `OPERATIONS`.

    Raises:
        NoCandidate: an operation cannot be computed.
    """
    known = {**OPERATIONS, **(operations or {})}
    nodes = [_input_node(i, value) for i, value in enumerate(inputs)]
    for i, step in enumerate(steps, len(nodes)):
        operands, numbers, options = parts_of(step)
        if step[0] == CONSTANT:
            nodes.append(_input_node(i, *numbers))
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


def _input_node(i: int, value: Array | float) -> Node:
    """Return a node with the id `i` for an input or a constant, with a copy of its value, as a step may write to it."""
    array = np.array(value, dtype=np.float64)
    return Node(i, INPUT, (), (array,), {}, array, (i,), text=str(i))


def autograd_of_steps(steps: Iterable[Step], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the right gradient of each input, by torch's autograd; zeros where nothing depends on an input.

    Args:
        steps: such as `[("mul", 0, 1)]`, whose last value is differentiated. If the calls `("backward", i)` and
            `("zero_grad",)` are among them, it is the sum of the values that `backward` was called on since the last
            `zero_grad`.
        inputs: the values 0, 1, ..., as tensors.
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
class EngineCall:
    """A call of `backward` or of `zero_grad` between the steps of a script.

    Args:
        value: the number of the value that is differentiated; `None` for `zero_grad`.
        made: how many values there are at that time, inputs included.
        detached: the numbers of the values that have been detached by that time.
    """

    value: int | None
    made: int
    detached: frozenset[int]


@dataclass(frozen=True)
class Script:
    """Steps with calls of `backward` and `zero_grad` between them.

    Args:
        program: the program of the steps.
        calls: the calls, in order.
    """

    program: Program
    calls: tuple[EngineCall, ...]


def script_of_steps(
    steps: Sequence[Step], inputs: Sequence[Array | float], operations: Mapping[str, Operation] | None = None
) -> Script:
    """Return a list of steps and calls as a `Script`: the program of the steps, and the calls in order.

    A call is `("backward", i)`, which differentiates value i, or `("zero_grad",)`; it makes no value. The script notes
    for each how many values there were by then, and which of these had been detached.

    Args:
        steps: the steps and calls.
        inputs: the values 0, 1, ..., arrays or numbers.
        operations: by name, operations that take the place of those of the same name in `OPERATIONS`.

    Raises:
        NoCandidate: an operation cannot be computed.
    """
    making: list[Step] = []
    calls, detached = list[EngineCall](), frozenset[int]()
    for step in steps:
        if step[0] in CALLS:
            calls.append(EngineCall(step[1] if step[0] == "backward" else None, len(inputs) + len(making), detached))
            continue
        making.append(step)
        if step[0] == "detach":
            detached |= {step[1]}
    return Script(program_of_steps(making, inputs, operations), tuple(calls))


def expand_steps(steps: Sequence[Step], inputs: int, definitions: Mapping[str, Sequence[Step]]) -> list[Step]:
    """Return the steps with some operations written out in simpler ones, as an engine makes `a - b` of `a + -1 * b`.

    The values are numbered anew, as there are more of them.

    Args:
        steps: such as `("sub", 0, 1)`.
        inputs: how many values come before the first step.
        definitions: for an operation the steps that compute its value. In these `-1`, `-2`, ... are the values that it
            takes, and `0`, `1`, ... those that the definition has made: `{"sub": [("const", -1.0), ("mul", -2, 0),
            ("add", -1, 1)]}`.
    """
    expanded: list[Step] = []
    numbers = list(range(inputs))  # what each value is called now
    for name, *taken in steps:
        count = operand_count(str(name))
        operands = [numbers[int(operand)] for operand in taken[:count]]
        first = inputs + len(expanded)
        for part, *places in definitions.get(str(name), ()):
            own = operand_count(str(part))
            moved = [operands[-1 - p] if p < 0 else first + p for p in map(int, places[:own])]
            expanded.append((part, *moved, *places[own:]))
        if str(name) not in definitions:
            expanded.append((name, *operands, *taken[count:]))
        numbers.append(inputs + len(expanded) - 1)
    return expanded
