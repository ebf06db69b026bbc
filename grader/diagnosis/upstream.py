"""Slips in what arrives at a step, and in the values that its derivative is taken with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from grader.reference.operand_view import At, is_pointwise, name_beside, shaped, value_at, values_beside
from grader.reference.operations import CONTRACTIONS, JOINS, PRODUCTS, RESHAPES, SUMS, step_name
from grader.reference.trace import Line, Position, Trace

from .operator import Kind, Operator, Parameters

UPSTREAM = "out_g"


def maker(at: At, where: Position) -> At:
    """The step that an operand comes from, which is no input."""
    return At(at.trace, at.trace.steps[int(at.key(where)[1:])])


def _usable(at: At) -> bool:
    """Something else can arrive than what does: the end of a pass without an upstream gradient has 1."""
    return at.given or not at.is_last


def _arriving(at: At) -> Parameters:
    gradient = at.trace.upstream_name if at.is_given_last else f"^{at.named(at.step.key)[1:]}"
    return {"gradient": gradient, "value": at.named(at.step.key)}


def _next_values(at: At) -> Iterator[Parameters]:
    """What is made of its result next, where that has its shape."""
    after = (at.trace.steps[i] for i, _ in at.trace.uses(at.step.key))
    return ({"key": step.key} for step in after if step.value.shape == at.y.shape)


def _is_like_output(at: At) -> bool:
    """The upstream gradient of the output fits here, and something else arrives."""
    return at.given and not at.is_last and at.y.shape == at.trace.out_g.shape


ARRIVING = (
    Operator("upstream-missing", "missing-upstream", lambda at: torch.ones_like(at.g), lambda at: at.given,
             tell=_arriving, kind=Kind.UPSTREAM),
    Operator("upstream-missing", "missing-local", lambda at: torch.ones_like(at.g),
             lambda at: not at.given and not at.is_last, tell=_arriving, kind=Kind.UPSTREAM),
    Operator("value-for-gradient", "value-for-gradient", lambda at: at.y, _usable, tell=_arriving, kind=Kind.UPSTREAM),
    Operator("upstream-again", "extra-factor", lambda at: at.g + (0 if at.is_last else at.trace.out_g),
             lambda at: at.given and len(at.trace.turns[at.step.line]) > 1 and at.y.shape == at.trace.out_g.shape,
             kind=Kind.UPSTREAM),
    Operator("upstream-of-output", "wrong-operand", lambda at: at.trace.out_g, _is_like_output, tell=_arriving,
             kind=Kind.UPSTREAM),
    Operator("upstream-twice", "extra-factor", lambda at: at.g * at.g, lambda at: at.is_given_last, kind=Kind.UPSTREAM),
)  # fmt: skip


def _side(at: At) -> Parameters:
    return {"operand": at.named(at.source), "value": at.named(at.step.key)}


def _factors_beside(at: At) -> Iterator[Parameters]:
    """The factors of the product that the operand is added to."""
    for where in at.others if at.name in SUMS else ():
        if at.key(where).startswith("%") and (made := maker(at, where).step).name == "mul" and len(made.operands) == 2:
            inner = (inner for inner, _ in made.operands if made.operand(inner).shape == at.x.shape)
            yield from ({"where": where, "inner": one} for one in inner)


def _past_what_follows(at: At) -> torch.Tensor:
    """It is added to something, and the sum to something else, until that is the output."""
    last: At | None = at
    while last is not None and not last.is_last:
        sums = (At(at.trace, at.trace.steps[i]) for i, _ in at.trace.uses(last.step.key))
        last = next((one for one in sums if one.name == "add"), None)
    if last is None:
        raise ValueError("more than sums is missing there")
    return at.back(at.trace.out_g)


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
    Operator("upstream-of-output-on-one-side", "missing-path", _past_what_follows,
             lambda at: _is_like_output(at) and bool(at.others), tell=_side),
    Operator("times-input", "extra-factor", lambda at: at.back() * at.x,  # of an input that is no factor
             lambda at: at.source in at.trace.inputs and (at.name in SUMS or not is_pointwise(at)), tell=_side),
    Operator("factor-of-other-summand", "extra-factor",
             lambda at, where, inner: at.back() * shaped(maker(at, where).step.operand(inner), at.x),
             each=_factors_beside, tell=lambda at, where, inner: {
             "factor": at.named(maker(at, where).key(inner)), "other": at.named(at.key(where)), **_side(at)}),
    Operator("part-negated", "wrong-sign", lambda at: -at.back(), _computes, tell=_side),
)  # fmt: skip


def pool(trace: Trace) -> dict[str, torch.Tensor]:
    """Everything a learner may have at hand: values, the upstream gradient, the inputs' own gradients."""
    if "pool" not in trace.memo:
        gradients = {f"{name}.g": trace.backward(name) for name in trace.inputs}
        trace.memo["pool"] = {**trace.values(), UPSTREAM: trace.out_g, **gradients}
    found: dict[str, torch.Tensor] = trace.memo["pool"]
    return found


def counts(at: At, where: Position) -> bool:
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
    for where in (where for where in places if counts(at, where)):
        for one in values_beside(at, pool(at.trace), at.step.operand(where)):
            if one["key"] not in (at.key(where), own) and one.get("line") != at.step.line:
                yield {"where": where, **one}


def _taken_at(
    at: At, where: Position, key: str, line: Line | None = None, inner: Position | None = None
) -> torch.Tensor:
    value = value_at(at, key, line, inner) if line else pool(at.trace)[key]
    return at.back(replaced={where: shaped(value, at.step.operand(where))})


def _exchanged(at: At, where: Position, key: str, **chosen: Any) -> Parameters:
    there = (at.trace.upstream_name or "1") if key == UPSTREAM else name_beside(at, key, **chosen)
    return {"there": there, "here": at.named(at.key(where))}


def _partners(at: At, *, alike: bool) -> Iterator[Parameters]:
    """Those of the operand's shape, or the others."""
    others = (where for where in at.others if (at.step.operand(where).shape == at.x.shape) is alike)
    return ({"where": where} for where in others if counts(at, where))


def _partner(at: At, where: Position) -> Parameters:
    return {"here": at.named(at.key(where)), "own": at.named(at.source)}


def _functions(at: At) -> Iterator[Parameters]:
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
             lambda at: ({"where": where} for where in at.others if counts(at, where)), _partner),
)  # fmt: skip


def _through_same(at: At) -> Iterator[Parameters]:
    """Partners that are made of one value, with other values of its shape in its place."""
    for where in (where for where in at.others if at.key(where).startswith("%")):
        made = maker(at, where)
        if not made.others and (made.name in RESHAPES or is_pointwise(made)):
            for one in values_beside(at, at.trace.values(), made.x):
                if one["key"] not in (made.source, made.step.key):
                    yield {"where": where, **one}


def _own_through(at: At) -> Iterator[Parameters]:
    """Partners that are products, with the operand itself in the place of one of their factors."""
    for where in at.others:
        made = maker(at, where) if at.key(where).startswith("%") else None
        for inner, source in made.step.operands if made is not None and made.name in PRODUCTS | CONTRACTIONS else ():
            if source != at.source and made is not None and made.step.operand(inner).shape == at.x.shape:
                yield {"where": where, "inner": inner}


def _other_order(at: At, where: Position) -> torch.Tensor:
    made = maker(at, where).step
    return at.back(replaced={where: made.func(made.args[0][::-1], *made.args[1:], **made.kwargs)})


NEXT_FOR_UPSTREAM = Operator(
    "result-for-upstream", "value-for-gradient", lambda at, key: at.trace.values()[key].expand(at.g.shape), _usable,
    _next_values, lambda at, key: {"there": at.named(key), **_arriving(at)}, Kind.UPSTREAM,
)  # fmt: skip
THROUGH = (
    Operator("parts-of-partner-exchanged", "wrong-operand", _other_order, tell=_partner, each=lambda at: (
             {"where": where} for where in at.others if at.key(where)[0] == "%" and maker(at, where).name in JOINS)),
    Operator("another-partner", "wrong-operand", lambda at, where, **other: at.back(replaced={
             where: (made := maker(at, where)).step.apply({made.where: shaped(value_at(at, **other), made.x)})}),
             each=_through_same,
             tell=lambda at, where, **other: {"there": name_beside(at, **other),
                                              "here": at.named(maker(at, where).source)}),
    Operator("another-partner", "wrong-operand", lambda at, where, inner: at.back(replaced={
             where: maker(at, where).step.apply({inner: at.x})}), each=_own_through,
             tell=lambda at, where, inner: {"there": at.named(at.source),
                                            "here": at.named(maker(at, where).key(inner))}),
)  # fmt: skip
