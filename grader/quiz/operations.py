"""The operations that a formula may use, by the names that they have in torch, numpy and Python.

To add one, put a function of numpy arrays under `@operation("its names")`, or a line into the table of its kind. The
name of a parameter determines the type of its argument: see `CONVERSIONS`. `perform` counts the entries of the arrays
before it calls the function. A function that makes more entries than its arrays have, broadcast together, needs
`entries`: a function of the same parameters that returns their number.

A name with a prefix is used for that prefix only: `np.repeat` if it is written so, `method.where` for a method,
`python.sum` for Python's own function, `list.+` for a list on the left of `+`, `.shape` for an attribute. A sign is the
name of an operator.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grader.errors import ExpressionError

from .formula_work import Work, entries_of, shape_text, whole, wholes

Array = np.ndarray
Function = Callable[..., Any]

MOST_SHOWN = 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SAME_OPTION = {"axis": "dim", "axes": "dim", "dims": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max",
               "negative_slope": "slope"}  # fmt: skip
IGNORED = frozenset(("dtype", "device", "requires_grad", "copy", "memory_format", "optimize"))
CONVERSIONS: Mapping[str, Callable[[Work, Any], Any]] = {
    **dict.fromkeys("a b c mask condition alpha beta value base min max slope weight bias".split(), Work.array),
    **dict.fromkeys("dim dims size repeats place diagonal offset k rows columns steps start_dim end_dim dim0 dim1 "
                    "start stop step".split(), lambda work, value: whole(value)),
    "arrays": Work.arrays, "items": lambda work, value: tuple(work.items(value)),
    "parts": lambda work, value: tuple(_place(work, part) for part in value),
}  # fmt: skip
"""By name of a parameter, the function that converts its argument to an array, a whole number or a list."""


@dataclass(frozen=True)
class FormulaOperation:
    """Describe an operation that a formula may use.

    Args:
        function: takes the converted arguments, and `work`, the budget, if it has such a parameter; returns the result.
        entries: takes the same arguments; returns how many entries the function makes or reads. `None` if these are as
            many as its arrays have, broadcast together.
        signature: the parameters of the function.
    """

    function: Function
    entries: Callable[..., int] | None
    signature: inspect.Signature

    def bound(self, work: Work, arguments: Sequence[Any], options: Mapping[str, Any]) -> inspect.BoundArguments:
        """Return the arguments of the function, bound to its parameters and converted by `CONVERSIONS`.

        Options in `IGNORED` are dropped, and those in `SAME_OPTION` have torch's names first.

        Args:
            work: the budget.
            arguments: the values that the formula gives by position.
            options: the values that the formula gives by name.

        Raises:
            TypeError: the values do not fit the function's parameters.
        """
        parameters = self.signature.parameters
        given = {SAME_OPTION.get(name, name): value for name, value in options.items() if name not in IGNORED}
        positional = [work] if "work" in parameters else []
        positional += [given.pop("input")] if "input" in given else []
        positional += arguments
        variadic = next((name for name, at in parameters.items() if at.kind is at.VAR_POSITIONAL), "")
        joining = [variadic, *({"dim"} - {*parameters})] if variadic else []
        joined = [given.pop(name) for name in joining if name in given]  # `sum(dim=0)` is `sum(0)`
        call = self.signature.bind(*positional, **given)
        if joined:
            call.arguments[variadic] = (*call.arguments.get(variadic, ()), *joined)
        for name, value in call.arguments.items():
            convert = CONVERSIONS.get(name)
            if convert is None or (value is None and parameters[name].default is None):
                continue
            call.arguments[name] = wholes(value) if name == variadic else convert(work, value)
        return call

    def count(self, call: inspect.BoundArguments) -> int:
        """Return how many entries a call of the function makes or reads, before it is called."""
        if self.entries is not None:
            return int(self.entries(*call.args, **call.kwargs))
        given = [value for name, value in call.arguments.items() if CONVERSIONS.get(name) is Work.array]
        broadcast = np.broadcast_shapes(*(array.shape for array in given if array is not None))
        return max(entries_of(broadcast), sum(int(part.size) for part in call.arguments.get("arrays", ())))


OPERATIONS: dict[str, FormulaOperation] = {}


def operation(names: str, entries: Callable[..., int] | None = None) -> Callable[[Function], Function]:
    """Return a decorator that enters a function into `OPERATIONS`.

    Args:
        names: the names of the operation, with blanks between them.
        entries: takes the arguments of the function; returns how many entries it makes or reads. `None` if these are as
            many as its arrays have, broadcast together.
    """

    def enter(function: Function) -> Function:
        called = function
        if isinstance(function, np.ufunc):  # it would take one more array, to write into
            called = (lambda a: function(a)) if function.nin == 1 else (lambda a, b: function(a, b))
        OPERATIONS.update(dict.fromkeys(names.split(), FormulaOperation(called, entries, inspect.signature(called))))
        return function

    return enter


def enter_all(table: Mapping[str, Function], entries: Callable[..., int] | None = None) -> None:
    """Enter every function of a table into `OPERATIONS`.

    Args:
        table: each function under its names, separated by spaces: `"ln log_e loge"`.
        entries: takes the arguments of a function; returns how many entries it makes or reads, for all of them. `None`
            if these are as many as their arrays have, broadcast together.
    """
    for names, function in table.items():
        operation(names, entries)(function)


def perform(
    work: Work, name: str, arguments: Sequence[Any], options: Mapping[str, Any] | None = None, title: str = ""
) -> Any:
    """Return the result of an operation, which is called only if its size is within the budget.

    For a list as its first argument it is that with the prefix `list.`, if there is one.

    Args:
        work: the budget.
        name: the key of the operation in `OPERATIONS`.
        arguments: the arguments by position: arrays, numbers, texts, and tuples of them.
        options: the arguments by name.
        title: the name of the operation in messages; `name` if empty.

    Raises:
        ExpressionError: the operation does not fit its arguments, or there is too much work.
    """
    title = title or name
    shown = title if " " in title else f"`{title}`"
    is_of_list = arguments and isinstance(arguments[0], tuple) and f"list.{name}" in OPERATIONS
    known = OPERATIONS[f"list.{name}" if is_of_list else name]
    try:
        call = known.bound(work, arguments, options or {})
        work.spend_entries(known.count(call))
        result = known.function(*call.args, **call.kwargs)
    except (TypeError, ArithmeticError, AttributeError, KeyError) as error:
        raise ExpressionError(f"{shown} cannot be used like this: look at what stands in its brackets") from error
    except (ValueError, IndexError, MemoryError) as error:
        arrays = [value for value in arguments if hasattr(value, "shape")][:MOST_SHOWN]
        shapes = " and ".join(shape_text(array.shape, work.sizes) for array in arrays)
        raise ExpressionError(f"{shown} does not fit {shapes or 'what stands in its brackets'}", "error") from error
    if isinstance(result, Array):
        work.check_size(result.size, result.ndim)
    return result


# Entry by entry, with broadcasting


def sigmoid(a: Array) -> Any:
    """Return the logistic function of every entry."""
    return 1 / (1 + np.exp(-a))


_erf = np.vectorize(math.erf, otypes=["float64"])


def normal_cdf(a: Array) -> Any:
    """Return the standard normal distribution function of every entry."""
    return (1 + _erf(a / math.sqrt(2))) / 2


enter_all({
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "ln log_e loge": np.log, "log2": np.log2, "log10 lg": np.log10,
    "log": lambda a, base=None: np.log(a) if base is None else np.log(a) / np.log(base), "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "square": np.square, "reciprocal": lambda a: 1 / a,
    "neg negative": np.negative, "positive": np.positive, "abs absolute fabs": np.abs, "sign sgn": np.sign,
    "floor": np.floor, "ceil": np.ceil, "trunc int long": np.trunc,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "arcsin asin": np.arcsin, "arccos acos": np.arccos, "arctan atan": np.arctan, "arctan2 atan2": np.arctan2,
    "sigmoid expit": sigmoid, "logit": lambda a: np.log(a / (1 - a)), "relu": lambda a: np.maximum(a, 0.0),
    "silu swish": lambda a: a * sigmoid(a), "softplus": lambda a: np.log1p(np.exp(a)),
    "logsigmoid": lambda a: -np.log1p(np.exp(-a)), "erf": lambda a: _erf(a), "ndtr": normal_cdf,
    "gelu": lambda a: a * normal_cdf(a), "leaky_relu": lambda a, slope=0.01: np.where(a > 0, a, slope * a),
    "~ logical_not bitwise_not": lambda a: a == 0, "bool": lambda a: a != 0,
    "float double half item clone copy detach contiguous cpu numpy .data .real real conj deepcopy "
    "requires_grad_ float16 float32 float64 int8 int16 int32 int64 from_numpy": lambda a: a,
    "to type astype tensor array asarray as_tensor": lambda a, *_: a,
    "+ add": lambda a, b, *, alpha=None: a + (b if alpha is None else alpha * b),
    "- sub subtract": lambda a, b, *, alpha=None: a - (b if alpha is None else alpha * b),
    "* mul multiply": np.multiply, "/ div divide true_divide": np.divide, "rsub": lambda a, b: b - a,
    "// floor_divide": np.floor_divide, "% remainder fmod": np.remainder, "** pow power float_power": np.power,
    "< lt less": np.less, "<= le less_equal": np.less_equal, "> gt greater": np.greater,
    ">= ge greater_equal": np.greater_equal, "== eq equal": np.equal, "!= ne not_equal": np.not_equal,
    "& logical_and bitwise_and": lambda a, b: (a != 0) & (b != 0),
    "| logical_or bitwise_or": lambda a, b: (a != 0) | (b != 0),
    "maximum fmax": np.maximum, "minimum fmin": np.minimum, "heaviside": np.heaviside, "logaddexp": np.logaddexp,
    "hypot": np.hypot, "clamp_min": lambda a, min: np.maximum(a, min), "clamp_max": lambda a, max: np.minimum(a, max),
    "clamp clip": lambda a, min=None, max=None: np.minimum(
        np.maximum(a, -np.inf if min is None else min), np.inf if max is None else max),
    "where": lambda mask, a, b: np.where(mask != 0, a, b), "method.where": lambda a, mask, b: np.where(mask != 0, a, b),
    "masked_fill": lambda a, mask, value: np.where(mask != 0, value, a),
    "addcmul": lambda a, b, c, *, value=None: a + (b * c if value is None else value * b * c),
})  # fmt: skip


@operation("beside·", entries=lambda a, b: max(a.size, b.size))
def multiply_beside(a: Array, b: Array) -> Any:
    """Return the product `2x` or `a·b`, entry by entry.

    Raises:
        ExpressionError: the two arrays have different shapes, so that a matrix product might be meant.
    """
    if a.ndim and b.ndim and a.shape != b.shape:
        raise ExpressionError("which product is meant? Write `*` entry by entry, `@` for a matrix product")
    return a * b


@operation("if")
def choose(condition: Array, first: Any, second: Any) -> Any:
    """Return `first if condition else second` for a condition that is a number.

    Raises:
        ExpressionError: the condition is an array.
    """
    if condition.ndim:
        raise ExpressionError("`if` decides once, and not for each entry: write `torch.where(condition, a, b)`")
    return first if condition else second


@operation("np.select")
def select_first(work: Work, conditions: Any, choices: Any, default: Any = 0.0) -> Any:
    """Return for each entry the choice of the first condition that is true there; `default` if none is.

    Args:
        work: the budget.
        conditions: a list of arrays that are broadcast with the choices.
        choices: a list of as many arrays or numbers.
        default: an array or a number.
    """
    pairs = list(zip(work.items(conditions), work.items(choices), strict=True))
    for condition, choice in reversed(pairs):
        default = perform(work, "where", [condition, choice, default])
    return default


# Products that sum over axes


def _matmul_entries(a: Array, b: Array) -> int:
    """Return how many multiplications a matrix product takes, to compare with the budget."""
    if not a.ndim or not b.ndim:
        return max(a.size, b.size)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return entries_of((*batch, *a.shape[-2:], *b.shape[-1:]))


def _of_ranks(product: Function, *ranks: int) -> Function:
    """Return a product of two arrays that raises `ValueError` for other numbers of axes than these, as torch's does.

    Args:
        product: the product.
        *ranks: the number of axes of the first array, and of the second.
    """

    def limited(a: Array, b: Array) -> Any:
        if (a.ndim, b.ndim) != ranks:
            raise ValueError("another number of axes")
        return product(a, b)

    return limited


enter_all({
    "@ matmul": np.matmul, "mm": _of_ranks(np.matmul, 2, 2), "bmm": _of_ranks(np.matmul, 3, 3),
    "mv": _of_ranks(np.matmul, 2, 1), "torch.dot": _of_ranks(np.matmul, 1, 1),
    "dot vdot": lambda a, b: np.matmul(a, b) if a.ndim and b.ndim else a * b,
}, entries=_matmul_entries)  # fmt: skip
enter_all({
    "outer ger multiply.outer outer·": _of_ranks(np.outer, 1, 1), "kron": lambda a, b: np.kron(a, b),
}, entries=lambda a, b: a.size * b.size)  # fmt: skip
enter_all({
    "inner": lambda a, b: np.inner(a, b),
}, entries=lambda a, b: a.size * (b.size // b.shape[-1] if b.ndim else 1))  # fmt: skip
enter_all({
    "vecdot": lambda a, b, dim=-1: np.sum(a * b, axis=dim), "trace": lambda a: np.einsum("ii", a),
})  # fmt: skip


def _axis_letters(spec: str, arrays: Sequence[Array]) -> tuple[list[str], str]:
    """Return the letters of the axes of each array of an einsum, and of its result, with letters in place of `...`.

    Without `->` the result has the axes of `...`, and then the letters that occur once, in the order of the alphabet.

    Raises:
        TypeError: `spec` is no einsum, or one of another number of arrays.
    """
    spec = spec.replace(" ", "")
    inputs, arrow, result = spec.partition("->")
    parts = inputs.split(",")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", spec, re.ASCII) or len(parts) != len(arrays):
        raise TypeError("no einsum of these arrays")
    unnamed = [array.ndim - len(part.replace("...", "")) for part, array in zip(parts, arrays, strict=True)]
    spare = "".join(letter for letter in LETTERS.upper() if letter not in spec)[: max(0, *unnamed)]
    named = [part.replace("...", spare[len(spare) - count :]) for part, count in zip(parts, unnamed, strict=True)]
    if not arrow:  # first the axes of `...`, then the letters that occur once
        result = "..." * bool(spare) + "".join(
            sorted(letter for letter in inputs if letter.isalpha() and inputs.count(letter) == 1)
        )
    return named, result.replace("...", spare)


@operation("einsum")
def einsum(work: Work, *arguments: Any) -> Any:
    """Return the einsum of some arrays.

    Args:
        work: the budget.
        *arguments: the text, such as "ij,jk->ik", and the arrays; or the arrays and then a text with words for axes, as
            in einops: "bs n, n m -> bs m".

    Raises:
        TypeError: no text says which axes are summed.
        ValueError: the letters do not fit the arrays.
    """
    first, *others = arguments
    spec, values = (first, others) if isinstance(first, str) else (others[-1], [first, *others[:-1]])
    if not isinstance(spec, str):
        raise TypeError("no text says which axes are summed")
    if spec is not first:
        letters = dict(zip(dict.fromkeys(re.findall(r"\w+", spec)), LETTERS, strict=False))
        spec = re.sub(r"\w+", lambda word: letters[word[0]], spec)
    arrays = work.arrays(values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values))
    named, result = _axis_letters(spec, arrays)
    sizes: dict[str, int] = {}
    for part, array in zip(named, arrays, strict=True):
        for letter, size in zip(part, array.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    work.spend_entries(math.prod(sizes.values()))
    return np.einsum(f"{','.join(named)}->{result}", *arrays)


def _summed_axes(a: Array, b: Array, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of each of two arrays over which a tensordot sums, in pairs.

    Args:
        a: the first array.
        b: the second array.
        axes: as in `np.tensordot`: how many of the last axes of `a` and the first of `b`, or the axes of each array.

    Raises:
        ValueError: an array has fewer axes than are to be summed.
    """
    if isinstance(axes, tuple):
        first, second = (wholes(part) if isinstance(part, tuple) else (whole(part),) for part in axes)
        return first, second
    if not 0 <= whole(axes) <= min(a.ndim, b.ndim):
        raise ValueError("more axes than there are")
    return tuple(range(a.ndim - whole(axes), a.ndim)), tuple(range(whole(axes)))


def _tensordot_entries(a: Array, b: Array, *axes: Any) -> int:
    """Return how many multiplications a tensordot takes, to compare with the budget."""
    summed = [a.shape[axis] for axis in _summed_axes(a, b, *axes or (2.0,))[0]]
    return entries_of(a.shape) * entries_of(b.shape) // entries_of(summed)


@operation("tensordot", entries=_tensordot_entries)
def tensordot(a: Array, b: Array, *axes: Any) -> Any:
    """Return a product summed over the last axes of one array and the first of another, or over the given axes."""
    return np.tensordot(a, b, _summed_axes(a, b, *axes or (2.0,)))


@operation("linear", entries=lambda work, a, weight, bias=None: _matmul_entries(a, weight.T))
def linear(work: Work, a: Array, weight: Array, bias: Array | None = None) -> Any:
    """Return `a @ weight.T + bias`, without `bias` if it is `None`, within the budget `work`."""
    product = np.matmul(a, weight.T)
    return product if bias is None else perform(work, "+", [product, bias], title="linear")


def _product_added(product: str) -> Function:
    """Return a function `f(c, a, b)`, such as `addmm`, that gives `beta * c` plus `alpha` times the product of a and b.

    Args:
        product: the name of the product in `OPERATIONS`.
    """

    def add_product(work: Work, x: Any, first: Any, second: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
        scaled = perform(work, "*", [alpha, perform(work, product, [first, second])])
        return perform(work, "+", [perform(work, "*", [beta, x]), scaled])

    return add_product


enter_all({"addmm addmv baddbmm": _product_added("@"), "addr": _product_added("outer")})


@operation("multi_dot chain_matmul")
def multi_dot(work: Work, arrays: Sequence[Array]) -> Any:
    """Return the matrix product of several arrays, multiplied from the left to the right, within the budget `work`."""
    first, *others = arrays
    for other in others:
        first = perform(work, "@", [first, other])
    return first


# Along axes: sums, means, extremes, norms, running sums, softmax


class Extremes(NamedTuple):
    """Hold the greatest or least values along an axis, and their indices, as `x.max(1)` does."""

    values: Any
    indices: Any


def _variance(
    a: Array, axis: Any, keepdims: bool, correction: Any = 1.0, unbiased: Any = None, ddof: Any = None
) -> Any:
    """Return the variance along `axis`, all axes if it is `None`; by default it divides by the number of entries - 1.

    What is subtracted from that number is `unbiased` (torch's older name) if it is given, else `ddof` (numpy's), else
    `correction` (torch's).
    """
    less = whole(unbiased) if unbiased is not None else whole(correction if ddof is None else ddof)
    squares = np.sum((a - np.mean(a, axis=axis, keepdims=True)) ** 2, axis=axis, keepdims=keepdims)
    return squares / (a.size / max(squares.size, 1) - less)


def _norm(a: Array, axis: Any, keepdims: bool, p: Any = 2.0, ord: Any = None) -> Any:
    """Return the norm (sum of abs(a)**p)**(1 / p) of `a` along `axis`, all axes if it is `None`.

    p is the argument `p`, as in torch, or `ord`, as in numpy; if both are given, it is `ord`; if none is, 2.
    """
    power = float(p if ord is None else ord)
    return np.sum(np.abs(a) ** power, axis=axis, keepdims=keepdims) ** (1 / power)


def _logsumexp(a: Array, axis: Any, keepdims: bool) -> Any:
    """Return the logarithm of the sum of the exponentials along `axis`, of all entries if it is `None`.

    The axis stays, with size 1, if `keepdims` is true.
    """
    top = np.max(a)
    return np.log(np.sum(np.exp(a - top), axis=axis, keepdims=keepdims)) + top


def _of_axes(function: Function, **defaults: Any) -> Function:
    """Return a reduction that takes axes as torch's do: one, several, a list of them, or none for all.

    Args:
        function: takes an array, `axis` and `keepdims`, and options.
        **defaults: the options that are given to it unless the formula gives them.
    """
    is_numpys = function.__module__.partition(".")[0] == "numpy"  # its other options write into arrays

    def reduce(a: Array, *axes: Any, keepdim: Any = False, **options: Any) -> Any:
        if not a.size:
            raise ValueError("an array without entries: numpy warns of its mean")
        if options and is_numpys:
            raise TypeError("an option that torch has not")
        if len(axes) == 2 and isinstance(axes[1], bool):
            *others, keepdim = axes
            axes = tuple(others)
        return function(a, axis=wholes(axes) or None, keepdims=bool(keepdim), **{**defaults, **options})

    return reduce


enter_all({
    "sum nansum": _of_axes(np.sum), "mean average nanmean": _of_axes(np.mean), "prod": _of_axes(np.prod),
    "amax": _of_axes(np.max), "amin": _of_axes(np.min), "median": _of_axes(np.median), "any": _of_axes(np.any),
    "all": _of_axes(np.all), "var": _of_axes(_variance), "np.var": _of_axes(_variance, ddof=0.0),
    "std": _of_axes(lambda a, **options: np.sqrt(_variance(a, **options))),
    "np.std": _of_axes(lambda a, **options: np.sqrt(_variance(a, **options)), ddof=0.0), "norm": _of_axes(_norm),
    "logsumexp": _of_axes(_logsumexp),
    "count_nonzero": _of_axes(lambda a, axis, keepdims: np.sum(a != 0, axis=axis, keepdims=keepdims)),
    "argmax": lambda a, dim=None: np.argmax(a, dim), "argmin": lambda a, dim=None: np.argmin(a, dim),
    "cumsum": lambda a, dim=None: np.cumsum(a, dim), "cumprod": lambda a, dim=None: np.cumprod(a, dim),
    "softmax": lambda a, dim=-1: np.exp(log_softmax(a, dim)), "softmin": lambda a, dim=-1: np.exp(log_softmax(-a, dim)),
    ".values": lambda extremes: extremes.values, ".indices": lambda extremes: extremes.indices,
    "add.reduce": lambda work, x, *dims, **options: perform(work, "sum", [x, *(dims or (0,))], options),
    "normalize": lambda work, x, p=2.0, dim=1: perform(
        work, "/", [x, perform(work, "norm", [x], {"p": p, "dim": dim, "keepdim": True})]),
})  # fmt: skip


@operation("log_softmax")
def log_softmax(a: Array, dim: int = -1) -> Any:
    """Return the logarithms of the softmax probabilities along the axis `dim`."""
    raised = a - np.max(a, axis=dim, keepdims=True)
    return raised - np.log(np.sum(np.exp(raised), axis=dim, keepdims=True))


@operation("python.sum")
def add_rows(work: Work, values: Any, *axes: Any, **options: Any) -> Any:
    """Return the sum of the items of a list or the rows of an array, as Python's `sum`; with an axis, the sum along it.

    Args:
        work: the budget.
        values: a list, or an array or number.
        *axes: axes of an array; of a list, the number that the sum begins with.
        **options: the options of `sum` in torch or numpy.
    """
    is_list = isinstance(values, tuple)
    if options or (axes and not is_list):
        return perform(work, "sum", [values, *axes], options)
    if not is_list and np.ndim(values) == 0:
        return values
    total: Any = axes[0] if axes else 0.0
    for value in work.items(values):
        total = perform(work, "+", [total, value])
    return total


def _extreme(name: str, place: Function, of_two: str, *, has_places: bool) -> Function:
    """Return the operation `max` or `min`: of all entries; along an axis; or of two arrays, entry by entry.

    The second argument is an axis if the first is an array and the second a whole number, else another operand.

    Args:
        name: the name of the reduction in `OPERATIONS`.
        place: takes an array and an axis; returns the indices of the extreme entries.
        of_two: the name of the operation on two arrays in `OPERATIONS`.
        has_places: whether the result along an axis always has the indices, as torch's, not only if `dim` is missing.
    """

    def extreme(work: Work, x: Any, *others: Any, dim: Any = None, keepdim: Any = False) -> Any:
        if others and (np.ndim(first := work.array(others[0])) or float(first) % 1 or not np.ndim(work.array(x))):
            for other in others:
                x = perform(work, of_two, [x, other])
            return x
        axis = dim if dim is not None else others[0] if others else None
        values = perform(work, name, [x] if axis is None else [x, axis], {"keepdim": keepdim})
        is_pair = axis is not None and (has_places or dim is None)
        return Extremes(values, place(work.array(x), axis=whole(axis))) if is_pair else values

    return extreme


enter_all({
    "max": _extreme("amax", np.argmax, "maximum", has_places=True),
    "min": _extreme("amin", np.argmin, "minimum", has_places=True),
    "np.max": _extreme("amax", np.argmax, "maximum", has_places=False),
    "np.min": _extreme("amin", np.argmin, "minimum", has_places=False),
})  # fmt: skip


# Rearrangements, selections, copies and new arrays


@operation(".T t transpose swapaxes swapdims T")
def transpose(a: Array, *dims: int, dim0: int | None = None, dim1: int | None = None) -> Any:
    """Return an array with two axes exchanged, as torch does, or with all in a new order, as numpy does.

    The axes are in `dims`, or are `dim0` and `dim1`; without any, the order of all axes is reversed.
    """
    axes = dims if dim0 is None or dim1 is None else (dim0, dim1)
    return np.swapaxes(a, *axes) if len(axes) == 2 else np.transpose(a, axes or None)


@operation("flatten")
def flatten(a: Array, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return an array with the axes from `start_dim` to `end_dim`, both included, merged into one."""
    first, last = start_dim % max(a.ndim, 1), end_dim % max(a.ndim, 1)
    return a.reshape(*a.shape[:first], -1, *a.shape[last + 1 :])


@operation("squeeze")
def squeeze(a: Array, *dims: int) -> Any:
    """Return an array without its axes of size 1, or without those of the given axes that have size 1."""
    return np.squeeze(a, tuple(axis for axis in dims if a.shape[axis] == 1)) if dims else np.squeeze(a)


@operation("sum_to_size")
def sum_to_size(a: Array, *size: int) -> Any:
    """Return an array summed to the shape `size`, from which it could have been broadcast."""
    a = a.sum(tuple(range(a.ndim - len(size))))
    stretched = tuple(axis for axis, side in enumerate(size) if side == 1 != a.shape[axis])
    return a.sum(stretched, keepdims=True).reshape(size)


def _expanded(a: Array, *size: int) -> tuple[int, ...]:
    """Return the shape `size` with the array's size of the same axis in place of each -1."""
    own = ((1,) * len(size) + a.shape)[-len(size) :]
    return tuple(old if new == -1 else new for new, old in zip(size, own, strict=True))


enter_all({
    ".mT .H .mH adjoint matrix_transpose": lambda a: np.swapaxes(a, -1, -2) if a.ndim > 1 else a,
    "permute": lambda a, *dims: np.transpose(a, dims), "flip flipud": lambda a, *dims: np.flip(a, dims or None),
    "moveaxis movedim": lambda a, source, target: np.moveaxis(a, wholes((source,)), wholes((target,))),
    "reshape view": lambda a, *size: a.reshape(size), "ravel": lambda a: a.reshape(-1),
    "reshape_as view_as": lambda work, x, other: work.array(x).reshape(work.array(other).shape),
    "unsqueeze expand_dims": lambda a, *axes: np.expand_dims(a, wholes(axes)),
    "expand_as": lambda a, b: np.broadcast_to(a, b.shape),
    "stack": lambda arrays, dim=0: np.stack(arrays, dim), "vstack": lambda arrays: np.vstack(arrays),
    "cat concat concatenate": lambda arrays, dim=0: np.concatenate(arrays, dim),
    "hstack": lambda arrays: np.hstack(arrays), "column_stack": lambda arrays: np.column_stack(arrays),
    "select": lambda a, dim, place: np.take(a, place, dim), "diagonal": lambda a: np.diagonal(a),
    "ones_like": lambda a: np.ones(a.shape), "zeros_like": lambda a: np.zeros(a.shape),
    "full_like": lambda a, value: np.full(a.shape, float(value)),
})  # fmt: skip
enter_all({
    "expand broadcast_to": lambda a, *size: np.broadcast_to(a, _expanded(a, *size)),
}, entries=lambda a, *size: entries_of(_expanded(a, *size)))  # fmt: skip
enter_all({
    "tril": lambda a, diagonal=0, k=0: np.tril(a, diagonal + k),
    "triu": lambda a, diagonal=0, k=0: np.triu(a, diagonal + k),
}, entries=lambda a, *_: a.size**2 if a.ndim == 1 else a.size)  # fmt: skip
enter_all({"repeat tile": lambda a, *dims: np.tile(a, dims)}, entries=lambda a, *dims: a.size * entries_of(dims))
enter_all({
    "np.repeat repeat_interleave": lambda a, repeats, dim=None: np.repeat(a, repeats, dim),
}, entries=lambda a, repeats, dim=None: a.size * max(repeats, 0))  # fmt: skip
enter_all(
    {
        "diag": lambda a, diagonal=0, offset=0: np.diag(a, diagonal + offset),
    },
    entries=lambda a, diagonal=0, offset=0: (a.size + abs(diagonal + offset)) ** 2 if a.ndim == 1 else a.size,
)
enter_all(
    {"diag_embed": lambda a: a[..., None] * np.eye(a.shape[-1])}, entries=lambda a: entries_of((*a.shape, a.shape[-1]))
)


def _new_entries(*size: int) -> int:
    """Return how many entries a new array of this shape has.

    Raises:
        ValueError: a size is below 0.
    """
    if any(side < 0 for side in size):
        raise ValueError("a size below 0")
    return entries_of(size)


enter_all({"ones": lambda *size: np.ones(size), "zeros": lambda *size: np.zeros(size)}, entries=_new_entries)
enter_all({"new_ones": lambda a, *size: np.ones(size)}, entries=lambda a, *size: _new_entries(*size))
enter_all({
    "full": lambda shape, value: np.full(wholes((shape,)), float(value)),
}, entries=lambda shape, value: _new_entries(*wholes((shape,))))  # fmt: skip
enter_all({
    "linspace": lambda first, last, steps=50: np.linspace(float(first), float(last), steps),
}, entries=lambda first, last, steps=50: max(steps, 0))  # fmt: skip


@operation("eye identity", entries=lambda rows, columns=None: entries_of((rows, rows if columns is None else columns)))
def eye(rows: int, columns: int | None = None) -> Any:
    """Return an identity matrix with so many rows, and as many columns if `columns` is `None`.

    Raises:
        ValueError: the matrix would have no entries.
    """
    if min(rows, rows if columns is None else columns) < 1:
        raise ValueError("an array without entries: numpy warns of its mean")
    return np.eye(rows, columns)


def _range(*ends: Any) -> tuple[float, float, float]:
    """Return start, stop and step of a range.

    `ends` are the stop alone, or start and stop, or all three; the start is 0 and the step 1 if they are missing.
    """
    first, last, step = (0.0, *ends, 1.0) if len(ends) == 1 else (*ends, 1.0) if len(ends) == 2 else ends
    return float(first), float(last), float(step)


def _range_entries(*ends: Any) -> int:
    """Return a bound on how many numbers a range has, from its stop, its start and stop, or these and its step."""
    first, last, step = _range(*ends)
    return int(min(max((last - first) / step if step else math.inf, 0), 1e18)) + 1


enter_all({"range arange": lambda *ends: np.arange(*_range(*ends))}, entries=_range_entries)


def _place(work: Work, part: Any) -> Any:
    """Return a part of an index as numpy takes it: whole numbers, a mask, a slice, `None` or `...`.

    Args:
        work: the budget.
        part: a number, an array, a slice, `None` or `...`.

    Raises:
        TypeError: a number in the part is not whole.
    """
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, Array) and part.dtype == np.bool_:
        return part
    array = work.array(part)
    if not np.equal(np.mod(array, 1), 0).all():
        raise TypeError("no places")
    return array.astype(int) if array.ndim else whole(part)


def _picked_entries(work: Work, x: Any, parts: tuple[Any, ...]) -> int:
    """Return an upper bound on the entries of `x[parts]`: those of `x`, times the numbers in an array index.

    Args:
        work: the budget.
        x: a list, or an array or number.
        parts: the parts of the index.
    """
    if isinstance(x, tuple):
        return 0
    places = [part.shape for part in parts if isinstance(part, Array) and part.dtype != np.bool_]
    work.check_size(0, np.ndim(x) + sum(part is None for part in parts))
    return max(np.size(x), 1) * entries_of(np.broadcast_shapes(*places))


@operation("[]", entries=_picked_entries)
def pick(work: Work, x: Any, parts: Any) -> Any:
    """Return `x[parts]`, the entries of an array or of a list at an index.

    Args:
        work: the budget.
        x: a list (a tuple here), or an array or number.
        parts: the parts of the index, converted by `_place`; of a list one part, a whole number or a slice.

    Raises:
        IndexError: there is no such entry, or the index has too many parts.
    """
    if isinstance(x, tuple):
        return x[parts[0] if isinstance(parts[0], slice) else whole(*parts)]
    return work.array(x)[parts]


# Shapes and lists


@operation(".shape size shape")
def shape(a: Array, dim: int | None = None) -> Any:
    """Return the shape of an array as a list of floats, or the size of the axis `dim`."""
    sizes = tuple(float(size) for size in a.shape)
    return sizes if dim is None else sizes[dim]


@operation("len")
def length(x: Any) -> float:
    """Return the number of items of a list, or of rows of an array, as a float.

    Raises:
        TypeError: `x` is a number.
    """
    if not isinstance(x, tuple) and not np.ndim(x):
        raise TypeError("a number has no length")
    return float(len(x))


@operation("list tuple Size tolist")
def make_list(work: Work, *values: Any) -> Any:
    """Return a list of the values; if the only value is a list or an array, a list of its items.

    Args:
        work: the budget.
        *values: numbers, arrays or lists.
    """
    is_one_list = len(values) == 1 and (isinstance(values[0], tuple) or np.ndim(values[0]) > 0)
    return tuple(work.items(values[0] if is_one_list else values))


enter_all({
    ".size numel nelement": lambda a: float(a.size), ".ndim dim ndim": lambda a: float(a.ndim),
    ".dtype .device": lambda a: "float64", ":": lambda start=None, stop=None, step=None: slice(start, stop, step),
    "unbind": lambda work, a, dim=0: tuple(work.items(np.moveaxis(a, dim, 0))),
    "enumerate": lambda items: tuple((float(place), item) for place, item in enumerate(items)),
    "zip": lambda work, *lists: tuple(zip(*(tuple(work.items(values)) for values in lists), strict=False)),
})  # fmt: skip


def _joined_entries(work: Work, x: Any, y: Any) -> int:
    """Return how many items the concatenation of the lists `x` and `y` has; 0 if `y` is no list. `work` is not used."""
    return len(x) + len(y) if isinstance(y, tuple) else 0


@operation("list.+", entries=_joined_entries)
def join_lists(work: Work, x: Any, y: Any) -> Any:
    """Return the concatenation of the lists `x` and `y`.

    If `y` is no list, the sum of two arrays, within the budget `work`.
    """
    return x + y if isinstance(y, tuple) else perform(work, "+", [work.array(x), y])


def _repeated_entries(work: Work, x: Any, y: Any) -> int:
    """Return how many items the list `x` repeated `y` times has; 0 if `y` is no number. `work` is not used."""
    return 0 if isinstance(y, tuple) or np.ndim(y) else len(x) * max(whole(y), 0)


@operation("list.*", entries=_repeated_entries)
def repeat_list(work: Work, x: Any, y: Any) -> Any:
    """Return the list `x` repeated `y` times, as `[1] * n`; if `y` is no number, the product of two arrays.

    Args:
        work: the budget.
        x: a list, or an array if `y` is one.
        y: a number or an array.
    """
    is_number = not isinstance(y, tuple) and np.ndim(y) == 0
    return x * whole(y) if is_number else perform(work, "*", [work.array(x), y])


MODULES: Mapping[str, str] = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "ReLU": "relu", "Tanh": "tanh",
    "SiLU": "silu", "GELU": "gelu", "Softplus": "softplus",
}  # fmt: skip
