"""Mistakes in masks and branches: the gradient goes to the wrong branch, to both, or where a wrong mask sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import mask, signs
from grader.program.forward import Node, Place
from grader.program.operation import Array, Operand, unbroadcast
from grader.program.program import EdgeContext, EdgeVjp, Program
from grader.program.selectors import ValueName, values_by_name

from .contract import MASK_SLOTS, Example, operator
from .places import edges, expression_of, nodes
from .pointwise import MASKED, local_derivative_at

MASKING = (*MASKED, *MASK_SLOTS, "mul")  # a product may be with a mask


def has_mask(program: Program, place: Place) -> bool:
    """Return whether a node's derivative is a mask, as that of a relu, or of a product with a two-valued array.

    The operations with a mask are those of `MASKING`.

    Args:
        program: the program of a trial.
        place: a node.
    """
    return bool(masked_slots(program, place))


def masked_slots(program: Program, place: Place) -> tuple[int, ...]:
    """Return the slots of the operands whose contribution a node masks; none for a node without a mask.

    Of a product, these are the operands that are multiplied by a two-valued array.

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.reader(place)
    own = tuple(slot for slot, _ in program.forward.edges[node.id]) if node.name in MASKING else ()
    return tuple(slot for slot in own if node.name != "mul" or len(_two_values(node.values[1 - slot])) == 2)


def _is_mask(value: Operand) -> bool:
    """Return whether an operand is an array, with at least one axis, of zeros and ones alone, or of one of the two."""
    array = np.asarray(value)
    return array.ndim > 0 and bool(((array == 0) | (array == 1)).all())


LEAST_OF_TWO = 5  # entries of an array that consists of two numbers by intent


def _two_values(value: Operand) -> tuple[float, ...]:
    """Return the two numbers that an array of floats consists of, the smaller one first; (0, 1) for any mask.

    Empty for any other array; and for one of fewer than five entries that is no mask, where two numbers may be chance.
    """
    array = np.asarray(value)
    if _is_mask(array):
        return 0.0, 1.0
    if array.size < LEAST_OF_TWO or array.dtype.kind != "f":
        return ()
    values = (float(array.min()), float(array.max()))
    return values if values[0] != values[1] and bool(np.isin(array, values).all()) else ()


masking = nodes.where(has_mask)


def masked_slot_groups(program: Program, place: Place) -> Iterator[tuple[int, ...]]:
    """Yield the groups of slots whose mask may be inverted: all operands that are masked, then each one alone.

    For `maximum(a, b)` these are (0, 1), (0,) and (1,).

    Args:
        program: the program of a trial.
        place: a node whose derivative is a mask.
    """
    own = masked_slots(program, place)
    yield own
    if len(own) > 1:
        yield from ((slot,) for slot in own)


@operator(
    "mask-inverted",
    code="inverted-mask",
    rank=2.0,
    at=masking,
    choices=masked_slot_groups,
    message="{what}",
    fields=lambda program, place, choice: {"what": describe_inversion(program, place, choice)},
)
def invert_mask(program: Program, place: Place, choice: tuple[int, ...]) -> Program | None:
    """Multiply the upstream gradient of a node by 1 less its mask, in the vjps of the operands in the slots `choice`.

    For relu(x), x gets g where x <= 0, and 0 where x is positive. For a product with an array of two numbers, such as 1
    and 0.2, these are swapped.

    Args:
        program: the right program.
        place: a node whose derivative is a mask.
        choice: the slots of the operands whose contribution is edited: (0, 1) for both of `maximum(a, b)`.

    Returns:
        The rewritten program; `None` where a product has no such factor in this trial.
    """
    if not has_mask(program, place):
        return None
    for slot in choice:
        program = program.with_vjp((place[0], slot), partial(_invert_slopes, sum(mask_slopes(program, place, slot))))
    return program


def describe_inversion(program: Program, place: Place, slots: tuple[int, ...]) -> str:
    """Return a clause on an inverted mask, such as "in the gradient of x through `relu(x)`, the mask is inverted: ...".

    Of two branches, as in `maximum(a, b)`: "the two branches of `maximum(a, b)` are swapped ...".

    Args:
        program: the program of a trial.
        place: a node whose derivative is a mask.
        slots: the slots of the operands whose contribution is edited.
    """
    step = expression_of(program, program.nodes[place[0]])
    if len(slots) == 2 and program.nodes[place[0]].name != "mul":
        return (
            f"the two branches of {step} are swapped in the backward pass: each gets a gradient where the other"
            " one was chosen"
        )
    operands = " and ".join(program.name_of(program.source((place[0], slot))) for slot in slots)
    low, high = mask_slopes(program, place, slots[0])
    return (
        f"in the gradient of {operands} through {step}, the mask is inverted: it is {high:.3g} where it must be"
        f" {low:.3g}, and {low:.3g} where it must be {high:.3g}"
    )


def _invert_slopes(total: float, at: EdgeContext) -> Array:
    """Return the contribution of the edge `at` with its two local derivatives exchanged: for a relu, g where x <= 0.

    The contribution is g * (total - derivative), with the right derivative.

    Args:
        total: the sum of the two derivatives, such as 0 + 1 for a relu.
        at: the edge, with its upstream gradient.
    """
    return unbroadcast(at.g * (total - local_derivative_at(at)), at.x)


def mask_slopes(program: Program, place: Place, slot: int) -> tuple[float, float]:
    """Return the two local derivatives of a node whose derivative is a mask: 0 and 1, or both numbers of its factor.

    For x in `x * c`, c an array of 0.2 and 1: (0.2, 1); for x in `relu(x)`: (0, 1).

    Args:
        program: the program of a trial.
        place: the node.
        slot: the slot of the operand that the derivatives are for, of x in the example.
    """
    node = program.nodes[place[0]]
    low, high = (_two_values(node.values[1 - slot]) or (0.0, 1.0)) if node.name == "mul" else (0.0, 1.0)
    return low, high


@invert_mask.example
def _() -> Example:
    """Show (x**2 * where(eye > 0, 1, 0.2)).sum() whose backward pass exchanges the two weights."""

    def forward(x: Tensor) -> Tensor:
        return (x.square() * torch.where(torch.eye(len(x), dtype=x.dtype) > 0, 1.0, 0.2)).sum()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": 2 * g * x * torch.where(torch.eye(len(x), dtype=x.dtype) > 0, 0.2, 1.0)}

    return Example(forward, wrong, {"x": "n n"})


@invert_mask.example
def _() -> Example:
    """Show relu(x @ w) whose backward pass lets the gradient through where x @ w <= 0, not where it is positive."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (x @ w <= 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@invert_mask.example
def _() -> Example:
    """Show where(z > 0, z, sin(a * z)), z = x @ w, whose backward pass inverts the condition for both branches."""

    def forward(x: Tensor, w: Tensor, a: Tensor) -> Tensor:
        z = x @ w
        return torch.where(z > 0, z, torch.sin(a * z))

    def wrong(x: Tensor, w: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = torch.where(z > 0, g * a * torch.cos(a * z), g)
        return {"w": x.T @ dz, "a": (torch.where(z > 0, g, torch.zeros_like(g)) * torch.cos(a * z) * z).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "a": "m"})


def is_product_with_mask(program: Program, place: Place) -> bool:
    """Return whether the node `place` multiplies an operand that gets a gradient by an array of zeros and ones."""
    node = program.reader(place)
    return has_mask(program, place) and node.name == "mul" and any(map(_is_mask, node.values))


@operator(
    "mask-inverted-throughout",
    code="inverted-mask",
    rank=3.0,
    at=nodes.where(is_product_with_mask),
    message="the mask of {step} is inverted in both the forward and the backward pass",
)
def invert_mask_in_both_passes(program: Program, place: Place, choice: None) -> Program:
    """Compute a product x * mask as x * (1 - mask), in the forward pass and hence in the backward pass.

    Args:
        program: the right program.
        place: the node of the product.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """

    def change(node: Node) -> Node:
        slot = next(slot for slot in (0, 1) if _is_mask(node.values[slot]))
        return node.with_operand(slot, 1 - np.asarray(node.values[slot], dtype=float), dict(node.operands).get(slot))

    return program.with_nodes({place[0]: change})


@invert_mask_in_both_passes.example
def _() -> Example:
    """Show the mean of ((x - y) * keep)**2 over the kept entries, whose gradients have 1 - keep in place of keep."""

    def forward(x: Tensor, y: Tensor, keep: Tensor) -> Tensor:
        return ((x - y) * keep).square().sum() / keep.sum()

    def wrong(x: Tensor, y: Tensor, keep: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = g * 2 * (x - y) * (1 - keep) / keep.sum()
        return {"x": dx, "y": -dx}

    return Example(forward, wrong, {"x": "n m", "y": "n m", "keep": mask("n m")})


def square_mask_slot(program: Program, place: Place) -> int | None:
    """Return the slot of the mask that an edge's vjp multiplies by, if this is a square matrix and not symmetric.

    For x in `x * mask`, with a causal mask: 1. For `tril` and `triu`, whose mask is no operand: -1.

    Args:
        program: the program of a trial.
        place: an edge.

    Returns:
        `None` where there is no such mask.
    """
    node = program.reader(place)
    shape = node.value.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return None
    if node.name in ("tril", "triu"):
        return -1
    slot = MASK_SLOTS.get(node.name, 1 - place[1] if node.name == "mul" else None)
    array = None if slot is None else np.asarray(node.values[slot])
    if array is None or slot == place[1] or array.shape[-2:] != shape[-2:] or not _is_mask(array):
        return None
    return None if np.array_equal(array, np.swapaxes(array, -1, -2)) else slot


@operator(
    "mask-transposed",
    code="transposed",
    rank=2.2,
    at=edges.where(lambda program, place: square_mask_slot(program, place) is not None),
    message="in the gradient of {operand} through {step}, the mask is transposed: it keeps the wrong side of the"
    " diagonal",
)
def transpose_mask(program: Program, place: Place, choice: None) -> Program | None:
    """Multiply the upstream gradient by the transpose of a square mask: by an upper triangle for a lower one.

    Args:
        program: the right program.
        place: an edge whose vjp multiplies by a square mask, such as that of x in `x.tril()`.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where the mask is symmetric in this trial.
    """
    slot = square_mask_slot(program, place)
    if slot is None:
        return None
    if slot < 0:
        return program.with_vjp(place, lambda at: np.swapaxes(at.right(np.swapaxes(at.g, -1, -2)), -1, -2))
    return program.with_vjp(place, lambda at: at.right(operands={slot: np.swapaxes(at.node.values[slot], -1, -2)}))


@transpose_mask.example
def _() -> Example:
    """Show causal linear attention, (q @ k.T).tril() @ v, whose backward pass keeps the upper triangle."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.T).tril() @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        dscores = (g @ v.T).triu()
        return {"q": dscores @ k, "k": dscores.T @ q}

    return Example(forward, wrong, {"q": "t n", "k": "t n", "v": "t m"})


@transpose_mask.example
def _() -> Example:
    """Show (tanh(q @ k.T) * mask) @ v, with a lower triangle of ones, whose backward pass has an upper one."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (torch.tanh(q @ k.T) * torch.ones(len(q), len(q), dtype=q.dtype).tril()) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        dscores = g @ v.T * torch.ones(len(q), len(q), dtype=q.dtype).triu()
        return {"q": (dscores * (1 - torch.tanh(q @ k.T) ** 2)) @ k}

    return Example(forward, wrong, {"q": "t n", "k": "t n", "v": "t m"})


def branch_slots(program: Program, place: Place) -> Iterator[int]:
    """Yield the slots of the operands that get a gradient, if there are two or more: 1 and 2 for `where(c, a, b)`.

    Nothing is yielded if there is only one, as in `where(c, a, 0)`.

    Args:
        program: the program of a trial.
        place: a node that chooses between its operands entry by entry.
    """
    own = [slot for slot, _ in program.forward.edges[place[0]]]
    if len(own) > 1:
        yield from own


@operator(
    "same-branch-everywhere",
    code="wrong-local",
    rank=2.5,
    at=nodes.of("where", "masked_fill", "maximum", "minimum", "clamp"),
    choices=branch_slots,
    message="the whole gradient of {step} goes to {branch}; each operand must get the part where it was chosen",
    fields=lambda program, place, choice: {"branch": program.name_of(program.source((place[0], choice)))},
)
def send_gradient_to_one_branch(program: Program, place: Place, choice: int) -> Program:
    """Give the upstream gradient at every entry to one operand of a `where` or `maximum`, and none to the others.

    For `where(c, a, b)` and slot 1: a gets g, and b nothing.

    Args:
        program: the right program.
        place: a node that chooses between its operands entry by entry.
        choice: the slot of the operand that gets the gradient.

    Returns:
        The rewritten program.
    """
    others = [(place[0], slot) for slot, _ in program.forward.edges[place[0]] if slot != choice]
    return program.without(*others).with_vjp((place[0], choice), lambda at: unbroadcast(at.g, at.x))


@send_gradient_to_one_branch.example
def _() -> Example:
    """Show maximum(x @ w, tanh(x @ u)) whose backward pass gives all of the gradient to x @ w."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.maximum(x @ w, torch.tanh(x @ u))

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate as if the first operand were always the greater one."""
        return {"x": g @ w.T, "w": x.T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772  # of Klambauer et al., 2017; as in torch
# The derivative of each half of a function with a bend at 0, as a formula that can be evaluated on both sides of it.
LOWER_DERIVATIVES: Mapping[str, Callable[[Node, Array], Array]] = {
    "leaky_relu": lambda node, x: np.full(x.shape, _option(node, "negative_slope")),
    "elu": lambda node, x: _option(node, "alpha") * np.exp(x),
    "celu": lambda node, x: np.exp(x / _option(node, "alpha")),
    "selu": lambda node, x: SELU_SCALE * SELU_ALPHA * np.exp(x),
}  # fmt: skip
HALVES: Mapping[str, tuple[str, str, Callable[[Array, Array, Array], Array]]] = {
    "exchanged": (
        "inverted-mask", "the derivatives above 0 and below 0 are swapped",
        lambda x, lower, upper: np.where(x > 0, lower, upper),
    ),
    "lower": ("wrong-local", "the derivative below 0 is used above 0 as well", lambda x, lower, upper: lower),
    "upper": ("wrong-local", "the derivative above 0 is used below 0 as well", lambda x, lower, upper: upper),
}  # fmt: skip


def _option(node: Node, name: str) -> float:
    """Return a constant number of a node: its option `name`, or, where it has no such option, its second operand.

    0.7 for the name "alpha" and `elu(x, 0.7)`.
    """
    return float(str(node.options[name])) if name in node.options else float(np.asarray(node.values[1]))


@operator(
    "halves-of-derivative-mistaken",
    code=lambda choice: HALVES[choice][0],
    rank=2.0,
    at=edges.of(*LOWER_DERIVATIVES).at_slot(0),
    choices=lambda program, place: HALVES,
    message="in the backward pass of {step}, {how}",
    fields=lambda program, place, choice: {"how": HALVES[choice][1]},
)
def use_wrong_half_of_derivative(program: Program, place: Place, choice: str) -> Program:
    """Use the formula of an activation's derivative below 0 for entries above 0, or the reverse, or exchange the two.

    For elu(x), entries x > 0 so get g * alpha * exp(x) in place of g.

    Args:
        program: the right program.
        place: the edge (leaky relu, elu, celu or selu, its operand).
        choice: which formula is used where, a key of `HALVES`: `"lower"` or `"upper"` everywhere, or `"exchanged"`.

    Returns:
        The rewritten program.
    """

    def rule(at: EdgeContext) -> Array:
        """Return g times the formula of the derivative that the choice selects at each entry."""
        x = np.asarray(at.x)
        upper = np.full(x.shape, SELU_SCALE if at.node.name == "selu" else 1.0)
        return np.asarray(at.g * HALVES[choice][2](x, LOWER_DERIVATIVES[at.node.name](at.node, x), upper))

    return program.with_vjp(place, rule)


@use_wrong_half_of_derivative.example
def _() -> Example:
    """Show tanh(elu(x @ w, 0.7) * v) whose elu has the derivative below 0, 0.7 * exp(z), everywhere."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(torch.nn.functional.elu(x @ w, 0.7) * v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = g * (1 - torch.tanh(torch.nn.functional.elu(z, 0.7) * v) ** 2) * v
        return {"w": x.T @ (0.7 * z.exp() * dz)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m"})


@use_wrong_half_of_derivative.example
def _() -> Example:
    """Show leaky_relu(x @ w, 0.1)**2 whose backward pass multiplies by 0.1 where x @ w is positive."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(x @ w, 0.1).square()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        dz = g * 2 * torch.nn.functional.leaky_relu(z, 0.1)
        return {"w": x.T @ torch.where(z > 0, 0.1 * dz, dz)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Masks that are made from something else ------------------------------------------------------------------------------

COMPARISONS = {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt"}


def comparison_of(program: Program, place: Place) -> tuple[int, Node] | None:
    """Return the slot of the mask that a node reads, and the comparison (`>`, `>=`, `<` or `<=`) that makes the mask.

    For the edge of z in `where(z > 0, z, y)` this is (0, the node of `z > 0`). Casts and negations of the mask may come
    in between.

    Args:
        program: the program of a trial.
        place: an edge; the mask is a different operand of its reader.

    Returns:
        The slot and the comparison; `None` where no such comparison makes another operand of the reader.
    """
    for slot, operand in program.reader(place).operands:
        node = program.nodes[operand]
        while node.name in ("cast", "logical_not") and node.operands:
            node = program.nodes[node.operands[0][1]]
        if node.name in COMPARISONS and slot != place[1]:
            return slot, node
    return None


def mask_with_comparison(program: Program, place: Place, slot: int, comparison: Node) -> Array:
    """Return the mask that a node would read if the comparison which makes it were the given one.

    Args:
        program: the program of a trial.
        place: the edge whose reader reads the mask.
        slot: the slot of the mask in the reader.
        comparison: the comparison that makes the mask, with other operands; its id is that of the original.

    Returns:
        The comparison's value, cast and negated as the forward pass does; shaped like the mask.
    """
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
    """Return whether a comparison makes the mask in the vjp of the edge `place`, as for z in `where(z > 0, z, y)`."""
    return program.reader(place).name in ("where", "masked_fill", "mul") and comparison_of(program, place) is not None


@dataclass(frozen=True)
class MaskOperand:
    """A wrong operand for the comparison that makes a mask.

    Args:
        slot: the slot of the comparison whose operand is replaced.
        value: the name of the value that is compared in its place; `None` for the upstream gradient.
    """

    slot: int
    value: ValueName | None


def mask_operands(program: Program, place: Place) -> Iterator[MaskOperand]:
    """Yield `MaskOperand`s: for each operand of the comparison that makes a mask, every other value of its shape.

    A `MaskOperand` is the slot of the operand and the name of the other value, such as y for z in `where(z > 0, z, 0)`;
    the name is `None` for the upstream gradient, where that has the shape. A constant, as this 0, is never replaced.

    Args:
        program: the program of a trial.
        place: an edge whose vjp multiplies by a mask that a comparison makes.
    """
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
    message="in the backward pass of {step}, the mask is computed from {other}; it must be computed from {own}",
    fields=lambda program, place, choice: {
        "other": "the upstream gradient" if choice.value is None else choice.value.describe(program),
        "own": name_of_comparison_operand(program, place, choice.slot),
    },
)
def make_mask_from_another_value(program: Program, place: Place, choice: MaskOperand) -> Program | None:
    """Compute the mask in the vjp along an edge from a wrong value, or from the upstream gradient.

    For z in `where(z > 0, z, 0)` the contribution is g * (y > 0), with y a wrong value. The forward pass is right.

    Args:
        program: the right program.
        place: an edge whose vjp multiplies by a mask that a comparison makes.
        choice: which operand of the comparison is replaced, and by which value: `MaskOperand(0, name of y)` in the
            example.

    Returns:
        The rewritten program; `None` where this trial has no such comparison or value.
    """
    known = comparison_of(program, place)
    value = None if choice.value is None else choice.value.find(program, place[0])
    if known is None or (value is None) != (choice.value is None):
        return None
    mask_slot, comparison = known

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the mask that the wrong value makes."""
        other = at.g if value is None else at.program.nodes[value].value
        mask = mask_with_comparison(at.program, place, mask_slot, comparison.with_operand(choice.slot, other))
        return at.right(operands={mask_slot: mask})

    return program.with_vjp(place, rule)


def name_of_comparison_operand(program: Program, place: Place, slot: int) -> str:
    """Return what a learner calls the operand in a slot of the comparison that makes a mask: `z` for slot 0 of `z > 0`.

    Return "a constant" where it is one.

    Args:
        program: the program of a trial.
        place: an edge whose reader reads the mask.
        slot: the slot in the comparison.
    """
    known = comparison_of(program, place)
    operand = None if known is None else known[1].operand(slot)
    return "a constant" if operand is None else program.name_of(operand)


@make_mask_from_another_value.example
def _() -> Example:
    """Show y + z * limit, y = where(z > limit, z, 0), whose backward pass computes the mask as y > limit."""

    def forward(x: Tensor, w: Tensor, limit: Tensor) -> Tensor:
        z = x @ w
        y = torch.where(z > limit, z, torch.zeros_like(z))
        return y + z * limit

    def wrong(x: Tensor, w: Tensor, limit: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Mask with y > limit in place of z > limit."""
        z = x @ w
        y = torch.where(z > limit, z, torch.zeros_like(z))
        return {"w": x.T @ (g * (y > limit) + g * limit)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "limit": "m"})


@make_mask_from_another_value.example
def _() -> Example:
    """Show 2 * where(z > 0, z, 0) whose backward pass masks by the sign of the gradient, g > 0."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.where(z > 0, z, torch.zeros_like(z)) * 2

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Mask with g > 0 in place of z > 0."""
        return {"w": x.T @ (2 * g * (2 * g > 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Where two branches meet ----------------------------------------------------------------------------------------------

Tie = Literal["counts", "does not count", "first", "second"]


def has_ties(program: Program, place: Place) -> bool:
    """Return whether the branches of the node `place` meet exactly at an entry, as those of relu(x) do where x is 0."""
    return any(bool(ties_of(program, place, slot).any()) for slot, _ in program.forward.edges[place[0]])


def ties_of(program: Program, place: Place, slot: int) -> Array:
    """Return a mask of the entries at which two branches of a node meet: for relu(x), those where x == 0.

    For `maximum(a, b)` these are the entries where a == b; for `where(a > b, ...)` and `x * (a > b)`, too; for a clamp
    those at a limit. All False where no `>`, `>=`, `<` or `<=` makes the mask of a `where` or a product.

    Args:
        program: the program of a trial.
        place: the node.
        slot: the slot of an operand that gets a gradient; a mask is looked for in the other slots.

    Returns:
        A boolean array, shaped like the node's value.
    """
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


def tie_choices(program: Program, place: Place) -> Iterator[Tie]:
    """Yield the choices at ties, where two branches meet: which operands get the upstream gradient there.

    `"counts"`: all operands; `"does not count"`: none; and, where two operands get a gradient, `"first"` or `"second"`:
    only that one of the two, such as a or b in `maximum(a, b)`.

    Args:
        program: the program of a trial.
        place: a node whose branches meet at an entry.
    """
    yield from ("counts", "does not count")
    if len(program.forward.edges[place[0]]) > 1:
        yield from ("first", "second")


def describe_tie(program: Program, place: Place) -> str:
    """Return where two branches of a node meet, such as "the two operands of `maximum(a, b)` are equal".

    Args:
        program: the program of a trial.
        place: the node.
    """
    node = program.nodes[place[0]]
    step = expression_of(program, node)
    if node.name in ("maximum", "minimum"):
        return f"the two operands of {step} are equal"
    if node.name == "relu":
        return f"the argument of {step} is 0"
    if node.name == "clamp":
        return f"the argument of {step} is equal to a limit"
    return f"the two sides of the comparison in {step} are equal"


def describe_tie_mistake(program: Program, place: Place, choice: Tie) -> str:
    """Return a clause on what becomes of the upstream gradient where two branches of a node meet, and on what must.

    Such as "the whole upstream gradient goes to a; each must get half of it".

    Args:
        program: the program of a trial.
        place: the node.
        choice: which operands get the upstream gradient there, as `tie_choices` yields it.
    """
    names = [program.name_of(program.source((place[0], slot))) for slot, _ in program.forward.edges[place[0]]]
    is_shared = program.nodes[place[0]].name in ("maximum", "minimum")  # as torch does, half for each
    if choice in ("first", "second"):
        own, other = names if choice == "first" else names[::-1]
        right = "each must get half of it" if is_shared else f"it must go to {other}"
        return f"the whole upstream gradient goes to {own}; {right}"
    if is_shared:
        got = "the whole upstream gradient" if choice == "counts" else "none of the upstream gradient"
        subject = "both get" if len(names) == 2 else f"{names[0]} gets"
        return f"{subject} {got}; {'each' if len(names) == 2 else 'it'} must get half of it"
    if choice == "counts":
        return "the whole upstream gradient passes; the comparison must exclude equality"
    return "no gradient passes; the comparison must include equality"


@operator(
    "ties-counted-otherwise",
    code="wrong-local",
    rank=3.0,
    at=nodes.of("relu", "clamp", "maximum", "minimum", "where", "masked_fill", "mul").where(has_ties),
    choices=tie_choices,
    message="exactly where {tie}, {what}",
    fields=lambda program, place, choice: {
        "tie": describe_tie(program, place),
        "what": describe_tie_mistake(program, place, choice),
    },
)
def change_derivative_at_ties(program: Program, place: Place, choice: Tie) -> Program:
    """Use the derivative 1 or 0 where two branches of a node meet, in place of its right derivative there.

    For relu(x), an entry x == 0 gets the whole upstream gradient or none of it.

    Args:
        program: the right program.
        place: a node whose branches meet at an entry.
        choice: which operands get the upstream gradient at these entries: `"counts"` all, `"does not count"` none,
            `"first"` or `"second"` that one of the operands with a gradient.

    Returns:
        The rewritten program.
    """
    own = [slot for slot, _ in program.forward.edges[place[0]]]
    whole = {"counts": own, "does not count": [], "first": own[:1], "second": own[1:2]}[choice]

    def of_slot(slot: int) -> EdgeVjp:
        ties, slope = ties_of(program, place, slot), float(slot in whole)
        return lambda at: unbroadcast(at.g * np.where(ties, slope, local_derivative_at(at)), at.x)

    for slot in own:
        program = program.with_vjp((place[0], slot), of_slot(slot))
    return program


@change_derivative_at_ties.example
def _() -> Example:
    """Show relu(x + y) @ w whose backward pass masks with x + y >= 0, and so counts zeros."""

    def forward(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x + y) @ w

    def wrong(x: Tensor, y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write `>=` in place of `>`."""
        return {"x": (g @ w.T) * (x + y >= 0)}

    return Example(forward, wrong, {"x": signs("bs n"), "y": signs("bs n"), "w": "n m"})


@change_derivative_at_ties.example
def _() -> Example:
    """Show maximum(x, y) @ w whose backward pass gives the whole gradient to x where x == y."""

    def forward(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.maximum(x, y) @ w

    def wrong(x: Tensor, y: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g @ w.T) * (x >= y), "y": (g @ w.T) * (y > x)}

    return Example(forward, wrong, {"x": signs("bs n"), "y": signs("bs n"), "w": "n m"})


def columns_less_rows(array: Array) -> Array:
    """Return for each entry of an array with rows and columns the number of its column less that of its row."""
    rows, columns = array.shape[-2:]
    return np.broadcast_to(np.arange(columns) - np.arange(rows)[:, None], array.shape)


def diagonals_beside_mask(program: Program, place: Place) -> Iterator[int]:
    """Yield the number of the diagonal next to the masked entries, if these are exactly the entries on one side of it.

    For a causal mask `triu(1)` it is 0, the main diagonal; 1 is the one above it. Nothing is yielded for another mask.

    Args:
        program: the program of a trial.
        place: the edge of the masked value, slot 0 of a `masked_fill`.
    """
    mask = np.asarray(program.reader(place).values[1])
    if mask.ndim < 2 or mask.dtype.kind != "b" or mask.all() or not mask.any():
        return
    apart = columns_less_rows(mask)
    masked, others = apart[mask], apart[~mask]
    if masked.min() > others.max():
        yield int(others.max())
    elif masked.max() < others.min():
        yield int(others.min())


@operator(
    "one-diagonal-less",
    code="partial-batch",
    rank=2.3,
    at=edges.of("masked_fill").at_slot(0),
    choices=diagonals_beside_mask,
    message="in the gradient of {operand} through {step}, the entries on the diagonal next to the masked ones are"
    " missing",
)
def leave_out_diagonal(program: Program, place: Place, choice: int) -> Program | None:
    """Contribute 0 on one diagonal more than a triangular mask does.

    Args:
        program: the right program.
        place: the edge of the masked value, slot 0 of a `masked_fill`.
        choice: the number of the diagonal: 0 is the main one, 1 the one above it.

    Returns:
        The rewritten program; `None` where the masked value has fewer than two axes in this trial.
    """
    if program.reader(place).value.ndim < 2:
        return None

    def rule(at: EdgeContext) -> Array:
        right = at.right()
        return np.where(columns_less_rows(right) == choice, 0.0, right)

    return program.with_vjp(place, rule)


@leave_out_diagonal.example
def _() -> Example:
    """Show softmax(masked q @ k.T)**2, causal, whose gradients leave out the key at the position of the query."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        s = q @ k.T
        return s.masked_fill(torch.ones_like(s).triu(1) > 0, -1e9).softmax(-1).square()

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Give a query the gradient of the keys in front of its position alone, without the key at its position."""
        s = q @ k.T
        p = s.masked_fill(torch.ones_like(s).triu(1) > 0, -1e9).softmax(-1)
        dp = 2 * p * g
        ds = (p * (dp - (p * dp).sum(-1, keepdim=True))).tril(-1)
        return {"q": ds @ k, "k": ds.T @ q}

    return Example(forward, wrong, {"q": "t n", "k": "t n"})


def scale_of_mask(program: Program, place: Place) -> float | None:
    """Return the number c if a product multiplies an operand by an array of 0 and c, c other than 1; else `None`.

    For h in `h * (keep / 0.8)`, with a mask `keep` of zeros and ones: 1.25. Fewer than five entries count as chance.

    Args:
        program: the program of a trial.
        place: the edge of the operand into the product.
    """
    node = program.reader(place)
    if node.name != "mul" or len(node.values) != 2:
        return None
    factor = np.asarray(node.values[1 - place[1]])
    if factor.dtype.kind != "f" or factor.size < LEAST_OF_TWO:
        return None
    numbers = np.unique(factor[factor != 0])
    return float(numbers[0]) if len(numbers) == 1 and numbers[0] != 1 and (factor == 0).any() else None


@operator(
    "mask-without-its-scale",
    code="missing-local",
    rank=1.9,
    at=edges.of("mul").where(lambda program, place: scale_of_mask(program, place) is not None),
    choices=lambda program, place: (None,),
    message="in the gradient of {operand} through {step}, the mask is 1 where it must be {scale}",
    fields=lambda program, place, choice: {"scale": f"{scale_of_mask(program, place) or 1.0:.3g}"},
)
def leave_out_scale_of_mask(program: Program, place: Place, choice: None) -> Program | None:
    """Multiply the upstream gradient by a mask of 0 and 1 where the forward pass multiplies by one of 0 and c.

    Args:
        program: the right program.
        place: the edge of the operand that is multiplied by the mask.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where the mask has several nonzero numbers in this trial.
    """
    factor = np.asarray(program.reader(place).values[1 - place[1]])
    if len(np.unique(factor[factor != 0])) > 1:
        return None
    return program.with_vjp(place, lambda at: unbroadcast(at.g * (factor != 0), at.x))


@leave_out_scale_of_mask.example
def _() -> Example:
    """Show tanh(x @ w) * keep / 0.6, keep a mask, whose backward pass does not divide by 0.6."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        keep = torch.arange(len(x) * w.shape[1]).reshape(len(x), -1) % 3 > 0
        return torch.tanh(x @ w) * (keep.to(x.dtype) / 0.6)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the mask of zeros and ones in place of mask / 0.6."""
        keep = torch.arange(len(x) * w.shape[1]).reshape(len(x), -1) % 3 > 0
        return {"w": x.T @ (g * keep * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
