"""Questions about a forward pass: its loops, skip connections, products, composite functions, uses of values."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from .arithmetic import matmul_equation, parse_einsum
from .forward import SINK, Forward, Key, Node, Place, bits
from .program import Program

VARIABLE_SLOTS = {"join", "write"}  # the slot of a use in such a node is a number of iterations


IDLE = 1e-9  # what an idle edge carries, in proportion to what arrives at its reader


def idle_edges(program: Program) -> tuple[Place, ...]:
    """Return the edges whose right contribution is zero, though a gradient arrives at their readers.

    So it is with what goes back through the mean in a variance: the differences from a mean add up to nothing. Who
    writes the formula leaves such a path out, but not the product with a constant of zeros, such as a first state.
    """
    right = program.right
    if right not in _IDLE:
        sweep, idle = right.right_sweep, []
        for place in right.forward.sources:
            g, part = sweep.total(place[0]) if place[0] != SINK else None, sweep.part(place)
            if g is not None and part is not None and not _has_zeros(right.reader(place), place[1]):
                size = float(np.abs(g).max(initial=0.0))
                if size and float(np.abs(part).max(initial=0.0)) <= IDLE * size:
                    idle.append(place)
        _IDLE[right] = tuple(idle)
    return _IDLE[right]


def _has_zeros(node: Node, slot: int) -> bool:
    """Return whether an operation has a constant of nothing but zeros beside an operand."""
    operands = dict(node.operands)
    others = (value for i, value in enumerate(node.values) if i != slot and i not in operands)
    return any(isinstance(value, np.ndarray) and not value.any() for value in others)


_IDLE: WeakKeyDictionary[Program, tuple[Place, ...]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LoopCarriedValue:
    """What each iteration of a loop reads of the iteration before, and the first one from in front of the loop.

    Args:
        key: the key of the nodes that read it.
        slot: in which slot they do.
        values: its ids, from in front of the loop to the last that an iteration reads.
    """

    key: Key
    slot: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A loop of the forward pass.

    Args:
        keys: the keys of its nodes, in the order of an iteration.
        iterations: how many it has.
        carried: what it hands on from iteration to iteration.
    """

    keys: tuple[Key, ...]
    iterations: int
    carried: tuple[LoopCarriedValue, ...]


def loop_carried_values(program: Program) -> tuple[LoopCarriedValue, ...]:
    """Return what the loops of the forward pass hand on from iteration to iteration, for each slot that reads it."""
    forward, carried = program.forward, []
    for key, ids in forward.by_key.items():
        first, *others = (forward.nodes[i] for i in ids)
        for slot, before in first.operands if others else ():
            made = [value for other in others if (value := other.operand(slot)) is not None]
            if len(made) == len(others) and _is_one_per_iteration(forward, before, made) and made[0] >= first.id:
                carried.append(LoopCarriedValue(key, slot, (before, *made)))
    return tuple(carried)


def _is_one_per_iteration(forward: Forward, before: int, values: list[int]) -> bool:
    """Return whether values are those of one key, from its first iteration on, and the one before them is not."""
    nodes = [forward.nodes[value] for value in values]
    own = all(node.key == nodes[0].key and node.iteration == i for i, node in enumerate(nodes))
    return own and forward.nodes[before].key != nodes[0].key


def loops(program: Program) -> tuple[Loop, ...]:
    """Return the loops of the forward pass: groups of keys whose nodes take turns as often as each other."""
    groups: list[list[tuple[Key, tuple[int, ...]]]] = []
    for key, ids in program.forward.by_key.items():
        if len(ids) > 1 and not _are_rows(program, ids):
            group = next((group for group in groups if _takes_turns(group[0][1], ids)), None)
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
    """Return whether nodes are the rows of one array, which a loop takes all at once."""
    return program.nodes[ids[0]].name == "select" and ids == tuple(range(ids[0], ids[0] + len(ids)))


def _takes_turns(first: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two operations follow each other in every iteration of one loop."""
    if len(first) != len(other):
        return False
    behind = all(a < b for a, b in zip(first, other, strict=True))
    return behind and all(b < a for a, b in zip(first[1:], other[:-1], strict=True))


@dataclass(frozen=True)
class SkipConnection:
    """A value that a sum reads both directly and through other operations.

    Args:
        place: the edge by which the sum reads it directly.
        value: the value's id.
        bypassed: the nodes that lie between the value and the sum on the other way.
    """

    place: Place
    value: int
    bypassed: tuple[int, ...]


def skip_connections(program: Program) -> tuple[SkipConnection, ...]:
    """Return the skip connections of the forward pass, in its order."""
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
    """Return the nodes by which a later value depends on a value: the later one included, the value itself not."""
    mask = forward.descendants[value] & forward.ancestors[later]
    return tuple(i for i in reversed(list(bits(mask))) if i != value)


def broadcast_axes(node: Node, slot: int) -> tuple[int, ...]:
    """Return the axes of a pointwise operation's value along which an operand is repeated, and its gradient summed."""
    if node.operation.family != "pointwise":
        return ()
    shape, own = node.value.shape, np.shape(node.values[slot])
    added = len(shape) - len(own)
    return tuple(i for i, size in enumerate(shape) if i < added or own[i - added] != size)


@dataclass(frozen=True)
class Contraction:
    """A sum of products as an einsum: a letter for each axis of each operand and of the value.

    Args:
        operands: the letters of the operands, by slot.
        value: those of the value.
    """

    operands: tuple[str, ...]
    value: str

    @property
    def summed(self) -> str:
        """Return the letters that the forward pass sums over."""
        return "".join(dict.fromkeys(letter for own in self.operands for letter in own if letter not in self.value))

    def vjp_equation(self, slot: int) -> str:
        """Return the einsum of the upstream gradient and the partner operands that contributes to an operand."""
        partners = [own for i, own in enumerate(self.operands) if i != slot]
        return f"{','.join([self.value, *partners])}->{self.operands[slot]}"

    def summed_in_vjp(self, slot: int) -> str:
        """Return the letters that the contribution to an operand sums over."""
        every = dict.fromkeys("".join([self.value, *(own for i, own in enumerate(self.operands) if i != slot)]))
        return "".join(letter for letter in every if letter not in self.operands[slot])


def contraction_of(node: Node) -> Contraction | None:
    """Return a sum of products as an einsum; `None` where the node is none."""
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
    """A loss or a layer that is one call of the forward pass, and several nodes.

    Args:
        name: torch's name of the function, such as `cross_entropy`.
        nodes: its parts; the last one's value is what the call returned.
    """

    name: str
    nodes: tuple[int, ...]


def composite_calls(program: Program) -> tuple[CompositeCall, ...]:
    """Return the calls that are recorded as what they are made of, in the order of the forward pass."""
    calls: list[tuple[str, list[int]]] = []
    for before, node in zip((None, *program.nodes), program.nodes, strict=False):
        if node.composite:
            if before is None or before.composite != node.composite or before.text != node.text:
                calls.append((node.composite, []))
            calls[-1][1].append(node.id)
    return tuple(CompositeCall(name, tuple(nodes)) for name, nodes in calls)


@dataclass(frozen=True)
class EdgeKind:
    """One of the ways by which a gradient comes to a value: from one operation, so many iterations later.

    Args:
        key: the key of the readers; empty for the upstream gradient itself.
        slot: in which slot they read the value; `None` where it is a number of iterations, as in `stack`.
        iterations: how many iterations later they read it; `None` where they are not in its loop.
    """

    key: Key
    slot: int | None
    iterations: int | None

    def places(self, program: Program, value: int) -> tuple[Place, ...]:
        """Return the edges of this kind that lead to a value, such as the same value in another iteration."""
        return edges_by_kind(program, value).get(self, ())


def edges_by_kind(program: Program, value: int) -> dict[EdgeKind, tuple[Place, ...]]:
    """Return the ways by which a gradient comes to a value, the last reader first, each with its edges."""
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
