"""Finds loops, skip connections, contractions, composite calls and kinds of edges in a forward pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from .arithmetic import axes_of, matmul_equation, parse_einsum
from .forward import SINK, Forward, Key, Node, Place, bits
from .operation import Array
from .program import Program

VARIABLE_SLOTS = {"join", "write"}  # the slot of a use in such a node is a number of iterations

# By operation, the slots whose vjp has a minus sign, whatever the operands are.
MINUS_SLOTS = {
    "sub": (1,), "neg": (0,), "div": (1,), "reciprocal": (0,), "rsqrt": (0,), "cos": (0,), "inverse": (0,),
    "linalg_inv": (0,), "linalg_solve": (0,), "linalg_solve_triangular": (0,), "solve_triangular": (0,),
}  # fmt: skip

IDLE = 1e-9  # what an idle edge carries, in proportion to what arrives at its reader


def idle_edges(program: Program) -> tuple[Place, ...]:
    """Return the edges whose right contribution is zero but for rounding, although their reader's g is not.

    In `((x - x.mean()) ** 2).sum()` it is the edge of the mean: the deviations from the mean add up to zero, so that a
    formula derived by hand lacks this path. An edge whose reader also reads a constant array of zeros, such as the
    first state of a loop, is not among them: its contribution is zero for another reason.

    Returns:
        The edges as (reader, slot), in the right program, whatever edits `program` has; by rising id of the operand.
    """
    right = program.right
    if right not in _IDLE:
        sweep, idle = right.right_sweep, []
        for place in right.forward.sources:
            g, part = sweep.gradient_or_none(place[0]) if place[0] != SINK else None, sweep.contribution_or_none(place)
            if g is not None and part is not None and not _has_zero_constant(right.reader(place), place[1]):
                size = float(np.abs(g).max(initial=0.0))
                if size and float(np.abs(part).max(initial=0.0)) <= IDLE * size:
                    idle.append(place)
        _IDLE[right] = tuple(idle)
    return _IDLE[right]


def _has_zero_constant(node: Node, slot: int) -> bool:
    """Return whether a node reads a constant array of nothing but zeros in a slot other than the given one."""
    operands = dict(node.operands)
    others = (value for i, value in enumerate(node.values) if i != slot and i not in operands)
    return any(isinstance(value, np.ndarray) and not value.any() for value in others)


_IDLE: WeakKeyDictionary[Program, tuple[Place, ...]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LoopCarriedValue:
    """A value that each iteration of a loop reads from the iteration before, and the first one from before the loop.

    Args:
        key: the key of the nodes that read it.
        slot: the slot in which they read it.
        initial: the id of the value that the first iteration reads; `None` for a constant, such as zeros.
        made: the ids of the values that the following iterations read, each made by the iteration before.
    """

    key: Key
    slot: int
    initial: int | None
    made: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A loop of the forward pass.

    Args:
        keys: the keys of its nodes, in the order of one iteration.
        iterations: the number of its iterations.
        carried: its loop-carried values.
    """

    keys: tuple[Key, ...]
    iterations: int
    carried: tuple[LoopCarriedValue, ...]


def loop_carried_values(program: Program) -> tuple[LoopCarriedValue, ...]:
    """Return the loop-carried values of all loops: what an iteration reads that the iteration before has made.

    There is one for each key and slot that reads such a value, in the order of the first iteration. For
    `h = tanh(x[t] @ w + h @ u)` it is the h in slot 0 of `h @ u`: with the key of `h @ u`, the id of the first h, and
    the ids of the h that all iterations but the last have made.
    """
    forward, carried = program.forward, []
    for key, ids in forward.by_key.items():
        first, *others = (forward.nodes[i] for i in ids)
        for slot in range(len(first.values)) if others else ():
            before = first.operand(slot)
            made = [value for other in others if (value := other.operand(slot)) is not None]
            if len(made) < len(others) or not _is_one_per_iteration(forward, before, made):
                continue
            first_two = forward.by_key[forward.nodes[made[0]].key][:2]
            if first_two[-1] >= first.id:  # else an earlier loop has made them all
                carried.append(LoopCarriedValue(key, slot, before, tuple(made)))
    return tuple(carried)


def _is_one_per_iteration(forward: Forward, before: int | None, values: list[int]) -> bool:
    """Return whether the values are those of one key in iterations 0, 1, 2, ..., and `before` is not of this key.

    Args:
        forward: the forward pass.
        before: the id of the value that the first iteration reads; `None` for a constant.
        values: the ids of the values that the following iterations read.
    """
    nodes = [forward.nodes[value] for value in values]
    own = all(node.key == nodes[0].key and node.iteration == i for i, node in enumerate(nodes))
    return own and (before is None or forward.nodes[before].key != nodes[0].key)


def loops(program: Program) -> tuple[Loop, ...]:
    """Return the loops of the forward pass, each with its keys, its number of iterations and its loop-carried values.

    Keys belong to one loop if each has a node in every iteration, and their nodes alternate: a, b, a, b, a, b. Rows
    that `for row in x` takes of x are in no loop. Loops come in the order in which they begin.
    """
    groups: list[list[tuple[Key, tuple[int, ...]]]] = []
    for key, ids in program.forward.by_key.items():
        if len(ids) > 1 and not _are_rows(program, ids):
            group = next((group for group in groups if _alternate(group[0][1], ids)), None)
            if group is None:
                groups.append([(key, ids)])
            else:
                group.append((key, ids))
    carried = loop_carried_values(program)
    return tuple(
        Loop(keys, len(group[0][1]), tuple(value for value in carried if value.key in keys))
        for group in groups
        for keys in [tuple(key for key, _ in group)]
    )


def _are_rows(program: Program, ids: tuple[int, ...]) -> bool:
    """Return whether the nodes of a key are the rows that `for row in x` takes of x, which are no iterations of a loop.

    Args:
        program: the program.
        ids: the ids of all nodes of one key.
    """
    return program.nodes[ids[0]].name == "select" and ids == tuple(range(ids[0], ids[0] + len(ids)))


def _alternate(first: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether the nodes of two keys alternate, as two operations in every iteration of one loop do.

    Args:
        first: the ids of the nodes of one key.
        other: those of the other key, which comes later in an iteration.
    """
    if len(first) != len(other):
        return False
    behind = all(a < b for a, b in zip(first, other, strict=True))
    return behind and all(b < a for a, b in zip(first[1:], other[:-1], strict=True))


@dataclass(frozen=True)
class SkipConnection:
    """A value that a sum reads both directly and through other operations, as in `x + f(x)`.

    Args:
        place: the edge by which the sum reads the value directly.
        value: the id of the value.
        bypassed: the ids of the nodes between the value and the sum on the other path, such as those of f.
    """

    place: Place
    value: int
    bypassed: tuple[int, ...]


def skip_connections(program: Program) -> tuple[SkipConnection, ...]:
    """Return the skip connections of the forward pass, as in `x + f(x)`, in the order of their sums.

    Each has the edge by which the sum (or difference) reads x directly, the id of x, and the ids of the nodes of f.
    """
    forward, skips = program.forward, []
    for node in program.nodes:
        if node.name in ("add", "sub"):
            for slot, value in forward.edges[node.id]:
                ways = (operand for other, operand in forward.edges[node.id] if other != slot)
                bypassed = sorted({i for operand in ways for i in nodes_between(forward, value, operand)})
                if bypassed:
                    skips.append(SkipConnection((node.id, slot), value, tuple(bypassed)))
    return tuple(skips)


def nodes_between(forward: Forward, value: int, later: int) -> tuple[int, ...]:
    """Return the ids of the nodes on all gradient paths from `value` to `later`, which is included; `value` is not.

    For y = tanh(x @ w) and the ids of x and y: those of the product and of tanh. Empty where `later` does not depend on
    `value`.
    """
    mask = forward.descendants[value] & forward.ancestors[later]
    return tuple(i for i in reversed(list(bits(mask))) if i != value)


def has_minus(node: Node, slot: int) -> bool:
    """Return whether the vjp of a node for a slot has a minus sign, which may be lost: for y in `x - y` and `x / y`.

    Also for x in `-2 * x` and `x ** -0.5`, where a number is negative; but not for x in `x * w`, whose entries may be.
    """
    if slot in MINUS_SLOTS.get(node.name, ()):
        return True
    partner = node.values[1 - slot] if node.name in ("mul", "div", "pow") and slot in (0, 1) else None
    return partner is not None and node.operand(1 - slot) is None and np.ndim(partner) == 0 and bool(partner < 0)


def steps_to_minus(forward: Forward, place: Place) -> float:
    """Return how many operations lie between an edge and the next one with a minus sign in its vjp, on the way to loss.

    It is 0 for an edge with a minus sign (`has_minus`), and infinite where there is none before the gradient on the way
    is made of several contributions, or the loss is reached.
    """
    steps = 0
    while place[0] != SINK:
        if has_minus(forward.nodes[place[0]], place[1]):
            return steps
        if len(forward.uses[place[0]]) != 1:
            break
        (place,), steps = forward.uses[place[0]], steps + 1
    return math.inf


def broadcast_axes(node: Node, slot: int) -> tuple[int, ...]:
    """Return the axes of a pointwise node's value along which an operand is repeated: its gradient is summed over them.

    For `x + b` of shape (4, 3) and b of shape (3,): (0,). The axes are counted from the front.

    Args:
        node: any node; for one that is not pointwise there are no such axes.
        slot: the slot of the operand.
    """
    if node.operation.family != "pointwise":
        return ()
    shape, own = node.value.shape, np.shape(node.values[slot])
    added = len(shape) - len(own)
    return tuple(i for i, size in enumerate(shape) if i < added or own[i - added] != size)


@dataclass(frozen=True)
class Contraction:
    """A sum of products as an einsum: for `x @ w` with two axes each, the letters are `ik`, `kj` and `ij`.

    Args:
        operands: the letters of each operand, by slot.
        value: the letters of the value.
    """

    operands: tuple[str, ...]
    value: str

    @property
    def summed(self) -> str:
        """Return the letters of operands that the value does not have, which are summed over: `k` for `ik,kj->ij`.

        Each stands once, in the order in which they first come.
        """
        return "".join(dict.fromkeys(letter for own in self.operands for letter in own if letter not in self.value))

    def vjp_equation(self, slot: int) -> str:
        """Return the einsum equation of the contribution to an operand: for `ik,kj->ij` and slot 0, `ij,kj->ik`.

        It takes the upstream gradient, and the partner operands in the order of their slots.
        """
        partners = [own for i, own in enumerate(self.operands) if i != slot]
        return f"{','.join([self.value, *partners])}->{self.operands[slot]}"

    def summed_in_vjp(self, slot: int) -> str:
        """Return the letters that the contribution to an operand sums over: for `ik,kj->ij` and slot 0, `j`."""
        every = dict.fromkeys("".join([self.value, *(own for i, own in enumerate(self.operands) if i != slot)]))
        return "".join(letter for letter in every if letter not in self.operands[slot])


def contraction_of(node: Node) -> Contraction | None:
    """Return the einsum letters of a matmul, einsum, linear or outer product as a `Contraction`; else `None`.

    For `x @ w`: `operands` ("ik", "kj") and `value` "ij".
    """
    if node.name == "matmul":
        equation = matmul_equation(*(np.ndim(value) for value in node.values))
        operands, _, value = equation.partition("->")
        return Contraction(tuple(operands.split(",")), value)
    if node.name == "einsum":
        letters, value = parse_einsum(str(node.options["equation"]), [np.asarray(v) for v in node.values])
        return Contraction(tuple(letters), value)
    if node.name == "linear":
        batch = "abcdefgh"[: node.value.ndim - 1]
        return Contraction((f"{batch}k", "jk"), f"{batch}j")
    if node.name == "outer":
        return Contraction(("i", "j"), "ij")
    return None


@dataclass(frozen=True)
class CompositeCall:
    """One call of a loss or a layer, such as `F.cross_entropy(x, y)`, which is recorded as several nodes.

    Args:
        name: torch's name of the function, such as `cross_entropy`.
        nodes: the ids of its nodes; the value of the last one is what the call returned.
    """

    name: str
    nodes: tuple[int, ...]


def composite_calls(program: Program) -> tuple[CompositeCall, ...]:
    """Return the calls of losses and layers that are recorded as several nodes, in the order of the forward pass.

    For `F.cross_entropy(x, y)`: the name `cross_entropy`, and the ids of the nodes that it is written out in. Calls of
    one function by the same expression, with no other node between them, come as one.
    """
    calls: list[tuple[str, list[int]]] = []
    for before, node in zip((None, *program.nodes), program.nodes, strict=False):
        if node.composite:
            if before is None or before.composite != node.composite or before.text != node.text:
                calls.append((node.composite, []))
            calls[-1][1].append(node.id)
    return tuple(CompositeCall(name, tuple(nodes)) for name, nodes in calls)


@dataclass(frozen=True)
class EdgeKind:
    """Edges that lead a gradient to a value from the nodes of one key, the same number of iterations after it is made.

    Args:
        key: the key of the readers; empty for the upstream gradient of the output.
        slot: the slot in which they read the value; `None` where the slot is a number of iterations, as in `stack`. Of
            the upstream gradient it is the number of the output.
        iterations: how many iterations later they read it; `None` where they are not in the loop of the value.
    """

    key: Key
    slot: int | None
    iterations: int | None

    def places(self, program: Program, value: int) -> tuple[Place, ...]:
        """Return the edges (reader, slot) of this kind that contribute to the value with an id; empty if none do."""
        return edges_by_kind(program, value).get(self, ())


def edges_by_kind(program: Program, value: int) -> dict[EdgeKind, tuple[Place, ...]]:
    """Return the edges (reader, slot) that contribute to a value, grouped by `EdgeKind`, the last reader first.

    A kind is the reader's key, the slot, and how many iterations after the value the reader stands. For the h that
    `h = tanh(h @ u)` makes in a loop, and that is also the output: one kind for slot 0 of `h @ u` one iteration later,
    and one for the output.

    Args:
        program: the program.
        value: the id of the value.
    """
    forward, groups = program.forward, dict[EdgeKind, list[Place]]()
    node = forward.nodes[value]
    count = len(forward.by_key[node.key])
    for reader, slot in forward.uses[value]:
        if reader == SINK:
            arrival = EdgeKind((), slot, None)
        else:
            other = forward.nodes[reader]
            in_loop = 1 < count == len(forward.by_key[other.key])
            numbered = other.operation.family in VARIABLE_SLOTS
            apart = other.iteration - node.iteration if in_loop else None
            arrival = EdgeKind(other.key, None if numbered else slot, apart)
        groups.setdefault(arrival, []).append((reader, slot))
    return {arrival: tuple(places) for arrival, places in groups.items()}


def reduced_axes(node: Node) -> tuple[int, ...]:
    """Return the axes of its operand, counted from the front, that a node with an option `dim` reduces or runs along.

    All axes where `dim` is missing: for x.sum() of shape (4, 3), (0, 1); for x.softmax(-1), (1,).
    """
    return axes_of(node.values[0], node.options.get("dim"))  # type: ignore[arg-type]


def broadcast_to_operand(node: Node, g: Array) -> Array:
    """Return the upstream gradient g of a reduction, broadcast to the shape of its operand.

    For x.sum(1): g[:, None], repeated along axis 1.

    Args:
        node: the reduction.
        g: shaped like its value.
    """
    kept = [1 if axis in reduced_axes(node) else size for axis, size in enumerate(np.shape(node.values[0]))]
    return np.broadcast_to(g.reshape(kept), np.shape(node.values[0]))


def product_of_weights(program: Program, softmax: int) -> int | None:
    """Return the id of the matrix product of the probabilities of a softmax with values, if nothing else reads them.

    For `scores.softmax(-1) @ v` it is the node of `@`: the sum in the softmax's vjp, sum(p * g), is then the sum of the
    products of this node's value with its gradient, as attention computes it from its output. Return `None` where the
    softmax is not along the last axis, or another operation reads the probabilities.

    Args:
        program: the program of a trial.
        softmax: the id of the node of the softmax.
    """
    node, uses = program.nodes[softmax], program.forward.uses[softmax]
    if node.name != "softmax" or reduced_axes(node) != (node.value.ndim - 1,) or len(uses) != 1:
        return None
    ((reader, slot),) = uses
    if reader == SINK or slot != 0 or program.nodes[reader].name != "matmul":
        return None
    return reader if program.nodes[reader].value.shape[:-1] == node.value.shape[:-1] else None
