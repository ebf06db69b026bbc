"""What works entry by entry, with broadcasting: operators, functions, masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.errors import ExpressionError

from .formula_work import Work, whole


def sigmoid(a: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-a)))


_each_erf = np.vectorize(math.erf, otypes=["float64"])


def _erf(work: Work, a: Any) -> Any:
    work.spend(20 * work.array(a).size)  # it is Python's own, entry after entry
    return _each_erf(work.array(a))


def _normal_cdf(work: Work, a: Any) -> Any:
    """The standard normal distribution function."""
    return (1 + _erf(work, work.array(a) / math.sqrt(2))) / 2


OF_ONE: Mapping[str, Callable[[np.ndarray], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log ln log_e loge": np.log, "log2": np.log2,
    "log10 lg": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "square": np.square,
    "reciprocal": lambda a: 1 / a, "neg negative": np.negative, "positive": np.positive,
    "abs absolute fabs": np.abs, "sign sgn": np.sign, "floor": np.floor, "ceil": np.ceil, "trunc int long": np.trunc,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "arcsin asin": np.arcsin, "arccos acos": np.arccos, "arctan atan": np.arctan,
    "sigmoid expit": sigmoid, "logit": lambda a: np.log(a / (1 - a)), "relu": lambda a: np.maximum(a, 0.0),
    "silu swish": lambda a: a * sigmoid(a),
    "softplus": lambda a: np.log1p(np.exp(a)), "logsigmoid": lambda a: -np.log1p(np.exp(-a)),
    "~ logical_not bitwise_not": lambda a: a == 0, "bool": lambda a: a != 0,
    "float double half item clone copy detach contiguous cpu numpy .data .real real conj deepcopy "
    "requires_grad_ float16 float32 float64 int8 int16 int32 int64 from_numpy": lambda a: a,
}  # fmt: skip
OF_TWO: Mapping[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "- ": np.subtract, "* mul multiply": np.multiply, "/ div divide true_divide": np.divide,
    "// floor_divide": np.floor_divide, "% remainder fmod": np.remainder, "** pow power float_power": np.power,
    "rsub": lambda a, b: b - a,
    "< lt less": np.less, "<= le less_equal": np.less_equal, "> gt greater": np.greater,
    ">= ge greater_equal": np.greater_equal, "== eq equal": np.equal, "!= ne not_equal": np.not_equal,
    "& logical_and bitwise_and": lambda a, b: (a != 0) & (b != 0),
    "| logical_or bitwise_or": lambda a, b: (a != 0) | (b != 0),
    "maximum fmax": np.maximum, "minimum fmin": np.minimum, "heaviside": np.heaviside, "logaddexp": np.logaddexp,
    "hypot": np.hypot, "arctan2 atan2": np.arctan2,
}  # fmt: skip


def _broadcast(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of some arrays and nothing else: numpy's own would take one more to write into."""

    def step(work: Work, *arguments: Any, **options: Any) -> Any:
        if len(arguments) != count or options:
            raise TypeError("another number of arguments")
        arrays = [work.array(argument) for argument in arguments]
        work.room(np.broadcast_shapes(*(array.shape for array in arrays)))
        return function(*arrays)

    return step


_multiply, _subtract = _broadcast(np.multiply, 2), _broadcast(np.subtract, 2)


def _add(work: Work, a: Any, b: Any, *, alpha: Any = 1.0) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):  # two lists, one behind the other
        work.room((len(a) + len(b),))
        return a + b
    return _broadcast(np.add, 2)(work, a, b if alpha == 1 else _multiply(work, alpha, b))


def _minus(work: Work, a: Any, *b: Any, alpha: Any = 1.0) -> Any:
    if not b:
        return _broadcast(np.negative, 1)(work, a)
    return _subtract(work, a, *b) if alpha == 1 else _subtract(work, a, _multiply(work, alpha, *b))


def _times(work: Work, a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and not isinstance(b, tuple) and np.ndim(b) == 0:  # `[1] * n`
        work.room((len(a) * max(whole(b), 0),))
        return a * whole(b)
    return _multiply(work, a, b)


def _beside(work: Work, a: Any, b: Any) -> Any:
    """`2x`, `a·b`: a product where it can only be one, entry by entry; else it might be a matrix product.

    Raises:
        ExpressionError: it might be.
    """
    shapes = [np.shape(work.array(value)) for value in (a, b)]
    if () not in shapes and shapes[0] != shapes[1]:
        raise ExpressionError("which product is meant? Write * entry by entry, @ for a matrix product")
    return _multiply(work, a, b)


def _log(work: Work, a: Any, base: Any = None) -> Any:
    log = _broadcast(np.log, 1)
    return log(work, a) if base is None else log(work, a) / log(work, base)


def _where(work: Work, condition: Any, a: Any, b: Any) -> Any:
    return _broadcast(lambda mask, x, y: np.where(mask != 0, x, y), 3)(work, condition, a, b)


def _if(work: Work, condition: Any, a: Any, b: Any) -> Any:
    """Python's, which decides once.

    Raises:
        ExpressionError: the condition is an array.
    """
    if work.array(condition).ndim:
        raise ExpressionError("if decides once, and not for each entry: write torch.where(condition, a, b)")
    return a if condition else b


def _clamp(work: Work, a: Any, min: Any = None, max: Any = None) -> Any:
    a = work.array(a)
    a = a if min is None else _broadcast(np.maximum, 2)(work, a, min)
    return a if max is None else _broadcast(np.minimum, 2)(work, a, max)


def _leaky_relu(work: Work, a: Any, negative_slope: Any = 0.01) -> Any:
    return _broadcast(lambda x, slope: np.where(x > 0, x, slope * x), 2)(work, a, negative_slope)


def _addcmul(work: Work, a: Any, b: Any, c: Any, *, value: Any = 1.0) -> Any:
    return _add(work, a, _multiply(work, value, _multiply(work, b, c)))


def _select(work: Work, conditions: Any, choices: Any, default: Any = 0.0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(work.turns(conditions), work.turns(choices), strict=True))):
        result = _where(work, condition, choice, result)
    return result


def _named(table: Mapping[str, Callable[..., Any]], count: int) -> dict[str, Callable[..., Any]]:
    return {name: _broadcast(function, count) for names, function in table.items() for name in names.split()}


def _convert(work: Work, a: Any, *_: Any) -> Any:
    return work.array(a)


ENTRYWISE: Mapping[str, Callable[..., Any]] = {
    **_named(OF_ONE, 1),
    **_named(OF_TWO, 2),
    "+": _add, "add": _add, "-": _minus, "sub": _minus, "subtract": _minus, "*": _times, "·": _beside, "log": _log,
    "where": _where, "if": _if, "clamp": _clamp, "clip": _clamp, "np.select": _select,
    "erf": _erf, "ndtr": _normal_cdf, "gelu": lambda work, a: work.array(a) * _normal_cdf(work, a),
    "clamp_min": lambda work, a, min: _clamp(work, a, min),
    "clamp_max": lambda work, a, max: _clamp(work, a, None, max),
    "leaky_relu": _leaky_relu, "addcmul": _addcmul,
    "method.where": lambda work, a, mask, b: _where(work, mask, a, b),
    "masked_fill": lambda work, a, mask, value: _where(work, mask, value, a),
    **dict.fromkeys(("to", "type", "astype", "tensor", "array", "asarray", "as_tensor"), _convert),
}  # fmt: skip
