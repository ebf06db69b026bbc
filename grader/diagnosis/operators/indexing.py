"""Mistakes in the vjp of a selection such as `x[i]`: repeated entries, wrong positions, wrong or forgotten indices.

A *selection* is a node that takes entries of its first operand: by an index array, or by literal numbers and slices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import Sampler, indices, normal, positive, sized
from grader.diagnosis.hints import FOLLOW_ONE_ENTRY, WHICH_ORDER, WHICH_SELECTED
from grader.diagnosis.words import list_in_words
from grader.program.forward import SINK, Key, Node, Place
from grader.program.operation import Array, Operand
from grader.program.program import Affects, EdgeContext, EdgeVjp, Program
from grader.program.queries import EdgeKind, broadcast_to_operand, edges_by_kind
from grader.program.rearrangement import Slot
from grader.program.selectors import ComputedValue, NamedValue

from .contract import Example, describe_edge_kind, operator
from .forward_pass import describe_affects, possible_affects
from .places import edges, expression_of, nodes, values

SELECTIONS = (
    "getitem",
    "index_select",
    "embedding",
    "gather",
    "select",
    "piece",
)  # what they take, indices decide alone
selection_edges = edges.of(*SELECTIONS).at_slot(0)
COPYING = ("repeat_interleave", "repeat", "tile")  # what takes every entry several times


def selected_positions(node: Node) -> Array:
    """Return for each entry of a selection's value its position in the flattened operand, as a whole number.

    For `x[:, 1]` with x of shape (2, 3) it is [1, 4]. Shape: that of the value.
    """
    x = np.asarray(node.values[0])
    numbers = np.arange(x.size, dtype=float).reshape(x.shape)
    return node.operation.run((numbers, *node.values[1:]), node.options).astype(int)


def index_slots(node: Node) -> tuple[int, ...]:
    """Return the slots of a node that hold its index arrays: (1,) for `table[rows]`.

    An index array holds whole numbers, and has at least one axis.
    """
    return tuple(
        slot for slot, value in enumerate(node.values) if np.asarray(value).dtype.kind == "i" and np.ndim(value)
    )


def selects_repeatedly(program: Program, place: Place) -> bool:
    """Return whether a selection by an index array, or a node that repeats its operand, takes an entry several times.

    Args:
        program: the program of a trial.
        place: an edge (the node, slot 0).
    """
    node = program.reader(place)
    return (
        bool(index_slots(node) or node.name in COPYING)
        and np.unique(places := selected_positions(node)).size < places.size
    )


REPEATED = {
    "the last": "only the last contribution is used", "the first": "only the first contribution is used",
    "the mean": "the mean of the contributions is used",
    "the last run": "only the contributions of its last run of consecutive occurrences in the index are summed",
    "the last of each row": "only the last contribution from each row of the index is kept",
}  # fmt: skip


def repetition_mistakes(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `REPEATED`, what may be left of several contributions to one entry, such as "the last".

    The others are "the first", "the mean", "the last run" and, where the index of the reader of the edge `place` has
    two axes or more, "the last of each row".
    """
    node = program.reader(place)
    has_rows = any(np.ndim(node.values[slot]) > 1 for slot in index_slots(node))
    yield from (name for name in REPEATED if has_rows or name != "the last of each row")


@operator(
    "repeated-index-not-added",
    code=lambda choice: "mean-for-sum" if choice == "the mean" else "overwritten",
    rank=2.0,
    at=edges.of(*SELECTIONS, *COPYING).at_slot(0).where(selects_repeatedly),
    choices=repetition_mistakes,
    message="{step} may take {taken} of {operand} several times, but {what}; all contributions must be summed",
    fields=lambda program, place, choice: {
        "what": REPEATED[choice],
        "taken": "a row" if selects_rows(program.reader(place)) else "an entry",
    },
    hints={
        "mean-for-sum": (
            "If a row is looked up twice and you nudge it, how many places of the output change?",
            "Each lookup adds its own contribution; nothing divides by the number of lookups.",
            "Start from zeros, and add every contribution to the row that it belongs to.",
        ),
    },
)
def leave_out_sum_over_repetitions(program: Program, place: Place, choice: str) -> Program:
    """Overwrite or average the contributions to an entry that a selection takes several times, and must sum.

    For `table[[2, 2]]` and "the last": row 2 of the gradient is g[1] in place of g[0] + g[1].

    Args:
        program: the right program.
        place: an edge (selection, or node that repeats its operand, slot 0).
        choice: what is left of the contributions to an entry, a key of `REPEATED`: "the last", "the first", "the mean",
            "the last run", which is the sum of the last ones that follow each other directly, or "the last of each
            row", the sum of one in each row of the index.

    Returns:
        The rewritten program.
    """

    def rule(at: EdgeContext) -> Array:
        """Return g at the selected entries, with several contributions to one combined as chosen."""
        part, places, g = np.zeros(np.size(at.x)), selected_positions(at.node).ravel(), at.g.ravel()
        if choice == "the mean":
            part = np.bincount(places, g, part.size) / np.maximum(np.bincount(places, minlength=part.size), 1)
        elif choice == "the last run":
            part = sum_last_runs(at.g, selected_positions(at.node), part)
        elif choice == "the last of each row":
            for row, own in zip(at.g, selected_positions(at.node), strict=True):
                kept = dict(zip(own.ravel().tolist(), row.ravel(), strict=True))  # of equal places the last one stays
                part[list(kept)] += list(kept.values())
        else:
            order = slice(None) if choice == "the last" else slice(None, None, -1)
            part[places[order]] = g[order]  # of equal places the last one stays
        return part.reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


def sum_last_runs(g: Array, positions: Array, out: Array) -> Array:
    """Return an array in which each position holds the sum of the last run of g[i], g[i + 1], ... that go to it.

    For the index [0, 0, 1, 0], g[0] + g[1] is written to position 0, g[2] to 1, then g[3] over what is at 0. A run goes
    on with g[i] where positions[i] is equal to positions[i - 1] as a whole.

    Args:
        g: the upstream gradient of a selection; its axis 0 is the first axis of the index.
        positions: for each entry of g its position in the result, a whole number; shaped like g.
        out: zeros, of shape (positions,), which are overwritten and returned.
    """
    for number, (row, own) in enumerate(zip(g, positions, strict=True)):
        if number and np.array_equal(own, positions[number - 1]):
            out[own] += row
        else:
            out[own] = row
    return out


@leave_out_sum_over_repetitions.example
def _() -> Example:
    """Show tanh(table[rows] @ w) whose gradient of table is added by `dtable[rows] +=`: a repeated row counts once."""

    def forward(table: Tensor, rows: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(table[rows] @ w)

    def wrong(table: Tensor, rows: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to the rows with `+=`, which counts a repeated row once."""
        dtable = torch.zeros_like(table)
        dtable[rows] += (g * (1 - torch.tanh(table[rows] @ w) ** 2)) @ w.T
        return {"table": dtable}

    return Example(forward, wrong, {"table": "k n", "rows": indices("t", "k"), "w": "n m"})


@leave_out_sum_over_repetitions.example
def _() -> Example:
    """Show tanh(table[rows]) whose gradient has `dtable[rows[i]] += ...` for each i, which counts a number once."""

    def forward(table: Tensor, rows: Tensor) -> Tensor:
        return torch.tanh(table[rows])

    def wrong(table: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add with `+=` in each sentence, which counts a repeated row once."""
        dtable, dz = torch.zeros_like(table), g * (1 - torch.tanh(table[rows]) ** 2)
        for sentence, own in zip(rows, dz, strict=True):
            dtable[sentence] += own
        return {"table": dtable}

    return Example(forward, wrong, {"table": sized(normal("k n"), k=(3, 4)), "rows": indices("bs t", "k")})


def takes_whole_rows(program: Program, place: Place) -> bool:
    """Return whether the selection at the edge `place` takes rows by an index of one axis: `x[rows]`."""
    node = program.reader(place)
    slots = index_slots(node)
    if len(slots) != 1 or np.ndim(node.values[slots[0]]) != 1 or not np.ndim(node.values[0]):
        return False
    rows = np.asarray(node.values[slots[0]])
    taken = np.asarray(node.values[0])[rows] if rows.size and np.shape(node.values[0])[0] else rows
    return np.array_equal(taken, node.value)


@operator(
    "one-hot-reshaped",
    code="reshape-for-transpose",
    rank=2.4,
    at=selection_edges.where(takes_whole_rows),
    message="in the gradient of {operand}, the table of zeros and ones by which {step} selects is reshaped; it must be"
    " transposed",
)
def reshape_one_hot_table(program: Program, place: Place, choice: None) -> Program:
    """Multiply the upstream gradient of a selection by its one-hot table, reshaped and not transposed.

    For `x[rows]`, its edge of x and one_hot with a row for each selected row: one_hot.reshape(len(x), len(rows)) @ g in
    place of one_hot.T @ g.

    Args:
        program: the right program.
        place: an edge (selection of rows, slot 0).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the reshaped one-hot table times g, shaped like the operand."""
        shape, (slot,) = np.shape(at.x), index_slots(at.node)
        table = np.eye(shape[0])[np.asarray(at.node.values[slot])]
        return np.asarray(table.reshape(shape[0], -1) @ at.g.reshape(len(table), -1)).reshape(shape)

    return program.with_vjp(place, rule)


@reshape_one_hot_table.example
def _() -> Example:
    """Show tanh(table[rows]) whose gradient of table reshapes the one-hot table to the shape of its transpose."""

    def forward(table: Tensor, rows: Tensor) -> Tensor:
        return torch.tanh(table[rows])

    def wrong(table: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        hot = torch.nn.functional.one_hot(rows, len(table)).to(g.dtype)
        return {"table": hot.reshape(len(table), len(rows)) @ (g * (1 - torch.tanh(table[rows]) ** 2))}

    return Example(forward, wrong, {"table": "k n", "rows": indices("t", "k")})


@dataclass(frozen=True)
class LastContribution:
    """A choice of readers of a value, of whose contributions to an entry only the one written last is left.

    Args:
        edge_kind: the kind of edges from the readers: one selection of a loop, in every iteration.
        backwards: whether the iterations are gone through from the last to the first.
    """

    edge_kind: EdgeKind
    backwards: bool


def last_contributions(program: Program, place: Place) -> Iterator[LastContribution]:
    """Yield `LastContribution`s: a selection whose iterations may assign to entries of a gradient, and not add to them.

    The selection, by an index array, runs in several iterations of a loop, such as `table[i[:, j]]` in iteration j, and
    takes an entry of the value twice, in one iteration or in two. Each comes twice: for iterations that assign from the
    first to the last, and from the last to the first.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    for edge_kind, ways in edges_by_kind(program, place[0]).items():
        if len(ways) > 1 and all(edge[0] >= 0 and selects_by_index(program.reader(edge)) for edge in ways):
            every = np.concatenate([selected_positions(program.reader(edge)).ravel() for edge in ways])
            if np.unique(every).size < every.size:
                yield from (LastContribution(edge_kind, backwards) for backwards in (False, True))


def selects_by_index(node: Node) -> bool:
    """Return whether a node is a selection by an index array, such as `table[rows]`, and not by numbers alone."""
    return node.name in SELECTIONS and bool(index_slots(node))


@operator(
    "index-overwrites-in-iterations",
    code="overwritten",
    rank=2.2,
    at=values,
    choices=last_contributions,
    message="{step} may take an entry of {value} several times, but only the contribution that is written last is"
    " kept;"
    " all must be added",
    fields=lambda program, place, choice: {"step": describe_edge_kind(program, choice.edge_kind)},
)
def overwrite_in_iterations(program: Program, place: Place, choice: LastContribution) -> Program | None:
    """Assign the contribution of each iteration to the selected entries, where contributions must be added.

    For `table[i[:, j]]` in iteration j: `dtable[i[:, j]] = ...` in place of `+=`. An entry that two iterations select
    keeps the contribution of one of them alone.

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: the kind of the selection's edges to the value, and whether the last iteration is written first, so that
            of two contributions to an entry that of the earlier iteration is kept.

    Returns:
        The rewritten program; `None` where the loop has fewer than two iterations in this trial.
    """
    ordered = sorted(choice.edge_kind.places(program, place[0]), reverse=choice.backwards)
    selection_edges = np.zeros(program.nodes[place[0]].value.size, dtype=bool)

    def assigned(free: Array) -> EdgeVjp:
        """Return the vjp that contributes g to the selected entries, and only where `free` holds."""

        def rule(at: EdgeContext) -> Array:
            """Return g at the selected entries, of which only the free ones are kept; 0 elsewhere."""
            part = np.zeros(np.size(at.x))
            part[selected_positions(at.node).ravel()] = at.g.ravel()  # of equal places the last one stays
            return np.asarray(part * free).reshape(np.shape(at.x))

        return rule

    for edge in reversed(ordered):
        program = program.with_vjp(edge, assigned(~selection_edges))
        selection_edges = selection_edges.copy()
        selection_edges[selected_positions(program.reader(edge)).ravel()] = True
    return program if len(ordered) > 1 else None


@overwrite_in_iterations.example
def _() -> Example:
    """Show a loop over tanh(x * table[i[:, j]]) whose gradient of table is assigned, not added, in each iteration."""

    def forward(x: Tensor, table: Tensor, i: Tensor) -> Tensor:
        total = torch.zeros_like(x)
        for j in range(i.shape[1]):
            total = total + torch.tanh(x * table[i[:, j]])
        return total

    def wrong(x: Tensor, table: Tensor, i: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign each contribution to its row of the table, in place of adding it."""
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


MOST_SELECTIONS = 64  # edges of a value whose gradient may be assigned to
MOST_WRITTEN = 20_000  # entries that all selections of a value take together: of more it takes too long


@dataclass(frozen=True)
class Assignments:
    """A choice of an order in which selections assign to the gradient of the value that they take entries of.

    Args:
        order: `"selections"`, one after the other; `"entries"`, where the first entry of each selection is followed by
            the second one of each; `"iterations"`, where the selections of the first iteration are followed by those of
            the second.
        backwards: whether the order is reversed.
        key: the position in the source of the only selection that assigns, while the others add; `None` for all.
    """

    order: Literal["selections", "entries", "iterations"]
    backwards: bool
    key: Key | None = None


class Selected(NamedTuple):
    """What a selection writes to the gradient of its operand.

    Args:
        edge: the edge (selection, 0).
        positions: for each entry its position in the flattened operand; shape: (entries,).
        written: False for each entry whose gradient is zero because another one is the maximum; shape: (entries,).
        turns: the number of the assignment that writes it: its own number, or that of its maximum; shape: (entries,).
    """

    edge: Place
    positions: Array
    written: Array
    turns: Array


def selections_of(program: Program, value: int) -> list[Selected]:
    """Return what each selection of a value writes to its gradient, in the order of the forward pass, as `Selected`.

    If only an `amax`, `max`, `amin` or `min` reads a selection, just the entries that it takes are written: no others
    get a gradient. Empty where the selections and their operands have more than `MOST_WRITTEN` entries together.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    selected, budget = list[Selected](), MOST_WRITTEN
    for edge in reversed(program.forward.uses[value]):
        if edge[0] == SINK or edge[1] != 0 or program.reader(edge).name not in SELECTIONS:
            continue
        node = program.reader(edge)
        budget -= node.value.size + np.size(node.values[0])
        if budget < 0:
            return []
        readers = program.forward.uses[node.id]
        written, turns = np.ones(node.value.size, dtype=bool), np.arange(node.value.size)
        if len(readers) == 1 and program.reader(readers[0]).name in ("amax", "max", "amin", "min"):
            maximum = program.reader(readers[0])
            written = maximum.vjp(readers[0][1], np.ones(maximum.value.shape)).ravel() != 0
            numbers = np.arange(maximum.value.size).reshape(maximum.value.shape)
            turns = np.asarray(broadcast_to_operand(maximum, numbers)).ravel()
        selected.append(Selected(edge, selected_positions(node).ravel(), written, turns))
    return selected


def possible_assignments(program: Program, place: Place) -> Iterator[Assignments]:
    """Yield `Assignments`: the orders in which selections may assign to the gradient of a value, and which of them do.

    The orders are one selection after the other, the first entries of all selections before the second ones, or, if one
    of two to four expressions assigns and the others add, one iteration after the other; each forwards and backwards.
    In the first two all selections assign; the first is left out for a single selection that is written in full, the
    second unless there are several selections of one size and one of them takes an entry twice. Nothing is yielded
    where no entry is taken twice, or more than 64 edges lead to the value.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    if len(program.forward.uses[place[0]]) > MOST_SELECTIONS:
        return
    own = selections_of(program, place[0])
    every = [each.positions[each.written] for each in own]
    if not own or np.unique(joined := np.concatenate(every)).size == joined.size:
        return
    keys = dict.fromkeys(program.reader(each.edge).key for each in own)
    repeated = any(np.unique(positions).size < positions.size for positions in every)
    if len(own) > 1 or not all(each.written.all() for each in own):
        yield from (Assignments("selections", backwards) for backwards in (False, True))
    if len(own) > 1 and repeated and len({each.positions.size for each in own}) == 1:
        yield from (Assignments("entries", backwards) for backwards in (False, True))
    if 1 < len(keys) <= 4:
        yield from (Assignments("iterations", backwards, key) for key in keys for backwards in (False, True))


def describe_assignments(program: Program, place: Place, choice: Assignments) -> dict[str, str]:
    """Return the fields `step` and `what` of a message: the selections that assign, and what they overwrite.

    Such as "`x[i]` and `x[i + 1]`", of more than two "`x[i]` and 2 more", and "so that only what is written last to an
    entry is kept"; if one expression alone assigns, "which overwrites those of the other selections".

    Args:
        program: the program of a trial.
        place: the value whose gradient is assigned to.
        choice: the order of the assignments, and which selections assign.
    """
    own = [program.reader(each.edge) for each in selections_of(program, place[0])]
    assigning = [node for node in own if choice.key in (None, node.key)]
    texts = list(dict.fromkeys(expression_of(program, node) for node in assigning))
    steps = f"{texts[0]} and {len(texts) - 1} more" if len(texts) > 2 else " and ".join(texts)
    others = "which overwrites those of the other selections"
    what = "so that only what is written last to an entry is kept" if choice.key is None else others
    return {"step": steps, "what": what}


@operator(
    "selections-overwrite",
    code="overwritten",
    rank=2.3,
    at=values,
    choices=possible_assignments,
    message="the contributions of {step} to the gradient of {value} are assigned, {what}; all must be added",
    fields=describe_assignments,
)
def assign_selected(program: Program, place: Place, choice: Assignments) -> Program | None:
    """Assign the contributions of selections to the entries that they took, where contributions must be added.

    For the corners x[i], x[i + 1] of an interpolation: `dx[i] = ...; dx[i + 1] = ...` in place of `+=`.

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: the order, and which selection assigns.

    Returns:
        The rewritten program; `None` where no selection reads the value in this trial.
    """
    own = selections_of(program, place[0])
    nodes_of = [program.reader(each.edge) for each in own]
    if not own:
        return None
    numbers = np.concatenate([np.full(each.positions.size, number) for number, each in enumerate(own)])
    positions, written, turns = (np.concatenate(parts) for parts in list(zip(*own, strict=True))[1:])
    iterations = np.array([node.iteration for node in nodes_of])[numbers]
    major = {"selections": numbers, "entries": turns, "iterations": iterations}[choice.order]
    if choice.backwards:
        major, turns = -major, turns if choice.key else -turns  # the selections of an iteration keep their order
        numbers = numbers if choice.key else -numbers
    sequence = np.stack([major, numbers, turns])
    _, time = np.unique(sequence, axis=1, return_inverse=True)
    assigns = np.array([choice.key in (None, node.key) for node in nodes_of])[np.abs(numbers)] & written
    last = np.full(program.nodes[place[0]].value.size, -1)
    np.maximum.at(last, positions[assigns], time[assigns])
    kept, numbers = time >= last[positions], np.abs(numbers)

    def keeping(free: Array) -> EdgeVjp:
        """Return the vjp that adds the contributions of the entries that are kept."""
        return lambda at: at.right(at.g * free.reshape(at.g.shape))

    for number, each in enumerate(own):
        program = program.with_vjp(each.edge, keeping(kept[numbers == number]))
    return program


@assign_selected.example
def _() -> Example:
    """Show x[i] * (1 - f) + x[i + 1] * f whose backward loop assigns to dx[i] and dx[i + 1], not adds."""

    def forward(x: Tensor, i: Tensor, f: Tensor) -> Tensor:
        return x[i] * (1 - f) + x[(i + 1) % len(x)] * f

    def wrong(x: Tensor, i: Tensor, f: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign to the left and the right neighbour for each number in i."""
        dx, right = torch.zeros_like(x), (i + 1) % len(x)
        for n in range(len(i)):
            dx[i[n]] = g[n] * (1 - f[n])
            dx[right[n]] = g[n] * f[n]
        return {"x": dx}

    return Example(forward, wrong, {"x": "v", "i": indices("t", "v"), "f": "t"})


@assign_selected.example
def _() -> Example:
    """Show h[rows].amax(1), h = tanh(x @ w), whose gradient is assigned to the greatest row, also if it is so twice."""

    def forward(x: Tensor, w: Tensor, rows: Tensor) -> Tensor:
        h = torch.tanh(x @ w)
        return h[rows].amax(1)

    def wrong(x: Tensor, w: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write g to the rows that won by `scatter`, in place of `scatter_add`."""
        h = torch.tanh(x @ w)
        winners = rows.gather(1, h[rows].argmax(1))
        dh = torch.zeros_like(h).scatter(0, winners, g)
        return {"w": x.T @ (dh * (1 - h**2))}

    inputs: dict[str, str | Sampler] = {"x": "v n", "w": "n m", "rows": indices("bs 3", "v")}
    return Example(forward, wrong, inputs)


@assign_selected.example
def _() -> Example:
    """Show conv(x, a) * sigmoid(conv(x, b)), in loops over taps, where the gradient through b overwrites the other."""

    def forward(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        padded = torch.nn.functional.pad(x, (2, 0))
        content, gate = torch.zeros_like(x), torch.zeros_like(x)
        for i in range(3):
            content = content + padded[:, i : i + x.shape[1]] * a[i]
        for i in range(3):
            gate = gate + padded[:, i : i + x.shape[1]] * b[i]
        return content * torch.sigmoid(gate)

    def wrong(x: Tensor, a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign what the gate contributes to each window."""
        n, padded = x.shape[1], torch.nn.functional.pad(x, (2, 0))
        windows = torch.stack([padded[:, i : i + n] for i in range(3)], -1)
        content, gate = windows @ a, torch.sigmoid(windows @ b)
        dpadded = torch.zeros_like(padded)
        for i in reversed(range(3)):
            dpadded[:, i : i + n] += g * gate * a[i]
            dpadded[:, i : i + n] = g * content * gate * (1 - gate) * b[i]
        return {"x": dpadded[:, 2:]}

    return Example(forward, wrong, {"x": "bs n", "a": "3", "b": "3"})


@dataclass(frozen=True)
class AssignmentOverOthers:
    """A choice of the selections that assign to the gradient of their operand after all else has been added to it.

    Args:
        keys: the keys of the nodes that select; see `Node.key`.
        backwards: whether the last iteration of a loop assigns first.
    """

    keys: frozenset[Key]
    backwards: bool


def rows_taken(program: Program, each: Selected) -> tuple[int, ...]:
    """Return the rows (indices of the first axis of its operand) from which a selection takes entries, in its order.

    Entries that follow each other and are of one row give this row once.
    """
    operand = np.asarray(program.reader(each.edge).values[0])
    rows = each.positions // max(operand[:1].size, 1)
    return tuple(int(row) for row in rows[np.insert(rows[1:] != rows[:-1], 0, True)]) if rows.size else ()


def assignments_over_others(program: Program, place: Place) -> Iterator[AssignmentOverOthers]:
    """Yield `AssignmentOverOthers`: by the selections of one expression, or by all that take the same rows.

    For `p[i, 0] * p[i, 1] - p[j, 0]`: those of each of the three expressions, and the first two together. Nothing is
    yielded where nothing else leads to the value.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    own = selections_of(program, place[0]) if len(program.forward.uses[place[0]]) <= MOST_SELECTIONS else []
    by_rows: dict[tuple[int, ...], set[Key]] = {}
    for each in own:
        by_rows.setdefault(rows_taken(program, each), set()).add(program.reader(each.edge).key)
    by_key = [frozenset({program.reader(each.edge).key}) for each in own]
    for keys in dict.fromkeys([*by_key, *map(frozenset, by_rows.values())]):
        readers = [program.nodes[reader] for reader, _ in program.forward.uses[place[0]] if reader != SINK]
        if any(reader.key not in keys for reader in readers):
            many = len(keys) < sum(reader.key in keys for reader in readers)
            yield from (AssignmentOverOthers(keys, backwards) for backwards in ((False, True) if many else (False,)))


@operator(
    "selections-overwrite-others",
    code="overwritten",
    rank=2.3,
    at=values,
    choices=assignments_over_others,
    message="the contributions of {step} to the gradient of {value} are assigned, which overwrites those of the other"
    " operations; all must be added",
    fields=lambda program, place, choice: {"step": names_of_selections(program, choice.keys)},
)
def assign_over_others(program: Program, place: Place, choice: AssignmentOverOthers) -> Program | None:
    """Assign the contributions of some selections to the entries that they took, over all that was added to them.

    For `y = x * s + x[i]` and the selection: `dx = g * s; dx[i] = g` in place of `+=`.

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: the selections, and their order in a loop.

    Returns:
        The rewritten program; `None` where no such selection reads the value in this trial.
    """
    own = [each for each in selections_of(program, place[0]) if program.reader(each.edge).key in choice.keys]
    own.sort(key=lambda each: program.reader(each.edge).iteration, reverse=choice.backwards)
    if not own:
        return None
    value = program.nodes[place[0]].value
    writer = np.full(value.size, -1)  # by entry the number of the selected entry that is written last to it
    numbers = np.split(np.arange(sum(each.positions.size for each in own)), np.cumsum([e.positions.size for e in own]))
    for each, own_numbers in zip(own, numbers, strict=False):
        writer[each.positions[each.written]] = own_numbers[each.written]
    free = (writer < 0).reshape(value.shape)
    chosen = {each.edge for each in own}
    for selecting in (program.nodes[i] for key in choice.keys for i in program.forward.by_key.get(key, ())):
        if (
            selecting.operand(0) == place[0] and (selecting.id, 0) not in chosen
        ):  # nothing reads it, so that it writes 0
            free.flat[selected_positions(selecting)] = False
    for edge in program.forward.uses[place[0]]:
        if edge not in chosen and edge[0] != SINK:
            program = program.with_vjp(edge, lambda at: at.right() * free)
    for each, own_numbers in zip(own, numbers, strict=False):
        kept = writer[each.positions] == own_numbers
        program = program.with_vjp(each.edge, partial(_keep_entries, kept))
    return program


def _keep_entries(kept: Array, at: EdgeContext) -> Array:
    """Return the contribution of the entries of a selection that are kept, by a mask of shape (entries,)."""
    return at.right(at.g * kept.reshape(at.g.shape))


def names_of_selections(program: Program, keys: Collection[Key]) -> str:
    """Return the expressions of the selections with these keys in words, sorted: `` `x[i]` and `x[j]` ``."""
    texts = dict.fromkeys(expression_of(program, program.nodes[program.forward.by_key[key][0]]) for key in keys)
    return list_in_words(sorted(texts))


@assign_over_others.example
def _() -> Example:
    """Show differences of rows p[i] and p[j], whose gradient of p[j] is written over that of p[i]."""

    def forward(p: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.sin(p[i, 0] - p[j, 0]) * torch.cos(p[i, 1] - p[j, 1])

    def wrong(p: Tensor, i: Tensor, j: Tensor, g: Tensor) -> dict[str, Tensor]:
        a, b = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1]
        d = torch.stack([g * torch.cos(a) * torch.cos(b), -g * torch.sin(a) * torch.sin(b)], 1)
        dp = torch.zeros_like(p).index_add(0, i, d)
        dp[j] = -d
        return {"p": dp}

    return Example(
        forward, wrong, {"p": sized(normal("n 2"), n=(4, 5)), "i": indices("e", "n"), "j": indices("e", "n")}
    )


# Other places -------------------------------------------------------------------------------------------------------

WHERE: Mapping[str, str] = {
    "before": "one position before the right one", "behind": "one position after the right one",
    "first": "at the first position", "last": "at the last position",
}  # fmt: skip


def selects_as_many(program: Program, place: Place) -> bool:
    """Return whether a selection takes, by one index array, as many entries along each axis as its operand has.

    True for `x[order]` and `x[:, order]` with as many numbers in order as x has rows, or columns, and for `x.gather(1,
    order)` with an order as large as x.

    Args:
        program: the program of a trial.
        place: an edge (selection, slot 0).
    """
    node = program.reader(place)
    own = index_slots(node)
    is_whole = node.value.shape == np.shape(node.values[0]) and len(own) == 1
    return is_whole and (node.name == "gather" or np.ndim(node.values[own[0]]) == 1)


@operator(
    "index-used-forwards",
    code="transposed",
    rank=2.0,
    at=selection_edges.where(selects_as_many),
    message="in the gradient of {operand}, entries are selected as in {step}; each entry must be put back where it was"
    " taken from",
)
def use_index_forwards(program: Program, place: Place, choice: None) -> Program:
    """Select entries of the upstream gradient g where they must be put back: g[order] for x in `x[order]`.

    Args:
        program: the right program.
        place: an edge (selection by an index array, slot 0).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: at.node.operation.run((at.g, *at.node.values[1:]), at.node.options))


@use_index_forwards.example
def _() -> Example:
    """Show a * x + b * x[order], whose gradient of x is a * g + (b * g)[order], where order must be undone."""

    def forward(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
        return share[:, None] * x + (1 - share[:, None]) * x[order]

    def wrong(x: Tensor, share: Tensor, order: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": share[:, None] * g + (g * (1 - share[:, None]))[order], "share": (g * (x - x[order])).sum(1)}

    return Example(forward, wrong, {"x": "n m", "share": "n", "order": indices("n", "n")})


@use_index_forwards.example
def _() -> Example:
    """Show running sums of score.gather(1, order), whose gradient is gathered by order, where it must be scattered."""

    def forward(score: Tensor, order: Tensor, weight: Tensor) -> Tensor:
        return (score.gather(1, order).cumsum(1) * weight).sum(1)

    def wrong(score: Tensor, order: Tensor, weight: Tensor, g: Tensor) -> dict[str, Tensor]:
        ranked = (g[:, None] * weight).flip(1).cumsum(1).flip(1)
        return {"score": ranked.gather(1, order)}

    return Example(forward, wrong, {"score": "n m", "order": indices("n m", "m"), "weight": "m"})


def repeated_axis(program: Program, place: Place) -> int | None:
    """Return the only axis along which a node repeats its operand, counted from the front.

    For `x.repeat_interleave(2, 1)` it is 1. Returns `None` where there are several such axes, where the operand has
    size 1 along it, or where the node's value has more axes than the operand.

    Args:
        program: the program of a trial.
        place: an edge (node that repeats its operand, slot 0).
    """
    node = program.reader(place)
    own, shape = np.shape(node.values[0]), node.value.shape
    longer = [i for i, (size, size_of_all) in enumerate(zip(own, shape, strict=False)) if size < size_of_all]
    return longer[0] if len(own) == len(shape) and len(longer) == 1 and own[longer[0]] > 1 else None


ADJACENT = "next to each other"


def copy_orders(program: Program, place: Place) -> Iterator[str]:
    """Yield one string, in the words of the message: where in the node's value the copies of an entry are.

    `ADJACENT` for `repeat_interleave` (a a b b), "a whole repetition apart" for `repeat` (a b a b).

    Args:
        program: the program of a trial.
        place: an edge (node that repeats its operand, slot 0).
    """
    yield ADJACENT if program.reader(place).name == "repeat_interleave" else "a whole repetition apart"


@operator(
    "copies-in-another-order",
    code="summed-wrong-axis",
    rank=2.0,
    at=edges.of(*COPYING).at_slot(0).where(lambda program, place: repeated_axis(program, place) is not None),
    choices=copy_orders,
    message="the gradient of {operand} adds up copies of different entries; in {step}, the copies of an entry are"
    " {choice}",
)
def sum_wrong_copies(program: Program, place: Place, choice: str) -> Program | None:
    """Sum the gradients of copies as if `repeat_interleave` were `repeat`, or the reverse, and so mix up entries.

    For `x.repeat_interleave(2)` with x of 3 entries: g.reshape(2, 3).sum(0) in place of g.reshape(3, 2).sum(1).

    Args:
        program: the right program.
        place: an edge (node that repeats its operand, slot 0).
        choice: where the right copies of an entry are: `ADJACENT` for `repeat_interleave`, or far apart for `repeat`.

    Returns:
        The rewritten program; `None` where `repeated_axis` finds no axis in this trial.
    """
    axis = repeated_axis(program, place)
    if axis is None:
        return None
    beside = choice == ADJACENT

    def rule(at: EdgeContext) -> Array:
        """Return the sums of those entries of g that are copies of one in the wrong order of copies."""
        size = np.shape(at.x)[axis]
        pieces = (-1, size) if beside else (size, -1)
        parts = at.g.reshape(*at.g.shape[:axis], *pieces, *at.g.shape[axis + 1 :])
        return np.asarray(parts.sum(axis if beside else axis + 1))

    return program.with_vjp(place, rule)


@sum_wrong_copies.example
def _() -> Example:
    """Show tanh(k.repeat_interleave(2, 1) * q) whose gradient of k adds two halves, as if k were repeated whole."""

    def forward(k: Tensor, q: Tensor) -> Tensor:
        return (k.repeat_interleave(2, 1) * q).tanh()

    def wrong(k: Tensor, q: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the two halves, as if all keys had been repeated one after the other."""
        dq = g * (1 - (k.repeat_interleave(2, 1) * q).tanh() ** 2)
        first, second = (dq * q).chunk(2, 1)
        return {"k": first + second, "q": dq * k.repeat_interleave(2, 1)}

    return Example(forward, wrong, {"k": "bs 3", "q": "bs 6"})


@dataclass(frozen=True)
class SelectionShift:
    """A choice of an index of a selection, and of the wrong position to which it is moved.

    Args:
        item: the slot of the index array that is moved; negative for a literal: the axis, as -1 less the axis counted
            from the front, or -1 for the only literal of a `select` or slice.
        to: `"before"` or `"behind"`: by one position; `"first"` or `"last"`: to that end of the axis.
    """

    item: int
    to: Literal["before", "behind", "first", "last"]

    def apply_to(self, node: Node) -> Node:
        """Return a selection with its index `self.item` moved to the wrong position `self.to`: x[3] for x[2].

        Raises:
            IndexError: a literal index cannot be moved there, or is there already.
        """
        if self.item in index_slots(node):
            by = {"before": -1, "behind": 1}[self.to]
            return node.with_operand(self.item, np.asarray(node.values[self.item]) + by)  # numpy counts -1 from the end
        shape = np.shape(node.values[0])
        if node.name == "select":
            index = self._wrong_position(int(str(node.options["index"])), shape[int(str(node.options["dim"]))])
            return node.with_options(index=index)
        if node.name == "piece":
            size, length = shape[int(str(node.options["dim"]))], int(str(node.options["length"]))
            return node.with_options(
                start=self._wrong_position(int(str(node.options["start"])) % size, size - length + 1)
            )
        index_items = literal_items(node)
        items, axis = list(index_items), -self.item - 1
        size, item = shape[axis], items[axis]
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            length = max(stop - start, 0)
            begin = self._wrong_position(start, size - length + 1)
            items[axis] = slice(begin, begin + length, step)
        elif isinstance(item, int):
            items[axis] = self._wrong_position(item, size)
        return node.with_options(index=tuple(items))

    def axis_of(self, node: Node) -> int | None:
        """Return the axis that the index `self.item` of a selection is for; `None` where it is for several.

        `None`, too, for an index array beside an ellipsis or `None` in the index.

        For `x[:, rows]` and the slot of `rows`: 1.
        """
        if node.name != "getitem":
            axis = node.options.get("dim", 0)
            return axis if isinstance(axis, int) else None
        if self.item < 0:
            return -self.item - 1
        items = literal_items(node)
        return items.index(Slot(self.item)) if Slot(self.item) in items else None

    def _wrong_position(self, index: int, count: int) -> int:
        """Return the position `self.to` of the right one: for `"behind"`, index + 1; for `"last"`, count - 1.

        Args:
            index: the right position along an axis; negative ones count from the end.
            count: the number of positions along the axis.

        Raises:
            IndexError: there is no position there, or it is the right one.
        """
        index = index + count if index < 0 else index
        place = {"before": index - 1, "behind": index + 1, "first": 0, "last": count - 1}[self.to]
        if not 0 <= place < count or place == index:
            raise IndexError("there is no other place")
        return place


def literal_items(node: Node) -> tuple[object, ...]:
    """Return the items of a `getitem`'s index, one for each indexed axis; an index array is the `Slot` that holds it.

    For `x[:, 1]`: (slice(None), 1); for `x[:, rows]`: (slice(None), Slot(1)). Axes behind the last item have none.
    Return an empty tuple where an item is `None` or an ellipsis, or the index is no tuple.
    """
    index = node.options["index"]
    if not isinstance(index, tuple) or any(item is None or item is Ellipsis for item in index):
        return ()
    return index


def selection_shifts(program: Program, place: Place) -> Iterator[SelectionShift]:
    """Yield `SelectionShift`s: an index array or literal index of a selection, and the wrong position it moves to.

    An index array is moved by one, `"before"` or `"behind"`: `rows - 1` or `rows + 1`. A number or a slice is moved by
    one, or to the `"first"` or `"last"` position of its axis: x[0] or x[-1] for `x[2]`.

    Args:
        program: the program of a trial.
        place: an edge (selection, slot 0), or the node of a selection.
    """
    node = program.reader(place)
    for slot in index_slots(node):
        yield from (SelectionShift(slot, to) for to in ("before", "behind"))
    ends: tuple[Literal["before", "behind", "first", "last"], ...] = ("before", "behind", "first", "last")
    if node.name in ("select", "piece"):
        yield from (SelectionShift(-1, to) for to in ends)
    elif node.name == "getitem":
        for axis, item in enumerate(literal_items(node)):
            if not isinstance(item, Slot) and item != slice(None):
                yield from (SelectionShift(-axis - 1, to) for to in ends)


def describe_shift(program: Program, place: Place, shift: SelectionShift) -> dict[str, str]:
    """Return the message field `where`: to which position an index is moved: "one position before the right one".

    Of an array with several axes the axis is said: "at the first position along t". A slice is moved to the beginning
    or the end.

    Args:
        program: the program of a trial.
        place: an edge (selection, slot 0), or the node of a selection.
        shift: which index is moved, and where to.
    """
    node, operand = program.reader(place), program.source((place[0], 0))
    axis, where = shift.axis_of(node), WHERE[shift.to]
    is_literal = node.name == "getitem" and shift.item < 0
    if node.name == "piece" or (is_literal and isinstance(literal_items(node)[-shift.item - 1], slice)):
        where = {"first": "at the beginning", "last": "at the end"}.get(shift.to, where)
    if axis is None or np.ndim(node.values[0]) == 1:
        return {"where": where}
    return {"where": f"{where} along {program.name_of_axis(operand, axis)}"}


@operator(
    "gradient-at-another-place",
    code="wrong-operand",
    rank=1.9,  # just before a function that is left out, which may give the same numbers
    at=selection_edges,
    choices=selection_shifts,
    fields=describe_shift,
    message="the gradient of {step} is stored {where}; store it where the entries were taken from",
    hints=FOLLOW_ONE_ENTRY,
)
def add_gradient_at_wrong_position(program: Program, place: Place, choice: SelectionShift) -> Program:
    """Add the upstream gradient of a selection to other entries than those that it took, such as x[1:] for `x[:-1]`.

    Args:
        program: the right program.
        place: an edge (selection, slot 0).
        choice: which index is moved, and where to: `SelectionShift(-1, "behind")` in the example.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: choice.apply_to(at.node).vjp(at.slot, at.g))


@add_gradient_at_wrong_position.example
def _() -> Example:
    """Show x[:-1].exp() @ w whose gradient of x is written to x[1:]."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x[:-1].exp() @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = torch.zeros_like(x)
        dx[1:] = x[:-1].exp() * (g @ w.T)
        return {"x": dx}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


@add_gradient_at_wrong_position.example
def _() -> Example:
    """Show tanh(h[:, -1] @ w) whose gradient of h is written to h[:, 0]."""

    def forward(h: Tensor, w: Tensor) -> Tensor:
        return (h[:, -1] @ w).tanh()

    def wrong(h: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give the gradient to the first state in place of the last."""
        dh = torch.zeros_like(h)
        dh[:, 0] = (g * (1 - (h[:, -1] @ w).tanh() ** 2)) @ w.T
        return {"h": dh}

    return Example(forward, wrong, {"h": "bs t n", "w": "n m"})


@add_gradient_at_wrong_position.example
def _() -> Example:
    """Show table[rows].square() whose gradient of table is added to the rows `rows - 1`."""

    def forward(table: Tensor, rows: Tensor) -> Tensor:
        return table[rows].square()

    def wrong(table: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to row i - 1 in place of row i, as if the rows were counted from 1."""
        dtable = torch.zeros_like(table)
        return {"table": dtable.index_put((rows - 1,), 2 * table[rows] * g, accumulate=True)}

    return Example(forward, wrong, {"table": "k n", "rows": indices("t", "k")})


@dataclass(frozen=True)
class ConstantIndex:
    """Names an index array that is a constant of the forward pass, by the nodes that read it, one in each iteration.

    Args:
        key: the key of the nodes.
        slot: the slot in which they read it.
    """

    key: Key
    slot: int

    def find(self, program: Program, reader: int) -> int | None:
        """Return `None`: a constant has no id."""
        return None

    def describe(self, program: Program) -> str:
        """Return the array in words for a learner, by what reads it: "the index of `table[:, [2, 0]]`"."""
        return f"the index of {expression_of(program, program.nodes[program.forward.by_key[self.key][0]])}"


ALTERED_INDICES: Mapping[str, Callable[[Array], Array]] = {
    "a sorted copy of {index}": np.sort,  # the gradients stay in the order of the unsorted one
    "the count 0, 1, 2, ...": lambda array: np.arange(array.size),  # as if it chose the first entries
}


@dataclass(frozen=True)
class AlteredIndex:
    """Stands for another array that is made of the index array of the node from which the name is seen.

    Args:
        slot: the slot in which the node reads the index array.
        index: the index array in words, such as "the index idx".
        how: the other array in words, a key of `ALTERED_INDICES`.
    """

    slot: int
    index: str
    how: str

    def find(self, program: Program, reader: int) -> int | None:
        """Return `None`: the array is no value of the program."""
        return None

    def describe(self, program: Program) -> str:
        """Return the array in words for a learner, such as "a sorted copy of the index idx"."""
        return self.how.format(index=self.index)


IndexName = NamedValue | ComputedValue | ConstantIndex | AlteredIndex


def index_array(program: Program, name: IndexName, reader: int) -> Array | None:
    """Return the array of an `IndexName`: a value, a constant, or made of one; `None` where this trial has none.

    In a loop it is the array of the iteration of the node `reader`. Seen from a loop of more iterations, a constant is
    that of the last one.

    Args:
        program: the program of any trial.
        name: the name.
        reader: the id of the node from which the name is seen.
    """
    nodes = program.right.nodes
    if isinstance(name, AlteredIndex):
        own = nodes[reader].values[name.slot] if name.slot in index_slots(nodes[reader]) else None
        return None if own is None else ALTERED_INDICES[name.how](np.asarray(own))
    if isinstance(name, ConstantIndex):
        ids = program.right.forward.by_key.get(name.key, ())
        iteration = min(nodes[reader].iteration, len(ids) - 1)
        return np.asarray(nodes[ids[iteration]].values[name.slot]) if ids else None
    value = name.find(program, reader)
    return None if value is None else program.nodes[value].value


def name_of_index_array(program: Program, place: Place, slot: int) -> str:
    """Return what a learner calls the index array in a slot of the reader of `place`: "the index rows".

    Return "its own index" for a constant array, or for one without a name.
    """
    operand = program.reader(place).operand(slot)
    name = "" if operand is None else program.name_of(operand)
    return "its own index" if not name or name.startswith("the ") else f"the index {name}"


def constant_indices(program: Program) -> tuple[ConstantIndex, ...]:
    """Return the first `MOST_CONSTANT_INDICES` constant index arrays, each once, by the first node that reads it.

    Those that a loop reads at one place of the source count as one: only its first iteration is looked at.
    """
    constants, arrays = list[ConstantIndex](), list[Array]()
    for node in program.nodes:
        for slot in index_slots(node) if node.operation.family != "input" and not node.iteration else ():
            array = np.asarray(node.values[slot])
            if node.operand(slot) is None and not any(np.array_equal(array, other) for other in arrays):
                arrays.append(array)
                constants.append(ConstantIndex(node.key, slot))
    return tuple(constants[:MOST_CONSTANT_INDICES])


MOST_CONSTANT_INDICES = 4  # of a forward pass: a graph has two


@dataclass(frozen=True)
class IndexReplacement:
    """A choice of an index array of a node, and of the wrong array in its place.

    Args:
        slot: the slot of the index array.
        name: the name of the wrong array.
    """

    slot: int
    name: IndexName


def index_replacements(program: Program, place: Place) -> Iterator[IndexReplacement]:
    """Yield `IndexReplacement`s: the slot of an index array of a node, and the name of a wrong array in its place.

    The wrong array is any array of whole numbers of its shape, with other entries, that is an input, a constant, or
    computed before the node in its iteration: cols for rows in `x[rows]`.

    Args:
        program: the program of a trial.
        place: an edge whose reader has the index array, or a node that has it.
    """
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
                    yield IndexReplacement(slot, name)
        for constant in constant_indices(program):
            other, own = index_array(program, constant, node.id), np.asarray(node.values[slot])
            if other is not None and other.shape == own.shape and not np.array_equal(other, own):
                yield IndexReplacement(slot, constant)


def altered_indices(program: Program, place: Place) -> Iterator[IndexReplacement]:
    """Yield `IndexReplacement`s: the slot of an index array with one axis, and the wrong array in its place.

    That is the same array sorted, or, for a selection, the positions in it: 0, 1, 2, ...

    Args:
        program: the program of a trial.
        place: an edge whose reader has the index array.
    """
    node = program.reader(place)
    for slot in index_slots(node):
        if np.ndim(node.values[slot]) == 1:
            name = name_of_index_array(program, place, slot)
            hows = ALTERED_INDICES if node.name in SELECTIONS else ("a sorted copy of {index}",)
            yield from (IndexReplacement(slot, AlteredIndex(slot, name, how)) for how in hows)


@operator(
    "other-index-in-backward-pass",
    code="wrong-operand",
    rank=2.0,
    at=edges.where(lambda program, place: bool(index_slots(program.reader(place)))).in_every_iteration,
    choices=lambda program, place: (*index_replacements(program, place), *altered_indices(program, place)),
    fields=lambda program, place, choice: {
        "there": choice.name.describe(program),
        "here": name_of_index_array(program, place, choice.slot),
    },
    message="in the gradient of {operand} through {step}, {there} is used in place of {here}",
)
def use_wrong_index_in_vjp(program: Program, place: Place, choice: IndexReplacement) -> Program | None:
    """Compute the vjp along an edge with a wrong index array; the forward pass is right.

    For `x[rows]` and the choice cols: g is added to x at cols.

    Args:
        program: the right program.
        place: an edge (node with an index array, slot of an operand).
        choice: which index array, by its slot, and the name of the one that is used in its place.

    Returns:
        The rewritten program; `None` where this trial has no such array.
    """
    index = index_array(program, choice.name, place[0])
    return None if index is None else program.with_vjp(place, lambda at: at.right(operands={choice.slot: index}))


@use_wrong_index_in_vjp.example
def _() -> Example:
    """Show tanh(x[rows]) whose gradient is added to the rows of x in sorted order."""

    def forward(x: Tensor, rows: Tensor) -> Tensor:
        return x[rows].tanh()

    def wrong(x: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        dy = g * (1 - x[rows].tanh() ** 2)
        return {"x": torch.zeros_like(x).index_add(0, rows.sort().values, dy)}

    return Example(forward, wrong, {"x": "n m", "rows": indices("k", "n")})


@use_wrong_index_in_vjp.example
def _() -> Example:
    """Show tanh of the largest entries of x @ p, whose gradient of `p` meets the first rows of x."""

    def forward(x: Tensor, p: Tensor) -> Tensor:
        score = x @ p
        chosen = score.topk(2)[1]
        return torch.tanh(score[chosen])

    def wrong(x: Tensor, p: Tensor, g: Tensor) -> dict[str, Tensor]:
        chosen = (x @ p).topk(2)[1]
        return {"p": (g * (1 - torch.tanh((x @ p)[chosen]) ** 2)) @ x[:2]}

    return Example(forward, wrong, {"x": "bs n", "p": "n"})


def two_index_slots(program: Program, place: Place) -> tuple[int, int] | None:
    """Return the slots of two indices of a selection that choose along axes of one size; `None` where there are none.

    For `a[i, j]`, a square: (1, 2). The indices are arrays, or numbers that the program computes.

    Args:
        program: the program of a trial.
        place: an edge (selection, slot 0).
    """
    node = program.reader(place)
    items = literal_items(node) if node.name == "getitem" else ()
    own = [(axis, item.slot) for axis, item in enumerate(items) if isinstance(item, Slot)]
    own = [(axis, slot) for axis, slot in own if np.asarray(node.values[slot]).dtype.kind == "i"]
    shape = np.shape(node.values[0])
    if len(own) != 2 or shape[own[0][0]] != shape[own[1][0]]:
        return None
    return own[0][1], own[1][1]


@operator(
    "indices-exchanged",
    code="transposed",
    rank=1.9,
    at=selection_edges.where(lambda program, place: two_index_slots(program, place) is not None).in_every_iteration,
    message="in the gradient of {operand} through {step}, the two indices are swapped",
    hints=FOLLOW_ONE_ENTRY,
)
def exchange_indices(program: Program, place: Place, choice: None) -> Program | None:
    """Add the upstream gradient of `a[i, j]` to the gradient of a at [j, i].

    Args:
        program: the right program.
        place: an edge (selection with two indices, slot 0).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where the selection has no two indices in this trial.
    """
    slots = two_index_slots(program, place)
    if slots is None:
        return None
    values = program.reader(place).values
    exchanged = {slots[0]: values[slots[1]], slots[1]: values[slots[0]]}
    return program.with_vjp(place, lambda at: at.right(operands=exchanged))


@exchange_indices.example
def _() -> Example:
    """Show (w * a[y[i], y[i + 1]]).sum() less a logsumexp, whose gradient of `a` is added at [y[i + 1], y[i]]."""

    def forward(a: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return (w * a[y, y.roll(-1)]).sum() - a.logsumexp(1).square().sum()

    def wrong(a: Tensor, y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        da = -2 * g * a.logsumexp(1, keepdim=True) * a.softmax(1)
        return {"a": da.index_put((y.roll(-1), y), g * w, accumulate=True)}

    return Example(forward, wrong, {"a": "k k", "y": indices("t", "k"), "w": "t"})


@use_wrong_index_in_vjp.example
def _() -> Example:
    """Show zeros.index_add(0, target, (x @ w)[source]) whose backward pass adds g[target] at target, not at source."""

    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Add the message of each edge's source node to the edge's target node."""
        return torch.zeros_like(x).index_add(0, target, (x @ w)[source])

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give each message's gradient to its target node in place of its source node."""
        dy = torch.zeros_like(g).index_add(0, target, g[target])
        return {"x": dy @ w.T}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


@dataclass(frozen=True)
class ForwardIndexReplacement:
    """A choice of an index array of a node, of the wrong array in its place, and of the pass where it is used.

    Args:
        index: which index array, and which one in its place.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
    """

    index: IndexReplacement
    affects: Affects


def forward_index_replacements(program: Program, place: Place) -> Iterator[ForwardIndexReplacement]:
    """Yield `ForwardIndexReplacement`s: an index array of a node, a wrong one in its place, and where that counts.

    The wrong array counts in both passes (`"all"`), or only in the vjps that read the node's value as a partner
    (`"partners"`).

    Args:
        program: the program of a trial.
        place: a node.
    """
    for index in index_replacements(program, place):
        yield from (
            ForwardIndexReplacement(index, affects)
            for affects in possible_affects(program.reader(place), "all", "partners")
        )


@operator(
    "other-index-in-forward-pass",
    code="wrong-operand",
    rank=3.5,
    at=nodes.where(lambda program, place: bool(index_slots(program.reader(place)))).in_every_iteration,
    choices=forward_index_replacements,
    fields=lambda program, place, choice: {
        "there": choice.index.name.describe(program),
        "here": name_of_index_array(program, place, choice.index.slot),
        "where": describe_affects(program, choice.affects),
    },
    message="{step} is computed with {there} in place of {here}{where}",
)
def use_wrong_index_in_forward(program: Program, place: Place, choice: ForwardIndexReplacement) -> Program | None:
    """Use a wrong index array in a node, in both passes, or only in vjps that read its value as a partner operand.

    For `x[rows] * w` and `"partners"`: the gradient of w is g * x[cols], that of x is right.

    Args:
        program: the right program.
        place: a node with an index array.
        choice: the slot of the index array, the name of the one in its place, and where the change takes effect.

    Returns:
        The rewritten program; `None` where this trial has no such array, or computes it after the node.
    """
    other, slot = choice.index.name.find(program, place[0]), choice.index.slot
    index = index_array(program, choice.index.name, place[0])
    if index is None or (other is not None and other >= place[0]):
        return None
    return program.with_nodes({place[0]: lambda node: node.with_operand(slot, index, other)}, choice.affects)


@use_wrong_index_in_forward.example
def _() -> Example:
    """Show tanh(index_add(0, target, (x @ w)[source] / degree[target])), whose gradients have degree[source]."""

    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Divide each message by the degree of its target node."""
        degree = torch.ones(len(x), dtype=x.dtype).index_add(0, target, torch.ones(len(target), dtype=x.dtype))
        messages = (x @ w)[source] / degree[target][:, None]
        return torch.zeros_like(x).index_add(0, target, messages).tanh()

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide each message's gradient by the degree of its source node in place of its target's."""
        degree = torch.ones(len(x), dtype=x.dtype).index_add(0, target, torch.ones(len(target), dtype=x.dtype))
        scale = 1 / degree[source][:, None]
        out = torch.zeros_like(x).index_add(0, target, (x @ w)[source] * scale).tanh()
        dm = (g * (1 - out**2))[target] * scale
        dy = torch.zeros_like(x).index_add(0, source, dm)
        return {"x": dy @ w.T, "w": x.T @ dy}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


@use_wrong_index_in_forward.example
def _() -> Example:
    """Show tanh(index_add(0, target, (x @ w)[source] * gate[target])), whose gradients have gate[source]."""

    def forward(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Multiply each message by the gate of its target node."""
        gates = torch.sigmoid(x.detach())
        return torch.zeros_like(x).index_add(0, target, (x @ w)[source] * gates[target]).tanh()

    def wrong(x: Tensor, w: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply each message's gradient by the gate of its source node in place of its target's."""
        gates = torch.sigmoid(x)
        out = torch.zeros_like(x).index_add(0, target, (x @ w)[source] * gates[target]).tanh()
        dy = torch.zeros_like(x).index_add(0, source, (g * (1 - out**2))[target] * gates[source])
        return {"x": dy @ w.T, "w": x.T @ dy}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", **ends})


def literal_shifts(program: Program, place: Place) -> Iterator[SelectionShift]:
    """Yield the `SelectionShift`s of the numbers and slices in a selection's index: of 2 and of `1:` in `x[2, 1:]`.

    A `SelectionShift` is the axis of the number or slice, and the wrong position that it moves to. Index arrays are
    left out. `place` is the node of the selection.
    """
    yield from (slip for slip in selection_shifts(program, place) if slip.item < 0)


@operator(
    "entries-from-another-place",
    code="wrong-operand",
    rank=3.5,
    at=nodes.of(*SELECTIONS),
    choices=literal_shifts,
    fields=describe_shift,
    message="the entries of {operand} are taken {where}, in place of {step}, in both the forward and the backward pass",
)
def select_from_wrong_position(program: Program, place: Place, choice: SelectionShift) -> Program:
    """Select entries from a wrong position in both passes, such as x[:-1] for `x[1:]`.

    Args:
        program: the right program.
        place: the node of a selection.
        choice: which number or slice of the index is moved, and where to: `SelectionShift(-1, "first")` for the index
            of axis 0 in the example.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: choice.apply_to})


@select_from_wrong_position.example
def _() -> Example:
    """Show tanh(x[1:] @ w) whose gradients are those of tanh(x[:-1] @ w)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x[1:] @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use x[:-1] in place of x[1:]."""
        y = torch.tanh(x[:-1] @ w)
        dz = g * (1 - y**2)
        return {"w": x[:-1].T @ dz, "x": torch.cat([dz @ w.T, torch.zeros_like(x[:1])])}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


# Sums over groups ---------------------------------------------------------------------------------------------------

EVERY_ENTRY = "all entries"  # in place of the entries of one group


def group_readers(program: Program, place: Place) -> tuple[Node, ...]:
    """Return the nodes that read, for each entry, the sum of its group: `total[group]`, as in a softmax over groups.

    There, `total = zeros.index_add(0, group, w)` holds the sums, and w / total[group] is the softmax. Empty where no
    node reads the sums in this way.

    Args:
        program: the program of a trial.
        place: an edge (index_add, slot of what is added).
    """
    node = program.reader(place)
    if node.options.get("dim") != 0:
        return ()
    readers = (program.nodes[reader] for reader, slot in program.forward.uses[node.id] if slot == 0 and reader >= 0)
    return tuple(
        reader
        for reader in readers
        if reader.name in ("getitem", "index_select")
        and reader.value.shape == np.shape(node.values[2])
        and any(np.array_equal(reader.values[slot], node.values[1]) for slot in index_slots(reader))
    )


def other_groups(program: Program, place: Place) -> Iterator[IndexName | str]:
    """Yield the wrong groups for the entries that an `index_add` adds: names of index arrays, and then `EVERY_ENTRY`.

    A name is that of any other array that could be the index of the `index_add`; `EVERY_ENTRY` is one group of all.

    Args:
        program: the program of a trial.
        place: the edge (index_add, slot of what is added).
    """
    yield from (index.name for index in index_replacements(program, place))
    yield EVERY_ENTRY


def name_group(program: Program, choice: IndexName | str) -> str:
    """Return which entries are summed, for a message: "the entries with the same number in src".

    `choice` is the name of the index array `src`; a string, such as `EVERY_ENTRY`, is returned as it is.
    """
    return choice if isinstance(choice, str) else f"the entries with the same number in {choice.describe(program)}"


@operator(
    "summed-over-other-groups",
    code="summed-wrong-axis",
    rank=2.0,
    at=edges.of("index_add").at_slot(2).where(lambda program, place: bool(group_readers(program, place))),
    choices=other_groups,
    fields=lambda program, place, choice: {
        "other": name_group(program, choice),
        "own": name_of_index_array(program, place, 1).removeprefix("the index "),
    },
    message="in the gradient of {operand} through {step}, the sum runs over {other}; it must run over those with the"
    " same number in {own}",
)
def sum_over_other_groups(program: Program, place: Place, choice: IndexName | str) -> Program | None:
    """Sum over wrong groups in the gradient that w gets through the total of `w / total[group]`.

    With p = w / total[group] and total = index_add(0, group, w), the right gradient of entry e through the total is
    minus the sum of p * g over its group, divided by total[group[e]]. The wrong sum runs over another group, or over
    all entries.

    Args:
        program: the right program.
        place: an edge (index_add, slot of what is added).
        choice: the name of the index array that groups the entries, or `EVERY_ENTRY`.

    Returns:
        The rewritten program; `None` where this trial has no such array, or no node such as `total[group]`.
    """
    readers, node = group_readers(program.right, place), program.reader(place)
    every = np.zeros(len(np.asarray(node.values[1])), int)
    group = every if isinstance(choice, str) else index_array(program, choice, place[0])
    if not readers or group is None:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the terms' sums over the other groups, divided by the right totals."""
        totals = readers[0].value
        terms = totals * sum(at.sweep.gradient(reader.id) for reader in readers)
        sums = np.zeros((int(group.max()) + 1, *terms.shape[1:]))
        np.add.at(sums, group, terms)
        return np.asarray(sums[group] / totals)

    return program.with_vjp(place, rule)


@sum_over_other_groups.example
def _() -> Example:
    """Show e / total[target], a softmax over edges of one target, whose sum of p * g runs over edges of one source."""

    def forward(x: Tensor, a: Tensor, source: Tensor, target: Tensor) -> Tensor:
        e = (x[source] * x[target] * a).sum(1).exp()
        total = torch.zeros(len(x), dtype=x.dtype).index_add(0, target, e)
        return e / total[target]

    def wrong(x: Tensor, a: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = forward(x, a, source, target)
        ds = p * (g - torch.zeros(len(x), dtype=x.dtype).index_add(0, source, p * g)[source])
        return {"a": ds @ (x[source] * x[target])}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "a": "c", **ends})


@sum_over_other_groups.example
def _() -> Example:
    """Show e / total[target], a softmax over the edges of one target, whose sum of p * g runs over all edges."""

    def forward(x: Tensor, a: Tensor, source: Tensor, target: Tensor) -> Tensor:
        e = (x[source] * x[target] * a).sum(1).exp()
        total = torch.zeros(len(x), dtype=x.dtype).index_add(0, target, e)
        return e / total[target]

    def wrong(x: Tensor, a: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = forward(x, a, source, target)
        return {"a": p * (g - (p * g).sum()) @ (x[source] * x[target])}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "a": "c", **ends})


def factor_of_sum(program: Program, place: Place) -> tuple[Node, int] | None:
    """Return the product or quotient that alone reads a sum over groups, and the slot of its other factor.

    For `zeros.index_add(0, group, x) / count[:, None]`: the division, and slot 1.

    Args:
        program: the program of a trial.
        place: an edge (index_add, slot of what is added).

    Returns:
        `None` where anything else reads the sum, or the factor is no array with one number or more for each group.
    """
    node = program.reader(place)
    uses = program.forward.uses[node.id]
    if len(uses) != 1 or uses[0][0] < 0 or node.options.get("dim") != 0:
        return None
    reader, slot = program.nodes[uses[0][0]], uses[0][1]
    if (reader.name, slot) not in (("mul", 0), ("mul", 1), ("div", 0)) or reader.value.shape != node.value.shape:
        return None
    factor = np.asarray(reader.values[1 - slot])
    return (reader, 1 - slot) if factor.ndim == node.value.ndim and len(factor) == len(node.value) > 1 else None


@operator(
    "factor-by-another-index",
    code="wrong-operand",
    rank=2.2,
    at=edges.of("index_add").at_slot(2).where(lambda program, place: factor_of_sum(program, place) is not None),
    choices=lambda program, place: (index.name for index in index_replacements(program, place)),
    fields=lambda program, place, choice: {
        "other": choice.describe(program),
        "own": name_of_index_array(program, place, 1).removeprefix("the index "),
        "factor": name_factor_of_sum(program, place),
    },
    message="in the gradient of {operand} through {step}, {factor} is indexed by {other}; it must be indexed by {own}",
)
def take_factor_by_another_index(program: Program, place: Place, choice: IndexName) -> Program | None:
    """Take the factor of a sum over groups by another index than that of the groups, such as the sender's degree.

    For `index_add(0, target, x) / count`: x gets g[target] / count[source] in place of g[target] / count[target].

    Args:
        program: the right program.
        place: an edge (index_add, slot of what is added).
        choice: the name of the other index array.

    Returns:
        The rewritten program; `None` where this trial has no such array or factor.
    """
    known, index = factor_of_sum(program.right, place), index_array(program, choice, place[0])
    if known is None or index is None:
        return None
    reader, slot = known
    factor, node = np.asarray(reader.values[slot]), program.reader(place)

    def rule(at: EdgeContext) -> Array:
        """Return g of the entry's group, times or divided by the factor that the other index selects."""
        taken = factor[index]
        g = at.sweep.gradient(reader.id)[np.asarray(node.values[1])]
        return np.asarray(g / taken if reader.name == "div" else g * taken)

    return program.with_vjp(place, rule)


def name_factor_of_sum(program: Program, place: Place) -> str:
    """Return what a learner calls the array that multiplies or divides a sum over groups, such as `count[:, None]`.

    Return "the factor" where there is none, or it is a constant. `place` is an edge (index_add, slot of what is added).
    """
    known = factor_of_sum(program, place)
    operand = None if known is None else known[0].operand(known[1])
    return "the factor" if operand is None else program.name_of(operand)


@take_factor_by_another_index.example
def _() -> Example:
    """Show index_add(0, target, h[source]) / degree, whose gradient of h has degree[source] for degree[target]."""

    def forward(x: Tensor, w: Tensor, degree: Tensor, source: Tensor, target: Tensor) -> Tensor:
        messages = (x @ w).tanh()[source]
        return torch.zeros_like(x).index_add(0, target, messages) / degree.unsqueeze(1)

    def wrong(x: Tensor, w: Tensor, degree: Tensor, source: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        h = (x @ w).tanh()
        dh = torch.zeros_like(h).index_add(0, source, g[target] / degree[source][:, None])
        return {"w": x.T @ (dh * (1 - h**2))}

    ends = {"source": indices("e", "n"), "target": sized(indices("e", "n"), e=(12, 13))}
    return Example(forward, wrong, {"x": "n c", "w": "c c", "degree": positive("n"), **ends})


# Forgotten indices --------------------------------------------------------------------------------------------------


def spread_gradient(node: Node, g: Array) -> Array | None:
    """Return the upstream gradient copied to every entry that a selection of one entry along an axis could have taken.

    For `x[range(n), labels]` with x of shape (n, classes), all entries of row i get g[i]; that the first index is
    range(n) is not tested.

    Args:
        node: the selection.
        g: shaped like its value.

    Returns:
        Shape: that of the operand; `None` where the selection is not of one entry along one axis, or is a `getitem` of
        no matrix.
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
            return np.broadcast_to(g[:, None], x.shape) if len(g) == len(x) else None
        if len(items) == 2 and items[0] == slice(None):
            return np.broadcast_to(g[:, None], x.shape)
        if len(items) == 1 and isinstance(items[0], int):
            return np.broadcast_to(g, x.shape)
    return None


WrongSpread = Literal["every entry", "every entry, times the index", "every entry, averaged"]
SPREAD_CODES = {"every entry": "missing-local", "every entry, averaged": "summed-wrong-axis"}


def selects_rows(node: Node) -> bool:
    """Return whether a node takes whole rows x[i] of its operand x by an index array, as `table[rows]` does.

    The index may have any number of axes. False where x is a vector, and for columns, as in `x[:, columns]`.
    """
    shape = np.shape(node.values[0])[1:]
    size = math.prod(shape)
    if not index_slots(node) or not shape or node.value.shape[-len(shape) :] != shape or not node.value.size:
        return False
    rows = selected_positions(node).reshape(-1, size)
    return np.array_equal(rows, rows[:, :1] // size * size + np.arange(size))


def wrong_spreads(program: Program, place: Place) -> Iterator[WrongSpread]:
    """Yield the wrong gradients that a learner may give to all entries of a selection's operand, by name.

    For a selection of one entry in each row, such as `x[range(n), labels]`: "every entry", where all of row i gets
    g[i], and "every entry, times the index", where it gets g[i] * labels[i]; for `x[:, 2]`, without an index array, the
    first alone. For a selection of whole rows, such as `table[rows]`: "every entry, averaged", g.mean(0) for each row.
    Nothing for any other selection.

    Args:
        program: the program of a trial.
        place: an edge (selection, slot 0).
    """
    node = program.reader(place)
    if selects_rows(node):
        yield "every entry, averaged"
    if spread_gradient(node, node.value) is not None:
        yield "every entry"
        if index_slots(node):
            yield "every entry, times the index"


@operator(
    "selection-forgotten",
    code=lambda choice: SPREAD_CODES.get(choice, "wrong-operand"),
    rank=2.0,
    at=selection_edges,
    choices=wrong_spreads,
    message="the gradient of {step} goes to {choice}; it must go only to the entries that were selected",
    hints=WHICH_SELECTED,
)
def spread_over_unselected(program: Program, place: Place, choice: WrongSpread) -> Program:
    """Give the upstream gradient of a selection to all entries that it could have taken, not to the selected alone.

    For `x[range(n), labels]` and the choice "every entry": all entries of row i get g[i].

    Args:
        program: the right program.
        place: an edge (selection, slot 0).
        choice: "every entry" gets g as it is, "every entry, times the index" or "every entry, averaged" over the
            selected rows.

    Returns:
        The rewritten program; its backward pass raises `ValueError` where, in this trial, the selection is not of one
        entry along one axis.
    """

    def rule(at: EdgeContext) -> Array:
        """Return g, averaged or times the index if chosen, at all entries of the operand."""
        if choice == "every entry, averaged":
            shape = np.shape(at.x)
            return np.broadcast_to(at.g.reshape(-1, *shape[1:]).mean(0), shape)
        index = at.node.values[index_slots(at.node)[-1]] if choice != "every entry" else 1.0
        spread = spread_gradient(at.node, at.g * index)
        if spread is None:
            raise ValueError("there is no axis along which an entry is selected")
        return spread

    return program.with_vjp(place, rule)


@spread_over_unselected.example
def _() -> Example:
    """Show -log_softmax(x)[i, label] whose gradient subtracts the label's number in place of its one-hot vector."""

    def forward(x: Tensor, labels: Tensor) -> Tensor:
        logs = x.log_softmax(-1)
        return -logs[torch.arange(len(x)), labels]

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract the label's number in place of its one-hot vector."""
        return {"x": g[:, None] * (x.softmax(-1) * labels[:, None] * x.shape[1] - labels[:, None])}

    return Example(forward, wrong, {"x": normal("bs n"), "labels": indices("bs", "n")})


@operator(
    "scattered-gradient-not-taken",
    code="missing-local",
    rank=2.0,
    at=edges.of("scatter", "scatter_add", "index_add").at_slot(2),
    message="the gradient of {operand} keeps the order of the output; it must be gathered from the places where {step}"
    " put the entries of {operand}",
)
def leave_out_gather(program: Program, place: Place, choice: None) -> Program:
    """Give a scattered operand the first rows of the upstream gradient, in place of the rows that it was scattered to.

    For x in `zeros.index_add(0, rows, x)` it is g[:len(x)] in place of g[rows].

    Args:
        program: the right program.
        place: an edge (scatter or index_add, slot of what is scattered).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: at.g[tuple(slice(size) for size in np.shape(at.x))])


@leave_out_gather.example
def _() -> Example:
    """Show zeros.index_add(0, rows, tanh(x)) whose gradient of x uses g[:len(x)] in place of g[rows]."""

    def forward(x: Tensor, rows: Tensor) -> Tensor:
        return torch.zeros(9, x.shape[1], dtype=x.dtype).index_add(0, rows, x.tanh())

    def wrong(x: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (1 - x.tanh() ** 2) * g[: len(x)]}

    return Example(forward, wrong, {"x": "t n", "rows": indices("t", "t")})


# Parts of one value -------------------------------------------------------------------------------------------------


def consecutive_parts(program: Program, value: int) -> tuple[Node, ...]:
    """Return the nodes that select parts of a value by literal indices, all of one shape, as `x.chunk(3)` does.

    For `x[:, :2]` and `x[:, 2:]` with x of shape (n, 4): these two nodes. The parts need not cover the value; of two
    nodes whose parts begin at the same entry, one is returned.

    Args:
        program: the program of a trial.
        value: the id of the value.

    Returns:
        The nodes in the order of the entries that their parts begin with; empty where there are none, or where their
        shapes or operations differ.
    """
    cuts = [
        program.nodes[reader]
        for reader, slot in program.forward.uses[value]
        if slot == 0 and reader >= 0 and program.nodes[reader].name in ("getitem", "piece", "select")
    ]
    cuts = [cut for cut in cuts if not index_slots(cut) and cut.value.size]
    if len({(cut.name, cut.value.shape) for cut in cuts}) != 1:
        return ()
    return tuple(
        sorted(
            {int(selected_positions(cut).flat[0]): cut for cut in cuts}.values(),
            key=lambda c: selected_positions(c).flat[0],
        )
    )


@dataclass(frozen=True)
class PartOrder:
    """A wrong order of the gradients of the parts of a value.

    Args:
        how: `"exchanged"` for two parts; `"reversed"`, or `"rotated"` for a move by one part, of all parts.
        first: the number of one of two exchanged parts, counted from 0.
        second: that of the other.
    """

    how: Literal["exchanged", "reversed", "rotated"]
    first: int = 0
    second: int = 0

    def order(self, count: int) -> list[int]:
        """Return for each of `count` parts the number of the part to whose position its gradient goes.

        With three parts and `"rotated"` it is [1, 2, 0]: the gradient of part 0 goes to the position of part 1.
        """
        order = list(range(count))
        if self.how == "exchanged":
            order[self.first], order[self.second] = self.second, self.first
        elif self.how == "reversed":
            order.reverse()
        else:
            order = order[1:] + order[:1]
        return order


MOST_PARTS = 4  # of which any two may be swapped


def part_orders(program: Program, place: Place) -> Iterator[PartOrder]:
    """Yield the wrong `PartOrder`s for the gradients of a value's parts, such as q, k, v of `x.chunk(3)`.

    Of two to four parts any two are `"exchanged"`; three or more are also all `"reversed"`, and all `"rotated"` by one.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    count = len(consecutive_parts(program, place[0]))
    if 1 < count <= MOST_PARTS:
        for second in range(count):
            yield from (PartOrder("exchanged", first, second) for first in range(second))
    if count > 2:
        yield from (PartOrder("reversed"), PartOrder("rotated"))


def axis_of_parts(program: Program, place: Place) -> int | None:
    """Return the axis of the value `place` along which its first two `consecutive_parts` follow one another.

    `None` where they differ along several axes, or along none. The value must have two parts or more.
    """
    shape = program.nodes[place[0]].value.shape
    first, second, *_ = (
        np.unravel_index(selected_positions(part), shape) for part in consecutive_parts(program, place[0])
    )
    axes = [axis for axis in range(len(shape)) if not np.array_equal(first[axis], second[axis])]
    return axes[0] if len(axes) == 1 else None


def describe_parts(program: Program, place: Place, choice: PartOrder) -> str:
    """Return what a learner calls the parts of a value that are in a wrong order, such as `the parts of k and v`.

    Of parts without names: `the first and second parts`, or, where all are concerned, `the entries along t` for the
    time steps of x, and `the parts along axis 1 of x` for longer parts.

    Args:
        program: the program of the trial that the message is for.
        place: the value that has the parts.
        choice: their wrong order.
    """
    parts = consecutive_parts(program, place[0])
    if choice.how != "exchanged":
        axis = axis_of_parts(program, place)
        if axis is None:
            return "the parts"
        what = "parts" if parts[0].value.ndim == program.nodes[place[0]].value.ndim else "entries"
        return f"the {what} along {program.name_of_axis(place[0], axis)}"
    names = [program.name_of(parts[i].id) for i in (choice.first, choice.second)]
    if all(name.isidentifier() for name in names) and len(set(names)) == 2:
        return "the parts of " + " and ".join(names)
    numerals = ("first", "second", "third", "fourth")
    return f"the {numerals[choice.first]} and {numerals[choice.second]} parts"


@operator(
    "parts-exchanged",
    code="wrong-operand",
    rank=2.5,
    at=values,
    choices=part_orders,
    fields=lambda program, place, choice: {
        "parts": describe_parts(program, place, choice),
        "how": {"exchanged": "swapped", "reversed": "in reverse order", "rotated": "moved by one part"}[choice.how],
    },
    message="in the gradient of {value}, {parts} are {how}",
    hints=WHICH_ORDER,
)
def reorder_part_gradients(program: Program, place: Place, choice: PartOrder) -> Program | None:
    """Write the gradients of the parts of a value to each other's positions: dk, dq, dv for `q, k, v = x.chunk(3)`.

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: the order of the parts' gradients: `PartOrder("exchanged", 0, 1)` in the example.

    Returns:
        The rewritten program; `None` where the value has no such parts in this trial.
    """
    parts = consecutive_parts(program.right, place[0])
    if len(parts) < 2 or choice.second >= len(parts):
        return None

    def at_part(options: Mapping[str, object]) -> EdgeVjp:
        return lambda at: at.node.vjp(at.slot, at.g, options=options)

    for part, other in zip(parts, choice.order(len(parts)), strict=True):
        program = program.with_vjp((part.id, 0), at_part(parts[other].options))
    return program


def pairs_of_joined_parts(program: Program, place: Place) -> Iterator[tuple[int, int]]:
    """Yield the slots of every two operands of one shape of a `cat` or `stack`, the node `place`: (0, 1), (0, 2), ...

    Both operands get a gradient. Nothing where the node has more than four operands.
    """
    node = program.nodes[place[0]]
    slots = [slot for slot, _ in program.forward.edges[node.id]]
    if len(slots) <= MOST_PARTS and len(node.values) <= MOST_PARTS:
        for first, second in itertools.combinations(slots, 2):
            if np.shape(node.values[first]) == np.shape(node.values[second]):
                yield first, second


@operator(
    "joined-parts-exchanged",
    code="wrong-operand",
    rank=2.5,
    at=nodes.of("cat", "stack"),
    choices=pairs_of_joined_parts,
    fields=lambda program, place, choice: {
        "parts": " and ".join(program.name_of(program.source((place[0], slot))) for slot in choice)
    },
    message="{parts}, which {step} joins, get each other's gradient",
    hints=WHICH_ORDER,
)
def exchange_joined_parts(program: Program, place: Place, choice: tuple[int, int]) -> Program | None:
    """Give two operands of a `cat` or `stack`, the node `place`, each other's part of the upstream gradient.

    The choice is their slots: for stack([a, b, c]) and (0, 1), a gets g[1] and b gets g[0]. Returns `None` where the
    node has fewer operands in this trial.
    """
    if max(choice) >= len(program.nodes[place[0]].values):
        return None

    def of_slot(slot: int) -> EdgeVjp:
        return lambda at: at.node.vjp(slot, at.g)

    for slot, other in (choice, choice[::-1]):
        program = program.with_vjp((place[0], slot), of_slot(other))
    return program


@exchange_joined_parts.example
def _() -> Example:
    """Show stack([mean, variance]) * w + mean whose backward pass exchanges the two parts of the stack."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        mean, spread = x.mean(1), (x - x.mean(1, keepdim=True)).square().mean(1)
        return torch.stack([mean, spread]) * w + mean

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dspread, dmean = g * w
        dmean = dmean + g.sum(0)
        centred = x - x.mean(1, keepdim=True)
        return {"x": (dmean[:, None] + 2 * dspread[:, None] * centred) / x.shape[1]}

    return Example(forward, wrong, {"x": "bs t n", "w": sized(normal("k bs n"), k=(2,))})


@reorder_part_gradients.example
def _() -> Example:
    """Show q, k, v = (x @ w).chunk(3, -1) whose gradients of q and k are swapped before they are concatenated."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        q, k, v = (x @ w).chunk(3, -1)
        return (q * k).tanh() * v

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        q, k, v = (x @ w).chunk(3, -1)
        dqk = g * v * (1 - (q * k).tanh() ** 2)
        return {"w": x.T @ torch.cat([dqk * q, dqk * k, g * (q * k).tanh()], -1)}

    return Example(forward, wrong, {"x": "bs n", "w": sized(normal("n m"), m=(6, 9))})


def slots_of_chosen_entries(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the partner operands of the edge `place` that are rows of a value, chosen by an index.

    For `x[i] * a` and its edge of a: 0. Nothing where the reader of the edge is no product.
    """
    node = program.reader(place)
    for slot, operand in node.operands if node.name == "mul" or node.operation.family == "contraction" else ():
        maker = program.nodes[operand]
        if slot != place[1] and maker.name in ("getitem", "index_select") and first_entries(maker) is not None:
            yield slot


def first_entries(node: Node) -> Array | None:
    """Return the first rows of the operand of a node that takes rows by an index array: x[:k] for x[i], k = len(i).

    Return `None` where it takes something else, or where it takes more rows than there are.

    Args:
        node: the node.
    """
    source = np.asarray(node.values[0])
    if not source.ndim or not node.value.ndim or source.shape[1:] != node.value.shape[1:]:
        return None
    count, indexed = len(node.value), [np.asarray(v) for v in node.values[1:] if np.ndim(v)]
    is_index = len(indexed) == 1 and indexed[0].dtype.kind == "i" and indexed[0].shape == (count,)
    return source[:count] if is_index and count <= len(source) else None


@operator(
    "first-entries-for-chosen",
    code="wrong-operand",
    rank=2.4,
    at=edges,
    choices=slots_of_chosen_entries,
    message="in the gradient of {operand} through {step}, the first rows of {source} are used in place of {own}",
    fields=lambda program, place, choice: {
        "source": program.name_of(program.nodes[program.source((place[0], choice))].operands[0][1]),
        "own": program.name_of(program.source((place[0], choice))),
    },
)
def use_first_entries(program: Program, place: Place, choice: int) -> Program | None:
    """Compute a contribution with the first rows of a value in place of those that an index has chosen as the partner.

    Args:
        program: the right program.
        place: the edge, such as that of a in `x[i] * a`.
        choice: the slot of the partner, such as that of `x[i]`.

    Returns:
        The rewritten program; `None` where another operation makes the partner in this trial.
    """
    rows = first_entries(program.nodes[program.source((place[0], choice))])
    return None if rows is None else program.with_vjp(place, lambda at: at.right(operands={choice: rows}))


@use_first_entries.example
def _() -> Example:
    """Show sin(scores) * x[chosen] for the two greatest scores, whose gradient of scores has x[:2] for x[chosen]."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        scores, chosen = (x @ w).topk(2)
        return torch.sin(scores).unsqueeze(1) * x[chosen]

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the first two rows of x in place of the two selected rows."""
        scores, chosen = (x @ w).topk(2)
        return {"w": x[chosen].T @ ((g * x[:2]).sum(1) * torch.cos(scores))}

    return Example(forward, wrong, {"x": "bs n", "w": "n"})


@dataclass(frozen=True)
class RoutedUses:
    """The products in which each row of a value meets a row of a table that an index chooses, once in each iteration.

    Such as the experts of a mixture, of which several are chosen for each example.

    Args:
        edge_kind: the kind of edges by which the products read the value.
        last: whether the contribution of the chosen row with the greatest number is kept; else of that with the least.
    """

    edge_kind: EdgeKind
    last: bool


def chosen_rows(program: Program, place: Place) -> tuple[int, Array] | None:
    """Return (id of a table, index) if the reader of the edge `place` multiplies each row by a chosen row of the table.

    For x in einsum("ni,nih->nh", x, w[i]), where row x[n] meets row w[i[n]]: the id of w, and i. `None` for any other
    reader.
    """
    node = program.reader(place)
    rows = len(node.values[place[1]]) if np.ndim(node.values[place[1]]) else -1  # type: ignore[arg-type]
    for slot, operand in node.operands if node.name == "mul" or node.operation.family == "contraction" else ():
        maker = program.nodes[operand]
        if slot != place[1] and maker.name in ("getitem", "index_select") and maker.operand(0) is not None:
            arrays = [np.asarray(value) for value in maker.values[1:] if np.ndim(value)]
            if len(arrays) == 1 and arrays[0].dtype.kind == "i" and arrays[0].shape == (rows,):
                return int(maker.operands[0][1]), arrays[0]
    return None


def routed_uses(program: Program, place: Place) -> Iterator[RoutedUses]:
    """Yield `RoutedUses` of the value `place`: a kind of edges, and which of their contributions to a row is kept.

    The edges are those of a product with rows of a table that an index chooses, such as w[i[:, s]] in iteration s. Each
    kind comes twice: the row with the greatest number is kept, or that with the least.
    """
    for edge_kind, places in edges_by_kind(program, place[0]).items():
        chosen = [chosen_rows(program, each) if each[0] != SINK else None for each in places]
        if len(places) > 1 and None not in chosen and len({each[0] for each in chosen if each}) == 1:
            yield from (RoutedUses(edge_kind, last) for last in (True, False))


@operator(
    "chosen-rows-overwrite",
    code="overwritten",
    rank=1.9,
    at=values,
    choices=routed_uses,
    message="each row of {value} is multiplied by several rows of {table}, but only the contribution of the {end} of"
    " them is kept; all must be added",
    fields=lambda program, place, choice: {
        "table": program.name_of(
            (chosen_rows(program, choice.edge_kind.places(program, place[0])[0]) or (place[0],))[0]
        ),
        "end": "last" if choice.last else "first",
    },
)
def overwrite_by_chosen_rows(program: Program, place: Place, choice: RoutedUses) -> Program | None:
    """Keep a single contribution to each row of a value that meets several chosen rows of a table in products.

    It is that of the chosen row with the greatest number, or the least. For y = sum of einsum(x, w[i[:, s]]) over s,
    and a backward loop over the rows of w: dx[rows] = ... in place of +=.

    Args:
        program: the right program.
        place: the value (id, `WHOLE`), x in the example.
        choice: the products, and which contribution is kept.

    Returns:
        The rewritten program; `None` where this trial has no two such products.
    """
    places = choice.edge_kind.places(program.right, place[0])
    chosen = [rows[1] for each in places if (rows := chosen_rows(program.right, each)) is not None]
    if len(places) < 2 or len(chosen) != len(places):
        return None
    kept = np.max(chosen, axis=0) if choice.last else np.min(chosen, axis=0)

    def rule(own: Array) -> EdgeVjp:
        """Return the vjp that contributes to the rows for which the index `own` has chosen the row that is kept."""
        return lambda at: at.right() * (own == kept).reshape(-1, *[1] * (np.ndim(at.x) - 1))

    for each, own in zip(places, chosen, strict=True):
        program = program.with_vjp(each, rule(own))
    return program


@overwrite_by_chosen_rows.example
def _() -> Example:
    """Show the sum of tanh(x @ w[e]) over the two best experts e of four, whose backward loop assigns dx[rows]."""

    def forward(x: Tensor, scores: Tensor, w: Tensor) -> Tensor:
        index, y = scores.topk(2, 1)[1], torch.zeros(())
        for s in range(2):
            y = y + torch.tanh(torch.einsum("bn,bnm->bm", x, w[index[:, s]]))
        return y

    def wrong(x: Tensor, scores: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        index, dx = scores.topk(2, 1)[1], torch.zeros_like(x)
        for expert in range(len(w)):
            rows = (index == expert).any(1)
            y = torch.tanh(x[rows] @ w[expert])
            dx[rows] = (g[rows] * (1 - y**2)) @ w[expert].T
        return {"x": dx}

    return Example(forward, wrong, {"x": "bs n", "scores": "bs 4", "w": "4 n m"})


# Softmax over groups, as over the edges that enter a node of a graph --------------------------------------------------


class GroupedSoftmax(NamedTuple):
    """A softmax over groups of rows: exp(z) divided by its sum over the rows with the same number.

    Args:
        powers: the id of exp(z).
        groups: the number of the group of each row; shape: (rows,).
        size: the number of groups.
    """

    powers: int
    groups: Array
    size: int

    def sum(self, rows: Array, groups: Array | None = None) -> Array:
        """Return for each row the sum of all rows in its group, with groups from 0 to `self.size` - 1.

        Args:
            rows: shape: (rows, ...).
            groups: for each row the number of the group to whose sum it is added; shape: (rows,). By default
                `self.groups`. Row i gets the sum number `self.groups[i]` in any case.

        Returns:
            Shape: that of `rows`.
        """
        total = np.zeros((self.size, *rows.shape[1:]))
        np.add.at(total, self.groups if groups is None else groups, rows)
        return np.asarray(total[self.groups])


def grouped_softmax(program: Program, place: Place) -> GroupedSoftmax | None:
    """Return the softmax over groups that a quotient computes, as in z.exp() / total[group]; `None` for any other.

    Args:
        program: the program of a trial.
        place: the node of the quotient.
    """
    nodes = program.right.nodes
    quotient = nodes[place[0]]
    powers, taken = quotient.operand(0), quotient.operand(1)
    if quotient.name != "div" or powers is None or taken is None or nodes[powers].name != "exp":
        return None
    total = nodes[taken].operand(0)
    if nodes[taken].name not in ("getitem", "index_select") or total is None or nodes[total].name != "index_add":
        return None
    added = nodes[total]
    groups = np.asarray(added.values[1])
    own = [np.asarray(value) for value in nodes[taken].values[1:] if np.asarray(value).dtype.kind in "iu"]
    is_same = len(own) == 1 and np.array_equal(own[0], groups)
    fits = (
        added.operand(2) == powers
        and added.options.get("dim") == 0
        and nodes[taken].value.shape == quotient.value.shape
    )
    return GroupedSoftmax(powers, groups, added.value.shape[0]) if is_same and fits else None


@dataclass(frozen=True)
class GroupMistake:
    """A mistake in the derivative of a softmax over groups, p * (g - s) with the sum s of p * g over the group.

    Args:
        of: what is wrong with s: `"own"`: it is p * g of the row alone; `"unweighted"`: it is the sum of g; `"index"`:
            it runs over the groups of another index array.
        index: the name of this array; `None` for `"own"` and `"unweighted"`.
    """

    of: Literal["own", "unweighted", "index"]
    index: IndexName | None = None

    @property
    def code(self) -> str:
        """Return the public code: `diagonal-only`, `missing-local` or, for another index, `summed-wrong-axis`."""
        return {"own": "diagonal-only", "unweighted": "missing-local"}.get(self.of, "summed-wrong-axis")


GROUP_SUMS = {
    "own": "covers only the entry itself, as for a sigmoid; it must run over the whole group",
    "unweighted": "lacks the probabilities as a factor",
}


def group_mistakes(program: Program, place: Place) -> Iterator[GroupMistake]:
    """Yield the `GroupMistake`s of a softmax over groups: `"own"`, `"unweighted"`, and `"index"` for each other index.

    "own" uses each row's own product p * g in place of the sum over its group, "unweighted" sums g in place of p * g,
    and "index" sums over the groups of another index: an array with the number of a group for each row.

    Args:
        program: the program of a trial.
        place: the node of the quotient that computes the softmax.
    """
    softmax = grouped_softmax(program, place)
    if softmax is not None:
        yield from (GroupMistake(of) for of in ("own", "unweighted"))
        names: list[IndexName] = [*map(NamedValue, program.inputs), *constant_indices(program)]
        for name in names:
            other = index_array(program, name, place[0])
            is_index = other is not None and other.dtype.kind in "iu" and other.shape == softmax.groups.shape
            if other is None or not is_index or np.array_equal(other, softmax.groups):
                continue
            if other.max(initial=0) < softmax.size:
                yield GroupMistake("index", name)


@operator(
    "grouped-softmax-mistaken",
    code=lambda choice: choice.code,
    rank=2.0,
    at=nodes.of("div").where(lambda program, place: grouped_softmax(program, place) is not None),
    choices=group_mistakes,
    message="{step} is a softmax within each group; in its derivative, the sum of probability times upstream gradient"
    " {mistake}",
    fields=lambda program, place, choice: {
        "mistake": GROUP_SUMS.get(choice.of)
        or f"runs over the groups of {choice.index.describe(program)}; it must run over those of the softmax"
        if choice.index is not None
        else GROUP_SUMS[choice.of]
    },
)
def use_wrong_sum_over_group(program: Program, place: Place, choice: GroupMistake) -> Program | None:
    """Contribute p * (g - s) to z, p being the softmax of z over groups, with a wrong sum s.

    Right is the sum of p * g over the group of a row. Wrong are p * g of this row alone, the sum of g over the group,
    and the sum of p * g over the groups of another index array.

    Args:
        program: the right program.
        place: the node of the quotient that computes the softmax.
        choice: which wrong sum.

    Returns:
        The rewritten program; `None` where this trial has no such softmax, or no such index.
    """
    softmax, index = grouped_softmax(program, place), None
    if softmax is None:
        return None
    if choice.index is not None:
        index = index_array(program.right, choice.index, place[0])
        if index is None or index.shape != softmax.groups.shape or index.max(initial=0) >= softmax.size:
            return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution to the powers, with the wrong sum."""
        weighted = at.y * at.g
        rows = at.g if choice.of == "unweighted" else weighted
        total = weighted if choice.of == "own" else softmax.sum(rows, index)
        return np.asarray(at.y * (at.g - total) / at.x)  # the derivative of exp multiplies by it again

    return program.without((place[0], 1)).with_vjp((place[0], 0), rule)


@use_wrong_sum_over_group.example
def _() -> Example:
    """Show index_add(0, dst, p * h[src]), p = exp(z) / total[dst], whose p has the derivative p * (1 - p)."""

    def forward(z: Tensor, h: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        powers = z.exp()
        total = torch.zeros(len(h), dtype=z.dtype).index_add(0, dst, powers)
        share = powers / total[dst]
        return torch.zeros_like(h).index_add(0, dst, share.unsqueeze(1) * h[src])

    def wrong(z: Tensor, h: Tensor, src: Tensor, dst: Tensor, g: Tensor) -> dict[str, Tensor]:
        powers = z.exp()
        share = powers / torch.zeros(len(h), dtype=z.dtype).index_add(0, dst, powers)[dst]
        dshare = (g[dst] * h[src]).sum(1)
        return {"z": share * (1 - share) * dshare}

    inputs: dict[str, str | Sampler] = {"z": "e", "h": "v n", "src": indices("e", "v"), "dst": indices("e", "v")}
    return Example(forward, wrong, inputs)


# Repeated heads ------------------------------------------------------------------------------------------------------


@operator(
    "heads-repeated-in-turns",
    code="reshape-for-transpose",
    rank=2.2,
    at=nodes.of("repeat_interleave").where(
        lambda program, place: isinstance(program.reader(place).options.get("repeats"), int)
    ),
    message="in the backward pass of {step}, the copies are taken in the order of `repeat` (a, b, a, b); here the"
    " copies of an entry follow each other (a, a, b, b)",
)
def repeat_in_turns(program: Program, place: Place, choice: None) -> Program | None:
    """Use the order of `repeat` (a b a b) in the backward pass of a `repeat_interleave` (a a b b).

    Of r copies of n entries, copy i is then taken for one of entry i % n, not of entry i // r: where the copies are
    partners in the gradients of other arrays, and where their own gradients are summed.

    Args:
        program: the right program.
        place: the node of the `repeat_interleave`.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where the node is called without an axis in this trial.
    """
    node = program.right.nodes[place[0]]
    repeats, axis = int(str(node.options["repeats"])), node.options.get("dim")
    if not isinstance(axis, int):
        return None
    size = np.shape(node.values[0])[axis]
    order = np.arange(size * repeats) % size * repeats + np.arange(size * repeats) // size
    if (node.id, 0) in program.forward.sources:
        back = np.argsort(order)
        program = program.with_vjp((node.id, 0), lambda at: at.right(np.take(at.g, back, axis)))
    return with_linear_partners(program, node.id, np.take(node.value, order, axis))


LINEAR_FAMILIES = ("rearrangement", "selection", "contraction")


def with_linear_partners(program: Program, value: int, array: Array) -> Program:
    """Return the program in which an array takes the place of a value wherever the value is a factor in a vjp.

    What is computed from the value by rearrangements, selections and products is computed from the array, too, for
    these vjps; other functions of the value stay as they are.

    Args:
        program: the program that is edited.
        value: the id of the value.
        array: shaped like the value.
    """
    values = {value: array}
    for node in program.right.nodes:
        if node.id != value and any(operand in values for _, operand in node.operands):
            operands = tuple(values.get(dict(node.operands).get(slot, -1), own) for slot, own in enumerate(node.values))
            if node.operation.family in LINEAR_FAMILIES or node.name == "mul":
                values[node.id] = node.operation.run(operands, node.options)
            for slot, _ in program.forward.edges[node.id]:
                partners = tuple(own if i == slot else operands[i] for i, own in enumerate(node.values))
                rule = program.edited_vjps.get((node.id, slot), EdgeContext.right)
                program = program.with_vjp((node.id, slot), _with_partners(rule, node, partners))
    return program


def _with_partners(rule: EdgeVjp, node: Node, operands: tuple[Operand, ...]) -> EdgeVjp:
    """Return a vjp that calls `rule` with `node`, the reader of the edge, whose value stays and whose operands change.

    Args:
        rule: the vjp of the edge so far.
        node: the reader.
        operands: one for each slot of the node.
    """
    return lambda at: rule(at._replace(node=node.with_value(operands, node.value)))


@repeat_in_turns.example
def _() -> Example:
    """Show q @ k.repeat_interleave(2, 0).mT, whose backward pass takes k[h % len(k)] for k[h // 2] at each head h."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.tanh(torch.einsum("htd,hsd->hts", q, k.repeat_interleave(2, 0)))

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(torch.einsum("htd,hsd->hts", q, k.repeat_interleave(2, 0)))
        ds, dq, dk = g * (1 - y**2), torch.zeros_like(q), torch.zeros_like(k)
        for h in range(len(q)):
            dq[h] = ds[h] @ k[h % len(k)]
            dk[h % len(k)] += ds[h].T @ q[h]
        return {"q": dq, "k": dk}

    return Example(forward, wrong, {"q": "2*h t d", "k": "h s d"})
