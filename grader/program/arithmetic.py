"""Numpy forward functions and vjps of pointwise functions, reductions, normalising functions and contractions.

The signature of each forward function is torch's own, as far as it is supported: operands by position, options by name.
A vjp takes the upstream gradient g and the value in front of the same arguments, and returns the contribution to one
operand, shaped like that operand. An argument that a vjp does not need is called `_`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from .operation import Array, Function, Operand, define, define_pointwise, tensor_of, unbroadcast

THREADED = 200_000  # products: for more, numpy starts threads, which wait long on a busy machine; those of torch do not

Axes = int | Sequence[int] | None


def axes_of(x: Operand, dim: Axes) -> tuple[int, ...]:
    """Return the numbers, counted from 0, of the axes of `x` that an argument `dim` means; all axes for `None` or `()`.

    For x of shape (4, 5, 6): `axes_of(x, -1)` is `(2,)`. They keep the order of `dim`; a number has none.
    """
    ndim = np.ndim(x)
    dims = range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    return tuple(axis % ndim for axis in dims) if ndim else ()


# Pointwise functions ------------------------------------------------------------------------------------------------


def sigmoid(x: Operand) -> Array:
    """Return 1 / (1 + exp(-x)) for each entry of `x`, computed so that nothing overflows."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(x))))


def _erf(x: Operand) -> Array:
    """Return the error function of each entry of `x`, computed by torch, for numpy has none."""
    return np.asarray(torch.erf(tensor_of(x)))


def _lgamma(x: Operand) -> Array:
    """Return the logarithm of the gamma function of each entry of `x`, computed by torch."""
    return np.asarray(torch.lgamma(tensor_of(x)))


def _digamma(x: Operand) -> Array:
    """Return the derivative of `_lgamma` at each entry of `x`, computed by torch."""
    return np.asarray(torch.digamma(tensor_of(x)))


def _trigamma(x: Operand) -> Array:
    """Return the derivative of `_digamma` at each entry of `x`, computed by torch."""
    return np.asarray(torch.polygamma(1, tensor_of(x)))


def _softplus(x: Operand, /, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return log(1 + exp(beta x)) / beta for each entry of `x`; x itself where beta x exceeds `threshold`, as torch."""
    scaled = beta * np.asarray(x)
    return np.where(scaled > threshold, x, np.logaddexp(0, scaled) / beta)


def _softplus_derivative(_: Array, x: Operand, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return the derivative of `_softplus` at each entry of `x`.

    1 where beta x exceeds `threshold`, else sigmoid(beta x).
    """
    scaled = beta * np.asarray(x)
    return np.where(scaled > threshold, 1.0, sigmoid(scaled))


def _normal_cdf(x: Operand) -> Array:
    """Return the cumulative distribution function of the standard normal distribution for each entry of `x`."""
    return 0.5 * (1 + _erf(np.asarray(x) / math.sqrt(2)))


def _gelu(x: Operand, /, approximate: str = "none") -> Array:
    """Return x times the standard normal distribution function of x, entry by entry.

    Args:
        x: an array of any shape, or a number.
        approximate: `"none"` for the exact function, anything else for torch's approximation by tanh.
    """
    return np.asarray(x * (_normal_cdf(x) if approximate == "none" else 0.5 * (1 + np.tanh(_gelu_tanh_argument(x)))))


def _gelu_tanh_argument(x: Operand) -> Operand:
    """Return sqrt(2 / pi) (x + 0.044715 x**3), of which the tanh approximation of gelu takes the tanh."""
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


def _gelu_derivative(_: Array, x: Operand, approximate: str = "none") -> Array:
    """Return the derivative of `_gelu` at each entry of `x`: the exact one, or that of the tanh approximation.

    Args:
        _: the value, which is not needed.
        x: the operand.
        approximate: `"none"` for the exact function, anything else for the approximation.
    """
    if approximate == "none":
        return _normal_cdf(x) + x * np.exp(-0.5 * np.square(x)) / math.sqrt(2 * math.pi)
    t = np.tanh(_gelu_tanh_argument(x))
    return np.asarray(0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))


def _elu(x: Operand, /, alpha: float = 1.0) -> Array:
    """Return x for each positive entry of `x`, and alpha (exp(x) - 1) for each other entry."""
    return np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0)))


def _clamp(x: Operand, low: Operand, high: Operand, /) -> Array:
    """Return each entry of `x`, replaced by the nearer bound where it lies outside of `low` to `high`.

    Where `low` exceeds `high`, it is `high`.

    Args:
        x: an array of any shape.
        low: the lower bound, a number or an array that broadcasts with x; -inf where the call has none.
        high: the upper bound, likewise; inf where the call has none.
    """
    return np.minimum(np.maximum(x, low), high)


def _clamp_derivative(x: Operand, low: Operand, high: Operand) -> Array:
    """Return the derivative of a clamp by x: True for each entry that lies between the bounds, False for all others.

    An entry that equals a bound counts as between the bounds where the installed torch has it so.
    """
    if _clamp_passes_at_bound():
        return np.asarray(np.greater_equal(x, low) & np.less_equal(x, high))
    return np.asarray(np.greater(x, low) & np.less(x, high))


@cache
def _clamp_passes_at_bound() -> bool:
    """Return whether the installed torch passes a gradient to an entry that equals a bound, as it does up to 2.13."""
    entry = torch.zeros((), requires_grad=True)
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(entry.clamp(min=0), entry)
    return bool(slope)


def _maximum_derivative(_: Array, x: Operand, y: Operand, *, sign: int) -> Array:
    """Return the derivative of max(x, y), or of min(x, y), by x, entry by entry.

    For the maximum 1 where x is the greater, 0 where y is, 0.5 where they tie.

    Args:
        _: the value max(x, y), which is not needed.
        x: the operand that is differentiated.
        y: the partner operand.
        sign: 1 for the maximum; -1 for the minimum, whose derivative is 1 where x is the smaller.
    """
    return 0.5 * (1 + sign * np.sign(np.subtract(x, y)))


def _choose(condition: Array, x: Operand, y: Operand) -> Array:
    """Return an array with the entry of `x` where the condition is True, and the entry of `y` where it is False.

    All three broadcast: the forward pass of `torch.where`.
    """
    return np.where(condition, np.asarray(x), np.asarray(y))


def _power(x: Operand, n: Operand, /) -> Array:
    """Return x**n entry by entry, in floating point.

    A plain number n is not made an array, so that squares are exact.
    """
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
    ("asin", np.arcsin, lambda y, x: 1 / np.sqrt(1 - np.square(x))),
    ("acos", np.arccos, lambda y, x: -1 / np.sqrt(1 - np.square(x))),
    ("atan", np.arctan, lambda y, x: 1 / (1 + np.square(x))),
    ("sinh", np.sinh, lambda y, x: np.cosh(x)),
    ("cosh", np.cosh, lambda y, x: np.sinh(x)),
    ("asinh", np.arcsinh, lambda y, x: 1 / np.sqrt(np.square(x) + 1)),
    ("acosh", np.arccosh, lambda y, x: 1 / np.sqrt(np.square(x) - 1)),
    ("atanh", np.arctanh, lambda y, x: 1 / (1 - np.square(x))),
    ("tanh", np.tanh, lambda y, x: 1 - np.square(np.tanh(x))),
    ("sigmoid", sigmoid, lambda y, x: (p := sigmoid(x)) * (1 - p)),
    ("logsigmoid", lambda x, /: -np.logaddexp(0, -np.asarray(x)), lambda y, x: sigmoid(-x)),
    ("silu", lambda x, /: x * sigmoid(x), lambda y, x: sigmoid(x) * (1 + x * sigmoid(-x))),
    ("erf", _erf, lambda y, x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x))),
    ("lgamma", _lgamma, lambda y, x: _digamma(x)),
    ("digamma", _digamma, lambda y, x: _trigamma(x)),
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
define_pointwise("maximum", np.maximum, lambda v, x, y: _maximum_derivative(v, x, y, sign=1),
                 lambda v, x, y: _maximum_derivative(v, y, x, sign=1))  # fmt: skip
define_pointwise("minimum", np.minimum, lambda v, x, y: _maximum_derivative(v, x, y, sign=-1),
                 lambda v, x, y: _maximum_derivative(v, y, x, sign=-1))  # fmt: skip
define_pointwise("where", lambda c, x, y, /: _choose(c, x, y), None, lambda v, c, x, y: np.asarray(c),
                 lambda v, c, x, y: ~np.asarray(c))  # fmt: skip
define_pointwise("masked_fill", lambda x, mask, fill, /: _choose(mask, fill, x),
                 lambda v, x, mask, fill: ~np.asarray(mask), None,
                 lambda v, x, mask, fill: np.asarray(mask))  # fmt: skip
define_pointwise("clamp", _clamp, lambda v, x, low, high: _clamp_derivative(x, low, high),
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


def _restore_axes(g: Array, x: Operand, dim: Axes, keepdim: bool) -> Array:
    """Return the upstream gradient of a reduction with the axes that it removed put back as axes of size 1.

    For x of shape (4, 3), summed over axis 1: from shape (4,) to (4, 1).

    Args:
        g: the gradient, shaped like the reduced value.
        x: the array that was reduced.
        dim: the reduced axes, as torch takes them.
        keepdim: whether the reduction has kept the axes; then g is returned as it is.
    """
    return g if keepdim or not np.ndim(x) else np.expand_dims(g, axes_of(x, dim))


def _reduced_size(x: Operand, dim: Axes) -> int:
    """Return how many entries of `x` a reduction over `dim` makes into one: for shape (4, 3) and dim 1, 3."""
    return math.prod(np.shape(x)[axis] for axis in axes_of(x, dim))


def _sum(x: Array, /, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the sum of `x` over the axes `dim`, all of them for `None`; they stay as axes of size 1 if `keepdim`."""
    return np.asarray(np.sum(x, axis=axes_of(x, dim), keepdims=keepdim))


def _sum_vjp(g: Array, _: Array, x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the vjp of `_sum`: g, shaped like the sum, repeated along the summed axes; shape: that of x."""
    return np.broadcast_to(_restore_axes(g, x, dim, keepdim), np.shape(x))


def _mean(x: Array, /, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the mean of `x` over the axes `dim`, all of them for `None`; they stay as axes of size 1 if `keepdim`."""
    return np.asarray(np.mean(x, axis=axes_of(x, dim), keepdims=keepdim))


def _mean_vjp(g: Array, _: Array, x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the vjp of `_mean`: g divided by the number of averaged entries, repeated along their axes.

    Returns:
        Shape: that of x.
    """
    return np.broadcast_to(_restore_axes(g / _reduced_size(x, dim), x, dim, keepdim), np.shape(x))


def _var(x: Array, /, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the variance of `x` over the axes `dim`: squared deviations summed and divided by n - `correction`.

    The axes, all of them for `None`, stay with size 1 if `keepdim`; n is the number of entries of x for each variance.
    """
    count = _reduced_size(x, dim)
    with np.errstate(all="ignore"):  # of a single entry it is no number: with `ddof`, numpy warns of that on its own
        return np.asarray(
            np.var(x, axis=axes_of(x, dim), keepdims=keepdim) * np.divide(count, max(count - correction, 0))
        )


def _var_vjp(g: Array, _: Array, x: Array, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the vjp of `_var`, for a variance of n entries: 2 (x - mean) / (n - correction) g; shape: that of x."""
    centred = x - np.mean(x, axis=axes_of(x, dim), keepdims=True)
    return np.asarray(_restore_axes(g, x, dim, keepdim) * 2 * centred / (_reduced_size(x, dim) - correction))


def _std(x: Array, /, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the standard deviation of `x` over the axes `dim`: the root of `_var` with the same options."""
    return np.asarray(np.sqrt(_var(x, dim, correction=correction, keepdim=keepdim)))


def _std_vjp(g: Array, y: Array, x: Array, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Array:
    """Return the vjp of `_std` with the value y: the vjp of `_var` for g / (2 y); shape: that of x."""
    return _var_vjp(g / (2 * y), y, x, dim, correction=correction, keepdim=keepdim)


def _norm(x: Array, /, p: float = 2, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the p-norm of `x` over the axes `dim`, (sum of abs(x)**p)**(1 / p); over all of them for `None`.

    The axes stay with size 1 if `keepdim`.
    """
    return np.asarray(np.sum(np.abs(x) ** p, axis=axes_of(x, dim), keepdims=keepdim) ** (1 / p))


def _norm_vjp(g: Array, y: Array, x: Array, p: float = 2, dim: Axes = None, keepdim: bool = False) -> Array:
    """Return the vjp of `_norm` with the value y: sign(x) (abs(x) / y)**(p - 1) times g, 0 where y is 0.

    Returns:
        Shape: that of x.
    """
    kept = _restore_axes(y, x, dim, keepdim)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(kept == 0, 0.0, np.sign(x) * (np.abs(x) / kept) ** (p - 1))
    return np.asarray(_restore_axes(g, x, dim, keepdim) * terms)


def _amax(x: Array, /, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the greatest entry of `x` along the axes `dim`, all of them for `()`.

    They stay with size 1 if `keepdim`.
    """
    return np.asarray(np.max(x, axis=axes_of(x, dim), keepdims=keepdim))


def _amin(x: Array, /, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the least entry of `x` along the axes `dim`, all of them for `()`; they stay with size 1 if `keepdim`."""
    return np.asarray(np.min(x, axis=axes_of(x, dim), keepdims=keepdim))


def _extreme_vjp(g: Array, y: Array, x: Array, dim: Axes = (), keepdim: bool = False) -> Array:
    """Return the vjp of `_amax` or `_amin` with the value y: g, split equally between the entries that equal y.

    Returns:
        The contribution, shaped like x; zero where x differs from y.
    """
    ties = x == _restore_axes(y, x, dim, keepdim)
    return np.asarray(_restore_axes(g, x, dim, keepdim) * ties / ties.sum(axis=axes_of(x, dim), keepdims=True))


define("sum", "reduction", _sum, _sum_vjp)
define("mean", "reduction", _mean, _mean_vjp)
define("var", "reduction", _var, _var_vjp)
define("std", "reduction", _std, _std_vjp)
define("norm", "reduction", _norm, _norm_vjp)
define("amax", "reduction", _amax, _extreme_vjp)
define("amin", "reduction", _amin, _extreme_vjp)


# Normalising functions, and sums along an axis ----------------------------------------------------------------------


def softmax(x: Array, /, dim: int | tuple[int, ...]) -> Array:
    """Return the softmax probabilities of `x`, which sum to 1 along the axis `dim`, or several; shape: that of x."""
    terms = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return np.asarray(terms / terms.sum(axis=dim, keepdims=True))


def _softmax_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return the vjp of `softmax`, with the probabilities p computed from x: p (g - sum(p g)); shape: that of x."""
    return _softmax_value_vjp(g, softmax(x, dim), x, dim)


def _softmax_value_vjp(g: Array, p: Array, _: Array, dim: int) -> Array:
    """Return the vjp of `softmax` from its value p, so that x is not needed: p (g - sum(p g)); shape: that of p."""
    weighed = p * g
    return np.asarray(weighed - p * weighed.sum(axis=dim, keepdims=True))


def _log_softmax(x: Array, /, dim: int) -> Array:
    """Return the logarithms of the softmax probabilities of `x` along the axis `dim`; shape: that of x."""
    return np.asarray(x - _logsumexp(x, dim, keepdim=True))


def _log_softmax_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return the vjp of `_log_softmax`, with the probabilities p computed from x: g - p sum(g); shape: that of x."""
    return np.asarray(g - softmax(x, dim) * g.sum(axis=dim, keepdims=True))


def _log_softmax_value_vjp(g: Array, y: Array, _: Array, dim: int) -> Array:
    """Return the vjp of `_log_softmax` from its value y, so that x is not needed: g - exp(y) sum(g).

    Returns:
        Shape: that of y.
    """
    return np.asarray(g - np.exp(y) * g.sum(axis=dim, keepdims=True))


def _logsumexp(x: Array, /, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return log(sum(exp(x))) over the axes `dim`, which stay with size 1 if `keepdim`; nothing overflows."""
    axes = axes_of(x, dim)
    greatest = np.max(x, axis=axes, keepdims=True)
    greatest = np.where(np.isfinite(greatest), greatest, 0.0)
    total = np.log(np.sum(np.exp(x - greatest), axis=axes, keepdims=True)) + greatest
    return np.asarray(total if keepdim else total.squeeze(axes))


def _logsumexp_vjp(g: Array, _: Array, x: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return the vjp of `_logsumexp`: the softmax probabilities of x over `dim` times g; shape: that of x."""
    return _logsumexp_value_vjp(g, _logsumexp(x, dim, keepdim), x, dim, keepdim)


def _logsumexp_value_vjp(g: Array, y: Array, x: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return the vjp of `_logsumexp` from its value y: exp(x - y) times g; shape: that of x."""
    return np.asarray(np.exp(x - _restore_axes(y, x, dim, keepdim)) * _restore_axes(g, x, dim, keepdim))


def _cumsum(x: Array, /, dim: int) -> Array:
    """Return the running sums of `x` along the axis `dim`; shape: that of x."""
    return np.cumsum(x, axis=dim)


def _cumsum_vjp(g: Array, _: Array, x: Array, dim: int) -> Array:
    """Return the vjp of `_cumsum`: for each entry the sum of g from its position to the end of the axis.

    Returns:
        Shape: that of x.
    """
    return np.flip(np.cumsum(np.flip(g, dim), axis=dim), dim)


define("softmax", "normalisation", softmax, _softmax_vjp, value_vjp=_softmax_value_vjp)
define("log_softmax", "normalisation", _log_softmax, _log_softmax_vjp, value_vjp=_log_softmax_value_vjp)
define("logsumexp", "reduction", _logsumexp, _logsumexp_vjp, value_vjp=_logsumexp_value_vjp)
define("cumsum", "reduction", _cumsum, _cumsum_vjp)


def _has_vectors(a: Array, b: Array) -> bool:
    """Return whether torch reads the right-hand sides `b` of linear equations with the matrices `a` as vectors.

    It does for one axis, and where b has the shape of a without its last axis; else b holds matrices.
    """
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])


def _solve(a: Array, b: Array, /, left: bool = True) -> Array:
    """Return y with a @ y = b, or with y @ a = b if not `left`; shape: that of b, with the batch axes of a.

    Args:
        a: the matrices; shape: (..., n, n).
        b: the right-hand sides; shape: (..., n, k), or (..., n) for vectors; (..., k, n) if not `left`.
        left: whether the matrices stand on the left of y.
    """
    if not left:
        return np.asarray(_solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2))
    if _has_vectors(a, b):
        return np.asarray(np.linalg.solve(a, b[..., None])[..., 0])
    return np.asarray(np.linalg.solve(a, b))


def _solve_vjp_of_matrix(g: Array, y: Array, a: Array, b: Array, left: bool = True) -> Array:
    """Return the vjp of `_solve` for the matrices a: -c @ y.T, or -y.T @ c if not `left`; c is the vjp for b.

    Returns:
        Shape: that of a.
    """
    c = _solve(a.swapaxes(-1, -2), g, left)
    if left and _has_vectors(a, b):
        c, y = c[..., None], y[..., None]
    return unbroadcast(-(c @ y.swapaxes(-1, -2) if left else y.swapaxes(-1, -2) @ c), a)


def _solve_vjp(g: Array, _: Array, a: Array, b: Array, left: bool = True) -> Array:
    """Return the vjp of `_solve` for the right-hand sides: c with a.T @ c = g, or c @ a.T = g if not `left`.

    Returns:
        Shape: that of b.
    """
    return unbroadcast(_solve(a.swapaxes(-1, -2), g, left), b)


define("linalg_solve", "other", _solve, _solve_vjp_of_matrix, _solve_vjp)  # torch's takes a hundred times as long


# Contractions -------------------------------------------------------------------------------------------------------


def matmul_equation(left: int, right: int) -> str:
    """Return the einsum equation of a matrix product `x @ w`.

    For 2 and 3 axes: `"ik,akj->aij"`; for 3 and 1: `"aik,k->ai"`.

    Args:
        left: the number of axes of x.
        right: the number of axes of w.
    """
    batch = "abcdefgh"[: max(left, right, 2) - 2]
    i, j = "i" * (left > 1), "j" * (right > 1)
    own = [batch[len(batch) - max(ndim - 2, 0) :] for ndim in (left, right)]
    return f"{own[0]}{i}k,{own[1]}k{j}->{batch}{i}{j}"


def matmul(x: Array, w: Array) -> Array:
    """Return the matrix product `x @ w`, with numpy's rules for shapes; torch multiplies large matrices.

    Args:
        x: the left operand.
        w: the right operand.
    """
    if min(np.ndim(x), np.ndim(w)) > 1 and x.dtype == w.dtype and w.shape[-1] * math.prod(x.shape[-2:]) > THREADED:
        return np.asarray((tensor_of(x) @ tensor_of(w)).numpy())
    return np.asarray(np.matmul(x, w))


def _matmul_vjp(slot: int, g: Array, _: Array, x: Array, w: Array) -> Array:
    """Return the vjp of `x @ w` for one operand, summed over the batch axes along which that operand was broadcast.

    Args:
        slot: 0 for x, whose contribution is g @ w.T; 1 for w, whose contribution is x.T @ g.
        g: the upstream gradient, shaped like the product.
        _: the product, which is not needed.
        x: the left operand.
        w: the right operand.

    Returns:
        The contribution, shaped like the operand.
    """
    if np.ndim(x) == 1 or np.ndim(w) == 1:
        return _vector_product_vjp(slot, g, x, w)
    part = w if slot == 0 else x
    turned = np.swapaxes(part, -1, -2)
    if slot == 0:
        return unbroadcast(matmul(g, turned), x)
    if np.ndim(w) == 2 and np.ndim(x) > 2:  # one matrix for a whole batch: one product in place of many and a sum
        return np.asarray(matmul(x.reshape(-1, x.shape[-1]).T, g.reshape(-1, g.shape[-1])))
    return unbroadcast(matmul(turned, g), w)


def _vector_product_vjp(slot: int, g: Array, x: Array, w: Array) -> Array:
    """Return the vjp of `x @ w` for one operand, where x or w is a vector, or both are.

    Args:
        slot: 0 for x; 1 for w.
        g: the upstream gradient, shaped like the product.
        x: the left operand.
        w: the right operand.

    Returns:
        The contribution, shaped like the operand.
    """
    columns, rows = (x if np.ndim(x) > 1 else x[None, :]), (w if np.ndim(w) > 1 else w[:, None])
    if np.ndim(w) == 1:
        g = np.expand_dims(g, -1)
    if np.ndim(x) == 1:
        g = np.expand_dims(g, -2)
    part = g @ np.swapaxes(rows, -1, -2) if slot == 0 else np.swapaxes(columns, -1, -2) @ g
    return unbroadcast(part, columns if slot == 0 else rows).reshape(np.shape((x, w)[slot]))


def parse_einsum(equation: str, values: Sequence[Array]) -> tuple[list[str], str]:
    """Return the einsum letters of each operand, and those of the value, with `...` written out as capital letters.

    For `"...k,kj"` and operands with 3 and 2 axes: `(["ABk", "kj"], "ABj")`. Without `->`, the value has the capital
    letters, and then, sorted, those that stand once in all operands.

    Args:
        equation: torch's, with or without `->` and ellipses.
        values: the operands, of which the numbers of axes are needed.

    Raises:
        ValueError: an operand has another number of axes than the equation says.
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
    """Return the einsum of the operands `values` by torch's equation: for `"ik,kj->ij"` the product of two matrices."""
    letters, result = parse_einsum(equation, values)
    return np.asarray(np.einsum(f"{','.join(letters)}->{result}", *values, optimize=len(values) > 2))


def _einsum_vjp(slot: int, g: Array, _: Array, *values: Array, equation: str) -> Array:
    """Return the vjp of an einsum for the operand in a slot: the einsum of g and the partner operands.

    Args:
        slot: the number of the operand among `values`.
        g: the upstream gradient, shaped like the value.
        _: the value, which is not needed.
        values: all operands.
        equation: torch's equation of the forward pass.

    Returns:
        The contribution, shaped like the operand; an axis that the forward pass sums over alone is filled by repeating.

    Raises:
        ValueError: a letter stands twice in the operand, as in `"ii->i"`.
    """
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


define("matmul", "contraction", matmul, lambda g, v, x, w: _matmul_vjp(0, g, v, x, w),
       lambda g, v, x, w: _matmul_vjp(1, g, v, x, w))  # fmt: skip
define("outer", "contraction", np.outer, lambda g, v, x, y: g @ y, lambda g, v, x, y: x @ g)
define("einsum", "contraction", _einsum, _einsum_vjp, variadic=True)
define("linear", "contraction", lambda x, w, b=0.0, /: x @ w.T + b,
       lambda g, v, x, w, b=0.0: g @ w,
       lambda g, v, x, w, b=0.0: g.reshape(-1, g.shape[-1]).T @ np.reshape(x, (-1, np.shape(x)[-1])),
       lambda g, v, x, w, b=0.0: unbroadcast(g, b))  # fmt: skip
