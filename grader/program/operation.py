"""The record of an operation: a forward function, and a vector-Jacobian product (vjp) for each operand.

An operation is called as `forward(*values, **options)`: the operands by position, as arrays or plain numbers, and
everything else by name. A vjp takes the upstream gradient and the value in front of the same arguments, and returns the
contribution to one operand. It computes from its arguments alone, so that an edit can call it with wrong operands, a
wrong value or wrong options. The operations are defined in `arithmetic`, `rearrangement` and `windows`; what they lack
is run and differentiated by torch (`torch_operation`).
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
    """Signals that an edited program has no gradients: no learner can have written it, and the search skips it.

    Raised while a program is edited or computed, such as where numpy refuses a shape. It says nothing against the
    forward pass without the edit. An operator that does not apply at a place returns `None` instead.
    """


class Vague(NoCandidate):
    """Signals that rounding hides in one trial what an edited program computes, so that this trial is not counted."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One kind of operation, such as the matrix product: how its value is computed, and the vjp for each operand.

    Args:
        name: such as `matmul`; one for all spellings of an operation (`@`, `mm`, `Tensor.matmul`).
        family: the group of operations that it belongs to, such as `"reduction"`.
        forward: takes the operands by position and the options by name; returns the value.
        vjps: for each slot the function that takes the upstream gradient, the value, the operands and the options, and
            returns the contribution to the operand in that slot, shaped like the operand. `None` for an operand that
            gets no gradient, such as a mask. Where `variadic` is set, the last of them serves all further slots, and
            takes the slot as its first argument.
        variadic: whether the number of operands is free, as in `cat`.
        value_vjp: the vjp for an only operand, written in terms of the value in place of the operand: 1 - value**2 for
            tanh.
        complex_slots: the slots of complex operands, and -1 if the value is complex. Complex numbers are pairs of a
            real and an imaginary part, along a last axis.
    """

    name: str
    family: Family
    forward: Function
    vjps: tuple[Function | None, ...] = ()
    variadic: bool = False
    value_vjp: Function | None = None
    complex_slots: frozenset[int] = frozenset()

    def run(self, values: Sequence[Operand], options: Options) -> Array:
        """Return the value of the operation for the given operands and options.

        Raises:
            NoCandidate: numpy or torch cannot compute it, such as for shapes that do not fit.
        """
        try:
            return np.asarray(self.forward(*values, **options))
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"{self.name}: {error}") from error

    def is_differentiable(self, slot: int) -> bool:
        """Return whether the operation has a vjp for the operand in a slot.

        `where(mask, x, y)` has them for slots 1 and 2.
        """
        return bool(self.vjps) and (self.variadic or slot < len(self.vjps)) and self._slot_vjp(slot) is not None

    def vjp(self, slot: int, g: Array, value: Array, values: Sequence[Operand], options: Options) -> Array:
        """Return what an upstream gradient contributes to the operand in a slot: for `x @ w` and slot 0, `g @ w.T`.

        Args:
            slot: the number of the operand in `values`.
            g: the upstream gradient, shaped like the value.
            value: the value of the operation; used by a vjp that is written in terms of it.
            values: all operands, in the order of the slots.
            options: the options by name.

        Returns:
            The contribution, shaped like `values[slot]` where `g` is shaped like the value.

        Raises:
            NoCandidate: the operand has no gradient, or numpy or torch cannot compute the vjp.
        """
        rule = self._slot_vjp(slot)
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
        """Return the vjp for the operand in a slot as a function of the upstream gradient alone.

        The function raises whatever numpy raises. It uses `value_vjp` where there is one, which is faster.

        Args:
            slot: the number of the operand in `values`; the operation must have a vjp for it (`is_differentiable`).
            value: the value of the operation.
            values: all operands, in the order of the slots.
            options: the options by name, such as `{"dim": 1}`.
        """
        rule = self.value_vjp or self._slot_vjp(slot)
        assert rule is not None
        if isinstance(rule, PointwiseVjp):
            return rule.bind(value, values, options)
        if self.variadic:
            return lambda g: rule(slot, g, value, *values, **options)  # type: ignore[return-value]
        return lambda g: rule(g, value, *values, **options)  # type: ignore[return-value]

    def _slot_vjp(self, slot: int) -> Function | None:
        """Return the function of the field `vjps` that serves a slot; `None` where the operand in it gets no gradient.

        Of a variadic operation, such as `cat`, the last function serves all further slots.
        """
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
    """Make an operation, add it to `OPERATIONS` under its name, and return it.

    Args:
        name: the name, such as `"matmul"`.
        family: the group of operations that it belongs to, such as `"reduction"`.
        forward: takes the operands by position and the options by name; returns the value.
        vjps: for each slot the function that returns the contribution to the operand there, as in `Operation.vjps`.
        variadic: whether the number of operands is free, as in `cat`.
        value_vjp: the vjp for an only operand, written in terms of the value in place of the operand.

    Raises:
        ValueError: `OPERATIONS` has an operation of this name already.
    """
    if name in OPERATIONS:
        raise ValueError(f"there are two operations called {name}")
    OPERATIONS[name] = Operation(name, family, forward, vjps, variadic, value_vjp)
    return OPERATIONS[name]


def unbroadcast(g: Array, operand: Operand) -> Array:
    """Return `g` summed over the axes along which broadcasting has repeated `operand`; shape: that of operand.

    For g of shape (4, 3) and an operand of shape (3,): g.sum(0).
    """
    shape = operand.shape if isinstance(operand, np.ndarray) else ()
    if g.shape == shape:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    stretched = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axis=stretched, keepdims=True) if stretched else g)


@dataclass(frozen=True)
class PointwiseVjp:
    """The vjp of an operation that works entry by entry on broadcast operands: g times the derivative by one operand.

    Args:
        slot: the slot of this operand.
        derivative: takes the value, the operands and the options; returns the derivative, entry by entry, as numbers or
            as a boolean array that stands for 1 and 0.
    """

    slot: int
    derivative: Function

    def __call__(self, g: Array, value: Array, *values: Operand, **options: object) -> Array:
        """Return the contribution to the operand in the slot `self.slot`, shaped like it.

        Args:
            g: the upstream gradient, shaped like the value.
            value: the value of the operation.
            values: all operands.
            options: the options by name.
        """
        return _times_derivative(g, np.asarray(self.derivative(value, *values, **options)), values[self.slot])

    def bind(self, value: Array, values: Sequence[Operand], options: Options) -> Callable[[Array], Array]:
        """Return the vjp for the operand in `self.slot` as a function of the upstream gradient alone.

        The derivative is computed now, and only once.

        Args:
            value: the value of the operation.
            values: all operands.
            options: the options by name.
        """
        slope, operand = np.asarray(self.derivative(value, *values, **options)), values[self.slot]
        if slope.ndim == 0 and slope == 1 and slope.dtype != bool:
            return lambda g: unbroadcast(g, operand)
        return lambda g: _times_derivative(g, slope, operand)


def _times_derivative(g: Array, slope: Array, operand: Operand) -> Array:
    """Return an upstream gradient times a derivative, summed over the axes along which the operand was broadcast.

    Where a boolean derivative is False the product is 0, even if the upstream gradient is no number there.

    Args:
        g: the upstream gradient, shaped like the value.
        slope: the derivative of the value by the operand, entry by entry; it broadcasts with g.
        operand: the operand, whose shape the result has.
    """
    return unbroadcast(np.where(slope, g, 0.0) if slope.dtype == bool else g * slope, operand)


def define_pointwise(
    name: str, forward: Function, *derivatives: Function | None, of_value: Function | None = None
) -> Operation:
    """Make an operation that works entry by entry on broadcast operands, add it to `OPERATIONS`, and return it.

    Args:
        name: the name, such as `"tanh"`.
        forward: takes the operands by position and the options by name; returns the value.
        derivatives: for each slot the function of the value, the operands and the options that returns the derivative
            of the value by that operand, entry by entry; a boolean array stands for 1 and 0. `None` for an operand that
            gets no gradient.
        of_value: takes the same arguments, and computes the derivative by the only operand from the value alone.
    """
    vjps = [
        None if derivative is None else PointwiseVjp(slot, derivative) for slot, derivative in enumerate(derivatives)
    ]
    return define(name, "pointwise", forward, *vjps, value_vjp=None if of_value is None else PointwiseVjp(0, of_value))


def tensor_of(value: Operand) -> torch.Tensor:
    """Return an array or a number as a torch tensor, which may share the array's memory."""
    array = np.asarray(value)
    return torch.from_numpy(array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy())


# Functions that torch runs, and that work entry by entry on broadcast operands.
POINTWISE_BY_TORCH = frozenset(
    "erfc erfinv exp2 log10 sinc i0 mvlgamma polygamma logit nan_to_num deg2rad rad2deg float_power atan2 hypot xlogy "
    "logaddexp logaddexp2 lerp addcmul addcdiv fmax fmin remainder fmod copysign mish hardswish hardsigmoid hardtanh "
    "relu6 selu celu tanhshrink softsign softshrink hardshrink threshold special_erfc special_erfinv special_erfcx "
    "special_exp2 special_ndtr special_ndtri special_log_ndtr special_entr special_i0 special_i0e special_i1 "
    "special_i1e special_logit special_sinc special_xlogy special_xlog1py special_multigammaln special_polygamma "
    "special_bessel_j0 special_bessel_j1".split()
)


def torch_operation(name: str, call: Callable[..., torch.Tensor], slots: int) -> Operation:
    """Return an operation that torch runs, and that autograd differentiates by each of its operands.

    Its family is `"pointwise"` for a function of `POINTWISE_BY_TORCH`, else `"other"`. It is not added to `OPERATIONS`.

    Args:
        name: the name of the torch function.
        call: takes `slots` tensors by position and the options by name, and returns a tensor.
        slots: the number of operands.
    """

    def forward(*values: Operand, **options: object) -> Array:
        """Return the value, computed by torch without a graph."""
        with torch.no_grad():
            return call(*map(tensor_of, values), **options).numpy().copy()

    def vjp(slot: int, g: Array, _: Array, *values: Operand, **options: object) -> Array:
        """Return the contribution to the operand in a slot, computed by autograd."""
        tensors = [tensor_of(value) for value in values]
        leaf = tensors[slot] = tensors[slot].clone().requires_grad_()
        with torch.enable_grad():
            value = call(*tensors, **options)
            if not value.requires_grad:
                return np.zeros(leaf.shape)
            weighed = (value * tensor_of(g)).sum()  # to hand `g` to autograd costs an import of sympy
        (gradient,) = torch.autograd.grad(weighed, leaf, allow_unused=True)
        return np.zeros(leaf.shape) if gradient is None else gradient.numpy()

    family: Family = "pointwise" if name in POINTWISE_BY_TORCH else "other"
    return Operation(name, family, forward, (vjp,) if slots else (), variadic=True)
