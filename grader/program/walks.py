"""Backward passes as engines perform them: each value has one gradient, to which the vjp of each edge adds in turn.

A `Sweep` computes the right gradients of a program. A walk does what a hand-written engine does: it goes through the
edges in an order, passes on whatever gradient the reader has by then, and combines it with the gradient of the operand.
In the order `"latest first"`, and with sums, it computes the right gradients; every other order or combination is a
mistake that engines have. Nothing is checked: a contribution may have another shape than its value.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from .forward import Forward, Node, Place
from .operation import Array
from .steps import Script

Gradient = Array | None  # None where nothing has arrived
Keep = Callable[[Array, Array, str, int], Array]
Order = Literal[
    "latest first", "earliest first", "edge by edge",
    "oldest met first", "newest met first", "newest met last operand first",
]  # fmt: skip
WRONG_ORDERS: tuple[tuple[Order, bool], ...] = (
    ("earliest first", False),
    *((order, again) for again in (False, True) for order in get_args(Order)[3:]),
    ("edge by edge", False),
)
"""Each order in which an engine goes wrong, and whether a value passes on its gradient each time that it is met."""
Skip = Literal["", "dead", "repeated", "all but the last", "awaiting", "before dead", "same number"]


@dataclass(frozen=True)
class Walk:
    """One backward pass of an engine: the order of the edges, and how gradients are combined.

    Args:
        order: in which order the engine goes through the edges. The "met" orders begin at the last value, and go on to
            whatever a value was made from.
        again: in a "met" order, whether a value passes on its gradient each time that it is met, and not only the first
            time.
        skip: which edges the engine does not go through; see `skipped_edges`.
        skip_names: the operations that `skip` is about; all by default.
        keep: takes the gradient that a value has, a new contribution, the name of the operation that it comes from, and
            the slot of the value in it; returns the gradient that the value has from now on. By default it is their
            sum.
        first: takes the last value; returns the gradient that it begins with. By default it is ones.
        start: the number that all other gradients begin with; by default they begin with `None`, which is not passed
            on.
        shared: operations that store their operands once for all of their nodes, so that each vjp sees those of the
            last node.
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
        """Return the gradient that each value has after this backward pass, by id; `None` where nothing was added.

        Args:
            forward: the forward pass. The value of its last node is differentiated; it has any shape, and begins with
                the gradient `first(value)`, by default ones of this shape.
            before: the gradients that the values 0, 1, ... have already and that are added to, one for each of the
                first few values; `None` for a value without one.
            done: the ids of nodes whose vjps are not called, so that they contribute nothing to their operands.
        """
        nodes = forward.nodes
        gradients = [*before, *(self._start(node) for node in nodes[len(before) :])][: len(nodes)]
        gradients[-1] = np.asarray(self.first(nodes[-1].value))
        last = {node.name: node for node in nodes if node.name in self.shared}
        skip = skipped_edges(forward, self.skip, self.skip_names)
        for reader, slot in self.edges(forward):
            g = gradients[reader]
            if g is None or reader in done or (reader, slot) in skip:
                continue
            node = nodes[reader]
            new = last.get(node.name, node).vjp(slot, g)
            operand = node.operands[slot][1]
            old = gradients[operand]
            gradients[operand] = new if old is None else self._combine(old, new, node.name, slot)
        return gradients

    def _start(self, node: Node) -> Gradient:
        """Return the gradient that a node's value has before the walk: an array with the field `start` in each entry.

        Return `None` if that field is `None`.
        """
        return None if self.start is None else np.full(node.value.shape, self.start)

    def _combine(self, old: Array, new: Array, name: str, slot: int) -> Array:
        """Return the gradient that a value has after a contribution: the sum, or what the field `keep` makes of both.

        Args:
            old: the value's gradient so far, shaped like it.
            new: the contribution.
            name: the operation of the node that contributes, such as `"mul"`.
            slot: the slot of the value among the operands of that node.
        """
        return old + new if self.keep is None else self.keep(old, new, name, slot)

    def edges(self, forward: Forward) -> Iterable[Place]:
        """Return the edges (reader, slot) of a forward pass in the order in which the walk goes through them.

        By the field `order`: `"latest first"` goes through the readers from the last to the first, `"earliest first"`
        from the first to the last, and both through the slots of each reader from the first on. `"edge by edge"` goes
        from an edge on to those of its operand, as a recursion does. `"oldest met first"` and the two orders `"newest
        met ..."` keep a list of values to visit; see `_edges_as_met`. In these last four an edge may come more than
        once.
        """
        if self.order == "latest first":
            return (place for i in range(len(forward.nodes) - 1, -1, -1) for place in _edges_of(forward, i))
        if self.order == "earliest first":
            return (place for i in range(len(forward.nodes)) for place in _edges_of(forward, i))
        if self.order == "edge by edge":
            return _edges_depth_first(forward)
        return _edges_as_met(forward, self.order, self.again)


def _edges_of(forward: Forward, reader: int) -> list[Place]:
    """Return the edges, as (reader, slot), from a node to those of its operands that depend on an input, by slot."""
    return [(reader, slot) for slot, _ in forward.edges[reader]]


def _edges_as_met(forward: Forward, order: Order, again: bool) -> Iterator[Place]:
    """Yield edges as a walk does that keeps a list of the values to visit, at first the last value alone.

    It takes a value from the list, yields the edges (value, slot) to its operands, and appends these operands.

    Args:
        forward: the forward pass.
        order: which value of the list is taken next: `"oldest met first"`, that which has been in it for longest;
            `"newest met first"`, the one appended last; `"newest met last operand first"`, the same, but operands are
            appended from the last to the first.
        again: whether a value that is in the list several times yields its edges each time, and not only once.
    """
    waiting, seen = deque([len(forward.nodes) - 1]), set[int]()
    while waiting:
        reader = waiting.popleft() if order == "oldest met first" else waiting.pop()
        if again or reader not in seen:
            yield from _edges_of(forward, reader)
            operands = [operand for _, operand in forward.edges[reader]]
            waiting.extend(reversed(operands) if order == "newest met last operand first" else operands)
        seen.add(reader)


def _edges_depth_first(forward: Forward) -> Iterator[Place]:
    """Yield the edges (reader, slot) as a recursion does: an edge of the last value, then all those of its operand.

    Only then comes the next edge of the last value. A value that is read twice has its edges yielded twice.
    """
    waiting = _edges_of(forward, len(forward.nodes) - 1)[::-1]
    while waiting:
        reader, slot = place = waiting.pop()
        yield place
        waiting += _edges_of(forward, dict(forward.edges[reader])[slot])[::-1]


def skipped_edges(forward: Forward, skip: Skip, names: tuple[str, ...] = ()) -> frozenset[Place]:
    """Return the edges (reader, slot) that an engine does not go through in its backward pass.

    A node is dead if the last value does not depend on it.

    Args:
        forward: the forward pass.
        skip: which edges are skipped. `""`: none. `"dead"`: the edges of dead readers. `"repeated"`: where a node reads
            a value twice, the first of the two edges. `"all but the last"`: for each value, the edges of all readers
            but the last one, which may be dead. `"awaiting"`: the edges of readers that are dead, or from which a dead
            node is computed, as if they waited for its contribution. `"before dead"`: the edges of the last dead node
            and of all nodes before it. `"same number"`: the edges of readers whose value, a number, equals that of a
            later node.
        names: the operations of the readers to which this applies; all by default.
    """
    nodes, last = forward.nodes, len(forward.nodes) - 1
    edges = [place for i in range(last, -1, -1) for place in _edges_of(forward, i)]
    operand = {(reader, slot): value for reader in range(last + 1) for slot, value in forward.edges[reader]}
    dead = sum(1 << i for i in range(last) if not forward.followers[i] >> last & 1) if skip else 0
    if skip == "dead":
        places = [place for place in edges if dead >> place[0] & 1]
    elif skip == "repeated":
        places = [(i, s) for i, s in edges if any(o == operand[i, s] and later > s for later, o in forward.edges[i])]
    elif skip == "all but the last":
        latest = {operand[place]: place for place in sorted(edges)}
        places = [place for place in edges if latest[operand[place]] != place]
    elif skip == "awaiting":
        places = [place for place in edges if forward.followers[place[0]] & dead]
    elif skip == "before dead":
        places = [place for place in edges if place[0] < dead.bit_length()]
    elif skip == "same number":
        values = [node.value.item() for node in nodes]
        seen = Counter(values)
        repeated = set()
        for i, value in enumerate(values):
            seen[value] -= 1
            if seen[value]:
                repeated.add(i)
        places = [place for place in edges if place[0] in repeated]
    else:
        places = []
    return frozenset(place for place in places if not names or nodes[place[0]].name in names)


# Several walks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BackwardCalls:
    """The backward passes of a script that calls `backward` several times, and what happens between them.

    Args:
        walk: the backward pass that each call of `backward` makes.
        kept: the values whose gradients the next walk begins with and adds to.
        cleared: the values whose gradients `zero_grad` sets to 0.
        apart: whether each walk begins without gradients, and those of the inputs are added to theirs afterwards.
        grown: whether a walk begins with ones plus the gradient that its last value has already, and not with ones.
        newest: whether each walk begins at the newest value, in place of the one that `backward` is called on.
        done: the steps that no walk goes through: `"made"` before an earlier walk, or `"walked"` by an earlier walk; or
            `"called"` where a value's own walk is made once, and further calls on it do nothing.
        cut: whether a detached value passes nothing on to what it was made from.
    """

    walk: Walk = Walk()
    kept: Literal["inputs", "all", "nothing"] = "inputs"
    cleared: Literal["inputs", "all", "nothing"] = "inputs"
    apart: bool = False
    grown: bool = False
    newest: bool = False
    done: Literal["nothing", "made", "walked", "called"] = "nothing"
    cut: bool = False

    def gradients(self, script: Script) -> list[Array]:
        """Return the gradient that each input has after all calls of a script; 0 where no contribution has come to it.

        Args:
            script: a program, and the calls of `backward` and `zero_grad` that are made while its steps are run.
        """
        count = len(script.program.inputs)
        state: list[Gradient] = [np.zeros(())] * count
        done, called = set[int](), set[int]()
        for call in script.calls:
            if call.value is None:
                state = self._clear_gradients(state, count)
                continue
            last = call.made - 1 if self.newest else call.value
            if self.done == "called" and last in called:
                continue
            called.add(last)
            forward = script.program.forward.up_to(last)
            walk, before = self.walk, self._starting_gradients(state, count)
            if self.grown:
                has = before[last] if last < len(before) else None
                walk = replace(walk, first=partial(_ones_plus, has))
            gradients = walk.gradients(forward, before, {*done, *(call.detached if self.cut else ())})
            if self.apart:
                gradients = [_sum_of_gradients(old, new) for old, new in zip(state[:count], gradients, strict=False)]
            state = [*gradients, *state[len(gradients) :]]
            state[:count] = [np.zeros(()) if g is None else g for g in state[:count]]
            if self.done == "made":
                done.update(range(call.made))
            elif self.done == "walked":
                done.update(i for i in range(last + 1) if forward.followers[i] >> last & 1)
        return [np.zeros(()) if g is None else g for g in state[:count]]

    def _starting_gradients(self, state: list[Gradient], count: int) -> list[Gradient]:
        """Return the gradients that a walk begins with and adds to, as a list by id; values beyond its end have none.

        It is empty if the field `apart` is set or `kept` is `"nothing"`; all of `state` if `kept` is `"all"`; else the
        part of `state` that belongs to the inputs.

        Args:
            state: the gradient of each value so far, by id.
            count: the number of inputs, which have the first ids.
        """
        if self.apart or self.kept == "nothing":
            return []
        return state if self.kept == "all" else state[:count]

    def _clear_gradients(self, state: list[Gradient], count: int) -> list[Gradient]:
        """Return the gradients, by id, after `zero_grad`.

        If the field `cleared` is `"inputs"`, those of the inputs are 0; if it is `"all"`, those of all other values are
        dropped, too; if it is `"nothing"`, all stay.

        Args:
            state: the gradient of each value before it, by id.
            count: the number of inputs, which have the first ids.
        """
        if self.cleared == "nothing":
            return state
        return [np.zeros(()) for _ in range(count)] + ([] if self.cleared == "all" else state[count:])


def _ones_plus(has: Gradient, value: Array) -> Array:
    """Return ones, shaped like the array `value`, plus the gradient `has` that it has already; `None` counts as 0."""
    return np.ones_like(value) + (0.0 if has is None else has)


def _sum_of_gradients(old: Gradient, new: Gradient) -> Gradient:
    """Return the sum of two gradients, either of which may be `None` for no gradient at all."""
    return new if old is None else old if new is None else old + new
