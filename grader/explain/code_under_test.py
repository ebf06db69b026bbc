"""Runs somebody's backward pass in this process, and reports what it did: gradients, an error, changed arguments."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from .forward_pass import floating, is_floating, outputs_of
from .layouts import same_layout

OWN = Path(__file__).parent.parent
TORCH = Path(torch.__file__).parent
UPSTREAM = "out_g"
LEAF = "a leaf Variable that requires grad"  # what torch says of work in place on one
OUTPUT = "the output that forward returned"
Gradients = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of the code under test, in its own dtype.

    Args:
        inputs: the inputs by name, in order.
        out_g: the upstream gradient of each floating-point output, shaped like it.
        wrt: the inputs that require a gradient.
    """

    inputs: Mapping[str, Any]
    out_g: tuple[torch.Tensor, ...]
    wrt: tuple[str, ...]

    def copy(self) -> Call:
        """Return the same call with copies of its tensors, which have the same memory layout."""
        inputs = {name: _private_copy(value) for name, value in self.inputs.items()}
        return replace(self, inputs=inputs, out_g=tuple(map(same_layout, self.out_g)))


@dataclass(frozen=True)
class Report:
    """What came of a call.

    Args:
        gradients: what was given for each input; none where it raised.
        error: the exception, with its line; empty where there was none.
        changed: the arguments that were not the same afterwards.
        outputs: what the code under test computed in its own forward pass, if it has one.
        unasked: the inputs whose gradient was computed although they do not require one.
    """

    gradients: Gradients = field(default_factory=dict)
    error: str = ""
    changed: tuple[str, ...] = ()
    outputs: tuple[torch.Tensor, ...] = ()
    unasked: tuple[str, ...] = ()


Run = Callable[[Call, Call | None], Report]


@dataclass(frozen=True)
class Code:
    """The code under test.

    Args:
        name: what its author calls it.
        run: calls it once, where there is another call with that one between its forward and its backward pass.
        upstream_name: what its author calls the upstream gradient.
        runs_forward: it has a forward pass of its own.
    """

    name: str
    run: Run
    upstream_name: str = UPSTREAM
    runs_forward: bool = False

    def observe(self, call: Call, between: Call | None = None, *, at_other_sizes: bool = False) -> Report:
        """Run a call on copies of its arguments; return its gradients and changed arguments, or the exception raised.

        Args:
            between: another call, whose forward pass is run between the forward and the backward pass of this one.
            at_other_sizes: whether the sizes differ from the given ones, so that a wrong use is reported, not raised.

        Raises:
            WrongUse: the code cannot be called in this way, or returns what no gradients can be read from.
        """
        used = call.copy()
        try:
            report = self.run(used, between and between.copy())
        except Exception as error:
            if isinstance(error, WrongUse) and not at_other_sizes:
                raise
            return Report(error=_said(error))
        pairs = [(name, call.inputs[name], value) for name, value in used.inputs.items()]
        pairs += [(self.upstream_name, before, after) for before, after in zip(call.out_g, used.out_g, strict=True)]
        changed = dict.fromkeys((*report.changed, *(name for name, *ends in pairs if _differs(*ends))))
        return Report(report.gradients, "", tuple(changed), report.outputs, report.unasked)


class WrongUse(TypeError):
    """The code under test cannot be used in this way at all."""


def from_backward(forward: Callable[..., Any], backward: Callable[..., Any]) -> Code:
    """`backward(out, out_g, **inputs)`, which returns a dict of gradients; it gets tuples for several outputs."""

    def run(call: Call, _: Call | None) -> Report:
        with torch.no_grad():
            out = forward(**{name: copied(value) for name, value in call.inputs.items()})
        several = isinstance(out, (tuple, list))
        arrive = iter(call.out_g)
        out_g: Any = tuple(next(arrive) if is_floating(one) else None for one in out) if several else call.out_g[0]
        check_signature("backward", backward, "out", "out_g", named=call.inputs)
        found = backward(tuple(out) if several else out, out_g, **call.inputs)
        if not isinstance(found, Mapping):
            example = next(iter(floating(call.inputs)))
            raise WrongUse(
                f'backward must return a dict such as {{"{example}": gradient}}; it returns {type(found).__name__}'
            )
        if strange := [str(name) for name in found if name not in floating(call.inputs)]:
            known = ", ".join(floating(call.inputs))
            raise WrongUse(f"backward returns a gradient of {strange[0]!r}; the floating-point inputs are {known}")
        return Report(dict(found))

    return Code("backward", run)


def from_numbers(gradients: Gradients) -> Code:
    """The gradients that one call gave."""
    return Code("the call", lambda call, between: Report(dict(gradients)), "upstream")


def from_function(function: Any) -> Code:
    """Return the code that runs a `torch.autograd.Function` or a callable, and its own backward pass by torch.

    What `backward` of a Function returns is judged as it is: torch would sum, stretch and cast it without a word.

    Raises:
        TypeError: `function` is neither.
    """
    is_class = is_function(function)
    if not is_class and not callable(function):
        raise TypeError(f"function must be a torch.autograd.Function or a callable; it is {type(function).__name__}")
    name = getattr(function, "__name__", type(function).__name__)
    taking = (f"{name}.forward", function.forward) if is_class else ("function", function)
    context = ("ctx",) if is_class and function.setup_context is torch.autograd.Function.setup_context else ()

    def run(call: Call, between: Call | None) -> Report:
        """Run forward and backward once; `between` is a call whose forward pass is run between the two."""
        returned: list[Any] = []
        apply = _watched(function, returned).apply if is_class else function
        check_signature(*taking, *context, *call.inputs)
        outputs = _run_forward(apply, call)
        if between:
            _run_forward(apply, between)
        return _run_backward(call, outputs, returned)

    return Code(name, run, _upstream_name(function) if is_class else UPSTREAM, runs_forward=True)


def is_function(value: Any) -> bool:
    """Return whether a value is a custom function, that is, a subclass of `torch.autograd.Function`."""
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def _run_forward(apply: Callable[..., Any], call: Call) -> tuple[torch.Tensor, ...]:
    """Return the floating-point outputs of a function, with a graph behind them.

    A function that works on its inputs in place (`ctx.mark_dirty`) gets results of an operation, as in a network.

    Raises:
        WrongUse: the outputs are not as many, or not of the shapes, as those of the forward pass.
    """
    for name, value in call.inputs.items():
        if is_floating(value):
            value.requires_grad_(name in call.wrt)
    with torch.enable_grad():
        before = call.copy()
        try:
            outputs = outputs_of(apply(*call.inputs.values()), "function")
        except RuntimeError as error:
            if LEAF not in str(error):
                raise
            _restore(call, before)
            outputs = outputs_of(apply(*map(_not_a_leaf, call.inputs.values())), "function")
    if len(outputs) != len(call.out_g):
        raise WrongUse(f"function returns {len(outputs)} floating-point outputs, and forward {len(call.out_g)}")
    for out, g in zip(outputs, call.out_g, strict=True):
        if out.shape != g.shape:
            raise WrongUse(f"function returns an output of shape {tuple(out.shape)}, and forward of {tuple(g.shape)}")
    return outputs


def _restore(call: Call, before: Call) -> None:
    """Copy the former values back into the inputs of a call that were changed in place."""
    with torch.no_grad():
        for name, value in call.inputs.items():
            if isinstance(value, torch.Tensor):
                value.copy_(before.inputs[name])


def _not_a_leaf(value: Any) -> Any:
    """Return a copy that is not a leaf of the graph, for a tensor that requires a gradient; other values unchanged."""
    return value.clone() if is_floating(value) and value.requires_grad else value


def _run_backward(call: Call, outputs: tuple[torch.Tensor, ...], returned: list[Any]) -> Report:
    """Run torch's backward pass through the outputs, and return the report.

    Args:
        returned: what the Function's own `backward` returned, if it is watched; its gradients are taken from there.
    """
    pairs = [(out, g) for out, g in zip(outputs, call.out_g, strict=True) if out.requires_grad]
    leaves = [call.inputs[name] for name in call.wrt]
    found: tuple[Any, ...] = (None,) * len(leaves)
    values = tuple(out.detach().clone() for out in outputs)
    if pairs:
        outs, arrive = zip(*pairs, strict=True)
        found = torch.autograd.grad(outs, leaves, arrive, allow_unused=True)
    changed = tuple({OUTPUT for out, value in zip(outputs, values, strict=True) if _differs(value, out.detach())})
    if not returned:
        return Report(dict(zip(call.wrt, found, strict=True)), changed=changed, outputs=values)
    last = returned[-1] if isinstance(returned[-1], tuple) else (returned[-1],)
    own = dict(zip(call.inputs, last, strict=False))
    unasked = tuple(n for n in floating(call.inputs) if n not in call.wrt and own.get(n) is not None)
    return Report({name: own.get(name) for name in call.wrt}, changed=changed, outputs=values, unasked=unasked)


def _watched(function: Any, returned: list[Any]) -> Any:
    """The same Function, whose backward pass also leaves what it returns."""
    if function.backward is torch.autograd.Function.backward:
        return function

    def backward(ctx: Any, *grads: Any) -> Any:
        returned.append(function.backward(ctx, *grads))
        return returned[-1]

    return type(function.__name__, (function,), {"backward": staticmethod(backward)})


def _upstream_name(function: Any) -> str:
    """What the backward pass of a Function calls the one gradient that arrives."""
    try:
        _, *names = inspect.signature(function.backward).parameters.values()
    except (TypeError, ValueError):
        return UPSTREAM
    plain = len(names) == 1 and names[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return str(names[0].name) if plain else UPSTREAM


def check_signature(who: str, function: Callable[..., Any], *positional: str, named: Iterable[str] = ()) -> None:
    """Raises `WrongUse` where the function cannot be called with arguments of these names."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of what is written in C nothing is known
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        shown = ", ".join([*positional, *(f"{name}=" for name in named)])
        raise WrongUse(f"{who} is called with ({shown}), and does not take that: {error}") from None


def _private_copy(value: Any) -> Any:
    """Return a copy of a tensor with the same memory layout, which the code may modify; other values unchanged."""
    return same_layout(value) if isinstance(value, torch.Tensor) else value


def copied(value: Any) -> Any:
    """A tensor of its own, without a graph; anything else as it is."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _differs(before: Any, after: Any) -> bool:
    if not isinstance(before, torch.Tensor):
        return False
    return before.shape != after.shape or before.dtype != after.dtype or not torch.equal(before, after)


def _said(error: Exception) -> str:
    """The exception on one line, and where in its author's code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not any(Path(f.filename).is_relative_to(ours) for ours in (OWN, TORCH))]
    where = f", line {theirs[-1].lineno} of {Path(theirs[-1].filename).name}" if theirs else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}"
