"""The forward pass and the inputs of one call: checked, and made fit to be run in float64 as well."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.errors import describe_error

DTYPES = (torch.float32, torch.float64)
ADVICE = ": give it the tensors that it works with as inputs, so that they can be float64 too"
# Operations that take numbers out of tensors, so that torch cannot see what is computed from them.
LEAVING = frozenset(("numpy", "item", "tolist", "__array__", "__float__", "__int__", "__index__", "__complex__"))
DATA = vars(torch._C.TensorBase)["data"].__get__
IN_PLACE = frozenset(("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"))
DEEPEST = 3  # functions inside functions, of which one may close over itself


class WrongUse(TypeError):
    """Report that a function cannot be called with these arguments at all, or returns no gradients."""


@dataclass(frozen=True)
class ForwardPass:
    """A forward pass as its author wrote it, which runs in float64 as well and leaves its inputs unchanged.

    Args:
        original: the function of the caller.
        in_double: the function for inputs in float64: a copy with float64 parameters, or `original` where that takes
            float64 itself.
        promotes: whether each float32 tensor that meets a float64 one becomes float64, and new tensors are float64.
        copies: whether it changes its inputs in place, so that it is called with copies.
    """

    original: Callable[..., Any]
    in_double: Callable[..., Any]
    promotes: bool = False
    copies: bool = False

    def __call__(self, **inputs: Any) -> Any:
        """Return the result of the forward pass, in float64 if one of the inputs is float64."""
        given = {name: _clone(value) for name, value in inputs.items()} if self.copies else inputs
        if not any(isinstance(value, torch.Tensor) and value.dtype == torch.float64 for value in inputs.values()):
            return self.original(**given)
        if not self.promotes:
            return self.in_double(**given)
        with _default_dtype(torch.float64), _PromotionToDouble():
            return self.in_double(**given)

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature of the forward pass as the caller gave it, before any copy of it in float64."""
        return inspect.signature(self.original)

    def leaves_torch(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether the forward pass takes numbers out of tensors, as by numpy, where torch cannot follow them."""
        with torch.no_grad(), _NumberWatch() as watch:
            self(**inputs)
        return bool(watch.leaves)


# --- checks of what the caller gives -------------------------------------------------------------------------------


def checked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs as a dict by name, in their order, after checking their types and dtypes.

    Raises:
        TypeError: they are not a dict by name, or contain a tensor of a dtype or device that cannot be judged.
        ValueError: none of them is a floating-point tensor.
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(f"inputs must be a dict of the arguments of forward by name; it is {type(inputs).__name__}")
    for name, value in inputs.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"inputs must be a dict by the names of forward's arguments; {name!r} is no such name")
        if not isinstance(value, torch.Tensor):
            continue
        if (value.is_floating_point() or value.is_complex()) and value.dtype not in DTYPES:
            raise TypeError(_dtype_refusal(name, value))
        if value.device.type != "cpu":
            raise TypeError(f"{name} is on {value.device}: explain takes tensors on the CPU, such as {name}.cpu()")
    if not floating_inputs(inputs):
        raise ValueError("none of the inputs is a floating-point tensor, so there is no gradient to judge")
    return dict(inputs)


def checked_forward(forward: Callable[..., Any], inputs: Mapping[str, Any]) -> ForwardPass:
    """Return the forward pass in a form that takes float64 as well and leaves its inputs unchanged.

    It is run on the inputs a few times.

    Raises:
        TypeError: it does not take these inputs, or does not return a tensor.
        ValueError: it cannot be run, gives nan, or gives a different output when it is called again.
    """
    check_signature("forward", forward, named=inputs)
    if is_function(getattr(forward, "__self__", None)):
        forward = _called_by_position(forward)
    once, changed = _run(forward, inputs, "")
    usable = ForwardPass(forward, forward, copies=bool(changed))
    double = {name: in_double(value) for name, value in inputs.items()}
    try:
        first, changed = _run(usable, double, "")
    except ValueError:
        usable = replace(usable, in_double=with_double_parameters(forward), promotes=True)
        first, changed = _run(usable, double, f" in float64, where the right gradient is computed{ADVICE}")
    if changed:
        usable = replace(usable, copies=True)
    again, _ = _run(usable, double, "")
    if not bool(torch.isfinite(once).all() and torch.isfinite(first).all()):
        raise ValueError("forward gives nan or infinity at the given inputs: give it others, where it is defined")
    if first.shape != again.shape or not torch.equal(first, again):
        raise ValueError(
            "forward gives a different output when it is called again: draw what is random outside, as an input"
        )
    return usable


def check_signature(who: str, function: Callable[..., Any], *positional: str, named: Iterable[str] = ()) -> None:
    """Check that a function can be called with arguments of these names.

    Args:
        who: the function's name in the message.
        function: the function; one written in C, whose signature is not known, passes.
        *positional: the names of the arguments that are passed by position.
        named: the names of the arguments that are passed by name.

    Raises:
        WrongUse: it cannot be called so.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        shown = ", ".join([*positional, *(f"{name}=" for name in named)])
        raise WrongUse(f"{who} is called with ({shown}), and does not take that: {error}") from None


def is_function(value: Any) -> bool:
    """Return whether a value is a custom function, that is, a subclass of `torch.autograd.Function`."""
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def _called_by_position(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward pass that calls a Function's `apply` with its inputs by position, as torch may take no names."""

    def forward(**given: Any) -> Any:
        """Call `apply` with the values of the inputs, in their order."""
        return apply(*given.values())

    return forward


def _dtype_refusal(name: str, value: torch.Tensor) -> str:
    """Return why a tensor of this dtype cannot be judged, and what to give instead."""
    kind = str(value.dtype).removeprefix("torch.")
    if value.is_complex():
        return (
            f"{name} is {kind}: explain judges the gradients of real numbers. Give its parts as two inputs, such as "
            f"{name}_re and {name}_im, let forward begin with {name} = torch.complex({name}_re, {name}_im), and where "
            "its output is complex let it return torch.view_as_real(out)"
        )
    return f"{name} is {kind}: explain takes float32 and float64, so give it the same numbers in one of these"


def _run(forward: Callable[..., Any], inputs: Mapping[str, Any], where: str) -> tuple[torch.Tensor, str]:
    """Run the forward pass on copies of the inputs.

    Returns:
        The outputs joined into one tensor, and the name of an input that was changed in place, empty if none was.

    Raises:
        ValueError: it raises; `where` is added to the message.
    """
    copies = {name: detached_copy(value) for name, value in inputs.items()}
    try:
        with torch.no_grad():
            result = forward(**copies)
    except Exception as error:
        raise ValueError(f"forward cannot be run on the inputs{where} ({describe_error(error)})") from error
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    changed = (name for name, value in tensors.items() if not torch.equal(value, copies[name]))
    return join_outputs(outputs_of(result)).clone(), next(changed, "")


# --- inputs and outputs --------------------------------------------------------------------------------------------


def floating_inputs(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the inputs that are floating-point tensors, which have a gradient."""
    return tuple(name for name, value in inputs.items() if is_floating(value))


def inputs_with_grad(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the floating-point inputs with `requires_grad=True`."""
    return tuple(name for name in floating_inputs(inputs) if inputs[name].requires_grad)


def is_floating(value: Any) -> bool:
    """Return whether a value is a floating-point tensor."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def outputs_of(result: Any, who: str = "forward") -> tuple[torch.Tensor, ...]:
    """Return the floating-point outputs among those that a forward pass returned.

    Args:
        result: the value that it returned.
        who: its name in messages.

    Raises:
        TypeError: the result is not a tensor, nor a tuple or list of tensors; none is floating-point; one is complex.
    """
    values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    for value in values:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{who} must return a tensor or a tuple of tensors; it returns {_type_with_article(value)}")
    if any(value.is_complex() for value in values):
        raise TypeError(
            f"{who} returns a complex tensor: let it return its real and imaginary parts, by torch.view_as_real"
        )
    outputs = tuple(value for value in values if value.is_floating_point())
    if not outputs:
        raise TypeError(f"{who} must return a floating-point tensor: of {values[0].dtype} there is no gradient")
    return outputs


def join_outputs(outputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Return several tensors as one vector with all their entries in order; a single tensor unchanged."""
    if len(outputs) == 1:
        return outputs[0]
    return torch.cat([_flatten(place)(output) for place, output in enumerate(outputs)])


@functools.cache
def _flatten(place: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function that flattens output number `place`, compiled with a file name of its own.

    The recorder of a forward pass takes nodes from the same line for iterations of a loop, which the outputs are not.
    """
    return eval(compile("lambda out: out.reshape(-1)", f"<output {place}>", "eval"))  # type: ignore[no-any-return]


def detached_copy(value: Any) -> Any:
    """Return a contiguous copy of a tensor without a graph; other values unchanged."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def in_double(value: Any) -> Any:
    """Return floating-point tensors, in lists, tuples and dicts too, as detached float64; other values unchanged.

    An instance of a subclass of list or tuple is unchanged.
    """
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(in_double, value))
    if isinstance(value, dict):
        return {key: in_double(item) for key, item in value.items()}
    return value.detach().double() if is_floating(value) else value


def _type_with_article(value: Any) -> str:
    """Return the type of a value for a message: "None", "a list", "an int"."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _clone(value: Any) -> Any:
    """Return a clone of a tensor, in the same graph; other values unchanged."""
    return value.clone() if isinstance(value, torch.Tensor) else value


# --- float64 -------------------------------------------------------------------------------------------------------


def with_double_parameters(forward: Callable[..., Any], depth: int = 0) -> Callable[..., Any]:
    """Return the same forward pass with float64 copies of the modules in it.

    These are the module itself, that of a bound method, the arguments of a partial, and what a function reads: globals,
    defaults, and the values that it closes over.

    Args:
        forward: a module, a partial, a method or a function; any other callable is returned unchanged.
        depth: how many functions close over it, one inside the other; above `DEEPEST` a function is returned unchanged.
    """
    if isinstance(forward, torch.nn.Module):
        return _double_copy(forward)
    if isinstance(forward, functools.partial):
        function = with_double_parameters(forward.func, depth)
        return functools.partial(function, *map(_module_in_double, forward.args), **_values_in_double(forward.keywords))
    if inspect.ismethod(forward) and isinstance(forward.__self__, torch.nn.Module):
        return types.MethodType(forward.__func__, _double_copy(forward.__self__))
    if not isinstance(forward, types.FunctionType) or depth > DEEPEST:
        return forward
    cells = tuple(_double_cell(cell, depth + 1) for cell in forward.__closure__ or ())
    used = {name: forward.__globals__[name] for name in forward.__code__.co_names if name in forward.__globals__}
    double = types.FunctionType(
        forward.__code__,
        {**forward.__globals__, **_values_in_double(used)},
        forward.__name__,
        tuple(map(_module_in_double, forward.__defaults__)) if forward.__defaults__ else None,
        cells,
    )
    double.__kwdefaults__ = _values_in_double(forward.__kwdefaults__) if forward.__kwdefaults__ else None
    return double


def _double_cell(cell: types.CellType, depth: int) -> types.CellType:
    """Return a closure's cell with the module or function in it in float64; the cell itself if that changes nothing.

    Args:
        cell: the cell, which may be empty.
        depth: how many functions close over the function in it, one inside the other; above `DEEPEST` it is unchanged.
    """
    try:
        value = cell.cell_contents
    except ValueError:  # not yet filled
        return cell
    is_plain_function = isinstance(value, types.FunctionType)
    double = with_double_parameters(value, depth) if is_plain_function else _module_in_double(value)
    return cell if double is value else types.CellType(double)


def _values_in_double(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, each module among them as a float64 copy."""
    return {name: _module_in_double(value) for name, value in values.items()}


def _module_in_double(value: Any) -> Any:
    """Return a module as a float64 copy; other values unchanged."""
    return _double_copy(value) if isinstance(value, torch.nn.Module) else value


def _double_copy(module: torch.nn.Module) -> torch.nn.Module:
    """Return a float64 copy of a module whose parameters require no gradient."""
    return copy.deepcopy(module).double().requires_grad_(False)


class _PromotionToDouble(TorchFunctionMode):
    """Convert, within this context, every float32 tensor that an operation takes with a float64 one to float64."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, with its float32 arguments in float64 if it has a float64 one too.

        The tensor that an operation changes in place keeps its dtype.
        """
        kwargs = kwargs or {}
        dtypes = {value.dtype for value in _tensors((args, kwargs))}
        if {torch.float32, torch.float64} <= dtypes:
            name = getattr(func, "__name__", "")
            in_place = name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
            kept = args[:1] if in_place else ()
            args = (*kept, *(_with_double_tensors(value) for value in args[len(kept) :]))
            kwargs = {key: _with_double_tensors(value) for key, value in kwargs.items()}
        return func(*args, **kwargs)


class _NumberWatch(TorchFunctionMode):
    """Record whether, within this context, numbers are taken out of floating-point tensors."""

    def __init__(self) -> None:
        """Begin with `leaves` False: no number has been taken out of a tensor yet."""
        super().__init__()
        self.leaves = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, and record whether it takes numbers out of a tensor."""
        of_data = func == DATA
        has_floating = any(value.is_floating_point() for value in _tensors(args))
        self.leaves |= has_floating and (of_data or getattr(func, "__name__", "") in LEAVING)
        return func(*args, **(kwargs or {}))


def _with_double_tensors(value: Any) -> Any:
    """Return float32 tensors, in lists and tuples too, as float64; a leaf, such as a parameter, becomes a constant."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_with_double_tensors, value))
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    if not value.is_leaf:
        return value.double()
    with torch._C.DisableTorchFunction():  # a recorder of the forward pass is to see a constant
        return value.detach().double()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value, which may be nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set torch's default dtype within the block, and restore it afterwards."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
