"""Operators that leave out, replace or repeat contributions where several edges lead to one value."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, sized
from grader.diagnosis.hints import EVERY_ITERATION
from grader.diagnosis.words import list_in_words
from grader.program.forward import SINK, Forward, Key, Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, EdgeVjp, Program, as_code
from grader.program.queries import EdgeKind, edges_by_kind, skip_connections
from grader.program.selectors import ComputedValue

from .contract import Example, describe_edge_kind, operator
from .places import edges, expression_of, values, values_with_same_gradient


def has_fellow_contributions(program: Program, place: Place) -> bool:
    """Return whether the operand of the edge `place` also gets a gradient along a second edge, as x in `x * sin(x)`.

    For an edge in a loop, True if this holds in at least one iteration. False for an edge that leads no gradient to a
    target.
    """
    forward = program.forward
    if place not in forward.sources:
        return False
    if place[0] == SINK:
        return len(forward.uses[program.source(place)]) > 1
    reads = (program.nodes[reader].operand(place[1]) for reader in forward.by_key[program.reader(place).key])
    return any(value is not None and len(forward.uses[value]) > 1 for value in reads)


def is_numerator_over_itself(program: Program, place: Place) -> bool:
    """Return whether the edge `place` leads to a numerator that the denominator is made of, as x in `x / x.norm()`."""
    node = program.reader(place)
    denominator = node.operand(1) if node.name == "div" and place[1] == 0 else None
    return denominator is not None and bool(program.forward.ancestors[denominator] >> program.source(place) & 1)


def is_likely_forgotten(program: Program, place: Place) -> bool:
    """Return whether the edge `place` may be left out, and is none that everybody begins with.

    That is the numerator's path in a quotient whose denominator is made of the numerator.
    """
    return has_fellow_contributions(program, place) and not is_numerator_over_itself(program, place)


@operator(
    "path-dropped",
    code="missing-path",
    rank=1.0,
    at=edges.where(is_likely_forgotten),
    message="{path} is missing",
)
def drop_path(program: Program, place: Place, choice: None) -> Program:
    """Leave out the contribution of the edge `place`; its operand keeps the contributions of its further edges."""
    return program.without(place)


@drop_path.example
def _() -> Example:
    """Show x + tanh(x @ w) whose gradient of `x` leaves out the contribution of the sum."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x + torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(x @ w)
        return {"x": (g * (1 - y**2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@drop_path.example
def _() -> Example:
    """Show the stack of h = tanh(x[t] @ w + h @ u), whose gradient of each h is g[t], with none from the next h."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take g[t] alone for the gradient of each state."""
        dw = torch.zeros_like(w)
        for t, step in enumerate(x):
            h = torch.tanh(step @ w + h @ u)
            dw += step.T @ (g[t] * (1 - h**2))
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@operator(
    "numerator-dropped",
    code="missing-path",
    rank=2.0,
    at=edges.where(is_numerator_over_itself).where(has_fellow_contributions),
    message="{path} is missing",
)
def drop_numerator(program: Program, place: Place, choice: None) -> Program:
    """Leave out the contribution of a numerator, whose value keeps what it gets through the denominator."""
    return program.without(place)


@drop_numerator.example
def _() -> Example:
    """Show h / sqrt(sum(h * h)), h = tanh(x @ w), whose gradient of `h` is that of the norm alone."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        h = torch.tanh(x @ w)
        return h / (h * h).sum(1, keepdim=True).sqrt()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        h = torch.tanh(x @ w)
        dh = -h * (g * h).sum(1, keepdim=True) / (h * h).sum(1, keepdim=True) ** 1.5
        dz = dh * (1 - h**2)
        return {"x": dz @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


LARGEST_EXPRESSION = 20  # operations: a chain of more is no expression that anybody writes
EdgeKeys = frozenset[tuple[Key, int]]  # of edges of one iteration: the key of the reader, and the slot


def edges_of_expression(program: Program, value: int) -> dict[int, dict[tuple[Key, int], Place]]:
    """Return the edges by which an expression reads what it is made of, for each operand that it reads more than once.

    For `k * a + (1 - k) * b`, the value of the sum: the edges of k, in `k * a` and in `1 - k`. Values that only this
    expression uses, such as `1 - k`, belong to it, up to `LARGEST_EXPRESSION` of them.

    Args:
        program: the program of a trial.
        value: the id of the expression's value.

    Returns:
        By the id of an operand, its edges, each by the key of its reader and its slot.
    """
    forward, inside = program.forward, {value}
    edges_by_operand: dict[int, dict[tuple[Key, int], Place]] = {}
    waiting = [-operand for _, operand in forward.edges[value]]
    heapq.heapify(waiting)  # the value that is computed last comes first, so that all its readers have been seen
    while waiting:
        node = -heapq.heappop(waiting)
        if node in inside or node in edges_by_operand:
            continue
        is_used_here_alone = all(reader in inside for reader, _ in forward.uses[node])
        if is_used_here_alone and program.nodes[node].operation.family != "input" and len(inside) < LARGEST_EXPRESSION:
            inside.add(node)
            for _, operand in forward.edges[node]:
                heapq.heappush(waiting, -operand)
        else:
            places = [place for place in forward.uses[node] if place[0] in inside]
            edges_by_operand[node] = {(program.nodes[reader].key, slot): (reader, slot) for reader, slot in places}
    return {operand: reads for operand, reads in edges_by_operand.items() if len(reads) > 1}


def operands_used_twice(program: Program, place: Place) -> Iterator[EdgeKeys]:
    """Yield the edges of each operand that the expression of a value reads more than once, and that is read elsewhere.

    Edges that a part of the expression has, as `k * a + (1 - k) * b` in its sine, are yielded for that part alone.

    Args:
        program: the program of a trial.
        place: the value.
    """
    parts = [frozenset(reads) for _, part in program.nodes[place[0]].operands
             for reads in edges_of_expression(program, part).values()]  # fmt: skip
    for operand, reads in edges_of_expression(program, place[0]).items():
        if len(program.forward.uses[operand]) > len(reads) and frozenset(reads) not in parts:
            yield frozenset(reads)


def uses_operand_twice(program: Program, place: Place) -> bool:
    """Return whether the expression of the value `place` reads an operand repeatedly that is also read elsewhere."""
    return any(True for _ in operands_used_twice(program, place))


def name_of_shared_operand(program: Program, choice: EdgeKeys) -> str:
    """Return what a learner calls the operand that the edges of the choice lead to, such as `k`.

    "an operand" where it is a constant in the last iteration.
    """
    key, slot = min(choice, key=lambda edge: program.forward.by_key[edge[0]][-1])
    operand = program.nodes[program.forward.by_key[key][-1]].operand(slot)
    return "an operand" if operand is None else program.name_of(operand)


@operator(
    "uses-dropped-together",
    code="missing-path",
    rank=1.6,  # after a single path that is left, which is often the reason
    at=values.where(uses_operand_twice),
    choices=operands_used_twice,
    message="the path from {operand} through {step} is missing",
    fields=lambda program, place, choice: {"operand": name_of_shared_operand(program, choice)},
)
def drop_uses(program: Program, place: Place, choice: EdgeKeys) -> Program | None:
    """Leave out what an operand gets from an expression that reads it more than once; it keeps what it gets elsewhere.

    For `h = k * a + (1 - k) * b` and the edges of k there: k gets nothing from h.

    Args:
        program: the right program.
        place: the value of the expression.
        choice: the operand's edges, each as the key of its reader and its slot.

    Returns:
        The rewritten program; `None` where the expression does not read the operand in this trial.
    """
    for reads in edges_of_expression(program, place[0]).values():
        if frozenset(reads) == choice:
            return program.without(*reads.values())
    return None


@drop_uses.example
def _() -> Example:
    """Show tanh(p x + (1 - p) h) * (p x + (1 - p) c), p = sigmoid(k), whose dk goes through the first factor alone."""

    def forward(x: Tensor, k: Tensor, h: Tensor, c: Tensor) -> Tensor:
        gate = torch.sigmoid(k)
        mixed = gate * x + (1 - gate) * h
        return torch.tanh(mixed) * (gate * x + (1 - gate) * c)

    def wrong(x: Tensor, k: Tensor, h: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        gate = torch.sigmoid(k)
        mixed = gate * x + (1 - gate) * h
        dmixed = g * (gate * x + (1 - gate) * c) * (1 - torch.tanh(mixed) ** 2)
        dc = g * torch.tanh(mixed)
        dk = (dmixed * (x - h)).sum(0) * gate * (1 - gate)
        return {"x": gate * (dmixed + dc), "k": dk, "h": dmixed * (1 - gate), "c": dc * (1 - gate)}

    return Example(forward, wrong, {"x": "bs n", "k": "n", "h": "bs n", "c": "bs n"})


def is_made_of_shared_values(program: Program, place: Place) -> bool:
    """Return whether a computed value, if no gradient goes through it, leaves another path to what it is made of.

    For the slope `(y[1:] - y[:-1]) / 2`: True if y is also used elsewhere. False for `y[1:] - y[:-1]`, which the slope
    alone is made of: without a gradient through the one, there is none through the other. False for `x + y` in the sum
    `x + y + z`, which has no meaning of its own.

    Args:
        program: the program of a trial.
        place: the value.
    """
    forward = program.forward

    def is_shared(value: int) -> bool:
        """Return whether a value has several edges, or a value that it is made of is shared in this way."""
        return len(forward.uses[value]) > 1 or any(is_shared(operand) for _, operand in forward.edges[value])

    reader, *others = (reader for reader, _ in forward.uses[place[0]])
    if not others and reader != SINK:
        names = {program.nodes[place[0]].name, program.nodes[reader].name}
        if len(forward.edges[reader]) == 1 or names <= {"add", "sub"}:
            return False
    return any(is_shared(operand) for _, operand in forward.edges[place[0]])


def name_in_call(program: Program, place: Place) -> Iterator[str]:
    """Yield one choice: the name of a value, with the call that makes it where several do, as `x - m` in `norm(h)`.

    Args:
        program: the program of a trial.
        place: the value.
    """
    node, name = program.nodes[place[0]], program.name_of(place[0])
    is_own = node.call.startswith("_") or node.call in name  # a spec's own function; or the call itself, or none
    if not is_own and len(calls_of_function(program, place[0])) > 1:
        yield f"{name} in `{node.call}`"
    else:  # other values may be written as this one is
        yield expression_of(program, node) if name == as_code(node.text) else name


@operator(
    "paths-dropped-together",
    code="missing-path",
    rank=1.1,
    at=values.where(is_made_of_shared_values),
    choices=name_in_call,
    message="no gradient goes through {choice}, as if it were constant",
)
def hold_constant(program: Program, place: Place, choice: str) -> Program:
    """Leave out all contributions to the value `place`; what it is made of keeps what it gets elsewhere.

    For the slope s = (y[1:] - y[:-1]) / 2 in f(y, s): y gets the contribution of f alone. The choice is the name of the
    value, for the message.
    """
    return program.without(*program.forward.uses[place[0]])


@hold_constant.example
def _() -> Example:
    """Show y[:-1] * x + y[1:] * (1 - x) + s * x**2, s = (y[1:] - y[:-1]) / 2, whose y gets nothing through s."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        slope = (y[1:] - y[:-1]) / 2
        return y[:-1] * x + y[1:] * (1 - x) + slope * x**2

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        dy = torch.zeros_like(y)
        dy[:-1] += (g * x).sum(0)
        dy[1:] += (g * (1 - x)).sum(0)
        return {"y": dy}

    return Example(forward, wrong, {"x": "bs 3", "y": "4"})


@hold_constant.example
def _() -> Example:
    """Show x @ (w / (u @ w @ v)), u = w @ v / norm(w @ v), whose gradients take u @ w @ v for constant."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        u = w @ v
        u = u / (u * u).sum().sqrt()
        sigma = u @ w @ v
        return x @ (w / sigma)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        u = w @ v
        u = u / (u * u).sum().sqrt()
        return {"w": x.T @ g / (u @ w @ v), "v": torch.zeros_like(v)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m"})


@hold_constant.example
def _() -> Example:
    """Show p * (x + y * p) + (1 - p) * y + (1 - p) * sin(x), p = sigmoid(c)[0], whose p gets nothing through 1 - p."""

    def forward(x: Tensor, y: Tensor, c: Tensor) -> Tensor:
        p = torch.sigmoid(c)
        return p[0] * (x + y * p[0]) + (1 - p[0]) * y + (1 - p[0]) * torch.sin(x)

    def wrong(x: Tensor, y: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        p, dp = torch.sigmoid(c), torch.zeros_like(c)
        dp[0] = (g * (x + 2 * y * p[0])).sum()
        return {"c": dp * p * (1 - p)}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n", "c": "k"})


@dataclass(frozen=True)
class IterationsToKeep:
    """The only iterations of a loop whose contributions to one value are kept.

    Args:
        edge_kind: the kind of edges by which the iterations contribute to the value, such as that through `h @ u`.
        end: the end of the loop at which the kept iterations are.
        count: the number of kept iterations: with the end `"last"` and 2, the last two.
    """

    edge_kind: EdgeKind
    end: Literal["first", "last"]
    count: int

    @property
    def code(self) -> str:
        """Return the public code: `overwritten` where the first iteration is kept alone, else `missing-path`.

        The backward pass visits the first iteration last, so that an assignment in place of a sum keeps it alone; a
        backward pass that stops too early keeps the last iterations.
        """
        return "overwritten" if self.end == "first" and self.count == 1 else "missing-path"

    def dropped_edges(self, places: tuple[Place, ...]) -> tuple[Place, ...]:
        """Return the edges whose contributions are left out: all but those of `self.count` iterations at `self.end`.

        Args:
            places: all edges of the kind that lead to the value, the latest iteration first.
        """
        return places[self.count :] if self.end == "last" else places[: -self.count]

    def values_alike(self, program: Program, value: int) -> tuple[int, ...]:
        """Return the ids of a value that a loop makes, and of initial ones that edges of the kind lead to as well.

        In `s[t] = f(s[t - 1], s[t - 2])` the initial s[0] is read like those that the loop makes. Of a value that is
        made before a loop, its own id alone. The id of the value itself comes first.

        Args:
            program: the program of any trial.
            value: the id of the value.
        """
        nodes, slot = program.nodes, self.edge_kind.slot
        is_initial = len(program.forward.by_key[nodes[value].key]) == 1
        if slot is None or self.edge_kind.iterations is not None or is_initial:
            return (value,)
        read = (nodes[reader].operand(slot) for reader in program.forward.by_key.get(self.edge_kind.key, ()))
        others = {each for each in read if each is not None and nodes[each].key != nodes[value].key}
        return (value, *sorted(others))


def kept_iterations(program: Program, place: Place) -> Iterator[IterationsToKeep]:
    """Yield `IterationsToKeep`: the only iterations of a loop whose contributions to the value `place` are kept.

    For each kind of edges by which three iterations or more read the value: the first one, two and three iterations,
    and the last one and two; of three iterations, not the first three, which are all. Where two iterations read each
    value that a loop makes: the first one or the last one.
    """
    is_made_in_loop = len(program.forward.by_key[program.nodes[place[0]].key]) > 1
    for edge_kind, places in edges_by_kind(program, place[0]).items():
        iterations = len({program.nodes[reader].iteration for reader, _ in places if reader != SINK})
        if iterations > 2 or (iterations == 2 and is_made_in_loop):
            yield from (IterationsToKeep(edge_kind, end, 1) for end in ("first", "last"))
        if iterations > 2:
            yield IterationsToKeep(edge_kind, "last", 2)
            yield from (IterationsToKeep(edge_kind, "first", count) for count in (2, 3) if count < iterations)


def describe_kept_iterations(program: Program, place: Place, choice: IterationsToKeep) -> str:
    """Return which contributions to a value are kept, with the verb: "the contribution of the last iteration is".

    Where several kinds of edges lead to the value, the operation is named: "the contribution of `h @ u` in the ...".

    Args:
        program: the program of the trial that the message is for.
        place: the value.
        choice: the iterations that are kept.
    """
    of = "of"
    if len(edges_by_kind(program, place[0])) > 1:
        of = f"of {describe_edge_kind(program, choice.edge_kind)} in"
    if choice.count > 1:
        return f"the contributions {of} the {choice.end} {choice.count} iterations are"
    last = ", which the backward pass visits last," if choice.code == "overwritten" else ""
    return f"the contribution {of} the {choice.end} iteration{last} is"


@operator(
    "iterations-dropped",
    code=lambda choice: choice.code,
    rank=1.0,
    at=values,
    choices=kept_iterations,
    message="only {which} left in the gradient of {value}; {remedy}",
    fields=lambda program, place, choice: {
        "which": describe_kept_iterations(program, place, choice),
        "remedy": "the contributions of all iterations must be added"
        if choice.code == "overwritten"
        else "every iteration contributes",
    },
    hints={"missing-path": EVERY_ITERATION},
)
def keep_iterations_at_one_end(program: Program, place: Place, choice: IterationsToKeep) -> Program | None:
    """Leave out the contributions of a loop to the value `place` in all iterations but the first few, or the last few.

    The choice is a kind of edges, the end of the loop, and the number of iterations. For a weight w in the `h @ w` of
    each iteration and `IterationsToKeep(the kind of h @ w, "first", 1)`: the contribution of the first iteration alone,
    as if dw were assigned and not added to. Of a state that several later steps read, the initial one is treated like
    those that the loop makes. Returns `None` where no edges of this kind lead to the value.
    """
    if not choice.edge_kind.places(program, place[0]):
        return None
    alike = choice.values_alike(program, place[0])
    dropped = (choice.dropped_edges(choice.edge_kind.places(program, value)) for value in alike)
    return program.without(*itertools.chain(*dropped))


@keep_iterations_at_one_end.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward loop has `dw = x[t].T @ dz` in place of `dw +=`."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of `w` in each iteration: that of the first one, computed last, remains."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), g
        for t in reversed(range(len(x))):
            dz = dh * (1 - states[t + 1] ** 2)
            dw = x[t].T @ dz
            dh = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@keep_iterations_at_one_end.example
def _() -> Example:
    """Show h[t+1] = tanh(x[t] * h[t]) + tanh(x[t] * h[t-1]), whose gradients of the states are assigned."""

    def forward(x: Tensor, h: Tensor) -> Tensor:
        states = [h]
        for t in range(len(x)):
            states.append(torch.stack([torch.tanh(x[t] * state) for state in states[-2:]]).sum(0))
        return states[-1]

    def wrong(x: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of a state in each step that reads it: that of the next step, visited last, remains."""
        states = [h]
        for t in range(len(x)):
            states.append(torch.stack([torch.tanh(x[t] * state) for state in states[-2:]]).sum(0))
        dx, dstates = torch.zeros_like(x), [g for _ in states]
        for t in reversed(range(len(x))):
            for s in reversed(range(max(0, t - 1), t + 1)):
                dz = dstates[t + 1] * (1 - torch.tanh(x[t] * states[s]) ** 2)
                dx[t] += dz * states[s]
                dstates[s] = dz * x[t]
        return {"x": dx, "h": dstates[0]}

    return Example(forward, wrong, {"x": "t bs n", "h": "bs n"})


def contributes_to_a_part(program: Program, place: Place) -> bool:
    """Return whether the edge `place` contributes to only some entries of its operand, which has a second edge, too.

    True for the edge of x in `x[:, 0]`, if x is also read as a whole. False unless the reader is a selection or a
    rearrangement.
    """
    selects = program.reader(place).operation.family in ("selection", "rearrangement")
    return selects and has_fellow_contributions(program, place) and not _reached_entries(program, place).all()


def is_one_of_three_carried(program: Program, place: Place) -> bool:
    """Return whether the edge `place` leads to what an earlier iteration made, and two further edges lead there, too.

    True for h[t - 1] in `h[t - 1] @ u` of iteration t, if h[t - 1] is also read in iteration t + 1 and an output. It
    need hold in one iteration of the reader only.
    """
    if place[0] == SINK:
        return False
    forward, ids = program.forward, program.forward.by_key[program.reader(place).key]
    for node in (program.nodes[i] for i in ids):
        made = program.nodes[node.operand(place[1]) or 0]
        is_earlier = len(forward.by_key[made.key]) == len(ids) and made.iteration < node.iteration
        if is_earlier and len(forward.uses[made.id]) > 2:
            return True
    return False


def may_overwrite(program: Program, place: Place) -> bool:
    """Return whether the contribution of the edge `place` may be assigned where it must be added.

    True for a contribution to a part of a value, as in `dx[:, 0] = ...`. True also for one to the value of an earlier
    iteration, as in `dh[t - 1] = ...`, but only if two further edges contribute to that value: with one further edge,
    the overwritten path is simply missing.
    """
    return contributes_to_a_part(program, place) or is_one_of_three_carried(program, place)


def _reached_entries(program: Program, place: Place) -> Array:
    """Return a mask, shaped like the operand, of the entries that the edge `place` contributes to.

    Column 0 of x, for the edge of x in `x[:, 0]`.
    """
    node = program.reader(place)
    return np.asarray(node.vjp(place[1], np.ones(node.value.shape)) != 0)


@operator(
    "path-overwrites",
    code="overwritten",
    rank=2.0,
    at=edges.where(may_overwrite),
    message="the contribution of {step} to the gradient of {operand} overwrites the others; add it to them",
)
def overwrite_contributions(program: Program, place: Place, choice: None) -> Program:
    """Set the further contributions to an operand to zero at the entries that the edge `place` contributes to.

    As if the learner had assigned the contribution of this edge to these entries, `dx[:, 0] = ...`, and not added it.
    """
    others = [use for use in program.forward.uses[program.source(place)] if use != place]
    elsewhere = ~_reached_entries(program, place)

    def beside(before: EdgeVjp) -> EdgeVjp:
        return lambda at: before(at) * elsewhere

    for other in others:
        program = program.with_vjp(other, beside(program.edited_vjps.get(other, EdgeContext.right)))
    return program


@overwrite_contributions.example
def _() -> Example:
    """Show h[t] = tanh(x[t] + h[t-1] @ a + h[t-2] @ c), whose backward loop has `dh[t-1] = dz @ a.T`, not `+=`."""

    def forward(x: Tensor, a: Tensor, c: Tensor, h: Tensor) -> Tensor:
        states = [h, h.sin()]
        for step in x:
            states.append(torch.tanh(step + states[-1] @ a + states[-2] @ c))
        return torch.stack(states[2:])

    def wrong(x: Tensor, a: Tensor, c: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of the state one step back in place of adding to it."""
        states = [h, h.sin()]
        for step in x:
            states.append(torch.tanh(step + states[-1] @ a + states[-2] @ c))
        dstates = [torch.zeros_like(h), torch.zeros_like(h), *g]
        dx, dc = torch.zeros_like(x), torch.zeros_like(c)
        for t in reversed(range(2, len(states))):
            dz = dstates[t] * (1 - states[t] ** 2)
            dx[t - 2] = dz
            dc += states[t - 2].T @ dz
            dstates[t - 1] = dz @ a.T
            dstates[t - 2] = dstates[t - 2] + dz @ c.T
        return {"x": dx, "c": dc}

    return Example(forward, wrong, {"x": "t bs n", "a": "n n", "c": "n n", "h": "bs n"})


@dataclass(frozen=True)
class AssignedPart:
    """Contributions to parts of a value's gradient that are assigned, and the earlier ones which that overwrites.

    Args:
        assigned: the kinds of edges whose contributions are assigned, as a sum: `dx[1:-1] = ...`.
        overwritten: the kinds of edges whose contributions to the same entries are lost.
    """

    assigned: tuple[EdgeKind, ...]
    overwritten: tuple[EdgeKind, ...]


MOST_OVERWRITTEN = 4  # kinds of edges of which every selection may have been written before the assignment


def assigned_parts(program: Program, place: Place) -> Iterator[AssignedPart]:
    """Yield the ways in which one part of a value's gradient may be assigned over some of what overlaps with it.

    For x[2:] - 2 * x[1:-1] + x[:-2]: each of the three may overwrite one of the others. Parts that are the same slice,
    read by several operations, may be assigned together. Left out is a single kind of edges that overwrites all that it
    overlaps with (see `overwrite_contributions`), and one that overlaps with more than `MOST_OVERWRITTEN`. Nothing is
    yielded for a value with more than 6 kinds.
    """
    masks = {kind: _reached_by_kind(program, place, kind) for kind in edges_by_kind(program, place[0])}
    if not 2 <= len(masks) <= MOST_OVERWRITTEN + 2:
        return
    for kind, mask in masks.items():
        if mask.all() or not mask.any():
            continue
        alike = tuple(other for other in masks if np.array_equal(masks[other], mask))
        together = [alike] if alike[0] == kind and len(alike) > 1 else []
        for assigned in [(kind,), *together]:
            others = [other for other in masks if other not in assigned and (masks[other] & mask).any()]
            for count in range(1, len(others) + 1):
                if len(others) <= MOST_OVERWRITTEN and (count < len(others) or len(assigned) > 1):
                    yield from (AssignedPart(assigned, some) for some in itertools.combinations(others, count))


def _reached_by_kind(program: Program, place: Place, kind: EdgeKind) -> Array:
    """Return a mask, shaped like the value `place`, of the entries that the edges of a kind contribute to."""
    mask = np.zeros(program.nodes[place[0]].value.shape, dtype=bool)
    for edge in kind.places(program, place[0]):
        mask = mask | (_reached_entries(program, edge) if edge[0] != SINK else True)
    return mask


@operator(
    "part-overwrites-others",
    code="overwritten",
    rank=2.7,
    at=values,
    choices=assigned_parts,
    message="the contribution of {step} to the gradient of {value} overwrites that of {others}; it must be added to it",
    fields=lambda program, place, choice: {
        "step": list_in_words(dict.fromkeys(describe_edge_kind(program, kind) for kind in choice.assigned)),
        "others": list_in_words(dict.fromkeys(describe_edge_kind(program, kind) for kind in choice.overwritten)),
    },
)
def assign_part(program: Program, place: Place, choice: AssignedPart) -> Program:
    """Set some contributions to the value `place` to zero where others are assigned that must be added.

    For x[2:] - 2 * x[1:-1] + x[:-2]: `dx[2:] = g; dx[1:-1] = -2 * g; dx[:-2] += g`.

    Args:
        program: the right program.
        place: the value, an input or a node.
        choice: the contributions that are assigned, and those that they overwrite.

    Returns:
        The rewritten program.
    """
    reached = [_reached_by_kind(program.right, place, kind) for kind in choice.assigned]
    elsewhere = ~np.any(reached, axis=0)
    for kind in choice.overwritten:
        for edge in kind.places(program.right, place[0]):
            program = program.with_vjp(edge, lambda at: at.right() * elsewhere)
    return program


@assign_part.example
def _() -> Example:
    """Show x[1:, i] - x[:-1, i] - c * (x[:-1, i+1] - 2 * x[:-1, i] + x[:-1, i-1]), whose dx[:-1, i+1] is assigned."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        change = x[1:, 1:-1] - x[:-1, 1:-1]
        return change - c * (x[:-1, 2:] - 2 * x[:-1, 1:-1] + x[:-1, :-2])

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of the neighbour to the right."""
        dx = torch.zeros_like(x)
        dx[1:, 1:-1] += g
        dx[:-1, 1:-1] -= g
        dx[:-1, 2:] = -c * g
        dx[:-1, 1:-1] += 2 * c * g
        dx[:-1, :-2] -= c * g
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("t n"), t=(4, 3, 5), n=(5, 6, 7)), "c": ""})


@assign_part.example
def _() -> Example:
    """Show x[2:] - 2 * y + x[:-2] - c * y * y, y = x[1:-1], whose gradient of y is assigned over all others."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        change = x[2:] - 2 * x[1:-1] + x[:-2]
        middle = x[1:-1]
        return change - c * middle * middle

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of the middle last."""
        dx = torch.zeros_like(x)
        dx[2:] += g
        dx[:-2] += g
        dx[1:-1] = -2 * g - 2 * c * x[1:-1] * g
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("n m"), n=(5, 6, 7)), "c": "m"})


@overwrite_contributions.example
def _() -> Example:
    """Show tanh(x).sum() + exp(x[:, 0]).sum() whose gradient assigns the first column: `=` for `+=`."""

    def forward(x: Tensor) -> Tensor:
        return x.tanh().sum() + x[:, 0].exp().sum()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = g * (1 - x.tanh() ** 2)
        dx[:, 0] = g * x[:, 0].exp()
        return {"x": dx}

    return Example(forward, wrong, {"x": "bs n"})


def nodes_of_call(program: Program, value: int) -> tuple[Node, ...]:
    """Return the nodes that were recorded during the function call in which a value was computed.

    For `forward` calling f(x), which computes tanh(x) * 2, and this product: the tanh and the product; of a call in a
    loop, those of all iterations. Empty where the value was computed in `forward` itself, and not in a function of the
    exercise that it calls. The result is cached for each forward pass.

    Args:
        program: the program.
        value: the id of the value.
    """
    node = program.nodes[value]
    if not node.call:
        return ()
    within = node.key[:-3]  # but for the innermost instruction, the operation and the part
    known = _NODES_WITHIN.setdefault(program.forward, {})
    if within not in known:
        known[within] = tuple(other for other in program.nodes if other.key[: len(within)] == within)
    return known[within]


_NODES_WITHIN: WeakKeyDictionary[Forward, dict[Key, tuple[Node, ...]]] = WeakKeyDictionary()  # by a key's beginning


def edges_out_of_call(program: Program, value: int, target: str) -> tuple[Place, ...]:
    """Return the edges by which a call reads values that are computed outside of it and depend on a target.

    For y = f(x, w), the value y and the target w: the edges of w in the nodes of f; if x depends on w, those of x, too.

    Args:
        program: the program.
        value: the id of a value that the call makes.
        target: the name of the target.
    """
    nodes, forward = nodes_of_call(program, value), program.forward
    inside, goal = {node.id for node in nodes}, forward.targets[target]
    return tuple(
        (node.id, slot)
        for node in nodes
        for slot, source in forward.edges[node.id]
        if source not in inside and forward.ancestors[source] >> goal & 1
    )


def is_returned_by_call(program: Program, place: Place) -> bool:
    """Return whether the value `place` is computed in a function that the forward pass calls, and read outside."""
    inside = {node.id for node in nodes_of_call(program, place[0])}
    return any(reader not in inside for reader, _ in program.forward.uses[place[0]]) if inside else False


def targets_of_call(program: Program, place: Place) -> Iterator[str]:
    """Yield the names of targets that may be held constant in the function call which computes the value `place`.

    The nodes of the call read the target, or values that depend on it, by two edges or more; and nodes outside of the
    call read these values, too, as angle in `rotate(q, angle) @ rotate(k, angle).T`.
    """
    forward = program.forward
    inside = {node.id for node in nodes_of_call(program, place[0])}
    for target, goal in forward.targets.items():
        ways = edges_out_of_call(program, place[0], target)
        sources = {program.source(way) for way in ways}
        past = any(reader not in inside for source in sources for reader, _ in forward.uses[source])
        if len(ways) > 1 and past and goal not in inside:
            yield target


@operator(
    "call-held-constant",
    code="missing-path",
    rank=1.3,
    at=values.where(is_returned_by_call),
    choices=targets_of_call,
    message="the path from {choice} to {value} is missing",
)
def hold_call_constant(program: Program, place: Place, choice: str) -> Program | None:
    """Leave out what the function call that computes the value `place` contributes to the target that the choice names.

    As if the function's result did not depend on that target: for `rotate(q, angle) @ rotate(k, angle).T` and the first
    call, angle gets the contribution of the second alone. Returns `None` where the program has no such target, or the
    call no edges to it.
    """
    ways = edges_out_of_call(program, place[0], choice) if choice in program.forward.targets else ()
    return program.without(*ways) if ways else None


def rotate(x: Tensor, angle: Tensor) -> Tensor:
    """Return the rows of x, shape (n, 2), rotated by the angles, shape (n,)."""
    return torch.stack(
        [x[:, 0] * angle.cos() - x[:, 1] * angle.sin(), x[:, 0] * angle.sin() + x[:, 1] * angle.cos()], 1
    )


@hold_call_constant.example
def _() -> Example:
    """Show rotate(q, angle) @ rotate(k, angle).T whose gradient of `angle` leaves out the call for `k`."""

    def forward(q: Tensor, k: Tensor, angle: Tensor) -> Tensor:
        return rotate(q, angle) @ rotate(k, angle).T

    def wrong(q: Tensor, k: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give `angle` the contribution of the call for `q` alone, without that of the call for `k`."""
        dq, dk = g @ rotate(k, angle), g.T @ rotate(q, angle)
        quarter = rotate(q, angle + torch.pi / 2)
        return {"q": rotate(dq, -angle), "k": rotate(dk, -angle), "angle": (dq * quarter).sum(1)}

    return Example(forward, wrong, {"q": "n 2", "k": "n 2", "angle": "n"})


def calls_of_function(program: Program, value: int) -> list[tuple[Node, ...]]:
    """Return the nodes of each call of the function in which a value was computed, in the order of the calls.

    A call in a loop counts once, with the nodes of all its iterations. For `k = f(y)` and `f(y + k)`, where f(x)
    computes tanh(x) * 2, and the first product: (tanh, product) twice. Empty where the value was computed in `forward`
    itself.

    Args:
        program: the program.
        value: the id of the value.
    """
    node = program.nodes[value]
    if not node.call:
        return []
    same = (each.id for each in program.nodes if each.key[-3:] == node.key[-3:] and each.call)
    calls = {program.nodes[each].key[:-3]: nodes_of_call(program, each) for each in same}
    return list(calls.values())


def edges_between_calls(program: Program, value: int) -> list[Place]:
    """Return the edges that take what one call of a function returns to the arguments of a later call of it.

    For `k1 = f(y)`, `k2 = f(y + h * k1)` and `y + h * (k1 + k2)`: the edge of k1 in the first `h * k1`. In a loop only
    edges between the calls of one iteration count, not those to the next iteration.

    Args:
        program: the program.
        value: the id of a value that a call of the function makes.
    """
    forward, between = program.forward, dict[Place, None]()
    calls = [{node.id for node in call} for call in calls_of_function(program, value)]
    for later in calls[1:]:
        for entry in later:
            for slot, argument in forward.edges[entry]:
                if argument in later:
                    continue
                for earlier in calls:
                    ways = [(entry, slot)] if argument in earlier else []
                    ways += [way for each in earlier for way in forward.uses[each] if way[0] not in earlier]
                    for way in ways if earlier is not later else ():
                        leads = way[0] == entry or (way[0] != SINK and forward.ancestors[argument] >> way[0] & 1)
                        if leads and program.nodes[way[0]].iteration == program.nodes[entry].iteration:
                            between[way] = None
    return list(between)


def is_returned_by_first_call(program: Program, place: Place) -> bool:
    """Return whether the value `place` is returned by the first of two or more calls of a function."""
    calls = calls_of_function(program, place[0]) if is_returned_by_call(program, place) else []
    return len(calls) > 1 and place[0] == calls[0][-1].id


def is_first_of_joined_calls(program: Program, place: Place) -> bool:
    """Return whether the value `place` is returned by the first of several calls of a function that two edges join.

    See `edges_between_calls`: of a single such edge, the path alone is missing.
    """
    return is_returned_by_first_call(program, place) and len(edges_between_calls(program, place[0])) > 1


def function_called(program: Program, place: Place) -> Iterator[str]:
    """Yield one choice: the name of the function whose call computes the value `place`, `f` for the call `f(y)`."""
    yield program.nodes[place[0]].call.partition("(")[0]


@operator(
    "calls-not-chained",
    code="missing-path",
    rank=1.8,
    at=values.where(is_first_of_joined_calls),
    choices=function_called,
    message="no gradient is passed from one call of `{choice}` back to the calls before it, whose results it takes",
)
def cut_between_calls(program: Program, place: Place, choice: str) -> Program | None:
    """Leave out all contributions from the arguments of a function's later calls to the results of its earlier ones.

    As if the stages of a Runge-Kutta step, the calls of f in `k2 = f(y + h * k1)`, did not depend on each other. The
    choice is the function's name, for the message. Returns `None` where no call takes what an earlier one returns.
    """
    ways = edges_between_calls(program, place[0])
    return program.without(*ways) if ways else None


def rate(y: Tensor, c: Tensor) -> Tensor:
    """Return how fast each entry of y, shape (bs, n), changes; c has shape (n,)."""
    return torch.sin(y) * c


@cut_between_calls.example
def _() -> Example:
    """Show y + k1 + k2 + k3, each k = rate(y + k before), whose gradient takes the three for independent."""

    def forward(y: Tensor, c: Tensor) -> Tensor:
        k1 = rate(y, c)
        k2 = rate(y + k1, c)
        k3 = rate(y + k2, c)
        return y + k1 + k2 + k3

    def wrong(y: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give y what it contributes to each argument, and no k what it contributes to the next argument."""
        k1 = rate(y, c)
        k2 = rate(y + k1, c)
        points = [y, y + k1, y + k2]
        return {
            "y": g + torch.stack([g * c * torch.cos(point) for point in points]).sum(0),
            "c": torch.cat([g * torch.sin(point) for point in points]).sum(0),
        }

    return Example(forward, wrong, {"y": "bs n", "c": "n"})


def kept_calls(program: Program, place: Place) -> Iterator[Literal["first", "last"]]:
    """Yield which call's values a backward pass may use for all calls of a function: those of the first or the last."""
    yield from ("first", "last")


@operator(
    "values-of-one-call",
    code="wrong-point",
    rank=2.4,
    at=values.where(is_returned_by_first_call),
    choices=kept_calls,
    message="the derivatives of each call of `{function}` are taken at the values of the {choice} call; they must be"
    " taken at the values of that call itself",
    fields=lambda program, place, choice: {"function": next(function_called(program, place))},
)
def use_values_of_one_call(program: Program, place: Place, choice: Literal["first", "last"]) -> Program | None:
    """Compute every vjp in the calls of a function with the values of one call, as that of the first stage of two.

    For `f(y)` and `f(y + k)`, where f(x) computes tanh(x), and "first": 1 - tanh(y) ** 2 for both. The choice is the
    call whose values are used. Returns `None` where the function is called once in this trial.
    """
    calls = calls_of_function(program, place[0])
    if len(calls) < 2:
        return None
    kept = {(node.key[-3:], node.iteration): node for node in calls[0 if choice == "first" else -1]}
    for node in itertools.chain(*calls):
        source = kept.get((node.key[-3:], node.iteration))
        if source is not None and source.id != node.id and len(source.values) == len(node.values):
            operands = {slot: source.values[slot] for slot, _ in node.operands}
            program = program.with_other_values(node, operands, source.value)
    return program


@use_values_of_one_call.example
def _() -> Example:
    """Show y + (k1 + k2) / 2, k2 the rate at y + k1, whose gradient takes both rates at y."""

    def forward(y: Tensor, c: Tensor) -> Tensor:
        k1 = rate(y, c)
        return y + (k1 + rate(y + k1, c)) / 2

    def wrong(y: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use one slope, that at y, for both stages."""
        d2 = g / 2
        dpoint = d2 * c * torch.cos(y)
        d1 = g / 2 + dpoint
        return {"y": g + dpoint + d1 * c * torch.cos(y), "c": ((d1 + d2) * torch.sin(y)).sum(0)}

    return Example(forward, wrong, {"y": "bs n", "c": "n"})


@dataclass(frozen=True)
class PartialSum:
    """A part of the contributions to a value, whose sum is used as its gradient.

    Args:
        edge_kind: one kind of the edges that contribute to the value.
        only: whether the sum has only the contributions of this kind; otherwise it has all but these.
    """

    edge_kind: EdgeKind
    only: bool

    def missing_edges(self, program: Program, value: int) -> tuple[Place, ...]:
        """Return the edges to a value whose contributions the partial sum lacks.

        The missing edges are those of the kind `self.edge_kind`, or, if `self.only`, those of all other kinds. Empty
        where no edges of the kind lead to the value in this trial.

        Args:
            program: the program of any trial.
            value: the id of the value.
        """
        ways = edges_by_kind(program, value)
        if self.edge_kind not in ways:
            return ()
        if not self.only:  # where nothing else arrives, as in the last iteration, nothing is there yet
            return ways[self.edge_kind]
        return tuple(place for way, places in ways.items() if way != self.edge_kind for place in places)


def sum_with_same_gradient(program: Program, value: int) -> int:
    """Return the id of the last sum in the chain of sums through which a value gets its gradient unchanged.

    For v in `(v + a) + b`: the outer sum. Each sum of the chain is the only reader of the value before it. Where the
    value has several readers, or one that is no sum, its own id is returned.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    *_, last = values_with_same_gradient(program, value)
    return last


def partial_sums(program: Program, place: Place) -> Iterator[PartialSum]:
    """Yield `PartialSum`s: the part of the contributions to the reader's value that is used as its upstream gradient.

    All contributions but those of one kind of edges; and, if there are three kinds or more, those of one kind alone.
    For y in tanh(y) + y ** 2: all but that of the tanh, and all but that of the square. Where sums pass the gradient on
    to the value unchanged, the contributions are those to the last of them (see `sum_with_same_gradient`). Nothing is
    yielded where they are of one kind, or the reader of the edge `place` has only one operand with a gradient.
    """
    if place[0] != SINK and len(program.reader(place).edges) > 1:
        ways = edges_by_kind(program, sum_with_same_gradient(program, place[0]))
        if len(ways) > 1:
            yield from (PartialSum(way, only=False) for way in ways)
        if len(ways) > 2:
            yield from (PartialSum(way, only=True) for way in ways)


def describe_contribution(program: Program, kind: EdgeKind) -> str:
    """Return what edges of a kind contribute to a value: "the contribution of `norm(h)`".

    For those of h into a sum, in which other terms may depend on h, too: "the direct contribution of
    `h + norm(h)`".

    Args:
        program: the program of a trial.
        kind: the kind of the edges.
    """
    reader = describe_edge_kind(program, kind)
    is_sum = kind.key and program.nodes[program.forward.by_key[kind.key][0]].name in ("add", "sub")
    return f"the direct contribution of {reader}" if is_sum else f"the contribution of {reader}"


@operator(
    "read-too-early",
    code="missing-path",
    rank=1.8,
    at=edges,
    choices=partial_sums,
    message="in the gradient of {operand}, the gradient of {sum} is incomplete: {part}",
    fields=lambda program, place, choice: {
        "sum": program.name_of(sum_with_same_gradient(program, place[0])),
        "part": f"only {describe_contribution(program, choice.edge_kind)} is included"
        if choice.only
        else f"{describe_contribution(program, choice.edge_kind)} is missing",
    },
)
def use_gradient_too_early(program: Program, place: Place, choice: PartialSum) -> Program | None:
    """Compute the contribution of the edge `place` from some of the contributions to the reader's upstream gradient.

    For tanh(y) + y ** 2 and the edge of w in y = x @ w: from g * 2 * y alone, as if dw were computed before the tanh's
    contribution to dy is added. The choice is a kind of edges to the reader's value, and whether their contributions
    are the only ones (`only=True`) or are missing. Returns `None` where none is missing in this trial.
    """
    late = choice.missing_edges(program, sum_with_same_gradient(program, place[0]))
    if not late:
        return None
    return program.with_vjp(place, lambda at: at.right(at.g - sum(map(at.sweep.contribution, late))))


@use_gradient_too_early.example
def _() -> Example:
    """Show tanh(y).sum() + square(y).sum() with y = x @ w, whose gradient of `w` has only the part of the square."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return y.tanh().sum() + y.square().sum()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x @ w
        dy = g * 2 * y
        dw = x.T @ dy
        dy = dy + g * (1 - y.tanh() ** 2)
        return {"w": dw, "x": dy @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_gradient_too_early.example
def _() -> Example:
    """Show h = x + tanh(x) @ w, out = h + tanh(h - mean(h)) @ u, whose gradient of w lacks the path through tanh."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        h = x + x.tanh() @ w
        return h + (h - h.mean(-1, keepdim=True)).tanh() @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the gradient of `w` from g, without the contribution of the second half."""
        h = x + x.tanh() @ w
        y = (h - h.mean(-1, keepdim=True)).tanh()
        dz = g @ u.T * (1 - y**2)
        dh = g + dz - dz.mean(-1, keepdim=True)
        return {"w": x.tanh().T @ g, "u": y.T @ g, "x": dh + dh @ w.T * (1 - x.tanh() ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


def has_three_contributions(program: Program, place: Place) -> bool:
    """Return whether three kinds of edges or more lead a gradient to the value `place`: to y in sin(y) + y * y."""
    return len(program.forward.uses[place[0]]) > 2 and len(edges_by_kind(program, place[0])) > 2


@operator(
    "only-one-path",
    code="missing-path",
    rank=1.5,
    at=values.where(has_three_contributions),
    choices=lambda program, place: edges_by_kind(program, place[0]),
    message="only the contribution of {choice} is used in the gradient of {value}; all contributions must be added",
)
def keep_one_path(program: Program, place: Place, choice: EdgeKind) -> Program:
    """Leave out all contributions to the value `place` but those by edges of the chosen `EdgeKind`.

    For y read by sin(y), exp(y) and y * a, and the kind of the product: y gets g * a alone.
    """
    ways = edges_by_kind(program, place[0])
    return program.without(*(edge for way, places in ways.items() if way != choice for edge in places))


@keep_one_path.example
def _() -> Example:
    """Show sin(y) + exp(y) + y * a with y = tanh(x), whose gradient of `y` is that of the last term alone."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        y = torch.tanh(x)
        return torch.sin(y) + torch.exp(y) + y * a

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of `y` three times, so that the third value is left."""
        y = torch.tanh(x)
        return {"x": g * a * (1 - y**2)}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


@operator(
    "path-counted-twice",
    code="wrong-factor",
    rank=2.0,
    at=edges.where(has_fellow_contributions),
    message="{path} is counted twice",
)
def count_path_twice(program: Program, place: Place, choice: None) -> Program:
    """Double the contribution of the edge `place`, whose operand also gets contributions along further edges."""
    return program.with_vjp(place, lambda at: 2 * at.right())


@count_path_twice.example
def _() -> Example:
    """Show y * sigmoid(y) whose gradient of `y` has the contribution of the first factor twice."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return y * torch.sigmoid(y)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x @ w
        s = torch.sigmoid(y)
        dy = g * s
        dy = dy + dy + g * y * s * (1 - s)
        return {"w": x.T @ dy}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def has_fellow_contributions_in_loop(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` runs in several iterations, and its operand has a second edge."""
    node = program.reader(place)
    return len(program.forward.by_key.get(node.key, ())) > 1 and has_fellow_contributions(program, place)


@operator(
    "path-halved",
    code="wrong-factor",
    rank=3.0,
    at=edges.where(has_fellow_contributions_in_loop),
    message="the contribution of {path} is halved",
)
def halve_path(program: Program, place: Place, choice: None) -> Program:
    """Halve the contribution of the edge `place`, whose reader runs in several iterations of a loop.

    Outside of loops no operator is needed: the search finds any wrong factor of a single contribution.
    """
    return program.with_vjp(place, lambda at: at.right() / 2)


@halve_path.example
def _() -> Example:
    """Show steps h + tanh(h * w) exp(u), whose backward pass halves what h * w contributes to the gradient of h."""

    def forward(h: Tensor, w: Tensor, u: Tensor) -> Tensor:
        for row in u:
            h = h + torch.tanh(h * w) * torch.exp(row)
        return h

    def wrong(h: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for row in u:
            states.append(states[-1] + torch.tanh(states[-1] * w) * torch.exp(row))
        dw, dh = torch.zeros_like(w), g
        for row, before in zip(u.flip(0), states[-2::-1], strict=True):
            dz = dh * torch.exp(row) * (1 - torch.tanh(before * w) ** 2)
            dw, dh = dw + (dz * before).sum(0), dh + dz * w / 2
        return {"w": dw, "h": dh}

    return Example(forward, wrong, {"h": "bs n", "w": "n", "u": "t n"})


SCALING = ("mul", "div", "mean")  # by a number, or by a size: what a learner may write behind one of several terms


def scaling_edge(program: Program, place: Place) -> Place | None:
    """Return the only edge by which a sum is read, if its reader is a mean, or a `*` or `/` with a constant.

    For `(a + b) / 2` and the edge of a in the sum: the edge of the sum in the quotient. In `2 / (a + b)`, the sum is
    not scaled.

    Args:
        program: the program.
        place: an edge into the sum.

    Returns:
        The edge; `None` where the reader of `place` is no sum or difference, is read several times, or is not scaled.
    """
    node = program.reader(place)
    if node.name not in ("add", "sub") or len(node.operands) < 2 or len(program.forward.uses[node.id]) != 1:
        return None
    (use,) = program.forward.uses[node.id]
    reader = program.reader(use)
    is_denominator = reader.name == "div" and use[1] == 1
    return use if reader.name in SCALING and len(reader.operands) == 1 and not is_denominator else None


@operator(
    "scaled-on-other-paths",
    code=lambda choice: "sum-for-mean" if choice else "missing-local",
    rank=1.4,  # not a wrong derivative of the one term
    at=edges.where(lambda program, place: scaling_edge(program, place) is not None),
    choices=lambda program, place: [program.reader(scaling_edge(program, place) or place).name == "mean"],
    fields=lambda program, place, choice: {
        "scaling": expression_of(program, program.reader(scaling_edge(program, place) or place)),
        "what": "the division by the number of entries"
        if choice
        else "the division"
        if program.reader(scaling_edge(program, place) or place).name == "div"
        else "the factor",
    },
    message="on the path through {operand}, {what} in {scaling} is missing",
)
def scale_other_terms_alone(program: Program, place: Place, choice: bool) -> Program | None:
    """Leave out the factor of a scaled sum in the contribution of the edge `place`, one term of the sum.

    For (a + b) / 2 and the edge of a: a gets g, b gets g / 2. The choice only says whether the sum is averaged (True)
    or scaled by a number, which decides the code. Returns `None` where the sum is not scaled in this trial.
    """
    use = scaling_edge(program, place)
    if use is None:
        return None
    return program.with_vjp(place, lambda at: at.right(np.broadcast_to(at.sweep.gradient(use[0]), at.y.shape)))


@scale_other_terms_alone.example
def _() -> Example:
    """Show (x + x ** 2) / 2 whose gradient divides only the first term by 2."""

    def forward(x: Tensor) -> Tensor:
        return (x + x.square()) / 2

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide the gradient of the term x by 2, but not that of x ** 2."""
        return {"x": g / 2 + g * 2 * x}

    return Example(forward, wrong, {"x": "bs n"})


@scale_other_terms_alone.example
def _() -> Example:
    """Show the mean of sin(x) + x ** 3 whose gradient divides only the first term by the number of entries."""

    def forward(x: Tensor) -> Tensor:
        return (x.sin() + x**3).mean()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (x.cos() / x.numel() + 3 * x**2)}

    return Example(forward, wrong, {"x": "bs n"})


def is_one_of_two_contributions(program: Program, place: Place) -> bool:
    """Return whether exactly two edges contribute to the operand of the edge `place`, one of which is `place`."""
    return has_fellow_contributions(program, place) and len(program.forward.uses[program.source(place)]) == 2


@operator(
    "path-taken-for-both",
    code="missing-path",
    rank=2.0,
    at=edges.where(is_one_of_two_contributions),
    message="{path} is counted twice and the other path is missing; the two are not equal",
)
def take_path_for_both(program: Program, place: Place, choice: None) -> Program:
    """Double the contribution of the edge `place`, and leave out the second contribution to its operand.

    As if the forward pass were symmetric in the two.
    """
    other = next(use for use in program.forward.uses[program.source(place)] if use != place)
    return program.without(other).with_vjp(place, lambda at: 2 * at.right())


@take_path_for_both.example
def _() -> Example:
    """Show exp(-(x[:, None] - x[None, :]) ** 2) whose gradient has the rows' contribution twice, and no columns'."""

    def forward(x: Tensor) -> Tensor:
        return torch.exp(-((x.unsqueeze(1) - x.unsqueeze(0)) ** 2))

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the sum over each row twice, as if g were symmetric."""
        d = x.unsqueeze(1) - x.unsqueeze(0)
        return {"x": 2 * (g * torch.exp(-(d**2)) * -2 * d).sum(1)}

    return Example(forward, wrong, {"x": "n"})


@dataclass(frozen=True)
class LastWrite:
    """The end of a loop whose contribution is kept at each entry, where iterations contribute to overlapping entries.

    Args:
        edge_kind: the kind of edges by which the iterations contribute.
        end: whether of several iterations that reach an entry the first or the last one is kept.
    """

    edge_kind: EdgeKind
    end: Literal["first", "last"]


def overlapping_parts(program: Program, place: Place) -> Iterator[LastWrite]:
    """Yield `LastWrite`s: a kind of edges by which iterations select overlapping entries of `place`, and an end.

    For the windows x[t : t + 3]: one with `"last"` and one with `"first"`, the iteration whose contribution to an entry
    is kept. Nothing where fewer than three edges are of the kind, each reads all of the value, or none overlap.
    """
    for edge_kind, places in edges_by_kind(program, place[0]).items():
        if len(places) > 2 and program.reader(places[0]).operation.family in ("selection", "rearrangement"):
            reached = [_reached_entries(program, edge) for edge in places]
            if np.sum(reached, axis=0).max() > 1 and not all(mask.all() for mask in reached):
                yield from (LastWrite(edge_kind, end) for end in ("first", "last"))


@operator(
    "iterations-overwrite",
    code="overwritten",
    rank=1.5,
    at=values,
    choices=overlapping_parts,
    message="in the gradient of {value}, the {end} iteration overwrites the others where the parts that {step} takes"
    " overlap; all contributions must be added",
    fields=lambda program, place, choice: {"step": describe_edge_kind(program, choice.edge_kind), "end": choice.end},
    hints=EVERY_ITERATION,
)
def overwrite_parts(program: Program, place: Place, choice: LastWrite) -> Program | None:
    """Keep at each entry of the value `place` the contribution of the first, or last, iteration that reaches it.

    As a loop does that assigns `dx[t : t + 3] = ...` and does not add. The choice is the kind of the iterations' edges
    to the value, and `"first"` or `"last"`. Returns `None` where no edges of this kind lead to the value.
    """
    places = choice.edge_kind.places(program, place[0])
    taken = np.zeros(program.nodes[place[0]].value.shape, dtype=bool)

    def where(mask: Array) -> EdgeVjp:
        return lambda at: at.right() * mask

    for edge in places if choice.end == "last" else reversed(places):
        reached = _reached_entries(program, edge)
        program = program.with_vjp(edge, where(reached & ~taken))
        taken = taken | reached
    return program if places else None


@overwrite_parts.example
def _() -> Example:
    """Show tanh((x[t : t + 3] * w).sum()) for each t, whose gradient of `x` is assigned for each window."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.stack([(x[t : t + 3] * w).sum() for t in range(len(x) - 2)]).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of each window, so that the last window to reach an entry is left."""
        y = torch.stack([(x[t : t + 3] * w).sum() for t in range(len(x) - 2)]).tanh()
        dz, dx = g * (1 - y**2), torch.zeros_like(x)
        for t in range(len(x) - 2):
            dx[t : t + 3] = dz[t] * w
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("t"), t=(6, 7, 8)), "w": "3"})


def contributions_to_value(program: Program, place: Place) -> Iterator[EdgeKind]:
    """Yield the kinds of edges that lead a gradient to y = f(x), if there are several kinds: for y * a + y, two.

    Only for a unary f that keeps the shape, such as tanh.

    Args:
        program: the program.
        place: the edge of the function's operand.
    """
    node = program.reader(place)
    if len(node.operands) == 1 and node.value.shape == np.shape(node.values[place[1]]):
        ways = edges_by_kind(program, place[0])
        if len(ways) > 1:
            yield from ways


@operator(
    "contribution-added-behind",
    code="missing-local",
    rank=2.0,
    at=edges.of_family("pointwise"),
    choices=contributions_to_value,
    message="the contribution of {choice} to the gradient of {value} is added after multiplying by the derivative"
    " of {step}; add it before",
)
def add_contribution_after_derivative(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Compute the contribution of the edge `place` with a part of g added after the multiplication by the derivative.

    For y = tanh(x), and the part p of g that edges of the chosen kind contribute: (g - p) * (1 - y ** 2) + p.
    Returns `None` where no such edges lead to y.
    """
    late = choice.places(program, place[0])
    if not late:
        return None

    def rule(at: EdgeContext) -> Array:
        part = sum(map(at.sweep.contribution, late))
        return np.asarray(at.right(at.g - part) + part)

    return program.with_vjp(place, rule)


@add_contribution_after_derivative.example
def _() -> Example:
    """Show the stack of h = tanh(x[t] @ w + h @ u), whose dz = dh * (1 - h**2) + g[t] adds g[t] too late."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add g[t] after the multiplication by the derivative of tanh, in place of before it."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), torch.zeros_like(h)
        for t in reversed(range(len(x))):
            dz = dh * (1 - states[t + 1] ** 2) + g[t]
            dw += x[t].T @ dz
            dh = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


# One array for two gradients ------------------------------------------------------------------------------------------

MOST_STEPS = 5  # that are made one after the other in one array


def entrywise_chains(program: Program, place: Place) -> Iterator[tuple[Place, ...]]:
    """Yield the chains of pointwise edges that end with the edge `place`, of one edge, two, up to `MOST_STEPS`.

    A chain is the edges along which one gradient goes back: for tanh(a * x) and the edge of x, first (edge of x,), then
    (edge of a * x in the tanh, edge of x). No edge broadcasts, and each value in between has a single reader.
    """
    chain: tuple[Place, ...] = (place,)
    while len(chain) <= MOST_STEPS and _is_entrywise(program, chain[0]):
        yield chain
        uses = program.forward.uses[chain[0][0]]
        if len(uses) != 1 or uses[0][0] == SINK:
            break
        chain = (uses[0], *chain)


def _is_entrywise(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` is pointwise, and its value has the shape of the edge's operand."""
    node = program.reader(place)
    return node.operation.family == "pointwise" and np.shape(node.values[place[1]]) == node.value.shape


def shared_chain_lengths(program: Program, place: Place) -> Iterator[int]:
    """Yield the lengths of the chains to the edge `place` along which a learner may overwrite one array by mistake.

    For gain * x + bias and the edge of x: 1 (this edge alone), 2 (the edge of gain * x in the sum, and that of x):
    `dx = g; dx *= gain` overwrites g. The chains are those of `entrywise_chains` whose first reader has a second
    operand with a gradient, such as bias, whose contribution is then computed from the overwritten array. Nothing where
    a sum, a difference, `neg`, a cast, `detach` or `where` reads the edge.
    """
    node = program.reader(place)
    if node.name not in ("add", "sub", "neg", "cast", "detach", "where"):
        for chain in entrywise_chains(program, place):
            if len(program.forward.edges[chain[0][0]]) > 1:
                yield len(chain)


def chain_of(program: Program, place: Place, steps: int) -> tuple[Place, ...] | None:
    """Return the chain of `steps` pointwise edges that ends with the edge `place`, in the order of the backward pass.

    For tanh(a * x), the edge of x and 2 steps: (edge of a * x in the tanh, edge of x). Returns `None` where the chain
    is not so long: where an edge broadcasts, a value in between has several readers, or a reader is not pointwise.
    """
    return next((chain for chain in entrywise_chains(program, place) if len(chain) == steps), None)


@operator(
    "multiplied-in-place",
    code="shared-array",
    rank=2.6,  # more than a factor that one answer has too many: several have it
    at=edges.of_family("pointwise"),
    choices=shared_chain_lengths,
    message="the contribution of {step} to the gradient of {operand} is computed in place and"
    " overwrites the gradient of {shared}, which is still needed; compute it in a new array",
    fields=lambda program, place, choice: {
        "shared": expression_of(program, program.reader(chain[0]))
        if (chain := chain_of(program, place, choice))
        else "another operation"
    },
)
def multiply_in_place(program: Program, place: Place, choice: int) -> Program | None:
    """Compute contributions from an upstream gradient that has been multiplied in place for the edge `place`.

    For gain * x + bias, the edge of x and the choice 2, the number of edges from the sum back to x: `g *= gain` gives x
    its right gradient, but bias gets g * gain, and gain gets g * gain * x. These are the contributions of the further
    operands of the chain's readers. Returns `None` where this trial has no chain of `choice` edges.
    """
    chain = chain_of(program, place, choice)
    if chain is None:
        return None

    def with_product(ways: tuple[Place, ...], before: EdgeVjp) -> EdgeVjp:
        """Return the vjp `before` of a g that went back along the edges `ways` first."""

        def rule(at: EdgeContext) -> Array:
            """Return `before` of the edge, with its upstream gradient taken back along `ways`."""
            g = at.g
            for reader, slot in ways:
                g = at.program.nodes[reader].vjp(slot, g)
            return before(at._replace(g=g))

        return rule

    for i, (reader, own) in enumerate(chain):
        for slot, _ in program.forward.edges[reader]:
            if slot != own:
                before = program.edited_vjps.get((reader, slot), EdgeContext.right)
                program = program.with_vjp((reader, slot), with_product(chain[i:], before))
    return program


@multiply_in_place.example
def _() -> Example:
    """Show sin(gain * y + bias) whose backward pass does `dz *= gain` before it computes those of gain and bias."""

    def forward(x: Tensor, w: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return torch.sin(gain * y + bias)

    def wrong(x: Tensor, w: Tensor, gain: Tensor, bias: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the gain in the array that the gradients of gain and bias are computed from."""
        y = torch.tanh(x @ w)
        dz = g * torch.cos(gain * y + bias)
        dy = dz
        dy *= gain
        return {"w": x.T @ (dy * (1 - y**2)), "gain": (dz * y).sum(0), "bias": dz.sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "gain": "m", "bias": "m"})


@multiply_in_place.example
def _() -> Example:
    """Show a loop h = keep h + (1 - keep) n, whose backward pass does `dh *= keep` before `keep` gets dh (h - n)."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            keep = torch.sigmoid(step @ u)
            h = keep * h + (1 - keep) * torch.tanh(step @ w)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the old state's gradient in place, in the array that gate and candidate still need."""
        states = [h]
        for step in x:
            keep = torch.sigmoid(step @ u)
            states.append(keep * states[-1] + (1 - keep) * torch.tanh(step @ w))
        dw, du, dh = torch.zeros_like(w), torch.zeros_like(u), g.clone()
        for t in reversed(range(len(x))):
            keep, new = torch.sigmoid(x[t] @ u), torch.tanh(x[t] @ w)
            dh *= keep
            du += x[t].T @ (dh * (states[t] - new) * keep * (1 - keep))
            dw += x[t].T @ (dh * (1 - keep) * (1 - new**2))
        return {"w": dw, "u": du, "h": dh}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "h": "bs m"})


@multiply_in_place.example
def _() -> Example:
    """Show z + tanh(z) * exp(scale) whose backward pass multiplies g in place for the branch: the skip gets it, too."""

    def forward(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        z = x @ w
        return z + torch.tanh(z) * torch.exp(scale)

    def wrong(x: Tensor, w: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Let `skip` and `branch` be one array, and multiply it in place."""
        y = torch.tanh(x @ w)
        skip = branch = g.clone()
        branch *= torch.exp(scale)
        branch *= 1 - y**2
        dz = skip + branch
        return {"x": dz @ w.T, "w": x.T @ dz, "scale": (skip * y).sum(0) * torch.exp(scale)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "scale": "m"})


# Skip connections and products --------------------------------------------------------------------------------------

_SKIPS: WeakKeyDictionary[Forward, Mapping[Place, tuple[int, ...]]] = WeakKeyDictionary()


def skips_of(program: Program) -> Mapping[Place, tuple[int, ...]]:
    """Return for the edge of each skip connection the ids of the nodes that it bypasses.

    For x + f(h(x)): the edge of x in the sum, with the nodes of h and f. The result is cached for each forward pass.
    """
    if program.forward not in _SKIPS:
        _SKIPS[program.forward] = {skip.place: skip.bypassed for skip in skip_connections(program)}
    return _SKIPS[program.forward]


def bypassed_values(program: Program, place: Place) -> Iterator[ComputedValue]:
    """Yield the names of the values of x's shape that a skip connection bypasses: h(x) and f(h(x)) for x + f(h(x)).

    The skip connection is the edge `place`, of x in the sum.
    """
    shape = np.shape(program.reader(place).values[place[1]])
    for i in skips_of(program)[place]:
        if program.nodes[i].value.shape == shape:
            yield ComputedValue(program.nodes[i].key)


@operator(
    "skip-goes-through",
    code="wrong-order",
    rank=2.5,
    at=edges.where(lambda program, place: place in skips_of(program)),
    choices=bypassed_values,
    message="the gradient of the skip connection from {operand} is added to the gradient of {choice}, so it passes"
    " through the operations that it must bypass",
)
def add_skip_to_bypassed_operation(program: Program, place: Place, choice: ComputedValue) -> Program | None:
    """Add the contribution of the skip connection `place` to the upstream gradient of a value that it bypasses.

    For x + f(h(x)) and the choice h(x): g is added to the gradient of h's value, and so goes back through h. Returns
    `None` where the program has no such value.
    """
    bypassed, reader = choice.find(program, place[0]), program.reader(place)
    if bypassed is None:
        return None
    edited = program.without(place)
    return edited.with_upstream(bypassed, lambda at: at.g + reader.vjp(place[1], at.sweep.gradient(reader.id)))


@add_skip_to_bypassed_operation.example
def _() -> Example:
    """Show x + sin(tanh(x @ w) @ u) whose backward pass adds the skip connection's g to the gradient of the tanh."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        z = y @ u
        return x + torch.sin(z)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add g to the gradient of `y`, and not to that of `x`."""
        y = torch.tanh(x @ w)
        dy = (g * torch.cos(y @ u)) @ u.T + g
        return {"x": (dy * (1 - y**2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


def common_source_and_slope(program: Program, place: Place) -> tuple[int, Array] | None:
    """Return the value that both factors of a product are functions of, with the product of the two derivatives.

    For tanh(v) * sin(v): the id of v, and (1 - tanh(v) ** 2) * cos(v).

    Args:
        program: the program without edits.
        place: an edge into the product.

    Returns:
        The id of the value, and f'(v) * h'(v) for f(v) * h(v), shaped like the value; `None` where the factors have no
        common source through pointwise functions.
    """
    known: dict[int, list[Array]] = {}
    for _, factor in program.forward.edges[place[0]]:
        slope: Array = np.ones(program.reader(place).value.shape)
        while True:
            known.setdefault(factor, []).append(slope)
            node = program.nodes[factor]
            if node.operation.family != "pointwise" or len(node.edges) != 1 or node.value.shape != slope.shape:
                break
            ((slot, source),) = node.edges
            slope, factor = node.vjp(slot, slope), source
            if slope.shape != node.value.shape:
                break
    return next(((value, own[0] * own[1]) for value, own in known.items() if len(own) > 1), None)


@operator(
    "product-of-paths",
    code="wrong-local",
    rank=2.5,
    at=edges.of("mul").at_slot(0).where(lambda program, place: common_source_and_slope(program, place) is not None),
    message="the derivatives of the two factors of {step} are multiplied; multiply each by the other factor"
    " and add the two products",
)
def multiply_derivatives_of_factors(program: Program, place: Place, choice: None) -> Program | None:
    """Contribute g * f'(v) * h'(v) to v for the product f(v) * h(v) that the edge `place` leads into.

    Returns `None` where the two factors are not pointwise functions of one value v in this trial.
    """
    common = common_source_and_slope(program, place)
    if common is None:
        return None
    value, slope = common
    edited = program.without(*((place[0], slot) for slot, _ in program.forward.edges[place[0]]))
    return edited.with_edge(place[0], value, lambda at: at.g * slope)


@multiply_derivatives_of_factors.example
def _() -> Example:
    """Show tanh(z) * sin(z) whose gradient of `z` is g times the product of the two derivatives."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z) * torch.sin(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate a product as the product of the derivatives."""
        z = x @ w
        return {"w": x.T @ (g * (1 - torch.tanh(z) ** 2) * torch.cos(z))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
