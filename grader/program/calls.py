"""Translates calls of torch functions into operations of `OPERATIONS`, with their operands and options.

A function with several names is one operation, and an argument that is passed by position gets its name. A call of a
function that is not known here becomes an operation that torch runs and differentiates.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from .arithmetic import parse_einsum
from .operation import OPERATIONS, Operation, torch_operation
from .rearrangement import Item, Slot

Function = Callable[..., object]
Arguments = tuple[object, ...]
Keywords = Mapping[str, object]


class OperationCall(NamedTuple):
    """An operation with its operands and options: what a call of a torch function computes.

    Args:
        operation: the operation.
        operands: tensors, numbers and arrays, in the order of the slots.
        options: all other arguments by name.
    """

    operation: Operation
    operands: tuple[object, ...]
    options: dict[str, object]


class TorchCall(NamedTuple):
    """A call of a torch function, and one of the tensors that it returned.

    Args:
        func: the function.
        name: its name; of a property such as `x.T`, that of the property.
        args: its arguments by position.
        kwargs: its arguments by name.
        results: all tensors that it returned.
        result_number: the number of the result that is recorded; `None` where the function returns a single tensor.
    """

    func: Function
    name: str
    args: Arguments
    kwargs: Keywords
    results: tuple[torch.Tensor, ...]
    result_number: int | None


# The parameters of torch's functions, by the operation that they are: operands, options with `=`, and with `*` an
# option that may be passed in several arguments. What a call leaves out is left to the operation's own default.
SIGNATURES: Mapping[str, str] = {
    **dict.fromkeys(
        "neg exp expm1 log log1p log2 sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh cosh tanh asinh "
        "acosh atanh sigmoid logsigmoid silu erf lgamma digamma abs sign round floor ceil relu detach logical_not"
        .split(), "input"),
    **dict.fromkeys("mul div gt lt ge le eq ne maximum minimum logical_and logical_or matmul".split(), "input other"),
    **dict.fromkeys("sum mean amax amin logsumexp argmax argmin".split(), "input dim= keepdim="),
    **dict.fromkeys("max min".split(), "input dim= keepdim="),
    "add": "input other alpha=", "sub": "input other alpha=", "pow": "input exponent",
    "softplus": "input beta= threshold=", "gelu": "input approximate=", "elu": "input alpha=",
    "leaky_relu": "input negative_slope=", "masked_fill": "input mask value",
    "softmax": "input dim=", "log_softmax": "input dim=", "cumsum": "input dim=", "outer": "input vec2",
    "reshape": "input *shape=", "expand": "input *shape=", "repeat": "input *sizes=", "permute": "input *dims=",
    "flip": "input *dims=", "flatten": "input start_dim= end_dim=", "unflatten": "input dim= *sizes=",
    "squeeze": "input dim=", "unsqueeze": "input dim=", "transpose": "input dim0= dim1=",
    "roll": "input shifts= dims=", "tril": "input diagonal=", "triu": "input diagonal=",
    "select": "input dim= index=", "piece": "input dim= start= length=",
    "unfold": "input dimension= size= step=", "index_select": "input dim= index", "gather": "input dim= index",
    "scatter": "input dim= index source", "scatter_add": "input dim= index source",
    "index_add": "input dim= index source", "argsort": "input dim= descending=", "sort": "input dim= descending=",
    "topk": "input k= dim= largest=", "linalg_solve": "A B left=",
}  # fmt: skip
ALIASES: Mapping[str, str] = {
    "negative": "neg", "absolute": "abs", "__abs__": "abs", "__neg__": "neg", "__invert__": "logical_not",
    "bitwise_not": "logical_not", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "greater": "gt", "less": "lt", "greater_equal": "ge", "less_equal": "le", "not_equal": "ne",
    "__and__": "logical_and", "bitwise_and": "logical_and", "__or__": "logical_or", "bitwise_or": "logical_or",
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul", "vdot": "matmul", "ger": "outer",
    "swapaxes": "transpose", "swapdims": "transpose", "special_expit": "sigmoid", "arctan": "atan",
    "special_erf": "erf", "special_gammaln": "lgamma", "special_digamma": "digamma", "special_psi": "digamma",
    "special_expm1": "expm1", "special_log1p": "log1p",
    "arcsin": "asin", "arccos": "acos", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "log_sigmoid": "logsigmoid", "view": "reshape", "broadcast_to": "expand", "tile": "repeat", "narrow": "piece",

    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__idiv__": "div", "__itruediv__": "div",
    "__ipow__": "pow", "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__div__": "div", "__truediv__": "div",
    "__pow__": "pow", "__matmul__": "matmul", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip
REVERSED: Mapping[str, str] = {
    "__radd__": "add", "__rsub__": "sub", "rsub": "sub", "__rmul__": "mul", "__rdiv__": "div", "__rtruediv__": "div",
    "__rpow__": "pow", "__rmatmul__": "matmul",
}  # fmt: skip
COMPLEX = "complex_"  # what the names of operations on complex numbers begin with
POSITIONS_OF = {"max": "argmax", "min": "argmin", "sort": "argsort", "topk": "top_places"}  # their second results
WITHOUT_EFFECT = {"inplace", "_stacklevel", "memory_format", "non_blocking", "copy", "sorted", "stable", "dtype"}
SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "src": "source", "value": "source", "size": "shape",
            "indices": "index", "repeats": "sizes", "dims": "sizes"}  # fmt: skip


def function_name(func: Function) -> str:
    """Return the name of a torch function: `matmul`; of a property such as `x.T`, the name of the property, `T`."""
    name = str(getattr(func, "__name__", func))
    if name == "__get__":
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    return name


def operation_name(name: str) -> str:
    """Return the name of the operation that a torch function of the given name computes: `div` for `__rtruediv__`.

    The given name is returned where the operation has it too, as `matmul`, or where no operation is known.
    """
    return ALIASES.get(name, REVERSED.get(name, name))


def read_call(call: TorchCall) -> OperationCall:
    """Return the operation that a call of a torch function computes, with its operands and options.

    For `torch.sum(x, 1)`: the operation `sum`, the operands (x,), and the options {"dim": 1}. Where no operation of
    `OPERATIONS` is known for the call, the operation is one that torch runs and differentiates.

    Args:
        call: the function, its arguments and its results. If there are several results, the operation is the one that
            computes `results[result_number]`.
    """
    name = ALIASES.get(call.name, call.name)
    if is_complex(call):
        return _operation_run_by_torch(call)
    try:
        if name in READERS:
            return READERS[name](call)
        if name in REVERSED:
            x, y = call.args
            return OperationCall(OPERATIONS[REVERSED[name]], (y, x), {})
        if call.result_number is not None and name in POSITIONS_OF:
            return _read_by_signature(name if call.result_number == 0 else POSITIONS_OF[name], SIGNATURES[name], call)
        if call.result_number is None and name in SIGNATURES:
            return _read_by_signature(name, SIGNATURES[name], call)
    except (TypeError, ValueError, LookupError, AttributeError):  # called in a form that is not known here
        pass
    return _operation_run_by_torch(call)


def _named_arguments(parameters: Sequence[str], call: TorchCall) -> dict[str, object]:
    """Return the arguments of a call by the names of the function's parameters: {"input": x, "dim": 1} for `x.sum(1)`.

    A parameter without an argument is missing; one that is passed as `None` is not.

    Args:
        parameters: the names of the parameters, in the order of the positions.
        call: the call of the function; a synonym such as `axis` for `dim` is understood.

    Raises:
        ValueError: there is a further argument, which is neither `None` nor False and may change the result.
    """
    given = dict(zip(parameters, call.args, strict=False))
    extra = list(call.args[len(parameters) :])
    for name, value in call.kwargs.items():
        known = name if name in parameters else SYNONYMS.get(name, name)
        if known in parameters:
            given[known] = value
        elif name not in WITHOUT_EFFECT:
            extra.append(value)
    if any(value is not None and value is not False for value in extra):
        raise ValueError(f"{call.name} has an argument that is not known here")
    return given


def _read_by_signature(name: str, signature: str, call: TorchCall) -> OperationCall:
    """Return an operation with the operands and options that a signature finds in a call of a torch function.

    For `x.sum(1)` and the signature `"input dim= keepdim="`: the operation `sum`, the operands (x,) and {"dim": 1}.

    Args:
        name: the name of the operation.
        signature: the function's parameters in order: an operand as `input`, an option as `dim=`, and an option whose
            values may be passed as several arguments as `*dims=`.
        call: the call of the torch function.

    Raises:
        ValueError: an argument is not in the signature, or an operand is no tensor and no number.
    """
    words = signature.split()
    parameters = [word.strip("*=") for word in words]
    if "*" in signature and len(call.args) > len(words):
        several = len(words) - 1
        call = call._replace(args=(*call.args[:several], call.args[several:]))
    given = _named_arguments(parameters, call)
    operands = [given.pop(word) for word in words if not word.endswith("=")]
    if not all(isinstance(operand, (torch.Tensor, int, float)) for operand in operands):
        raise ValueError(f"{call.name} has an operand that is no tensor and no number")
    options = {key: _plain_option(value) for key, value in given.items() if value is not None}
    for word, parameter in zip(words, parameters, strict=True):
        if word.startswith("*") and isinstance(options[parameter], int):
            options[parameter] = (options[parameter],)
    return OperationCall(OPERATIONS[name], tuple(operands), options)


def _plain_option(value: object) -> object:
    """Return the value of an option, with tuples in place of lists and of torch's sizes.

    Raises:
        ValueError: the value is a tensor.
    """
    if isinstance(value, torch.Tensor):
        raise ValueError("an option is a tensor")
    return tuple(map(_plain_option, value)) if isinstance(value, (tuple, list)) else value


# Functions whose arguments take more than a signature ---------------------------------------------------------------

Reader = Callable[[TorchCall], OperationCall]
READERS: dict[str, Reader] = {}


def _reads_calls_of(*names: str) -> Callable[[Reader], Reader]:
    """Return a decorator that adds a function to the table `READERS` under some names of torch functions.

    `read_call` then has it translate calls of these functions.
    """

    def enter(reader: Reader) -> Reader:
        """Add the function to `READERS` and return it."""
        READERS.update(dict.fromkeys(names, reader))
        return reader

    return enter


@_reads_calls_of("view_as", "reshape_as", "expand_as")
def _read_shape_of_tensor(call: TorchCall) -> OperationCall:
    """Translate `x.view_as(y)`, `x.reshape_as(y)` or `x.expand_as(y)` into a reshape or an expand to the shape of y."""
    x, like = _named_arguments(["input", "other"], call).values()
    return OperationCall(
        OPERATIONS["expand" if call.name == "expand_as" else "reshape"],
        (x,),
        {"shape": tuple(_require_tensor(like).shape)},
    )


@_reads_calls_of("where")
def _read_where(call: TorchCall) -> OperationCall:
    """Translate `torch.where(c, x, y)` or `x.where(c, y)` into the operation `where` of c, x and y.

    Raises:
        ValueError: there is no boolean condition.
    """
    condition, x, y = call.args
    if _require_tensor(condition).dtype != torch.bool:  # the method, `x.where(condition, y)`
        condition, x = x, condition
    if _require_tensor(condition).dtype != torch.bool or not isinstance(y, (torch.Tensor, int, float)):
        raise ValueError("there is no condition")
    return OperationCall(OPERATIONS["where"], (condition, x, y), {})


@_reads_calls_of("T", "mT", "t", "adjoint", "movedim", "moveaxis")
def _read_transpose(call: TorchCall) -> OperationCall:
    """Translate `x.T`, `x.mT`, `x.t()`, `x.adjoint()` or `x.movedim(...)` into a `transpose` or a `permute` of x.

    It is a `transpose` of the last two axes, but a `permute` for `movedim`, for `x.T` with three axes or more, and for
    a vector, whose one axis stays.
    """
    x = _require_tensor(call.args[0])
    order = list(range(x.ndim))
    if call.name in ("movedim", "moveaxis"):
        given = _named_arguments(["input", "source", "destination"], call)
        numbered = np.empty(tuple(range(1, x.ndim + 1)))  # an axis is recognised by its size
        moved = np.moveaxis(numbered, given["source"], given["destination"])  # type: ignore[arg-type]
        return OperationCall(OPERATIONS["permute"], (x,), {"dims": tuple(size - 1 for size in moved.shape)})
    if x.ndim < 2:
        return OperationCall(OPERATIONS["permute"], (x,), {"dims": tuple(order)})
    if call.name == "T" and x.ndim > 2:
        return OperationCall(OPERATIONS["permute"], (x,), {"dims": tuple(reversed(order))})
    return OperationCall(OPERATIONS["transpose"], (x,), {"dim0": x.ndim - 2, "dim1": x.ndim - 1})


@_reads_calls_of("clamp", "clip", "clamp_min", "clamp_max")
def _read_clamp(call: TorchCall) -> OperationCall:
    """Translate `clamp`, `clip`, `clamp_min` or `clamp_max` into the operation `clamp` of x, low and high.

    A missing bound becomes -inf or inf.
    """
    parameters = {"clamp_min": ["input", "min"], "clamp_max": ["input", "max"]}.get(call.name, ["input", "min", "max"])
    given = _named_arguments(parameters, call)
    low, high = given.get("min"), given.get("max")
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    return OperationCall(OPERATIONS["clamp"], (given["input"], *bounds), {})


@_reads_calls_of("max", "min")
def _read_max_min(call: TorchCall) -> OperationCall:
    """Translate `max` or `min` into one of four operations: for `max` they are `amax`, `max`, `argmax` and `maximum`.

    `x.max()`, of all entries, becomes `amax`; `x.max(1)` returns two tensors, of which the values become `max` and the
    positions `argmax`; `torch.max(x, y)`, of two arrays, becomes `maximum`. For `min` they are `amin`, `min`, `argmin`
    and `minimum`.
    """
    if call.result_number is not None:
        name = call.name if call.result_number == 0 else POSITIONS_OF[call.name]
        return _read_by_signature(name, SIGNATURES["max"], call)
    given = _named_arguments(["input", "other"], call)
    if "other" in given:
        return OperationCall(OPERATIONS[f"{call.name}imum"], (given["input"], _require_tensor(given["other"])), {})
    return OperationCall(OPERATIONS[f"a{call.name}"], (given["input"],), {})


@_reads_calls_of("var", "std")
def _read_var_std(call: TorchCall) -> OperationCall:
    """Translate `var` or `std` into the operation of this name, with `correction` in place of torch's `unbiased`."""
    args = call.args
    if len(args) == 2 and isinstance(args[1], bool):
        args = (args[0], None, args[1])
    given = _named_arguments(["input", "dim", "unbiased", "keepdim", "correction"], call._replace(args=args))
    correction = given.get("correction", int(bool(given.get("unbiased", True))))
    options = {"dim": _plain_option(given.get("dim")), "correction": correction, "keepdim": given.get("keepdim", False)}
    return OperationCall(OPERATIONS[call.name], (given["input"],), options)


@_reads_calls_of("norm", "linalg_vector_norm", "vector_norm", "linalg_norm")
def _read_norm(call: TorchCall) -> OperationCall:
    """Translate the norm of a vector, or of each vector along an axis, into the operation `norm` with its order `p`.

    Raises:
        ValueError: it is the norm of a matrix, or its order is not a positive, finite number.
    """
    given = _named_arguments(
        ["input", "ord" if "linalg" in call.name or "vector" in call.name else "p", "dim", "keepdim"], call
    )
    order = given.get("ord", given.get("p"))
    order = 2 if order in (None, "fro") else order
    matrix = call.name == "linalg_norm" and given.get("ord") is not None and not isinstance(given.get("dim"), int)
    if not isinstance(order, (int, float)) or not 0 < order < math.inf or matrix:
        raise ValueError("it is no norm of a vector")
    options = {"p": order, "dim": _plain_option(given.get("dim")), "keepdim": given.get("keepdim", False)}
    return OperationCall(OPERATIONS["norm"], (given["input"],), options)


@_reads_calls_of("__getitem__")
def _read_getitem(call: TorchCall) -> OperationCall:
    """Translate `x[index]` into the operation `getitem` of x and of the tensors and lists in the index.

    In the option `index`, `Slot(i)` stands for operand i: for `x[:, rows]` it is `(slice(None), Slot(1))`.

    Raises:
        ValueError: a truth value is in the index.
    """
    x, given = call.args
    operands: list[object] = [x]
    index: list[Item] = []
    for item in given if isinstance(given, tuple) else (given,):
        if isinstance(item, (torch.Tensor, list, range, np.ndarray)):
            index.append(Slot(len(operands)))
            operands.append(item if isinstance(item, torch.Tensor) else np.asarray(item))
        elif isinstance(item, (slice, type(None), type(Ellipsis))):
            index.append(item)
        elif isinstance(item, bool):
            raise ValueError("a truth value is an index")
        else:
            index.append(int(item))
    return OperationCall(OPERATIONS["getitem"], tuple(operands), {"index": tuple(index)})


@_reads_calls_of("pad")
def _read_pad(call: TorchCall) -> OperationCall:
    """Translate `F.pad(x, widths)` into the operation `pad`; with a mode such as "reflect" into the `getitem` of x.

    The index of that has an array for each padded axis: for 4 entries, the widths (2, 1) and "reflect" it is
    [2, 1, 0, 1, 2, 3, 2]. The arrays are shaped so that they broadcast.
    """
    given = _named_arguments(["input", "pad", "mode", "value"], call)
    mode = given.pop("mode", "constant")
    if mode == "constant":
        return _read_by_signature("pad", "input pad= value=", call._replace(args=(), kwargs=given))
    x, pad = _require_tensor(given["input"]), given["pad"]
    widths = _axis_sizes(pad, len(pad))  # type: ignore[arg-type]
    axes = len(widths) // 2
    entries = [torch.arange(size, dtype=torch.double).expand(1, 1, size) for size in reversed(x.shape)]
    padded = [F.pad(each, widths[2 * i : 2 * i + 2], mode=str(mode)) for i, each in enumerate(entries[:axes])]
    index = np.ix_(*(each.flatten().long().numpy() for each in reversed(padded)))
    return OperationCall(OPERATIONS["getitem"], (x, *index), {"index": (..., *map(Slot, range(1, axes + 1)))})


@_reads_calls_of(
    "chunk", "split", "tensor_split", "split_with_sizes", "unbind", "unsafe_chunk", "unsafe_split", "__iter__"
)
def _read_part(call: TorchCall) -> OperationCall:
    """Translate one of the tensors that `chunk`, `split` or `unbind` returns into a `piece` or a `select` of x.

    For x of shape (4, 6), `x.chunk(3, -1)` and its second result: a `piece` with dim -1, start 2 and length 2. For
    `unbind`, or an iteration over x: a `select` of one slice.

    Raises:
        ValueError: the call has a single result, or `dim` is no whole number.
    """
    own = ["input", "dim"] if call.name in ("unbind", "__iter__") else ["input", "sizes", "dim"]
    given = _named_arguments(own, call)
    dim, part = given.get("dim", 0), call.result_number
    if not isinstance(dim, int) or part is None:
        raise ValueError("it has no parts")
    if len(own) == 2:
        return OperationCall(OPERATIONS["select"], (given["input"],), {"dim": dim, "index": part})
    lengths = [result.shape[dim] for result in call.results]
    options: dict[str, object] = {"dim": dim, "start": sum(lengths[:part]), "length": lengths[part]}
    return OperationCall(OPERATIONS["piece"], (given["input"],), options)


@_reads_calls_of("cat", "concat", "concatenate", "stack")
def _read_join(call: TorchCall) -> OperationCall:
    """Translate `cat` or `stack` into the operation of this name, whose operands are the joined tensors."""
    given = _named_arguments(["tensors", "dim"], call)
    return OperationCall(
        OPERATIONS["stack" if call.name == "stack" else "cat"],
        _tensor_sequence(given["tensors"]),
        {"dim": given.get("dim", 0)},
    )


@_reads_calls_of("einsum")
def _read_einsum(call: TorchCall) -> OperationCall:
    """Translate `einsum`, with operands one by one or as a list, into the operation `einsum` with its equation.

    Raises:
        ValueError: a letter stands twice in an operand, as in `"ii->i"`.
    """
    equation, *operands = call.args
    values = _tensor_sequence(
        operands[0] if len(operands) == 1 and not isinstance(operands[0], torch.Tensor) else operands
    )
    letters, _ = parse_einsum(str(equation), [np.empty(_require_tensor(value).shape) for value in values])
    if any(len(set(own)) < len(own) for own in letters):
        raise ValueError("an operand has one letter twice")
    return OperationCall(OPERATIONS["einsum"], values, {"equation": str(equation)})


@_reads_calls_of("linear")
def _read_linear(call: TorchCall) -> OperationCall:
    """Translate `linear(x, w, b)` into the operation `linear` of x, w and b; without b it has two operands."""
    given = _named_arguments(["input", "weight", "bias"], call)
    operands = tuple(value for value in given.values() if value is not None)
    return OperationCall(OPERATIONS["linear"], tuple(map(_require_tensor, operands)), {})


@_reads_calls_of("take_along_dim")
def _read_take_along_dim(call: TorchCall) -> OperationCall:
    """Translate `take_along_dim(x, index, dim)` into the operation `gather` of x and the index, with the option `dim`.

    Raises:
        ValueError: the index is broadcast, which `gather` does not do.
    """
    given = _named_arguments(["input", "index", "dim"], call)
    x, index, dim = _require_tensor(given["input"]), _require_tensor(given["index"]), given["dim"]
    if any(
        m != n and axis != int(str(dim)) % x.ndim for axis, (m, n) in enumerate(zip(x.shape, index.shape, strict=True))
    ):
        raise ValueError("the index is broadcast")
    return OperationCall(OPERATIONS["gather"], (x, index), {"dim": dim})


@_reads_calls_of("embedding")
def _read_embedding(call: TorchCall) -> OperationCall:
    """Translate `F.embedding(index, table)` into the operation `embedding` of the table and the index: `table[index]`.

    Raises:
        ValueError: `padding_idx`, `max_norm` or `scale_grad_by_freq` is set, or it is the function `torch.embedding`,
            which takes the table first.
    """
    given = _named_arguments(
        ["input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"], call
    )
    is_plain = given.get("padding_idx") is None and not given.get("max_norm") and not given.get("scale_grad_by_freq")
    if call.func is not F.embedding or not is_plain:
        raise ValueError("some rows are treated in another way")
    return OperationCall(OPERATIONS["embedding"], (given["weight"], given["input"]), {})


@_reads_calls_of("conv1d", "conv2d", "conv3d")
def _read_convolution(call: TorchCall) -> OperationCall:
    """Translate `conv1d`, `conv2d` or `conv3d` into the operation `convolution` of input, kernel and bias.

    Stride, padding and dilation, which a call may give as one number or padding as a word, become a tuple with one
    number for each axis that the windows slide along.

    Raises:
        ValueError: the input has no axis of examples in front, or the padding differs between the two ends of an axis.
    """
    axes = int(call.name[4])
    given = _named_arguments(["input", "weight", "bias", "stride", "padding", "dilation", "groups"], call)
    x, w, bias = _require_tensor(given["input"]), _require_tensor(given["weight"]), given.get("bias")
    if x.ndim != axes + 2:
        raise ValueError("there are no examples")
    dilation = _axis_sizes(given.get("dilation", 1), axes)
    padding = given.get("padding", 0)
    if padding == "same":
        whole = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
        if any(width % 2 for width in whole):
            raise ValueError("the padding is not the same at both ends")
        padding = tuple(width // 2 for width in whole)
    options = {"stride": _axis_sizes(given.get("stride", 1), axes), "dilation": dilation,
               "groups": given.get("groups", 1),
               "padding": _axis_sizes(0 if padding == "valid" else padding, axes)}  # fmt: skip
    return OperationCall(OPERATIONS["convolution"], (x, w) if bias is None else (x, w, bias), options)


@_reads_calls_of("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _read_transposed_convolution(call: TorchCall) -> OperationCall:
    """Translate `conv_transpose1d`, `2d` or `3d` into the operation `transposed_convolution` of input, kernel and bias.

    Stride, padding, output padding and dilation, which a call may give as one number, become a tuple with one number
    for each axis that the windows slide along.

    Raises:
        ValueError: the input has no axis of examples in front, as torch allows.
    """
    axes = int(call.name[-2])
    sizes = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
    more = ["stride", "padding", "output_padding", "groups", "dilation"]
    given = _named_arguments(["input", "weight", "bias", *more], call)
    x, w, bias = _require_tensor(given["input"]), _require_tensor(given["weight"]), given.get("bias")
    if x.ndim != axes + 2:
        raise ValueError("there are no examples")
    options = {name: _axis_sizes(given.get(name, value), axes) for name, value in sizes.items()}
    operands = (x, w) if bias is None else (x, w, bias)
    return OperationCall(OPERATIONS["transposed_convolution"], operands, {**options, "groups": given.get("groups", 1)})


@_reads_calls_of("max_pool1d", "max_pool2d", "max_pool3d", "_max_pool1d", "_max_pool2d", "_max_pool3d",
        "avg_pool1d", "avg_pool2d", "avg_pool3d")  # fmt: skip
def _read_pool(call: TorchCall) -> OperationCall:
    """Translate a maximum or average pooling into the operation `max_pool` or `mean_pool`.

    Kernel size, stride and padding, which a call may give as one number, become a tuple with one number for each axis
    that the windows slide along.

    Raises:
        ValueError: `ceil_mode`, `return_indices` or `divisor_override` is set.
    """
    axes, greatest = int(call.name[-2]), "max" in call.name
    more = (
        ["dilation", "ceil_mode", "return_indices"]
        if greatest
        else ["ceil_mode", "count_include_pad", "divisor_override"]
    )
    given = _named_arguments(["input", "kernel_size", "stride", "padding", *more], call)
    if given.get("ceil_mode") or given.get("return_indices") or given.get("divisor_override"):
        raise ValueError("these windows are not known here")
    kernel = _axis_sizes(given["kernel_size"], axes)
    stride = given.get("stride")
    options: dict[str, object] = {"kernel_size": kernel, "padding": _axis_sizes(given.get("padding", 0), axes),
                                  "stride": kernel if stride in (None, ()) else _axis_sizes(stride, axes)}  # fmt: skip
    if greatest:
        options["dilation"] = _axis_sizes(given.get("dilation", 1), axes)
    elif given.get("count_include_pad") is False:
        options["count_include_pad"] = False
    return OperationCall(OPERATIONS["max_pool" if greatest else "mean_pool"], (given["input"],), options)


def _require_tensor(value: object) -> torch.Tensor:
    """Return `value` itself if it is a tensor.

    Raises:
        ValueError: it is no tensor.
    """
    if not isinstance(value, torch.Tensor):
        raise ValueError("it is no tensor")
    return value


def _tensor_sequence(values: object) -> tuple[torch.Tensor, ...]:
    """Return the items of a sequence, which must all be tensors, as a tuple.

    Raises:
        ValueError: it is no sequence of tensors.
    """
    if not isinstance(values, Iterable):
        raise ValueError("it is no sequence of tensors")
    return tuple(map(_require_tensor, values))


def _axis_sizes(value: object, axes: int) -> tuple[int, ...]:
    """Return one whole number for each axis; a single number stands for all of them: 2 for 3 axes is (2, 2, 2).

    Args:
        value: a number, or a tuple or list of numbers.
        axes: how many axes there are.

    Raises:
        ValueError: these are no whole numbers, or not one for each axis.
    """
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes or not all(isinstance(n, int) for n in numbers):
        raise ValueError("these are no sizes")
    return numbers


# All other functions -------------------------------------------------------------------------------------------------


def is_complex(call: TorchCall) -> bool:
    """Return whether an argument, an item of a tuple or list among them, or the recorded result is a complex tensor."""
    given = [*call.args, *call.kwargs.values(), call.results[call.result_number or 0]]
    given += [part for value in given if isinstance(value, (tuple, list)) for part in value]
    return any(isinstance(value, torch.Tensor) and value.is_complex() for value in given)


def _operation_run_by_torch(call: TorchCall) -> OperationCall:
    """Return a call of a function that `OPERATIONS` lacks as a new operation, which torch runs and differentiates.

    Its operands are all tensors among the arguments. Its options are the plain numbers, truth values and strings, by
    the names of the function's parameters; where these are not known, by the names `argument_1`, `argument_2`, ... A
    complex operand or value is an array of pairs along a last axis: real and imaginary part. If the call has complex
    numbers, and `OPERATIONS` has an operation of the same name for real ones, the name of the new one is that name with
    `COMPLEX` in front. The new operation is not added to `OPERATIONS`.
    """
    operands: list[torch.Tensor] = []
    names = _parameter_names(call.func, call.name, len(call.args))
    options: dict[str, object] = {}

    def template(value: object) -> object:
        """Return an argument with a `Slot` in place of each tensor, and add the tensors to `operands`."""
        if isinstance(value, torch.Tensor):
            operands.append(value)
            return Slot(len(operands) - 1)
        return type(value)(map(template, value)) if isinstance(value, (tuple, list)) else value

    args, kwargs = [], {}
    for i, value in enumerate(call.args):
        args.append(template(value))
        if type(value) in (int, float, bool, str):
            options[names[i] if i < len(names) else f"argument_{i}"] = value
    for name, value in call.kwargs.items():
        kwargs[name] = template(value)
        if type(value) in (int, float, bool, str):
            options[name] = value

    def run(*tensors: torch.Tensor, **chosen: object) -> torch.Tensor:
        """Call the torch function with these tensors as its operands; `chosen` replaces its plain arguments."""

        def fill(item: object) -> object:
            """Return an argument with the operands in place of its `Slot`s."""
            if isinstance(item, Slot):
                return tensors[item.slot]
            return type(item)(map(fill, item)) if isinstance(item, (tuple, list)) else item

        given = [chosen.get(names[i] if i < len(names) else f"argument_{i}", fill(item)) for i, item in enumerate(args)]
        result = call.func(*given, **{name: chosen.get(name, fill(item)) for name, item in kwargs.items()})
        tensor = _require_tensor(result if call.result_number is None else result[call.result_number])  # type: ignore[index]
        return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()

    complex_slots = {slot for slot, operand in enumerate(operands) if operand.is_complex()}

    def run_on_pairs(*tensors: torch.Tensor, **chosen: object) -> torch.Tensor:
        """Call `run` with complex numbers in place of pairs in the slots of complex operands."""
        given = [torch.view_as_complex(each.contiguous()) if slot in complex_slots else each
                 for slot, each in enumerate(tensors)]  # fmt: skip
        return run(*given, **chosen)

    name = REVERSED.get(call.name, ALIASES.get(call.name, call.name))
    name = COMPLEX + name if is_complex(call) and name in OPERATIONS else call.name
    operation = torch_operation(name, run_on_pairs if complex_slots else run, len(operands))
    if call.results[call.result_number or 0].is_complex():
        complex_slots.add(-1)
    return OperationCall(replace(operation, complex_slots=frozenset(complex_slots)), tuple(operands), options)


def _parameter_names(func: Function, name: str, count: int) -> list[str]:
    """Return the names of a function's parameters, in order; of a function written in C, those that torch declares.

    torch declares several forms of some functions: the names are those of the first form that has at least `count`
    parameters by position. The list is empty where neither Python nor torch knows the function.

    Args:
        func: the function.
        name: the name that torch declares it under, such as `cumprod`.
        count: how many arguments it was given by position.
    """
    try:
        return list(inspect.signature(func).parameters)
    except (TypeError, ValueError):
        forms = _declared_parameters(name)
        return list(next((names for names in forms if len(names) >= count), ()))


@cache
def _declared_parameters(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the names of the parameters by position of each form of an operator of torch, such as `("self", "other")`.

    Parameters that are given by keyword only are left out.

    Args:
        name: the operator's name without a namespace, such as `add`; the result is empty if torch has none of it.
    """
    forms = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return tuple(tuple(item.name for item in form.arguments if not item.kwarg_only) for form in forms)
