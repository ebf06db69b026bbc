"""An exercise made of a forward pass and the inputs of one call, and further inputs like those."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer, Exercise
from grader.course.sampling import Array, Marker, Sampler, output, upstream
from grader.course.shapes import Axes
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND, Setting

from .redrawing import redrawn

GIVEN_KIND = "the given inputs"
KEPT_KIND = "other values of what is judged"
SAME_MARKS_KIND = "other values with the same indices and masks"


def floating(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs that have a gradient."""
    return tuple(name for name, value in inputs.items() if is_floating(value))


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def outputs_of(result: Any, who: str = "forward") -> tuple[torch.Tensor, ...]:
    """Return the floating-point outputs among those that a forward pass returned.

    Args:
        result: what it returned.
        who: its name in messages.

    Raises:
        TypeError: the result is not a tensor, nor a tuple or list of tensors; none is floating-point; one is complex.
    """
    several = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    for one in several:
        if not isinstance(one, torch.Tensor):
            raise TypeError(f"{who} must return a tensor or a tuple of tensors; it returns {_a(one)}")
    found = tuple(one for one in several if one.is_floating_point())
    if any(one.is_complex() for one in several):
        raise TypeError(
            f"{who} returns a complex tensor: let it return its real and imaginary parts, by torch.view_as_real"
        )
    if not found:
        raise TypeError(f"{who} must return a floating-point tensor: of {several[0].dtype} there is no gradient")
    return found


def joined(arrays: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """One tensor with all the entries of several; a single one as it is."""
    if len(arrays) == 1:
        return arrays[0]
    return torch.cat([_flatten(place)(one) for place, one in enumerate(arrays)])


@cache
def _flatten(place: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Flattens an output, on a line of its own: to the trace, steps of one line are the turns of a loop."""
    return eval(compile("lambda one: one.reshape(-1)", f"<output {place}>", "eval"))  # type: ignore[no-any-return]


def exercise_of(
    forward: Callable[..., Any], inputs: Mapping[str, Any], axes: Mapping[str, Axes], answers: tuple[str, ...],
    upstream_name: str, *, measured: bool = False,
) -> Exercise:  # fmt: skip
    """Return the forward pass as an exercise; several outputs, and their upstream gradients, become one long vector.

    Args:
        axes: the axis names of each tensor among the inputs.
        answers: the inputs whose gradients are judged.
        upstream_name: what the author of the code calls the upstream gradient.
        measured: whether the gradient is to be measured, so that torch keeps no graph of the forward pass, and what it
            detaches is not held constant.
    """

    def one_output(**given: Any) -> torch.Tensor:
        """Run the forward pass, and return all its floating-point outputs as one tensor."""
        if measured:
            with torch.no_grad():
                return joined(outputs_of(forward(**given)))
        out = joined(outputs_of(forward(**given)))
        if out.requires_grad and not any(map(_requires_grad, given.values())):
            with torch.no_grad():  # it closes over parameters: this is nothing that forward itself detaches
                return out.detach()
        return out

    names = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in inputs]
    one_output.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    samplers: dict[str, Sampler | Marker] = {
        name: _sampler_like(value, axes.get(name, ()), judged=name in answers) for name, value in inputs.items()
    }
    free = next(name for name in ("out", "output", "result", "_out") if name not in inputs)
    markers = {free: output(), **({upstream_name: upstream()} if upstream_name not in inputs else {})}
    asked = tuple(Answer(name, name) for name in answers)
    return Exercise("A backward pass", one_output, {**markers, **samplers}, asked)


def tensor_of(array: Array, like: torch.Tensor) -> torch.Tensor:
    """The array as a tensor of its own, with the dtype and on the device of `like`."""
    return torch.from_numpy(array.values.copy()).to(like.device, like.dtype)


def in_double(value: Any) -> Any:
    """A floating-point tensor in float64, in lists, tuples and dicts too; anything else as it is."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(in_double, value))
    if isinstance(value, dict):
        return {key: in_double(one) for key, one in value.items()}
    return value.detach().double() if is_floating(value) else value


def resized(
    inputs: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator
) -> dict[str, Any]:
    """The same inputs, those tensors that get another shape drawn anew."""
    found = dict(inputs)
    for name, shape in shapes.items():
        if tuple(inputs[name].shape) != shape:
            array = Array(redrawn(values_of(inputs[name]), shape, rng), ())
            found[name] = tensor_of(array, inputs[name])
    return found


def values_of(tensor: torch.Tensor) -> np.ndarray:
    """The numbers of a tensor."""
    return tensor.detach().cpu().numpy()


def _sampler_like(value: Any, axes: Axes, *, judged: bool) -> Sampler:
    """Return a sampler that draws the given value in trials of the given inputs, and values like it in others.

    Args:
        judged: whether its gradient is judged; an input that is not may be a table that has to stay as it is.
    """
    if not isinstance(value, torch.Tensor):
        return _like_plain(value)

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> Any:
        """Return the given values, or values redrawn like them, shaped `shape`."""
        values = values_of(value)
        kept = (
            setting.kind == GIVEN_KIND
            or (setting.kind == SAME_MARKS_KIND and not value.is_floating_point())
            or (setting.kind in (KEPT_KIND, LARGE_UPSTREAM_KIND) and value.is_floating_point() and not judged)
        )
        found = values.copy() if kept else redrawn(values, shape, rng)
        return found if axes else Array(found, ())

    return Sampler(" ".join(axes), draw, differentiable=value.is_floating_point())


def _like_plain(value: Any) -> Sampler:
    """Draws a float near the given one, never past it, so that a share remains one; anything else stays as it is."""

    def draw(rng: np.random.Generator, setting: Setting, _: tuple[int, ...]) -> Any:
        same = type(value) is not float or setting.kind == GIVEN_KIND
        return in_double(value) if same else float(value * rng.uniform(0.8, 1))

    return Sampler("", draw, withheld=isinstance(value, (tuple, list, dict)))


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _a(value: Any) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
