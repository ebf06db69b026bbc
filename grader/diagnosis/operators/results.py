"""Mistakes in what is made of the right gradient: its sign, order, entries, sums, and what is mixed into it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import Program
from grader.program.selectors import ValueName, values_by_name
from grader.sampling import indices, normal, positive, sized
from grader.shapes import BATCH, guess_axes

from .broadcasts import sum_to_shape
from .contract import Example, operator
from .places import Predicate, target_of, targets

Change = Callable[[Array], Array]


def with_change(program: Program, place: Place, change: Change) -> Program:
    """Return the program that hands out something made of the gradient of a target."""
    return program.with_result(target_of(program, place), lambda program, gradient: np.asarray(change(gradient)))


def shape_of(program: Program, place: Place) -> tuple[int, ...]:
    """Return the shape of a target."""
    shape: tuple[int, ...] = program.nodes[place[0]].value.shape
    return shape


def has_axes(count: int) -> Predicate:
    """Return the condition that a target has so many axes or more."""
    return lambda program, place: len(shape_of(program, place)) >= count


def is_square(program: Program, place: Place) -> bool:
    """Return whether the last two axes of a target have one size."""
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
def negate_result(program: Program, place: Place, choice: None) -> Program | None:
    """Hand out the negative of the gradient."""
    return with_change(program, place, np.negative)


@negate_result.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x - x @ w).square().mean()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Forget that the prediction is subtracted."""
        return {"w": g * 2 * x.T @ (x - x @ w) / x.numel()}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


LEAST_EXPONENT = 10.0  # where less is left than rounding leaves of a zero, nothing tells that it is an exponential
FUNCTIONS: Mapping[str, tuple[str, Change]] = {
    "the absolute value of the right answer": ("wrong-sign", np.abs),
    "the sign of the right answer": ("wrong-local", np.sign),
    "the right answer clipped to between -1 and 1": ("not-linear", lambda r: np.clip(r, -1, 1)),
    "the root of the right answer": ("wrong-local", lambda r: np.sqrt(np.abs(r))),
    "the square of the right answer": ("wrong-local", np.square),
    "the logarithm of the right answer": ("wrong-local", lambda r: np.log(np.abs(r))),
    "the exponential of the right answer": ("wrong-local", lambda r: np.exp(np.maximum(r, -LEAST_EXPONENT))),
    "the right answer divided by its norm": ("not-linear", lambda r: r / np.sqrt(np.square(r).sum())),
    "the right answer less its mean": ("wrong-local", lambda r: r - r.mean()),
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
)
def take_function(program: Program, place: Place, choice: str) -> Program | None:
    """Hand out a function of the gradient's entries."""
    return with_change(program, place, FUNCTIONS[choice][1])


@take_function.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dw = x.T @ (g * (1 - torch.tanh(x @ w) ** 2))
        return {"w": dw.clamp(-1, 1)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# The order of the entries -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """Entries read with the axes in another order.

    Args:
        axes: the order, with axes counted from the end.
        reshaped: whether they are given the right shape again without being brought back into order.
        back: whether they are taken to be in that order, and brought back.
    """

    axes: tuple[int, ...]
    reshaped: bool
    back: bool = False

    def reorder(self, gradient: Array) -> Array:
        """Return the entries in the order."""
        if self.back:
            order = [axis % gradient.ndim for axis in self.axes]
            return gradient.reshape([gradient.shape[axis] for axis in order]).transpose(np.argsort(order))
        moved = gradient.transpose(self.axes)
        return moved.reshape(gradient.shape) if self.reshaped else moved


def orders(program: Program, place: Place) -> Iterator[Order]:
    """Yield the orders in which the axes of a gradient may be: the last two exchanged, or any for three or four."""
    count = len(shape_of(program, place))
    last = (*range(-count, -2), -1, -2)
    yield Order(last, reshaped=False)
    yield Order(last, reshaped=True)
    if 2 < count < 5:
        own = tuple(range(-count, 0))
        for axes in itertools.permutations(own):
            if axes not in (own, last):
                yield from (Order(axes, reshaped=True), Order(axes, reshaped=True, back=True))


@operator(
    "result-transposed",
    code=lambda choice: "reshape-for-transpose" if choice.reshaped else "transposed",
    rank=1.5,
    at=targets.where(has_axes(2)),
    choices=orders,
    fields=lambda program, place, choice: {
        "what": "these are the numbers of the right answer with its axes in another order, reshaped"
        if choice.reshaped
        else "this is the transpose of the right answer"
    },
    message="{what}",
)
def transpose_result(program: Program, place: Place, choice: Order) -> Program | None:
    """Hand out the gradient with its axes in another order."""
    return with_change(program, place, choice.reorder)


@transpose_result.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": ((g * (x @ w > 0)).T @ x).reshape(w.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@dataclass(frozen=True)
class Halves:
    """The two halves of an axis, taken in turns.

    Args:
        axis: counted from the end.
        back: whether neighbours become the two halves.
    """

    axis: int
    back: bool

    def describe(self) -> str:
        """Return what is done, in words."""
        return (
            "the even places are put in front of the odd ones" if self.back else "the entries of the halves take turns"
        )

    def deal(self, gradient: Array) -> Array:
        """Return the entries of the halves in turns, or the other way.

        Raises:
            ValueError: the axis has no two halves.
        """
        moved = np.moveaxis(gradient, self.axis, -1)
        half = (moved.shape[-1] // 2, 2) if self.back else (2, moved.shape[-1] // 2)
        pairs = moved.reshape(*moved.shape[:-1], *half).swapaxes(-1, -2)
        return np.moveaxis(pairs.reshape(moved.shape), -1, self.axis)


def halves(program: Program, place: Place) -> Iterator[Halves]:
    """Yield the axes with two halves that may be taken in turns."""
    shape = shape_of(program, place)
    for axis in range(-len(shape), 0):
        if shape[axis] > 2 and shape[axis] % 2 == 0:
            yield from (Halves(axis, back) for back in (True, False))


@operator(
    "halves-in-turns",
    code="reshape-for-transpose",
    rank=2.5,
    at=targets,
    choices=halves,
    fields=lambda program, place, choice: {
        "axis": program.name_of_axis(place[0], choice.axis),
        "how": choice.describe(),
    },
    message="along {axis}, {how} in the right answer",
)
def deal_halves(program: Program, place: Place, choice: Halves) -> Program | None:
    """Hand out the gradient with the halves of an axis in turns."""
    return with_change(program, place, choice.deal)


@deal_halves.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sin(x * w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Put the gradients of the halves side by side as pairs."""
        first, second = (g * w * torch.cos(x * w)).chunk(2, -1)
        return {"x": torch.stack([first, second], -1).flatten(-2)}

    return Example(forward, wrong, {"x": sized(normal("bs n"), n=(6, 8)), "w": "1"})


# Parts, diagonals and sums ------------------------------------------------------------------------------------------

TURNED: Mapping[str, tuple[str, Change]] = {
    "the mean of the right answer and its transpose": ("wrong-local", lambda r: (r + r.swapaxes(-1, -2)) / 2),
    "the sum of the right answer and its transpose": ("wrong-local", lambda r: r + r.swapaxes(-1, -2)),
    "the right answer with what is not on the diagonal doubled": (
        "wrong-local", lambda r: r * (2 - np.eye(r.shape[-1]))
    ),
    "the diagonal of the right answer, and zeros elsewhere": ("diagonal-only", lambda r: r * np.eye(r.shape[-1])),
    "the diagonal of the right answer alone": ("diagonal-only", lambda r: np.diagonal(r, axis1=-2, axis2=-1)),
    "the right answer without its upper triangle": ("inverted-mask", np.tril),
    "the right answer without its lower triangle": ("inverted-mask", np.triu),
}  # fmt: skip


@operator(
    "square-result-changed",
    code=lambda choice: TURNED[choice][0],
    rank=2.0,
    at=targets.where(is_square),
    choices=lambda program, place: TURNED,
    message="this is {choice}",
)
def change_square(program: Program, place: Place, choice: str) -> Program | None:
    """Hand out the gradient of a square matrix with its transpose added, or without some of its parts."""
    return with_change(program, place, TURNED[choice][1])


@change_square.example
def _() -> Example:
    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.einsum("bi,ij,bj->b", x, a, x)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the matrix to be diagonal."""
        return {"a": torch.diag((g[:, None] * x * x).sum(0))}

    return Example(forward, wrong, {"x": "bs n", "a": "n n"})


SUMS: Mapping[str, Callable[..., Array]] = {"sum": np.sum, "mean": np.mean}


@dataclass(frozen=True)
class Total:
    """A sum or a mean of a gradient over one of its axes, or over all.

    Args:
        how: `"sum"` or `"mean"`.
        axis: counted from the front; `None` for all.
        kept: what becomes of the axis: it is gone, or has the size 1, or each entry is the sum.
        code: the public code.
    """

    how: str
    axis: int | None
    kept: Literal["gone", "one", "filled"]
    code: str

    def of(self, gradient: Array) -> Array:
        """Return the sum or the mean."""
        total = np.asarray(SUMS[self.how](gradient, axis=self.axis, keepdims=self.kept != "gone"))
        return np.broadcast_to(total, gradient.shape) if self.kept == "filled" else total


def is_of_examples(program: Program, place: Place) -> bool:
    """Return whether the first axis of a target is that of the examples: by its name, or as that of other values."""
    shape = shape_of(program, place)
    if shape and program.sizes and not (name := guess_axes(shape, program.sizes)[0]).startswith("_"):
        return name == BATCH
    output = program.nodes[program.forward.outputs[-1]].value.shape
    if not shape or output:
        return bool(shape) and shape[0] == output[0]
    inputs = [program.nodes[value].value.shape for value in program.inputs.values()]
    return sum(other[:1] == shape[:1] for other in inputs) > 1  # a loss


def totals(program: Program, place: Place) -> Iterator[Total]:
    """Yield the sums of a gradient over its axes."""
    shape, is_batch = shape_of(program, place), is_of_examples(program, place)
    for axis in (*range(len(shape)), None):
        if axis is None or shape[axis] > 1:
            code = "extra-batch-sum" if is_batch and axis in (0, None) else "summed-wrong-axis"
            for how in SUMS:
                yield from (Total(how, axis, kept, code) for kept in ("gone", "one", "filled"))


@operator(
    "result-summed",
    code=lambda choice: choice.code,
    rank=2.0,
    at=targets.where(has_axes(1)),
    choices=totals,
    fields=lambda program, place, choice: {
        "how": choice.how,
        "axis": "all of its entries" if choice.axis is None else program.name_of_axis(place[0], choice.axis),
    },
    message="this is the {how} of the right answer over {axis}: its entries must stay apart",
)
def sum_result(program: Program, place: Place, choice: Total) -> Program | None:
    """Hand out the gradient summed over an axis that it has."""
    return with_change(program, place, choice.of)


@sum_result.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Average over the batch for the input, too."""
        dx = (g * (1 - torch.tanh(x @ w) ** 2)) @ w.T
        return {"x": dx.mean(0, keepdim=True).expand(x.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def with_zeros(gradient: Array, place: slice | int) -> Array:
    """Return a copy whose entries at some places of the flattened array are 0."""
    part = np.array(gradient)
    part.reshape(-1)[place] = 0
    return part


ENTRIES: Mapping[str, Change] = {
    "every row is the first row of the right answer": lambda r: np.broadcast_to(r[:1], r.shape),
    "every row is the last row of the right answer": lambda r: np.broadcast_to(r[-1:], r.shape),
    "the first entry is 0, and the others are right": lambda r: with_zeros(r, 0),
    "the last entry is 0, and the others are right": lambda r: with_zeros(r, -1),
    "the first entry is right, and the others are 0": lambda r: with_zeros(r, slice(1, None)),
    "the last entry is right, and the others are 0": lambda r: with_zeros(r, slice(0, -1)),
    "only every other row is right, and the rows between them are 0": lambda r: r * _stripes(r),
    "the rows of the right answer are in reversed order": lambda r: np.flip(r, 0),
    "each row is the one before it of the right answer": lambda r: np.roll(r, 1, 0),
    "each row is the one behind it of the right answer": lambda r: np.roll(r, -1, 0),
    "each row is the running sum of the rows of the right answer": lambda r: np.cumsum(r, 0),
    "the columns of the right answer are in reversed order": lambda r: np.flip(r, -1),
    "each column is the first column of the right answer": lambda r: np.broadcast_to(r[..., :1], r.shape),
}


@dataclass(frozen=True)
class Entries:
    """Entries of a gradient that are handed out.

    Args:
        which: of `ENTRIES`.
        code: the public code.
    """

    which: str
    code: str


def chosen_entries(program: Program, place: Place) -> Iterator[Entries]:
    """Yield which entries of a gradient may be handed out; of examples, some rows are a part of the batch."""
    of_examples = is_of_examples(program, place)
    for which in ENTRIES:
        is_part = not which.startswith("each ") and "order" not in which
        is_row = which.startswith("every row")
        yield Entries(which, "partial-batch" if is_part and (of_examples or not is_row) else "wrong-operand")


def _stripes(gradient: Array) -> Array:
    """Return 1 for every other row, and 0 for those between them; it broadcasts with the gradient."""
    return np.asarray(np.arange(len(gradient)) % 2 == 0).reshape(-1, *(1,) * (gradient.ndim - 1))


@operator(
    "entries-of-result",
    code=lambda choice: choice.code,
    rank=2.5,
    at=targets.where(has_axes(1)),
    choices=chosen_entries,
    fields=lambda program, place, choice: {"what": choice.which},
    message="{what}",
)
def choose_entries(program: Program, place: Place, choice: Entries) -> Program | None:
    """Hand out some entries of the gradient, or its rows in another order."""
    return with_change(program, place, ENTRIES[choice.which])


@choose_entries.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ w.T

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the gradient for one example, and hand it out for all."""
        dx = (g @ w * (1 - torch.tanh(x @ w) ** 2)) @ w.T
        return {"x": dx[:1].expand(x.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def invert_marks(gradient: Array) -> Array:
    """Return a gradient of one number and zeros with these exchanged.

    Raises:
        ValueError: it has other numbers, or no zeros.
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
    message="zero and the one number that the right answer has besides are exchanged",
)
def invert_result(program: Program, place: Place, choice: None) -> Program | None:
    """Hand out the number where the gradient is zero, and zero where it is the number."""
    return with_change(program, place, invert_marks)


@invert_result.example
def _() -> Example:
    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return x.gather(1, labels[:, None]).sum() * 2

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        marks = torch.nn.functional.one_hot(labels, x.shape[1])
        return {"x": 2 * g * (1 - marks)}

    return Example(forward, wrong, {"x": normal("bs n"), "labels": indices("bs", "n")})


# What is mixed in, or handed out instead ----------------------------------------------------------------------------

MIXED: Mapping[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "{value} is added to the right answer": ("wrong-local", lambda r, v: r + v),
    "this is {value} less the right answer: a step of gradient descent": ("wrong-local", lambda r, v: v - r),
    "this is {value} less 0.1 of the right answer: a step of gradient descent": (
        "wrong-local", lambda r, v: v - 0.1 * r,
    ),
    "this is {value} less 0.01 of the right answer: a step of gradient descent": (
        "wrong-local", lambda r, v: v - 0.01 * r,
    ),
    "the right answer is multiplied by {value}": ("extra-factor", lambda r, v: r * v),
    "the right answer is divided by {value}": ("extra-factor", lambda r, v: r / v),
    "the right answer is multiplied by the exponential of {value}": ("extra-factor", lambda r, v: r * np.exp(v)),
    "the right answer is divided by the exponential of {value}": ("extra-factor", lambda r, v: r / np.exp(v)),
}  # fmt: skip


@dataclass(frozen=True)
class Mixed:
    """A value of the forward pass that is mixed into a gradient.

    Args:
        name: the value's.
        how: the clause about it, of `MIXED`.
    """

    name: ValueName
    how: str


def values_to_mix(program: Program, place: Place) -> Iterator[Mixed]:
    """Yield the values that may be mixed into a gradient: those of its shape, and those that it broadcasts with."""
    shape, reader = shape_of(program, place), program.forward.outputs[-1]
    for name, value in values_by_name(program, reader).items():
        own = program.nodes[value].value.shape
        if value == place[0] == reader:
            continue  # it is no gradient, but the answer itself
        if own == shape or (value in program.inputs.values() and own and own == shape[len(shape) - len(own) :]):
            yield from (Mixed(name, how) for how in MIXED)


@operator(
    "value-mixed-into-result",
    code=lambda choice: MIXED[choice.how][0],
    rank=3.0,
    at=targets,
    choices=values_to_mix,
    fields=lambda program, place, choice: {"what": choice.how.format(value=choice.name.describe(program))},
    message="{what}",
)
def mix_into_result(program: Program, place: Place, choice: Mixed) -> Program | None:
    """Hand out the gradient together with a value of the forward pass."""
    value = choice.name.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    mixed = MIXED[choice.how][1]
    return program.with_result(
        target_of(program, place), lambda program, gradient: mixed(gradient, program.nodes[value].value)
    )


@mix_into_result.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.softmax(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Return the weights after a step."""
        p = torch.softmax(x @ w, -1)
        return {"w": w - 0.1 * x.T @ (p * (g - (p * g).sum(-1, keepdim=True)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def other_gradients(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values of the shape of a target whose gradients may be added to its own."""
    reader = program.forward.outputs[-1]
    for name, value in values_by_name(program, reader, shape_of(program, place)).items():
        if value != place[0] and program.forward.uses[value] and not are_multiples(program, place[0], value):
            yield name


def are_multiples(program: Program, value: int, other: int) -> bool:
    """Return whether the right gradients of two values are the same but for a factor."""
    a, b = (program.right_sweep.gradient(i).ravel() for i in (value, other))
    return bool(np.isclose(abs(a @ b), np.sqrt((a @ a) * (b @ b)), rtol=1e-9))


@operator(
    "other-gradient-added",
    code="wrong-local",
    rank=2.8,
    at=targets,
    choices=other_gradients,
    fields=lambda program, place, choice: {
        "other": gradient_words(program, choice.find(program, program.forward.outputs[-1]) or 0)
    },
    message="{other} is added to the right answer, as if there were a path past the operations between them",
)
def add_other_gradient(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand out the gradient together with that of another value."""
    value = choice.find(program, program.forward.outputs[-1])
    if value is None:
        return None
    return program.with_result(
        target_of(program, place), lambda program, gradient: gradient + program.sweep.gradient(value)
    )


def gradient_words(program: Program, value: int) -> str:
    """Return what a learner calls the gradient of a value."""
    if value in program.forward.outputs and program.upstream_name:
        return program.upstream_name
    return f"the gradient of {program.name_of(value)}"


@add_other_gradient.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ w.T

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the layers to be in a residual block."""
        return {"x": g + (g @ w * (1 - torch.tanh(x @ w) ** 2)) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def factors_of_upstream(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that the upstream gradient may be multiplied by, and summed to the shape of a target."""
    output = program.nodes[program.forward.outputs[-1]].value.shape
    own = shape_of(program, place)
    if len(output) and broadcasts_to(own, output):
        for name, value in values_by_name(program, program.forward.outputs[-1]).items():
            shape = program.nodes[value].value.shape
            if shape and value != place[0] and broadcasts_to(shape, output):
                yield name


def broadcasts_to(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Return whether an array of a shape can be repeated to a wider one."""
    return len(shape) <= len(wide) and all(a in (1, b) for a, b in zip(shape[::-1], wide[::-1], strict=False))


@operator(
    "upstream-times-value",
    code="wrong-operand",
    rank=3.3,
    at=targets,
    choices=factors_of_upstream,
    fields=lambda program, place, choice: {"upstream": gradient_words(program, program.forward.outputs[-1])},
    message="this is {upstream} times {choice}, summed to the shape of {value}: the derivative of {output} is another"
    " factor",
)
def multiply_upstream(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Hand out the upstream gradient times some value, as if that were the derivative of the output."""
    value = choice.find(program, program.forward.outputs[-1])
    shape, output = shape_of(program, place), program.forward.outputs[-1]
    if value is None:
        return None
    return program.with_result(
        target_of(program, place),
        lambda program, _: sum_to_shape(program.sweep.gradient(output) * program.nodes[value].value, shape),
    )


@multiply_upstream.example
def _() -> Example:
    def forward(x: Tensor, mean: Tensor, std: Tensor, gain: Tensor) -> Tensor:
        return gain * (x - mean) / std

    def wrong(x: Tensor, mean: Tensor, std: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the input for what the gain is multiplied by."""
        return {"gain": (g * x).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "mean": "n", "std": positive("n"), "gain": "n"})


Copies = Literal["every entry", "every row", "this"]


def copies_of_output(program: Program, place: Place) -> Iterator[Copies]:
    """Yield how the output may be handed out where it has another shape than the target."""
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
    message="{choice} is {output}, the output of the forward pass: no gradient",
)
def hand_out_output(program: Program, place: Place, choice: Copies) -> Program | None:
    """Hand out the output as it is, or repeated to the shape of the target."""
    output = program.forward.outputs[-1]

    def result(edited: Program, gradient: Array) -> Array:
        value = edited.nodes[output].value
        return value if choice == "this" else np.broadcast_to(value, gradient.shape)

    return program.with_result(target_of(program, place), result)


@hand_out_output.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).square().sum()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": (x @ w).square().sum().expand(w.shape)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@hand_out_output.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).square().mean()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": (x @ w).square().mean()}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def averaged_values(program: Program, place: Place) -> Iterator[str]:
    """Yield how what each entry adds to a loss may be handed out: as it is, or divided by their number."""
    if summands_of(program, place) is not None:
        yield from ("", "divided by their number")


def summands_of(program: Program, place: Place) -> Array | None:
    """Return what a loss is the sum or the mean of, where it is shaped like a target; `None` where it is not."""
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
    rank=2.5,
    at=targets,
    choices=averaged_values,
    message="this is what each entry adds to {output}, a value of the forward pass: no gradient",
)
def hand_out_summands(program: Program, place: Place, choice: str) -> Program | None:
    """Hand out what a loss is the sum or the mean of."""
    summands = summands_of(program, place)
    if summands is None:
        return None
    return with_change(program, place, lambda _: summands / (summands.size if choice else 1))


@hand_out_summands.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return (x.exp() - y * x).mean()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (x.exp() - y * x) / len(x)}

    return Example(forward, wrong, {"x": "bs", "y": "bs"})


def inputs_to_repeat(program: Program, place: Place) -> Iterator[tuple[str, Literal["row", "column"]]]:
    """Yield the inputs of one axis that may be repeated to the shape of a target of two."""
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
    message="every {line} is {name}",
)
def repeat_input(program: Program, place: Place, choice: tuple[str, Literal["row", "column"]]) -> Program | None:
    """Hand out an input in every row, or in every column."""
    array = program.nodes[program.inputs[choice[0]]].value
    line = array if choice[1] == "row" else array[:, None]
    return with_change(program, place, lambda gradient: np.broadcast_to(line, gradient.shape))


@repeat_input.example
def _() -> Example:
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
MOST_AT_HAND = 8  # of more arrays there are too many pairs


@dataclass(frozen=True)
class AtHand:
    """An array that a learner has at hand: an input, the output, the upstream gradient, or another answer.

    Args:
        name: that of an input, or of the target of another answer; empty for the others.
        kind: which of these it is.
    """

    name: str
    kind: Literal["input", "output", "upstream", "answer"]

    def describe(self, program: Program) -> str:
        """Return what a learner calls it."""
        if self.kind == "answer":
            return f"{self.name}.g" if program.upstream_name.endswith(".g") else f"[the gradient of {self.name}]"
        return {"output": program.output_name, "upstream": program.upstream_name}.get(self.kind, self.name)

    def find(self, program: Program) -> Array:
        """Return the array."""
        if self.kind == "input":
            return program.nodes[program.inputs[self.name]].value
        if self.kind == "output":
            return program.nodes[program.forward.outputs[-1]].value
        if self.kind == "upstream":
            return program.upstreams[-1]
        return program.right_sweep.gradient(program.forward.targets[self.name])


@dataclass(frozen=True)
class ComputedValue:
    """An array that is made of one or two arrays at hand.

    Args:
        formula: how, of `PRODUCTS` or `REDUCED`.
        parts: of what.
    """

    formula: str
    parts: tuple[AtHand, ...]

    def of(self, arrays: Sequence[Array]) -> Array:
        """Return what the formula makes of some arrays."""
        return np.asarray({**PRODUCTS, **REDUCED}[self.formula](*arrays))  # type: ignore[operator]


def at_hand(program: Program, place: Place) -> Iterator[AtHand]:
    """Yield the floating-point arrays that a learner has at hand."""
    for name, value in program.inputs.items():
        is_answer = value == place[0] and value in program.forward.outputs
        if program.nodes[value].value.dtype.kind == "f" and program.nodes[value].value.ndim and not is_answer:
            yield AtHand(name, "input")
    if program.nodes[program.forward.outputs[-1]].value.ndim and place[0] not in program.forward.outputs:
        yield AtHand("", "output")
        if program.upstream_name:
            yield AtHand("", "upstream")
    for name, value in program.forward.targets.items():
        if value != place[0] and program.nodes[value].value.ndim:
            yield AtHand(name, "answer")


def made_of_arrays(program: Program, place: Place) -> Iterator[ComputedValue]:
    """Yield what can be made of one or two arrays at hand, and has the shape of a target."""
    known = list(at_hand(program, place))
    shape = shape_of(program, place)
    if not shape or len(known) > MOST_AT_HAND:
        return
    shapes = {each: each.find(program).shape for each in known}
    sizes = sorted({1, *shape, *(size for own in shapes.values() for size in own)})
    small = {size: number for number, size in enumerate(sizes, 1)}  # what has which shape is seen at small sizes, too
    arrays = {each: np.zeros([small[size] for size in own]) for each, own in shapes.items()}
    shape = tuple(small[size] for size in shape)
    for formula in REDUCED:
        yield from (made for each in known if _shape(made := ComputedValue(formula, (each,)), arrays) == shape)
    for formula in PRODUCTS:
        for first, second in itertools.product(known, known):
            made = ComputedValue(formula, (first, second))
            if ("*" not in formula or known.index(first) <= known.index(second)) and _shape(made, arrays) == shape:
                yield made


def _shape(made: ComputedValue, arrays: Mapping[AtHand, Array]) -> tuple[int, ...] | None:
    """Return the shape of what is made of some arrays; `None` where they do not fit."""
    try:
        shape: tuple[int, ...] = made.of([arrays[part] for part in made.parts]).shape
    except ValueError:
        return None
    return shape


@operator(
    "made-of-other-arrays",
    code="wrong-operand",
    rank=3.3,
    at=targets,
    choices=made_of_arrays,
    fields=lambda program, place, choice: {
        "formula": choice.formula.format(*(part.describe(program) for part in choice.parts))
    },
    message="this is {formula}",
)
def make_of_other_arrays(program: Program, place: Place, choice: ComputedValue) -> Program | None:
    """Hand out a product or a sum of arrays that are at hand."""
    return with_change(program, place, lambda _: choice.of([part.find(program.right) for part in choice.parts]))


@make_of_other_arrays.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum the gradient of `w` for that of `b`."""
        dz = g * (1 - torch.tanh(x @ w + b) ** 2)
        return {"x": dz @ w.T, "w": x.T @ dz, "b": (x.T @ dz).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})
