"""Slips in loops: values and gradients of another turn, what arrives too late, and what is exchanged in every turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from grader.reference.loops import gone_back_once, is_handed_out, late_arrivals, leaves, mirrored
from grader.reference.operand_view import At
from grader.reference.operations import step_name
from grader.reference.trace import Carried, Line, Place, Position, Rule, Rules, Step, Trace, Use
from grader.reference.trial import Vague

from .operator import Kind, Operator, Parameters, Spot, one_of
from .upstream import counts, maker


def _turns(at: At) -> Iterator[Parameters]:
    """In a loop: a partner one turn before or after its own, or in the last."""
    steps = at.trace.turns[at.step.line]
    for where in (where for where in at.others if counts(at, where)) if len(steps) > 1 else ():
        if len({dict(at.trace.steps[i].operands).get(where) for i in steps}) == len(steps):
            yield from ({"where": where, "by": by} for by in (-1, 1, "last"))


def _of_another_turn(at: At, where: Position, by: int | str) -> torch.Tensor:
    """The value that the turn before or after takes; behind the last, what that one hands on, or that at once."""
    steps = at.trace.turns[at.step.line]
    if len(steps) == 1 and by == 1:
        raise Vague("a loop of one turn does not tell what it would hand on")
    taken = [at.trace.steps[i].operand(where) for i in steps]
    last = At(at.trace, at.trace.steps[steps[-1]])
    if last.key(where).startswith("%"):
        taken.append(at.trace.steps[at.trace.turns[maker(last, where).step.line][-1]].value)
    turn = steps.index(at.step.index) + by if isinstance(by, int) else len(taken)
    return at.back(replaced={where: taken[max(0, min(turn, len(taken) - 1))]})


def _added_late(trace: Trace, spot: Spot, leaving: bool) -> Rules:
    """What arrives at a turn from behind the loop, or from later turns, is added behind the function, not in front."""
    rules: dict[Place, Rule] = {}
    for step in (trace.steps[i] for i in spot.steps(trace)):
        ((where, _),), own = step.operands, [torch.zeros_like(step.value)]

        def goes_round(_: Trace, later: Step, g: torch.Tensor, own: list[torch.Tensor], use: Use) -> torch.Tensor:
            own[0] = own[0] + later.vjp(use[1], g)
            return torch.zeros_like(own[0])

        behind = leaves(trace, step.key)
        late = behind if leaving else [use for use in trace.uses(step.key) if use not in behind]
        rules |= {use: partial(goes_round, own=own, use=use) for use in late}
        rules[step.index, where] = lambda _, step, g, where=where, own=own: step.vjp(where, g) + own.pop()  # type: ignore[misc]
    return rules


Arrived = dict[str, torch.Tensor]


def _read_early(trace: Trace, spot: Spot, late: Line, where: Position, inner: Position | None) -> Rules:
    """All of a turn but what is handed on to the turn before is worked out before something that arrives is added."""
    rules: dict[Place, Rule] = {}
    for step in (trace.steps[i] for i in spot.steps(trace)):
        arrived = {"late": torch.zeros_like(step.value), "all": torch.zeros_like(step.value)}

        def stores(_: Trace, later: Step, g: torch.Tensor, arrived: Arrived, at: Position) -> torch.Tensor:
            part = later.vjp(at, g)
            arrived["late"] = arrived["late"] + part
            return part

        def early(_: Trace, __: Step, g: torch.Tensor, arrived: Arrived) -> torch.Tensor:
            arrived["all"] = g
            return g - arrived["late"]

        def whole(_: Trace, __: Step, g: torch.Tensor, step: Step, arrived: Arrived) -> torch.Tensor:
            back = step.vjp(where, arrived["all"])
            return back if inner is None else trace.steps[int(dict(step.operands)[where][1:])].vjp(inner, back)

        uses = [use for use in trace.uses(step.key) if trace.steps[use[0]].line == late]
        rules |= {use: partial(stores, arrived=arrived, at=use[1]) for use in uses}
        place = (step.index, where) if inner is None else (int(dict(step.operands)[where][1:]), inner)
        rules |= {
            (step.index, None): partial(early, arrived=arrived),
            place: partial(whole, step=step, arrived=arrived),
        }
    return rules


def _is_mixture(at: At) -> bool:
    """A sum of two products."""
    made = [at.trace.steps[int(key[1:])].name for _, key in at.step.operands if key.startswith("%")]
    return at.name == "add" and made == ["mul", "mul"]


def _of_products(at: At) -> tuple[At, At]:
    one, two = (At(at.trace, at.trace.steps[int(key[1:])]) for _, key in at.step.operands)
    return one, two


def _factors(at: At) -> Iterator[Parameters]:
    one, two = _of_products(at)
    for i, j in ((i, j) for i, _ in one.step.operands for j, _ in two.step.operands):
        if one.key(i) != two.key(j) and one.step.operand(i).shape == two.step.operand(j).shape == at.y.shape:
            yield {"i": i, "j": j}


def _factors_exchanged(trace: Trace, spot: Spot, i: Position, j: Position) -> Rules:
    """Two products that are added have each other's partner on the way back."""
    rules: dict[Place, Rule] = {}
    for step in (trace.steps[index] for index in spot.steps(trace)):
        one, two = _of_products(At(trace, step))
        for at, own, other in ((one, i, two.step.operand(j)), (two, j, one.step.operand(i))):
            for where in (where for where, _ in at.step.operands if where != own):
                rules[at.step.index, where] = lambda trace, step, g, where=where, new={own: other}: At(  # type: ignore[misc]
                    trace, step, where, g).back(replaced=new)  # fmt: skip
    return rules


def _one_for_all(trace: Trace, spot: Spot, part: int) -> Rules:
    """Each part of what is put together gets the gradient of one of them."""
    (step,) = (trace.steps[i] for i in spot.steps(trace))
    taken = step.operands[part][0]
    return {(step.index, where): lambda _, step, g: step.vjp(taken, g) for where, _ in step.operands}


SEVERAL_AT_ONCE = (
    Operator("read-early", "wrong-order", _read_early, lambda at: len(at.trace.turns[at.step.line]) > 1, late_arrivals,
             lambda at, late, **_: {"value": at.named(at.step.key),
                                    "late": step_name(at.trace.steps[at.trace.turns[late][0]])}, Kind.RULES),
    Operator("parts-taken-for-each-other", "wrong-operand", _factors_exchanged, _is_mixture, _factors,
             lambda at, i, j: {"there": at.named(_of_products(at)[0].key(i)),
                               "here": at.named(_of_products(at)[1].key(j))}, Kind.RULES),
    Operator("one-part-for-all", "wrong-operand", _one_for_all,
             lambda at: at.name == "stack" and len(at.step.operands) > 1,
             one_of("part", (-1, 0)), lambda at, part: {"part": "last" if part else "first"}, Kind.RULES),
    *(Operator(name, "missing-local", partial(_added_late, leaving=leaving), is_handed_out,
               tell=lambda at: {"value": at.named(at.step.key)}, kind=Kind.RULES)
      for name, leaving in (("own-upstream-behind-function", True), ("later-turns-behind-function", False))),
)  # fmt: skip


TURNS = (
    Operator("partner-of-another-turn", "wrong-operand", _of_another_turn, each=_turns,
             tell=lambda at, where, by: {"by": by, "value": at.named(
                 At(at.trace, at.trace.steps[at.trace.turns[at.step.line][-1]]).key(where))}),
)  # fmt: skip


MIRRORED = Operator("turns-in-forward-order", "wrong-order", lambda trace, wrt: trace.backward(
                    wrt, mirrored(trace, wrt)), kind=Kind.SWEEP)  # fmt: skip
GONE_BACK_ONCE = Operator("gone-back-once", "missing-path", gone_back_once, kind=Kind.SWEEP)


def loop_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Loops gone back through otherwise: operator, parameters, what is told."""
    relevant, found = trace.depends(wrt), dict[str, Carried]()
    for one in trace.carried:
        if one.outside in relevant and trace.steps[trace.turns[one.line][0]].key in relevant:
            found.setdefault(one.outside, one)
    if found:
        yield MIRRORED, {}, {}
    for one in found.values():
        yield GONE_BACK_ONCE, {"line": one.line, "where": one.where}, {}
