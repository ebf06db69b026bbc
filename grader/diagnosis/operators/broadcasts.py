"""Mistakes in undoing a broadcast: the contributions of an operand's copies are not summed, or summed wrongly.

Which axes it was broadcast along may differ from trial to trial, so a choice speaks of all of them at once: of the new
axes in front, of those of size 1 that were stretched, or of both. What sums over one axis alone is in `reductions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, positive
from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program

from .contract import Example, operator
from .places import edges, with_gradient_of_any_shape
from .pointwise import local_derivative_at

Shape = tuple[int, ...]
Along = Literal["every axis", "new axes", "stretched axes"]
AXES_KINDS: tuple[Along, ...] = ("every axis", "new axes", "stretched axes")
broadcast_edges = edges.where(lambda program, place: may_broadcast(program, place))


def may_broadcast(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` may broadcast its operand.

    True for an `expand`, and for a pointwise operation of two operands or more. In some trials the shapes may be equal,
    so that nothing is broadcast.
    """
    node = program.reader(place)
    return node.name == "expand" or (node.operation.family == "pointwise" and len(node.values) > 1)


def contributions_of_copies(at: EdgeContext) -> Array:
    """Return the contribution of every copy of a broadcast operand, before the sum over copies.

    For the edge `at` of b in `x + b` it is g, for that in `x * b` it is g * x. The shape is that of the reader's value.
    """
    return at.g if at.node.name == "expand" else np.asarray(at.g * local_derivative_at(at))


def broadcast_axes(wide: Shape, shape: Shape, along: Along) -> tuple[int, ...]:
    """Return the axes along which an array of one shape was copied when it was broadcast to a wider shape.

    From (1, 3) to (5, 4, 3) they are 0 and 1: axis 0 is new, axis 1 is stretched.

    Args:
        wide: the shape after the broadcast.
        shape: the shape before.
        along: which of these axes: `"new axes"`, those in front; `"stretched axes"`, those that had size 1; `"every
            axis"`, both.

    Returns:
        The axes of the wide shape, counted from the front.
    """
    new = len(wide) - len(shape)
    stretched = [axis for axis in range(new, len(wide)) if shape[axis - new] == 1 < wide[axis]]
    return {"every axis": (*range(new), *stretched), "new axes": (*range(new),), "stretched axes": (*stretched,)}[along]


def sum_to_shape(array: Array, shape: Shape, kept: tuple[int, ...] = ()) -> Array:
    """Return an array summed over the axes along which an operand was broadcast to the shape of the array.

    For an array of shape (5, 4, 3) and an operand of shape (1, 3): `array.sum((0, 1))[None]`, of shape (1, 3).

    Args:
        array: of the shape after the broadcast.
        shape: the operand's, before the broadcast.
        kept: axes of the array that are not summed over.

    Returns:
        The sum; of the given shape where `kept` is empty.

    Raises:
        ValueError: an array of the given shape does not broadcast to that of `array`.
    """
    if np.broadcast_shapes(array.shape, shape) != array.shape:
        raise ValueError("it was not copied from this shape")
    new = len(array.shape) - len(shape)
    axes = [axis for axis in broadcast_axes(array.shape, shape, "every axis") if axis not in kept]
    total = array.sum(axis=tuple(axes), keepdims=True)
    return np.asarray(total.squeeze(tuple(axis for axis in axes if axis < new)))


@dataclass(frozen=True)
class CopyReduction:
    """A wrong way to reduce the contributions of the copies of an operand, which must be summed.

    Args:
        code: the public code.
        clause: what is done, as a message says it.
        of: takes the contributions and the axes of the copies, from the front; returns them reduced to size 1 along
            these axes, such as their mean.
    """

    code: str
    clause: str
    of: Callable[[Array, tuple[int, ...]], Array]


def _slice_along(array: Array, axes: tuple[int, ...], which: slice) -> Array:
    """Return the entries of an array that one slice selects along each of the given axes; the number of axes stays.

    `_slice_along(x, (0, 1), slice(0, 1))` is x[:1, :1].

    Args:
        array: any shape.
        axes: the axes, counted from the front.
        which: the slice.
    """
    return array[tuple(which if axis in axes else slice(None) for axis in range(array.ndim))]


def _last_nonzero(array: Array, axes: tuple[int, ...]) -> Array:
    """Return the last entry along some axes that is not 0, or 0 where all are; with size 1 along these axes.

    For [[1, 2], [0, 3]] and axis 0: [[1, 3]].

    Args:
        array: any shape.
        axes: the axes, counted from the front; several are gone through as one, in their order.
    """
    moved = np.moveaxis(array, axes, range(len(axes)))
    flat = moved.reshape(-1, *moved.shape[len(axes) :])
    last = len(flat) - 1 - (flat[::-1] != 0).argmax(0)
    return np.expand_dims(np.take_along_axis(flat, last[None], 0)[0], axes)


COPY_REDUCTIONS: Mapping[str, CopyReduction] = {
    "averaged": CopyReduction(
        "mean-for-sum", "the gradients of its copies are averaged; they must be summed",
        lambda array, axes: array.mean(axis=axes, keepdims=True),
    ),
    "first": CopyReduction(
        "partial-batch",
        "only the gradient of its first copy is used; the gradients of all copies must be summed",
        lambda array, axes: _slice_along(array, axes, slice(0, 1)),
    ),
    "last": CopyReduction(
        "partial-batch",
        "only the gradient of its last copy is used; the gradients of all copies must be summed",
        lambda array, axes: _slice_along(array, axes, slice(-1, None)),
    ),
    "largest": CopyReduction(
        "partial-batch",
        "only the largest gradient of its copies is kept; the gradients of all copies must be summed",
        lambda array, axes: array.max(axis=axes, keepdims=True),
    ),
    "overwritten": CopyReduction(
        "overwritten",
        "only the last nonzero gradient of its copies is kept; the gradients of all copies must be summed",
        lambda array, axes: _last_nonzero(array, axes),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ReducedCopies:
    """A choice of how the contributions of the copies of an operand are reduced, and along which axes.

    Args:
        how: the wrong reduction, a key of `COPY_REDUCTIONS`.
        along: the axes of the copies where it is used; over the remaining axes of the copies the sum is right.
    """

    how: str
    along: Along


def describe_broadcast_axes(along: Along) -> str:
    """Return a phrase that says which axes of a broadcast are meant, with a space in front.

    Args:
        along: which axes are meant.

    Returns:
        ` along the axes that it lacks` for the new axes in front, ` along its axes of size 1` for those that were
        stretched, and an empty text for all of these.
    """
    words = {"new axes": "the axes that it lacks", "stretched axes": "its axes of size 1"}
    return f" along {words[along]}" if along in words else ""


@operator(
    "copies-not-summed-rightly",
    code=lambda choice: COPY_REDUCTIONS[choice.how].code,
    rank=3.1,  # behind what says along which axis
    at=broadcast_edges,
    choices=lambda program, place: (ReducedCopies(how, along) for along in AXES_KINDS for how in COPY_REDUCTIONS),
    message="{operand} is broadcast{axes} in {step}, but {what}",
    fields=lambda program, place, choice: {
        "axes": describe_broadcast_axes(choice.along),
        "what": COPY_REDUCTIONS[choice.how].clause,
    },
)
def reduce_copies_wrongly(program: Program, place: Place, choice: ReducedCopies) -> Program | None:
    """Average the contributions of the copies of a broadcast operand, or keep one of them, in place of their sum.

    For b of shape (m,) in `x + b`, x of shape (n, m), and `ReducedCopies("last", "every axis")`: g[-1] in place of
    g.sum(0).

    Args:
        program: the right program.
        place: the edge (broadcasting operation, slot of the operand).
        choice: how they are reduced: `"averaged"`, or which is kept: the `"first"`, the `"last"`, the `"largest"`, or,
            for `"overwritten"`, the last that is not 0; and along which axes: `"every axis"`, the `"new axes"` that the
            operand has not, or its `"stretched axes"` of size 1. Along the others they are summed.

    Returns:
        The rewritten program; `None` where the operand is not broadcast along such axes in this trial.
    """
    node = program.reader(place)
    shape, wide = np.shape(node.values[place[1]]), node.value.shape
    axes = broadcast_axes(wide, shape, choice.along)
    if not axes:
        return None

    def rule(at: EdgeContext) -> Array:
        kept = COPY_REDUCTIONS[choice.how].of(contributions_of_copies(at), axes)
        return np.asarray(kept.sum(axis=broadcast_axes(wide, shape, "every axis"), keepdims=True).reshape(shape))

    return program.with_vjp(place, rule)


@reduce_copies_wrongly.example
def _() -> Example:
    """Show tanh(x + b) whose gradient of b is the contribution of the last copy of b alone."""

    def forward(x: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x + b)

    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the contribution of the last copy of b in place of the sum over all copies."""
        db = g * (1 - torch.tanh(x + b) ** 2)
        return {"b": db[-1, -1] if b.dim() == 1 else db[-1]}

    return Example(forward, wrong, {"x": "bs n m", "b": normal("m | n m")})


@reduce_copies_wrongly.example
def _() -> Example:
    """Show (h[None] * seen[:, :, None]).amax(1)**2 whose gradient is assigned, not added, to the greatest entries."""

    def forward(h: Tensor, seen: Tensor) -> Tensor:
        return (h.unsqueeze(0) * seen.unsqueeze(2)).amax(1).square()

    def wrong(h: Tensor, seen: Tensor, g: Tensor) -> dict[str, Tensor]:
        y, winner = (h.unsqueeze(0) * seen.unsqueeze(2)).max(1)
        dh = torch.zeros_like(h)
        for i in range(len(y)):
            kept = seen[i, winner[i]]
            dh.scatter_(0, winner[i][None], (g[i] * 2 * y[i] * kept)[None])
        return {"h": dh}

    return Example(forward, wrong, {"h": "n m", "seen": positive("n n")})


WRONG_SHAPES: Mapping[str, tuple[str, str, Callable[[Array, Shape, Shape], Array]]] = {
    "nothing": (
        "missing-batch-sum", "the gradients of the copies of {operand} are not summed",
        lambda array, shape, other: array,
    ),
    "new axes": (
        "missing-batch-sum", "the sum runs only over the axes that {operand} lacks; it must also run over those along"
        " which {operand} has size 1",
        lambda array, shape, other: sum_to_shape(array, shape, broadcast_axes(array.shape, shape, "stretched axes")),
    ),
    "stretched axes": (
        "missing-batch-sum", "the sum runs only over the axes along which {operand} has size 1; it must also run over"
        " those that {operand} lacks",
        lambda array, shape, other: sum_to_shape(array, shape, broadcast_axes(array.shape, shape, "new axes")),
    ),
    "the first axis": (
        "summed-wrong-axis", "the sum always runs over the first axis; it must run over the axes along which"
        " {operand} is broadcast",
        lambda array, shape, other: array.sum(0),
    ),
    "the last axis": (
        "summed-wrong-axis", "the sum always runs over the last axis; it must run over the axes along which"
        " {operand} is broadcast",
        lambda array, shape, other: array.sum(-1),
    ),
    "the axes of the other": (
        "wrong-operand", "the upstream gradient is summed to the shape of {partner}; it must be summed to that of"
        " {operand}",
        lambda array, shape, other: sum_to_shape(array, other),
    ),
}  # fmt: skip


def wrong_shapes(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `WRONG_SHAPES`: the wrong axes over which the contributions of the copies are summed.

    "nothing", "new axes" alone, "stretched axes" alone, "the first axis", "the last axis", or "the axes of the other",
    those along which the partner operand was broadcast, which comes only where the reader has two operands, neither of
    them a constant. Such a sum has a wrong shape, which only a whole gradient can have: nothing is yielded where the
    edge is not the only one to a target.

    Args:
        program: the program of a trial.
        place: the edge (broadcasting operation, slot of the operand).
    """
    if with_gradient_of_any_shape(program, place, EdgeContext.right) is not None:
        node = program.reader(place)
        for how in WRONG_SHAPES:
            if how != "the axes of the other" or (len(node.operands) == len(node.values) == 2):
                yield how


@operator(
    "copies-summed-to-another-shape",
    code=lambda choice: WRONG_SHAPES[choice][0],
    rank=2.2,
    at=broadcast_edges,
    choices=wrong_shapes,
    message="in the gradient of {operand} through {step}, {what}",
    fields=lambda program, place, choice: {
        "what": WRONG_SHAPES[choice][1].format(
            operand=program.name_of(program.source(place)),
            partner=" and ".join(program.name_of(i) for slot, i in program.reader(place).operands if slot != place[1]),
        )
    },
)
def sum_to_wrong_shape(program: Program, place: Place, choice: str) -> Program | None:
    """Sum the contributions of the copies of an operand over wrong axes, or not at all: the gradient has a wrong shape.

    For b of shape (1, m) in `x * b`, with x of shape (t, n, m), a sum over the new axis alone has the shape (n, m).

    Args:
        program: the right program.
        place: the edge (broadcasting operation, slot of the operand).
        choice: which sum, a key of `WRONG_SHAPES`: "new axes" in the example.

    Returns:
        The rewritten program; `None` where the edge is not the only one to a target.
    """
    node = program.reader(place)
    shape, other = np.shape(node.values[place[1]]), np.shape(node.values[1 - place[1]]) if len(node.values) == 2 else ()
    return with_gradient_of_any_shape(
        program, place, lambda at: WRONG_SHAPES[choice][2](contributions_of_copies(at), shape, other)
    )


@sum_to_wrong_shape.example
def _() -> Example:
    """Show tanh(x * b), b of shape (1, m) or (bs, 1, m), whose gradient of b is summed over new axes alone."""

    def forward(x: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x * b)

    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over the axes that b lacks, but not over its axes of size 1."""
        db = g * (1 - torch.tanh(x * b) ** 2) * x
        return {"b": db.sum(0) if b.dim() == 2 else db}

    return Example(forward, wrong, {"x": "bs n m", "b": normal("1 m | bs 1 m")})


WRONG_SUMS: Mapping[str, tuple[str, str, Callable[[EdgeContext], Array]]] = {
    "first": (
        "sum-of-products", "{upstream} is summed before it is multiplied; multiply first, then sum",
        lambda at: sum_to_shape(
            sum_to_shape(at.g, np.shape(at.x)) * np.asarray(at.node.values[1 - at.slot]), np.shape(at.x)),
    ),
    "reshaped": (
        "reshape-for-transpose", "{upstream} is reshaped into rows of as many entries as {operand} has, and then"
        " summed; that mixes up the entries",
        lambda at: contributions_of_copies(at).reshape(-1, np.size(at.x)).sum(0).reshape(np.shape(at.x)),
    ),
}  # fmt: skip


def wrong_sums(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `WRONG_SUMS`: "first", only where the reader is a product, and "reshaped".

    For b of shape (m,) in `x * b`, "first" is g.sum(0) * x, summed to the shape of b: g is summed before it is
    multiplied by the partner operand; "reshaped" is (g * x).reshape(-1, m).sum(0).

    Args:
        program: the program of a trial.
        place: the edge (broadcasting operation, slot of the operand).
    """
    is_product = program.reader(place).name == "mul"
    yield from (how for how in WRONG_SUMS if is_product or how == "reshaped")


@operator(
    "copies-summed-wrongly",
    code=lambda choice: WRONG_SUMS[choice][0],
    rank=2.6,
    at=broadcast_edges,
    choices=wrong_sums,
    message="in the gradient of {operand} through {step}, {what}",
    fields=lambda program, place, choice: {
        "what": WRONG_SUMS[choice][1].format(
            upstream=f"the gradient of {program.name_of(place[0])}", operand=program.name_of(program.source(place))
        )
    },
)
def sum_copies_wrongly(program: Program, place: Place, choice: str) -> Program | None:
    """Sum g before it is multiplied by the partner operand, or reshape the contributions before they are summed.

    For b of shape (m,) in `x * b`: g.sum(0) * x, summed to the shape of b, or (g * x).reshape(-1, m).sum(0).

    Args:
        program: the right program.
        place: the edge (broadcasting operation, slot of the operand).
        choice: which of the two, a key of `WRONG_SUMS`; the reshape makes rows with as many entries as the operand.

    Returns:
        The rewritten program; `None` where the operand is not broadcast in this trial.
    """
    node = program.reader(place)
    if np.shape(node.values[place[1]]) == node.value.shape:
        return None
    return program.with_vjp(place, WRONG_SUMS[choice][2])


@sum_copies_wrongly.example
def _() -> Example:
    """Show tanh(x.expand(n, m)), x of shape (n, 1), whose backward pass reshapes to rows of n entries, then sums."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(x.expand(y.shape))

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over the rows of dx.reshape(-1, n), n entries each, in place of summing each row of dx."""
        dx = g * (1 - torch.tanh(x.expand(y.shape)) ** 2)
        return {"x": dx.reshape(-1, x.numel()).sum(0).reshape(x.shape)}

    return Example(forward, wrong, {"x": "n 1", "y": "n m"})
