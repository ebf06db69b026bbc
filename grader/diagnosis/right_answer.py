"""Relations to the right answer that need no graph: transposes, sums, other entries, and what was stored before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.reference.answer_view import End
from grader.reference.compare import MATCH
from grader.reference.trial import Vague
from grader.shapes import BATCH, FIRST_OF_ANY, PARTS

from .operator import Kind, Operator, Parameters, one_of

Change = Callable[[np.ndarray], Any]


def _end(name: str, code: str, rule: Callable[..., Any], *when: Callable[[End], bool], **more: Any) -> Operator:
    """Told with the parameters as they are."""
    more = {"tell": lambda end, **chosen: chosen, **({"when": when[0]} if when else {}), **more}
    return Operator(name, code, lambda end, **chosen: np.asarray(rule(end, **chosen)), kind=Kind.END, **more)


def _right(name: str, code: str, change: Change, *when: Callable[[End], bool]) -> Operator:
    return _end(name, code, lambda end: change(end.right), *when)


def _stored(name: str, code: str, rule: Callable[[Any], Any], nothing: Callable[[Any], Any] | None = None) -> Operator:
    """What is stored where something was before, and where nothing was: that is right, if nothing else is said."""
    return _end(name, code, lambda end: rule(end) if end.prior is not None else nothing(end) if nothing else end.right,
                lambda end: end.prior is not None,
                tell=lambda end: {"variable": end.answer.wrt, "answer": end.answer.name})  # fmt: skip


def _onto_variable(end: End) -> Any:
    return end.new + np.asarray(end.trial.inputs[end.answer.wrt])


PRIOR = (
    _stored("prior-lost", "overwritten", lambda end: end.new),
    _stored("prior-kept", "overwritten", lambda end: end.prior),
    _stored("prior-subtracted", "wrong-sign", lambda end: end.new - end.prior),
    _stored("mean-with-prior", "mean-for-sum", lambda end: (end.new + end.prior) / 2),
    _stored("added-to-variable", "overwritten", _onto_variable, _onto_variable),
    _stored("new-twice-without-prior", "wrong-factor", lambda end: end.right, lambda end: 2 * end.right),
)  # fmt: skip

SUMMED: Mapping[str, Callable[..., Any]] = {"sum": np.sum, "mean": np.mean}
KEPT = ("gone", "one", "filled")  # what becomes of an axis that is summed over


def _summed(end: End, how: str, axis: int | None, kept: str) -> np.ndarray:
    if how == "mean" and not np.ptp(end.right):
        raise Vague("a mean of equal numbers is one of them, which may be there for another reason")
    total = np.asarray(SUMMED[how](end.right, axis=axis, keepdims=kept != "gone"))
    return np.broadcast_to(total, end.right.shape) if kept == "filled" else total


def _axis_told(end: End, how: str, axis: int | None, kept: str) -> Parameters:
    if axis is None:
        return {"axis": "all", "how": how}
    named = axis < len(end.axes) and not end.axes[axis].startswith("_") and not end.axes[axis].isdigit()
    return {"axis": end.axes[axis] if named else axis, "how": how}


def _several_rows(end: End) -> bool:
    return end.is_gradient and end.right.ndim > 0 and len(end.right) > 1


def _rows_only(end: End, part: str) -> np.ndarray:
    rows = np.zeros_like(end.right)
    rows[PARTS[part]] = end.right[PARTS[part]]
    return rows


def _without_entry(end: End, which: str) -> np.ndarray:
    entries = end.right.flatten()
    entries[0 if which == "first" else -1] = 0
    return entries.reshape(end.right.shape)


def _marks_inverted(right: np.ndarray) -> np.ndarray:
    numbers = np.unique(right[right != 0])
    if not numbers.size or np.ptp(numbers) > MATCH * abs(numbers[0]):
        raise ValueError("the right answer has other numbers as well, or none")
    return np.where(right == 0, numbers[0], 0.0)


def _other_answer(end: End, other: str) -> np.ndarray:
    expected = end.trial.expected[other]
    if expected is None:
        raise ValueError("it is not asked for in this trial")
    return expected


def _inputs(end: End) -> Iterator[tuple[str, np.ndarray]]:
    return ((name, np.asarray(value)) for name, value in end.trial.inputs.items() if hasattr(value, "numpy"))


RIGHT_ANSWER = (
    _right("negated", "wrong-sign", np.negative),
    _end("another-answer", "wrong-operand", _other_answer, lambda end: end.is_gradient,
         each=lambda end: ({"other": other} for other in end.trial.expected if other != end.answer.name)),
    _right("transposed", "transposed", lambda r: r.swapaxes(-1, -2), lambda end: end.right.ndim > 1),
    _right("transpose-reshaped", "reshape-for-transpose", lambda r: r.swapaxes(-1, -2).reshape(r.shape),
           lambda end: end.right.ndim > 1),
    _right("only-diagonal", "diagonal-only", np.diagonal, lambda end: end.answer.kind == "jacobian"),
    _end("first-line-everywhere", "wrong-operand",
         lambda end, line: np.broadcast_to(end.right[:1] if line == "row" else end.right[:, :1], end.right.shape),
         lambda end: end.answer.kind == "jacobian", each=one_of("line", ("row", "column"))),
    _end("summed-over-batch", "extra-batch-sum", _summed,
         lambda end: 0 < end.right.ndim == len(end.axes) and end.axes[0] in (BATCH, FIRST_OF_ANY), tell=_axis_told,
         each=lambda end: ({"how": how, "axis": axis, "kept": kept}
                           for how, axis, kept in itertools.product(SUMMED, (0, None), KEPT))),
    _end("only-some-examples", "partial-batch", _rows_only, _several_rows,
         each=one_of("part", PARTS)),
    _end("one-example-for-all", "partial-batch",
         lambda end, which: np.broadcast_to(end.right[:1] if which == "first" else end.right[-1:], end.right.shape),
         _several_rows, each=one_of("which", ("first", "last"))),
    _end("summed-over-own-axis", "summed-wrong-axis", _summed,
         lambda end: end.is_gradient and not {BATCH, FIRST_OF_ANY} & set(end.axes), tell=_axis_told,
         each=lambda end: ({"how": how, "axis": axis, "kept": "filled"}
                           for axis, how in itertools.product((*range(end.right.ndim), None), SUMMED))),
    _end("entry-missing", "partial-batch", _without_entry, lambda end: end.right.size > len(PARTS),
         each=one_of("which", ("first", "last"))),
    _end("entry-alone", "partial-batch", lambda end, which: end.right - _without_entry(end, which),
         lambda end: end.right.size > len(PARTS), each=one_of("which", ("first", "last"))),
    _end("upstream-itself", "missing-local", lambda end: end.trial.out_g,
         lambda end: end.is_gradient and end.trial.out_g is not None,
         tell=lambda end: {"upstream": end.upstream_name or "1"}),
    _end("output-everywhere", "forward-value", lambda end: np.broadcast_to(np.asarray(end.trial.out), end.right.shape),
         lambda end: end.is_gradient and end.trial.out_g is not None, tell=lambda end: {"output": end.output_name}),
    _right("marks-inverted", "inverted-mask", _marks_inverted, lambda end: not end.right.all()),
    _end("summand-for-factor", "wrong-operand",
         lambda end, name, sign: end.right / (factor := end.trial.inputs[name]) + sign * factor,
         lambda end: end.is_gradient,
         each=lambda end: ({"name": name, "sign": sign} for name, value in end.trial.inputs.items()
                           if type(value) is float for sign in (1, -1)),
         tell=lambda end, name, sign: {"name": name, "verb": "added" if sign > 0 else "subtracted"}),
    _end("input-itself", "forward-value", lambda end, name: end.trial.inputs[name],
         each=lambda end: ({"name": name} for name, _ in _inputs(end))),
    _end("input-repeated", "forward-value", lambda end, name, line: np.broadcast_to(
         np.asarray(end.trial.inputs[name]).reshape(-1 if line == "row" else (-1, 1)), end.right.shape),
         each=lambda end: ({"name": name, "line": line} for name, value in _inputs(end)
                           if value.ndim == 1 < end.right.ndim for line in ("row", "column"))),
)  # fmt: skip


def _shape(compute: Callable[..., Any], *arguments: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(compute(*arguments)))
    except ValueError:
        return None


def _together(name: str, code: str, change: Callable[[Any, Any], Any]) -> Operator:
    return _end(name, code, lambda end, name: change(end.right, np.broadcast_to(end.arrays[name], end.right.shape)),
                each=lambda end: ({"name": name} for name, value in end.arrays.items()
                                  if value.ndim and _shape(np.broadcast_to, value, end.right.shape)))  # fmt: skip


# Of a derivative, which other numbers may be mixed with.
STRAYS = (
    _together("value-added", "wrong-local", lambda r, v: r + v),
    _together("step-downhill", "wrong-local", lambda r, v: v - r),
    _together("times-value", "extra-factor", lambda r, v: r * v),
    _together("divided-by-value", "extra-factor", lambda r, v: r / v),
    _right("sign-lost", "wrong-sign", np.abs),
    _right("only-signs", "wrong-local", np.sign),
    _right("clipped", "not-linear", lambda r: np.clip(r, -1, 1)),
    _end("summed-over-later-axis", "summed-wrong-axis", _summed, lambda end: end.right.ndim > 1, tell=_axis_told,
         each=lambda end: ({"how": how, "axis": axis, "kept": kept}
                           for axis, how, kept in itertools.product(range(1, end.right.ndim), SUMMED, KEPT[1:]))),
)  # fmt: skip


def _is_square(end: End) -> bool:
    return end.right.ndim > 1 and end.right.shape[-1] == end.right.shape[-2] > 1


def _diagonal(end: End, axes: tuple[int, int]) -> np.ndarray:
    one, two = (
        np.arange(end.right.shape[i]).reshape([-1 if i == j else 1 for j in range(end.right.ndim)]) for i in axes
    )
    return np.asarray(end.right * (one == two))


def _read_otherwise(end: End, order: tuple[int, ...], back: bool) -> np.ndarray:
    """Its entries read with the axes in one order, and taken as if they were in another."""
    if back:
        return end.right.transpose(order).reshape(end.right.shape)
    return end.right.reshape([end.right.shape[i] for i in order]).transpose(np.argsort(order))


def _dealt(end: End, axis: int, back: bool) -> np.ndarray:
    """The entries along an axis with those of its two halves in turns, or the other way."""
    size, moved = end.right.shape[axis], np.moveaxis(end.right, axis, -1)
    if size % 2:
        raise ValueError("this axis has no two halves in this trial")
    pairs = moved.reshape(*moved.shape[:-1], *((size // 2, 2) if back else (2, size // 2)))
    return np.moveaxis(pairs.swapaxes(-1, -2).reshape(moved.shape), -1, axis)


MOVED = (
    _end("only-diagonal-entries", "diagonal-only", _diagonal, lambda end: end.is_gradient,
         each=lambda end: ({"axes": pair} for pair in itertools.combinations(range(end.right.ndim), 2)
                           if end.right.shape[pair[0]] == end.right.shape[pair[1]] > 1), tell=lambda end, axes: {}),
    _right("averaged-with-transpose", "wrong-local", lambda r: (r + r.swapaxes(-1, -2)) / 2, _is_square),
    _right("off-diagonal-twice", "wrong-local", lambda r: r.swapaxes(-1, -2) * (2 - np.eye(r.shape[-1])), _is_square),
    _end("axes-in-another-order", "reshape-for-transpose", _read_otherwise, lambda end: 2 < end.right.ndim < 5,
         each=lambda end: ({"order": order, "back": back} for back in (False, True)
                           for order in itertools.permutations(range(end.right.ndim)) if list(order) != sorted(order)),
         tell=lambda end, order, back: {}),
    _end("halves-in-turns", "reshape-for-transpose", _dealt,
         each=lambda end: ({"axis": axis, "back": back} for back in (True, False)
                           for axis, size in enumerate(end.right.shape) if size > 2 and not size % 2)),
)  # fmt: skip


def _all_arrays(end: End) -> dict[str, np.ndarray]:
    """What is at hand, the other answers of the exercise among it."""
    others = {name: value for name, value in end.trial.expected.items() if name != end.answer.name}
    return {name: value for name, value in {**end.arrays, **others}.items() if value is not None and value.ndim}


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "{} * {}": np.multiply, "({} * {}).sum(0)": lambda a, b: (a * b).sum(0),
    **{f"{{}}.{how}({axis})": partial(reduce, axis=axis) for axis in range(3) for how, reduce in SUMMED.items()},
    "{} @ {}": np.matmul, "{}.T @ {}": lambda a, b: a.T @ b,
    "{} @ {}.T": lambda a, b: a @ b.T, "({1} @ {0}).T": lambda a, b: (b @ a).T,
}  # fmt: skip


def _products(end: End) -> Iterator[Parameters]:
    arrays = _all_arrays(end)
    for formula, compute in FORMULAS.items():
        for names in itertools.product(arrays, repeat=formula.count("{")):
            in_order = "*" not in formula or list(names) == sorted(names, key=list(arrays).index)
            if in_order and _shape(compute, *(arrays[name] for name in names)) == end.right.shape:
                yield {"formula": formula, "names": names}


PRODUCTS = (
    _end("a-product", "wrong-operand",
         lambda end, formula, names: FORMULAS[formula](*(_all_arrays(end)[name] for name in names)),
         each=_products, tell=lambda end, formula, names: {"formula": formula.format(*names)}),
)  # fmt: skip

OF_VALUES: Mapping[str, Change] = {
    "the root": lambda right: np.sqrt(np.abs(right)), "the square": np.square,
    "the logarithm": lambda right: np.log(np.abs(right)), "the exponential": np.exp,
}  # fmt: skip
VALUES = (
    _end("function-of-value", "wrong-local", lambda end, what: OF_VALUES[what](end.right),
         each=one_of("what", OF_VALUES)),
)  # fmt: skip
