"""Runs somebody's backward pass in this process, and reports what it did: gradients, an error, changed arguments."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from .forward_pass import (
    WrongUse,
    check_signature,
    detached_copy,
    floating_inputs,
    is_floating,
    is_function,
    outputs_of,
)

OWN = Path(__file__).parent.parent
TORCH = Path(torch.__file__).parent
UPSTREAM = "out_g"
LEAF = "a leaf Variable that requires grad"  # part of what torch raises where such a one is changed in place
OUTPUT = "the output that forward returned"
Gradients = Mapping[str, Any]


@dataclass(frozen=True)
class CodeCall:
    """One call of the code under test, in its own dtype.

    Args:
        inputs: the inputs by name, in order.
        out_g: the upstream gradient of each floating-point output, shaped like it.
        wrt: the inputs that require a gradient.
    """

    inputs: Mapping[str, Any]
    out_g: tuple[torch.Tensor, ...]
    wrt: tuple[str, ...]

    def copy(self) -> CodeCall:
        """Return the same call with copies of its tensors, which have the same memory layout."""
        inputs = {name: _copy_with_layout(value) for name, value in self.inputs.items()}
        return replace(self, inputs=inputs, out_g=tuple(map(same_layout, self.out_g)))


@dataclass(frozen=True)
class CallReport:
    """The observations of one call of the code under test.

    Args:
        gradients: by input, what it gave as the gradient; empty where it raised.
        error: the exception, with its line; empty where there was none.
        changed: the arguments that were not the same afterwards.
        outputs: the outputs that it computed in its own forward pass, if it has one.
        unasked: the inputs whose gradient was computed although they do not require one.
    """

    gradients: Gradients = field(default_factory=dict)
    error: str = ""
    changed: tuple[str, ...] = ()
    outputs: tuple[torch.Tensor, ...] = ()
    unasked: tuple[str, ...] = ()


RunCode = Callable[[CodeCall, CodeCall | None], CallReport]


@dataclass(frozen=True)
class Code:
    """The code under test.

    Args:
        name: its name in messages.
        run: runs one call; of a second call, if there is one, the forward pass is run between the forward and the
            backward pass of the first.
        upstream_name: the name of the upstream gradient in messages.
        runs_forward: whether it has a forward pass of its own.
    """

    name: str
    run: RunCode
    upstream_name: str = UPSTREAM
    runs_forward: bool = False

    def observe(self, call: CodeCall, between: CodeCall | None = None, *, at_other_sizes: bool = False) -> CallReport:
        """Run a call on copies of its arguments; return its gradients and changed arguments, or the exception raised.

        Args:
            call: the call.
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
            return CallReport(error=_error_with_line(error))
        before_and_after = [(name, call.inputs[name], value) for name, value in used.inputs.items()]
        before_and_after += [(self.upstream_name, *pair) for pair in zip(call.out_g, used.out_g, strict=True)]
        changed = (name for name, before, after in before_and_after if _differs(before, after))
        return replace(report, changed=tuple(dict.fromkeys((*report.changed, *changed))))


def code_of_backward(forward: Callable[..., Any], backward: Callable[..., Any]) -> Code:
    """Return the code that calls `backward(out, out_g, **inputs)`, which returns a dict of gradients by input.

    For several outputs of `forward`, `out` and `out_g` are tuples, with `None` in `out_g` for an output that is not
    floating-point. The code raises `WrongUse` if `backward` does not take these arguments, or returns no such dict.
    """

    def run(call: CodeCall, _: CodeCall | None) -> CallReport:
        """Run forward for the outputs, and then the backward pass."""
        with torch.no_grad():
            out = forward(**{name: detached_copy(value) for name, value in call.inputs.items()})
        is_several = isinstance(out, (tuple, list))
        gradients = iter(call.out_g)
        out_g: Any = call.out_g[0]
        if is_several:
            out_g = tuple(next(gradients) if is_floating(output) else None for output in out)
        check_signature("backward", backward, "out", "out_g", named=call.inputs)
        returned = backward(tuple(out) if is_several else out, out_g, **call.inputs)
        if not isinstance(returned, Mapping):
            example = next(iter(floating_inputs(call.inputs)))
            raise WrongUse(
                f'backward must return a dict such as {{"{example}": gradient}}; it returns {type(returned).__name__}'
            )
        if strange := [str(name) for name in returned if name not in floating_inputs(call.inputs)]:
            known = ", ".join(floating_inputs(call.inputs))
            raise WrongUse(f"backward returns a gradient of {strange[0]!r}; the floating-point inputs are {known}")
        return CallReport(dict(returned))

    return Code("backward", run)


def code_of_numbers(gradients: Gradients) -> Code:
    """Return code that gives the same gradients whenever it is run: those that one call gave, by input."""
    return Code("the call", lambda call, between: CallReport(dict(gradients)), "upstream")


def code_of_function(function: Any) -> Code:
    """Return the code that runs a `torch.autograd.Function` or a callable, and its own backward pass by torch.

    What `backward` of a Function returns is judged unchanged: torch would silently sum, broadcast and cast it.

    Raises:
        TypeError: `function` is neither.
    """
    is_class = is_function(function)
    if not is_class and not callable(function):
        raise TypeError(f"function must be a torch.autograd.Function or a callable; it is {type(function).__name__}")
    name = getattr(function, "__name__", type(function).__name__)
    taking = (f"{name}.forward", function.forward) if is_class else ("function", function)
    context = ("ctx",) if is_class and function.setup_context is torch.autograd.Function.setup_context else ()

    def run(call: CodeCall, between: CodeCall | None) -> CallReport:
        """Run forward and backward once; `between` is a call whose forward pass is run between the two."""
        returned: list[Any] = []
        apply = _watched(function, returned).apply if is_class else function
        check_signature(*taking, *context, *call.inputs)
        outputs = _run_forward(apply, call)
        if between:
            _run_forward(apply, between)
        return _run_backward(call, outputs, returned)

    return Code(name, run, _upstream_name(function) if is_class else UPSTREAM, runs_forward=True)


def _run_forward(apply: Callable[..., Any], call: CodeCall) -> tuple[torch.Tensor, ...]:
    """Return the floating-point outputs of a function, with a graph behind them.

    Args:
        apply: the function, which takes the inputs by position. If it works on them in place (`ctx.mark_dirty`), it is
            called with results of an operation, as in a network.
        call: the call, whose inputs are marked to require a gradient or not.

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


def _restore(call: CodeCall, before: CodeCall) -> None:
    """Copy the former values back into the inputs of a call that were changed in place.

    Args:
        call: the call, whose tensors are overwritten.
        before: the same call with copies of the tensors, made before it was run.
    """
    with torch.no_grad():
        for name, value in call.inputs.items():
            if isinstance(value, torch.Tensor):
                value.copy_(before.inputs[name])


def _not_a_leaf(value: Any) -> Any:
    """Return a copy that is not a leaf of the graph, for a tensor that requires a gradient; other values unchanged."""
    return value.clone() if is_floating(value) and value.requires_grad else value


def _run_backward(call: CodeCall, outputs: tuple[torch.Tensor, ...], returned: list[Any]) -> CallReport:
    """Run torch's backward pass through the outputs, and return the report.

    An output that the backward pass changes in place is among the changed arguments.

    Args:
        call: the call, whose inputs the outputs were computed from.
        outputs: the floating-point outputs of its forward pass.
        returned: where a watched Function appends what its own `backward` returns; the gradients are taken from there
            if it does, and from torch otherwise.
    """
    pairs = [(out, g) for out, g in zip(outputs, call.out_g, strict=True) if out.requires_grad]
    leaves = [call.inputs[name] for name in call.wrt]
    gradients: tuple[Any, ...] = (None,) * len(leaves)
    values = tuple(out.detach().clone() for out in outputs)
    if pairs:
        outs, out_g = zip(*pairs, strict=True)
        gradients = torch.autograd.grad(outs, leaves, out_g, allow_unused=True)
    changed = tuple({OUTPUT for out, value in zip(outputs, values, strict=True) if _differs(value, out.detach())})
    if not returned:
        return CallReport(dict(zip(call.wrt, gradients, strict=True)), changed=changed, outputs=values)
    last = returned[-1] if isinstance(returned[-1], tuple) else (returned[-1],)
    own = dict(zip(call.inputs, last, strict=False))
    unasked = tuple(n for n in floating_inputs(call.inputs) if n not in call.wrt and own.get(n) is not None)
    return CallReport({name: own.get(name) for name in call.wrt}, changed=changed, outputs=values, unasked=unasked)


def _watched(function: Any, returned: list[Any]) -> Any:
    """Return a subclass of a Function whose `backward` also appends what it returns to `returned`.

    A Function without a `backward` of its own is returned unchanged.
    """
    if function.backward is torch.autograd.Function.backward:
        return function

    def backward(ctx: Any, *grads: Any) -> Any:
        """Return what the backward pass returns, and append it to the list."""
        returned.append(function.backward(ctx, *grads))
        return returned[-1]

    return type(function.__name__, (function,), {"backward": staticmethod(backward)})


def _upstream_name(function: Any) -> str:
    """Return the learner's name of the upstream gradient: `grad` for `backward(ctx, grad)` of a custom function.

    Return `"out_g"` where `backward` has no single parameter beside `ctx`.
    """
    try:
        _, *names = inspect.signature(function.backward).parameters.values()
    except (TypeError, ValueError):
        return UPSTREAM
    is_plain = len(names) == 1 and names[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return str(names[0].name) if is_plain else UPSTREAM


def _copy_with_layout(value: Any) -> Any:
    """Return a copy of a tensor with the same memory layout, which the code may modify; other values unchanged."""
    return same_layout(value) if isinstance(value, torch.Tensor) else value


def _differs(before: Any, after: Any) -> bool:
    """Return whether an argument is a tensor and has another shape, dtype or entry afterwards."""
    if not isinstance(before, torch.Tensor):
        return False
    return before.shape != after.shape or before.dtype != after.dtype or not torch.equal(before, after)


def _error_with_line(error: Exception) -> str:
    """Return an exception as text on one line, its message cut to 300 characters, with the line that raised it.

    The line is the last one of the code under test; it is left out if only handgrad and torch are in the traceback.
    """
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not any(Path(f.filename).is_relative_to(ours) for ours in (OWN, TORCH))]
    where = f", line {theirs[-1].lineno} of {Path(theirs[-1].filename).name}" if theirs else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}"


# --- memory layouts ------------------------------------------------------------------------------------------------

TRANSPOSED, PART, EXPANDED = "an upstream gradient that is transposed", "a part of a larger one", "an expanded one"
# Upstream gradients that are not contiguous, as later operations give them: by kind of trial, a phrase for messages.
LAYOUTS = {
    TRANSPOSED: "transposed in memory, as when `out.mT` follows",
    PART: "a part of a larger tensor, as when `torch.cat` follows",
    EXPANDED: "expanded, with strides of 0, as when `out.sum()` follows",
}


def same_layout(value: torch.Tensor) -> torch.Tensor:
    """Return a copy of a tensor with the same strides, so that an overlapping or transposed tensor remains one."""
    if not value.numel() or value.layout != torch.strided:
        return value.detach().clone()
    extent = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    memory = value.detach().as_strided((extent,), (1,)).clone()
    return memory.as_strided(value.shape, value.stride())


def with_layout(g: torch.Tensor, kind: str) -> torch.Tensor:
    """Return an upstream gradient with the memory layout of a kind of trial, its values unchanged.

    One without axes or entries is in no other layout.

    Args:
        g: the upstream gradient.
        kind: the kind of the trial: `TRANSPOSED`, `PART` (a part of a larger tensor), or `EXPANDED`, whose entries are
            all the first entry of `g`; for any other kind `g` itself is returned.
    """
    if kind == TRANSPOSED:
        order = tuple(reversed(range(g.dim())))
        return g.permute(order).contiguous().permute(order)
    if kind == PART and g.dim() and g.numel():
        wide = torch.cat([g.flip(-1), g, g.flip(-1)], -1)
        part = wide.narrow(-1, g.shape[-1], g.shape[-1])
        return part if not part.is_contiguous() else torch.stack([g, g.flip(-1)], -1)[..., 0]
    if kind == EXPANDED and g.dim() and g.numel():
        return g.contiguous().clone().as_strided(g.shape, (0,) * g.dim())
    return g


def read_as_contiguous(g: torch.Tensor) -> torch.Tensor:
    """Return what one gets by reading the memory of a tensor `g` as if it were contiguous; shape: that of g."""
    return g.as_strided(g.shape, torch.empty(g.shape, device="meta").stride())
