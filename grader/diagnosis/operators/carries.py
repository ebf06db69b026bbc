"""Operators on one iteration of a loop as a whole: how it passes the gradients of its states to the previous one.

A step such as `p, q = c * p - s * q, s * p + c * q` has several states. Its backward pass multiplies the gradients of
the new states by the transposed Jacobian of the step; a learner may use the Jacobian itself, or the gradient of a
state that has been passed back already.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.diagnosis.words import list_in_words
from grader.program.forward import Forward, Key, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, EdgeVjp, Program, Sweep
from grader.program.segments import Segment, segment

from .contract import Example, operator
from .places import outputs, values
from .recurrences import (
    cached_loop_carried_values,
    carried_first_values,
    describe_keys,
    edges_from_later,
    iterations_of,
    keys_carried_together,
    states_of_loop,
    value_before,
)


@dataclass(frozen=True)
class Step:
    """One iteration of a loop, with the values that its states have before and after it.

    A state is a loop-carried value, known by the key of the nodes that make it.

    Args:
        forward: the forward pass.
        before: by key of a state the id of its value before the iteration; a state that is a constant there, such as
            zeros, is missing.
        after: by key of a state the id of its value after the iteration.
    """

    forward: Forward
    before: Mapping[Key, int]
    after: Mapping[Key, int]

    def between(self, source: Key, value: Key) -> Segment | None:
        """Return how the state `value` after the iteration depends on the state `source` before it.

        Paths through the new value of a further state do not count. `None` where there is no path, or the state before
        the iteration is a constant.

        Args:
            source: the key of a state.
            value: the key of a state, which may be the same.
        """
        if source not in self.before:
            return None
        first, last = self.before[source], self.after[value]
        return segment(self.forward, first, last, {*self.before.values(), *self.after.values()})


def steps_of(program: Program, keys: tuple[Key, ...]) -> list[Step]:
    """Return the iterations of the loop that carries the states with the given keys, the first one first.

    There are as many as the state with the fewest values has; none if the program lacks one of the keys.

    Args:
        program: the program; the iterations are those of its right forward pass, also where it is edited.
        keys: the keys of the nodes that make the states.
    """
    forward = program.right.forward
    ids = {key: forward.by_key.get(key, ()) for key in keys}
    count = min(map(len, ids.values()))
    steps = []
    for t in range(count):
        before = {key: value_before(program.right, ids[key][t]) for key in keys}
        known = {key: value for key, value in before.items() if value is not None}
        steps.append(Step(forward, known, {key: ids[key][t] for key in keys}))
    return steps


def states_to_transpose(program: Program, place: Place) -> Iterator[tuple[Key, ...]]:
    """Yield the keys of states whose step has a Jacobian that may be taken for its transpose.

    For p, q = c * p - s * q, s * p + c * q: (key of p, key of q). First comes that of the state at `place` alone; then,
    where it is the first of several states of its loop, those of all of them. All states of a tuple have one shape, and
    none is a constant. A single state comes only where its step is more than pointwise, as in h @ u, for a pointwise
    step has a diagonal Jacobian.

    Args:
        program: the program of a trial.
        place: a loop-carried value, as the first iteration makes it.
    """
    for keys in keys_carried_together(program, place):
        *_, step = steps_of(program, keys)
        shapes = {step.forward.shapes[value] for value in (*step.before.values(), *step.after.values())}
        maps = [step.between(source, value) for source in keys for value in keys]
        inner = {step.forward.nodes[i].operation.family for each in maps if each for i in each.inner}
        if len(shapes) == 1 and len(step.before) == len(keys) and (len(keys) > 1 or inner - {"pointwise"}):
            yield keys


@operator(
    "carried-forwards",
    code="transposed",
    rank=2.5,
    at=carried_first_values,
    choices=states_to_transpose,
    message="the gradient of {names} is passed back to the previous iteration through the Jacobian of one iteration;"
    " the transpose of that Jacobian must be used",
    fields=lambda program, place, choice: {"names": describe_keys(program, choice)},
)
def carry_forwards(program: Program, place: Place, choice: tuple[Key, ...]) -> Program:
    """Multiply the gradients of loop-carried values by the Jacobian of each iteration, and not by its transpose.

    For p, q = c * p - s * q, s * p + c * q: dp = c * dp - s * dq and dq = s * dp + c * dq, where it must be
    c * dp + s * dq and c * dq - s * dp.

    Args:
        program: the right program.
        place: a loop-carried value, as the first iteration makes it.
        choice: the keys of this value, or of all states of its loop.

    Returns:
        The rewritten program, also where it is the right one.
    """

    def rule(right: Segment | None, wrong: Segment | None) -> EdgeVjp:
        """Return the vjp that adds what `wrong` contributes and subtracts what `right` does; `None` contributes 0."""

        def contribution(at: EdgeContext) -> Array:
            """Return what the wrong map contributes, less what the right one does."""
            added = 0.0 if wrong is None else wrong.push(at.g)
            return np.asarray(added if right is None else added - right.pull(at.g))

        return contribution

    for step in steps_of(program, choice):
        for source in step.before:
            for value in choice:
                right, wrong = step.between(source, value), step.between(value, source)
                if right is not None or wrong is not None:
                    program = program.with_edge(step.after[value], step.before[source], rule(right, wrong))
    return program


@carry_forwards.example
def _() -> Example:
    """Show p = f @ p + p @ f.T + x[t], whose gradient is g = f @ g + g @ f.T in place of f.T @ g + g @ f."""

    def forward(x: Tensor, f: Tensor, p: Tensor) -> Tensor:
        for step in x:
            p = f @ p + p @ f.T + step
        return p

    def wrong(x: Tensor, f: Tensor, p: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = torch.zeros_like(x)
        for t in reversed(range(len(x))):
            dx[t] = g
            g = f @ g + g @ f.T
        return {"x": dx, "p": g}

    return Example(forward, wrong, {"x": "t n n", "f": "n n", "p": "n n"})


def interacting_states(program: Program, place: Place) -> Iterator[tuple[Key, ...]]:
    """Yield the keys of all states of a loop in one tuple, if they depend on each other in two ways or more.

    For p, q = c * p - s * q, s * p + c * q: p depends on the q before it, and q on the p before it. Else nothing is
    yielded.

    Args:
        program: the program of a trial.
        place: a loop-carried value, as the first iteration makes it; only the first one of the loop has a choice.
    """
    *_, keys = keys_carried_together(program, place)
    if len(keys) > 1:
        *_, step = steps_of(program, keys)
        ways = [step.between(source, value) for source in keys for value in keys if source != value]
        if sum(way is not None for way in ways) > 1:
            yield keys


@operator(
    "states-separated",
    code="missing-path",
    rank=1.8,
    at=carried_first_values,
    choices=interacting_states,
    message="the gradients of {names} are each passed back only to the same value of the previous iteration; the paths"
    " from one of these values to another are missing",
    fields=lambda program, place, choice: {"names": describe_keys(program, choice)},
)
def separate_states(program: Program, place: Place, choice: tuple[Key, ...]) -> Program:
    """Leave out what the gradient of a state passes back to all other states of the loop.

    For p, q = c * p - s * q, s * p + c * q: dp = c * dp and dq = c * dq.

    Args:
        program: the right program.
        place: the first loop-carried value of the loop, as the first iteration makes it.
        choice: the keys of the states.

    Returns:
        The rewritten program, also where it is the right one.
    """

    def rule(way: Segment) -> EdgeVjp:
        """Return the vjp that subtracts the right contribution of a path."""
        return lambda at: -way.pull(at.g)

    for step in steps_of(program, choice):
        for source in step.before:
            for value in choice:
                way = step.between(source, value) if source != value else None
                if way is not None:
                    program = program.with_edge(step.after[value], step.before[source], rule(way))
    return program


@separate_states.example
def _() -> Example:
    """Show p, q = c * p - s * q + x[t], r * p + c * q + y[t], whose gradients are dp = c * dp and dq = c * dq."""

    def forward(x: Tensor, y: Tensor, c: Tensor, r: Tensor, s: Tensor) -> Tensor:
        p = q = torch.zeros_like(x[0])
        rows = []
        for t in range(len(x)):
            p, q = c * p - s * q + x[t], r * p + c * q + y[t]
            rows.append(p * q)
        return torch.stack(rows)

    def wrong(x: Tensor, y: Tensor, c: Tensor, r: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        p, q = [torch.zeros_like(x[0])], [torch.zeros_like(x[0])]
        for t in range(len(x)):
            before, beside = p[-1], q[-1]
            p.append(c * before - s * beside + x[t])
            q.append(r * before + c * beside + y[t])
        dp, dq, dx, dy = torch.zeros_like(p[0]), torch.zeros_like(p[0]), torch.zeros_like(x), torch.zeros_like(y)
        for t in reversed(range(len(x))):
            dp, dq = dp + g[t] * q[t + 1], dq + g[t] * p[t + 1]
            dx[t], dy[t] = dp, dq
            dp, dq = c * dp, c * dq
        return {"x": dx, "y": dy}

    return Example(forward, wrong, {"x": "t bs n", "y": "t bs n", "c": "n", "r": "n", "s": "n"})


def stages_of(program: Program, place: Place) -> tuple[Segment, ...]:
    """Return the stages in which a loop updates the value `place`, several in each iteration, the first one first.

    For `m = m - m.logsumexp(1, True)` and then `m = m - m.logsumexp(0, True)` in a loop: two for each iteration. A
    stage ends in a value of the same shape that is assigned to a variable, and that all paths of the backward pass go
    through. Empty where there are not two in an iteration.

    Args:
        program: the program of a trial.
        place: the value that the loop begins with.
    """
    forward, start = program.right.forward, place[0]
    if len(forward.by_key[forward.nodes[start].key]) > 1:
        return ()
    ends = [
        i
        for i in forward.common_readers(start)
        if forward.shapes[i] == forward.shapes[start]
        and len(forward.by_key[forward.nodes[i].key]) > 1
        and forward.nodes[i].variable
    ]
    if len({forward.nodes[i].key for i in ends}) < 2:
        return ()
    stages = [segment(forward, source, value, set()) for source, value in itertools.pairwise((start, *ends))]
    return tuple(stage for stage in stages if stage is not None)


@operator(
    "stages-in-forward-order",
    code="wrong-order",
    rank=3.0,
    at=values.where(lambda program, place: bool(stages_of(program, place))),
    choices=lambda program, place: (None,),
    message="the steps of the loop that update {names} are undone from the first to the last; the backward pass must"
    " start with the last",
    fields=lambda program, place, choice: {
        "names": list_in_words(
            dict.fromkeys(program.nodes[stage.value].variable for stage in stages_of(program, place))
        )
    },
)
def undo_stages_forwards(program: Program, place: Place, choice: None) -> Program | None:
    """Pass the gradient back through the stages of a loop from the first to the last, not from the last to the first.

    A stage is one update of a value. The first stage takes the gradient of the value after the loop as its upstream
    gradient, and each further stage what the stage before it passes back. `place` is the value that the loop begins
    with. Returns `None` where this trial has no such loop.
    """
    stages = stages_of(program, place)
    if not stages:
        return None
    last = stages[-1].value

    def upstream(number: int) -> EdgeVjp:
        """Return the vjp that gives the gradient of the last value, passed back through the first `number` stages."""

        def passed(at: EdgeContext) -> Array:
            """Return this gradient."""
            g = at.sweep.gradient(last)
            for stage in stages[:number]:
                g = stage.pull(g)
            return g

        return passed

    for number, stage in enumerate(stages):
        program = program.with_upstream(stage.value, upstream(number))
    return program.without(*program.forward.uses[place[0]]).with_edge(last, place[0], upstream(len(stages)))


@undo_stages_forwards.example
def _() -> Example:
    """Show m = -c, from which the logsumexp of rows and of columns is subtracted in turn, undone from the first on."""

    def forward(c: Tensor) -> Tensor:
        m = -c
        for _ in range(3):
            m = m - m.logsumexp(1, keepdim=True)
            m = m - m.logsumexp(0, keepdim=True)
        return m.exp() * c

    def wrong(c: Tensor, g: Tensor) -> dict[str, Tensor]:
        m, saved = -c, []
        for _ in range(3):
            for axis in (1, 0):
                m = m - m.logsumexp(axis, keepdim=True)
                saved.append((axis, m.exp()))
        dm = g * m.exp() * c
        for axis, p in saved:
            dm = dm - p * dm.sum(axis, keepdim=True)
        return {"c": g * m.exp() - dm}

    return Example(forward, wrong, {"c": "n m"})


@dataclass(frozen=True)
class UpdatedRead:
    """A gradient of a state that is used only after it has been overwritten by that of the previous iteration.

    Args:
        keys: the keys of the states whose gradients are used too late.
        reader: the key of the state whose earlier value gets a wrong gradient by it; `None` where all other operands of
            the step get one, such as w and k[t] in a = w * a + k[t].
        carried: whether the overwritten gradient is only what the iteration has passed back; else it also has what the
            earlier value gets otherwise, such as from an output of the previous iteration.
    """

    keys: tuple[Key, ...]
    reader: Key | None
    carried: bool


def updated_reads(program: Program, place: Place) -> Iterator[UpdatedRead]:
    """Yield `UpdatedRead`s: which gradients of states are used after they have been overwritten, and for what.

    First the gradient of the state `place`, used for all operands of the step that are no states (`reader=None`); at
    the first state of a loop, those of all its states together as well; then, for every two states of the loop, the
    gradient of one, used for that of the other (`reader`). Each comes twice: with what the iteration passes back alone,
    and with all that the earlier state gets.

    Args:
        program: the program of a trial.
        place: a loop-carried value, as the first iteration makes it.
    """
    for keys in keys_carried_together(program, place):
        yield from (UpdatedRead(keys, None, carried) for carried in (False, True))
        if len(keys) > 1:
            for own in keys:
                for reader in keys:
                    if own != reader:
                        yield from (UpdatedRead((own,), reader, carried) for carried in (True, False))


@operator(
    "gradient-updated-too-early",
    code="wrong-order",
    rank=2.3,
    at=carried_first_values,
    choices=updated_reads,
    message="the gradient of {names} is passed back to the previous iteration before it is used {what}; use it first,"
    " then pass it back",
    fields=lambda program, place, choice: {
        "names": describe_keys(program, choice.keys),
        "what": "for anything else"
        if choice.reader is None
        else f"for the gradient of {describe_keys(program, (choice.reader,))}",
    },
)
def read_updated_gradient(program: Program, place: Place, choice: UpdatedRead) -> Program:
    """Use the gradient of a state as it is before an iteration where that after the iteration must be used.

    For a = w * a + k[t], and `reader=None`: dk[t] and dw are made with the gradient of the earlier a. For p, q = c * p
    - s * q, s * p + c * q, and the reader q: the gradient of the earlier q is made with that of the earlier p.

    Args:
        program: the right program.
        place: a loop-carried value, as the first iteration makes it.
        choice: which gradients are wrong, and in which contributions.

    Returns:
        The rewritten program, also where it is the right one.
    """
    *_, group = keys_carried_together(program.right, place)
    steps = steps_of(program, tuple(dict.fromkeys((*choice.keys, *group))))
    for number, step in enumerate(steps):
        for own in choice.keys:
            if choice.reader is None:
                ways = segments_of_other_operands(program.right, steps, number, own)
            else:
                way = step.between(choice.reader, own)
                ways = [] if way is None else [way]
            for way in ways:
                rule = _of_updated_gradient(step, own, way, choice.carried)
                program = program.with_edge(step.after[own], way.source, rule)
    return program


def segments_of_other_operands(program: Program, steps: list[Step], number: int, key: Key) -> list[Segment]:
    """Return how a state after an iteration depends on each operand of the step that is no state, one segment for each.

    For a = w * a + k[t] * v[t]: on w, and on the product of k[t] and v[t]. Such an operand is read by a node between
    the states, and is itself neither a state nor such a node. It has no segment where it also leads to the state by way
    of other nodes than these.

    Args:
        program: the right program.
        steps: the iterations of the loop.
        number: the number of the iteration, from 0.
        key: the key of the state.
    """
    forward, step = program.forward, steps[number]
    ways = [way for each in steps for source in each.before if (way := each.between(source, key)) is not None]
    keys = {forward.nodes[node].key for way in ways for node in way.inner}
    cone = {step.after[key], *(ids[number] for each in keys if len(ids := forward.by_key[each]) == len(steps))}
    states = {*step.before.values(), *step.after.values()}
    operands, waiting = dict[int, None](), sorted(cone)
    while waiting:
        for _, operand in forward.edges[waiting.pop()]:
            if operand not in cone | states:
                if forward.uses[operand] or operand in program.inputs.values():
                    operands[operand] = None
                else:  # of a last iteration whose state nothing reads
                    cone.add(operand)
                    waiting.append(operand)
    segments_of_operands = (segment(forward, operand, step.after[key], states) for operand in operands)
    return [way for way in segments_of_operands if way is not None and set(way.inner) <= cone]


def _of_updated_gradient(step: Step, key: Key, way: Segment, carried: bool) -> EdgeVjp:
    """Return the error in the contribution to an operand of a loop, if dh is updated before it is used.

    The wrong contribution takes the gradient of the state before the iteration, which is already updated; the right one
    takes that of the state after it. The vjp gives the wrong one minus the right one: as a further edge of the right
    backward pass, it makes the contribution wrong.

    Args:
        step: the iteration.
        key: the key of the state h, whose gradient is dh.
        way: the segment of the iteration from the operand to the state after it.
        carried: whether the gradient of the earlier state is only what this iteration passes back to it.
    """
    is_constant = key not in step.before
    ways = {value: step.between(key, value) for value in step.after} if carried else {}

    def contribution(at: EdgeContext) -> Array:
        """Return what the updated gradient contributes, less what the right one does."""
        if is_constant:
            updated = gradient_of_start(at.program, at.sweep, step.after[key])
        elif carried:
            parts = (each.pull(at.sweep.gradient(step.after[value])) for value, each in ways.items() if each)
            updated = np.asarray(sum(parts))
        else:
            updated = at.sweep.gradient(step.before[key])
        return way.pull(updated - at.g)

    return contribution


def edges_to_start(program: Program, first: int) -> list[Place]:
    """Return the edges (reader, slot) by which the first iteration reads a state, which may be a constant there.

    Args:
        program: the right program.
        first: the id of the state that the first iteration makes.
    """
    carried = (each for each in cached_loop_carried_values(program) if each.made[0] == first)
    return [(program.forward.by_key[each.key][0], each.slot) for each in carried]


def gradient_of_start(program: Program, sweep: Sweep, first: int) -> Array:
    """Return what the first iteration passes back to the initial value of a state, which may be a constant.

    Args:
        program: the program.
        sweep: the reverse sweep of this program, with the gradients of all values.
        first: the id of the state that the first iteration makes.
    """
    nodes = program.right.nodes
    parts = [nodes[reader].vjp(slot, sweep.gradient(reader)) for reader, slot in edges_to_start(program.right, first)]
    return np.asarray(sum(parts))


@read_updated_gradient.example
def _() -> Example:
    """Show p, q = c * p - s * q, s * p + c * q, whose dq = c * dq - s * dp uses the dp that has been overwritten."""

    def forward(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> Tensor:
        p = q = torch.zeros_like(x[0])
        rows = []
        for t in range(len(x)):
            p, q = c * p - s * q + x[t], s * p + c * q + y[t]
            rows.append(p * q)
        return torch.stack(rows)

    def wrong(x: Tensor, y: Tensor, c: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        p, q = [torch.zeros_like(x[0])], [torch.zeros_like(x[0])]
        for t in range(len(x)):
            before, beside = p[-1], q[-1]
            p.append(c * before - s * beside + x[t])
            q.append(s * before + c * beside + y[t])
        dp, dq, dx, dy = torch.zeros_like(p[0]), torch.zeros_like(p[0]), torch.zeros_like(x), torch.zeros_like(y)
        for t in reversed(range(len(x))):
            dp, dq = dp + g[t] * q[t + 1], dq + g[t] * p[t + 1]
            dx[t], dy[t] = dp, dq
            dp = c * dp + s * dq
            dq = c * dq - s * dp
        return {"x": dx, "y": dy}

    return Example(forward, wrong, {"x": "t bs n", "y": "t bs n", "c": "n", "s": "n"})


@read_updated_gradient.example
def _() -> Example:
    """Show a = w * a + k[t] * v[t], b = w * b + k[t]**2, whose dk[t] uses da and db of one iteration earlier."""

    def forward(w: Tensor, k: Tensor, v: Tensor) -> Tensor:
        a = b = torch.zeros_like(k[0])
        rows = []
        for t in range(len(k)):
            rows.append(v[t] * a / (1 + b))
            a = w * a + k[t] * v[t]
            b = w * b + k[t].square()
        return torch.stack(rows)

    def wrong(w: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        a, b = [torch.zeros_like(k[0])], [torch.zeros_like(k[0])]
        for t in range(len(k)):
            a.append(w * a[-1] + k[t] * v[t])
            b.append(w * b[-1] + k[t].square())
        da, db, dk, dw = torch.zeros_like(a[0]), torch.zeros_like(a[0]), torch.zeros_like(k), torch.zeros_like(w)
        for t in reversed(range(len(k))):
            da = w * da + g[t] * v[t] / (1 + b[t])
            db = w * db - g[t] * v[t] * a[t] / (1 + b[t]).square()
            dk[t] = da * v[t] + 2 * db * k[t]
            dw += (da * a[t] + db * b[t]).sum(0)
        return {"k": dk, "w": dw}

    return Example(forward, wrong, {"w": "n", "k": "t bs n", "v": "t bs n"})


def states_with_outputs(program: Program, place: Place) -> Iterator[tuple[Key, ...]]:
    """Yield the keys of states that are read both by later iterations and elsewhere, such as by an output.

    First the state `place` alone; then, at the first state of a loop, all its states, if each of them is read so.

    Args:
        program: the program of a trial.
        place: a loop-carried value, as the first iteration makes it.
    """
    for keys in keys_carried_together(program, place):
        ids = [program.forward.by_key[key][0] for key in keys]
        if all(edges_from_later(program, i) and _edges_not_from_later(program, i) for i in ids):
            yield keys


def _edges_not_from_later(program: Program, value: int) -> list[Place]:
    """Return the edges of a value in a loop that do not come from later iterations, such as those of an output."""
    later = edges_from_later(program, value)
    return [edge for edge in program.forward.uses[value] if edge not in later]


@operator(
    "gradient-used-too-early",
    code="wrong-order",
    rank=2.1,
    at=carried_first_values,
    choices=states_with_outputs,
    message="the gradient of {names} is used before the contributions of the same iteration are added to it; add them"
    " first",
    fields=lambda program, place, choice: {"names": describe_keys(program, choice)},
)
def use_gradient_without_outputs(program: Program, place: Place, choice: tuple[Key, ...]) -> Program:
    """Use the gradient of a state for the operands of its step before the contributions of its own iteration are added.

    What is passed back to the state before stays right. For s = w * s + k[t] and the output q[t] * s: dk[t] gets what
    comes from the next iteration, and not g[t] * q[t].

    Args:
        program: the right program.
        place: a loop-carried value, as the first iteration makes it.
        choice: the keys of this state, or of all states of its loop.

    Returns:
        The rewritten program, also where it is the right one.
    """
    *_, group = keys_carried_together(program.right, place)
    steps = steps_of(program, tuple(dict.fromkeys((*choice, *group))))

    def rule(way: Segment, own: list[Place]) -> EdgeVjp:
        """Return the vjp that subtracts what the edges `own` contribute along a path."""
        return lambda at: -way.pull(np.asarray(sum(map(at.sweep.contribution, own))))

    for number, step in enumerate(steps):
        for key in choice:
            own = _edges_not_from_later(program.right, step.after[key])
            for way in segments_of_other_operands(program.right, steps, number, key) if own else ():
                program = program.with_edge(step.after[key], way.source, rule(way, own))
    return program


@use_gradient_without_outputs.example
def _() -> Example:
    """Show rows a / (1 + b) of a = w * a + k[t] * v[t], b = w * b + k[t]**2, whose dk[t] lacks the part of row t."""

    def forward(w: Tensor, k: Tensor, v: Tensor) -> Tensor:
        a = b = torch.zeros_like(k[0])
        rows = []
        for t in range(len(k)):
            a = w * a + k[t] * v[t]
            b = w * b + k[t].square()
            rows.append(a / (1 + b))
        return torch.stack(rows)

    def wrong(w: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        a, b = [torch.zeros_like(k[0])], [torch.zeros_like(k[0])]
        for t in range(len(k)):
            a.append(w * a[-1] + k[t] * v[t])
            b.append(w * b[-1] + k[t].square())
        da, db, dk = torch.zeros_like(a[0]), torch.zeros_like(a[0]), torch.zeros_like(k)
        for t in reversed(range(len(k))):
            dk[t] = da * v[t] + 2 * db * k[t]
            da = w * (da + g[t] / (1 + b[t + 1]))
            db = w * (db - g[t] * a[t + 1] / (1 + b[t + 1]).square())
        return {"k": dk}

    return Example(forward, wrong, {"w": "n", "k": "t bs n", "v": "t bs n"})


@dataclass(frozen=True)
class Leak:
    """Two loops, of which the backward pass of one starts with the gradient that is left over from the other.

    Args:
        ends: the key of the loop-carried value whose gradient is left over after its first iteration.
        begins: the key of the loop-carried value of the other loop, to whose last value this gradient is added.
    """

    ends: Key
    begins: Key


def leaks(program: Program, place: Place) -> Iterator[Leak]:
    """Yield `Leak`s: two loop-carried values of one shape, of different loops that do not depend on each other.

    Args:
        program: the program of a trial.
        place: not read.
    """
    forward = program.forward
    made = {forward.nodes[each.made[0]].key: forward.by_key[forward.nodes[each.made[0]].key]
            for each in cached_loop_carried_values(program)}  # fmt: skip
    for ends, ids in made.items():
        for begins, others in made.items():
            last = others[-1]
            is_same = forward.shapes[ids[0]] == forward.shapes[last]
            apart = not (forward.ancestors[last] >> ids[0] & 1 or forward.ancestors[ids[-1]] >> others[0] & 1)
            if ends != begins and is_same and apart and not _iterations_overlap(ids, others):
                yield Leak(ends, begins)


def _iterations_overlap(first: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether the iterations of two values overlap, as where one loop makes both.

    False if all values of one are made before all of the other.

    Args:
        first: the ids of a value, one for each iteration, in rising order.
        other: those of the other value.
    """
    return first[0] < other[-1] and other[0] < first[-1]


@operator(
    "carry-kept-for-other-loop",
    code="stale-gradient",
    rank=2.3,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=leaks,
    message="the backward pass of the loop of {begins} starts with the gradient that is left over from the loop of"
    " {ends}; set this gradient to zero before the loop",
    fields=lambda program, place, choice: {
        "begins": describe_state(program, choice.begins),
        "ends": describe_state(program, choice.ends),
    },
)
def keep_carry_for_other_loop(program: Program, place: Place, choice: Leak) -> Program | None:
    """Add what one loop passes back from its first iteration to the gradient of the last state of another loop.

    Args:
        program: the right program.
        place: not read.
        choice: the keys of both loops' values.

    Returns:
        The rewritten program; `None` where this trial lacks one of the loops.
    """
    forward = program.right.forward
    ends, begins = forward.by_key.get(choice.ends, ()), forward.by_key.get(choice.begins, ())
    if not ends or not begins:
        return None

    def left_over(slot: int) -> EdgeVjp:
        """Return the vjp that contributes what the first iteration passes back in a slot."""
        return lambda at: at.node.vjp(slot, at.g)

    for reader, slot in edges_to_start(program.right, ends[0]):
        if forward.shapes[begins[-1]] == np.shape(forward.nodes[reader].values[slot]):
            program = program.with_edge(reader, begins[-1], left_over(slot))
    return program


def describe_state(program: Program, key: Key) -> str:
    """Return what a learner calls a loop-carried value: `h`, or ``h in `run(x, u)` `` if a function call makes it."""
    node = program.nodes[program.forward.by_key[key][0]]
    name = program.name_of(node.id)
    return f"{name} in `{node.call}`" if node.call else name


@keep_carry_for_other_loop.example
def _() -> Example:
    """Show h = tanh(x[t] + h @ u) in both directions, whose second backward loop begins with the dh of the first."""

    def run(x: Tensor, u: Tensor, order: list[int]) -> Tensor:
        h, rows = torch.zeros_like(x[0]), [torch.zeros_like(x[0])] * len(x)
        for t in order:
            h = torch.tanh(x[t] + h @ u)
            rows[t] = h
        return torch.stack(rows)

    def forward(x: Tensor, u: Tensor, k: Tensor) -> Tensor:
        order = list(range(len(x)))
        return run(x, u, order) + k * run(x, u, order[::-1])

    def wrong(x: Tensor, u: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        order = list(range(len(x)))
        f, b = run(x, u, order), run(x, u, order[::-1])
        dx, du, dh = torch.zeros_like(x), torch.zeros_like(u), torch.zeros_like(x[0])
        for t in reversed(order):
            dz = (g[t] + dh) * (1 - f[t] ** 2)
            dx[t] += dz
            du += f[t - 1].T @ dz if t else 0
            dh = dz @ u.T
        for t in order:
            dz = (k * g[t] + dh) * (1 - b[t] ** 2)
            dx[t] += dz
            du += b[t + 1].T @ dz if t + 1 < len(x) else 0
            dh = dz @ u.T
        return {"x": dx, "u": du}

    return Example(forward, wrong, {"x": "t bs n", "u": "n n", "k": "n"})


Where = Literal["last", "every"]


@dataclass(frozen=True)
class SharedGradient:
    """Two values whose gradients are accumulated in one array.

    Args:
        first: the key of the nodes that make one of them.
        second: the key of those that make the other.
        where: in which iterations, if they are values of a loop; for the last one, only what comes from outside of the
            loop is shared, as where the two gradients begin as one array of zeros.
    """

    first: Key
    second: Key
    where: Where


def shared_gradients(program: Program, place: Place) -> Iterator[SharedGradient]:
    """Yield `SharedGradient`s: two computed values of one shape that one operation reads, or that loops carry.

    The operands of a sum or difference are left out, as their gradients are the same but for the sign. Two loop-carried
    values may be of two loops, if these have equally many iterations.

    Args:
        program: the program of a trial.
        place: not read.
    """
    forward = program.forward
    pairs: dict[tuple[Key, Key], None] = {}
    for node in forward.nodes:
        if node.iteration == 0 and node.name not in ("add", "sub"):
            read = [operand for _, operand in forward.edges[node.id] if forward.nodes[operand].edges]
            pairs |= {(forward.nodes[a].key, forward.nodes[b].key): None for a in read for b in read if a < b}
    made = dict.fromkeys(each.made[0] for each in cached_loop_carried_values(program))
    pairs |= {(forward.nodes[a].key, forward.nodes[b].key): None for a in made for b in made if a < b}
    for first, second in pairs:
        ids, others = forward.by_key[first], forward.by_key[second]
        if len(ids) == len(others) and forward.shapes[ids[-1]] == forward.shapes[others[-1]] and first != second:
            yield from (
                SharedGradient(first, second, where) for where in (("every", "last") if len(ids) > 1 else ("every",))
            )


@operator(
    "gradients-share-array",
    code="shared-array",
    rank=2.5,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=shared_gradients,
    message="the gradients of {names} are accumulated in one array, so that each contains the other{when}",
    fields=lambda program, place, choice: {
        "names": f"{describe_state(program, choice.first)} and {describe_state(program, choice.second)}",
        "when": " in the last iteration, where the backward pass begins" if choice.where == "last" else "",
    },
)
def share_gradients(program: Program, place: Place, choice: SharedGradient) -> Program | None:
    """Give each of two values the sum of the gradients of both, as if these were one array.

    Args:
        program: the right program.
        place: not read.
        choice: the keys of both values, and in which iterations.

    Returns:
        The rewritten program; `None` where this trial lacks one of the values, or has one of them more often.
    """
    forward = program.right.forward
    ids, others = forward.by_key.get(choice.first, ()), forward.by_key.get(choice.second, ())
    if not ids or len(ids) != len(others):
        return None

    def with_other(other: int) -> EdgeVjp:
        """Return the function that adds the gradient of the other value."""
        return lambda at: at.g + at.sweep.gradient(other)

    for first, second in list(zip(ids, others, strict=True))[
        slice(-1, None) if choice.where == "last" else slice(None)
    ]:
        program = program.with_upstream(first, with_other(second)).with_upstream(second, with_other(first))
    return program


@share_gradients.example
def _() -> Example:
    """Show tanh(x @ w) * sigmoid(x @ u) whose two factors get one gradient array, to which both add."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        left, right = torch.tanh(x @ w), torch.sigmoid(x @ u)
        return left * right

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        left, right = torch.tanh(x @ w), torch.sigmoid(x @ u)
        dleft = dright = g * right
        dright += g * left
        return {"w": x.T @ (dleft * (1 - left**2)), "u": x.T @ (dright * right * (1 - right))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


LEAST_STEPS = 8  # iterations of a loop that looks for a fixed point
CONVERGED = 1e-4  # how far its last iteration may move the state, in proportion to the state


class AdjointMistake(NamedTuple):
    """A mistake in the gradient of a fixed point h = f(h), whose right one is the solution a of a = g + J.T a.

    Args:
        code: the public code.
        message: what is wrong, in words.
        compute: takes the function f at the fixed point, g, and a number of iterations; returns what is used as a.
    """

    code: str
    message: str
    compute: Callable[[Segment, Array, int], Array]


def _iterate(g: Array, count: int, step: Callable[[Array], Array]) -> Array:
    """Return the sum g + step(g) + step(step(g)) + ... of `count` + 1 terms, for a linear function `step`."""
    total = g
    for _ in range(count):
        total = g + step(total)
    return total


def _pull_on_other_side(function: Segment, g: Array) -> Array:
    """Return a step's gradient with the derivative of the last operation applied after those of all others, not before.

    For tanh(h @ w), with d = 1 - tanh(h @ w)**2: d * (g @ w.T) in place of (d * g) @ w.T.

    Args:
        function: the step of a loop, whose last operation has one operand with a gradient.
        g: the upstream gradient, shaped like the value of the step.
    """
    forward, last = function.forward, function.value
    ((slot, operand),) = forward.edges[last]
    all_but_last = replace(function, value=operand, inner=function.inner[:-1])
    return forward.vjps[last, slot](all_but_last.pull(g))


ADJOINT_MISTAKES: Mapping[str, AdjointMistake] = {
    "not transposed": AdjointMistake(
        "transposed", "the matrix of the linear system is I - J; it must be the transpose of I - J, where J is the"
        " Jacobian of one iteration",
        lambda f, g, count: _iterate(g, count, f.push)),
    "multiplied": AdjointMistake(
        "wrong-local", "the gradient is multiplied by I - J.T, where J is the Jacobian of one iteration; a linear"
        " system with this matrix must be solved instead",
        lambda f, g, count: g - f.pull(g)),
    "sign": AdjointMistake(
        "wrong-sign", "the matrix of the linear system is I + J.T; it must be I - J.T, where J is the Jacobian of one"
        " iteration",
        lambda f, g, count: _iterate(g, count, lambda a: -f.pull(a))),
    "other side": AdjointMistake(
        "wrong-local", "one factor of the Jacobian of one iteration, the last derivative, is multiplied from the wrong"
        " side",
        lambda f, g, count: _iterate(g, count, lambda a: _pull_on_other_side(f, a))),
}  # fmt: skip


def fixed_point_steps(program: Program, place: Place) -> list[Step]:
    """Return the iterations of a loop that looks for a fixed point of the value `place`; empty for any other loop.

    Such a loop has `LEAST_STEPS` iterations or more, carries no other value, and hardly changes this one in the last
    iteration.
    """
    key, ids = program.nodes[place[0]].key, iterations_of(program, place[0])
    if len(ids) < LEAST_STEPS or {*states_of_loop(program, place)} - {key}:
        return []
    before, last = (program.nodes[i].value for i in ids[-2:])
    moved = float(np.abs(last - before).max(initial=0.0))
    return steps_of(program, (key,)) if moved <= CONVERGED * float(np.abs(last).max(initial=0.0)) else []


@operator(
    "fixed-point-mistaken",
    code=lambda choice: ADJOINT_MISTAKES[choice].code,
    rank=2.2,
    at=carried_first_values.where(lambda program, place: bool(fixed_point_steps(program, place))),
    choices=lambda program, place: ADJOINT_MISTAKES,
    message="in the gradient through the fixed point {value}, {mistake}",
    fields=lambda program, place, choice: {"mistake": ADJOINT_MISTAKES[choice].message},
)
def use_wrong_fixed_point_gradient(program: Program, place: Place, choice: str) -> Program | None:
    """Use a wrong gradient of a fixed point, at which a loop ends, in place of the solution a of a = g + J.T a.

    J is the Jacobian of the last iteration; what that iteration reads gets its contributions from a, and earlier
    iterations contribute nothing.

    Args:
        program: the right program.
        place: the value that the loop carries, as the first iteration makes it.
        choice: a key of `ADJOINT_MISTAKES`, such as `"sign"` for the solution of a = g - J.T a.

    Returns:
        The rewritten program; `None` where the loop does not end at a fixed point.
    """
    steps = fixed_point_steps(program.right, place)
    if not steps:
        return None
    (key, value), *_ = steps[-1].after.items()
    function = steps[-1].between(key, key)
    if function is None:
        return None
    mistake = ADJOINT_MISTAKES[choice]
    entering = [edge for edge in program.forward.uses[steps[-1].before[key]] if edge[0] in function.inner]
    edited = program.without(*entering)
    return edited.with_upstream(value, lambda at: mistake.compute(function, at.g, len(steps)))


@use_wrong_fixed_point_gradient.example
def _() -> Example:
    """Show the fixed point of h = tanh(h @ w + x), whose gradient solves a = g + J a in place of a = g + J.T a."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        h = torch.zeros_like(x)
        for _ in range(30):
            h = torch.tanh(h @ (w / 10) + x)
        return h

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        h = forward(x, w)
        slope, dz = 1 - h**2, torch.zeros_like(x)
        for i in range(len(x)):
            jacobian = slope[i][:, None] * w.T / 10
            dz[i] = torch.linalg.solve(torch.eye(len(w), dtype=w.dtype) - jacobian, g[i]) * slope[i]
        return {"x": dz, "w": h.T @ dz / 10}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})
