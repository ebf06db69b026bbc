"""Mistakes in how contributions come together: a path that is left out, or that takes the place of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import SINK, Place
from grader.program.operation import Array
from grader.program.program import At, Program, Rule
from grader.program.queries import Arrival, arrivals

from .contract import Example, describe_arrival, operator
from .places import edges, values


def is_one_of_several(program: Program, place: Place) -> bool:
    """Return whether the value that an edge leads to is used elsewhere, too."""
    return place in program.forward.sources and len(program.forward.uses[program.source(place)]) > 1


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

    arrival: Arrival
    end: Literal["first", "last"]
    count: int

    def dropped(self, places: tuple[Place, ...]) -> tuple[Place, ...]:
        """Return the edges that are not left, of all that come in this way, the latest first."""
        return places[self.count :] if self.end == "last" else places[: -self.count]


def loop_contributions(program: Program, place: Place) -> Iterator[Iterations]:
    """Yield every end of a loop that may be all that is left of its contributions to a value."""
    for arrival, places in arrivals(program, place[0]).items():
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
        "step": describe_arrival(program, choice.arrival),
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

    def beside(before: Rule) -> Rule:
        return lambda at: before(at) * elsewhere

    for other in others:
        program = program.with_vjp(other, beside(program.rules.get(other, At.right)))
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


def partial_sums(program: Program, place: Place) -> Iterator[Arrival]:
    """Yield what may not have arrived yet at a value when one of its operands' rules uses its gradient."""
    ways = arrivals(program, place[0]) if place[0] != SINK else {}
    if len(ways) > 1 and len(program.reader(place).edges) > 1:
        yield from ways


@operator(
    "read-too-early",
    code="missing-path",
    rank=1.8,
    at=edges,
    choices=partial_sums,
    message="for {operand} the gradient of {value} is used before the contribution of {choice} has been added to it",
)
def read_too_early(program: Program, place: Place, choice: Arrival) -> Program | None:
    """Take one contribution away from the upstream gradient that one operand's rule sees."""
    late = choice.places(program, place[0])
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
