"""What the caller of `explain` gives, checked before anything is made of it: one sentence where it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from grader.errors import describe_error

from .code_under_test import check_signature, copied
from .forward_pass import floating, in_double, joined, outputs_of

DTYPES = (torch.float32, torch.float64)


def checked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs by name, in order.

    Raises:
        TypeError: they are no dict of names, or hold tensors that cannot be worked with.
        ValueError: none of them has a gradient.
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
            kind = str(value.dtype).removeprefix("torch.")
            raise TypeError(
                f"{name} is {kind}: explain takes float32 and float64, so give it the same numbers in one of these"
            )
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            raise TypeError(f"{name} is on {value.device}: explain takes tensors on the CPU, such as {name}.cpu()")
    if not floating(inputs):
        raise ValueError("none of the inputs is a floating-point tensor, so there is no gradient to judge")
    return dict(inputs)


def check_forward(forward: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
    """The forward pass can be run, in float64 too, leaves its inputs alone, and gives the same again.

    Raises:
        TypeError: it does not take these inputs, or returns no tensor.
        ValueError: one of the others.
    """
    check_signature("forward", forward, named=inputs)
    once, _ = _run(forward, inputs, "")
    double = {name: in_double(value) for name, value in inputs.items()}
    advice = ": give it the tensors that it works with as inputs, so that they can be float64 too"
    first, changed = _run(forward, double, f" in float64, where the right gradient is computed{advice}")
    again, _ = _run(forward, double, "")
    if changed:
        raise ValueError(f"forward changes its input {changed} in place: let it work on a copy")
    if not bool(torch.isfinite(once).all() and torch.isfinite(first).all()):
        raise ValueError("forward gives nan or infinity at the given inputs: give it others, where it is defined")
    if first.shape != again.shape or not torch.equal(first, again):
        raise ValueError(
            "forward gives another output when it is called again: draw what is random outside, as an input"
        )


def _run(forward: Callable[..., Any], inputs: Mapping[str, Any], where: str) -> tuple[torch.Tensor, str]:
    """The output, and the name of an input that was changed."""
    copies = {name: copied(value) for name, value in inputs.items()}
    try:
        with torch.no_grad():
            result = forward(**copies)
    except Exception as error:
        raise ValueError(f"forward cannot be run on the inputs{where} ({describe_error(error)})") from error
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    changed = (name for name, value in tensors.items() if not torch.equal(value, copies[name]))
    return joined(outputs_of(result)), next(changed, "")
