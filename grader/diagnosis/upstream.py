"""Slips in what arrives at a step, and in the values that its derivative is taken with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch

from grader.reference.operand_view import At
from grader.reference.operations import CONTRACTIONS, JOINS, PRODUCTS, RESHAPES, SUMS, axis_of, step_name
from grader.reference.trace import Line, Position, Trace

from .operator import BY_VALUE, Kind, Operator, Parameters
from .pointwise import is_pointwise, keys_like, shaped

UPSTREAM = "out_g"
SUMS_OF_TWO = {"add", "sub"}


def _usable(at: At) -> bool:
    """Something else can arrive than what does: the end of a pass without an upstream gradient has 1."""
    return at.given or not at.is_last


def _arriving(at: At) -> Parameters:
    gradient = at.trace.upstream_name if at.is_given_last else f"^{at.named(at.step.key)[1:]}"
    return {"gradient": gradient, "value": at.named(at.step.key)}


def _other_values(at: At, *, inputs: bool) -> Iterator[Parameters]:
    """Values of the shape of a product's upstream gradient, or of that of the whole: inputs, or results."""
    if at.is_given_last or at.name in CONTRACTIONS:
        for key in keys_like(at.trace, at.y):
            if key != at.step.key and (key in at.trace.inputs) is inputs:
                yield {"key": key}


def _there(at: At, key: str) -> Parameters:
    return {"there": at.named(key), **_arriving(at)}


def _joins_alike(at: At) -> bool:
    """It puts several arrays of one shape behind one another."""
    parts = at.step.args[0] if at.name in JOINS - {"stack"} else ()
    return len(parts) > 1 and len({part.shape for part in parts}) == 1


def _in_turns(at: At) -> torch.Tensor:
    """The first part made of every other entry, and so on."""
    axis, count = axis_of(at.step) or 0, len(at.step.args[0])
    size = at.g.shape[axis] // count
    return at.g.index_select(axis, torch.arange(size * count).view(size, count).t().flatten())


ARRIVING = (
    Operator("upstream-missing", "missing-upstream", lambda at: torch.ones_like(at.g), lambda at: at.given,
             tell=_arriving, kind=Kind.UPSTREAM),
    Operator("upstream-missing", "missing-local", lambda at: torch.ones_like(at.g),
             lambda at: not at.given and not at.is_last, tell=_arriving, kind=Kind.UPSTREAM),
    Operator("input-for-upstream", "wrong-operand", lambda at, key: at.trace.values()[key].expand(at.g.shape), _usable,
             lambda at: _other_values(at, inputs=True), _there, Kind.UPSTREAM),
    Operator("result-for-upstream", "value-for-gradient", lambda at, key: at.trace.values()[key].expand(at.g.shape),
             _usable, lambda at: _other_values(at, inputs=False), _there, Kind.UPSTREAM),
    Operator("value-for-gradient", "value-for-gradient", lambda at: at.y, _usable, tell=_arriving, kind=Kind.UPSTREAM),
    Operator("upstream-again", "extra-factor", lambda at: at.g + (0 if at.is_last else at.trace.out_g),
             lambda at: at.given and len(at.trace.turns[at.step.line]) > 1 and at.y.shape == at.trace.out_g.shape,
             kind=Kind.UPSTREAM),
    Operator("parts-of-upstream-exchanged", "wrong-operand",
             lambda at: torch.cat(at.g.chunk(len(at.step.args[0]), axis_of(at.step) or 0)[::-1], axis_of(at.step) or 0),
             _joins_alike, kind=Kind.UPSTREAM),
    Operator("parts-of-upstream-interleaved", "reshape-for-transpose", _in_turns, _joins_alike, kind=Kind.UPSTREAM),
    Operator("upstream-twice", "extra-factor", lambda at: at.g * at.g, lambda at: at.is_given_last, kind=Kind.UPSTREAM),
)  # fmt: skip


def _side(at: At) -> Parameters:
    return {"operand": at.named(at.source), "value": at.named(at.step.key)}


def _computes(at: At) -> bool:
    """It does more than put entries elsewhere."""
    return at.name not in RESHAPES | JOINS


ONE_SIDE = (
    Operator("upstream-missing-on-one-side", "missing-upstream", lambda at: at.back(torch.ones_like(at.g)),
             lambda at: at.given and bool(at.others), tell=_side),
    Operator("value-for-gradient-on-one-side", "value-for-gradient", lambda at: at.back(at.y),
             lambda at: at.given and bool(at.others), tell=_side),
    Operator("input-for-upstream-on-one-side", "wrong-operand", lambda at, key: at.back(at.trace.inputs[key]),
             lambda at: at.is_given_last and bool(at.others),
             lambda at: ({"key": key} for key, value in at.trace.inputs.items() if value.shape == at.y.shape),
             lambda at, key: {"there": key, **_side(at)}),
    Operator("times-input", "extra-factor", lambda at: at.back() * at.x,  # of an input that is no factor
             lambda at: at.source in at.trace.inputs and (at.name in SUMS or not is_pointwise(at)), tell=_side),
    Operator("part-negated", "wrong-sign", lambda at: -at.back(), _computes, tell=_side),
)  # fmt: skip


def pool(trace: Trace) -> dict[str, torch.Tensor]:
    """Everything a learner may have at hand: values, the upstream gradient, the inputs' own gradients."""
    if "pool" not in trace.memo:
        gradients = {f"{name}.g": trace.backward(name) for name in trace.inputs}
        trace.memo["pool"] = {**trace.values(), UPSTREAM: trace.out_g, **gradients}
    found: dict[str, torch.Tensor] = trace.memo["pool"]
    return found


def _counts(at: At, where: Position) -> bool:
    """The contribution to the operand depends on the value that is there: not in a sum, nor on a factor's own value."""
    known: dict[object, bool] = at.trace.memo.setdefault("counts", {})
    key = (at.step.index, at.where, where)
    if key not in known:
        other = at.back(at.ones, {where: at.step.operand(where).abs() + 1})
        known[key] = not torch.allclose(at.back(at.ones), other, 1e-9, 0)
    return known[key]


def _exchanges(at: At, places: Iterable[Position]) -> Iterator[Parameters]:
    """Other values of an operand's shape, in a loop those of the same turn; the forward pass's own first."""
    own = at.step.key if at.name == "pow" and at.step.args[1:] == (2,) else ""  # there, its exponent was not lowered
    for where in (where for where in places if _counts(at, where)):
        for key, value in pool(at.trace).items():
            if value.shape == at.step.operand(where).shape and key not in (at.key(where), own):
                if (line := _loop_of(at, key)) is None:
                    yield {"where": where, "key": key}
                elif at.trace.turns[line].index(int(key[1:])) == _turn(at) and line not in _makers(at, where):
                    yield {"where": where, "key": key, "line": line}


def _makers(at: At, where: Position) -> set[Line]:
    """The lines that an operand comes from in the turns of a loop, and the step's own."""
    found = (dict(at.trace.steps[i].operands).get(where, "") for i in at.trace.turns[at.step.line])
    return {at.step.line, *(at.trace.steps[int(key[1:])].line for key in found if key.startswith("%"))}


def _turn(at: At) -> int:
    return at.trace.turns[at.step.line].index(at.step.index)


def _loop_of(at: At, key: str) -> Line | None:
    """The line that makes a value once in every turn of the loop that the step is in."""
    line = at.trace.steps[int(key[1:])].line if key.startswith("%") else None
    count = len(at.trace.turns[at.step.line])
    return line if line is not None and 1 < count == len(at.trace.turns[line]) else None


def _taken_at(at: At, where: Position, key: str, line: Line | None = None) -> torch.Tensor:
    value = at.trace.steps[at.trace.turns[line][_turn(at)]].value if line else pool(at.trace)[key]
    return at.back(replaced={where: shaped(value, at.step.operand(where))})


def _exchanged(at: At, where: Position, key: str, line: Line | None = None) -> Parameters:
    there = (at.trace.upstream_name or "1") if key == UPSTREAM else at.named(key)
    return {"there": there, "here": at.named(at.key(where))}


def _partners(at: At, *, alike: bool) -> Iterator[Parameters]:
    """Those of the operand's shape, or the others."""
    others = (where for where in at.others if (at.step.operand(where).shape == at.x.shape) is alike)
    return ({"where": where} for where in others if _counts(at, where))


def _partner(at: At, where: Position) -> Parameters:
    return {"here": at.named(at.key(where)), "own": at.named(at.source)}


def _functions(at: At) -> Iterator[Parameters]:
    """The functions of one value that the forward pass applies."""
    plain = [At(at.trace, step) for step in at.trace.steps if len(step.operands) == 1 and step.name not in RESHAPES]
    return ({"where": where, "index": one.step.index} for where in at.others for one in plain if is_pointwise(one))


EXCHANGED = (
    Operator("derivative-at-another-value", "wrong-point", _taken_at, _computes, lambda at: _exchanges(at, [at.where]),
             _exchanged),
    Operator("another-partner", "wrong-operand", _taken_at, _computes, lambda at: _exchanges(at, at.others),
             _exchanged),
    Operator("parts-swapped", "wrong-operand",
             lambda at, where: at.back(replaced={at.where: at.step.operand(where), where: at.x}), _computes,
             lambda at: _partners(at, alike=True), _partner),
    Operator("own-value-for-partner", "wrong-operand",
             lambda at, where: at.back(replaced={where: at.x.expand(at.g.shape)}),
             lambda at: _computes(at) and is_pointwise(at), lambda at: _partners(at, alike=False), _partner),
    Operator("function-of-partner", "wrong-operand", lambda at, where, index: at.back(replaced={
             where: (of := at.trace.steps[index]).apply({of.operands[0][0]: at.step.operand(where)})}),
             lambda at: at.name in CONTRACTIONS, _functions,
             lambda at, where, index: {"function": step_name(at.trace.steps[index]), **_partner(at, where)}),
    Operator("partner-missing", "missing-local",
             lambda at, where: at.back(replaced={where: torch.ones_like(at.step.operand(where))}), _computes,
             lambda at: ({"where": where} for where in at.others if _counts(at, where)), _partner),
)  # fmt: skip


def _turns(at: At, places: Iterable[Position]) -> Iterator[Parameters]:
    """In a loop: the same value one turn before or after its own."""
    steps = at.trace.turns[at.step.line]
    for where in (where for where in places if _counts(at, where)) if len(steps) > 1 else ():
        if len({dict(at.trace.steps[i].operands).get(where) for i in steps}) == len(steps):
            yield from ({"where": where, "by": by} for by in (-1, 1))


def _of_another_turn(at: At, where: Position, by: int) -> torch.Tensor:
    """The value that the turn before or after takes; behind the last, what that one hands on."""
    steps = at.trace.turns[at.step.line]
    taken = [at.trace.steps[i].operand(where) for i in steps]
    last = At(at.trace, at.trace.steps[steps[-1]])
    if last.key(where).startswith("%"):
        taken.append(at.trace.steps[at.trace.turns[_maker(last, where).step.line][-1]].value)
    turn = steps.index(at.step.index) + by
    return at.back(replaced={where: taken[max(0, min(turn, len(taken) - 1))]})


def _next_function(at: At) -> At | None:
    """The function of one value that the result goes through next, alone or added to something."""
    uses = [(step, where) for step in at.trace.steps for where, key in step.operands if key == at.step.key]
    if len(uses) != 1 or uses[0][0].value.shape != at.y.shape:
        return None
    found = At(at.trace, *uses[0])
    if found.name in SUMS_OF_TWO:
        return _next_function(found)
    return found if not found.others and is_pointwise(found) else None


def _passed_over(at: At) -> torch.Tensor:
    """The contribution as if what arrives had not gone through the next function."""
    after = _next_function(at)
    if after is None or not bool((after.d != 0).all()):
        raise ValueError("nothing can be divided out there")
    return at.back(at.g / after.d)


def _hands_on(at: At) -> bool:
    """The operand is what the turn before it in a loop has made, and the result goes through a function."""
    looped = len(at.trace.turns[at.step.line]) > 1 and at.source.startswith("%")
    return looped and len(at.trace.turns[_maker(at, at.where).step.line]) > 1 and _next_function(at) is not None


def _told_next(at: At) -> Parameters:
    after = _next_function(at)
    assert after is not None
    return {"function": f"`{after.step.label}`"}


def _came_in(trace: Trace, made: int) -> Iterator[torch.Tensor]:
    """What the first turn of a loop takes where later ones take what the step `made` of the turn before has made."""
    for step in trace.steps:
        first = trace.steps[trace.turns[step.line][0]]
        yield from (first.operand(at) for at, key in step.operands if key == f"%{made}" and first.index < made)


def _state_before(at: At) -> torch.Tensor:
    """The derivative that is one of the value, taken at that of the turn before; in the first turn, at what came in."""
    steps = at.trace.turns[at.step.line]
    turn = steps.index(at.step.index)
    states = [at.trace.steps[steps[turn - 1]].value] if turn else list(_came_in(at.trace, steps[0]))
    if not states:
        raise ValueError("the loop hands nothing on that its first turn could have taken")
    (state, *_) = states
    return BY_VALUE[at.name](at.trace, replace(at.step, value=state.expand(at.y.shape)), at.g)


TURNS = (
    Operator("function-left-out-between-turns", "missing-local", _passed_over, _hands_on, tell=_told_next),
    Operator("derivative-from-state-before", "wrong-point", _state_before,
             lambda at: len(at.trace.turns[at.step.line]) > 1 and at.name in BY_VALUE,
             tell=lambda at: {"value": at.named(at.step.key)}),
    Operator("value-of-another-turn", "wrong-point", _of_another_turn, each=lambda at: _turns(at, [at.where]),
             tell=lambda at, where, by: {"value": at.named(at.key(where)), "by": by}),
    Operator("partner-of-another-turn", "wrong-operand", _of_another_turn, each=lambda at: _turns(at, at.others),
             tell=lambda at, where, by: {"value": at.named(at.key(where)), "by": by}),
    Operator("derivative-at-own-output", "wrong-point", lambda at: at.back(replaced={at.where: at.y}),
             lambda at: len(at.trace.turns[at.step.line]) > 1 and at.x.shape == at.y.shape and not at.others),
)  # fmt: skip


def _maker(at: At, where: Position) -> At:
    """The step that an operand comes from, which is no input."""
    return At(at.trace, at.trace.steps[int(at.key(where)[1:])])


def _through_same(at: At) -> Iterator[Parameters]:
    """Partners that are rearranged values, with other values of the shape that these had before."""
    for where in at.others:
        if at.key(where).startswith("%"):
            made = _maker(at, where)
            for key in keys_like(at.trace, made.x) if made.name in RESHAPES and not made.others else ():
                if key not in (made.source, made.step.key):
                    yield {"where": where, "key": key}


def _own_through(at: At) -> Iterator[Parameters]:
    """Partners that are products, with the operand itself in the place of one of their factors."""
    for where in at.others:
        made = _maker(at, where) if at.key(where).startswith("%") else None
        for inner, source in made.step.operands if made is not None and made.name in PRODUCTS | CONTRACTIONS else ():
            if source != at.source and made is not None and made.step.operand(inner).shape == at.x.shape:
                yield {"where": where, "inner": inner}


THROUGH = (
    Operator("another-partner", "wrong-operand", lambda at, where, key: at.back(replaced={
             where: (made := _maker(at, where)).step.apply({made.where: shaped(at.trace.values()[key], made.x)})}),
             each=_through_same,
             tell=lambda at, where, key: {"there": at.named(key), "here": at.named(_maker(at, where).source)}),
    Operator("another-partner", "wrong-operand", lambda at, where, inner: at.back(replaced={
             where: _maker(at, where).step.apply({inner: at.x})}), each=_own_through,
             tell=lambda at, where, inner: {"there": at.named(at.source),
                                            "here": at.named(_maker(at, where).key(inner))}),
)  # fmt: skip
