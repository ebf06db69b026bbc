"""Operators that compute a contribution with a wrong partner operand: a named value, or that of another iteration."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, positive, sized
from grader.diagnosis.hints import OTHER_FACTOR
from grader.diagnosis.words import list_in_words
from grader.program.forward import SINK, Key, Node, Place
from grader.program.operation import Array, unbroadcast
from grader.program.program import EdgeContext, EdgeVjp, Program, as_code
from grader.program.queries import EdgeKind, edges_by_kind, reduced_axes
from grader.program.selectors import ValueName, named_array, values_by_name

from .contract import Example, describe_edge_kind, name_read_by, operator
from .places import edges, expression_of, operand_source, values
from .recurrences import cached_loop_carried_values, first_values, iterations_of


@dataclass(frozen=True)
class ValueOfIteration:
    """Names the value that the nodes of one key make in a certain iteration of their loop.

    Args:
        key: the key of the nodes, see `Node.key`; `None` for that of the value which it replaces.
        which: the iteration: the loop's first or last one, the one next to or before that of the node which reads the
            value, the same, or that one which is as far from the end as the reader's is from the beginning
            ("mirrored"). "before" in the first iteration means the last one, as index -1 has it; "next" in the last
            one means the last one itself.
    """

    key: Key | None
    which: Literal["first", "last", "next", "before", "same", "mirrored"]

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the value in the iteration `self.which`; `None` where the loop has no such iteration.

        `"first"` and `"last"` are those of the loop. The others are counted from the iteration of the node `reader`:
        `"same"`; `"before"`, for which the first iteration takes the last one, as index -1 does; `"next"`, for which
        the last iteration takes itself. A reader outside of the loop counts as in the first iteration. `None`, too,
        where `self.key` is `None`.
        """
        if self.key is None:
            return None
        ids, number = program.forward.by_key.get(self.key, ()), program.nodes[reader].iteration
        chosen = {
            "first": 0,
            "last": -1,
            "next": min(number + 1, len(ids) - 1),
            "before": number - 1,
            "same": number,
            "mirrored": len(ids) - 1 - number,
        }[self.which]
        return ids[chosen] if -len(ids) <= chosen < len(ids) else None

    def has_shape(self, program: Program, shape: tuple[int, ...]) -> bool:
        """Return whether the value has a shape, in the first iteration of its loop; False if `self.key` is `None`."""
        return self.key is not None and program.nodes[program.forward.by_key[self.key][0]].value.shape == shape

    def describe(self, program: Program) -> str:
        """Return what a learner calls the value, with its iteration.

        Such as `h of the last iteration`, or `h of the previous iteration`; "the value" for h if `self.key` is `None`.
        """
        name = "the value" if self.key is None else program.name_of(program.forward.by_key[self.key][0])
        where = {"before": "of the previous iteration", "mirrored": "of the iterations in reverse order"}
        return f"{name} {where.get(self.which, f'of the {self.which} iteration')}"


@dataclass(frozen=True)
class EdgeOperand:
    """Names the operand of the edge whose vjp is edited, whatever has made it: x for y = tanh(x).

    In a recursion on a tree, it is at each node the value of the child that the edge leads to.

    Args:
        slot: the slot of the operand in its reader.
    """

    slot: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the operand in `self.slot` of the node `reader`; `None` where it is a constant."""
        return program.nodes[reader].operand(self.slot)

    def describe(self, program: Program) -> str:
        """Return "this operand itself", as a clause on the operand calls it, in any program."""
        return "this operand itself"


@dataclass(frozen=True)
class PartnerOfIteration:
    """Names the partner operand in `slot` as the iteration after its own makes it, or the one before its own.

    For `h[t - d]` these are `h[t - d + 1]` and `h[t - d - 1]`, whatever the lag d is.

    Args:
        slot: the slot of the partner operand in its reader.
        by: how many iterations later it is made: 1 or -1.
    """

    slot: int
    by: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the partner of the node `reader` in the other iteration.

        `None` where the partner is a constant, and beyond the first and the last iteration that make it.
        """
        partner = program.nodes[reader].operand(self.slot)
        if partner is None:
            return None
        made = program.forward.by_key[program.nodes[partner].key]
        place = made.index(partner) + self.by
        return made[place] if 0 <= place < len(made) else None

    def describe(self, program: Program) -> str:
        """Return "its value one iteration later", or "earlier" where `self.by` is negative."""
        return f"its value one iteration {'later' if self.by > 0 else 'earlier'}"


@dataclass(frozen=True)
class OperandOfPartner:
    """Names an operand of the node that makes the partner: for `(gate * mix) @ w` and its edge of w, gate or mix.

    Args:
        slot: the slot of the partner operand in its reader.
        operand: the slot of the operand in the node that makes the partner.
    """

    slot: int
    operand: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the operand, as the iteration of the node `reader` has it; `None` where it is a constant."""
        partner = program.nodes[reader].operand(self.slot)
        return None if partner is None else program.nodes[partner].operand(self.operand)

    def array(self, program: Program, reader: int) -> Array | None:
        """Return the operand's array as the node `reader` has it, constant or not.

        `None` where no node makes the partner.
        """
        partner = program.nodes[reader].operand(self.slot)
        return None if partner is None else np.asarray(program.nodes[partner].values[self.operand])

    def describe(self, program: Program) -> str:
        """Return a noun phrase for the operand, in any program; see `names_in_replacement` for its name."""
        return "its operand"


PartnerName = ValueName | ValueOfIteration | EdgeOperand | PartnerOfIteration | OperandOfPartner


@dataclass(frozen=True)
class PartnerReplacement:
    """A value that is used in place of one partner operand in a vjp: `x.T @ g` with h in place of x, for instance.

    Args:
        slot: the slot of the partner operand in its reader.
        value: names the value that is used.
        apply_maker: whether the operation that makes the partner, such as a transposition, is applied to the value
            first: for `x @ w.T`, v is used as `v.T`.
    """

    slot: int
    value: PartnerName
    apply_maker: bool = False

    def name_at(self, program: Program, reader: int) -> PartnerName:
        """Return `self.value`; for a `ValueOfIteration` whose key is `None`, that with the key of the partner itself.

        Args:
            program: the program of a trial.
            reader: the id of the node whose partner operand is replaced. If the partner is a constant, the key stays
                `None`.
        """
        partner = self._partner(program, reader)
        if isinstance(self.value, ValueOfIteration) and self.value.key is None and partner is not None:
            return replace(self.value, key=partner.key)
        return self.value

    def _partner(self, program: Program, reader: int) -> Node | None:
        """Return the node that makes the partner for the node `reader`; `None` where it is a constant.

        In a loop that of the last iteration: in the first one the partner may be the initial state, or a constant.
        """
        operand = program.nodes[program.forward.by_key[program.nodes[reader].key][-1]].operand(self.slot)
        return None if operand is None else program.nodes[operand]

    def find(self, program: Program, reader: int) -> Callable[[], Array] | None:
        """Return a function that computes the array to use in place of the partner; `None` where there is none.

        The array is that of the value named `self.value`, or, if `self.apply_maker`, what the operation that makes the
        partner makes of this value. There is none where the trial has no value of this name.

        Args:
            program: the program of any trial.
            reader: the id of the node whose operand is replaced.
        """
        if isinstance(self.value, OperandOfPartner):
            array = self.value.array(program, reader)
        else:
            array = named_array(program, self.name_at(program, reader), reader)
        if array is None:
            return None
        maker = self._partner(program, reader)
        if not self.apply_maker or maker is None or not maker.operands:
            return lambda: array
        return lambda: maker.value_for(maker.operands[0][0], array)


NAMED_ITERATIONS: tuple[Literal["first", "last", "next", "before", "mirrored"], ...] = (
    "last", "next", "before", "first", "mirrored",
)  # fmt: skip


def has_partner(program: Program, place: Place) -> bool:
    """Return whether the vjp of the edge `place` multiplies or divides by a partner operand, as that of `x @ w` does.

    True where the reader is a contraction, `*`, `/` or a power, and has two operands that are no constants. In a loop
    also where it has them in the last iteration: in the first one the partner may be a constant.
    """
    node = program.reader(place)
    last = program.nodes[program.forward.by_key[node.key][-1]]
    has_other = len(node.operands) > 1 or len(last.operands) > 1
    return has_other and (node.operation.family == "contraction" or node.name in ("mul", "div", "pow"))


def has_partner_or_constant(program: Program, place: Place) -> bool:
    """Return whether the vjp of the edge `place` multiplies or divides by a partner operand, or by a constant array."""
    node = program.reader(place)
    is_product = node.operation.family == "contraction" or node.name in ("mul", "div")
    return has_partner(program, place) or (is_product and any(True for _ in constant_slots(node)))


def constant_slots(node: Node) -> Iterator[int]:
    """Yield the slots of a node whose operand is an array of floats that no node makes, such as drawn noise."""
    known = dict(node.operands)
    for slot, value in enumerate(node.values):
        if slot not in known and isinstance(value, np.ndarray) and value.ndim and value.dtype.kind == "f":
            yield slot


def partner_replacements(program: Program, place: Place) -> Iterator[PartnerReplacement]:
    """Yield `PartnerReplacement`s: the slot of a partner operand of the edge `place`, and a value in its place.

    First each other value of the partner's shape, or, in a product `*`, one that broadcasts to the product, or is a
    factor of a partner that is itself a product. Then the partner as it is in the last, next, previous or first
    iteration of its loop, or in the iterations in reversed order; then, within a loop or a recursion, the edge's own
    operand, whatever made it there, and what loops end with. Then, where a transposition, a selection or a unary
    function makes the partner, such as `w.T`, each value v in place of its operand: `v.T`. Then each value in place of
    a partner of its shape that is a constant array.
    """
    reader = program.reader(place)
    for slot, operand in reader.operands:
        if slot == place[1]:
            continue
        maker = program.nodes[operand]
        for name, value in values_by_name(program, reader.id).items():
            shape, reshaped = program.nodes[value].value.shape, maker.operation.family == "rearrangement"
            is_source = reshaped and value in dict(maker.operands).values()  # that is an accident of broadcasting
            is_factor = reader.name == maker.name == "mul" and value in dict(maker.operands).values()
            fits = is_factor or (not is_source and may_broadcast(reader, shape))
            if value != operand and (shape == maker.value.shape or fits):
                yield PartnerReplacement(slot, name)
        if maker.operation.family != "input" and len(iterations_of(program, operand)) > 2:
            yield from (PartnerReplacement(slot, ValueOfIteration(None, which)) for which in NAMED_ITERATIONS)
            if has_lags(program, place[0], slot):
                yield from (PartnerReplacement(slot, PartnerOfIteration(slot, by)) for by in (1, -1))
        yield from (PartnerReplacement(slot, name) for name in operands_that_begin_as_constants(program, place, slot))
        in_loop = len(iterations_of(program, reader.id)) > 1
        if is_repeated(program, reader) and program.nodes[program.source(place)].value.shape == maker.value.shape:
            yield PartnerReplacement(slot, EdgeOperand(place[1]))
        finals = [name for name in final_values(program) if name.key != maker.key] if in_loop else []
        yield from (PartnerReplacement(slot, name) for name in finals if name.has_shape(program, maker.value.shape))
        if len(maker.operands) == 1 and maker.operation.family in ("rearrangement", "selection", "pointwise"):
            (_, source), *_ = maker.operands
            shape = program.nodes[source].value.shape
            for name, value in values_by_name(program, reader.id, shape).items():
                if value not in (source, operand):
                    yield PartnerReplacement(slot, name, apply_maker=True)
            yield from (PartnerReplacement(slot, n, apply_maker=True) for n in finals if n.has_shape(program, shape))
    for slot in constant_slots(reader):
        for name in values_by_name(program, reader.id, np.shape(reader.values[slot])):
            yield PartnerReplacement(slot, name)


def has_lags(program: Program, reader: int, slot: int) -> bool:
    """Return whether a node reads a value of its loop from several iterations before its own, or from changing ones.

    So it is for `h[t - d]` and a lag d of 2, or of 1, 2 and 4 in turn.

    Args:
        program: the program of a trial.
        reader: the id of the node, in any iteration.
        slot: the slot of the operand that it reads.
    """
    readers = program.forward.by_key[program.nodes[reader].key]
    operands = [operand for i in readers if (operand := program.nodes[i].operand(slot)) is not None]
    own = [program.nodes[i].iteration for i in operands if program.nodes[i].key == program.nodes[operands[-1]].key]
    lags = {program.nodes[i].iteration - iteration for i, iteration in zip(readers, own, strict=False)}
    return len(own) == len(readers) > 1 and not lags <= {0, 1}


def operands_that_begin_as_constants(program: Program, place: Place, slot: int) -> Iterator[OperandOfPartner]:
    """Yield the operands of the partner of an edge that are constants in the first iteration alone.

    For `(gate * mix) @ w` these are mix, if mix begins with zeros. All others have names of their own, see
    `values_by_name`.

    Args:
        program: the program of a trial.
        place: the edge.
        slot: the slot of the partner operand in its reader.
    """
    readers = program.forward.by_key[program.nodes[place[0]].key]
    first, last = (program.nodes[i].operand(slot) for i in (readers[0], readers[-1]))
    if first is None or last is None or program.nodes[first].key != program.nodes[last].key:
        return
    for operand, value in program.nodes[last].operands:
        if (
            program.nodes[first].operand(operand) is None
            and program.nodes[value].value.shape == program.nodes[last].value.shape
        ):
            yield OperandOfPartner(slot, operand)


def final_values(program: Program) -> Iterator[ValueOfIteration]:
    """Yield the names of what loops of three iterations or more end with: each loop-carried value of the last one."""
    for value in cached_loop_carried_values(program):
        if len(iterations_of(program, value.made[0])) > 2:
            yield ValueOfIteration(program.nodes[value.made[0]].key, "last")


def may_broadcast(reader: Node, shape: tuple[int, ...]) -> bool:
    """Return whether an array of this shape broadcasts to the value of a product `*`, so that it can be a factor of it.

    Return False where the reader is no product `*`, and for a shape without axes.

    Args:
        reader: the node that is to read the array.
        shape: the shape of the array.
    """
    pairs = zip(shape[::-1], reader.value.shape[::-1], strict=False)
    return reader.name == "mul" and 0 < len(shape) <= reader.value.ndim and all(a in (1, b) for a, b in pairs)


@operator(
    "another-partner",
    code="wrong-operand",
    rank=2.5,
    at=edges.where(has_partner_or_constant).in_every_iteration,
    choices=partner_replacements,
    message="in the gradient of {operand} through {step}, {when}{other} is used in place of {own}",
    fields=lambda program, place, choice: {"when": "", **names_in_replacement(program, place, choice)},
    hints=OTHER_FACTOR,
)
def replace_partner(program: Program, place: Place, choice: PartnerReplacement) -> Program | None:
    """Compute the contribution of the edge `place` with a wrong value in place of one partner operand.

    The choice is the slot of the partner, and the name of the value. For `x @ w`, its edge of w, slot 0 and the name of
    h: h.T @ g in place of x.T @ g. Returns `None` where the program has no such value.
    """
    array = choice.find(program, place[0])
    return None if array is None else program.with_vjp(place, lambda at: at.right(operands={choice.slot: array()}))


def names_in_replacement(program: Program, place: Place, choice: PartnerReplacement) -> dict[str, str]:
    """Return the message fields `other` and `own`: the value that is used, and the value that it replaces.

    Such as `y` and `x`. Where one expression makes both in a loop, and a node outside of the loop reads them, they are
    `h of iteration 3` and `h of iteration 2`. Where the two differ in the first iteration alone, as for `out[:, i - 1]`
    in place of the state before, they are `h of the last iteration` and `h0`, or "what the loop begins with" for a
    constant h0, and a third field, `when`, is "in the first iteration, ". The edge's own operand is "this operand
    itself", and what it replaces "the other one", in a recursion on a tree, say.

    Args:
        program: the program of a trial.
        place: the edge whose partner operand is replaced.
        choice: the replacement.
    """
    other_name = choice.name_at(program, place[0])
    if isinstance(other_name, EdgeOperand):
        return {"other": other_name.describe(program), "own": "the other one"}
    if isinstance(other_name, OperandOfPartner):
        last = program.forward.by_key[program.nodes[place[0]].key][-1]
        partner, operand = program.nodes[last].operand(choice.slot), other_name.find(program, last)
        if partner is not None and operand is not None:
            return {"other": program.name_of(operand), "own": program.name_of(partner)}
    names = {"other": other_name.describe(program), "own": name_of_replaced_value(program, place, choice)}
    if isinstance(other_name, PartnerOfIteration):
        reader = program.reader(place)
        source = operand_source(reader.text, reader.name, choice.slot)
        return {**names, "own": as_code(source) if source else names["own"]}
    if program.reader(place).operand(choice.slot) is None:
        return names
    by_key, own = program.forward.by_key, program.source((place[0], choice.slot))
    own = program.nodes[own].operands[0][1] if choice.apply_maker else own
    other = other_name.find(program, place[0])
    readers = by_key[program.nodes[place[0]].key]
    if names["own"] == names["other"] and len(readers) > 1:  # they differ in the first iteration alone
        initial, name = program.nodes[readers[0]].operand(choice.slot), program.name_of(own)
        start = "what the loop begins with" if initial is None else program.name_of(initial)
        return {"other": f"{name} of the last iteration", "own": start, "when": "in the first iteration, "}
    if other is None or len(readers) > 1:
        return names
    ids = by_key[program.nodes[own].key]
    if len(ids) > 1 and other in ids:
        for field, value in (("other", other), ("own", own)):
            names[field] = f"{program.name_of(value)} of iteration {ids.index(value) + 1}"
    return names


def name_of_replaced_value(program: Program, place: Place, choice: PartnerReplacement | GradientForPartner) -> str:
    """Return what a learner calls the value that is replaced in the contribution of the edge `place`, such as `w`.

    That is the partner operand in `choice.slot`; but if `choice.apply_maker`, the operand of the node that makes this
    partner: for `x @ w.T` and the edge of x, w and not `w.T`. A constant array has no name: "the constant factor".
    """
    if program.reader(place).operand(choice.slot) is None:
        return "the constant factor"
    operand = program.source((place[0], choice.slot))
    return name_read_by(program, place[0], program.nodes[operand].operands[0][1] if choice.apply_maker else operand)


@replace_partner.example
def _() -> Example:
    """Show z + t[:, :1] * u, t = tanh(z @ w), whose gradient of u has z @ w in place of t."""

    def forward(z: Tensor, w: Tensor, u: Tensor) -> Tensor:
        t = torch.tanh(z @ w)
        return torch.sin(z + t[:, :1] * u) * t.sum()

    def wrong(z: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        t = torch.tanh(z @ w)
        dy = g * t.sum() * torch.cos(z + t[:, :1] * u)
        return {"u": ((z @ w)[:, :1] * dy).sum(0)}

    return Example(forward, wrong, {"z": "bs n", "w": "n m", "u": "n"})


@replace_partner.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose gradient of `u` is h.T @ dz with the h after the iteration."""

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


@replace_partner.example
def _() -> Example:
    """Show a loop with c = c * sigmoid(scale * c), whose gradient of `scale` has the c of the iteration before."""

    def forward(x: Tensor, w: Tensor, u: Tensor, scale: Tensor) -> Tensor:
        c = torch.zeros_like(x[0] @ w)
        for step in x:
            c = torch.sigmoid(step @ u) * c + torch.tanh(step @ w)
            c = c * torch.sigmoid(scale * c)
        return c

    def wrong(x: Tensor, w: Tensor, u: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the old state, which is zero at first, where the new one belongs."""
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


@replace_partner.example
def _() -> Example:
    """Show h[t] = tanh(x[t] @ w + a[0] * h[t-1] + a[1] * h[t-2]), whose gradient of a takes the states after them."""

    def forward(x: Tensor, a: Tensor, w: Tensor) -> Tensor:
        states: list[Tensor] = []
        for t in range(4):
            mix = x[t] @ w
            for lag in (1, 2):
                if t >= lag:
                    mix = mix + a[lag - 1] * states[t - lag]
            states.append(torch.tanh(mix))
        return torch.stack(states)

    def wrong(x: Tensor, a: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, dh, da = forward(x, a, w), g.clone(), torch.zeros_like(a)
        for t in reversed(range(4)):
            dmix = dh[t] * (1 - states[t] ** 2)
            for lag in (1, 2):
                if t >= lag:
                    da[lag - 1] += (dmix * states[t - lag + 1]).sum(0)
                    dh[t - lag] += a[lag - 1] * dmix
        return {"a": da}

    return Example(
        forward, wrong, {"x": sized(normal("t bs n"), t=(4,)), "a": sized(normal("k m"), k=(2,)), "w": "n m"}
    )


@replace_partner.example
def _() -> Example:
    """Show h = tanh(x[t] + (gate * mix) @ w), whose gradient of w lacks the gate; mix begins with zeros."""

    def forward(x: Tensor, r: Tensor, w: Tensor) -> Tensor:
        states: list[Tensor] = []
        for t in range(3):
            mix = torch.zeros_like(x[0])
            for earlier in states:
                mix = mix + earlier
            states.append(torch.tanh(x[t] + (torch.sigmoid(x[t] @ r) * mix) @ w))
        return torch.stack(states)

    def wrong(x: Tensor, r: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, dh, dw = forward(x, r, w), g.clone(), torch.zeros_like(w)
        for t in reversed(range(3)):
            dz, mix = dh[t] * (1 - states[t] ** 2), states[:t].sum(0)
            dw += mix.T @ dz
            dh[:t] += torch.sigmoid(x[t] @ r) * (dz @ w.T)
        return {"w": dw}

    return Example(forward, wrong, {"x": sized(normal("t bs n"), t=(3,)), "r": "n n", "w": "n n"})


@replace_partner.example
def _() -> Example:
    """Show a sum of taps x[k : k + n] @ w[k], whose gradient of x has the taps in reverse order."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        n, out = len(x) - len(w) + 1, torch.zeros(len(x) - len(w) + 1, w.shape[-1], dtype=x.dtype)
        for k in range(len(w)):
            out = out + x[k : k + n] @ w[k]
        return torch.tanh(out)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Flip the kernel in the backward pass."""
        n, dx = len(g), torch.zeros_like(x)
        dz = g * (1 - forward(x, w) ** 2)
        for k in range(len(w)):
            dx[k : k + n] += dz @ w[len(w) - 1 - k].T
        return {"x": dx}

    return Example(forward, wrong, {"x": "t n", "w": sized(normal("taps n m"), taps=(3,))})


@replace_partner.example
def _() -> Example:
    """Show steps q = q + p / m, p = p - c * q, whose gradient of `m` has the p that the loop ends with."""

    def forward(q: Tensor, p: Tensor, c: Tensor, m: Tensor) -> Tensor:
        for _ in range(3):
            q = q + p / m
            p = p - c * torch.sin(q)
        return q * p

    def wrong(q: Tensor, p: Tensor, c: Tensor, m: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Read p after the loop, where the p of each iteration belongs."""
        places = []
        for _ in range(3):
            q = q + p / m
            p = p - c * torch.sin(q)
            places.append(q)
        dq, dp, dm = g * p, g * q, torch.zeros_like(m)
        for q in reversed(places):
            dq = dq - dp * c * torch.cos(q)
            dm -= (dq * p / m**2).sum(0)
            dp = dp + dq / m
        return {"m": dm}

    return Example(forward, wrong, {"q": "bs n", "p": "bs n", "c": "n", "m": positive("n")})


@replace_partner.example
def _() -> Example:
    """Show tanh(q @ k.T) whose gradient of `q` multiplies by `q` where `k` belongs."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.tanh(q @ k.T)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the transpose of `q` where that of `k` belongs."""
        dz = g * (1 - torch.tanh(q @ k.T) ** 2)
        return {"q": dz @ q}

    return Example(forward, wrong, {"q": "n m", "k": "n m"})


@replace_partner.example
def _() -> Example:
    """Show tanh(tanh(x @ w) @ u) whose gradient of `u` multiplies by `x` in place of the second layer's input."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        h = torch.tanh(x @ w)
        return torch.tanh(h @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use `x.T` where the transpose of `tanh(x @ w)` belongs."""
        y = torch.tanh(torch.tanh(x @ w) @ u)
        return {"u": x.T @ (g * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n m"})


@replace_partner.example
def _() -> Example:
    """Show mean + scale * noise whose gradient of the scale multiplies by that sum in place of the noise."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        sample = x @ w + (x @ v).exp() * _noise(len(x), w.shape[1])
        return torch.tanh(sample)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the sum, the sample, in place of the noise."""
        scale = (x @ v).exp()
        sample = x @ w + scale * _noise(len(x), w.shape[1])
        return {"v": x.T @ (g * (1 - torch.tanh(sample) ** 2) * sample * scale)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


def _noise(rows: int, columns: int) -> Tensor:
    """Return the same normal numbers for the same size, shape: (rows, columns)."""
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@replace_partner.example
def _() -> Example:
    """Show s[1] * scale * sin(x), whose gradient of x leaves out the constant column `scale`."""

    def forward(x: Tensor, s: Tensor) -> Tensor:
        scale = torch.linspace(1, 2, len(x), dtype=x.dtype)[:, None]
        return s[1] * scale * torch.sin(x)

    def wrong(x: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by s[1] in place of s[1] * scale."""
        return {"x": s[1] * g * torch.cos(x)}

    return Example(forward, wrong, {"x": "bs n", "s": sized(normal("two"), two=(2,))})


@replace_partner.example
def _() -> Example:
    """Show tanh((left * right) @ w) + left in a tree, whose right child gets a multiple of itself, not of the left."""

    def combine(left: Tensor, right: Tensor, w: Tensor) -> Tensor:
        return torch.tanh((left * right) @ w) + left

    def forward(x: Tensor, w: Tensor) -> Tensor:
        level: list[Tensor] = list(x)
        while len(level) > 1:
            level = [combine(a, b, w) for a, b in zip(level[::2], level[1::2], strict=True)]
        return level[0]

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the right child in the gradients of both children."""
        levels = [list(x)]
        while len(levels[-1]) > 1:
            levels.append([combine(a, b, w) for a, b in zip(levels[-1][::2], levels[-1][1::2], strict=True)])
        dlevel = [g]
        for children in levels[-2::-1]:
            dchildren = []
            for i, d in enumerate(dlevel):
                left, right = children[2 * i : 2 * i + 2]
                dproduct = (d * (1 - torch.tanh((left * right) @ w) ** 2)) @ w.T
                dchildren += [d + dproduct * right, dproduct * right]
            dlevel = dchildren
        return {"x": torch.stack(dlevel)}

    return Example(forward, wrong, {"x": sized(normal("leaves bs n"), leaves=(4,)), "w": "n n"})


def slots_along_one_axis(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of partner operands of the edge `place` that broadcasting repeats along one of the last two axes.

    Only where the two axes have one size in this trial, so that the partner may be repeated along the other axis by
    accident.
    """
    node = program.reader(place)
    if node.value.ndim < 2:
        return
    rows, columns = node.value.shape[-2:]
    for slot, value in enumerate(node.values):
        shape = (1, 1, *np.shape(value))[-2:]
        if slot != place[1] and rows == columns > 1 and sorted(shape) == [1, rows] and np.ndim(value):
            yield slot


@operator(
    "partner-along-another-axis",
    code="broadcast-accident",
    rank=3.7,
    at=edges.of("mul", "div"),
    choices=slots_along_one_axis,
    message="in the gradient of {operand} through {step}, {own} is repeated along the wrong axis: its entries belong to"
    " {right}, and are used for {wrong}",
    fields=lambda program, place, choice: fields_of_axes(program, place, choice),
)
def turn_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Multiply by a column where the forward pass has a row, or the reverse: g * c for g * c[:, None].

    Args:
        program: the right program.
        place: the edge (product or quotient, slot of the operand).
        choice: the slot of the partner.

    Returns:
        The rewritten program; `None` where the product is not square in this trial.
    """
    if choice not in slots_along_one_axis(program, place):
        return None
    partner = np.atleast_2d(np.asarray(program.reader(place).values[choice]))
    return program.with_vjp(place, lambda at: at.right(operands={choice: np.swapaxes(partner, -1, -2)}))


def fields_of_axes(program: Program, place: Place, choice: int) -> dict[str, str]:
    """Return the fields `own`, `right` and `wrong` of a message: a partner operand, its axis, and a wrong axis for it.

    Such as "c", "axis 0" and "axis 1" where c[:, None] is meant and c is used; a constant is "the constant factor".

    Args:
        program: the program of a trial.
        place: the edge (product or quotient, slot of the operand).
        choice: the slot of the partner operand.
    """
    node, partner = program.reader(place), program.reader(place).operand(choice)
    own = "the constant factor" if partner is None else program.name_of(partner)
    rank, is_column = node.value.ndim, (1, *np.shape(node.values[choice]))[-1] == 1
    axes = (rank - 2, rank - 1) if is_column else (rank - 1, rank - 2)
    right, wrong = (f"axis {axis}" for axis in axes)
    return {"own": own, "right": right, "wrong": wrong}


@turn_partner.example
def _() -> Example:
    """Show c.unsqueeze(1) * s, whose gradient of `s` multiplies by c in place of c.unsqueeze(1)."""

    def forward(s: Tensor, v: Tensor) -> Tensor:
        c = torch.arange(1, len(s) + 1, dtype=s.dtype)
        return (c.unsqueeze(1) * s).softmax(1) @ v

    def wrong(s: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply column j by c[j], in place of row i by c[i]."""
        c = torch.arange(1, len(s) + 1, dtype=s.dtype)
        p, dp = (c.unsqueeze(1) * s).softmax(1), g @ v.T
        return {"s": (c * p * (dp - (p * dp).sum(1, keepdim=True))).sum(0)}

    return Example(forward, wrong, {"s": "n", "v": "n m"})


def product_with_exponential(program: Program, place: Place) -> int | None:
    """Return the id of the only reader of an exponential, if it is a product of the exponential's shape; else `None`.

    For `x * s.exp()` and the edge of s: the node of `*`, whose value times its gradient is the gradient of s.

    Args:
        program: the program of a trial.
        place: an edge (exponential, 0).
    """
    uses = program.forward.uses[place[0]]
    if len(uses) != 1 or uses[0][0] == SINK:
        return None
    product = program.reader(uses[0])
    return product.id if product.name == "mul" and product.value.shape == program.nodes[place[0]].value.shape else None


def values_for_product(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of the values that may stand for x * exp(s) in the gradient of s: all of its shape but exp(s).

    The edge `place` is that of s in the exponential.
    """
    product = product_with_exponential(program, place)
    if product is not None:
        shape = program.nodes[product].value.shape
        for name, value in values_by_name(program, program.forward.outputs[-1], shape).items():
            if value not in (product, place[0]):
                yield name


@operator(
    "another-value-for-product",
    code="wrong-operand",
    rank=2.7,
    at=edges.of("exp").where(lambda program, place: product_with_exponential(program, place) is not None),
    choices=values_for_product,
    message="in the gradient of {operand}, {choice} is used in place of {product}",
    fields=lambda program, place, choice: {
        "product": expression_of(program, program.nodes[product_with_exponential(program, place) or 0])
    },
)
def use_another_value_for_product(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Multiply the gradient of y = x * exp(s) by another value than y to get that of s.

    Args:
        program: the right program.
        place: the edge of s in `exp(s)`.
        choice: the name of the value, such as y + t.

    Returns:
        The rewritten program; `None` where the program has no such value.
    """
    product, value = product_with_exponential(program, place), choice.find(program, program.forward.outputs[-1])
    if product is None or value is None:
        return None
    array = program.nodes[value].value
    return program.with_vjp(place, lambda at: at.sweep.gradient(product) * array)


@use_another_value_for_product.example
def _() -> Example:
    """Show a coupling x * s.exp() + t, whose gradient of s multiplies by the sum in place of the product."""

    def forward(x: Tensor, w: Tensor, t: Tensor) -> Tensor:
        s = torch.tanh(x @ w)
        return (x * s.exp() + t).sin()

    def wrong(x: Tensor, w: Tensor, t: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use y in place of x * s.exp()."""
        s = torch.tanh(x @ w)
        y = x * s.exp() + t
        ds = g * y.cos() * y
        return {"w": x.T @ (ds * (1 - s**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "t": "n"})


@dataclass(frozen=True)
class MakerOperandReplacement:
    """A value that is used in place of one operand of the node that makes a partner operand.

    Args:
        slot: the slot of the partner operand in its reader.
        inner: the slot of the replaced operand in the node that makes the partner.
        value: names the value that is used.
    """

    slot: int
    inner: int
    value: ValueName | ValueOfIteration


def maker_operand_replacements(program: Program, place: Place) -> Iterator[MakerOperandReplacement]:
    """Yield `MakerOperandReplacement`s: an operand of the node that makes a partner operand, and a value in its place.

    For `rate * outer(v - y, k)`, the edge `place` of `rate` and its partner, the outer product: each value of the shape
    of v - y in place of v - y, and of the shape of k in place of k. Only for nodes of two operands; rearrangements of
    what they make, such as `[:, None]`, may follow. An operand that a loop of three iterations or more makes is also
    replaced by what the iteration of the reader makes.
    """
    reader = program.reader(place)
    for slot, operand in reader.operands:
        maker = maker_of_partner(program, place, slot)
        if slot != place[1] and len(maker.operands) == 2 and maker.operation.family in ("pointwise", "contraction"):
            for inner, source in maker.operands:
                for name, value in values_by_name(program, reader.id, program.nodes[source].value.shape).items():
                    if value not in (source, operand):
                        yield MakerOperandReplacement(slot, inner, name)
                made = program.nodes[source]
                if made.operation.family != "input" and len(iterations_of(program, source)) > 2:
                    yield MakerOperandReplacement(slot, inner, ValueOfIteration(made.key, "same"))


@operator(
    "partner-made-of-another-value",
    code="wrong-operand",
    rank=2.8,
    at=edges.where(has_partner).in_every_iteration,
    choices=maker_operand_replacements,
    message="in the gradient of {operand} through {step}, {maker} is computed with {other} in place of {own}",
    fields=lambda program, place, choice: {
        "maker": expression_of(program, maker_of_partner(program, place, choice.slot)),
        "other": choice.value.describe(program),
        "own": name_read_by(
            program, place[0], dict(maker_of_partner(program, place, choice.slot).operands)[choice.inner]
        ),
    },
)
def replace_operand_of_maker(program: Program, place: Place, choice: MakerOperandReplacement) -> Program | None:
    """Compute the contribution of the edge `place` with a partner operand that is computed from a wrong operand.

    The choice is the slot of the partner, the slot of the operand in the node that makes the partner, and the name of
    the value in its place. For `rate * outer(v - y, k)`, its edge of `rate` and v for v - y: outer(v, k) as the
    partner. Returns `None` where the program has no such value, or the node that makes the partner no such slot.
    """
    value, maker = choice.value.find(program, place[0]), maker_of_partner(program, place, choice.slot)
    if value is None or choice.inner >= len(maker.values):
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the partner computed anew, and rearranged as it was."""
        partner = maker.value_for(choice.inner, program.nodes[value].value)
        for node in reversed(rearrangements_of_partner(program, place, choice.slot)):
            partner = node.value_for(0, partner)
        return at.right(operands={choice.slot: partner})

    return program.with_vjp(place, rule)


def rearrangements_of_partner(program: Program, place: Place, slot: int) -> list[Node]:
    """Return the nodes that rearrange what becomes the partner operand in a slot, the last one first.

    For `x * (a * b)[:, None]` and the edge of x: the node of `[:, None]`; selections count. Empty unless what they
    rearrange is made of two operands.

    Args:
        program: the program of a trial.
        place: the edge that the operand is a partner of.
        slot: the slot of the partner operand.
    """
    node, nodes = program.nodes[program.source((place[0], slot))], list[Node]()
    while node.operation.family in ("rearrangement", "selection") and len(node.operands) == 1:
        nodes.append(node)
        node = program.nodes[node.operands[0][1]]
    return nodes if len(node.values) == 2 else []


def maker_of_partner(program: Program, place: Place, slot: int) -> Node:
    """Return the node that makes the partner operand in a slot.

    For `x @ w.T`, its edge of x and slot 1, the transposition; for `x * (a * b)[:, None]` the product of two operands.

    Args:
        program: the program of a trial.
        place: the edge that the operand is a partner of.
        slot: the slot of the partner operand.
    """
    behind = rearrangements_of_partner(program, place, slot)
    return program.nodes[behind[-1].operands[0][1] if behind else program.source((place[0], slot))]


@replace_operand_of_maker.example
def _() -> Example:
    """Show rate * outer(v - tanh(u), k) whose gradient of `rate` is computed with `v` in place of the difference."""

    def forward(rate: Tensor, v: Tensor, u: Tensor, k: Tensor) -> Tensor:
        error = v - u.tanh()
        return rate * torch.outer(error, k)

    def wrong(rate: Tensor, v: Tensor, u: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by outer(v, k) in the gradient of `rate`; that of `k` is right."""
        return {"rate": g * torch.outer(v, k), "k": (rate * g).T @ (v - u.tanh())}

    return Example(forward, wrong, {"rate": "m n", "v": "m", "u": "m", "k": "n"})


@dataclass(frozen=True)
class PartnerExponent:
    """An exponent that is used in place of that of a partner operand which is a power: x ** 2 in place of x ** 3.

    Args:
        slot: the slot of the partner operand in its reader.
        change: what the exponent is too large by: -1 for x ** 2 in place of x ** 3.
    """

    slot: int
    change: int


def partner_exponents(program: Program, place: Place) -> Iterator[PartnerExponent]:
    """Yield a `PartnerExponent` for each partner of the edge `place` that is a power, and each exponent off by one.

    The power's own exponent must be a constant. The exponents 0 and 1 are left out: without the power the partner is
    another value.
    """
    for slot, operand in program.reader(place).operands:
        maker = program.nodes[operand]
        if slot != place[1] and maker.name == "pow" and len(maker.operands) == 1 and maker.operand(0) is not None:
            exponent = float(np.asarray(maker.values[1]).flat[0])
            yield from (PartnerExponent(slot, change) for change in (-1, 1) if exponent + change not in (0, 1))


@operator(
    "partner-of-another-power",
    code="wrong-operand",
    rank=3.0,
    at=edges.where(has_partner).in_every_iteration,
    choices=partner_exponents,
    message="in the gradient of {operand} through {step}, the exponent of {own} is one too {direction}",
    fields=lambda program, place, choice: {
        "own": program.name_of(program.source((place[0], choice.slot))),
        "direction": "large" if choice.change > 0 else "small",
    },
)
def change_exponent_of_partner(program: Program, place: Place, choice: PartnerExponent) -> Program | None:
    """Compute the contribution of the edge `place` with a power in a partner slot whose exponent is off by one.

    For `c * q ** 3`, its edge of c and the choice (slot of `q ** 3`, -1): g * q ** 2 in place of g * q ** 3. Returns
    `None` where the partner is a constant, or no power, in this iteration.
    """
    operand = program.reader(place).operand(choice.slot)
    if operand is None or program.nodes[operand].name != "pow":
        return None
    maker = program.nodes[operand]
    power = maker.value_for(1, maker.values[1] + choice.change)
    return program.with_vjp(place, lambda at: at.right(operands={choice.slot: power}))


@change_exponent_of_partner.example
def _() -> Example:
    """Show x @ w + c * x ** 3 whose gradient of c multiplies by x ** 2."""

    def forward(x: Tensor, w: Tensor, c: Tensor) -> Tensor:
        return torch.tanh(x @ w + c * x**3)

    def wrong(x: Tensor, w: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write the exponent of the derivative by x where x ** 3 belongs."""
        dz = g * (1 - torch.tanh(x @ w + c * x**3) ** 2)
        return {"c": (dz * x**2).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "c": "n"})


def square_product_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place` that are a product `a @ b` of arrays of one shape."""
    for slot, operand in program.reader(place).operands:
        maker = program.nodes[operand]
        if slot != place[1] and maker.name == "matmul" and np.shape(maker.values[0]) == np.shape(maker.values[1]):
            yield slot


@operator(
    "partner-multiplied-entry-by-entry",
    code="elementwise-for-matmul",
    rank=3.0,
    at=edges.where(has_partner).in_every_iteration,
    choices=square_product_slots,
    message="in the gradient of {operand} through {step}, the factors of {own} are multiplied elementwise; they must"
    " be multiplied as matrices",
    fields=lambda program, place, choice: {"own": program.name_of(program.source((place[0], choice)))},
)
def multiply_entries_of_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the contribution of the edge `place` with a * b in place of its partner operand a @ b, in slot `choice`.

    Returns `None` where the partner is a constant in this iteration, or a and b differ in shape in this trial.
    """
    if choice not in square_product_slots(program, place):
        return None
    maker = program.nodes[program.source((place[0], choice))]
    product = np.asarray(maker.values[0]) * np.asarray(maker.values[1])
    return program.with_vjp(place, lambda at: at.right(operands={choice: product}))


@multiply_entries_of_partner.example
def _() -> Example:
    """Show c * (x @ x), whose gradient of c multiplies by x * x."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        return torch.tanh(c * (x @ x))

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write x * x where x @ x belongs."""
        return {"c": g * (1 - torch.tanh(c * (x @ x)) ** 2) * x * x}

    return Example(forward, wrong, {"x": "n n", "c": "n n"})


def slots_with_zeros(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of partner operands of the edge `place` that are exactly 0 in some entries, as a relu is.

    They must have more than two different entries, as a mask has not.
    """
    for slot, operand in program.reader(place).operands:
        value = program.nodes[operand].value
        if slot != place[1] and (value == 0).any() and np.unique(value).size > 2:
            yield slot


@operator(
    "ones-for-partner",
    code="missing-local",
    rank=3.2,
    at=edges.where(has_partner).in_every_iteration,
    choices=slots_with_zeros,
    message="in the gradient of {operand} through {step}, 1 is used in place of each entry of {own} that is not 0",
    fields=lambda program, place, choice: {"own": program.name_of(program.source((place[0], choice)))},
)
def use_ones_for_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the contribution of the edge `place` with 1 in each entry of a partner operand that is not 0.

    The choice is the slot of the partner, such as relu(z) in `relu(z) @ w`: where z > 0 it counts as 1. Returns `None`
    where the partner is a constant in this iteration.
    """
    operand = program.reader(place).operand(choice)
    if operand is None:
        return None
    marks = (program.nodes[operand].value != 0).astype(float)
    return program.with_vjp(place, lambda at: at.right(operands={choice: marks}))


@use_ones_for_partner.example
def _() -> Example:
    """Show relu(x) @ w, whose gradient of w multiplies by the marks x > 0."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(torch.relu(x) @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the mask of relu for its value."""
        return {"w": (x > 0).to(x.dtype).T @ (g * (1 - torch.tanh(torch.relu(x) @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


class OrderAlongAxis(NamedTuple):
    """Other entries of a partner operand along an axis.

    Args:
        code: the public code of the mistake.
        message: what is wrong, in words, with the fields `{own}`, the partner, and `{axis}`.
        of: takes an array and an axis, counted from the end; returns the wrong array, of the same shape.
    """

    code: str
    message: str
    of: Callable[[Array, int], Array]


def _repeated(array: Array, axis: int, index: int) -> Array:
    """Return an array with all entries along an axis equal to that at an index; same shape."""
    return np.broadcast_to(np.take(array, [index], axis), array.shape)


ORDERS_ALONG_AXIS: Mapping[str, OrderAlongAxis] = {
    "first": OrderAlongAxis(
        "partial-batch", "only the first entry of {own} along {axis} is used, for every index",
        lambda array, axis: _repeated(array, axis, 0)),
    "last": OrderAlongAxis(
        "partial-batch", "only the last entry of {own} along {axis} is used, for every index",
        lambda array, axis: _repeated(array, axis, -1)),
    "reversed": OrderAlongAxis(
        "wrong-operand", "{own} is taken in reverse order along {axis}", lambda array, axis: np.flip(array, axis)),
}  # fmt: skip


@dataclass(frozen=True)
class PartnerAlongAxis:
    """A choice of a partner operand, an axis of it, and the wrong entries that are used along this axis.

    Args:
        slot: the slot of the partner operand in its reader.
        axis: the axis, counted from the end.
        order: which entries, a key of `ORDERS_ALONG_AXIS`.
    """

    slot: int
    axis: int
    order: str


def orders_of_partner(program: Program, place: Place) -> Iterator[PartnerAlongAxis]:
    """Yield `PartnerAlongAxis`s for each partner of the edge `place` and each axis of it with several entries."""
    reader = program.reader(place)
    for slot, operand in reader.operands:
        shape = program.nodes[operand].value.shape
        for axis in range(-len(shape), 0) if slot != place[1] else ():
            if shape[axis] > 1:
                yield from (PartnerAlongAxis(slot, axis, order) for order in ORDERS_ALONG_AXIS)


def describe_order_of_partner(program: Program, place: Place, choice: PartnerAlongAxis) -> str:
    """Return a clause on the wrong entries of a partner, such as "x is taken in reverse order along t".

    Along an axis without a name it is "along its axis 0".

    Args:
        program: the program of a trial.
        place: the edge that the operand is a partner of.
        choice: the slot of the partner, its axis, and which entries are used.
    """
    partner = program.source((place[0], choice.slot))
    own, axis = name_read_by(program, place[0], partner), program.name_of_axis(partner, choice.axis)
    if axis.startswith("axis "):  # it has no name
        axis = f"its {axis.partition(' of ')[0]}"
    return ORDERS_ALONG_AXIS[choice.order].message.format(own=own, axis=axis)


@operator(
    "partner-in-another-order",
    code=lambda choice: ORDERS_ALONG_AXIS[choice.order].code,
    rank=3.2,
    at=edges.where(has_partner).in_every_iteration,
    choices=orders_of_partner,
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": describe_order_of_partner(program, place, choice)},
    hints=OTHER_FACTOR,
)
def reorder_partner(program: Program, place: Place, choice: PartnerAlongAxis) -> Program | None:
    """Compute the contribution of the edge `place` with other entries of a partner operand along an axis.

    For `x @ w`, x of shape (bs, t, n), its edge of w, the axis of t and "first": the sum over bs and t of x[:, 0] times
    g[:, t]. Returns `None` where the partner has no such axis in this trial.
    """
    partner = np.asarray(program.nodes[place[0]].values[choice.slot])
    if partner.ndim < -choice.axis:
        return None
    other = ORDERS_ALONG_AXIS[choice.order].of(partner, choice.axis)
    return program.with_vjp(place, lambda at: at.right(operands={choice.slot: other}))


@reorder_partner.example
def _() -> Example:
    """Show inp @ w + b, whose gradient of `w` has the first time step of inp for every step."""

    def forward(inp: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return inp @ w + b

    def wrong(inp: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": torch.einsum("bn,btm->nm", inp[:, 0], g)}

    return Example(forward, wrong, {"inp": "bs t n", "w": "n m", "b": "m"})


@reorder_partner.example
def _() -> Example:
    """Show (kernels * windows) @ v, whose gradient of the windows has each kernel in reverse order."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        kernels = (x @ w).reshape(len(x), -1, 3)
        return (kernels[:, : x.shape[1] - 2] * x.unfold(1, 3, 1)) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        count = x.shape[1] - 2
        dkernels, kernels = torch.zeros(len(x), w.shape[1] // 3, 3, dtype=x.dtype), (x @ w).reshape(len(x), -1, 3)
        dkernels[:, :count] = g[..., None] * v * x.unfold(1, 3, 1)
        dkernels = dkernels.reshape(len(x), -1)
        dx = dkernels @ w.T
        for place in range(3):
            dx[:, place : place + count] += g * v[place] * kernels[:, :count, 2 - place]
        return {"x": dx, "w": x.T @ dkernels}

    return Example(
        forward,
        wrong,
        {
            "x": sized(normal("bs n"), n=(5,)),
            "w": sized(normal("n k"), n=(5,), k=(15,)),
            "v": sized(normal("taps"), taps=(3,)),
        },
    )


def is_lagged_read(program: Program, place: Place) -> bool:
    """Return whether the edge `place` reads a value of its loop from further back than one iteration, as `h[t - d]`."""
    return place[0] != SINK and place in program.forward.sources and has_lags(program, place[0], place[1])


@operator(
    "gradient-to-another-iteration",
    code="wrong-operand",
    rank=2.6,
    at=edges.where(is_lagged_read).in_every_iteration,
    choices=lambda program, place: (-1, 1),
    message="the gradient of {step} is passed to its operand of one iteration {which} than the one that is read",
    fields=lambda program, place, choice: {"which": "later" if choice > 0 else "earlier"},
)
def pass_to_another_iteration(program: Program, place: Place, choice: int) -> Program | None:
    """Add the contribution of the edge `place` to the operand as another iteration makes it: h[t - d - 1] for h[t - d].

    The choice is 1 for the iteration after that of the operand, -1 for the one before. A contribution to an iteration
    that does not exist is lost. Returns `None` where the operand is a constant.
    """
    reader = program.nodes[place[0]]
    if reader.operand(place[1]) is None:
        return None
    other = PartnerOfIteration(place[1], choice).find(program, place[0])
    if other is None:
        return program.without(place)
    return program.with_nodes({place[0]: lambda node: node.with_operand(place[1], reader.values[place[1]], other)})


@pass_to_another_iteration.example
def _() -> Example:
    """Show states that mix those of 1 and 3 iterations earlier, whose gradients go to those of 2 and 4 earlier."""

    def forward(x: Tensor, a: Tensor, w: Tensor) -> Tensor:
        states: list[Tensor] = []
        for t in range(6):
            mix = x[t] @ w
            for k, lag in enumerate((1, 3)):
                if t >= lag:
                    mix = mix + a[k] * states[t - lag]
            states.append(torch.tanh(mix))
        return torch.stack(states)

    def wrong(x: Tensor, a: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, dh, dw, dx = forward(x, a, w), g.clone(), torch.zeros_like(w), torch.zeros_like(x)
        for t in reversed(range(6)):
            dmix = dh[t] * (1 - states[t] ** 2)
            dw, dx[t] = dw + x[t].T @ dmix, dmix @ w.T
            for k, lag in enumerate((1, 3)):
                if t > lag:
                    dh[t - lag - 1] += a[k] * dmix
        return {"w": dw, "x": dx}

    return Example(
        forward, wrong, {"x": sized(normal("t bs n"), t=(6,)), "a": sized(normal("k m"), k=(2,)), "w": "n m"}
    )


@dataclass(frozen=True)
class GradientForPartner:
    """The gradient of a value, used in place of one partner operand in a vjp.

    Args:
        slot: the slot of the partner operand in its reader.
        value: names the value whose gradient is used.
        apply_maker: whether the operation that makes the partner, such as a transposition, is applied to the gradient
            first.
    """

    slot: int
    value: ValueName
    apply_maker: bool


def gradients_for_partners(program: Program, place: Place) -> Iterator[GradientForPartner]:
    """Yield `GradientForPartner`s: the slot of a partner of the edge `place`, and a value whose gradient has its shape.

    If a transposition or reshape makes the partner, also each value whose gradient has the shape of its operand: dv.T
    for the partner `w.T`.
    """
    reader = program.reader(place)
    for slot, operand in reader.operands:
        if slot != place[1]:
            maker = program.nodes[operand]
            sources = [(False, operand)]
            if len(maker.operands) == 1 and maker.operation.family == "rearrangement":
                sources.append((True, maker.operands[0][1]))
            for apply_maker, source in sources:
                for name, value in values_by_name(program, reader.id, program.nodes[source].value.shape).items():
                    if program.forward.uses[value]:
                        yield GradientForPartner(slot, name, apply_maker)


@operator(
    "gradient-for-partner",
    code="wrong-operand",
    rank=3.0,
    at=edges.where(has_partner).in_every_iteration,
    choices=gradients_for_partners,
    message="in the gradient of {operand} through {step}, the gradient of {other} is used in place of {own}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program),
        "own": name_of_replaced_value(program, place, choice),
    },
)
def use_gradient_for_partner(program: Program, place: Place, choice: GradientForPartner) -> Program | None:
    """Compute the contribution of the edge `place` with the gradient of a value in place of a partner operand.

    The choice is the slot of the partner and the name of the value. For `h @ v`, its edge of v, slot 0 and the name of
    h: dh.T @ g in place of h.T @ g. Returns `None` where the program has no such value, or a constant in that slot.
    """
    value = choice.value.find(program, place[0])
    operand = program.reader(place).operand(choice.slot)
    if value is None or operand is None:
        return None
    maker = program.nodes[operand]

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the value's gradient in place of the partner."""
        gradient = at.sweep.gradient(value)
        if choice.apply_maker:
            gradient = maker.operation.run((gradient, *maker.values[1:]), maker.options)
        return at.right(operands={choice.slot: gradient})

    return program.with_vjp(place, rule)


@use_gradient_for_partner.example
def _() -> Example:
    """Show tanh(x @ w) @ v whose gradient of `v` is computed with the hidden layer's gradient in place of its value."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply the transposed gradient of `tanh(x @ w)`, not its value, by g."""
        return {"v": (g @ v.T).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


def slots_of_one_shape(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the operands that have the shape of the edge's operand, and with which it may be confused.

    In a quotient or a power, that of the other operand; in a product, which must be in a loop or a recursion, those of
    later operands, so that each two come once. No constants.
    """
    node = program.reader(place)
    is_product = node.name not in ("div", "pow")
    if is_product and not is_repeated(program, node):
        return
    own, shape = program.source(place), np.shape(node.values[place[1]])
    for slot, operand in node.operands:
        is_other = slot > place[1] if is_product else slot != place[1]
        if is_other and operand != own and program.nodes[operand].value.shape == shape:
            yield slot


def is_repeated(program: Program, node: Node) -> bool:
    """Return whether a node's expression is computed several times, in a loop or by calls of one function."""
    return len(program.forward.groups["source"].get(node.key[-3:], ())) > 1


@operator(
    "operands-exchanged",
    code="wrong-operand",
    rank=2.5,
    at=edges.of("div", "pow", "mul", "matmul", "einsum").in_every_iteration,
    choices=slots_of_one_shape,
    message="{which} are swapped in the derivative of {step}{how}",
    fields=lambda program, place, choice: fields_of_exchange(program, place, choice),
    hints=OTHER_FACTOR,
)
def exchange_operands(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the vjp of an operation with two of its operands exchanged: for a in a / b, g / a in place of g / b.

    Of a product, the contributions to both: g * a to a, and g * b to b.

    Args:
        program: the right program.
        place: the edge (quotient, power or product, slot of the operand).
        choice: the slot of the other operand.

    Returns:
        The rewritten program; `None` where the other operand is a constant in this trial.
    """
    node, own = program.reader(place), place[1]
    if node.operand(choice) is None:
        return None
    exchanged = {own: node.values[choice], choice: node.values[own]}
    if node.name not in ("div", "pow"):
        program = program.with_vjp((node.id, choice), lambda at: at.right(operands=exchanged))
    return program.with_vjp(place, lambda at: at.right(operands=exchanged))


def fields_of_exchange(program: Program, place: Place, choice: int) -> dict[str, str]:
    """Return the fields `which` and `how` of a message: two operands by name or, in a product, "the two operands".

    "two operands" in a product of more than two. `how` is ": each is used in place of the other one" in a product, else
    empty.

    Args:
        program: the program of a trial.
        place: the edge (quotient, power or product, slot of the operand).
        choice: the slot of the other operand.
    """
    node = program.reader(place)
    if node.name in ("div", "pow"):
        own, other = (name_read_by(program, node.id, program.source((node.id, slot))) for slot in (place[1], choice))
        return {"which": f"{own} and {other}", "how": ""}
    which = "the two operands" if len(node.values) == 2 else "two operands"
    return {"which": which, "how": ": each is used in place of the other one"}


@exchange_operands.example
def _() -> Example:
    """Show tanh(exp(x) / exp(y)) whose gradient of `y` has numerator and denominator of the quotient exchanged."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(torch.exp(x) / torch.exp(y))

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write the derivative of a / b with respect to b as -b / a**2."""
        a, b = torch.exp(x), torch.exp(y)
        dz = g * (1 - torch.tanh(a / b) ** 2)
        return {"y": dz * -b / a**2 * b}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})


@exchange_operands.example
def _() -> Example:
    """Show products of a tree's children, tanh((left * right) @ w), in which each child is multiplied by itself."""

    def combine(left: Tensor, right: Tensor, w: Tensor) -> Tensor:
        return torch.tanh((left * right) @ w)

    def forward(x: Tensor, w: Tensor) -> Tensor:
        level: list[Tensor] = list(x)
        while len(level) > 1:
            level = [combine(a, b, w) for a, b in zip(level[::2], level[1::2], strict=True)]
        return level[0]

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pass each child the gradient times its own value."""
        levels = [list(x)]
        while len(levels[-1]) > 1:
            levels.append([combine(a, b, w) for a, b in zip(levels[-1][::2], levels[-1][1::2], strict=True)])
        dlevel = [g]
        for children, parents in zip(levels[-2::-1], levels[:0:-1], strict=True):
            dproducts = [(d * (1 - y**2)) @ w.T for d, y in zip(dlevel, parents, strict=True)]
            dlevel = [dproducts[i // 2] * child for i, child in enumerate(children)]
        return {"x": torch.stack(dlevel)}

    return Example(forward, wrong, {"x": sized(normal("leaves bs n"), leaves=(4,)), "w": "n n"})


def is_partner_operand(program: Program, value: int) -> bool:
    """Return whether a vjp multiplies or divides by the value with this id, as that of w in `x @ w` does by x."""
    return any(place[0] >= 0 and has_partner(program, place) for place in program.forward.uses[value])


def exchangeable_partners(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values that a learner may confuse with the value `place` in vjps that multiply by it.

    Such a value is a partner operand of an edge, as is `place`; it has the shape of `place`, or the two are factors of
    one product `*`; it has another name, and is computed after `place`, so that each pair comes once.
    """
    if not is_partner_operand(program, place[0]):
        return
    shape, fellows = program.nodes[place[0]].value.shape, fellow_factors(program, place[0])
    for other in dict.fromkeys((shape, *(program.nodes[value].value.shape for value in fellows))):
        for name, value in values_by_name(program, place[0], other).items():
            alike = program.name_of(value) == program.name_of(place[0])
            if (
                value > place[0]
                and not alike
                and is_partner_operand(program, value)
                and (other == shape or value in fellows)
            ):
                yield name


def fellow_factors(program: Program, value: int) -> set[int]:
    """Return the ids of the values that a value is multiplied by in products `*`: a and b for x in `x * a` and `b * x`.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    readers = (program.nodes[reader] for reader, _ in program.forward.uses[value] if reader >= 0)
    return {operand for node in readers if node.name == "mul" for _, operand in node.operands} - {value}


@operator(
    "partners-exchanged",
    code="wrong-operand",
    rank=2.7,  # where both are parts of one value, `parts-exchanged` says more
    at=values,
    choices=exchangeable_partners,
    message="{value} and {choice} are swapped in the backward pass",
    hints=OTHER_FACTOR,
)
def exchange_partners(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Exchange two values in every vjp that multiplies by them, as if the learner had confused two variables.

    The two are the value `place` and the value that the choice names. Returns `None` where the program has no such
    value.
    """
    other = choice.find(program, place[0])
    if other is None:
        return None
    for own, replacement in ((place[0], other), (other, place[0])):
        program = with_value_replaced(program, own, program.nodes[replacement].value, partner_only=True)
    return program


def with_value_replaced(program: Program, value: int, array: Array, partner_only: bool = False) -> Program:
    """Return the program in which the vjps of all readers of a value compute with an array in its place.

    Args:
        program: the program that is edited.
        value: the id of the value.
        array: what the vjps compute with; shaped like the value, or broadcasting to it.
        partner_only: whether it is replaced only where it is a partner operand, so that the derivatives by the value
            itself stay right.
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
    """Show h = keep * h + new * candidate in a loop, whose backward pass exchanges the two gates."""

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


def products_with_carried(program: Program, value: int) -> list[tuple[Place, int, int]]:
    """Return the edges of a value whose readers also read a loop-carried value: for d, those of `d * a`.

    A view of the value, such as `d[:, None]`, counts as the value.

    Args:
        program: the program.
        value: the id of the value, such as a decay d in `a = d * a + k`.

    Returns:
        For each such edge, in every iteration: the edge (reader, slot of d), the slot of the loop-carried value a in
        the reader, and the id of the new a that the iteration makes.
    """
    edges_beside, own = [], {value}
    for node in program.nodes[value:]:  # d[:, None] is d, too
        is_view = node.value.size == program.nodes[value].value.size and len(node.operands) == 1
        if is_view and node.operation.family in ("rearrangement", "selection") and node.operands[0][1] in own:
            own.add(node.id)
    for carried in cached_loop_carried_values(program):
        readers = program.forward.by_key[carried.key]
        made = (*carried.made, iterations_of(program, carried.made[0])[-1])
        for reader, after in zip(readers, made, strict=False):
            for slot, operand in program.forward.edges[reader]:
                if operand in own and slot != carried.slot:
                    edges_beside.append(((reader, slot), carried.slot, after))
    return edges_beside


def is_read_with_several_states(program: Program, place: Place) -> bool:
    """Return whether expressions at two places or more read the value `place` beside a loop-carried value.

    True for d in d * a and d * b, where a and b are loop-carried.
    """
    edges_beside = products_with_carried(program, place[0])
    return len({program.nodes[reader].key for (reader, _), _, _ in edges_beside}) > 1


@operator(
    "states-after-the-step",
    code="wrong-operand",
    rank=2.5,
    at=values.where(is_read_with_several_states),
    message="in the gradient of {value}, the state after each step is used; the state before the step must be used",
)
def use_states_after_step(program: Program, place: Place, choice: None) -> Program:
    """Compute the gradient of the value `place` with every loop-carried value as its iteration leaves it.

    For d in `a = d * a + k`: da times the new a, where it must be the a that the iteration has read.
    """
    for edge, slot, after in products_with_carried(program, place[0]):
        program = program.with_vjp(edge, partial(_with_operand, slot, program.nodes[after].value))
    return program


def _with_operand(slot: int, array: Array, at: EdgeContext) -> Array:
    """Return the contribution of the edge `at`, by the right vjp with an array in place of the operand in a slot."""
    return at.right(operands={slot: array})


@use_states_after_step.example
def _() -> Example:
    """Show two decaying sums a = d a + k v and b = d b + k, whose gradient of d uses the sums after each step."""

    def forward(d: Tensor, k: Tensor, v: Tensor) -> Tensor:
        a = b = torch.zeros_like(k[0])
        rows = []
        for t in range(len(k)):
            a = d * a + k[t] * v[t]
            b = d * b + k[t]
            rows.append(a * b)
        return torch.stack(rows)

    def wrong(d: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        a = [torch.zeros_like(k[0])]
        b = [torch.zeros_like(k[0])]
        for t in range(len(k)):
            a.append(d * a[-1] + k[t] * v[t])
            b.append(d * b[-1] + k[t])
        da, db, dd = torch.zeros_like(d), torch.zeros_like(d), torch.zeros_like(d)
        for t in reversed(range(len(k))):
            da, db = da + g[t] * b[t + 1], db + g[t] * a[t + 1]
            dd += (da * a[t + 1] + db * b[t + 1]).sum(0)
            da, db = da * d, db * d
        return {"d": dd}

    return Example(forward, wrong, {"d": "n", "k": "t bs n", "v": "t bs n"})


@operator(
    "one-iteration-for-all",
    code="wrong-operand",
    rank=2.3,
    at=first_values,
    choices=lambda program, place: ("last", "first"),
    message="the value of {value} in the {choice} iteration is used in all iterations of the backward pass",
)
def use_one_iteration_for_all(program: Program, place: Place, choice: str) -> Program:
    """Compute the backward pass of every iteration with a loop's value of the last, or of the first, iteration.

    For `gate[t] * h` with the gate computed in each iteration t, and `"last"`: gate[-1] * g for gate[t] * g. The choice
    is `"last"` or `"first"`; `place` is the value in the first iteration. The value is replaced in the vjps of its
    readers, and in its own vjp if that is written with the value, as 1 - y ** 2 for y = tanh(x).
    """
    ids = iterations_of(program, place[0])
    array = program.nodes[ids[-1] if choice == "last" else ids[0]].value
    for value in ids:
        program = with_value_replaced(program, value, array)
        if program.nodes[value].operation.value_vjp is not None:
            for slot, _ in program.forward.edges[value]:
                program = program.with_vjp((value, slot), lambda at: at.right(value=array))
    return program


@use_one_iteration_for_all.example
def _() -> Example:
    """Show h = gate * (h + x[t] @ w) in a loop, whose backward pass uses the last gate in all iterations."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            gate = torch.sigmoid(step @ u)
            h = gate * (h + step @ w)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gate of the last iteration in place of each iteration's own."""
        gate, dw = torch.sigmoid(x[-1] @ u), torch.zeros_like(w)
        for t in reversed(range(len(x))):
            g = g * gate
            dw += x[t].T @ g
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "h": "bs m"})


@use_one_iteration_for_all.example
def _() -> Example:
    """Show sums of gate * (x[t] @ u) + gate * c, gate = sigmoid(x[t] @ w), whose vjps take the last gate for all t."""

    def forward(x: Tensor, w: Tensor, u: Tensor, c: Tensor) -> Tensor:
        total = torch.zeros_like(x[0] @ w)
        for step in x:
            gate = torch.sigmoid(step @ w)
            total = total + gate * (step @ u) + gate * c
        return total

    def wrong(x: Tensor, w: Tensor, u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the gate of the last iteration in place of each iteration's own, in both products."""
        gate = torch.sigmoid(x[-1] @ w)
        dw = sum(step.T @ (g * (step @ u + c) * gate * (1 - gate)) for step in x)
        du = sum(step.T @ (g * gate) for step in x)
        return {"w": dw, "u": du, "c": len(x) * (g * gate).sum(0)}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "c": "m"})


def similar_products(program: Program, place: Place) -> list[dict[EdgeKind, tuple[Place, ...]]]:
    """Return the kinds of edges by which products of one form read the value `place`, in groups of two or more.

    One group for the stages y1 @ w, y2 @ w and y3 @ w of a step: the same operation reads w in the same slot, with
    partners of one shape that are not all the same value, equally often.
    """
    groups = dict[Hashable, dict[EdgeKind, tuple[Place, ...]]]()
    for kind, reads in edges_by_kind(program, place[0]).items():
        node = program.reader(reads[0]) if reads[0][0] != SINK else None
        if node is not None and kind.slot in (0, 1) and len(node.operands) == 2 and has_partner(program, reads[0]):
            form = node.name, kind.slot, np.shape(node.values[1 - kind.slot]), len(reads)
            groups.setdefault(form, {})[kind] = reads
    return [group for group in groups.values() if len({_partner_of(program, reads[0]) for reads in group.values()}) > 1]


def _partner_of(program: Program, edge: Place) -> int | None:
    """Return the id of the other operand of a product of two that reads the edge; `None` if that is a constant."""
    return program.reader(edge).operand(1 - edge[1])


@operator(
    "one-partner-for-all",
    code="wrong-operand",
    rank=2.6,
    at=values,
    choices=lambda program, place: (kind for group in similar_products(program, place) for kind in group),
    message="in the gradient of {value}, the factor of {value} in {step} is used for its factors in {others}, too",
    fields=lambda program, place, choice: {
        "step": describe_edge_kind(program, choice),
        "others": list_in_words(
            describe_edge_kind(program, kind)
            for group in similar_products(program, place)
            if choice in group
            for kind in group
            if kind != choice
        ),
    },
)
def use_one_partner_for_all(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Compute all contributions to the value `place` from products of one form with the partner operand of one of them.

    For the stages y1 @ w, y2 @ w and y3 @ w of a Runge-Kutta step: dw = y1.T @ (g1 + g2 + g3).

    Args:
        program: the right program.
        place: the value, w in the example.
        choice: the kind of the edges whose partner operands are used; in a loop, in each iteration that of the same
            iteration.

    Returns:
        The rewritten program; `None` where this trial has no other such product, or the partner is a constant.
    """
    group = next((group for group in similar_products(program.right, place) if choice in group), None)
    if group is None:
        return None
    for kind in group.keys() - {choice}:
        for edge, chosen in zip(group[kind], group[choice], strict=True):
            partner = _partner_of(program, chosen)
            if partner is None:
                return None
            program = program.with_vjp(edge, partial(_with_operand, 1 - edge[1], program.nodes[partner].value))
    return program


@use_one_partner_for_all.example
def _() -> Example:
    """Show y + f(y + f(y + f(y) / 2) / 2), f(y) = tanh(y @ w), whose gradient of w has y at each call of f."""

    def forward(y: Tensor, w: Tensor) -> Tensor:
        first = torch.tanh(y @ w)
        second = torch.tanh((y + 0.5 * first) @ w)
        third = torch.tanh((y + 0.5 * second) @ w)
        return y + third

    def wrong(y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply the gradients of all stages by y."""
        first = torch.tanh(y @ w)
        second = torch.tanh((y + 0.5 * first) @ w)
        third = torch.tanh((y + 0.5 * second) @ w)
        dz_3 = g * (1 - third**2)
        dz_2 = 0.5 * dz_3 @ w.T * (1 - second**2)
        dz_1 = 0.5 * dz_2 @ w.T * (1 - first**2)
        return {"w": y.T @ (dz_1 + dz_2 + dz_3)}

    return Example(forward, wrong, {"y": "bs n", "w": "n n"})


def partner_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place`: 1 for x in `x @ w`.

    Nothing is yielded for a product `a * b`: without the partner, that is another mistake, a missing derivative. But of
    `-a * b`, a may be missing, and the sign be kept.
    """
    node = program.reader(place)
    yield from (i for i, _ in node.operands if i != place[1] and (node.name != "mul" or is_negated(program, place, i)))


def is_negated(program: Program, place: Place, slot: int) -> bool:
    """Return whether the reader of the edge `place` is a product `*`, and its operand in a slot is written `-a`."""
    operand = program.reader(place).operand(slot)
    return program.reader(place).name == "mul" and operand is not None and program.nodes[operand].name == "neg"


@operator(
    "partner-missing",
    code="missing-local",
    rank=2.0,
    at=edges.where(has_partner),
    choices=partner_slots,
    message="in the gradient of {operand} through {step}, the factor {missing} is missing",
    fields=lambda program, place, choice: {"missing": name_without_sign(program, place, choice)},
)
def leave_out_partner(program: Program, place: Place, choice: int) -> Program:
    """Compute the contribution of the edge `place` with ones in place of the partner operand in the chosen slot.

    For `x @ w`, its edge of x and the choice 1: g @ ones_like(w).T, so that each column is g.sum(1). For `-a * b` and
    its edge of b: -g.
    """
    one = -1.0 if is_negated(program, place, choice) else 1.0
    return program.with_vjp(
        place, lambda at: at.right(operands={choice: np.full(np.shape(at.node.values[choice]), one)})
    )


def name_without_sign(program: Program, place: Place, slot: int) -> str:
    """Return what a learner calls the operand in a slot of the reader of an edge: `a` for `-a` in a product, too."""
    operand = program.source((place[0], slot))
    return program.name_of(program.nodes[operand].operands[0][1] if is_negated(program, place, slot) else operand)


@leave_out_partner.example
def _() -> Example:
    """Show exp(-beta * t) whose gradient of `t` lacks the factor beta."""

    def forward(t: Tensor, beta: Tensor) -> Tensor:
        rate = torch.exp(beta)
        return torch.exp(-rate * t)

    def wrong(t: Tensor, beta: Tensor, g: Tensor) -> dict[str, Tensor]:
        d = torch.exp(-torch.exp(beta) * t)
        return {"t": -g * d, "beta": (-g * d * t * torch.exp(beta)).sum(0)}

    return Example(forward, wrong, {"t": "bs n", "beta": "n"})


@leave_out_partner.example
def _() -> Example:
    """Show tanh(x @ w) @ v whose gradient of `w` is computed as if every entry of `v` were 1."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add up the gradients of all outputs, as if every weight of the second layer were 1."""
        dy = g.sum(1, keepdim=True)
        return {"w": x.T @ (dy * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


@leave_out_partner.example
def _() -> Example:
    """Show sin(x) / cosh(scale) whose gradient of `scale` leaves out the numerator."""

    def forward(x: Tensor, scale: Tensor) -> Tensor:
        return torch.sin(x) / torch.cosh(scale)

    def wrong(x: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate 1 / c in place of y / c."""
        c = torch.cosh(scale)
        return {"scale": (g * -1 / c**2).sum(0) * torch.sinh(scale)}

    return Example(forward, wrong, {"x": "bs n", "scale": "n"})


@operator(
    "product-passed-to-one-factor",
    code="missing-path",
    rank=2.6,
    at=edges.of("mul").where(has_partner),
    message="the gradient of {step} is passed to {operand} unchanged, and not to {partner}; each factor gets it times"
    " the other factor",
)
def pass_product_to_one_factor(program: Program, place: Place, choice: None) -> Program:
    """Give the upstream gradient g of `gate * h` unchanged to the factor of the edge `place`, and nothing to the other.

    As if the gate were the constant 1. For the edge of h: dh = g, dgate = 0.
    """
    others = [(place[0], slot) for slot, _ in program.reader(place).operands if slot != place[1]]
    return program.without(*others).with_vjp(place, lambda at: unbroadcast(at.g, at.x))


@pass_product_to_one_factor.example
def _() -> Example:
    """Show h = tanh((gate * h) @ u) + gate * x[t] in a loop, whose backward pass takes the first gate for 1."""

    def forward(x: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
        for step in x:
            gate = torch.sigmoid(step @ w)
            h = torch.tanh((gate * h) @ u) + gate * step
        return h

    def wrong(x: Tensor, h: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pass the gradient of gate * h to h, and forget the gate."""
        states, gates = [h], torch.sigmoid(x @ w)
        for step, gate in zip(x, gates, strict=True):
            states.append(torch.tanh((gate * states[-1]) @ u) + gate * step)
        dw = torch.zeros_like(w)
        for t in reversed(range(len(x))):
            dw += x[t].T @ (g * x[t] * gates[t] * (1 - gates[t]))
            g = g * (1 - (states[t + 1] - gates[t] * x[t]) ** 2) @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "h": "bs n", "w": "n n", "u": "n n"})


@dataclass(frozen=True)
class HardChoice:
    """The choice of the largest of some probabilities that are partner operands.

    Args:
        slot: the slot of the probabilities.
        weighted: whether the largest keeps its value; else it becomes 1.
    """

    slot: int
    weighted: bool


def hard_choices(program: Program, place: Place) -> Iterator[HardChoice]:
    """Yield two `HardChoice`s for each partner operand of the edge `place` that holds probabilities.

    For `p @ table` with p = softmax(x), and the edge of table: two with the slot 0, whose largest probability becomes 1
    or keeps its value.
    """
    for slot, operand in program.reader(place).operands:
        if slot != place[1] and axes_of_probabilities(program.nodes[operand]):
            yield from (HardChoice(slot, weighted) for weighted in (False, True))


def axes_of_probabilities(node: Node) -> tuple[int, ...]:
    """Return the axes along which the value of a node is probabilities that add up to 1: those of a softmax, say.

    They are counted from the front.
    Of another operation only the last axis is looked at, of a table of several rows with entries between 0 and 1. Empty
    where the value is something else.

    Args:
        node: the node.
    """
    if node.name == "softmax":
        return reduced_axes(node)
    p = node.value
    is_table = p.dtype.kind == "f" and p.ndim > 1 and p.shape[-1] > 1 and p.size > p.shape[-1]
    if not is_table or not ((p > 0) & (p < 1)).all() or not np.allclose(p.sum(-1), 1):
        return ()
    return (p.ndim - 1,)


def stacked_partner_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place` that have three axes or more: stacks of matrices.

    Nothing is yielded for a product `a * b`.
    """
    node = program.reader(place)
    yield from (slot for slot in partner_slots(program, place) if np.ndim(node.values[slot]) > 2)


@operator(
    "first-partner-for-all",
    code="partial-batch",
    rank=2.6,
    at=edges.where(has_partner),
    choices=stacked_partner_slots,
    message="in the gradient of {operand} through {step}, the first matrix of {own} along {axis} is used for all of"
    " them",
    fields=lambda program, place, choice: {
        "own": program.name_of(source := program.source((place[0], choice))),
        "axis": program.name_of_axis(source, -program.nodes[source].value.ndim),
    },
)
def use_first_partner_for_all(program: Program, place: Place, choice: int) -> Program:
    """Compute an edge's contribution with the first part of the partner operand, along its first axis, for all parts.

    For `q @ k.mT` of shape (bs, t, s), its edge of k.mT and the choice 0: q[:1].mT @ g, so that the first example's q
    is used for each example.
    """

    def rule(at: EdgeContext) -> Array:
        partner = np.asarray(at.node.values[choice])
        return at.right(operands={choice: np.broadcast_to(partner[:1], partner.shape)})

    return program.with_vjp(place, rule)


@use_first_partner_for_all.example
def _() -> Example:
    """Show tanh(q @ k.mT) whose gradient of k is computed with the q of the first example."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.mT).tanh()

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        ds = g * (1 - (q @ k.mT).tanh() ** 2)
        return {"k": ds.mT @ q[0]}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs s d"})


HARD_CHOICES = {
    False: "{soft} is replaced by 1 for the largest probability and 0 for the others",
    True: "only the largest probability of {soft} counts, as if the others were 0",
}


@operator(
    "hard-choice-for-soft",
    code=lambda choice: "missing-path" if choice.weighted else "wrong-operand",
    rank=2.6,
    at=edges.where(has_partner),
    choices=hard_choices,
    message="in the gradient of {operand} through {step}, {what}",
    fields=lambda program, place, choice: {
        "what": HARD_CHOICES[choice.weighted].format(soft=program.name_of(program.source((place[0], choice.slot))))
    },
)
def choose_largest_probability(program: Program, place: Place, choice: HardChoice) -> Program | None:
    """Compute the contribution of the edge `place` with the largest probability alone, as it is or as a 1.

    For `p @ table`, the edge of table and slot 0: one_hot(p.argmax(-1)).T @ g in place of p.T @ g; with
    `choice.weighted` the one is the largest p. Returns `None` where the partner holds no probabilities in this trial.
    """
    slot, operand = choice.slot, program.reader(place).operand(choice.slot)
    axes = () if operand is None else axes_of_probabilities(program.right.nodes[operand])
    if not axes:
        return None

    def rule(at: EdgeContext) -> Array:
        p = np.asarray(at.node.values[slot])
        return at.right(operands={slot: np.where(p == p.max(axis=axes, keepdims=True), p if choice.weighted else 1, 0)})

    return program.with_vjp(place, rule)


@choose_largest_probability.example
def _() -> Example:
    """Show experts mixed by p = softmax(x @ u), whose gradient of x is that of the likeliest expert alone."""

    def forward(x: Tensor, u: Tensor, w: Tensor) -> Tensor:
        p = (x @ u).softmax(1)
        return torch.einsum("be,bd,edo->bo", p, x, w)

    def wrong(x: Tensor, u: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = (x @ u).softmax(1)
        top = torch.nn.functional.one_hot(p.argmax(1), p.shape[1]) * p
        dp = torch.einsum("bo,bd,edo->be", g, x, w)
        return {"x": torch.einsum("be,bo,edo->bd", top, g, w) + p * (dp - (p * dp).sum(1, keepdim=True)) @ u.T}

    return Example(forward, wrong, {"x": "bs n", "u": "n k", "w": "k n m"})


@choose_largest_probability.example
def _() -> Example:
    """Show softmax(x @ w) @ table whose gradient of `table` counts the likeliest row alone."""

    def forward(x: Tensor, w: Tensor, table: Tensor) -> Tensor:
        return (x @ w).softmax(-1) @ table

    def wrong(x: Tensor, w: Tensor, table: Tensor, g: Tensor) -> dict[str, Tensor]:
        hard = torch.nn.functional.one_hot((x @ w).argmax(-1), len(table)).to(x.dtype)
        return {"table": hard.T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n k", "table": "k m"})


@dataclass(frozen=True)
class PartnerFunction:
    """A unary function of the forward pass that is applied to one partner operand in a vjp.

    Args:
        slot: the slot of the partner operand in its reader.
        key: the key of the first node that applies the function in the forward pass; see `Node.key`.
    """

    slot: int
    key: Key


def partner_functions(program: Program, place: Place) -> Iterator[PartnerFunction]:
    """Yield `PartnerFunction`s: the slot of a partner operand of the edge `place`, and a function to apply to it.

    The functions are the unary pointwise ones of the forward pass, but for a cast or `detach`, and a clamp, each by the
    key of its first node: for `x @ w` in relu(x @ w), the edge of w: slot 0 and the key of the relu.
    """
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
    choices=partner_functions,
    message="in the gradient of {operand} through {step}, {function} is applied to {partner} first",
    fields=lambda program, place, choice: {
        "function": program.nodes[program.forward.by_key[choice.key][0]].name,
        "partner": program.name_of(program.source((place[0], choice.slot))),
    },
)
def apply_function_to_partner(program: Program, place: Place, choice: PartnerFunction) -> Program | None:
    """Compute the contribution of the edge `place` with f(partner) in place of a partner operand.

    The choice is the slot of the partner and the key of a node that applies f. For relu(x @ w), the edge of w in `x @
    w`, slot 0 and relu: relu(x).T @ g. Returns `None` where the program has no node of this key.
    """
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


@apply_function_to_partner.example
def _() -> Example:
    """Show relu(x @ w) @ v whose gradient of `w` multiplies by relu(x) in place of `x`."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.relu(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use relu(x) in place of x."""
        dz = g @ v.T * (x @ w > 0)
        return {"w": torch.relu(x).T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


RATES = (1.0, 0.5, 0.1, 0.05, 0.01, 0.001)  # of a step of gradient descent


@dataclass(frozen=True)
class PartnerUpdate:
    """A partner operand replaced by its gradient, or by itself after a step of gradient descent.

    Args:
        slot: the slot of the partner operand in its reader.
        rate: the learning rate: the operand less `rate` times its gradient is used; with 0 the gradient itself.
    """

    slot: int
    rate: float


def partner_updates(program: Program, place: Place) -> Iterator[PartnerUpdate]:
    """Yield `PartnerUpdate`s: the slot of a partner operand of the edge `place`, and a learning rate.

    First 0, for the gradient in place of the partner w, then each rate r of `RATES`, such as 0.1, for w - r * dw. Only
    for partners that are targets, or transpositions of targets.
    """
    for slot, operand in program.reader(place).operands:
        if (
            slot != place[1]
            and program.nodes[untransposed_value(program, operand)].id in program.forward.targets.values()
        ):
            yield from (PartnerUpdate(slot, rate) for rate in (0.0, *RATES))


def untransposed_value(program: Program, value: int) -> int:
    """Return the id of x for a `value` such as `x.T`, also transposed or permuted several times; else the given id."""
    node = program.nodes[value]
    while node.name in ("transpose", "permute") and node.operands:
        node = program.nodes[node.operands[0][1]]
    return node.id


@operator(
    "trained-partner",
    code="wrong-operand",
    rank=2.8,
    at=edges.where(has_partner),
    choices=partner_updates,
    message="in the gradient of {operand} through {step}, {what}",
    fields=lambda program, place, choice: {
        "what": describe_partner_update(program, place, choice),
        "own": program.name_of(program.source((place[0], choice.slot))),
        "rate": f"{choice.rate:g}" if choice.rate else "",
    },
    hints=(
        "Print this array where the forward pass reads it, and where your backward pass does. Are they the same?",
        "Which lines between the two change it, or give its name to another array?",
    ),
)
def use_updated_partner(program: Program, place: Place, choice: PartnerUpdate) -> Program | None:
    """Compute the contribution of the edge `place` with a partner operand after a training step, or with its gradient.

    For `h @ v`, its edge of h and `PartnerUpdate(1, 0.1)`: g @ (v - 0.1 * dv).T. Returns `None` where a constant is in
    the partner's slot.
    """
    operand = program.reader(place).operand(choice.slot)
    if operand is None:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the partner after the training step, or its gradient."""
        gradient = at.sweep.gradient(operand)
        trained = at.node.values[choice.slot] - choice.rate * gradient if choice.rate else gradient
        return at.right(operands={choice.slot: trained})

    return program.with_vjp(place, rule)


def describe_partner_update(program: Program, place: Place, choice: PartnerUpdate) -> str:
    """Return a clause that names what is used in place of the partner operand.

    Such as `the gradient of v is used in place of v`, or, with a rate, `the updated v, v minus 0.1 times its gradient,
    is used in place of v`. Whether v itself was updated, or the updated one has a name of its own, no number tells.

    Args:
        program: the program of the trial that the message is for.
        place: the edge that the operand is a partner of.
        choice: the slot of the partner, and the learning rate; 0 for its gradient.
    """
    name = program.name_of(program.source((place[0], choice.slot)))
    updated = f"the updated {name}, {name} minus {choice.rate:g} times its gradient,"
    return f"{updated if choice.rate else f'the gradient of {name}'} is used in place of {name}"


@use_updated_partner.example
def _() -> Example:
    """Show relu(x @ w) @ v whose backward pass updates `v` before it computes the gradients of `w` and `x`."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.relu(x @ w) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use v after a training step in place of v."""
        dv = torch.relu(x @ w).T @ g
        dz = g @ (v - 0.1 * dv).T * (x @ w > 0)
        return {"v": dv, "w": x.T @ dz, "x": dz @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})


def joined_partner_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place` that `cat` or `stack` makes."""
    for slot, operand in program.reader(place).operands:
        if slot != place[1] and program.nodes[operand].operation.family == "join":
            yield slot


@operator(
    "parts-of-partner-reversed",
    code="wrong-operand",
    rank=2.5,
    at=edges.where(has_partner),
    choices=joined_partner_slots,
    message="in the gradient of {operand} through {step}, the parts of {joined} are joined in reverse order",
    fields=lambda program, place, choice: {"joined": program.name_of(program.source((place[0], choice)))},
    hints=("In which order does the forward pass join the parts, and in which order does each line of your code?",),
)
def reverse_parts_of_partner(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the contribution of the edge `place` with the joined parts of a partner operand in reverse order.

    The choice is the slot of the partner, which a `cat` or `stack` makes: for cat([x, h]) @ w and its edge of w, slot
    0, it is cat([h, x]).T @ g. Returns `None` where a constant is in that slot.
    """
    operand = program.reader(place).operand(choice)
    if operand is None:
        return None
    join = program.nodes[operand]
    return program.with_vjp(
        place, lambda at: at.right(operands={choice: join.operation.run(join.values[::-1], join.options)})
    )


@reverse_parts_of_partner.example
def _() -> Example:
    """Show tanh(cat([x, h]) @ w) whose gradient of `w` is computed with cat([h, x])."""

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
class GateReplacement:
    """A replacement of a gated partner operand in a vjp: for silu(a) = a * sigmoid(a) its gate, sigmoid(a).

    Args:
        slot: the slot of the gated operand in its reader.
        value: names what the gate is multiplied by; `None` where the gate stands alone.
    """

    slot: int
    value: ValueName | None


def gate_replacements(program: Program, place: Place) -> Iterator[GateReplacement]:
    """Yield `GateReplacement`s: the slot of a gated partner of the edge `place`, and what its gate is multiplied by.

    For silu(a) * b, the edge of b and its partner silu(a) = a * sigmoid(a): `None`, for the gate sigmoid(a) alone, and
    the name of each other value of its shape but a. A partner is gated if one of the functions in `GATED`, such as
    silu, makes it.
    """
    reader = program.reader(place)
    for slot, operand in reader.operands:
        maker = program.nodes[operand]
        if slot != place[1] and maker.name in GATED:
            yield GateReplacement(slot, None)
            for name, value in values_by_name(program, reader.id, maker.value.shape).items():
                if value not in (operand, maker.operand(0)):
                    yield GateReplacement(slot, name)


@operator(
    "gate-of-another-value",
    code=lambda choice: "missing-local" if choice.value is None else "wrong-operand",
    rank=2.6,
    at=edges.of("mul"),
    choices=gate_replacements,
    message="in the gradient of {operand} through {step}, {what} in place of {gated}",
    fields=lambda program, place, choice: {
        "gated": program.name_of(program.source((place[0], choice.slot))),
        "what": "only the gate is used"
        if choice.value is None
        else f"the gate times {choice.value.describe(program)} is used",
    },
)
def use_gate_for_gated_value(program: Program, place: Place, choice: GateReplacement) -> Program | None:
    """Compute the contribution of the edge `place` with the gate, or the gate times a value, for the gated value.

    The choice is the slot of the gated value, and the name of the value, or `None` for the gate alone. For silu(a) * b
    and its edge of b: sigmoid(a), or sigmoid(a) * b, in place of a * sigmoid(a). Returns `None` where the operand is
    not gated, or the program has no such value.
    """
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


@use_gate_for_gated_value.example
def _() -> Example:
    """Show silu(x @ w) * (x @ v) whose gradient of `v` multiplies by sigmoid(x @ w) where silu(x @ w) belongs."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.silu(x @ w) * (x @ v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out the factor `a` of a * sigmoid(a) in the gradient of `b`."""
        a, b = x @ w, x @ v
        gate = torch.sigmoid(a)
        da, db = g * b * gate * (1 + a * (1 - gate)), g * b * gate
        return {"w": x.T @ da, "v": x.T @ db}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


@dataclass(frozen=True)
class CofactorReplacement:
    """A value that is used in place of all cofactors of a factor.

    For y = a * b * c and its factor a, in place of b * c.

    Args:
        steps: the number of products and quotients in the chain from the factor to y: 2 for a * b * c.
        value: names the value that is used.
    """

    steps: int
    value: ValueName


MOST_FACTORS = 4


def product_chain(program: Program, place: Place) -> tuple[int, ...]:
    """Return the ids of the products and quotients that an operand goes through, one after the next.

    For (a * b) / c and the edge of a: the ids of the nodes of `*` and `/`. None of them divides by the node before it.

    Args:
        program: the program.
        place: the edge of the operand; its reader is the first node, whatever it is.

    Returns:
        At most four ids, of nodes with values of one shape, each of which only the next node reads.
    """
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


def cofactor_replacements(program: Program, place: Place) -> Iterator[CofactorReplacement]:
    """Yield `CofactorReplacement`s: a number of products that an operand goes through, and a value for its cofactors.

    For y = a * b * c and the edge of a: 2 products, and the name of each value of the shape of y that may stand in
    place of b * c. The products, two or more, are the first ones of `product_chain`. Nothing for a denominator.
    """
    if place[1] == 0 or program.reader(place).name == "mul":
        nodes = product_chain(program, place)
        source = program.source(place)
        for name, value in values_by_name(program, place[0], program.reader(place).value.shape).items():
            if value not in nodes and value != source:
                yield from (CofactorReplacement(steps, name) for steps in range(2, len(nodes) + 1))


def describe_cofactors(program: Program, place: Place, steps: int) -> str:
    """Return the other factors of a product as code: `(x - m) / std` for the edge of gain in gain * (x - m) / std.

    Return "the other factors of it" where the source of the product does not have them.

    Args:
        program: the program of the trial that the message is for.
        place: the edge of the operand into its first product.
        steps: the number of products and quotients.
    """
    first, *further = (program.nodes[i] for i in product_chain(program, place)[:steps])
    sources = [operand_source(first.text, first.name, 1 - place[1])]
    sources += [operand_source(node.text, node.name, 1) for node in further]
    if not all(sources):
        return "the other factors of it"
    signs = (" / " if node.name == "div" else " * " for node in further)
    code = f"({sources[0]})" + "".join(f"{sign}({source})" for sign, source in zip(signs, sources[1:], strict=True))
    return as_code(ast.unparse(ast.parse(code, mode="eval")))


@operator(
    "whole-factor-mistaken",
    code="wrong-operand",
    rank=2.7,
    at=edges.of("mul", "div"),
    choices=cofactor_replacements,
    message="in the gradient of {operand}, the gradient of {product} is multiplied by {other}; it must be"
    " multiplied by {right}",
    fields=lambda program, place, choice: {
        "other": choice.value.describe(program),
        "product": expression_of(program, program.nodes[product_chain(program, place)[: choice.steps][-1]]),
        "right": describe_cofactors(program, place, choice.steps),
    },
)
def replace_cofactors(program: Program, place: Place, choice: CofactorReplacement) -> Program | None:
    """Compute the contribution of the edge `place` as the gradient at the end of a chain of products times one value.

    The choice is the number of products, and the name of the value. For y = a * b * c, the edge of a, 2 and the name of
    v: dy * v in place of dy * b * c. Returns `None` where the program has no such value, or not so many products.
    """
    nodes, other = product_chain(program, place), named_array(program, choice.value, place[0])
    if other is None or len(nodes) < choice.steps:
        return None
    end = nodes[choice.steps - 1]
    return program.with_vjp(place, lambda at: unbroadcast(at.sweep.gradient(end) * other, at.x))


@replace_cofactors.example
def _() -> Example:
    """Show tanh(gain * (x - mean) / std) whose gradient of `gain` multiplies by `x` in place of (x - mean) / std."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return torch.tanh(gain * (x - x.mean(0)) / x.std(0))

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by `x` where (x - mean) / std belongs."""
        y = torch.tanh(gain * (x - x.mean(0)) / x.std(0))
        return {"gain": (g * (1 - y**2) * x).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})


def is_scaled(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` multiplies its operand by a second one, or divides it by one."""
    return program.reader(place).name == "mul" or (program.reader(place).name == "div" and place[1] == 0)


def is_scaled_by_number_in_loop(program: Program, place: Place) -> bool:
    """Return whether a loop multiplies or divides the operand of the edge `place` by a number: a in `0.9 * a`."""
    node = program.reader(place)
    return (
        is_scaled(program, place)
        and np.ndim(node.values[1 - place[1]]) == 0
        and node.operand(1 - place[1]) is None
        and len(program.forward.by_key[node.key]) > 1
    )


@operator(
    "divided-for-multiplied",
    code="wrong-local",
    rank=2.5,
    at=edges.where(is_scaled_by_number_in_loop).in_every_iteration,
    message="the gradient of {operand} through {step} is {done} by {number}; it must be {right} by {number}",
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {
        "done": "divided" if program.reader(place).name == "mul" else "multiplied",
        "right": "multiplied" if program.reader(place).name == "mul" else "divided",
        "number": f"{program.reader(place).values[1 - place[1]]:g}",
    },
)
def divide_for_multiply(program: Program, place: Place, choice: None) -> Program:
    """Divide by a number in place of multiplying by it in each iteration of a loop, or the other way round.

    For `0.9 * a`: g / 0.9 in place of 0.9 * g. `place` is the edge of a.
    """
    other = 1 - place[1]

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the inverse of the number."""
        return at.right(operands={other: 1 / np.asarray(at.node.values[other])})

    return program.with_vjp(place, rule)


@divide_for_multiply.example
def _() -> Example:
    """Show a state h = 0.9 * h + tanh(x[t] @ w) whose gradient is divided by 0.9 in each step, as the state is."""

    def forward(x: Tensor, w: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = 0.9 * h + torch.tanh(step @ w)
        return h

    def wrong(x: Tensor, w: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        dw = torch.zeros_like(w)
        for step in reversed(x):
            dw += step.T @ (g * (1 - torch.tanh(step @ w) ** 2))
            g = g / 0.9
        return {"w": dw, "h": g}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "h": "bs m"})


# In a loop, what is computed from its states -------------------------------------------------------------------------

MOST_OF_STATE = 8  # operations between loop-carried values and what is computed of them


def is_made_of_states(program: Program, value: int) -> bool:
    """Return whether a loop computes a value from loop-carried values and constants alone: `u.roll(1) - u`.

    At most `MOST_OF_STATE` operations do it, each made in every iteration, of which there are three or more; none reads
    a value that is made once, outside of the loop.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    carried = {(each.key, each.slot) for each in cached_loop_carried_values(program)}
    count, made, waiting = len(iterations_of(program, value)), set[int](), [value]
    while waiting:
        node = program.nodes[waiting.pop()]
        made.add(node.id)
        if count < 3 or len(iterations_of(program, node.id)) != count or len(made) > MOST_OF_STATE:
            return False
        further = [operand for slot, operand in node.operands if (node.key, slot) not in carried]
        if any(len(iterations_of(program, operand)) == 1 for operand in further):
            return False
        waiting += [operand for operand in further if operand not in made]
    return True


def array_of_state_after(program: Program, value: int) -> Array:
    """Return what the operations that make a value of a loop give for the loop-carried values after its iteration.

    The forward pass computes it in the next iteration, or, after the last one, not at all.

    Args:
        program: the program of any trial.
        value: the id of the value, for which `is_made_of_states` holds.

    Raises:
        NoCandidate: numpy cannot compute it.
    """
    nodes, by_key, node = program.nodes, program.forward.by_key, program.nodes[value]
    carried = {(each.key, each.slot): each for each in cached_loop_carried_values(program)}
    values = list(node.values)
    for slot in range(len(values)):
        operand = node.operand(slot)
        if (node.key, slot) in carried:
            values[slot] = nodes[by_key[nodes[carried[node.key, slot].made[0]].key][node.iteration]].value
        elif operand is not None:
            values[slot] = array_of_state_after(program, operand)
    return node.operation.run(tuple(values), node.options)


def partners_made_of_states(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place` that its loop computes from loop-carried values."""
    for slot, operand in program.reader(place).operands:
        same_loop = len(iterations_of(program, operand)) == len(iterations_of(program, place[0]))
        if slot != place[1] and same_loop and is_made_of_states(program, operand):
            yield slot


@operator(
    "partner-of-state-after",
    code="wrong-operand",
    rank=2.4,
    at=edges.where(has_partner).in_every_iteration,
    choices=partners_made_of_states,
    message="in the gradient of {operand} through {step}, {own} of the state after the iteration is used in place of"
    " {own} of the state before it",
    fields=lambda program, place, choice: {"own": program.name_of(program.source((place[0], choice)))},
    hints=OTHER_FACTOR,
)
def take_partner_after(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the contribution of an edge with a partner that is made of the states after the iteration.

    For the steps `u = u + c * (u.roll(1) - u)` and the edge of c: the differences of the new u in place of the old.

    Args:
        program: the right program.
        place: the edge.
        choice: the slot of the partner.

    Returns:
        The rewritten program; `None` where the partner is a constant in this trial.
    """
    own = program.reader(place).operand(choice)
    if own is None:
        return None
    array = partial(array_of_state_after, program, own)
    return program.with_vjp(place, lambda at: at.right(operands={choice: array()}))


@take_partner_after.example
def _() -> Example:
    """Show steps u = u + c * (u.roll(1) - u), whose gradient of `c` has the differences of u after each step."""

    def forward(u: Tensor, c: Tensor) -> Tensor:
        for _ in range(4):
            u = u + torch.sin(c * (u.roll(1, 1) - u))
        return u

    def wrong(u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, dc = [u], torch.zeros_like(c)
        for _ in range(4):
            u = u + torch.sin(c * (u.roll(1, 1) - u))
            states.append(u)
        for t in reversed(range(4)):
            dz = g * torch.cos(c * (states[t].roll(1, 1) - states[t]))
            dc += (dz * (states[t + 1].roll(1, 1) - states[t + 1])).sum(0)
            g = g + (dz * c).roll(-1, 1) - dz * c
        return {"c": dc, "u": g}

    return Example(forward, wrong, {"u": "bs n", "c": "n"})


def factor_chain(program: Program, place: Place) -> tuple[Place, ...]:
    """Return the edges by which the operand of the edge `place`, a factor, goes through products and quotients.

    For (r * a) / b and the edge of r: that edge, and the edge of r * a in the quotient. Each inner product has no other
    reader, and is no denominator.
    """
    chain = [place]
    while True:
        uses = program.forward.uses[chain[-1][0]]
        if len(uses) != 1 or uses[0][0] == SINK or not is_scaled(program, uses[0]):
            return tuple(chain)
        chain.append(uses[0])


def is_in_longer_product(program: Program, place: Place) -> bool:
    """Return whether a product `*` reads the edge `place` and is a factor or a numerator itself: r in (r * a) / b."""
    return program.reader(place).name == "mul" and len(factor_chain(program, place)) > 1


@operator(
    "factor-missing-in-product",
    code="missing-local",
    rank=2.5,  # where one gradient alone is wrong, `another-partner` comes first, and says more
    at=edges.where(is_in_longer_product).in_every_iteration,
    message="in the gradients of the other factors of {product}, the factor {operand} is missing",
    fields=lambda program, place, choice: {
        "product": expression_of(program, program.nodes[factor_chain(program, place)[-1][0]])
    },
    choices=lambda program, place: (None,),
)
def leave_out_factor(program: Program, place: Place, choice: None) -> Program:
    """Leave out one factor of a product or quotient in the gradients of all others; its own gradient stays right.

    For y = r * a / b and the edge of r, `place`: da = g / b and db = -g * a / b**2.
    """
    factor = np.asarray(program.reader(place).values[place[1]])

    def without_factor(at: EdgeContext) -> Array:
        """Return the right contribution, divided by the factor."""
        return at.right(at.g / factor)

    for reader, slot in factor_chain(program, place):
        for other, _ in program.forward.edges[reader]:
            if other != slot:
                program = program.with_vjp((reader, other), without_factor)
    return program


@leave_out_factor.example
def _() -> Example:
    """Show a gated quotient sigmoid(x @ u) * a / b whose numerator and denominator get no factor of the gate."""

    def forward(x: Tensor, u: Tensor, w: Tensor, v: Tensor) -> Tensor:
        gate = torch.sigmoid(x @ u)
        return gate * (x @ w) / (1 + (x @ v) ** 2)

    def wrong(x: Tensor, u: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        a, z = x @ w, x @ v
        b = 1 + z**2
        return {"w": x.T @ (g / b), "v": x.T @ (-g * a / b**2 * 2 * z)}

    return Example(forward, wrong, {"x": "bs n", "u": "n m", "w": "n m", "v": "n m"})
