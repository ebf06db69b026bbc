"""Mistakes in the vjps of products such as `x @ w`: transposes, reshapes, inverses, factors that are left out.

The contribution to a factor of a matrix product is again a product, of the upstream gradient and the partner factor.
What is wrong with it is wrong with one of three arrays: the upstream gradient, the partner, or the product of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.diagnosis.words import list_in_words
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate, Vague, unbroadcast
from grader.program.program import EdgeContext, Program
from grader.program.queries import contraction_of

from .contract import Example, operator
from .places import edges, nodes, values

MOST_INVERTED = 50_000  # entries of matrices whose inverses are computed: of more it takes too long
WELL_CONDITIONED = (
    1000.0  # learners invert in single precision, where a nearly singular matrix has no inverse to compare
)

ProductArray = Literal["upstream", "partner", "result"]
PRODUCT_ARRAYS: tuple[ProductArray, ...] = ("partner", "upstream", "result")


def partner_slot(node: Node, slot: int) -> int:
    """Return the slot of the partner factor in a product of two arrays: 1 for slot 0, and 0 for slot 1."""
    return 1 - slot


def is_product_of_two(program: Program, place: Place) -> bool:
    """Return whether the edge `place` leads to one of two factors of a matmul, einsum, linear map or outer product."""
    node = program.reader(place)
    contraction = contraction_of(node)
    return contraction is not None and len(contraction.operands) == 2 and place[1] < 2


products = edges.of_family("contraction").where(is_product_of_two)


def product_shapes(node: Node, slot: int) -> dict[ProductArray, tuple[int, ...]]:
    """Return the shapes of the three arrays in the contribution to a factor: upstream gradient, partner factor, result.

    For x in `x @ w`, with x (bs, n) and w (n, m): upstream (bs, m), partner (n, m), result (bs, n).

    Args:
        node: the product.
        slot: the slot of the factor.
    """
    return {
        "upstream": node.value.shape,
        "partner": np.shape(node.values[partner_slot(node, slot)]),
        "result": np.shape(node.values[slot]),
    }


def contribution_with(at: EdgeContext, changes: Mapping[ProductArray, Callable[[Array], Array]]) -> Array:
    """Return the contribution to a factor of a product, with changes made to the arrays that it is computed from.

    For `x @ w`, its edge of x and {"partner": transpose}: g @ w in place of g @ w.T.

    Args:
        at: an edge (product of two arrays, slot of the factor), with the upstream gradient.
        changes: functions to apply, by the array: `"upstream"` and `"partner"` before the product is computed,
            `"result"` to the product; a missing key is no change.

    Returns:
        The contribution; shaped like the factor where the changes keep the shapes.
    """
    slot = partner_slot(at.node, at.slot)
    partner, g = np.asarray(at.node.values[slot]), at.g
    g = changes["upstream"](g) if "upstream" in changes else g
    operands = {slot: changes["partner"](partner)} if "partner" in changes else None
    part = at.right(g, operands)
    return changes["result"](part) if "result" in changes else part


def name_product_array(program: Program, place: Place, part: ProductArray) -> str:
    """Return what a learner calls an array in the contribution to a factor: `w` for the partner factor of x in `x @ w`.

    `the other factor` where the partner is a constant; `the upstream gradient` and `the product with the upstream
    gradient` for the two other arrays.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
        part: which of the three arrays: `"partner"`, `"upstream"`, or their product, `"result"`.
    """
    if part == "upstream":
        return "the upstream gradient"
    if part == "result":
        return "the product with the upstream gradient"
    value = program.reader(place).operand(partner_slot(program.reader(place), place[1]))
    return "the other factor" if value is None else program.name_of(value)


# Transposes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrangement:
    """A wrong arrangement of the two factors of a contribution: the upstream gradient and the partner factor.

    For g @ w.T, the right contribution to x in x @ w, `Arrangement(("partner",))` is g @ w, and `Arrangement((),
    exchanged=True)` is w.T @ g.

    Args:
        transposed: the factors whose last two axes are the other way round than they must be.
        exchanged: whether the left factor is on the right.
    """

    transposed: tuple[ProductArray, ...]
    exchanged: bool = False


ARRANGEMENTS = (
    Arrangement(("partner",)),
    Arrangement(("upstream",)),
    Arrangement((), exchanged=True),
    Arrangement(("partner",), exchanged=True),
    Arrangement(("upstream",), exchanged=True),
    Arrangement(("partner", "upstream")),
    Arrangement(("partner", "upstream"), exchanged=True),
)


def arrangements(program: Program, place: Place) -> Iterator[Arrangement]:
    """Yield the wrong `Arrangement`s of g and partner factor that the shapes allow, such as `g @ w` for `g @ w.T`.

    An `Arrangement` says which of the two are transposed wrongly, and whether they are swapped; in the example it is
    `Arrangement(("partner",))`. A matrix that is transposed alone must be square. In a product with a vector, the other
    factor is a matrix that is transposed, or the gradient is a product of two vectors in the wrong order.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    shapes = product_shapes(program.reader(place), place[1])
    square = {part for part, shape in shapes.items() if len(shape) > 1 and shape[-1] == shape[-2]}
    if "partner" in square and len(shapes["upstream"]) == 1:
        yield Arrangement(("partner",))
    if "result" in square and len(shapes["partner"]) == len(shapes["upstream"]) == 1:
        yield Arrangement((), exchanged=True)
    if all(len(shape) > 1 for shape in shapes.values()):
        for arrangement in ARRANGEMENTS:
            turned = _arrays_to_transpose(arrangement)
            if set(turned) <= square or len(turned) > 1:
                yield arrangement


def _arrays_to_transpose(arrangement: Arrangement) -> tuple[ProductArray, ...]:
    """Return which arrays of the product g @ partner must be transposed so that it gives a wrong arrangement.

    These are the factors that the arrangement transposes. If it exchanges them, A @ B becomes B @ A = (A.T @ B.T).T:
    then they are the factors that it does not transpose, and the result.

    Returns:
        Names such as ("partner",) for `Arrangement(("partner",))`, and ("partner", "upstream", "result") for
        `Arrangement((), exchanged=True)`.
    """
    if not arrangement.exchanged:
        return arrangement.transposed
    return (*(part for part in PRODUCT_ARRAYS[:2] if part not in arrangement.transposed), "result")


def describe_arrangement(program: Program, place: Place, arrangement: Arrangement) -> str:
    """Return a clause that says what is wrong with an arrangement, such as "w must be transposed".

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
        arrangement: the wrong arrangement of the contribution to that factor.
    """
    clauses = ["the two factors of the product are in the wrong order"] if arrangement.exchanged else []
    is_transpose = _untransposed(program, place) != program.source(place)
    for part in arrangement.transposed:
        name = name_product_array(program, place, part)
        missing = (part == "partner" and program.reader(place).name == "matmul") != is_transpose
        if program.reader(place).name == "einsum":  # which names axes, and transposes nothing
            clauses.append(f"the last two axes of {name} must be swapped")
        else:
            clauses.append(f"{name} must be transposed" if missing else f"{name} must not be transposed")
    *others, last = clauses
    return f"{', '.join(others)}{', and ' if others else ''}{last}"


def _untransposed(program: Program, place: Place) -> int:
    """Return the id of the value whose gradient a learner writes for a factor: b for `b.t()`, else that of the factor.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    node = program.nodes[program.source(place)]
    last_two = {node.value.ndim - 2, node.value.ndim - 1}
    if node.name == "transpose" and {cast("int", dim) % node.value.ndim for dim in node.options.values()} == last_two:
        return node.operands[0][1]
    return program.source(place)


def _share_of_factor(program: Program, place: Place) -> str:
    """Return which of two contributions an edge makes where both factors are one value, perhaps transposed; else "".

    For the edge of x.T in `x.T @ x`: "contribution of the left factor to the ", in front of "gradient of x".

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    node, twin = program.reader(place), (place[0], partner_slot(program.reader(place), place[1]))
    if node.operand(twin[1]) is None or _untransposed(program, twin) != _untransposed(program, place):
        return ""
    sides = ("left", "right") if node.name == "matmul" else ("first", "second")
    return f"contribution of the {sides[place[1]]} factor to the "


@operator(
    "wrongly-transposed",
    code="transposed",
    rank=1.5,
    at=products,
    choices=arrangements,
    message="in the {share}gradient of {factor} through {step}, {arrangement}",
    fields=lambda program, place, choice: {
        "share": _share_of_factor(program, place),
        "factor": program.name_of(_untransposed(program, place)),
        "arrangement": describe_arrangement(program, place, choice),
    },
)
def transpose_wrongly(program: Program, place: Place, choice: Arrangement) -> Program:
    """Leave out or add transposes in the contribution to a factor, or exchange its two factors: `g @ w` for `g @ w.T`.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: which arrays are transposed wrongly, and whether they are swapped: `Arrangement(("partner",))` in the
            example.

    Returns:
        The rewritten program.
    """
    changes = dict.fromkeys(_arrays_to_transpose(choice), _transpose)
    return program.with_vjp(place, lambda at: contribution_with(at, changes))


def _transpose(array: Array) -> Array:
    """Return an array with its last two axes exchanged; a vector unchanged."""
    return array if array.ndim < 2 else np.swapaxes(array, -1, -2)


@transpose_wrongly.example
def _() -> Example:
    """Show tanh(h @ a), h a vector and a square, whose gradient of h is computed with a in place of a.T."""

    def forward(h: Tensor, a: Tensor) -> Tensor:
        return torch.tanh(h @ a)

    def wrong(h: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"h": (g * (1 - torch.tanh(h @ a) ** 2)) @ a}

    return Example(forward, wrong, {"h": "n", "a": "n n"})


@transpose_wrongly.example
def _() -> Example:
    """Show tanh(x @ w), w square, whose gradient of x is computed with w in place of w.T."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * (1 - torch.tanh(x @ w) ** 2)) @ w}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@transpose_wrongly.example
def _() -> Example:
    """Show softmax(q @ k.mT) @ v whose gradient of v is p @ g in place of p.mT @ g."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": torch.softmax(q @ k.mT, -1) @ g}

    return Example(forward, wrong, {"q": "h t d", "k": "h t d", "v": "h t d"})


@transpose_wrongly.example
def _() -> Example:
    """Show a @ b.T, a and b of one shape, whose gradient of b is g @ a in place of g.T @ a."""

    def forward(a: Tensor, b: Tensor) -> Tensor:
        return a @ b.T

    def wrong(a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": g @ a}

    return Example(forward, wrong, {"a": "bs n", "b": "bs n"})


@transpose_wrongly.example
def _() -> Example:
    """Show (a @ b).square() whose gradient of b has its factors in the wrong order: dy @ a.T in place of a.T @ dy."""

    def forward(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b).square()

    def wrong(a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": 2 * (a @ b) * g @ a.T}

    return Example(forward, wrong, {"a": "n n", "b": "n n"})


@transpose_wrongly.example
def _() -> Example:
    """Show sum(sin(x.T @ x) * c) whose gradient of x is twice x @ dz, although dz is not symmetric."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        return (torch.sin(x.T @ x) * c).sum()

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the upstream gradient of the left factor as it is, and not transposed."""
        return {"x": 2 * x @ (g * c * torch.cos(x.T @ x))}

    return Example(forward, wrong, {"x": "bs n", "c": "n n"})


# Reshapes -------------------------------------------------------------------------------------------------------------

RESHAPES: Mapping[str, Callable[[Array], Array]] = {
    # what must be transposed is reshaped to the transpose's shape; given back as what is transposed to it
    "{array} is reshaped; it must be transposed": lambda q: _transpose(q.reshape(_transpose(q).shape)),
    "{array} is reshaped with its last axis in front; it must be transposed": lambda q: np.moveaxis(
        q.reshape(q.shape[-1], *q.shape[:-1]), 0, -1
    ),
    # the same for either factor, so that it is said of both
    "the rows of the two factors are in different orders, so that wrong pairs of rows are multiplied": lambda q: (
        np.swapaxes(q, 0, 1).reshape(q.shape)
    ),
    "the rows of the two factors are in different orders, and wrong pairs are multiplied": lambda q: np.swapaxes(
        q.reshape(q.shape[1], q.shape[0], *q.shape[2:]), 0, 1
    ),
}
TRANSPOSING = 2  # how many of these are in place of a transpose


@dataclass(frozen=True)
class Reshape:
    """A wrong reshape of an array in the contribution to a factor of a product.

    Args:
        array: the array that is reshaped: upstream gradient, partner factor or result.
        how: which reshape, a key of `RESHAPES`, with the field `{array}`.
    """

    array: ProductArray
    how: str


def reshapes(program: Program, place: Place) -> Iterator[Reshape]:
    """Yield `Reshape`s: an array in the contribution to a factor, and a wrong reshape that mixes up its entries.

    The array is the partner factor, the upstream gradient, or their product. For x in `x @ w`, w of shape (n, m), the
    reshape is w.reshape(m, n) in place of w.T; nothing for a square matrix. With three axes or more it may also be one
    to a shape with the last axis in front and, of the partner, two that mix up the order of its first two axes.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    hows = tuple(RESHAPES)
    for part, shape in product_shapes(program.reader(place), place[1]).items():
        if len(shape) > 2 or (len(shape) == 2 and shape[0] != shape[1]):  # a square matrix keeps its entries
            yield from (Reshape(part, how) for how in hows[: 1 if len(shape) == 2 else TRANSPOSING])
        if part == "partner" and len(shape) > 2:
            yield from (Reshape(part, how) for how in hows[TRANSPOSING:])


@operator(
    "reshaped-in-product",
    code="reshape-for-transpose",
    rank=2.0,
    at=products,
    choices=reshapes,
    message="in the gradient of {operand} through {step}, {reshape}",
    fields=lambda program, place, choice: {
        "reshape": choice.how.format(array=name_product_array(program, place, choice.array)),
    },
)
def reshape_in_product(program: Program, place: Place, choice: Reshape) -> Program:
    """Reshape an array where it must be transposed, in the contribution to a factor: `w.reshape(m, n)` for `w.T`.

    The array is the partner factor, the upstream gradient, or the product of the two.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: which array is reshaped, and how: `Reshape("partner", "{array} is reshaped; it must be transposed")` in
            the example.

    Returns:
        The rewritten program.
    """
    change = RESHAPES[choice.how]
    return program.with_vjp(place, lambda at: contribution_with(at, {choice.array: change}))


@reshape_in_product.example
def _() -> Example:
    """Show relu(x @ w + b) whose gradient of x is computed with w.reshape(m, n) in place of w.T."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * (x @ w + b > 0)) @ w.reshape(w.shape[1], w.shape[0])}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@reshape_in_product.example
def _() -> Example:
    """Show x @ w, x of shape (bs, t, n), whose gradient of w flattens x with t first, and g with bs first."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Flatten the examples and the steps of `x` in another order than those of the gradient."""
        return {"w": x.transpose(0, 1).reshape(-1, x.shape[-1]).T @ g.reshape(-1, g.shape[-1])}

    return Example(forward, wrong, {"x": "bs t n", "w": "n m"})


class ExchangedAxes(NamedTuple):
    """Two axes of one array that are swapped in the contribution to a factor of an einsum.

    Args:
        slot: the slot of the partner factor; `UPSTREAM` for the upstream gradient.
        first: one axis, counted from the front.
        second: the other axis.
    """

    slot: int
    first: int
    second: int


UPSTREAM = -1  # the slot of the upstream gradient in a choice


def axes_to_exchange(program: Program, place: Place) -> Iterator[ExchangedAxes]:
    """Yield `ExchangedAxes`: the slot of a partner factor or `UPSTREAM`, and two axes of equal size of that array.

    The size is more than 1. Nothing is yielded for a product of two arrays whose value has fewer than three axes; the
    transposes of two matrices are the choices of `transpose_wrongly`.

    Args:
        program: the program of a trial.
        place: the edge (einsum, slot of the factor).
    """
    node = program.reader(place)
    contraction = contraction_of(node)
    if contraction is None or (len(contraction.operands) == 2 and node.value.ndim < 3):
        return
    arrays = {slot: np.shape(value) for slot, value in enumerate(node.values) if slot != place[1]}
    for slot, shape in {**arrays, UPSTREAM: node.value.shape}.items():
        for first, second in itertools.combinations(range(len(shape)), 2):
            if shape[first] == shape[second] > 1:
                yield ExchangedAxes(slot, first, second)


@operator(
    "axes-exchanged-in-einsum",
    code="transposed",
    rank=2.4,
    at=edges.of("einsum"),
    choices=axes_to_exchange,
    message="in the gradient of {operand} through {step}, axes {first} and {second} of {array} are swapped",
    fields=lambda program, place, choice: {
        "first": str(choice.first),
        "second": str(choice.second),
        "array": "the upstream gradient" if choice.slot == UPSTREAM else factor_in_slot(program, place, choice.slot),
    },
)
def exchange_axes_in_einsum(program: Program, place: Place, choice: ExchangedAxes) -> Program:
    """Exchange two axes of the upstream gradient or of a partner factor in the contribution to a factor of an einsum.

    Args:
        program: the right program.
        place: the edge (einsum, slot of the factor).
        choice: the array, by its slot or `UPSTREAM`, and the numbers of the two axes.

    Returns:
        The rewritten program; its gradients raise NoCandidate in a trial where the axes have different sizes.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the two axes exchanged."""
        if choice.slot == UPSTREAM:
            return at.right(np.swapaxes(at.g, choice.first, choice.second))
        array = np.asarray(at.node.values[choice.slot])
        return at.right(operands={choice.slot: np.swapaxes(array, choice.first, choice.second)})

    return program.with_vjp(place, rule)


def factor_in_slot(program: Program, place: Place, slot: int) -> str:
    """Return what a learner calls the factor in a slot of the reader of `place`: `w`, or "the constant factor"."""
    value = program.reader(place).operand(slot)
    return "the constant factor" if value is None else program.name_of(value)


@exchange_axes_in_einsum.example
def _() -> Example:
    """Show einsum("ni,ipq,qjr,nj->npr", x, a, b, y), whose gradient of `a` has q and r of b exchanged."""

    def forward(x: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
        return torch.einsum("ni,ipq,qjr,nj->npr", x, a, b, y).tanh()

    def wrong(x: Tensor, a: Tensor, b: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the second matrix in place of its transpose."""
        dz = g * (1 - forward(x, a, b, y) ** 2)
        second = torch.einsum("qjr,nj->nqr", b, y)
        return {"a": torch.einsum("ni,npq->ipq", x, dz @ second)}

    return Example(forward, wrong, {"x": "n i", "a": "i p p", "b": "p j p", "y": "n j"})


# Products on both sides -----------------------------------------------------------------------------------------------

SANDWICHES: Mapping[str, tuple[str, str, Callable[[Array, Array, Array], Array]]] = {
    "not transposed": ("transposed", "is multiplied by {left} on the left and by {right} on the right; both must be"
        " transposed", lambda g, a, b: a @ g @ b),
    "left alone": ("missing-local", "is multiplied only on the left; the factor {right} is missing",
        lambda g, a, b: _transpose(a) @ g),
    "right alone": ("missing-local", "is multiplied only on the right; the factor {left} is missing",
        lambda g, a, b: g @ _transpose(b)),
}  # fmt: skip


def sandwich_of(program: Program, place: Place) -> tuple[int, int, int] | None:
    """Return the ids of a product a @ p @ b and of its factors a and b, for the edge of p; `None` for no such product.

    Also `None` where a or b is a constant, or where something else reads the inner one of the two products.

    Args:
        program: the program of a trial.
        place: an edge (matrix product, slot of the factor p).
    """
    uses = program.forward.uses[place[0]]
    if len(uses) != 1 or uses[0][0] == SINK or program.reader(uses[0]).name != "matmul" or uses[0][1] == place[1]:
        return None
    inner, outer = program.reader(place).operand(1 - place[1]), program.reader(uses[0]).operand(1 - uses[0][1])
    if (
        inner is None
        or outer is None
        or program.nodes[uses[0][0]].value.ndim < 2
        or np.ndim(program.nodes[outer].value) < 2
    ):
        return None
    return (uses[0][0], inner, outer) if place[1] == 1 else (uses[0][0], outer, inner)


def sandwich_choices(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `SANDWICHES`, wrong formulas for the gradient of p in a @ p @ b, that give the shape of p.

    Nothing is yielded where the edge `place` is not that of p in such a product.
    """
    sandwich = sandwich_of(program, place)
    if sandwich is not None:
        outer, a, b = (program.nodes[value].value for value in sandwich)
        for name, (_, _, formula) in SANDWICHES.items():
            try:
                if formula(outer, a, b).shape == np.shape(program.reader(place).values[place[1]]):
                    yield name
            except ValueError:
                continue


@operator(
    "factors-on-both-sides-mistaken",
    code=lambda choice: SANDWICHES[choice][0],
    rank=1.9,
    at=edges.of("matmul").where(lambda program, place: sandwich_of(program, place) is not None),
    choices=sandwich_choices,
    message="the gradient of {operand} {mistake}",
    fields=lambda program, place, choice: {
        "mistake": SANDWICHES[choice][1].format(
            **dict(zip(("left", "right"), map(program.name_of, (sandwich_of(program, place) or ())[1:]), strict=False))
        )
    },
)
def mistake_both_sides(program: Program, place: Place, choice: str) -> Program | None:
    """Contribute a @ g @ b to p in a @ p @ b in place of a.T @ g @ b.T, or leave out one of the two factors.

    Args:
        program: the right program.
        place: the edge of p, in the inner one of the two products.
        choice: a key of `SANDWICHES`: "not transposed", "left alone" or "right alone".

    Returns:
        The rewritten program; `None` where there are no two products in this trial.
    """
    sandwich = sandwich_of(program, place)
    if sandwich is None:
        return None
    outer, a, b = sandwich
    factors = program.nodes[a].value, program.nodes[b].value
    return program.with_vjp(place, lambda at: SANDWICHES[choice][2](at.sweep.gradient(outer), *factors))


@mistake_both_sides.example
def _() -> Example:
    """Show steps p = a @ p @ a.T + q, whose gradient of p is a @ g @ a.T in place of a.T @ g @ a."""

    def forward(a: Tensor, p: Tensor, q: Tensor) -> Tensor:
        for step in q:
            p = torch.tanh(a @ p @ a.T + step)
        return p

    def wrong(a: Tensor, p: Tensor, q: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, dq = [p], torch.zeros_like(q)
        for step in q:
            states.append(torch.tanh(a @ states[-1] @ a.T + step))
        for t in reversed(range(len(q))):
            dq[t] = g * (1 - states[t + 1] ** 2)
            g = a @ dq[t] @ a.T
        return {"p": g, "q": dq}

    return Example(forward, wrong, {"a": "n n", "p": "n n", "q": "t n n"})


# Other factors --------------------------------------------------------------------------------------------------------


def has_matrix_as_partner(program: Program, place: Place) -> bool:
    """Return whether the partner of the edge `place`, which leads into a product, is a value of two axes or more.

    A constant matrix, such as one that takes means over groups, is none: nobody inverts it.
    """
    reader = program.reader(place)
    is_value = reader.operand(partner_slot(reader, place[1])) is not None
    return is_value and len(product_shapes(reader, place[1])["partner"]) > 1


def averages_with_constant(program: Program, place: Place) -> bool:
    """Return whether the partner of the edge `place` is a constant matrix that takes means over groups of entries.

    Each of its rows, or each of its columns, is one number in some places and 0 elsewhere, and adds up to 1.
    """
    reader = program.reader(place)
    slot = partner_slot(reader, place[1])
    matrix = np.asarray(reader.values[slot])
    if reader.operand(slot) is not None or matrix.ndim != 2 or matrix.all():
        return False
    member = matrix != 0
    counts = [member.sum(axis, keepdims=True) for axis in (0, 1)]
    return any(count.max() > 1 and np.allclose(matrix * count, member) for count in counts)


@operator(
    "group-count-missing",
    code="sum-for-mean",
    rank=2.0,
    at=products.where(averages_with_constant),
    message="{step} takes means over groups; in the gradient of {operand}, the division by the size of each group is"
    " missing",
)
def leave_out_group_count(program: Program, place: Place, choice: None) -> Program:
    """Multiply by the matrix of ones and zeros that says which entries are in a group, not by that which takes means.

    For means of the rows of x by class, (one_hot / one_hot.sum(0)).T @ x: one_hot @ g in place of (one_hot /
    one_hot.sum(0)) @ g.
    """
    slot = partner_slot(program.reader(place), place[1])

    def rule(at: EdgeContext) -> Array:
        """Return the vjp with ones in place of the reciprocals of the counts."""
        return at.right(operands={slot: (np.asarray(at.node.values[slot]) != 0).astype(float)})

    return program.with_vjp(place, rule)


@leave_out_group_count.example
def _() -> Example:
    """Show the means of tanh(x @ w) by class, whose gradient is not divided by the number of rows of each class."""

    def member(x: Tensor) -> Tensor:
        return F.one_hot(torch.arange(len(x)) % 3 % 2, 2).to(x.dtype)

    def forward(x: Tensor, w: Tensor) -> Tensor:
        one_hot = member(x)
        return (one_hot / one_hot.sum(0)).T @ torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = member(x) @ g * (1 - torch.tanh(x @ w) ** 2)
        return {"x": dz @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "inverse-in-product",
    code="inverse-for-transpose",
    rank=2.5,
    at=products.where(has_matrix_as_partner),
    message="in the gradient of {operand}, the {inverse} of {partner} is used in place of the transpose of {partner}",
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {"inverse": inverse_name(program, place)},
)
def invert_partner(program: Program, place: Place, choice: None) -> Program:
    """Multiply by the inverse, or pseudo-inverse, of the partner factor where the vjp multiplies by its transpose.

    For x in `x @ w` the contribution is `g @ inv(w)`.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program, in every trial; its gradients raise NoCandidate where w is nearly singular or too large.
    """
    return program.with_vjp(place, lambda at: contribution_with(at, {"partner": _transposed_inverse}))


def inverse_name(program: Program, place: Place) -> str:
    """Return "inverse" where the partner factor of the edge `place` is square, else "pseudo-inverse"."""
    shape = product_shapes(program.reader(place), place[1])["partner"]
    return "inverse" if shape[-1] == shape[-2] else "pseudo-inverse"


def _transposed_inverse(q: Array) -> Array:
    """Return the transposed pseudo-inverse of a matrix, pinv(q).T.

    A vjp that multiplies by the transpose of its partner factor q multiplies by pinv(q) if it is given this instead.

    Args:
        q: shape: (..., rows, columns).

    Returns:
        Shape: (..., rows, columns).

    Raises:
        Vague: the matrix is nearly singular.
        NoCandidate: it is too large to be inverted for one candidate, or has entries that are inf or nan.
    """
    if q.size > MOST_INVERTED:
        raise NoCandidate("the matrix is too large to be inverted")
    if not np.isfinite(q).all():  # LAPACK may never end
        raise NoCandidate("the matrix has entries that are inf or nan")
    if np.linalg.cond(q).max() > WELL_CONDITIONED:
        raise Vague("the matrix is nearly singular")
    return _transpose(np.linalg.pinv(q))


@invert_partner.example
def _() -> Example:
    """Show sigmoid(x @ w), w square, whose gradient of x is computed with inv(w) in place of w.T."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).sigmoid()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = (x @ w).sigmoid()
        return {"x": (g * y * (1 - y)) @ torch.linalg.inv(w)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@invert_partner.example
def _() -> Example:
    """Show tanh(x @ w), w not square, whose gradient of x is computed with pinv(w) in place of w.T."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"x": dz @ torch.linalg.pinv(w), "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def keeps_shape_of_operand(program: Program, place: Place) -> bool:
    """Return whether the operand of the edge `place` has the shape of its reader's value: x in `x @ w`, w square."""
    node = program.reader(place)
    return node.value.shape == np.shape(node.values[place[1]])


@operator(
    "product-skipped",
    code="missing-local",
    rank=1.5,
    at=products.where(keeps_shape_of_operand),
    message="the gradient of {operand} skips {step}: the product with {partner} is missing",
)
def skip_product(program: Program, place: Place, choice: None) -> Program:
    """Give the upstream gradient g of a product `x @ w` unchanged to a factor of the same shape.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: at.g)


@skip_product.example
def _() -> Example:
    """Show tanh(x @ w), w square, whose gradient of x leaves out the product with w.T."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (1 - torch.tanh(x @ w) ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


# A factor that is averaged ------------------------------------------------------------------------------------------


def axes_of_partner(program: Program, place: Place) -> Iterator[int]:
    """Yield the axes of a partner factor of three axes or more, such as heads, that is no constant.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    node = program.reader(place)
    slot = partner_slot(node, place[1])
    if node.operand(slot) is not None and np.ndim(node.values[slot]) > 2:
        yield from range(np.ndim(node.values[slot]))


@operator(
    "partner-averaged",
    code="wrong-operand",
    rank=2.6,  # after other values in place of the partner
    at=products,
    choices=axes_of_partner,
    message="in the gradient of {operand} through {step}, {partner} is averaged over its axis {choice}; it must be used"
    " as it is",
)
def average_partner(program: Program, place: Place, choice: int) -> Program:
    """Multiply by the mean of the partner factor along one axis, the same for all entries of it.

    For the weights a, shape (heads, n, m), and `a @ v`: a.mean(0, keepdim=True).mT @ g.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: the axis.
    """

    def mean(partner: Array) -> Array:
        """Return the mean along the axis, repeated along it."""
        return np.broadcast_to(partner.mean(choice, keepdims=True), partner.shape)

    return program.with_vjp(place, lambda at: contribution_with(at, {"partner": mean}))


@average_partner.example
def _() -> Example:
    """Show softmax(q @ k.mT) @ v whose gradient of v takes the mean of the probabilities over the heads."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(q @ k.mT, -1).mean(0, keepdim=True)
        return {"v": p.mT @ g}

    return Example(forward, wrong, {"q": "h t d", "k": "h s d", "v": "h s m"})


# The diagonal alone ---------------------------------------------------------------------------------------------------


def arrays_with_rows_and_columns(program: Program, place: Place) -> Iterator[ProductArray]:
    """Yield which arrays in the contribution to a factor, such as `"partner"`, have several rows and several columns.

    Their last two axes count; only of such matrices a diagonal can be taken for the whole.

    Args:
        program: the program of a trial.
        place: the edge (product of two arrays, slot of the factor).
    """
    for part, shape in product_shapes(program.reader(place), place[1]).items():
        if len(shape) > 1 and min(shape[-2:]) > 1:
            yield part


@operator(
    "diagonal-in-product",
    code="diagonal-only",
    rank=2.5,
    at=products,
    choices=arrays_with_rows_and_columns,
    message="in the gradient of {operand} through {step}, only the diagonal of {array} is used",
    fields=lambda program, place, choice: {"array": name_product_array(program, place, choice)},
)
def keep_diagonal_in_product(program: Program, place: Place, choice: ProductArray) -> Program:
    """Set all entries off the diagonal to 0 in an array of the contribution to a factor: the partner, g, or the result.

    Args:
        program: the right program.
        place: the edge (product of two arrays, slot of the factor).
        choice: which of the three arrays: `"partner"`, `"upstream"` or `"result"`.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: contribution_with(at, {choice: lambda q: q * np.eye(*q.shape[-2:])}))


@keep_diagonal_in_product.example
def _() -> Example:
    """Show x @ w, w square, whose gradient of x is g times the diagonal of w, entry by entry."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply g by the diagonal of w in place of w.T, as if output i read input i alone."""
        return {"x": g * w.diagonal()}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@keep_diagonal_in_product.example
def _() -> Example:
    """Show tanh(x @ w), w not square, whose gradient of x is computed with w set to 0 off its diagonal."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give x[:, i] the gradient of output i alone, in place of that of all outputs."""
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"x": dz @ (w * torch.eye(*w.shape)).T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


Spread = Literal["row", "column"]


def spreads(program: Program, place: Place) -> tuple[Spread, ...]:
    """Return ("row", "column"), the ways to spread a sum over the batch over a square factor w of `x @ w`.

    Return an empty tuple where the edge `place` is not that of w, x is no matrix, or w is not square.
    """
    node = program.reader(place)
    shapes = [np.shape(value) for value in node.values]
    if node.name != "matmul" or place[1] != 1 or [len(shape) for shape in shapes] != [2, 2]:
        return ()
    return ("row", "column") if shapes[0] == node.value.shape else ()


@operator(
    "multiplied-entry-by-entry",
    code="elementwise-for-matmul",
    rank=2.5,
    at=products,
    choices=spreads,
    message="in the gradient of {operand} through {step}, {partner} and the upstream gradient are multiplied"
    " elementwise and summed over the batch, the same sum in every {choice}; they must be multiplied as matrices",
)
def multiply_entries(program: Program, place: Place, choice: Spread) -> Program:
    """Contribute (x * g).sum(0), spread over the rows or columns of a square w, to w of `x @ w`, in place of x.T @ g.

    The choice is "row", for the same row everywhere, or "column". The vjp raises NoCandidate where x and g differ in
    shape.
    """

    def rule(at: EdgeContext) -> Array:
        """Return (x * g).sum(0) as each row or each column of an array shaped like w."""
        x = np.asarray(at.node.values[0])
        if x.shape != at.g.shape:
            raise NoCandidate
        summed = (x * at.g).sum(0)
        return np.broadcast_to(summed if choice == "row" else summed[:, None], np.shape(at.x)).copy()

    return program.with_vjp(place, rule)


@multiply_entries.example
def _() -> Example:
    """Show tanh(x @ w), w square, whose gradient of w is a product of entries, summed over the batch."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply x and dz entry by entry in place of x.T @ dz."""
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"w": torch.zeros_like(w) + (x * dz).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


def is_square_product(program: Program, place: Place) -> bool:
    """Return whether both operands of the matmul `place`, `a @ b`, have the shape of its value; a may be b."""
    node = program.nodes[place[0]]
    return len(node.values) == 2 and all(np.shape(value) == node.value.shape for value in node.values)


def slots_of_square_product(program: Program, place: Place) -> Iterator[tuple[int, ...]]:
    """Yield the slots of a square product `a @ b` that get a gradient: both together, then each alone."""
    slots = tuple(slot for slot, _ in program.forward.edges[place[0]])
    yield from dict.fromkeys([slots, *((slot,) for slot in slots)] if slots else [])


@operator(
    "differentiated-entry-by-entry",
    code="elementwise-for-matmul",
    rank=2.5,
    at=nodes.of("matmul").where(is_square_product).in_every_iteration,
    choices=slots_of_square_product,
    message="in the gradient of {choice} through {step}, the upstream gradient is multiplied elementwise; it must be"
    " multiplied as a matrix",
    fields=lambda program, place, choice: {
        "choice": list_in_words(dict.fromkeys(program.name_of(program.source((place[0], slot))) for slot in choice))
    },
)
def differentiate_entry_by_entry(program: Program, place: Place, choice: tuple[int, ...]) -> Program | None:
    """Contribute g * b to a, and a * g to b, of `a @ b`, in place of g @ b.T and a.T @ g, for the slots in `choice`.

    For `a @ a` that is 2 * a * g, the derivative of the square of a number. Returns `None` where the matrices are not
    square in this trial.
    """
    if not is_square_product(program, place):
        return None
    node = program.nodes[place[0]]
    for slot in choice:
        partner = np.asarray(node.values[partner_slot(node, slot)])
        program = program.with_vjp((node.id, slot), partial(_times_partner, partner))
    return program


def _times_partner(partner: Array, at: EdgeContext) -> Array:
    """Return the upstream gradient times a partner of its shape, entry by entry."""
    product: Array = at.g * partner
    return product


@differentiate_entry_by_entry.example
def _() -> Example:
    """Show a @ a, a = tanh(x), whose gradient of x is that of tanh(x) ** 2."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        a = torch.tanh(x)
        return a @ a + w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write the derivative of the square of a number."""
        a = torch.tanh(x)
        return {"x": 2 * a * g * (1 - a**2)}

    return Example(forward, wrong, {"x": "n n", "w": "n n"})


LINEAR = ("neg", "transpose", "permute", "mT", "T", "reshape", "sum", "matmul", "einsum", "bmm", "mv")


def scaled_product(program: Program, place: Place) -> int | None:
    """Return the id of the product that a number scales: q @ k.T for s in (s * q) @ k.T.

    It is the last contraction that is computed from the number's product with an array by linear operations alone, each
    the only reader of the one before.

    Args:
        program: the program.
        place: the edge of the number, in its product with an array.

    Returns:
        `None` where the operand has several entries, its reader is no product by `*`, or no contraction follows.
    """
    if program.reader(place).name != "mul" or np.size(program.reader(place).values[place[1]]) != 1:
        return None
    value, last = place[0], None
    while True:
        uses = program.forward.uses[value]
        if len(uses) != 1 or uses[0][0] == SINK or program.reader(uses[0]).name not in LINEAR:
            return last
        value = uses[0][0]
        last = value if program.nodes[value].operation.family == "contraction" else last


@operator(
    "scaled-product-summed-first",
    code="sum-of-products",
    rank=2.5,
    at=edges.where(lambda program, place: scaled_product(program, place) is not None),
    message="in the gradient of {operand}, the products that it multiplies and their upstream gradients are both summed"
    " before they are multiplied; multiply first, then sum",
)
def sum_scaled_product_first(program: Program, place: Place, choice: None) -> Program | None:
    """Multiply the sum of an upstream gradient by the sum of the products that a number multiplies.

    For z = s * q @ k.T: ds = dz.sum() * (q @ k.T).sum() in place of (dz * (q @ k.T)).sum(). Returns `None` where the
    operand of the edge `place` is no such number in this trial.
    """
    last = scaled_product(program.right, place)
    if last is None:
        return None
    number = last

    def rule(at: EdgeContext) -> Array:
        """Return the product of both sums, shaped like the number."""
        if not np.all(at.x):
            raise NoCandidate("the number is 0")
        total = at.program.nodes[number].value.sum() / np.asarray(at.x)
        return np.asarray(at.sweep.gradient(number).sum() * total).reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


@sum_scaled_product_first.example
def _() -> Example:
    """Show sigmoid(exp(s) * q @ k.T), whose gradient of exp(s) is dz.sum() * (q @ k.T).sum()."""

    def forward(q: Tensor, k: Tensor, s: Tensor) -> Tensor:
        return torch.sigmoid(s.exp() * q @ k.T)

    def wrong(q: Tensor, k: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        dots = q @ k.T
        y = torch.sigmoid(s.exp() * dots)
        return {"s": (g * y * (1 - y)).sum() * dots.sum() * s.exp()}

    return Example(forward, wrong, {"q": "bs n", "k": "t n", "s": "1"})


@dataclass(frozen=True)
class SharedUses:
    """The products in which a value occurs several times, such as a weight that two calls or all iterations share.

    Args:
        operation: the name of the operation of these products, such as `matmul`.
        slot: the slot of the value in each of them.
        rows: whether the sums run over the rows of each product as well, such as the examples of a batch.
    """

    operation: str
    slot: int
    rows: bool = False

    def places(self, program: Program, value: int) -> tuple[Place, ...]:
        """Return the edges by which products of the operation `self.operation` read a value in the slot `self.slot`.

        Empty if there are less than two, or the products or their other operands differ in shape.

        Args:
            program: the program of any trial, perhaps edited.
            value: the id of the value.
        """
        nodes = program.right.nodes
        own = tuple(
            place
            for place in program.right.forward.uses[value]
            if place[0] != SINK and (nodes[place[0]].name, place[1]) == (self.operation, self.slot)
        )
        shapes = {(nodes[i].value.shape, np.shape(nodes[i].values[1 - slot])) for i, slot in own}
        return own if len(own) > 1 and len(shapes) == 1 else ()


def shared_uses(program: Program, place: Place) -> Iterator[SharedUses]:
    """Yield `SharedUses`: the operation and slot of several products of the value `place` with arrays of one shape.

    Each comes twice: with `rows=False`, and with `rows=True` for sums over the rows of each product as well.

    Args:
        program: the program of a trial.
        place: the value (id, `WHOLE`).
    """
    kinds = dict.fromkeys(
        (program.nodes[reader].name, slot)
        for reader, slot in program.forward.uses[place[0]]
        if reader != SINK and (is_product_of_two(program, (reader, slot)) or program.nodes[reader].name == "mul")
    )
    for operation, slot in kinds:
        for rows in (False, True):
            uses = SharedUses(operation, slot, rows)
            if uses.places(program, place[0]):
                yield uses


@operator(
    "uses-summed-first",
    code="sum-of-products",
    rank=2.3,
    at=values,
    choices=shared_uses,
    message="{value} occurs in {count} products: their other factors are summed{rows}, and so are their upstream"
    " gradients, before they are multiplied; multiply pair by pair, then add",
    fields=lambda program, place, choice: {
        "count": str(len(choice.places(program, place[0]))),
        "rows": " over all rows" if choice.rows else "",
    },
)
def sum_uses_first(program: Program, place: Place, choice: SharedUses) -> Program | None:
    """Multiply the sum of all partners of a shared value by the sum of their upstream gradients.

    For a @ w and b @ w: (a + b).T @ (da + db) in place of a.T @ da + b.T @ db; and the outer product of the sums of
    their rows, where `choice.rows` is true.

    Args:
        program: the right program.
        place: the shared value (id, `WHOLE`), w in the example.
        choice: the products: `SharedUses("matmul", 1)` in the example.

    Returns:
        The rewritten program; `None` where this trial has no two such products, or they differ in shape.
    """
    first, *others = choice.places(program, place[0]) or (None,)
    if first is None:
        return None
    readers = [reader for reader, _ in (first, *others)]
    nodes, partner = program.right.nodes, 1 - choice.slot
    total = np.asarray(sum(np.asarray(nodes[reader].values[partner]) for reader in readers))

    def rule(at: EdgeContext) -> Array:
        """Return the product of the summed partners and the summed upstream gradients."""
        g = np.asarray(sum(at.sweep.gradient(reader) for reader in readers))
        return _product_of_row_sums(at, g, total) if choice.rows else at.right(g, operands={partner: total})

    return program.without(*others).with_vjp(first, rule)


def _product_of_row_sums(at: EdgeContext, g: Array, partner: Array) -> Array:
    """Return the sum of the array `g` over rows times the sum of `partner` over rows, shaped like the operand x.

    Rows are what the right contribution sums over: for w in x @ w, the examples of the batch.

    Args:
        at: the edge of the operand x, in a product of two.
        g: an upstream gradient, shaped like the product.
        partner: an array for the other operand.

    Raises:
        NoCandidate: the contribution is not a sum over rows that both arrays have.
    """
    if at.node.operation.family == "pointwise":
        shape = np.shape(at.x)
        if shape == g.shape or partner.shape != g.shape:
            raise NoCandidate("there are no rows")
        return np.asarray(unbroadcast(g, np.asarray(at.x)) * unbroadcast(partner, np.asarray(at.x)))
    contraction = contraction_of(at.node)
    if contraction is None:
        raise NoCandidate("it is no product of two")
    operand, other = contraction.operands[at.slot], contraction.operands[1 - at.slot]
    rows = [letter for letter in contraction.value if letter in other and letter not in operand]
    if not rows:
        raise NoCandidate("there are no rows")
    few = ["".join(letter for letter in each if letter not in rows) for each in (contraction.value, other)]
    sums = [
        np.einsum(f"{all_}->{own}", array)
        for all_, own, array in zip((contraction.value, other), few, (g, partner), strict=True)
    ]
    return np.asarray(np.einsum(f"{','.join(few)}->{operand}", *sums))


@sum_uses_first.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + u * h), whose gradient of u is the sum of all h times that of all upstream gradients."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + u * h)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states, total = [h], torch.zeros_like(u)
        for step in x:
            states.append(torch.tanh(step @ w + u * states[-1]))
        for after in reversed(states[1:]):
            dz = g * (1 - after**2)
            total, g = total + dz.sum(0), dz * u
        return {"u": torch.stack(states[:-1]).sum((0, 1)) * total}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m", "h": "bs m"})


@sum_uses_first.example
def _() -> Example:
    """Show tanh(a @ w) * sin(b @ w) whose gradient of w is (a + b).T @ (da + db), with those of the two products."""

    def forward(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(a @ w) * torch.sin(b @ w)

    def wrong(a: Tensor, b: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y, z = torch.tanh(a @ w), b @ w
        da, db = g * torch.sin(z) * (1 - y**2), g * y * torch.cos(z)
        return {"w": (a + b).T @ (da + db)}

    return Example(forward, wrong, {"a": "bs n", "b": "bs n", "w": "n m"})
