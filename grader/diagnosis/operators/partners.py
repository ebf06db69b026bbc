"""Mistakes in the partner operands that a derivative is computed with: another value, or one of another iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import SINK, Key, Node, Place
from grader.program.operation import Array, unbroadcast
from grader.program.program import EdgeContext, EdgeVjp, Program
from grader.program.selectors import ValueName, named_array, values_by_name

from .contract import Example, name_read_by, operator
from .places import edges, expression_of, values
from .recurrences import first_values, iterations_of


@dataclass(frozen=True)
class OfIteration:
    """The value of a key in another iteration of the reader's loop.

    Args:
        key: what makes it.
        which: counted from the reader's own iteration, or one for all of them. In front of the first iteration, the one
            before is the last, as index -1 has it.
    """

    key: Key
    which: Literal["first", "last", "next", "before"]

    def find(self, program: Program, reader: int) -> int | None:
        """Return the value's id; `None` where there is no such iteration."""
        ids, number = program.forward.by_key.get(self.key, ()), program.nodes[reader].iteration
        chosen = {"first": 0, "last": -1, "next": min(number + 1, len(ids) - 1), "before": number - 1}[self.which]
        return ids[chosen] if -len(ids) <= chosen < len(ids) else None

    def describe(self, program: Program) -> str:
        """Return what a learner calls it, and from which iteration it is."""
        name = program.name_of(program.forward.by_key[self.key][0])
        return f"{name} of the iteration before" if self.which == "before" else f"{name} of the {self.which} iteration"


@dataclass(frozen=True)
class Partner:
    """Another value for a partner operand.

    Args:
        slot: which operand.
        value: what is used.
        through: what makes the operand of a single value, such as a transposition, is done to the other value.
    """

    slot: int
    value: ValueName | OfIteration
    through: bool = False

    def find(self, program: Program, reader: int) -> Callable[[], Array] | None:
        """Return the function that gives the array; `None` where there is none."""
        array = named_array(program, self.value, reader)
        if array is None:
            return None
        operand = program.nodes[reader].operand(self.slot)
        if not self.through or operand is None:
            return lambda: array
        maker = program.nodes[operand]
        return lambda: maker.operation.run((array, *maker.values[1:]), maker.options)


OF_ITERATIONS: tuple[Literal["first", "last", "next", "before"], ...] = ("last", "next", "before", "first")


def has_partner(program: Program, place: Place) -> bool:
    """Return whether the derivative along an edge is computed with another operand."""
    node = program.reader(place)
    in_loop = len(program.forward.by_key[node.key]) > 1  # in whose first iteration a partner may be a constant
    has_other = len(node.operands) > 1 or (in_loop and len(node.values) > 1)
    return has_other and (node.operation.family == "contraction" or node.name in ("mul", "div", "pow"))


def other_partners(program: Program, place: Place) -> Iterator[Partner]:
    """Yield other values for each partner operand: of its shape, of another iteration, or in what it is made of."""
    reader = program.reader(place)
    for slot, operand in reader.operands:
        if slot == place[1]:
            continue
        maker = program.nodes[operand]
        for name, value in values_by_name(program, reader.id).items():
            shape, reshaped = program.nodes[value].value.shape, maker.operation.family == "rearrangement"
            is_source = reshaped and value in dict(maker.operands).values()  # that is an accident of broadcasting
            if value != operand and (shape == maker.value.shape or (not is_source and may_broadcast(reader, shape))):
                yield Partner(slot, name)
        if maker.operation.family != "input" and len(iterations_of(program, operand)) > 2:
            yield from (Partner(slot, OfIteration(maker.key, which)) for which in OF_ITERATIONS)
        if len(maker.operands) == 1 and maker.operation.family in ("rearrangement", "pointwise"):
            (_, source), *_ = maker.operands
            for name, value in values_by_name(program, reader.id, program.nodes[source].value.shape).items():
                if value not in (source, operand):
                    yield Partner(slot, name, through=True)


def may_broadcast(reader: Node, shape: tuple[int, ...]) -> bool:
    """Return whether an array may be multiplied into a product in place of a factor of another shape."""
    pairs = zip(shape[::-1], reader.value.shape[::-1], strict=False)
    return reader.name == "mul" and 0 < len(shape) <= reader.value.ndim and all(a in (1, b) for a, b in pairs)


@operator(
    "another-partner",
    code="wrong-operand",
    rank=2.5,
    at=edges.where(has_partner),
    choices=other_partners,
    message="{other} is used in place of {own} in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program), "own": name_of_replaced(program, place, choice)
    },
)  # fmt: skip
def use_another_partner(program: Program, place: Place, choice: Partner) -> Program | None:
    """Compute the contribution to one operand with another value in place of a partner."""
    array = choice.find(program, place[0])
    return None if array is None else program.with_vjp(place, lambda at: at.right(operands={choice.slot: array()}))


def name_of_replaced(program: Program, place: Place, choice: Partner | GradientForPartner) -> str:
    """Return what a learner calls the value that belongs there."""
    operand = program.source((place[0], choice.slot))
    return name_read_by(program, place[0], program.nodes[operand].operands[0][1] if choice.through else operand)


@use_another_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the new state for the old one in the gradient of `u`."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        du, dh = torch.zeros_like(u), g
        for t in reversed(range(len(x))):
            dz = dh * (1 - states[t + 1] ** 2)
            du += states[t + 1].T @ dz
            dh = dz @ u.T
        return {"u": du}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@use_another_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, scale: Tensor) -> Tensor:
        c = torch.zeros_like(x[0] @ w)
        for step in x:
            c = torch.sigmoid(step @ u) * c + torch.tanh(step @ w)
            c = c * torch.sigmoid(scale * c)
        return c

    def wrong(x: Tensor, w: Tensor, u: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the old state, which is zero at first, in the gradient of `scale`."""
        c, tape = torch.zeros_like(x[0] @ w), []
        for step in x:
            old, keep = c, torch.sigmoid(step @ u)
            new = keep * c + torch.tanh(step @ w)
            gate = torch.sigmoid(scale * new)
            c = new * gate
            tape.append((step, old, keep, new, gate))
        dscale = torch.zeros_like(scale)
        for _, old, keep, new, gate in reversed(tape):
            dgate = g * new * gate * (1 - gate)
            dscale += (dgate * old).sum(0)
            g = (g * gate + dgate * scale) * keep
        return {"scale": dscale}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "scale": "m"})


@use_another_partner.example
def _() -> Example:
    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.tanh(q @ k.T)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the transpose of `q` where that of `k` belongs."""
        dz = g * (1 - torch.tanh(q @ k.T) ** 2)
        return {"q": dz @ q}

    return Example(forward, wrong, {"q": "n m", "k": "n m"})


@use_another_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        h = torch.tanh(x @ w)
        return torch.tanh(h @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the input of the network in place of the input of its second layer."""
        y = torch.tanh(torch.tanh(x @ w) @ u)
        return {"u": x.T @ (g * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n m"})


@dataclass(frozen=True)
class MadeOfAnother:
    """Another value in what a partner operand is made of.

    Args:
        slot: which operand the partner is.
        inner: which operand of what makes the partner.
        value: what is used.
    """

    slot: int
    inner: int
    value: ValueName


def partners_of_another(program: Program, place: Place) -> Iterator[MadeOfAnother]:
    """Yield other values for the operands of what makes a partner, where it is made of two values."""
    reader = program.reader(place)
    for slot, operand in reader.operands:
        maker = program.nodes[operand]
        if slot != place[1] and len(maker.operands) == 2 and maker.operation.family in ("pointwise", "contraction"):
            for inner, source in maker.operands:
                for name, value in values_by_name(program, reader.id, program.nodes[source].value.shape).items():
                    if value not in (source, operand):
                        yield MadeOfAnother(slot, inner, name)


@operator(
    "partner-made-of-another-value",
    code="wrong-operand",
    rank=2.8,
    at=edges.where(has_partner),
    choices=partners_of_another,
    message="in what {step} contributes to {operand}, {maker} is computed with {other} in place of {own}",
    fields=lambda program, place, choice: {
        "maker": expression_of(program, maker_of_partner(program, place, choice.slot)),
        "other": choice.value.describe(program),
        "own": name_read_by(
            program, place[0], dict(maker_of_partner(program, place, choice.slot).operands)[choice.inner]
        ),
    },
)
def make_partner_of_another(program: Program, place: Place, choice: MadeOfAnother) -> Program | None:
    """Compute a partner once more, with another value for one of its operands."""
    value, maker = choice.value.find(program, place[0]), maker_of_partner(program, place, choice.slot)
    if value is None or choice.inner >= len(maker.values):
        return None
    values = list(maker.values)
    values[choice.inner] = program.nodes[value].value

    def rule(at: EdgeContext) -> Array:
        return at.right(operands={choice.slot: maker.operation.run(tuple(values), maker.options)})

    return program.with_vjp(place, rule)


def maker_of_partner(program: Program, place: Place, slot: int) -> Node:
    """Return what makes a partner operand."""
    return program.nodes[program.source((place[0], slot))]


@make_partner_of_another.example
def _() -> Example:
    def forward(rate: Tensor, v: Tensor, u: Tensor, k: Tensor) -> Tensor:
        error = v - u.tanh()
        return rate * torch.outer(error, k)

    def wrong(rate: Tensor, v: Tensor, u: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the value for the error, in the gradient of the rate alone."""
        return {"rate": g * torch.outer(v, k), "k": (rate * g).T @ (v - u.tanh())}

    return Example(forward, wrong, {"rate": "m n", "v": "m", "u": "m", "k": "n"})


@dataclass(frozen=True)
class GradientForPartner:
    """The gradient of a value in the place of a partner operand.

    Args:
        slot: the operand's.
        value: whose gradient.
        through: what makes the operand of a single value, such as a transposition, is done to the gradient.
    """

    slot: int
    value: ValueName
    through: bool


def gradients_for_partners(program: Program, place: Place) -> Iterator[GradientForPartner]:
    """Yield the gradients of a partner operand's shape, and of the shape of what it is made of."""
    reader = program.reader(place)
    for slot, operand in reader.operands:
        if slot != place[1]:
            maker = program.nodes[operand]
            sources = [(False, operand)]
            if len(maker.operands) == 1 and maker.operation.family == "rearrangement":
                sources.append((True, maker.operands[0][1]))
            for through, source in sources:
                for name, value in values_by_name(program, reader.id, program.nodes[source].value.shape).items():
                    if program.forward.uses[value]:
                        yield GradientForPartner(slot, name, through)


@operator(
    "gradient-for-partner",
    code="wrong-operand",
    rank=3.0,
    at=edges.where(has_partner),
    choices=gradients_for_partners,
    message="the gradient of {other} is used in place of {own} in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program),
        "own": name_of_replaced(program, place, choice),
    },
)
def use_gradient_for_partner(program: Program, place: Place, choice: GradientForPartner) -> Program | None:
    """Compute the contribution to one operand with a gradient in place of the partner."""
    value = choice.value.find(program, place[0])
    operand = program.reader(place).operand(choice.slot)
    if value is None or operand is None:
        return None
    maker = program.nodes[operand]

    def rule(at: EdgeContext) -> Array:
        gradient = at.sweep.gradient(value)
        if choice.through:
            gradient = maker.operation.run((gradient, *maker.values[1:]), maker.options)
        return at.right(operands={choice.slot: gradient})

    return program.with_vjp(place, rule)


@use_gradient_for_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gradient of the hidden layer in place of its value."""
        return {"v": (g @ v.T).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


def has_operands_alike(program: Program, place: Place) -> bool:
    """Return whether an operation has two operands of one shape."""
    node = program.reader(place)
    return len(node.operands) == 2 and np.shape(node.values[0]) == np.shape(node.values[1])


@operator(
    "operands-exchanged",
    code="wrong-operand",
    rank=2.5,
    at=edges.of("div", "pow").where(has_operands_alike),
    message="{operand} and {partner} are exchanged in the derivative of {step}",
)
def exchange_operands(program: Program, place: Place, choice: None) -> Program | None:
    """Take the derivative of a quotient or a power with its two operands exchanged."""
    node = program.reader(place)
    return program.with_vjp(place, lambda at: at.right(operands={0: node.values[1], 1: node.values[0]}))


@exchange_operands.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(torch.exp(x) / torch.exp(y))

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write the derivative of a / b with respect to b as -b / a**2."""
        a, b = torch.exp(x), torch.exp(y)
        dz = g * (1 - torch.tanh(a / b) ** 2)
        return {"y": dz * -b / a**2 * b}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})


def is_partner(program: Program, value: int) -> bool:
    """Return whether the derivative of an operation with respect to another operand is computed with a value."""
    return any(place[0] >= 0 and has_partner(program, place) for place in program.forward.uses[value])


def exchangeable_partners(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that may be taken for a value by all that read the two, each pair at one of them."""
    if not is_partner(program, place[0]):
        return
    shape, beside = program.nodes[place[0]].value.shape, partners_of(program, place[0])
    for other in dict.fromkeys((shape, *(program.nodes[value].value.shape for value in beside))):
        for name, value in values_by_name(program, place[0], other).items():
            alike = program.name_of(value) == program.name_of(place[0])
            if value > place[0] and not alike and is_partner(program, value) and (other == shape or value in beside):
                yield name


def partners_of(program: Program, value: int) -> set[int]:
    """Return the values that some value is multiplied by, entry by entry; they may be broadcast."""
    readers = (program.nodes[reader] for reader, _ in program.forward.uses[value] if reader >= 0)
    return {operand for node in readers if node.name == "mul" for _, operand in node.operands} - {value}


@operator(
    "partners-exchanged",
    code="wrong-operand",
    rank=2.7,  # where both are parts of one value, `parts-exchanged` says more
    at=values,
    choices=exchangeable_partners,
    message="{value} and {choice} are exchanged in the backward pass",
)
def exchange_partners(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Compute with each of two values where the other one is the partner."""
    other = choice.find(program, place[0])
    if other is None:
        return None
    for own, replacement in ((place[0], other), (other, place[0])):
        program = with_other_value(program, own, program.nodes[replacement].value, partner_only=True)
    return program


def with_other_value(program: Program, value: int, array: Array, partner_only: bool = False) -> Program:
    """Return the program in which the rules of all that reads a value compute with another array in its place.

    Args:
        program: what is edited.
        value: the value's id.
        array: of its shape.
        partner_only: the derivatives with respect to the value itself are taken at the value as it is.
    """

    def at_other(slot: int, before: EdgeVjp) -> EdgeVjp:
        return lambda at: before(at._replace(node=at.node.with_value(replaced(at.node.values, slot), at.node.value)))

    def replaced(operands: tuple[Array | float, ...], slot: int) -> tuple[Array | float, ...]:
        return (*operands[:slot], array, *operands[slot + 1 :])

    for reader, slot in program.forward.uses[value]:
        for own, _ in program.forward.edges[reader] if reader >= 0 else ():
            if not (partner_only and own == slot):
                before = program.edited_vjps.get((reader, own), EdgeContext.right)
                program = program.with_vjp((reader, own), at_other(slot, before))
    return program


@exchange_partners.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, v: Tensor, h: Tensor) -> Tensor:
        for step in x:
            keep, new = torch.sigmoid(step @ w), torch.sigmoid(step @ u)
            h = keep * h + new * torch.tanh(step @ v)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, v: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by each gate where the other one belongs."""
        dv = torch.zeros_like(v)
        for step in reversed(x):
            keep, new = torch.sigmoid(step @ w), torch.sigmoid(step @ u)
            dv += step.T @ (g * keep * (1 - torch.tanh(step @ v) ** 2))
            g = g * new
        return {"v": dv, "h": g}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "v": "n m", "h": "bs m"})


@operator(
    "one-iteration-for-all",
    code="wrong-operand",
    rank=2.3,
    at=first_values,
    choices=lambda program, place: ("last", "first"),
    message="{value} of the {choice} iteration is used in all iterations of the backward pass",
)
def keep_one_iteration(program: Program, place: Place, choice: str) -> Program | None:
    """Compute in every iteration with the value of a single one, in its own derivative and in what reads it."""
    ids = iterations_of(program, place[0])
    array = program.nodes[ids[-1] if choice == "last" else ids[0]].value
    for value in ids:
        program = with_other_value(program, value, array)
        if program.nodes[value].operation.value_vjp is not None:
            for slot, _ in program.forward.edges[value]:
                program = program.with_vjp((value, slot), lambda at: at.right(value=array))
    return program


@keep_one_iteration.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            gate = torch.sigmoid(step @ u)
            h = gate * (h + step @ w)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gate that is left behind the loop in all iterations."""
        gate, dw = torch.sigmoid(x[-1] @ u), torch.zeros_like(w)
        for t in reversed(range(len(x))):
            g = g * gate
            dw += x[t].T @ g
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "h": "bs m"})


@keep_one_iteration.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, c: Tensor) -> Tensor:
        total = torch.zeros_like(x[0] @ w)
        for step in x:
            gate = torch.sigmoid(step @ w)
            total = total + gate * (step @ u) + gate * c
        return total

    def wrong(x: Tensor, w: Tensor, u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gate that is left behind the loop, wherever a gate is used."""
        gate = torch.sigmoid(x[-1] @ w)
        dw = sum(step.T @ (g * (step @ u + c) * gate * (1 - gate)) for step in x)
        du = sum(step.T @ (g * gate) for step in x)
        return {"w": dw, "u": du, "c": len(x) * (g * gate).sum(0)}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "c": "m"})


def partner_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands that a derivative may be computed without."""
    node = program.reader(place)
    yield from (slot for slot, _ in node.operands if slot != place[1] and node.name != "mul")


@operator(
    "partner-missing",
    code="missing-local",
    rank=2.0,
    at=edges.where(has_partner),
    choices=partner_slots,
    message="{missing} is missing in what {step} contributes to {operand}",
    fields=lambda program, place, choice: {"missing": program.name_of(program.source((place[0], choice)))},
)
def leave_out_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Compute a contribution with ones in place of a partner operand."""
    return program.with_vjp(place, lambda at: at.right(operands={choice: np.ones(np.shape(at.node.values[choice]))}))


@leave_out_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add up the gradients of all outputs, as if every weight of the second layer were 1."""
        dy = g.sum(1, keepdim=True)
        return {"w": x.T @ (dy * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


@leave_out_partner.example
def _() -> Example:
    def forward(x: Tensor, scale: Tensor) -> Tensor:
        return torch.sin(x) / torch.cosh(scale)

    def wrong(x: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate 1 / c in place of y / c."""
        c = torch.cosh(scale)
        return {"scale": (g * -1 / c**2).sum(0) * torch.sinh(scale)}

    return Example(forward, wrong, {"x": "bs n", "scale": "n"})


@dataclass(frozen=True)
class PartnerFunction:
    """A function of the forward pass that is applied to a partner operand as well.

    Args:
        slot: the operand's.
        key: of the function.
    """

    slot: int
    key: Key


def functions_of_partner(program: Program, place: Place) -> Iterator[PartnerFunction]:
    """Yield the functions of one operand that the forward pass has elsewhere, for each partner operand."""
    node = program.reader(place)
    functions: dict[str, Key] = {}
    for other in program.nodes:
        is_function = len(other.values) == 1 or (other.name == "clamp" and len(other.operands) == 1)
        if other.operation.family == "pointwise" and is_function and other.name not in ("cast", "detach"):
            functions.setdefault(other.name, other.key)
    for slot, _ in node.operands:
        if slot != place[1]:
            yield from (PartnerFunction(slot, key) for key in functions.values())


@operator(
    "function-of-partner",
    code="wrong-operand",
    rank=2.8,
    at=edges.where(has_partner),
    choices=functions_of_partner,
    message="in what {step} contributes to {operand}, {function} is applied to {partner} first",
    fields=lambda program, place, choice: {
        "function": program.nodes[program.forward.by_key[choice.key][0]].name,
        "partner": program.name_of(program.source((place[0], choice.slot))),
    },
)
def apply_to_partner(program: Program, place: Place, choice: PartnerFunction) -> Program | None:
    """Compute a contribution with a function of a partner operand in its place."""
    ids = program.forward.by_key.get(choice.key)
    if not ids:
        return None
    function = program.nodes[ids[0]]
    return program.with_vjp(
        place,
        lambda at: at.right(
            operands={
                choice.slot: function.operation.run(
                    (at.node.values[choice.slot], *function.values[1:]), function.options
                )
            }
        ),
    )


@apply_to_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.relu(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take relu of the input, too."""
        dz = g @ v.T * (x @ w > 0)
        return {"w": torch.relu(x).T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


RATES = (1.0, 0.5, 0.1, 0.05, 0.01, 0.001)  # of a step of gradient descent


@dataclass(frozen=True)
class TrainedPartner:
    """What training makes of a partner operand.

    Args:
        slot: the operand's.
        rate: of the step of gradient descent; 0 where the operand's gradient is used itself.
    """

    slot: int
    rate: float


def trained_partners(program: Program, place: Place) -> Iterator[TrainedPartner]:
    """Yield the partner operands whose gradients are asked for, with steps that may have been taken with them."""
    for slot, operand in program.reader(place).operands:
        if slot != place[1] and program.nodes[operand_behind(program, operand)].id in program.forward.targets.values():
            yield from (TrainedPartner(slot, rate) for rate in (0.0, *RATES))


def operand_behind(program: Program, value: int) -> int:
    """Return what a value is but for the order of its entries."""
    node = program.nodes[value]
    while node.name in ("transpose", "permute") and node.operands:
        node = program.nodes[node.operands[0][1]]
    return node.id


@operator(
    "trained-partner",
    code="wrong-operand",
    rank=2.8,
    at=edges.where(has_partner),
    choices=trained_partners,
    message="in what {step} contributes to {operand}, {what}",
    fields=lambda program, place, choice: {"what": trained_words(program, place, choice)},
)
def train_partner(program: Program, place: Place, choice: TrainedPartner) -> Program | None:
    """Compute a contribution with a partner's gradient in its place, or with the partner after a step of training."""
    operand = program.reader(place).operand(choice.slot)
    if operand is None:
        return None

    def rule(at: EdgeContext) -> Array:
        gradient = at.sweep.gradient(operand)
        trained = at.node.values[choice.slot] - choice.rate * gradient if choice.rate else gradient
        return at.right(operands={choice.slot: trained})

    return program.with_vjp(place, rule)


def trained_words(program: Program, place: Place, choice: TrainedPartner) -> str:
    """Return what is used in place of a partner operand."""
    name = program.name_of(program.source((place[0], choice.slot)))
    if choice.rate:
        return f"{name} after a step of training is used: {name} less {choice.rate:g} of its gradient"
    return f"the gradient of {name} is used in place of {name}"


@train_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.relu(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Update the second layer before the gradient has gone through it."""
        dv = torch.relu(x @ w).T @ g
        dz = g @ (v - 0.1 * dv).T * (x @ w > 0)
        return {"v": dv, "w": x.T @ dz, "x": dz @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


def joined_partners(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of partner operands that several arrays are joined to."""
    for slot, operand in program.reader(place).operands:
        if slot != place[1] and program.nodes[operand].operation.family == "join":
            yield slot


@operator(
    "parts-of-partner-reversed",
    code="wrong-operand",
    rank=2.5,
    at=edges.where(has_partner),
    choices=joined_partners,
    message="in what {step} contributes to {operand}, the parts of {joined} are joined in reversed order",
    fields=lambda program, place, choice: {"joined": program.name_of(program.source((place[0], choice)))},
)
def reverse_parts_of_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Compute a contribution with a partner operand whose parts are in reversed order."""
    operand = program.reader(place).operand(choice)
    if operand is None:
        return None
    join = program.nodes[operand]
    return program.with_vjp(
        place, lambda at: at.right(operands={choice: join.operation.run(join.values[::-1], join.options)})
    )


@reverse_parts_of_partner.example
def _() -> Example:
    def forward(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
        both = torch.cat([x, h], -1)
        return torch.tanh(both @ w)

    def wrong(x: Tensor, h: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(torch.cat([x, h], -1) @ w) ** 2)
        return {"w": torch.cat([h, x], -1).T @ dz}

    return Example(forward, wrong, {"x": "bs n", "h": "bs m", "w": "n+m k"})


# Products of several factors ----------------------------------------------------------------------------------------

GATED = ("silu", "gelu", "mish", "hardswish")  # functions that are their operand times a gate


@dataclass(frozen=True)
class Gate:
    """What stands in place of a gated value, such as a * sigmoid(a), in the derivative of a product.

    Args:
        slot: the operand that the gated value is.
        value: what the gate is multiplied by; nothing where it stands alone.
    """

    slot: int
    value: ValueName | None


def gates(program: Program, place: Place) -> Iterator[Gate]:
    """Yield the gate of each gated partner alone, and times another value of its shape."""
    reader = program.reader(place)
    for slot, operand in reader.operands:
        maker = program.nodes[operand]
        if slot != place[1] and maker.name in GATED:
            yield Gate(slot, None)
            for name, value in values_by_name(program, reader.id, maker.value.shape).items():
                if value not in (operand, maker.operand(0)):
                    yield Gate(slot, name)


@operator(
    "gate-of-another-value",
    code=lambda choice: "missing-local" if choice.value is None else "wrong-operand",
    rank=2.6,
    at=edges.of("mul"),
    choices=gates,
    message="in what {step} contributes to {operand}, {what} in place of {gated}",
    fields=lambda program, place, choice: {
        "gated": program.name_of(program.source((place[0], choice.slot))),
        "what": "the gate stands alone"
        if choice.value is None
        else f"the gate times {choice.value.describe(program)} is used",
    },
)
def use_gate_of_another_value(program: Program, place: Place, choice: Gate) -> Program | None:
    """Compute a contribution with a gate alone, or times another value, in place of a gated value."""
    operand = program.reader(place).operand(choice.slot)
    if operand is None or program.nodes[operand].name not in GATED:
        return None
    node = program.nodes[operand]
    x = np.asarray(node.values[0])
    gate = np.divide(node.value, x, out=np.full(x.shape, 0.5), where=x != 0)
    other = None if choice.value is None else named_array(program, choice.value, place[0])
    if choice.value is not None and other is None:
        return None
    factor = gate if other is None else gate * other
    return program.with_vjp(place, lambda at: at.right(operands={choice.slot: factor}))


@use_gate_of_another_value.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.silu(x @ w) * (x @ v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply the value by the gate, where the gated value belongs."""
        a, b = x @ w, x @ v
        gate = torch.sigmoid(a)
        da, db = g * b * gate * (1 + a * (1 - gate)), g * b * gate
        return {"w": x.T @ da, "v": x.T @ db}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


@dataclass(frozen=True)
class WholeFactor:
    """A value in place of all that a factor of a longer product is multiplied by.

    Args:
        steps: how many operations the product has.
        value: which value.
    """

    steps: int
    value: ValueName


MOST_FACTORS = 4


def product_of(program: Program, place: Place) -> tuple[int, ...]:
    """Return the products and quotients that a factor goes through one after the other, beginning with its own."""
    nodes = [place[0]]
    while len(nodes) < MOST_FACTORS:
        uses = program.forward.uses[nodes[-1]]
        reader, slot = uses[0] if len(uses) == 1 else (SINK, 0)
        name = program.nodes[reader].name if reader != SINK else ""
        if not (name == "mul" or (name == "div" and slot == 0)):
            break
        if program.nodes[reader].value.shape != program.nodes[nodes[-1]].value.shape:
            break
        nodes.append(reader)
    return tuple(nodes)


def whole_factors(program: Program, place: Place) -> Iterator[WholeFactor]:
    """Yield the values that a factor of several products may be thought to be multiplied by."""
    if place[1] == 0 or program.reader(place).name == "mul":
        nodes = product_of(program, place)
        source = program.source(place)
        for name, value in values_by_name(program, place[0], program.reader(place).value.shape).items():
            if value not in nodes and value != source:
                yield from (WholeFactor(steps, name) for steps in range(2, len(nodes) + 1))


@operator(
    "whole-factor-mistaken",
    code="wrong-operand",
    rank=2.7,
    at=edges.of("mul", "div"),
    choices=whole_factors,
    message="in the gradient of {operand}, the upstream gradient of {product} is multiplied by {other}, and must be"
    " multiplied by all that {operand} is multiplied by there",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program),
        "product": expression_of(program, program.nodes[product_of(program, place)[: choice.steps][-1]]),
    },
)
def mistake_whole_factor(program: Program, place: Place, choice: WholeFactor) -> Program | None:
    """Multiply what arrives at a product of several factors by a single other value."""
    nodes, other = product_of(program, place), named_array(program, choice.value, place[0])
    if other is None or len(nodes) < choice.steps:
        return None
    end = nodes[choice.steps - 1]
    return program.with_vjp(place, lambda at: unbroadcast(at.sweep.gradient(end) * other, at.x))


@mistake_whole_factor.example
def _() -> Example:
    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return torch.tanh(gain * (x - x.mean(0)) / x.std(0))

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the values as they were before they were normalised."""
        y = torch.tanh(gain * (x - x.mean(0)) / x.std(0))
        return {"gain": (g * (1 - y**2) * x).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})
