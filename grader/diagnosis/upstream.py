"""Slips in what arrives at a step, and in the values that its derivative is taken with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.reference.trace import Position, Trace

from .operator import CONTRACTIONS, JOINS, RESHAPES, SUMS, At, Kind, Operator, Parameters, step_name
from .pointwise import is_pointwise, same_shape

UPSTREAM = "out_g"


def _last(at: At) -> bool:
    return at.is_last


def _given(at: At) -> bool:
    return at.given


def _usable(at: At) -> bool:
    """Something else can arrive than what does: the end of a pass without an upstream gradient has 1."""
    return at.given or not at.is_last


def _arriving(at: At, **_: Any) -> Parameters:
    gradient = at.trace.upstream_name if at.is_last and at.given else f"^{at.named(at.step.key)[1:]}"
    return {"gradient": gradient, "value": at.named(at.step.key)}


def _other_values(at: At) -> Iterator[str]:
    """Values of the shape of a product's upstream gradient, or of that of the whole."""
    if (at.given and at.is_last) or at.step.name in CONTRACTIONS:
        yield from (key for key in same_shape(at.trace.values(), at.y) if key != at.step.key)


def _inputs_for_upstream(at: At) -> Iterator[Parameters]:
    yield from ({"key": key} for key in _other_values(at) if key in at.trace.inputs)


def _results_for_upstream(at: At) -> Iterator[Parameters]:
    yield from ({"key": key} for key in _other_values(at) if key not in at.trace.inputs)


def _there(at: At, key: str) -> Parameters:
    return {"there": at.named(key), **_arriving(at)}


def _value_of(at: At, key: str) -> torch.Tensor:
    return at.trace.values()[key].expand(at.g.shape)


def _ones(at: At) -> torch.Tensor:
    return torch.ones_like(at.g)


ARRIVING = (
    Operator("upstream-missing", "missing-upstream", _ones, _given, tell=_arriving, kind=Kind.UPSTREAM),
    Operator("upstream-missing", "missing-local", _ones, lambda at: not at.given and not at.is_last, tell=_arriving,
             kind=Kind.UPSTREAM),
    Operator("input-for-upstream", "wrong-operand", _value_of, _usable, _inputs_for_upstream, _there, Kind.UPSTREAM),
    Operator("result-for-upstream", "value-for-gradient", _value_of, _usable, _results_for_upstream, _there,
             Kind.UPSTREAM),
    Operator("value-for-gradient", "value-for-gradient", lambda at: at.y, _usable, tell=_arriving,
             kind=Kind.UPSTREAM),
    Operator("upstream-twice", "extra-factor", lambda at: at.g * at.g, lambda at: at.given and at.is_last,
             kind=Kind.UPSTREAM),
)  # fmt: skip


def _on_one_side(at: At) -> bool:
    return at.given and len(at.step.operands) > 1


def _side(at: At, **_: Any) -> Parameters:
    return {"operand": at.named(at.source), "value": at.named(at.step.key)}


def _inputs_like_value(at: At) -> Iterator[Parameters]:
    yield from ({"key": key} for key, value in at.trace.inputs.items() if value.shape == at.y.shape)


def _is_input_that_is_no_factor(at: At) -> bool:
    return at.source in at.trace.inputs and (at.step.name in SUMS or not is_pointwise(at))


def _rearranges(at: At) -> bool:
    return at.step.name in RESHAPES | JOINS


ONE_SIDE = (
    Operator("upstream-missing-on-one-side", "missing-upstream", lambda at: at.back(torch.ones_like(at.g)),
             _on_one_side, tell=_side),
    Operator("value-for-gradient-on-one-side", "value-for-gradient", lambda at: at.back(at.y), _on_one_side,
             tell=_side),
    Operator("input-for-upstream-on-one-side", "wrong-operand", lambda at, key: at.back(at.trace.inputs[key]),
             lambda at: _on_one_side(at) and at.is_last, _inputs_like_value,
             lambda at, key: {"there": key, **_side(at)}),
    Operator("times-input", "extra-factor", lambda at: at.back() * at.x, _is_input_that_is_no_factor, tell=_side),
    Operator("part-negated", "wrong-sign", lambda at: -at.back(), lambda at: not _rearranges(at), tell=_side),
)  # fmt: skip


def pool(trace: Trace) -> dict[str, torch.Tensor]:
    """Everything a learner may have at hand: values, the upstream gradient, the inputs' own gradients."""
    if "pool" not in trace.memo:
        gradients = {f"{name}.g": trace.backward(name) for name in trace.inputs}
        trace.memo["pool"] = {**trace.values(), UPSTREAM: trace.out_g, **gradients}
    found: dict[str, torch.Tensor] = trace.memo["pool"]
    return found


def _is_square(at: At) -> bool:
    """Its derivative at its own value is what comes of an exponent that was not lowered, which is the likelier slip."""
    return at.step.name == "pow" and at.step.args[1:] == (2,)


def _exchanges(at: At, where: Position) -> Iterator[Parameters]:
    """Other values of the operand's shape; the forward pass's own first."""
    source, shape = dict(at.step.operands)[where], at.step.operand(where).shape
    for key, value in pool(at.trace).items():
        if key != source and value.shape == shape and not (key == at.step.key and _is_square(at)):
            yield {"where": where, "key": key}


def _other_points(at: At) -> Iterator[Parameters]:
    yield from _exchanges(at, at.where)


def _other_partners(at: At) -> Iterator[Parameters]:
    for where in at.others:
        yield from _exchanges(at, where)


def _taken_at(at: At, where: Position, key: str) -> torch.Tensor:
    value = pool(at.trace)[key]
    if value.shape != at.step.operand(where).shape:
        raise ValueError("the values have different shapes in this trial")
    return at.back(replaced={where: value})


def _exchanged(at: At, where: Position, key: str) -> Parameters:
    there = (at.trace.upstream_name or "1") if key == UPSTREAM else at.named(key)
    return {"there": there, "here": at.named(dict(at.step.operands)[where])}


def _partners(at: At) -> Iterator[Parameters]:
    yield from ({"where": where} for where in at.others)


def _alike_partners(at: At) -> Iterator[Parameters]:
    yield from ({"where": where} for where in at.others if at.step.operand(where).shape == at.x.shape)


def _unlike_partners(at: At) -> Iterator[Parameters]:
    yield from ({"where": where} for where in at.others if at.step.operand(where).shape != at.x.shape)


def _partner(at: At, where: Position) -> Parameters:
    return {"here": at.named(dict(at.step.operands)[where]), "own": at.named(at.source)}


def _swapped(at: At, where: Position) -> torch.Tensor:
    return at.back(replaced={at.where: at.step.operand(where), where: at.x})


def _own_for_partner(at: At, where: Position) -> torch.Tensor:
    return at.back(replaced={where: at.x.expand(at.g.shape)})


def _without_partner(at: At, where: Position) -> torch.Tensor:
    return at.back(replaced={where: torch.ones_like(at.step.operand(where))})


def _functions(at: At) -> Iterator[Parameters]:
    """The functions of one value that the forward pass applies."""
    for where in at.others:
        for other in at.trace.steps:
            if len(other.operands) == 1 and other.name not in RESHAPES and is_pointwise(At(at.trace, other)):
                yield {"where": where, "index": other.index}


def _through(at: At, where: Position, index: int) -> torch.Tensor:
    other = at.trace.steps[index]
    return at.back(replaced={where: other.apply({other.operands[0][0]: at.step.operand(where)})})


def _function(at: At, where: Position, index: int) -> Parameters:
    return {"function": step_name(at.trace.steps[index]), **_partner(at, where)}


EXCHANGED = (
    Operator("derivative-at-another-value", "wrong-point", _taken_at, lambda at: not _rearranges(at), _other_points,
             _exchanged),
    Operator("another-partner", "wrong-operand", _taken_at, lambda at: not _rearranges(at), _other_partners,
             _exchanged),
    Operator("parts-swapped", "wrong-operand", _swapped, lambda at: not _rearranges(at), _alike_partners, _partner),
    Operator("own-value-for-partner", "wrong-operand", _own_for_partner,
             lambda at: not _rearranges(at) and is_pointwise(at), _unlike_partners, _partner),
    Operator("function-of-partner", "wrong-operand", _through, lambda at: at.step.name in CONTRACTIONS, _functions,
             _function),
    Operator("partner-missing", "missing-local", _without_partner, lambda at: not _rearranges(at), _partners, _partner),
)  # fmt: skip


def _turns(at: At) -> Iterator[Parameters]:
    """In a loop: the same value one turn before or after its own."""
    steps = at.trace.turns[at.step.line]
    for where, _ in at.step.operands if len(steps) > 1 else ():
        if len({dict(at.trace.steps[i].operands).get(where) for i in steps}) == len(steps):
            yield from ({"where": where, "by": by} for by in (-1, 1))


def _of_another_turn(at: At, where: Position, by: int) -> torch.Tensor:
    """The value that the turn before or after takes; behind the last, what that one hands on."""
    steps = at.trace.turns[at.step.line]
    taken = [at.trace.steps[i].operand(where) for i in steps]
    key = dict(at.trace.steps[steps[-1]].operands)[where]
    if key.startswith("%"):
        made = at.trace.turns[at.trace.steps[int(key[1:])].line]
        taken.append(at.trace.steps[made[-1]].value)
    turn = steps.index(at.step.index) + by
    return at.back(replaced={where: taken[max(0, min(turn, len(taken) - 1))]})


TURNS = (
    Operator("value-of-another-turn", "wrong-point", _of_another_turn, each=_turns,
             tell=lambda at, where, by: {"value": at.named(dict(at.step.operands)[where]), "by": by}),
    Operator("derivative-at-own-output", "wrong-point", lambda at: at.back(replaced={at.where: at.y}),
             lambda at: len(at.trace.turns[at.step.line]) > 1 and at.x.shape == at.y.shape and len(at.others) == 0),
)  # fmt: skip


def _through_same(at: At) -> Iterator[Parameters]:
    """Partners that are rearranged values, with other values of the shape that these had before."""
    for where in at.others:
        key = dict(at.step.operands)[where]
        made = at.trace.steps[int(key[1:])] if key.startswith("%") else None
        if made is None or made.name not in RESHAPES or len(made.operands) != 1:
            continue
        ((position, source),) = made.operands
        for other in same_shape(at.trace.values(), made.operand(position)):
            if other not in (source, key):
                yield {"where": where, "key": other}


def _rearranged_alike(at: At, where: Position, key: str) -> torch.Tensor:
    made = at.trace.steps[int(dict(at.step.operands)[where][1:])]
    ((position, _),) = made.operands
    value = at.trace.values()[key]
    if value.shape != made.operand(position).shape:
        raise ValueError("the values have different shapes in this trial")
    return at.back(replaced={where: made.apply({position: value})})


def _exchanged_before(at: At, where: Position, key: str) -> Parameters:
    made = at.trace.steps[int(dict(at.step.operands)[where][1:])]
    return {"there": at.named(key), "here": at.named(made.operands[0][1])}


THROUGH = (Operator("another-partner", "wrong-operand", _rearranged_alike, each=_through_same, tell=_exchanged_before),)
