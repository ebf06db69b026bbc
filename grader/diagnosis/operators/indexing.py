"""Mistakes in index arithmetic: entries that are taken several times, other places, other indices, forgotten ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Node, Place
from grader.program.operation import Array
from grader.program.program import Affects, EdgeContext, EdgeVjp, Program
from grader.program.queries import EdgeKind, edges_by_kind
from grader.program.rearrangement import Slot
from grader.program.selectors import ComputedValue, NamedValue
from grader.sampling import indices, normal, sized

from .contract import Example, describe_edge_kind, operator
from .forward_pass import passes, where_words
from .places import edges, nodes, values

TAKEN = ("getitem", "index_select", "embedding", "gather", "select", "piece")  # what they take, indices decide alone
taken = edges.of(*TAKEN).at_slot(0)
COPYING = ("repeat_interleave", "repeat", "tile")  # what takes every entry several times


def places_taken(node: Node) -> Array:
    """Return for each entry of the value of a selection its place in the flattened array; shape: that of the value."""
    x = np.asarray(node.values[0])
    numbers = np.arange(x.size, dtype=float).reshape(x.shape)
    return node.operation.run((numbers, *node.values[1:]), node.options).astype(int)


def index_slots(node: Node) -> tuple[int, ...]:
    """Return the slots of a node that hold whole numbers: its index arrays."""
    return tuple(
        slot for slot, value in enumerate(node.values) if np.asarray(value).dtype.kind == "i" and np.ndim(value)
    )


def has_repetitions(program: Program, place: Place) -> bool:
    """Return whether a selection takes an entry several times."""
    node = program.reader(place)
    return (
        bool(index_slots(node) or node.name in COPYING) and np.unique(places := places_taken(node)).size < places.size
    )


REPEATED = {
    "the last": "the last of the contributions", "the first": "the first of the contributions",
    "the mean": "the mean of the contributions",
    "the last run": "the sum of the last contributions that follow each other",
}  # fmt: skip


@operator(
    "repeated-index-not-added",
    code=lambda choice: "mean-for-sum" if choice == "the mean" else "overwritten",
    rank=2.0,
    at=edges.of(*TAKEN, *COPYING).at_slot(0).where(has_repetitions),
    choices=lambda program, place: REPEATED,
    message="where {step} takes an entry of {operand} several times, its gradient is {what}: it must be the sum of all",
    fields=lambda program, place, choice: {"what": REPEATED[choice]},
)
def ignore_repetitions(program: Program, place: Place, choice: str) -> Program | None:
    """Assign what comes to an entry that is taken several times, or average it."""

    def rule(at: EdgeContext) -> Array:
        part, places, g = np.zeros(np.size(at.x)), places_taken(at.node).ravel(), at.g.ravel()
        if choice == "the mean":
            part = np.bincount(places, g, part.size) / np.maximum(np.bincount(places, minlength=part.size), 1)
        elif choice == "the last run":
            part = sum_last_runs(at.g, places_taken(at.node), part)
        else:
            order = slice(None) if choice == "the last" else slice(None, None, -1)
            part[places[order]] = g[order]  # of equal places the last one stays
        return part.reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


def sum_last_runs(g: Array, places: Array, part: Array) -> Array:
    """Return zeros with the sum of what comes to each place at the last indices in a row that take it.

    Args:
        g: what comes, in rows.
        places: where each entry of it goes.
        part: the zeros.
    """
    for number, (row, own) in enumerate(zip(g, places, strict=True)):
        if number and np.array_equal(own, places[number - 1]):
            part[own] += row
        else:
            part[own] = row
    return part


@ignore_repetitions.example
def _() -> Example:
    def forward(table: Tensor, rows: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(table[rows] @ w)

    def wrong(table: Tensor, rows: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to the rows with `+=`, which counts a repeated row once."""
        dtable = torch.zeros_like(table)
        dtable[rows] += (g * (1 - torch.tanh(table[rows] @ w) ** 2)) @ w.T
        return {"table": dtable}

    return Example(forward, wrong, {"table": "k n", "rows": indices("t", "k"), "w": "n m"})


@dataclass(frozen=True)
class LastOfAll:
    """Which contribution of all iterations, and of all indices in each, is left of an entry.

    Args:
        arrival: how the contributions come.
        backwards: whether the iterations are gone through from the last to the first.
    """

    arrival: EdgeKind
    backwards: bool


def indices_in_iterations(program: Program, place: Place) -> Iterator[LastOfAll]:
    """Yield the selections by which several iterations take the same entries of a value."""
    for arrival, ways in edges_by_kind(program, place[0]).items():
        if len(ways) > 1 and all(edge[0] >= 0 and is_indexed(program.reader(edge)) for edge in ways):
            every = np.concatenate([places_taken(program.reader(edge)).ravel() for edge in ways])
            if np.unique(every).size < every.size:
                yield from (LastOfAll(arrival, backwards) for backwards in (False, True))


def is_indexed(node: Node) -> bool:
    """Return whether a node takes entries by an array of indices."""
    return node.name in TAKEN and bool(index_slots(node))


@operator(
    "index-overwrites-in-iterations",
    code="overwritten",
    rank=2.2,
    at=values,
    choices=indices_in_iterations,
    message="of all that comes to an entry of the gradient of {value} by the indices of {step}, only the contribution"
    " that is written last is left: they must add",
    fields=lambda program, place, choice: {"step": describe_edge_kind(program, choice.arrival)},
)
def overwrite_in_iterations(program: Program, place: Place, choice: LastOfAll) -> Program | None:
    """Assign the contributions of all iterations, one after the other."""
    ordered = sorted(choice.arrival.places(program, place[0]), reverse=choice.backwards)
    taken = np.zeros(program.nodes[place[0]].value.size, dtype=bool)

    def assigned(free: Array) -> EdgeVjp:
        def rule(at: EdgeContext) -> Array:
            part = np.zeros(np.size(at.x))
            part[places_taken(at.node).ravel()] = at.g.ravel()  # of equal places the last one stays
            return np.asarray(part * free).reshape(np.shape(at.x))

        return rule

    for edge in reversed(ordered):
        program = program.with_vjp(edge, assigned(~taken))
        taken = taken.copy()
        taken[places_taken(program.reader(edge)).ravel()] = True
    return program if len(ordered) > 1 else None


@overwrite_in_iterations.example
def _() -> Example:
    def forward(x: Tensor, table: Tensor, i: Tensor) -> Tensor:
        total = torch.zeros_like(x)
        for j in range(i.shape[1]):
            total = total + torch.tanh(x * table[i[:, j]])
        return total

    def wrong(x: Tensor, table: Tensor, i: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign the gradient of each row that an example chooses."""
        dx, dtable = torch.zeros_like(x), torch.zeros_like(table)
        for j in range(i.shape[1]):
            rows = table[i[:, j]]
            dz = g * (1 - torch.tanh(x * rows) ** 2)
            dx += dz * rows
            for b, row in enumerate(i[:, j]):
                dtable[row] = dz[b] * x[b]
        return {"x": dx, "table": dtable}

    table, chosen = sized(normal("v n"), v=(4,)), sized(indices("bs t", "v"), t=(2, 3))
    return Example(forward, wrong, {"x": "bs n", "table": table, "i": chosen})


# Other places -------------------------------------------------------------------------------------------------------

WHERE: Mapping[str, str] = {
    "before": "one place too early", "behind": "one place too late",
    "first": "at the first place of all", "last": "at the last place of all",
}  # fmt: skip


def is_taken_by_rows(program: Program, place: Place) -> bool:
    """Return whether as many rows are taken by an index array as there are, in another order."""
    node = program.reader(place)
    own = index_slots(node)
    whole = node.value.shape == np.shape(node.values[0]) and len(own) == 1
    return whole and np.ndim(node.values[own[0]]) == 1 and places_taken(node).ravel()[0] % max(_row(node), 1) == 0


def _row(node: Node) -> int:
    """Return how many entries a row of what is taken from has."""
    return int(np.prod(np.shape(node.values[0])[1:]))


@operator(
    "index-used-forwards",
    code="transposed",
    rank=2.0,
    at=taken.where(is_taken_by_rows),
    message="in the gradient of {operand} the rows are taken by the index of {step} once more: they must be put back",
)
def use_index_forwards(program: Program, place: Place, choice: None) -> Program | None:
    """Take rows of the upstream gradient as the forward pass does."""
    return program.with_vjp(place, lambda at: at.node.operation.run((at.g, *at.node.values[1:]), at.node.options))


@use_index_forwards.example
def _() -> Example:
    def forward(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
        return share[:, None] * x + (1 - share[:, None]) * x[order]

    def wrong(x: Tensor, share: Tensor, order: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": share[:, None] * g + (g * (1 - share[:, None]))[order], "share": (g * (x - x[order])).sum(1)}

    return Example(forward, wrong, {"x": "n m", "share": "n", "order": indices("n", "n")})


def copied_axis(program: Program, place: Place) -> int | None:
    """Return the one axis along which all copies are made; `None` where there are several."""
    node = program.reader(place)
    own, shape = np.shape(node.values[0]), node.value.shape
    longer = [i for i, (size, size_of_all) in enumerate(zip(own, shape, strict=False)) if size < size_of_all]
    return longer[0] if len(own) == len(shape) and len(longer) == 1 and own[longer[0]] > 1 else None


BESIDE = "beside each other"


def order_of_copies(program: Program, place: Place) -> Iterator[str]:
    """Yield where the copies of an entry are."""
    yield BESIDE if program.reader(place).name == "repeat_interleave" else "as far apart as the whole is long"


@operator(
    "copies-in-another-order",
    code="summed-wrong-axis",
    rank=2.0,
    at=edges.of(*COPYING).at_slot(0).where(lambda program, place: copied_axis(program, place) is not None),
    choices=order_of_copies,
    message="the gradient of {operand} adds up copies of different entries in {step}: those of one entry are {choice}",
)
def add_copies_in_another_order(program: Program, place: Place, choice: str) -> Program | None:
    """Take copies that follow each other for copies of the whole, or the other way round."""
    axis = copied_axis(program, place)
    if axis is None:
        return None
    beside = choice == BESIDE

    def rule(at: EdgeContext) -> Array:
        size = np.shape(at.x)[axis]
        pieces = (-1, size) if beside else (size, -1)
        parts = at.g.reshape(*at.g.shape[:axis], *pieces, *at.g.shape[axis + 1 :])
        return np.asarray(parts.sum(axis if beside else axis + 1))

    return program.with_vjp(place, rule)


@add_copies_in_another_order.example
def _() -> Example:
    def forward(k: Tensor, q: Tensor) -> Tensor:
        return (k.repeat_interleave(2, 1) * q).tanh()

    def wrong(k: Tensor, q: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the two halves, as if all keys had been repeated one after the other."""
        dq = g * (1 - (k.repeat_interleave(2, 1) * q).tanh() ** 2)
        first, second = (dq * q).chunk(2, 1)
        return {"k": first + second, "q": dq * k.repeat_interleave(2, 1)}

    return Example(forward, wrong, {"k": "bs 3", "q": "bs 6"})


@dataclass(frozen=True)
class Slip:
    """Another place for what a selection takes.

    Args:
        item: which slot, if an array of indices is moved; which of the items of an index or of the options, else.
        to: `"before"` and `"behind"` for one place away, `"first"` or `"last"` for one end.
    """

    item: int
    to: Literal["before", "behind", "first", "last"]

    def move(self, node: Node) -> Node:
        """Return the selection with its index moved."""
        if self.item in index_slots(node):
            by = {"before": -1, "behind": 1}[self.to]
            return node.with_operand(self.item, np.asarray(node.values[self.item]) + by)  # numpy counts -1 from the end
        shape = np.shape(node.values[0])
        if node.name == "select":
            index = self._place(int(str(node.options["index"])), shape[int(str(node.options["dim"]))])
            return node.with_options(index=index)
        if node.name == "piece":
            size, length = shape[int(str(node.options["dim"]))], int(str(node.options["length"]))
            return node.with_options(start=self._place(int(str(node.options["start"])) % size, size - length + 1))
        index_items = literal_items(node)
        items, axis = list(index_items), -self.item - 1
        size, item = shape[axis], items[axis]
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            length = max(stop - start, 0)
            begin = self._place(start, size - length + 1)
            items[axis] = slice(begin, begin + length, step)
        elif isinstance(item, int):
            items[axis] = self._place(item, size)
        return node.with_options(index=tuple(items))

    def _place(self, index: int, count: int) -> int:
        """Return the other place of `count` ones.

        Raises:
            IndexError: there is none.
        """
        index = index + count if index < 0 else index
        place = {"before": index - 1, "behind": index + 1, "first": 0, "last": count - 1}[self.to]
        if not 0 <= place < count or place == index:
            raise IndexError("there is no other place")
        return place


def literal_items(node: Node) -> tuple[object, ...]:
    """Return the index of a `getitem` as far as each item stands for one axis; empty if one does not."""
    index = node.options["index"]
    if not isinstance(index, tuple) or any(item is None or item is Ellipsis for item in index):
        return ()
    return index


def slips(program: Program, place: Place) -> Iterator[Slip]:
    """Yield the other places for what a selection takes."""
    node = program.reader(place)
    for slot in index_slots(node):
        yield from (Slip(slot, to) for to in ("before", "behind"))
    ends: tuple[Literal["before", "behind", "first", "last"], ...] = ("before", "behind", "first", "last")
    if node.name in ("select", "piece"):
        yield from (Slip(-1, to) for to in ends)
    elif node.name == "getitem":
        for axis, item in enumerate(literal_items(node)):
            if not isinstance(item, Slot) and item != slice(None):
                yield from (Slip(-axis - 1, to) for to in ends)


@operator(
    "gradient-at-another-place",
    code="wrong-operand",
    rank=2.5,
    at=taken,
    choices=slips,
    fields=lambda program, place, choice: {"where": WHERE[choice.to]},
    message="what arrives at {step} is added to {operand} {where}: it must go where the entries were taken from",
)
def add_elsewhere(program: Program, place: Place, choice: Slip) -> Program | None:
    """Add the gradient at another place than that from which the entries were taken."""
    return program.with_vjp(place, lambda at: choice.move(at.node).vjp(at.slot, at.g))


@add_elsewhere.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x[:-1].exp() @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = torch.zeros_like(x)
        dx[1:] = x[:-1].exp() * (g @ w.T)
        return {"x": dx}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


@add_elsewhere.example
def _() -> Example:
    def forward(h: Tensor, w: Tensor) -> Tensor:
        return (h[:, -1] @ w).tanh()

    def wrong(h: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give the gradient to the first state in place of the last."""
        dh = torch.zeros_like(h)
        dh[:, 0] = (g * (1 - (h[:, -1] @ w).tanh() ** 2)) @ w.T
        return {"h": dh}

    return Example(forward, wrong, {"h": "bs t n", "w": "n m"})


@add_elsewhere.example
def _() -> Example:
    def forward(table: Tensor, rows: Tensor) -> Tensor:
        return table[rows].square()

    def wrong(table: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Count the rows from 1."""
        dtable = torch.zeros_like(table)
        return {"table": dtable.index_put((rows - 1,), 2 * table[rows] * g, accumulate=True)}

    return Example(forward, wrong, {"table": "k n", "rows": indices("t", "k")})


IndexName = NamedValue | ComputedValue


@dataclass(frozen=True)
class OtherIndex:
    """Another array of whole numbers in the place of an index.

    Args:
        slot: that of the index.
        name: the other array's.
    """

    slot: int
    name: IndexName


def other_indices(program: Program, place: Place) -> Iterator[OtherIndex]:
    """Yield the arrays of whole numbers that may be taken for an index of a node, such as the other end of an edge."""
    node = program.reader(place)
    names: list[IndexName] = [NamedValue(name) for name in program.inputs]
    names += [ComputedValue(key) for key in program.forward.by_key]
    for slot in index_slots(node):
        known = {node.operand(slot)}
        for name in names:
            value = name.find(program, node.id)
            if value is not None and value not in known and value < node.id:
                known.add(value)
                array, own = program.nodes[value].value, np.asarray(node.values[slot])
                if array.dtype.kind == "i" and array.shape == own.shape and not np.array_equal(array, own):
                    yield OtherIndex(slot, name)


@operator(
    "other-index-in-backward-pass",
    code="wrong-operand",
    rank=2.0,
    at=edges.where(lambda program, place: bool(index_slots(program.reader(place)))),
    choices=other_indices,
    fields=lambda program, place, choice: {
        "there": choice.name.describe(program),
        "here": program.name_of(program.reader(place).operand(choice.slot) or 0),
    },
    message="for {operand}, the backward pass of {step} uses {there} in place of the index {here}",
)
def use_other_index(program: Program, place: Place, choice: OtherIndex) -> Program | None:
    """Take the vjp with another index."""
    other = choice.name.find(program, place[0])
    if other is None:
        return None
    return program.with_vjp(place, lambda at: at.right(operands={choice.slot: at.program.nodes[other].value}))


@use_other_index.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Sum over the neighbours in a graph."""
        return torch.zeros_like(x).index_add(0, target, (x @ w)[source])

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Hand the gradient of the messages out to their targets."""
        dy = torch.zeros_like(g).index_add(0, target, g[target])
        return {"x": dy @ w.T}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(7, 8))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


@dataclass(frozen=True)
class OtherIndexInForward:
    """Another array of whole numbers in the place of an index of the forward pass.

    Args:
        index: which one.
        affects: where it is taken.
    """

    index: OtherIndex
    affects: Affects


def other_indices_in_forward(program: Program, place: Place) -> Iterator[OtherIndexInForward]:
    """Yield the arrays of whole numbers that may be taken for an index, and where."""
    for index in other_indices(program, place):
        yield from (OtherIndexInForward(index, affects) for affects in passes(program.reader(place), "all", "partners"))


@operator(
    "other-index-in-forward-pass",
    code="wrong-operand",
    rank=3.5,
    at=nodes.where(lambda program, place: bool(index_slots(program.reader(place)))),
    choices=other_indices_in_forward,
    fields=lambda program, place, choice: {
        "there": choice.index.name.describe(program),
        "here": program.name_of(program.reader(place).operand(choice.index.slot) or 0),
        "where": where_words(program, choice.affects),
    },
    message="{step} is computed with {there} in place of the index {here} {where}",
)
def compute_with_other_index(program: Program, place: Place, choice: OtherIndexInForward) -> Program | None:
    """Run the forward pass with another index, such as that of the other end of an edge."""
    other = choice.index.name.find(program, place[0])
    if other is None or other >= place[0]:
        return None
    index, slot = program.nodes[other].value, choice.index.slot
    return program.with_nodes({place[0]: lambda node: node.with_operand(slot, index, other)}, choice.affects)


@compute_with_other_index.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Divide the messages by the degree of the node that they go to."""
        degree = torch.ones(len(x), dtype=x.dtype).index_add(0, target, torch.ones(len(target), dtype=x.dtype))
        messages = (x @ w)[source] / degree[target][:, None]
        return torch.zeros_like(x).index_add(0, target, messages).tanh()

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the degree of the node that they come from."""
        degree = torch.ones(len(x), dtype=x.dtype).index_add(0, target, torch.ones(len(target), dtype=x.dtype))
        scale = 1 / degree[source][:, None]
        out = torch.zeros_like(x).index_add(0, target, (x @ w)[source] * scale).tanh()
        dm = (g * (1 - out**2))[target] * scale
        dy = torch.zeros_like(x).index_add(0, source, dm)
        return {"x": dy @ w.T, "w": x.T @ dy}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(7, 8))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


@compute_with_other_index.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Weigh the messages by the gates of the nodes that they go to."""
        gates = torch.sigmoid(x.detach())
        return torch.zeros_like(x).index_add(0, target, (x @ w)[source] * gates[target]).tanh()

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Weigh the gradients by the gates of the nodes that the messages come from."""
        gates = torch.sigmoid(x)
        out = torch.zeros_like(x).index_add(0, target, (x @ w)[source] * gates[target]).tanh()
        dy = torch.zeros_like(x).index_add(0, source, (g * (1 - out**2))[target] * gates[source])
        return {"x": dy @ w.T, "w": x.T @ dy}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(7, 8))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


def literal_slips(program: Program, place: Place) -> Iterator[Slip]:
    """Yield the other places for what a selection takes by numbers and slices; an array of indices is an operand."""
    yield from (slip for slip in slips(program, place) if slip.item < 0)


@operator(
    "entries-from-another-place",
    code="wrong-operand",
    rank=3.5,
    at=nodes.of(*TAKEN),
    choices=literal_slips,
    fields=lambda program, place, choice: {"where": WHERE[choice.to]},
    message="in place of {step}, the entries of {operand} are taken {where} in the whole computation",
)
def take_elsewhere(program: Program, place: Place, choice: Slip) -> Program | None:
    """Take the entries from another place, in the forward pass and in the backward pass."""
    return program.with_nodes({place[0]: choice.move})


@take_elsewhere.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x[1:] @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pair the targets with the steps that they come from."""
        y = torch.tanh(x[:-1] @ w)
        dz = g * (1 - y**2)
        return {"w": x[:-1].T @ dz, "x": torch.cat([dz @ w.T, torch.zeros_like(x[:1])])}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


# Forgotten indices --------------------------------------------------------------------------------------------------


def spread_gradient(node: Node, g: Array) -> Array | None:
    """Return the upstream gradient at every entry that a selection of a single one chose from.

    Args:
        node: the selection.
        g: shaped like its value.

    Returns:
        Shape: that of the array; `None` where each entry of the value is not chosen along one axis.
    """
    x = np.asarray(node.values[0])
    if node.name == "gather":
        dim = int(str(node.options["dim"]))
        return np.broadcast_to(g, x.shape) if np.shape(node.values[1])[dim] == 1 else None
    if node.name == "select":
        return np.broadcast_to(np.expand_dims(g, int(str(node.options["dim"]))), x.shape)
    if node.name == "getitem" and x.ndim == 2 and g.ndim == 1:
        items = literal_items(node)
        if all(isinstance(item, Slot) for item in items) and len(items) == 2:
            return np.broadcast_to(g[:, None], x.shape)
        if len(items) == 2 and items[0] == slice(None):
            return np.broadcast_to(g[:, None], x.shape)
        if len(items) == 1 and isinstance(items[0], int):
            return np.broadcast_to(g, x.shape)
    return None


Forgotten = Literal["every entry", "every entry, times the index", "every entry, averaged"]
FORGOTTEN_CODES = {"every entry": "missing-local", "every entry, averaged": "summed-wrong-axis"}


def takes_rows(node: Node) -> bool:
    """Return whether a selection takes whole rows by an array of their numbers."""
    return bool(index_slots(node)) and node.value.shape[1:] == np.shape(node.values[0])[1:] and node.value.ndim > 1


def forgotten_marks(program: Program, place: Place) -> Iterator[Forgotten]:
    """Yield what may be used in place of the marks of the entries that a selection takes."""
    node = program.reader(place)
    if takes_rows(node):
        yield "every entry, averaged"
    if spread_gradient(node, node.value) is not None:
        yield "every entry"
        if index_slots(node):
            yield "every entry, times the index"


@operator(
    "selection-forgotten",
    code=lambda choice: FORGOTTEN_CODES.get(choice, "wrong-operand"),
    rank=2.0,
    at=taken,
    choices=forgotten_marks,
    message="what arrives at {step} goes to {choice}: it must go to the entries that were selected alone",
)
def forget_selection(program: Program, place: Place, choice: Forgotten) -> Program | None:
    """Hand the upstream gradient to every entry that might have been selected."""

    def rule(at: EdgeContext) -> Array:
        if choice == "every entry, averaged":
            return np.broadcast_to(at.g.mean(0), np.shape(at.x))
        index = at.node.values[index_slots(at.node)[-1]] if choice != "every entry" else 1.0
        spread = spread_gradient(at.node, at.g * index)
        if spread is None:
            raise ValueError("there is no axis along which an entry is selected")
        return spread

    return program.with_vjp(place, rule)


@forget_selection.example
def _() -> Example:
    def forward(x: Tensor, labels: Tensor) -> Tensor:
        logs = x.log_softmax(-1)
        return -logs[torch.arange(len(x)), labels]

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract the label in place of its one-hot vector."""
        return {"x": g[:, None] * (x.softmax(-1) * labels[:, None] * x.shape[1] - labels[:, None])}

    return Example(forward, wrong, {"x": normal("bs n"), "labels": indices("bs", "n")})


@operator(
    "scattered-gradient-not-taken",
    code="missing-local",
    rank=2.0,
    at=edges.of("scatter", "scatter_add", "index_add").at_slot(2),
    message="the gradient of {operand} is not taken from the places where {step} put it: what arrives there is handed "
    "on in its own order",
)
def leave_out_gather(program: Program, place: Place, choice: None) -> Program | None:
    """Hand on as many rows of the upstream gradient as were scattered."""
    return program.with_vjp(place, lambda at: at.g[tuple(slice(size) for size in np.shape(at.x))])


@leave_out_gather.example
def _() -> Example:
    def forward(x: Tensor, rows: Tensor) -> Tensor:
        return torch.zeros(9, x.shape[1], dtype=x.dtype).index_add(0, rows, x.tanh())

    def wrong(x: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (1 - x.tanh() ** 2) * g[: len(x)]}

    return Example(forward, wrong, {"x": "t n", "rows": indices("t", "t")})


# Parts of one value -------------------------------------------------------------------------------------------------


def parts_of(program: Program, value: int) -> tuple[Node, ...]:
    """Return the selections of consecutive entries of a value along one axis, all of one shape, by their places."""
    cuts = [
        program.nodes[reader]
        for reader, slot in program.forward.uses[value]
        if slot == 0 and reader >= 0 and program.nodes[reader].name in ("getitem", "piece", "select")
    ]
    cuts = [cut for cut in cuts if not index_slots(cut) and cut.value.size]
    if len({(cut.name, cut.value.shape) for cut in cuts}) != 1:
        return ()
    return tuple(
        sorted({int(places_taken(cut).flat[0]): cut for cut in cuts}.values(), key=lambda c: places_taken(c).flat[0])
    )


@dataclass(frozen=True)
class PartOrder:
    """Another order of the parts of a value.

    Args:
        how: `"exchanged"` for two parts; `"reversed"`, or `"rotated"` for a move by one part, of all parts.
        first: the number of one of two parts.
        second: that of the other.
    """

    how: Literal["exchanged", "reversed", "rotated"]
    first: int = 0
    second: int = 0

    def order(self, count: int) -> list[int]:
        """Return for each part the number of the part in whose place it is put."""
        order = list(range(count))
        if self.how == "exchanged":
            order[self.first], order[self.second] = self.second, self.first
        elif self.how == "reversed":
            order.reverse()
        else:
            order = order[1:] + order[:1]
        return order


MOST_PARTS = 4  # of which any two may be exchanged


def part_orders(program: Program, place: Place) -> Iterator[PartOrder]:
    """Yield the other orders of the parts of a value."""
    count = len(parts_of(program, place[0]))
    if 1 < count <= MOST_PARTS:
        for second in range(count):
            yield from (PartOrder("exchanged", first, second) for first in range(second))
    if count > 2:
        yield from (PartOrder("reversed"), PartOrder("rotated"))


@operator(
    "parts-exchanged",
    code="wrong-operand",
    rank=2.5,
    at=values,
    choices=part_orders,
    fields=lambda program, place, choice: {
        "parts": f"parts {choice.first + 1} and {choice.second + 1}" if choice.how == "exchanged" else "the parts",
        "how": {"exchanged": "exchanged", "reversed": "in reversed order", "rotated": "moved by one part"}[choice.how],
    },
    message="in the gradient of {value}, {parts} are {how}",
)
def exchange_parts(program: Program, place: Place, choice: PartOrder) -> Program | None:
    """Put the gradients of the parts of a value in another order."""
    parts = parts_of(program.right, place[0])
    if len(parts) < 2 or choice.second >= len(parts):
        return None

    def at_part(options: Mapping[str, object]) -> EdgeVjp:
        return lambda at: at.node.vjp(at.slot, at.g, options=options)

    for part, other in zip(parts, choice.order(len(parts)), strict=True):
        program = program.with_vjp((part.id, 0), at_part(parts[other].options))
    return program


@exchange_parts.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        q, k, v = (x @ w).chunk(3, -1)
        return (q * k).tanh() * v

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        q, k, v = (x @ w).chunk(3, -1)
        dqk = g * v * (1 - (q * k).tanh() ** 2)
        return {"w": x.T @ torch.cat([dqk * q, dqk * k, g * (q * k).tanh()], -1)}

    return Example(forward, wrong, {"x": "bs n", "w": sized(normal("n m"), m=(6, 9))})
