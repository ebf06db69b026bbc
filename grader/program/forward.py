"""A recorded forward pass: its operations as nodes, and the edges from readers to operands that gradients go along.

A value has three identifiers: its id is the position of its node in one trial's program; its key is the position in the
source, the same in every trial and in all iterations of a loop; its name is what a learner calls it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from operator import and_
from typing import Literal

import numpy as np

from .constants import Constants
from .operation import POINTWISE_BY_TORCH, Array, NoCandidate, Operand, Operation, Options

Key = tuple[Hashable, ...]
Place = tuple[int, int]  # an edge: the node that uses a value, and in which slot
SINK = -1  # the reader of the outputs: the edge (SINK, k) carries the upstream gradient of output k
ADDED = -1  # the slot of an edge that the forward pass does not have
ENTRIES = 2000.0  # numpy handles as many in the time of one call
PRODUCTS = 20_000.0  # and multiplies and adds as many in a matrix product
TORCH_CALLS = 12.0  # torch takes as long as so many calls for an operation that it computes and differentiates

INPUT = Operation("input", "input", lambda value: value)
LOSS = Operation("loss", "other", lambda *outputs: np.zeros(()), (lambda slot, g, *_: g,), variadic=True)


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One operation of a forward pass, or an input; the node and its value have one id.

    Args:
        id: its position among the nodes.
        operation: the operation that it computes.
        operands: for each slot that holds the value of a node, the slot and the id of that node.
        values: the operand in each slot: an array, or a plain number.
        options: all other arguments by name, such as `dim`.
        value: the result.
        key: the position of the operation in the source: the instructions that are being executed, from the forward
            pass inwards, the operation, and which of its results this is. All iterations of a loop have one key.
        iteration: its number among the nodes of this key.
        text: the expression in the source, such as `x @ w`; empty where there is no source.
        line: the line of the expression.
        variable: the variable that the value is assigned to; empty where there is none.
        composite: the loss or layer that the operation was recorded as a part of, such as `cross_entropy`; empty for
            none.
        call: the call of the author's function that the expression stands in; empty in the forward pass itself.
    """

    id: int
    operation: Operation
    operands: tuple[tuple[int, int], ...]
    values: tuple[Operand, ...]
    options: Options
    value: Array
    key: Key = ()
    iteration: int = 0
    text: str = ""
    line: int = 0
    variable: str = ""
    composite: str = ""
    call: str = ""

    def __repr__(self) -> str:
        """Return the node on one line, without its arrays."""
        return f"<{self.id}: {self.name}{list(self.operands)} `{self.text}` of line {self.line}, {self.value.shape}>"

    @property
    def name(self) -> str:
        """Return the name of the operation, such as `matmul`."""
        return self.operation.name

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Return the operands that may get a gradient, as pairs of a slot and the id of the operand, in slot order.

        These are floating-point values of nodes in slots with a vjp; there are none if the node's own value is not
        floating-point.
        """
        if self.value.dtype.kind != "f":
            return ()
        return tuple(
            (slot, operand)
            for slot, operand in self.operands
            if np.asarray(self.values[slot]).dtype.kind == "f" and self.operation.is_differentiable(slot)
        )

    def with_value(self, values: tuple[Operand, ...], value: Array) -> Node:
        """Return the node with the given operands and value in place of its own; nothing is computed.

        It does what `dataclasses.replace` would, which takes longer than the operation.

        Args:
            values: the operand in each slot: arrays and numbers.
            value: the result of the operation.
        """
        node = object.__new__(Node)
        node.__dict__.update(self.__dict__, values=values, value=value)
        return node

    def operand(self, slot: int) -> int | None:
        """Return the id of the node whose value is in a slot; `None` where the slot holds a constant."""
        return dict(self.operands).get(slot)

    def vjp(
        self,
        slot: int,
        g: Array,
        operands: Mapping[int, Operand] | None = None,
        value: Array | None = None,
        options: Options | None = None,
    ) -> Array:
        """Return the contribution of the node to the operand in a slot, perhaps with arguments replaced.

        For `x @ w` and slot 0: `g @ w.T`; with `operands={1: v}`: `g @ v.T`.

        Args:
            slot: the slot of the operand.
            g: the upstream gradient, shaped like the node's value.
            operands: by slot, operands in place of the node's.
            value: a value in place of the node's, for a vjp that is written in terms of it.
            options: options in place of the node's, by name.

        Returns:
            The contribution, shaped like the operand.

        Raises:
            NoCandidate: the vjp cannot be computed for these.
        """
        values = self.values
        if operands:
            values = tuple(operands.get(i, own) for i, own in enumerate(values))
        options = {**self.options, **options} if options else self.options
        if value is not None and self.operation.value_vjp is not None:
            return np.asarray(self.operation.value_vjp(g, value, *values, **options))
        return self.operation.vjp(slot, g, self.value if value is None else value, values, options)

    def with_options(self, **options: object) -> Node:
        """Return the node with the given options replaced.

        Its value stays as it is until a forward pass runs the node.
        """
        return replace(self, options={**self.options, **options})

    def with_operand(self, slot: int, value: Operand, operand: int | None = None) -> Node:
        """Return the node with the given operand in a slot; its value stays until a forward pass runs the node.

        Args:
            slot: the slot.
            value: the operand: an array or a number.
            operand: the id of the node whose value it is; `None` for a constant.

        Raises:
            NoCandidate: the node has no such slot, as `cat` may have fewer operands in some trials.
        """
        if slot >= len(self.values):
            raise NoCandidate(f"{self.name} has only {len(self.values)} operands")
        operands = tuple(pair for pair in self.operands if pair[0] != slot)
        if operand is not None:
            operands = tuple(sorted((*operands, (slot, operand))))
        return replace(self, operands=operands, values=(*self.values[:slot], value, *self.values[slot + 1 :]))

    def value_for(self, slot: int, operand: Operand) -> Array:
        """Return what the operation makes of the operands with another one in a slot: v.T for `w.T`, slot 0 and v.

        Raises:
            NoCandidate: the node has no such slot, or numpy cannot compute it.
        """
        changed = self.with_operand(slot, operand)
        return changed.operation.run(changed.values, changed.options)

    def with_operation(self, operation: Operation, slots: Iterable[int] | None = None, **options: object) -> Node:
        """Return the node with the given operation in place of its own; its value stays until a forward pass runs it.

        For a * b and `with_operation(OPERATIONS["sub"], (1, 0))`: b - a.

        Args:
            operation: the operation.
            slots: which of the node's operands the operation takes, in its order; all of them by default.
            options: all options of the operation; those of the node are dropped.
        """
        slots = range(len(self.values)) if slots is None else tuple(slots)
        known = dict(self.operands)
        operands = tuple((new, known[old]) for new, old in enumerate(slots) if old in known)
        values = tuple(self.values[slot] for slot in slots)
        return replace(self, operation=operation, operands=operands, values=values, options=options)

    def then(self, change: Callable[[Array], Array], pullback: Callable[[Array], Array] = np.asarray) -> Node:
        """Return the node whose value is `change` of what its operation computes, with the vjps of the two together.

        Its stored value stays until a forward pass runs the node.

        Args:
            change: takes the value; returns an array of the same shape.
            pullback: takes the upstream gradient of the result; returns that of the operation's value. By default it is
                the same, as for a function that adds a constant.
        """
        own = self.operation

        def run(*values: Operand, **options: object) -> Array:
            """Return the changed value of the operation."""
            return change(np.asarray(own.forward(*values, **options)))

        def vjp(slot: int, g: Array, value: Array, *values: Operand, **options: object) -> Array:
            """Return the contribution to the operand in a slot, from the upstream gradient of the changed value."""
            return own.vjp(slot, pullback(g), own.run(values, options), values, options)

        numbered = range(len(own.vjps))
        vjps = (
            (vjp,) if own.variadic else tuple(partial(vjp, i) if own.is_differentiable(i) else None for i in numbered)
        )
        return replace(self, operation=Operation(own.name, own.family, run, vjps, own.variadic))

    def without_operation(self, slot: int = 0) -> Node:
        """Return the node with the identity in place of its operation: its value is the operand in the given slot."""
        return self.with_operation(IDENTITY, (slot,))


IDENTITY = Operation("identity", "pointwise", lambda x: x, (lambda g, value, x: g,))
# How many nodes are one place: those of one key, in all iterations of a loop; of one expression in the source,
# whichever call runs it; of one value that the source computes at several places; of one operation that reads a certain
# input; of one operation.
Width = Literal["key", "source", "repeated", "role", "operation"]
WIDTHS: tuple[Width, ...] = ("key", "source", "repeated", "role", "operation")

Change = Callable[[Node], Node]  # of a node whose operands are already what they have become


def apply_change(node: Node, change: Change) -> Node:
    """Return `change(node)`, with `NoCandidate` in place of whatever exception the change raises.

    Args:
        node: a node, whose operands are those of the changed forward pass already.
        change: takes the node; returns the node that replaces it, such as one with a wrong option.

    Raises:
        NoCandidate: the change cannot be made, such as where an index is out of range in this trial.
    """
    try:
        return change(node)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise NoCandidate(f"{node.text or node.name} cannot be changed: {error}") from error


class _BoundVjps(dict[Place, Callable[[Array], Array]]):
    """The vjp of each edge as a function of the upstream gradient, made when it is first asked for."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        """Begin an empty cache of the vjps of the given nodes by edge."""
        self._nodes = nodes

    def __missing__(self, place: Place) -> Callable[[Array], Array]:
        """Return the vjp of an edge `place`, (reader, slot), as a function of the upstream gradient, and cache it."""
        node = self._nodes[place[0]]
        self[place] = node.operation.bind_vjp(place[1], node.value, node.values, node.options)
        return self[place]


def _product_count(node: Node) -> float:
    """Return about how many products of two entries a node computes, if it is a contraction; else 0.

    For the matrix product of shapes (n, k) and (k, m): n * k * m.
    """
    sizes = [np.size(value) for value in node.values if np.ndim(value) > 1]
    if node.operation.family != "contraction" or len(sizes) < 2 or not node.value.size:
        return 0.0
    return node.value.size * math.sqrt(sizes[0] * sizes[1] / node.value.size)  # n k times k m gives n m


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set in a mask, from the highest to the lowest: 3, 1 for 0b1010."""
    while mask:
        highest = mask.bit_length() - 1
        yield highest
        mask ^= 1 << highest


@dataclass(frozen=True, eq=False, repr=False)
class Forward:
    """A recorded forward pass. Sets of values are bit masks, in which bit i stands for the value of node i.

    Args:
        nodes: the nodes in the order of the forward pass, inputs first; a node's id is its position.
        inputs: by name the id of each input.
        outputs: the ids of the outputs, which the upstream gradients are for.
        targets: by name the id of each value whose gradient is asked for: floating-point inputs, and named values.
        names: by id the name of a value, where the exercise declares one.
        observed: the ids of the values that the forward pass has looked at as Python numbers, so that its course may
            depend on them.
        constants: the calls that made constants which nodes read, such as masks.
    """

    nodes: tuple[Node, ...]
    inputs: Mapping[str, int]
    outputs: tuple[int, ...]
    targets: Mapping[str, int]
    names: Mapping[int, str] = field(default_factory=dict)
    observed: frozenset[int] = frozenset()
    constants: Constants = field(default_factory=Constants)

    @cached_property
    def edges(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return for each node, by id, its operands that get a gradient: those that depend on a target.

        Each operand is a pair (slot, id of the operand): ((0, 3),) for a node that reads the value 3 in slot 0. Nodes
        that lead to no output have them, too; `uses` leaves those out.
        """
        reached = {i for i in self.targets.values() if self.nodes[i].value.dtype.kind == "f"}
        edges = []
        for node in self.nodes:
            own = tuple((slot, operand) for slot, operand in node.edges if operand in reached)
            if own:
                reached.add(node.id)
            edges.append(own)
        return tuple(edges)

    @cached_property
    def uses(self) -> tuple[tuple[Place, ...], ...]:
        """Return for each value, by id, the edges (reader, slot) along which it gets contributions, last reader first.

        An edge whose reader leads to no output is not among them; that of output k itself is (SINK, k).
        """
        uses: list[list[Place]] = [[] for _ in self.nodes]
        for k, output in enumerate(self.outputs):
            uses[output].append((SINK, k))
        for node in reversed(self.nodes):
            if uses[node.id]:  # something reads it on the way to an output
                for slot, operand in self.edges[node.id]:
                    uses[operand].append((node.id, slot))
        return tuple(map(tuple, uses))

    @cached_property
    def unused(self) -> int:
        """Return the values that get no contribution, as a bit mask: `uses` has no edge for them."""
        return sum(1 << value for value, places in enumerate(self.uses) if not places)

    @cached_property
    def sources(self) -> Mapping[Place, int]:
        """Return the id of the operand for each edge (reader, slot) of `uses`: {(4, 0): 2} if node 4 reads value 2."""
        return {place: value for value, places in enumerate(self.uses) for place in places}

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of each value, by id."""
        return tuple(node.value.shape for node in self.nodes)

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """Return for each node, by id, how long its operation takes, estimated from the size of its value.

        The unit is the time of one call of numpy on a small array.
        """
        by_torch = (node.operation.family == "other" or node.name in POINTWISE_BY_TORCH for node in self.nodes)
        calls = (TORCH_CALLS if is_by_torch else 1.5 for is_by_torch in by_torch)
        return tuple(
            own + 2.0 * node.value.size / ENTRIES + _product_count(node) / PRODUCTS
            for own, node in zip(calls, self.nodes, strict=True)
        )

    @cached_property
    def vjps(self) -> Mapping[Place, Callable[[Array], Array]]:
        """Return for each edge (reader, slot) its right vjp: from the reader's upstream gradient to the contribution.

        Each is made when it is first asked for.
        """
        return _BoundVjps(self.nodes)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """Return for each value, by id, a bit mask of the values that depend on it along edges, itself included."""
        masks = [1 << node.id for node in self.nodes]
        for value in reversed(range(len(masks))):
            for reader, _ in self.uses[value]:
                if reader != SINK:
                    masks[value] |= masks[reader]
        return tuple(masks)

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """Return for each value, by id, a bit mask of the values that it depends on along edges, itself included."""
        masks = [1 << node.id for node in self.nodes]
        for node in self.nodes:
            for _, operand in self.edges[node.id]:
                masks[node.id] |= masks[operand]
        return tuple(masks)

    @cached_property
    def by_key(self) -> Mapping[Key, tuple[int, ...]]:
        """Return for each key the ids of its nodes, one for each iteration: (5, 9, 13) for `h @ u` in 3 iterations."""
        nodes: dict[Key, list[int]] = {}
        for node in self.nodes:
            nodes.setdefault(node.key, []).append(node.id)
        return {key: tuple(ids) for key, ids in nodes.items()}

    @cached_property
    def groups(self) -> Mapping[Width, Mapping[Hashable, tuple[int, ...]]]:
        """Return for each width the groups of nodes that are edited together: the ids of each group by its identity.

        An identity is what the nodes of a group have in common, see `identities`: `"matmul"` for the width
        `"operation"`, `("matmul", "x")` for `"role"`. Inputs are in no group. Groups come in the order of their first
        nodes, and ids in rising order.
        """
        groups: dict[Width, dict[Hashable, list[int]]] = {width: {} for width in WIDTHS}
        for node in self.nodes:
            if node.operation.family != "input":
                for width in WIDTHS:
                    for identity in self.identities(node, width):
                        groups[width].setdefault(identity, []).append(node.id)
        return {width: {identity: tuple(ids) for identity, ids in of.items()} for width, of in groups.items()}

    def identities(self, node: Node, width: Width) -> tuple[Hashable, ...]:
        """Return the identity of each group of one width that a node is in, the key under which `groups` has the group.

        Args:
            node: the node.
            width: by what nodes are grouped: `"key"`, `"source"`, `"repeated"`, `"role"` or `"operation"`.

        Returns:
            A tuple of one identity: the node's key, the end of the key that is the same in every call of the function,
            or the name of the operation. For `"repeated"` the operation and its expression in the source, or nothing
            where no other expression computes the same value. For `"role"` one pair for each input that the node reads,
            perhaps none: for `x @ w`, ("matmul", "x") and ("matmul", "w").
        """
        if width == "key":
            return (node.key,)
        if width == "source":
            return (node.key[-3:],)  # the innermost instruction, the operation and the part
        if width == "repeated":
            return ((node.name, node.text),) if node.id in self._repeated else ()
        if width == "role":
            read = {operand for _, operand in node.operands}
            return tuple((node.name, name) for name, i in self.inputs.items() if i in read)
        return (node.name,)

    def common_readers(self, value: int) -> tuple[int, ...]:
        """Return the ids of the values that every path of the backward pass to a value goes through, in rising order.

        For x in y = (x - x.mean()).tanh(): those of `-` and `tanh`, but not that of `mean`.

        Args:
            value: the id of the value, which is not among them.
        """
        return tuple(reversed([i for i in bits(self._on_every_path[value]) if i != value]))

    @cached_property
    def _on_every_path(self) -> tuple[int, ...]:
        """Return for each value, by id, a bit mask of the values that every path from an output to it goes through.

        The value itself is included; where no path leads to it, it is the only one.
        """
        masks = [0] * len(self.nodes)
        for value in reversed(range(len(self.nodes))):
            readers = [masks[reader] if reader != SINK else 0 for reader, _ in self.uses[value]]
            masks[value] = 1 << value | (reduce(and_, readers) if readers else 0)
        return tuple(masks)

    def leads_to(self, place: Place, other: Place) -> bool:
        """Return whether a path leads from the edge or node `place` on to the edge or node `other` in the forward pass.

        True for the edge of x in `y = tanh(x)` and that of y in `y * w`. False where `place` is an edge from the loss.

        Args:
            place: an edge (reader, slot), or a node (id, any slot that is no edge of it).
            other: an edge or a node, likewise.
        """
        start = self.sources.get(other, other[0])
        return SINK not in (place[0], start) and bool(self.ancestors[start] >> place[0] & 1)

    @cached_property
    def _repeated(self) -> frozenset[int]:
        """Return the ids of the nodes whose expression stands at several places of the source, with equal operands.

        Such as both `1 - p` in `(1 - p) * x + (1 - p) * y`. Equal are the same node, or nodes that compute the same.
        """
        values: dict[Hashable, set[int]] = {}
        first = [node.id for node in self.nodes]  # by id the first node that computes the same
        for node in self.nodes:
            if node.text and node.operation.family != "input":
                operands = tuple((slot, first[operand]) for slot, operand in node.operands)
                alike = values.setdefault((node.name, node.text, node.call, operands), set())
                alike.add(node.id)
                first[node.id] = min(alike)
        several = (ids for ids in values.values() if len({self.nodes[i].key for i in ids}) > 1)
        return frozenset().union(*several)

    @cached_property
    def followers(self) -> tuple[int, ...]:
        """Return for each value, by id, a bit mask of all values that are computed from it, itself included.

        Unlike `descendants`, these include values that depend on it by masks and indices only, which carry no gradient.
        """
        masks = [1 << node.id for node in self.nodes]
        for node in reversed(self.nodes):
            for _, operand in node.operands:
                masks[operand] |= masks[node.id]
        return tuple(masks)

    def run(self, changes: Mapping[int, Change]) -> Forward:
        """Return the forward pass with the given nodes changed, and with all values computed anew that depend on these.

        Args:
            changes: by id of a node, a function that takes the node, with its operands as they have become, and returns
                the node that replaces it. An input has its array in `values[0]`.

        Raises:
            NoCandidate: an operation cannot be computed, or a value changes that the forward pass has read as a Python
                number, as in `if x.sum() > 0`, so that it might run other operations.
        """
        return self.with_nodes(self.run_nodes(changes))

    @np.errstate(all="ignore")
    def run_nodes(self, changes: Mapping[int, Change], gradient_paths: bool = False) -> list[Node]:
        """Return all nodes of the forward pass, in order, with some of them changed.

        Args:
            changes: by id of a node, a function that takes the node, with its operands as they have become, and returns
                the node that replaces it. An input has its array in `values[0]`.
            gradient_paths: whether only those values are computed anew that depend on a changed node along edges:
                masks, indices, detached values and Python numbers then stay as they are.

        Raises:
            NoCandidate: an operation cannot be computed, or a value changes that the forward pass has read as a Python
                number.
        """
        affected, following = 0, self.descendants if gradient_paths else self.followers
        for i in changes:
            affected |= following[i] | 1 << i
        nodes = list(self.nodes)
        for i in sorted(bits(affected)):
            node = nodes[i]
            values = list(node.values)
            for slot, operand in self.edges[i] if gradient_paths else node.operands:
                values[slot] = nodes[operand].value
            if i in changes:
                node = apply_change(node.with_value(tuple(values), node.value), changes[i])
                values = list(node.values)
            node = node.with_value(tuple(values), node.operation.run(values, node.options))
            if not gradient_paths and i in self.observed and not np.array_equal(node.value, self.nodes[i].value):
                raise NoCandidate(f"{node.text or node.name} decides what the forward pass does")
            nodes[i] = node
        return nodes

    def up_to(self, value: int) -> Forward:
        """Return the forward pass that ends with the value of an id, as its last node and only output.

        Its targets are the inputs among its nodes; named values are no targets of it.
        """
        inputs = {name: i for name, i in self.inputs.items() if i <= value}
        return Forward(self.nodes[: value + 1], inputs, (value,), inputs)

    def with_nodes(self, nodes: Iterable[Node]) -> Forward:
        """Return the forward pass with the given nodes in place of all of its own, one for each id in order.

        No value is computed again. Cached properties such as `edges` are taken over where no edge has changed.
        """
        other = replace(self, nodes=tuple(nodes))
        changed = [(a, b) for a, b in zip(self.nodes, other.nodes, strict=True) if a is not b]
        if all(a.operands == b.operands and a.edges == b.edges for a, b in changed):
            known = ("edges", "uses", "sources", "descendants", "ancestors", "by_key", "followers")
            other.__dict__.update({name: self.__dict__[name] for name in known if name in self.__dict__})
        return other
