"""Which lines of a forward pass use a value, and so hand on what depends on it.

A path goes through an edge: one line of the forward pass that uses a value. In a loop that line uses the value of every
turn, and these uses are one edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch

from .operations import SUMS, of_any_turn, step_name, value_name
from .trace import Line, Place, Position, Rule, Rules, Step, Trace, Use, vjp

Uses = frozenset[Use]

MOST_PATHS = 4
MOST_OPERATIONS = 8  # of a function that is taken for one


NOTHING = 1e-9


@dataclass(frozen=True)
class Edge:
    """One line of the forward pass that uses a value."""

    source: str | Line | None  # an input's name, or the line that the value comes from; `None` for any
    line: Line  # the line that uses it
    position: Position | None  # as which operand; `None` where it is one of a list

    def uses(self, trace: Trace) -> list[Use]:
        """Every use in a trace, in the order of the forward pass."""
        made = () if self.source is None or isinstance(self.source, str) else trace.turns.get(self.source, [])
        keys = {str(self.source), *(f"%{i}" for i in made)}
        operands = ((i, *operand) for i in trace.turns.get(self.line, []) for operand in trace.steps[i].operands)
        every = self.source is None
        return [(i, where) for i, where, key in operands if (every or key in keys) and self.position in (None, where)]


def edges_of(trace: Trace, wrt: str) -> dict[str | Line, list[Edge]]:
    """Every value on the way from `wrt` to the output, with the edges that go on from it."""
    relevant, found = trace.depends(wrt), dict[str | Line, dict[Edge, None]]()
    for step in trace.steps:
        for where, key in step.operands if step.key in relevant else ():
            if key in relevant:
                source = trace.steps[int(key[1:])].line if key.startswith("%") else key
                edge = Edge(source, step.line, where if len(where) == 1 else None)
                found.setdefault(source, {})[edge] = None
    return {source: list(edges) for source, edges in found.items()}


def used_often(trace: Trace, wrt: str) -> Iterator[tuple[str, list[Edge]]]:
    """Every value that several edges go on from, as a record names it."""
    for source, edges in edges_of(trace, wrt).items():
        if 2 <= len(edges) <= MOST_PATHS:
            yield named(trace, source), edges


def named(trace: Trace, source: str | Line) -> str:
    if isinstance(source, str):
        return source
    return of_any_turn(trace, value_name(trace, f"%{trace.turns[source][0]}"))


def value_of(trace: Trace, edge: Edge) -> str:
    """What goes on from an edge, as a record names it."""
    if edge.source is not None:
        return named(trace, edge.source)
    index, where = edge.uses(trace)[-1]
    return of_any_turn(trace, value_name(trace, dict(trace.steps[index].operands)[where]))


def in_loops(trace: Trace, wrt: str) -> list[tuple[Edge, tuple[Edge, ...]]]:
    """Every edge, and the others that go on from its source.

    Where a loop begins with a value that is made in front of it, its edge has more than one source.
    """
    every = edges_of(trace, wrt)
    found = [(edge, tuple(o for o in edges if o != edge)) for edges in every.values() for edge in edges]
    sources: dict[tuple[Line, Position | None], list[str | Line]] = {}
    for source, edges in every.items():
        for edge in edges:
            sources.setdefault((edge.line, edge.position), []).append(source)
    for (line, position), several in sources.items():
        loops = any(not isinstance(source, str) and len(trace.turns[source]) > 1 for source in several)
        if len(several) > 1 and loops:
            others = (
                edge for source in several for edge in every[source] if (edge.line, edge.position) != (line, position)
            )
            found.append((Edge(None, line, position), tuple(others)))
    return found


def is_carried(trace: Trace, edge: Edge) -> bool:
    """It hands a value on from one turn of a loop to the next; the first turn takes another one."""
    return any(
        one.line == edge.line
        and edge.position in (None, one.where)
        and edge.source in (None, trace.steps[int(one.made[1:])].line)
        for one in trace.carried
    )


def through(trace: Trace, edges: tuple[Edge, ...]) -> list[str]:
    """The operations that the edges lead to, as a record names them."""
    return [step_name(trace.steps[trace.turns[edge.line][0]]) for edge in edges]


def uses_of(trace: Trace, edges: tuple[Edge, ...]) -> Uses:
    return frozenset(use for edge in edges for use in edge.uses(trace))


def idle_edges(trace: Trace, wrt: str) -> tuple[Edge, ...]:
    """Edges that contribute nothing in total, as that of the mean in a variance: whoever knows it leaves them out."""
    right = trace.backward(wrt)
    bound = NOTHING * float(right.abs().max()) if right.numel() else 0.0
    idle: tuple[Edge, ...] = ()
    for edge in (edge for _, edges in used_often(trace, wrt) for edge in edges):
        skip = uses_of(trace, (*idle, edge))
        if float((trace.backward(wrt, skip=skip) - right).abs().max()) <= bound:
            idle = (*idle, edge)
    return idle


def bypassed(trace: Trace, source: str, index: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Rules:
    """A value gets what `change` makes of the gradient that arrives at a step, and nothing else on its way there."""
    inside, arrived = trace.reaches(trace.steps[index].key), [torch.empty(0)]
    value = trace.values()[source]

    def arrives(_: Trace, __: Step, g: torch.Tensor) -> torch.Tensor:
        arrived[0] = g
        return g

    uses = [use for use in trace.uses(source) if trace.steps[use[0]].key in inside]
    rules: dict[Place, Rule] = {(index, None): arrives}
    rules |= dict.fromkeys(uses, lambda _, step, g: torch.zeros_like(value))
    rules[uses[0]] = lambda _, step, g: change(arrived[0])
    return rules


def between(trace: Trace, source: str, index: int) -> list[Step]:
    """The steps that make the value of a step from another value and what has nothing to do with that."""
    inside = (trace.reaches(trace.steps[index].key) & trace.depends(source)) - {source}
    steps = [step for step in trace.steps[: index + 1] if step.key in inside]
    closed = all(key in inside for step in steps[:-1] for key in (trace.steps[i].key for i, _ in trace.uses(step.key)))
    own = trace.reaches(source)
    alone = not any(
        own & trace.reaches(key) for step in steps for _, key in step.operands if key not in {source, *inside}
    )
    return steps if closed and alone and 2 <= len(steps) <= MOST_OPERATIONS else []


def operations_round(trace: Trace, edge: Edge) -> Iterator[Step]:
    """The operations that an edge goes round, of which each has a value of the same shape: the edge ends in a sum."""
    (index, where), *more = edge.uses(trace)
    taken = trace.steps[index]
    between_them = trace.depends(dict(taken.operands)[where]) if taken.name in SUMS and not more else ()
    for step in (step for step in trace.steps[:index] if step.key in between_them):
        if step.value.shape == taken.operand(where).shape and len(trace.turns[step.line]) == 1:
            yield step


def derivative_of(trace: Trace, key: str, wrt: str) -> torch.Tensor:
    """The gradient of the sum of a value's entries."""
    if key == wrt:
        return torch.ones_like(trace.inputs[wrt])
    steps, ones = trace.steps[: int(key[1:]) + 1], torch.ones_like(trace.values()[key])
    return replace(trace, steps=steps, out=key, out_g=ones, memo={}).backward(wrt)


def value_of_function(steps: list[Step], source: str, x: torch.Tensor) -> torch.Tensor:
    """What several operations make of another value of their source."""
    values = {source: x}
    for step in steps:
        values[step.key] = step.apply({where: values[key] for where, key in step.operands if key in values})
    return values[steps[-1].key]


def derivative_of_function(steps: list[Step], source: str, x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """What the gradient behind several operations is in front of them, taken at another value of their source."""
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        value = value_of_function(steps, source, leaf)
    return vjp(leaf, value, g)
