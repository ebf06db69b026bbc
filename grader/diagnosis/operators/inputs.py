"""Mistakes in what the backward pass begins with: other inputs, or another upstream gradient than the given one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Change, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, GradientEdit, Program
from grader.program.selectors import ValueName, values_by_name
from grader.sampling import indices, normal

from .contract import Example, operator
from .places import edges, outputs

whole = outputs.where(lambda program, place: place[1] == 0)  # one place for what concerns the whole program


def to_value(value: Array) -> Change:
    """Return the change of an input to another value."""
    return lambda node: replace(node, values=(value,))


@dataclass(frozen=True)
class Pair:
    """Two inputs.

    Args:
        first: the name of one.
        second: that of the other.
        gradients: whether their gradients are exchanged, too: then their names are.
    """

    first: str
    second: str
    gradients: bool


def inputs_alike(program: Program, place: Place) -> Iterator[Pair]:
    """Yield the pairs of inputs that have one shape and one type."""
    nodes = [(name, program.nodes[value].value) for name, value in program.inputs.items()]
    for i, (second, b) in enumerate(nodes):
        for first, a in nodes[:i]:
            if a.ndim and a.shape == b.shape and a.dtype == b.dtype:
                yield Pair(first, second, gradients=False)
                if {first, second} <= set(program.forward.targets):
                    yield Pair(first, second, gradients=True)


@operator(
    "inputs-exchanged",
    code="wrong-operand",
    rank=3.5,
    at=whole,
    choices=inputs_alike,
    fields=lambda program, place, choice: {"first": choice.first, "second": choice.second},
    message="{first} and {second} are taken for each other, in the whole computation",
)
def exchange_inputs(program: Program, place: Place, choice: Pair) -> Program | None:
    """Run the program with two inputs exchanged."""
    first, second = (program.inputs[name] for name in (choice.first, choice.second))
    values = program.nodes[first].value, program.nodes[second].value
    other = program.with_nodes({first: to_value(values[1]), second: to_value(values[0])})
    if not choice.gradients:
        return other

    def gradient_of(value: int) -> GradientEdit:
        return lambda program, _: program.sweep.gradient(value)

    return other.with_result(choice.first, gradient_of(second)).with_result(choice.second, gradient_of(first))


@exchange_inputs.example
def _() -> Example:
    def forward(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(a @ w) * b.exp().sum(-1, keepdim=True)

    def wrong(a: Tensor, b: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take `b` for `a`, and `a` for `b`."""
        y, scale = torch.tanh(b @ w), a.exp().sum(-1, keepdim=True)
        dz = g * scale * (1 - y**2)
        return {"b": dz @ w.T, "a": (g * y).sum(-1, keepdim=True) * a.exp(), "w": b.T @ dz}

    return Example(forward, wrong, {"a": "bs n", "b": "bs n", "w": "n m"})


# What may be taken in the place of an array: of an input, or of the upstream gradient.
Instead = Mapping[str, Callable[[Array], Array]]


def repeat_part(x: Array, part: Array) -> Array:
    """Return an array shaped like x that repeats a part of it; a copy, so that it can be written to."""
    return np.array(np.broadcast_to(part, x.shape))


def shift_rows(x: Array, by: int) -> Array:
    """Return an array whose rows are moved by one place, with zeros where they were."""
    rows = np.roll(x, by, 0)
    rows[0 if by > 0 else -1] = 0
    return rows


ROWS_INSTEAD: Instead = {
    "its first row in every row": lambda x: repeat_part(x, x[:1]),
    "its last row in every row": lambda x: repeat_part(x, x[-1:]),
    "the row before each of its rows": lambda x: np.roll(x, 1, 0),
    "the row behind each of its rows": lambda x: np.roll(x, -1, 0),
    "the row before each of its rows and zeros before the first": lambda x: shift_rows(x, 1),
    "the row behind each of its rows and zeros behind the last": lambda x: shift_rows(x, -1),
    "its rows in reversed order": lambda x: np.flip(x, 0),
}
NUMBERS_INSTEAD: Instead = {
    "the mean of its rows in every row": lambda x: repeat_part(x, x.mean(0, keepdims=True)),
    "the sum of its rows in every row": lambda x: repeat_part(x, x.sum(0, keepdims=True)),
    "its mean in every entry": lambda x: repeat_part(x, x.mean()),
    "its sum in every entry": lambda x: repeat_part(x, x.sum()),
    "the mean of each row in all entries of the row": lambda x: repeat_part(x, x.mean(-1, keepdims=True)),
    "the sum of each row in all entries of the row": lambda x: repeat_part(x, x.sum(-1, keepdims=True)),
    "its difference from the mean of its rows": lambda x: x - x.mean(0),
    "its absolute value": np.abs,
    "its square": np.square,
    "its nearest whole numbers": np.round,
    "its negative": np.negative,
    "its columns in rising order": lambda x: np.sort(x, 0),
}
CONSTANTS_INSTEAD: Instead = {"0": np.zeros_like, "1": np.ones_like}
PLACES_INSTEAD: Instead = {
    "1 less than it": lambda x: x - 1,
    "1 more than it": lambda x: x + 1,
    "the numbers 0, 1, 2, ...": lambda x: np.arange(x.size).reshape(x.shape),
}
TABLES_INSTEAD: Instead = {"it read column by column": lambda x: x.T.reshape(x.shape)}
TARGETS_INSTEAD: Instead = {  # where each row adds up to 1
    f"it smoothed, {share:g} of it spread evenly over its row": (
        lambda x, share=share: (1 - share) * x + share * x.mean(-1, keepdims=True)  # type: ignore[misc]
    )
    for share in (0.1, 0.2, 0.05)
}
OTHER_INPUTS: Instead = {
    **ROWS_INSTEAD, **NUMBERS_INSTEAD, **CONSTANTS_INSTEAD, **PLACES_INSTEAD, **TABLES_INSTEAD, **TARGETS_INSTEAD,
}  # fmt: skip
CODES = {
    "it read column by column": "reshape-for-transpose", **dict.fromkeys(TARGETS_INSTEAD, "wrong-local"),
    "its first row in every row": "partial-batch", "its last row in every row": "partial-batch",
    "1": "missing-local", "0": "wrong-point",
}  # fmt: skip


@dataclass(frozen=True)
class OtherInput:
    """Something else in the place of an input.

    Args:
        names: the input; or several, which are all taken to be the same.
        instead: what is taken, of `OTHER_INPUTS`.
        is_point: whether it is all that is differentiated for: then its gradient is that at another point.
    """

    names: tuple[str, ...]
    instead: str
    is_point: bool = False

    @property
    def code(self) -> str:
        """The public code."""
        return CODES.get(self.instead, "wrong-point" if self.is_point else "wrong-operand")


def other_inputs(program: Program, place: Place) -> Iterator[OtherInput]:
    """Yield what may be taken in the place of each input."""
    for name, value in program.inputs.items():
        array = program.nodes[value].value
        known = [array]
        kinds: tuple[Instead, ...] = (CONSTANTS_INSTEAD, NUMBERS_INSTEAD) if array.dtype.kind == "f" else ()
        kinds = (*kinds, *((ROWS_INSTEAD,) if array.ndim else ()))
        if array.dtype.kind == "i":
            kinds = (*kinds, PLACES_INSTEAD)
        if array.ndim == 2:  # a table of places, or of targets
            kinds = (*kinds, TABLES_INSTEAD if array.dtype.kind == "i" else TARGETS_INSTEAD)
        for kind in kinds:
            for instead, change in kind.items():
                other = change(array) if array.ndim or kind is CONSTANTS_INSTEAD else array
                if not any(np.array_equal(other, each) for each in known):
                    known.append(other)
                    yield OtherInput((name,), instead, is_point=set(program.forward.targets) == {name})
    biases = tuple(name for name, value in program.inputs.items() if is_bias(program, value))
    if len(biases) > 1:
        yield OtherInput(biases, "0")


def is_bias(program: Program, value: int) -> bool:
    """Return whether an input is added to something larger, and used for nothing else."""
    size = program.nodes[value].value.size
    readers = [node for node in program.nodes if value in dict(node.operands).values()]
    return bool(readers) and all(node.name == "add" and size < node.value.size for node in readers)


@operator(
    "input-mistaken",
    code=lambda choice: choice.code,
    rank=4.0,
    at=whole,
    choices=other_inputs,
    fields=lambda program, place, choice: {"names": " and ".join(choice.names), "instead": choice.instead},
    message="in place of {names}, {instead} is used in the whole computation",
)
def mistake_input(program: Program, place: Place, choice: OtherInput) -> Program | None:
    """Run the program with something else in the place of an input."""
    change = OTHER_INPUTS[choice.instead]
    ids = [program.inputs[name] for name in choice.names]
    return program.with_nodes({i: to_value(change(program.nodes[i].value)) for i in ids})


@mistake_input.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor) -> Tensor:
        return torch.tanh(torch.tanh(x @ w + b) @ u + c)

    def wrong(x: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the values once more without the biases."""
        y = torch.tanh(x @ w)
        dv = g * (1 - torch.tanh(y @ u) ** 2)
        dz = dv @ u.T * (1 - y**2)
        return {"x": dz @ w.T, "w": x.T @ dz, "b": dz.sum(0), "u": y.T @ dv, "c": dv.sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m", "u": "m k", "c": "k"})


@mistake_input.example
def _() -> Example:
    def forward(table: Tensor, shift: Tensor, rows: Tensor) -> Tensor:
        return torch.tanh(table[rows] + shift[rows])

    def wrong(table: Tensor, shift: Tensor, rows: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the rows to be counted from 1."""
        rows = rows - 1
        dz = g * (1 - torch.tanh(table[rows] + shift[rows]) ** 2)
        return {
            "table": torch.zeros_like(table).index_put((rows,), dz, accumulate=True),
            "shift": torch.zeros_like(shift).index_put((rows,), dz.sum(-1, keepdim=True), accumulate=True),
        }

    return Example(forward, wrong, {"table": normal("k n"), "shift": normal("k 1"), "rows": indices("t", "k")})


# The upstream gradient ----------------------------------------------------------------------------------------------

OTHER_UPSTREAMS: Instead = {
    **ROWS_INSTEAD,
    **NUMBERS_INSTEAD,
    "its sign": np.sign,
    "its first entry everywhere": lambda g: repeat_part(g, g.reshape(-1)[0]),
    "its part between -1 and 1": lambda g: np.clip(g, -1, 1),
    "a reshape of its transpose": lambda g: np.reshape(np.swapaxes(g, -1, -2), g.shape) if g.ndim > 1 else g,
}
UPSTREAM_CODES = {
    "its first row in every row": "partial-batch", "its last row in every row": "partial-batch",
    "the sum of its rows in every row": "sum-of-products",
    "the sum of each row in all entries of the row": "sum-of-products",
    "a reshape of its transpose": "reshape-for-transpose", "its negative": "wrong-sign", "its sign": "not-linear",
    "its part between -1 and 1": "not-linear", "its absolute value": "not-linear", "its square": "not-linear",
    "its nearest whole numbers": "not-linear",
}  # fmt: skip


def other_upstreams(program: Program, place: Place) -> Iterator[str]:
    """Yield what may be taken in the place of an upstream gradient that is given."""
    if program.upstream_name and (g := program.upstreams[place[1]]).ndim:
        yield from (how for how, change in OTHER_UPSTREAMS.items() if g.ndim > 1 or not np.array_equal(change(g), g))


@operator(
    "upstream-mistaken",
    code=lambda choice: UPSTREAM_CODES.get(choice, "wrong-operand"),
    rank=3.0,
    at=outputs,
    choices=other_upstreams,
    message="in place of {upstream}, {choice} is used",
)
def mistake_upstream(program: Program, place: Place, choice: str) -> Program | None:
    """Begin the backward pass with something else than the upstream gradient."""
    change = OTHER_UPSTREAMS[choice]
    return program.with_vjp(place, lambda at: change(at.right()))


@mistake_upstream.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).sigmoid()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Shift the gradient of the outputs by one step."""
        y = (x @ w).sigmoid()
        return {"x": (g.roll(1, 0) * y * (1 - y)) @ w.T, "w": x.T @ (g.roll(1, 0) * y * (1 - y))}

    return Example(forward, wrong, {"x": "t n", "w": "n m"})


# Of how many rows a gradient counts, by the number of rows.
ROW_WEIGHTS: Mapping[str, Callable[[int], Array]] = {
    "only the first row counts": lambda n: np.arange(n) == 0,
    "only the last row counts": lambda n: np.arange(n) == n - 1,
    "only the first two rows count": lambda n: np.arange(n) < 2,
    "only the first three rows count": lambda n: np.arange(n) < 3,
    "the first row does not count": lambda n: np.arange(n) > 0,
    "the last row does not count": lambda n: np.arange(n) < n - 1,
    "only every other row counts": lambda n: np.arange(n) % 2 == 0,
    "only every other row counts, from the second on": lambda n: np.arange(n) % 2 == 1,
    "only the first half of the rows counts": lambda n: np.arange(n) < n // 2,
    "only the second half of the rows counts": lambda n: np.arange(n) >= n // 2,
    "only the rows in full groups of two count": lambda n: np.arange(n) < n // 2 * 2,
    "only the rows in full groups of three count": lambda n: np.arange(n) < n // 3 * 3,
    "only the rows in full groups of four count": lambda n: np.arange(n) < n // 4 * 4,
    "the first row counts twice": lambda n: 1 + (np.arange(n) == 0),
    "the last row counts twice": lambda n: 1 + (np.arange(n) == n - 1),
    "each row counts as often as there are rows from it on": lambda n: np.arange(n, 0, -1),
    "each row counts as often as there are rows up to it": lambda n: np.arange(n) + 1,
    "each row counts 0.1 in a running mean and 0.9 times that with each row behind it": lambda n: (
        0.1 * 0.9 ** np.arange(n - 1, -1, -1)
    ),
}


WEIGHING = ("twice", "often", "running mean")  # of these, every row counts


@dataclass(frozen=True)
class Rows:
    """Rows that count of an upstream gradient.

    Args:
        axis: the axis of the rows, counted from the end.
        which: which of them, of `ROW_WEIGHTS`.
    """

    axis: int
    which: str

    def weigh(self, g: Array) -> Array:
        """Return an upstream gradient in which these rows count."""
        weights = ROW_WEIGHTS[self.which](g.shape[self.axis])
        return np.asarray(g * weights.reshape(-1, *(1,) * (-self.axis - 1)))


def rows_of_upstream(program: Program, place: Place) -> Iterator[Rows]:
    """Yield which rows may count of an upstream gradient that is given."""
    if program.upstream_name:
        g = program.upstreams[place[1]]
        for axis in range(-g.ndim, 0):
            rows = (Rows(axis, which) for which in ROW_WEIGHTS)
            yield from (choice for choice in rows if not np.array_equal(choice.weigh(g), g))


@operator(
    "rows-not-counted",
    code=lambda choice: "wrong-factor" if any(word in choice.which for word in WEIGHING) else "partial-batch",
    rank=2.5,
    at=outputs,
    choices=rows_of_upstream,
    fields=lambda program, place, choice: {
        "which": choice.which,
        "axis": program.name_of_axis(program.source(place), choice.axis),
    },
    message="along {axis}, {which} in {upstream}",
)
def count_some_rows(program: Program, place: Place, choice: Rows) -> Program | None:
    """Begin the backward pass with some rows of the upstream gradient."""
    return program.with_vjp(place, lambda at: choice.weigh(at.right()))


@count_some_rows.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).exp()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pass over what is left behind the last pair of examples."""
        dw = torch.zeros_like(w)
        for i in range(0, len(x) - 1, 2):
            dw += x[i : i + 2].T @ (g[i : i + 2] * (x[i : i + 2] @ w).exp())
        return {"w": dw}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def ends_in_number(program: Program, place: Place) -> bool:
    """Return whether an operand is reduced to the one number that is differentiated: its terms are those of a loss."""
    node = program.reader(place)
    return not node.value.ndim and node.id in program.forward.outputs


def rows_of_terms(program: Program, place: Place) -> Iterator[Rows]:
    """Yield which rows may count of the terms of a loss."""
    terms = np.ones(np.shape(program.reader(place).values[place[1]]))
    for axis in range(-terms.ndim, 0):
        rows = (Rows(axis, which) for which in ROW_WEIGHTS)
        yield from (choice for choice in rows if not np.array_equal(choice.weigh(terms), terms))


@operator(
    "terms-not-counted",
    code=lambda choice: "wrong-factor" if any(word in choice.which for word in WEIGHING) else "partial-batch",
    rank=2.5,
    at=edges.of_family("reduction").where(ends_in_number),
    choices=rows_of_terms,
    fields=lambda program, place, choice: {
        "which": choice.which,
        "axis": program.name_of_axis(program.source(place), choice.axis),
    },
    message="along {axis}, {which} in the gradient of {step}",
)
def count_some_terms(program: Program, place: Place, choice: Rows) -> Program | None:
    """Begin the backward pass with the gradients of some rows of the terms of a loss."""
    return program.with_vjp(place, lambda at: choice.weigh(at.right()))


@count_some_terms.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, t: Tensor) -> Tensor:
        return (x @ w - t).square().mean()

    def wrong(x: Tensor, w: Tensor, t: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Pass over what is left behind the last pair of examples."""
        dw = torch.zeros_like(w)
        for i in range(0, len(x) - 1, 2):
            dw += g * 2 * x[i : i + 2].T @ (x[i : i + 2] @ w - t[i : i + 2]) / t.numel()
        return {"w": dw}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "t": "bs m"})


@dataclass(frozen=True)
class Stray:
    """A value of the forward pass that is mixed into the upstream gradient.

    Args:
        name: the value's.
        how: `"added to"`, `"subtracted from"`, `"factor of"`; or `"positive"` where it is passed on only where the
            value is positive.
    """

    name: ValueName
    how: str


def strays(program: Program, place: Place) -> Iterator[Stray]:
    """Yield the values of the shape of an output, or of its last axes, that may be mixed into its upstream gradient."""
    if program.upstream_name:
        output = program.source(place)
        shape = program.nodes[output].value.shape
        for name, value in values_by_name(program, output).items():
            own = program.nodes[value].value.shape
            if own == shape:
                yield from (Stray(name, how) for how in ("added to", "subtracted from", "positive", "factor of"))
            elif own and own == shape[len(shape) - len(own) :]:
                yield from (Stray(name, how) for how in ("added to", "subtracted from", "factor of"))


def stray_words(upstream: str, value: str, how: str) -> str:
    """Return how a value is mixed into an upstream gradient."""
    if how == "positive":
        return f"{upstream} is used only where {value} is positive"
    if how == "factor of":
        return f"{upstream} is multiplied by {value} before it is used"
    return f"{value} is {how} {upstream} before it is used"


@operator(
    "value-mixed-into-upstream",
    code=lambda choice: {"positive": "wrong-local", "factor of": "extra-factor"}.get(choice.how, "wrong-operand"),
    rank=3.5,
    at=outputs,
    choices=strays,
    fields=lambda program, place, choice: {
        "what": stray_words(program.upstream_name, choice.name.describe(program), choice.how)
    },
    message="{what}",
)
def mix_into_upstream(program: Program, place: Place, choice: Stray) -> Program | None:
    """Begin the backward pass with an upstream gradient that a value is mixed into."""
    value = choice.name.find(program, program.source(place))
    if value is None:
        return None

    def rule(at: EdgeContext) -> Array:
        stray, g = at.program.nodes[value].value, at.right()
        mixed = {"added to": g + stray, "subtracted from": g - stray, "positive": g * (stray > 0),
                 "factor of": g * stray}  # fmt: skip
        return np.asarray(mixed[choice.how])

    return program.with_vjp(place, rule)


@mix_into_upstream.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the upstream gradient to be that of a squared error, too."""
        y = (x @ w).tanh()
        return {"w": x.T @ ((g + y) * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
