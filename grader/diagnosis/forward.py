"""Another forward pass, differentiated rightly: a number, an axis, an option, an operation that is not the given one.

What another step changes may be all that follows and the way back, what follows alone, or the way back alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.reference import other_steps
from grader.reference.operand_view import At, shaped
from grader.reference.operations import ALONG_AN_AXIS, PRODUCTS, REDUCTIONS, RESHAPES, SUMS, axis_of, step_name
from grader.reference.symbolic_numbers import spelling
from grader.reference.trace import Carried, Position, Step, Trace
from grader.reference.trial import IMPOSSIBLE, Vague

from .along_axis import averages
from .operator import Changes, Kind, Operator, Parameters, Way
from .rearranging import PERMUTATIONS


def has_number(at: At) -> bool:
    """A plain number that is no axis and no exponent, and is taken together with an array."""
    others = RESHAPES | ALONG_AN_AXIS | REDUCTIONS | {"pow"}
    return bool(at.step.sources) and len(at.step.constants) == 1 and at.name not in others


SIZES: Mapping[str, Callable[[float], float]] = {"{}": float, "sqrt({})": math.sqrt}


def _sizes(trace: Trace) -> dict[str, int]:
    """The sizes of the axes, and the products of two."""
    sizes = {name: size for name, size in trace.sizes.items() if not name.startswith("_")}
    return sizes | {f"{a} * {b}": sizes[a] * sizes[b] for a, b in itertools.combinations(sizes, 2)}


def _other_sizes(at: At) -> Iterator[Parameters]:
    """For a number that is made of the size of an axis: another axis, or a product that this one is in."""
    (constant,) = at.step.constants.values() if at.name in PRODUCTS and has_number(at) else (1,)
    for form, made in SIZES.items() if constant > 1 else ():
        for here, there in itertools.permutations(_sizes(at.trace), 2):
            plain = " * " not in there or here in there.split(" * ")
            if plain and " * " not in here and math.isclose(made(_sizes(at.trace)[here]), constant):
                yield {"form": form, "here": here, "there": there}


def _another_size(trace: Trace, spot: Any, form: str, here: str, there: str) -> Changes:
    sizes, steps = _sizes(trace), spot.steps(trace)
    if any(not math.isclose(SIZES[form](sizes[here]), *trace.steps[i].constants.values()) for i in steps):
        raise ValueError("the number is made of something else in this trial")
    return dict.fromkeys(steps, lambda step: other_steps.with_constant(step, lambda _: SIZES[form](sizes[there])))


TURNED: Mapping[str, other_steps.Change] = {
    "add": torch.sub,
    "sub": torch.add,
    "__rsub__": lambda x, constant: constant + x,
}
OTHER_CONSTANTS: Mapping[str, Callable[[float], float]] = {  # the constant itself, where it has no other
    "rooted": lambda c: math.sqrt(c) if c > 0 else c, "squared": lambda c: c * c,
    "inverted": lambda c: 1 / c if c else c, "negated": lambda c: -c,
    "halved": lambda c: c / 2, "doubled": lambda c: 2 * c,
    "one-more": lambda c: c + 1, "one-less": lambda c: c - 1,
    "one-minus": lambda c: 1 - c, "one": lambda c: 1.0,
}  # fmt: skip


def _is_with_number(at: At, names: set[str]) -> bool:
    return at.name in names and not at.others and len(at.step.constants) == 1


def _number(at: At, **chosen: Any) -> Parameters:
    (constant,) = at.step.constants.values()
    return {**chosen, "number": spelling(constant)}


def _other_constants(at: At) -> Iterator[Parameters]:
    (constant,) = at.step.constants.values()
    return ({"how": how} for how, change in OTHER_CONSTANTS.items() if not math.isclose(change(constant), constant))


def _broadcasts_unless_reshaped(at: At) -> bool:
    """Without it, two shapes broadcast against each other and the result grows."""
    if at.name not in RESHAPES or at.others:
        return False
    try:
        other = at.trace.with_steps({at.step.index: other_steps.identity})
    except IMPOSSIBLE:
        return False
    later = zip(at.trace.steps[at.step.index + 1 :], other.steps[at.step.index + 1 :], strict=True)
    return any(there.value.numel() > here.value.numel() for here, there in later)


def _other_axes(at: At) -> Iterator[Parameters]:
    axis = axis_of(at.step)
    return ({"axis": other} for other in range(at.x.dim()) if axis is None or other != axis % at.x.dim())


def _fills(at: At) -> bool:
    return at.name in {"masked_fill", "masked_fill_"} and len(at.step.args) == 3


def _masks(at: At, rank: int = 0) -> bool:
    mask = at.step.args[other_steps.mask_at(at.step)] if at.name in other_steps.MASKING else None
    return isinstance(mask, torch.Tensor) and mask.dtype == torch.bool and mask.dim() >= rank


def _options(at: At) -> Iterator[Parameters]:
    for name, value in at.step.kwargs.items():
        if type(value) is bool and name != "keepdim":
            yield {"name": name, "value": not value}
    if at.name in {"var", "std", "var_mean"}:
        yield {"name": "correction", "value": 0 if at.step.kwargs.get("correction", 1) else 1}


def _indices(at: At) -> Iterator[Parameters]:
    """Its arrays of whole numbers, with another of the same shape."""
    values = at.trace.values()
    for where, source in at.step.sources:
        for key, value in values.items():
            like = values[source]
            if key != source and value.dtype == like.dtype == torch.int64 and value.shape == like.shape and value.dim():
                yield {"where": where, "key": key}


def _step(name: str, code: str, change: Callable[..., Step], when: Callable[[At], bool], **more: Any) -> Operator:
    """Another step, told with the parameters as they are."""

    def rule(trace: Trace, spot: Any, **chosen: Any) -> Changes:
        return dict.fromkeys(spot.steps(trace), partial(change, **chosen))

    return Operator(name, code, rule, when, kind=Kind.FORWARD, **{"tell": lambda at, **chosen: chosen, **more})


def _is_product_of_two(at: At) -> bool:
    """Of two different values of one shape."""
    shapes = {at.step.operand(where).shape for where, _ in at.step.operands}
    return at.name == "mul" and len({key for _, key in at.step.operands}) == 2 and len(shapes) == 1


def _taken_from_before(trace: Trace, turns: list[int]) -> list[Carried]:
    """Where a value of a loop is taken by the next turn."""
    return [one for one in trace.carried if one.made == f"%{turns[0]}" and len(trace.turns[one.line]) == len(turns)]


def _state_after(trace: Trace, spot: Any) -> Changes:
    turns, changes = spot.steps(trace), dict[int, dict[Position, torch.Tensor]]()
    if len(turns) == 1:
        raise Vague("a loop of one turn does not tell what a turn would hand on")
    for one in _taken_from_before(trace, turns):
        for i, made in zip(trace.turns[one.line], turns, strict=True):
            changes.setdefault(i, {})[one.where] = trace.steps[made].value
    return {i: lambda step, taken=taken: step.with_operands(taken) for i, taken in changes.items()}  # type: ignore[misc]


# The likeliest first.
STEPS = (
    _step("constant-missing", "wrong-point", lambda step: other_steps.with_constant(step, lambda c: 0.0),
          lambda at: _is_with_number(at, SUMS), tell=_number),
    _step("constant-missing", "missing-local", lambda step: other_steps.with_constant(step, lambda c: 1.0),
          lambda at: _is_with_number(at, PRODUCTS), tell=_number),
    _step("sign-turned", "wrong-sign", lambda step: replace(step, func=TURNED[step.name]),
          lambda at: at.name in TURNED),
    _step("sum-of-mean", "sum-for-mean", lambda step: replace(step, func=torch.sum),
          lambda at: averages(at) and not at.is_last),
    _step("reduced-along-another-axis", "summed-wrong-axis", other_steps.along_or_all,
          lambda at: at.name in REDUCTIONS and at.y.dim() > 0 and bool(at.step.operands),
          each=lambda at: (*_other_axes(at), {"axis": None}),
          tell=lambda at, axis: {"axis": "all" if axis is None else axis}),
    _step("operation-left-out", "missing-local", other_steps.identity,
          lambda at: at.name not in RESHAPES | SUMS | PRODUCTS and not at.others and not _fills(at)
          and at.y.shape == at.x.shape and at.y.dim() > 0 and len(at.trace.steps) > 1),
    _step("operation-left-out", "wrong-point", other_steps.identity,
          lambda at: _fills(at) and at.y.shape == at.x.shape),
    _step("operation-left-out", "transposed", other_steps.identity,
          lambda at: at.name in PERMUTATIONS and at.y.shape == at.x.shape),
    _step("along-another-axis", "summed-wrong-axis", other_steps.along_or_all,  # of an operation that keeps the shape
          lambda at: axis_of(at.step) is not None and at.y.shape == at.x.shape and at.x.dim() > 1 and not at.others,
          each=_other_axes),
    _step("shapes-not-in-line", "broadcast-accident", other_steps.identity, _broadcasts_unless_reshaped),
    _step("another-constant", "wrong-point", lambda step, how: other_steps.with_constant(step, OTHER_CONSTANTS[how]),
          lambda at: has_number(at) and at.name not in PRODUCTS, each=_other_constants, tell=_number),
    _step("another-constant", "wrong-factor", lambda step, how: other_steps.with_constant(step, OTHER_CONSTANTS[how]),
          lambda at: has_number(at) and at.name in PRODUCTS, each=_other_constants, tell=_number),
    _step("mean-less-one", "wrong-factor", other_steps.less_one, averages),
    _step("reshaped-in-forward", "reshape-for-transpose",  # to the shape that the permutation would give
          lambda step: replace(step, func=lambda x, *args, **kwargs: x.reshape(step.func(x, *args, **kwargs).shape)),
          lambda at: at.name in PERMUTATIONS),
    _step("first-ones-selected", "wrong-operand", other_steps.first_ones, lambda at: at.name == "topk"),
    _step("summand-left-out", "missing-path", other_steps.only_summand,
          lambda at: at.name in {"add", "sub"} and len(at.others) == 1,
          each=lambda at: ({"where": where} for where, _ in at.step.operands),
          tell=lambda at, where: {"operand": at.named(at.key(where))}),
    _step("factor-left-out", "missing-local", other_steps.only_factor, lambda at: at.name in {"mul", "div"},
          each=lambda at: ({"where": where} for where, _ in at.step.sources if at.name == "mul" or where == (1,)),
          tell=lambda at, where: {"operand": at.named(dict(at.step.sources)[where])}),
    _step("places-from-one", "wrong-operand", lambda step: other_steps.then(step, lambda places: places + 1),
          lambda at: at.name == "arange"),
    _step("mask-turned-round", "inverted-mask", other_steps.other_mask(torch.logical_not), _masks),
    _step("mask-transposed", "inverted-mask", other_steps.other_mask(lambda mask: mask.mT),
          lambda at: _masks(at, rank=2)),
    _step("another-option", "wrong-local", other_steps.with_option, lambda at: True, each=_options),
    _step("another-option", "broadcast-accident", other_steps.with_option,
          lambda at: at.step.kwargs.get("keepdim") is True, each=lambda at: ({"name": "keepdim", "value": False},)),
    _step("factors-by-themselves", "wrong-operand",  # whose derivatives are the factors themselves
          lambda step: replace(step, func=lambda a, b: (a * a + b * b) / 2), _is_product_of_two),
    Operator("state-after", "wrong-point", _state_after, kind=Kind.FORWARD,
             when=lambda at: bool(_taken_from_before(at.trace, at.trace.turns[at.step.line])),
             tell=lambda at: {"value": at.named(at.step.key)}),
    Operator("number-of-another-size", "wrong-factor", _another_size, each=_other_sizes, kind=Kind.FORWARD,
             tell=lambda at, form, here, there: {"here": form.format(here), "there": form.format(there)}),
)  # fmt: skip


def varying(trace: Trace) -> set[str]:
    """What some gradient goes through: not a mask, a place, a count, or what is made of these alone."""
    return set().union(*(trace.depends(name) for name, value in trace.inputs.items() if value.is_floating_point()))


def _at(trace: Trace, spot: Any) -> At:
    (index,) = spot.steps(trace)
    return At(trace, trace.steps[index], spot.position)


def _next(at: At) -> Step:
    """The one step that uses its value, where there is one that takes nothing else and keeps the shape."""
    uses = at.trace.uses(at.step.key)
    after = at.trace.steps[uses[0][0]] if len(uses) == 1 else None
    if after is None or len(after.operands) != 1 or after.value.shape != at.y.shape:
        raise ValueError("there is no next step at these sizes")
    return after


def _masked_later(trace: Trace, spot: Any) -> Changes:
    """0 behind the next step, and not -inf in front of it."""
    at = _at(trace, spot)
    mask = at.step.args[1]
    return {
        at.step.index: other_steps.identity,
        _next(at).index: lambda after: other_steps.then(after, lambda y: y.masked_fill(mask, 0.0)),
    }


RARER_STEPS = (
    Operator("another-index", "wrong-operand", lambda trace, spot, where, key: dict.fromkeys(
             spot.steps(trace), lambda step: step.with_operands({where: trace.values()[key]})),
             each=_indices, kind=Kind.FORWARD,
             tell=lambda at, where, key: {"there": at.named(key), "here": at.named(dict(at.step.sources)[where])}),
    Operator("masked-later", "wrong-local", _masked_later, lambda at: _fills(at) and bool(_next(at)),
             tell=lambda at: {"after": step_name(_next(at))}, kind=Kind.FORWARD),
)  # fmt: skip


def _of_another(trace: Trace, wrt: str, spot: Any, key: str) -> torch.Tensor:
    """One operation on the way forward is taken of another value, and its result used throughout."""
    at = _at(trace, spot)
    value = shaped(trace.values()[key], at.x)
    other = trace.with_steps({at.step.index: lambda step: step.with_operands({spot.position: value})})
    return other.backward(wrt) if wrt else other.values()[other.out]


TAKEN_OF_ANOTHER = Operator("taken-of-another-value", "wrong-operand", _of_another, kind=Kind.SWEEP)


def taken_of_another(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Step, Position, str, Parameters]]:
    """Every operation that may be taken of an input, or of the output, that is not its own operand."""
    values, relevant = trace.values(), trace.depends(wrt)
    for step in trace.steps:
        for where, source in step.sources if step.key != trace.out else ():
            for key in (*trace.inputs, trace.out):
                like = step.operand(where)
                if key != source and values[key].shape == like.shape and values[key].dtype == like.dtype:
                    code = "wrong-point" if len(step.sources) == 1 and step.key in relevant else "wrong-operand"
                    told = {"there": At(trace, step).named(key), "here": At(trace, step).named(source)}
                    yield replace(TAKEN_OF_ANOTHER, code=code), step, where, key, told


# The ways in which a step may be another one, the likelier and the rarer ones; any other operator is rarely both.
WAYS: Mapping[str, tuple[str, str]] = {
    "constant-missing": ("both forward", ""), "sign-turned": ("both", "forward"), "sum-of-mean": ("forward", "both"),
    "operation-left-out": ("both", "forward"), "reduced-along-another-axis": ("both", "forward"),
    "shapes-not-in-line": ("both", ""), "number-of-another-size": ("back", "both"),
    "factors-by-themselves": ("back", ""), "parts-taken-for-each-other": ("back", "both"),
    "along-another-axis": ("", "both forward back"), "another-constant": ("", "both forward back"),
    "another-option": ("", "both forward back"), "mean-less-one": ("", "both forward"),
    "factor-left-out": ("", "both forward"), "reshaped-in-forward": ("", "both back"),
    "first-ones-selected": ("", "both back"), "state-after": ("forward", ""), "another-index": ("", "both back"),
}  # fmt: skip


def ways(operator: Operator, *, plain: bool, differentiated: bool) -> list[Way]:
    """How a step may be another one: what follows and the way back, or one of these alone.

    Args:
        differentiated: the way back goes through it; otherwise what is wrong there may still be a partner's value.
    """
    likelier, rarer = (names.split() for names in WAYS.get(operator.name, ("", "both")))
    if not differentiated and "back" not in (*likelier, *rarer):
        rarer.append("back")
    return [Way(name) for name in (likelier if plain else rarer)]
