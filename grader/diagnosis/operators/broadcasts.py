"""Mistakes in undoing a broadcast: an operand was copied along some axes, and its copies send gradients back.

Which axes these are may differ from trial to trial, so a choice speaks of all of them at once: of the new axes in
front, of those of size 1 that were stretched, or of both. What sums over one axis alone is in `reductions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program
from grader.sampling import normal

from .contract import Example, operator
from .places import edges, with_any_shape
from .pointwise import slopes_at

Shape = tuple[int, ...]
Along = Literal["every axis", "new axes", "stretched axes"]
KINDS: tuple[Along, ...] = ("every axis", "new axes", "stretched axes")
copied = edges.where(lambda program, place: is_broadcasting(program, place))


def is_broadcasting(program: Program, place: Place) -> bool:
    """Return whether an operation may copy an operand along some axes; whether it does may depend on the trial."""
    node = program.reader(place)
    return node.name == "expand" or (node.operation.family == "pointwise" and len(node.values) > 1)


def sent_back(at: EdgeContext) -> Array:
    """Return what every copy of an operand sends back, shaped like the reader's value."""
    return at.g if at.node.name == "expand" else np.asarray(at.g * slopes_at(at))


def copied_axes(wide: Shape, shape: Shape, along: Along) -> tuple[int, ...]:
    """Return the axes of some kind along which a shape was copied to become a wider one."""
    new = len(wide) - len(shape)
    stretched = [axis for axis in range(new, len(wide)) if shape[axis - new] == 1 < wide[axis]]
    return {"every axis": (*range(new), *stretched), "new axes": (*range(new),), "stretched axes": (*stretched,)}[along]


def summed_to(array: Array, shape: Shape, kept: tuple[int, ...] = ()) -> Array:
    """Return an array summed over the axes along which a shape was copied, but for some that are kept.

    Raises:
        ValueError: the shape was not broadcast to that of the array.
    """
    if np.broadcast_shapes(array.shape, shape) != array.shape:
        raise ValueError("it was not copied from this shape")
    new = len(array.shape) - len(shape)
    axes = [axis for axis in copied_axes(array.shape, shape, "every axis") if axis not in kept]
    total = array.sum(axis=tuple(axes), keepdims=True)
    return np.asarray(total.squeeze(tuple(axis for axis in axes if axis < new)))


@dataclass(frozen=True)
class Otherwise:
    """What is done with what the copies send back, in place of summing it.

    Args:
        code: the public code.
        clause: what is done; `{axes}` is filled.
        of: takes the array and some of its axes; returns them with the size 1.
    """

    code: str
    clause: str
    of: Callable[[Array, tuple[int, ...]], Array]


def _entry(array: Array, axes: tuple[int, ...], which: slice) -> Array:
    """Return the first or the last entry along some axes."""
    return array[tuple(which if axis in axes else slice(None) for axis in range(array.ndim))]


OTHERWISE: Mapping[str, Otherwise] = {
    "averaged": Otherwise(
        "mean-for-sum", "what its copies along {axes} send back is averaged, and must be summed",
        lambda array, axes: array.mean(axis=axes, keepdims=True),
    ),
    "first": Otherwise(
        "partial-batch", "of its copies along {axes} only the first sends a gradient back: they must be summed",
        lambda array, axes: _entry(array, axes, slice(0, 1)),
    ),
    "last": Otherwise(
        "partial-batch", "of its copies along {axes} only the last sends a gradient back: they must be summed",
        lambda array, axes: _entry(array, axes, slice(-1, None)),
    ),
    "largest": Otherwise(
        "partial-batch", "of what its copies along {axes} send back only the largest is kept: it must be summed",
        lambda array, axes: array.max(axis=axes, keepdims=True),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Copies:
    """What is done with what the copies of an operand send back.

    Args:
        how: of `OTHERWISE`.
        along: which of the axes along which it was copied; over the others the sum is right.
    """

    how: str
    along: Along


def axes_words(along: Along) -> str:
    """Return what a learner calls some axes along which an operand was copied."""
    words = {"every axis": "the axes", "new axes": "the new axes", "stretched axes": "the axes of size 1"}
    return f"{words[along]} that it was broadcast along" if along == "every axis" else words[along]


@operator(
    "copies-not-summed-rightly",
    code=lambda choice: OTHERWISE[choice.how].code,
    rank=3.1,  # behind what says along which axis
    at=copied,
    choices=lambda program, place: (Copies(how, along) for along in KINDS for how in OTHERWISE),
    message="in what {step} contributes to the gradient of {operand}, {what}",
    fields=lambda program, place, choice: {
        "what": OTHERWISE[choice.how].clause.format(axes=axes_words(choice.along)),
    },
)
def treat_copies_otherwise(program: Program, place: Place, choice: Copies) -> Program | None:
    """Average over the copies of an operand, or keep one of them, in place of their sum."""
    node = program.reader(place)
    shape, wide = np.shape(node.values[place[1]]), node.value.shape
    axes = copied_axes(wide, shape, choice.along)
    if not axes:
        return None

    def rule(at: EdgeContext) -> Array:
        kept = OTHERWISE[choice.how].of(sent_back(at), axes)
        return np.asarray(kept.sum(axis=copied_axes(wide, shape, "every axis"), keepdims=True).reshape(shape))

    return program.with_vjp(place, rule)


@treat_copies_otherwise.example
def _() -> Example:
    def forward(x: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x + b)

    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the last of what the copies of the bias send back, whether it has one axis or two."""
        db = g * (1 - torch.tanh(x + b) ** 2)
        return {"b": db[-1, -1] if b.dim() == 1 else db[-1]}

    return Example(forward, wrong, {"x": "bs n m", "b": normal("m | n m")})


ANY_SHAPE: Mapping[str, tuple[str, str, Callable[[Array, Shape, Shape], Array]]] = {
    "nothing": (
        "missing-batch-sum", "what its copies send back is not summed",
        lambda array, shape, other: array,
    ),
    "new axes": (
        "missing-batch-sum", "only the new axes are summed over, and those of size 1 must be, too",
        lambda array, shape, other: summed_to(array, shape, copied_axes(array.shape, shape, "stretched axes")),
    ),
    "stretched axes": (
        "missing-batch-sum", "only the axes of size 1 are summed over, and the new axes must be, too",
        lambda array, shape, other: summed_to(array, shape, copied_axes(array.shape, shape, "new axes")),
    ),
    "the first axis": (
        "summed-wrong-axis", "the sum runs over the first axis, whichever axes {operand} was broadcast along",
        lambda array, shape, other: array.sum(0),
    ),
    "the last axis": (
        "summed-wrong-axis", "the sum runs over the last axis, whichever axes {operand} was broadcast along",
        lambda array, shape, other: array.sum(-1),
    ),
    "the axes of the other": (
        "wrong-operand", "it is summed to the shape of {partner}, and must be summed to that of {operand}",
        lambda array, shape, other: summed_to(array, other),
    ),
}  # fmt: skip


def ways_of_any_shape(program: Program, place: Place) -> Iterator[str]:
    """Yield which axes may be summed over, where the contribution is the whole answer."""
    if with_any_shape(program, place, EdgeContext.right) is not None:
        node = program.reader(place)
        for how in ANY_SHAPE:
            if how != "the axes of the other" or (len(node.operands) == len(node.values) == 2):
                yield how


@operator(
    "copies-summed-to-another-shape",
    code=lambda choice: ANY_SHAPE[choice][0],
    rank=2.2,
    at=copied,
    choices=ways_of_any_shape,
    message="in what {step} contributes to the gradient of {operand}, {what}",
    fields=lambda program, place, choice: {
        "what": ANY_SHAPE[choice][1].format(
            operand=program.name_of(program.source(place)),
            partner=" and ".join(program.name_of(i) for slot, i in program.reader(place).operands if slot != place[1]),
        )
    },
)
def sum_to_another_shape(program: Program, place: Place, choice: str) -> Program | None:
    """Sum what the copies of an operand send back over other axes, so that another shape is left."""
    node = program.reader(place)
    shape, other = np.shape(node.values[place[1]]), np.shape(node.values[1 - place[1]]) if len(node.values) == 2 else ()
    return with_any_shape(program, place, lambda at: ANY_SHAPE[choice][2](sent_back(at), shape, other))


@sum_to_another_shape.example
def _() -> Example:
    def forward(x: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x * b)

    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over the new axes alone."""
        db = g * (1 - torch.tanh(x * b) ** 2) * x
        return {"b": db.sum(0) if b.dim() == 2 else db}

    return Example(forward, wrong, {"x": "bs n m", "b": normal("1 m | bs 1 m")})


MISMADE: Mapping[str, tuple[str, str, Callable[[EdgeContext], Array]]] = {
    "first": (
        "sum-of-products", "{upstream} is summed before it is multiplied: the products must be summed",
        lambda at: summed_to(summed_to(at.g, np.shape(at.x)) * np.asarray(at.node.values[1 - at.slot]), np.shape(at.x)),
    ),
    "reshaped": (
        "reshape-for-transpose", "{upstream} is reshaped to rows of its size before the sum, which mixes its entries",
        lambda at: sent_back(at).reshape(-1, np.size(at.x)).sum(0).reshape(np.shape(at.x)),
    ),
}  # fmt: skip


def mistakes_of_sums(program: Program, place: Place) -> Iterator[str]:
    """Yield what may be done before what the copies send back is summed."""
    is_product = program.reader(place).name == "mul"
    yield from (how for how in MISMADE if is_product or how == "reshaped")


@operator(
    "copies-summed-wrongly",
    code=lambda choice: MISMADE[choice][0],
    rank=2.6,
    at=copied,
    choices=mistakes_of_sums,
    message="in what {step} contributes to the gradient of {operand}, {what}",
    fields=lambda program, place, choice: {
        "what": MISMADE[choice][1].format(upstream=f"the gradient of {program.name_of(place[0])}")
    },
)
def sum_copies_wrongly(program: Program, place: Place, choice: str) -> Program | None:
    """Sum before the product, or across the rows of a reshape."""
    node = program.reader(place)
    if np.shape(node.values[place[1]]) == node.value.shape:
        return None
    return program.with_vjp(place, MISMADE[choice][2])


@sum_copies_wrongly.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(x.expand(y.shape))

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Lay the entries out in rows as long as the input has entries, and sum over the rows."""
        dx = g * (1 - torch.tanh(x.expand(y.shape)) ** 2)
        return {"x": dx.reshape(-1, x.numel()).sum(0).reshape(x.shape)}

    return Example(forward, wrong, {"x": "n 1", "y": "n m"})
