"""Paths: a value that is used several times, or in every turn of a loop, followed along only some of its uses.

And functions that take several operations: passed by as a whole, or their derivative taken as if they were one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.reference import edges as graph
from grader.reference.edges import Edge, between, bypassed, in_loops, is_carried, through, used_often, uses_of, value_of
from grader.reference.operand_view import At
from grader.reference.operations import step_name, value_name
from grader.reference.trace import Line, Place, Position, Rule, Rules, Step, Trace, Use
from grader.reference.trial import Vague

from .operator import Kind, Operator, Parameters, Spot

LAST_TURNS, NO_TURN = (1, 2, 3), slice(0, 0)
ChoiceAt = tuple[Operator, Parameters, Parameters, Step | None]  # with what is told, and the step that it is about


def _turned_off(trace: Trace, _: object, edges: tuple[Edge, ...], keep: slice) -> frozenset[Use]:
    found: set[Use] = set()
    for uses in (edge.uses(trace) for edge in edges):
        if not uses[keep] and keep != NO_TURN:
            raise ValueError("there are no such turns at these sizes")
        found |= set(uses) - set(uses[keep])
    return frozenset(found)


def _own_turn_missing(trace: Trace, wrt: str, edges: tuple[Edge, ...]) -> torch.Tensor:
    """What a turn gives to the output itself does not arrive where it uses anything but what the turn before gave."""
    return trace.backward(wrt) - trace.backward(wrt, skip=_turned_off(trace, None, edges, NO_TURN))


OWN_TURN_MISSING = Operator("own-turn-missing", "missing-path", _own_turn_missing, kind=Kind.SWEEP)
NOTHING_HANDED_BACK = Operator("nothing-handed-back", "missing-path", _turned_off, kind=Kind.EDGES)
MISSING, MISSING_ALIKE = (
    Operator(name, "missing-path", lambda trace, _, edges: uses_of(trace, edges), kind=Kind.EDGES)
    for name in ("path-missing", "paths-alike-missing")
)
SELECTING = {"__getitem__", "select", "narrow", "gather", "index_select", "take_along_dim", "diagonal", "diag"}


def _overwritten_there(trace: Trace, _: object, edge: Edge, others: tuple[Edge, ...]) -> Rules:
    """Where one path hands something back, nothing of what comes along the others is left."""
    ((index, where),) = edge.uses(trace)
    left = (taken := trace.steps[index]).vjp(where, torch.ones_like(taken.value)) == 0

    def elsewhere(at: Position, _: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        if not (part := step.vjp(at, g) * left).any():
            raise Vague("nothing is left of it anywhere")
        return part

    return {use: partial(elsewhere, use[1]) for use in uses_of(trace, others)}


OVERWRITTEN_THERE = Operator("overwritten-there", "overwritten", _overwritten_there, kind=Kind.RULES)


def _added_before(trace: Trace, _: object, edge: Edge, line: Line) -> Rules:
    """What goes round several operations is added to what arrives behind them, and so goes back through them."""
    (place,), (index,), round_them = edge.uses(trace), trace.turns[line], [torch.empty(0)]

    def waits(_: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        round_them[0] = step.vjp(place[1], g)
        return torch.zeros_like(round_them[0])

    return {place: waits, (index, None): lambda _, step, g: g + round_them[0]}


ADDED_BEFORE = Operator("added-before", "wrong-order", _added_before, kind=Kind.RULES)


def _written_over(trace: Trace, _: object, edge: Edge, last: bool) -> Rules:
    """Of what several turns hand back to one place, that of the last one stays, or that of the first."""
    uses, rules, taken = edge.uses(trace), dict[Place, Rule](), torch.tensor(False)
    for index, where in reversed(uses) if last else uses:
        step = trace.steps[index]
        there = step.vjp(where, torch.ones_like(step.value)) != 0
        rules[index, where] = lambda _, step, g, at=where, left=there & ~taken: step.vjp(at, g) * left  # type: ignore[misc]
        taken = taken | there
    return rules


WRITTEN_OVER = Operator("written-over", "overwritten", _written_over, kind=Kind.RULES)
TURNS_KEPT = tuple(
    (Operator(name, "missing-path", _turned_off, kind=Kind.EDGES), turns) for name, turns in (
        ("no-gradient-through-loop", NO_TURN), *(("only-last-turns", slice(-turns, None)) for turns in LAST_TURNS),
        ("only-first-turn", slice(0, 1)), ("first-turn-missing", slice(1, None)),
    )
)  # fmt: skip


def path_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters, tuple[Edge, ...]]]:
    """Operator, parameters, what is told, and the edges that carry nothing, or not always."""
    for name, edges in used_often(trace, wrt):
        for count in range(1, len(edges)):
            for dropped in itertools.combinations(edges, count):
                told = {"value": name, "count": len(edges), "missing": through(trace, dropped)}
                if count > 1 or not is_carried(trace, dropped[0]):
                    yield MISSING, {"edges": dropped}, told, dropped
        for edge in edges:
            (step, *_), others = [trace.steps[i] for i, _ in edge.uses(trace)], tuple(o for o in edges if o != edge)
            if step.name in SELECTING and len(edge.uses(trace)) == 1:
                told = {"value": name, "step": step_name(step)}
                yield OVERWRITTEN_THERE, {"edge": edge, "others": others}, told, others
            for behind in graph.operations_round(trace, edge):
                told = {"value": name, "step": step_name(behind)}
                yield ADDED_BEFORE, {"edge": edge, "line": behind.line}, told, (edge,)
    handed_out: list[Edge] = []
    for edge, exits in (pair for pair in in_loops(trace, wrt) if len(pair[0].uses(trace)) > 1):
        carried = bool(exits) and is_carried(
            trace, edge
        )  # where nothing leaves the loop, it cannot go without all of it
        handed_out += [edge] if carried else []
        if trace.steps[edge.uses(trace)[0][0]].name in SELECTING and not carried:
            told = {"value": value_of(trace, edge)}
            yield from ((WRITTEN_OVER, {"edge": edge, "last": last}, told, (edge,)) for last in (True, False))
        told = {"step": through(trace, (edge,))[0], "value": value_of(trace, edge)}
        for operator, keep in TURNS_KEPT:
            if keep != NO_TURN or carried:
                turns = len(range(*keep.indices(99)))
                yield operator, {"edges": (edge,), "keep": keep}, {**told, "turns": turns}, (edge,)
    if handed_out:
        yield NOTHING_HANDED_BACK, {"edges": tuple(handed_out), "keep": NO_TURN}, {}, tuple(handed_out)
        yield OWN_TURN_MISSING, {"edges": tuple(handed_out)}, {}, tuple(handed_out)
    yield from _alike(trace, wrt)


def _alike(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters, tuple[Edge, ...]]]:
    """All paths that begin with one operation, wherever values are used often."""
    found: dict[str, list[Edge]] = {}
    for _, edges in used_often(trace, wrt):
        for edge in edges:
            found.setdefault(trace.steps[trace.turns[edge.line][0]].name, []).append(edge)
    for alike in map(tuple, found.values()):
        if len({edge.source for edge in alike}) == len(alike) > 1:
            step = replace(trace.steps[trace.turns[alike[0].line][0]], nth=0)
            yield MISSING_ALIKE, {"edges": alike}, {"step": step_name(step)}, alike


def _derivatives_multiplied(trace: Trace, wrt: str, line: Line) -> torch.Tensor:
    (index,) = trace.turns[line]
    both = frozenset((index, where) for where, _ in trace.steps[index].operands)
    one, two = (graph.derivative_of(trace, key, wrt) for _, key in trace.steps[index].operands)
    return trace.backward(wrt, skip=both) + trace.out_g * one * two


def _gradient_of(trace: Trace, wrt: str, line: Line, *, times_value: bool = False) -> torch.Tensor:
    (index,) = trace.turns[line]
    gradient = trace.gradients(wrt)[f"%{index}"]
    return (gradient * trace.steps[index].value if times_value else gradient).expand(trace.inputs[wrt].shape)


def _whole(name: str, code: str, rule: Callable[..., torch.Tensor]) -> Operator:
    return Operator(name, code, rule, kind=Kind.SWEEP)


DERIVATIVES_MULTIPLIED = _whole("derivatives-multiplied", "wrong-local", _derivatives_multiplied)
STOPPED_EARLY = _whole("stopped-early", "missing-local", _gradient_of)
TERM_OF_LOSS = _whole("term-of-loss", "forward-value", partial(_gradient_of, times_value=True))
FORWARD_VALUE = _whole("forward-value", "forward-value", lambda trace, _, at: trace.steps[trace.turns[at][-1]].value)


def _forward_of_upstream(trace: Trace, wrt: str, linear: bool) -> torch.Tensor:
    """The forward pass run on the upstream gradient; what is linear in it alone, or with all that is added."""
    found, *nothing = (
        (other := trace.again({wrt: g})).values()[other.out]
        for g in (trace.out_g, torch.zeros_like(trace.out_g))[: 1 + linear]
    )
    return found - nothing[0] if nothing else found


FORWARD_OF_UPSTREAM = _whole("forward-of-upstream", "wrong-local", _forward_of_upstream)


def whole_choices(trace: Trace, wrt: str) -> Iterator[ChoiceAt]:
    """Ways of their own to the gradient, and values of the forward pass, which are none."""
    for step in trace.steps:
        yield FORWARD_VALUE, {"at": step.line}, {"value": value_name(trace, step.key)}, step
    relevant, variable = trace.depends(wrt), trace.inputs[wrt]
    single = [step for step in trace.steps if len(trace.turns[step.line]) == 1]
    for step in single:
        within = [key for _, key in step.operands if key in relevant]
        if step.name == "mul" and len(within) == 2 and step.value.shape == variable.shape:
            yield DERIVATIVES_MULTIPLIED, {"line": step.line}, {}, step
    steps = {step.key: step for step in single if step.key != trace.out}
    for key, gradient in trace.gradients(wrt).items():
        if key in steps and steps[key].value.numel() in (1, variable.numel()):
            step = steps[key]
            if not trace.upstream_name and bool((gradient == gradient.flatten()[0]).all()):
                yield TERM_OF_LOSS, {"line": step.line}, {}, None  # of which each entry counts alike from there on
            yield STOPPED_EARLY, {"line": step.line}, {"value": value_name(trace, key), "variable": wrt}, step
    if trace.upstream_name and trace.out_g.shape == variable.shape:
        told = {"variable": wrt, "upstream": trace.upstream_name}
        yield from ((FORWARD_OF_UPSTREAM, {"linear": linear}, told, None) for linear in (False, True))


def _sources(at: At) -> Iterator[Parameters]:
    """The values of its shape that the value of a step is a function of, by several operations: the nearest first."""
    values = at.trace.values() if at.step.operands and len(at.trace.turns[at.step.line]) == 1 else {}
    reached = at.trace.reaches(at.step.key) - {at.step.key} if values else set()
    for key in (key for key in reversed(values) if key in reached and values[key].shape == at.y.shape):
        if between(at.trace, key, at.step.index):
            yield {"source": at.trace.steps[int(key[1:])].line if key.startswith("%") else key}


def _key(trace: Trace, source: str | Line) -> str:
    return source if isinstance(source, str) else f"%{Spot(source).steps(trace)[-1]}"


def _function(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    """Something else for its derivative, from its steps, its source, its value and the gradient that arrives."""

    def rule(trace: Trace, spot: Spot, source: str | Line) -> Rules:
        rules: dict[Place, Rule] = {}
        for index in spot.steps(trace):
            key = _key(trace, source)
            if not (steps := between(trace, key, index)):
                raise ValueError("this is no function of that value in this trial")
            y = trace.steps[index].value
            rules |= bypassed(trace, key, index, lambda g, steps=steps, key=key, y=y: change(steps, key, y, g))  # type: ignore[misc]
        return rules

    def tell(at: At, source: str | Line) -> dict[str, Any]:
        return {"value": at.named(at.step.key), "operand": at.named(_key(at.trace, source))}

    return Operator(name, code, rule, each=_sources, tell=tell, kind=Kind.RULES)


FUNCTIONS = (
    _function("function-left-out", "missing-local", lambda steps, source, y, g: g),
    _function("function-at-own-value", "wrong-point", graph.derivative_of_function),
    _function("function-of-its-gradient", "wrong-local", lambda steps, at, _, g: graph.value_of_function(steps, at, g)),
)
