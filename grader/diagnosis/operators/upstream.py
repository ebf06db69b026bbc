"""Mistakes in what is handed to a derivative: no upstream gradient, another one, or a value in its place.

And answers that are no gradient, or that of something nearer to the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, EdgeVjp, Program, Sweep
from grader.program.queries import nodes_between
from grader.program.selectors import NamedValue, ValueName, values_by_name

from .contract import Example, operator
from .partners import OfIteration
from .places import edges, target_of, targets, values


def hands_gradient_on(program: Program, place: Place) -> bool:
    """Return whether a value is made of others that get a gradient."""
    return bool(program.forward.edges[place[0]])


def is_for_one_of_several(program: Program, place: Place) -> bool:
    """Return whether an operation hands its upstream gradient to other operands, too."""
    return len(program.forward.edges[place[0]]) > 1


made_values = values.where(hands_gradient_on)
edges_of_several = edges.where(is_for_one_of_several)


def gradient_name(program: Program, value: int) -> str:
    """Return what a learner calls the gradient that arrives at a value."""
    is_output = value in program.forward.outputs and len(program.forward.uses[value]) == 1
    return (program.upstream_name or "1") if is_output else f"the gradient of {program.name_of(value)}"


def codes_of_missing_upstream(program: Program, place: Place) -> Iterator[str]:
    """Yield the code of a missing upstream gradient: without one for the whole, it is a derivative that is missing."""
    if program.upstream_name:
        yield "missing-upstream"
    elif place[0] not in program.forward.outputs:
        yield "missing-local"


@operator(
    "upstream-missing",
    code=lambda choice: choice,
    rank=1.5,
    at=made_values,
    choices=codes_of_missing_upstream,
    message="{gradient} is missing: this is what 1 in its place gives",
    fields=lambda program, place, choice: {"gradient": gradient_name(program, place[0])},
)
def leave_out_upstream(program: Program, place: Place, choice: str) -> Program | None:
    """Begin the backward pass at a value with ones."""
    return program.with_upstream(place[0], lambda at: np.ones_like(at.g))


@leave_out_upstream.example
def _() -> Example:
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
    message="{gradient} is missing in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {"gradient": gradient_name(program, place[0])},
)
def leave_out_upstream_for_operand(program: Program, place: Place, choice: str) -> Program | None:
    """Give one of several operands what ones as upstream gradient give."""
    return program.with_vjp(place, lambda at: at.right(np.ones_like(at.g)))


@leave_out_upstream_for_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, h: Tensor, u: Tensor) -> Tensor:
        return torch.tanh(x @ w + h @ u)

    def wrong(x: Tensor, w: Tensor, h: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(x @ w + h @ u) ** 2)
        return {"x": dz @ w.T, "w": x.T @ torch.ones_like(dz), "h": dz @ u.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "h": "bs k", "u": "k m"})


@dataclass(frozen=True)
class Replacement:
    """A value in place of an upstream gradient.

    Args:
        value: which.
        code: the public code.
    """

    value: ValueName
    code: str


def replacements(program: Program, place: Place) -> Iterator[Replacement]:
    """Yield the values that may be used in place of the gradient of a value: itself and what reads it, then others."""
    own = {place[0], *(reader for reader, _ in program.forward.uses[place[0]])}
    if place[0] not in program.forward.outputs or program.upstream_name:
        values_alike = values_by_name(program, place[0], program.nodes[place[0]].value.shape)
        yield from (Replacement(name, "value-for-gradient") for name, value in values_alike.items() if value in own)
        yield from (Replacement(name, "wrong-operand") for name, value in values_alike.items() if value not in own)


def rule_of_replacement(program: Program, place: Place, choice: Replacement) -> EdgeVjp | None:
    """Return the function that gives the other value; `None` where there is none."""
    value = choice.value.find(program, place[0])
    return None if value is None else lambda at: at.program.nodes[value].value


@operator(
    "value-for-gradient",
    code=lambda choice: choice.code,
    rank=3.0,
    at=made_values,
    choices=replacements,
    message="{other} is used in place of {gradient}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program), "gradient": gradient_name(program, place[0]),
    },
)  # fmt: skip
def use_value_for_gradient(program: Program, place: Place, choice: Replacement) -> Program | None:
    """Go on with a value of the forward pass in place of the gradient that arrives."""
    rule = rule_of_replacement(program, place, choice)
    return None if rule is None else program.with_upstream(place[0], rule)


@use_value_for_gradient.example
def _() -> Example:
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
    at=edges_of_several,
    choices=replacements,
    message="{other} is used in place of {gradient}, in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program), "gradient": gradient_name(program, place[0]),
    },
)  # fmt: skip
def use_value_for_gradient_for_operand(program: Program, place: Place, choice: Replacement) -> Program | None:
    """Use a value of the forward pass in place of the upstream gradient in the rule of one operand."""
    rule = rule_of_replacement(program, place, choice)
    return None if rule is None else program.with_vjp(place, lambda at: at.right(rule(at)))


@use_value_for_gradient_for_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z) * b

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = g * b * (1 - torch.tanh(z) ** 2)
        return {"x": z @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@dataclass(frozen=True)
class OtherGradient:
    """A gradient in place of that of a value.

    Args:
        value: whose it is.
        code: the public code: where the value is a step further towards the loss, the derivative between is missing.
    """

    value: ValueName | OfIteration
    code: str


def other_gradients(program: Program, place: Place) -> Iterator[OtherGradient]:
    """Yield the values whose gradient has the shape of that of a value."""
    node = program.nodes[place[0]]
    behind = program.forward.descendants[place[0]]
    for name, value in values_by_name(program, place[0], node.value.shape).items():
        if value != place[0] and program.forward.uses[value] and hands_gradient_on(program, (value, 0)):
            yield OtherGradient(name, "missing-local" if behind >> value & 1 else "wrong-operand")
    if len(program.forward.by_key[node.key]) > 2:
        yield OtherGradient(OfIteration(node.key, "last"), "wrong-operand")


@operator(
    "gradient-of-another-value",
    code=lambda choice: choice.code,
    rank=2.5,
    at=made_values,
    choices=other_gradients,
    message="the gradient of {other} is used in place of that of {value}",
    fields=lambda program, place, choice: {"other": choice.value.describe(program)},
)
def use_another_gradient(program: Program, place: Place, choice: OtherGradient) -> Program | None:
    """Go on with the gradient that arrives at another value."""
    other = choice.value.find(program, place[0])
    if other is None or other == place[0]:
        return None
    return program.with_upstream(place[0], lambda at: at.sweep.gradient(other))


@use_another_gradient.example
def _() -> Example:
    def forward(x: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
        value = x @ w
        gate = h @ u
        return torch.tanh(value) * torch.sigmoid(gate)

    def wrong(x: Tensor, h: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gradient of `gate` for both weights."""
        y, s = torch.tanh(x @ w), torch.sigmoid(h @ u)
        dgate = g * y * s * (1 - s)
        return {"x": dgate @ w.T, "w": x.T @ dgate, "u": h.T @ dgate}

    return Example(forward, wrong, {"x": "bs n", "h": "bs k", "w": "n m", "u": "k m"})


@operator(
    "gradient-of-another-value-for-operand",
    code=lambda choice: choice.code,
    rank=2.4,  # less than that for all operands, which would make a right answer wrong
    at=edges_of_several,
    choices=other_gradients,
    message="the gradient of {other} is used in place of that of {value}, in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {"other": choice.value.describe(program)},
)
def use_another_gradient_for_operand(program: Program, place: Place, choice: OtherGradient) -> Program | None:
    """Use the gradient of another value in the rule of one operand."""
    other = choice.value.find(program, place[0])
    if other is None or other == place[0]:
        return None
    return program.with_vjp(place, lambda at: at.right(at.sweep.gradient(other)))


@use_another_gradient_for_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"w": x.T @ g, "x": dz @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def has_given_upstream(program: Program, place: Place) -> bool:
    """Return whether a value is an output with an upstream gradient of its own."""
    return bool(program.upstream_name) and place[0] in program.forward.outputs


@operator(
    "upstream-twice",
    code="extra-factor",
    rank=2.5,
    at=made_values.where(has_given_upstream),
    message="{upstream} is multiplied by itself",
)
def square_upstream(program: Program, place: Place, choice: None) -> Program | None:
    """Square the upstream gradient of an output."""
    return program.with_upstream(place[0], lambda at: at.g * at.g)


@square_upstream.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * g * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Answers that are no gradient of this value -------------------------------------------------------------------------


def gradients_like_target(program: Program, place: Place) -> Iterator[tuple[ValueName, int]]:
    """Yield the values whose gradient has a target's shape, with their ids."""
    shape = program.nodes[place[0]].value.shape
    for name, value in values_by_name(program, program.forward.outputs[-1], shape).items():
        if value != place[0] and program.forward.uses[value]:
            yield name, value


def gradients_nearer_to_loss(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that depend on a target and have its shape."""
    behind, output = program.forward.descendants[place[0]], program.forward.outputs[-1]
    yield from (name for name, value in gradients_like_target(program, place) if behind >> value & 1)
    if 1 < program.nodes[output].value.size < program.nodes[place[0]].value.size:  # of another shape; no sum is missing
        yield from (name for name, value in values_by_name(program, output).items() if value == output)


def gradients_beside(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that do not depend on a target and have its shape, such as another input."""
    behind = program.forward.descendants[place[0]]
    yield from (name for name, value in gradients_like_target(program, place) if not behind >> value & 1)


def with_gradient_of(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Return the program that hands out the gradient of another value in place of a target's."""
    other = choice.find(program, program.forward.outputs[-1])
    if other is None:
        return None
    return program.without(*program.forward.uses[place[0]]).with_edge(other, place[0], lambda at: at.g)


@operator(
    "stops-early",
    code="missing-local",
    rank=1.5,
    at=targets,
    choices=gradients_nearer_to_loss,
    message="this is the gradient of {choice}: from there to {value} the chain rule goes on",
)
def stop_early(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand out the gradient of a value that depends on the target."""
    output = program.forward.outputs[-1]
    value = choice.find(program, output)
    if value == output and program.nodes[output].value.shape != program.nodes[place[0]].value.shape:
        return program.with_result(target_of(program, place), lambda edited, _: edited.sweep.gradient(output))
    return with_gradient_of(program, place, choice)


@stop_early.example
def _() -> Example:
    def forward(x: Tensor, gain: Tensor) -> Tensor:
        y = x * torch.sin(x)
        return (y * y * gain).sum()

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * 2 * x * torch.sin(x) * gain}

    return Example(forward, wrong, {"x": "bs n", "gain": "bs n"})


def gradients_of_others(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values whose gradient may be handed out: those beside a target, and other targets of any shape."""
    yield from gradients_beside(program, place)
    shape = program.nodes[place[0]].value.shape
    for name, value in program.forward.targets.items():
        if name in program.inputs and program.nodes[value].value.shape != shape:
            yield NamedValue(name)


@operator(
    "gradient-of-another-target",
    code="wrong-operand",
    rank=2.6,
    at=targets,
    choices=gradients_of_others,
    message="this is the gradient of {choice}, not that of {value}",
)
def hand_out_another_gradient(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand out the gradient of a value that does not depend on the target."""
    other = choice.find(program, program.forward.outputs[-1])
    if isinstance(choice, NamedValue) and other is not None and choice.name in program.forward.targets:  # of any shape
        return program.with_result(target_of(program, place), lambda program, _: program.sweep.gradient(other))
    return with_gradient_of(program, place, choice)


@hand_out_another_gradient.example
def _() -> Example:
    def forward(x: Tensor, u: Tensor, scale: Tensor, gain: Tensor) -> Tensor:
        return torch.tanh(gain * x) + torch.sin(scale * u)

    def wrong(x: Tensor, u: Tensor, scale: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Exchange the two gradients."""
        dgain = (g * (1 - torch.tanh(gain * x) ** 2) * x).sum(0)
        return {"gain": (g * torch.cos(scale * u) * u).sum(0), "scale": dgain}

    return Example(forward, wrong, {"x": "bs n", "u": "bs n", "scale": "n", "gain": "n"})


def values_like_target(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that have the shape of a target."""
    yield from values_by_name(program, program.forward.outputs[-1], program.nodes[place[0]].value.shape)


@operator(
    "forward-value",
    code="forward-value",
    rank=2.4,  # and not a value in place of the last derivative
    at=targets,
    choices=values_like_target,
    message="this is {choice}, a value of the forward pass",
)
def return_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand out a value of the forward pass."""
    value = choice.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    return program.with_result(target_of(program, place), lambda program, gradient: program.nodes[value].value)


@return_value.example
def _() -> Example:
    def forward(x: Tensor, a: Tensor) -> Tensor:
        y = torch.exp(a * x)
        return y / (1 + y)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": torch.exp(a * x)}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


# A function of several operations -----------------------------------------------------------------------------------


def sources_of_function(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values of which a value is a function by two operations or more that lead nowhere else."""
    shape, made = program.nodes[place[0]].value.shape, program.forward.ancestors[place[0]]
    for name, value in values_by_name(program, place[0], shape).items():
        if value != place[0] and made >> value & 1 and len(function_between(program, value, place[0])) > 1:
            yield name


def function_between(program: Program, source: int, value: int) -> tuple[int, ...]:
    """Return the nodes of the function that makes a value of a source; none where they are read elsewhere, too."""
    inner = nodes_between(program.forward, source, value)
    readers = {reader for node in inner if node != value for reader, _ in program.forward.uses[node]}
    return inner if readers <= set(inner) else ()


def with_function(program: Program, source: int, value: int, rule: EdgeVjp) -> Program | None:
    """Return the program in which a function of several operations has another derivative; other operands keep theirs.

    Args:
        program: what is edited.
        source: what the function is of.
        value: what it makes.
        rule: takes the edge from the value, and returns the contribution to the source.
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
    message="the gradient goes back from {value} to {choice} as if nothing were done between them",
)
def leave_out_function(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand the gradient of a value on to a value that it is made of by several operations."""
    source = choice.find(program, place[0])
    return None if source is None else with_function(program, source, place[0], lambda at: at.g)


@leave_out_function.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        z = x @ w
        y = z / (1 + z.square()).sqrt()
        return y @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g @ v.T)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


@dataclass(frozen=True)
class Function:
    """A function of several operations, and what is done with it on the way back.

    Args:
        source: what it is of.
        use: its derivative is taken at its own value; or it is applied to the gradient, with or without what it adds.
    """

    source: ValueName
    use: Literal["derivative at its value", "applied to gradient", "applied without what it adds"]


def functions(program: Program, place: Place) -> Iterator[Function]:
    """Yield the functions of several operations that make a value."""
    for source in sources_of_function(program, place):
        yield Function(source, "derivative at its value")
        yield Function(source, "applied to gradient")
        yield Function(source, "applied without what it adds")


@operator(
    "function-used-wrongly",
    code=lambda choice: "wrong-point" if choice.use == "derivative at its value" else "wrong-local",
    rank=3.0,
    at=made_values,
    choices=functions,
    message="the function that makes {value} from {source} {what}",
    fields=lambda program, place, choice: {
        "source": choice.source.describe(program),
        "what": f"has its derivative taken at {program.name_of(place[0])}"
        if choice.use == "derivative at its value"
        else "is applied to the gradient, and its derivative belongs there",
    },
)
def misuse_function(program: Program, place: Place, choice: Function) -> Program | None:
    """Take the derivative of a function at its own value, or apply the function to the gradient."""
    source, value = choice.source.find(program, place[0]), place[0]
    if source is None:
        return None

    def function_of(point: Array) -> Program:
        return program.right.with_nodes({source: lambda node: node.then(lambda _: point)})

    def rule(at: EdgeContext) -> Array:
        if choice.use == "derivative at its value":
            other = function_of(at.program.nodes[value].value)
            alone = replace(other, forward=replace(other.forward, outputs=(value,)), upstreams=(at.g,), original=None)
            return Sweep(alone).gradient(source)
        result = function_of(at.g).nodes[value].value
        added = choice.use == "applied without what it adds"
        return np.asarray(result - function_of(np.zeros_like(at.g)).nodes[value].value) if added else result

    return with_function(program, source, value, rule)


@misuse_function.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return 1 / (1 + torch.exp(-z))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of the written-out sigmoid at its value."""
        y = torch.sigmoid(x @ w)
        again = torch.sigmoid(y)
        return {"w": x.T @ (g * again * (1 - again))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@misuse_function.example
def _() -> Example:
    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.tanh(a * x) + x

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Run the forward pass on the upstream gradient."""
        return {"x": torch.tanh(a * g) + g}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


# Gradients of two values ----------------------------------------------------------------------------------------------


def gradients_to_exchange(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values whose gradients may be exchanged with that of a value, each pair at one of the two."""
    for other in other_gradients(program, place):
        if not isinstance(other.value, OfIteration) and other.code == "wrong-operand":
            value = other.value.find(program, place[0])
            if value is not None and value > place[0] and not _are_parts(program, value, place[0]):
                yield other.value


def _are_parts(program: Program, value: int, other: int) -> bool:
    """Return whether two values are parts of one: `parts-exchanged` says more of these."""
    node, sibling = program.nodes[value], program.nodes[other]
    return program.name_of(value) == program.name_of(other) or (
        node.name == sibling.name == "piece" and node.operands == sibling.operands
    )


@operator(
    "gradients-exchanged",
    code="wrong-operand",
    rank=2.3,
    at=made_values,
    choices=gradients_to_exchange,
    message="the gradients of {value} and {choice} are exchanged",
)
def exchange_gradients(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Go on from each of two values with the gradient of the other one."""
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


OWN_FACTORS = ("operand", "value")


@operator(
    "times-operand",
    code="extra-factor",
    rank=2.5,
    at=edges,
    choices=lambda program, place: OWN_FACTORS,
    message="what {step} contributes to the gradient of {operand} is multiplied by {factor} as well",
    fields=lambda program, place, choice: {
        "factor": program.name_of(program.source(place) if choice == "operand" else place[0])
    },
)
def multiply_by_operand(program: Program, place: Place, choice: str) -> Program | None:
    """Multiply a contribution by the operand itself, or what is handed to the derivative by the value."""
    if choice == "operand":
        return program.with_vjp(place, lambda at: at.right() * at.x)
    return program.with_vjp(place, lambda at: at.right(at.g * at.y))


@multiply_by_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        return {"x": (g * (1 - torch.tanh(z) ** 2) * z) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def is_positive(program: Program, place: Place) -> bool:
    """Return whether a value on the way is made of others and positive, so that it has a root and a logarithm."""
    is_output = place[0] in program.forward.outputs  # that is `function-of-output`
    return not is_output and hands_gradient_on(program, place) and bool((program.nodes[place[0]].value > 0).all())


FUNCTIONS_BEHIND: Mapping[str, Callable[[Array], Array]] = {
    "root": lambda v: 0.5 / np.sqrt(v),
    "logarithm": lambda v: 1 / v,
}


@operator(
    "function-added",
    code="wrong-local",
    rank=2.8,
    at=values.where(is_positive),
    choices=lambda program, place: FUNCTIONS_BEHIND,
    message="the gradient of {value} is that of its {choice}, which is not taken",
)
def add_function(program: Program, place: Place, choice: str) -> Program | None:
    """Multiply the gradient of a value by the derivative of a function that is not there."""
    return program.with_upstream(place[0], lambda at: at.g * FUNCTIONS_BEHIND[choice](at.y))


@add_function.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return 0.5 * x.square().sum() + (x * y).sum()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate the norm, and not its square."""
        return {"x": g * (0.5 * x / x.square().sum().sqrt() + y)}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})


@multiply_by_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w) + b

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * (1 - y**2)), "b": (g * (y + b)).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


def factors_of_other_summands(program: Program, place: Place) -> Iterator[tuple[int, int]]:
    """Yield by slots the factors of a product that an operand is added to."""
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
    message="what {step} contributes to {operand} is multiplied by {factor}, and only what it contributes to {other}"
    " must be",
    fields=lambda program, place, choice: {
        "factor": program.name_of(factor) if (factor := factor_at(program, place, choice)) is not None else "a factor",
        "other": program.name_of(program.source((place[0], choice[0]))),
    },
)
def multiply_by_factor_of_other(program: Program, place: Place, choice: tuple[int, int]) -> Program | None:
    """Multiply what comes to a summand by the factor that another summand has."""
    factor = factor_at(program, place, choice)
    return None if factor is None else program.with_vjp(place, lambda at: at.right() * at.program.nodes[factor].value)


def factor_at(program: Program, place: Place, slots: tuple[int, int]) -> int | None:
    """Return the factor in a slot of the product in a slot of a sum."""
    product = program.reader(place).operand(slots[0])
    return None if product is None else program.nodes[product].operand(slots[1])


@multiply_by_factor_of_other.example
def _() -> Example:
    def forward(x: Tensor, a: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return torch.tanh(a * y + x)

    def wrong(x: Tensor, a: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(a * (x @ w) + x) ** 2)
        return {"x": dz * a + (dz * a) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "a": "bs n", "w": "n n"})
