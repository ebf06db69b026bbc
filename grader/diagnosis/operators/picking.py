"""Mistakes in going back to the entries that an extreme, a sort or a selection of the greatest took."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from grader.program.arithmetic import axes_of
from grader.program.forward import Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program
from grader.sampling import mask, spaced

from .contract import Example, operator
from .places import edges

extremes = edges.of("max", "min", "amax", "amin")


def axes_of_extreme(node: Node) -> tuple[int, ...]:
    """Return the axes along which an extreme is taken."""
    dim = node.options.get("dim")
    return axes_of(np.asarray(node.values[0]), dim if isinstance(dim, int | tuple) else None)


def spread(node: Node, g: Array) -> Array:
    """Return what arrives at an extreme at every entry that took part; shape: that of the operand."""
    x = np.asarray(node.values[0])
    kept = [1 if axis in axes_of_extreme(node) else size for axis, size in enumerate(x.shape)]
    return np.broadcast_to(g.reshape(kept), x.shape)


def sole(ties: Array, node: Node, last: bool) -> Array:
    """Return of equal entries the first, or the last, along the axes of an extreme; a mask shaped like the operand."""
    axes = axes_of_extreme(node)
    lines = np.moveaxis(ties, axes, range(len(axes)))  # the axes of the extreme in front, and then as one
    flat = lines.reshape(-1, *lines.shape[len(axes) :])
    number = (len(flat) - 1 - flat[::-1].argmax(0)) if last else flat.argmax(0)
    chosen = np.arange(len(flat)).reshape(-1, *(1,) * (flat.ndim - 1)) == number
    return np.moveaxis(chosen.reshape(lines.shape), range(len(axes)), axes)


# Which of several equal entries get what arrives, by the extreme and these entries. Shape: that of the operand.
TIES: Mapping[str, Callable[[Node, Array], Array]] = {
    "to every one of them": lambda node, ties: ties,
    "to the first of them": lambda node, ties: sole(ties, node, last=False),
    "to the last of them": lambda node, ties: sole(ties, node, last=True),
    "in equal shares to all of them": lambda node, ties: ties / ties.sum(axes_of_extreme(node), keepdims=True),
}


@operator(
    "tied-entries-picked",
    code="wrong-local",
    rank=2.0,
    at=extremes,
    choices=lambda program, place: TIES,
    message="where several entries are the extreme that {step} takes, its gradient goes {choice}",
)
def pick_tied_entries(program: Program, place: Place, choice: str) -> Program | None:
    """Hand the gradient of an extreme to other ones of several equal entries."""

    def rule(at: EdgeContext) -> Array:
        ties = np.asarray(at.x) == spread(at.node, at.y)
        return np.asarray(spread(at.node, at.g) * TIES[choice](at.node, ties))

    return program.with_vjp(place, rule)


@pick_tied_entries.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x * w).amax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give all of it to each of several greatest entries."""
        y = x * w
        return {"x": g[:, None] * w * (y == y.amax(-1, keepdim=True))}

    return Example(forward, wrong, {"x": mask("bs n"), "w": "1"})


ORDERS: Mapping[str, tuple[str, Callable[[EdgeContext], Array]]] = {
    "is handed on in the order of the values": ("missing-local", lambda at: _in_own_order(at)),
    "is brought into the order of the values once more": ("wrong-operand", lambda at: _in_order_again(at)),
    "goes to the entries of the reversed order": (
        "wrong-operand", lambda at: at.node.vjp(at.slot, np.flip(at.g, _dim(at.node))),
    ),
}  # fmt: skip


def _dim(node: Node) -> int:
    """Return the axis along which entries are sorted."""
    return int(str(node.options.get("dim", -1)))


def _in_own_order(at: EdgeContext) -> Array:
    """Return the gradient in the first places along the axis, and zeros behind it."""
    part = np.zeros(np.shape(at.x))
    np.moveaxis(part, _dim(at.node), 0)[: at.g.shape[_dim(at.node)]] = np.moveaxis(at.g, _dim(at.node), 0)
    return part


def _in_order_again(at: EdgeContext) -> Array:
    """Return the gradient sorted as the operand is.

    Raises:
        ValueError: only some entries are taken.
    """
    if at.g.shape != np.shape(at.x):
        raise ValueError("only some entries are taken")
    x = np.asarray(at.x)
    order = np.argsort(-x if at.node.options.get("descending") else x, _dim(at.node), kind="stable")
    return np.take_along_axis(at.g, order, _dim(at.node))


@operator(
    "order-not-undone",
    code=lambda choice: ORDERS[choice][0],
    rank=2.0,
    at=edges.of("sort", "topk"),
    choices=lambda program, place: ORDERS,
    message="the gradient of {step} {choice}: it must go back to where the entries came from",
)
def leave_order(program: Program, place: Place, choice: str) -> Program | None:
    """Hand the gradient of sorted entries on in another order than that of the operand."""
    return program.with_vjp(place, ORDERS[choice][1])


@leave_order.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x.sort(-1).values * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Gather by the order, which must be scattered by."""
        return {"x": (g * w).gather(-1, x.argsort(-1))}

    return Example(forward, wrong, {"x": spaced("bs n"), "w": "n"})
