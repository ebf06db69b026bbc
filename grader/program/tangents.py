"""Forward-mode differentiation of a program, operation by operation, with rules that an edit may replace.

The tangent of a value is its derivative along the direction in which the inputs move. `probes.draw_tangents` measures
it for right programs by central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .forward import Node
from .operation import Array, Operand
from .program import Program

LINEAR = {"sum", "mean", "cumsum", "getitem", "select", "reshape", "permute", "transpose", "expand", "repeat"}

# Takes a node and the tangents of its operands by slot; returns that of its value.
TangentRule = Callable[[Node, Sequence[Operand]], Array]
# Takes a node; returns the rule for it, or `None` for the right one.
TangentRules = Callable[[Node], TangentRule | None]


def no_rule(node: Node) -> None:
    """Return `None` for any node: as the default `rules` of `push`, it replaces no rule, so that tangents are right.

    Args:
        node: not read.
    """


def no_tangent(node: Node, slot: int) -> float:
    """Return 0.0 for any node and slot: a plain number, such as 2 in `2 * x`, is a constant, so its tangent is 0.

    Args:
        node: not read.
        slot: not read.
    """
    return 0.0


@np.errstate(all="ignore")
def push(
    program: Program,
    directions: Mapping[str, Array],
    rules: TangentRules = no_rule,
    constant: Callable[[Node, int], Operand] = no_tangent,
) -> Array:
    """Return the tangent of the first output: the Jacobian of the output times the directions of the inputs.

    Args:
        program: the program; its forward pass alone matters.
        directions: by name the tangents of inputs, each shaped like its input; all other inputs have zeros.
        rules: takes a node; returns the rule that computes its tangent, a function of the node and the tangents of its
            operands by slot, or `None` for the right one.
        constant: takes a node and a slot that holds a plain number; returns the tangent of that number.

    Returns:
        Shape: that of the output, unless a rule returns another shape.
    """
    names = {i: name for name, i in program.inputs.items()}
    tangents: list[Operand] = []
    for node in program.nodes:
        if node.operation.family == "input":
            name = names.get(node.id, "")
            tangents.append(directions[name] if name in directions else np.zeros(node.value.shape))
            continue
        known = dict(node.operands)
        own = [tangents[known[slot]] if slot in known else constant(node, slot) for slot in range(len(node.values))]
        tangents.append((rules(node) or right_tangent)(node, own))
    return np.asarray(tangents[program.forward.outputs[0]])


def right_tangent(node: Node, tangents: Sequence[Operand]) -> Array:
    """Return the right tangent of a node's value, shaped like it: the sum of `jvp` over its operands.

    For `x * w`: dx * w + x * dw.

    Args:
        node: the node.
        tangents: the tangent of each operand, by slot.
    """
    moving = [slot for slot, tangent in enumerate(tangents) if node.operation.is_differentiable(slot)]
    parts = [jvp(node, slot, tangents[slot]) for slot in moving if np.any(tangents[slot])]
    return np.asarray(sum(parts)) if parts else np.zeros(node.value.shape)


def jvp(node: Node, slot: int, tangent: Operand) -> Array:
    """Return what the tangent of one operand contributes to the tangent of the value: the Jacobian-vector product.

    For `x @ w` and slot 0: dx @ w.

    Args:
        node: the node.
        slot: the slot of the operand.
        tangent: the operand's tangent, shaped like the operand; for a pointwise operation any shape that broadcasts
            with the value, which a wrong rule may have given it.

    Returns:
        Shape: that of the value.
    """
    x = np.asarray(node.values[slot])
    if node.operation.family == "pointwise":
        spread = np.broadcast_to(x, node.value.shape)
        return np.asarray(node.vjp(slot, np.ones(node.value.shape), {slot: spread}) * tangent)
    if node.name in LINEAR and len(node.values) == 1:
        return node.operation.run((np.asarray(tangent),), node.options)
    units = np.eye(node.value.size).reshape(-1, *node.value.shape)
    return np.asarray([np.vdot(node.vjp(slot, unit), tangent) for unit in units]).reshape(node.value.shape)
