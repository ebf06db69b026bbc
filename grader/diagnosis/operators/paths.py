"""Mistakes in how contributions come together: a path that is left out, or that takes the place of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import SINK, Forward, Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, EdgeVjp, Program
from grader.program.queries import EdgeKind, edges_by_kind, skip_connections
from grader.program.selectors import ComputedValue
from grader.sampling import normal, sized

from .contract import Example, describe_edge_kind, operator
from .places import edges, expression_of, values


def is_one_of_several(program: Program, place: Place) -> bool:
    """Return whether the value that an edge leads to is used elsewhere, too; in a loop, in one of its iterations."""
    forward = program.forward
    if place not in forward.sources:
        return False
    if place[0] == SINK:
        return len(forward.uses[program.source(place)]) > 1
    reads = (program.nodes[reader].operand(place[1]) for reader in forward.by_key[program.reader(place).key])
    return any(value is not None and len(forward.uses[value]) > 1 for value in reads)


@operator(
    "path-dropped",
    code="missing-path",
    rank=1.0,
    at=edges.where(is_one_of_several),
    message="the path from {operand} through {step} is missing",
)
def drop_path(program: Program, place: Place, choice: None) -> Program | None:
    """Leave out what comes along one of several edges."""
    return program.without(place)


@drop_path.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x + torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(x @ w)
        return {"x": (g * (1 - y**2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@drop_path.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Never hand a gradient on to the iteration before."""
        dw = torch.zeros_like(w)
        for t, step in enumerate(x):
            h = torch.tanh(step @ w + h @ u)
            dw += step.T @ (g[t] * (1 - h**2))
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@dataclass(frozen=True)
class Iterations:
    """Which of the contributions that the iterations of a loop make to one value are left.

    Args:
        arrival: how they come to it.
        end: counted from which end of the loop.
        count: how many.
    """

    arrival: EdgeKind
    end: Literal["first", "last"]
    count: int

    def dropped(self, places: tuple[Place, ...]) -> tuple[Place, ...]:
        """Return the edges that are not left, of all that come in this way, the latest first."""
        return places[self.count :] if self.end == "last" else places[: -self.count]


def loop_contributions(program: Program, place: Place) -> Iterator[Iterations]:
    """Yield every end of a loop that may be all that is left of its contributions to a value."""
    for arrival, places in edges_by_kind(program, place[0]).items():
        if len({program.nodes[reader].iteration for reader, _ in places if reader != SINK}) > 2:
            yield from (Iterations(arrival, end, 1) for end in ("first", "last"))
            yield Iterations(arrival, "last", 2)


@operator(
    "iterations-dropped",
    code="missing-path",
    rank=1.0,
    at=values,
    choices=loop_contributions,
    message="of what {step} contributes to {value} in each iteration, only {which} left",
    fields=lambda program, place, choice: {
        "step": describe_edge_kind(program, choice.arrival),
        "which": f"that of the {choice.end} one is"
        if choice.count == 1
        else f"those of the {choice.end} {choice.count} are",
    },
)
def keep_some_iterations(program: Program, place: Place, choice: Iterations) -> Program | None:
    """Leave out what all iterations but some at one end of a loop contribute to a value."""
    dropped = choice.dropped(choice.arrival.places(program, place[0]))
    return program.without(*dropped) if choice.arrival.places(program, place[0]) else None


@keep_some_iterations.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of `w` in each iteration, so that the first one, which is the last to write, is left."""
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


def contributes_to_a_part(program: Program, place: Place) -> bool:
    """Return whether an edge is one of several, and leads to some entries of a value alone."""
    selects = program.reader(place).operation.family in ("selection", "rearrangement")
    return selects and is_one_of_several(program, place) and not _reached(program, place).all()


def _reached(program: Program, place: Place) -> Array:
    """Return the entries of a value that an edge leads to, as a mask shaped like it."""
    node = program.reader(place)
    return np.asarray(node.vjp(place[1], np.ones(node.value.shape)) != 0)


@operator(
    "path-overwrites",
    code="overwritten",
    rank=2.0,
    at=edges.where(contributes_to_a_part),
    message="where {step} contributes to the gradient of {operand}, this replaces the other ones: they must add",
)
def overwrite(program: Program, place: Place, choice: None) -> Program | None:
    """Leave of the other contributions what lies elsewhere."""
    others = [use for use in program.forward.uses[program.source(place)] if use != place]
    elsewhere = ~_reached(program, place)

    def beside(before: EdgeVjp) -> EdgeVjp:
        return lambda at: before(at) * elsewhere

    for other in others:
        program = program.with_vjp(other, beside(program.edited_vjps.get(other, EdgeContext.right)))
    return program


@overwrite.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return x.tanh().sum() + x[:, 0].exp().sum()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = g * (1 - x.tanh() ** 2)
        dx[:, 0] = g * x[:, 0].exp()
        return {"x": dx}

    return Example(forward, wrong, {"x": "bs n"})


def call_of(program: Program, value: int) -> tuple[Node, ...]:
    """Return what the call of the author's function that makes a value computes; nothing outside of one."""
    node = program.nodes[value]
    if not node.call:
        return ()
    within = node.key[:-3]  # but for the innermost instruction, the operation and the part
    return tuple(other for other in program.nodes if other.key[: len(within)] == within)


def ways_through_call(program: Program, value: int, target: str) -> tuple[Place, ...]:
    """Return the edges out of a call towards a target."""
    nodes, forward = call_of(program, value), program.forward
    inside, goal = {node.id for node in nodes}, forward.targets[target]
    return tuple(
        (node.id, slot)
        for node in nodes
        for slot, source in forward.edges[node.id]
        if source not in inside and forward.ancestors[source] >> goal & 1
    )


def is_returned(program: Program, place: Place) -> bool:
    """Return whether a value is made in a call of the author's function and read behind it."""
    inside = {node.id for node in call_of(program, place[0])}
    return any(reader not in inside for reader, _ in program.forward.uses[place[0]]) if inside else False


def targets_of_call(program: Program, place: Place) -> Iterator[str]:
    """Yield the targets that a call leads to in several ways, and that are reached past it, too."""
    forward = program.forward
    inside = {node.id for node in call_of(program, place[0])}
    for target, goal in forward.targets.items():
        ways = ways_through_call(program, place[0], target)
        sources = {program.source(way) for way in ways}
        past = any(reader not in inside for source in sources for reader, _ in forward.uses[source])
        if len(ways) > 1 and past and goal not in inside:
            yield target


@operator(
    "call-held-constant",
    code="missing-path",
    rank=1.3,
    at=values.where(is_returned),
    choices=targets_of_call,
    message="the path from {choice} to {value} is missing",
)
def hold_call_constant(program: Program, place: Place, choice: str) -> Program | None:
    """Leave out all that a call of the author's function contributes to a target."""
    ways = ways_through_call(program, place[0], choice) if choice in program.forward.targets else ()
    return program.without(*ways) if ways else None


def turned(x: Tensor, angle: Tensor) -> Tensor:
    """Return the two columns of x, turned by an angle for each row."""
    return torch.stack(
        [x[:, 0] * angle.cos() - x[:, 1] * angle.sin(), x[:, 0] * angle.sin() + x[:, 1] * angle.cos()], 1
    )


@hold_call_constant.example
def _() -> Example:
    def forward(q: Tensor, k: Tensor, angle: Tensor) -> Tensor:
        return turned(q, angle) @ turned(k, angle).T

    def wrong(q: Tensor, k: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Follow the angle through the queries alone."""
        dq, dk = g @ turned(k, angle), g.T @ turned(q, angle)
        quarter = turned(q, angle + torch.pi / 2)
        return {"q": turned(dq, -angle), "k": turned(dk, -angle), "angle": (dq * quarter).sum(1)}

    return Example(forward, wrong, {"q": "n 2", "k": "n 2", "angle": "n"})


@dataclass(frozen=True)
class PartialSum:
    """A gradient that is used before all of it has arrived.

    Args:
        arrival: one of the contributions.
        only: nothing but this one has arrived; otherwise nothing but this one is lacking.
    """

    arrival: EdgeKind
    only: bool

    def lacking(self, program: Program, value: int) -> tuple[Place, ...]:
        """Return the edges to a value whose contributions have not arrived; none where the value has other ones."""
        ways = edges_by_kind(program, value)
        if self.arrival not in ways:
            return ()
        if not self.only:  # where nothing else arrives, as in the last iteration, nothing is there yet
            return ways[self.arrival]
        return tuple(place for way, places in ways.items() if way != self.arrival for place in places)


def sum_that_takes(program: Program, value: int) -> int:
    """Return the value whose gradient a value gets as it is: the sum that it goes into, or itself."""
    forward = program.forward
    while len(forward.uses[value]) == 1:
        ((reader, slot),) = forward.uses[value]
        if reader == SINK or program.nodes[reader].name not in ("add", "sub"):
            break
        negated = program.nodes[reader].name == "sub" and slot == 1
        if negated or program.nodes[reader].value.shape != program.nodes[value].value.shape:
            break
        value = reader
    return value


def partial_sums(program: Program, place: Place) -> Iterator[PartialSum]:
    """Yield what may not have arrived yet at a value when one of its operands' rules uses its gradient."""
    if place[0] != SINK and len(program.reader(place).edges) > 1:
        ways = edges_by_kind(program, sum_that_takes(program, place[0]))
        if len(ways) > 1:
            yield from (PartialSum(way, only=False) for way in ways)
        if len(ways) > 2:
            yield from (PartialSum(way, only=True) for way in ways)


@operator(
    "read-too-early",
    code="missing-path",
    rank=1.8,
    at=edges,
    choices=partial_sums,
    message="for {operand} the gradient of {sum} is used {when} to it",
    fields=lambda program, place, choice: {
        "sum": program.name_of(sum_that_takes(program, place[0])),
        "when": f"when only the contribution of {describe_edge_kind(program, choice.arrival)} has been added"
        if choice.only
        else f"before the contribution of {describe_edge_kind(program, choice.arrival)} has been added",
    },
)
def read_too_early(program: Program, place: Place, choice: PartialSum) -> Program | None:
    """Take some contributions away from the upstream gradient that one operand's rule sees."""
    late = choice.lacking(program, sum_that_takes(program, place[0]))
    if not late:
        return None
    return program.with_vjp(place, lambda at: at.right(at.g - sum(map(at.sweep.contribution, late))))


@read_too_early.example
def _() -> Example:
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


@read_too_early.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        h = x + x.tanh() @ w
        return h + (h - h.mean(-1, keepdim=True)).tanh() @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give the upstream gradient of the output to the first half of the block."""
        h = x + x.tanh() @ w
        y = (h - h.mean(-1, keepdim=True)).tanh()
        dz = g @ u.T * (1 - y**2)
        dh = g + dz - dz.mean(-1, keepdim=True)
        return {"w": x.tanh().T @ g, "u": y.T @ g, "x": dh + dh @ w.T * (1 - x.tanh() ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


def is_one_of_three(program: Program, place: Place) -> bool:
    """Return whether gradients come to a value in three ways or more; of two, `path-dropped` leaves one."""
    return len(program.forward.uses[place[0]]) > 2 and len(edges_by_kind(program, place[0])) > 2


@operator(
    "only-one-path",
    code="missing-path",
    rank=1.5,
    at=values.where(is_one_of_three),
    choices=lambda program, place: edges_by_kind(program, place[0]),
    message="of the contributions to the gradient of {value}, only that of {choice} is there",
)
def keep_one_path(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Leave out all contributions to a value but those that come in one way."""
    ways = edges_by_kind(program, place[0])
    return program.without(*(edge for way, places in ways.items() if way != choice for edge in places))


@keep_one_path.example
def _() -> Example:
    def forward(x: Tensor, a: Tensor) -> Tensor:
        y = torch.tanh(x)
        return torch.sin(y) + torch.exp(y) + y * a

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of `y` three times."""
        y = torch.tanh(x)
        return {"x": g * a * (1 - y**2)}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


@operator(
    "path-counted-twice",
    code="wrong-factor",
    rank=2.0,
    at=edges.where(is_one_of_several),
    message="the path from {operand} through {step} is counted twice",
)
def count_path_twice(program: Program, place: Place, choice: None) -> Program | None:
    """Add what comes along one of several edges once more."""
    return program.with_vjp(place, lambda at: 2 * at.right())


@count_path_twice.example
def _() -> Example:
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


SCALING = ("mul", "div", "mean")  # by a number, or by a size: what a learner may write behind one of several terms


def scaling_reader(program: Program, place: Place) -> Place | None:
    """Return the edge by which a sum is scaled by a number or averaged; `None` where it is used otherwise.

    Args:
        program: the program.
        place: one of the edges of the sum.
    """
    node = program.reader(place)
    if node.name not in ("add", "sub") or len(node.operands) < 2 or len(program.forward.uses[node.id]) != 1:
        return None
    (use,) = program.forward.uses[node.id]
    reader = program.reader(use)
    return use if reader.name in SCALING and len(reader.operands) == 1 else None


@operator(
    "scaled-on-other-paths",
    code=lambda choice: "sum-for-mean" if choice else "missing-local",
    rank=1.4,  # not a wrong derivative of the one term
    at=edges.where(lambda program, place: scaling_reader(program, place) is not None),
    choices=lambda program, place: [program.reader(scaling_reader(program, place) or place).name == "mean"],
    fields=lambda program, place, choice: {
        "scaling": expression_of(program, program.reader(scaling_reader(program, place) or place)),
        "what": "the division by the number of entries" if choice else "the factor",
    },
    message="on the path through {operand}, {what} in {scaling} is missing",
)
def scale_other_paths(program: Program, place: Place, choice: bool) -> Program | None:
    """Leave out the factor of a sum for one of its terms."""
    use = scaling_reader(program, place)
    if use is None:
        return None
    return program.with_vjp(place, lambda at: at.right(np.broadcast_to(at.sweep.gradient(use[0]), at.y.shape)))


@scale_other_paths.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return (x + x.square()) / 2

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide the first term alone."""
        return {"x": g / 2 + g * 2 * x}

    return Example(forward, wrong, {"x": "bs n"})


@scale_other_paths.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return (x.sin() + x**3).mean()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (x.cos() / x.numel() + 3 * x**2)}

    return Example(forward, wrong, {"x": "bs n"})


def is_one_of_two(program: Program, place: Place) -> bool:
    """Return whether an edge is one of two by which a gradient comes to a value."""
    return is_one_of_several(program, place) and len(program.forward.uses[program.source(place)]) == 2


@operator(
    "path-taken-for-both",
    code="missing-path",
    rank=2.0,
    at=edges.where(is_one_of_two),
    message="the path from {operand} through {step} is counted twice, and the other path is missing: the two are not"
    " equal",
)
def take_path_for_both(program: Program, place: Place, choice: None) -> Program | None:
    """Count one of two contributions twice, and leave out the other, as if the forward pass were symmetric."""
    other = next(use for use in program.forward.uses[program.source(place)] if use != place)
    return program.without(other).with_vjp(place, lambda at: 2 * at.right())


@take_path_for_both.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return torch.exp(-((x.unsqueeze(1) - x.unsqueeze(0)) ** 2))

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the gradient of each pair twice for the row, as if g were symmetric."""
        d = x.unsqueeze(1) - x.unsqueeze(0)
        return {"x": 2 * (g * torch.exp(-(d**2)) * -2 * d).sum(1)}

    return Example(forward, wrong, {"x": "n"})


@dataclass(frozen=True)
class LastWrite:
    """Which of the contributions that iterations make to overlapping parts of a value is left where they overlap.

    Args:
        arrival: how they come to it.
        end: that of the first iteration, or of the last.
    """

    arrival: EdgeKind
    end: Literal["first", "last"]


def overlapping_parts(program: Program, place: Place) -> Iterator[LastWrite]:
    """Yield the ways by which iterations contribute to parts of a value that overlap."""
    for arrival, places in edges_by_kind(program, place[0]).items():
        if len(places) > 2 and program.reader(places[0]).operation.family in ("selection", "rearrangement"):
            reached = [_reached(program, edge) for edge in places]
            if np.sum(reached, axis=0).max() > 1 and not all(mask.all() for mask in reached):
                yield from (LastWrite(arrival, end) for end in ("first", "last"))


@operator(
    "iterations-overwrite",
    code="overwritten",
    rank=1.5,
    at=values,
    choices=overlapping_parts,
    message="where the parts of {value} that {step} takes in different iterations overlap, only the contribution of the"
    " {end} one is left: they must add",
    fields=lambda program, place, choice: {"step": describe_edge_kind(program, choice.arrival), "end": choice.end},
)
def overwrite_parts(program: Program, place: Place, choice: LastWrite) -> Program | None:
    """Leave at each entry of a value the contribution of one iteration."""
    places = choice.arrival.places(program, place[0])
    taken = np.zeros(program.nodes[place[0]].value.shape, dtype=bool)

    def where(mask: Array) -> EdgeVjp:
        return lambda at: at.right() * mask

    for edge in places if choice.end == "last" else reversed(places):
        reached = _reached(program, edge)
        program = program.with_vjp(edge, where(reached & ~taken))
        taken = taken | reached
    return program if places else None


@overwrite_parts.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.stack([(x[t : t + 3] * w).sum() for t in range(len(x) - 2)]).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of each window: `=` for `+=`."""
        y = torch.stack([(x[t : t + 3] * w).sum() for t in range(len(x) - 2)]).tanh()
        dz, dx = g * (1 - y**2), torch.zeros_like(x)
        for t in range(len(x) - 2):
            dx[t : t + 3] = dz[t] * w
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("t"), t=(6, 7, 8)), "w": "3"})


def contributions_at(program: Program, place: Place) -> Iterator[EdgeKind]:
    """Yield the ways by which a gradient comes to the value of a function, where there are several."""
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
    choices=contributions_at,
    message="what {choice} contributes to the gradient of {value} is added behind the derivative of {step}, and must go"
    " through it",
)
def add_behind(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Let one contribution to the value of a function skip the function's derivative."""
    late = choice.places(program, place[0])
    if not late:
        return None

    def rule(at: EdgeContext) -> Array:
        part = sum(map(at.sweep.contribution, late))
        return np.asarray(at.right(at.g - part) + part)

    return program.with_vjp(place, rule)


@add_behind.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the output's own gradient to that of the pre-activation."""
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


def chains(program: Program, place: Place) -> Iterator[tuple[Place, ...]]:
    """Yield the edges by which a gradient may go on in one array, entry by entry, up to an edge; the shortest first."""
    chain: tuple[Place, ...] = (place,)
    while len(chain) <= MOST_STEPS and _is_entrywise(program, chain[0]):
        yield chain
        uses = program.forward.uses[chain[0][0]]
        if len(uses) != 1 or uses[0][0] == SINK:
            break
        chain = (uses[0], *chain)


def _is_entrywise(program: Program, place: Place) -> bool:
    """Return whether each entry of a contribution comes from the same entry of the upstream gradient."""
    node = program.reader(place)
    return node.operation.family == "pointwise" and np.shape(node.values[place[1]]) == node.value.shape


def shared_arrays(program: Program, place: Place) -> Iterator[int]:
    """Yield the numbers of steps that may be made in one array, where something else is computed from it."""
    node = program.reader(place)
    if node.name not in ("add", "sub", "neg", "cast", "detach", "where"):
        for chain in chains(program, place):
            if len(program.forward.edges[chain[0][0]]) > 1:
                yield len(chain)


def chain_of(program: Program, place: Place, steps: int) -> tuple[Place, ...] | None:
    """Return the chain of so many steps up to an edge; `None` where there is none."""
    return next((chain for chain in chains(program, place) if len(chain) == steps), None)


@operator(
    "multiplied-in-place",
    code="shared-array",
    rank=2.6,  # more than a factor that one answer has too many: several have it
    at=edges.of_family("pointwise"),
    choices=shared_arrays,
    message="what {step} contributes to the gradient of {operand} is computed in place in the upstream gradient of"
    " {shared}, and all else that is computed from that array has the product, too",
    fields=lambda program, place, choice: {
        "shared": expression_of(program, program.reader(chain[0]))
        if (chain := chain_of(program, place, choice))
        else "another operation"
    },
)
def multiply_in_place(program: Program, place: Place, choice: int) -> Program | None:
    """Hand what goes on along a chain of edges to all other edges of its nodes in place of their upstream gradient."""
    chain = chain_of(program, place, choice)
    if chain is None:
        return None

    def with_product(ways: tuple[Place, ...], before: EdgeVjp) -> EdgeVjp:
        def rule(at: EdgeContext) -> Array:
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
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            keep = torch.sigmoid(step @ u)
            h = keep * h + (1 - keep) * torch.tanh(step @ w)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Go back to the old state in the array that gate and candidate still need."""
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
    def forward(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        z = x @ w
        return z + torch.tanh(z) * torch.exp(scale)

    def wrong(x: Tensor, w: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Go back through the branch in the array of the skip connection."""
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
    """Return for the edge of each skip connection the nodes that it bypasses; conditions ask for it at every edge."""
    if program.forward not in _SKIPS:
        _SKIPS[program.forward] = {skip.place: skip.bypassed for skip in skip_connections(program)}
    return _SKIPS[program.forward]


def bypassed_values(program: Program, place: Place) -> Iterator[ComputedValue]:
    """Yield the bypassed operations through which the gradient of a skip connection may go by mistake."""
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
    message="the gradient of the skip connection from {operand} is added to that of {choice}, and so goes back through"
    " what it must go around",
)
def lead_skip_through(program: Program, place: Place, choice: ComputedValue) -> Program | None:
    """Add what goes back along a skip connection to what arrives at an operation that it bypasses."""
    bypassed, reader = choice.find(program, place[0]), program.reader(place)
    if bypassed is None:
        return None
    edited = program.without(place)
    return edited.with_upstream(bypassed, lambda at: at.g + reader.vjp(place[1], at.sweep.gradient(reader.id)))


@lead_skip_through.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        z = y @ u
        return x + torch.sin(z)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the gradient of the skip connection one operation too early."""
        y = torch.tanh(x @ w)
        dy = (g * torch.cos(y @ u)) @ u.T + g
        return {"x": (dy * (1 - y**2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


def common_source(program: Program, place: Place) -> tuple[int, Array] | None:
    """Return the value of which both factors of a product are functions by themselves, and their slopes multiplied.

    Args:
        program: the right one.
        place: an edge of the product.
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
    at=edges.of("mul").at_slot(0).where(lambda program, place: common_source(program, place) is not None),
    message="the derivatives of the two factors of {step} are multiplied: each must be multiplied by the other factor,"
    " and the two products must add",
)
def multiply_paths(program: Program, place: Place, choice: None) -> Program | None:
    """Contribute the product of two factors' derivatives to the value that they are functions of."""
    common = common_source(program, place)
    if common is None:
        return None
    value, slope = common
    edited = program.without(*((place[0], slot) for slot, _ in program.forward.edges[place[0]]))
    return edited.with_edge(place[0], value, lambda at: at.g * slope)


@multiply_paths.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z) * torch.sin(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate a product as the product of the derivatives."""
        z = x @ w
        return {"w": x.T @ (g * (1 - torch.tanh(z) ** 2) * torch.cos(z))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
