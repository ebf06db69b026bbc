"""Another forward pass: an operation that is left out, another number, function, operand, option or order.

What is changed may reach the values, the backward pass, or both; the code and the message depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import SINK, Change, Key, Node, Place
from grader.program.operation import OPERATIONS, Array
from grader.program.program import Affects, Program
from grader.program.queries import idle_edges, loop_carried_values
from grader.program.selectors import ComputedValue, NamedValue, ValueName, values_by_name
from grader.sampling import normal, positive, sized

from .contract import Example, operator
from .inputs import is_bias
from .places import expression_of, nodes, outputs, values

PASSES: Mapping[Affects, str] = {
    "all": "in the forward pass and in the backward pass",
    "values": "in the forward pass alone",
    "backward": "in the backward pass alone",
    "partners": "in the values that gradients are multiplied by",
}
SUMS, PRODUCTS, MASKING = ("add", "sub"), ("mul", "div"), ("masked_fill", "where")
# What a number is as if it were missing.
NEUTRAL: Mapping[str, float] = {**dict.fromkeys(SUMS, 0.0), **dict.fromkeys(PRODUCTS, 1.0), "pow": 1.0,
                                **dict.fromkeys(MASKING, 0.0), "clamp": 0.0}  # fmt: skip


def where_words(program: Program, affects: Affects) -> str:
    """Return in which passes something is wrong; where a value is asked for, the forward pass is all that is known."""
    return "in the forward pass" if program.is_value else PASSES[affects]


def is_mask(node: Node) -> bool:
    """Return whether a value takes no part in gradients: it is a mask, or made of whole numbers."""
    return node.value.dtype.kind != "f"


def passes(node: Node, *names: Affects) -> tuple[Affects, ...]:
    """Return in which passes a node may be another one; for a mask there is one way."""
    return ("all",) if is_mask(node) else names


# Operations left out ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOut:
    """An operation that is left out.

    Args:
        kept: the slot of the operand that is used in place of its value.
        affects: where it is.
        code: the public code.
    """

    kept: int
    affects: Affects
    code: str


def code_of_left_out(program: Program, node: Node, kept: int, affects: Affects) -> str:
    """Return the public code of an operation that is left out."""
    if node.name in SUMS:
        left = [(slot, operand) for slot, operand in node.operands if slot != kept]
        tells = (is_bias(program, operand) or (node.id, slot) in idle_edges(program) for slot, operand in left)
        return "wrong-point" if program.is_value or all(tells) else "missing-path"
    if node.name in ("transpose", "permute"):
        return "transposed"
    if is_mask(node):
        return "inverted-mask"
    if affects == "partners":
        return "wrong-operand"
    return "wrong-point" if affects == "values" or node.name in ("masked_fill", "where") else "missing-local"


def ways_to_leave_out(program: Program, place: Place) -> Iterator[LeftOut]:
    """Yield the operands that may be used in place of an operation's value: those of its shape."""
    node = program.nodes[place[0]]
    modes: tuple[Affects, ...] = ("all",) if node.name in SUMS else ("all", "values", "partners")
    with_number = node.name in NEUTRAL and node.name not in (*MASKING, "clamp") and len(node.operands) < 2
    if node.name == "detach" or with_number:
        return  # that is a branch, or a number that is missing
    for slot, operand in node.operands:
        value = program.nodes[operand].value
        if value.shape == node.value.shape and value.dtype.kind == node.value.dtype.kind:
            for affects in passes(node, *modes):
                yield LeftOut(slot, affects, code_of_left_out(program, node, slot, affects))


def left_out_fields(program: Program, place: Place, choice: LeftOut) -> dict[str, str]:
    """Return what is left out of an operation with several operands, and where."""
    node = program.nodes[place[0]]
    others = [program.name_of(operand) for slot, operand in node.operands if slot != choice.kept]
    if node.name in MASKING:
        what = "the mask of "
    else:
        what = f"{' and '.join(others)} in " if others else ""
    return {"what": what, "where": where_words(program, choice.affects)}


def _number(node: Node, slot: int) -> float:
    """Return the number in a slot; NaN where an array is there."""
    return float(node.values[slot]) if np.ndim(node.values[slot]) == 0 else math.nan


@operator(
    "operation-left-out",
    code=lambda choice: choice.code,
    rank=3.5,
    at=nodes,
    choices=ways_to_leave_out,
    fields=left_out_fields,
    message="{what}{step} is left out {where}",
)
def leave_out(program: Program, place: Place, choice: LeftOut) -> Program | None:
    """Use an operand in place of an operation's value."""
    if choice.kept >= len(program.nodes[place[0]].values):
        return None
    return program.with_nodes({place[0]: lambda node: without_operation(node, choice.kept)}, choice.affects)


def without_operation(node: Node, kept: int) -> Node:
    """Return a node whose value is one of its operands, negated where a difference loses the first one."""
    if node.name == "sub" and kept == 1:
        return node.with_operation(OPERATIONS["neg"], (1,))
    return node.without_operation(kept)


@leave_out.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.tanh(x @ w).square() @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the values without the tanh, and then its derivative at them."""
        z = x @ w
        return {"w": x.T @ (g @ u.T * 2 * z * (1 - z**2)), "u": (z**2).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m k"})


@leave_out.example
def _() -> Example:
    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.T
        seen = torch.ones_like(scores).tril() == 1
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Forget the causal mask when the probabilities are computed once more."""
        return {"v": (q @ k.T).softmax(-1).T @ g}

    return Example(forward, wrong, {"q": "t n", "k": "t n", "v": "t m"})


def broadcasts_otherwise(program: Program, place: Place) -> bool:
    """Return whether an operation only gives its operand another shape, which something may broadcast in its place."""
    node = program.nodes[place[0]]
    kinds = ("unsqueeze", "reshape", "squeeze", "getitem", "transpose", "permute")
    same = node.value.size == np.size(node.values[0]) and len(node.operands) == 1
    return node.name in kinds and same and node.value.shape != np.shape(node.values[0])


@operator(
    "shapes-not-aligned",
    code="broadcast-accident",
    rank=3.6,
    at=nodes.where(broadcasts_otherwise),
    message="without {step} what follows is broadcast along other axes",
)
def leave_out_alignment(program: Program, place: Place, choice: None) -> Program | None:
    """Leave out an operation that lines axes up, so that what follows is broadcast otherwise."""
    return program.with_nodes({place[0]: lambda node: node.without_operation()})


@leave_out_alignment.example
def _() -> Example:
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
    "one too great": lambda c: c + 1,
    "one too small": lambda c: c - 1,
    "taken from 1": lambda c: 1 - c,
}


SMALL = 1e-3  # a number that only keeps a denominator from being 0, or a logarithm from being infinite
LARGER: Mapping[str, float] = {f"replaced by {number:g}": number for number in (1.0, 0.1, 0.01, 0.001)}


@dataclass(frozen=True)
class OtherNumber:
    """Another number in an operation of the forward pass.

    Args:
        slot: which operand it is; `None` for an option.
        option: the option's name.
        how: what becomes of it, of `OTHER_NUMBERS` or `LARGER`; or `"missing"`.
        affects: where it does.
        code: the public code.
    """

    slot: int | None
    option: str
    how: str
    affects: Affects
    code: str

    def number(self, node: Node) -> float:
        """Return the number in the given forward pass."""
        return _number(node, self.slot) if self.slot is not None else float(str(node.options[self.option]))

    def change(self, node: Node) -> Node:
        """Return the node with the other number."""
        number = self.number(node)
        if self.how in LARGER:
            other = LARGER[self.how]
        else:
            other = NEUTRAL[node.name] if self.how == "missing" else OTHER_NUMBERS[self.how](number)
        if self.slot is not None:
            return node.with_operand(self.slot, other)
        return node.with_options(**{self.option: other})


NUMBER_OPTIONS = ("negative_slope", "alpha", "beta", "diagonal", "shifts", "correction", "p")


def other_numbers(program: Program, place: Place) -> Iterator[OtherNumber]:
    """Yield what may become of the numbers of an operation, and where."""
    node = program.nodes[place[0]]
    known = dict(node.operands)
    slots = (
        [slot for slot, value in enumerate(node.values) if slot not in known and np.ndim(value) == 0] if known else []
    )
    for slot in slots:
        number = _number(node, slot)
        modes: tuple[Affects, ...] = ("all",) if node.name in SUMS else ("all", "values", "backward")
        code = "wrong-factor" if node.name in PRODUCTS else "wrong-point"
        for affects in passes(node, *modes):
            if node.name in NEUTRAL and number != NEUTRAL[node.name]:
                is_function = node.name in (*PRODUCTS, "pow") and affects != "values"
                yield OtherNumber(slot, "", "missing", affects, "missing-local" if is_function else "wrong-point")
            if 0 < abs(number) <= SMALL:
                yield from (OtherNumber(slot, "", how, affects, code) for how in LARGER)
            if math.isfinite(number):
                for how, change in OTHER_NUMBERS.items():
                    if change(number) != number:
                        yield OtherNumber(slot, "", how, affects, code)
    for option in NUMBER_OPTIONS:
        value = node.options.get(option)
        if isinstance(value, int | float) and not isinstance(value, bool):
            for how in ("negated", "one too great", "one too small", "inverted"):
                if (changed := OTHER_NUMBERS[how](value)) != value and (
                    type(value) is float or changed == int(changed)
                ):
                    code = "inverted-mask" if option == "diagonal" else "wrong-local"
                    for affects in passes(node, "all", "values", "backward"):
                        yield OtherNumber(None, option, how, affects, code)


def is_masked_with_infinity(program: Program, place: Place) -> bool:
    """Return whether entries are set to minus infinity, so that nothing is left of them behind a softmax."""
    node = program.nodes[place[0]]
    return node.name in MASKING and -math.inf in [_number(node, slot) for slot in range(len(node.values))]


@operator(
    "masked-with-zeros",
    code="wrong-point",
    rank=3.4,
    at=nodes.where(is_masked_with_infinity),
    message="in {step} masked entries are set to 0 and not to minus infinity, and the gradient goes through them",
)
def mask_with_zeros(program: Program, place: Place, choice: None) -> Program | None:
    """Set entries to 0 that must have no weight in a softmax, and hand the gradient on to them as to all others."""

    def change(node: Node) -> Node:
        slot = next(slot for slot in range(len(node.values)) if _number(node, slot) == -math.inf)
        kept = next(slot for slot, operand in node.operands if program.nodes[operand].value.dtype.kind == "f")
        values = (*node.values[:slot], 0.0, *node.values[slot + 1 :])
        zeroed = node.operation.run(values, node.options)
        return node.without_operation(kept).then(lambda _: zeroed)

    return program.with_nodes({place[0]: change})


@mask_with_zeros.example
def _() -> Example:
    def forward(scores: Tensor, v: Tensor) -> Tensor:
        later = torch.ones_like(scores).triu(1).bool()
        return scores.masked_fill(later, float("-inf")).softmax(-1) @ v

    def wrong(scores: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = scores.tril().softmax(-1)
        dp = g @ v.T
        return {"scores": p * (dp - (p * dp).sum(-1, keepdim=True)), "v": p.T @ g}

    return Example(forward, wrong, {"scores": "t t", "v": "t m"})


def describe_number(program: Program, place: Place, number: float) -> str:
    """Return what a number is made of, where it is made of a size and nobody would write it out; else the number."""
    is_written = not math.isfinite(number) or math.isclose(number, round(number, 4))
    made = None if is_written else made_of_size(number, sizes_seen_from(program, place[0]))
    return f"the number {number:.3g}" if made is None else made[0].format(made[1].describe(program))


def number_fields(program: Program, place: Place, choice: OtherNumber) -> dict[str, str]:
    """Return which number is another one, how, and where."""
    return {
        "number": describe_number(program, place, choice.number(program.nodes[place[0]])),
        "how": choice.how,
        "where": where_words(program, choice.affects),
    }


@operator(
    "number-missing",
    code=lambda choice: choice.code,
    rank=3.4,  # as an operation that is left out
    at=nodes,
    choices=lambda program, place: (each for each in other_numbers(program, place) if each.how == "missing"),
    fields=number_fields,
    message="{number} of {step} is missing {where}",
)
def leave_out_number(program: Program, place: Place, choice: OtherNumber) -> Program | None:
    """Leave out the number in an operation."""
    return program.with_nodes({place[0]: choice.change}, choice.affects)


@leave_out_number.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 0.5).sqrt() * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out the small number in the root."""
        n, rms = x.shape[-1], x.square().mean(-1, keepdim=True).sqrt()
        y = x / rms
        return {"x": (g * w - y * (g * w * y).sum(-1, keepdim=True) / n) / rms, "w": (g * y).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n"})


@leave_out_number.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return ((x @ w) / 3.0).softmax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the probabilities without the temperature, and divide by it on the way back."""
        p = (x @ w).softmax(-1)
        dz = p * (g - (p * g).sum(-1, keepdim=True)) / 3
        return {"x": dz @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "number-mistaken",
    code=lambda choice: choice.code,
    rank=4.0,
    at=nodes,
    choices=lambda program, place: (each for each in other_numbers(program, place) if each.how != "missing"),
    fields=number_fields,
    message="{number} of {step} is {how} {where}",
)
def mistake_number(program: Program, place: Place, choice: OtherNumber) -> Program | None:
    """Take another number in an operation."""
    return program.with_nodes({place[0]: choice.change}, choice.affects)


@mistake_number.example
def _() -> Example:
    def forward(scores: Tensor, v: Tensor) -> Tensor:
        return scores.softmax(-1).tril(1) @ v

    def wrong(scores: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"v": scores.softmax(-1).tril(0).T @ g}

    return Example(forward, wrong, {"scores": "t t", "v": "t m"})


FORMS: Mapping[str, Callable[[float], float]] = {
    "{}": lambda n: n, "sqrt({})": math.sqrt, "1 / {}": lambda n: 1 / n, "1 / sqrt({})": lambda n: 1 / math.sqrt(n),
}  # fmt: skip


@dataclass(frozen=True)
class Size:
    """The size of an axis of an input, or of a value that an operation is computed from.

    Args:
        value: its name, seen from the operation.
        axis: counted from the end.
    """

    value: ValueName
    axis: int

    def of(self, program: Program, reader: int) -> int | None:
        """Return the size; `None` where there is no such value, or axis."""
        value = self.value.find(program, reader)
        shape = () if value is None else program.nodes[value].value.shape
        return shape[self.axis] if len(shape) >= -self.axis else None

    def describe(self, program: Program) -> str:
        """Return it as a learner writes it."""
        return f"{self.value.describe(program)}.shape[{self.axis}]"


@dataclass(frozen=True)
class OtherSize:
    """The size of another axis in a number that is made of a size.

    Args:
        slot: the operand.
        form: how the number is made, of `FORMS`.
        right: the size that it is made of.
        wrong: the size that is taken.
        affects: where it is.
    """

    slot: int
    form: str
    right: Size
    wrong: Size
    affects: Affects


def sizes_seen_from(program: Program, reader: int) -> dict[int, Size]:
    """Return for every size above 1 of an input, or of a value that a node is computed from, a name of it."""
    sizes: dict[int, Size] = {}
    for name, value in values_by_name(program, reader).items():
        if isinstance(name, NamedValue) or (value < reader and program.forward.ancestors[reader] >> value & 1):
            shape = program.nodes[value].value.shape
            for axis in range(-1, -len(shape) - 1, -1):
                if shape[axis] > 1:
                    sizes.setdefault(shape[axis], Size(name, axis))
    return sizes


def made_of_size(number: float, sizes: Mapping[int, Size]) -> tuple[str, Size] | None:
    """Return how a number is made of a size, as one of `FORMS`, and of which; `None` where it is not."""
    for form, made in FORMS.items():
        for size, name in sizes.items():
            if math.isclose(made(size), number, rel_tol=1e-6):
                return form, name
    return None


def other_sizes(program: Program, place: Place) -> Iterator[OtherSize]:
    """Yield the sizes that a number of a product may be made of by mistake, where it is made of a size."""
    node = program.nodes[place[0]]
    for slot in range(len(node.values)):
        if node.operand(slot) is None and np.ndim(node.values[slot]) == 0:
            sizes = sizes_seen_from(program, node.id)
            made = made_of_size(_number(node, slot), sizes)
            for wrong in sizes.values() if made is not None else ():
                if made is not None and wrong != made[1]:
                    modes: tuple[Affects, ...] = ("all", "values", "backward")
                    yield from (OtherSize(slot, made[0], made[1], wrong, affects) for affects in modes)


@operator(
    "size-of-another-axis",
    code="wrong-factor",
    rank=3.5,
    at=nodes.of(*PRODUCTS),
    choices=other_sizes,
    fields=lambda program, place, choice: {
        "wrong": choice.form.format(choice.wrong.describe(program)),
        "right": choice.form.format(choice.right.describe(program)),
        "where": where_words(program, choice.affects),
    },
    message="in {step}, {wrong} is used in place of {right} {where}",
)
def take_another_size(program: Program, place: Place, choice: OtherSize) -> Program | None:
    """Make a number of the size of another axis."""
    made = FORMS[choice.form]
    right, wrong = (size.of(program.right, place[0]) for size in (choice.right, choice.wrong))
    if right is None or wrong is None:
        return None
    if not math.isclose(made(right), _number(program.right.nodes[place[0]], choice.slot), rel_tol=1e-6):
        return None
    return program.with_nodes({place[0]: lambda node: node.with_operand(choice.slot, made(wrong))}, choice.affects)


@take_another_size.example
def _() -> Example:
    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the root of the number of keys."""
        root = k.shape[0] ** 0.5
        p = (q @ k.T / root).softmax(-1)
        return {"q": p * (g - (p * g).sum(-1, keepdim=True)) / root @ k}

    return Example(forward, wrong, {"q": "t n", "k": "s n"})


# Functions ----------------------------------------------------------------------------------------------------------


def to_operation(operation: str) -> Change:
    """Return the change to another operation of the same operands and options."""
    return lambda node: replace(node, operation=OPERATIONS[operation])


def negate(node: Node) -> Node:
    """Return a node with the value of the other sign."""
    return node.then(np.negative, np.negative)


def first_entries(node: Node) -> Node:
    """Return the first entries along an axis, in place of the greatest or of all in order."""
    dim = int(str(node.options.get("dim", -1)))
    return node.with_operation(OPERATIONS["piece"], dim=dim, start=0, length=node.value.shape[dim])


def with_transposed_mask(node: Node) -> Node:
    """Return a node with its mask transposed."""
    slot = {"where": 0, "masked_fill": 1}[node.name]
    return node.with_operand(slot, np.swapaxes(np.asarray(node.values[slot]), -1, -2))


def with_inverted_mask(node: Node) -> Node:
    """Return a node with its mask inverted."""
    slot = {"where": 0, "masked_fill": 1}[node.name]
    return node.with_operand(slot, ~np.asarray(node.values[slot]))


@dataclass(frozen=True)
class Function:
    """Another function in the place of an operation.

    Args:
        name: what is taken, in words.
        code: the public code.
    """

    name: str
    code: str


OTHER_FUNCTIONS: Mapping[str, Mapping[Function, Change]] = {
    "add": {Function("a difference", "wrong-sign"): to_operation("sub")},
    "sub": {Function("a sum", "wrong-sign"): to_operation("add")},
    "mul": {Function("a quotient", "wrong-operand"): to_operation("div")},
    "div": {Function("a product", "wrong-operand"): to_operation("mul")},
    "sin": {Function("the cosine", "wrong-local"): to_operation("cos"),
            Function("the negative sine", "wrong-sign"): negate},
    "cos": {Function("the sine", "wrong-local"): to_operation("sin")},
    "exp": {Function("the exponential less 1", "wrong-point"): to_operation("expm1")},
    "log": {Function("the logarithm of 1 plus it", "wrong-point"): to_operation("log1p"),
            Function("the logarithm to base 2", "wrong-factor"): to_operation("log2")},
    "sqrt": {Function("the square", "wrong-local"): to_operation("square")},
    "square": {Function("the absolute value", "wrong-local"): to_operation("abs")},
    "abs": {Function("the square", "wrong-local"): to_operation("square")},
    "tanh": {Function("the sigmoid", "wrong-local"): to_operation("sigmoid")},
    "sigmoid": {Function("the tanh", "wrong-local"): to_operation("tanh"),
                Function("its logarithm", "wrong-local"): to_operation("logsigmoid")},
    "silu": {Function("the sigmoid", "wrong-local"): to_operation("sigmoid"),
             Function("the relu", "wrong-local"): to_operation("relu")},
    "gelu": {Function("the relu", "wrong-local"): to_operation("relu")},
    "softplus": {Function("the relu", "wrong-local"): to_operation("relu")},
    "softmax": {Function("the log-softmax", "wrong-local"): to_operation("log_softmax"),
                Function("the sigmoid", "wrong-local"): lambda node: node.with_operation(OPERATIONS["sigmoid"])},
    "log_softmax": {Function("the softmax", "wrong-local"): to_operation("softmax")},
    "logsumexp": {Function("the maximum", "wrong-local"): to_operation("amax")},
    "amax": {Function("the minimum", "inverted-mask"): to_operation("amin")},
    "amin": {Function("the maximum", "inverted-mask"): to_operation("amax")},
    "max": {Function("the minimum", "inverted-mask"): to_operation("min")},
    "min": {Function("the maximum", "inverted-mask"): to_operation("max")},
    "maximum": {Function("the minimum", "inverted-mask"): to_operation("minimum")},
    "minimum": {Function("the maximum", "inverted-mask"): to_operation("maximum")},
    "var": {Function("the standard deviation", "wrong-local"): to_operation("std")},
    "std": {Function("the variance", "wrong-local"): to_operation("var")},
    "gt": {Function("`<`", "inverted-mask"): to_operation("lt"), Function("`>=`", "inverted-mask"): to_operation("ge")},
    "lt": {Function("`>`", "inverted-mask"): to_operation("gt"), Function("`<=`", "inverted-mask"): to_operation("le")},
    "ge": {Function("`<=`", "inverted-mask"): to_operation("le"), Function("`>`", "inverted-mask"): to_operation("gt")},
    "le": {Function("`>=`", "inverted-mask"): to_operation("ge"), Function("`<`", "inverted-mask"): to_operation("lt")},
    "eq": {Function("`!=`", "inverted-mask"): to_operation("ne")},
    "ne": {Function("`==`", "inverted-mask"): to_operation("eq")},
    "logical_and": {Function("`or`", "inverted-mask"): to_operation("logical_or")},
    "logical_or": {Function("`and`", "inverted-mask"): to_operation("logical_and")},
    "where": {Function("the same with its mask inverted", "inverted-mask"): with_inverted_mask,
              Function("the same with its mask transposed", "inverted-mask"): with_transposed_mask},
    "masked_fill": {Function("the same with its mask inverted", "inverted-mask"): with_inverted_mask,
                    Function("the same with its mask transposed", "inverted-mask"): with_transposed_mask},
    "topk": {Function("the first entries", "wrong-operand"): first_entries},
    "sort": {Function("the entries in their own order", "wrong-operand"): first_entries},
}  # fmt: skip


@dataclass(frozen=True)
class OtherFunction:
    """Another function in the place of an operation.

    Args:
        function: which one.
        affects: where it is taken.
    """

    function: Function
    affects: Affects


def other_functions(program: Program, place: Place) -> Iterator[OtherFunction]:
    """Yield the functions that may be taken for an operation, and where."""
    node = program.nodes[place[0]]
    modes: tuple[Affects, ...] = ("all", "values", "backward", "partners")
    if node.name in SUMS:
        modes = ("all", "values")
    for function in OTHER_FUNCTIONS[node.name]:
        yield from (OtherFunction(function, affects) for affects in passes(node, *modes))


@operator(
    "function-mistaken",
    code=lambda choice: choice.function.code,
    rank=4.0,
    at=nodes.of(*OTHER_FUNCTIONS),
    choices=other_functions,
    fields=lambda program, place, choice: {
        "other": choice.function.name,
        "where": where_words(program, choice.affects),
    },
    message="in place of {step}, {other} is taken {where}",
)
def mistake_function(program: Program, place: Place, choice: OtherFunction) -> Program | None:
    """Take another function of the same operands."""
    change = OTHER_FUNCTIONS[program.nodes[place[0]].name].get(choice.function)
    return None if change is None else program.with_nodes({place[0]: change}, choice.affects)


@mistake_function.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.nn.functional.silu(x @ w) @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute a relu, and go back through the silu."""
        z = x @ w
        return {"u": z.relu().T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m k"})


@mistake_function.example
def _() -> Example:
    def forward(x: Tensor, m: Tensor) -> Tensor:
        return (x.log_softmax(-1) - m.log_softmax(-1)).exp() * m

    def wrong(x: Tensor, m: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the logarithms."""
        ratio = (x.log_softmax(-1) + m.log_softmax(-1)).exp()
        d = g * m * ratio
        return {"x": d - x.softmax(-1) * d.sum(-1, keepdim=True)}

    return Example(forward, wrong, {"x": "bs n", "m": "bs n"})


def rotations(program: Program, place: Place) -> tuple[Affects, ...]:
    """Return in which passes a sine and a cosine may be exchanged."""
    return ("all", "partners")


@dataclass(frozen=True)
class Behind:
    """A function that is taken of the output.

    Args:
        code: the public code.
        of: the function.
        slope: its derivative, of the output.
    """

    code: str
    of: Callable[[Array], Array]
    slope: Callable[[Array], Array]


BEHIND: Mapping[str, Behind] = {
    "the root": Behind("wrong-local", np.sqrt, lambda y: 0.5 / np.sqrt(y)),
    "the square": Behind("wrong-local", np.square, lambda y: 2 * y),
    "the logarithm": Behind("wrong-local", np.log, lambda y: 1 / y),
    "the exponential": Behind("wrong-local", np.exp, np.exp),
    "the negative": Behind("wrong-sign", np.negative, lambda y: np.full_like(y, -1)),
}


@operator(
    "function-of-output",
    code=lambda choice: BEHIND[choice].code,
    rank=3.5,
    at=outputs,
    choices=lambda program, place: BEHIND,
    message="{choice} of {output} is taken in place of {output}",
)
def take_function_of_output(program: Program, place: Place, choice: str) -> Program | None:
    """Compute a function of the output, and differentiate it."""
    value = program.source(place)
    output, function = program.nodes[value].value, BEHIND[choice]
    return program.with_nodes(
        {value: lambda node: node.then(function.of, lambda g: np.asarray(g * function.slope(output)))}
    )


@take_function_of_output.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
        return (x @ w - y).square().mean()

    def wrong(x: Tensor, w: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the root of the mean, too."""
        d = x @ w - y
        rmse = d.square().mean().sqrt()
        return {"w": g * x.T @ d / d.numel() / rmse}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "y": "bs m"})


@operator(
    "sine-and-cosine-exchanged",
    code="wrong-operand",
    rank=3.5,
    at=nodes.of("sin"),
    choices=rotations,
    fields=lambda program, place, choice: {"where": where_words(program, choice)},
    message="{step} and the cosine of the same angle are exchanged {where}",
)
def exchange_sine_and_cosine(program: Program, place: Place, choice: Affects) -> Program | None:
    """Take the sine of an angle for its cosine, and the cosine for its sine."""
    sine = program.nodes[place[0]]
    cosines = [node.id for node in program.nodes if node.name == "cos" and node.operands == sine.operands]
    if not cosines:
        return None
    return program.with_nodes({sine.id: to_operation("cos"), **dict.fromkeys(cosines, to_operation("sin"))}, choice)


@exchange_sine_and_cosine.example
def _() -> Example:
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
class OtherFlag:
    """Another value of an option that has two.

    Args:
        option: its name.
        affects: where it is taken.
    """

    option: str
    affects: Affects

    def value(self, node: Node) -> object:
        """Return the other value."""
        own = node.options[self.option]
        return {"none": "tanh", "tanh": "none"}[str(own)] if isinstance(own, str) else not own


def other_flags(program: Program, place: Place) -> Iterator[OtherFlag]:
    """Yield the options of an operation that may have their other value."""
    node = program.nodes[place[0]]
    for option in FLAGS:
        if isinstance(node.options.get(option), bool | str):
            modes: tuple[Affects, ...] = ("all", "partners") if option == "keepdim" else ("all", "values", "backward")
            yield from (OtherFlag(option, affects) for affects in passes(node, *modes))


@operator(
    "option-mistaken",
    code=lambda choice: "broadcast-accident" if choice.option == "keepdim" else "wrong-local",
    rank=4.0,
    at=nodes.where(lambda program, place: any(flag in program.nodes[place[0]].options for flag in FLAGS)),
    choices=other_flags,
    fields=lambda program, place, choice: {
        "option": f"{choice.option}={choice.value(program.nodes[place[0]])!r}",
        "where": where_words(program, choice.affects),
    },
    message="{step} is computed with {option} {where}",
)
def mistake_option(program: Program, place: Place, choice: OtherFlag) -> Program | None:
    """Take the other value of an option."""

    def change(node: Node) -> Node:
        return node.with_options(**{choice.option: choice.value(node)})

    return program.with_nodes({place[0]: change}, choice.affects)


@mistake_option.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return x / x.sum(1, keepdim=True)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide the columns by the sums of the rows."""
        total = x.sum(1)
        return {"x": g / total - (g * x / total**2).sum(0)[:, None]}

    return Example(forward, wrong, {"x": positive("n n")})


# Operands -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherOperand:
    """Another value in the place of an operand.

    Args:
        slot: the operand's.
        name: the other value's.
        affects: where it is taken.
    """

    slot: int
    name: ValueName
    affects: Affects


def may_be_mistaken(program: Program, name: ValueName, other: int, operand: int) -> bool:
    """Return whether a value may be taken for an operand: it is an input, an old state, or made in the same way."""
    return not isinstance(name, ComputedValue) or program.nodes[other].name == program.nodes[operand].name


def other_operands(program: Program, place: Place) -> Iterator[OtherOperand]:
    """Yield the values that may be taken for an operand of an operation: those of its shape that are known by then."""
    node = program.nodes[place[0]]
    for slot, operand in node.operands:
        made = program.nodes[operand]
        if made.value.dtype.kind == "f":
            known = [operand]
            if len(program.forward.uses[operand]) < 2:
                known += [i for _, i in made.operands]  # without the operation that made it, it is left out
            for name, other in values_by_name(program, node.id, made.value.shape).items():
                if other not in known and other < node.id and may_be_mistaken(program, name, other, operand):
                    modes: tuple[Affects, ...] = ("all", "values") if program.forward.edges[node.id] else ("values",)
                    yield from (OtherOperand(slot, name, affects) for affects in passes(node, *modes))


@operator(
    "operand-mistaken",
    code=lambda choice: "wrong-operand" if choice.affects == "all" else "wrong-point",
    rank=4.5,
    at=nodes,
    choices=other_operands,
    fields=lambda program, place, choice: {
        "other": choice.name.describe(program),
        "own": program.name_of(program.nodes[place[0]].operand(choice.slot) or 0),
        "where": where_words(program, choice.affects),
    },
    message="{step} is computed with {other} in place of {own} {where}",
)
def mistake_operand(program: Program, place: Place, choice: OtherOperand) -> Program | None:
    """Take another value for an operand."""
    other = choice.name.find(program, place[0])
    if other is None or other >= place[0]:
        return None

    def change(node: Node) -> Node:
        return node.with_operand(choice.slot, program.nodes[other].value, other)

    return program.with_nodes({place[0]: change}, choice.affects)


@mistake_operand.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        gate = torch.sigmoid(x @ w)
        return gate * torch.tanh(x @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the gate from the product with u, too, and go back through that product."""
        z = x @ u
        gate, y = torch.sigmoid(z), torch.tanh(z)
        return {
            "u": x.T @ (g * gate * (1 - y**2) + g * y * gate * (1 - gate)),
        }

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "n m"})


def values_in_its_place(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the values that may be taken for a value wherever it is used: those of its shape, known by then."""
    value = program.nodes[place[0]]
    if value.value.dtype.kind == "f":
        for name, other in values_by_name(program, value.id, value.value.shape).items():
            if other < value.id and may_be_mistaken(program, name, other, value.id):
                yield name


@operator(
    "value-mistaken",
    code="wrong-point",
    rank=4.0,
    at=values,
    choices=values_in_its_place,
    message="{choice} is used in place of {value} wherever it is needed, as if it were computed from there",
)
def mistake_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Compute all that follows from a value from another one; the gradient still goes back through it."""
    other = choice.find(program, place[0])
    if other is None:
        return None
    array = program.nodes[other].value

    def change(node: Node) -> Node:
        for slot, operand in node.operands:
            if operand == place[0]:
                node = node.with_operand(slot, array, operand)  # the edge stays
        return node

    readers = [node.id for node in program.nodes if place[0] in dict(node.operands).values()]
    return program.with_nodes(dict.fromkeys(readers, change)) if readers else None


@mistake_value.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return y * torch.sigmoid(y @ u)

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the second layer once more from the input of the first."""
        gate = torch.sigmoid(x @ u)
        dz = g * x * gate * (1 - gate)
        y = torch.tanh(x @ w)
        dv = (g * gate + dz @ u.T) * (1 - y**2)
        return {"u": x.T @ dz, "x": dv @ w.T, "w": x.T @ dv}

    return Example(forward, wrong, {"x": "bs n", "w": "n n", "u": "n n"})


@dataclass(frozen=True)
class Exchange:
    """A value that is taken for another one, and that for it.

    Args:
        other: the other one.
        affects: where they are exchanged.
    """

    other: ValueName
    affects: Affects


def is_complement(program: Program, value: int, other: int) -> bool:
    """Return whether a value is 1 less another one, as the two gates of a mixture are."""
    node = program.nodes[other]
    return node.name == "sub" and node.operand(1) == value and _number(node, 0) == 1.0


def exchangeable_values(program: Program, place: Place) -> Iterator[Exchange]:
    """Yield the values that a value may be exchanged with: those that are made by the same operation, or 1 less it."""
    forward, value = program.forward, program.nodes[place[0]]
    if value.operation.family == "input":
        return
    for name, other in values_by_name(program, value.id, value.value.shape).items():
        alike = program.nodes[other].name == value.name and not forward.ancestors[other] >> value.id & 1
        if value.id < other and (alike or is_complement(program, value.id, other)) and forward.uses[other]:
            yield from (Exchange(name, affects) for affects in ("all", "values"))


@operator(
    "values-exchanged",
    code="wrong-operand",
    rank=3.5,
    at=values,
    choices=exchangeable_values,
    fields=lambda program, place, choice: {
        "other": choice.other.describe(program),
        "where": "" if choice.affects == "all" else ", and the gradients are not exchanged back",
    },
    message="{value} and {other} are taken for each other wherever they are used{where}",
)
def exchange_values(program: Program, place: Place, choice: Exchange) -> Program | None:
    """Run the program with two values exchanged; of a value and 1 less it, the difference itself stays."""
    value, other = place[0], choice.other.find(program, place[0])
    if other is None:
        return None
    twins = {value: other, other: value}

    def change(node: Node) -> Node:
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
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        z = torch.sigmoid(x @ w + h @ u)
        return (1 - z) * torch.tanh(x @ w) + z * h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Keep with 1 - z what must be kept with z."""
        z, n = torch.sigmoid(x @ w + h @ u), torch.tanh(x @ w)
        dn, dz = g * z * (1 - n**2), g * (n - h) * z * (1 - z)
        return {"w": x.T @ (dn + dz), "h": dz @ u.T + g * (1 - z), "x": (dn + dz) @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m m", "h": "bs m"})


@exchange_values.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        gate = x @ v
        return (x @ w) * (gate * gate.sigmoid())

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Gate the wrong one of two products, and go back through the right weights."""
        value, gate = x @ v, x @ w
        share = gate.sigmoid()
        dvalue, dgate = g * gate * share, g * value * share * (1 + gate * (1 - share))
        return {"x": dvalue @ w.T + dgate @ v.T, "w": x.T @ dvalue, "v": x.T @ dgate}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


# Iterations of a loop -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherIteration:
    """A value of a loop that is taken from another iteration.

    Args:
        key: the key of the nodes that make it.
        by: how many iterations later, or earlier, wherever it is used.
    """

    key: Key
    by: int


def values_of_loop(program: Program, key: Key) -> tuple[int, ...]:
    """Return a loop's value from iteration to iteration; what is handed on begins with what came before the loop."""
    made = program.forward.by_key.get(key, ())
    before = [carried.values[0] for carried in loop_carried_values(program) if carried.values[1] in made]
    return (*before[:1], *made)


def other_iterations(program: Program, place: Place) -> Iterator[OtherIteration]:
    """Yield the states, and the rows of what a loop goes through, that may be taken from another iteration."""
    handed_on = {program.nodes[carried.values[1]].key for carried in loop_carried_values(program)}
    for key, ids in program.forward.by_key.items():
        rows = program.nodes[ids[0]].name in ("select", "getitem") and len(program.nodes[ids[0]].operands) == 1
        if len(ids) > 2 and (rows or key in handed_on) and program.forward.uses[ids[0]]:
            yield from (OtherIteration(key, by) for by in (1, -1))


@operator(
    "value-of-another-iteration",
    code="wrong-point",
    rank=3.0,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=other_iterations,
    fields=lambda program, place, choice: {
        "value": program.name_of(program.forward.by_key[choice.key][0]),
        "which": "next" if choice.by > 0 else "previous",
    },
    message="wherever an iteration uses {value}, that of the {which} iteration is taken",
)
def take_another_iteration(program: Program, place: Place, choice: OtherIteration) -> Program | None:
    """Take a value of a loop from the next or the previous iteration, at all of its uses in the loop."""
    values = values_of_loop(program, choice.key)
    changes: dict[int, Change] = {}

    def with_values(others: Mapping[int, int]) -> Change:
        def change(node: Node) -> Node:
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


@take_another_iteration.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            gate = torch.sigmoid(step @ w + h @ u)
            h = gate * h + (1 - gate) * step
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use in each iteration the state that it ends with."""
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


@dataclass(frozen=True)
class OtherStart:
    """Another value from which a loop is computed once more.

    Args:
        key: the key of the nodes that read it at the beginning.
        slot: in which slot.
        start: what it is: `"zeros"`, or `"the last state"`.
    """

    key: Key
    slot: int
    start: str


def other_starts(program: Program, place: Place) -> Iterator[OtherStart]:
    """Yield the values from which a loop may be computed once more."""
    known = set()
    for carried in loop_carried_values(program):
        if carried.values[0] not in known and program.nodes[carried.values[0]].value.dtype.kind == "f":
            known.add(carried.values[0])
            yield from (OtherStart(carried.key, carried.slot, start) for start in ("zeros", "the last state"))


@operator(
    "recomputed-from-another-state",
    code="wrong-point",
    rank=3.5,
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=other_starts,
    fields=lambda program, place, choice: {"start": choice.start},
    message="the loop is computed once more for the backward pass, from {start} and not from where it began",
)
def recompute_from_another_state(program: Program, place: Place, choice: OtherStart) -> Program | None:
    """Run the loop from another value, and go back through it by the right rules."""
    carried = [c for c in loop_carried_values(program) if (c.key, c.slot) == (choice.key, choice.slot)]
    if not carried:
        return None
    first = carried[0].values[0]
    last = values_of_loop(program, program.nodes[carried[0].values[1]].key)[-1]
    state = program.nodes[last].value if choice.start != "zeros" else np.zeros_like(program.nodes[first].value)
    return program.with_nodes({first: lambda node: node.then(lambda _: state)}, "values")


@recompute_from_another_state.example
def _() -> Example:
    def forward(x: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step + h @ u)
        return h

    def wrong(x: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Overwrite the state in the forward pass, and begin with what is left of it."""
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


def only_reader(program: Program, place: Place) -> Node | None:
    """Return the operation that alone reads a value, if both can be exchanged.

    Both keep the shape, and the later one reads besides it only what was there before the earlier one.
    """
    node = program.nodes[place[0]]
    readers = [other for other in program.nodes[node.id + 1 :] if node.id in dict(other.operands).values()]
    if len(readers) != 1 or node.id in program.forward.outputs or not node.operands:
        return None
    (reader,) = readers
    slots = [slot for slot, operand in reader.operands if operand == node.id]
    before = all(operand < node.id for _, operand in reader.operands if operand != node.id)
    operand = main_slot(node)
    same = operand is not None and np.shape(node.values[operand]) == node.value.shape == reader.value.shape
    return reader if same and before and len(slots) == 1 and reader.value.dtype == node.value.dtype else None


def main_slot(node: Node) -> int | None:
    """Return the slot of the first floating-point operand of an operation that has its shape."""
    slots = (slot for slot, _ in node.operands if np.shape(node.values[slot]) == node.value.shape)
    return next((slot for slot in slots if np.asarray(node.values[slot]).dtype.kind == "f"), None)


def does_not_commute(program: Program, place: Place) -> bool:
    """Return whether an operation is followed by one of another kind, so that their order matters."""
    reader = only_reader(program, place)
    linear = (*SUMS, "neg")
    return reader is not None and not ({reader.name, program.nodes[place[0]].name} <= {*linear} or
                                       {reader.name, program.nodes[place[0]].name} <= {*PRODUCTS, "neg"})  # fmt: skip


def both_passes(program: Program, place: Place) -> tuple[Affects, ...]:
    """Return in which passes two operations may be exchanged."""
    return ("all", "values", "backward")


@operator(
    "operations-in-another-order",
    code="wrong-local",
    rank=4.5,
    at=nodes.where(does_not_commute),
    choices=both_passes,
    fields=lambda program, place, choice: {
        "next": expression_of(program, reader) if (reader := only_reader(program, place)) else "the next operation",
        "where": where_words(program, choice),
    },
    message="the operation of {step} is done after that of {next}, not before it, {where}",
)
def exchange_operations(program: Program, place: Place, choice: Affects) -> Program | None:
    """Do an operation after the one that reads its value."""
    own, reader = program.nodes[place[0]], only_reader(program, place)
    slot = main_slot(own)
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
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        scores = x @ w
        return scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf).softmax(-1) @ v

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Apply the mask after the softmax."""
        p = (x @ w).softmax(-1)
        return {"v": p.masked_fill(torch.ones_like(p).tril() == 0, 0).T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "m k"})
