"""Names for nodes and values that hold in the program of any trial, whatever its sizes and numbers of iterations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from .forward import SINK, WIDTHS, Forward, Key, Place, Width
from .operation import Array
from .program import Program
from .queries import loop_carried_values

Iterations = Literal["every", "last", "first", "all but the last", "all but the first"]
SLICES: dict[Iterations, slice] = {
    "every": slice(None),
    "last": slice(-1, None),
    "first": slice(0, 1),
    "all but the last": slice(0, -1),
    "all but the first": slice(1, None),
}


@dataclass(frozen=True)
class Selector:
    """Selects the same nodes, or the same edges, in the program of any trial.

    Args:
        width: how many nodes are one place.
        identity: what they have in common, see `Forward.identities`.
        iterations: which of them are meant, in the order of the forward pass.
        slot: the operand, where edges are meant.
    """

    width: Width
    identity: Hashable
    iterations: Iterations = "every"
    slot: int | None = None

    def nodes(self, program: Program) -> tuple[int, ...]:
        """Return the nodes that are meant; none where the forward pass takes another course."""
        return self._group(program.forward)[SLICES[self.iterations]]

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the edges that are meant, as far as they lead a gradient from an output."""
        sources = program.forward.sources
        return tuple((i, self.slot) for i in self.nodes(program) if self.slot is not None and (i, self.slot) in sources)

    def describe(self, program: Program) -> str:
        """Return what is meant, as a learner reads it: `` `h @ u` in the last iteration ``."""
        group = self._group(program.forward)
        if not group:
            return "an operation that this trial does not have"
        node = program.nodes[group[0]]
        if self.width in ("key", "source"):
            text = f"`{node.text or node.name}`"
            return text if self.iterations == "every" else f"{text} in {_which('iteration', self.iterations)}"
        of = f" of {self.identity[1]}" if self.width == "role" and isinstance(self.identity, tuple) else ""
        return _which(f"`{node.name}`{of}", self.iterations)

    def _group(self, forward: Forward) -> tuple[int, ...]:
        """Return the nodes of all iterations."""
        return forward.groups[self.width].get(self.identity, ())


def _which(noun: str, iterations: Iterations) -> str:
    """Return some of several things in words, such as `every iteration but the last`."""
    if iterations.startswith("all but"):
        return f"every {noun} but {iterations.removeprefix('all but ')}"
    return f"every {noun}" if iterations == "every" else f"the {iterations} {noun}"


def node_selectors(program: Program) -> Iterator[Selector]:
    """Yield a selector for every set of nodes that one can name, the narrowest width first.

    A set that has a narrower name is left out. Use a trial with at least three iterations: in one of two, the first
    iteration is all but the last.
    """
    known = set()
    for width in WIDTHS:
        for identity, group in program.forward.groups[width].items():
            for iterations, part in SLICES.items():
                nodes = group[part]
                if nodes and nodes not in known:
                    known.add(nodes)
                    yield Selector(width, identity, iterations)


def edge_selectors(program: Program) -> Iterator[Selector]:
    """Yield a selector for every set of edges that one can name, as `node_selectors` does for nodes."""
    known = set()
    for selector in node_selectors(program):
        slots = {slot for i in selector.nodes(program) for slot, _ in program.forward.edges[i]}
        for slot in sorted(slots):
            edges = Selector(selector.width, selector.identity, selector.iterations, slot)
            places = edges.places(program)
            if places and places not in known:
                known.add(places)
                yield edges


# Second values: named from the node that uses them, so that each iteration finds its own -----------------------------


@dataclass(frozen=True)
class NamedValue:
    """An input, or a value that the declaration names."""

    name: str

    def find(self, program: Program, reader: int) -> int | None:
        """Return the value's id; `None` where the program has none of this name."""
        if self.name in program.inputs:
            return program.inputs[self.name]
        return next((i for i, name in program.forward.names.items() if name == self.name), None)

    def describe(self, program: Program) -> str:
        """Return what a learner calls it."""
        return self.name


@dataclass(frozen=True)
class ComputedValue:
    """What the node of a key makes, so many iterations before the reader; seen from behind the loop, before its end."""

    key: Key
    back: int = 0

    def find(self, program: Program, reader: int) -> int | None:
        """Return the value's id; `None` where there is no such iteration."""
        return _aligned(program, self.key, reader, self.back)

    def describe(self, program: Program) -> str:
        """Return what a learner calls it, and from which iteration it is."""
        forward = program.forward
        first = forward.by_key[self.key][0]
        name = program.name_of(first)
        if name == program.nodes[first].text:  # another call of a function may compute the same expression
            twins = [i for i in forward.groups["source"].get(self.key[-3:], ()) if forward.nodes[i].key != self.key]
            name = f"the {'earlier' if first < min(twins) else 'later'} {name}" if twins else name
        return f"{name} of the iteration before" if self.back == 1 else name


@dataclass(frozen=True)
class OperandValue:
    """What the node of a key reads in a slot, in the reader's iteration.

    In the first iteration that is what was made in front of the loop, later what the iteration before has made.
    """

    key: Key
    slot: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return the value's id; `None` where there is no such iteration, or a constant in the slot."""
        node = _aligned(program, self.key, reader, 0)
        return None if node is None else program.nodes[node].operand(self.slot)

    def describe(self, program: Program) -> str:
        """Return what a learner calls it, at the beginning of an iteration."""
        nodes = program.forward.by_key[self.key]
        value = program.nodes[nodes[min(1, len(nodes) - 1)]].operand(self.slot)
        return "a constant" if value is None else f"{program.name_of(value)} of the iteration before"


ValueName = NamedValue | ComputedValue | OperandValue


def _aligned(program: Program, key: Key, reader: int, back: int) -> int | None:
    """Return the node of a key in the iteration of a reader, or `back` iterations before."""
    nodes, node = program.forward.by_key.get(key, ()), program.nodes[reader]
    if len(nodes) == 1:
        return nodes[0] if back == 0 else None
    in_loop = len(program.forward.by_key[node.key]) > 1
    place = node.iteration - back if in_loop else len(nodes) - 1 - back
    return nodes[place] if 0 <= place < len(nodes) else None


class ValueFinder(Protocol):
    """A name of a value, as seen from the node that takes it."""

    def find(self, program: Program, reader: int) -> int | None:
        """Return the value's id; `None` where there is none."""


def named_array(program: Program, name: ValueFinder, reader: int) -> Array | None:
    """Return the array of a second value; what the iteration before has made is at first what the loop begins with.

    That may be a constant, such as the zeros of a first state, which is no value of the program.

    Args:
        program: the program of any trial.
        name: of the value.
        reader: the node that takes it.
    """
    value = name.find(program, reader)
    if value is not None:
        return program.nodes[value].value
    if not isinstance(name, ComputedValue) or name.back != 1 or program.nodes[reader].iteration:
        return None
    ids = program.forward.by_key.get(name.key, ())
    for other, slot in program.forward.uses[ids[0]] if len(ids) > 1 else ():
        if other != SINK and program.nodes[other].iteration == 1:
            first = program.nodes[program.forward.by_key[program.nodes[other].key][0]]
            start = first.values[slot] if first.operand(slot) is None else None
            if isinstance(start, np.ndarray) and start.shape == program.nodes[ids[0]].value.shape:
                return start
    return None


def values_by_name(program: Program, reader: int, shape: tuple[int, ...] | None = None) -> dict[ValueName, int]:
    """Return every floating-point value that a rule at a node may take in place of another, each under one name.

    Args:
        program: the program of one trial.
        reader: the node; in a loop that of the second iteration, where what is read at its beginning has been made
            in the loop.
        shape: the shape that the value must have; any by default.

    Returns:
        For each name the value's id in this trial.
    """
    known = _VALUES_BY_NAME.setdefault(program.forward, {})
    if reader not in known:
        known[reader] = _values_by_name(program, reader)
    shapes = program.forward.shapes
    return {name: value for name, value in known[reader].items() if shape in (None, shapes[value])}


_VALUES_BY_NAME: WeakKeyDictionary[Forward, dict[int, dict[ValueName, int]]] = WeakKeyDictionary()
_NAMES: WeakKeyDictionary[Forward, tuple[ValueName, ...]] = WeakKeyDictionary()


def _values_by_name(program: Program, reader: int) -> dict[ValueName, int]:
    """Return every second value of any shape; see `values_by_name`."""
    forward = program.forward
    if forward not in _NAMES:
        made = [key for key, ids in forward.by_key.items() if forward.nodes[ids[0]].text]
        read = [OperandValue(value.key, value.slot) for value in loop_carried_values(program)]
        _NAMES[forward] = (
            *map(NamedValue, program.inputs),
            *read,
            *(ComputedValue(key, back) for back in (0, 1) for key in made),
        )
    values: dict[int, ValueName] = {}
    for name in _NAMES[forward]:
        value = name.find(program, reader)
        if value is not None and value not in values and forward.nodes[value].value.dtype.kind == "f":
            values[value] = name
    return {name: value for value, name in values.items()}
