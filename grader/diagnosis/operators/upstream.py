"""Operators that replace an upstream gradient, or the gradient of a target, by a wrong array."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.diagnosis.hints import STORED_IN_ANOTHER
from grader.program.forward import SINK, Forward, Place
from grader.program.operation import OPERATIONS, Array
from grader.program.program import EdgeContext, EdgeVjp, Program, Sweep, as_code
from grader.program.queries import EdgeKind, edges_by_kind, nodes_between
from grader.program.segments import segment
from grader.program.selectors import NamedValue, ValueName, values_by_name

from .contract import Example, divisor_of, operator
from .partners import ValueOfIteration
from .places import WHOLE, edges, expression_of, target_of, targets, values, values_with_same_gradient
from .pointwise import depends_on_operand, is_nonzero


def is_made_from_targets(program: Program, place: Place) -> bool:
    """Return whether the value `place` is computed by a node with an operand that gets a gradient; False for inputs."""
    return bool(program.forward.edges[place[0]])


def has_several_edges(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` has two or more operands that get a gradient, as `x @ w` may."""
    return len(program.forward.edges[place[0]]) > 1


made_values = values.where(is_made_from_targets)
edges_of_several = edges.where(has_several_edges)


def name_of_upstream_gradient(program: Program, value: int) -> str:
    """Return what a learner calls the upstream gradient of the node of a value: that of the output, if they are equal.

    For an output, which nothing else reads, and for `x @ w` in the output `x @ w + b`, `out.g`, or `1` for a loss;
    otherwise `the gradient of h`. So for the last h of a loop, too, whose gradient in other iterations is not `out.g`.
    """
    upstream, node = program.upstream_name, program.nodes[value]
    is_in_loop = len(program.forward.by_key[node.key]) > 1
    if value in program.forward.outputs and len(program.forward.uses[value]) == 1 and not is_in_loop:
        return upstream or "1"
    own, given = (program.right_sweep.gradient(i) for i in (value, program.forward.outputs[-1]))
    is_given = upstream and not is_in_loop and value not in program.forward.outputs and np.array_equal(own, given)
    return upstream if is_given else f"the gradient of {program.name_of(value_with_same_gradient(program, value))}"


def value_with_same_gradient(program: Program, value: int) -> int:
    """Return the id of the first value with a name that has the same gradient, as l1 for `x @ w` in `l1 = x @ w + b`.

    Return `value` where it has a name itself, or where no such value comes before a difference.
    """
    for other in values_with_same_gradient(program, value):
        if other != value and program.nodes[other].name != "add":
            return value
        if program.name_of(other).isidentifier():
            return other
    return value


def is_one_of_paths(program: Program, value: int) -> bool:
    """Return whether a target reaches the output beside a value, too: `x**2` in `x * x.sin() + x**2` is one of paths.

    Only the nodes are examined that read the value, one after the other, up to the first value with several readers.
    """
    forward, here = program.forward, value
    reached = [i for i in forward.targets.values() if i == value or forward.ancestors[value] >> i & 1]
    while here not in forward.outputs and len(forward.uses[here]) == 1:
        reader = forward.uses[here][0][0]
        beside = [other for _, other in program.nodes[reader].operands if other != here]
        if any(other == i or forward.ancestors[other] >> i & 1 for other in beside for i in reached):
            return True
        here = reader
    return False


def codes_of_missing_upstream(program: Program, place: Place) -> Iterator[str]:
    """Yield the public code of the mistake that the upstream gradient of the node of `place` is left out.

    `missing-upstream` if the learner is given an upstream gradient, else `missing-local`; nothing for a loss, whose
    upstream gradient is 1. `place` is a value, or an edge, whose reader is meant.
    """
    if program.upstream_name:
        yield "missing-upstream"
    elif place[0] not in program.forward.outputs:
        yield "missing-local"


VANISHING = 1e-12  # below this a gradient is 0 but for rounding


def passes_ones_on(program: Program, place: Place) -> bool:
    """Return whether some target gets a gradient if that of the value `place` is 1 everywhere.

    It is False for `x.roll(1) - x.roll(-1)`, where ones in place of the gradient are the same as a missing path. Only
    differences are examined that are no output.
    """
    node, forward = program.nodes[place[0]], program.forward
    if node.name != "sub" or node.id in forward.outputs:
        return True
    known = _PASSES_ONES_ON.setdefault(forward, {})
    if node.id not in known:
        part = replace(forward, nodes=forward.nodes[: node.id + 1], outputs=(node.id,))
        reached = {name: value for name, value in forward.targets.items() if value <= node.id}
        gradients = Program(replace(part, targets=reached), (np.ones_like(node.value),)).gradients().values()
        known[node.id] = any(np.abs(gradient).max(initial=0.0) > VANISHING for gradient in gradients)
    return known[node.id]


_PASSES_ONES_ON: WeakKeyDictionary[Forward, dict[int, bool]] = WeakKeyDictionary()  # by the id of the difference


@operator(
    "upstream-missing",
    code=lambda choice: choice,
    rank=1.5,
    at=made_values.where(passes_ones_on),
    choices=codes_of_missing_upstream,
    message="{path}the factor {gradient} is missing: your code treats it as 1",
    fields=lambda program, place, choice: {
        "gradient": name_of_upstream_gradient(program, place[0]),
        "path": f"on the path through {program.name_of(place[0])}, " if is_one_of_paths(program, place[0]) else "",
    },
)
def leave_out_upstream(program: Program, place: Place, choice: str) -> Program:
    """Replace the gradient of the value `place` by ones in the contributions to all operands that it is computed from.

    For x @ w: ones @ w.T to x, and x.T @ ones to w. The choice is only the public code of the mistake.
    """
    return program.with_upstream(place[0], lambda at: np.ones_like(at.g))


@leave_out_upstream.example
def _() -> Example:
    """Show tanh(x @ w) whose backward pass begins with ones in place of g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (1 - torch.tanh(x @ w) ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "upstream-missing-for-operand",
    code=lambda choice: choice,
    rank=2.0,
    at=edges_of_several,
    choices=codes_of_missing_upstream,
    message="in the gradient of {operand} through {step}, {gradient} is missing",
    fields=lambda program, place, choice: {"gradient": name_of_upstream_gradient(program, place[0])},
)
def leave_out_upstream_for_operand(program: Program, place: Place, choice: str) -> Program:
    """Compute the contribution of the edge `place` with ones in place of the upstream gradient of its reader.

    For w in x @ w: x.T @ ones; that to x is right. The choice is only the public code of the mistake.
    """
    return program.with_vjp(place, lambda at: at.right(np.ones_like(at.g)))


@leave_out_upstream_for_operand.example
def _() -> Example:
    """Show tanh(x @ w + h @ u) whose gradient of `w` has ones in place of the gradient of the sum."""

    def forward(x: Tensor, w: Tensor, h: Tensor, u: Tensor) -> Tensor:
        return torch.tanh(x @ w + h @ u)

    def wrong(x: Tensor, w: Tensor, h: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(x @ w + h @ u) ** 2)
        return {"x": dz @ w.T, "w": x.T @ torch.ones_like(dz), "h": dz @ u.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "h": "bs k", "u": "k m"})


@dataclass(frozen=True)
class Replacement:
    """A value of the forward pass that is used in place of an upstream gradient.

    Args:
        value: names the value.
        code: the public code of the mistake.
    """

    value: ValueName
    code: str


def replacements(program: Program, place: Place) -> Iterator[Replacement]:
    """Yield `Replacement`s: the name of a value that is used in place of a gradient of its shape, and the public code.

    The gradient is that of the value `place`, or of the reader of the edge `place`. First come this value itself and
    those computed from it directly, then all others. Nothing for a loss itself, and no value that is only rounding.
    """
    own = {place[0], *(reader for reader, _ in program.forward.uses[place[0]])}
    if place[0] not in program.forward.outputs or program.upstream_name:
        values_alike = values_by_name(program, place[0], program.nodes[place[0]].value.shape)
        values_alike = {name: value for name, value in values_alike.items() if is_nonzero(program, value)}
        yield from (Replacement(name, "value-for-gradient") for name, value in values_alike.items() if value in own)
        yield from (Replacement(name, "wrong-operand") for name, value in values_alike.items() if value not in own)


def rule_of_replacement(program: Program, place: Place, choice: Replacement) -> EdgeVjp | None:
    """Return a function of an edge that returns the forward value of `choice`, as it is, in place of a gradient.

    The array is that of the edge's program; its vjp takes it as the upstream gradient.

    Args:
        program: the program of a trial.
        place: a value, or an edge, whose reader is meant: the node whose gradient is replaced.
        choice: names the other value.

    Returns:
        The function; `None` where the program has no such value.
    """
    value = choice.value.find(program, place[0])
    return None if value is None else lambda at: at.program.nodes[value].value


def fields_of_replacement(program: Program, place: Place, choice: Replacement) -> dict[str, str]:
    """Return the fields of a message: the array that is used, and the gradient that must be.

    Of `x @ w` in `x @ w + b`: "the value of `x @ w`", because a learner computes it as out - b, and "its gradient".

    Args:
        program: the program of the trial that the message is for.
        place: a value, or an edge, whose reader is meant: the node whose gradient is replaced.
        choice: names the other value.
    """
    other, gradient = choice.value.describe(program), name_of_upstream_gradient(program, place[0])
    if other.startswith("`") and choice.value.find(program, place[0]) == place[0]:
        return {"other": f"the value of {other}", "gradient": "its gradient"}
    return {"other": other, "gradient": gradient}


@operator(
    "value-for-gradient",
    code=lambda choice: choice.code,
    rank=3.0,
    at=made_values.in_every_iteration,
    choices=replacements,
    message="{other} is used in place of {gradient}",
    fields=lambda program, place, choice: fields_of_replacement(program, place, choice),
)
def use_value_for_gradient(program: Program, place: Place, choice: Replacement) -> Program | None:
    """Replace the gradient g of the value `place` by a value v in the contributions to all operands of its node.

    The choice names v, of the shape of g: for `x @ w`, v @ w.T to x, and x.T @ v to w. Returns `None` where the program
    has no such value.
    """
    rule = rule_of_replacement(program, place, choice)
    return None if rule is None else program.with_upstream(place[0], rule)


@use_value_for_gradient.example
def _() -> Example:
    """Show sigmoid(x @ w) whose backward pass begins with the output in place of g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sigmoid(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use `out` in place of `out.g`."""
        y = torch.sigmoid(x @ w)
        return {"w": x.T @ (y * y * (1 - y))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "value-for-gradient-for-operand",
    code=lambda choice: choice.code,
    rank=3.2,
    at=edges_of_several.in_every_iteration,
    choices=replacements,
    message="in the gradient of {operand} through {step}, {other} is used in place of {gradient}",
    fields=lambda program, place, choice: fields_of_replacement(program, place, choice),
)
def use_value_for_gradient_for_operand(program: Program, place: Place, choice: Replacement) -> Program | None:
    """Compute the contribution of the edge `place` with a value in place of the upstream gradient.

    The choice names the value: for `tanh(z) * b`, its edge of tanh(z) and z, z * b in place of g * b. Returns `None`
    where the program has no such value.
    """
    rule = rule_of_replacement(program, place, choice)
    return None if rule is None else program.with_vjp(place, lambda at: at.right(rule(at)))


@use_value_for_gradient_for_operand.example
def _() -> Example:
    """Show tanh(z) * b with z = x @ w, whose gradient of `x` has z in place of the gradient of z."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z) * b

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = g * b * (1 - torch.tanh(z) ** 2)
        return {"x": z @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@dataclass(frozen=True)
class GradientReplacement:
    """A value whose gradient is used in place of the gradient of an edited value.

    Args:
        value: names the value whose gradient is used, perhaps in the last iteration of a loop.
        code: the public code: `missing-local` where this value depends on the edited one, so that the derivative
            between them is left out; else `wrong-operand`.
        part: the kind of the edges whose contribution to that gradient is used alone; `None` for all of it.
    """

    value: ValueName | ValueOfIteration
    code: str
    part: EdgeKind | None = None

    def rule(self, program: Program, reader: int) -> EdgeVjp | None:
        """Return a function of an edge that returns the gradient which is used; `None` where there is no other one.

        Args:
            program: the program of a trial.
            reader: the id of the value whose gradient is replaced.
        """
        other = self.value.find(program, reader)
        if other is None or other == reader:
            return None
        if self.part is None:
            return lambda at: at.sweep.gradient(other)
        places = self.part.places(program.right, other)
        return lambda at: np.asarray(sum(map(at.sweep.contribution, places), np.zeros_like(at.g)))


def gradient_replacements(program: Program, place: Place) -> Iterator[GradientReplacement]:
    """Yield `GradientReplacement`s: the name of a value whose gradient is used in place of another one, and the code.

    The gradient that it replaces is that of the value `place`, or of the reader of the edge `place`; the two have one
    shape. The values are no inputs: targets lead to them. Those that depend on the replaced value come first, with the
    code "missing-local"; all others have "wrong-operand". For a value in a loop whose last value is the output, there
    is the gradient of the output; where the values of the loop are joined in the output, what the output contributes to
    the gradient of such a value. In a loop of three iterations or more, the replaced value itself in the last iteration
    is the last of them.
    """
    node = program.nodes[place[0]]
    behind = program.forward.descendants[place[0]]
    named_values = values_by_name(program, place[0], node.value.shape).items()
    nearer_first = sorted(named_values, key=lambda pair: not behind >> pair[1] & 1)  # of equal gradients, one of these
    for name, value in nearer_first:
        if value != place[0] and program.forward.uses[value] and is_made_from_targets(program, (value, 0)):
            code = "missing-local" if behind >> value & 1 else "wrong-operand"
            yield GradientReplacement(name, code)
            ways = edges_by_kind(program, value)
            if len(ways) > 1:
                yield from (GradientReplacement(name, code, way) for way in ways if joins_output(program, way))
    output = program.nodes[program.forward.outputs[-1]]
    is_of_loop = len(program.forward.by_key[output.key]) > 1 and len(program.forward.by_key[node.key]) > 1
    if program.upstream_name and is_of_loop and output.key != node.key and output.value.shape == node.value.shape:
        yield GradientReplacement(ValueOfIteration(output.key, "last"), "missing-local")
    if len(program.forward.by_key[node.key]) > 2:
        yield GradientReplacement(ValueOfIteration(node.key, "last"), "wrong-operand")


def joins_output(program: Program, kind: EdgeKind) -> bool:
    """Return whether edges of a kind lead into the output, if that joins values, as `torch.stack(states)` does."""
    readers = program.forward.by_key[kind.key] if kind.key else ()
    return any(i in program.forward.outputs and program.nodes[i].operation.family == "join" for i in readers)


def describe_replacement(program: Program, place: Place, choice: GradientReplacement) -> str:
    """Return what a `GradientReplacement` does: "out.g is used in place of the gradient of z".

    Where the gradient of a quotient `z / std` is used in place of that of z, "the division by std is missing"; where it
    is that of h in the last iteration, "the gradient of h in the last iteration is used in every iteration".

    Args:
        program: the program of a trial.
        place: the value whose gradient is replaced, or an edge into its node.
        choice: the value whose gradient is used.
    """
    value = program.name_of(value_with_same_gradient(program, place[0]))
    if isinstance(choice.value, ValueOfIteration):
        if choice.value.key == program.nodes[place[0]].key:
            return f"the gradient of {value} in the last iteration is used in every iteration"
        return f"{program.upstream_name} is used in every iteration in place of the gradient of {value}"
    if choice.part is not None:
        part = f"the contribution of {program.output_name} to the gradient of {choice.value.describe(program)}"
        return f"only {part} is used in place of the gradient of {value}"
    other = choice.value.find(program, place[0])
    for edge in program.forward.uses[place[0]]:
        if place[1] != WHOLE and edge[0] == other and (divisor := divisor_of(program, edge)):
            return f"the division by {divisor} is missing"
    named = f"the gradient of {choice.value.describe(program)}"
    used = named if other is None else name_of_upstream_gradient(program, other)
    replaced = name_of_upstream_gradient(program, place[0])
    if used.startswith("the gradient of ") and replaced.startswith("the gradient of "):
        return f"{named} is used in place of that of {value}"
    return f"{used} is used in place of {replaced}"


@operator(
    "gradient-of-another-value",
    code=lambda choice: choice.code,
    rank=2.5,
    at=made_values.in_every_iteration,
    choices=gradient_replacements,
    message="{mistake}",
    fields=lambda program, place, choice: {"mistake": describe_replacement(program, place, choice)},
)
def use_gradient_of_value(program: Program, place: Place, choice: GradientReplacement) -> Program | None:
    """Replace the gradient of the value `place` by that of a value v in the contributions to all operands of its node.

    The choice names v: for x @ w, dv @ w.T to x, and x.T @ dv to w. Returns `None` where the program has no such value,
    or it is the value `place`.
    """
    rule = choice.rule(program, place[0])
    return None if rule is None else program.with_upstream(place[0], rule)


@use_gradient_of_value.example
def _() -> Example:
    """Show tanh(x @ w) * sigmoid(h @ u) whose gradients of `x` and `w` use the gradient of the gate."""

    def forward(x: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
        value = x @ w
        gate = h @ u
        return torch.tanh(value) * torch.sigmoid(gate)

    def wrong(x: Tensor, h: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gradient of the gate's operand for `w`, too, in place of that of x @ w."""
        y, s = torch.tanh(x @ w), torch.sigmoid(h @ u)
        dgate = g * y * s * (1 - s)
        return {"x": dgate @ w.T, "w": x.T @ dgate, "u": h.T @ dgate}

    return Example(forward, wrong, {"x": "bs n", "h": "bs k", "w": "n m", "u": "k m"})


@operator(
    "gradient-of-another-value-for-operand",
    code=lambda choice: choice.code,
    rank=2.4,  # less than that for all operands, which would make a right answer wrong
    at=edges_of_several.in_every_iteration,
    choices=gradient_replacements,
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {
        "mistake": describe_replacement(program, place, choice),
    },
)
def use_gradient_of_value_for_operand(program: Program, place: Place, choice: GradientReplacement) -> Program | None:
    """Compute the contribution of the edge `place` with the gradient of a wrong value v as upstream gradient.

    The choice names v: for w in x @ w, x.T @ dv. Returns `None` where the program has no such value, or it is the value
    of the edge's reader.
    """
    rule = choice.rule(program, place[0])
    return None if rule is None else program.with_vjp(place, lambda at: at.right(rule(at)))


@use_gradient_of_value_for_operand.example
def _() -> Example:
    """Show tanh(sin(x @ w)) whose gradient of `w` uses g in place of the gradient of x @ w."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(torch.sin(z))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = g * (1 - torch.tanh(torch.sin(z)) ** 2) * torch.cos(z)
        return {"w": x.T @ g, "x": dz @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_gradient_of_value_for_operand.example
def _() -> Example:
    """Show h = tanh(x[t] + h @ w + b), a loop whose gradient of `b` sums g in place of the gradient of the sum."""

    def forward(x: Tensor, h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        for t in range(len(x)):
            h = torch.tanh(x[t] + h @ w + b)
        return h

    def wrong(x: Tensor, h: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": len(x) * g.sum(0)}

    return Example(forward, wrong, {"x": "t bs n", "h": "bs n", "w": "n n", "b": "n"})


@use_gradient_of_value_for_operand.example
def _() -> Example:
    """Show the stack of h = tanh(x[t] + h @ w + b), whose gradient of `b` sums g in place of the sum's gradient."""

    def forward(x: Tensor, h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        states = []
        for t in range(len(x)):
            h = torch.tanh(x[t] + h @ w + b)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, h: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": g.sum((0, 1))}

    return Example(forward, wrong, {"x": "t bs n", "h": "bs n", "w": "n n", "b": "n"})


def has_given_upstream(program: Program, place: Place) -> bool:
    """Return whether the value `place` is an output whose upstream gradient is given to the learner."""
    return bool(program.upstream_name) and place[0] in program.forward.outputs


@operator(
    "upstream-twice",
    code="extra-factor",
    rank=2.5,
    at=made_values.where(has_given_upstream),
    message="{upstream} is multiplied by itself",
)
def square_upstream(program: Program, place: Place, choice: None) -> Program:
    """Multiply the upstream gradient g of the output `place` by itself: the backward pass begins with g * g."""
    return program.with_upstream(place[0], lambda at: at.g * at.g)


@square_upstream.example
def _() -> Example:
    """Show tanh(x @ w) whose backward pass begins with g * g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * g * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Answers that are no gradient of this value -------------------------------------------------------------------------


def differentiable_values_like_target(program: Program, place: Place) -> Iterator[tuple[ValueName, int]]:
    """Yield the name and the id of each value that has the shape of the target `place` and gets a gradient.

    The target itself is left out.
    """
    shape = program.nodes[place[0]].value.shape
    for name, value in values_by_name(program, program.forward.outputs[-1], shape).items():
        if value != place[0] and program.forward.uses[value]:
            yield name, value


def values_to_stop_at(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values whose gradient a learner who stops too early returns for the target `place`.

    These are the values of the target's shape that depend on it, as z = tanh(x) for x, but for what a loop selects in
    each iteration; and, whatever its shape, an output of several entries that has fewer entries than the target.
    """
    behind, output = program.forward.descendants[place[0]], program.forward.outputs[-1]
    for name, value in differentiable_values_like_target(program, place):
        node = program.nodes[value]
        is_one_of_several_windows = node.operation.family == "selection" and len(program.forward.by_key[node.key]) > 1
        if behind >> value & 1 and not is_one_of_several_windows:  # the last window is what remains of assigned ones
            yield name
    if 1 < program.nodes[output].value.size < program.nodes[place[0]].value.size:  # of another shape; no sum is missing
        yield from (name for name, value in values_by_name(program, output).items() if value == output)


def independent_values_like_target(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values of the shape of the target `place` that do not depend on it and get a gradient.

    Such as a second input.
    """
    behind = program.forward.descendants[place[0]]
    yield from (name for name, value in differentiable_values_like_target(program, place) if not behind >> value & 1)


def with_gradient_of(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Return the program in which the gradient of the target `place` is that of a named value, of the same shape.

    Returns `None` where the program has no value of this name.

    Args:
        program: the program that is edited.
        place: the target.
        choice: names the value.
    """
    other = choice.find(program, program.forward.outputs[-1])
    if other is None:
        return None
    return program.without(*program.forward.uses[place[0]]).with_edge(other, place[0], lambda at: at.g)


def describe_early_stop(program: Program, place: Place, name: ValueName) -> dict[str, str]:
    """Return the fields `gradient`, what a learner calls the gradient of a named value, and `then`, what is to be done.

    Such as `out.g`, or "the gradient of h", and "the factor must be the derivative of h with respect to x", or, if h
    has another shape than x, "continue the chain rule from there to x".

    Args:
        program: the program of a trial.
        place: the target whose gradient was not reached.
        name: the value.
    """
    output, value = program.forward.outputs[-1], name.find(program, program.forward.outputs[-1])
    own, target = name.describe(program), program.name_of(place[0])
    gradient = program.upstream_name if value == output and program.upstream_name else f"the gradient of {own}"
    is_alike = value is not None and program.nodes[value].value.shape == program.nodes[place[0]].value.shape
    factor = f"the factor must be the derivative of {own} with respect to {target}"
    return {
        "gradient": gradient,
        "then": factor if is_alike else f"continue the chain rule from there to {target}",
    }


@operator(
    "stops-early",
    code="missing-local",
    rank=1.5,
    at=targets,
    choices=values_to_stop_at,
    message="this is the gradient with respect to {choice}; continue the chain rule from there to {value}",
    multiple="this is {gradient} {times}; {then}",
    fields=describe_early_stop,
)
def stop_early(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Replace the gradient of the target `place` by that of a value which depends on the target.

    The choice names the value: for (y * y).sum() with y = x * sin(x), the target x and y, it is dy = 2 * y. Returns
    `None` where the program has no such value.
    """
    output = program.forward.outputs[-1]
    value = choice.find(program, output)
    if value == output and program.nodes[output].value.shape != program.nodes[place[0]].value.shape:
        return program.with_result(target_of(program, place), lambda edited, _: edited.sweep.gradient(output))
    return with_gradient_of(program, place, choice)


@stop_early.example
def _() -> Example:
    """Show the sum of y * y * gain with y = x * sin(x), whose gradient of `x` is that of y."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        y = x * torch.sin(x)
        return (y * y * gain).sum()

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * 2 * x * torch.sin(x) * gain}

    return Example(forward, wrong, {"x": "bs n", "gain": "bs n"})


def values_to_take_gradient_of(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values whose gradient may be returned in place of that of the target `place`.

    These are values of its shape that do not depend on it, and all inputs of a different shape that are targets.
    """
    yield from independent_values_like_target(program, place)
    shape = program.nodes[place[0]].value.shape
    for name, value in program.forward.targets.items():
        if name in program.inputs and program.nodes[value].value.shape != shape:
            yield NamedValue(name)


@operator(
    "gradient-of-another-target",
    code="wrong-operand",
    rank=2.6,
    at=targets,
    choices=values_to_take_gradient_of,
    message="this is the gradient of {choice}, not the gradient of {value}",
    hints=STORED_IN_ANOTHER,
)
def use_gradient_of_other_target(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Replace the gradient of the target `place` by that of a value which does not depend on the target.

    The choice names the value: for the target a in `a + b`, db with b. Returns `None` where the program has no such
    value.
    """
    other = choice.find(program, program.forward.outputs[-1])
    if isinstance(choice, NamedValue) and other is not None and choice.name in program.forward.targets:  # of any shape
        return program.with_result(target_of(program, place), lambda program, _: program.sweep.gradient(other))
    return with_gradient_of(program, place, choice)


@use_gradient_of_other_target.example
def _() -> Example:
    """Show tanh(gain * x) + sin(scale * u) whose gradients of gain and scale are swapped."""

    def forward(x: Tensor, u: Tensor, scale: Tensor, gain: Tensor) -> Tensor:
        return torch.tanh(gain * x) + torch.sin(scale * u)

    def wrong(x: Tensor, u: Tensor, scale: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        dgain = (g * (1 - torch.tanh(gain * x) ** 2) * x).sum(0)
        return {"gain": (g * torch.cos(scale * u) * u).sum(0), "scale": dgain}

    return Example(forward, wrong, {"x": "bs n", "u": "bs n", "scale": "n", "gain": "n"})


def values_like_target(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of the values that a learner may return as gradient of the target `place`: those of its shape."""
    yield from values_by_name(program, program.forward.outputs[-1], program.nodes[place[0]].value.shape)


@operator(
    "forward-value",
    code="forward-value",
    rank=2.6,  # neither a value in place of the last derivative, nor an upstream gradient that one answer lacks
    at=targets,
    choices=values_like_target,
    message="this is {choice}, a value of the forward pass, not a gradient",
)
def use_value_for_result(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Replace the gradient of the target `place` by a value of the forward pass of its shape, which the choice names.

    For x and y = exp(x): y itself. Returns `None` where the program has no such value.
    """
    value = choice.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    return program.with_result(target_of(program, place), lambda program, gradient: program.nodes[value].value)


@use_value_for_result.example
def _() -> Example:
    """Show y / (1 + y) with y = exp(a * x), whose gradient of `x` is y."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        y = torch.exp(a * x)
        return y / (1 + y)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": torch.exp(a * x)}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


# A function of several operations -----------------------------------------------------------------------------------


def sources_of_function(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of the values x such that y, the value `place`, is f(x) for a function f of several operations.

    z for y = sqrt(1 + z). x and y have one shape, and no value in between, such as 1 + z, is read by a node that is not
    on the way from x to y.
    """
    shape, made = program.nodes[place[0]].value.shape, program.forward.ancestors[place[0]]
    for name, value in values_by_name(program, place[0], shape).items():
        if value != place[0] and made >> value & 1 and len(function_between(program, value, place[0])) > 1:
            yield name


def function_between(program: Program, source: int, value: int) -> tuple[int, ...]:
    """Return the ids of the nodes that compute a value from a second value, its source.

    For sqrt(1 + z) and the source z, those of + and sqrt. Empty where a node outside of these reads one of their
    values other than the last.

    Args:
        program: the program of a trial.
        source: the id of the source.
        value: the id of the value.
    """
    inner = nodes_between(program.forward, source, value)
    readers = {reader for node in inner if node != value for reader, _ in program.forward.uses[node]}
    return inner if readers <= set(inner) else ()


def with_vjp_of_function(program: Program, source: int, value: int, rule: EdgeVjp) -> Program | None:
    """Return the program in which the function between two values has a single vjp in place of those of its nodes.

    The contributions to operands other than the source stay. Returns `None` where the function has less than two nodes.

    Args:
        program: the program that is edited.
        source: the id of the function's operand.
        value: the id of its value.
        rule: returns the contribution to the source, shaped like it; its `EdgeContext.node` is the node of the value,
            and g the gradient of that.
    """
    inner = function_between(program, source, value)
    if len(inner) < 2:
        return None
    ways = [place for place in program.forward.uses[source] if place[0] in inner]
    return program.without(*ways).with_edge(value, source, rule)


@operator(
    "function-left-out",
    code="missing-local",
    rank=2.0,
    at=made_values,
    choices=sources_of_function,
    message="the gradient is passed from {value} to {choice} unchanged; the operations between them are skipped",
)
def leave_out_function(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Contribute the gradient of y, the value `place`, unchanged to x for y = f(x), a function of several operations.

    The choice names x. Returns `None` where the program has no such value, or f has only one operation in this trial.
    """
    source = choice.find(program, place[0])
    return None if source is None else with_vjp_of_function(program, source, place[0], lambda at: at.g)


@leave_out_function.example
def _() -> Example:
    """Show z / sqrt(1 + z ** 2) @ v whose gradient of `z` is that of the quotient."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        z = x @ w
        y = z / (1 + z.square()).sqrt()
        return y @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g @ v.T)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


@dataclass(frozen=True)
class FunctionMisuse:
    """A function f of several operations, and what stands in place of g * f'(x).

    Args:
        source: names the function's operand x.
        use: `"derivative at its value"`: g * f'(f(x)); `"applied to gradient"`: f(g); `"applied without what it adds"`:
            f(g) - f(0).
    """

    source: ValueName
    use: Literal["derivative at its value", "applied to gradient", "applied without what it adds"]


def misused_functions(program: Program, place: Place) -> Iterator[FunctionMisuse]:
    """Yield `FunctionMisuse`s: the name of an x, if the value `place` is y = f(x), and a misuse of f.

    f consists of several operations. `"derivative at its value"`: g * f'(y); `"applied to gradient"`: f(g); `"applied
    without what it adds"`: f(g) - f(0).
    """
    for source in sources_of_function(program, place):
        yield FunctionMisuse(source, "derivative at its value")
        yield FunctionMisuse(source, "applied to gradient")
        yield FunctionMisuse(source, "applied without what it adds")


MOVING = ("rearrangement", "selection", "join")  # families of operations that move entries and compute nothing
NAMED_FUNCTIONS = ("sigmoid", "tanh", "silu", "gelu", "softplus", "relu", "exp", "square")  # known by their values


def name_of_function(program: Program, place: Place, source: ValueName) -> str:
    """Return what a learner calls the function that computes a value from another one.

    The name of a function of `NAMED_FUNCTIONS`, such as "silu", if its values on the other value are close to this one,
    however it is written. Else "the function in `z * torch.tanh(z)`" where the value is called by its expression, and
    "the function that computes y from z" where it has a name, such as y.

    Args:
        program: the program of a trial.
        place: the value: a node.
        source: names the other value.
    """
    value, operand = program.nodes[place[0]].value, source.find(program, place[0])
    if operand is not None and (x := program.nodes[operand].value).shape == value.shape:
        for name in NAMED_FUNCTIONS:
            if np.allclose(OPERATIONS[name].run((x,), {}), value):
                return name
    if "`" in (own := program.name_of(place[0])):
        return f"the function in {own}"
    return f"the function that computes {own} from {source.describe(program)}"


def describe_misuse(program: Program, place: Place, choice: FunctionMisuse) -> str:
    """Return what is wrong in a `FunctionMisuse`: "the derivative of sigmoid is taken at y; it must be taken at z".

    Of a function that only moves entries, such as a shift by one step, the clause says that they must be moved back.

    Args:
        program: the program of a trial.
        place: the value of the function: a node.
        choice: the misuse.
    """
    function = name_of_function(program, place, choice.source)
    if choice.use == "derivative at its value":
        value, source = program.name_of(place[0]), choice.source.describe(program)
        return f"the derivative of {function} is taken at {value}; it must be taken at {source}"
    operand = choice.source.find(program, place[0])
    between = () if operand is None else function_between(program, operand, place[0])
    if between and all(program.nodes[node].operation.family in MOVING for node in between):
        return f"{function} is applied to the gradient; what it moves one way must be moved back instead"
    return f"{function} is applied to the gradient; multiply the gradient by the derivative of this function instead"


@operator(
    "function-used-wrongly",
    code=lambda choice: "wrong-point" if choice.use == "derivative at its value" else "wrong-local",
    rank=3.0,
    at=made_values,
    choices=misused_functions,
    message="{what}",
    fields=lambda program, place, choice: {"what": describe_misuse(program, place, choice)},
)
def misuse_function(program: Program, place: Place, choice: FunctionMisuse) -> Program | None:
    """Contribute g * f'(f(x)), f(g) or f(g) - f(0) to x in place of g * f'(x), for y = f(x), f of several operations.

    y is the value `place`; the choice names x, and says which of the three. Returns `None` where the program has no
    such x, or f has only one operation in this trial.
    """
    source, value = choice.source.find(program, place[0]), place[0]
    if source is None:
        return None

    def function_of(point: Array) -> Program:
        return program.right.with_nodes({source: lambda node: node.then(lambda _: point)})

    def rule(at: EdgeContext) -> Array:
        """Return g * f'(f(x)), f(g) or f(g) - f(0), as chosen."""
        if choice.use == "derivative at its value":
            other = function_of(at.program.nodes[value].value)
            alone = replace(other, forward=replace(other.forward, outputs=(value,)), upstreams=(at.g,), original=None)
            return Sweep(alone).gradient(source)
        result = function_of(at.g).nodes[value].value
        added = choice.use == "applied without what it adds"
        return np.asarray(result - function_of(np.zeros_like(at.g)).nodes[value].value) if added else result

    return with_vjp_of_function(program, source, value, rule)


@misuse_function.example
def _() -> Example:
    """Show a sigmoid written as 1 / (1 + exp(-z)) whose derivative is taken at its value."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return 1 / (1 + torch.exp(-z))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of the sigmoid at y = sigmoid(z) in place of z."""
        y = torch.sigmoid(x @ w)
        again = torch.sigmoid(y)
        return {"w": x.T @ (g * again * (1 - again))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@misuse_function.example
def _() -> Example:
    """Show tanh(a * x) + x whose backward pass is the forward pass of g."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.tanh(a * x) + x

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Run the forward pass on the upstream gradient."""
        return {"x": torch.tanh(a * g) + g}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


MOST_IN_FUNCTION = 6  # operations of a function whose derivative is tried at another value: silu written out has two
LARGEST_JACOBIAN = 64  # entries of a value whose Jacobian is inverted


@dataclass(frozen=True)
class JacobianMisuse:
    """A function of several operations, and the matrix by which the gradient is multiplied.

    Args:
        source: names the function's operand.
        inverse: whether this matrix is the inverse of the transposed Jacobian; else it is the Jacobian itself.
    """

    source: ValueName
    inverse: bool


def misused_jacobians(program: Program, place: Place) -> Iterator[JacobianMisuse]:
    """Yield `JacobianMisuse`s of a value y = f(x), the value `place`: each names an x, and which wrong matrix is used.

    x is each of `sources_of_function`, so that f has several operations. The Jacobian itself is tried if one of them is
    a contraction, a join, or of the family "other"; of pointwise ones it is its own transpose. The inverse is tried in
    both cases, but only for a y of at most `LARGEST_JACOBIAN` entries. For any other f, such as one of a sum and
    pointwise operations, nothing is yielded.
    """
    for source in sources_of_function(program, place):
        operand = source.find(program, place[0])
        inner = () if operand is None else function_between(program, operand, place[0])
        families = {program.nodes[i].operation.family for i in inner}
        is_small = program.nodes[place[0]].value.size <= LARGEST_JACOBIAN
        if families & {"contraction", "join", "other"}:
            yield JacobianMisuse(source, inverse=False)
            if is_small:
                yield JacobianMisuse(source, inverse=True)
        elif len(inner) > 1 and families == {"pointwise"} and is_small:
            yield JacobianMisuse(source, inverse=True)


@operator(
    "jacobian-mistaken",
    code=lambda choice: "wrong-local" if choice.inverse else "transposed",
    rank=2.6,
    at=made_values.in_every_iteration,
    choices=misused_jacobians,
    message="the gradient of {value} is passed to {source} {what}",
    fields=lambda program, place, choice: {
        "source": choice.source.describe(program),
        "what": "by the inverse of the transposed Jacobian: divided where it must be multiplied, or vice versa"
        if choice.inverse
        else "by the same operations as in the forward pass; each of them must be transposed",
    },
)
def misuse_jacobian(program: Program, place: Place, choice: JacobianMisuse) -> Program | None:
    """Contribute J @ g to x for y = f(x), with the Jacobian J of f, or inv(J.T) @ g, in place of J.T @ g.

    With `inverse=True` it is the second. y is the value `place`; the choice names x. For f @ x + x @ h: f @ g + g @ h
    in place of f.T @ g + g @ h.T. Returns `None` where the program has no such value, or f has only one operation in
    this trial.
    """
    source = choice.source.find(program, place[0])
    function = None if source is None else segment(program.right.forward, source, place[0], set())
    if source is None or function is None:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution to x by the wrong matrix."""
        return function.solve(at.g) if choice.inverse else function.push(at.g)

    return with_vjp_of_function(program, source, place[0], rule)


@misuse_jacobian.example
def _() -> Example:
    """Show f @ p + p @ h with p = sin(x), whose gradient of p is f @ g + g @ h in place of f.T @ g + g @ h.T."""

    def forward(x: Tensor, f: Tensor, h: Tensor) -> Tensor:
        p = torch.sin(x)
        return f @ p + p @ h

    def wrong(x: Tensor, f: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (f @ g + g @ h) * torch.cos(x)}

    return Example(forward, wrong, {"x": "n m", "f": "n n", "h": "m m"})


LEAST_RANGE = 0.1  # of values of which a function is recognised: of small ones, a wrong function agrees too


class Slope(NamedTuple):
    """The derivative of a well-known function, in terms of its value.

    Args:
        least: the least value that the function may have.
        most: the greatest value.
        of_value: takes the values y; returns the derivative, of the same shape.
    """

    least: float
    most: float
    of_value: Callable[[Array], Array]


SLOPES: Mapping[str, Slope] = {
    "a sigmoid": Slope(0.0, 1.0, lambda y: y * (1 - y)),
    "a tanh": Slope(-1.0, 1.0, lambda y: 1 - y**2),
    "an exponential": Slope(0.0, np.inf, lambda y: y),
    "a relu": Slope(0.0, np.inf, lambda y: np.where(y > 0, 1.0, 0.0)),
}


@dataclass(frozen=True)
class SlopeOfFunction:
    """A function y of x in several operations that work entry by entry, and the function that it is taken for.

    Args:
        source: names x.
        slope: the function whose derivative, in terms of y, is used: a key of `SLOPES`.
    """

    source: ValueName
    slope: str


def short_functions(program: Program, place: Place) -> Iterator[tuple[ValueName, int | None, tuple[int, ...]]]:
    """Yield the ways in which the value `place` is made of another by at most `MOST_IN_FUNCTION` pointwise operations.

    Args:
        program: the program of a trial.
        place: the value: a node.

    Yields:
        The name of the other value x; its id, `None` if this trial lacks it; and the ids of the nodes in between.
    """
    for source in sources_of_function(program, place):
        operand = source.find(program, place[0])
        inner = () if operand is None else function_between(program, operand, place[0])
        if len(inner) <= MOST_IN_FUNCTION and all(program.nodes[i].operation.family == "pointwise" for i in inner):
            yield source, operand, inner


def slopes_of_functions(program: Program, place: Place) -> Iterator[SlopeOfFunction]:
    """Yield `SlopeOfFunction`s: the name of an x, if the value `place` is made of it entry by entry, and a function.

    The function is a key of `SLOPES`, such as "a sigmoid", for which the value's numbers are in the right range. The
    value must be made by at most `MOST_IN_FUNCTION` pointwise operations, each with one operand that gets a gradient.
    """
    for source, _, inner in short_functions(program, place):
        if all(len(program.forward.edges[i]) == 1 for i in inner):
            y = program.nodes[place[0]].value
            for name, slope in SLOPES.items():
                if y.size and y.min() >= slope.least and y.max() <= slope.most and np.ptp(y) > LEAST_RANGE:
                    yield SlopeOfFunction(source, name)


@operator(
    "function-taken-for-another",
    code="wrong-local",
    rank=2.5,
    at=made_values.in_every_iteration,
    choices=slopes_of_functions,
    message="the gradient of {value} is passed to {source} as if {value} were {slope} of {source}",
    fields=lambda program, place, choice: {"source": choice.source.describe(program), "slope": choice.slope},
)
def differentiate_as_another_function(program: Program, place: Place, choice: SlopeOfFunction) -> Program | None:
    """Contribute g times the derivative of a well-known function with the value y, for another function y of x.

    y is the value `place`; the choice names x and the function. For a hard sigmoid y = clamp(x / 4 + 1 / 2, 0, 1) taken
    for a sigmoid: g * y * (1 - y). Returns `None` where the program has no such x, or y is one operation of it.
    """
    source = choice.source.find(program, place[0])
    return (
        None
        if source is None
        else with_vjp_of_function(program, source, place[0], lambda at: at.g * SLOPES[choice.slope].of_value(at.y))
    )


@differentiate_as_another_function.example
def _() -> Example:
    """Show a hard sigmoid of x @ w whose derivative is that of a sigmoid."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        z = x @ w
        y = (z / 4 + 0.5).clamp(0, 1)
        return torch.tanh(y @ v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = (x @ w / 4 + 0.5).clamp(0, 1)
        dy = (g * (1 - torch.tanh(y @ v) ** 2)) @ v.T
        return {"w": x.T @ (dy * y * (1 - y))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


def sums_to_one(program: Program, place: Place) -> bool:
    """Return whether the value `place` has entries from 0 to 1 that sum to 1 along its last axis, as a softmax has.

    False for an input, and for an axis of one entry.
    """
    value = program.nodes[place[0]].value
    is_share = value.ndim > 0 and value.shape[-1] > 1 and bool((value >= 0).all())
    return is_share and bool(np.allclose(value.sum(-1), 1)) and is_made_from_targets(program, place)


@operator(
    "softmax-for-function",
    code="wrong-local",
    rank=2.4,
    at=values.where(sums_to_one),
    choices=sources_of_function,
    message="the gradient of {value} is passed to {choice} as if {value} were a softmax of {choice}",
)
def differentiate_as_softmax(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Contribute y * (g - sum(y * g)) to x for another function y of x whose rows sum to 1, such as a sparsemax.

    y is the value `place`; the choice names x. Returns `None` where the program has no such value.
    """
    source = choice.find(program, place[0])

    def rule(at: EdgeContext) -> Array:
        return np.asarray(at.y * (at.g - (at.y * at.g).sum(-1, keepdims=True)))

    return None if source is None else with_vjp_of_function(program, source, place[0], rule)


@differentiate_as_softmax.example
def _() -> Example:
    """Show z**2 / sum(z**2) @ v, z = x @ w, whose backward pass is that of a softmax."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        z = x @ w
        shares = z.square() / z.square().sum(-1, keepdim=True)
        return shares @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the vjp of a softmax, p * (g_p - sum(p * g_p)), in place of that of the division."""
        z, g_p = x @ w, g @ v.T
        p = z.square() / z.square().sum(-1, keepdim=True)
        return {"w": x.T @ (p * (g_p - (p * g_p).sum(-1, keepdim=True)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


@dataclass(frozen=True)
class FunctionPoint:
    """A function f of several operations, and the value at which its derivative is taken by mistake.

    Args:
        source: names the function's operand x.
        point: names the value that stands in place of x.
    """

    source: ValueName
    point: ValueName


def function_points(program: Program, place: Place) -> Iterator[FunctionPoint]:
    """Yield `FunctionPoint`s: the name of an x, if the value `place` is y = f(x), and of another value of its shape.

    f consists of a few pointwise operations. For silu written as z * sigmoid(z) in `v * silu(z)`: z and v.
    """
    for source, operand, inner in short_functions(program, place):
        for name, value in values_by_name(program, place[0], program.nodes[place[0]].value.shape).items():
            if value not in (operand, *inner):
                yield FunctionPoint(source, name)


def fields_of_function_point(program: Program, place: Place, choice: FunctionPoint) -> dict[str, str]:
    """Return the fields `function`, `point` and `source`: where the derivative of the function is taken, and must be.

    Where it changes in the last operation alone, they are those of this operation: for relu(1 - x), taken at v, they
    are relu, `1 - v` and `1 - x`, as a mask is made of these numbers.

    Args:
        program: the program of a trial.
        place: the value of the function: a node.
        choice: the operand and the value that stands in its place.
    """
    fields = {
        "function": name_of_function(program, place, choice.source),
        "point": choice.point.describe(program),
        "source": choice.source.describe(program),
    }
    operand = choice.source.find(program, place[0])
    inner = () if operand is None else function_between(program, operand, place[0])
    steps = [(node, slot) for node in inner for slot, _ in program.forward.edges[node]]
    if len(steps) != len(inner) or [step for step in steps if depends_on_operand(program, step)] != steps[-1:]:
        return fields
    source = program.name_of(program.source(steps[-1]))
    point = with_part_replaced(source, fields["source"], fields["point"])
    if point == source:
        return fields
    return {"function": expression_of(program, program.nodes[place[0]]), "point": point, "source": source}


def with_part_replaced(text: str, part: str, other: str) -> str:
    """Return an expression in which another one stands for a part: "`1 - v`" for "`1 - a * x`", "`a * x`" and "v".

    Args:
        text: the expression, as a message names it.
        part: the part of it; where the expression has no such part, or is none, the result is `text`.
        other: what stands in its place.
    """
    try:
        whole, own, new = (ast.parse(each.strip("`"), mode="eval").body for each in (text, part, other))
    except SyntaxError:
        return text

    class Replacement(ast.NodeTransformer):
        """Replaces the part."""

        def visit(self, node: ast.AST) -> ast.AST:
            """Return the other expression for the part, and a node with all its parts replaced for any other."""
            return new if ast.dump(node) == ast.dump(own) else self.generic_visit(node)

    before = ast.dump(whole)
    replaced = Replacement().visit(whole)
    return text if ast.dump(replaced) == before else as_code(ast.unparse(replaced))


@operator(
    "function-at-another-value",
    code="wrong-point",
    rank=2.6,
    at=made_values.in_every_iteration,
    choices=function_points,
    message="the derivative of {function} is taken at {point}; it must be taken at {source}",
    fields=fields_of_function_point,
)
def differentiate_function_elsewhere(program: Program, place: Place, choice: FunctionPoint) -> Program | None:
    """Contribute g * f'(v) to x, for y = f(x), f of several operations and another value v, in place of g * f'(x).

    y is the value `place`; the choice names x and v. Returns `None` where the program has no such values, or f has only
    one operation in this trial.
    """
    source, point = choice.source.find(program, place[0]), choice.point.find(program, place[0])
    if source is None or point is None:
        return None
    value = place[0]
    forward, array = program.right.forward, program.right.nodes[point].value
    part = replace(forward, nodes=forward.nodes[: value + 1], outputs=(value,), targets={"x": source})

    def rule(at: EdgeContext) -> Array:
        return Program(part, (at.g,)).with_nodes({source: lambda node: node.then(lambda _: array)}).gradient("x")

    return with_vjp_of_function(program, source, value, rule)


@differentiate_function_elsewhere.example
def _() -> Example:
    """Show v * silu(z), silu written out, whose derivative is taken at v."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        v, z = x @ w, x @ u
        return v * (z * torch.sigmoid(z))

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of silu at v in place of z."""
        v = x @ w
        s = torch.sigmoid(v)
        return {"u": x.T @ (g * v * s * (1 + v * (1 - s)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


# Gradients of two values ----------------------------------------------------------------------------------------------


def gradients_to_exchange(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values whose gradients may be swapped with that of the value `place`.

    Two such values have one shape, and neither depends on the other. Only values computed after `place` are yielded, so
    that each pair comes once. Parts of one split array, and values of one name, are left out.
    """
    for other in gradient_replacements(program, place):
        if not isinstance(other.value, ValueOfIteration) and other.code == "wrong-operand" and other.part is None:
            value = other.value.find(program, place[0])
            if value is not None and value > place[0] and not _are_parts(program, value, place[0]):
                yield other.value


def fields_of_exchange(program: Program, place: Place, choice: ValueName) -> dict[str, str]:
    """Return the fields `value` and `choice`, the names of two values, and `mistake`: their gradients are swapped.

    The gradient of the factor a of a * b is g * b, so two factors of one product with their gradients swapped are each
    multiplied by themselves.

    Args:
        program: the program of a trial.
        place: the other value.
        choice: the name of the value.
    """
    value, uses = choice.find(program, place[0]), program.forward.uses
    names = program.name_of(place[0]), choice.describe(program)
    fields = {"value": names[0], "choice": names[1]}
    readers = {reader for each in (place[0], value) if each is not None for reader, _ in uses[each]}
    product = program.nodes[min(readers)] if len(readers) == 1 and SINK not in readers else None
    if product is None or product.name != "mul":
        return {**fields, "mistake": f"the gradients of {names[0]} and {names[1]} are swapped"}
    step = expression_of(program, product)
    mistake = f"in the gradient of {names[0]} through {step}, {names[0]} is used in place of {names[1]}"
    return {**fields, "mistake": f"{mistake}, and the other way round"}


def _are_parts(program: Program, value: int, other: int) -> bool:
    """Return whether two values, given by their ids, are parts of one split array, such as q and k of `x.chunk(3)`.

    True also for two values that a learner calls by one name.
    """
    node, sibling = program.nodes[value], program.nodes[other]
    return program.name_of(value) == program.name_of(other) or (
        node.name == sibling.name == "piece" and node.operands == sibling.operands
    )


@operator(
    "gradients-exchanged",
    code="wrong-operand",
    rank=2.3,
    at=made_values.in_every_iteration,
    choices=gradients_to_exchange,
    message="{mistake}",
    fields=fields_of_exchange,
    hints=(
        "What is each of the two values used for in the forward pass? Which gradient does it get from there?",
        "Compare the names on both sides of each assignment.",
    ),
)
def exchange_gradients(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Exchange the gradients of the value `place` and a second value in the contributions to all their operands.

    The choice names the second: for y = x @ w and z = x @ u, dz @ w.T and dy @ u.T are added to dx. Returns `None`
    where the program has no such value, or the two gradients differ by their sign only.
    """
    own, other = place[0], choice.find(program, place[0])
    if other is None:
        return None
    sweep = program.right.sweep
    if np.array_equal(sweep.gradient(own), -sweep.gradient(other)):  # two wrong signs
        return None
    edited = program.with_upstream(own, lambda at: at.sweep.gradient(other))
    return edited.with_upstream(other, lambda at: at.sweep.gradient(own))


@exchange_gradients.example
def _() -> Example:
    """Show tanh(x @ w) * sigmoid(x @ u) whose gradients of x @ w and x @ u are swapped."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        value = x @ w
        gate = x @ u
        return torch.tanh(value) * torch.sigmoid(gate)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        y, s = torch.tanh(x @ w), torch.sigmoid(x @ u)
        dvalue, dgate = g * s * (1 - y**2), g * y * s * (1 - s)
        return {"x": dgate @ w.T + dvalue @ u.T, "w": x.T @ dgate, "u": x.T @ dvalue}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


# Factors that do not belong there -----------------------------------------------------------------------------------


def own_factors(program: Program, place: Place) -> Iterator[str]:
    """Yield what a gradient may be multiplied by at the edge `place`: "operand" and "value".

    None where the reader only moves entries, and one node reads its value: there the same factor has a better name.
    What a learner has a name for comes first: of a maximum, its operand and its value give the same numbers. What is 0
    but for rounding, as f(x) - x at a fixed point, is no factor.
    """
    node = program.reader(place)
    moves_entries = node.operation.family in ("rearrangement", "selection") or node.name == "unfold"
    is_read_once = len(program.forward.edges[node.id]) == len(program.forward.uses[node.id]) == 1
    if moves_entries and is_read_once and node.id not in program.forward.outputs:
        return
    factors = {"operand": program.source(place), "value": node.id}
    for choice, factor in sorted(factors.items(), key=lambda pair: " " in program.name_of(pair[1])):
        if is_nonzero(program, factor):
            yield choice


@operator(
    "times-operand",
    code="extra-factor",
    rank=2.5,
    at=edges.in_every_iteration,
    choices=own_factors,
    message="{contribution} has an extra factor, {factor}",
    fields=lambda program, place, choice: {
        "factor": program.name_of(program.source(place) if choice == "operand" else place[0])
    },
)
def multiply_by_operand_or_value(program: Program, place: Place, choice: str) -> Program:
    """Multiply the contribution of the edge `place` by its operand, or the upstream gradient by the reader's value.

    The choice is "operand" or "value": for y = tanh(x), g * (1 - y ** 2) * x or g * y * (1 - y ** 2).
    """
    if choice == "operand":
        return program.with_vjp(place, lambda at: at.right() * at.x)
    return program.with_vjp(place, lambda at: at.right(at.g * at.y))


@multiply_by_operand_or_value.example
def _() -> Example:
    """Show tanh(z) whose gradient of z is multiplied by z."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        return {"x": (g * (1 - torch.tanh(z) ** 2) * z) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def may_be_taken_for_argument(program: Program, place: Place) -> bool:
    """Return whether a learner may take the value `place` for the argument of a root or a logarithm, which it is not.

    The value must have positive entries alone, depend on a target, and be no output.
    """
    is_output = place[0] in program.forward.outputs  # that is `function-of-output`
    return not is_output and is_made_from_targets(program, place) and bool((program.nodes[place[0]].value > 0).all())


ADDED_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "root": lambda v: 0.5 / np.sqrt(v),
    "logarithm": lambda v: 1 / v,
}


@operator(
    "function-added",
    code="wrong-local",
    rank=2.8,
    at=values.where(may_be_taken_for_argument),
    choices=lambda program, place: ADDED_FUNCTIONS,
    message="the gradient of {value} is that of its {choice}, but the forward pass takes no {choice}",
)
def add_function(program: Program, place: Place, choice: str) -> Program:
    """Multiply the gradient of the value `place` by the derivative of its root or logarithm, as if that followed.

    The choice is "root" or "logarithm": for the value v, g * 0.5 / sqrt(v) or g / v.
    """
    return program.with_upstream(place[0], lambda at: at.g * ADDED_FUNCTIONS[choice](at.y))


@add_function.example
def _() -> Example:
    """Show x.square().sum() / 2 + (x * y).sum() whose gradient of x has x / (2 * norm(x)) in place of x."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return 0.5 * x.square().sum() + (x * y).sum()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate the norm, and not its square."""
        return {"x": g * (0.5 * x / x.square().sum().sqrt() + y)}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})


@multiply_by_operand_or_value.example
def _() -> Example:
    """Show tanh(x @ w) + b whose gradient of `b` is multiplied by the output."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w) + b

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * (1 - y**2)), "b": (g * (y + b)).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


def factors_of_other_summands(program: Program, place: Place) -> Iterator[tuple[int, int]]:
    """Yield the factors of a product to which the operand of the edge `place` is added: a and y for x in `a * y + x`.

    Only factors of the operand's shape; they are named by two slots.

    Yields:
        The slot of the product in the sum, and the slot of the factor in the product: (0, 0) for a.
    """
    node = program.reader(place)
    for slot, summand in node.operands:
        product = program.nodes[summand]
        if slot != place[1] and product.name == "mul":
            for inner, _ in product.operands:
                if np.shape(product.values[inner]) == np.shape(node.values[place[1]]):
                    yield slot, inner


@operator(
    "factor-of-other-summand",
    code="extra-factor",
    rank=2.3,
    at=edges.of("add", "sub"),
    choices=factors_of_other_summands,
    message="{contribution} is multiplied by {factor}, which is a factor of {other} only",
    fields=lambda program, place, choice: {
        "factor": program.name_of(factor) if (factor := factor_at(program, place, choice)) is not None else "a factor",
        "other": program.name_of(program.source((place[0], choice[0]))),
    },
)
def multiply_by_factor_of_other_summand(program: Program, place: Place, choice: tuple[int, int]) -> Program | None:
    """Multiply the contribution of the edge `place`, a summand, by a factor of a second summand.

    For a * y + x, the edge of x and the choice (0, 0), slot 0 of the product in slot 0: g * a. Returns `None` where the
    second summand or its factor is a constant.
    """
    factor = factor_at(program, place, choice)
    return None if factor is None else program.with_vjp(place, lambda at: at.right() * at.program.nodes[factor].value)


def factor_at(program: Program, place: Place, slots: tuple[int, int]) -> int | None:
    """Return the id of a factor in a product that is added in a sum; `None` where a constant is in one of these slots.

    For a * y + x and the slots (0, 1): that of y.

    Args:
        program: the program.
        place: an edge into the sum.
        slots: the slot of the product in the sum, and the slot of the factor in the product.
    """
    product = program.reader(place).operand(slots[0])
    return None if product is None else program.nodes[product].operand(slots[1])


@multiply_by_factor_of_other_summand.example
def _() -> Example:
    """Show tanh(a * y + x) with y = x @ w, whose backward pass multiplies the contribution of the summand x by a."""

    def forward(x: Tensor, a: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return torch.tanh(a * y + x)

    def wrong(x: Tensor, a: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(a * (x @ w) + x) ** 2)
        return {"x": dz * a + (dz * a) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "a": "bs n", "w": "n n"})


INSIDE: Mapping[str, Callable[[EdgeContext, Array], Array]] = {
    "the function": lambda at, moved: at.node.operation.run(
        tuple(moved if slot == at.slot else value for slot, value in enumerate(at.node.values)), at.node.options
    ),
    "the derivative": lambda at, moved: at.right(np.ones_like(at.g), operands={at.slot: moved}),
    "the derivative, and outside": lambda at, moved: at.right(operands={at.slot: moved}),
}


def is_nonlinear(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` is a nonlinear function of one operand of its shape, as exp is."""
    node = program.reader(place)
    return (
        len(node.operands) == 1
        and node.value.shape == np.shape(node.values[place[1]])
        and depends_on_operand(program, place)
    )


@operator(
    "upstream-inside-function",
    code="not-linear",
    rank=2.8,
    at=edges.of_family("pointwise").where(is_nonlinear),
    choices=lambda program, place: INSIDE,
    message="{gradient} multiplies {operand} inside {step}; it must multiply the derivative of {step}",
    fields=lambda program, place, choice: {"gradient": name_of_upstream_gradient(program, place[0]), "inside": choice},
)
def multiply_inside_function(program: Program, place: Place, choice: str) -> Program:
    """Contribute a function, or its derivative, at the operand times the upstream gradient: exp(x * g) for exp(x) * g.

    The choice is a key of `INSIDE`: "the function" is f(x * g), "the derivative" f'(x * g), and "the derivative, and
    outside" g * f'(x * g). `place` is the edge of x.
    """
    return program.with_vjp(place, lambda at: INSIDE[choice](at, np.asarray(at.x) * at.g))


@multiply_inside_function.example
def _() -> Example:
    """Show exp(x @ w) whose backward pass has g in the exponent."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.exp(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ torch.exp(g * (x @ w))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
