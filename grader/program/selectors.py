"""Names for nodes, edges and values that hold in the program of any trial, whatever its sizes and iterations.

A `Selector` names nodes or edges. A `ValueName` names a value as it is seen from a node, so that in a loop each
iteration finds its own: "what `h @ u` made one iteration before".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from .forward import SINK, WIDTHS, Forward, Key, Node, Place, Width
from .operation import Array
from .program import Program, as_code
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
        width: by what nodes are grouped; see `Width`.
        identity: what the nodes of the group have in common; see `Forward.identities`.
        iterations: which nodes of the group are selected, in the order of the forward pass.
        slot: the slot of the operand, where edges are selected; `None` for nodes.
    """

    width: Width
    identity: Hashable
    iterations: Iterations = "every"
    slot: int | None = None

    def nodes(self, program: Program) -> tuple[int, ...]:
        """Return the ids of the nodes that this selects in a program, in the order of the forward pass.

        For `h @ u` and the iterations `"last"`: the node of `h @ u` in the last iteration. Empty where the program has
        no such node.
        """
        return self._group(program.forward)[SLICES[self.iterations]]

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the selected edges in a program: (node, `slot`) for each selected node that contributes there.

        Empty if `slot` is `None`.
        """
        sources = program.forward.sources
        return tuple((i, self.slot) for i in self.nodes(program) if self.slot is not None and (i, self.slot) in sources)

    def describe(self, program: Program) -> str:
        """Return the selected nodes in words for a learner: `` `h @ u` in the last iteration ``.

        Where the program has none of them: "an operation that this trial does not have".
        """
        group = self._group(program.forward)
        if not group:
            return "an operation that this trial does not have"
        node = program.nodes[group[0]]
        if self.width in ("key", "source"):
            text = f"`{node.text or node.name}`"
            return (
                text
                if self.iterations == "every"
                else f"{text} in {_iterations_in_words('iteration', self.iterations)}"
            )
        if self.width == "repeated":
            return _iterations_in_words(f"`{node.text}`", self.iterations)
        of = f" of {self.identity[1]}" if self.width == "role" and isinstance(self.identity, tuple) else ""
        return _iterations_in_words(f"{operation_noun(node)}{of}", self.iterations)

    def _group(self, forward: Forward) -> tuple[int, ...]:
        """Return the ids of the nodes that have in common what `self.identity` says, in every iteration; perhaps none.

        If `self.width` is `"key"`, the identity is a node's key; if it is `"operation"`, the name of an operation.
        """
        return forward.groups[self.width].get(self.identity, ())


def operation_noun(node: Node) -> str:
    """Return what a learner calls operations of a node's kind: `` `sum` ``, but "indexing" for `x[i]`.

    torch calls that `getitem`, which stands in no source.
    """
    return "indexing" if node.name == "getitem" else f"`{node.name}`"


def _iterations_in_words(noun: str, iterations: Iterations) -> str:
    """Return in words which of several things are meant: `every iteration but the last` for "all but the last".

    Args:
        noun: the things, such as `iteration`.
        iterations: which of them: `"every"`, `"first"`, `"last"`, `"all but the first"` or `"all but the last"`.
    """
    if iterations.startswith("all but"):
        return f"every {noun} but {iterations.removeprefix('all but ')}"
    return f"every {noun}" if iterations == "every" else f"the {iterations} {noun}"


def node_selectors(program: Program) -> Iterator[Selector]:
    """Yield a selector for each set of nodes that can be named: a group of some width, in all or some iterations.

    Such as `h @ u` in the last iteration, or every `@` that reads x. Selectors of the width `"key"` come first, those
    of `"operation"` last. Each set comes once: in a loop of two iterations "the first" and "all but the last" are one
    set, so that the program of a trial with three or more iterations gives more selectors.
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
    """Yield a selector for each set of edges that can be named: one slot of the nodes of a `node_selectors` selector.

    Such as slot 0 of `h @ u` in the last iteration. The order is that of `node_selectors`, and each set comes once.
    """
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
    """Names an input, or a value that the exercise's declaration names.

    Args:
        name: its name.
    """

    name: str

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the value with this name, the same for every `reader`; `None` where there is none."""
        if self.name in program.inputs:
            return program.inputs[self.name]
        return next((i for i, name in program.forward.names.items() if name == self.name), None)

    def describe(self, program: Program) -> str:
        """Return the value's name, as the learner knows it."""
        return self.name


@dataclass(frozen=True)
class ComputedValue:
    """Names the value of a node with a certain key, `back` iterations before that of the node that takes the value.

    A node after the loop counts as one in the last iteration.

    Args:
        key: the key of the node that makes the value.
        back: how many iterations earlier it is made.
    """

    key: Key
    back: int = 0

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the node with `key`, `back` iterations before that of the node `reader`.

        With `back` 1 and a reader in iteration 3 of the loop: the one in iteration 2. A reader after the loop counts as
        in the last iteration. Return `None` where the loop has no such iteration.
        """
        return _node_in_iteration(program, self.key, reader, self.back)

    def describe(self, program: Program) -> str:
        """Return the value in words for a learner: `h`, or `h of the previous iteration` if `back` is 1.

        It is "the earlier `x @ w`", or the later one, where another call of a function computes the same expression.
        The program must have nodes of the key.
        """
        forward = program.forward
        first = forward.by_key[self.key][0]
        name = program.name_of(first)
        if name == as_code(program.nodes[first].text):  # another call of a function may compute the same expression
            twins = [i for i in forward.groups["source"].get(self.key[-3:], ()) if forward.nodes[i].key != self.key]
            name = f"the {'earlier' if first < min(twins) else 'later'} {name}" if twins else name
        return f"{name} of the previous iteration" if self.back == 1 else name


@dataclass(frozen=True)
class OperandValue:
    """Names the operand that a node with a certain key reads in a slot, in the iteration of the node that takes it.

    So a loop-carried value is named: in the first iteration the node reads what was made before the loop, afterwards
    what the iteration before has made.

    Args:
        key: the key of the node that reads the operand.
        slot: the slot in which that node reads it.
    """

    key: Key
    slot: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the operand in `slot` of the node with `key`, in the iteration of the node `reader`.

        Return `None` where the loop has no such iteration, or the operand is a constant.
        """
        node = _node_in_iteration(program, self.key, reader, 0)
        return None if node is None else program.nodes[node].operand(self.slot)

    def describe(self, program: Program) -> str:
        """Return the value in words for a learner: `h of the previous iteration`; `a constant` where it has no node.

        The program must have nodes of the key.
        """
        nodes = program.forward.by_key[self.key]
        value = program.nodes[nodes[min(1, len(nodes) - 1)]].operand(self.slot)
        return "a constant" if value is None else f"{program.name_of(value)} of the previous iteration"


ValueName = NamedValue | ComputedValue | OperandValue


def _node_in_iteration(program: Program, key: Key, reader: int, back: int) -> int | None:
    """Return the id of the node with a key in the iteration of the node `reader`, or `back` iterations before.

    A reader outside of the loop stands after it, so that the last iteration counts as its own.

    Args:
        program: the program.
        key: the key of the node that is looked for.
        reader: the id of the node that takes its value.
        back: the number of iterations.

    Returns:
        `None` where there is no such iteration.
    """
    nodes, node = program.forward.by_key.get(key, ()), program.nodes[reader]
    if len(nodes) == 1:
        return nodes[0] if back == 0 else None
    in_loop = len(program.forward.by_key[node.key]) > 1
    place = node.iteration - back if in_loop else len(nodes) - 1 - back
    return nodes[place] if 0 <= place < len(nodes) else None


class ValueFinder(Protocol):
    """Describes anything that finds a value as it is seen from a node, such as a `ValueName`."""

    def find(self, program: Program, reader: int) -> int | None:
        """Return the id of the value that this name stands for at the node with the id `reader`; `None` for none."""


def named_array(program: Program, name: ValueFinder, reader: int) -> Array | None:
    """Return the array that a name stands for at the node `reader`; `None` where there is no such value.

    For the name "h of the previous iteration" and a reader in iteration 3: the h that iteration 2 has made. In the
    first iteration, the value of the previous iteration is what the loop begins with. That may be a constant, such as
    the zeros of a first state, which has no node: so the array can exist where `find` finds no id. A constant that only
    constants are computed from, as in `state @ a` with a constant a, is not recorded, and taken for zeros.

    Args:
        program: the program of any trial.
        name: the name of a value, such as a `ValueName`: its method `find` returns an id.
        reader: the id of the node that takes the value, in place of an operand of its own, say.
    """
    value = name.find(program, reader)
    if value is not None:
        return program.nodes[value].value
    if not isinstance(name, ComputedValue) or name.back != 1 or program.nodes[reader].iteration:
        return None
    ids = program.forward.by_key.get(name.key, ())
    is_computed_from_constants = False
    for other, slot in program.forward.uses[ids[0]] if len(ids) > 1 else ():
        if other == SINK:
            continue
        readers = program.forward.by_key[program.nodes[other].key]
        first = program.nodes[readers[0]]
        if program.nodes[other].iteration == 1:
            start = first.values[slot] if first.operand(slot) is None else None
            if isinstance(start, np.ndarray) and start.shape == program.nodes[ids[0]].value.shape:
                return start
        is_computed_from_constants |= first.id == other and len(readers) == len(ids) - 1
    return np.zeros_like(program.nodes[ids[0]].value) if is_computed_from_constants else None


def values_by_name(program: Program, reader: int, shape: tuple[int, ...] | None = None) -> dict[ValueName, int]:
    """Return every floating-point value that an edit may use at a node, by a `ValueName` that holds in every trial.

    A name is a record such as `NamedValue("x")`, for an input, or `ComputedValue(key, back=1)`, for what the node with
    this key has made one iteration before. The values are all inputs, the loop-carried values as the node's iteration
    reads them, and what all nodes with an expression in the source compute, later ones included: in the iteration of
    this node and in the one before.

    Args:
        program: the program of one trial.
        reader: the id of the node; in a loop that of the second iteration, for which the loop-carried values have been
            made in the loop.
        shape: the shape that a value must have; any by default.

    Returns:
        For each name the id of the value in this trial, in the order above. Each value has one name, the first of its
        names in this order.
    """
    known = _VALUES_BY_NAME.setdefault(program.forward, {})
    if reader not in known:
        known[reader] = _values_by_name(program, reader)
    shapes = program.forward.shapes
    return {name: value for name, value in known[reader].items() if shape in (None, shapes[value])}


_VALUES_BY_NAME: WeakKeyDictionary[Forward, dict[int, dict[ValueName, int]]] = WeakKeyDictionary()
_NAMES: WeakKeyDictionary[Forward, tuple[ValueName, ...]] = WeakKeyDictionary()


def _values_by_name(program: Program, reader: int) -> dict[ValueName, int]:
    """Return by `ValueName` the id of each floating-point value that an edit may use at a node, without a cache.

    They are inputs, loop-carried values, and what any expression of the source computes in the iteration of the node or
    the one before, each by the first name in this order.
    """
    forward = program.forward
    if forward not in _NAMES:
        made = [key for key, ids in forward.by_key.items() if forward.nodes[ids[0]].text]
        read = [
            OperandValue(value.key, value.slot) for value in loop_carried_values(program) if value.initial is not None
        ]
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
