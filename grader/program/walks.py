"""The backward passes of engines: one gradient is kept for each value, and a step adds to those of what it takes.

A `Sweep` computes what is right by the rules of a program. A walk does what a program of somebody's own does: it goes
through the edges in an order, hands on whatever has arrived by then, and keeps what it likes. With `LATEST_FIRST` and
sums the two are the same; every other order or keeping is a mistake that engines have. Nothing is checked: a
contribution may have another shape than its value.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from .forward import Forward, Node, Place
from .operation import Array
from .steps import Script

Gradient = Array | None  # None where nothing has arrived
Keep = Callable[[Array, Array, str], Array]
Order = Literal[
    "latest first", "earliest first", "edge by edge",
    "oldest met first", "newest met first", "newest met last operand first",
]  # fmt: skip
Skip = Literal["", "dead", "repeated", "all but the last", "awaiting", "before dead", "same number"]


@dataclass(frozen=True)
class Walk:
    """How an engine goes back.

    Args:
        order: in which order it goes through the edges. "Met" orders begin at the last value and go on to whatever a
            value was made from.
        again: in an order of values that are met, whether a value passes on what it has each time that it is met, and
            not only the first time.
        skip: which edges it does not go through; see `skipped`.
        skip_names: the operations that `skip` is about; all by default.
        keep: takes the gradient that a value has, a new contribution, and the name of the operation that it comes from;
            returns what the value has from now on. By default it is their sum.
        first: takes the last value; returns the gradient that it begins with. By default it is ones.
        start: what all other gradients begin with; by default with nothing, and nothing is passed on.
        shared: operations that keep what they took once for all of their steps: each finds what the last one took.
    """

    order: Order = "latest first"
    again: bool = False
    skip: Skip = ""
    skip_names: tuple[str, ...] = ()
    keep: Keep | None = None
    first: Callable[[Array], Array] = np.ones_like
    start: float | None = None
    shared: tuple[str, ...] = ()

    @np.errstate(all="ignore")
    def gradients(
        self, forward: Forward, before: Sequence[Gradient] = (), done: Collection[int] = ()
    ) -> list[Gradient]:
        """Return the gradient that each value has in the end; `None` where nothing has arrived.

        Args:
            forward: the forward pass; its last node is what is differentiated.
            before: the gradients that the first values have already.
            done: nodes that nothing is handed on by.
        """
        nodes = forward.nodes
        gradients = [*before, *(self._start(node) for node in nodes[len(before) :])][: len(nodes)]
        gradients[-1] = np.asarray(self.first(nodes[-1].value))
        last = {node.name: node for node in nodes if node.name in self.shared}
        skip = skipped(forward, self.skip, self.skip_names)
        for reader, slot in self._edges(forward):
            g = gradients[reader]
            if g is None or reader in done or (reader, slot) in skip:
                continue
            node = nodes[reader]
            new = last.get(node.name, node).vjp(slot, g)
            operand = node.operands[slot][1]
            old = gradients[operand]
            gradients[operand] = new if old is None else self._kept(old, new, node.name)
        return gradients

    def _start(self, node: Node) -> Gradient:
        """Return what a value's gradient begins with."""
        return None if self.start is None else np.full(node.value.shape, self.start)

    def _kept(self, old: Array, new: Array, name: str) -> Array:
        """Return what a value has after a contribution."""
        return old + new if self.keep is None else self.keep(old, new, name)

    def _edges(self, forward: Forward) -> Iterable[Place]:
        """Return the edges in the order in which they are gone through, perhaps more than once."""
        if self.order == "latest first":
            return (place for i in range(len(forward.nodes) - 1, -1, -1) for place in _edges_of(forward, i))
        if self.order == "earliest first":
            return (place for i in range(len(forward.nodes)) for place in _edges_of(forward, i))
        if self.order == "edge by edge":
            return _edge_by_edge(forward)
        return _as_met(forward, self.order, self.again)


def _edges_of(forward: Forward, reader: int) -> list[Place]:
    """Return the edges by which a node reads what depends on an input."""
    return [(reader, slot) for slot, _ in forward.edges[reader]]


def _as_met(forward: Forward, order: Order, again: bool) -> Iterator[Place]:
    """Yield the edges of each value as it is met, from the last one on."""
    waiting, seen = deque([len(forward.nodes) - 1]), set[int]()
    while waiting:
        reader = waiting.popleft() if order == "oldest met first" else waiting.pop()
        if again or reader not in seen:
            yield from _edges_of(forward, reader)
            operands = [operand for _, operand in forward.edges[reader]]
            waiting.extend(reversed(operands) if order == "newest met last operand first" else operands)
        seen.add(reader)


def _edge_by_edge(forward: Forward) -> Iterator[Place]:
    """Yield each edge, and in front of the next one of its node all that lead on from it to the inputs."""
    waiting = _edges_of(forward, len(forward.nodes) - 1)[::-1]
    while waiting:
        reader, slot = place = waiting.pop()
        yield place
        waiting += _edges_of(forward, dict(forward.edges[reader])[slot])[::-1]


def skipped(forward: Forward, skip: Skip, names: tuple[str, ...] = ()) -> frozenset[Place]:
    """Return the edges that an engine does not go through.

    Args:
        forward: the forward pass.
        skip: `"dead"`: those of steps that the last value is not made from. `"repeated"`: where a step takes a value
            twice, the first of the two. `"all but the last"`: of each value all uses but the last one, which may be a
            dead step's. `"awaiting"`: those of values that wait for a dead step to pass something on, and all in front
            of them. `"before dead"`: those of all steps before the last dead one, and its own. `"same number"`: those
            of a value that equals a later one.
        names: the operations whose edges are meant; all by default.
    """
    nodes, last = forward.nodes, len(forward.nodes) - 1
    edges = [place for i in range(last, -1, -1) for place in _edges_of(forward, i)]
    operand = {(reader, slot): value for reader in range(last + 1) for slot, value in forward.edges[reader]}
    dead = sum(1 << i for i in range(last) if not forward.followers[i] >> last & 1) if skip else 0
    if skip == "dead":
        skipped = [place for place in edges if dead >> place[0] & 1]
    elif skip == "repeated":
        skipped = [(i, s) for i, s in edges if any(o == operand[i, s] and later > s for later, o in forward.edges[i])]
    elif skip == "all but the last":
        latest = {operand[place]: place for place in sorted(edges)}
        skipped = [place for place in edges if latest[operand[place]] != place]
    elif skip == "awaiting":
        skipped = [place for place in edges if forward.followers[place[0]] & dead]
    elif skip == "before dead":
        skipped = [place for place in edges if place[0] < dead.bit_length()]
    elif skip == "same number":
        values = [node.value.item() for node in nodes]
        seen = Counter(values)
        repeated = set()
        for i, value in enumerate(values):
            seen[value] -= 1
            if seen[value]:
                repeated.add(i)
        skipped = [place for place in edges if place[0] in repeated]
    else:
        skipped = []
    return frozenset(place for place in skipped if not names or nodes[place[0]].name in names)


# Several walks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Session:
    """What an engine does from one call of `backward` to the next.

    Args:
        walk: how it goes back in each of them.
        kept: whose gradients the next walk begins with: what the inputs have is added to.
        cleared: whose gradients `zero_grad` sets to 0.
        apart: whether each walk begins with nothing, and what it gives the inputs is added behind it.
        grown: whether the 1 that a walk begins with is added to what its last value has.
        newest: whether each walk begins at the newest value, in place of the one that it is asked for.
        done: the steps that no walk goes through: those that were made before an earlier walk, or that one has gone
            through.
        cut: whether a value that has been detached hands nothing on to what it was made from.
    """

    walk: Walk = Walk()
    kept: Literal["inputs", "all", "nothing"] = "inputs"
    cleared: Literal["inputs", "all", "nothing"] = "inputs"
    apart: bool = False
    grown: bool = False
    newest: bool = False
    done: Literal["nothing", "made", "walked"] = "nothing"
    cut: bool = False

    def gradients(self, script: Script) -> list[Array]:
        """Return the gradient that each input has in the end."""
        count = len(script.program.inputs)
        state: list[Gradient] = [np.zeros(())] * count
        done: set[int] = set()
        for call in script.calls:
            if call.value is None:
                state = self._cleared(state, count)
                continue
            last = call.made - 1 if self.newest else call.value
            forward = script.program.forward.up_to(last)
            walk, before = self.walk, self._before(state, count)
            if self.grown:
                has = before[last] if last < len(before) else None
                walk = replace(walk, first=partial(_one_more, has))
            gradients = walk.gradients(forward, before, {*done, *(call.detached if self.cut else ())})
            if self.apart:
                gradients = [_added(old, new) for old, new in zip(state[:count], gradients, strict=False)]
            state = [*gradients, *state[len(gradients) :]]
            state[:count] = [np.zeros(()) if g is None else g for g in state[:count]]
            if self.done == "made":
                done.update(range(call.made))
            elif self.done == "walked":
                done.update(i for i in range(last + 1) if forward.followers[i] >> last & 1)
        return [np.zeros(()) if g is None else g for g in state[:count]]

    def _before(self, state: list[Gradient], count: int) -> list[Gradient]:
        """Return the gradients that a walk begins with."""
        if self.apart or self.kept == "nothing":
            return []
        return state if self.kept == "all" else state[:count]

    def _cleared(self, state: list[Gradient], count: int) -> list[Gradient]:
        """Return the gradients behind `zero_grad`."""
        if self.cleared == "nothing":
            return state
        return [np.zeros(()) for _ in range(count)] + ([] if self.cleared == "all" else state[count:])


def _one_more(has: Gradient, value: Array) -> Array:
    """Return ones, added to what a value has."""
    return np.ones_like(value) + (0.0 if has is None else has)


def _added(old: Gradient, new: Gradient) -> Gradient:
    """Return the sum of two gradients, either of which may be nothing."""
    return new if old is None else old if new is None else old + new
