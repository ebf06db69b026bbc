"""Operators that change the right gradient of a target at the end: its sign, its order, its entries, its sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import indices, normal, positive, sized
from grader.course.shapes import BATCH, guess_axes
from grader.diagnosis.hints import CHANGED_AFTERWARDS, SUMMED_TOO_FAR
from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import Program
from grader.program.selectors import ValueName, values_by_name
from grader.reference.compare import agrees

from .broadcasts import sum_to_shape
from .contract import Example, operator
from .places import Predicate, target_of, targets

GradientFunction = Callable[[Array], Array]


def with_function_of_gradient(program: Program, place: Place, change: GradientFunction) -> Program:
    """Return the program in which the gradient of the target `place` is replaced by a function of it.

    Args:
        program: the program to rewrite.
        place: the target.
        change: takes the gradient; returns the array that the program returns in its place, of any shape.
    """
    return program.with_result(target_of(program, place), lambda program, gradient: np.asarray(change(gradient)))


def shape_of(program: Program, place: Place) -> tuple[int, ...]:
    """Return the shape of the target `place`."""
    shape: tuple[int, ...] = program.nodes[place[0]].value.shape
    return shape


def has_axes(count: int) -> Predicate:
    """Return a condition for `Places.where`: whether the target `place` has `count` axes or more."""
    return lambda program, place: len(shape_of(program, place)) >= count


def is_square(program: Program, place: Place) -> bool:
    """Return whether the last two axes of the target `place` have one size, greater than 1."""
    shape = shape_of(program, place)
    return len(shape) > 1 and shape[-1] == shape[-2] > 1


# The sign, and functions of the entries -----------------------------------------------------------------------------


@operator(
    "result-negated",
    code="wrong-sign",
    rank=1.5,
    at=targets,
    message="this is the right answer with the wrong sign",
)
def negate_result(program: Program, place: Place, choice: None) -> Program:
    """Negate the gradient of the target `place`: -dw in place of dw."""
    return with_function_of_gradient(program, place, np.negative)


@negate_result.example
def _() -> Example:
    """Show the mean of (x - x @ w) ** 2 whose gradient of `w` has the wrong sign."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x - x @ w).square().mean()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate as if the prediction x @ w were not subtracted from x."""
        return {"w": g * 2 * x.T @ (x - x @ w) / x.numel()}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


LEAST_EXPONENT = 10.0  # where less is left than rounding leaves of a zero, nothing tells that it is an exponential
FUNCTIONS: Mapping[str, tuple[str, GradientFunction]] = {
    "the absolute value of the right answer": ("wrong-sign", np.abs),
    "the sign of the right answer": ("wrong-local", np.sign),
    "the right answer clipped to the range from -1 to 1": ("not-linear", lambda r: np.clip(r, -1, 1)),
    "the square root of the right answer": ("wrong-local", lambda r: np.sqrt(np.abs(r))),
    "the square of the right answer": ("wrong-local", np.square),
    "the logarithm of the right answer": ("wrong-local", lambda r: np.log(np.abs(r))),
    "the exponential of the right answer": ("wrong-local", lambda r: np.exp(np.maximum(r, -LEAST_EXPONENT))),
    "the right answer divided by its norm": ("not-linear", lambda r: r / np.sqrt(np.square(r).sum())),
    "the right answer minus its mean": ("wrong-local", lambda r: r - r.mean()),
}


@operator(
    "function-of-result",
    code=lambda choice: FUNCTIONS[choice][0],
    rank=3.0,
    at=targets,
    choices=lambda program, place: (
        how for how in FUNCTIONS if not how.endswith("its mean") or math.prod(shape_of(program, place)) > 1
    ),
    message="this is {choice}",
    hints=CHANGED_AFTERWARDS,
)
def apply_function(program: Program, place: Place, choice: str) -> Program:
    """Replace the gradient of the target `place` by a function of its entries: the choice is a key of `FUNCTIONS`.

    Such as "the absolute value of the right answer", or "the right answer clipped to the range from -1 to 1".
    """
    return with_function_of_gradient(program, place, FUNCTIONS[choice][1])


@apply_function.example
def _() -> Example:
    """Show tanh(x @ w) whose gradient of `w` is clipped to between -1 and 1."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dw = x.T @ (g * (1 - torch.tanh(x @ w) ** 2))
        return {"w": dw.clamp(-1, 1)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# The order of the entries -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AxisOrder:
    """A wrong order of the axes of a gradient, as a transposition makes it.

    `AxisOrder((-1, -2), reshaped=False)` is the transpose of a matrix, of the transposed shape; with `reshaped=True` it
    is that transpose reshaped to the right shape.

    Args:
        axes: the order, as a permutation of the axes, counted from the end.
        reshaped: whether the transposed gradient is reshaped to the right shape, so that its entries are mixed.
        back: whether the gradient is instead reshaped to the shape of that order, and its axes are then put back in
            place.
    """

    axes: tuple[int, ...]
    reshaped: bool
    back: bool = False

    def reorder(self, gradient: Array) -> Array:
        """Return the gradient with its axes in the order `self.axes`, reshaped to its own shape if `self.reshaped`.

        For a matrix d and (-1, -2): d.T, or d.T.reshape(d.shape). If `self.back`, it is reshaped first: with (n, m) the
        shape of d, d.reshape(m, n).T.
        """
        if self.back:
            order = [axis % gradient.ndim for axis in self.axes]
            return gradient.reshape([gradient.shape[axis] for axis in order]).transpose(np.argsort(order))
        moved = gradient.transpose(self.axes)
        return moved.reshape(gradient.shape) if self.reshaped else moved


def axis_orders(program: Program, place: Place) -> Iterator[AxisOrder]:
    """Yield `AxisOrder`s: a wrong order of the axes of the gradient of the target `place`, such as (-1, -2).

    First the last two exchanged, transposed, and transposed and reshaped to the right shape; for three or four axes
    then every permutation, reshaped after the transposition, or before it (`back=True`).
    """
    count = len(shape_of(program, place))
    last = (*range(-count, -2), -1, -2)
    yield AxisOrder(last, reshaped=False)
    yield AxisOrder(last, reshaped=True)
    if 2 < count < 5:
        own = tuple(range(-count, 0))
        for axes in itertools.permutations(own):
            if axes not in (own, last):
                yield from (AxisOrder(axes, reshaped=True), AxisOrder(axes, reshaped=True, back=True))


OF_THE_VARIABLE = (
    "Which axis comes first in the right answer, and which comes first in yours?",
    "Check one entry by hand, with a matrix of two rows and two columns that is not symmetric.",
)


@operator(
    "result-transposed",
    code=lambda choice: "reshape-for-transpose" if choice.reshaped else "transposed",
    rank=1.5,
    at=targets.where(has_axes(2)),
    choices=axis_orders,
    fields=lambda program, place, choice: {
        "what": "these are the entries of the right answer in the wrong places, as after a reshape and then a permute"
        if choice.back
        else "these are the entries of the right answer in the wrong places, as after a permute and then a reshape"
        if choice.reshaped
        else "this is the transpose of the right answer"
    },
    message="{what}",
    hints={"transposed": OF_THE_VARIABLE},
)
def transpose_result(program: Program, place: Place, choice: AxisOrder) -> Program:
    """Replace the gradient of the target `place` by one with its axes in another order, such as its transpose.

    The choice is the order, and whether the result is reshaped to the right shape: `AxisOrder((-1, -2),
    reshaped=False)` for the transpose d.T of a matrix d, with `reshaped=True` d.T.reshape(d.shape).
    """
    return with_function_of_gradient(program, place, choice.reorder)


@transpose_result.example
def _() -> Example:
    """Show relu(x @ w) whose gradient of `w` is the transpose, reshaped."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": ((g * (x @ w > 0)).T @ x).reshape(w.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "result-transposed-and-negated",
    code="transposed",
    rank=3.0,
    at=targets.where(has_axes(2)),
    message="this is the transpose of the right answer, with the wrong sign",
    hints=OF_THE_VARIABLE,
)
def transpose_and_negate_result(program: Program, place: Place, choice: None) -> Program:
    """Replace the gradient of the target `place`, a matrix d, by -d.T."""
    return with_function_of_gradient(program, place, lambda gradient: -np.swapaxes(gradient, -1, -2))


@transpose_and_negate_result.example
def _() -> Example:
    """Show a.inverse() @ b whose gradient of `a` is out @ b.g.T."""

    def forward(a: Tensor, b: Tensor) -> Tensor:
        return a.inverse() @ b

    def wrong(a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take out @ b.g.T for -b.g @ out.T."""
        return {"a": a.inverse() @ b @ (a.inverse().T @ g).T}

    return Example(forward, wrong, {"a": "n n", "b": "n m"})


@dataclass(frozen=True)
class HalvesInTurns:
    """A wrong order of the entries along one axis: those of its two halves in turns, or the reverse.

    Args:
        axis: the axis, counted from the end.
        back: False for the halves in turns, so that 0 1 2 3 becomes 0 2 1 3; True for the reverse, which puts the
            entries of even number in front of the odd ones.
    """

    axis: int
    back: bool

    def describe(self) -> str:
        """Return how the entries are reordered, such as `the entries of its two halves interleaved`."""
        return "its even entries in front of its odd ones" if self.back else "the entries of its two halves interleaved"

    def reorder(self, gradient: Array) -> Array:
        """Return the gradient with the entries along `self.axis` reordered; same shape.

        For [0, 1, 2, 3, 4, 5]: [0, 3, 1, 4, 2, 5], or [0, 2, 4, 1, 3, 5] if `self.back`.

        Raises:
            ValueError: the axis has an odd number of entries.
        """
        moved = np.moveaxis(gradient, self.axis, -1)
        half = (moved.shape[-1] // 2, 2) if self.back else (2, moved.shape[-1] // 2)
        pairs = moved.reshape(*moved.shape[:-1], *half).swapaxes(-1, -2)
        return np.moveaxis(pairs.reshape(moved.shape), -1, self.axis)


def halved_axes(program: Program, place: Place) -> Iterator[HalvesInTurns]:
    """Yield `HalvesInTurns`: an axis of the target `place`, from the end, and which way its entries are reordered.

    Both ways, 0 1 2 3 becoming 0 2 1 3 or the reverse, for each axis with an even number of entries, four or more.
    """
    shape = shape_of(program, place)
    for axis in range(-len(shape), 0):
        if shape[axis] > 2 and shape[axis] % 2 == 0:
            yield from (HalvesInTurns(axis, back) for back in (True, False))


@operator(
    "halves-in-turns",
    code="reshape-for-transpose",
    rank=2.5,
    at=targets,
    choices=halved_axes,
    fields=lambda program, place, choice: {
        "axis": program.name_of_axis(place[0], choice.axis),
        "how": choice.describe(),
    },
    message="this is the right answer with {how} along {axis}",
)
def interleave_halves(program: Program, place: Place, choice: HalvesInTurns) -> Program:
    """Replace the gradient of the target `place` by one with the entries along an axis in a wrong order.

    With `HalvesInTurns(-1, back=False)`, those of the two halves along axis -1 take turns: d[0], d[3], d[1], d[4],
    d[2], d[5] for six entries. With `back=True`, those of even number come first: d[0], d[2], d[4], d[1], d[3], d[5].
    """
    return with_function_of_gradient(program, place, choice.reorder)


@interleave_halves.example
def _() -> Example:
    """Show sin(x * w) whose gradient of `x` has the halves of each row as pairs of neighbours."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sin(x * w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Interleave the gradients of the two halves in place of joining them."""
        first, second = (g * w * torch.cos(x * w)).chunk(2, -1)
        return {"x": torch.stack([first, second], -1).flatten(-2)}

    return Example(forward, wrong, {"x": sized(normal("bs n"), n=(6, 8)), "w": "1"})


# Parts, diagonals and sums ------------------------------------------------------------------------------------------

SQUARE_CHANGES: Mapping[str, tuple[str, GradientFunction]] = {
    "the mean of the right answer and its transpose": ("wrong-local", lambda r: (r + r.swapaxes(-1, -2)) / 2),
    "the sum of the right answer and its transpose": ("wrong-local", lambda r: r + r.swapaxes(-1, -2)),
    "the right answer with its off-diagonal entries doubled": (
        "wrong-local", lambda r: r * (2 - np.eye(r.shape[-1]))
    ),
    "the diagonal of the right answer with zeros elsewhere": ("diagonal-only", lambda r: r * np.eye(r.shape[-1])),
    "only the diagonal of the right answer": ("diagonal-only", lambda r: np.diagonal(r, axis1=-2, axis2=-1)),
    "the right answer without its upper triangle": ("inverted-mask", np.tril),
    "the right answer without its lower triangle": ("inverted-mask", np.triu),
}  # fmt: skip


@operator(
    "square-result-changed",
    code=lambda choice: SQUARE_CHANGES[choice][0],
    rank=2.0,
    at=targets.where(is_square),
    choices=lambda program, place: SQUARE_CHANGES,
    message="this is {choice}",
)
def change_square_gradient(program: Program, place: Place, choice: str) -> Program:
    """Replace the gradient of the square target `place` by its diagonal, a triangle, or the sum with its transpose.

    The choice is a key of `SQUARE_CHANGES`, such as "the right answer without its upper triangle".
    """
    return with_function_of_gradient(program, place, SQUARE_CHANGES[choice][1])


@change_square_gradient.example
def _() -> Example:
    """Show x^T a x whose gradient of `a` is kept on the diagonal alone."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.einsum("bi,ij,bj->b", x, a, x)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return the diagonal of the gradient, with zeros in place of its other entries."""
        return {"a": torch.diag((g[:, None] * x * x).sum(0))}

    return Example(forward, wrong, {"x": "bs n", "a": "n n"})


SUMS: Mapping[str, Callable[..., Array]] = {"sum": np.sum, "mean": np.mean}


@dataclass(frozen=True)
class AxisTotal:
    """A sum or a mean of a gradient over one of its axes, or over all.

    Args:
        how: `"sum"` or `"mean"`.
        axis: the axis, counted from the front; `None` for all axes.
        kept: what becomes of the axis: it is gone, it has size 1, or each of its entries is the sum.
        code: the public code of the mistake.
    """

    how: str
    axis: int | None
    kept: Literal["gone", "one", "filled"]
    code: str

    def apply(self, gradient: Array) -> Array:
        """Return the sum or the mean, `self.how`, of a gradient over `self.axis`, or over all axes if that is `None`.

        The axis is gone, has size 1, or is filled with copies, so that the shape stays: see `self.kept`.
        """
        total = np.asarray(SUMS[self.how](gradient, axis=self.axis, keepdims=self.kept != "gone"))
        return np.broadcast_to(total, gradient.shape) if self.kept == "filled" else total


def has_batch_axis(program: Program, place: Place) -> bool:
    """Return whether the first axis of the target `place` is that of the examples of a batch.

    True if the sizes of the trial, such as {"bs": 4, "n": 3}, give the axis the name `bs`, False if another name. Where
    they give none, True if the output, or, for a loss, a second input has the same size along its first axis.
    """
    shape = shape_of(program, place)
    if shape and program.sizes and not (name := guess_axes(shape, program.sizes)[0]).startswith("_"):
        return name == BATCH
    output = program.nodes[program.forward.outputs[-1]].value.shape
    if not shape or output:
        return bool(shape) and shape[0] == output[0]
    inputs = [program.nodes[value].value.shape for value in program.inputs.values()]
    return sum(other[:1] == shape[:1] for other in inputs) > 1  # a loss


def axis_totals(program: Program, place: Place) -> Iterator[AxisTotal]:
    """Yield `AxisTotal`s: a sum or a mean of the gradient of the target `place`, the axis, and what becomes of it.

    Over each axis of several entries, and over all; and each three times: the axis is `"gone"`, is kept as `"one"` of
    size 1, or is `"filled"` with copies of the sum.
    """
    shape, is_batch = shape_of(program, place), has_batch_axis(program, place)
    for axis in (*range(len(shape)), None):
        if axis is None or shape[axis] > 1:
            code = "extra-batch-sum" if is_batch and axis in (0, None) else "summed-wrong-axis"
            for how in SUMS:
                yield from (AxisTotal(how, axis, kept, code) for kept in ("gone", "one", "filled"))


@operator(
    "result-summed",
    code=lambda choice: choice.code,
    rank=2.0,
    at=targets.where(has_axes(1)),
    choices=axis_totals,
    fields=lambda program, place, choice: {
        "how": "averaged" if choice.how == "mean" else "summed",
        "axis": "all entries" if choice.axis is None else program.name_of_axis(place[0], choice.axis),
        "kept": "each entry must get its own gradient"
        if choice.kept == "filled"
        else f"the answer must have the shape of {program.name_of(place[0])}"
        if choice.axis is None
        else "the answer must keep this axis",
    },
    message="this is the right answer {how} over {axis}; {kept}",
    hints=SUMMED_TOO_FAR,
)
def sum_result(program: Program, place: Place, choice: AxisTotal) -> Program:
    """Replace the gradient of the target `place` by its sum or mean over an axis that it must keep, or over all axes.

    The choice is which of the two, the axis, and what becomes of it. For the gradient d: with `AxisTotal("sum", 0,
    "gone", ...)` d.sum(0); with `"one"` d.sum(0, keepdims=True); with `"filled"` that, copied to the shape of d.
    """
    return with_function_of_gradient(program, place, choice.apply)


@sum_result.example
def _() -> Example:
    """Show tanh(x @ w) whose gradient of `x` is averaged over the batch."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return in each row the mean of the gradient over the batch, in place of the row."""
        dx = (g * (1 - torch.tanh(x @ w) ** 2)) @ w.T
        return {"x": dx.mean(0, keepdim=True).expand(x.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def with_zeros(gradient: Array, index: slice | int) -> Array:
    """Return a copy of the gradient in which the entries at an index of the flattened array are 0; same shape.

    Args:
        gradient: an array of any shape.
        index: a number or slice, such as 0 for the first entry or `slice(1, None)` for all but that.
    """
    part = np.array(gradient)
    part.reshape(-1)[index] = 0
    return part


ENTRIES: Mapping[str, GradientFunction] = {
    "every row is the first row of the right answer": lambda r: np.broadcast_to(r[:1], r.shape),
    "every row is the last row of the right answer": lambda r: np.broadcast_to(r[-1:], r.shape),
    "the first entry is 0, and the others are right": lambda r: with_zeros(r, 0),
    "the last entry is 0, and the others are right": lambda r: with_zeros(r, -1),
    "the first entry is right, and the others are 0": lambda r: with_zeros(r, slice(1, None)),
    "the last entry is right, and the others are 0": lambda r: with_zeros(r, slice(0, -1)),
    "only every other row is right, and the others are 0": lambda r: r * _every_other_row(r),
    "the rows of the right answer are in reverse order": lambda r: np.flip(r, 0),
    "each row is the previous row of the right answer": lambda r: np.roll(r, 1, 0),
    "each row is the next row of the right answer": lambda r: np.roll(r, -1, 0),
    "each row is the running sum of the rows of the right answer": lambda r: np.cumsum(r, 0),
    "the columns of the right answer are in reverse order": lambda r: np.flip(r, -1),
    "the entries of the right answer are in reverse order": lambda r: np.flip(r),
    "each column is the first column of the right answer": lambda r: np.broadcast_to(r[..., :1], r.shape),
}


@dataclass(frozen=True)
class EntryChange:
    """A change of the entries or rows of a gradient, such as the first row in place of every row.

    Args:
        which: the change, a key of `ENTRIES`, such as `"the first entry is 0, and the others are right"`.
        code: the public code of the mistake.
    """

    which: str
    code: str


def entry_changes(program: Program, place: Place) -> Iterator[EntryChange]:
    """Yield `EntryChange`s: each key of `ENTRIES`, such as "each row is the previous row of the right answer".

    The public code is `"partial-batch"` for a change that sets entries or rows to 0, and, if the rows of the target
    `place` are the examples of a batch, for one that repeats a row; else `"wrong-operand"`.
    """
    of_examples = has_batch_axis(program, place)
    for which in ENTRIES:
        is_part = not which.startswith("each ") and "order" not in which
        is_row = which.startswith("every row")
        yield EntryChange(which, "partial-batch" if is_part and (of_examples or not is_row) else "wrong-operand")


def _every_other_row(gradient: Array) -> Array:
    """Return a mask of the rows r[0], r[2], ... of a gradient r; shape: (rows, 1, ...), with as many axes as r."""
    return np.asarray(np.arange(len(gradient)) % 2 == 0).reshape(-1, *(1,) * (gradient.ndim - 1))


@operator(
    "entries-of-result",
    code=lambda choice: choice.code,
    rank=2.5,
    at=targets.where(has_axes(1)),
    choices=entry_changes,
    fields=lambda program, place, choice: {"what": choice.which},
    message="{what}",
)
def change_entries(program: Program, place: Place, choice: EntryChange) -> Program:
    """Replace the gradient of the target `place` by one with entries or rows missing, repeated or moved.

    The choice names the change by a key of `ENTRIES`: with "every row is the first row of the right answer", d[:1] is
    repeated for the gradient d.
    """
    return with_function_of_gradient(program, place, ENTRIES[choice.which])


@change_entries.example
def _() -> Example:
    """Show x.reshape(-1) * c whose gradient of `x` is reshaped from the end to the beginning."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        return torch.sin(x).reshape(-1) * c

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": ((g * c) * torch.cos(x).reshape(-1)).flip(0).reshape(x.shape)}

    return Example(forward, wrong, {"x": "n m", "c": "1"})


@change_entries.example
def _() -> Example:
    """Show tanh(x @ w) @ w.T whose gradient of `x` has the first row for all examples."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ w.T

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return in each row the gradient of the first example."""
        dx = (g @ w * (1 - torch.tanh(x @ w) ** 2)) @ w.T
        return {"x": dx[:1].expand(x.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def invert_marks(gradient: Array) -> Array:
    """Return a gradient that consists of zeros and one number v with zeros and v exchanged; same shape.

    Raises:
        ValueError: it has a second number, no zeros, or nothing but zeros.
    """
    numbers = gradient[gradient != 0]
    if not numbers.size or np.ptp(numbers) > 1e-9 * abs(numbers[0]) or numbers.size == gradient.size:
        raise ValueError("the gradient is not of one number and zeros")
    return np.where(gradient == 0, numbers[0], 0.0)


@operator(
    "marks-inverted",
    code="inverted-mask",
    rank=2.0,
    at=targets,
    message="the zeros and the nonzero entries of the right answer are swapped",
    hints=(
        "Take one entry of the answer that must be 0 and one that must not. What does your code give for each?",
        "Nudge one entry of the input. Where does the output move, and where does it stay the same?",
        "Which part of your code decides where the zeros are?",
    ),
)
def invert_result(program: Program, place: Place, choice: None) -> Program:
    """Exchange 0 and v in the gradient of the target `place`, if it consists of 0 and one other number v.

    For the gradient [0, v, v]: [v, 0, 0]. The edit cannot be computed where the gradient has other numbers.
    """
    return with_function_of_gradient(program, place, invert_marks)


@invert_result.example
def _() -> Example:
    """Show x.gather(1, labels).sum() * 2 whose gradient marks the entries that were not chosen."""

    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return x.gather(1, labels[:, None]).sum() * 2

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        marks = torch.nn.functional.one_hot(labels, x.shape[1])
        return {"x": 2 * g * (1 - marks)}

    return Example(forward, wrong, {"x": normal("bs n"), "labels": indices("bs", "n")})


# What is mixed in, or handed out instead ----------------------------------------------------------------------------

COMBINATIONS: Mapping[str, tuple[str, str, Callable[[Array, Array], Array]]] = {
    "this is the right answer plus {value}": ("wrong-local", "+", lambda r, v: r + v),
    "this is {value} minus the right answer: a step of gradient descent": ("wrong-local", "", lambda r, v: v - r),
    "this is {value} minus 0.1 times the right answer: a step of gradient descent": (
        "wrong-local", "", lambda r, v: v - 0.1 * r,
    ),
    "this is {value} minus 0.01 times the right answer: a step of gradient descent": (
        "wrong-local", "", lambda r, v: v - 0.01 * r,
    ),
    "this is the right answer multiplied by {value}": ("extra-factor", "*", lambda r, v: r * v),
    "this is the right answer divided by {value}": ("extra-factor", "/", lambda r, v: r / v),
    "this is the right answer multiplied by the exponential of {value}": (
        "extra-factor", "* exp", lambda r, v: r * np.exp(v),
    ),
    "this is the right answer divided by the exponential of {value}": (
        "extra-factor", "/ exp", lambda r, v: r / np.exp(v),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Combination:
    """A value of the forward pass that a gradient is combined with, and how.

    Args:
        name: names the value, as seen from the last output.
        how: how the two are combined, a key of `COMBINATIONS` such as `"this is the right answer plus {value}"`: it is
            the clause of the message.
    """

    name: ValueName
    how: str


def combinations_with_values(program: Program, place: Place) -> Iterator[Combination]:
    """Yield `Combination`s: the name of a value, and how the gradient of the target `place` is combined with it.

    How is a key of `COMBINATIONS`, such as "this is the right answer multiplied by {value}". The values have the
    target's shape, or are inputs shaped like its last axes; the target itself is left out where it is the output.
    """
    shape, reader = shape_of(program, place), program.forward.outputs[-1]
    for name, value in values_by_name(program, reader).items():
        own = program.nodes[value].value.shape
        if value == place[0] == reader:
            continue  # it is no gradient, but the answer itself
        if own == shape or (value in program.inputs.values() and own and own == shape[len(shape) - len(own) :]):
            yield from (Combination(name, how) for how in COMBINATIONS)


@operator(
    "value-mixed-into-result",
    code=lambda choice: COMBINATIONS[choice.how][0],
    rank=3.0,
    at=targets,
    choices=combinations_with_values,
    fields=lambda program, place, choice: {
        "what": choice.how.format(value=choice.name.describe(program)),
        "value": choice.name.describe(program),
        "sign": COMBINATIONS[choice.how][1],
    },
    message="{what}",
    hints={"wrong-local": CHANGED_AFTERWARDS},
)
def combine_with_value(program: Program, place: Place, choice: Combination) -> Program | None:
    """Replace the gradient r of the target `place` by r + v, v - 0.1 * r, r * v or the like, with a value v.

    The choice names v, and how the two are combined, a key of `COMBINATIONS`. Returns `None` where the program has no
    such value.
    """
    value = choice.name.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    mixed = COMBINATIONS[choice.how][2]
    return program.with_result(
        target_of(program, place), lambda program, gradient: mixed(gradient, program.nodes[value].value)
    )


@combine_with_value.example
def _() -> Example:
    """Show softmax(x @ w) whose gradient of `w` is the weights after a step of gradient descent."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.softmax(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return the weights after a training step in place of their gradient."""
        p = torch.softmax(x @ w, -1)
        return {"w": w - 0.1 * x.T @ (p * (g - (p * g).sum(-1, keepdim=True)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def addable_gradients(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values of the shape of the target `place` whose gradients may be added to its gradient.

    Those whose gradient is a multiple of the target's are left out.
    """
    reader = program.forward.outputs[-1]
    for name, value in values_by_name(program, reader, shape_of(program, place)).items():
        if value != place[0] and program.forward.uses[value] and not are_multiples(program, place[0], value):
            yield name


def are_multiples(program: Program, value: int, other: int) -> bool:
    """Return whether the right gradients of two values, given by their ids, are equal but for a number as a factor.

    The values have one shape. True, too, where one of the gradients is 0.
    """
    a, b = (program.right_sweep.gradient(i).ravel() for i in (value, other))
    return bool(np.isclose(abs(a @ b), np.sqrt((a @ a) * (b @ b)), rtol=1e-9))


@operator(
    "other-gradient-added",
    code="wrong-local",
    rank=2.8,
    at=targets,
    choices=addable_gradients,
    fields=lambda program, place, choice: {
        "other": name_of_added_gradient(program, choice.find(program, program.forward.outputs[-1]) or 0)
    },
    message="{other} is added to the right answer",
    hints=CHANGED_AFTERWARDS,
)
def add_gradient_of_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Add the gradient of the value that the choice names to that of the target `place`, which has the same shape.

    Returns `None` where the program has no such value.
    """
    value = choice.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    return program.with_result(
        target_of(program, place), lambda program, gradient: gradient + program.sweep.gradient(value)
    )


def name_of_added_gradient(program: Program, value: int) -> str:
    """Return what a learner calls the right gradient of a value: `v`, say, where it is equal to the argument v.

    In `grad @ v`, the gradient of `grad` is v. Else what `name_of_gradient` returns, such as "the gradient of h".

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    gradient = program.right_sweep.gradient(value)
    arguments = (i for i in program.inputs.values() if np.array_equal(program.nodes[i].value, gradient))
    argument = next(arguments, None)
    return name_of_gradient(program, value) if argument is None else program.name_of(argument)


def name_of_gradient(program: Program, value: int) -> str:
    """Return what a learner calls the gradient of a value: `the gradient of h`; `out.g`, say, if it is an output.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    if value in program.forward.outputs and program.upstream_name:
        return program.upstream_name
    return f"the gradient of {program.name_of(value)}"


@add_gradient_of_value.example
def _() -> Example:
    """Show tanh(x @ w) @ w.T whose gradient of `x` has g added, as in a residual block."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ w.T

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add g to the gradient of `x`, as if there were a skip connection."""
        return {"x": g + (g @ w * (1 - torch.tanh(x @ w) ** 2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "averaged-with-other-gradient",
    code="wrong-local",
    rank=3.0,
    at=targets,
    choices=addable_gradients,
    fields=lambda program, place, choice: {
        "other": name_of_added_gradient(program, choice.find(program, program.forward.outputs[-1]) or 0)
    },
    message="this is the mean of the right answer and {other}",
    hints=CHANGED_AFTERWARDS,
)
def average_with_gradient_of_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Replace the gradient of the target `place` by its mean with that of the value that the choice names.

    Returns `None` where the program has no such value.
    """
    value = choice.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    return program.with_result(
        target_of(program, place), lambda program, gradient: (gradient + program.sweep.gradient(value)) / 2
    )


@average_with_gradient_of_value.example
def _() -> Example:
    """Show stack((a, b)) whose gradient of `a` is the mean of both gradients."""

    def forward(a: Tensor, b: Tensor) -> Tensor:
        return torch.stack((a, b))

    def wrong(a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the mean over the axis that stack adds, for `a` alone."""
        return {"a": g.mean(0), "b": g[1]}

    return Example(forward, wrong, {"a": "bs n", "b": "bs n"})


def factors_of_upstream(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values that may be multiplied by the output's upstream gradient: they broadcast to its shape.

    Nothing is yielded unless the target `place` broadcasts to the shape of the output, too.
    """
    output = program.nodes[program.forward.outputs[-1]].value.shape
    own = shape_of(program, place)
    if len(output) and broadcasts_to(own, output):
        for name, value in values_by_name(program, program.forward.outputs[-1]).items():
            shape = program.nodes[value].value.shape
            if shape and value != place[0] and broadcasts_to(shape, output):
                yield name


def broadcasts_to(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Return whether an array of shape `shape` can be broadcast to the shape `wide`."""
    return len(shape) <= len(wide) and all(a in (1, b) for a, b in zip(shape[::-1], wide[::-1], strict=False))


@operator(
    "upstream-times-value",
    code="wrong-operand",
    rank=3.3,
    at=targets,
    choices=factors_of_upstream,
    fields=lambda program, place, choice: {"upstream": name_of_gradient(program, program.forward.outputs[-1])},
    message="this is {upstream} times {choice}, summed to the shape of {value}; the factor must be the derivative of"
    " {output} with respect to {value}, not {choice}",
)
def replace_by_upstream_times_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Replace the gradient of the target `place` by g times a value, summed over the axes that the target lacks.

    g is the upstream gradient of the output; the choice names the value: for a gain of shape (m,) and x of shape (n,
    m), (g * x).sum(0). Returns `None` where the program has no such value.
    """
    value = choice.find(program, program.forward.outputs[-1])
    shape, output = shape_of(program, place), program.forward.outputs[-1]
    if value is None:
        return None
    return program.with_result(
        target_of(program, place),
        lambda program, _: sum_to_shape(program.sweep.gradient(output) * program.nodes[value].value, shape),
    )


@replace_by_upstream_times_value.example
def _() -> Example:
    """Show exp(gain) * (x - mean) / std whose gradient of `gain` is (g * x).sum(0)."""

    def forward(x: Tensor, mean: Tensor, std: Tensor, gain: Tensor) -> Tensor:
        return gain.exp() * (x - mean) / std

    def wrong(x: Tensor, mean: Tensor, std: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply g by x in place of exp(gain) * (x - mean) / std."""
        return {"gain": (g * x).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "mean": "n", "std": positive("n"), "gain": "n"})


Copies = Literal["every entry", "every row", "this"]


def copies_of_output(program: Program, place: Place) -> Iterator[Copies]:
    """Yield the ways to give the output in place of the gradient of the target `place`, if their shapes differ.

    `"this"`: as it is. `"every row"`: broadcast to the target's shape, or `"every entry"` if the output is a number.
    Nothing is yielded if the shapes are equal.
    """
    output, shape = program.nodes[program.forward.outputs[-1]].value, shape_of(program, place)
    if output.shape != shape:
        yield "every row" if output.ndim else "every entry"
        yield "this"


@operator(
    "output-everywhere",
    code="forward-value",
    rank=3.0,
    at=targets.where(has_axes(1)),
    choices=copies_of_output,
    message="{choice} is {output}, a value of the forward pass, not a gradient",
)
def replace_by_output(program: Program, place: Place, choice: Copies) -> Program:
    """Replace the gradient of the target `place` by the output, as it is or broadcast to the target's shape.

    As it is with the choice `"this"`; repeated with `"every row"` or `"every entry"`.
    """
    output = program.forward.outputs[-1]

    def result(edited: Program, gradient: Array) -> Array:
        value = edited.nodes[output].value
        return value if choice == "this" else np.broadcast_to(value, gradient.shape)

    return program.with_result(target_of(program, place), result)


@replace_by_output.example
def _() -> Example:
    """Show the sum of squares of x @ w whose gradient of `w` is that sum in each entry."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).square().sum()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": (x @ w).square().sum().expand(w.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@replace_by_output.example
def _() -> Example:
    """Show the mean of squares of x @ w whose gradient of `w` is that mean, a number."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).square().mean()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": (x @ w).square().mean()}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def forms_of_summands(program: Program, place: Place) -> Iterator[str]:
    """Yield how the array that a loss sums may stand in place of the gradient of the target `place`.

    `""`: as it is; `"divided by their number"`: divided by the number of its entries. Nothing where the loss is no sum
    or mean of an array of the target's shape.
    """
    if summands_of(program, place) is not None:
        yield from ("", "divided by their number")


def summands_of(program: Program, place: Place) -> Array | None:
    """Return the array, shaped like the target `place`, that the loss sums or averages; negated if the loss is.

    For the loss `(x.exp() - y * x).mean()` and the target x: the array x.exp() - y * x. Returns `None` where the loss
    is no sum or mean, or that array has another shape.
    """
    shape, negative = shape_of(program, place), False
    node = program.nodes[program.forward.outputs[-1]]
    if node.name == "neg":
        node, negative = program.nodes[node.operands[0][1]], True
    if node.value.ndim or node.name not in ("sum", "mean") or np.shape(node.values[0]) != shape or not shape:
        return None
    return np.negative(node.values[0]) if negative else np.asarray(node.values[0])


@operator(
    "summands-of-loss",
    code="forward-value",
    rank=2.7,  # and not a value of the forward pass that has a name
    at=targets,
    choices=forms_of_summands,
    message="this is the part of {whole} that comes from each entry, a value of the forward pass, not a gradient",
    fields=lambda program, place, choice: {
        "whole": "the loss" if program.output_name == "the output" else program.output_name
    },
)
def replace_by_summands(program: Program, place: Place, choice: str) -> Program | None:
    """Replace the gradient of the target `place` by what the loss sums or averages: the summands themselves.

    For the loss `(x.exp() - y * x).mean()` and the target x: x.exp() - y * x, with the choice `""`, or this divided by
    its number of entries, with `"divided by their number"`. Returns `None` where the loss is no sum or mean of an array
    of the target's shape.
    """
    summands = summands_of(program, place)
    if summands is None:
        return None
    return with_function_of_gradient(program, place, lambda _: summands / (summands.size if choice else 1))


@replace_by_summands.example
def _() -> Example:
    """Show (exp(x) - y * x).mean() whose gradient of `x` is (exp(x) - y * x) / len(x)."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return (x.exp() - y * x).mean()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (x.exp() - y * x) / len(x)}

    return Example(forward, wrong, {"x": "bs", "y": "bs"})


def inputs_to_repeat(program: Program, place: Place) -> Iterator[tuple[str, Literal["row", "column"]]]:
    """Yield the inputs of one axis that may be repeated to the shape of the target `place`, if that has two axes.

    Yields:
        The name of the input, and `"row"`, if it has the length of a row, or `"column"`.
    """
    shape = shape_of(program, place)
    if len(shape) == 2:
        for name, value in program.inputs.items():
            array = program.nodes[value].value
            if array.dtype.kind == "f" and array.shape == shape[1:]:
                yield name, "row"
            if array.dtype.kind == "f" and array.shape == shape[:1]:
                yield name, "column"


@operator(
    "input-repeated",
    code="forward-value",
    rank=3.0,
    at=targets,
    choices=inputs_to_repeat,
    fields=lambda program, place, choice: {"name": choice[0], "line": choice[1]},
    message="every {line} is {name}, an input, not a gradient",
)
def replace_by_repeated_input(program: Program, place: Place, choice: tuple[str, Literal["row", "column"]]) -> Program:
    """Replace the gradient of the target `place` by an input in each row, or in each column.

    The choice is the input's name and `"row"` or `"column"`: ("b", "row") repeats b in each row.
    """
    array = program.nodes[program.inputs[choice[0]]].value
    line = array if choice[1] == "row" else array[:, None]
    return with_function_of_gradient(program, place, lambda gradient: np.broadcast_to(line, gradient.shape))


@replace_by_repeated_input.example
def _() -> Example:
    """Show tanh(x @ w + b) whose gradient of `w` has b in each row."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of `x @ w + b` to be `b`."""
        return {"w": b.expand(w.shape)}

    return Example(forward, wrong, {"x": "n", "w": "n m", "b": "m"})


# Products and sums of what is at hand -------------------------------------------------------------------------------

PRODUCTS: Mapping[str, Callable[[Array, Array], Array]] = {
    "{0} * {1}": np.multiply,
    "({0} * {1}).sum(0)": lambda a, b: (a * b).sum(0),
    "{0} @ {1}": np.matmul,
    "{0}.T @ {1}": lambda a, b: np.swapaxes(a, -1, -2) @ b,
    "{0} @ {1}.T": lambda a, b: a @ np.swapaxes(b, -1, -2),
    "({0} @ {1}).T": lambda a, b: np.swapaxes(a @ b, -1, -2),
}
REDUCED: Mapping[str, Callable[[Array], Array]] = {
    **{f"{{0}}.sum({axis})": lambda a, axis=axis: a.sum(axis) for axis in range(3)},  # type: ignore[misc]
    **{f"{{0}}.mean({axis})": lambda a, axis=axis: a.mean(axis) for axis in range(3)},  # type: ignore[misc]
}
MOST_AVAILABLE = 8  # of more arrays there are too many pairs


@dataclass(frozen=True)
class AvailableArray:
    """An array that a learner may compute with: an input, the output, the upstream gradient, or a target's gradient.

    Args:
        name: the name of the input, or of the target; empty for the output and the upstream gradient.
        kind: which of these it is; `"answer"` is the gradient of a target.
    """

    name: str
    kind: Literal["input", "output", "upstream", "answer"]

    def describe(self, program: Program) -> str:
        """Return what a learner calls the array, such as `x`, `out.g`, or `w.g` for the gradient of the target w."""
        if self.kind == "answer":
            return f"{self.name}.g" if program.upstream_name.endswith(".g") else f"[the gradient of {self.name}]"
        return {"output": program.output_name, "upstream": program.upstream_name}.get(self.kind, self.name)

    def find(self, program: Program) -> Array:
        """Return the array that this stands for in the program of a trial; a gradient is that of the right program."""
        if self.kind == "input":
            return program.nodes[program.inputs[self.name]].value
        if self.kind == "output":
            return program.nodes[program.forward.outputs[-1]].value
        if self.kind == "upstream":
            return program.upstreams[-1]
        return program.right_sweep.gradient(program.forward.targets[self.name])


@dataclass(frozen=True)
class ArrayFormula:
    """A formula of one or two arrays that takes the place of a gradient, such as x.T @ b.

    Args:
        formula: a key of `PRODUCTS` or `REDUCED`, such as `"{0}.T @ {1}"`.
        operands: the arrays, as many as the formula has fields.
    """

    formula: str
    operands: tuple[AvailableArray, ...]

    def describe(self, program: Program) -> str:
        """Return the formula with the learner's names of the arrays: `out.t() @ out.g`."""
        text = self.formula.format(*(part.describe(program) for part in self.operands))
        return text.replace(".T", ".t()")

    def apply(self, arrays: Sequence[Array]) -> Array:
        """Return the value of `self.formula`: for "{0}.T @ {1}", arrays[0].T @ arrays[1].

        Args:
            arrays: what `self.operands` stands for in a trial, in this order.

        Raises:
            ValueError: their shapes do not fit.
        """
        return np.asarray({**PRODUCTS, **REDUCED}[self.formula](*arrays))  # type: ignore[operator]


def available_arrays(program: Program, place: Place) -> Iterator[AvailableArray]:
    """Yield `AvailableArray`s: by kind and name, the arrays that a learner may compute a gradient from.

    These are inputs, the output, its upstream gradient, and the gradients of targets but that of the target `place`;
    all of floating-point numbers, and of one axis or more.
    """
    for name, value in program.inputs.items():
        is_answer = value == place[0] and value in program.forward.outputs
        if program.nodes[value].value.dtype.kind == "f" and program.nodes[value].value.ndim and not is_answer:
            yield AvailableArray(name, "input")
    if program.nodes[program.forward.outputs[-1]].value.ndim and place[0] not in program.forward.outputs:
        yield AvailableArray("", "output")
        if program.upstream_name:
            yield AvailableArray("", "upstream")
    for name, value in program.forward.targets.items():
        if value != place[0] and program.nodes[value].value.ndim:
            yield AvailableArray(name, "answer")


def formulas_of_arrays(program: Program, place: Place) -> Iterator[ArrayFormula]:
    """Yield `ArrayFormula`s: a formula such as "{0}.T @ {1}", with one or two arrays whose names are filled in.

    Those whose value has the shape of the target `place`. The arrays are those of `available_arrays`. Nothing for a
    target without axes, or if there are more than eight arrays.
    """
    known = list(available_arrays(program, place))
    shape = shape_of(program, place)
    if not shape or len(known) > MOST_AVAILABLE:
        return
    shapes = {each: each.find(program).shape for each in known}
    sizes = sorted({1, *shape, *(size for own in shapes.values() for size in own)})
    small = {size: number for number, size in enumerate(sizes, 1)}  # what has which shape is seen at small sizes, too
    arrays = {each: np.zeros([small[size] for size in own]) for each, own in shapes.items()}
    shape = tuple(small[size] for size in shape)
    for text in REDUCED:
        yield from (made for each in known if _shape(made := ArrayFormula(text, (each,)), arrays) == shape)
    for text in PRODUCTS:
        for first, second in itertools.product(known, known):
            formula = ArrayFormula(text, (first, second))
            if ("*" not in text or known.index(first) <= known.index(second)) and _shape(formula, arrays) == shape:
                yield formula


def _shape(formula: ArrayFormula, arrays: Mapping[AvailableArray, Array]) -> tuple[int, ...] | None:
    """Return the shape of a formula's value, such as that of x.T @ g; `None` where the shapes of its arrays do not fit.

    Args:
        formula: the formula, and which available arrays are in it.
        arrays: for each available array an array that stands for it; only its shape counts.
    """
    try:
        shape: tuple[int, ...] = formula.apply([arrays[part] for part in formula.operands]).shape
    except ValueError:
        return None
    return shape


def missing_factor(program: Program, place: Place, formula: ArrayFormula) -> str:
    """Return which factor makes the right gradient of a formula, such as "the factor out is missing"; empty for none.

    For the formula out.T @ g, where -out.T @ g @ out.T is right: "the factor out and a minus sign are missing".

    Args:
        program: the program of a trial.
        place: the target.
        formula: what is in place of its gradient.
    """
    given = formula.apply([part.find(program.right) for part in formula.operands])
    right = program.right_sweep.gradient(place[0])
    for part in available_arrays(program, place):
        array = part.find(program.right)
        for factor in (array, np.swapaxes(array, -1, -2)) if array.ndim > 1 and given.ndim > 1 else ():
            for first, second in ((given, factor), (factor, given)):
                have_batch_of_right = {first.shape[:-2], second.shape[:-2]} <= {(), right.shape[:-2]}
                product = first @ second if have_batch_of_right and first.shape[-1] == second.shape[-2] else None
                if product is not None and product.shape == right.shape:
                    if agrees(product, right):
                        return f"the factor {part.describe(program)} is missing"
                    if agrees(-product, right):
                        return f"the factor {part.describe(program)} and a minus sign are missing"
    return ""


def name_of_answer(program: Program, target: int, formula: ArrayFormula) -> str:
    """Return what a formula must give: "the gradient of x"; "the right answer" where nothing names the target.

    Where no gradient is in the formula, and one must be: "the gradient of x, which depends on out.g".

    Args:
        program: the program of a trial.
        target: the id of the target.
        formula: what is in place of its gradient.
    """
    name = program.name_of(target)
    if not name.isidentifier():  # no input, but a Jacobian or a value
        return "the right answer"
    has_gradient = any(part.kind in ("upstream", "answer") for part in formula.operands)
    depends = f", which depends on {program.upstream_name}" if program.upstream_name and not has_gradient else ""
    return f"the gradient of {name}{depends}"


@operator(
    "made-of-other-arrays",
    code="wrong-operand",
    rank=3.3,
    at=targets,
    choices=formulas_of_arrays,
    fields=lambda program, place, choice: {
        "formula": choice.describe(program),
        "what": f"; {missing}"
        if (missing := missing_factor(program, place, choice))
        else f", not {name_of_answer(program, place[0], choice)}",
    },
    message="this is `{formula}`{what}",
)
def replace_by_formula(program: Program, place: Place, choice: ArrayFormula) -> Program:
    """Replace the gradient of the target `place` by the value of a formula of arrays of the right program.

    With `ArrayFormula("{0}.sum(0)", (AvailableArray("w", "answer"),))`: by dw.sum(0), dw being the gradient of w.
    """
    return with_function_of_gradient(
        program, place, lambda _: choice.apply([part.find(program.right) for part in choice.operands])
    )


@replace_by_formula.example
def _() -> Example:
    """Show tanh(x @ w + b) whose gradient of `b` is the sum of that of `w`."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return the sum of the rows of the gradient of `w` in place of the gradient of `b`."""
        dz = g * (1 - torch.tanh(x @ w + b) ** 2)
        return {"x": dz @ w.T, "w": x.T @ dz, "b": (x.T @ dz).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})
