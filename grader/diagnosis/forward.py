"""Another forward pass, differentiated rightly: an input, a constant, an axis, an operation that is not the given one.

What another step changes may be all that follows and the way back, what follows alone, or the way back alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.reference.symbolic_numbers import spelling
from grader.reference.trace import Position, Step, Trace
from grader.reference.trial import IMPOSSIBLE

from .operator import (
    ALONG_AN_AXIS,
    AVERAGES,
    CONTRACTIONS,
    PRODUCTS,
    REDUCTIONS,
    RESHAPES,
    SUMS,
    At,
    Kind,
    Operator,
    Parameters,
    Way,
    along,
    axis_of,
    step_name,
    value_name,
)
from .pointwise import is_pointwise
from .rearranging import PERMUTATIONS

Change = Callable[[torch.Tensor], torch.Tensor]
TURNED: Mapping[str, Callable[..., torch.Tensor]] = {
    "add": torch.sub,
    "sub": torch.add,
    "__rsub__": lambda x, constant: constant + x,
}
# Functions that may be taken for one another.
KIN: tuple[tuple[str, ...], ...] = (
    ("sigmoid", "tanh"), ("softmax", "sigmoid"), ("exp", "sigmoid"), ("relu", "sigmoid"), ("tanh", "relu"),
    ("log_softmax", "softmax"), ("softmax", "log_softmax"), ("sqrt", "square"), ("abs", "square"), ("sin", "cos"),
)  # fmt: skip
FUNCTIONS: Mapping[str, Change] = {
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu, "square": torch.square, "exp": torch.exp,
    "cos": torch.cos, "sin": torch.sin, "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
}  # fmt: skip
OTHER_CONSTANTS: Mapping[str, Callable[[float], float]] = {
    "rooted": lambda c: math.sqrt(c),
    "squared": lambda c: c * c,
    "inverted": lambda c: 1 / c,
    "negated": lambda c: -c,
    "halved": lambda c: c / 2,
    "doubled": lambda c: 2 * c,
    "one-more": lambda c: c + 1,
    "one-less": lambda c: c - 1,
    "one-minus": lambda c: 1 - c,
    "one": lambda c: 1.0,
}


def _constants(step: Step) -> list[int]:
    """The places of the plain numbers among its arguments."""
    return [i for i, value in enumerate(step.args) if isinstance(value, (int, float)) and type(value) is not bool]


def _has_one_constant(at: At) -> bool:
    """A number that is added, or multiplied with."""
    return len(at.step.operands) == 1 and len(_constants(at.step)) == 1 and at.step.name in SUMS | PRODUCTS


def _with_constant(step: Step, change: Callable[[float], float]) -> Step:
    (place,) = _constants(step)
    return replace(step, args=(*step.args[:place], change(step.args[place]), *step.args[place + 1 :]))


def _constant_is(value: float) -> Callable[[Step], Step]:
    return lambda step: _with_constant(step, lambda _: value)


def _of(*names: str) -> Callable[[At], bool]:
    return lambda at: at.step.name in names


def _number(at: At, **_: Any) -> Parameters:
    (place,) = _constants(at.step)
    return {"number": spelling(at.step.args[place])}


def _other_constants(at: At) -> Iterator[Parameters]:
    (place,) = _constants(at.step)
    constant = float(at.step.args[place])
    for how, change in OTHER_CONSTANTS.items():
        if (how in {"rooted"} and constant <= 0) or (how == "inverted" and not constant):
            continue
        if not math.isclose(change(constant), constant):
            yield {"how": how}


def _how(at: At, how: str) -> Parameters:
    return {"how": how, **_number(at)}


def _other_constant(step: Step, how: str) -> Step:
    return _with_constant(step, OTHER_CONSTANTS[how])


def _turned(step: Step) -> Step:
    return replace(step, func=TURNED[step.name])


def _swapped(step: Step) -> Step:
    """`b - a` for `a - b`, and so for a quotient and a matrix product."""
    a, b, *rest = step.args
    return replace(step, args=(b, a, *rest))


def _reduced_otherwise(step: Step) -> Step:
    return replace(step, func=torch.sum if step.name in AVERAGES else torch.mean)


def _identity(step: Step) -> Step:
    """The operation left out."""

    def nothing(value: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return value

    return replace(step, func=nothing)


def _is_left_out_easily(at: At) -> bool:
    """A function of one value that is not the whole pass; what would be left has the same shapes."""
    step = at.step
    if len(step.operands) != 1 or len(at.trace.steps) == 1 or step.name in RESHAPES | SUMS | PRODUCTS:
        return False
    return step.value.shape == at.x.shape and step.value.dim() > 0


def _broadcasts_unless_reshaped(at: At) -> bool:
    """Without it, two shapes broadcast against each other and the result grows."""
    if at.step.name not in RESHAPES or len(at.step.operands) != 1:
        return False
    try:
        other = at.trace.with_steps({at.step.index: _identity})
    except IMPOSSIBLE:
        return False
    later = zip(at.trace.steps[at.step.index + 1 :], other.steps[at.step.index + 1 :], strict=True)
    return any(there.value.numel() > here.value.numel() for here, there in later)


def _along(step: Step, axis: int | None) -> Step:
    return along(step, tuple(range(step.value.dim())) if axis is None else axis)


def _has_kept_axis(at: At) -> bool:
    return at.step.name in REDUCTIONS and at.y.dim() > 0 and at.y.dim() == at.x.dim()


def _is_along_axis(at: At) -> bool:
    """An operation along one axis that keeps the shape."""
    return axis_of(at.step) is not None and at.y.shape == at.x.shape and at.x.dim() > 1 and len(at.step.operands) == 1


def _other_axes(at: At) -> Iterator[Parameters]:
    axis = axis_of(at.step)
    for other in range(at.y.dim()):
        if axis is None or other != axis % at.y.dim():
            yield {"axis": other}


def _all_axes(at: At) -> Iterator[Parameters]:
    yield from _other_axes(at)
    yield {"axis": None}


def _axis(at: At, axis: int | None) -> Parameters:
    return {"axis": "all" if axis is None else axis}


def _function_instead(step: Step, name: str) -> Step:
    def other(value: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return FUNCTIONS[name](value)

    return replace(step, func=other)


def _kin(at: At) -> Iterator[Parameters]:
    own = "relu" if spelt_relu(at.step) else at.step.name
    for one, two in KIN:
        if own in (one, two):
            yield {"name": two if own == one else one}


def spelt_relu(step: Step) -> bool:
    return step.name == "clamp_min" and step.args[1:] == (0,)


def _has_kin(at: At) -> bool:
    return len(at.step.operands) == 1 and at.y.dim() > 0 and bool(list(_kin(at)))


def _power_of(step: Step, change: Callable[[float], float]) -> Step:
    return replace(step, args=(step.args[0], change(step.args[1])))


def _is_power(at: At) -> bool:
    return at.step.name == "pow" and len(at.step.operands) == 1 and isinstance(at.step.args[1], (int, float))


def _fills(at: At) -> bool:
    return at.step.name in {"masked_fill", "masked_fill_"} and len(at.step.args) == 3


def _filled_with(value: float) -> Callable[[Step], Step]:
    return lambda step: replace(step, args=(*step.args[:2], value))


def _other_mask(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Step], Step]:
    def rule(step: Step) -> Step:
        place = 1 if step.name.startswith("masked_fill") else 0
        return replace(step, args=(*step.args[:place], change(step.args[place]), *step.args[place + 1 :]))

    return rule


def _masks(at: At) -> bool:
    place = 1 if at.step.name.startswith("masked_fill") else 0
    return at.step.name in {"masked_fill", "masked_fill_", "where"} and isinstance(at.step.args[place], torch.Tensor)


def _masks_matrices(at: At) -> bool:
    return _masks(at) and at.step.args[1 if at.step.name.startswith("masked_fill") else 0].dim() > 1


def _shifted_mask(by: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A mask whose diagonals have moved by one place."""

    def change(mask: torch.Tensor) -> torch.Tensor:
        rows, columns = mask.shape[-2:]
        wide = torch.nn.functional.pad(mask.to(torch.float64)[None], (1, 1, 0, 0), mode="replicate")[0]
        found = wide[..., :, 1 - by : 1 - by + columns] > 0.5
        return found.reshape(mask.shape) if found.shape == mask.shape else mask[..., :rows, :columns]

    return change


def _activation(at: At) -> bool:
    """A function of one value, entry by entry, that is more than a sum or a product with a number."""
    if len(at.step.operands) != 1 or at.step.name in RESHAPES | SUMS | PRODUCTS | {"pow"}:
        return False
    return at.y.dim() > 0 and is_pointwise(at)


def _activations(at: At) -> Iterator[Parameters]:
    for other in at.trace.steps:
        if other.index != at.step.index and other.operands and other.operands[0][1] != at.step.key:
            if _activation(At(at.trace, other)):
                yield {"function": other}


def _followed_by(step: Step, function: Step) -> Step:
    """`step`, with the function of another taken of its value."""
    ((position, _),) = function.operands
    constants = [value for place, value in enumerate(function.args) if (place,) != position]

    def both(*args: Any, **kwargs: Any) -> torch.Tensor:
        found: torch.Tensor = function.func(step.func(*args, **kwargs), *constants, **function.kwargs)
        return found

    return replace(step, func=both)


def _options(at: At) -> Iterator[Parameters]:
    for name, value in at.step.kwargs.items():
        if type(value) is bool:
            yield {"name": name, "value": not value}
    if at.step.name in {"var", "std", "var_mean"}:
        yield {"name": "correction", "value": 0 if at.step.kwargs.get("correction", 1) else 1}


def _with_option(step: Step, name: str, value: Any) -> Step:
    kwargs = {key: given for key, given in step.kwargs.items() if not (name == "correction" and key == "unbiased")}
    return replace(step, kwargs={**kwargs, name: value})


def _step(name: str, code: str, rule: Callable[..., Step], when: Callable[[At], bool], **more: Any) -> Operator:
    return Operator(name, code, rule, when, kind=Kind.FORWARD, **more)


def _has_number(at: At) -> bool:
    """A plain number that is no axis and no exponent."""
    return len(_constants(at.step)) == 1 and at.step.name not in RESHAPES | ALONG_AN_AXIS | REDUCTIONS | {"pow"}


def _scales(at: At) -> bool:
    return _has_number(at) and at.step.name in PRODUCTS


def _shifts(at: At) -> bool:
    return _has_number(at) and at.step.name not in PRODUCTS


def _less_one(step: Step) -> Step:
    """A mean that is divided by the number of its entries less one."""

    def mean(value: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        found = value.mean(*args, **kwargs)
        n = value.numel() / max(found.numel(), 1)
        return found * n / (n - 1)

    return replace(step, func=mean)


def _reshaped(step: Step) -> Step:
    """Reshaped to the shape that a permutation of the axes would give."""

    def reshaped(value: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return value.reshape(step.func(value, *args, **kwargs).shape)

    return replace(step, func=reshaped)


def _other_end(step: Step) -> Step:
    if step.name == "topk":
        return replace(step, kwargs={**step.kwargs, "largest": not step.kwargs.get("largest", True)})
    if step.name in {"sort", "argsort"}:
        return replace(step, kwargs={**step.kwargs, "descending": not step.kwargs.get("descending", False)})
    (place, _), *_ = step.operands

    def other(value: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        found = step.func(-value, *args, **kwargs)
        return -found if isinstance(found, torch.Tensor) and found.is_floating_point() else found

    return replace(step, func=other)


def _first_ones(step: Step) -> Step:
    """The first entries along the axis in place of the selected ones."""
    index = getattr(step.func, "index", 0)

    def first(value: torch.Tensor, k: int, dim: int = -1, **_: Any) -> torch.Tensor:
        places = torch.arange(k).expand(*value.shape[:-1], k)
        return value.narrow(dim, 0, k) if index == 0 else places

    return replace(step, func=_as_part(first, index))


def _as_part(function: Callable[..., torch.Tensor], index: int) -> Callable[..., torch.Tensor]:
    function.index = index  # type: ignore[attr-defined]
    return function


# What another step may be, the likeliest first; `FORWARD_ONLY` and `BACK_ONLY` of them may change one direction alone.
STEPS = (
    _step("constant-missing", "wrong-point", _constant_is(0.0), lambda at: _has_one_constant(at) and at.step.name in SUMS,
          tell=_number),
    _step("constant-missing", "missing-local", _constant_is(1.0),
          lambda at: _has_one_constant(at) and at.step.name in PRODUCTS, tell=_number),
    _step("sign-turned", "wrong-sign", _turned, _of(*TURNED)),
    _step("sum-of-mean", "sum-for-mean", _reduced_otherwise, lambda at: _of(*AVERAGES)(at) and not at.is_last),
    _step("mean-of-sum", "mean-for-sum", _reduced_otherwise, lambda at: _of("sum")(at) and not at.is_last),
    _step("reduced-along-another-axis", "summed-wrong-axis", _along, _has_kept_axis, each=_all_axes, tell=_axis),
    _step("operation-left-out", "missing-local", _identity, _is_left_out_easily),
    _step("along-another-axis", "summed-wrong-axis", along, _is_along_axis, each=_other_axes, tell=_axis),
    _step("shapes-not-in-line", "broadcast-accident", _identity, _broadcasts_unless_reshaped),
    _step("another-constant", "wrong-point", _other_constant, _shifts, each=_other_constants, tell=_how),
    _step("another-constant", "wrong-factor", _other_constant, _scales, each=_other_constants, tell=_how),
    _step("mean-less-one", "wrong-factor", _less_one, _of(*AVERAGES)),
    _step("reshaped-in-forward", "reshape-for-transpose", _reshaped, _of(*PERMUTATIONS)),
    _step("other-end-selected", "wrong-operand", _other_end, _of("topk", "sort", "argsort", "max", "min", "amax", "amin")),
    _step("first-ones-selected", "wrong-operand", _first_ones, _of("topk")),
    _step("another-function", "wrong-local", _function_instead, _has_kin, each=_kin, tell=lambda at, name: {"name": name}),
    _step("another-exponent", "wrong-local", lambda step: _power_of(step, lambda k: k - 1), _is_power),
    _step("another-exponent", "wrong-local", lambda step: _power_of(step, lambda k: k + 1), _is_power),
    _step("mask-filled-with-zero", "wrong-local", _filled_with(0.0), _fills),
    _step("mask-left-out", "inverted-mask", _other_mask(torch.zeros_like), _fills),
    _step("mask-turned-round", "inverted-mask", _other_mask(torch.logical_not), _masks),
    _step("mask-shifted", "wrong-local", _other_mask(_shifted_mask(1)), _masks_matrices),
    _step("mask-shifted", "wrong-local", _other_mask(_shifted_mask(-1)), _masks_matrices),
    _step("mask-transposed", "inverted-mask", _other_mask(lambda mask: mask.mT), _masks_matrices),
    _step("another-option", "wrong-local", _with_option, lambda at: bool(list(_options(at))), each=_options,
          tell=lambda at, name, value: {"name": name, "value": value}),
    _step("parts-exchanged", "wrong-sign", _swapped, lambda at: at.step.name == "sub" and len(at.step.operands) == 2),
    _step("parts-exchanged", "wrong-operand", _swapped, lambda at: at.step.name == "div" and len(at.step.operands) == 2),
)  # fmt: skip
FORWARD_ONLY = {"constant-missing", "sum-of-mean", "mean-of-sum", "along-another-axis", "reduced-along-another-axis",
                "another-constant", "another-function", "another-option", "operation-left-out", "sign-turned",
                "mask-left-out", "mask-filled-with-zero"}  # fmt: skip
BACK_ONLY = {
    "reshaped-in-forward",
    "along-another-axis",
    "another-function",
    "another-option",
    "another-exponent",
    "another-constant",
}
RARER_STEPS = (
    _step("function-applied-as-well", "wrong-local", lambda step, function: _followed_by(step, function),
          lambda at: at.step.name in CONTRACTIONS | SUMS, each=_activations,
          tell=lambda at, function: {"function": step_name(function), "value": value_name(at.trace, at.step.key)}),
)  # fmt: skip


def _added_up(trace: Trace, wrt: str, spot: Any) -> torch.Tensor:
    """Where the forward pass averages, it still divides by the right count, not by that of the broadcast entries."""
    (index,) = spot.steps(trace)
    other, times = trace.with_steps({index: _identity}), 1.0
    for here, there in zip(trace.steps, other.steps, strict=True):
        if here.name in AVERAGES:
            (position, _), *_ = here.operands
            times *= there.operand(position).numel() / here.operand(position).numel()
    return other.backward(wrt) * times


def _next_of_one(trace: Trace, step: Step) -> Step | None:
    """The one step that uses its value, where that has no other operand."""
    uses = trace.uses(step.key)
    after = trace.steps[uses[0][0]] if len(uses) == 1 else None
    return after if after is not None and len(after.operands) == 1 and after.value.shape == step.value.shape else None


def _order_exchanged(trace: Trace, spot: Any) -> Trace:
    """The step is made after the next one, not before it."""
    (index,) = spot.steps(trace)
    step, after = trace.steps[index], _next_of_one(trace, trace.steps[index])
    if after is None or len(step.operands) != 1:
        raise ValueError("there is no next step at these sizes")
    ((where, _),) = step.operands

    def both(again: Step) -> Step:
        def function(*args: Any, **kwargs: Any) -> torch.Tensor:
            return step.apply({where: again.func(*args, **kwargs)})

        return replace(again, func=function)

    return trace.with_steps({index: _identity, after.index: both})


def _can_be_exchanged(at: At) -> bool:
    after = _next_of_one(at.trace, at.step)
    return (
        after is not None
        and len(at.step.operands) == 1
        and at.step.name not in RESHAPES
        and (after.name not in RESHAPES and at.step.value.shape == at.x.shape)
    )


def _after(at: At) -> Parameters:
    after = _next_of_one(at.trace, at.step)
    assert after is not None
    return {"after": step_name(after)}


def _masked_later(trace: Trace, spot: Any) -> Trace:
    """The entries are set to 0 behind the softmax, and not to -inf in front of it."""
    (index,) = spot.steps(trace)
    after = _next_of_one(trace, trace.steps[index])
    if after is None:
        raise ValueError("there is no next step at these sizes")
    mask = trace.steps[index].args[1]

    def masked(again: Step) -> Step:
        return replace(again, func=lambda *args, **kwargs: again.func(*args, **kwargs).masked_fill(mask, 0.0))

    return trace.with_steps({index: _identity, after.index: masked})


TRACES = (
    Operator("order-exchanged", "wrong-point", _order_exchanged, _can_be_exchanged, tell=_after, kind=Kind.TRACE),
    Operator("masked-later", "wrong-local", _masked_later, lambda at: _fills(at) and _next_of_one(at.trace, at.step) is not None,
             tell=_after, kind=Kind.TRACE),
)  # fmt: skip
ADDED_UP = Operator(
    "broadcast-and-added-up", "broadcast-accident", _added_up, _broadcasts_unless_reshaped, kind=Kind.SWEEP
)


def _of_another(trace: Trace, wrt: str, spot: Any, key: str) -> torch.Tensor:
    """One operation on the way forward is taken of another value, and its result used throughout."""
    (index,) = spot.steps(trace)
    value = trace.values()[key]
    if value.shape != trace.steps[index].operand(spot.position).shape:
        raise ValueError("the values have different shapes in this trial")
    other = trace.with_steps({index: lambda step: step.with_operands({spot.position: value})})
    return other.backward(wrt) if wrt else other.values()[other.out]


TAKEN_OF_ANOTHER = (
    Operator("taken-of-another-value", "wrong-point", _of_another, kind=Kind.SWEEP),
    Operator("taken-of-another-value", "wrong-operand", _of_another, kind=Kind.SWEEP),
)


def taken_of_another(trace: Trace) -> Iterator[tuple[Operator, Step, Position, str, Parameters]]:
    """Every operation that may be taken of an input, or of the output, that is not its own operand."""
    values = trace.values()
    for step in trace.steps:
        for where, source in step.sources if step.key != trace.out else ():
            for key in (*trace.inputs, trace.out):
                like = step.operand(where)
                if key != source and values[key].shape == like.shape and values[key].dtype == like.dtype:
                    operator = TAKEN_OF_ANOTHER[0 if len(step.sources) == 1 else 1]
                    told = {"there": value_name(trace, key), "here": value_name(trace, source)}
                    yield operator, step, where, key, told


def _is_bias(trace: Trace, name: str) -> bool:
    """It is added to something larger, and used for nothing else."""
    used = [trace.steps[step] for step, _ in trace.uses(name)]
    return all(step.name == "add" and trace.inputs[name].numel() < step.value.numel() for step in used) and bool(used)


def _with_inputs(trace: Trace, names: tuple[str, ...], change: Change) -> dict[str, torch.Tensor]:
    return {name: change(trace.inputs[name]) for name in names}


def _counted(places: torch.Tensor) -> torch.Tensor:
    return torch.arange(places.numel()).view(places.shape)


def _input(name: str, code: str, change: Change) -> Operator:
    return Operator(name, code, lambda trace, names: _with_inputs(trace, names, change), kind=Kind.INPUTS)


BIASES_MISSING = _input("biases-missing", "wrong-point", torch.zeros_like)
NOT_ADDED = _input("input-not-added", "wrong-point", torch.zeros_like)
FROM_ONE = _input("counted-from-one", "wrong-operand", lambda places: places - 1)
NOT_ASKED = _input("input-not-asked", "wrong-operand", _counted)
AS_ZERO = _input("input-as-zero", "wrong-point", partial(torch.full_like, fill_value=0.0))
AS_ONE = _input("input-as-one", "missing-local", partial(torch.full_like, fill_value=1.0))

# What may be used in an input's place. (Another value of the variable itself is another point.)
INSTEAD: Mapping[str, tuple[str, Change]] = {
    "mean-of-rows": ("wrong-operand", lambda x: x.mean(0, keepdim=True).expand(x.shape)),
    "mean": ("wrong-operand", lambda x: x.mean().expand(x.shape)),
    "sum-of-rows": ("wrong-operand", lambda x: x.sum(0, keepdim=True).expand(x.shape)),
    "sum": ("wrong-operand", lambda x: x.sum().expand(x.shape)),
    "first-row": ("partial-batch", lambda x: x[:1].expand(x.shape)),
    "last-row": ("partial-batch", lambda x: x[-1:].expand(x.shape)),
    "row-before": ("wrong-operand", lambda x: x.roll(1, 0)),
    "row-behind": ("wrong-operand", lambda x: x.roll(-1, 0)),
    "row-before-or-none": ("wrong-operand", lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1]))),
    "row-behind-or-none": ("wrong-operand", lambda x: torch.cat((x[1:], torch.zeros_like(x[:1])))),
    "rows-turned-round": ("wrong-operand", lambda x: x.flip(0)),
    "sorted": ("wrong-operand", lambda x: x.sort(0).values),
    "less-mean": ("wrong-operand", lambda x: x - x.mean(0)),
    "without-sign": ("wrong-operand", torch.abs),
    "rounded": ("wrong-operand", torch.round),
    "squared": ("wrong-operand", torch.square),
}
OF_PLACES = ("first-row", "last-row", "row-before", "row-behind", "rows-turned-round")
CUT: Mapping[str, tuple[str, Change]] = {
    "sign": ("not-linear", torch.sign),
    "cut-off": ("not-linear", lambda g: g.clamp(-1, 1)),
}


def _rearranged(trace: Trace, names: tuple[str, ...], how: str) -> dict[str, torch.Tensor]:
    return _with_inputs(trace, names, INSTEAD[how][1])


REARRANGED = {
    code: Operator("input-rearranged", code, _rearranged, kind=Kind.INPUTS)
    for code in ("wrong-operand", "partial-batch", "wrong-point")
}
INPUTS = (BIASES_MISSING, NOT_ADDED, FROM_ONE, NOT_ASKED, AS_ZERO, AS_ONE, *REARRANGED.values())


def input_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """An input is left out, or its places are counted from 1: operator, parameters, what is told."""
    biases = tuple(name for name in trace.inputs if _is_bias(trace, name))
    if len(biases) > 1:
        yield BIASES_MISSING, {"names": biases}, {"names": list(biases)}
    for name, value in trace.inputs.items():
        chosen, told = {"names": (name,)}, {"name": name}
        if name == wrt:
            if all(trace.steps[step].name in SUMS for step, _ in trace.uses(name)):
                yield NOT_ADDED, chosen, told
        elif value.is_floating_point():
            yield from ((operator, chosen, told) for operator in (AS_ZERO, AS_ONE))
        else:
            yield from ((operator, chosen, told) for operator in (FROM_ONE, NOT_ASKED))


def rarer_input_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Other rows of an input, or its numbers changed."""
    for name, value in trace.inputs.items():
        if value.is_floating_point() and value.dim():
            for how, (code, _) in INSTEAD.items():
                operator = REARRANGED["wrong-point" if name == wrt and code == "wrong-operand" else code]
                yield operator, {"names": (name,), "how": how}, {"name": name, "how": how}
        elif value.dim() and not value.is_floating_point():
            for how in OF_PLACES:
                yield REARRANGED[INSTEAD[how][0]], {"names": (name,), "how": how}, {"name": name, "how": how}


def _with_other_upstream(trace: Trace, wrt: str, how: str) -> torch.Tensor:
    change = (INSTEAD | CUT)[how][1]
    return replace(trace, out_g=change(trace.out_g), memo={}).backward(wrt)


def _with_added_upstream(trace: Trace, wrt: str, key: str, sign: int) -> torch.Tensor:
    return replace(trace, out_g=trace.out_g + sign * trace.values()[key].expand(trace.out_g.shape), memo={}).backward(
        wrt
    )


def _with_gate(trace: Trace, wrt: str, key: str) -> torch.Tensor:
    gate = trace.values()[key].expand(trace.out_g.shape) > 0
    return replace(trace, out_g=trace.out_g * gate, memo={}).backward(wrt)


REARRANGED_UPSTREAM = {
    code: Operator("upstream-rearranged", code, _with_other_upstream, kind=Kind.SWEEP)
    for code in ("wrong-operand", "partial-batch", "not-linear")
}
ADDED_TO_UPSTREAM = Operator("added-to-upstream", "wrong-operand", _with_added_upstream, kind=Kind.SWEEP)
GATED = Operator("gated-upstream", "wrong-local", _with_gate, kind=Kind.SWEEP)
UPSTREAM_OF_ALL = (*REARRANGED_UPSTREAM.values(), ADDED_TO_UPSTREAM, GATED)


def rarer_upstream_choices(trace: Trace) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Something is done to the upstream gradient before it is used."""
    if not trace.upstream_name:
        return
    upstream = {"upstream": trace.upstream_name}
    for key in (*trace.inputs, trace.out):
        told = {"value": value_name(trace, key), **upstream}
        for sign, verb in ((1, "added to"), (-1, "subtracted from")):
            yield ADDED_TO_UPSTREAM, {"key": key, "sign": sign}, {"verb": verb, **told}
        yield GATED, {"key": key}, told
    for how, (code, _) in (INSTEAD | CUT).items() if trace.out_g.dim() else ():
        yield REARRANGED_UPSTREAM[code], {"how": how}, {"how": how, **upstream}


def is_constant_to_sweep(step: Step) -> bool:
    """A mask, a place, a number: nothing that a gradient goes through, and yet a part of the forward pass."""
    return not step.operands


# The ways in which a step is more often another one; the other ways are rarer.
PLAIN_WAYS: Mapping[str, tuple[Way, ...]] = {
    "constant-missing": (Way.BOTH, Way.FORWARD),
    "sign-turned": (Way.BOTH,),
    "sum-of-mean": (Way.FORWARD,),
    "mean-of-sum": (Way.FORWARD,),
    "operation-left-out": (Way.BOTH,),
    "shapes-not-in-line": (Way.BOTH,),
    "reduced-along-another-axis": (Way.BOTH,),
}


def ways(operator: Operator, *, plain: bool, differentiated: bool) -> tuple[Way, ...]:
    """How a step may be another one: what follows and the way back, or one of these alone.

    Args:
        differentiated: the way back goes through it.
    """
    own = PLAIN_WAYS.get(operator.name, ())
    if plain:
        return own
    one_way = [Way.FORWARD] * (operator.name in FORWARD_ONLY) + [Way.BACK] * (
        operator.name in BACK_ONLY and differentiated
    )
    return tuple(way for way in (Way.BOTH, *one_way) if way not in own)
