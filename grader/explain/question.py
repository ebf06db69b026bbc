"""What `explain` is answers: a forward pass, the inputs of one call, and the code under test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grader.diagnosis.words import listed

from .axes import Axis, Shapes, axes_of_inputs, changed, find_axes, smaller
from .code_under_test import Call, Code, copied
from .forward_pass import exercise_of, floating, in_double, joined, outputs_of, resized
from .own_forward import OwnForward, own_backwards
from .trials import Drawing

INDICES = (torch.int64, torch.int32)


@dataclass(frozen=True)
class Question:
    """A forward pass, the inputs of one call, the code under test, and what everything further is drawn from."""

    forward: OwnForward
    given: Mapping[str, Any]
    rng: np.random.Generator
    code: Code

    @property
    def wrt(self) -> tuple[str, ...]:
        """The inputs that require a gradient in a call."""
        return marked(self.given) or floating(self.given)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the tensors among the inputs."""
        return {name: tuple(value.shape) for name, value in self.given.items() if isinstance(value, torch.Tensor)}

    def call(self, inputs: Mapping[str, Any]) -> Call:
        """A call with random upstream gradients."""
        outputs = self._outputs(inputs)
        drawn = [np.asarray(self.rng.standard_normal(tuple(out.shape))) for out in outputs]
        return Call(inputs, tuple(torch.from_numpy(g).to(out) for g, out in zip(drawn, outputs, strict=True)), self.wrt)

    def axes(self, *, runs: bool = True) -> list[Axis]:
        """The axes of the inputs.

        Args:
            runs: the code under test can be run at all.
        """

        def out_shape(shapes: Shapes) -> tuple[int, ...] | None:
            try:
                return tuple(self._outputs(self._resized(shapes))[0].shape)
            except Exception:
                return None

        def takes(shapes: Shapes) -> bool:
            return runs and self._error_at(shapes) == ""

        tensors = {name: self.given[name] for name in self.shapes}
        whole = {name: value for name, value in tensors.items() if value.dtype in INDICES and value.numel()}
        least = {name: int(value.max()) + 1 for name, value in whole.items()}
        small = smaller(self.shapes)
        if whole or small == self.shapes or out_shape(small) is None or not takes(small):
            return find_axes(self.shapes, out_shape, takes, least)
        found = find_axes(small, out_shape, takes, least)
        return [replace(axis, size=self.shapes[name][i]) for axis in found for name, i in axis.places[:1]]

    def refusal(self, axes: list[Axis]) -> str:
        """Which sizes the code under test does not take and the forward pass does; empty where it takes all of them."""
        refused = [axis for axis in axes if axis.refused]
        if not refused:
            return ""
        first, (name, place) = refused[0], refused[0].places[0]
        error = self._error_at(changed(self.shapes, {first.places: first.refused}))
        names = listed(f"{axis.name} = {axis.size}" for axis in refused)
        where = f"where {name}.shape[{place}] is {first.refused}" + (f" ({error})" if error else "")
        return f"{self.code.name} was tried with {names} alone: it raises {where}, and forward does not"

    def drawing(self, axes: list[Axis], answers: tuple[str, ...], *, measured: bool) -> Drawing:
        """Return what trials are drawn from.

        Args:
            axes: the axes of the inputs, whose sizes may vary between trials.
            answers: the inputs whose gradients are judged.
            measured: whether the right gradients are measured by finite differences and not taken from torch.
        """
        names = axes_of_inputs(axes, self.shapes)
        exercise = exercise_of(self.forward, self.given, names, answers, self.code.upstream_name, measured=measured)
        double = all(self.given[name].dtype == torch.float64 for name in floating(self.given))
        precision = "float64" if double else "float32"
        return Drawing(exercise, self.forward, self.given, axes, self.wrt, precision, measured)

    @cached_property
    def own_backwards(self) -> frozenset[str] | None:
        """Return the custom functions that torch's gradient of forward goes through; `None` if torch has none."""
        leaves = {name: self._double[name].requires_grad_() for name in floating(self.given)}
        try:
            with torch.enable_grad():
                outputs = outputs_of(self.forward(**{**self._double, **leaves}))
                total = joined(outputs).sum()
            torch.autograd.grad(total, list(leaves.values()), retain_graph=True, allow_unused=True)
        except Exception:
            return None  # no output depends on an input, or what its way back needs has been overwritten
        return frozenset().union(*(own_backwards(out) for out in outputs))

    @cached_property
    def leaves_torch(self) -> bool:
        """Return whether the forward pass takes numbers out of tensors, whose further use torch cannot see."""
        return self.forward.leaves_torch(self._double)

    @property
    def _double(self) -> dict[str, Any]:
        """Return copies of the given inputs, the floating-point ones in float64."""
        return {name: copied(in_double(value)) for name, value in self.given.items()}

    def _error_at(self, shapes: Shapes) -> str | None:
        """Return what the code raises with inputs of other shapes, empty if nothing; `None` where forward raises."""
        try:
            call = self.call(self._resized(shapes))
        except Exception:
            return None
        return self.code.observe(call, at_other_sizes=True).error

    def _outputs(self, inputs: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            return outputs_of(self.forward(**{name: copied(value) for name, value in inputs.items()}))

    def _resized(self, shapes: Shapes) -> dict[str, Any]:
        return resized(self.given, shapes, self.rng)


def marked(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs that ask for a gradient."""
    return tuple(name for name in floating(given) if given[name].requires_grad)
