"""Mistakes in sums of products of two arrays: transposes, reshapes, other factors, factors that are left out.

The contribution to a factor of a matrix product is again a product, of the upstream gradient and the other factor.
What is wrong with it is wrong with one of three arrays: the upstream gradient, the partner, or the product of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Node, Place
from grader.program.operation import Array, Vague
from grader.program.program import EdgeContext, Program
from grader.program.queries import contraction_of

from .contract import Example, operator
from .places import edges

WELL_CONDITIONED = (
    100.0  # learners invert in single precision, where a nearly singular matrix has no inverse to compare
)

Part = Literal["upstream", "partner", "result"]
PARTS: tuple[Part, ...] = ("partner", "upstream", "result")


def partner_slot(node: Node, slot: int) -> int:
    """Return the slot of the other factor in a product of two."""
    return 1 - slot


def is_product(program: Program, place: Place) -> bool:
    """Return whether an edge leads to a factor of a sum of products of two arrays."""
    node = program.reader(place)
    contraction = contraction_of(node)
    return contraction is not None and len(contraction.operands) == 2 and place[1] < 2


products = edges.of_family("contraction").where(is_product)


def shapes_of(node: Node, slot: int) -> dict[Part, tuple[int, ...]]:
    """Return the shapes of the arrays that the contribution to a factor is made of."""
    return {
        "upstream": node.value.shape,
        "partner": np.shape(node.values[partner_slot(node, slot)]),
        "result": np.shape(node.values[slot]),
    }


def contribution(at: EdgeContext, changes: Mapping[Part, Callable[[Array], Array]]) -> Array:
    """Return the contribution to a factor with some of its arrays changed.

    Args:
        at: an edge from a product of two.
        changes: for `"upstream"`, `"partner"` and `"result"` what is done to them, as far as something is.

    Returns:
        The contribution; shaped like the factor where the changes allow it.
    """
    slot = partner_slot(at.node, at.slot)
    partner, g = np.asarray(at.node.values[slot]), at.g
    g = changes["upstream"](g) if "upstream" in changes else g
    operands = {slot: changes["partner"](partner)} if "partner" in changes else None
    part = at.right(g, operands)
    return changes["result"](part) if "result" in changes else part


def name_part(program: Program, place: Place, part: Part) -> str:
    """Return what a learner calls one of the arrays that a contribution is made of."""
    if part == "upstream":
        return "the upstream gradient"
    if part == "result":
        return "the product with the upstream gradient"
    value = program.reader(place).operand(partner_slot(program.reader(place), place[1]))
    return "the other factor" if value is None else program.name_of(value)


# Transposes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrangement:
    """How the two factors of a contribution are arranged.

    Args:
        transposed: the factors whose last two axes are the other way round than they must be.
        exchanged: the left factor is on the right.
    """

    transposed: tuple[Part, ...]
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
    """Yield the wrong arrangements of two matrices whose shapes allow them."""
    shapes = shapes_of(program.reader(place), place[1])
    if all(len(shape) > 1 for shape in shapes.values()):
        square = {part for part, shape in shapes.items() if shape[-1] == shape[-2]}
        for arrangement in ARRANGEMENTS:
            turned = _transposes(arrangement)
            if set(turned) <= square or len(turned) > 1:
                yield arrangement


def _transposes(arrangement: Arrangement) -> tuple[Part, ...]:
    """Return the arrays to transpose for an arrangement; (A B).T = B.T A.T exchanges two factors."""
    if not arrangement.exchanged:
        return arrangement.transposed
    return (*(part for part in PARTS[:2] if part not in arrangement.transposed), "result")


def arrangement_words(program: Program, place: Place, arrangement: Arrangement) -> str:
    """Return in words what is wrong with an arrangement."""
    clauses = ["its two factors are exchanged"] if arrangement.exchanged else []
    for part in arrangement.transposed:
        name = name_part(program, place, part)
        missing = part == "partner" and program.reader(place).name == "matmul"
        clauses.append(f"the transpose of {name} is missing" if missing else f"{name} is transposed, and must not be")
    return " and ".join(clauses)


@operator(
    "wrongly-transposed",
    code="transposed",
    rank=1.5,
    at=products,
    choices=arrangements,
    message="in the product that {step} contributes to the gradient of {operand}, {arrangement}",
    fields=lambda program, place, choice: {"arrangement": arrangement_words(program, place, choice)},
)
def transpose_wrongly(program: Program, place: Place, choice: Arrangement) -> Program | None:
    """Transpose or exchange the factors of a contribution."""
    changes = dict.fromkeys(_transposes(choice), _transposed)
    return program.with_vjp(place, lambda at: contribution(at, changes))


def _transposed(array: Array) -> Array:
    """Return matrices with rows and columns exchanged."""
    return np.swapaxes(array, -1, -2)


@transpose_wrongly.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * (1 - torch.tanh(x @ w) ** 2)) @ w}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@transpose_wrongly.example
def _() -> Example:
    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Weigh the values' gradients as the forward pass weighs the values."""
        return {"v": torch.softmax(q @ k.mT, -1) @ g}

    return Example(forward, wrong, {"q": "h t d", "k": "h t d", "v": "h t d"})


@transpose_wrongly.example
def _() -> Example:
    def forward(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b).square()

    def wrong(a: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": 2 * (a @ b) * g @ a.T}

    return Example(forward, wrong, {"a": "n n", "b": "n n"})


# Reshapes -------------------------------------------------------------------------------------------------------------

RESHAPES: Mapping[str, Callable[[Array], Array]] = {
    # what must be transposed is reshaped to the transpose's shape; given back as what is transposed to it
    "{array} is reshaped in place of a transpose": lambda q: _transposed(q.reshape(_transposed(q).shape)),
    "{array} is reshaped with its last axis in front": lambda q: np.moveaxis(
        q.reshape(q.shape[-1], *q.shape[:-1]), 0, -1
    ),
    # the same for either factor, so that it is said of both
    "the rows of the two factors are in different orders: rows meet that do not belong together": lambda q: np.swapaxes(
        q, 0, 1
    ).reshape(q.shape),
    "the rows of the two factors are in different orders, rows meet that do not belong together": lambda q: np.swapaxes(
        q.reshape(q.shape[1], q.shape[0], *q.shape[2:]), 0, 1
    ),
}
TRANSPOSING = 2  # how many of these are in place of a transpose


@dataclass(frozen=True)
class Reshape:
    """A reshape of one of the arrays that a contribution is made of.

    Args:
        part: which array.
        how: which reshape, of `RESHAPES`.
    """

    part: Part
    how: str


def reshapes(program: Program, place: Place) -> Iterator[Reshape]:
    """Yield the reshapes that put the entries of an array into another order."""
    hows = tuple(RESHAPES)
    for part, shape in shapes_of(program.reader(place), place[1]).items():
        if len(shape) > 1:
            yield from (Reshape(part, how) for how in hows[: 1 if len(shape) == 2 else TRANSPOSING])
        if part == "partner" and len(shape) > 2:
            yield from (Reshape(part, how) for how in hows[TRANSPOSING:])


@operator(
    "reshaped-in-product",
    code="reshape-for-transpose",
    rank=2.0,
    at=products,
    choices=reshapes,
    message="in what {step} contributes to the gradient of {operand}, {reshape}",
    fields=lambda program, place, choice: {
        "reshape": choice.how.format(array=name_part(program, place, choice.part)),
    },
)
def reshape_in_product(program: Program, place: Place, choice: Reshape) -> Program | None:
    """Reshape a factor of a contribution, or the contribution, in place of exchanging two of its axes."""
    change = RESHAPES[choice.how]
    return program.with_vjp(place, lambda at: contribution(at, {choice.part: change}))


@reshape_in_product.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * (x @ w + b > 0)) @ w.reshape(w.shape[1], w.shape[0])}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@reshape_in_product.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Flatten the examples and the steps of `x` in another order than those of the gradient."""
        return {"w": x.transpose(0, 1).reshape(-1, x.shape[-1]).T @ g.reshape(-1, g.shape[-1])}

    return Example(forward, wrong, {"x": "bs t n", "w": "n m"})


# Other factors --------------------------------------------------------------------------------------------------------


def has_matrix_as_partner(program: Program, place: Place) -> bool:
    """Return whether the other factor is a matrix, or a stack of them."""
    return len(shapes_of(program.reader(place), place[1])["partner"]) > 1


@operator(
    "inverse-in-product",
    code="inverse-for-transpose",
    rank=2.5,
    at=products.where(has_matrix_as_partner),
    message="for {operand} the {inverse} of {partner} is used in place of its transpose",
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {"inverse": inverse_name(program, place)},
)
def invert_partner(program: Program, place: Place, choice: None) -> Program | None:
    """Take the inverse of the other factor, or its pseudo-inverse, in place of its transpose."""
    return program.with_vjp(place, lambda at: contribution(at, {"partner": _inverse_transposed}))


def inverse_name(program: Program, place: Place) -> str:
    """Return what the inverse of the other factor is called."""
    shape = shapes_of(program.reader(place), place[1])["partner"]
    return "inverse" if shape[-1] == shape[-2] else "pseudo-inverse"


def _inverse_transposed(q: Array) -> Array:
    """Return the transposed pseudo-inverse of a matrix, for a rule that will transpose it.

    Raises:
        Vague: the matrix is nearly singular.
    """
    if np.linalg.cond(q).max() > WELL_CONDITIONED:
        raise Vague("the matrix is nearly singular")
    return _transposed(np.linalg.pinv(q))


@invert_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).sigmoid()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = (x @ w).sigmoid()
        return {"x": (g * y * (1 - y)) @ torch.linalg.inv(w)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@invert_partner.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"x": dz @ torch.linalg.pinv(w), "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def has_shape_of_operand(program: Program, place: Place) -> bool:
    """Return whether the value of an operation is shaped like an operand."""
    node = program.reader(place)
    return node.value.shape == np.shape(node.values[place[1]])


@operator(
    "product-skipped",
    code="missing-local",
    rank=1.5,
    at=products.where(has_shape_of_operand),
    message="the gradient of {operand} skips {step}: the product with {partner} is missing",
)
def skip_product(program: Program, place: Place, choice: None) -> Program | None:
    """Hand the upstream gradient on as it is."""
    return program.with_vjp(place, lambda at: at.g)


@skip_product.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (1 - torch.tanh(x @ w) ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


# The diagonal alone ---------------------------------------------------------------------------------------------------


def parts_with_diagonal(program: Program, place: Place) -> Iterator[Part]:
    """Yield the arrays of a contribution that have a diagonal."""
    for part, shape in shapes_of(program.reader(place), place[1]).items():
        if len(shape) > 1 and min(shape[-2:]) > 1:
            yield part


@operator(
    "diagonal-in-product",
    code="diagonal-only",
    rank=2.5,
    at=products,
    choices=parts_with_diagonal,
    message="in what {step} contributes to the gradient of {operand}, only the diagonal of {array} is used",
    fields=lambda program, place, choice: {"array": name_part(program, place, choice)},
)
def keep_diagonal_in_product(program: Program, place: Place, choice: Part) -> Program | None:
    """Leave of a factor of a contribution, or of the contribution, only the diagonal."""
    return program.with_vjp(place, lambda at: contribution(at, {choice: lambda q: q * np.eye(*q.shape[-2:])}))


@keep_diagonal_in_product.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Treat `w` as if each output read the input in its own place alone."""
        return {"x": g * w.diagonal()}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@keep_diagonal_in_product.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Follow the output of an entry's own number only."""
        dz = g * (1 - torch.tanh(x @ w) ** 2)
        return {"x": dz @ (w * torch.eye(*w.shape)).T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
