"""Mistakes in which branch a gradient takes: the other one, both, or the one that another value chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Node, Place
from grader.program.operation import Array, Operand, unbroadcast
from grader.program.program import EdgeContext, EdgeVjp, Program
from grader.program.selectors import ValueName, values_by_name
from grader.sampling import mask, signs

from .contract import Example, operator
from .places import edges, nodes
from .pointwise import slopes_at

MASKING = ("relu", "where", "masked_fill", "clamp", "maximum", "minimum", "mul")  # a product may be with a mask


def has_mask(program: Program, place: Place) -> bool:
    """Return whether an operation hands its gradient on at some entries alone."""
    node = program.reader(place)
    own = program.forward.edges[node.id]
    if node.name not in MASKING or not own:
        return False
    return node.name != "mul" or _is_mask(node.values[1 - own[0][0]])


def _is_mask(value: Operand) -> bool:
    """Return whether a value is an array of zeros and ones."""
    array = np.asarray(value)
    return array.ndim > 0 and bool(((array == 0) | (array == 1)).all())


masking = nodes.where(has_mask)


def operands_together(program: Program, place: Place) -> Iterator[tuple[int, ...]]:
    """Yield the slots of all operands that get a gradient, and each of several by itself."""
    own = tuple(slot for slot, _ in program.forward.edges[place[0]])
    yield own
    if len(own) > 1:
        yield from ((slot,) for slot in own)


@operator(
    "mask-inverted",
    code="inverted-mask",
    rank=2.0,
    at=masking,
    choices=operands_together,
    message="in what {step} contributes to {operands} the mask is inverted: the gradient goes where it must not",
    fields=lambda program, place, choice: {
        "operands": " and ".join(program.name_of(program.source((place[0], slot))) for slot in choice)
    },
)
def invert_mask(program: Program, place: Place, choice: tuple[int, ...]) -> Program | None:
    """Hand the gradient on exactly where it must not go."""
    for slot in choice:
        program = program.with_vjp((place[0], slot), lambda at: unbroadcast(at.g * (1 - slopes_at(at)), at.x))
    return program


@invert_mask.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (x @ w <= 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@invert_mask.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, a: Tensor) -> Tensor:
        z = x @ w
        return torch.where(z > 0, z, torch.sin(a * z))

    def wrong(x: Tensor, w: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the other branch everywhere, for both branches."""
        z = x @ w
        dz = torch.where(z > 0, g * a * torch.cos(a * z), g)
        return {"w": x.T @ dz, "a": (torch.where(z > 0, g, torch.zeros_like(g)) * torch.cos(a * z) * z).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "a": "m"})


def is_product_with_mask(program: Program, place: Place) -> bool:
    """Return whether a node is a product with an array of zeros and ones."""
    return has_mask(program, place) and program.reader(place).name == "mul"


@operator(
    "mask-inverted-throughout",
    code="inverted-mask",
    rank=3.0,
    at=nodes.where(is_product_with_mask),
    message="{step} is computed with the inverted mask, in the forward pass and in the backward pass",
)
def invert_mask_throughout(program: Program, place: Place, choice: None) -> Program | None:
    """Keep what a mask takes away, and take away what it keeps."""

    def change(node: Node) -> Node:
        slot = next(slot for slot in (0, 1) if _is_mask(node.values[slot]))
        return node.with_operand(slot, 1 - np.asarray(node.values[slot], dtype=float), dict(node.operands).get(slot))

    return program.with_nodes({place[0]: change})


@invert_mask_throughout.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor, keep: Tensor) -> Tensor:
        return ((x - y) * keep).square().sum() / keep.sum()

    def wrong(x: Tensor, y: Tensor, keep: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = g * 2 * (x - y) * (1 - keep) / keep.sum()
        return {"x": dx, "y": -dx}

    return Example(forward, wrong, {"x": "n m", "y": "n m", "keep": mask("n m")})


def branches(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the operands that an operation chooses between."""
    own = [slot for slot, _ in program.forward.edges[place[0]]]
    if len(own) > 1:
        yield from own


@operator(
    "same-branch-everywhere",
    code="wrong-local",
    rank=2.5,
    at=nodes.of("where", "masked_fill", "maximum", "minimum", "clamp"),
    choices=branches,
    message="the gradient of {step} goes to {branch} everywhere, and must go there only where that was chosen",
    fields=lambda program, place, choice: {"branch": program.name_of(program.source((place[0], choice)))},
)
def take_one_branch(program: Program, place: Place, choice: int) -> Program | None:
    """Hand the whole gradient to one of several operands, and nothing to the others."""
    others = [(place[0], slot) for slot, _ in program.forward.edges[place[0]] if slot != choice]
    return program.without(*others).with_vjp((place[0], choice), lambda at: unbroadcast(at.g, at.x))


@take_one_branch.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.maximum(x @ w, torch.tanh(x @ u))

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate as if the first operand were always the greater one."""
        return {"x": g @ w.T, "w": x.T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


@operator(
    "lower-branch-everywhere",
    code="wrong-local",
    rank=2.5,
    at=edges.of("leaky_relu", "elu", "celu", "selu"),
    message="the derivative of {step} below 0 is used above it, too",
)
def take_lower_branch(program: Program, place: Place, choice: None) -> Program | None:
    """Take the derivative at minus the size of the operand."""
    return program.with_vjp(place, lambda at: at.right(operands={at.slot: -np.abs(at.x)}))


@take_lower_branch.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(torch.nn.functional.leaky_relu(x @ w, 0.1) * v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = torch.nn.functional.leaky_relu(x @ w, 0.1)
        dz = g * (1 - torch.tanh(z * v) ** 2) * v
        return {"w": x.T @ (0.1 * dz)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m"})


# Masks that are made from something else ------------------------------------------------------------------------------

COMPARISONS = {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt"}


def comparison_of(program: Program, place: Place) -> tuple[int, Node] | None:
    """Return the slot in which an operation reads a mask, and the comparison that makes it."""
    for slot, operand in program.reader(place).operands:
        node = program.nodes[operand]
        while node.name in ("cast", "logical_not") and node.operands:
            node = program.nodes[node.operands[0][1]]
        if node.name in COMPARISONS and slot != place[1]:
            return slot, node
    return None


def mask_with(program: Program, place: Place, slot: int, comparison: Node) -> Array:
    """Return the mask that an operation would read if a comparison were another one."""
    made = comparison.operation.run(comparison.values, comparison.options)
    chain = []
    node = program.nodes[dict(program.reader(place).operands)[slot]]
    while node.id != comparison.id:
        chain.append(node)
        node = program.nodes[node.operands[0][1]]
    for later in reversed(chain):
        made = later.operation.run((made, *later.values[1:]), later.options)
    return made


def is_masked_by_comparison(program: Program, place: Place) -> bool:
    """Return whether the derivative along an edge is a mask that a comparison makes."""
    return program.reader(place).name in ("where", "masked_fill", "mul") and comparison_of(program, place) is not None


@dataclass(frozen=True)
class MaskOperand:
    """What a mask is made from, in place of an operand of its comparison.

    Args:
        slot: the operand.
        value: another value; `None` for the upstream gradient.
    """

    slot: int
    value: ValueName | None


def mask_operands(program: Program, place: Place) -> Iterator[MaskOperand]:
    """Yield what the comparison of a mask may be made with."""
    known = comparison_of(program, place)
    if known is not None:
        for slot, operand in known[1].operands:
            shape = np.shape(known[1].values[slot])
            for name, value in values_by_name(program, place[0], shape).items():
                if value != operand:
                    yield MaskOperand(slot, name)
            if shape == program.reader(place).value.shape:
                yield MaskOperand(slot, None)


@operator(
    "mask-of-another-value",
    code="wrong-point",
    rank=2.5,
    at=edges.where(is_masked_by_comparison),
    choices=mask_operands,
    message="in the backward pass of {step} the mask is made from {other}, and must be made from {own}",
    fields=lambda program, place, choice: {
        "other": "the upstream gradient" if choice.value is None else choice.value.describe(program),
        "own": name_of_compared(program, place, choice.slot),
    },
)
def make_mask_of_another_value(program: Program, place: Place, choice: MaskOperand) -> Program | None:
    """Compare another value, or the upstream gradient, to make the mask of a derivative."""
    known = comparison_of(program, place)
    value = None if choice.value is None else choice.value.find(program, place[0])
    if known is None or (value is None) != (choice.value is None):
        return None
    mask_slot, comparison = known

    def rule(at: EdgeContext) -> Array:
        other = at.g if value is None else at.program.nodes[value].value
        mask = mask_with(at.program, place, mask_slot, comparison.with_operand(choice.slot, other))
        return at.right(operands={mask_slot: mask})

    return program.with_vjp(place, rule)


def name_of_compared(program: Program, place: Place, slot: int) -> str:
    """Return what a learner calls an operand of the comparison that makes a mask."""
    known = comparison_of(program, place)
    operand = None if known is None else known[1].operand(slot)
    return "a constant" if operand is None else program.name_of(operand)


@make_mask_of_another_value.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, limit: Tensor) -> Tensor:
        z = x @ w
        y = torch.where(z > limit, z, torch.zeros_like(z))
        return y + z * limit

    def wrong(x: Tensor, w: Tensor, limit: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Look for the entries that were let through in what came out."""
        z = x @ w
        y = torch.where(z > limit, z, torch.zeros_like(z))
        return {"w": x.T @ (g * (y > limit) + g * limit)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "limit": "m"})


@make_mask_of_another_value.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.where(z > 0, z, torch.zeros_like(z)) * 2

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Mask by the sign of the gradient."""
        return {"w": x.T @ (2 * g * (2 * g > 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Where two branches meet ----------------------------------------------------------------------------------------------

Tie = Literal["counts", "does not count", "first", "second"]


def has_ties(program: Program, place: Place) -> bool:
    """Return whether an operation has entries exactly where its branches meet."""
    return any(bool(ties_of(program, place, slot).any()) for slot, _ in program.forward.edges[place[0]])


def ties_of(program: Program, place: Place, slot: int) -> Array:
    """Return the entries of a value at which two branches meet for one operand, as a mask."""
    node = program.reader(place)
    if node.name in ("maximum", "minimum"):
        return np.broadcast_to(np.equal(node.values[0], node.values[1]), node.value.shape)
    if node.name == "relu":
        return np.equal(node.values[0], 0)
    if node.name == "clamp":
        return np.equal(node.values[0], node.values[1]) | np.equal(node.values[0], node.values[2])
    known = comparison_of(program, (node.id, slot))
    if known is None:
        return np.zeros(node.value.shape, dtype=bool)
    left, right, *_ = known[1].values
    return np.broadcast_to(np.equal(left, right), node.value.shape)


def ties_choices(program: Program, place: Place) -> Iterator[Tie]:
    """Yield what may be done with entries where two branches meet."""
    yield from ("counts", "does not count")
    if len(program.forward.edges[place[0]]) > 1:
        yield from ("first", "second")


@operator(
    "ties-counted-otherwise",
    code="wrong-local",
    rank=3.0,
    at=nodes.of("relu", "clamp", "maximum", "minimum", "where", "masked_fill", "mul").where(has_ties),
    choices=ties_choices,
    message="where the branches of {step} meet exactly, {what}",
    fields=lambda program, place, choice: {
        "what": {
            "counts": "the whole gradient is handed on: the comparison includes the equal case, and must not",
            "does not count": "no gradient is handed on: the comparison excludes the equal case, and must not",
            "first": "the whole gradient goes to the first operand",
            "second": "the whole gradient goes to the second operand",
        }[choice]
    },
)
def count_ties_otherwise(program: Program, place: Place, choice: Tie) -> Program | None:
    """Take another derivative at the entries where two branches meet."""
    own = [slot for slot, _ in program.forward.edges[place[0]]]
    whole = {"counts": own, "does not count": [], "first": own[:1], "second": own[1:2]}[choice]

    def of_slot(slot: int) -> EdgeVjp:
        ties, slope = ties_of(program, place, slot), float(slot in whole)
        return lambda at: unbroadcast(at.g * np.where(ties, slope, slopes_at(at)), at.x)

    for slot in own:
        program = program.with_vjp((place[0], slot), of_slot(slot))
    return program


@count_ties_otherwise.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x + y) @ w

    def wrong(x: Tensor, y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write `>=` for `>`."""
        return {"x": (g @ w.T) * (x + y >= 0)}

    return Example(forward, wrong, {"x": signs("bs n"), "y": signs("bs n"), "w": "n m"})


@count_ties_otherwise.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.maximum(x, y) @ w

    def wrong(x: Tensor, y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g @ w.T) * (x >= y), "y": (g @ w.T) * (y > x)}

    return Example(forward, wrong, {"x": signs("bs n"), "y": signs("bs n"), "w": "n m"})
