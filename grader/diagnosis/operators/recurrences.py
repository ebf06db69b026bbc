"""Operators on the backward pass of a loop: what goes to the iteration before is lost, kept, cut off or misplaced.

A loop-carried value, such as the state `h` of `h = f(x_t, h)`, gets contributions from the next iteration, and perhaps
from readers in its own iteration, such as an output. An operator whose place is the value in the first iteration edits
all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, sized
from grader.diagnosis.hints import EVERY_ITERATION, WHICH_ITERATION
from grader.program.forward import SINK, Forward, Key, Node, Place, bits
from grader.program.operation import Array, NoCandidate
from grader.program.program import EdgeContext, EdgeVjp, Program
from grader.program.queries import EdgeKind, Loop, LoopCarriedValue, edges_by_kind, loop_carried_values, loops

from .contract import Example, describe_edge_kind, operator
from .places import edges, expression_of, nodes, values

_LOOPS: WeakKeyDictionary[Forward, tuple[Loop, ...]] = WeakKeyDictionary()
_CARRIED: WeakKeyDictionary[Forward, tuple[LoopCarriedValue, ...]] = WeakKeyDictionary()


def cached_loop_carried_values(program: Program) -> tuple[LoopCarriedValue, ...]:
    """Return the loop-carried values of the program, such as h of `h = f(x[t], h)`, cached for its forward pass.

    A `LoopCarriedValue` has the id of the initial value, the ids that the iterations make, and the key and slot of the
    nodes that read it in the next iteration.
    """
    if program.forward not in _CARRIED:
        _CARRIED[program.forward] = loop_carried_values(program)
    return _CARRIED[program.forward]


def cached_loops(program: Program) -> tuple[Loop, ...]:
    """Return the loops of the program, each a `Loop` with the keys of its nodes, cached for its forward pass."""
    if program.forward not in _LOOPS:
        _LOOPS[program.forward] = loops(program)
    return _LOOPS[program.forward]


def iterations_of(program: Program, value: int) -> tuple[int, ...]:
    """Return the ids of a value in all iterations of its loop, in their order; only its own id outside of a loop."""
    return program.forward.by_key[program.nodes[value].key]


def is_in_loop(program: Program, place: Place) -> bool:
    """Return whether the value `place` is computed by an operation that runs in two or more iterations of a loop."""
    return program.nodes[place[0]].operation.family != "input" and len(iterations_of(program, place[0])) > 1


def begins_loop(program: Program, place: Place) -> bool:
    """Return whether the value `place` is computed in a loop, and in its first iteration.

    An edit of all iterations has its place there.
    """
    return is_in_loop(program, place) and program.nodes[place[0]].iteration == 0


def is_carried(program: Program, place: Place) -> bool:
    """Return whether the value `place` is computed in the first iteration of a loop, and read in a later one."""
    return begins_loop(program, place) and bool(edges_from_later(program, place[0]))


def edges_from_later(program: Program, value: int) -> tuple[Place, ...]:
    """Return the edges (reader, slot) along which later iterations of a loop contribute to the value with this id.

    For h in `h = tanh(x[t] @ w + h @ u)`: the edge of h in `h @ u` of the next iteration.
    """
    ways = edges_by_kind(program, value).items()
    return tuple(place for edge_kind, places in ways if (edge_kind.iterations or 0) > 0 for place in places)


def value_before(program: Program, value: int) -> int | None:
    """Return the id that the loop value with a given id has in the iteration before: that of h[t - 1] for h[t].

    In the first iteration, the id of the initial value, made in front of the loop. Returns `None` where there is none.

    Args:
        program: the program.
        value: the id of the value in one iteration.
    """
    node = program.nodes[value]
    if node.iteration:
        return iterations_of(program, value)[node.iteration - 1]
    return next((each.initial for each in cached_loop_carried_values(program) if each.made[0] == value), None)


def states_of_loop(program: Program, place: Place) -> tuple[Key, ...]:
    """Return the keys of all values that a loop carries, such as those of h and c of an LSTM.

    Args:
        program: the program.
        place: a value that the loop makes; for one that no loop makes, the result is empty.
    """
    key = program.nodes[place[0]].key
    for loop in cached_loops(program):
        if key in loop.keys:  # one that its first iteration does not compute is no state
            made = dict.fromkeys(program.nodes[each.made[0]].key for each in loop.carried)
            return tuple(each for each in made if each in loop.keys)
    return ()


def keys_carried_together(program: Program, place: Place) -> Iterator[tuple[Key, ...]]:
    """Yield tuples of the keys of values whose gradients may be cut together: (key of h,), and (key of h, key of c).

    First the key of the value `place` alone; then, if it is the first loop-carried value of its loop and not the only
    one, the keys of all of these values, such as h and c of an LSTM.
    """
    key = program.nodes[place[0]].key
    yield (key,)
    together = states_of_loop(program, place)
    if len(together) > 1 and together[0] == key:
        yield together


def describe_keys(program: Program, keys: tuple[Key, ...]) -> str:
    """Return what a learner calls the values of the given keys: `h and c`."""
    return " and ".join(program.name_of(program.forward.by_key[key][0]) for key in keys)


first_values = values.where(begins_loop)
carried_first_values = values.where(is_carried)
loop_values = values.where(is_in_loop)


@dataclass(frozen=True)
class Carry:
    """Contributions of later iterations to loop-carried values, which an edit leaves out.

    Args:
        keys: the keys of the loop-carried values.
        only: the one kind of edges from later iterations whose contributions are kept; `None` where all are left out.
        enters: if `only` is `None`: whether the value in front of the loop keeps the contributions of the first
            iteration.
    """

    keys: tuple[Key, ...]
    only: EdgeKind | None = None
    enters: bool = True

    def keeps(self, program: Program, edge: Place) -> bool:
        """Return whether the edge is of the kind `self.only`, whose contributions are kept; False if that is `None`."""
        reader, slot = edge
        only = self.only
        return only is not None and reader != SINK and program.nodes[reader].key == only.key and slot == only.slot


def carries(program: Program, place: Place) -> Iterator[Carry]:
    """Yield the choices of `drop_carry`: contributions of later iterations that a backward pass may lack together.

    For a state h that the next iteration reads in `h @ u` and `h @ v`, and its initial value h0:

    - `Carry((key of h,))`: all contributions of later iterations; h0 keeps those of the first iteration;
    - `Carry((key of h,), enters=False)`: these, and all contributions to h0;
    - both once more for all values that the loop carries, such as h and c of an LSTM, if there are several;
    - `Carry((key of h,), only=kind)` for each kind of edges, if there are three or more: all but those of this kind.

    The first three are left out where `drop_path` makes the same mistake: where a single edge leads from later
    iterations to these values and something else reads them, or where the loop as a whole is one of several paths to
    the targets (see `is_path_into_loop`).

    Args:
        program: the program.
        place: the loop-carried value, in the first iteration.
    """
    for keys in keys_carried_together(program, place):
        ways = [edges_from_later(program, program.forward.by_key[key][0]) for key in keys]
        alone = len(keys) == 1 and len(program.forward.uses[place[0]]) == 1  # else a path is dropped
        if (sum(map(len, ways)) > 1 or alone) and not is_path_into_loop(program, keys[0]):
            yield Carry(keys)
            yield Carry(keys, enters=False)
    kinds = [kind for kind in edges_by_kind(program, place[0]) if (kind.iterations or 0) > 0]
    if len(kinds) > 2:
        yield from (Carry((program.nodes[place[0]].key,), only=kind) for kind in kinds)


def is_path_into_loop(program: Program, key: Key) -> bool:
    """Return whether a loop depends on targets through its initial value alone, and one of them is also read elsewhere.

    True for h = tanh(h) in a loop that begins with h = x, if x has a second reader. False for a loop whose iterations
    read a further target, such as w in `h @ w`.

    Args:
        program: the program.
        key: the key of the loop-carried value.
    """
    forward = program.forward
    first, *_, last = forward.by_key[key]
    before = value_before(program, first)
    if before is None:
        return False
    inside = [i for i in bits(forward.ancestors[last]) if i > before and forward.ancestors[i] >> before & 1]
    sources = {operand for i in inside for _, operand in forward.edges[i]}
    if any(not forward.ancestors[operand] >> before & 1 for operand in sources):
        return False
    return any(
        len(forward.uses[target]) > 1 for target in forward.targets.values() if forward.ancestors[before] >> target & 1
    )


def describe_carry(program: Program, choice: Carry) -> str:
    """Return the message about a `Carry`: that no gradient, or only one contribution, is passed back in the loop.

    Args:
        program: the program of a trial.
        choice: the loop-carried values, and the contribution that is kept.
    """
    names = describe_keys(program, choice.keys)
    if choice.only is None:
        return f"no gradient of {names} is passed back from an iteration of the forward pass to the one before it"
    only = describe_edge_kind(program, choice.only)
    return (
        f"from later iterations, the gradient of {names} gets only the contribution of {only}; the others are missing"
    )


@operator(
    "carry-dropped",
    code="missing-path",
    rank=1.0,
    at=carried_first_values,
    choices=carries,
    message="{mistake}",
    fields=lambda program, place, choice: {"mistake": describe_carry(program, choice)},
    hints=EVERY_ITERATION,
)
def drop_carry(program: Program, place: Place, choice: Carry) -> Program:
    """Leave out the contributions of later iterations to loop-carried values: all of them, or all but one kind.

    With `Carry((key of h,))`: each h gets a gradient from its own iteration only, and its initial value one from the
    first. With `only=` a kind of edges, these contributions are kept; with `enters=False` the initial value gets none.
    The choice is such a `Carry`; `place` is not read.
    """
    dropped: list[Place] = []
    for key in choice.keys:
        for value in program.forward.by_key.get(key, ()):
            dropped += [edge for edge in edges_from_later(program, value) if not choice.keeps(program, edge)]
            before = value_before(program, value)
            if before is not None and not program.nodes[value].iteration and (choice.only or not choice.enters):
                dropped += [edge for edge in program.forward.uses[before] if not choice.keeps(program, edge)]
    return program.without(*dropped)


@drop_carry.example
def _() -> Example:
    """Show h = sigmoid(h @ v) * tanh(h @ u) + sin(h @ w) in a loop, whose dh is that of sin(h @ w) alone."""

    def forward(x: Tensor, u: Tensor, v: Tensor, w: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.sigmoid(step + h @ v) * torch.tanh(step + h @ u) + torch.sin(h @ w)
        return h

    def wrong(x: Tensor, u: Tensor, v: Tensor, w: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give h the contribution of sin(h @ w) alone, in place of the sum of three contributions."""
        states = [h]
        for step in x:
            h = torch.sigmoid(step + h @ v) * torch.tanh(step + h @ u) + torch.sin(h @ w)
            states.append(h)
        dw = torch.zeros_like(w)
        for before in reversed(states[:-1]):
            dz = g * torch.cos(before @ w)
            dw += before.T @ dz
            g = dz @ w.T
        return {"w": dw, "h": g}

    return Example(forward, wrong, {"x": "t bs n", "u": "n n", "v": "n n", "w": "n n", "h": "bs n"})


@drop_carry.example
def _() -> Example:
    """Show the stack of h = gate * tanh(x[t] @ w + h @ u), whose h gets g[t] alone, and nothing from the next h."""

    def forward(x: Tensor, w: Tensor, u: Tensor, v: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            gate = torch.sigmoid(step + h @ v)
            h = gate * torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, v: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take each state's gradient from the output alone."""
        dw = torch.zeros_like(w)
        for t, step in enumerate(x):
            gate, new = torch.sigmoid(step + h @ v), torch.tanh(step @ w + h @ u)
            dw += step.T @ (g[t] * gate * (1 - new**2))
            h = gate * new
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n n", "u": "n n", "v": "n n", "h": "bs n"})


def initial_edges(program: Program, place: Place, state: Key) -> list[Place]:
    """Return the edges along which the first iteration of a loop reads the value `place` as the initial state.

    For `h = key; for x in xs: h = torch.tanh(x @ key + h @ u)`, the value `key` and the key of the tanh: the edge of
    `key` in the first `h @ u`.

    Args:
        program: the program of a trial.
        place: the value.
        state: the key of the nodes that make the state in each iteration.
    """
    return [
        (program.forward.by_key[carried.key][0], carried.slot)
        for carried in cached_loop_carried_values(program)
        if carried.initial == place[0] and program.nodes[carried.made[0]].key == state
    ]


def initial_states(program: Program, place: Place) -> Iterator[Key]:
    """Yield the keys of the states whose initial value is the value `place`, if other nodes read that value as well.

    If no other node reads it, its gradient is 0 without these contributions, which is another mistake.
    """
    made = [each.made[0] for each in cached_loop_carried_values(program) if each.initial == place[0]]
    for state in dict.fromkeys(program.nodes[value].key for value in made):
        if len(initial_edges(program, place, state)) < len(program.forward.uses[place[0]]):
            yield state


@operator(
    "initial-state-dropped",
    code="missing-path",
    rank=1.2,  # one line, after the loop of the backward pass
    at=values.where(lambda program, place: any(True for _ in initial_states(program, place))),
    choices=initial_states,
    message="the contribution of {value} as the initial {state} is missing",
    fields=lambda program, place, choice: {"state": program.name_of(program.forward.by_key[choice][0])},
)
def drop_initial_state(program: Program, place: Place, choice: Key) -> Program:
    """Leave out what the first iteration of a loop contributes to the value `place` as the initial state.

    For `h = key; for x in xs: h = torch.tanh(x @ key + h @ u)`: the gradient of key gets what the products `x @ key`
    contribute, and not the gradient of h that the first iteration leaves. The choice is the key of the nodes that make
    the state.
    """
    return program.without(*initial_edges(program, place, choice))


@drop_initial_state.example
def _() -> Example:
    """Show h = tanh(h * x[t] + key) from h = key, whose gradient of key is that of the sums alone."""

    def forward(x: Tensor, key: Tensor) -> Tensor:
        h = key
        for step in x:
            h = torch.tanh(h * step + key)
        return h

    def wrong(x: Tensor, key: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Forget after the loop that the first state is key, too."""
        states = [key]
        for step in x:
            states.append(torch.tanh(states[-1] * step + key))
        dkey = torch.zeros_like(key)
        for step, h in zip(reversed(list(x)), reversed(states), strict=False):
            dz = g * (1 - h**2)
            dkey += dz
            g = dz * step
        return {"key": dkey}

    return Example(forward, wrong, {"x": "t bs n", "key": "bs n"})


def competing_edge_kinds(program: Program, place: Place) -> Iterator[EdgeKind]:
    """Yield the kinds of edges that lead a gradient to the loop value `place`, if there are at least two.

    For h = tanh(h @ w + x[t]) with an output h @ v in each iteration: those to the next h, and those to outputs.
    """
    ways = edges_by_kind(program, place[0])
    if len(ways) > 1:
        yield from ways


@operator(
    "arrival-overwritten",
    code="missing-path",  # a path that is left out by intent gives the same numbers
    rank=1.5,
    at=loop_values,
    choices=competing_edge_kinds,
    message="the contribution of {choice} to the gradient of {value} is missing wherever there is another contribution;"
    " the two must be added",
)
def leave_out_competing_edges(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Leave out the contributions that one kind of edges makes to the value `place` of a loop; the choice is the kind.

    For h read by `h @ u` in the next iteration and by `h @ v`, and the first kind: dh = g @ v.T alone, as if that were
    assigned and not added. Returns `None` in an iteration in which no edges of the kind lead to the value, or no
    others.
    """
    ways = edges_by_kind(program, place[0])
    return program.without(*ways[choice]) if choice in ways and len(ways) > 1 else None


@leave_out_competing_edges.example
def _() -> Example:
    """Show the stack of h = tanh(x[t] @ w + h @ u), whose dh for the h before is dz @ u.T alone, without g[t - 1]."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Overwrite g[t - 1] with what the next iteration contributes to the state."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        grads, dw = [torch.zeros_like(h), *g], torch.zeros_like(w)
        for t in reversed(range(len(x))):
            dz = grads[t + 1] * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            grads[t] = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


UNCLEARED: Mapping[str, str] = {
    "all": "the gradient of {value} is not reset between iterations: it still contains that of the next iteration",
    "carried": "the contribution of the next iteration to the gradient of {value} is added to those of all later"
    " iterations; it must replace them",
}


@operator(
    "gradient-not-cleared",
    code="stale-gradient",
    rank=2.0,
    at=loop_values,
    choices=lambda program, place: ("all", "carried") if edges_from_later(program, place[0]) else ("all",),
    message="{mistake}",
    fields=lambda program, place, choice: {
        "mistake": UNCLEARED[choice].format(value=program.name_of(place[0])),
    },
)
def keep_gradient(program: Program, place: Place, choice: str) -> Program | None:
    """Add the gradient of the value `place` of a loop to that of the previous iteration, as if never cleared.

    For h[t]: dh[t - 1] gets dh[t] in addition. With the choice `"all"` the whole dh[t]; with `"carried"` only what
    later iterations contribute to it. Returns `None` where there is no iteration before and no initial value.
    """
    before = value_before(program, place[0])
    if before is None:
        return None
    later = edges_from_later(program, place[0])
    own = [edge for edge in program.forward.uses[place[0]] if edge not in later] if choice == "carried" else []
    return program.with_edge(place[0], before, lambda at: at.g - sum(map(at.sweep.contribution, own)))


@keep_gradient.example
def _() -> Example:
    """Show the stack of h = sigmoid(x[t] @ w + a * h), whose loop has `dh = dh + dz * a` in place of `dh = dz * a`."""

    def forward(x: Tensor, w: Tensor, a: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.sigmoid(step @ w + a * h)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, a: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to one `dh` in all iterations."""
        states = [h]
        for step in x:
            states.append(torch.sigmoid(step @ w + a * states[-1]))
        dh, dw = torch.zeros_like(h), torch.zeros_like(w)
        for t in reversed(range(len(x))):
            dh = dh + g[t]
            dz = dh * states[t + 1] * (1 - states[t + 1])
            dw += x[t].T @ dz
            dh = dh + dz * a
        return {"w": dw, "h": dh}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "a": "m", "h": "bs m"})


@dataclass(frozen=True)
class RunReads:
    """The nodes of one key that read in one slot what the iteration before made, but where a run of a loop begins.

    Such as `h * u` in `h = tanh(x[i, t] + h * u)`: each i is a run over all t, and begins with h = 0.

    Args:
        key: the key of the nodes that read.
        slot: the slot in which they do.
        made: the ids of what the iterations of all runs make, one after the other.
        starts: the numbers of the iterations with which a further run begins.
    """

    key: Key
    slot: int
    made: tuple[int, ...]
    starts: tuple[int, ...]


_RUN_READS: WeakKeyDictionary[Forward, tuple[RunReads, ...]] = WeakKeyDictionary()


def run_reads(program: Program) -> tuple[RunReads, ...]:
    """Return the `RunReads` of all inner loops: of h in `h = tanh(x[i, t] + h * u)`, where each i begins with h = 0.

    They are cached for the forward pass of the program.
    """
    forward = program.forward
    if forward not in _RUN_READS:
        slots = ((key, ids, slot) for key, ids in forward.by_key.items() for slot in _slots_of_loop(program, ids))
        found = (_run_reads_in(program, *each) for each in slots)
        _RUN_READS[forward] = tuple(reads for reads in found if reads is not None)
    return _RUN_READS[forward]


def _slots_of_loop(program: Program, ids: tuple[int, ...]) -> range:
    """Return the slots of the nodes of one key; none if it has fewer than 4 nodes, those of two runs of two iterations.

    Args:
        program: the program.
        ids: the ids of the nodes.
    """
    return range(len(program.nodes[ids[0]].values) if len(ids) > 3 else 0)


def _run_reads_in(program: Program, key: Key, readers: tuple[int, ...], slot: int) -> RunReads | None:
    """Return the `RunReads` of nodes that read in a slot what their own iteration before made, as an inner loop does.

    `None` unless the first iteration and some further ones, less than half, read a value made elsewhere, as where a run
    begins again with h = 0.

    Args:
        program: the program.
        key: the key of the readers.
        readers: their ids.
        slot: the slot.
    """
    forward = program.forward
    read = [forward.nodes[reader].operand(slot) for reader in readers]
    if read[-1] is None or read[-1] > readers[-1]:
        return None
    made = iterations_of(program, read[-1])
    if len(made) != len(readers) or read[0] in made:
        return None
    starts = tuple(i for i in range(1, len(readers)) if read[i] != made[i - 1])
    if not 0 < len(starts) < len(readers) / 2 or any(read[i] in made for i in starts):
        return None
    depends = all(forward.ancestors[value] >> reader & 1 for reader, value in zip(readers, made, strict=True))
    return RunReads(key, slot, made, starts) if depends else None


@dataclass(frozen=True)
class StaleRun:
    """What a backward pass takes over from one run of an inner loop to another.

    Args:
        key: the key of the nodes whose other operands get a gradient that is computed with the last value of the run
            before; `None` where the gradient of the value is passed back to that run.
        slot: the slot in which they read the value.
    """

    key: Key | None = None
    slot: int = 0


def stale_runs(program: Program, place: Place) -> Iterator[StaleRun]:
    """Yield `StaleRun`s: what may be taken over between runs of an inner loop that makes the value `place`.

    `StaleRun()` once, for the value's gradient; and one with key and slot for nodes that read the value in this slot
    beside a second operand that gets a gradient: this is computed with the last value of the run before.
    """
    for number, reads in enumerate(reads for reads in run_reads(program) if reads.made[0] == place[0]):
        if not number:
            yield StaleRun()
        if any(len(program.forward.edges[reader]) > 1 for reader in program.forward.by_key[reads.key]):
            yield StaleRun(reads.key, reads.slot)


@operator(
    "run-of-loop-before",
    code=lambda choice: "stale-gradient" if choice.key is None else "wrong-operand",
    rank=2.0,
    at=first_values.where(lambda program, place: any(reads.made[0] == place[0] for reads in run_reads(program))),
    choices=stale_runs,
    message="{mistake}",
    fields=lambda program, place, choice: {"mistake": describe_stale_run(program, place, choice)},
    hints=WHICH_ITERATION,
)
def take_over_from_run_before(program: Program, place: Place, choice: StaleRun) -> Program | None:
    """Treat the runs of an inner loop as one: pass a gradient from each to the one before, or use a value of that one.

    Args:
        program: the right program.
        place: the value that the inner loop carries, in its first iteration.
        choice: what is taken over.

    Returns:
        The rewritten program; `None` where this trial has a single run.
    """
    runs = [reads for reads in run_reads(program.right) if reads.made[0] == place[0]]
    if choice.key is not None:
        runs = [reads for reads in runs if (reads.key, reads.slot) == (choice.key, choice.slot)]

    def passed_back(node: Node, slot: int) -> EdgeVjp:
        """Return the rule that gives a value what the node contributes to its operand in a slot."""
        return lambda at: node.vjp(slot, at.g)

    def with_last(slot: int, array: Array) -> EdgeVjp:
        """Return the right rule, computed with an array in place of the operand in a slot."""
        return lambda at: at.right(operands={slot: array})

    for reads in runs:
        for start in reads.starts:
            reader, last = program.forward.by_key[reads.key][start], reads.made[start - 1]
            if choice.key is None:
                program = program.with_edge(reader, last, passed_back(program.nodes[reader], reads.slot))
                continue
            for slot, _ in program.forward.edges[reader]:
                if slot != reads.slot:
                    program = program.with_vjp((reader, slot), with_last(reads.slot, program.nodes[last].value))
    return program if runs else None


def describe_stale_run(program: Program, place: Place, choice: StaleRun) -> str:
    """Return the message about a `StaleRun`: that a gradient, or a value, of the inner loop's run before is kept.

    Args:
        program: the program of a trial.
        place: the value that the inner loop carries, in its first iteration.
        choice: what is taken over.
    """
    value = program.name_of(place[0])
    if choice.key is None:
        return (
            f"the gradient of {value} is passed back from each run of the inner loop to the run before it; it must be"
            " reset where a run begins"
        )
    step = expression_of(program, program.nodes[program.forward.by_key[choice.key][0]])
    return (
        f"where a run of the inner loop begins, {step} is differentiated with the last {value} of the run before; it"
        " must be what the run begins with"
    )


def sines_of_filtered_rows(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return the sine of the last v of each row of x, for v = a * x[i, t] + b * v, which begins with a in each row."""
    rows = []
    for row in x:
        v = a
        for now in row:
            v = a * now + b * v
        rows.append(v.sin())
    return torch.stack(rows)


@take_over_from_run_before.example
def _() -> Example:
    """Show the sines of v = a * x[i, t] + b * v in each row i, whose gradient of v is not reset for the next row."""

    def wrong(x: Tensor, a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to one dv for all rows."""
        dx, dv = torch.zeros_like(x), torch.zeros_like(a)
        for i in reversed(range(len(x))):
            v = a
            for now in x[i]:
                v = a * now + b * v
            dv = dv + g[i] * v.cos()
            for t in reversed(range(x.shape[1])):
                dx[i, t] = dv * a
                dv = dv * b
        return {"x": dx}

    return Example(sines_of_filtered_rows, wrong, {"x": "bs t n", "a": "n", "b": "n"})


@take_over_from_run_before.example
def _() -> Example:
    """Show v = a * x[i, t] + b * v for each row i, whose gradient of b begins with the v of the row before."""

    def wrong(x: Tensor, a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Read the list of all v, in which that of the row before stands in front of the first one of a row."""
        made = [a]
        for row in x:
            for t, now in enumerate(row):
                made.append(a * now + b * (made[-1] if t else a))
        db, size = torch.zeros_like(b), x.shape[1]
        for i in range(len(x)):
            dv = g[i] * made[(i + 1) * size].cos()
            for t in reversed(range(size)):
                db += dv * made[i * size + t]
                dv = dv * b
        return {"b": db}

    return Example(sines_of_filtered_rows, wrong, {"x": "bs t n", "a": "n", "b": "n"})


@dataclass(frozen=True)
class Truncation:
    """The iterations at which the gradient of loop-carried values stops on its way to the first iteration.

    Args:
        keys: the keys of the loop-carried values.
        end: the end of the loop from which iterations are counted.
        count: the number of iterations from that end to the cut, or between two cuts.
        again: whether there is a cut after each `count` iterations, and not only one.
    """

    keys: tuple[Key, ...]
    end: Literal["last", "first"]
    count: int
    again: bool = False

    def is_at(self, iteration: int, iterations: int) -> bool:
        """Return whether the values of an iteration get no contribution from the next iteration.

        With `end="last"` and `count=2`, that is so for iteration 2 of 5, and, with `again=True`, for 0 and 2.

        Args:
            iteration: the number of the iteration, from 0.
            iterations: how many iterations the loop has.
        """
        before_end = iterations - 1 - iteration if self.end == "last" else iteration + 1
        return before_end % self.count == 0 and before_end > 0 if self.again else before_end == self.count

    def describe(self) -> str:
        """Return where the gradient stops, as a message has it: `is passed back through the last 2 iterations only`."""
        if self.again:
            return f"is cut off after every {self.count} iterations, counted from the {self.end} one"
        which = f"the {self.end} iteration" if self.count == 1 else f"the {self.end} {self.count} iterations"
        return f"is passed back through {which} only" if self.end == "last" else f"is not passed back into {which}"


def truncations(program: Program, place: Place) -> Iterator[Truncation]:
    """Yield the choices of `truncate`: the iterations at which the gradient of the loop-carried value `place` stops.

    With `keys` = (key of h,), and, at the first loop-carried value of the loop, also with those of all of them:

    - `Truncation(keys, "last", count)`: it goes through the last 1, 2 or 3 iterations, and no further;
    - `Truncation(keys, "first", count)`: it does not enter the first 1 or 2 iterations;
    - `Truncation(keys, end, 2, again=True)`: it stops after every two iterations, counted from either end.
    """
    for keys in keys_carried_together(program, place):
        yield from (Truncation(keys, "last", count) for count in (1, 2, 3))
        yield from (Truncation(keys, "first", count) for count in (1, 2))
        yield from (Truncation(keys, end, 2, again=True) for end in ("last", "first"))


@operator(
    "truncated",
    code="missing-path",
    rank=1.5,
    at=carried_first_values,
    choices=truncations,
    message="the gradient of {names} {where}",
    fields=lambda program, place, choice: {"names": describe_keys(program, choice.keys), "where": choice.describe()},
    hints=EVERY_ITERATION,
)
def truncate(program: Program, place: Place, choice: Truncation) -> Program:
    """Leave out the contributions of later iterations to loop-carried values at one iteration, or every k iterations.

    With `Truncation((key of h,), "last", 2)`: h gets no contribution from the last two iterations in the one before
    them, so that the backward pass of h goes through these two only. The choice is such a `Truncation`; `place` is not
    read.
    """
    cut = []
    for key in choice.keys:
        ids = program.forward.by_key.get(key, ())
        cut += [value for value in ids if choice.is_at(program.nodes[value].iteration, len(ids))]
    return program.without(*(edge for value in cut for edge in edges_from_later(program, value)))


@truncate.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward loop goes through the last two iterations alone."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Go back through the last two iterations alone, for every weight."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, du, dh = torch.zeros_like(w), torch.zeros_like(u), g
        for t in reversed(range(len(x) - 2, len(x))):
            dz = dh * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            du += states[t].T @ dz
            dh = dz @ u.T
        return {"w": dw, "u": du}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@operator(
    "only-one-iteration-back",
    code="missing-path",
    rank=1.5,
    at=carried_first_values,
    choices=keys_carried_together,
    message="only the last iteration is differentiated; from there the gradient of {names} is passed directly to its"
    " initial value",
    fields=lambda program, place, choice: {"names": describe_keys(program, choice)},
    hints=EVERY_ITERATION,
)
def go_back_once(program: Program, place: Place, choice: tuple[Key, ...]) -> Program | None:
    """Give the gradient that h has before the last iteration to the initial value of h, as if that came before it.

    The backward pass then goes through the last iteration alone. The choice is the keys of the loop-carried values,
    such as (key of h,). Returns `None` where one of these has no initial value. `place` is not read.
    """
    of_keys = [program.forward.by_key.get(key, ()) for key in choice]
    for ids in of_keys:
        before = value_before(program, ids[0]) if ids else None
        if before is None:
            return None
        if len(ids) > 1:
            entering = ids[-2]
            program = program.without(*((entering, slot) for slot, _ in program.forward.edges[entering]))
            program = program.with_edge(entering, before, lambda at: at.g)
    return program.without()


@go_back_once.example
def _() -> Example:
    """Show h = tanh(x[t] + h @ u), whose initial h gets (g * (1 - h**2)) @ u.T with the last h, as by one iteration."""

    def forward(x: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step + h @ u)
        return h

    def wrong(x: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        for step in x:
            h = torch.tanh(step + h @ u)
        return {"h": (g * (1 - h**2)) @ u.T}

    return Example(forward, wrong, {"x": "t bs n", "u": "n n", "h": "bs n"})


Part = Literal["first", "last", "next", "previous", "opposite"]
PARTS: tuple[Part, ...] = ("last", "first", "next", "previous", "opposite")


def part_whose_gradient_is_used(choice: Part, number: int, count: int) -> int:
    """Return the number of the operand of a `stack` or `cat` whose gradient is used for a given operand.

    With three operands, and for `"next"`: 1 for 0, 2 for 1, and 2 for 2, as there is none behind. For `"first"` always
    0, for `"last"` always 2; for `"opposite"` 2 for 0, 1 for 1 and 0 for 2; for `"previous"` 0 for 0, 0 for 1 and 1 for
    2.

    Args:
        choice: which operand's gradient is used.
        number: the number of the operand that gets it, from 0.
        count: how many operands there are.
    """
    chosen = {"first": 0, "last": count - 1, "next": number + 1, "previous": number - 1, "opposite": count - 1 - number}
    return min(max(chosen[choice], 0), count - 1)


@operator(
    "part-of-another-iteration",
    code="wrong-operand",
    rank=2.3,
    at=nodes.of("stack", "cat").where(lambda program, place: len(program.reader(place).edges) > 2),
    choices=lambda program, place: PARTS,
    message="each part joined by {step} gets the gradient of the {choice} part; it must get its own",
    hints=WHICH_ITERATION,
)
def take_gradient_of_other_part(program: Program, place: Place, choice: Part) -> Program:
    """Contribute to each operand of a `stack` or `cat`, the node `place`, the part of g that is for a wrong operand.

    For a `stack` and the choice `"last"`: g[-1] to each; with `"first"` g[0]; with `"next"`, `"previous"` or
    `"opposite"` that of the operand behind it, before it, or equally far from the other end.
    """
    slots = [slot for slot, _ in program.forward.edges[place[0]]]

    def of_part(slot: int) -> EdgeVjp:
        return lambda at: at.node.vjp(slot, at.g)

    for number, slot in enumerate(slots):
        program = program.with_vjp(
            (place[0], slot), of_part(slots[part_whose_gradient_is_used(choice, number, len(slots))])
        )
    return program


@take_gradient_of_other_part.example
def _() -> Example:
    """Show the stack of tanh(x[t] @ w) whose backward pass uses the upstream gradient of the last iteration in each."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.stack([torch.tanh(step @ w) for step in x])

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the upstream gradient of the last iteration in each."""
        return {"w": sum(step.T @ (g[-1] * (1 - torch.tanh(step @ w) ** 2)) for step in x)}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m"})


@dataclass(frozen=True)
class DelayedReads:
    """The reads of what a loop has made several iterations before: of y[t - d] in y[t] = x[t] + a * y[t - d].

    Args:
        readers: the ids of the nodes that read, in the order of the iterations.
        series: the ids of the values: what is read in front of the loop, then what its iterations have made. `None` for
            a constant.
        delay: how many iterations before a value has been made that is read.
    """

    readers: tuple[int, ...]
    series: tuple[int | None, ...]
    delay: int


def delayed_reads(program: Program, place: Place) -> DelayedReads | None:
    """Return the reads in the slot of an edge, in all iterations; `None` unless they are two iterations or more late.

    Args:
        program: the program of a trial.
        place: the edge, in any iteration.
    """
    forward = program.forward
    readers = forward.by_key[program.nodes[place[0]].key]
    read = [program.nodes[reader].operand(place[1]) for reader in readers]
    last = read[-1]
    if last is None or last > readers[-1]:
        return None
    made = iterations_of(program, last)
    delay = len(readers) - 1 - program.nodes[last].iteration
    is_late = 2 <= delay < len(readers) == len(made) and tuple(read[delay:]) == made[:-delay]
    if not is_late or not all(
        forward.ancestors[value] >> reader & 1 for reader, value in zip(readers, made, strict=True)
    ):
        return None
    return DelayedReads(readers, (*read[:delay], *made), delay)


@dataclass(frozen=True)
class WrongDelay:
    """A delay that a backward pass has in place of the right one.

    Args:
        by: how many iterations longer it is; `None` if it is one iteration, whatever the right one is.
        partners: whether the partner operand is that of the wrong delay as well.
        starts: whether it also passes gradients back from iterations that the forward pass leaves out, because nothing
            has been made so many iterations before them.
    """

    by: int | None
    partners: bool
    starts: bool = False

    def delay(self, right: int) -> int:
        """Return the wrong delay in iterations."""
        return 1 if self.by is None else right + self.by


def wrong_delays(program: Program, place: Place) -> Iterator[WrongDelay]:
    """Yield the `WrongDelay`s of the reads of the edge `place`; none if its operand is not made iterations before."""
    reads = delayed_reads(program, place)
    if reads is not None:
        for by in (-1, 1, *((None,) if reads.delay > 2 else ())):
            for partners in (True, False):
                yield WrongDelay(by, partners)
                if by != 1 and reads.series[0] is not None:
                    yield WrongDelay(by, partners, starts=True)


@operator(
    "delay-mistaken",
    code="wrong-operand",
    rank=2.3,
    at=edges.where(lambda program, place: delayed_reads(program, place) is not None).in_every_iteration,
    choices=wrong_delays,
    message="{what} {step} {how}",
    fields=lambda program, place, choice: fields_of_delay(program, place, choice),
    hints=WHICH_ITERATION,
)
def mistake_delay(program: Program, place: Place, choice: WrongDelay) -> Program | None:
    """Pass gradients of reads y[t - d] back to y[t - e], with a wrong delay e.

    Args:
        program: the right program.
        place: the edge of the delayed value. All iterations are edited for the first one with such an edge; for that
            of any other iteration the program is returned as it is.
        choice: the wrong delay.

    Returns:
        The rewritten program; `None` where the loop reads nothing so late in this trial.
    """
    reads = delayed_reads(program.right, place)
    if reads is None:
        return None
    slot, wrong = place[1], choice.delay(reads.delay)
    if place[0] != next(reader for reader in reads.readers if (reader, slot) in program.forward.sources):
        return program
    for number, reader in enumerate(reads.readers):
        program = _with_delay(program, reads, choice, (reader, slot), number + reads.delay - wrong)
    for number in range(wrong, reads.delay if choice.starts else wrong):
        program = _with_read_at_start(program, reads, choice, slot, number)
    return program


def _with_delay(program: Program, reads: DelayedReads, choice: WrongDelay, edge: Place, number: int) -> Program:
    """Return the program in which one read takes another value of the series in the backward pass.

    Args:
        program: the program that is edited.
        reads: the reads of the loop.
        choice: the wrong delay.
        edge: the edge (reader, slot) of the value in this iteration.
        number: the number of the value in the series. Below 0 the iteration reads zeros, and passes nothing back; if
            the value is a constant, it is read, and nothing is passed back.
    """
    reader, slot = edge
    node, value = program.nodes[reader], reads.series[number] if number >= 0 else None
    if number < 0:
        array = np.zeros(np.shape(node.values[slot]))
    elif value is None:
        array = np.asarray(program.nodes[reads.readers[number]].values[slot])
    else:
        array = program.nodes[value].value
        program = program.with_edge(reader, value, lambda at: node.vjp(slot, at.g, {slot: array}))
    if edge in program.forward.sources:
        program = program.without(edge)
    for other, _ in program.forward.edges[reader] if choice.partners else ():
        if other != slot:
            program = program.with_vjp((reader, other), lambda at: at.right(operands={slot: array}))
    return program


def _with_read_at_start(program: Program, reads: DelayedReads, choice: WrongDelay, slot: int, number: int) -> Program:
    """Return the program in which a value made in front of the loop passes a gradient back, as if it had read another.

    Args:
        program: the program that is edited.
        reads: the reads of the loop.
        choice: the wrong delay.
        slot: the slot of the delayed value in its readers.
        number: the number of the value in the series.

    Raises:
        NoCandidate: the values in front of the loop are constants, or the loop adds nothing to make those in it.
    """
    reader, made = program.nodes[reads.readers[0]], program.nodes[reads.series[reads.delay] or 0]
    into = next((place for place, operand in program.forward.edges[made.id] if operand == reader.id), None)
    value, earlier = reads.series[number], reads.series[number - choice.delay(reads.delay)]
    if value is None or earlier is None or into is None or made.name not in ("add", "sub"):
        raise NoCandidate("what the loop computes is not computed in front of it")
    array = program.nodes[earlier].value

    def contribution(own: int) -> EdgeVjp:
        """Return the rule of what the reader would contribute to its operand in the slot `own`."""
        return lambda at: reader.vjp(own, made.vjp(into, at.g), {slot: array})

    program = program.with_edge(value, earlier, contribution(slot))
    for own, operand in program.forward.edges[reader.id] if choice.partners else ():
        if own != slot:
            program = program.with_edge(value, operand, contribution(own))
    return program


def fields_of_delay(program: Program, place: Place, choice: WrongDelay) -> dict[str, str]:
    """Return the fields `what` and `how` of a message, which stand before and behind the expression of the step.

    Such as "the backward pass of" and "reads y 2 iterations back; the forward pass reads it 3 iterations back".

    Args:
        program: the program of a trial.
        place: the edge of the delayed value.
        choice: the wrong delay.
    """
    reads = delayed_reads(program, place)
    assert reads is not None
    name = program.name_of(reads.series[-1] or 0)
    wrong, right = (f"{count} iteration{'s' * (count > 1)} back" for count in (choice.delay(reads.delay), reads.delay))
    if choice.partners:
        return {"what": "the backward pass of", "how": f"reads {name} {wrong}; the forward pass reads it {right}"}
    return {"what": "the gradient that", "how": f"passes to {name} goes {wrong}; it must go {right}"}


@mistake_delay.example
def _() -> Example:
    """Show a comb filter y[t] = x[t] + a * y[t - 3], whose backward pass has a delay of 2."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        y: list[Tensor] = []
        for t, now in enumerate(x):
            y.append(now + a * y[t - 3] if t >= 3 else now)
        return torch.stack(y)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pass each gradient back by two iterations."""
        y, dx = forward(x, a), g.clone()
        for t in reversed(range(len(x) - 2)):
            dx[t] += a * dx[t + 2]
        return {"x": dx, "a": (dx[2:] * y[:-2]).sum(0)}

    return Example(forward, wrong, {"x": sized(normal("t n"), t=(8, 9)), "a": "n"})


@mistake_delay.example
def _() -> Example:
    """Show h = tanh(x[t] + w * h of three iterations before), whose gradient is passed back by four."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        states: list[Tensor] = []
        for t, now in enumerate(x):
            before = states[t - 3] if t >= 3 else torch.zeros_like(now)
            states.append(torch.tanh(now + w * before))
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Read the gradient of the iteration after the right one; the gradient of w is computed with the right h."""
        states, dh, dw = forward(x, w), g.clone(), torch.zeros_like(w)
        for t in reversed(range(len(x))):
            dz = dh[t] * (1 - states[t] ** 2)
            dh[t] = dz
            if t >= 3:
                dw += dz * states[t - 3]
            if t >= 4:
                dh[t - 4] += dz * w
        return {"x": dh, "w": dw}

    return Example(forward, wrong, {"x": sized(normal("t n"), t=(8, 9)), "w": "n"})


@operator(
    "upstream-in-every-iteration",
    code="extra-factor",
    rank=2.3,
    at=loop_values.where(lambda program, place: program.nodes[place[0]].value.shape == program.upstreams[0].shape),
    choices=lambda program, place: ("loop", "start") if value_before(program, place[0]) is not None else ("loop",),
    message="{upstream} is added to the gradient of {value} in every iteration; it must be added only in the last one",
)
def add_upstream_again(program: Program, place: Place, choice: str) -> Program | None:
    """Add the upstream gradient of the output h[-1] to the gradient of the value `place`, h[t] of an earlier iteration.

    With the choice `"loop"`, in each iteration; with `"start"` also to the gradient of the initial value of h. Returns
    `None` where the value of the last iteration is no output.
    """
    ids = iterations_of(program, place[0])
    if ids[-1] not in program.forward.outputs:
        return None
    before = value_before(program, place[0]) if choice == "start" and place[0] == ids[0] else None
    if before is not None:
        program = program.with_edge(SINK, before, lambda at: at.g)
    return program if place[0] == ids[-1] else program.with_edge(SINK, place[0], lambda at: at.g)


@add_upstream_again.example
def _() -> Example:
    """Show the last h = tanh(x[t] @ w + h @ u), whose dz = (dh + g) * (1 - h**2) adds g in every iteration."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), torch.zeros_like(h)
        for t in reversed(range(len(x))):
            dz = (dh + g) * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            dh = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@dataclass(frozen=True)
class Clip:
    """A bound at which a gradient is clipped.

    Args:
        bound: the greatest absolute value, or norm, that is kept.
        of: whether each entry is clipped, or the gradient is scaled so that its norm is within the bound.
        carried: whether only the contribution of the next iteration is clipped, and not the whole gradient.
    """

    bound: float
    of: Literal["entry", "norm"]
    carried: bool

    def __str__(self) -> str:
        """Return the bound in words: `the range from -1 to 1`, or `a norm of 1`."""
        return (
            f"the range from -{self.bound:g} to {self.bound:g}" if self.of == "entry" else f"a norm of {self.bound:g}"
        )

    def apply(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient g, clipped at `self.bound`: each entry, or by a factor for the whole; same shape."""
        if self.of == "entry":
            return np.asarray(np.clip(g, -self.bound, self.bound))
        return np.asarray(g * min(1.0, self.bound / max(float(np.linalg.norm(g)), 1e-12)))


BOUNDS = (1.0, 5.0, 0.5, 0.1)  # as clipping is written


def clips(program: Program, place: Place) -> Iterator[Clip]:
    """Yield `Clip`s, the same at every place: at which bound the gradient of a loop-carried value is clipped, and how.

    For each of `BOUNDS`, such as 1.0: each `"entry"` is clipped, or the gradient is scaled to this `"norm"`; and it is
    the whole gradient, or, with `carried=True`, only the contribution of the next iteration.
    """
    for carried in (False, True):
        yield from (Clip(bound, "entry", carried) for bound in BOUNDS)
        yield from (Clip(bound, "norm", carried) for bound in BOUNDS)


@operator(
    "gradient-clipped",
    code="not-linear",
    rank=2.3,
    at=carried_first_values,
    choices=clips,
    message="{what} is clipped to {choice}; it must not be clipped",
    fields=lambda program, place, choice: {
        "what": f"the gradient passed back from {program.name_of(place[0])} to the previous iteration"
        if choice.carried
        else f"the gradient of {program.name_of(place[0])}"
    },
)
def clip_gradient(program: Program, place: Place, choice: Clip) -> Program:
    """Clip the gradient of a loop-carried value, or the contribution of the next iteration to it, in each iteration.

    With `Clip(1.0, "entry", carried=True)`: each entry of that contribution to between -1 and 1. With `"norm"` it is
    multiplied by 1 / norm where its norm is above 1. `place` is the value in the first iteration.
    """

    def change(edges: tuple[Place, ...]) -> EdgeVjp:
        """Return the vjp that adds, to the contributions of some edges, what clipping them changes."""

        def rule(at: EdgeContext) -> np.ndarray:
            part = np.asarray(sum(map(at.sweep.contribution, edges)))
            return np.asarray(choice.apply(part) - part)

        return rule

    for value in iterations_of(program, place[0]):
        if not choice.carried:
            program = program.with_upstream(value, lambda at: choice.apply(at.g))
            continue
        before = value_before(program, value)
        if before is not None:
            later = (
                edges_from_later(program, before) if program.nodes[value].iteration else program.forward.uses[before]
            )
            program = program.with_edge(value, before, change(later))
    return program


@clip_gradient.example
def _() -> Example:
    """Show the stack of h = tanh(x[t] @ w + h @ u), whose dh for the h before is (dz @ u.T).clamp(-0.5, 0.5)."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        states = []
        for step in x:
            h = torch.tanh(step @ w + h @ u)
            states.append(h)
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Clip the contribution of the next iteration at -0.5 and 0.5."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), torch.zeros_like(h)
        for t in reversed(range(len(x))):
            dz = (dh + g[t]) * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            dh = (dz @ u.T).clamp(-0.5, 0.5)
        return {"w": dw, "h": dh}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@clip_gradient.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward loop clips dh: dz = dh.clamp(-1, 1) * (1 - h**2)."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), g
        for t in reversed(range(len(x))):
            dz = dh.clamp(-1, 1) * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            dh = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@dataclass(frozen=True)
class EarlyRead:
    """A contribution to a loop-carried value that is added too late, after the value's gradient has been used.

    Args:
        late: the kind of the edges by which the late contribution comes.
        misses: what is computed without it: that of the previous iteration (`"carry"`), or all else (`"others"`).
    """

    late: EdgeKind
    misses: Literal["carry", "others"]


def early_reads(program: Program, place: Place) -> Iterator[EarlyRead]:
    """Yield `EarlyRead`s: which contribution to the gradient of the value `place` is added too late, and for what.

    The contribution is that of one kind of edges to the value; it is missing in the gradient of the previous iteration
    (`"carry"`), or in all others that the value's gradient contributes to (`"others"`). Only where there are several
    kinds, and the value depends on its own value of the previous iteration by one or two edges.
    """
    before, ways = value_before(program, place[0]), edges_by_kind(program, place[0])
    if before is not None and len(ways) > 1 and direct_paths(program, before, place[0]):
        for late in ways:
            yield EarlyRead(late, "others")
            yield EarlyRead(late, "carry")


def direct_paths(program: Program, before: int, value: int) -> list[tuple[Place, ...]]:
    """Return the paths of one or two edges by which a loop's value depends on its own value of the previous iteration.

    For c = gate * c + x[t]: one path, (edge of the product in the sum, edge of the earlier c in the product).

    Args:
        program: the program.
        before: the id of the value in the iteration before.
        value: its id in this iteration.

    Returns:
        Each path as its edges (reader, slot), in the order of the backward pass; none where there is no such path.
    """
    forward, paths = program.forward, list[tuple[Place, ...]]()
    for slot, operand in forward.edges[value]:
        if operand == before:
            paths.append(((value, slot),))
        paths += [((value, slot), (operand, inner)) for inner, source in forward.edges[operand] if source == before]
    return paths


@operator(
    "carry-read-too-early",
    code="wrong-order",
    rank=2.0,
    at=loop_values,
    choices=early_reads,
    message="{what} computed before the contribution of {late} has been added to the gradient of {value}",
    fields=lambda program, place, choice: {
        "late": describe_edge_kind(program, choice.late),
        "what": "the gradient passed to the previous iteration is"
        if choice.misses == "carry"
        else "all gradients but the one passed to the previous iteration are",
    },
)
def use_carry_too_early(program: Program, place: Place, choice: EarlyRead) -> Program | None:
    """Compute with the gradient of the value `place` of a loop before one of its contributions is added to it.

    The choice is the kind of edges of this late contribution, and what is computed without it: the gradient of the
    value in the iteration before (`"carry"`), or all others that the gradient contributes to (`"others"`), as those of
    gate and x[t] for c = gate * c + x[t]. Returns `None` where there is no iteration before, or no such contribution.
    """
    value, before = place[0], value_before(program, place[0])
    late = choice.late.places(program, value)
    if before is None or not late:
        return None

    def on_direct_paths(at: EdgeContext) -> np.ndarray:
        """Return what the late contribution gives to the iteration before."""
        total, part = np.zeros(program.nodes[before].value.shape), sum(map(at.sweep.contribution, late))
        for path in direct_paths(program, before, value):
            contribution = np.asarray(part)
            for reader, slot in path:
                contribution = program.nodes[reader].vjp(slot, contribution)
            total = total + contribution
        return total

    if choice.misses == "carry":
        return program.with_edge(value, before, lambda at: -on_direct_paths(at))
    edited = program.with_upstream(value, lambda at: at.g - sum(map(at.sweep.contribution, late)))
    return edited.with_edge(value, before, on_direct_paths)


@use_carry_too_early.example
def _() -> Example:
    """Show c = sigmoid(x[t] @ w) * c + x[t] @ u, whose dw and du lack what tanh(c) contributes to dc."""

    def forward(x: Tensor, w: Tensor, u: Tensor, c: Tensor) -> Tensor:
        states = []
        for step in x:
            gate = torch.sigmoid(step @ w)
            c = gate * c + step @ u
            states.append(torch.tanh(c))
        return torch.stack(states)

    def wrong(x: Tensor, w: Tensor, u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the output's contribution to `dc` only in what is carried to the iteration before."""
        cells = [c]
        for step in x:
            cells.append(torch.sigmoid(step @ w) * cells[-1] + step @ u)
        dw, du, dc = torch.zeros_like(w), torch.zeros_like(u), torch.zeros_like(c)
        for t in reversed(range(len(x))):
            gate = torch.sigmoid(x[t] @ w)
            dw += x[t].T @ (dc * cells[t] * gate * (1 - gate))
            du += x[t].T @ dc
            dc = (dc + g[t] * (1 - torch.tanh(cells[t + 1]) ** 2)) * gate
        return {"w": dw, "u": du}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "n m", "c": "bs m"})


def is_first_of_loop(program: Program, place: Place) -> bool:
    """Return whether the value `place` is the first that a loop computes, not counting selections such as x[t].

    True for x[t] @ w of the first iteration in `h = tanh(x[t] @ w + h @ u)`, where an edit of the whole loop has its
    place. False if no loop of as many iterations carries a value, or such a loop comes before it.
    """
    if not begins_loop(program, place):
        return False
    count = len(iterations_of(program, place[0]))
    made = (each.made[0] for each in cached_loop_carried_values(program))
    if not any(len(iterations_of(program, value)) == count for value in made):
        return False
    return all(
        node.operation.family == "input" or len(program.forward.by_key[node.key]) != count or node.name == "select"
        for node in program.nodes[: place[0]]
    )


def loop_of(program: Program, place: Place) -> Loop | None:
    """Return the loop whose first value, not counting selections such as x[t], is `place`; `None` if there is none.

    `None`, too, for a loop that carries no value.
    """
    if not begins_loop(program, place):
        return None
    key = program.nodes[place[0]].key
    for loop in cached_loops(program):
        first = next(
            (each for each in loop.keys if program.nodes[program.forward.by_key[each][0]].name != "select"), None
        )
        if first == key and loop.carried:
            return loop
    return None


def directions(program: Program, place: Place) -> Iterator[str]:
    """Yield which loops a backward pass may go through in forward order: `"all"` loops of one length, or its `"own"`.

    `"all"`, if the value `place` is the first that the loops with this number of iterations compute; `"own"`, if it is
    the first that its loop computes, and there are several loops.
    """
    if is_first_of_loop(program, place):
        yield "all"
    carrying = [loop for loop in cached_loops(program) if loop.carried]
    if loop_of(program, place) is not None and len(carrying) > 1:
        yield "own"


@operator(
    "iterations-in-forward-order",
    code="wrong-order",
    rank=3.0,
    at=values.where(lambda program, place: is_first_of_loop(program, place) or loop_of(program, place) is not None),
    choices=directions,
    message="the backward loop{which} runs in the order of the forward pass; it must start with the last iteration",
    fields=lambda program, place, choice: {
        "which": f" through {expression_of(program, program.nodes[place[0]])}" if choice == "own" else ""
    },
)
def go_through_iterations_forwards(program: Program, place: Place, choice: str) -> Program | None:
    """Go through the iterations of a loop from first to last in the backward pass.

    The vjps of iteration t of T are then computed with the operands of iteration T - 1 - t. If a `stack` or `cat` joins
    the iterations, the parts of its gradient are reversed, too. `place` is the value that the loop computes first, in
    its first iteration. With the choice `"own"`, its loop alone is reversed, with `"all"` every loop of as many
    iterations. Returns `None` where this trial has no such loop.
    """
    forward = program.forward
    count = len(iterations_of(program, place[0]))
    looped = {key: ids for key, ids in forward.by_key.items() if len(ids) == count}
    if choice == "own":
        loop = loop_of(program.right, place)
        looped = {key: looped[key] for key in loop.keys} if loop is not None else {}

    def of_node(other: int, slot: int) -> EdgeVjp:
        return lambda at: program.nodes[other].vjp(slot, at.g)

    def of_slot(slot: int) -> EdgeVjp:
        return lambda at: at.node.vjp(slot, at.g)

    for ids in looped.values():
        for own, other in zip(ids, reversed(ids), strict=True):
            for slot, _ in forward.edges[own]:
                program = program.with_vjp((own, slot), of_node(other, slot))
    for node in forward.nodes:
        parts = [slot for slot, operand in forward.edges[node.id] if forward.nodes[operand].key in looped]
        if node.operation.family == "join" and len(parts) == count and node.key not in looped:
            for own, other in zip(parts, reversed(parts), strict=True):
                program = program.with_vjp((node.id, own), of_slot(other))
    return program if looped else None


@go_through_iterations_forwards.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward loop goes through t from the first to the last."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, du, dh = torch.zeros_like(w), torch.zeros_like(u), g
        for t in range(len(x)):
            dz = dh * (1 - states[t + 1] ** 2)
            dw += x[t].T @ dz
            du += states[t].T @ dz
            dh = dz @ u.T
        return {"w": dw, "u": du}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@go_through_iterations_forwards.example
def _() -> Example:
    """Show h = tanh(x[t] + h @ u) in both directions, whose second backward loop goes in its forward order."""

    def run(x: Tensor, u: Tensor, order: list[int]) -> list[Tensor]:
        h, rows = torch.zeros_like(x[0]), []
        for t in order:
            h = torch.tanh(x[t] + h @ u)
            rows.append(h)
        return rows

    def forward(x: Tensor, u: Tensor, v: Tensor, k: Tensor) -> Tensor:
        order = list(range(len(x)))
        return torch.stack(run(x, u, order)) + k * torch.stack(run(x, v, order[::-1]))

    def wrong(x: Tensor, u: Tensor, v: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        order = list(range(len(x)))
        rows = run(x, v, order[::-1])
        states = [torch.zeros_like(x[0]), *rows]
        dv, dh = torch.zeros_like(v), torch.zeros_like(x[0])
        for i in order:
            dz = (k * g[i] + dh) * (1 - states[i + 1] ** 2)
            dv += states[i].T @ dz
            dh = dz @ v.T
        return {"v": dv}

    return Example(forward, wrong, {"x": "t bs n", "u": "n n", "v": "n n", "k": "n"})


@operator(
    "constant-as-zeros",
    code="wrong-point",
    rank=2.0,  # rare, and cheap to try
    at=nodes.of("detach"),
    message="the forward pass is computed again with zeros in place of {step}, which is a constant, but not zero",
)
def begin_with_zeros(program: Program, place: Place, choice: None) -> Program:
    """Compute both passes with zeros in place of a detached value, the node `place`, such as the state at a cut.

    For the last steps of a recurrence, which begin with h.detach(): they are run again from a state of zeros.
    """
    return program.with_nodes({place[0]: lambda node: node.then(np.zeros_like)})


@begin_with_zeros.example
def _() -> Example:
    """Show steps of tanh(h @ w + row) from a detached state, whose backward pass runs them again from zeros."""

    def forward(h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        h = torch.tanh(h @ w).detach()
        for row in b:
            h = torch.tanh(h @ w + row)
        return h

    def wrong(h: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Begin the steps behind the detached state with zeros in place of that state."""
        states = [torch.zeros_like(h)]
        for row in b:
            states.append(torch.tanh(states[-1] @ w + row))
        dw = torch.zeros_like(w)
        for i in reversed(range(len(b))):
            dz = g * (1 - states[i + 1] ** 2)
            dw += states[i].T @ dz
            g = dz @ w.T
        return {"w": dw}

    return Example(forward, wrong, {"h": "bs n", "w": "n n", "b": "t n"})


# Values that are not kept for each iteration ------------------------------------------------------------------------


def first_carried_of_loop(program: Program, place: Place) -> Loop | None:
    """Return the loop whose first loop-carried value `place` is; `None` where it is none, or a later one."""
    for loop in cached_loops(program):
        made = [value.made[0] for value in loop.carried]
        if made and place[0] == min(made):
            return loop
    return None


def changes_in_loop(program: Program, loop: Loop) -> frozenset[int]:
    """Return the ids of the values of a loop's nodes that depend on one of its loop-carried values."""
    forward = program.forward
    carried = sum({1 << value for each in loop.carried for value in (*each.made, each.initial) if value is not None})
    ids = (i for key in loop.keys for i in forward.by_key[key])
    return frozenset(i for i in ids if forward.ancestors[i] & carried)


def kept_iterations(program: Program, place: Place) -> Iterator[Literal["last", "first"]]:
    """Yield which iteration's values a backward pass may use in all iterations: the last one's, or the first one's.

    Nothing unless the value `place` is the first loop-carried value of a loop of two iterations or more.
    """
    loop = first_carried_of_loop(program, place)
    if loop is not None and loop.iterations > 1:
        yield from ("last", "first")


@operator(
    "values-of-one-iteration",
    code="wrong-point",
    rank=2.2,
    at=carried_first_values.where(
        lambda program, place: first_carried_of_loop(program, place) is not None
    ).in_every_iteration,
    choices=kept_iterations,
    message="every iteration of the backward pass uses the values of the {choice} iteration; each must use its own",
)
def use_values_of_one_iteration(program: Program, place: Place, choice: Literal["last", "first"]) -> Program | None:
    """Compute every vjp in a loop with what its last, or first, iteration has computed, as where nothing else is kept.

    Replaced are the operands and values that depend on a loop-carried value; what else an iteration reads, such as
    x[t], is its own. Returns `None` where the value `place` is not the first loop-carried value of a loop.
    """
    loop, by_key = first_carried_of_loop(program, place), program.forward.by_key
    if loop is None:
        return None
    changing = changes_in_loop(program, loop)
    for key in loop.keys:
        kept = program.nodes[by_key[key][-1 if choice == "last" else 0]]
        last = program.nodes[by_key[key][-1]]
        operands = {slot: kept.values[slot] for slot, source in last.operands if source in changing}
        for i in by_key[key]:
            if i != kept.id and (operands or last.id in changing):
                value = kept.value if last.id in changing else None
                program = program.with_other_values(program.nodes[i], operands, value)
    return program


@use_values_of_one_iteration.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward pass uses the last iteration's two states in every iteration."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Keep the last two states alone, and use them in every iteration."""
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        before, last = states[-2:]
        dw, du = torch.zeros_like(w), torch.zeros_like(u)
        for step in reversed(x):
            dz = g * (1 - last**2)
            dw += step.T @ dz
            du += before.T @ dz
            g = dz @ u.T
        return {"w": dw, "u": du, "h": g}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})
