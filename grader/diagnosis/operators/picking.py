"""Mistakes in the vjps of a maximum or minimum with ties, and of a sort: the gradient goes to the wrong entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import mask, normal, sized, spaced
from grader.program.forward import Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program
from grader.program.queries import broadcast_to_operand, reduced_axes
from grader.program.selectors import ValueName, named_array, values_by_name

from .contract import Example, operator
from .places import edges

extremes = edges.of("max", "min", "amax", "amin")


def keep_one_tie(ties: Array, node: Node, last: bool) -> Array:
    """Return a mask in which, of several equal greatest or smallest entries, only the first or last one is left.

    For x.amax(1), the row [5, 2, 5] of x and its ties [True, False, True]: [True, False, False], or, if `last`, [False,
    False, True].

    Args:
        ties: a mask of all equal greatest, or smallest, entries, shaped like the operand.
        node: the maximum or minimum.
        last: whether the last one is left; else the first, in the order of the axes.
    """
    axes = reduced_axes(node)
    lines = np.moveaxis(ties, axes, range(len(axes)))  # the axes of the extreme in front, and then as one
    flat = lines.reshape(-1, *lines.shape[len(axes) :])
    number = (len(flat) - 1 - flat[::-1].argmax(0)) if last else flat.argmax(0)
    chosen = np.arange(len(flat)).reshape(-1, *(1,) * (flat.ndim - 1)) == number
    return np.moveaxis(chosen.reshape(lines.shape), range(len(axes)), axes)


# Which of several equal entries get what arrives, by the extreme and these entries. Shape: that of the operand.
TIES: Mapping[str, Callable[[Node, Array], Array]] = {
    "in full to each of them": lambda node, ties: ties,
    "only to the first of them": lambda node, ties: keep_one_tie(ties, node, last=False),
    "only to the last of them": lambda node, ties: keep_one_tie(ties, node, last=True),
    "in equal parts to all of them": lambda node, ties: ties / ties.sum(reduced_axes(node), keepdims=True),
}


@operator(
    "tied-entries-picked",
    code="wrong-local",
    rank=2.0,
    at=extremes,
    choices=lambda program, place: TIES,
    message="where several entries tie for {step}, the gradient goes {choice}",
)
def give_gradient_to_wrong_ties(program: Program, place: Place, choice: str) -> Program:
    """Give the gradient of a maximum to all of several equal entries, to the first or last, or in equal shares.

    For amax of [5, 2, 5]: (g, 0, g), (g, 0, 0), (0, 0, g) or (g / 2, 0, g / 2). Which is right depends on the
    operation: torch's `amax` shares equally.

    Args:
        program: the right program.
        place: an edge (maximum or minimum, its operand).
        choice: which entries get it, a key of `TIES`, such as "only to the first of them".

    Returns:
        The rewritten program.
    """

    def rule(at: EdgeContext) -> Array:
        ties = np.asarray(at.x) == broadcast_to_operand(at.node, at.y)
        return np.asarray(broadcast_to_operand(at.node, at.g) * TIES[choice](at.node, ties))

    return program.with_vjp(place, rule)


@give_gradient_to_wrong_ties.example
def _() -> Example:
    """Show (x * w).amax(-1) whose backward pass gives the whole gradient to each of several equal greatest entries."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x * w).amax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give all of the gradient to each of several greatest entries, in place of dividing it."""
        y = x * w
        return {"x": g[:, None] * w * (y == y.amax(-1, keepdim=True))}

    return Example(forward, wrong, {"x": mask("bs n"), "w": "1"})


@operator(
    "positive-entries-for-extreme",
    code="wrong-local",
    rank=2.5,
    at=extremes,
    message="the gradient of {step} goes to every positive entry, as for a relu; it must go to the entries that were"
    " selected",
)
def give_gradient_to_positive_entries(program: Program, place: Place, choice: None) -> Program:
    """Give the gradient of a maximum or minimum to all positive entries, whether they are taken or not.

    For amax of [5, 2, -1]: (g, g, 0) in place of (g, 0, 0).

    Args:
        program: the right program.
        place: an edge (maximum or minimum, its operand).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: broadcast_to_operand(at.node, at.g) * (np.asarray(at.x) > 0))


@give_gradient_to_positive_entries.example
def _() -> Example:
    """Show a maxout, (x @ w).reshape(bs, h, 2).amax(-1), whose backward pass masks by the sign, as for a relu."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).reshape(len(x), -1, 2).amax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        return {"w": x.T @ (g.repeat_interleave(2, -1) * (z > 0))}

    return Example(forward, wrong, {"x": "bs n", "w": sized(normal("n m"), m=(4, 6))})


def chosen_entries(node: Node, slot: int) -> Array:
    """Return a mask of the entries that an extreme or a gather takes from its operand, shaped like the operand."""
    return np.asarray(node.vjp(slot, np.ones(node.value.shape)) != 0)


def axes_of_choosers(program: Program, place: Place) -> Iterator[int]:
    """Yield the axes along which a node chooses entries at the same index several times: 0 for d.min(1), d of two axes.

    Nothing is yielded where all axes are reduced, as in d.max().

    Args:
        program: the program of a trial.
        place: the edge into the extreme or gather.
    """
    node = program.reader(place)
    chosen, own = chosen_entries(node, place[1]), reduced_axes(node)
    if len(own) < chosen.ndim:
        yield from (axis for axis in range(chosen.ndim) if axis not in own and (chosen.sum(axis) > 1).any())


@operator(
    "chosen-index-overwritten",
    code="overwritten",
    rank=3.2,  # behind what says how the copies are summed
    at=edges.of("max", "min", "amax", "amin", "gather").in_every_iteration,
    choices=axes_of_choosers,
    message="{step} may take the same index several times, but only the last contribution to it is kept;"
    " all must be added",
)
def overwrite_chosen_index(program: Program, place: Place, choice: int) -> Program:
    """Keep the contribution of the last entry that was chosen at an index, along one of the other axes.

    For the distances d of the rows of y to those of t, and the nearest row of y for each of t, d.min(0): `dy[i[j]] =
    ...` for each j in turn, in place of `+=`.

    Args:
        program: the right program.
        place: the edge into the extreme or gather.
        choice: the axis of the operand along which the later contribution overwrites the earlier one.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution, with zeros where a later entry along the axis is chosen at the same index."""
        chosen = np.flip(chosen_entries(at.node, at.slot), choice)
        is_last = np.flip(chosen & (chosen.cumsum(choice) == 1), choice)
        return np.asarray(at.right() * is_last)

    return program.with_vjp(place, rule)


@overwrite_chosen_index.example
def _() -> Example:
    """Show a distance of two sets of rows, x @ w and t, whose gradient at the nearest rows of x @ w is assigned."""

    def forward(x: Tensor, w: Tensor, t: Tensor) -> Tensor:
        d = ((x @ w)[:, None] - t).square().sum(-1)
        return d.min(1)[0].sum() + d.min(0)[0].sum()

    def wrong(x: Tensor, w: Tensor, t: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x @ w
        d = (y[:, None] - t).square().sum(-1)
        own = 2 * g * (y - t[d.argmin(1)])
        dy = own.clone()
        for j, i in enumerate(d.argmin(0)):
            dy[i] = own[i] + 2 * g * (y[i] - t[j])
        return {"x": dy @ w.T, "w": x.T @ dy}

    return Example(forward, wrong, {"x": "k n", "w": "n m", "t": "bs m"})


ORDERS: Mapping[str, tuple[str, Callable[[EdgeContext], Array]]] = {
    "stays in the order of the sorted values": ("missing-local", lambda at: _unsorted_gradient(at)),
    "is sorted once more": ("wrong-operand", lambda at: _gradient_sorted_again(at)),
    "is put back in reverse order": (
        "wrong-operand", lambda at: at.node.vjp(at.slot, np.flip(at.g, _sorted_axis(at.node))),
    ),
}  # fmt: skip


def _sorted_axis(node: Node) -> int:
    """Return the axis along which a `sort` or `topk` node sorts, as the learner gave it; -1, the last, by default."""
    return int(str(node.options.get("dim", -1)))


def _unsorted_gradient(at: EdgeContext) -> Array:
    """Return g in the first positions along the sorted axis, in the order of the sorted values, with zeros behind it.

    For topk of [3, 9, 5] with k = 2: [g[0], g[1], 0] in place of [0, g[0], g[1]].

    Args:
        at: an edge (sort or topk, its operand), with its upstream gradient g.

    Returns:
        Shape: that of the operand.
    """
    part = np.zeros(np.shape(at.x))
    np.moveaxis(part, _sorted_axis(at.node), 0)[: at.g.shape[_sorted_axis(at.node)]] = np.moveaxis(
        at.g, _sorted_axis(at.node), 0
    )
    return part


def _gradient_sorted_again(at: EdgeContext) -> Array:
    """Return g[order], with the order that sorts the operand: [g[2], g[0], g[1]] for the operand [5, 9, 3].

    Right is to put g[0] at position 2, g[1] at 0 and g[2] at 1.

    Args:
        at: an edge (sort, its operand), with its upstream gradient g.

    Returns:
        Shape: that of the operand.

    Raises:
        ValueError: not all entries are taken, as in a `topk`.
    """
    if at.g.shape != np.shape(at.x):
        raise ValueError("only some entries are taken")
    x = np.asarray(at.x)
    order = np.argsort(-x if at.node.options.get("descending") else x, _sorted_axis(at.node), kind="stable")
    return np.take_along_axis(at.g, order, _sorted_axis(at.node))


@operator(
    "order-not-undone",
    code=lambda choice: ORDERS[choice][0],
    rank=2.0,
    at=edges.of("sort", "topk"),
    choices=lambda program, place: ORDERS,
    message="the gradient of {step} {choice}; each entry must go back to where its value came from",
)
def return_gradient_in_wrong_order(program: Program, place: Place, choice: str) -> Program:
    """Return the gradient of a `sort` in the sorted order, sorted once more, or reversed, not in the operand's order.

    For x with x[order] sorted, the gradient is g, g[order], or reversed g put back by the order, in place of g put back
    by the order.

    Args:
        program: the right program.
        place: an edge (sort or topk, its operand).
        choice: which wrong order, a key of `ORDERS`, such as "stays in the order of the sorted values" for g.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, ORDERS[choice][1])


@return_gradient_in_wrong_order.example
def _() -> Example:
    """Show x.sort(-1).values * w whose gradient of x is gathered by the order, where it must be scattered by it."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x.sort(-1).values * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Gather the gradient by the order in place of scattering it."""
        return {"x": (g * w).gather(-1, x.argsort(-1))}

    return Example(forward, wrong, {"x": spaced("bs n"), "w": "n"})


def other_sorted_values(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of the other values of the operand's shape that are sorted, or whose greatest entries are taken.

    The edge `place` is that into a `sort` or `topk`.
    """
    own = program.source(place)
    others = {
        operand
        for node in program.nodes
        if node.name in ("sort", "topk", "sorted_places", "top_places", "argsort")
        for _, operand in node.operands
    }
    for name, value in values_by_name(program, place[0], program.nodes[own].value.shape).items():
        if value != own and value in others:
            yield name


@operator(
    "order-of-another-sort",
    code="wrong-operand",
    rank=2.0,
    at=edges.of("sort", "topk"),
    choices=other_sorted_values,
    message="the gradient of {step} is put back in the order of {choice}; it must be put back in that of {operand}",
)
def put_back_by_another_order(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Put the gradient of a `sort` back by the order of another sorted value; `None` where there is none in this trial.

    Args:
        program: the right program.
        place: an edge (sort or topk, its operand).
        choice: names the other value.
    """
    array = named_array(program, choice, place[0])
    return None if array is None else program.with_vjp(place, lambda at: at.right(operands={at.slot: array}))


@put_back_by_another_order.example
def _() -> Example:
    """Show sort(x) * sort(y)**2, whose gradients are both put back by the order of x."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return x.sort(-1).values * y.sort(-1).values.square()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the order of x for the gradient of y."""
        a, order = x.sort(-1)
        return {"y": torch.zeros_like(y).scatter(-1, order, 2 * g * a * y.sort(-1).values)}

    return Example(forward, wrong, {"x": spaced("bs n"), "y": spaced("bs n")})
