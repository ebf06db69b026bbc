"""The record of an operation: how to run it, and its vector-Jacobian product (vjp) for each operand.

An operation is called as `forward(*values, **options)`: the operands by position, as arrays or plain numbers, and
everything else by name. A vjp takes the upstream gradient and the result in front of the same arguments, and returns
the contribution to one operand. It computes from what it is given alone, so that an edit can hand it other operands,
another result or other options. The operations themselves are in `arithmetic`, `rearrangement` and `windows`; what they
lack is run and differentiated by torch (`torch_operation`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

Array = np.ndarray
Operand = Array | float
Options = Mapping[str, object]
Function = Callable[..., Operand]
Family = Literal[
    "input", "pointwise", "contraction", "reduction", "normalisation", "rearrangement", "selection", "join", "write",
    "window", "other",
]  # fmt: skip


class NoCandidate(ValueError):
    """An edit gives no gradient that anybody could have written: nothing is known to be wrong with the program."""


class Vague(NoCandidate):
    """Rounding hides what an edit gives in a trial: the others must tell."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation of a forward pass.

    Args:
        name: such as `matmul`; one for all spellings of an operation (`@`, `mm`, `Tensor.matmul`).
        family: what kind of operation it is.
        forward: takes the operands by position and the options by name; returns the value.
        vjps: for each slot the function that takes the upstream gradient, the value, the operands and the options, and
            returns the contribution to the operand in that slot, shaped like it. `None` for an operand that gets no
            gradient, such as a mask. The last of them serves all slots behind it, and takes the slot as well, where
            `variadic` is set.
        variadic: the number of operands is free, as in `cat`.
        value_vjp: the vjp for the only operand, written in terms of the value in place of the operand, as 1 - tanh**2.
    """

    name: str
    family: Family
    forward: Function
    vjps: tuple[Function | None, ...] = ()
    variadic: bool = False
    value_vjp: Function | None = None

    def run(self, values: Sequence[Operand], options: Options) -> Array:
        """Return the value for these operands.

        Raises:
            NoCandidate: the operation cannot be computed for them.
        """
        try:
            return np.asarray(self.forward(*values, **options))
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"{self.name}: {error}") from error

    def is_differentiable(self, slot: int) -> bool:
        """Return whether an operand in this slot may get a gradient."""
        return bool(self.vjps) and (self.variadic or slot < len(self.vjps)) and self._rule(slot) is not None

    def vjp(self, slot: int, g: Array, value: Array, values: Sequence[Operand], options: Options) -> Array:
        """Return the contribution to the operand in a slot.

        Args:
            slot: which of `values`.
            g: the upstream gradient, shaped like the value.
            value: what the operation gave; rules that are written in terms of it use it.
            values: the operands.
            options: the options.

        Returns:
            The contribution, shaped like `values[slot]` where `g` is shaped like the value.

        Raises:
            NoCandidate: the rule cannot be computed for them.
        """
        rule = self._rule(slot)
        if rule is None:
            raise NoCandidate(f"operand {slot} of {self.name} has no gradient")
        try:
            if self.variadic:
                return np.asarray(rule(slot, g, value, *values, **options))
            return np.asarray(rule(g, value, *values, **options))
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"the vjp of {self.name}: {error}") from error

    def bind_vjp(
        self, slot: int, value: Array, values: Sequence[Operand], options: Options
    ) -> Callable[[Array], Array]:
        """Return the vjp as a function of the upstream gradient alone; it raises whatever numpy does.

        It is written in terms of the value where that can be, which is faster.
        """
        rule = self.value_vjp or self._rule(slot)
        assert rule is not None
        if self.variadic:
            return lambda g: rule(slot, g, value, *values, **options)  # type: ignore[return-value]
        return lambda g: rule(g, value, *values, **options)  # type: ignore[return-value]

    def _rule(self, slot: int) -> Function | None:
        """Return the vjp for a slot."""
        return self.vjps[min(slot, len(self.vjps) - 1)] if self.variadic else self.vjps[slot]


OPERATIONS: dict[str, Operation] = {}
SYMBOLS = {"matmul": "@", "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "neg": "-"}  # in the source


def define(
    name: str,
    family: Family,
    forward: Function,
    *vjps: Function | None,
    variadic: bool = False,
    value_vjp: Function | None = None,
) -> Operation:
    """Add an operation to `OPERATIONS`, and return it; see `Operation` for the arguments.

    Raises:
        ValueError: there is one of this name.
    """
    if name in OPERATIONS:
        raise ValueError(f"there are two operations called {name}")
    OPERATIONS[name] = Operation(name, family, forward, vjps, variadic, value_vjp)
    return OPERATIONS[name]


def unbroadcast(g: Array, operand: Operand) -> Array:
    """Sum `g` over the axes that broadcasting added or stretched, to the shape of `operand`."""
    shape = operand.shape if isinstance(operand, np.ndarray) else ()
    if g.shape == shape:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    stretched = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axis=stretched, keepdims=True) if stretched else g)


def define_pointwise(
    name: str, forward: Function, *derivatives: Function | None, of_value: Function | None = None
) -> Operation:
    """Add an operation that works entry by entry on broadcast operands.

    Args:
        name: see `Operation`.
        forward: see `Operation`.
        derivatives: for each slot the function of the value, the operands and the options that returns the derivative
            of the value with respect to that operand, entry by entry; `None` for an operand that gets no gradient.
        of_value: takes the same, and returns the derivative with respect to the only operand from the value alone.
    """

    def rule(slot: int, derivative: Function) -> Function:
        def vjp(g: Array, value: Array, *values: Operand, **options: object) -> Array:
            slope = np.asarray(derivative(value, *values, **options))
            # where a mask is closed nothing comes through, not even what is no number
            part = np.where(slope, g, 0.0) if slope.dtype == bool else g * slope
            return unbroadcast(part, values[slot])

        return vjp

    vjps = [None if derivative is None else rule(slot, derivative) for slot, derivative in enumerate(derivatives)]
    return define(name, "pointwise", forward, *vjps, value_vjp=None if of_value is None else rule(0, of_value))


def tensor_of(value: Operand) -> torch.Tensor:
    """Return a torch tensor of an array or a number; it may share the array's memory."""
    array = np.asarray(value)
    return torch.from_numpy(array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy())


def torch_operation(name: str, call: Callable[..., torch.Tensor], slots: int) -> Operation:
    """Return an operation that torch computes, and differentiates with autograd.

    Args:
        name: its torch name.
        call: takes `slots` tensors by position and the options by name, and returns a tensor.
        slots: the number of operands.
    """

    def forward(*values: Operand, **options: object) -> Array:
        with torch.no_grad():
            return call(*map(tensor_of, values), **options).numpy().copy()

    def vjp(slot: int, g: Array, _: Array, *values: Operand, **options: object) -> Array:
        tensors = [tensor_of(value) for value in values]
        leaf = tensors[slot] = tensors[slot].clone().requires_grad_()
        with torch.enable_grad():
            value = call(*tensors, **options)
            if not value.requires_grad:
                return np.zeros(leaf.shape)
            weighed = (value * tensor_of(g)).sum()  # to hand `g` to autograd costs an import of sympy
        (gradient,) = torch.autograd.grad(weighed, leaf, allow_unused=True)
        return np.zeros(leaf.shape) if gradient is None else gradient.numpy()

    return Operation(name, "other", forward, (vjp,) if slots else (), variadic=True)
