"""An exercise made of a forward pass and the inputs of one call, with samplers that draw other values like these.

Of what kind the given values are (indices, masks, rows that sum to 1, ...), their numbers alone must show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer, Exercise
from grader.course.sampling import Array, Marker, Sampler, output, upstream
from grader.course.shapes import Axes
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND, Setting

from .forward_pass import in_double, join_outputs, outputs_of

Shape = tuple[int, ...]
GIVEN_KIND = "the given inputs"
KEPT_KIND = "other values of what is judged"
SAME_MARKS_KIND = "other values with the same indices and masks"
SUMS_TO_ONE = 1e-4


def exercise_of(
    forward: Callable[..., Any],
    inputs: Mapping[str, Any],
    axes: Mapping[str, Axes],
    answers: tuple[str, ...],
    upstream_name: str,
    *,
    measured: bool = False,
) -> Exercise:
    """Return the forward pass as an exercise; several outputs, and their upstream gradients, become one long vector.

    Args:
        forward: the forward pass, called with the inputs by name.
        inputs: the inputs of the caller, which the samplers draw values like.
        axes: the axis names of each tensor among the inputs.
        answers: the inputs whose gradients are judged.
        upstream_name: what the author of the code calls the upstream gradient.
        measured: whether the gradient is to be measured, so that torch keeps no graph of the forward pass, and what it
            detaches is not held constant.
    """

    def one_output(**given: Any) -> torch.Tensor:
        """Run the forward pass, and return all its floating-point outputs as one tensor."""
        if measured:
            with _without_graph():
                return join_outputs(outputs_of(forward(**given)))
        out = join_outputs(outputs_of(forward(**given)))
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
    return Exercise(
        "A backward pass", one_output, {**markers, **samplers}, tuple(Answer(name, name) for name in answers)
    )


@contextmanager
def _without_graph() -> Iterator[None]:
    """Let torch keep no graph inside the block, without a call of `torch.no_grad()` that a recorder would see.

    A recorder of the forward pass would take such a call for one that the author of the forward pass makes.
    """

    def switch(enabled: bool) -> None:
        """Switch the graph on or off, unseen by any `TorchFunctionMode`."""
        with torch._C.DisableTorchFunction():
            torch._C._set_grad_enabled(enabled)

    before = torch.is_grad_enabled()
    switch(False)
    try:
        yield
    finally:
        switch(before)


def resize(inputs: Mapping[str, Any], shapes: Mapping[str, Shape], rng: np.random.Generator) -> dict[str, Any]:
    """Return the inputs by name, with those tensors drawn anew by `redraw` that have another shape in `shapes`."""
    changed = dict(inputs)
    for name, shape in shapes.items():
        if tuple(inputs[name].shape) != shape:
            array = Array(redraw(_numbers(inputs[name]), shape, rng), ())
            changed[name] = tensor_of(array, inputs[name])
    return changed


def tensor_of(array: Array, like: torch.Tensor) -> torch.Tensor:
    """Return a copy of an array as a tensor, with the dtype and on the device of `like`."""
    return torch.from_numpy(array.values.copy()).to(like.device, like.dtype)


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    """Return the entries of a tensor as an array of its shape."""
    return tensor.detach().cpu().numpy()


def _sampler_like(value: Any, axes: Axes, *, judged: bool) -> Sampler:
    """Return a sampler that draws the given value in trials of the given inputs, and values like it in others.

    Args:
        value: the input of the caller.
        axes: its axis names.
        judged: whether its gradient is judged; an input that is not may be a table that has to stay as it is.
    """
    if not isinstance(value, torch.Tensor):
        return _sampler_like_plain(value)

    def draw(rng: np.random.Generator, setting: Setting, shape: Shape) -> Any:
        """Return the given values, or values redrawn like them, shaped `shape`."""
        values = _numbers(value)
        is_kept = (
            setting.kind == GIVEN_KIND
            or (setting.kind == SAME_MARKS_KIND and not value.is_floating_point())
            or (setting.kind in (KEPT_KIND, LARGE_UPSTREAM_KIND) and value.is_floating_point() and not judged)
        )
        drawn = values.copy() if is_kept else redraw(values, shape, rng)
        return drawn if axes else Array(drawn, ())

    return Sampler(" ".join(axes), draw, differentiable=value.is_floating_point())


def _sampler_like_plain(value: Any) -> Sampler:
    """Return a sampler for an input that is no tensor.

    It draws a float between 0.8 and 1 times the given one, so that a probability remains one. Anything else, and the
    float in trials of the given inputs, is returned unchanged, but with tensors inside it in float64.
    """

    def draw(rng: np.random.Generator, setting: Setting, _: Shape) -> Any:
        """Return the given value, or a float somewhat nearer to 0."""
        is_kept = type(value) is not float or setting.kind == GIVEN_KIND
        return in_double(value) if is_kept else float(value * rng.uniform(0.8, 1))

    return Sampler("", draw, withheld=isinstance(value, (tuple, list, dict)))


def _requires_grad(value: Any) -> bool:
    """Return whether a value is a tensor that requires a gradient."""
    return isinstance(value, torch.Tensor) and value.requires_grad


# --- other values of the same kind ---------------------------------------------------------------------------------


def redraw(values: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return other values of the same kind and dtype as the given ones.

    Indices stay between the least and the greatest given, and sorted if they are; a permutation stays one, and so do
    rows of permutations. Masks, and other arrays of two values, keep the proportion of these. Rows that sum to 1 do so
    again, a symmetric matrix is one again, and other numbers stay in their range, so that what is positive remains
    positive. Equal floats are multiplied by numbers from 0.5 to 1.5, or drawn around 0 if they are 0. All else, such as
    floats that are not all finite, are the given values in another order.

    Args:
        values: the given values, of any shape.
        shape: the shape of the new values.
        rng: draws them.
    """
    if not values.size:
        return np.zeros(shape, values.dtype)
    low, high, count = values.min(), values.max(), int(np.prod(shape))
    are_two = low != high and bool(((values == low) | (values == high)).all())  # np.unique would sort them
    if values.dtype.kind in "iu" and _has_rows_of_permutations(values) and len(shape) == values.ndim:
        drawn = rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)
    elif values.dtype.kind in "iu":
        drawn = _indices(values.ravel(), np.unique(values), count, rng)
    elif low == high and values.dtype.kind == "f" and np.isfinite(low):
        drawn = rng.uniform(0.5, 1.5, count) * low if low else 0.5 * rng.standard_normal(count)
    elif (
        is_symmetric(values)
        and shape[-1:] == shape[-2:-1]
        and ((low != high and not are_two) or _is_positive_definite(values))
    ):
        drawn = _symmetric(values, shape, rng)
    elif _sums_to_one(values) and len(shape) == values.ndim:
        drawn = _rows_of_sum_one(shape, one_hot=are_two, rng=rng)
    elif are_two and values.size > 2:
        drawn = np.where(_mask(values == high, shape, rng), high, low)
    elif values.dtype.kind == "f" and np.isfinite(values).all():
        drawn = rng.uniform(low, high, count)
    else:
        drawn = rng.permutation(np.resize(values.ravel(), count))
    return drawn.reshape(shape).astype(values.dtype)


def is_symmetric(values: np.ndarray) -> bool:
    """Return whether an array is a symmetric matrix, or a batch of symmetric matrices, of at least two rows."""
    is_square = values.ndim > 1 and values.shape[-1] == values.shape[-2] > 1
    return is_square and bool(np.array_equal(values, values.swapaxes(-1, -2)))


def _has_rows_of_permutations(values: np.ndarray) -> bool:
    """Return whether several rows, which lie along the last axis, each have the indices 0 to n - 1, but not in order.

    Such as the orders by which each row of scores is ranked.
    """
    rows = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else np.zeros((0, 0))
    in_order = np.arange(rows.shape[1])
    return len(rows) > 1 and bool((np.sort(rows) == in_order).all()) and not bool((rows == in_order).all())


def _indices(given: np.ndarray, unique: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return integers in the range of the given ones; shape: `(count,)`.

    They are sorted if the given ones are, and have more than two distinct values; two or more then begin with the least
    given one and end with the greatest. Else they are a permutation of the given ones if these are distinct and `count`
    many; else any from the least to the greatest.

    Args:
        given: shape: `(n,)`.
        unique: the sorted distinct values among them.
        count: how many to draw.
        rng: draws them.
    """
    if len(unique) > 2 and (np.diff(given) >= 0).all():
        between = rng.integers(unique[0], unique[-1], max(count - 2, 0), endpoint=True)
        return np.concatenate([unique[:1], np.sort(between), unique[-1:]])[-count:]
    if len(unique) == given.size == count:
        return rng.permutation(given)
    return rng.integers(unique[0], unique[-1], count, endpoint=True)


def _mask(given: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of this shape with about the same proportion of True as the given one.

    If every row of the given mask has a True, so has every row of the new one; likewise with False.

    Args:
        given: the given mask.
        shape: the shape of the new one.
        rng: draws it.
    """
    mask = rng.permutation(np.resize(given.ravel(), int(np.prod(shape)))).reshape(shape)
    if shape and shape[-1] > 1 and given.ndim:
        for value in (False, True):
            if (given == value).any(-1).all():
                lacking = (mask != value).all(-1)
                places = np.eye(shape[-1], dtype=bool)[rng.integers(shape[-1], size=shape[:-1])]
                mask = np.where(lacking[..., None] & places, value, mask)
    return mask


def _symmetric(values: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return random symmetric matrices of this shape with entries in the range of `values`.

    Where `values`, symmetric matrices, are positive definite, these are as well, and their entries may leave the range.
    """
    drawn = rng.uniform(values.min(), values.max(), shape)
    if _is_positive_definite(values):
        least = float(np.linalg.eigvalsh(values).min())
        drawn = drawn @ drawn.swapaxes(-1, -2) / float(np.abs(values).max()) + least * np.eye(shape[-1])
    return np.asarray((drawn + drawn.swapaxes(-1, -2)) / 2)


def _is_positive_definite(values: np.ndarray) -> bool:
    """Return whether all of some symmetric matrices are floating-point and positive definite."""
    return values.dtype.kind == "f" and bool((np.linalg.eigvalsh(values) > 0).all())


def _sums_to_one(values: np.ndarray) -> bool:
    """Return whether the entries along the last axis are not negative and sum to 1."""
    is_row = values.ndim > 0 and values.shape[-1] > 1 and bool((values >= 0).all())
    return is_row and bool(np.allclose(values.sum(-1), 1, atol=SUMS_TO_ONE))


def _rows_of_sum_one(shape: Shape, *, one_hot: bool, rng: np.random.Generator) -> np.ndarray:
    """Return an array of this shape whose last axis sums to 1: one-hot rows, or random probabilities."""
    if one_hot:
        return np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])
