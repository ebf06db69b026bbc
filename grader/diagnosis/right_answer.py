"""Relations to the right answer that need no graph: transposes, sums, other entries, and what was stored before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.reference.trial import Vague
from grader.shapes import BATCH, FIRST_OF_ANY, PARTS

from .operator import End, Kind, Operator, Parameters

MATCH = 1e-4
Change = Callable[[np.ndarray], np.ndarray]


def _end(
    name: str, code: str, rule: Callable[..., Any], when: Callable[[End], bool] = lambda end: True, **more: Any
) -> Operator:
    return Operator(name, code, lambda end, **chosen: np.asarray(rule(end, **chosen)), when, kind=Kind.END, **more)


def _of_right(change: Change) -> Callable[[End], np.ndarray]:
    return lambda end: change(end.right)


def _is_gradient(end: End) -> bool:
    return end.is_gradient


def _is_derivative(end: End) -> bool:
    return end.answer.kind != "value"


def _is_jacobian(end: End) -> bool:
    return end.answer.kind == "jacobian"


def _is_matrix(end: End) -> bool:
    return end.right.ndim >= 2


def _variable(end: End, **_: Any) -> Parameters:
    return {"variable": end.answer.wrt, "answer": end.answer.name}


# --- the axes that are summed over -------------------------------------------------------------------------------


def _axes(end: End) -> tuple[str, ...]:
    return end.trial.axes(end.answer.wrt) or ()


def _has_batch(end: End) -> bool:
    axes = _axes(end)
    return end.right.ndim > 0 and len(axes) == end.right.ndim and axes[0] in (BATCH, FIRST_OF_ANY)


def _has_no_batch(end: End) -> bool:
    return end.is_gradient and not {BATCH, FIRST_OF_ANY} & set(_axes(end))


SUMMED = {"sum": np.sum, "mean": np.mean}
KEPT = ("gone", "one", "filled")  # what becomes of an axis that is summed over


def _summed(end: End, how: str, axis: int | None, kept: str) -> np.ndarray:
    if how == "mean" and not np.ptp(end.right):
        raise Vague("a mean of equal numbers is one of them, which may be there for another reason")
    total = np.asarray(SUMMED[how](end.right, axis=axis, keepdims=kept != "gone"))
    return np.broadcast_to(total, end.right.shape) if kept == "filled" else total


def _batch_sums(end: End) -> Iterator[Parameters]:
    for how, axis, kept in itertools.product(SUMMED, (0, None), KEPT):
        yield {"how": how, "axis": axis, "kept": kept}


def _own_sums(end: End) -> Iterator[Parameters]:
    for axis, how in itertools.product((*range(end.right.ndim), None), SUMMED):
        yield {"how": how, "axis": axis, "kept": "filled"}


def _later_sums(end: End) -> Iterator[Parameters]:
    for axis in range(1, end.right.ndim):
        for how, kept in itertools.product(SUMMED, KEPT[1:]):
            yield {"how": how, "axis": axis, "kept": kept}


def _axis_told(end: End, how: str, axis: int | None, kept: str) -> Parameters:
    axes = _axes(end)
    if axis is None:
        return {"axis": "all"}
    named = axis < len(axes) and not axes[axis].startswith("_")
    return {"axis": axes[axis] if named else axis, "how": how}


# --- other entries -----------------------------------------------------------------------------------------------


def _several_rows(end: End) -> bool:
    return end.is_gradient and end.right.ndim > 0 and len(end.right) > 1


def _parts(_: End) -> Iterator[Parameters]:
    yield from ({"part": part} for part in PARTS)


def _rows_only(end: End, part: str) -> np.ndarray:
    rows = np.zeros_like(end.right)
    rows[PARTS[part]] = end.right[PARTS[part]]
    return rows


def _same_rows(end: End, which: str) -> np.ndarray:
    return np.broadcast_to(end.right[slice(0, 1) if which == "first" else slice(-1, None)], end.right.shape)


def _ends(_: Any) -> Iterator[Parameters]:
    yield from ({"which": which} for which in ("first", "last"))


def _told(_: Any, **chosen: Any) -> Parameters:
    return chosen


def _has_entries(end: End) -> bool:
    return end.right.size > len(PARTS)


def _without_entry(end: End, which: str) -> np.ndarray:
    entries = end.right.flatten()
    entries[0 if which == "first" else -1] = 0
    return entries.reshape(end.right.shape)


def _one_number(right: np.ndarray) -> float | None:
    """The one number that an array has beside 0, if there is only one."""
    numbers = np.unique(right[right != 0])
    one = numbers.size > 0 and np.ptp(numbers) <= MATCH * abs(numbers[0])
    return float(numbers[0]) if one else None


def _other_entries(end: End) -> np.ndarray:
    """The number of the right answer in the places of its zeros."""
    number = _one_number(end.right)
    if number is None:
        raise ValueError("the right answer has other numbers as well")
    return np.where(end.right == 0, number, 0.0)


def _is_marked(end: End) -> bool:
    return _one_number(end.right) is not None and not end.right.all()


def _first_everywhere(end: End, line: str) -> np.ndarray:
    return np.broadcast_to(end.right.take([0], 0 if line == "row" else 1), end.right.shape)


# --- what is at hand ---------------------------------------------------------------------------------------------


def _others(end: End) -> Iterator[Parameters]:
    if end.is_gradient:
        yield from ({"other": other} for other in end.trial.expected if other != end.answer.name)


def _other(end: End, other: str) -> np.ndarray:
    expected = end.trial.expected[other]
    if expected is None:
        raise ValueError("it is not asked for in this trial")
    return expected


def _numbers(end: End) -> Iterator[Parameters]:
    if end.is_gradient:
        for name, value in end.trial.inputs.items():
            if type(value) is float:
                yield from ({"name": name, "sign": sign} for sign in (1, -1))


def _summand(end: End, name: str, sign: int) -> np.ndarray:
    factor = end.trial.inputs[name]
    return np.asarray(end.right / factor + sign * factor)


def _inputs(end: End) -> Iterator[Parameters]:
    yield from ({"name": name} for name, value in end.trial.inputs.items() if hasattr(value, "numpy"))


def _rows(end: End) -> Iterator[Parameters]:
    for chosen in _inputs(end):
        if np.asarray(end.trial.inputs[chosen["name"]]).ndim == 1 < end.right.ndim:
            yield from ({**chosen, "line": line} for line in ("row", "column"))


def _repeated(end: End, name: str, line: str) -> np.ndarray:
    value = np.asarray(end.trial.inputs[name])
    return np.broadcast_to(value if line == "row" else value[:, None], end.right.shape)


def _out_g(end: End) -> bool:
    return end.is_gradient and end.trial.out_g is not None


# --- what was stored before --------------------------------------------------------------------------------------


def _with_prior(
    stored: Callable[[np.ndarray, np.ndarray], np.ndarray], nothing: Change = lambda new: new
) -> Callable[[End], np.ndarray]:
    """`stored` of the new gradient and what was there, and `nothing` of the new one where nothing was."""
    return lambda end: nothing(end.right) if end.prior is None else stored(end.new, end.prior)


def _has_prior(end: End) -> bool:
    return end.prior is not None


def _stored(name: str, code: str, rule: Callable[[End], np.ndarray]) -> Operator:
    return _end(name, code, rule, _has_prior, tell=_variable)


PRIOR = (
    _stored("prior-lost", "overwritten", _with_prior(lambda new, old: new)),
    _stored("added-to-itself", "overwritten", _with_prior(lambda new, old: 2 * new)),
    _stored("prior-kept", "overwritten", _with_prior(lambda new, old: old)),
    _stored("prior-subtracted", "wrong-sign", _with_prior(lambda new, old: new - old)),
    _stored("mean-with-prior", "mean-for-sum", _with_prior(lambda new, old: (new + old) / 2)),
    _stored("new-twice-with-prior", "wrong-factor", _with_prior(lambda new, old: 2 * new + old)),
    _stored("prior-twice", "wrong-factor", _with_prior(lambda new, old: new + 2 * old)),
    _stored("added-to-variable", "overwritten", lambda end: end.new + np.asarray(end.trial.inputs[end.answer.wrt])),
    _stored("new-twice-without-prior", "wrong-factor", _with_prior(lambda new, old: new + old, lambda new: 2 * new)),
)  # fmt: skip

RIGHT_ANSWER = (
    _end("negated", "wrong-sign", _of_right(np.negative)),
    _end("another-answer", "wrong-operand", _other, each=_others, tell=_told),
    _end("transposed", "transposed", _of_right(lambda r: r.swapaxes(-1, -2)), _is_matrix),
    _end("transpose-reshaped", "reshape-for-transpose", _of_right(lambda r: r.swapaxes(-1, -2).reshape(r.shape)),
         _is_matrix),
    _end("only-diagonal", "diagonal-only", _of_right(np.diagonal), _is_jacobian),
    _end("first-line-everywhere", "wrong-operand", _first_everywhere, _is_jacobian,
         each=lambda end: ({"line": line} for line in ("row", "column")), tell=_told),
    _end("summed-over-batch", "extra-batch-sum", _summed, _has_batch, each=_batch_sums, tell=_axis_told),
    _end("only-some-examples", "partial-batch", _rows_only, _several_rows, each=_parts, tell=_told),
    _end("first-example-alone", "partial-batch", _of_right(lambda r: r[0]), _several_rows),
    _end("one-example-for-all", "partial-batch", _same_rows, _several_rows, each=_ends, tell=_told),
    _end("summed-over-own-axis", "summed-wrong-axis", _summed, _has_no_batch, each=_own_sums, tell=_axis_told),
    _end("entry-missing", "partial-batch", _without_entry, _has_entries, each=_ends, tell=_told),
    _end("entry-alone", "partial-batch", lambda end, which: end.right - _without_entry(end, which), _has_entries,
         each=_ends, tell=_told),
    _end("upstream-itself", "missing-local", lambda end: end.trial.out_g, _out_g,
         tell=lambda end: {"upstream": end.upstream_name or "1"}),
    _end("output-everywhere", "forward-value",
         lambda end: np.broadcast_to(np.asarray(end.trial.out), end.right.shape), _out_g,
         tell=lambda end: {"output": end.output_name}),
    _end("marks-inverted", "inverted-mask", _other_entries, _is_marked),
    _end("summand-for-factor", "wrong-operand", _summand, each=_numbers,
         tell=lambda end, name, sign: {"name": name, "verb": "added" if sign > 0 else "subtracted"}),
    _end("input-itself", "forward-value", lambda end, name: end.trial.inputs[name], each=_inputs, tell=_told),
    _end("input-repeated", "forward-value", _repeated, each=_rows, tell=_told),
)  # fmt: skip


# --- rarer -------------------------------------------------------------------------------------------------------


def _fitting(end: End) -> Iterator[Parameters]:
    for name, value in end.arrays.items():
        if value.ndim and _fits(value.shape, end.right.shape) and _is_derivative(end):
            yield {"name": name}


def _fits(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wide) == wide
    except ValueError:
        return False


def _together(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda end, name: change(end.right, np.broadcast_to(end.arrays[name], end.right.shape))


def _several_axes(end: End) -> bool:
    return _is_derivative(end) and end.right.ndim > 1


def _own_axes(end: End) -> Iterator[Parameters]:
    yield from ({"axis": axis} for axis in range(end.right.ndim))


def _shifts(end: End) -> Iterator[Parameters]:
    for axis in range(end.right.ndim):
        yield from ({"axis": axis, "by": by} for by in (1, -1))


STRAYS = (
    _end("value-added", "wrong-local", _together(lambda r, v: r + v), each=_fitting, tell=_told),
    _end("value-subtracted", "wrong-local", _together(lambda r, v: r - v), each=_fitting, tell=_told),
    _end("step-downhill", "wrong-local", _together(lambda r, v: v - r), each=_fitting, tell=_told),
    _end("times-value", "extra-factor", _together(lambda r, v: r * v), each=_fitting, tell=_told),
    _end("divided-by-value", "wrong-local", _together(lambda r, v: r / v), each=_fitting, tell=_told),
    _end("sign-lost", "wrong-sign", _of_right(np.abs), _is_derivative),
    _end("only-signs", "wrong-local", _of_right(np.sign), _is_derivative),
    _end("negative-entries-zero", "wrong-local", _of_right(lambda r: np.maximum(r, 0)), _is_derivative),
    _end("clipped", "not-linear", _of_right(lambda r: np.clip(r, -1, 1)), _is_derivative),
    _end("summed-over-later-axis", "summed-wrong-axis", _summed, _several_axes, each=_later_sums, tell=_axis_told),
)  # fmt: skip
MOVED = (
    _end("turned-round", "wrong-operand", lambda end, axis: np.flip(end.right, axis), _is_derivative, each=_own_axes,
         tell=_told),
    _end("shifted", "wrong-operand", lambda end, axis, by: np.roll(end.right, by, axis), _is_derivative, each=_shifts,
         tell=_told),
)  # fmt: skip


MATRIX_PRODUCTS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a @ b": lambda a, b: a @ b,
    "a.T @ b": lambda a, b: a.T @ b,
    "a @ b.T": lambda a, b: a @ b.T,
    "(b @ a).T": lambda a, b: (b @ a).T,
}


def _all_arrays(end: End) -> dict[str, np.ndarray]:
    """What is at hand, the other answers of the exercise among it."""
    others = {
        name: value for name, value in end.trial.expected.items() if name != end.answer.name and value is not None
    }
    return {name: value for name, value in {**end.arrays, **others}.items() if value.ndim}


def _shape(compute: Callable[[], np.ndarray]) -> tuple[int, ...] | None:
    try:
        return compute().shape
    except ValueError:
        return None


def _multiplications(end: End) -> Iterator[Parameters]:
    arrays, shape = _all_arrays(end), end.right.shape
    for a, b in itertools.combinations_with_replacement(arrays, 2):
        wide = _shape(partial(np.multiply, arrays[a], arrays[b]))
        if wide == shape:
            yield {"a": a, "b": b, "summed": False}
        elif wide and len(wide) == len(shape) + 1 and wide[1:] == shape:
            yield {"a": a, "b": b, "summed": True}


def _multiplied(end: End, a: str, b: str, summed: bool) -> np.ndarray:
    found = np.asarray(_all_arrays(end)[a] * _all_arrays(end)[b])
    return found.sum(0) if summed else found


def _reductions(end: End) -> Iterator[Parameters]:
    for name, array in _all_arrays(end).items():
        for axis in range(array.ndim):
            if array.shape[:axis] + array.shape[axis + 1 :] == end.right.shape:
                yield from ({"name": name, "axis": axis, "how": how} for how in SUMMED)


def _reduced(end: End, name: str, axis: int, how: str) -> np.ndarray:
    return np.asarray(SUMMED[how](_all_arrays(end)[name], axis=axis))


def _matrix_products(end: End) -> Iterator[Parameters]:
    arrays = _all_arrays(end)
    for a, b in itertools.product(arrays, repeat=2):
        for product, compute in MATRIX_PRODUCTS.items():
            if (
                arrays[a].ndim == arrays[b].ndim == 2
                and _shape(partial(compute, arrays[a], arrays[b])) == end.right.shape
            ):
                yield {"a": a, "b": b, "product": product}


def _spelt(_: End, a: str, b: str, product: str = "", summed: bool = False) -> Parameters:
    if product:
        return {"formula": product.replace("a", "\0").replace("b", b).replace("\0", a)}
    return {"formula": f"({a} * {b}).sum(0)" if summed else f"{a} * {b}"}


PRODUCTS = (
    _end("a-product", "wrong-operand", _multiplied, _is_derivative, each=_multiplications, tell=_spelt),
    _end("a-product", "wrong-operand", lambda end, name, axis, how: _reduced(end, name, axis, how), _is_derivative,
         each=_reductions, tell=lambda end, name, axis, how: {"formula": f"{name}.{how}({axis})"}),
    _end("a-product", "wrong-operand",
         lambda end, a, b, product: MATRIX_PRODUCTS[product](_all_arrays(end)[a], _all_arrays(end)[b]), _is_derivative,
         each=_matrix_products, tell=_spelt),
)  # fmt: skip

OF_VALUES: Mapping[str, Change] = {
    "the root": lambda right: np.sqrt(np.abs(right)),
    "the square": np.square,
    "the logarithm": lambda right: np.log(np.abs(right)),
    "the exponential": np.exp,
}
VALUES = (
    _end("function-of-value", "wrong-local", lambda end, what: OF_VALUES[what](end.right),
         each=lambda end: ({"what": what} for what in OF_VALUES), tell=_told),
)  # fmt: skip
