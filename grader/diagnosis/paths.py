"""Paths: a value that is used several times, or in every turn of a loop, followed along only some of its uses.

A path goes through an edge: one line of the forward pass that uses a value. In a loop that line uses the value of every
turn, and these uses are one edge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from grader.reference.trace import Line, Position, Step, Trace, Use

from .operator import AVERAGES, REDUCTIONS, SUMS, Kind, Operator, Parameters, Uses, of_any_turn, step_name, value_name

MOST_PATHS = 4
NOTHING = 1e-9
LAST_TURNS = (1, 2, 3)


@dataclass(frozen=True)
class Edge:
    """One line of the forward pass that uses a value.

    Args:
        source: an input's name, or the line that the value comes from.
        line: the line that uses it.
        position: as which operand; `None` where it is one of a list.
    """

    source: str | Line
    line: Line
    position: Position | None

    def uses(self, trace: Trace) -> list[Use]:
        """Every use in a trace, in the order of the forward pass."""
        keys = {self.source} if isinstance(self.source, str) else {f"%{i}" for i in trace.turns.get(self.source, [])}
        return [
            (i, where)
            for i in trace.turns.get(self.line, [])
            for where, key in trace.steps[i].operands
            if key in keys and (self.position is None or where == self.position)
        ]


def source_of(trace: Trace, key: str) -> str | Line:
    return trace.steps[int(key[1:])].line if key.startswith("%") else key


def edges_of(trace: Trace, wrt: str) -> dict[str | Line, list[Edge]]:
    """Every value on the way from `wrt` to the output, with the edges that go on from it."""
    relevant, found = trace.depends(wrt), dict[str | Line, dict[Edge, None]]()
    for step in trace.steps:
        if step.key in relevant:
            for where, key in step.operands:
                if key in relevant:
                    edge = Edge(source_of(trace, key), step.line, where if len(where) == 1 else None)
                    found.setdefault(edge.source, {})[edge] = None
    return {source: list(edges) for source, edges in found.items()}


def used_often(trace: Trace, wrt: str) -> Iterator[tuple[str, list[Edge]]]:
    """Every value that several edges go on from, as a record names it."""
    for source, edges in edges_of(trace, wrt).items():
        if 2 <= len(edges) <= MOST_PATHS:
            yield name_of_source(trace, source), edges


def name_of_source(trace: Trace, source: str | Line) -> str:
    if isinstance(source, str):
        return source
    return of_any_turn(trace, value_name(trace, trace.steps[trace.turns[source][0]].key))


def through(trace: Trace, edges: tuple[Edge, ...]) -> list[str]:
    """The operations that the edges lead to, as a record names them."""
    return [step_name(trace.steps[trace.turns[edge.line][0]]) for edge in edges]


def _is_carried(trace: Trace, edge: Edge) -> bool:
    """It hands a value on from one turn of a loop to the next."""
    uses = edge.uses(trace)
    return any(
        dict(trace.steps[there].operands)[where] in trace.depends(trace.steps[here].key)
        for (here, _), (there, where) in itertools.pairwise(uses)
    )


def uses_of(trace: Trace, edges: tuple[Edge, ...]) -> Uses:
    return frozenset(use for edge in edges for use in edge.uses(trace))


def idle_edges(trace: Trace, wrt: str) -> tuple[Edge, ...]:
    """Edges that contribute nothing in total, as that of the mean in a variance: whoever knows it leaves them out."""
    right = trace.backward(wrt)
    bound = NOTHING * float(right.abs().max()) if right.numel() else 0.0
    idle: tuple[Edge, ...] = ()
    for _, edges in used_often(trace, wrt):
        for edge in edges:
            skip = uses_of(trace, (*idle, edge))
            if float((trace.backward(wrt, skip=skip) - right).abs().max()) <= bound:
                idle = (*idle, edge)
    return idle


def _skipped(trace: Trace, _: Any, edges: tuple[Edge, ...]) -> Uses:
    return uses_of(trace, edges)


def _turned_off(trace: Trace, _: Any, edge: Edge, keep: slice) -> Uses:
    uses = edge.uses(trace)
    kept = uses[keep]
    if not kept and keep != slice(0, 0):
        raise ValueError("there are no such turns at these sizes")
    return frozenset(uses) - frozenset(kept)


def _cut_once(trace: Trace, _: Any, edge: Edge, turn: int) -> Uses:
    uses = edge.uses(trace)
    if not -len(uses) <= turn < len(uses) or len(uses) < 2:
        raise ValueError("there is no such turn at these sizes")
    return frozenset([uses[turn]])


CUT_ONCE = Operator("cut-once", "missing-path", _cut_once, kind=Kind.EDGES)


def _truncated(trace: Trace, wrt: str, edge: Edge, exits: tuple[Edge, ...], turns: int) -> torch.Tensor:
    """What each turn gives to the output goes back through the last few turns only, and no further."""
    carried, found = edge.uses(trace), torch.zeros_like(trace.inputs[wrt])
    leaving = [use for exit_ in exits for use in exit_.uses(trace)]
    if not leaving or len(carried) < 2:
        raise ValueError("there is no loop at these sizes")
    for use in leaving:
        source = dict(trace.steps[use[0]].operands)[use[1]]
        before = [other for other in carried if trace.steps[other[0]].key in trace.reaches(source)]
        cut = frozenset(before[: max(len(before) - turns, 0)])
        found = found + trace.backward(wrt, skip=frozenset(leaving) - {use} | cut)
    return found


TRUNCATED = Operator("truncated", "missing-path", _truncated, kind=Kind.SWEEP)
MISSING = Operator("path-missing", "missing-path", _skipped, kind=Kind.EDGES)
TURNS_MISSING = (
    (Operator("no-gradient-through-loop", "missing-path", _turned_off, kind=Kind.EDGES), [slice(0, 0)]),
    (Operator("only-last-turns", "missing-path", _turned_off, kind=Kind.EDGES), [slice(-k, None) for k in LAST_TURNS]),
    (Operator("only-first-turn", "missing-path", _turned_off, kind=Kind.EDGES), [slice(0, 1)]),
    (Operator("last-turn-missing", "missing-path", _turned_off, kind=Kind.EDGES), [slice(0, -1)]),
    (Operator("first-turn-missing", "missing-path", _turned_off, kind=Kind.EDGES), [slice(1, None)]),
)


def path_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters, tuple[Edge, ...]]]:
    """Operator, parameters, what is told, and the edges that carry nothing, or not always."""
    for name, edges in used_often(trace, wrt):
        for count in range(1, len(edges)):
            for dropped in itertools.combinations(edges, count):
                told = {"value": name, "count": len(edges), "missing": through(trace, dropped)}
                if count > 1 or not _is_carried(trace, dropped[0]):
                    yield MISSING, {"edges": dropped}, told, dropped
    for edges in edges_of(trace, wrt).values():
        for edge in edges:
            uses = edge.uses(trace)
            if len(uses) > 1:
                cut = len(edges) > 1 and _is_carried(trace, edge)
                for operator, keeps in TURNS_MISSING:
                    for keep in keeps if cut or operator.name != "no-gradient-through-loop" else ():
                        told = {"value": name_of_source(trace, edge.source), "step": through(trace, (edge,))[0],
                                "turns": len(range(*keep.indices(99)))}  # fmt: skip
                        yield operator, {"edge": edge, "keep": keep}, told, (edge,)
                exits = tuple(other for other in edges if other != edge)
                for turn in range(-len(uses), len(uses)) if exits else ():
                    told = {"turns": turn, "step": through(trace, (edge,))[0]}
                    yield CUT_ONCE, {"edge": edge, "turn": turn}, told, (edge,)
                for turns in LAST_TURNS if exits else ():
                    told = {"turns": turns, "step": through(trace, (edge,))[0]}
                    yield TRUNCATED, {"edge": edge, "exits": exits, "turns": turns}, told, (edge,)


def _derivative_of(trace: Trace, key: str, wrt: str) -> torch.Tensor:
    if key == wrt:
        return torch.ones_like(trace.inputs[wrt])
    value = trace.values()[key]
    steps = trace.steps[: int(key[1:]) + 1]
    return replace(trace, steps=steps, out=key, out_g=torch.ones_like(value), memo={}).backward(wrt)


def _derivatives_multiplied(trace: Trace, wrt: str, line: Line) -> torch.Tensor:
    (index,) = trace.turns[line]
    step = trace.steps[index]
    both = frozenset((index, where) for where, _ in step.operands)
    one, two = (_derivative_of(trace, key, wrt) for _, key in step.operands)
    return trace.backward(wrt, skip=both) + trace.out_g * one * two


def _gradient_of(trace: Trace, wrt: str, line: Line) -> torch.Tensor:
    (index,) = trace.turns[line]
    return trace.gradients(wrt)[f"%{index}"].expand(trace.inputs[wrt].shape)


def _added(trace: Trace, wrt: str, line: Line) -> torch.Tensor:
    (index,) = trace.turns[line]
    key = f"%{index}"
    return (trace.values()[key] * trace.gradients(wrt)[key]).expand(trace.inputs[wrt].shape)


def _value(trace: Trace, _: str, line: Line) -> torch.Tensor:
    return trace.steps[trace.turns[line][-1]].value


def _forward_of_upstream(trace: Trace, wrt: str) -> torch.Tensor:
    other = trace.again({wrt: trace.out_g})
    return other.values()[other.out]


DERIVATIVES_MULTIPLIED = Operator("derivatives-multiplied", "wrong-local", _derivatives_multiplied, kind=Kind.SWEEP)
STOPPED_EARLY = Operator("stopped-early", "missing-local", _gradient_of, kind=Kind.SWEEP)
TERM_OF_LOSS = Operator("term-of-loss", "forward-value", _added, kind=Kind.SWEEP)
FORWARD_VALUE = Operator("forward-value", "forward-value", _value, kind=Kind.SWEEP)
FORWARD_OF_UPSTREAM = Operator("forward-of-upstream", "wrong-local", _forward_of_upstream, kind=Kind.SWEEP)

def _times_value(trace: Trace, wrt: str, key: str, divided: bool) -> torch.Tensor:
    right, value = trace.backward(wrt), trace.values()[key]
    if torch.broadcast_shapes(value.shape, right.shape) != right.shape:
        raise ValueError("the shapes do not fit in this trial")
    return right / value if divided else right * value


TIMES_VALUE = Operator("times-value-of-pass", "extra-factor", _times_value, kind=Kind.SWEEP)
DIVIDED_BY_VALUE = Operator("divided-by-value-of-pass", "wrong-local", _times_value, kind=Kind.SWEEP)


def factor_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters, Step | None]]:
    """The right answer, multiplied or divided by a value of the forward pass."""
    shape = trace.inputs[wrt].shape
    for step in trace.steps:
        wide = step.value.dim() <= len(shape) and step.value.is_floating_point() and step.value.numel() > 1
        if wide and len(trace.turns[step.line]) == 1:
            for operator in (TIMES_VALUE, DIVIDED_BY_VALUE):
                told = {"value": value_name(trace, step.key)}
                yield operator, {"key": step.key, "divided": operator is DIVIDED_BY_VALUE}, told, None


WHOLE = (TIMES_VALUE, DIVIDED_BY_VALUE,DERIVATIVES_MULTIPLIED, STOPPED_EARLY, TERM_OF_LOSS, FORWARD_VALUE, FORWARD_OF_UPSTREAM)
PATHS = (MISSING, CUT_ONCE, TRUNCATED, *(operator for operator, _ in TURNS_MISSING))


def whole_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters, Step | None]]:
    """Ways of their own to the gradient: operator, parameters, what is told, and the step that it is about."""
    relevant, shape = trace.depends(wrt), trace.inputs[wrt].shape
    single = [step for step in trace.steps if len(trace.turns[step.line]) == 1]
    for step in single:
        within = [key for _, key in step.operands if key in relevant]
        if step.name == "mul" and len(within) == 2 and step.value.shape == shape:
            yield DERIVATIVES_MULTIPLIED, {"line": step.line}, {}, step
    for key in trace.gradients(wrt):
        if key in (wrt, trace.out) or not key.startswith("%") or trace.values()[key].numel() not in (1, shape.numel()):
            continue
        step = trace.steps[int(key[1:])]
        if step not in single:
            continue
        if not trace.upstream_name and _is_added_up(trace, step, wrt):
            yield TERM_OF_LOSS, {"line": step.line}, {}, None
        told = {"value": value_name(trace, key), "variable": wrt}
        yield STOPPED_EARLY, {"line": step.line}, told, step
    if trace.upstream_name and trace.out_g.shape == shape:
        yield FORWARD_OF_UPSTREAM, {}, {"variable": wrt, "upstream": trace.upstream_name}, None


def value_choices(trace: Trace) -> Iterator[tuple[Operator, Parameters, Parameters, Step | None]]:
    """Values of the forward pass, which are no gradients."""
    for step in trace.steps:
        yield FORWARD_VALUE, {"line": step.line}, {"value": value_name(trace, step.key)}, step


def _is_added_up(trace: Trace, step: Step, wrt: str) -> bool:
    """A sum of terms, of which each entry counts alike from there on."""
    gradient = trace.gradients(wrt)[step.key]
    return step.name in SUMS and len(step.operands) > 1 and bool((gradient == gradient.flatten()[0]).all())


def averages(trace: Trace) -> bool:
    """The forward pass takes a mean."""
    return any(step.name in AVERAGES for step in trace.steps)


def reduced_along(trace: Trace) -> Iterator[tuple[Step, int | None]]:
    """Sums and means whose axis is kept, with every other axis, and `None` for all of them."""
    for step in trace.steps:
        rank = step.value.dim()
        if step.name in REDUCTIONS and rank and rank == step.operand(step.operands[0][0]).dim():
            yield from ((step, axis) for axis in (*range(rank), None))
