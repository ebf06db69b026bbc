"""Operators that move the entries of a gradient to wrong places: axes, pairs or parts of arrays are taken wrongly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, sized
from grader.diagnosis.hints import WHICH_INDEX, WHICH_POSITION
from grader.program.forward import SINK, Change, Forward, Node, Place, bits
from grader.program.operation import OPERATIONS, Array, NoCandidate, Operand, Operation
from grader.program.program import Affects, EdgeContext, Program
from grader.program.queries import contraction_of
from grader.program.rearrangement import joined_axes, refined_shape

from .contract import Example, operator
from .places import RESHAPES, edges, nodes, with_gradient_of_any_shape
from .results import name_of_gradient

FORWARD_RANK = 3.5  # of an edit that changes the forward pass, too


# Axes in another order ------------------------------------------------------------------------------------------------


def is_not_its_own_inverse(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place` is another operation than a `permute` that is its own inverse.

    False for permute(1, 0); True for permute(1, 2, 0) and for roll.
    """
    node = program.reader(place)
    if node.name == "permute":
        dims = [dim % node.value.ndim for dim in node.options["dims"]]  # type: ignore[attr-defined]
        return list(np.argsort(dims)) != dims
    return True


@operator(
    "rearranged-again",
    code=lambda choice: "transposed" if choice == "permute" else "wrong-local",
    rank=1.5,
    at=edges.of("permute", "roll").where(is_not_its_own_inverse),
    choices=lambda program, place: (program.reader(place).name,),
    message="the gradient of {operand} is rearranged as in {step} once more; this rearrangement must be undone",
    hints=(
        "Number the entries of a small array, and rearrange it twice as in the forward pass. Are they back in place?",
        "Where does the forward pass move each axis, or each entry, and where must its gradient go?",
        "Which rearrangement undoes this one? Work it out for this case, and compare it with what your code does.",
    ),
)
def rearrange_again(program: Program, place: Place, choice: str) -> Program:
    """Apply the forward pass's permutation or roll to the upstream gradient in place of its inverse.

    For x.roll(1): g.roll(1) in place of g.roll(-1). The choice is "permute" or "roll", the name of the operation. The
    result may have another shape than the operand where the operand is a target that only this edge leads to.
    """

    def rule(at: EdgeContext) -> Array:
        return at.node.operation.run((at.g, *at.node.values[1:]), at.node.options)

    return with_gradient_of_any_shape(program, place, rule) or program.with_vjp(place, rule)


@rearrange_again.example
def _() -> Example:
    """Show tanh(x.permute(1, 2, 0) * w) whose gradient is permuted by (1, 2, 0) again."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x.permute(1, 2, 0) * w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        turned = x.permute(1, 2, 0)
        return {"x": (g * (1 - torch.tanh(turned * w) ** 2) * w).permute(1, 2, 0)}

    return Example(forward, wrong, {"x": "n n n", "w": "n"})


@rearrange_again.example
def _() -> Example:
    """Show x ** 2 + exp(x.roll(1)) whose gradient is rolled by 1 again, and not by -1."""

    def forward(x: Tensor) -> Tensor:
        return x.square() + x.roll(1, 0).exp()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": 2 * x * g + (g * x.roll(1, 0).exp()).roll(1, 0)}

    return Example(forward, wrong, {"x": "t n"})


def moves_within_its_shape(program: Program, place: Place) -> bool:
    """Return whether the operation that the edge `place` leads into keeps the operand's shape and changes its entries.

    As x.flip(0) and x.tril() do, and x.T of a square x that is not symmetric.
    """
    node = program.reader(place)
    x = node.values[place[1]]
    return node.value.shape == np.shape(x) and not np.array_equal(node.value, x)


def kinds_of_rearrangement(program: Program, place: Place) -> Iterator[str]:
    """Yield one choice, which decides the public code: what kind of operation reads the edge `place`.

    `"a transposition"` for a transpose or permute; `"another one"` for a flip, roll, selection or the like.
    """
    yield "a transposition" if program.reader(place).name in ("transpose", "permute") else "another one"


@operator(
    "rearrangement-skipped",
    code=lambda choice: "transposed" if choice == "a transposition" else "missing-local",
    rank=1.5,
    at=edges.of("flip", "roll", "transpose", "permute", "tril", "triu", "getitem", "index_select").where(
        moves_within_its_shape
    ),
    choices=kinds_of_rearrangement,
    message="{step} is skipped in the gradient of {operand}; each entry must go back to where it came from",
)
def skip_rearrangement(program: Program, place: Place, choice: str) -> Program:
    """Contribute the upstream gradient as it is, without the inverse rearrangement: g for x.flip(0), not g.flip(0).

    The choice, a word for the kind of rearrangement, only decides the code. `place` is the edge of x.
    """
    return program.with_vjp(place, lambda at: at.g)


@skip_rearrangement.example
def _() -> Example:
    """Show tanh(x).flip(0) * w whose gradient of `x` is not flipped back."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x.tanh().flip(0) * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * w * (1 - x.tanh() ** 2)}

    return Example(forward, wrong, {"x": "t n", "w": "t n"})


@operator(
    "reshaped-back",
    code="reshape-for-transpose",
    rank=1.5,
    at=edges.of("transpose", "permute"),
    message="the gradient of {operand} is reshaped, which mixes up its entries; the axes that {step} swaps must be"
    " swapped back",
)
def reshape_back(program: Program, place: Place, choice: None) -> Program:
    """Contribute the upstream gradient reshaped to the operand's shape, where its axes must be permuted back.

    For x.T: g.reshape(x.shape) in place of g.T.
    """
    return program.with_vjp(place, lambda at: at.g.reshape(np.shape(at.x)))


@reshape_back.example
def _() -> Example:
    """Show x.reshape(bs, t, 2, -1).transpose(1, 2)**2 whose gradient is reshaped back, and not transposed."""

    def forward(x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], 2, -1).transpose(1, 2).square()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out the transposition of heads and steps."""
        heads = x.reshape(*x.shape[:2], 2, -1).transpose(1, 2)
        return {"x": (g * 2 * heads).reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(normal("bs t d"), d=(6, 8))})


@operator(
    "stack-reshaped",
    code="reshape-for-transpose",
    rank=1.5,
    at=edges.of("stack"),
    message="the gradient of {step} is reshaped to bring the stacked axis to the front, which mixes up its entries;"
    " move or index that axis instead",
)
def reshape_stack(program: Program, place: Place, choice: None) -> Program:
    """Contribute a part of the upstream gradient, reshaped to have the parts of a `stack` along its first axis.

    For torch.stack((a, b), 1), with a of shape (bs, n): g.reshape(2, bs, n)[0] for a, in place of g[:, 0].
    """
    return program.with_vjp(place, lambda at: at.g.reshape(-1, *np.shape(at.x))[at.slot])


@reshape_stack.example
def _() -> Example:
    """Show stack((tanh(x), y), 1), whose gradients are the two halves of g.reshape(2, ...)."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.stack((x.tanh(), y), 1)

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the two halves of g.reshape(2, ...) in place of the two entries along the second axis."""
        parts = g.reshape(2, *x.shape)
        return {"x": parts[0] * (1 - x.tanh() ** 2), "y": parts[1]}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})


@operator(
    "reshape-in-forward",
    code="reshape-for-transpose",
    rank=FORWARD_RANK,
    at=nodes.of("transpose", "permute"),
    message="in your forward pass, a reshape is used in place of {step}; the reshape puts the entries"
    " of {operand} in the wrong places",
)
def reshape_in_forward(program: Program, place: Place, choice: None) -> Program:
    """Compute forward and backward pass with a reshape in place of the transposition, the node `place`.

    For x.T with x of shape (n, m): x.reshape(m, n).
    """
    return program.with_nodes(
        {place[0]: lambda node: node.with_operation(OPERATIONS["reshape"], shape=program.nodes[place[0]].value.shape)}
    )


@reshape_in_forward.example
def _() -> Example:
    """Show softmax(q @ k.T) whose backward pass computes the probabilities from a reshape of `k`."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(0, 1), -1)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        keys = k.reshape(k.shape[1], k.shape[0])
        p = torch.softmax(q @ keys, -1)
        return {"q": p * (g - (p * g).sum(-1, keepdim=True)) @ keys.T}

    return Example(forward, wrong, {"q": "t d", "k": "s d"})


# Split axes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AxisPair:
    """Two axes that are swapped where a reshape splits one axis into several, or joins several into one.

    `AxisPair(1, 2)` for a reshape from (bs, heads * n) to (bs, heads, n) exchanges heads and n.

    Args:
        first: the axis in front, counted in the longer one of the shapes before and after the reshape.
        second: the axis behind it, counted in the same shape.
    """

    first: int
    second: int


def longer_shape(node: Node) -> tuple[int, ...]:
    """Return the longer of the two shapes before and after a reshape: (bs, heads, n) for x.reshape(bs, heads, n).

    There, x has the shape (bs, heads * n). It is the same for y.reshape(bs, heads * n) of a y of shape (bs, heads, n).
    For two shapes of as many axes, return the shape of which both are made by joining axes: (bs, groups, size, n) for
    x.reshape(bs, groups, size * n) of an x of shape (bs, groups * size, n); the shape after the reshape if there is no
    such shape.

    Args:
        node: a `reshape`, `flatten` or `unflatten`.
    """
    before, after = np.shape(node.values[0]), node.value.shape
    if len(before) == len(after):
        return refined_shape(before, after) or after
    return max(before, after, key=len)


def split_pairs(program: Program, place: Place) -> Iterator[AxisPair]:
    """Yield `AxisPair`s: two axes that may be swapped by mistake in the reshape at the edge or node `place`.

    They are counted in the shape in which no axes are joined (`longer_shape`), and at least one of them is joined
    before or after the reshape. For a reshape from (bs, heads * n) to (bs, heads, n) these are all pairs of the axes 0,
    1 and 2 of (bs, heads, n). For one from (bs, groups * size, n) to (bs, groups, size * n), whose axes are counted in
    (bs, groups, size, n), the pairs are those that are joined: groups and size, size and n. There are none for a
    reshape that changes no axes.
    """
    node = program.reader(place)
    shapes = (np.shape(node.values[0]), node.value.shape)
    few, many = sorted(shapes, key=len)
    if 0 in many:
        return
    if len(few) == len(many):
        many = longer_shape(node)
        for first, second in itertools.combinations(range(len(many)), 2):
            if any(_joins(shape, many, AxisPair(first, second)) for shape in shapes) and len(many) > len(few):
                yield AxisPair(first, second)
        return
    same = next((i for i, (a, b) in enumerate(zip(few, many, strict=False)) if a != b), len(few))
    same_behind = next((i for i, (a, b) in enumerate(zip(few[::-1], many[::-1], strict=False)) if a != b), len(few))
    split = range(same, max(len(many) - same_behind, same))
    for first, second in itertools.combinations(range(len(many)), 2):
        if (first in split or second in split) and many[first] > 1 and many[second] > 1:
            yield AxisPair(first, second)


def _joins(shape: tuple[int, ...], refined: tuple[int, ...], pair: AxisPair) -> bool:
    """Return whether two axes of a longer shape are parts of one axis of a shape that is made by joining axes of it.

    For the shape (bs, heads * n), the longer shape (bs, heads, n) and `AxisPair(1, 2)`: True.

    Args:
        shape: the shape before or after a reshape.
        refined: the longer shape that the pair is counted in.
        pair: the two axes.
    """
    axes = joined_axes(shape, refined)
    return axes[pair.first] == axes[pair.second]


def _splits(node: Node, pair: AxisPair) -> bool:
    """Return whether a reshape leads to the longer of its two shapes, with the two axes of a pair, and not from it.

    For two shapes of as many axes: whether it splits one axis into the two of the pair; otherwise it joins them.

    Args:
        node: the reshape.
        pair: the two axes that are swapped, in the longer shape.
    """
    before, after = np.shape(node.values[0]), node.value.shape
    if len(before) == len(after):
        return _joins(before, longer_shape(node), pair)
    return len(before) < len(after)


def with_exchanged_split_axes(array: Array, shape: tuple[int, ...], pair: AxisPair) -> Array:
    """Return the array reshaped to the shape with two axes exchanged, and these exchanged back.

    For the shape (2, 3) and `AxisPair(0, 1)`: `array.reshape(3, 2).T`.

    Args:
        array: any shape of as many entries.
        shape: the shape that the result must have, such as (bs, heads, n).
        pair: the numbers of the two axes of this shape, from the front.

    Returns:
        Shape: `shape`.
    """
    axes = list(range(len(shape)))
    axes[pair.first], axes[pair.second] = pair.second, pair.first
    return array.reshape([shape[i] for i in axes]).transpose(axes)


def with_split_axes_exchanged_back(array: Array, shape: tuple[int, ...], pair: AxisPair) -> Array:
    """Return the array with its entries moved back by the inverse of `with_exchanged_split_axes`.

    For the shape (2, 3) and `AxisPair(0, 1)`: `array.reshape(2, 3).T.reshape(array.shape)`.

    Args:
        array: any shape of as many entries, which the result has, too.
        shape: the shape that has the two axes, such as (bs, heads, n).
        pair: the numbers of the two axes of this shape, from the front.
    """
    return array.reshape(shape).swapaxes(pair.first, pair.second).reshape(array.shape)


def axis_pair_fields(program: Program, place: Place, pair: AxisPair) -> dict[str, str]:
    """Return the message field `pair` by name: {"pair": "axes 1 and 2 (of sizes 4 and 3)"}, for instance.

    Args:
        program: the program of the trial that the message is for.
        place: the edge or node of the reshape.
        pair: the numbers of the two axes, in the longer of the shapes before and after the reshape.
    """
    shape = longer_shape(program.reader(place))
    return {"pair": f"axes {pair.first} and {pair.second} (of sizes {shape[pair.first]} and {shape[pair.second]})"}


def when_swapped(program: Program, place: Place, pair: AxisPair) -> str:
    """Return when the axes of a gradient are swapped that must only be reshaped: " after the reshape; ...".

    Empty where the forward pass swaps axes before or after its reshape: there a swap may as well be missing.

    Args:
        program: the program of the trial that the message is for.
        place: the edge into the reshape.
        pair: the two axes that are swapped.
    """
    node, readers = program.reader(place), [reader for reader, _ in program.forward.uses[place[0]]]
    beside = [program.source(place), *(reader for reader in readers if reader != SINK)]
    if any(program.nodes[value].name in ("transpose", "permute") for value in beside):
        return ""
    return f" {'before' if _splits(node, pair) else 'after'} the reshape; nothing but the reshape belongs there"


@operator(
    "split-axes-in-another-order",
    code="reshape-for-transpose",
    rank=2.5,
    at=edges.of(*RESHAPES),
    choices=split_pairs,
    message="in the gradient of {operand} through {step}, {pair} are swapped{when}",
    fields=lambda program, place, pair: {
        **axis_pair_fields(program, place, pair),
        "when": when_swapped(program, place, pair),
    },
)
def exchange_split_axes(program: Program, place: Place, choice: AxisPair) -> Program:
    """Contribute the upstream gradient, reshaped to the operand's shape with the two chosen axes exchanged.

    For x.reshape(bs, heads, n) and `AxisPair(1, 2)`: g.transpose(1, 2).reshape(x.shape) in place of g.reshape(x.shape).
    """

    def rule(at: EdgeContext) -> Array:
        """Return g with the two axes exchanged, shaped like the operand."""
        shape, own = longer_shape(at.node), np.shape(at.x)
        if len(shape) <= choice.second:
            raise NoCandidate
        if _splits(at.node, choice):
            return with_split_axes_exchanged_back(at.g, shape, choice).reshape(own)
        return with_exchanged_split_axes(at.g, shape, choice).reshape(own)

    return program.with_vjp(place, rule)


@exchange_split_axes.example
def _() -> Example:
    """Show x.reshape(len(x), -1, 2) * scale whose gradient is transposed before the two last axes are joined."""

    def forward(x: Tensor, scale: Tensor) -> Tensor:
        return x.reshape(len(x), -1, 2) * scale[:, None]

    def wrong(x: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Exchange the two last axes before they are joined, which the forward pass does not."""
        return {"x": (g * scale[:, None]).transpose(1, 2).reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(normal("bs d"), d=(6, 8)), "scale": sized(normal("k"), k=(3, 4))})


@operator(
    "split-axes-in-another-order-in-forward",
    code="reshape-for-transpose",
    rank=FORWARD_RANK,
    at=nodes.of(*RESHAPES),
    choices=split_pairs,
    message="in your forward pass, {pair} of {step} are swapped",
    fields=axis_pair_fields,
)
def exchange_split_axes_in_forward(program: Program, place: Place, choice: AxisPair) -> Program:
    """Compute both passes with the reshape, the node `place`, exchanging the two chosen axes.

    For x.reshape(bs, heads, n) and `AxisPair(1, 2)`: x.reshape(bs, n, heads).transpose(1, 2).
    """

    def change(node: Node) -> Node:
        """Return the node with a reshape that exchanges the two axes, in its vjp as well."""
        shape = longer_shape(node)
        if len(shape) <= choice.second:
            raise NoCandidate
        if _splits(node, choice):
            return node.then(
                lambda y: with_exchanged_split_axes(y, shape, choice).reshape(y.shape),
                lambda g: with_split_axes_exchanged_back(g, shape, choice),
            )
        return with_reordered_operand(
            node,
            lambda x: with_split_axes_exchanged_back(x, shape, choice),
            lambda g: with_exchanged_split_axes(g, shape, choice).reshape(g.shape),
        )

    return program.with_nodes({place[0]: change})


@exchange_split_axes_in_forward.example
def _() -> Example:
    """Show x / norm for each half of the channels, whose backward pass takes even and odd channels for them."""

    def forward(x: Tensor) -> Tensor:
        groups = x.reshape(len(x), 2, -1)
        return (groups / groups.square().sum(-1, keepdim=True).sqrt()).reshape(x.shape)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Normalise even and odd channels in place of the first and the second half of them."""
        dx = torch.zeros_like(x)
        for first in (0, 1):
            part, up = x[:, first::2], g[:, first::2]
            norm = part.square().sum((1, 2), keepdim=True).sqrt()
            h = part / norm
            dx[:, first::2] = (up - h * (h * up).sum((1, 2), keepdim=True)) / norm
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("bs c n"), c=(6, 8))})


def with_reordered_operand(node: Node, order: Callable[[Array], Array], back: Callable[[Array], Array]) -> Node:
    """Return the node with its first operand x replaced by order(x): f(order(x)) for f(x), and the vjp of that.

    Its stored value stays until a forward pass runs the node.

    Args:
        node: the node; its vjp must be needed for the first operand only.
        order: takes an array; returns its entries in a different order, in the same shape.
        back: the inverse of `order`; applied to the contribution, which is back(f's contribution at order(x)).
    """
    own = node.operation

    def run(x: Array, *values: Operand, **options: object) -> Operand:
        return own.forward(order(x), *values, **options)

    def vjp(g: Array, value: Array, x: Array, *values: Operand, **options: object) -> Operand:
        return back(own.vjp(0, g, value, (order(x), *values), options))

    vjps = (vjp, *(None for _ in node.values[1:]))
    return replace(node, operation=Operation(own.name, own.family, run, vjps))


@exchange_split_axes_in_forward.example
def _() -> Example:
    """Show x.reshape(len(x), -1, 2).softmax(1) whose backward pass uses x.reshape(len(x), 2, -1)."""

    def forward(x: Tensor) -> Tensor:
        return x.reshape(len(x), -1, 2).softmax(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = x.reshape(len(x), 2, -1).softmax(2)
        dy = g.transpose(1, 2)
        return {"x": (p * (dy - (p * dy).sum(2, keepdim=True))).reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(normal("bs d"), d=(6, 8))})


# Halves and neighbours ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairingMistake:
    """A wrong choice of the entries that form a pair along an axis, as in rotary embeddings.

    Args:
        where: the operations that take wrong pairs: those that split the pairs (`"apart"`), the one that joins them
            (`"together"`), or both.
        affects: whether the edit changes the backward pass alone, or the forward pass, too; see `Program.with_nodes`.
    """

    where: Literal["both", "apart", "together"]
    affects: Affects


@dataclass(frozen=True)
class PairLayout:
    """The operations by which a forward pass splits an axis into pairs of entries, and joins the pairs again.

    Args:
        selections: the ids of the nodes that select the first or the second entry of each pair.
        join: the id of the node that joins them: a `cat`, or the `flatten` or `reshape` of a `stack`.
        axis: the axis, counted from the back, so negative.
        neighbours: whether entries 2i and 2i + 1 are a pair; otherwise entries i and i + n / 2.
    """

    selections: tuple[int, ...]
    join: int
    axis: int
    neighbours: bool


def pairs_of(program: Program, place: Place) -> PairLayout | None:
    """Return the `PairLayout` of the node `place`: which nodes split an axis into pairs of entries that it joins again.

    A rotary embedding ends with such a node. The layout has the ids of the nodes that select the first or second
    entries of the pairs, the axis, and whether pairs are neighbours, x[2 * i] and x[2 * i + 1], or entries of two
    halves, x[i] and x[i + n / 2]. Returns `None` where the node is neither a `cat` of two halves nor a flattened
    `stack` of two arrays of one shape.
    """
    node = program.nodes[place[0]]
    neighbours = node.name in ("flatten", "reshape")
    join = program.nodes[node.operands[0][1]] if neighbours and node.operands else node
    if join.name != ("stack" if neighbours else "cat") or len(join.values) != 2:
        return None
    shapes = [np.shape(value) for value in join.values]
    axis = int(str(join.options.get("dim", 0))) % join.value.ndim
    if shapes[0] != shapes[1] or (neighbours and (axis != join.value.ndim - 1 or node.value.ndim != axis)):
        return None
    if neighbours:
        axis -= 1
    half = shapes[0][axis]
    selections = tuple(
        i
        for i in bits(program.forward.ancestors[join.id])
        if program.nodes[i].name in ("piece", "getitem")
        and program.nodes[i].value.ndim == len(shapes[0])
        and program.nodes[i].value.shape[axis] == half
        and np.shape(program.nodes[i].values[0])[axis] == 2 * half
    )
    return PairLayout(selections, node.id, axis - len(shapes[0]), neighbours)


def takes_pairs(program: Program, place: Place) -> bool:
    """Return whether the node `place` joins pairs of entries along an axis, and a selection before it takes half of it.

    True for the `cat` that ends a rotary embedding: of x1 * c - x2 * s and x1 * s + x2 * c for the halves x1, x2 of x.
    """
    pairs = pairs_of(program, place)
    return pairs is not None and bool(pairs.selections)


def with_evens_first(x: Array, axis: int) -> Array:
    """Return an array with the entries of even number along an axis in front of those of odd number; same shape."""
    size = x.shape[axis]
    return np.take(x, [*range(0, size, 2), *range(1, size, 2)], axis=axis)


def with_halves_interleaved(x: Array, axis: int) -> Array:
    """Return an array with the entries of its two halves along an axis in turns: the inverse of `with_evens_first`."""
    size = x.shape[axis]
    return np.take(x, np.argsort([*range(0, size, 2), *range(1, size, 2)]), axis=axis)


PAIRING_MISTAKES = tuple(
    PairingMistake(where, affects) for affects in ("all", "backward") for where in ("both", "apart", "together")
)  # fmt: skip


WHERE: Mapping[str, str] = {
    "both": "",
    "apart": " where they are selected",
    "together": " in {gradient}",
}
PAIR_WORDS: Mapping[bool, tuple[str, str]] = {
    False: ("neighbouring entries", "corresponding entries of the two halves"),
    True: ("corresponding entries of the two halves", "neighbouring entries"),
}


def name_of_paired_axis(program: Program, place: Place) -> str:
    """Return the name of the axis along which the node `place` joins pairs, such as `d`, or `axis 2` without a name.

    See `pairs_of` for what joins pairs; for any other node return "an axis".
    """
    pairs = pairs_of(program, place)
    return "an axis" if pairs is None else program.name_of_axis(place[0], pairs.axis).partition(" of ")[0]


@operator(
    "other-pairs",
    code="wrong-operand",
    rank=3.0,
    at=nodes.of("cat", "reshape", "flatten").where(takes_pairs),
    choices=lambda program, place: PAIRING_MISTAKES,
    message="{wrong} along {axis} are paired{where}; the forward pass pairs {right}",
    fields=lambda program, place, choice: {
        "axis": name_of_paired_axis(program, place),
        "where": WHERE[choice.where].format(gradient=name_of_gradient(program, place[0])),
        **dict(
            zip(("wrong", "right"), PAIR_WORDS[bool((p := pairs_of(program, place)) and p.neighbours)], strict=True)
        ),
    },
)
def take_wrong_pairs(program: Program, place: Place, choice: PairingMistake) -> Program | None:
    """Take neighbours as pairs where the forward pass takes entries of two halves, or the reverse.

    x[0::2] and x[1::2] for `x[: n // 2]` and `x[n // 2 :]`. The choice is where, `"apart"`: where the pairs are split,
    `"together"`: where they are joined, or `"both"`; and whether it takes effect in both passes (`"all"`) or in the
    `"backward"` pass alone. Returns `None` where the node `place` joins no pairs in this trial.
    """
    pairs = pairs_of(program, place)
    if pairs is None or not pairs.selections:
        return None
    axis = pairs.axis
    orders: tuple[Callable[[Array], Array], ...] = (
        lambda x: with_evens_first(x, axis),
        lambda x: with_halves_interleaved(x, axis),
    )
    order, back = orders[::-1] if pairs.neighbours else orders

    def select(node: Node) -> Node:
        return with_reordered_operand(node, order, back)

    def join(node: Node) -> Node:
        return node.then(back, order)

    changes: dict[int, Change] = {}
    if choice.where != "together":
        changes |= dict.fromkeys(pairs.selections, select)
    if choice.where != "apart":
        changes[pairs.join] = join
    return program.with_nodes(changes, choice.affects)


@take_wrong_pairs.example
def _() -> Example:
    """Show cat([a cos - b sin, a sin + b cos]), a and b halves, whose backward pass rotates pairs of neighbours."""

    def forward(x: Tensor, angle: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def wrong(x: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = torch.zeros_like(x)
        dx[..., 0::2] = g[..., 0::2] * angle.cos() + g[..., 1::2] * angle.sin()
        dx[..., 1::2] = g[..., 1::2] * angle.cos() - g[..., 0::2] * angle.sin()
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("t d"), d=(6, 8)), "angle": sized(normal("h"), h=(3, 4))})


@take_wrong_pairs.example
def _() -> Example:
    """Show pairs a cos - b sin, a sin + b cos of neighbours a, b in x**2, whose gradient is written as two halves."""

    def forward(x: Tensor, angle: Tensor) -> Tensor:
        y = x.square()
        a, b = y[:, 0::2], y[:, 1::2]
        turned = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
        return torch.stack(turned, -1).flatten(-2)

    def wrong(x: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Read g in pairs of neighbours, and join the results as two halves."""
        da = g[:, 0::2] * angle.cos() + g[:, 1::2] * angle.sin()
        db = g[:, 1::2] * angle.cos() - g[:, 0::2] * angle.sin()
        return {"x": torch.cat([da, db], -1) * 2 * x}

    return Example(forward, wrong, {"x": sized(normal("t d"), d=(6, 8)), "angle": sized(normal("h"), h=(3, 4))})


# Joined arrays --------------------------------------------------------------------------------------------------------


CUTS: Mapping[str, Callable[[int, int, int, int], int]] = {
    # from the number of the part, where it starts, its length and that of all: where it is taken from
    "from the other end": lambda number, start, own, total: total - start - own,
    "one entry too early": lambda number, start, own, total: start - 1,
    "one entry too late": lambda number, start, own, total: start + 1,
    "into equal parts": lambda number, start, own, total: number * own,
}
SHARES: Mapping[str, Callable[[int, int], int]] = {  # from the length of all and the number of parts: that of a part
    "into equal parts, whatever their sizes are,": lambda total, count: -(-total // count),
    "into equal parts, rounded down,": lambda total, count: total // count,
}
CUT_WORDS: Mapping[str, str] = {
    "from the other end": "is taken from the wrong end",
    "one entry too early": "begins one entry before its place",
    "one entry too late": "begins one entry behind its place",
    "into equal parts": "begins as if all joined arrays had this size",
    "into equal parts, whatever their sizes are,": "is as large as if all joined arrays had the same size",
    "into equal parts, rounded down,": "is as large as if all joined arrays had the same size, rounded down",
}


@dataclass(frozen=True)
class WrongCut:
    """A wrong way to cut the gradient of `cat` into the gradients of the joined arrays.

    Args:
        how: a key of `CUTS` (a part begins at a wrong entry) or of `SHARES` (a part has a wrong length).
        every: whether all joined arrays get such a part, and not only one.
    """

    how: str
    every: bool


def wrong_cuts(program: Program, place: Place) -> Iterator[WrongCut]:
    """Yield `WrongCut`s: which wrong part of the gradient of a `cat` the joined array of the edge `place` gets.

    For cat([a, b]) of lengths 4 and 2, b gets g[4:6]. Each of `CUTS` is a part of the right length in a wrong place:
    for b `"from the other end"` is g[0:2], `"one entry too early"` g[3:5], `"into equal parts"` g[2:4]. Each of
    `SHARES` is a part of a wrong length, that of all divided by the number of parts and rounded up or down: for b
    g[3:6]. At the first edge of the `cat`, each of `CUTS` is yielded for all of its arrays as well (`every=True`).
    """
    slots = [slot for slot, _ in program.forward.edges[place[0]]]
    yield from (WrongCut(how, every=True) for how in CUTS if place[1] == slots[0] and len(slots) > 1)
    yield from (WrongCut(how, every=False) for how in (*CUTS, *SHARES))


@operator(
    "cut-elsewhere",
    code=lambda choice: "shape-special" if choice.how.startswith("into equal parts") else "wrong-operand",
    rank=2.0,
    at=edges.of("cat"),
    choices=wrong_cuts,
    message="{array} gets the wrong part of the gradient of {step}: it {how}",
    fields=lambda program, place, choice: {
        "how": CUT_WORDS[choice.how],
        "array": "every joined array" if choice.every else program.name_of(program.source(place)),
    },
    hints=WHICH_POSITION,
)
def cut_gradient_wrongly(program: Program, place: Place, choice: WrongCut) -> Program | None:
    """Contribute a wrong part of the upstream gradient of `cat` to one joined array, the operand of `place`, or to all.

    For cat([x, h]) and `WrongCut("from the other end", every=False)` at the edge of x: the last len(x) rows of g in
    place of the first. Returns `None` where the part has a wrong length, and the operand is no target that only this
    edge leads to. A part beyond the ends of g raises `NoCandidate`, but only when the gradients are computed.
    """

    def share(at: EdgeContext) -> Array:
        """Return the operand's part of g if all operands had parts of one size."""
        dim = int(str(at.node.options.get("dim", 0)))
        size = SHARES[choice.how](at.g.shape[dim], len(at.node.values))
        return np.take(at.g, range(size * at.slot, min(size * (at.slot + 1), at.g.shape[dim])), axis=dim)

    if choice.how in SHARES:
        return with_gradient_of_any_shape(program, place, share)

    def rule(at: EdgeContext) -> Array:
        """Return the part of g that begins at the wrong entry, shaped like the operand."""
        dim = int(str(at.node.options.get("dim", 0)))
        sizes = [np.shape(value)[dim] for value in at.node.values]
        own, total = sizes[at.slot], sum(sizes)
        start = CUTS[choice.how](at.slot, sum(sizes[: at.slot]), own, total)
        if not 0 <= start <= total - own:
            raise NoCandidate("there is no such part")
        return np.take(at.g, range(start, start + own), axis=dim)

    for slot, _ in program.forward.edges[place[0]] if choice.every else (place[::-1],):
        program = program.with_vjp((place[0], slot), rule)
    return program


@cut_gradient_wrongly.example
def _() -> Example:
    """Show tanh(cat([x, h])) whose backward pass cuts the gradient as if h stood in front of x."""

    def forward(x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(torch.cat([x, h], -1))

    def wrong(x: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the first columns for `h`, and the last ones for `x`."""
        dy = g * (1 - torch.tanh(torch.cat([x, h], -1)) ** 2)
        return {"x": dy[:, h.shape[1] :], "h": dy[:, : h.shape[1]]}

    return Example(forward, wrong, {"x": "bs n", "h": "bs m"})


JOINED_ALONG = ("the first axis whenever dim is negative", "the first axis", "the last axis")


@operator(
    "cut-along-another-axis",
    code="hard-coded",
    rank=2.2,
    at=edges.of("cat").where(
        lambda program, place: with_gradient_of_any_shape(program, place, EdgeContext.right) is not None
    ),
    choices=lambda program, place: JOINED_ALONG,
    message="the gradient of {step} is split along {choice}; it must be split along the axis along which the"
    " arrays were joined",
)
def cut_along_wrong_axis(program: Program, place: Place, choice: str) -> Program | None:
    """Cut the gradient of `cat` along a wrong axis, at the sizes that the joined arrays have along the right one.

    The choice is "the first axis", "the last axis", or "the first axis whenever dim is negative", with which a `cat`
    with a `dim` from 0 on is cut along the right axis. For cat([x, h], -1) and "the first axis", x gets
    g[: x.shape[-1]] in place of g[:, : x.shape[-1]]. Returns `None` where the operand is no target that only this edge
    leads to.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the operand's part of g along the wrong axis."""
        dim = int(str(at.node.options.get("dim", 0)))
        axis = -1 if choice == "the last axis" else 0
        if choice == JOINED_ALONG[0] and dim >= 0:
            axis = dim
        sizes = [np.shape(value)[dim] for value in at.node.values]
        start = sum(sizes[: at.slot])
        stop = None if at.slot == len(sizes) - 1 else start + sizes[at.slot]
        return np.asarray(np.moveaxis(np.moveaxis(at.g, axis, 0)[start:stop], 0, axis))

    return with_gradient_of_any_shape(program, place, rule)


@cut_along_wrong_axis.example
def _() -> Example:
    """Show tanh(cat([x, h], -1)) whose gradient is cut into rows and not into columns."""

    def forward(x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(torch.cat([x, h], -1))

    def wrong(x: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Cut the rows, and not the columns."""
        dy = g * (1 - torch.tanh(torch.cat([x, h], -1)) ** 2)
        return {"x": dy[: x.shape[1]], "h": dy[x.shape[1] :]}

    return Example(forward, wrong, {"x": "bs n", "h": "bs m"})


# Entries that are moved along an axis ---------------------------------------------------------------------------------


def shift(x: Array, axis: int, by: int) -> Array:
    """Return an array with its entries moved by one along an axis, and zeros in the entries that become free.

    [1, 2, 3] moved towards the end is [0, 1, 2].

    Args:
        x: any shape.
        axis: the axis.
        by: 1 towards the end, -1 towards the beginning.

    Returns:
        Shape: that of x.
    """
    moved = np.roll(x, by, axis)
    moved[(slice(None),) * (axis % x.ndim) + (slice(0, 1) if by > 0 else slice(-1, None),)] = 0
    return moved


MOVES: Mapping[str, Callable[[Array, int], Array]] = {
    "reversed": lambda x, axis: np.flip(x, axis),
    "shifted by one entry towards the end": lambda x, axis: shift(x, axis, 1),
    "shifted by one entry towards the beginning": lambda x, axis: shift(x, axis, -1),
    "rolled by one entry towards the end": lambda x, axis: np.roll(x, 1, axis),
    "rolled by one entry towards the beginning": lambda x, axis: np.roll(x, -1, axis),
}


NEIGHBOURS: Mapping[str, str] = {  # which entry of the moved array has the index of an entry that is not moved
    "shifted by one entry towards the end": "previous", "shifted by one entry towards the beginning": "next",
    "rolled by one entry towards the end": "previous", "rolled by one entry towards the beginning": "next",
    "reversed": "opposite",
}  # fmt: skip


@dataclass(frozen=True)
class Displacement:
    """A displacement of the entries of an array along one axis, in the contribution of an edge.

    Args:
        array: which array: the upstream gradient of the edge's reader, the contribution itself (`"result"`), or the
            partner operand.
        axis: the axis of that array, counted from the front.
        how: a key of `MOVES`: `"reversed"`, shifted by one entry with zeros moved in, or rolled by one, in either
            direction.
    """

    array: Literal["upstream", "result", "partner"]
    axis: int
    how: str

    def describe(self, axis: str) -> str:
        """Return what happens to the entries, such as "shifted by one entry along t, towards the end".

        Args:
            axis: the name of the axis.
        """
        moved, _, end = self.how.partition(" towards the ")
        return f"{moved} along {axis}, towards the {end}" if end else f"{moved} along {axis}"


def name_of_moved_axis(program: Program, place: Place, move: Displacement) -> str:
    """Return the name of the axis along which a `Displacement` moves entries, such as `t`, or `axis 0 of x`.

    Args:
        program: the program of a trial.
        place: the edge whose contribution is computed from the displaced array.
        move: which array, upstream gradient, contribution or partner operand, and the number of the axis in it.
    """
    reader, slot = place
    values = {"upstream": reader, "result": program.source(place), "partner": program.nodes[reader].operand(1 - slot)}
    value = values[move.array]
    return f"axis {move.axis}" if value is None else program.name_of_axis(value, move.axis)


def name_of_moved_array(program: Program, place: Place, move: Displacement) -> str:
    """Return what a learner calls the array that a `Displacement` moves: "the upstream gradient", or "the result".

    For a partner operand its name, such as `gate`, or "the constant".

    Args:
        program: the program of a trial.
        place: the edge whose contribution is computed from the displaced array.
        move: which array: upstream gradient, contribution or partner operand.
    """
    partner = program.nodes[place[0]].operand(1 - place[1])
    names = {"upstream": "the upstream gradient", "result": "the result"}
    return names.get(move.array) or ("the constant" if partner is None else program.name_of(partner))


_ORDERED: WeakKeyDictionary[Forward, frozenset[int]] = WeakKeyDictionary()


def ordered_sizes(program: Program) -> frozenset[int]:
    """Return the sizes of all axes along which the order of the entries matters in the forward pass, as of time steps.

    These are axes that are selected from, joined, flipped, rolled, slid along by windows, or summed cumulatively: 5 for
    `x.cumsum(0)` with x of shape (5, 3). Where no option `dim` or `dims` says which, and for a join, they are the sizes
    that only the operands have, or only the result: 5 and 3 for `x[:3]` with x of shape (5, 4). Cached for each forward
    pass.
    """
    if program.forward not in _ORDERED:
        sizes: set[int] = set()
        for node in program.nodes:
            if node.operation.family in ("selection", "window", "join") or node.name in ("cumsum", "flip", "roll"):
                shape = [size for value in node.values for size in np.shape(value)]
                dims = node.options.get("dims", node.options.get("dim"))
                if isinstance(dims, int):
                    dims = (dims,)
                if isinstance(dims, tuple) and node.operation.family != "join":
                    sizes |= {np.shape(node.values[0])[dim] for dim in dims if isinstance(dim, int)}
                else:
                    sizes |= set(shape) ^ set(node.value.shape)
        _ORDERED[program.forward] = frozenset(sizes)
    return _ORDERED[program.forward]


def axis_moves(program: Program, place: Place) -> Iterator[Displacement]:
    """Yield `Displacement`s: which array in the contribution of the edge `place`, along which axis, and how.

    The entries are reversed, shifted by one with zeros moved in, or rolled by one, towards the end or the beginning.
    The arrays are the contribution itself, along axes whose order matters, such as time (see `ordered_sizes`), or, to a
    target, along any; the partner operand of a pointwise operation, along such axes too; and of a contraction, the
    partner operand along axes that it shares with operand and value, and the upstream gradient along those that the
    contribution sums over. Of any further operation but a rearrangement the upstream gradient, along every axis.
    """
    node, slot = program.reader(place), place[1]
    contraction, ordered = contraction_of(node), ordered_sizes(program)
    is_target = program.source(place) in program.forward.targets.values()
    sizes = np.shape(node.values[slot])
    axes: dict[Literal["upstream", "result", "partner"], list[int]] = {
        "result": [axis for axis, size in enumerate(sizes) if size > 1 and (is_target or size in ordered)]
    }
    if contraction is not None:
        own = contraction.operands[slot]
        axes["upstream"] = [axis for axis, letter in enumerate(contraction.value) if letter not in own]
        if len(contraction.operands) == 2:  # examples may be paired otherwise
            partner = contraction.operands[1 - slot]
            axes["partner"] = [i for i, letter in enumerate(partner) if letter in own and letter in contraction.value]
    elif node.operation.family not in ("pointwise", "rearrangement"):  # there it is that of another edge
        axes["upstream"] = [axis for axis, size in enumerate(node.value.shape) if size > 1]
    elif len(node.values) == 2 and node.name in ("mul", "div", "pow", "maximum", "minimum"):
        sizes = np.shape(node.values[1 - slot])
        axes["partner"] = [axis for axis, size in enumerate(sizes) if size > 1 and size in ordered]
    for part, chosen in axes.items():
        for axis in chosen:
            yield from (Displacement(part, axis, how) for how in MOVES)


def fields_of_move(program: Program, place: Place, move: Displacement) -> dict[str, str]:
    """Return the fields of a message on a `Displacement`: `array`, `how`, `inside` and `mistake`.

    Where a product is summed over the axis, one factor may be moved as well as the other, the other way: then `mistake`
    says which indices are multiplied, and no array is said to be moved.

    Args:
        program: the program of a trial.
        place: the edge whose contribution is computed from the moved array.
        move: which array is moved, along which axis, and how.
    """
    axis, array = name_of_moved_axis(program, place, move), name_of_moved_array(program, place, move)
    how, contraction = move.describe(axis), contraction_of(program.reader(place))
    fields = {"array": array, "how": how, "inside": "" if move.array == "result" else "in "}
    if move.array == "result":
        return {**fields, "mistake": f" is {how}"}
    if move.array == "upstream" and move.how in NEIGHBOURS and contraction and len(contraction.operands) == 2:
        partner = name_of_moved_array(program, place, replace(move, array="partner"))
        beside = f"{partner} at each index along {axis} is multiplied by the upstream gradient at the"
        return {**fields, "mistake": f", {beside} {NEIGHBOURS[move.how]} index; the two indices must be the same"}
    return {**fields, "mistake": f", {array} is {how}"}


@operator(
    "moved-along-axis",
    code="wrong-operand",
    rank=3.0,
    at=edges.in_every_iteration,
    choices=axis_moves,
    message="{inside}the gradient of {operand} through {step}{mistake}",
    fields=lambda program, place, choice: fields_of_move(program, place, choice),
    hints=WHICH_INDEX,
)
def move_along_axis(program: Program, place: Place, choice: Displacement) -> Program:
    """Compute the contribution of the edge `place` with the entries of one array displaced along an axis.

    The array is the upstream gradient (`"upstream"`), the partner operand (`"partner"`) or the contribution itself
    (`"result"`). For x * gate, its edge of x and `Displacement("partner", 0, "rolled by one entry towards the end")`
    the contribution is g * gate.roll(1, 0).
    """
    move = MOVES[choice.how]

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the chosen array moved along the axis."""
        if choice.array == "upstream":
            return at.right(move(at.g, choice.axis))
        if choice.array == "result":
            return move(np.array(at.right()), choice.axis)
        partner = np.asarray(at.node.values[1 - at.slot])
        return at.right(operands={1 - at.slot: move(partner, choice.axis)})

    return program.with_vjp(place, rule)


@move_along_axis.example
def _() -> Example:
    """Show (exp(x) * gate).cumsum(0) whose gradient of `x` multiplies each step by the gate of the step before."""

    def forward(x: Tensor, gate: Tensor) -> Tensor:
        return (x.exp() * gate).cumsum(0)

    def wrong(x: Tensor, gate: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply each step by the gate of the step before."""
        dy = g.flip(0).cumsum(0).flip(0)
        before = torch.cat([torch.zeros_like(gate[:1]), gate[:-1]])
        return {"x": dy * before * x.exp()}

    return Example(forward, wrong, {"x": "t n", "gate": "t n"})


class Unshuffling(NamedTuple):
    """A wrong way to undo `pixel_shuffle`, which moves r * r channels into blocks of r * r pixels.

    Args:
        code: the public code.
        message: what is wrong, in words.
        axes: the order in which the axes (channels, height, r, width, r) of the split gradient are put, before those of
            channels are joined; empty where it is reshaped at once.
    """

    code: str
    message: str
    axes: tuple[int, ...]


UNSHUFFLINGS: Mapping[str, Unshuffling] = {
    "reshaped": Unshuffling(
        "reshape-for-transpose", "the upstream gradient is reshaped; its blocks must be moved back", ()),
    "offsets exchanged": Unshuffling(
        "transposed", "the row and the column inside a block are swapped", (0, 4, 2, 1, 3)),
    "offsets first": Unshuffling(
        "reshape-for-transpose", "the places inside a block are put in front of the channels", (2, 4, 0, 1, 3)),
}  # fmt: skip


@operator(
    "shuffle-undone-wrongly",
    code=lambda choice: UNSHUFFLINGS[choice].code,
    rank=2.0,
    at=edges.of("pixel_shuffle"),
    choices=lambda program, place: UNSHUFFLINGS,
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": UNSHUFFLINGS[choice].message},
)
def undo_shuffle_wrongly(program: Program, place: Place, choice: str) -> Program:
    """Move the gradient of `pixel_shuffle` back to the channels in a wrong order.

    The choice is a key of `UNSHUFFLINGS`, which holds the order. `place` is an edge into the `pixel_shuffle`.
    """
    axes = UNSHUFFLINGS[choice].axes

    def rule(at: EdgeContext) -> Array:
        """Return g with its axes in the wrong order, shaped like the operand."""
        shape = np.shape(at.x)
        if not axes:
            return at.g.reshape(shape)
        *batch, channels, height, width = at.g.shape
        r = height // shape[-2]
        split = at.g.reshape(*batch, channels, height // r, r, width // r, r)
        return split.transpose(*range(len(batch)), *(len(batch) + axis for axis in axes)).reshape(shape)

    return program.with_vjp(place, rule)


@undo_shuffle_wrongly.example
def _() -> Example:
    """Show pixel_shuffle(x, 2) whose gradient is g reshaped to the shape of x."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sin(torch.nn.functional.pixel_shuffle(w * x, 2))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = w * x
        return {"x": w * (g * torch.cos(torch.nn.functional.pixel_shuffle(z, 2))).reshape(z.shape)}

    return Example(forward, wrong, {"x": sized(normal("c h k"), c=(8, 12)), "w": "h k"})
