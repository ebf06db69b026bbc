"""Mistakes in what the backward pass begins with: wrong inputs, a wrong upstream gradient, rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import indices, normal
from grader.diagnosis.hints import USES_OF_AN_ENTRY
from grader.program.forward import Change, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, GradientEdit, Program
from grader.program.selectors import ValueName, values_by_name

from .contract import Example, operator
from .places import edges, expression_of, outputs
from .rearrangements import shift

whole_program = outputs.where(lambda program, place: place[1] == 0)  # one place for what concerns the whole program


def change_to_value(value: Array) -> Change:
    """Return a function that takes the node of an input and returns that node with the given value.

    For `Program.with_nodes`.
    """
    return lambda node: replace(node, values=(value,))


@dataclass(frozen=True)
class InputPair:
    """Two inputs of one shape that are swapped by mistake.

    Args:
        first: the name of the first.
        second: the name of the second.
        gradients: whether the gradients are swapped, too, as if the names were.
    """

    first: str
    second: str
    gradients: bool


def exchangeable_inputs(program: Program, place: Place) -> Iterator[InputPair]:
    """Yield `InputPair`s: two inputs of the same shape and type, and whether their gradients are swapped, too.

    Both are arrays with an axis or more. Each pair comes once without exchanged gradients, and once more with them if
    both inputs are targets.

    Args:
        program: the program of a trial.
        place: not read: the whole program is meant.
    """
    nodes = [(name, program.nodes[value].value) for name, value in program.inputs.items()]
    for i, (second, b) in enumerate(nodes):
        for first, a in nodes[:i]:
            if a.ndim and a.shape == b.shape and a.dtype == b.dtype:
                yield InputPair(first, second, gradients=False)
                if {first, second} <= set(program.forward.targets):
                    yield InputPair(first, second, gradients=True)


@operator(
    "inputs-exchanged",
    code="wrong-operand",
    rank=2.9,
    at=whole_program,
    choices=exchangeable_inputs,
    fields=lambda program, place, choice: {"first": choice.first, "second": choice.second},
    message="{first} and {second} are swapped throughout the computation",
)
def exchange_inputs(program: Program, place: Place, choice: InputPair) -> Program:
    """Run both passes with the values of two inputs exchanged.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: which inputs, and whether their gradients are swapped, too: with `InputPair("a", "b",
            gradients=True)` each input gets the gradient that is computed for the other, with False its own gradient at
            the exchanged values.

    Returns:
        The rewritten program.
    """
    first, second = (program.inputs[name] for name in (choice.first, choice.second))
    values = program.nodes[first].value, program.nodes[second].value
    other = program.with_nodes({first: change_to_value(values[1]), second: change_to_value(values[0])})
    if not choice.gradients:
        return other

    def gradient_of(value: int) -> GradientEdit:
        return lambda program, _: program.sweep.gradient(value)

    return other.with_result(choice.first, gradient_of(second)).with_result(choice.second, gradient_of(first))


@exchange_inputs.example
def _() -> Example:
    """Show tanh(a @ w) * b.exp().sum(-1) whose backward pass has a and b exchanged, values and gradients."""

    def forward(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(a @ w) * b.exp().sum(-1, keepdim=True)

    def wrong(a: Tensor, b: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use `b` in place of `a`, and `a` in place of `b`."""
        y, scale = torch.tanh(b @ w), a.exp().sum(-1, keepdim=True)
        dz = g * scale * (1 - y**2)
        return {"b": dz @ w.T, "a": (g * y).sum(-1, keepdim=True) * a.exp(), "w": b.T @ dz}

    return Example(forward, wrong, {"a": "bs n", "b": "bs n", "w": "n m"})


# What may be taken in the place of an array: of an input, or of the upstream gradient.
Replacements = Mapping[str, Callable[[Array], Array]]


def repeat_part(x: Array, part: Array) -> Array:
    """Return a new array shaped like `x` to which `part`, such as one of its rows or a mean, is broadcast.

    For x of shape (4, 3) and part x[:1]: its first row, four times.
    """
    return np.array(np.broadcast_to(part, x.shape))


ROW_REPLACEMENTS: Replacements = {
    "the first row of {x} in every row": lambda x: repeat_part(x, x[:1]),
    "the last row of {x} in every row": lambda x: repeat_part(x, x[-1:]),
    "{x} shifted down by one row, with its last row moved to the top": lambda x: np.roll(x, 1, 0),
    "{x} shifted up by one row, with its first row moved to the bottom": lambda x: np.roll(x, -1, 0),
    "{x} shifted down by one row, with zeros in the first row": lambda x: shift(x, 0, 1),
    "{x} shifted up by one row, with zeros in the last row": lambda x: shift(x, 0, -1),
    "the rows of {x} in reverse order": lambda x: np.flip(x, 0),
}
NUMBER_REPLACEMENTS: Replacements = {
    "the mean over all rows of {x}, repeated for each row": lambda x: repeat_part(x, x.mean(0, keepdims=True)),
    "the sum over all rows of {x}, repeated for each row": lambda x: repeat_part(x, x.sum(0, keepdims=True)),
    "the mean of {x} in every entry": lambda x: repeat_part(x, x.mean()),
    "the sum of {x} in every entry": lambda x: repeat_part(x, x.sum()),
    "the mean of each row of {x} in all entries of the row": lambda x: repeat_part(x, x.mean(-1, keepdims=True)),
    "the sum of each row of {x} in all entries of the row": lambda x: repeat_part(x, x.sum(-1, keepdims=True)),
    "{x} minus its mean over {axis}": lambda x: x - x.mean(0),
    "the absolute value of {x}": np.abs,
    "the square of {x}": np.square,
    "{x} rounded to whole numbers": np.round,
    "the negative of {x}": np.negative,
    "{x} with every column sorted": lambda x: np.sort(x, 0),
}
CONSTANT_REPLACEMENTS: Replacements = {"0": np.zeros_like, "1": np.ones_like}
INDEX_REPLACEMENTS: Replacements = {
    "{x} minus 1": lambda x: x - 1,
    "{x} plus 1": lambda x: x + 1,
    "the numbers 0, 1, 2, ...": lambda x: np.arange(x.size).reshape(x.shape),
}
TABLE_REPLACEMENTS: Replacements = {"the entries of {x} in column order": lambda x: x.T.reshape(x.shape)}
SMOOTHED_TARGETS: Replacements = {  # where each row adds up to 1
    f"{{x}} smoothed by {share:g}": (
        lambda x, share=share: (1 - share) * x + share * x.mean(-1, keepdims=True)  # type: ignore[misc]
    )
    for share in (0.1, 0.2, 0.05)
}
INPUT_REPLACEMENTS: Replacements = {
    **ROW_REPLACEMENTS, **NUMBER_REPLACEMENTS, **CONSTANT_REPLACEMENTS, **INDEX_REPLACEMENTS, **TABLE_REPLACEMENTS,
    **SMOOTHED_TARGETS,
}  # fmt: skip
CODES = {
    "the entries of {x} in column order": "reshape-for-transpose", **dict.fromkeys(SMOOTHED_TARGETS, "wrong-local"),
    "the first row of {x} in every row": "partial-batch", "the last row of {x} in every row": "partial-batch",
    "1": "missing-local", "0": "wrong-point",
}  # fmt: skip


@dataclass(frozen=True)
class InputReplacement:
    """A choice of an input, and of the wrong array in its place.

    Args:
        names: the input; or all biases, each of which is replaced.
        instead: the wrong array, made of the right one: a key of `INPUT_REPLACEMENTS`.
        is_point: whether the input is the only target: then the gradient is the right one at a wrong point.
    """

    names: tuple[str, ...]
    instead: str
    is_point: bool = False

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `"wrong-operand"`, which depends on what the input becomes."""
        return CODES.get(self.instead, "wrong-point" if self.is_point else "wrong-operand")


def input_replacements(program: Program, place: Place) -> Iterator[InputReplacement]:
    """Yield `InputReplacement`s: the name of an input, and what is used in its place, a key of `INPUT_REPLACEMENTS`.

    Such as "the rows of {x} in reverse order", "0", "the square of {x}", or for an index array "{x} minus 1". What is
    equal to the input, or to an earlier replacement of it, is left out. Where there are several biases, "0" for all of
    them at once comes last.

    Args:
        program: the program of a trial.
        place: not read: the whole program is meant.
    """
    for name, value in program.inputs.items():
        array = program.nodes[value].value
        known = [array]
        kinds: tuple[Replacements, ...] = (
            (CONSTANT_REPLACEMENTS, NUMBER_REPLACEMENTS) if array.dtype.kind == "f" else ()
        )
        kinds = (*kinds, *((ROW_REPLACEMENTS,) if array.ndim else ()))
        if array.dtype.kind == "i":
            kinds = (*kinds, INDEX_REPLACEMENTS)
        if array.ndim == 2:  # a table of places, or of targets
            kinds = (*kinds, TABLE_REPLACEMENTS if array.dtype.kind == "i" else SMOOTHED_TARGETS)
        for kind in kinds:
            for instead, change in kind.items():
                other = change(array) if array.ndim or kind is CONSTANT_REPLACEMENTS else array
                if not any(np.array_equal(other, each) for each in known):
                    known.append(other)
                    yield InputReplacement((name,), instead, is_point=set(program.forward.targets) == {name})
    biases = tuple(name for name, value in program.inputs.items() if is_bias(program, value))
    if len(biases) > 1:
        yield InputReplacement(biases, "0")


def describe_replacement(program: Program, instead: str, names: Sequence[str]) -> str:
    """Return what is used in the place of inputs, in words: "x minus its mean over bs" for "{x} minus its mean ...".

    Args:
        program: the program of a trial.
        instead: a key of `INPUT_REPLACEMENTS`; its `{axis}` is the first axis of the first input.
        names: the inputs.
    """
    axis = program.name_of_axis(program.inputs[names[0]], 0) if "{axis}" in instead else ""
    return instead.format(x=" and ".join(names), axis=axis)


def is_bias(program: Program, value: int) -> bool:
    """Return whether an input is a bias: each node that reads it adds it to a larger array, as b in `x @ w + b`.

    Args:
        program: the program of a trial.
        value: the id of the input.
    """
    size = program.nodes[value].value.size
    readers = [node for node in program.nodes if value in dict(node.operands).values()]
    return bool(readers) and all(node.name == "add" and size < node.value.size for node in readers)


@operator(
    "input-mistaken",
    code=lambda choice: choice.code,
    rank=4.0,
    at=whole_program,
    choices=input_replacements,
    fields=lambda program, place, choice: {
        "names": (names := " and ".join(choice.names)),
        "instead": (instead := describe_replacement(program, choice.instead, choice.names)),
        "mistake": f"the derivative is taken at {instead}; it must be taken at {names}"
        if choice.is_point and not program.is_value
        else f"in place of {names}, the computation uses {instead}",
    },
    message="{mistake}",
)
def replace_input(program: Program, place: Place, choice: InputReplacement) -> Program:
    """Run both passes with a wrong array in place of an input, made of the right one: the rows reversed, say.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: the names of the inputs, and what is used in place of each: `InputReplacement(("x",), "the rows
            of {x} in reverse order")`.

    Returns:
        The rewritten program.
    """
    change = INPUT_REPLACEMENTS[choice.instead]
    ids = [program.inputs[name] for name in choice.names]
    return program.with_nodes({i: change_to_value(change(program.nodes[i].value)) for i in ids})


@replace_input.example
def _() -> Example:
    """Show tanh(tanh(x @ w + b) @ u + c) whose values are computed again without the biases."""

    def forward(x: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor) -> Tensor:
        return torch.tanh(torch.tanh(x @ w + b) @ u + c)

    def wrong(x: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute both layers without adding their biases."""
        y = torch.tanh(x @ w)
        dv = g * (1 - torch.tanh(y @ u) ** 2)
        dz = dv @ u.T * (1 - y**2)
        return {"x": dz @ w.T, "w": x.T @ dz, "b": dz.sum(0), "u": y.T @ dv, "c": dv.sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m", "u": "m k", "c": "k"})


@replace_input.example
def _() -> Example:
    """Show table[rows] + shift[rows] whose backward pass uses `rows - 1`, as if rows were counted from 1."""

    def forward(table: Tensor, shift: Tensor, rows: Tensor) -> Tensor:
        return torch.tanh(table[rows] + shift[rows])

    def wrong(table: Tensor, shift: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use row i - 1 in place of row i, as if the rows were counted from 1."""
        rows = rows - 1
        dz = g * (1 - torch.tanh(table[rows] + shift[rows]) ** 2)
        return {
            "table": torch.zeros_like(table).index_put((rows,), dz, accumulate=True),
            "shift": torch.zeros_like(shift).index_put((rows,), dz.sum(-1, keepdim=True), accumulate=True),
        }

    return Example(forward, wrong, {"table": normal("k n"), "shift": normal("k 1"), "rows": indices("t", "k")})


# The upstream gradient ----------------------------------------------------------------------------------------------

UPSTREAM_REPLACEMENTS: Replacements = {
    **ROW_REPLACEMENTS,
    **NUMBER_REPLACEMENTS,
    "the sign of {x}": np.sign,
    "the first entry of {x} everywhere": lambda g: repeat_part(g, g.reshape(-1)[0]),
    "{x} clipped to the range from -1 to 1": lambda g: np.clip(g, -1, 1),
    "a reshape of the transpose of {x}": lambda g: np.reshape(np.swapaxes(g, -1, -2), g.shape) if g.ndim > 1 else g,
}
UPSTREAM_CODES = {
    "the first row of {x} in every row": "partial-batch", "the last row of {x} in every row": "partial-batch",
    "the sum over all rows of {x}, repeated for each row": "sum-of-products",
    "the sum of each row of {x} in all entries of the row": "sum-of-products",
    "a reshape of the transpose of {x}": "reshape-for-transpose",
    "the negative of {x}": "wrong-sign", "the sign of {x}": "not-linear",
    "{x} clipped to the range from -1 to 1": "not-linear", "the absolute value of {x}": "not-linear",
    "the square of {x}": "not-linear",
    "{x} rounded to whole numbers": "not-linear",
}  # fmt: skip


def upstream_replacements(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `UPSTREAM_REPLACEMENTS`, wrong arrays in place of the upstream gradient: "the sign of {x}".

    Nothing is yielded where no upstream gradient is given, as for a loss, or where it is a single number. For one of a
    single axis, what is equal to it is left out.

    Args:
        program: the program of a trial.
        place: the edge from the loss to an output.
    """
    if program.upstream_name and (g := program.upstreams[place[1]]).ndim:
        yield from (
            how for how, change in UPSTREAM_REPLACEMENTS.items() if g.ndim > 1 or not np.array_equal(change(g), g)
        )


@operator(
    "upstream-mistaken",
    code=lambda choice: UPSTREAM_CODES.get(choice, "wrong-operand"),
    rank=3.0,
    at=outputs,
    choices=upstream_replacements,
    message="in place of {upstream}, the backward pass uses {instead}",
    fields=lambda program, place, choice: {
        "instead": choice.format(
            x=program.upstream_name,
            axis=program.name_of_axis(program.source(place), 0) if "{axis}" in choice else "",
        )
    },
)
def replace_upstream(program: Program, place: Place, choice: str) -> Program:
    """Begin the backward pass with a wrong array, made of the upstream gradient: its rows shifted by one, say.

    Args:
        program: the right program.
        place: the edge from the loss to an output.
        choice: which array, a key of `UPSTREAM_REPLACEMENTS`, such as "the rows of {x} in reverse order".

    Returns:
        The rewritten program.
    """
    change = UPSTREAM_REPLACEMENTS[choice]
    return program.with_vjp(place, lambda at: change(at.right()))


@replace_upstream.example
def _() -> Example:
    """Show sigmoid(x @ w) whose backward pass begins with g.roll(1, 0), the upstream gradient shifted by one row."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).sigmoid()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use g.roll(1, 0) in place of g."""
        y = (x @ w).sigmoid()
        return {"x": (g.roll(1, 0) * y * (1 - y)) @ w.T, "w": x.T @ (g.roll(1, 0) * y * (1 - y))}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


# Of how many rows a gradient counts, by the number of rows.
ROW_WEIGHTS: Mapping[str, Callable[[int], Array]] = {
    "only the first is used": lambda n: np.arange(n) == 0,
    "only the last is used": lambda n: np.arange(n) == n - 1,
    "only the first two are used": lambda n: np.arange(n) < 2,
    "only the first three are used": lambda n: np.arange(n) < 3,
    "the first is left out": lambda n: np.arange(n) > 0,
    "the last is left out": lambda n: np.arange(n) < n - 1,
    "only every other one is used, from the first on": lambda n: np.arange(n) % 2 == 0,
    "only every other one is used, from the second on": lambda n: np.arange(n) % 2 == 1,
    "only the first half is used": lambda n: np.arange(n) < n // 2,
    "only the second half is used": lambda n: np.arange(n) >= n // 2,
    "only those in full groups of two are used": lambda n: np.arange(n) < n // 2 * 2,
    "only those in full groups of three are used": lambda n: np.arange(n) < n // 3 * 3,
    "only those in full groups of four are used": lambda n: np.arange(n) < n // 4 * 4,
    "only those in the last group of two are used": lambda n: np.arange(n) >= (n - 1) // 2 * 2,
    "only those in the last group of three are used": lambda n: np.arange(n) >= (n - 1) // 3 * 3,
    "the first is added twice": lambda n: 1 + (np.arange(n) == 0),
    "the last is added twice": lambda n: 1 + (np.arange(n) == n - 1),
    "each is added once more for every entry after it": lambda n: np.arange(n, 0, -1),
    "each is added once more for every entry before it": lambda n: np.arange(n) + 1,
    "each is weighted as in an exponential moving average, by 0.1 times 0.9 for every entry after it": lambda n: (
        0.1 * 0.9 ** np.arange(n - 1, -1, -1)
    ),
}


WEIGHING = ("twice", "once more for every", "moving average")  # in these, every row has a weight


@dataclass(frozen=True)
class RowWeights:
    """A choice of wrong weights for the rows of an array of gradients, which must all count once.

    Args:
        axis: the axis of the rows, counted from the end.
        which: which weights, a key of `ROW_WEIGHTS` such as `"only the first is used"`.
    """

    axis: int
    which: str

    def weigh(self, g: Array) -> Array:
        """Return the array g with its rows along `self.axis` multiplied by the weights; same shape.

        With "only the first is used": g with zeros in all rows but the first.
        """
        weights = ROW_WEIGHTS[self.which](g.shape[self.axis])
        return np.asarray(g * weights.reshape(-1, *(1,) * (-self.axis - 1)))


def upstream_row_weights(program: Program, place: Place) -> Iterator[RowWeights]:
    """Yield `RowWeights`: an axis of the upstream gradient, and which wrong weights it is multiplied by along it.

    `RowWeights(-2, "the first is left out")`, say, for weights 0, 1, 1, ... Weights that leave the upstream
    gradient as it is are left out. Nothing is yielded where none is given, as for a loss.

    Args:
        program: the program of a trial.
        place: the edge from the loss to an output.
    """
    if program.upstream_name:
        g = program.upstreams[place[1]]
        for axis in range(-g.ndim, 0):
            rows = (RowWeights(axis, which) for which in ROW_WEIGHTS)
            yield from (choice for choice in rows if not np.array_equal(choice.weigh(g), g))


def upstream_slice(program: Program, place: Place, axis: int) -> str:
    """Return what a part of the upstream gradient along an axis is called: a row or column of a matrix, or an entry.

    In an array of more axes it is a position.

    Args:
        program: the program of a trial.
        place: the edge from the loss to an output.
        axis: the axis, counted from the end.
    """
    rank = np.ndim(program.upstreams[place[1]])
    return "entry" if rank == 1 else "position" if rank > 2 else "row" if axis == -2 else "column"


def rows_in_words(program: Program, place: Place, choice: RowWeights, noun: str, array: str) -> dict[str, str]:
    """Return the message fields `rows` and `which`: "the rows of out.g along bs", "only the first is used".

    Args:
        program: the program of a trial.
        place: the edge from the loss to the array.
        choice: the axis and the weights.
        noun: what a part of the array along the axis is called, such as "row".
        array: the array, in words.
    """
    several = "entries" if noun == "entry" else f"{noun}s"
    axis = program.name_of_axis(program.source(place), choice.axis)
    return {"rows": f"the {several} of {array} along {axis}", "which": choice.which.replace("entry", noun)}


@operator(
    "rows-not-counted",
    code=lambda choice: "wrong-factor" if any(word in choice.which for word in WEIGHING) else "partial-batch",
    rank=2.5,
    at=outputs,
    choices=upstream_row_weights,
    fields=lambda program, place, choice: rows_in_words(
        program, place, choice, upstream_slice(program, place, choice.axis), program.upstream_name
    ),
    message="of {rows}, {which}",
    hints=USES_OF_AN_ENTRY,
)
def weight_upstream_rows(program: Program, place: Place, choice: RowWeights) -> Program:
    """Multiply the upstream gradient by wrong weights along an axis: a weight 0 leaves a row out, 2 counts it twice.

    For axis -2 of a matrix g and the weights w: w[:, None] * g.

    Args:
        program: the right program.
        place: the edge from the loss to an output.
        choice: along which axis, counted from the end, and which weights, a key of `ROW_WEIGHTS`: `RowWeights(-2, "the
            last is added twice")`.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: choice.weigh(at.right()))


@weight_upstream_rows.example
def _() -> Example:
    """Show exp(x @ w) whose gradient of w is summed over pairs of rows, so that an odd last row is left out."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).exp()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over pairs of examples, without the last example of an odd number."""
        dw = torch.zeros_like(w)
        for i in range(0, len(x) - 1, 2):
            dw += x[i : i + 2].T @ (g[i : i + 2] * (x[i : i + 2] @ w).exp())
        return {"w": dw}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def is_loss_reduction(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place`, a reduction, makes an output without axes, as a loss is."""
    node = program.reader(place)
    return not node.value.ndim and node.id in program.forward.outputs


def loss_term_weights(program: Program, place: Place) -> Iterator[RowWeights]:
    """Yield `RowWeights`: an axis of the array that a loss sums or averages, and which wrong weights it gets along it.

    `RowWeights(-1, "only the first is used")`, say, for weights 1, 0, 0, ... Weights that are all 1 are left out.

    Args:
        program: the program of a trial.
        place: an edge (reduction to the output, slot of the terms).
    """
    terms = np.ones(np.shape(program.reader(place).values[place[1]]))
    for axis in range(-terms.ndim, 0):
        rows = (RowWeights(axis, which) for which in ROW_WEIGHTS)
        yield from (choice for choice in rows if not np.array_equal(choice.weigh(terms), terms))


@operator(
    "terms-not-counted",
    code=lambda choice: "wrong-factor" if any(word in choice.which for word in WEIGHING) else "partial-batch",
    rank=2.5,
    at=edges.of_family("reduction").where(is_loss_reduction),
    choices=loss_term_weights,
    fields=lambda program, place, choice: rows_in_words(
        program, place, choice, "term", expression_of(program, program.reader(place))
    ),
    message="of {rows}, {which}",
)
def weight_loss_terms(program: Program, place: Place, choice: RowWeights) -> Program:
    """Multiply the gradient of the array that a loss sums by wrong weights along an axis: 0 leaves an entry out.

    Args:
        program: the right program.
        place: an edge (reduction to the output, slot of the array).
        choice: along which axis, counted from the end, and which weights, a key of `ROW_WEIGHTS`: `RowWeights(-1, "only
            the first is used")`.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: choice.weigh(at.right()))


@weight_loss_terms.example
def _() -> Example:
    """Show ((x @ w - t)**2).mean() whose gradient of w is summed over pairs of rows, without an odd last row."""

    def forward(x: Tensor, w: Tensor, t: Tensor) -> Tensor:
        return (x @ w - t).square().mean()

    def wrong(x: Tensor, w: Tensor, t: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over pairs of examples, without the last example of an odd number."""
        dw = torch.zeros_like(w)
        for i in range(0, len(x) - 1, 2):
            dw += g * 2 * x[i : i + 2].T @ (x[i : i + 2] @ w - t[i : i + 2]) / t.numel()
        return {"w": dw}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "t": "bs m"})


@dataclass(frozen=True)
class UpstreamMixture:
    """A choice of a value of the forward pass that is combined with the upstream gradient by mistake.

    Args:
        name: the name of the value, as seen from the output.
        how: `"added to"`, `"subtracted from"` or `"factor of"`; or `"positive"`, where the upstream gradient is set to
            0 at entries where the value is not positive.
    """

    name: ValueName
    how: str


def upstream_mixtures(program: Program, place: Place) -> Iterator[UpstreamMixture]:
    """Yield `UpstreamMixture`s: the name of a value of the output's shape or last axes, and how g is mixed with it.

    Nothing is yielded where no upstream gradient g is given, as for a loss. The value is `"added to"` g, `"subtracted
    from"` it or a `"factor of"` it; or, for `"positive"`, g is set to 0 where the value, then of the output's shape, is
    not positive.

    Args:
        program: the program of a trial.
        place: the edge from the loss to an output.
    """
    if program.upstream_name:
        output = program.source(place)
        shape = program.nodes[output].value.shape
        for name, value in values_by_name(program, output).items():
            own = program.nodes[value].value.shape
            if own == shape:
                yield from (
                    UpstreamMixture(name, how) for how in ("added to", "subtracted from", "positive", "factor of")
                )
            elif own and own == shape[len(shape) - len(own) :]:
                yield from (UpstreamMixture(name, how) for how in ("added to", "subtracted from", "factor of"))


def describe_mixture(upstream: str, value: str, how: str) -> str:
    """Return how a value is combined with the upstream gradient: "the backward pass uses g plus y in place of g".

    Args:
        upstream: the name of the upstream gradient.
        value: the name of the value.
        how: `"added to"`, `"subtracted from"`, `"factor of"`, or `"positive"`: the upstream gradient is set to 0 where
            the value is not positive.
    """
    if how == "positive":
        return f"the backward pass uses {upstream} only where {value} is positive"
    if how == "factor of":
        return f"the backward pass uses {upstream} times {value} in place of {upstream}"
    operation = "plus" if how == "added to" else "minus"
    return f"the backward pass uses {upstream} {operation} {value} in place of {upstream}"


@operator(
    "value-mixed-into-upstream",
    code=lambda choice: {"positive": "wrong-local", "factor of": "extra-factor"}.get(choice.how, "wrong-operand"),
    rank=3.5,
    at=outputs,
    choices=upstream_mixtures,
    fields=lambda program, place, choice: {
        "what": describe_mixture(program.upstream_name, choice.name.describe(program), choice.how)
    },
    message="{what}",
)
def mix_into_upstream(program: Program, place: Place, choice: UpstreamMixture) -> Program | None:
    """Begin the backward pass with the upstream gradient plus, minus, times, or masked by a value of the forward pass.

    Args:
        program: the right program.
        place: the edge from the loss to an output.
        choice: which value, and how they are combined: `UpstreamMixture(name of y, "added to")` begins with g + y.

    Returns:
        The rewritten program; `None` where this trial has no such value.
    """
    value = choice.name.find(program, program.source(place))
    if value is None:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the upstream gradient, combined with the value as the choice says."""
        stray, g = at.program.nodes[value].value, at.right()
        mixed = {"added to": g + stray, "subtracted from": g - stray, "positive": g * (stray > 0),
                 "factor of": g * stray}  # fmt: skip
        return np.asarray(mixed[choice.how])

    return program.with_vjp(place, rule)


@mix_into_upstream.example
def _() -> Example:
    """Show tanh(x @ w) whose backward pass begins with g + y, as if a squared error of y came in addition."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use g + y in place of g."""
        y = (x @ w).tanh()
        return {"w": x.T @ ((g + y) * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
