"""Operations that compute: pointwise functions, reductions, normalising functions and contractions.

The signature of each forward function is torch's own, as far as it is supported: operands by position, options by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from .operation import Array, Function, Operand, define, define_pointwise, tensor_of, unbroadcast

Axes = int | Sequence[int] | None


def axes_of(x: Operand, dim: Axes) -> tuple[int, ...]:
    """Return axes counted from the front; all of them for `None`, as torch has it."""
    ndim = np.ndim(x)
    dims = range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    return tuple(axis % ndim for axis in dims) if ndim else ()


# Pointwise functions ------------------------------------------------------------------------------------------------


def sigmoid(x: Operand) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(x))))


def _erf(x: Operand) -> Array:
    """Return the error function; numpy has none."""
    return np.asarray(torch.erf(tensor_of(x)))


def _softplus(x: Operand, /, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return log(1 + exp(beta x)) / beta; x itself above the threshold, as torch does."""
    scaled = beta * np.asarray(x)
    return np.where(scaled > threshold, x, np.logaddexp(0, scaled) / beta)


def _softplus_derivative(_: Array, x: Operand, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return the derivative of `_softplus`."""
    scaled = beta * np.asarray(x)
    return np.where(scaled > threshold, 1.0, sigmoid(scaled))


def _normal_cdf(x: Operand) -> Array:
    """Return the distribution function of the standard normal distribution."""
    return 0.5 * (1 + _erf(np.asarray(x) / math.sqrt(2)))


def _gelu(x: Operand, /, approximate: str = "none") -> Array:
    """Return x times the normal distribution function, or the approximation of it by tanh."""
    return np.asarray(x * (_normal_cdf(x) if approximate == "none" else 0.5 * (1 + np.tanh(_gelu_argument(x)))))


def _gelu_argument(x: Operand) -> Operand:
    """Return what the approximate gelu takes the tanh of."""
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


def _gelu_derivative(_: Array, x: Operand, approximate: str = "none") -> Array:
    """Return the derivative of `_gelu`."""
    if approximate == "none":
        return _normal_cdf(x) + x * np.exp(-0.5 * np.square(x)) / math.sqrt(2 * math.pi)
    t = np.tanh(_gelu_argument(x))
    return np.asarray(0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))


def _elu(x: Operand, /, alpha: float = 1.0) -> Array:
    """Return x where it is positive, and alpha (exp(x) - 1) elsewhere."""
    return np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0)))


def _clamp(x: Operand, low: Operand, high: Operand, /) -> Array:
    """Return x moved between two bounds; without end where a bound is missing."""
    return np.minimum(np.maximum(x, low), high)


def _inside(x: Operand, low: Operand, high: Operand) -> Array:
    """Return where a clamp hands the gradient on; at a bound itself as the installed torch does."""
    if _hands_on_at_bound():
        return np.asarray(np.greater_equal(x, low) & np.less_equal(x, high))
    return np.asarray(np.greater(x, low) & np.less(x, high))


@cache
def _hands_on_at_bound() -> bool:
    """Return whether an entry that equals a bound gets the gradient: in torch up to 2.13 it does, from 2.14 on not."""
    entry = torch.zeros((), requires_grad=True)
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(entry.clamp(min=0), entry)
    return bool(slope)


def _first_share(_: Array, x: Operand, y: Operand, *, sign: int) -> Array:
    """Return which of two operands a maximum takes (a minimum for `sign` -1): 1, 0, or a half where they are equal."""
    return 0.5 * (1 + sign * np.sign(np.subtract(x, y)))


def _chosen(condition: Array, x: Operand, y: Operand) -> Array:
    """Return x where a condition holds, and y elsewhere."""
    return np.where(condition, np.asarray(x), np.asarray(y))


def _power(x: Operand, n: Operand, /) -> Array:
    """Return x to the power of n; a plain number n is handed on as it is, so that squares are exact."""
    return np.asarray(np.asarray(x, dtype=float) ** n)


_UNARY: tuple[tuple[str, Function, Function | None], ...] = (
    ("neg", np.negative, lambda y, x: -1.0),
    ("exp", np.exp, lambda y, x: np.exp(x)),
    ("expm1", np.expm1, lambda y, x: np.exp(x)),
    ("log", np.log, lambda y, x: 1 / np.asarray(x)),
    ("log1p", np.log1p, lambda y, x: 1 / (1 + np.asarray(x))),
    ("log2", np.log2, lambda y, x: 1 / (np.asarray(x) * math.log(2))),
    ("sqrt", np.sqrt, lambda y, x: 0.5 / np.sqrt(x)),
    ("rsqrt", lambda x, /: 1 / np.sqrt(x), lambda y, x: -0.5 / (x * np.sqrt(x))),
    ("reciprocal", lambda x, /: 1 / np.asarray(x), lambda y, x: -1 / np.square(x)),
    ("square", np.square, lambda y, x: 2 * x),
    ("sin", np.sin, lambda y, x: np.cos(x)),
    ("cos", np.cos, lambda y, x: -np.sin(x)),
    ("tan", np.tan, lambda y, x: 1 / np.square(np.cos(x))),
    ("atan", np.arctan, lambda y, x: 1 / (1 + np.square(x))),
    ("sinh", np.sinh, lambda y, x: np.cosh(x)),
    ("cosh", np.cosh, lambda y, x: np.sinh(x)),
    ("tanh", np.tanh, lambda y, x: 1 - np.square(np.tanh(x))),
    ("sigmoid", sigmoid, lambda y, x: (p := sigmoid(x)) * (1 - p)),
    ("logsigmoid", lambda x, /: -np.logaddexp(0, -np.asarray(x)), lambda y, x: sigmoid(-x)),
    ("silu", lambda x, /: x * sigmoid(x), lambda y, x: sigmoid(x) * (1 + x * sigmoid(-x))),
    ("erf", _erf, lambda y, x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x))),
    ("abs", np.abs, lambda y, x: np.sign(x)),
    ("sign", np.sign, lambda y, x: 0.0),
    ("round", np.round, lambda y, x: 0.0),
    ("floor", np.floor, lambda y, x: 0.0),
    ("ceil", np.ceil, lambda y, x: 0.0),
    ("relu", lambda x, /: np.maximum(x, 0), lambda y, x: np.greater(x, 0)),
    ("softplus", _softplus, _softplus_derivative),
    ("gelu", _gelu, _gelu_derivative),
    ("elu", _elu, lambda y, x, alpha=1.0: np.where(np.greater(x, 0), 1.0, alpha * np.exp(np.minimum(x, 0)))),
    ("leaky_relu", lambda x, /, negative_slope=0.01: np.where(np.greater(x, 0), x, negative_slope * x),
     lambda y, x, negative_slope=0.01: np.where(np.greater(x, 0), 1.0, negative_slope)),
    ("detach", lambda x, /: x, None),
    ("cast", lambda x, /, dtype="float64": np.asarray(x).astype(dtype), lambda y, x, dtype="float64": 1.0),
)  # fmt: skip
_DERIVATIVES_OF_VALUE: dict[str, Function] = {
    "exp": lambda y, x: y, "expm1": lambda y, x: y + 1, "sqrt": lambda y, x: 0.5 / y, "rsqrt": lambda y, x: -0.5 * y**3,
    "reciprocal": lambda y, x: -y * y, "tanh": lambda y, x: 1 - y * y, "sigmoid": lambda y, x: y * (1 - y),
    "relu": lambda y, x: y > 0,
}  # fmt: skip
for _name, _forward, _derivative in _UNARY:
    define_pointwise(_name, _forward, _derivative, of_value=_DERIVATIVES_OF_VALUE.get(_name))

define_pointwise("add", lambda x, y, /, alpha=1: x + (y if alpha == 1 else alpha * y),
                 lambda v, x, y, alpha=1: 1.0, lambda v, x, y, alpha=1: alpha)  # fmt: skip
define_pointwise("sub", lambda x, y, /, alpha=1: x - (y if alpha == 1 else alpha * y),
                 lambda v, x, y, alpha=1: 1.0, lambda v, x, y, alpha=1: -alpha)  # fmt: skip
define_pointwise("mul", np.multiply, lambda v, x, y: y, lambda v, x, y: x)
define_pointwise("div", np.true_divide, lambda v, x, y: 1 / np.asarray(y), lambda v, x, y: -x / np.square(y))
define_pointwise("pow", _power, lambda v, x, n: n * _power(x, np.subtract(n, 1)) if np.any(n) else 0.0,
                 lambda v, x, n: v * np.log(x))  # fmt: skip
define_pointwise("maximum", np.maximum, lambda v, x, y: _first_share(v, x, y, sign=1),
                 lambda v, x, y: _first_share(v, y, x, sign=1))  # fmt: skip
define_pointwise("minimum", np.minimum, lambda v, x, y: _first_share(v, x, y, sign=-1),
                 lambda v, x, y: _first_share(v, y, x, sign=-1))  # fmt: skip
define_pointwise("where", lambda c, x, y, /: _chosen(c, x, y), None, lambda v, c, x, y: np.asarray(c),
                 lambda v, c, x, y: ~np.asarray(c))  # fmt: skip
define_pointwise("masked_fill", lambda x, mask, fill, /: _chosen(mask, fill, x),
                 lambda v, x, mask, fill: ~np.asarray(mask), None,
                 lambda v, x, mask, fill: np.asarray(mask))  # fmt: skip
define_pointwise("clamp", _clamp, lambda v, x, low, high: _inside(x, low, high),
                 lambda v, x, low, high: np.less(x, low) & np.less(low, high),
                 lambda v, x, low, high: np.greater(x, high) | np.greater_equal(low, high))  # fmt: skip
_COMPARISONS: tuple[tuple[str, Function], ...] = (
    ("gt", np.greater), ("lt", np.less), ("ge", np.greater_equal), ("le", np.less_equal), ("eq", np.equal),
    ("ne", np.not_equal), ("logical_not", np.logical_not), ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
)  # fmt: skip
for _name, _compare in _COMPARISONS:
    define_pointwise(_name, _compare)


# Reductions ---------------------------------------------------------------------------------------------------------


def _kept(g: Array, x: Operand, dim: Axes, keepdim: bool) -> Array:
    """Return `g` with the reduced axes as axes of size 1; shape: that of the reduced value with its axes kept."""
    return g if keepdim or not np.ndim(x) else np.expand_dims(g, axes_of(x, dim))


def _count(x: Operand, dim: Axes) -> int:
    """Return how many entries are reduced to each entry of the value."""
    return math.prod(np.shape(x)[axis] for axis in axes_of(x, dim))


def _sum(x: Array, /, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the sum over some axes."""
    return np.asarray(np.sum(x, axis=axes_of(x, dim), keepdims=keepdim))


def _sum_vjp(g: Array, _: Array, x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the gradient repeated over the summed axes; shape: that of x."""
    return np.broadcast_to(_kept(g, x, dim, keepdim), np.shape(x))


def _mean(x: Array, /, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the mean over some axes."""
    return np.asarray(np.mean(x, axis=axes_of(x, dim), keepdims=keepdim))


def _mean_vjp(g: Array, _: Array, x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the gradient divided by the number of averaged entries and repeated; shape: that of x."""
    return np.broadcast_to(_kept(g / _count(x, dim), x, dim, keepdim), np.shape(x))


def _var(x: Array, /, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the variance over some axes; n - correction is its divisor."""
    count = _count(x, dim)
    with np.errstate(all="ignore"):  # of a single entry it is no number: with `ddof`, numpy warns of that on its own
        return np.asarray(
            np.var(x, axis=axes_of(x, dim), keepdims=keepdim) * np.divide(count, max(count - correction, 0))
        )


def _var_vjp(g: Array, _: Array, x: Array, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return 2 (x - mean) / (n - correction) times the gradient; shape: that of x."""
    centred = x - np.mean(x, axis=axes_of(x, dim), keepdims=True)
    return np.asarray(_kept(g, x, dim, keepdim) * 2 * centred / (_count(x, dim) - correction))


def _std(x: Array, /, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the standard deviation over some axes."""
    return np.asarray(np.sqrt(_var(x, dim, correction=correction, keepdim=keepdim)))


def _std_vjp(g: Array, y: Array, x: Array, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the vjp of the variance for the gradient divided by 2 std; shape: that of x."""
    return _var_vjp(g / (2 * y), y, x, dim, correction=correction, keepdim=keepdim)


def _norm(x: Array, /, p: float = 2, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the p-norm over some axes."""
    return np.asarray(np.sum(np.abs(x) ** p, axis=axes_of(x, dim), keepdims=keepdim) ** (1 / p))


def _norm_vjp(g: Array, y: Array, x: Array, p: float = 2, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the vjp of the p-norm, written in terms of its value y; 0 where the norm is 0."""
    kept = _kept(y, x, dim, keepdim)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(kept == 0, 0.0, np.sign(x) * (np.abs(x) / kept) ** (p - 1))
    return np.asarray(_kept(g, x, dim, keepdim) * terms)


def _amax(x: Array, /, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the greatest entry along some axes."""
    return np.asarray(np.max(x, axis=axes_of(x, dim), keepdims=keepdim))


def _amin(x: Array, /, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the least entry along some axes."""
    return np.asarray(np.min(x, axis=axes_of(x, dim), keepdims=keepdim))


def _extreme_vjp(g: Array, y: Array, x: Array, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the gradient shared equally by all entries that equal the greatest, or the least, as torch has it."""
    ties = x == _kept(y, x, dim, keepdim)
    return np.asarray(_kept(g, x, dim, keepdim) * ties / ties.sum(axis=axes_of(x, dim), keepdims=True))


define("sum", "reduction", _sum, _sum_vjp)
define("mean", "reduction", _mean, _mean_vjp)
define("var", "reduction", _var, _var_vjp)
define("std", "reduction", _std, _std_vjp)
define("norm", "reduction", _norm, _norm_vjp)
define("amax", "reduction", _amax, _extreme_vjp)
define("amin", "reduction", _amin, _extreme_vjp)


# Normalising functions, and sums along an axis ----------------------------------------------------------------------


def softmax(x: Array, /, dim: int) -> Array:
    """Return softmax probabilities along an axis; shape: that of x."""
    terms = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return np.asarray(terms / terms.sum(axis=dim, keepdims=True))


def _softmax_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return p (g - sum(p g)) with the probabilities p of x; shape: that of x."""
    return _softmax_value_vjp(g, softmax(x, dim), x, dim)


def _softmax_value_vjp(g: Array, p: Array, _: Array, dim: int) -> Array:
    """Return p (g - sum(p g)) with the probabilities p as they are given."""
    weighed = p * g
    return np.asarray(weighed - p * weighed.sum(axis=dim, keepdims=True))


def _log_softmax(x: Array, /, dim: int) -> Array:
    """Return the logarithms of softmax probabilities along an axis."""
    return np.asarray(x - _logsumexp(x, dim, keepdim=True))


def _log_softmax_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return g - p sum(g) with the probabilities p of x; shape: that of x."""
    return np.asarray(g - softmax(x, dim) * g.sum(axis=dim, keepdims=True))


def _log_softmax_value_vjp(g: Array, y: Array, _: Array, dim: int) -> Array:
    """Return g - exp(y) sum(g) with the log-probabilities y as they are given."""
    return np.asarray(g - np.exp(y) * g.sum(axis=dim, keepdims=True))


def _logsumexp(x: Array, /, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over some axes, without overflow."""
    axes = axes_of(x, dim)
    greatest = np.max(x, axis=axes, keepdims=True)
    greatest = np.where(np.isfinite(greatest), greatest, 0.0)
    total = np.log(np.sum(np.exp(x - greatest), axis=axes, keepdims=True)) + greatest
    return np.asarray(total if keepdim else total.squeeze(axes))


def _logsumexp_vjp(g: Array, _: Array, x: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return the probabilities of x times the gradient; shape: that of x."""
    return np.asarray(np.exp(x - _logsumexp(x, dim, keepdim=True)) * _kept(g, x, dim, keepdim))


def _cumsum(x: Array, /, dim: int) -> Array:
    """Return running sums along an axis."""
    return np.cumsum(x, axis=dim)


def _cumsum_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return running sums of the gradient from the end of the axis."""
    return np.flip(np.cumsum(np.flip(g, dim), axis=dim), dim)


define("softmax", "normalisation", softmax, _softmax_vjp, value_vjp=_softmax_value_vjp)
define("log_softmax", "normalisation", _log_softmax, _log_softmax_vjp, value_vjp=_log_softmax_value_vjp)
define("logsumexp", "reduction", _logsumexp, _logsumexp_vjp)
define("cumsum", "reduction", _cumsum, _cumsum_vjp)


# Contractions -------------------------------------------------------------------------------------------------------


def matmul_equation(left: int, right: int) -> str:
    """Return the einsum equation of a matrix product of operands with so many axes, such as `abk,bkj->abj`."""
    batch = "abcdefgh"[: max(left, right, 2) - 2]
    i, j = "i" * (left > 1), "j" * (right > 1)
    own = [batch[len(batch) - max(ndim - 2, 0) :] for ndim in (left, right)]
    return f"{own[0]}{i}k,{own[1]}k{j}->{batch}{i}{j}"


def _matmul_vjp(slot: int, g: Array, _: Array, x: Array, w: Array) -> Array:
    """Return the contribution to either factor of a matrix product, summed over broadcast batch axes."""
    if np.ndim(x) == 1 or np.ndim(w) == 1:
        return _vector_product_vjp(slot, g, x, w)
    part = w if slot == 0 else x
    turned = np.swapaxes(part, -1, -2)
    if slot == 0:
        return unbroadcast(g @ turned, x)
    if np.ndim(w) == 2 and np.ndim(x) > 2:  # one matrix for a whole batch: one product in place of many and a sum
        return np.asarray(x.reshape(-1, x.shape[-1]).T @ g.reshape(-1, g.shape[-1]))
    return unbroadcast(turned @ g, w)


def _vector_product_vjp(slot: int, g: Array, x: Array, w: Array) -> Array:
    """Return the vjp of a matrix product of which one operand is a vector, or both are."""
    columns, rows = (x if np.ndim(x) > 1 else x[None, :]), (w if np.ndim(w) > 1 else w[:, None])
    if np.ndim(w) == 1:
        g = np.expand_dims(g, -1)
    if np.ndim(x) == 1:
        g = np.expand_dims(g, -2)
    part = g @ np.swapaxes(rows, -1, -2) if slot == 0 else np.swapaxes(columns, -1, -2) @ g
    return unbroadcast(part, columns if slot == 0 else rows).reshape(np.shape((x, w)[slot]))


def parse_einsum(equation: str, values: Sequence[Array]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the value; those for `...` are written out as capitals.

    Args:
        equation: torch's, with or without `->` and ellipses.
        values: the operands.

    Raises:
        ValueError: the operands have other numbers of axes.
    """
    operands, arrow, result = equation.replace(" ", "").partition("->")
    parts = operands.split(",")
    widths = [np.ndim(value) - len(part.replace("...", "")) for part, value in zip(parts, values, strict=True)]
    if any(width and "..." not in part for width, part in zip(widths, parts, strict=True)):
        raise ValueError("the operands have other numbers of axes")
    batch = "ABCDEFGHIJ"[: max((width for part, width in zip(parts, widths, strict=True) if "..." in part), default=0)]
    letters = [part.replace("...", batch[len(batch) - width :]) for part, width in zip(parts, widths, strict=True)]
    if not arrow:
        every = "".join(letters)
        result = batch + "".join(sorted(letter for letter in set(every) - set(batch) if every.count(letter) == 1))
    return letters, result.replace("...", batch)


def _einsum(*values: Array, equation: str) -> Array:
    """Return the einsum of some operands."""
    letters, result = parse_einsum(equation, values)
    return np.asarray(np.einsum(f"{','.join(letters)}->{result}", *values, optimize=len(values) > 2))


def _einsum_vjp(slot: int, g: Array, _: Array, *values: Array, equation: str) -> Array:
    """Return the einsum of the gradient and the partner operands; shape: that of the operand."""
    letters, result = parse_einsum(equation, values)
    own, x = letters[slot], values[slot]
    if len(set(own)) < len(own):
        raise ValueError("an operand has one letter twice")
    partners = [i for i in range(len(values)) if i != slot]
    available = set(result).union(*(letters[i] for i in partners))
    reached = "".join(letter for letter in own if letter in available)
    equation = f"{','.join([result, *(letters[i] for i in partners)])}->{reached}"
    part = np.einsum(equation, g, *(values[i] for i in partners), optimize=len(values) > 2)
    for axis, letter in enumerate(own):  # an axis of size 1 that was stretched, or one that is summed on its own
        if letter not in available:
            part = np.expand_dims(part, axis)
        elif x.shape[axis] == 1 != part.shape[axis]:
            part = part.sum(axis, keepdims=True)
    return np.broadcast_to(part, x.shape)


define("matmul", "contraction", np.matmul, lambda g, v, x, w: _matmul_vjp(0, g, v, x, w),
       lambda g, v, x, w: _matmul_vjp(1, g, v, x, w))  # fmt: skip
define("outer", "contraction", np.outer, lambda g, v, x, y: g @ y, lambda g, v, x, y: x @ g)
define("einsum", "contraction", _einsum, _einsum_vjp, variadic=True)
define("linear", "contraction", lambda x, w, b=0.0, /: x @ w.T + b,
       lambda g, v, x, w, b=0.0: g @ w,
       lambda g, v, x, w, b=0.0: g.reshape(-1, g.shape[-1]).T @ np.reshape(x, (-1, np.shape(x)[-1])),
       lambda g, v, x, w, b=0.0: unbroadcast(g, b))  # fmt: skip
