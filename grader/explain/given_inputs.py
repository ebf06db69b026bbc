"""What the caller of `explain` gives, checked before anything is made of it: one sentence where it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.errors import describe_error

from .code_under_test import check_signature, copied, is_function
from .forward_pass import floating, in_double, joined, outputs_of
from .own_forward import OwnForward, with_double_parameters

DTYPES = (torch.float32, torch.float64)
ADVICE = ": give it the tensors that it works with as inputs, so that they can be float64 too"


def checked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs by name, in order, after checking their kind.

    Raises:
        TypeError: they are not a dict by name, or contain a tensor of a dtype or device that cannot be judged.
        ValueError: none of them is a floating-point tensor.
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(f"inputs must be a dict of the arguments of forward by name; it is {type(inputs).__name__}")
    for name, value in inputs.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"inputs must be a dict by the names of forward's arguments; {name!r} is no such name")
        if (
            isinstance(value, torch.Tensor)
            and (value.is_floating_point() or value.is_complex())
            and value.dtype not in DTYPES
        ):
            raise TypeError(_dtype_refusal(name, value))
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            raise TypeError(f"{name} is on {value.device}: explain takes tensors on the CPU, such as {name}.cpu()")
    if not floating(inputs):
        raise ValueError("none of the inputs is a floating-point tensor, so there is no gradient to judge")
    return dict(inputs)


def usable_forward(forward: Callable[..., Any], inputs: Mapping[str, Any]) -> OwnForward:
    """Return the forward pass in a form that takes float64 as well and leaves its inputs alone.

    Raises:
        TypeError: it does not take these inputs, or does not return a tensor.
        ValueError: it cannot be run, gives nan, or gives another output when it is called again.
    """
    check_signature("forward", forward, named=inputs)
    if is_function(getattr(forward, "__self__", None)):
        forward = _called_by_position(forward)
    once, changed = _run(forward, inputs, "")
    usable = OwnForward(forward, forward, copies=bool(changed))
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
            "forward gives another output when it is called again: draw what is random outside, as an input"
        )
    return usable


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
    copies = {name: copied(value) for name, value in inputs.items()}
    try:
        with torch.no_grad():
            result = forward(**copies)
    except Exception as error:
        raise ValueError(f"forward cannot be run on the inputs{where} ({describe_error(error)})") from error
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    changed = (name for name, value in tensors.items() if not torch.equal(value, copies[name]))
    return joined(outputs_of(result)).clone(), next(changed, "")
