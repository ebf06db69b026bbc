"""Mistakes in the forward pass: an operation left out or replaced; a wrong number, operand, order or iteration.

What is changed may reach the values, the backward pass, or both (`Affects`, see `Program.with_nodes`); the code and the
message depend on it.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import Sampler, each_of, normal, positive, sized
from grader.diagnosis.hints import WHICH_ITERATION, WHICH_MASKED
from grader.program.forward import SINK, Change, Key, Node, Place
from grader.program.operation import OPERATIONS, Array, NoCandidate
from grader.program.program import Affects, EdgeContext, EdgeVjp, Program, as_code
from grader.program.queries import idle_edges, loop_carried_values
from grader.program.selectors import ComputedValue, NamedValue, ValueName, named_array, values_by_name

from .contract import MASK_SLOTS, Example, name_read_by, operator
from .inputs import is_bias
from .places import RESHAPES, expression_of, nodes, number_source, operand_source, outputs, values
from .recurrences import cached_loop_carried_values

PASSES: Mapping[Affects, str] = {
    "all": "",
    "values": " in your forward pass",
    "backward": " in the backward pass only",
    "partners": " where the backward pass uses the result",
}
SUMS, PRODUCTS = ("add", "sub"), ("mul", "div")
FILLING = (*MASK_SLOTS, "clamp")  # operations for which a missing number is a 0
# What a number is as if it were missing.
NEUTRAL: Mapping[str, float] = {**dict.fromkeys(SUMS, 0.0), **dict.fromkeys(PRODUCTS, 1.0), "pow": 1.0,
                                **dict.fromkeys(MASK_SLOTS, 0.0), "clamp": 0.0}  # fmt: skip


def describe_affects(program: Program, affects: Affects) -> str:
    """Return in which pass a changed node is wrong, as a message ends with it, such as " in the backward pass only".

    Return an empty string where it is wrong in both, and where the exercise asks for a value, not a gradient.

    Args:
        program: the program of a trial.
        affects: where the change takes effect: `"all"`, `"values"`, `"backward"` (the example) or `"partners"`, see
            `Program.with_nodes`.
    """
    return "" if program.is_value else PASSES[affects]


def is_mask_or_index(node: Node) -> bool:
    """Return whether a node's value holds no floating-point numbers, so no gradient: a mask, or an index array."""
    return node.value.dtype.kind != "f"


def possible_affects(node: Node, *names: Affects) -> tuple[Affects, ...]:
    """Return where a change of a node may take effect: `names`; for a mask or an index array, without vjp, `("all",)`.

    Args:
        node: the node.
        names: some of `"all"` (both passes), `"values"`, `"backward"` (the node's vjps) and `"partners"` (the vjps that
            read its value as a partner operand), which an operator has as choices.
    """
    return ("all",) if is_mask_or_index(node) else names


# Operations left out ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Omission:
    """A choice of an operation to leave out, so that an operand stands in place of its value.

    Args:
        kept: the slot of the operand that is used in place of the value.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
        code: the public code.
    """

    kept: int
    affects: Affects
    code: str


def omission_code(program: Program, node: Node, kept: int, affects: Affects) -> str:
    """Return the public code of the mistake that leaves out a node, such as `"missing-local"` for tanh(z).

    Args:
        program: the program of a trial.
        node: the node that is left out.
        kept: the slot of the operand that is used in place of its value.
        affects: where the omission takes effect: `"all"`, `"values"` or `"partners"`.

    Returns:
        For a sum `"wrong-point"` if what is lost is a bias, changes no answer, or a value is asked for, else
        `"missing-path"`; `"transposed"` for a transposition; `"inverted-mask"` for what makes a mask or an index. For
        the rest `"wrong-operand"` if it affects `"partners"`; else `"wrong-point"` if it affects `"values"` or applies
        a mask, and `"missing-local"` if not.
    """
    if node.name in SUMS:
        left = [(slot, operand) for slot, operand in node.operands if slot != kept]
        tells = (is_bias(program, operand) or (node.id, slot) in idle_edges(program) for slot, operand in left)
        return "wrong-point" if program.is_value or all(tells) else "missing-path"
    if node.name in ("transpose", "permute"):
        return "transposed"
    if is_mask_or_index(node):
        return "inverted-mask"
    if affects == "partners":
        return "wrong-operand"
    if multiplies_by_mask(node, kept):
        return "wrong-point"
    return "wrong-point" if affects == "values" or node.name in ("masked_fill", "where") else "missing-local"


def multiplies_by_mask(node: Node, kept: int) -> bool:
    """Return whether a node multiplies its operand in a slot by a constant array of zeros and ones.

    Args:
        node: the node.
        kept: the slot of the operand.
    """
    if node.name != "mul" or node.operand(1 - kept) is not None:
        return False
    array = np.asarray(node.values[1 - kept])
    return array.ndim > 0 and bool(np.isin(array, (0, 1)).all())


def omissions(program: Program, place: Place) -> Iterator[Omission]:
    """Yield `Omission`s: the slot of an operand to use in place of a node's value, and where that takes effect.

    For each operand of the value's shape one affects `"all"`, one `"values"` and, unless the node is a sum, one
    `"partners"`; for a mask or an index array only `"all"`. In a product one affects `"partners"` for each operand,
    constant or not, that is broadcast to the value, or is a constant of its shape. Nothing is yielded for
    `detach`, and for an operation with a number, such as x / 3 or x + 3.

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.nodes[place[0]]
    modes: tuple[Affects, ...] = ("all", "values") if node.name in SUMS else ("all", "values", "partners")
    known = dict(node.operands)
    for slot, value in enumerate(node.values) if node.name in PRODUCTS else ():
        array = np.asarray(value)  # perhaps a constant, such as a mask
        if array.ndim and is_broadcast_to(array, node.value) and (slot not in known or array.shape != node.value.shape):
            yield Omission(slot, "partners", omission_code(program, node, slot, "partners"))
    has_array = node.name in (*PRODUCTS, *SUMS) and all(np.ndim(value) for value in node.values)
    with_number = node.name in NEUTRAL and node.name not in (*MASK_SLOTS, "clamp") and len(node.operands) < 2
    with_number = with_number and not has_array
    if node.name == "detach" or with_number:
        return  # that is a branch, or a number that is missing
    for slot, operand in known.items():
        value = program.nodes[operand].value
        if value.shape == node.value.shape and value.dtype.kind == node.value.dtype.kind:
            for affects in possible_affects(node, *modes):
                yield Omission(slot, affects, omission_code(program, node, slot, affects))


def is_broadcast_to(operand: Array, value: Array) -> bool:
    """Return whether an operand can be broadcast to the shape of a value: one of shape (3, 1) to (2, 3, 4)."""
    ndim, shape = value.ndim, (1,) * (value.ndim - operand.ndim) + operand.shape
    return len(shape) == ndim and all(a in (1, b) for a, b in zip(shape, value.shape, strict=True))


def omission_fields(program: Program, place: Place, choice: Omission) -> dict[str, str]:
    """Return the fields `what`, `is` and `where` of a message: which operands or mask are lost, how, and where.

    For a product with a mask: "the mask in ", "is never applied" and " where the backward pass uses the result". `what`
    is empty where the operand that is kept is the only one.

    Args:
        program: the program of a trial.
        place: the node that is left out.
        choice: which operand is kept, and where the omission takes effect.
    """
    node = program.nodes[place[0]]
    others = [program.name_of(operand) for slot, operand in node.operands if slot != choice.kept]
    if node.name in MASK_SLOTS:
        owner = "the mask in "
    elif node.name in (*PRODUCTS, *SUMS) and not others:
        source = operand_source(node.text, node.name, 1 - choice.kept)
        constant = f"{as_code(source)} in " if source else "the constant array in "
        owner = "the mask in " if multiplies_by_mask(node, choice.kept) else constant
    else:
        owner = f"{' and '.join(others)} in " if others else ""
    verb = "is never applied" if "mask" in owner else f"{'are' if ' and ' in owner else 'is'} left out"
    return {"what": owner, "is": verb, "where": describe_affects(program, choice.affects)}


def _number_in_slot(node: Node, slot: int) -> float:
    """Return the number in a slot of a node, also an array without axes; NaN where an array with axes is there."""
    return float(node.values[slot]) if np.ndim(node.values[slot]) == 0 else math.nan


@operator(
    "operation-left-out",
    code=lambda choice: choice.code,
    rank=3.5,
    at=nodes,
    choices=omissions,
    fields=omission_fields,
    message="{what}{step} {is}{where}",
    hints={
        "wrong-point": (
            "Your code computes a part of the forward pass. Compare it line by line with the one in the docstring.",
            "Everything that is computed after an operation that is left out is wrong, too.",
            "Print an intermediate value of your code and the same value of the forward pass, for one small input.",
        ),
    },
)
def leave_out_operation(program: Program, place: Place, choice: Omission) -> Program | None:
    """Use an operand of a node in place of its value, as if the operation were left out: z for tanh(z).

    Args:
        program: the right program.
        place: a node.
        choice: the slot of the operand, and where the omission takes effect: with `Omission(0, "values", ...)` tanh is
            missing in the values, and its derivative is still multiplied by.

    Returns:
        The rewritten program; `None` where the node has no such slot in this trial.
    """
    if choice.kept >= len(program.nodes[place[0]].values):
        return None
    return program.with_nodes({place[0]: lambda node: replace_by_operand(node, choice.kept)}, choice.affects)


def replace_by_operand(node: Node, kept: int) -> Node:
    """Return the node with an operation that gives its operand in slot `kept`; for a - b and b it gives -b.

    A factor of a product is broadcast to the shape of the product. The stored value stays until a forward pass runs the
    node.
    """
    if node.name == "sub" and kept == 1:
        return node.with_operation(OPERATIONS["neg"], (1,))
    operand = np.asarray(node.values[kept])
    if node.name in PRODUCTS and (operand.shape != node.value.shape or operand.dtype != node.value.dtype):
        wide = np.broadcast_to(operand, node.value.shape).astype(node.value.dtype)
        return node.then(lambda _: wide)  # only the value counts: the edges are not used
    return node.without_operation(kept)


@leave_out_operation.example
def _() -> Example:
    """Show log(sum(exp(z @ w @ z.T))) without the diagonal, less a score, whose gradient's softmax includes it."""

    def forward(z: Tensor, w: Tensor) -> Tensor:
        scores = z @ w @ z.T
        others = (scores.exp() * (1 - torch.eye(len(z), dtype=z.dtype))).sum(1)
        return others.log() - scores.roll(1, 1).diagonal()

    def wrong(z: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the softmax over all scores, in place of all but a row's score with itself."""
        dscores = g[:, None] * ((z @ w @ z.T).softmax(1) - torch.eye(len(z), dtype=z.dtype).roll(-1, 1))
        return {"w": z.T @ dscores @ z}

    return Example(forward, wrong, {"z": "bs n", "w": "n n"})


@leave_out_operation.example
def _() -> Example:
    """Show tanh(x @ w).square() @ u whose backward pass has z = x @ w for tanh(z): its derivative is 1 - z ** 2."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.tanh(x @ w).square() @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use z in place of tanh(z), both as a value and in the derivative 1 - tanh(z) ** 2."""
        z = x @ w
        return {"w": x.T @ (g @ u.T * 2 * z * (1 - z**2)), "u": (z**2).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m k"})


@leave_out_operation.example
def _() -> Example:
    """Show (s * (decay * ones.tril())) @ v, whose gradient of v is s.tril().mT @ g, without the decay."""

    def forward(s: Tensor, a: Tensor, v: Tensor) -> Tensor:
        ones = torch.ones(s.shape[1:], dtype=s.dtype)
        return (s * (a.sigmoid().reshape(-1, 1, 1) ** ones.cumsum(0) * ones.tril())) @ v

    def wrong(s: Tensor, a: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": s.tril().transpose(1, 2) @ g}

    return Example(forward, wrong, {"s": "bs t t", "a": "bs", "v": "bs t m"})


@leave_out_operation.example
def _() -> Example:
    """Show softmax(masked q @ k.T) @ v, causal, whose gradient of v is computed without the mask."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.T
        seen = torch.ones_like(scores).tril() == 1
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": (q @ k.T).softmax(-1).T @ g}

    return Example(forward, wrong, {"q": "t n", "k": "t n", "v": "t m"})


@leave_out_operation.example
def _() -> Example:
    """Show logdet(kernel + eye), whose gradient is computed from the inverse of the kernel alone."""

    def forward(x: Tensor) -> Tensor:
        kernel = torch.exp(-((x[:, None] - x) ** 2).sum(-1))
        return torch.logdet(kernel + torch.eye(len(x), dtype=x.dtype)).reshape(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        difference = x[:, None] - x
        kernel = torch.exp(-(difference**2).sum(-1))
        dkernel = -2 * g * torch.linalg.inv(kernel) * kernel
        return {"x": 2 * (dkernel[..., None] * difference).sum(1)}

    return Example(forward, wrong, {"x": "n m"})


def only_changes_shape(program: Program, place: Place) -> bool:
    """Return whether the node `place` only gives its operand a new shape, such as an `unsqueeze` or a transpose."""
    node = program.nodes[place[0]]
    kinds = (*RESHAPES, "unsqueeze", "squeeze", "getitem", "transpose", "permute")
    same = node.value.size == np.size(node.values[0]) and len(node.operands) == 1
    return node.name in kinds and same and node.value.shape != np.shape(node.values[0])


CountOfMean = Literal["of all entries", "of the right entries"]
ARITHMETIC = {"add": "the addition", "sub": "the subtraction", "mul": "the product", "div": "the division"}


def means_behind(program: Program, place: Place) -> list[int]:
    """Return the ids of the means that the node `place` leads to."""
    return [mean for mean in program.nodes_of("mean") if program.forward.ancestors[mean] >> place[0] & 1]


def counts_of_mean(program: Program, place: Place) -> Iterator[CountOfMean]:
    """Yield by which number a mean that the node `place` leads to may divide: "of all entries", those that there are.

    If there is such a mean, then also "of the right entries", those that there should be.
    """
    yield "of all entries"
    if means_behind(program, place):
        yield "of the right entries"


def broadcast_instead(program: Program, place: Place) -> str:
    """Return what is wrong where a change of shape is left out, and the operation that reads it broadcasts.

    Such as "`c.unsqueeze(-1)` is left out, so the product broadcasts along the wrong axes". Where every entry of one
    operand meets every entry of the other, it is only said that they do: a mean of the other gives the same numbers.

    Args:
        program: the program of a trial.
        place: the node of an `unsqueeze`, reshape, transpose or the like.
    """
    change = program.nodes[place[0]]
    step, operand = expression_of(program, change), np.shape(change.values[0])
    for reader, slot in program.forward.uses[place[0]]:
        node = program.nodes[reader] if reader != SINK else change
        if node.name not in ARITHMETIC:
            continue
        partner, pairs = operand_source(node.text, node.name, 1 - slot), 0
        with contextlib.suppress(ValueError):
            pairs = math.prod(np.broadcast_shapes(operand, np.shape(node.values[1 - slot])))
        if partner and pairs == math.prod(operand) * np.size(node.values[1 - slot]) > node.value.size:
            return (
                f"in {ARITHMETIC[node.name]}, each entry of {program.name_of(change.operands[0][1])} meets every entry"
                f" of {as_code(partner)}, as if {step} were left out"
            )
        return f"{step} is left out, so {ARITHMETIC[node.name]} broadcasts along the wrong axes"
    return f"{step} is left out, so the next operation broadcasts along the wrong axes"


@operator(
    "shapes-not-aligned",
    code="broadcast-accident",
    rank=3.6,
    at=nodes.where(only_changes_shape),
    choices=counts_of_mean,
    message="{mistake}",
    fields=lambda program, place, choice: {"mistake": broadcast_instead(program, place)},
)
def leave_out_shape_change(program: Program, place: Place, choice: CountOfMean) -> Program:
    """Leave out an operation that lines up axes, so that what reads its value broadcasts along wrong axes.

    `a * c` for `a * c.unsqueeze(-1)`, in both passes.

    Args:
        program: the right program.
        place: the node of an `unsqueeze`, reshape, transpose or the like.
        choice: whether a mean of the result divides by the number of all its entries, or of those it should have.

    Returns:
        The rewritten program.
    """

    def divide_as_before(node: Node) -> Node:
        """Return the mean with the divisor that it has in the right program."""
        factor = np.size(node.values[0]) / np.size(program.nodes[node.id].values[0])
        return node.then(lambda y: y * factor, lambda g: g * factor)

    means = means_behind(program, place) if choice == "of the right entries" else []
    return program.with_nodes(
        {place[0]: lambda node: node.without_operation()} | dict.fromkeys(means, divide_as_before)
    )


@leave_out_shape_change.example
def _() -> Example:
    """Show (x.exp() * c.exp().unsqueeze(-1)).sum(), x square, whose gradient of x has c along the wrong axis."""

    def forward(x: Tensor, c: Tensor) -> Tensor:
        return (x.exp() * c.exp().unsqueeze(-1)).sum()

    def wrong(x: Tensor, c: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * x.exp() * c.exp()}

    return Example(forward, wrong, {"x": "n n", "c": "n"})


# Numbers ------------------------------------------------------------------------------------------------------------

OTHER_NUMBERS: Mapping[str, Callable[[float], float]] = {
    "negated": lambda c: -c,
    "inverted": lambda c: 1 / c if c else c,
    "squared": lambda c: c * c,
    "replaced by its square root": lambda c: math.sqrt(c) if c > 0 else c,
    "halved": lambda c: c / 2,
    "doubled": lambda c: 2 * c,
    "one too large": lambda c: c + 1,
    "one too small": lambda c: c - 1,
    "taken from 1": lambda c: 1 - c,
}


BY_ONE = ("one too large", "one too small")  # of these, the ones of a number that was miscounted
SMALL = 1e-3  # a number that only keeps a denominator from being 0, or a logarithm from being infinite
LARGER: Mapping[str, float] = {f"replaced by {number:g}": number for number in (1.0, 0.1, 0.01, 0.001)}


@dataclass(frozen=True)
class NumberChange:
    """A choice of a number in a node, and of the wrong number in place of it.

    Args:
        slot: the slot where the number is an operand; `None` for an option.
        option: the name of the option; empty for an operand.
        how: what becomes of the number, a key of `OTHER_NUMBERS` or `LARGER`; or `"missing"`, as if it were not there.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
        code: the public code.
    """

    slot: int | None
    option: str
    how: str
    affects: Affects
    code: str

    def number(self, node: Node) -> float:
        """Return the right number: what the given node has in the slot `self.slot`, or as its option `self.option`."""
        return _number_in_slot(node, self.slot) if self.slot is not None else float(str(node.options[self.option]))

    def change(self, node: Node) -> Node:
        """Return the node with the wrong number in place of the right one: x / 3 for x / 6 and `"halved"`."""
        number = self.number(node)
        if self.how in LARGER:
            other = LARGER[self.how]
        else:
            other = NEUTRAL[node.name] if self.how == "missing" else OTHER_NUMBERS[self.how](number)
        if self.slot is not None:
            return node.with_operand(self.slot, other)
        return node.with_options(**{self.option: other})


NUMBER_OPTIONS = ("negative_slope", "alpha", "beta", "diagonal", "shifts", "correction", "p")


def number_changes(program: Program, place: Place) -> Iterator[NumberChange]:
    """Yield `NumberChange`s: a constant operand or option of a node, a wrong number for it, and where it takes effect.

    The wrong number is the right one negated, halved, doubled, squared, one too great and so on, or the one by which
    the operation does nothing, such as 1 for 3 in x / 3, `"missing"`.

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.nodes[place[0]]
    known = dict(node.operands)
    slots = (
        [slot for slot, value in enumerate(node.values) if slot not in known and np.ndim(value) == 0] if known else []
    )
    for slot in slots:
        number = _number_in_slot(node, slot)
        modes: tuple[Affects, ...] = ("all",) if node.name in SUMS else ("all", "values", "backward")
        code = "wrong-factor" if node.name in PRODUCTS else "wrong-point"
        for affects in possible_affects(node, *modes):
            if node.name in NEUTRAL and number != NEUTRAL[node.name]:
                if node.name in SUMS and affects == "all":  # less is said of what both explain
                    yield NumberChange(slot, "", "missing", "partners", code)
                is_function = node.name in (*PRODUCTS, "pow") and affects != "values"
                yield NumberChange(slot, "", "missing", affects, "missing-local" if is_function else "wrong-point")
            if 0 < abs(number) <= SMALL:
                yield from (NumberChange(slot, "", how, affects, code) for how in LARGER)
            if math.isfinite(number):
                for how, change in OTHER_NUMBERS.items():
                    if change(number) != number:
                        yield NumberChange(slot, "", how, affects, code)
    for option in NUMBER_OPTIONS:
        value = node.options.get(option)
        if isinstance(value, int | float) and not isinstance(value, bool):
            for how in ("negated", "one too large", "one too small", "inverted"):
                if (changed := OTHER_NUMBERS[how](value)) != value and (
                    type(value) is float or changed == int(changed)
                ):
                    code = "inverted-mask" if option == "diagonal" else "wrong-local"
                    for affects in possible_affects(node, "all", "values", "backward"):
                        yield NumberChange(None, option, how, affects, code)


def is_masked_with_infinity(program: Program, place: Place) -> bool:
    """Return whether the node `place` sets masked entries to minus infinity, so that a softmax gives them 0."""
    node = program.nodes[place[0]]
    return node.name in MASK_SLOTS and slot_of_infinity(node) is not None


def slot_of_infinity(node: Node) -> int | None:
    """Return the first slot of a node in which minus infinity is, also as an array without axes; `None` for none."""
    return next((slot for slot in range(len(node.values)) if _number_in_slot(node, slot) == -math.inf), None)


def with_number_for_infinity(node: Node, number: float) -> Node:
    """Return a `masked_fill` or `where` node that fills in a number, not minus infinity; as it is where it has none.

    Its vjp passes the gradient at all entries: a softmax leaves nothing of it where the number is very small.

    Args:
        node: the node, one of whose operands may be minus infinity.
        number: the number, such as 0.
    """
    slot = slot_of_infinity(node)
    if slot is None:
        return node
    kept = next(slot for slot, _ in node.operands if np.asarray(node.values[slot]).dtype.kind == "f")
    filled = node.operation.run((*node.values[:slot], number, *node.values[slot + 1 :]), node.options)
    return node.without_operation(kept).then(lambda _: filled)


@operator(
    "masked-with-zeros",
    code="wrong-point",
    rank=3.4,
    at=nodes.where(is_masked_with_infinity),
    message="in {step}, masked entries are set to 0 instead of minus infinity, so gradients pass through them",
)
def mask_with_zeros(program: Program, place: Place, choice: None) -> Program:
    """Set masked entries to 0 instead of minus infinity, and let the gradient through at all entries.

    Args:
        program: the right program.
        place: the node of a `masked_fill` or `where` with minus infinity.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: lambda node: with_number_for_infinity(node, 0.0)})


@mask_with_zeros.example
def _() -> Example:
    """Show softmax(masked scores) @ v, causal, whose gradients have masked scores of 0, not minus infinity."""

    def forward(scores: Tensor, v: Tensor) -> Tensor:
        later = torch.ones_like(scores).triu(1).bool()
        return scores.masked_fill(later, float("-inf")).softmax(-1) @ v

    def wrong(scores: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = scores.tril().softmax(-1)
        dp = g @ v.T
        return {"scores": p * (dp - (p * dp).sum(-1, keepdim=True)), "v": p.T @ g}

    return Example(forward, wrong, {"scores": "t t", "v": "t m"})


ROOT = re.compile(r"(?P<base>[\w.\[\]-]+) ?\*\* ?0\.5|(?:math\.|torch\.|np\.)?sqrt\((?P<of>[^()]*)\)")


def describe_number(program: Program, place: Place, number_of: Callable[[Node], float], source: str = "") -> str:
    """Return a number of a node as code: as the source writes it, or `q.shape[-1] ** 0.5` where it is made of a size.

    A source that is more than a variable's name is returned as it is. A variable is not named if there is a formula: a
    learner may have one of this name, with the wrong number. Without a source, it is the number itself if it is the
    same in all trials or, in a single trial, has at most four decimals: then the learner has typed it. Else it is the
    formula of a size; if there is none, the variable, or the number of this trial with three digits.

    Args:
        program: the program of a trial.
        place: the node.
        number_of: takes the node in any trial; returns a constant operand or option of it.
        source: how the source writes the number; empty where that is not known.
    """
    if source and not source.isidentifier():
        return source
    numbers = [number_of(peer.nodes[i]) for peer, i in program.in_all_trials(place[0])]
    is_written = len(set(numbers)) == 1 and (len(numbers) > 1 or math.isclose(numbers[0], round(numbers[0], 4)))
    made = None if is_written else next(forms_of_number(program, place[0], number_of), None)
    if made is None:
        return source or f"{numbers[0]:.3g}"
    form = made[0].replace("sqrt({})", "{} ** 0.5")  # a learner may know no function of this name
    return form.format(made[1].describe(program).replace("`", ""))


def changed_number(number: str, how: str) -> str:
    """Return a wrong number as code: 2 for "1" that is one too large, `d` for `d - 1`, `d` for `sqrt(d)` if squared.

    Args:
        number: the right number as code, such as "1" or "sqrt(q.shape[-1])".
        how: what becomes of it, a key of `OTHER_NUMBERS`, `TIMES_TEN` or `LARGER`.
    """
    if how in LARGER:
        return f"{LARGER[how]:g}"
    if how == "squared" and (root := ROOT.fullmatch(number)):
        return root["base"] or root["of"]
    if how in BY_ONE and number.endswith(back := " - 1" if how == BY_ONE[0] else " + 1"):
        return number.removesuffix(back)
    try:
        value = float(number)
    except ValueError:
        bare = number if re.fullmatch(r"[\w.]+(\[[^]]*\]|\([^()]*\))?", number) else f"({number})"
        return WRITTEN_CHANGES[how].format(bare)
    if how in ("inverted", "replaced by its square root"):
        return WRITTEN_CHANGES[how].format(number)
    return f"{ {**OTHER_NUMBERS, **TIMES_TEN}[how](value):.4g}"


def describe_part_of_step(node: Node, slot: int | None, number: str) -> str:
    """Return a number of a node with what it is there: "the factor 3" in `3 * x`, "the denominator 2" in `x / 2`.

    For an option, and in any other operation but a power, it is "the number 3".

    Args:
        node: the node.
        slot: the slot of the number; `None` for an option.
        number: the number as code.
    """
    nouns = {("mul", 0): "factor", ("mul", 1): "factor", ("div", 0): "numerator", ("div", 1): "denominator",
             ("pow", 1): "exponent"}  # fmt: skip
    return f"the {nouns.get((node.name, -1 if slot is None else slot), 'number')} {as_code(number)}"


def number_fields(program: Program, place: Place, choice: NumberChange) -> dict[str, str]:
    """Return the fields `number`, `lack`, `right`, `wrong`, `where` and `of` of a message about a number of a node.

    For the 3 in x / 3 that is doubled in both passes: "the denominator 3", "the division by 3 is missing", "3", "6",
    and an empty text, as there is no pass without the mistake. `lack` is "0 is used in place of 3" for an operation in
    `FILLING`, and `wrong` is empty where the number is left out. A divisor that is multiplied by is `/ 3` and `* 3`,
    and a factor that is divided by is `* 3` and `/ 3`. The last is "the derivative of " for the output, which no
    gradient needs.

    Args:
        program: the program of a trial.
        place: the node with the number.
        choice: the slot or option of the number, what becomes of it, and where that takes effect.
    """
    node = program.nodes[place[0]]
    source = number_source(program, node, choice.slot) if choice.slot is not None else ""
    right = describe_number(program, place, choice.number, source)
    wrong = "" if choice.how == "missing" else changed_number(right, choice.how)
    number = describe_part_of_step(node, choice.slot, right)
    is_divisor = node.name == "div" and choice.slot == 1
    missing = f"the division by {as_code(right)}" if is_divisor else number
    lack = f"0 is used in place of {as_code(right)}" if node.name in FILLING else f"{missing} is missing"
    if choice.how == "inverted" and (is_divisor or node.name == "mul"):  # the operation is mistaken, not its number
        bare = wrong.removeprefix("1 / ")
        right, wrong = (f"/ {bare}", f"* {bare}") if is_divisor else (f"* {bare}", f"/ {bare}")
    return {
        "number": number,
        "lack": lack,
        "right": as_code(right),
        "wrong": as_code(wrong) if wrong else "",
        "where": describe_affects(program, choice.affects),
        "of": "the derivative of " if node.id in program.forward.outputs and not program.is_value else "",
    }


@operator(
    "number-missing",
    code=lambda choice: choice.code,
    rank=3.4,  # as an operation that is left out
    at=nodes,
    choices=lambda program, place: (each for each in number_changes(program, place) if each.how == "missing"),
    fields=number_fields,
    message="in {of}{step}, {lack}{where}",
)
def leave_out_number(program: Program, place: Place, choice: NumberChange) -> Program:
    """Leave out a constant number of a node: add 0, multiply by 1, take the power 1 or fill in 0 in place of it.

    Args:
        program: the right program.
        place: a node.
        choice: the slot of the number, and where its omission takes effect: for the 3 in x / 3 and both passes,
            `NumberChange(1, "", "missing", "all", ...)`.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: choice.change}, choice.affects)


@leave_out_number.example
def _() -> Example:
    """Show x / sqrt(mean(x**2) + 0.5) * w whose gradients are computed without the 0.5."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 0.5).sqrt() * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the root of mean(x ** 2) in place of that of mean(x ** 2) + 0.5."""
        n, rms = x.shape[-1], x.square().mean(-1, keepdim=True).sqrt()
        y = x / rms
        return {"x": (g * w - y * (g * w * y).sum(-1, keepdim=True) / n) / rms, "w": (g * y).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n"})


@leave_out_number.example
def _() -> Example:
    """Show softmax(x @ w / 3) whose probabilities are computed without the 3, and whose gradients are divided by it."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return ((x @ w) / 3.0).softmax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use softmax(x @ w) in place of softmax(x @ w / 3), but divide the gradient by 3."""
        p = (x @ w).softmax(-1)
        dz = p * (g - (p * g).sum(-1, keepdim=True)) / 3
        return {"x": dz @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "number-mistaken",
    code=lambda choice: choice.code,
    rank=4.0,
    at=nodes,
    choices=lambda program, place: (
        each for each in number_changes(program, place) if each.how != "missing" and not is_miscounted_factor(each)
    ),
    fields=number_fields,
    message="in {of}{step}, {wrong} is used in place of {right}{where}",
)
def change_number(program: Program, place: Place, choice: NumberChange) -> Program:
    """Use a wrong number in a node in place of a constant operand or option: negated, halved, one too great.

    Args:
        program: the right program.
        place: a node.
        choice: the slot or option of the number, what becomes of it, and where that takes effect: `NumberChange(1, "",
            "halved", "all", ...)` makes x / 3 of x / 6 in both passes.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: choice.change}, choice.affects)


@change_number.example
def _() -> Example:
    """Show scores.softmax(-1).tril(1) @ v whose gradient of v is computed with tril(0)."""

    def forward(scores: Tensor, v: Tensor) -> Tensor:
        return scores.softmax(-1).tril(1) @ v

    def wrong(scores: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": scores.softmax(-1).tril(0).T @ g}

    return Example(forward, wrong, {"scores": "t t", "v": "t m"})


def is_miscounted_factor(choice: NumberChange) -> bool:
    """Return whether a wrong number is a factor or divisor that is one too large or too small in the gradients alone.

    Such as n for n - 1: it is miscounted more often than a number is wrong in another way.
    """
    return choice.code == "wrong-factor" and choice.how in BY_ONE and choice.affects == "backward"


@operator(
    "factor-miscounted",
    code="wrong-factor",
    rank=2.4,
    at=nodes.of(*PRODUCTS),
    choices=lambda program, place: filter(is_miscounted_factor, number_changes(program, place)),
    fields=number_fields,
    message="in {of}{step}, {wrong} is used in place of {right}{where}",
)
def miscount_factor(program: Program, place: Place, choice: NumberChange) -> Program:
    """Compute the vjp of a product or quotient with a number that is one too large or too small: n * g for (n - 1) * g.

    Args:
        program: the right program.
        place: the node.
        choice: the slot of the number, and whether it is one too large or too small.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: choice.change}, choice.affects)


@miscount_factor.example
def _() -> Example:
    """Show (n - 1) * log(1 + s ** 2) + s whose gradient has n in place of n - 1."""

    def forward(x: Tensor, s: Tensor) -> Tensor:
        n = x.shape[1]
        return ((n - 1) * torch.log(1 + s**2) + s) * x

    def wrong(x: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        n = x.shape[1]
        return {"s": (g * x).sum(0) * (n * 2 * s / (1 + s**2) + 1)}

    return Example(forward, wrong, {"x": "bs n", "s": "n"})


FORMS: Mapping[str, Callable[[float], float]] = {
    "{}": lambda n: n, "sqrt({})": math.sqrt, "1 / {}": lambda n: 1 / n, "1 / sqrt({})": lambda n: 1 / math.sqrt(n),
}  # fmt: skip


@dataclass(frozen=True)
class Size:
    """The size of an axis of an input, or of a value that a node is computed from.

    Args:
        value: the name of the input or value, as seen from the node.
        axis: the axis, counted from the end: -1 is the last.
    """

    value: ValueName
    axis: int

    def of(self, program: Program, reader: int) -> int | None:
        """Return the number of entries along the axis `self.axis` of the array named `self.value`.

        Args:
            program: the program of a trial.
            reader: the id of the node from which the name is seen, as for `h of the previous iteration`.

        Returns:
            The size; `None` where the trial has no such value, or it has no such axis.
        """
        value = self.value.find(program, reader)
        shape = () if value is None else program.nodes[value].value.shape
        return shape[self.axis] if len(shape) >= -self.axis else None

    def from_front(self, program: Program, reader: int) -> int:
        """Return the number of the axis `self.axis`, counted from the front; from the end where there is no such array.

        Args:
            program: the program of a trial.
            reader: the id of the node from which the array's name is seen.
        """
        value = self.value.find(program, reader)
        return self.axis if value is None else program.nodes[value].value.ndim + self.axis

    def describe(self, program: Program) -> str:
        """Return the size as a learner writes it, such as `x.shape[-1]`."""
        return as_code(f"{self.value.describe(program)}.shape[{self.axis}]")


@dataclass(frozen=True)
class SizeReplacement:
    """A choice of a number in a node that is made of the size of an axis, and of the wrong size in its place.

    Args:
        slot: the slot of the number.
        form: how the number is made of the size n, a key of `FORMS` such as `"1 / sqrt({})"`.
        right: the size that it is made of.
        wrong: the size that is taken in its place.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
    """

    slot: int
    form: str
    right: Size
    wrong: Size
    affects: Affects


def named_sizes(program: Program, reader: int) -> dict[tuple[int | None, ...], Size]:
    """Return a name for each size above 1 of the inputs, and of the values that a node is computed from.

    For a node computed from x of shape (3, 4), in a single trial: {(4,): `Size` of x and axis -1, (3,): that of x and
    axis -2}.

    Args:
        program: the program of a trial.
        reader: the id of the node.

    Returns:
        A `Size` (the name of an array, and an axis of it) by a tuple: the numbers of entries along that axis in this
        trial and in every other one, in the order of `Program.in_all_trials`; `None` for a trial without the array. Of
        several axes with the same numbers, the first.
    """
    sizes: dict[tuple[int | None, ...], Size] = {}
    trials = program.in_all_trials(reader)
    for name, value in values_by_name(program, reader).items():
        if isinstance(name, NamedValue) or (value < reader and program.forward.ancestors[reader] >> value & 1):
            for axis in range(-1, -program.nodes[value].value.ndim - 1, -1):
                size = Size(name, axis)
                counts = tuple(size.of(peer, i) for peer, i in trials)
                if counts[0] not in (None, 1):
                    sizes.setdefault(counts, size)
    return sizes


def forms_of_number(
    program: Program, reader: int, number_of: Callable[[Node], float]
) -> Iterator[tuple[str, Size, tuple[int | None, ...]]]:
    """Yield how a number of a node is made of a size, such as `"1 / sqrt({})"` and the `Size` of 4 for 0.5.

    Args:
        program: the program of a trial.
        reader: the id of the node.
        number_of: takes the node in any trial; returns the number.

    Yields:
        The form, `{}` being the size: `"{}"`, `"sqrt({})"`, `"1 / {}"` or `"1 / sqrt({})"`; the name of the size; and
        its numbers in all trials.
    """
    numbers = [number_of(peer.nodes[i]) for peer, i in program.in_all_trials(reader)]
    for form, made in FORMS.items():
        for counts, size in named_sizes(program, reader).items():
            if all(
                count is not None and math.isclose(made(count), number, rel_tol=1e-6)
                for count, number in zip(counts, numbers, strict=True)
            ):
                yield form, size, counts


def size_replacements(program: Program, place: Place) -> Iterator[SizeReplacement]:
    """Yield `SizeReplacement`s: a number in a product that is made of a size, a wrong size, and what that affects.

    For the constant sqrt(q.shape[-1]) in `scores / q.shape[-1] ** 0.5`: the root of each other size, as of k.shape[0];
    in both passes (`"all"`), in the `"values"`, or in the `"backward"` pass alone.

    Args:
        program: the program of a trial.
        place: the node of a product or quotient.
    """
    node = program.nodes[place[0]]
    for slot in range(len(node.values)):
        if node.operand(slot) is None and np.ndim(node.values[slot]) == 0:
            made = next(forms_of_number(program, node.id, partial(_number_in_slot, slot=slot)), None)
            if made is not None:
                form, right, right_counts = made
                for counts, wrong in named_sizes(program, node.id).items():
                    if counts != right_counts:
                        modes: tuple[Affects, ...] = ("all", "values", "backward")
                        yield from (SizeReplacement(slot, form, right, wrong, affects) for affects in modes)


def size_fields(program: Program, place: Place, choice: SizeReplacement) -> dict[str, str]:
    """Return the fields `right`, `wrong` and `where` of a message: `d ** 0.5`, `sqrt(k.shape[0])`, and in which pass.

    Args:
        program: the program of a trial.
        place: the node of a product or quotient.
        choice: the right and the wrong size, and where the wrong one takes effect.
    """
    node = program.nodes[place[0]]
    wrong, right = (choice.form.format(size.describe(program)) for size in (choice.wrong, choice.right))
    source = operand_source(node.text, node.name, choice.slot)
    if source and not source.isidentifier():  # a learner may have a variable of this name, with the wrong number
        sizes = [
            replace(choice.right, axis=axis) for axis in (choice.right.axis, choice.right.from_front(program, node.id))
        ]
        own = next((name for size in sizes if (name := size.describe(program).strip("`")) in source), "")
        wrong = source.replace(own, choice.wrong.describe(program).strip("`")) if own else wrong
        right = source
    return {"wrong": as_code(wrong), "right": as_code(right), "where": describe_affects(program, choice.affects)}


@operator(
    "size-of-another-axis",
    code="wrong-factor",
    rank=3.5,
    at=nodes.of(*PRODUCTS),
    choices=size_replacements,
    fields=size_fields,
    message="in {step}, {wrong} is used in place of {right}{where}",
)
def use_size_of_another_axis(program: Program, place: Place, choice: SizeReplacement) -> Program | None:
    """Make a number in a product or quotient from the size of a wrong axis: sqrt(k.shape[0]) for sqrt(q.shape[-1]).

    Args:
        program: the right program.
        place: the node of a product or quotient.
        choice: the slot of the number, its form, such as `"sqrt({})"`, the right and the wrong size, and where the
            change takes effect.

    Returns:
        The rewritten program; `None` where in this trial there are no such sizes, or the number is not made of the
        right one.
    """
    made = FORMS[choice.form]
    right, wrong = (size.of(program.right, place[0]) for size in (choice.right, choice.wrong))
    if right is None or wrong is None:
        return None
    if not math.isclose(made(right), _number_in_slot(program.right.nodes[place[0]], choice.slot), rel_tol=1e-6):
        return None
    return program.with_nodes({place[0]: lambda node: node.with_operand(choice.slot, made(wrong))}, choice.affects)


@use_size_of_another_axis.example
def _() -> Example:
    """Show softmax(q @ k.T / sqrt(q.shape[-1])) whose scores are divided by sqrt(k.shape[0]), in both passes."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the root of the number of keys in place of that of the number of features."""
        root = k.shape[0] ** 0.5
        p = (q @ k.T / root).softmax(-1)
        return {"q": p * (g - (p * g).sum(-1, keepdim=True)) / root @ k}

    return Example(forward, wrong, {"q": "t n", "k": "s n"})


# Inputs that are whole numbers ---------------------------------------------------------------------------------------

TIMES_TEN: Mapping[str, Callable[[float], float]] = {
    "ten times too large": lambda c: c * 10,
    "ten times too small": lambda c: c / 10,
}
WRITTEN_CHANGES: Mapping[str, str] = {
    "negated": "-{}", "inverted": "1 / {}", "squared": "{}**2", "replaced by its square root": "{}**0.5",
    "halved": "{} / 2", "doubled": "2 * {}", "one too large": "{} + 1", "one too small": "{} - 1",
    "taken from 1": "1 - {}", "ten times too large": "10 * {}", "ten times too small": "{} / 10",
}  # fmt: skip


@dataclass(frozen=True)
class InputNumber:
    """A choice of an input that is a whole number, and of the wrong number in its place.

    Args:
        name: the name of the input, such as `k`.
        by: what is added to it: 1 or -1.
        code: the public code.
    """

    name: str
    by: int
    code: str

    def record_with_wrong_number(self, program: Program) -> Program | None:
        """Record the right forward pass of the same trial once more, with the wrong number as the input.

        Args:
            program: the program of the trial, edited or not.

        Returns:
            The program with the wrong number. `None` where the number would be less than 1, or where the program cannot
            be recorded with another number.

        Raises:
            NoCandidate: the forward pass fails with the wrong number.
        """
        number = program.right.numbers.get(self.name, 0) + self.by
        if program.right.record_with_number is None or number < 1:  # with a step of 0 a loop might not end
            return None
        try:
            return program.right.record_with_number(self.name, number)
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"nothing for {self.name} = {number}: {error}") from error


def input_numbers(program: Program, place: Place) -> Iterator[InputNumber]:
    """Yield `InputNumber`s: an input that is a whole number, such as k, and k - 1 or k + 1 in its place.

    The code is `wrong-point` where the wrong number changes the output; where it changes the backward pass alone,
    `missing-path` if that has fewer edges, else `wrong-local`. Nothing is yielded where the exercise asks for a value.

    Args:
        program: the program of a trial.
        place: not read: the whole program is meant.
    """
    for name in program.numbers if not program.is_value else ():
        for by in (-1, 1):
            try:
                other = InputNumber(name, by, "").record_with_wrong_number(program)
            except NoCandidate:
                continue
            if other is not None:
                output, wrong = (each.nodes[each.forward.outputs[0]].value for each in (program, other))
                edges, fewer = (sum(map(len, each.forward.uses)) for each in (program, other))
                code = "missing-path" if fewer < edges else "wrong-local"
                yield InputNumber(name, by, code if np.allclose(output, wrong) else "wrong-point")


@operator(
    "input-number-mistaken",
    code=lambda choice: choice.code,
    rank=3.6,  # as a wrong number in a constant
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=input_numbers,
    fields=lambda program, place, choice: {
        "name": choice.name,
        "wrong": f"{choice.name} {'-' if choice.by < 0 else '+'} 1",
    },
    message="this is the right answer for {wrong}; it must be the one for {name}",
    hints=(
        "What must your function do where this number is 1? Count what it does.",
        "Which lines of your code use this number? Print the first and the last index that they reach.",
        "`range(a, b)` and `x[a:b]` have b - a entries: which a and b does your code need?",
    ),
)
def change_input_number(program: Program, place: Place, choice: InputNumber) -> Program | None:
    """Replace all gradients by those that are right for a wrong whole number as an input, such as k - 1 for k.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: the name of the input, and what is added to it.

    Returns:
        The rewritten program; `None` where the number would be less than 1, or the program has no way to record again.

    Raises:
        NoCandidate: the forward pass fails with this number.
    """
    other = choice.record_with_wrong_number(program)
    if other is None:
        return None
    for name in program.forward.targets:
        program = program.with_result(name, partial(_gradient_of_other, other, name))
    return program


def _gradient_of_other(other: Program, name: str, program: Program, gradient: Array) -> Array:
    """Return the gradient of the target `name` in the program `other`; `program` and `gradient` are not read.

    With `other` and `name` bound it is a rule for `Program.with_result`, which calls it with the edited program and the
    target's gradient there.
    """
    return other.gradient(name)


@change_input_number.example
def _() -> Example:
    """Show h = tanh(x[t] + h * w), detached before the last k steps, whose gradient goes through the last k - 1."""

    def forward(x: Tensor, w: Tensor, k: int) -> Tensor:
        h = torch.zeros_like(x[0])
        for t in range(len(x)):
            h = (x[t] + (h.detach() if t == len(x) - k else h) * w).tanh()
        return h

    def wrong(x: Tensor, w: Tensor, k: int, g: Tensor) -> dict[str, Tensor]:
        states = [torch.zeros_like(x[0])]
        for t in range(len(x)):
            states.append((x[t] + states[-1] * w).tanh())
        dx = torch.zeros_like(x)
        for t in reversed(range(max(0, len(x) - k + 1), len(x))):
            dx[t] = g * (1 - states[t + 1] ** 2)
            g = dx[t] * w
        return {"x": dx}

    return Example(forward, wrong, {"x": "t n", "w": "n", "k": each_of(2, 3)})


# Functions ----------------------------------------------------------------------------------------------------------


def to_operation(operation: str) -> Change:
    """Return a function from a node to the node that computes the named operation of the same operands and options.

    `to_operation("cos")` makes cos(x) of sin(x).
    """
    return lambda node: replace(node, operation=OPERATIONS[operation])


def negate_value(node: Node) -> Node:
    """Return the node with its value and its vjps negated: -sin(x) for sin(x)."""
    return node.then(np.negative, np.negative)


def take_first_entries(node: Node) -> Node:
    """Return the node of a `sort` or `topk` as one that takes the first entries of its operand along its axis.

    The entries stay in the operand's order: `x[:k]` for `x.topk(k)`.
    """
    dim = int(str(node.options.get("dim", -1)))
    return node.with_operation(OPERATIONS["piece"], dim=dim, start=0, length=node.value.shape[dim])


def with_transposed_mask(node: Node) -> Node:
    """Return a `where` or `masked_fill` node with the last two axes of its mask exchanged."""
    slot = MASK_SLOTS[node.name]
    return node.with_operand(slot, np.swapaxes(np.asarray(node.values[slot]), -1, -2))


def with_inverted_mask(node: Node) -> Node:
    """Return a `where` or `masked_fill` node with true and false exchanged in its mask.

    Minus infinity is -1e9 then, so that a row of which nothing is left has a softmax.
    """
    slot = MASK_SLOTS[node.name]
    return with_number_for_infinity(node.with_operand(slot, ~np.asarray(node.values[slot])), -1e9)


OPERATORS_IN_SOURCE: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/",
    "gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!=",
}  # fmt: skip
"""By the name of an operation, its operator in the source."""


INVERTED = "the inverted mask"


@dataclass(frozen=True)
class SubstituteFunction:
    """A function that may be taken by mistake in place of a node's operation.

    Args:
        name: the function in a learner's words, such as "the cosine".
        code: the public code.
    """

    name: str
    code: str

    def mistake(self, operation: str) -> str:
        """Return the beginning of a message, in front of the operation: "the cosine is used in place of".

        Args:
            operation: the name of the operation that it replaces; for "gt", "`<` is used in place of `>` in".
        """
        if self.name.startswith("`"):
            own = OPERATORS_IN_SOURCE.get(operation)
            return f"{self.name} is used in place of {f'`{own}`' if own else 'the operator'} in"
        if self.name == INVERTED:
            return "the mask is the wrong way round in"
        if self.name.endswith("mask"):
            return f"{self.name} is used in"
        return f"{self.name} {'are' if self.name.endswith('entries') else 'is'} used in place of"


REPLACEMENT_FUNCTIONS: Mapping[str, Mapping[SubstituteFunction, Change]] = {
    "add": {SubstituteFunction("`-`", "wrong-sign"): to_operation("sub")},
    "sub": {SubstituteFunction("`+`", "wrong-sign"): to_operation("add")},
    "mul": {SubstituteFunction("`/`", "wrong-operand"): to_operation("div")},
    "div": {SubstituteFunction("`*`", "wrong-operand"): to_operation("mul")},
    "sin": {SubstituteFunction("the cosine", "wrong-local"): to_operation("cos"),
            SubstituteFunction("minus the sine", "wrong-sign"): negate_value},
    "cos": {SubstituteFunction("the sine", "wrong-local"): to_operation("sin")},
    "exp": {SubstituteFunction("the exponential minus 1", "wrong-point"): to_operation("expm1")},
    "log": {SubstituteFunction("the logarithm of 1 plus the operand", "wrong-point"): to_operation("log1p"),
            SubstituteFunction("the logarithm to base 2", "wrong-factor"): to_operation("log2")},
    "sqrt": {SubstituteFunction("the square", "wrong-local"): to_operation("square")},
    "square": {SubstituteFunction("the absolute value", "wrong-local"): to_operation("abs")},
    "abs": {SubstituteFunction("the square", "wrong-local"): to_operation("square")},
    "tanh": {SubstituteFunction("the sigmoid", "wrong-local"): to_operation("sigmoid")},
    "sigmoid": {SubstituteFunction("the tanh", "wrong-local"): to_operation("tanh"),
                SubstituteFunction("the log-sigmoid", "wrong-local"): to_operation("logsigmoid")},
    "silu": {SubstituteFunction("the sigmoid", "wrong-local"): to_operation("sigmoid"),
             SubstituteFunction("the relu", "wrong-local"): to_operation("relu")},
    "gelu": {SubstituteFunction("the relu", "wrong-local"): to_operation("relu")},
    "softplus": {SubstituteFunction("the relu", "wrong-local"): to_operation("relu")},
    "softmax": {SubstituteFunction("the log-softmax", "wrong-local"): to_operation("log_softmax"),
                SubstituteFunction("the sigmoid", "wrong-local"):
                    lambda node: node.with_operation(OPERATIONS["sigmoid"])},
    "log_softmax": {SubstituteFunction("the softmax", "wrong-local"): to_operation("softmax")},
    "logsumexp": {SubstituteFunction("the maximum", "wrong-local"): to_operation("amax")},
    "amax": {SubstituteFunction("the minimum", "inverted-mask"): to_operation("amin"),
             SubstituteFunction("the mean", "wrong-local"): to_operation("mean")},
    "amin": {SubstituteFunction("the maximum", "inverted-mask"): to_operation("amax"),
             SubstituteFunction("the mean", "wrong-local"): to_operation("mean")},
    "mean": {SubstituteFunction("the maximum", "wrong-local"): to_operation("amax")},
    "max": {SubstituteFunction("the minimum", "inverted-mask"): to_operation("min"),
            SubstituteFunction("the mean", "wrong-local"): to_operation("mean")},
    "min": {SubstituteFunction("the maximum", "inverted-mask"): to_operation("max"),
            SubstituteFunction("the mean", "wrong-local"): to_operation("mean")},
    "maximum": {SubstituteFunction("the minimum", "inverted-mask"): to_operation("minimum")},
    "minimum": {SubstituteFunction("the maximum", "inverted-mask"): to_operation("maximum")},
    "var": {SubstituteFunction("the standard deviation", "wrong-local"): to_operation("std")},
    "std": {SubstituteFunction("the variance", "wrong-local"): to_operation("var")},
    "gt": {SubstituteFunction("`<`", "inverted-mask"): to_operation("lt"),
           SubstituteFunction("`>=`", "inverted-mask"): to_operation("ge")},
    "lt": {SubstituteFunction("`>`", "inverted-mask"): to_operation("gt"),
           SubstituteFunction("`<=`", "inverted-mask"): to_operation("le")},
    "ge": {SubstituteFunction("`<=`", "inverted-mask"): to_operation("le"),
           SubstituteFunction("`>`", "inverted-mask"): to_operation("gt")},
    "le": {SubstituteFunction("`>=`", "inverted-mask"): to_operation("ge"),
           SubstituteFunction("`<`", "inverted-mask"): to_operation("lt")},
    "eq": {SubstituteFunction("`!=`", "inverted-mask"): to_operation("ne")},
    "ne": {SubstituteFunction("`==`", "inverted-mask"): to_operation("eq")},
    "logical_and": {SubstituteFunction("`or`", "inverted-mask"): to_operation("logical_or")},
    "logical_or": {SubstituteFunction("`and`", "inverted-mask"): to_operation("logical_and")},
    "where": {SubstituteFunction(INVERTED, "inverted-mask"): with_inverted_mask,
              SubstituteFunction("the transposed mask", "inverted-mask"): with_transposed_mask},
    "masked_fill": {SubstituteFunction(INVERTED, "inverted-mask"): with_inverted_mask,
                    SubstituteFunction("the transposed mask", "inverted-mask"): with_transposed_mask},
    "topk": {SubstituteFunction("the first entries", "wrong-operand"): take_first_entries},
    "sort": {SubstituteFunction("the unsorted entries", "wrong-operand"): take_first_entries},
}  # fmt: skip


@dataclass(frozen=True)
class FunctionReplacement:
    """A choice of a wrong function in place of a node's operation.

    Args:
        function: which one.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
    """

    function: SubstituteFunction
    affects: Affects


def function_replacements(program: Program, place: Place) -> Iterator[FunctionReplacement]:
    """Yield `FunctionReplacement`s: a wrong function in place of a node's operation, and where that takes effect.

    Which functions there are for an operation is listed in `REPLACEMENT_FUNCTIONS`: for `sin` the cosine and -sin.

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.nodes[place[0]]
    modes: tuple[Affects, ...] = ("all", "values", "backward", "partners")
    if node.name in SUMS:
        modes = ("all", "values")
    for function in REPLACEMENT_FUNCTIONS[node.name]:
        yield from (FunctionReplacement(function, affects) for affects in possible_affects(node, *modes))


@operator(
    "function-mistaken",
    code=lambda choice: "wrong-operand" if choice.affects == "partners" else choice.function.code,
    rank=4.0,
    at=nodes.of(*REPLACEMENT_FUNCTIONS),
    choices=function_replacements,
    fields=lambda program, place, choice: {
        "mistake": choice.function.mistake(program.nodes[place[0]].name),
        "where": describe_affects(program, choice.affects),
    },
    message="{mistake} {step}{where}",
    hints={"inverted-mask": WHICH_MASKED},
)
def replace_function(program: Program, place: Place, choice: FunctionReplacement) -> Program | None:
    """Compute a wrong function of the operands of a node, such as tanh for sigmoid, or a sum for a difference.

    Args:
        program: the right program.
        place: a node.
        choice: which function, and where the change takes effect: with
            `FunctionReplacement(SubstituteFunction("the tanh", ...), "backward")` a sigmoid gets the vjp of tanh.

    Returns:
        The rewritten program; `None` where this node's operation is never taken for that function.
    """
    change = REPLACEMENT_FUNCTIONS[program.nodes[place[0]].name].get(choice.function)
    return None if change is None else program.with_nodes({place[0]: change}, choice.affects)


@replace_function.example
def _() -> Example:
    """Show tanh(x @ w).amax(1) @ v whose gradient of v uses mean(1) in place of amax(1)."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(x @ w).amax(1) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": torch.tanh(x @ w).mean(1).T @ g}

    return Example(forward, wrong, {"x": "bs t n", "w": "n m", "v": "m k"})


@replace_function.example
def _() -> Example:
    """Show silu(x @ w) @ u whose gradient of u uses relu(x @ w)."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.nn.functional.silu(x @ w) @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by relu(z) in place of silu(z)."""
        z = x @ w
        return {"u": z.relu().T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m k"})


@replace_function.example
def _() -> Example:
    """Show exp(log_softmax(x) - log_softmax(m)) * m whose gradient of x is computed with the sum of the logarithms."""

    def forward(x: Tensor, m: Tensor) -> Tensor:
        return (x.log_softmax(-1) - m.log_softmax(-1)).exp() * m

    def wrong(x: Tensor, m: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the second logarithm in place of subtracting it."""
        ratio = (x.log_softmax(-1) + m.log_softmax(-1)).exp()
        d = g * m * ratio
        return {"x": d - x.softmax(-1) * d.sum(-1, keepdim=True)}

    return Example(forward, wrong, {"x": "bs n", "m": "bs n"})


def sine_cosine_affects(program: Program, place: Place) -> tuple[Affects, ...]:
    """Return where an exchange of sine and cosine may take effect, at every place: `("all", "partners")`.

    `"all"`: in both passes. `"partners"`: only in the vjps that read the sine or cosine as a partner operand, as
    for x in `x * sin(a)`.
    """
    return ("all", "partners")


@dataclass(frozen=True)
class OutputFunction:
    """A function that a learner applies to the output, though the exercise does not.

    Args:
        code: the public code.
        of: the function; keeps the shape.
        slope: its derivative at the output; keeps the shape.
    """

    code: str
    of: Callable[[Array], Array]
    slope: Callable[[Array], Array]


OUTPUT_FUNCTIONS: Mapping[str, OutputFunction] = {
    "the root": OutputFunction("wrong-local", np.sqrt, lambda y: 0.5 / np.sqrt(y)),
    "the square": OutputFunction("wrong-local", np.square, lambda y: 2 * y),
    "the logarithm": OutputFunction("wrong-local", np.log, lambda y: 1 / y),
    "the exponential": OutputFunction("wrong-local", np.exp, np.exp),
    "the negative": OutputFunction("wrong-sign", np.negative, lambda y: np.full_like(y, -1)),
}


@operator(
    "function-of-output",
    code=lambda choice: OUTPUT_FUNCTIONS[choice].code,
    rank=3.5,
    at=outputs,
    choices=lambda program, place: OUTPUT_FUNCTIONS,
    message="{choice} of {output} is {used} in place of {output}",
    fields=lambda program, place, choice: {"used": "used" if program.is_value else "differentiated"},
)
def apply_function_to_output(program: Program, place: Place, choice: str) -> Program:
    """Apply a function to the output in both passes, such as the root of a mean of squares.

    Args:
        program: the right program.
        place: the edge from the loss to the output.
        choice: which function, a key of `OUTPUT_FUNCTIONS`: "the root" in the example.

    Returns:
        The rewritten program.
    """
    value = program.source(place)
    output, function = program.nodes[value].value, OUTPUT_FUNCTIONS[choice]
    return program.with_nodes(
        {value: lambda node: node.then(function.of, lambda g: np.asarray(g * function.slope(output)))}
    )


@apply_function_to_output.example
def _() -> Example:
    """Show ((x @ w - y)**2).mean() whose gradient is that of its root."""

    def forward(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
        return (x @ w - y).square().mean()

    def wrong(x: Tensor, w: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate the root of the mean in place of the mean."""
        d = x @ w - y
        rmse = d.square().mean().sqrt()
        return {"w": g * x.T @ d / d.numel() / rmse}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "y": "bs m"})


@operator(
    "sine-and-cosine-exchanged",
    code="wrong-operand",
    rank=3.5,
    at=nodes.of("sin"),
    choices=sine_cosine_affects,
    fields=lambda program, place, choice: {"where": describe_affects(program, choice)},
    message="the sine and the cosine of {operand} are swapped{where}",
)
def exchange_sine_and_cosine(program: Program, place: Place, choice: Affects) -> Program | None:
    """Compute the cosine in place of a sine, and the sine in place of each cosine of the same angle.

    Args:
        program: the right program.
        place: the node of the sine.
        choice: where the exchange takes effect: `"all"`, in both passes, or `"partners"`, only in the vjps that read
            the sine or cosine as a partner operand.

    Returns:
        The rewritten program; `None` where there is no cosine of the same angle.
    """
    sine = program.nodes[place[0]]
    cosines = [node.id for node in program.nodes if node.name == "cos" and node.operands == sine.operands]
    if not cosines:
        return None
    return program.with_nodes({sine.id: to_operation("cos"), **dict.fromkeys(cosines, to_operation("sin"))}, choice)


@exchange_sine_and_cosine.example
def _() -> Example:
    """Show pairs a * cos(u) - b * sin(u), a * sin(u) + b * cos(u), whose gradient of x has cos and sin exchanged."""

    def forward(x: Tensor, angle: Tensor) -> Tensor:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def wrong(x: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        c, s = angle.sin(), angle.cos()
        da, db = g[..., 0] * c + g[..., 1] * s, g[..., 1] * c - g[..., 0] * s
        return {"x": torch.stack([da, db], -1).flatten(-2)}

    return Example(forward, wrong, {"x": sized(normal("t n"), n=(4, 6)), "angle": "t 1"})


# Options ------------------------------------------------------------------------------------------------------------

FLAGS = ("keepdim", "descending", "largest", "approximate")


@dataclass(frozen=True)
class FlagChange:
    """A choice of an option with two values, which gets the wrong one of them.

    Args:
        option: the name of the option, such as `"keepdim"`.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
    """

    option: str
    affects: Affects

    def value(self, node: Node) -> object:
        """Return the wrong value of the option `self.option` for a node: that of the two which the node does not have.

        False for True; "tanh" for the "none" of gelu's `approximate`.
        """
        own = node.options[self.option]
        return {"none": "tanh", "tanh": "none"}[str(own)] if isinstance(own, str) else not own


def flag_changes(program: Program, place: Place) -> Iterator[FlagChange]:
    """Yield `FlagChange`s: an option of a node with two values, one of `FLAGS`, and what the wrong value affects.

    `keepdim`, `descending` and `largest` are True or False; `approximate` of a gelu is "none" or "tanh".

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.nodes[place[0]]
    for option in FLAGS:
        if isinstance(node.options.get(option), bool | str):
            modes: tuple[Affects, ...] = ("all", "partners") if option == "keepdim" else ("all", "values", "backward")
            yield from (FlagChange(option, affects) for affects in possible_affects(node, *modes))


@operator(
    "option-mistaken",
    code=lambda choice: "broadcast-accident" if choice.option == "keepdim" else "wrong-local",
    rank=4.0,
    at=nodes.where(lambda program, place: any(flag in program.nodes[place[0]].options for flag in FLAGS)),
    choices=flag_changes,
    fields=lambda program, place, choice: {
        "option": f"{choice.option}={choice.value(program.nodes[place[0]])!r}",
        "where": describe_affects(program, choice.affects),
    },
    message="{step} is computed with {option}{where}",
)
def change_flag(program: Program, place: Place, choice: FlagChange) -> Program:
    """Give an option of a node, such as `keepdim` or `descending`, the wrong one of its two values.

    Args:
        program: the right program.
        place: a node with such an option.
        choice: which option, and where the change takes effect: `FlagChange("keepdim", "all")` computes both passes
            with `keepdim=False` for `keepdim=True`.

    Returns:
        The rewritten program.
    """

    def change(node: Node) -> Node:
        return node.with_options(**{choice.option: choice.value(node)})

    return program.with_nodes({place[0]: change}, choice.affects)


@change_flag.example
def _() -> Example:
    """Show x / x.sum(1, keepdim=True), x square, whose gradient is computed without keepdim."""

    def forward(x: Tensor) -> Tensor:
        return x / x.sum(1, keepdim=True)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide column i by the sum of row i, in place of row i."""
        total = x.sum(1)
        return {"x": g / total - (g * x / total**2).sum(0)[:, None]}

    return Example(forward, wrong, {"x": positive("n n")})


# Operands -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperandReplacement:
    """A choice of an operand of a node, and of the wrong value in its place.

    Args:
        slot: the slot of the operand.
        name: the name of the wrong value, as seen from the node.
        affects: where it takes effect: `"all"`, `"values"`, `"backward"` or `"partners"`, see `Program.with_nodes`.
    """

    slot: int
    name: ValueName
    affects: Affects


def may_be_confused(program: Program, name: ValueName, other: int, operand: int) -> bool:
    """Return whether a value may be taken for an operand by mistake.

    True for an input, for a loop-carried value, and for a value of an operation of the same name as the operand's, such
    as two products; other values and shapes are not looked at.

    Args:
        program: the program of a trial.
        name: the name of the value.
        other: the id of the value.
        operand: the id of the operand.
    """
    return not isinstance(name, ComputedValue) or program.nodes[other].name == program.nodes[operand].name


def operand_replacements(program: Program, place: Place) -> Iterator[OperandReplacement]:
    """Yield `OperandReplacement`s: a float operand of a node, an earlier value of its shape, and what that affects.

    The value is an input, a loop-carried value, or one of an operation of the same name as the operand's: x @ u for
    x @ w in `sigmoid(x @ w)`. It is read in both passes (`"all"`), or in the `"values"` alone.

    Args:
        program: the program of a trial.
        place: a node.
    """
    node = program.nodes[place[0]]
    for slot, operand in node.operands:
        made = program.nodes[operand]
        if made.value.dtype.kind == "f":
            known = [operand]
            if len(program.forward.uses[operand]) < 2:
                known += [i for _, i in made.operands]  # without the operation that made it, it is left out
            for name, other in values_by_name(program, node.id, made.value.shape).items():
                if other not in known and other < node.id and may_be_confused(program, name, other, operand):
                    modes: tuple[Affects, ...] = ("all", "values") if program.forward.edges[node.id] else ("values",)
                    yield from (OperandReplacement(slot, name, affects) for affects in possible_affects(node, *modes))


@operator(
    "operand-mistaken",
    code=lambda choice: "wrong-operand" if choice.affects == "all" else "wrong-point",
    rank=4.5,
    at=nodes,
    choices=operand_replacements,
    fields=lambda program, place, choice: {
        "other": choice.name.describe(program),
        "own": program.name_of(program.nodes[place[0]].operand(choice.slot) or 0),
        "where": describe_affects(program, choice.affects),
    },
    message="{step} is computed with {other} in place of {own}{where}",
)
def replace_operand(program: Program, place: Place, choice: OperandReplacement) -> Program | None:
    """Compute a node from a wrong value in place of an operand: sigmoid(x @ u) for `sigmoid(x @ w)`.

    Args:
        program: the right program.
        place: a node.
        choice: the slot of the operand, the name of the value, and whether that takes effect in both passes (`"all"`:
            the gradient goes to the wrong value, too), or in the `"values"` alone.

    Returns:
        The rewritten program; `None` where this trial has no such value, or it is computed after the node.
    """
    other = choice.name.find(program, place[0])
    if other is None or other >= place[0]:
        return None

    def change(node: Node) -> Node:
        return node.with_operand(choice.slot, program.nodes[other].value, other)

    return program.with_nodes({place[0]: change}, choice.affects)


@replace_operand.example
def _() -> Example:
    """Show sigmoid(x @ w) * tanh(x @ u) whose gate is computed from x @ u, too, in both passes."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        gate = torch.sigmoid(x @ w)
        return gate * torch.tanh(x @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the gate from x @ u in place of x @ w, and give its gradient to u."""
        z = x @ u
        gate, y = torch.sigmoid(z), torch.tanh(z)
        return {
            "u": x.T @ (g * gate * (1 - y**2) + g * y * gate * (1 - gate)),
        }

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


def replacement_values(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of the values that may be read in place of a value: of its shape, and computed before it.

    Each is an input, a loop-carried value, or a value of an operation of the same name, such as x @ u for x @ w.

    Args:
        program: the program of a trial.
        place: the value that is replaced: an input or a node.
    """
    value = program.nodes[place[0]]
    if value.value.dtype.kind == "f":
        for name, other in values_by_name(program, value.id, value.value.shape).items():
            if other < value.id and may_be_confused(program, name, other, value.id):
                yield name


@operator(
    "value-mistaken",
    code="wrong-point",
    rank=4.0,
    at=values,
    choices=replacement_values,
    message="{choice} is used in place of {value} everywhere{as_if}",
    fields=lambda program, place, choice: {
        "as_if": f", as if {program.name_of(place[0])} had not been computed"
        if program.nodes[place[0]].operands
        else ""
    },
)
def replace_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Compute every node that reads a value from a wrong value instead: x for y wherever y is read, in both passes.

    The gradient still goes to the right value, y, and back through the operation that computes it.

    Args:
        program: the right program.
        place: the value that is replaced: an input or a node.
        choice: the name of the wrong value.

    Returns:
        The rewritten program; `None` where this trial has no such value, or nothing reads the right one.
    """
    other = choice.find(program, place[0])
    if other is None:
        return None
    array = program.nodes[other].value

    def change(node: Node) -> Node:
        """Return the node with the wrong value for the right one; its edges stay."""
        for slot, operand in node.operands:
            if operand == place[0]:
                node = node.with_operand(slot, array, operand)  # the edge stays
        return node

    readers = [node.id for node in program.nodes if place[0] in dict(node.operands).values()]
    return program.with_nodes(dict.fromkeys(readers, change)) if readers else None


@replace_value.example
def _() -> Example:
    """Show y * sigmoid(y @ u) with y = tanh(x @ w), whose second layer is computed again from x in place of y."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return y * torch.sigmoid(y @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute x * sigmoid(x @ u) in place of y * sigmoid(y @ u), but give its gradient to y."""
        gate = torch.sigmoid(x @ u)
        dz = g * x * gate * (1 - gate)
        y = torch.tanh(x @ w)
        dv = (g * gate + dz @ u.T) * (1 - y**2)
        return {"u": x.T @ dz, "x": dv @ w.T, "w": x.T @ dv}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


@dataclass(frozen=True)
class ValueExchange:
    """A choice of a value that is swapped with the value at a place.

    Args:
        other: the name of the value that it is swapped with.
        affects: `"all"` where their gradients are swapped, too; `"values"` where they are not.
    """

    other: ValueName
    affects: Affects


def is_complement(program: Program, value: int, other: int) -> bool:
    """Return whether the value `other` is computed as 1 - `value`, as the second gate of z * h + (1 - z) * n is.

    Args:
        program: the program of a trial.
        value: the id of z.
        other: the id of 1 - z.
    """
    node = program.nodes[other]
    return node.name == "sub" and node.operand(1) == value and _number_in_slot(node, 0) == 1.0


def value_exchanges(program: Program, place: Place) -> Iterator[ValueExchange]:
    """Yield `ValueExchange`s: the name of a later value to exchange with a value, and what that affects.

    The later value has the same shape, and is 1 less the value, or is computed by an operation of the same name and not
    from the value. `"all"`: their gradients are swapped, too; `"values"`: they are not.

    Args:
        program: the program of a trial.
        place: the value: a node.
    """
    forward, value = program.forward, program.nodes[place[0]]
    if value.operation.family == "input":
        return
    for name, other in values_by_name(program, value.id, value.value.shape).items():
        alike = program.nodes[other].name == value.name and not forward.ancestors[other] >> value.id & 1
        if value.id < other and (alike or is_complement(program, value.id, other)) and forward.uses[other]:
            yield from (ValueExchange(name, affects) for affects in ("all", "values"))


@operator(
    "values-exchanged",
    code="wrong-operand",
    rank=3.5,
    at=values,
    choices=value_exchanges,
    fields=lambda program, place, choice: {
        "other": choice.other.describe(program),
        "whole": "this is the gradient of a forward pass in which " * (choice.affects == "all"),
        "but": " in the operations that use them, but their gradients are not" * (choice.affects == "values"),
    },
    message="{whole}{value} and {other} are swapped{but}",
)
def exchange_values(program: Program, place: Place, choice: ValueExchange) -> Program | None:
    """Exchange a value with a second one wherever either is read: z for 1 - z, and 1 - z for z.

    The second value itself is still computed as before.

    Args:
        program: the right program.
        place: the value: a node.
        choice: the name of the second value, and whether the gradients are swapped, too (`"all"`), or not
            (`"values"`).

    Returns:
        The rewritten program; `None` where this trial has no such value, or the first is read before the second is
        computed.
    """
    value, other = place[0], choice.other.find(program, place[0])
    if other is None:
        return None
    twins = {value: other, other: value}

    def change(node: Node) -> Node:
        """Return the node with the two values exchanged; its edges, too, if the choice affects all."""
        for slot, operand in node.operands:
            if operand in twins:
                twin = twins[operand]
                edge = twin if choice.affects == "all" else operand
                node = node.with_operand(slot, program.nodes[twin].value, edge)
        return node

    readers = [node.id for node in program.nodes if node.id != other and twins.keys() & dict(node.operands).values()]
    if any(reader < other for reader in readers):
        return None
    return program.with_nodes(dict.fromkeys(readers, change))


@exchange_values.example
def _() -> Example:
    """Show (1 - z) * n + z * h whose backward pass mixes with the two gates z and 1 - z exchanged."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        z = torch.sigmoid(x @ w + h @ u)
        return (1 - z) * torch.tanh(x @ w) + z * h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply h by 1 - z in place of z, and n by z in place of 1 - z."""
        z, n = torch.sigmoid(x @ w + h @ u), torch.tanh(x @ w)
        dn, dz = g * z * (1 - n**2), g * (n - h) * z * (1 - z)
        return {"w": x.T @ (dn + dz), "h": dz @ u.T + g * (1 - z), "x": (dn + dz) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m m", "h": "bs m"})


@exchange_values.example
def _() -> Example:
    """Show (x @ w) * silu(x @ v) whose two products are swapped in the values, but not their gradients."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        gate = x @ v
        return (x @ w) * (gate * gate.sigmoid())

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use silu(x @ w) * (x @ v) in place of (x @ w) * silu(x @ v), but keep the edges to w and v."""
        value, gate = x @ v, x @ w
        share = gate.sigmoid()
        dvalue, dgate = g * gate * share, g * value * share * (1 + gate * (1 - share))
        return {"x": dvalue @ w.T + dgate @ v.T, "w": x.T @ dvalue, "v": x.T @ dgate}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


# Iterations of a loop -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IterationShift:
    """A choice of a value of a loop that every reader takes from the next or the previous iteration.

    Args:
        key: the key of the nodes that make the value, one in each iteration.
        by: how many iterations later it is taken from; negative for earlier.
    """

    key: Key
    by: int


def loop_values(program: Program, key: Key) -> tuple[int, ...]:
    """Return the ids of a value that a loop makes once in each iteration, in the order of the iterations.

    For a loop-carried value, such as h in `h = tanh(h @ u)`, the id of its initial value comes first, unless that is a
    constant, which has no id.

    Args:
        program: the program of a trial.
        key: the key of the nodes that make the value, one in each iteration.
    """
    made = program.forward.by_key.get(key, ())
    carried_values = (carried for carried in loop_carried_values(program) if carried.made[0] in made)
    before = [carried.initial for carried in carried_values if carried.initial is not None]
    return (*before[:1], *made)


def iteration_shifts(program: Program, place: Place) -> Iterator[IterationShift]:
    """Yield `IterationShift`s by 1 and by -1, of each value that a loop carries, or selects from an array (`x[t]`).

    By 1: h of the next iteration is read in place of h of this one; by -1, that of the previous one. The loop must have
    three iterations or more; a loop-carried value that is a constant at first has no shifts.

    Args:
        program: the program of a trial.
        place: not read: the loops of the whole program are meant.
    """
    all_carried = loop_carried_values(program)
    handed_on = {program.nodes[each.made[0]].key for each in all_carried if each.initial is not None}
    for key, ids in program.forward.by_key.items():
        rows = program.nodes[ids[0]].name in ("select", "getitem") and len(program.nodes[ids[0]].operands) == 1
        if len(ids) > 2 and (rows or key in handed_on) and program.forward.uses[ids[0]]:
            yield from (IterationShift(key, by) for by in (1, -1))


@operator(
    "value-of-another-iteration",
    code="wrong-point",
    rank=3.0,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=iteration_shifts,
    fields=lambda program, place, choice: {
        "value": program.name_of(program.forward.by_key[choice.key][0]),
        "which": "next" if choice.by > 0 else "previous",
    },
    message="every iteration uses {value} of the {which} iteration in place of its own",
    hints=WHICH_ITERATION,
)
def shift_iteration(program: Program, place: Place, choice: IterationShift) -> Program | None:
    """Read a value of a loop from the next or the previous iteration wherever it is read, in both passes.

    For x[t] and a shift by 1: x[t + 1]. Gradients still go to the value of the right iteration. After the last
    iteration comes the first one, or the initial value. A node that reads it from several iterations at once, as a
    `stack`, stays right, and so do the nodes that make it.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: the key of the nodes that make the value, and by how many iterations it is shifted: 1 or -1.

    Returns:
        The rewritten program; `None` where nothing reads the value.
    """
    values = loop_values(program, choice.key)
    changes: dict[int, Change] = {}

    def with_values(others: Mapping[int, int]) -> Change:
        """Return the function that replaces a node's operands by others, by id; its edges stay."""

        def change(node: Node) -> Node:
            """Return the node with the values of the other iteration as its operands."""
            for slot, operand in node.operands:
                if operand in others:  # the gradient still goes to the right iteration
                    node = node.with_operand(slot, program.nodes[others[operand]].value, operand)
            return node

        return change

    others = {value: values[(i + choice.by) % len(values)] for i, value in enumerate(values)}
    for node in program.nodes:
        read = others.keys() & {operand for _, operand in node.operands}
        if read and len(read) == 1 and node.id != SINK and node.key != choice.key:
            changes[node.id] = with_values(others)
    return program.with_nodes(changes) if changes else None


@shift_iteration.example
def _() -> Example:
    """Show h = gate * h + (1 - gate) * x[t], whose vjps take the h after each iteration in place of the h before it."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            gate = torch.sigmoid(step @ w + h @ u)
            h = gate * h + (1 - gate) * step
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use in each iteration the state after it in place of the one before it."""
        gates, states = [], [h]
        for step in x:
            gates.append(torch.sigmoid(step @ w + states[-1] @ u))
            states.append(gates[-1] * states[-1] + (1 - gates[-1]) * step)
        dw, du, dh = torch.zeros_like(w), torch.zeros_like(u), g
        for t in reversed(range(len(x))):
            after = states[t + 1]
            gate = torch.sigmoid(x[t] @ w + after @ u)
            dz = dh * (after - x[t]) * gate * (1 - gate)
            dw, du = dw + x[t].T @ dz, du + after.T @ dz
            dh = dh * gate + dz @ u.T
        return {"w": dw, "u": du, "h": dh}

    return Example(forward, wrong, {"x": "t bs n", "w": "n n", "u": "n n", "h": "bs n"})


# Masks that end elsewhere in the backward pass ------------------------------------------------------------------------

COMPARISONS = ("gt", "lt", "ge", "le")


@dataclass(frozen=True)
class MaskEnd:
    """A wrong end of a mask that is made by a comparison of positions.

    Args:
        by: what is added to the left side of the comparison: 1 or -1.
        where: `"early"` if fewer positions are in the mask, else `"late"`.
    """

    by: int
    where: str

    @property
    def code(self) -> str:
        """Return the public code: `partial-batch` where fewer positions are in the mask, `wrong-operand` where more."""
        return "partial-batch" if self.where == "early" else "wrong-operand"


def mask_ends(program: Program, place: Place) -> Iterator[MaskEnd]:
    """Yield the two wrong `MaskEnd`s: for a mask with one position less, and with one more.

    Args:
        program: the program of a trial.
        place: the node of the comparison, such as `t < lengths`.
    """
    early = 1 if program.nodes[place[0]].name in ("lt", "le") else -1
    yield MaskEnd(early, "early")
    yield MaskEnd(-early, "late")


def compares_whole_numbers(program: Program, place: Place) -> bool:
    """Return whether the node `place` compares whole numbers, such as positions with lengths, and so makes a mask."""
    kinds = [np.asarray(value).dtype.kind for value in program.nodes[place[0]].values]
    return len(kinds) == 2 and all(kind in "iu" for kind in kinds)


def with_masks_in_backward_pass(program: Program, changes: Mapping[int, Array]) -> Program:
    """Return the program whose backward pass uses other masks or index arrays than the forward pass.

    What is computed from a changed mask without a gradient, such as a cast, is changed with it; the vjps of all nodes
    that read a changed array take it as their operand.

    Args:
        program: the program that is edited.
        changes: by id of a mask or index array, which has no gradient, the array that takes its place.
    """
    forward, values = program.right.forward, dict(changes)
    for node in forward.nodes:
        read = {slot: values[operand] for slot, operand in node.operands if operand in values}
        if not read or node.id in changes:
            continue
        operands = tuple(read.get(slot, own) for slot, own in enumerate(node.values))
        if forward.edges[node.id]:
            program = with_node_in_backward_pass(program, node.with_value(operands, node.value))
        else:
            values[node.id] = node.operation.run(operands, node.options)
    return program


@operator(
    "mask-ends-elsewhere",
    code=lambda choice: choice.code,
    rank=2.6,
    at=nodes.of(*COMPARISONS).where(compares_whole_numbers),
    choices=mask_ends,
    message="in the backward pass, the mask {step} ends one position too {where}",
    fields=lambda program, place, choice: {"where": choice.where},
)
def end_mask_elsewhere(program: Program, place: Place, choice: MaskEnd) -> Program:
    """Compute the backward pass with a mask in which a position is compared with a number that is off by one.

    For t < lengths and a mask that ends too early: t + 1 < lengths.

    Args:
        program: the right program.
        place: the node of the comparison.
        choice: what is added to its left side.

    Returns:
        The rewritten program.
    """
    node = program.right.nodes[place[0]]
    first, second = node.values
    mask = node.operation.run((np.asarray(first) + choice.by, second), node.options)
    return with_masks_in_backward_pass(program, {node.id: mask})


@end_mask_elsewhere.example
def _() -> Example:
    """Show sums of tanh(x @ w) over the first lengths[i] positions, whose backward pass leaves out the last one."""

    def forward(x: Tensor, w: Tensor, lengths: Tensor) -> Tensor:
        live = torch.arange(x.shape[1]) < lengths[:, None]
        return (torch.tanh(x @ w) * live[..., None]).sum(1)

    def wrong(x: Tensor, w: Tensor, lengths: Tensor, g: Tensor) -> dict[str, Tensor]:
        live = torch.arange(x.shape[1]) < lengths[:, None] - 1
        dz = g[:, None] * live[..., None] * (1 - torch.tanh(x @ w) ** 2)
        return {"w": torch.einsum("btn,btm->nm", x, dz), "x": dz @ w.T}

    lengths = Sampler("bs", lambda rng, setting, shape: 1 + np.arange(shape[0]) % setting.sizes["t"])
    return Example(forward, wrong, {"x": "bs t n", "w": "n m", "lengths": lengths})


# Parts that are computed again for the backward pass -----------------------------------------------------------------

MOST_IN_PART = 8  # operations that are computed again from a wrong value


@dataclass(frozen=True)
class RecomputedPart:
    """A chain of operations, from a node on, that the backward pass computes again, from a wrong value.

    Args:
        slot: the slot in which the node reads the value.
        other: the name of the wrong value.
    """

    slot: int
    other: ValueName


def chain_from(program: Program, first: int) -> tuple[int, ...]:
    """Return the ids of a node, its only reader, the only reader of that one, and so on.

    For the product in tanh(h @ u) * v + b: those of `@`, tanh and `*`. The chain ends where a value has several
    readers or is an output, before a sum, difference, `cat`, `stack` or assignment, or after `MOST_IN_PART` nodes.

    Args:
        program: the program of a trial.
        first: the id of the first node.
    """
    part = [first]
    while len(part) < MOST_IN_PART:
        uses = program.forward.uses[part[-1]]
        if len(uses) != 1 or uses[0][0] == SINK or program.nodes[uses[0][0]].name in (*SUMS, "stack", "cat", "write"):
            break
        part.append(uses[0][0])
    return tuple(part)


def recomputed_parts(program: Program, place: Place) -> Iterator[RecomputedPart]:
    """Yield `RecomputedPart`s: the slot of an operand of a node, and a value in its place where the node is run again.

    The value has the shape of the operand, and is the same variable at another time, such as a state after a step in
    place of that before it. Nothing is yielded for a rearrangement, such as a transpose, and unless a single node, and
    no sum or `stack`, reads the node's value.

    Args:
        program: the program of a trial.
        place: the node.
    """
    node = program.nodes[place[0]]
    part = chain_from(program, node.id)
    if len(part) < 2 or node.operation.family == "rearrangement":
        return
    for slot, operand in program.forward.edges[node.id]:
        for name, other in values_by_name(program, node.id, program.nodes[operand].value.shape).items():
            if other not in (operand, *part) and is_twin(program, operand, other):
                yield RecomputedPart(slot, name)


def is_twin(program: Program, value: int, other: int) -> bool:
    """Return whether two values are one variable at different times: before and after a step, say.

    One expression makes both, in other iterations or calls; or one is what a loop begins with, and the other what an
    iteration makes of it; or they are assigned to one variable.

    Args:
        program: the program of a trial.
        value: the id of one value.
        other: the id of the other.
    """
    own, another = program.nodes[value], program.nodes[other]
    if own.key == another.key or (own.edges and own.key[-3:] == another.key[-3:]):
        return True
    if own.variable and own.variable == another.variable:
        return True
    return any(
        each.initial in (value, other) and (value in each.made or other in each.made)
        for each in cached_loop_carried_values(program)
    )


def names_of_twins(program: Program, place: Place, choice: RecomputedPart) -> dict[str, str]:
    """Return the fields `own` and `other` of a message: the right operand and the wrong value, by different names.

    Such as "q" and "the later q", or "h of the previous iteration" and "h of the same iteration".

    Args:
        program: the program of a trial.
        place: the node that reads the operand.
        choice: the slot of the operand, and the name of the wrong value.
    """
    operand, value = program.source((place[0], choice.slot)), choice.other.find(program, place[0])
    own, other = name_read_by(program, place[0], operand), choice.other.describe(program)
    if own == other and value is not None:
        other = f"the {'later' if value > operand else 'earlier'} {other}"
    elif own == f"{other} of the previous iteration":
        other = f"{other} of the same iteration"
    return {"own": own, "other": other}


@operator(
    "recomputed-at-another-value",
    code="wrong-point",
    rank=2.7,
    at=nodes.where(lambda program, place: bool(program.forward.edges[place[0]])).in_every_iteration,
    choices=recomputed_parts,
    message="the backward pass of {part} is computed with {other} in place of {own}",
    fields=lambda program, place, choice: {
        "part": expression_of(program, program.nodes[chain_from(program, place[0])[-1]]),
        **names_of_twins(program, place, choice),
    },
)
def recompute_part(program: Program, place: Place, choice: RecomputedPart) -> Program | None:
    """Compute the vjps of a chain of operations with values that are run again from a wrong operand of the first one.

    For c * sin(q @ w) and q after the step in place of q before it: all contributions of this expression, those to w
    and c too, are taken at the later q.

    Args:
        program: the right program.
        place: the first node of the chain, q @ w in the example.
        choice: the slot of the operand, and the name of the wrong value.

    Returns:
        The rewritten program; `None` where this trial has no such value or slot.

    Raises:
        NoCandidate: an operation gets another shape with this value.
    """
    forward = program.right.forward
    other = named_array(program.right, choice.other, place[0])
    if other is None or forward.nodes[place[0]].operand(choice.slot) is None:
        return None
    values = dict[int, Array]()
    for number, i in enumerate(chain_from(program.right, place[0])):
        node = forward.nodes[i]
        operands = [values.get(dict(node.operands).get(slot, -1), own) for slot, own in enumerate(node.values)]
        if number == 0:
            operands[choice.slot] = other
        values[i] = node.operation.run(operands, node.options)
        if np.shape(values[i]) != node.value.shape:
            raise NoCandidate("the part has another shape with this value")
        program = with_node_in_backward_pass(program, node.with_value(tuple(operands), values[i]))
    return program


def with_node_in_backward_pass(program: Program, node: Node) -> Program:
    """Return the program in which the vjps of a node take the operands and the value of a changed node.

    Args:
        program: the program that is edited.
        node: the changed node, with the id and the slots of the right one.
    """

    def of_node(before: EdgeVjp) -> EdgeVjp:
        """Return the vjp that is computed with the changed node."""
        return lambda at: before(at._replace(node=node))

    for slot, _ in program.forward.edges[node.id]:
        place = (node.id, slot)
        program = program.with_vjp(place, of_node(program.edited_vjps.get(place, EdgeContext.right)))
    return program


@recompute_part.example
def _() -> Example:
    """Show steps p = p - sin(q @ w) @ w.T / 3, q = q + p / 3, whose sine is differentiated at the later q."""

    def forward(q: Tensor, p: Tensor, w: Tensor) -> Tensor:
        for _ in range(4):
            p = p - torch.sin(q @ w) @ w.T / 3
            q = q + p / 3
        return q * p

    def wrong(q: Tensor, p: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [(q, p)]
        for _ in range(4):
            p = p - torch.sin(q @ w) @ w.T / 3
            q = q + p / 3
            states.append((q, p))
        dq, dp, dw = g * p, g * q, torch.zeros_like(w)
        for i in reversed(range(4)):
            dp = dp + dq / 3
            later = states[i + 1][0]
            z = later @ w
            df = -dp / 3
            dw += df.T @ torch.sin(z)
            dz = df @ w * torch.cos(z)
            dw += later.T @ dz
            dq = dq + dz @ w.T
        return {"q": dq, "p": dp, "w": dw}

    return Example(forward, wrong, {"q": "bs n", "p": "bs n", "w": "n m"})


def twin_calls(program: Program, place: Place) -> tuple[tuple[int, int], ...]:
    """Return the nodes of two calls of one function in pairs: a node of the earlier call, and that of the later one.

    Args:
        program: the program of a trial.
        place: a node: the first one of the earlier call; in a loop, that of the first iteration.

    Returns:
        The pairs of all iterations; none where the function is not called exactly twice, or `place` is another node.
    """
    node, forward = program.nodes[place[0]], program.forward
    if not node.call or node.iteration or node.operation.family == "input":
        return ()
    pairs = list[tuple[int, int]]()
    for key, ids in forward.by_key.items():
        if key[:-3] != node.key[:-3] or len(key) != len(node.key):
            continue
        twins = dict.fromkeys(forward.nodes[i].key for i in forward.groups["source"].get(key[-3:], ()))
        if ids[0] < node.id or len(twins) != 2 or next(iter(twins)) != key:
            return ()
        _, other = twins
        if len(forward.by_key[other]) != len(ids):
            return ()
        pairs += zip(ids, forward.by_key[other], strict=True)
    return tuple(pairs)


def describe_twin_calls(program: Program, place: Place) -> str:
    """Return the two calls in words: `` `f(q)` and `f(p)` ``, or `` the two calls `f(q)` `` where they read alike.

    Args:
        program: the program of a trial.
        place: the first node of the earlier call.
    """
    calls = [f"`{call}`" for call in dict.fromkeys(program.nodes[i].call for i in twin_calls(program, place)[0])]
    return " and ".join(calls) if len(calls) > 1 else f"the two calls {calls[0]}"


@operator(
    "calls-exchanged",
    code="wrong-order",
    rank=2.7,
    at=nodes.where(lambda program, place: bool(twin_calls(program, place))).in_every_iteration,
    choices=lambda program, place: (None,),
    message="the backward passes of {calls} are swapped: each is computed with the values of the other",
    fields=lambda program, place, choice: {"calls": describe_twin_calls(program, place)},
)
def exchange_calls(program: Program, place: Place, choice: None) -> Program | None:
    """Compute the vjps of two calls of one function with each other's values, as if they had run in the other order.

    For p + f(q) and, after q has moved, p + f(q) again.

    Args:
        program: the right program.
        place: the first node of the earlier call.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where this trial has no second call, or two nodes of a pair differ in shape.
    """
    pairs = twin_calls(program.right, place)
    for own, other in (pair for first, second in pairs for pair in ((first, second), (second, first))):
        node, twin = program.right.nodes[own], program.right.nodes[other]
        if node.value.shape != twin.value.shape:
            return None
        program = with_node_in_backward_pass(program, node.with_value(twin.values, twin.value))
    return program if pairs else None


@exchange_calls.example
def _() -> Example:
    """Show p + f(q) / 4 before and after a step of q, whose two f are each differentiated at the q of the other."""

    def forward(q: Tensor, p: Tensor, w: Tensor) -> Tensor:
        def force(q: Tensor) -> Tensor:
            return -torch.sin(q @ w) @ w.T

        for _ in range(3):
            p = p + force(q) / 4
            q = q + p / 2
            p = p + force(q) / 4
        return q * p

    def wrong(q: Tensor, p: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [q]
        for _ in range(3):
            p = p - torch.sin(states[-1] @ w) @ w.T / 4
            states.append(states[-1] + p / 2)
            p = p - torch.sin(states[-1] @ w) @ w.T / 4
        dq, dp, dw = g * p, g * states[-1], torch.zeros_like(w)
        for i in reversed(range(3)):
            for number, at in enumerate((states[i], states[i + 1])):
                df = -dp / 4
                dz = df @ w * torch.cos(at @ w)
                dw += at.T @ dz + df.T @ torch.sin(at @ w)
                dq = dq + dz @ w.T
                if number == 0:
                    dp = dp + dq / 2
        return {"q": dq, "p": dp, "w": dw}

    return Example(forward, wrong, {"q": "bs n", "p": "bs n", "w": "n m"})


@dataclass(frozen=True)
class LoopStart:
    """A choice of loop-carried values, and of the wrong values that the loop begins with.

    Args:
        keys: the keys of the nodes that make the loop-carried values.
        start: `"zeros"`, or `"the last state"`: each loop-carried value after the last iteration.
    """

    keys: tuple[Key, ...]
    start: str


def loop_starts(program: Program, place: Place) -> Iterator[LoopStart]:
    """Yield `LoopStart`s: loop-carried values of floats, and their wrong initial state: zeros or their last state.

    Each value comes alone, and then all of them together, if there are several. Those that begin with a constant are
    left out.

    Args:
        program: the program of a trial.
        place: not read: the loops of the whole program are meant.
    """
    nodes = program.nodes
    starts = {nodes[each.made[0]].key: each.initial for each in cached_loop_carried_values(program)}
    keys = [key for key, initial in starts.items() if initial is not None and nodes[initial].value.dtype.kind == "f"]
    for together in dict.fromkeys([*((key,) for key in keys), tuple(keys)] if keys else []):
        yield from (LoopStart(together, start) for start in ("zeros", "the last state"))


@operator(
    "recomputed-from-another-state",
    code="wrong-point",
    rank=3.5,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=loop_starts,
    fields=lambda program, place, choice: {"start": choice.start},
    message="the forward loop is run again for the backward pass, but from {start}; it must start from its initial"
    " state",
)
def recompute_loop_from_wrong_state(program: Program, place: Place, choice: LoopStart) -> Program | None:
    """Compute the values of a loop from a wrong initial state, zeros or its last state, and its vjps at these values.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: which loop-carried values, and what each begins with, `"zeros"` or `"the last state"`.

    Returns:
        The rewritten program; `None` where this trial has no such loop-carried value, or it begins with another shape.
    """
    nodes, reads = program.nodes, dict[int, dict[int, Array]]()
    for carried in cached_loop_carried_values(program):
        key = nodes[carried.made[0]].key
        if key in choice.keys and carried.initial is not None:
            last, first = (nodes[i].value for i in (program.forward.by_key[key][-1], carried.initial))
            state = np.zeros_like(first) if choice.start == "zeros" else last
            if state.shape != first.shape:
                return None
            reads.setdefault(program.forward.by_key[carried.key][0], {})[carried.slot] = state

    def reading(states: Mapping[int, Array]) -> Change:
        """Return the function that replaces operands of a node by the given arrays, by slot; its edges stay."""

        def change(node: Node) -> Node:
            """Return the node with these operands."""
            for slot, state in states.items():
                node = node.with_operand(slot, state, node.operand(slot))
            return node

        return change

    return program.with_nodes({reader: reading(states) for reader, states in reads.items()}) if reads else None


@recompute_loop_from_wrong_state.example
def _() -> Example:
    """Show h = tanh(x[t] + h @ u), whose vjps take states that are run again from the last h, not the initial one."""

    def forward(x: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step + h @ u)
        return h

    def wrong(x: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the states from the last state in place of the initial one, as if that had been overwritten."""
        end = forward(x, u, h)
        states = [end]
        for step in x:
            states.append(torch.tanh(step + states[-1] @ u))
        du, dh, dx = torch.zeros_like(u), g, torch.zeros_like(x)
        for t in reversed(range(len(x))):
            dx[t] = dh * (1 - states[t + 1] ** 2)
            du += states[t].T @ dx[t]
            dh = dx[t] @ u.T
        return {"x": dx, "u": du, "h": dh}

    return Example(forward, wrong, {"x": "t bs n", "u": "n n", "h": "bs n"})


# The order of operations --------------------------------------------------------------------------------------------


def exchangeable_reader(program: Program, place: Place) -> Node | None:
    """Return the only reader of a node's value, if the two operations may be done in the other order.

    For the node of `z + b` in `tanh(z + b)`: the node of the tanh, since tanh(z) + b can be computed, too. Both must
    keep the shape, and all further operands of the reader must be computed before the node.

    Args:
        program: the program of a trial.
        place: the node.

    Returns:
        The reader; `None` where there are several, or it cannot come first.
    """
    node = program.nodes[place[0]]
    readers = [other for other in program.nodes[node.id + 1 :] if node.id in dict(other.operands).values()]
    if len(readers) != 1 or node.id in program.forward.outputs or not node.operands:
        return None
    (reader,) = readers
    slots = [slot for slot, operand in reader.operands if operand == node.id]
    before = all(operand < node.id for _, operand in reader.operands if operand != node.id)
    operand = first_slot_of_shape(node)
    same = operand is not None and np.shape(node.values[operand]) == node.value.shape == reader.value.shape
    return reader if same and before and len(slots) == 1 and reader.value.dtype == node.value.dtype else None


def first_slot_of_shape(node: Node) -> int | None:
    """Return the slot of a node's first floating-point operand that has the shape of its value.

    Return `None` where it has none.
    """
    slots = (slot for slot, _ in node.operands if np.shape(node.values[slot]) == node.value.shape)
    return next((slot for slot in slots if np.asarray(node.values[slot]).dtype.kind == "f"), None)


def has_noncommuting_reader(program: Program, place: Place) -> bool:
    """Return whether the node `place` and its only reader may give something else in the other order: tanh(z) + b.

    False where each is a sum or negation, or each a product or negation; and where the node has several readers, or a
    reader that cannot come first.
    """
    reader = exchangeable_reader(program, place)
    linear = (*SUMS, "neg")
    return reader is not None and not ({reader.name, program.nodes[place[0]].name} <= {*linear} or
                                       {reader.name, program.nodes[place[0]].name} <= {*PRODUCTS, "neg"})  # fmt: skip


def exchange_affects(program: Program, place: Place) -> tuple[Affects, ...]:
    """Return where an exchange of two operations may take effect: `("all", "values", "backward")`; no argument is read.

    `"all"`, in both passes; `"values"`, in the values but not in the two vjps; `"backward"`, in the two vjps alone.
    """
    return ("all", "values", "backward")


@operator(
    "operations-in-another-order",
    code="wrong-local",
    rank=4.5,
    at=nodes.where(has_noncommuting_reader),
    choices=exchange_affects,
    fields=lambda program, place, choice: {
        "next": expression_of(program, reader)
        if (reader := exchangeable_reader(program, place))
        else "the next operation",
        "where": describe_affects(program, choice),
    },
    message="{step} is applied after {next}{where}; it must be applied before it",
)
def exchange_operations(program: Program, place: Place, choice: Affects) -> Program | None:
    """Do an operation after the one that reads its value, and not before: the softmax before the mask, say.

    Args:
        program: the right program.
        place: the node of the operation that comes first.
        choice: where the exchange takes effect: `"all"`, in both passes; `"values"`, in the values but not in the two
            vjps; `"backward"`, in the two vjps alone.

    Returns:
        The rewritten program; `None` where the two cannot be swapped in this trial.
    """
    own, reader = program.nodes[place[0]], exchangeable_reader(program, place)
    slot = first_slot_of_shape(own)
    if reader is None or slot is None:
        return None
    into = next(s for s, operand in reader.operands if operand == own.id)
    operand = own.operand(slot)

    def earlier(node: Node) -> Node:
        """Return the later operation, of what the earlier one reads."""
        moved = reader.with_operand(into, node.values[slot], operand)
        return replace(moved, id=node.id, key=node.key)

    def later(node: Node) -> Node:
        """Return the earlier operation, of what the later one gives; what is masked there is 0."""
        fills = own.name == "masked_fill" and np.ndim(own.values[2]) == 0 and not np.isfinite(own.values[2])
        return replace(
            (own.with_operand(2, 0.0) if fills else own).with_operand(slot, node.values[into], own.id),
            id=node.id,
            key=node.key,
        )

    return program.with_nodes({own.id: earlier, reader.id: later}, choice)


@exchange_operations.example
def _() -> Example:
    """Show softmax(masked x @ w) @ v, causal, whose backward pass applies the mask after the softmax."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        scores = x @ w
        return scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf).softmax(-1) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Set masked probabilities to 0 after the softmax, in place of masking the scores before it."""
        p = (x @ w).softmax(-1)
        return {"v": p.masked_fill(torch.ones_like(p).tril() == 0, 0).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})
