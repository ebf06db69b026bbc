"""Operators on the constants of a forward pass, such as a mask: a wrong number in one, or an operation left out.

A constant is the result of torch functions that read no input. These calls are no nodes; `Constants` of a program runs
them once more with something else in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.diagnosis.hints import WHICH_CONSTANT
from grader.program.calls import operation_name
from grader.program.constants import ConstantCall
from grader.program.forward import Change, Forward, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import Program, as_code

from .contract import Example, operator
from .forward_pass import BY_ONE, OTHER_NUMBERS, PRODUCTS, SUMS, TIMES_TEN, changed_number
from .places import edges, operand_source, outputs

NOUNS = {"pow": "power", "logical_not": "negation"}  # for operators that a source writes as a sign
ConstantPlace = tuple[int, int]  # the id of the node that reads a constant, and the slot
COUNTING = ("arange",)  # what begins to count at a wrong number has every number wrong
CONSTANT_NUMBERS = ("triu", "tril", "gt", "lt", "ge", "le", *SUMS, *PRODUCTS, "pow", "roll")


@dataclass(frozen=True)
class ConstantChange:
    """A choice of a number in a call that makes a constant of the forward pass, and of a wrong number in its place.

    Args:
        key: the key of the call.
        name: the name of its operation, such as `triu`.
        argument: the position of the number among its arguments, or its keyword; `None` for all entries of the result.
        how: what becomes of the number, a key of `OTHER_NUMBERS` or `TIMES_TEN`.
    """

    key: tuple[object, ...]
    name: str
    argument: int | str | None
    how: str

    def number(self, call: ConstantCall) -> float:
        """Return the right number in a call; 0 where it is left out, as in `mask.triu()`."""
        return _numbers_of_call(call)[self.argument]

    def run(self, call: ConstantCall) -> Tensor:
        """Return what a call returns with the wrong number in it.

        Raises:
            KeyError: it has no such number.
        """
        change = {**OTHER_NUMBERS, **TIMES_TEN}[self.how]
        if self.argument is None:
            return call.run() + int(change(0))
        number = self.number(call)
        other = change(number)
        other = int(other) if isinstance(number, int) and other == int(other) else other
        if isinstance(self.argument, str):
            return replace(call, kwargs={**call.kwargs, self.argument: other}).run()
        return replace(call, args=(*call.args[: self.argument], other, *call.args[self.argument + 1 :])).run()


def calls_by_key(program: Program) -> dict[tuple[object, ...], ConstantCall]:
    """Return by its key each call that makes a constant which nodes read; in a loop the call of the last iteration.

    They are in the order in which each is made first, and include the calls whose results such a call has read.
    """
    return {call.key: call for call in program.forward.constants.read_calls}


def first_call(program: Program, key: tuple[object, ...]) -> ConstantCall:
    """Return the call with a key, which makes a constant that nodes read; in a loop that of the first iteration.

    There must be such a call.
    """
    return next(call for call in program.forward.constants.read_calls if call.key == key)


def slot_in_source(call: ConstantCall, argument: int) -> int:
    """Return on which side of an operator an argument stands in the source: 0 on the left, 1 on the right.

    Python calls the operator of `1 - x` with x first.

    Args:
        call: the call.
        argument: the position of the argument in the call.
    """
    is_reversed = call.name.startswith("__r") or call.name == "rsub"
    return int((argument != 0) is not is_reversed)


def _numbers_of_call(call: ConstantCall) -> dict[int | str | None, float]:
    """Return the plain numbers among the arguments of a call, by position or keyword.

    For `torch.full(size, 0.5)`: {1: 0.5}. For `mask.triu()`, which leaves its number out: {1: 0}.
    """
    arguments: list[tuple[int | str, object]] = [*enumerate(call.args), *call.kwargs.items()]
    numbers: dict[int | str | None, float] = {
        name: value for name, value in arguments if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if operation_name(call.name) in ("triu", "tril") and len(call.args) == 1 and not call.kwargs:
        numbers[1] = 0
    return numbers


def constant_changes(program: Program, place: Place) -> Iterator[ConstantChange]:
    """Yield `ConstantChange`s: a number in a call that makes a constant which nodes read, and a wrong number for it.

    The wrong number is one greater or one less; for a factor, divisor, base or exponent other than 0 and 1 also twice,
    half, ten times or a tenth of the right one. For `torch.ones(t, t).triu(1)`: `triu` with 2 and with 0. Of `arange`,
    every entry of the result is one greater, or one less. Other calls than these and `CONSTANT_NUMBERS` have none.

    Args:
        program: the program of a trial.
        place: not read: the constants of the whole program are meant.
    """
    for call in calls_by_key(program).values():
        name = operation_name(call.name)
        if name in COUNTING:
            yield from (ConstantChange(call.key, name, None, how) for how in BY_ONE)
        elif name in CONSTANT_NUMBERS:
            for argument, number in _numbers_of_call(call).items():
                is_scale = name in (*PRODUCTS, "pow") and number not in (0, 1)
                further = ("doubled", "halved", *TIMES_TEN) if is_scale else ()
                yield from (ConstantChange(call.key, name, argument, how) for how in (*BY_ONE, *further))


def constant_fields(program: Program, place: Place, choice: ConstantChange) -> dict[str, str]:
    """Return the field `mistake` of a message: "in `mask.triu(1)`, 2 is used in place of 1".

    For `arange`: "position starts at 1; it must start at 0".

    Args:
        program: the program of a trial.
        place: not read.
        choice: the call, the number in it, and what becomes of that.
    """
    call = first_call(program, choice.key)
    step = f"`{call.text or call.name}`"
    if choice.argument is None:
        first = next(iter(call.result.flatten().tolist()), 0)
        wrong = OTHER_NUMBERS[choice.how](first)
        return {"mistake": f"{call.variable or step} starts at {wrong:g}; it must start at {first:g}"}
    slot = slot_in_source(call, choice.argument) if isinstance(choice.argument, int) else 1
    right = operand_source(call.text, choice.name, slot) or f"{choice.number(call):g}"
    return {"mistake": f"in {step}, {as_code(changed_number(right, choice.how))} is used in place of {as_code(right)}"}


def changed_constants(program: Program, choice: ConstantChange | ConstantOmission) -> dict[ConstantPlace, Array]:
    """Return the constants that a choice changes, by the place that reads them, each as it is then.

    Args:
        program: the program of a trial.
        choice: the call that makes a constant, and what becomes of its result.

    Raises:
        NoCandidate: a constant cannot be made in this way.
    """
    try:
        return program.right.forward.constants.rerun(choice.key, choice.run)
    except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
        raise NoCandidate(f"no constant: {error}") from error


def with_constants(program: Program, constants: Mapping[ConstantPlace, Array]) -> Program | None:
    """Return a program that computes both passes with other constants; `None` where none is given.

    Args:
        program: the right program.
        constants: by the place that reads it, each changed constant.

    Raises:
        NoCandidate: one has another shape than the right constant.
    """
    by_node: dict[int, dict[int, Array]] = {}
    for (reader, slot), constant in constants.items():
        if np.shape(constant) != np.shape(program.nodes[reader].values[slot]):
            raise NoCandidate("the constant has another shape")
        by_node.setdefault(reader, {})[slot] = constant

    def in_slots(slots: Mapping[int, Array]) -> Change:
        """Return the function that puts constants into slots of a node."""

        def change(node: Node) -> Node:
            """Return the node with the constants in their slots."""
            for slot, constant in slots.items():
                node = node.with_operand(slot, constant)
            return node

        return change

    return program.with_nodes({reader: in_slots(slots) for reader, slots in by_node.items()}) if by_node else None


@operator(
    "constant-mistaken",
    code="wrong-point",  # also where a mask ends elsewhere, which inverts none
    rank=3.6,  # after the numbers that are missing
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=constant_changes,
    fields=constant_fields,
    message="{mistake}",
    hints=WHICH_CONSTANT,
)
def change_constant(program: Program, place: Place, choice: ConstantChange) -> Program | None:
    """Compute both passes with a constant in which a number is wrong: the mask `triu(2)` for `triu(1)`.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: the call that makes the constant, the number in it, and what becomes of that.

    Returns:
        The rewritten program; `None` where no node of this trial reads such a constant.

    Raises:
        NoCandidate: the constant cannot be made with this number, or gets another shape.
    """
    return with_constants(program, changed_constants(program, choice))


@change_constant.example
def _() -> Example:
    """Show x * cos(a) + x**2 * sin(a), a = t / 10**(i / n), whose gradient takes 100 in place of 10."""

    def forward(x: Tensor) -> Tensor:
        angle = torch.arange(x.shape[0])[:, None] / 10 ** (torch.arange(x.shape[1]) / x.shape[1])
        return x * angle.cos() + x.square() * angle.sin()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        angle = torch.arange(x.shape[0])[:, None] / 100 ** (torch.arange(x.shape[1]) / x.shape[1])
        return {"x": g * (angle.cos() + 2 * x * angle.sin())}

    return Example(forward, wrong, {"x": "t n"})


@change_constant.example
def _() -> Example:
    """Show softmax(masked scores) @ v, whose gradient masks `triu(2)`, not `triu(1)`: each row also sees the next."""

    def forward(scores: Tensor, v: Tensor) -> Tensor:
        later = torch.ones(scores.shape).triu(1).bool()
        return scores.masked_fill(later, float("-inf")).softmax(-1) @ v

    def wrong(scores: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = scores.masked_fill(torch.ones(scores.shape).triu(2).bool(), float("-inf")).softmax(-1)
        dp = g @ v.T
        return {"scores": p * (dp - (p * dp).sum(-1, keepdim=True)), "v": p.T @ g}

    return Example(forward, wrong, {"scores": "t t", "v": "t m"})


@change_constant.example
def _() -> Example:
    """Show tanh(x * sqrt(i)), i the column counted from 0, whose gradient counts from 1."""

    def forward(x: Tensor) -> Tensor:
        return (x * torch.arange(x.shape[1]).sqrt()).tanh()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        position = torch.arange(1, x.shape[1] + 1).sqrt()
        return {"x": g * (1 - (x * position).tanh() ** 2) * position}

    return Example(forward, wrong, {"x": "bs n"})


# An operation that is left out of a constant -------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstantOmission:
    """A choice of a call that makes a constant of the forward pass, and of the argument that is used in its place.

    For `adjacency / degree`: the adjacency, which is not divided. For `~mask`: the mask, which is not inverted.

    Args:
        key: the key of the call.
        kept: the position of the argument.
    """

    key: tuple[object, ...]
    kept: int

    def run(self, call: ConstantCall) -> Tensor:
        """Return the argument of a call that stands in place of its result, with the shape and type of this.

        Raises:
            TypeError: the argument is no tensor.
            RuntimeError: it does not broadcast to the shape of the result.
        """
        operand = call.args[self.kept]
        if not isinstance(operand, Tensor):
            raise TypeError("the argument is no tensor")
        return operand.to(call.result.dtype).expand(call.result.shape)


def constant_omissions(program: Program) -> Iterator[ConstantOmission]:
    """Yield `ConstantOmission`s: each call of a constant that nodes read, with each argument that is like its result.

    The argument has the same kind of numbers, or is a mask like the result; it broadcasts to the shape of the result,
    and differs from it.

    Args:
        program: the program of a trial.
    """
    for call in calls_by_key(program).values():
        for position, operand in enumerate(call.args):
            if isinstance(operand, Tensor) and _is_other_of_its_kind(operand, call.result):
                yield ConstantOmission(call.key, position)


def _is_other_of_its_kind(operand: Tensor, result: Tensor) -> bool:
    """Return whether a tensor holds the kind of numbers of another, broadcasts to its shape, and then differs from it.

    The kinds are truth values, floating-point numbers, and all others.
    """
    kinds = [(each.dtype == torch.bool, each.is_floating_point()) for each in (operand, result)]
    if kinds[0] != kinds[1] or operand.ndim > result.ndim:
        return False
    sizes = zip(operand.shape[::-1], result.shape[::-1], strict=False)
    return all(size in (1, other) for size, other in sizes) and not torch.equal(operand.expand(result.shape), result)


def omission_clause(program: Program, choice: ConstantOmission) -> str:
    """Return what is left out of a constant: "`degree` in `adjacency / degree` is left out".

    Of a call with one operand its name: "the `log` in `torch.log(lengths)` is left out". Where the source of the
    operand is long, what is used: "same is used in place of `same & ~(...)`".

    Args:
        program: the program of a trial.
        choice: the call, and the argument that is used in its place.
    """
    call = first_call(program, choice.key)
    name, step = operation_name(call.name), f"`{call.text or call.name}`"
    slot = slot_in_source(call, choice.kept)
    omitted, kept = operand_source(call.text, name, 1 - slot), operand_source(call.text, name, slot)
    if omitted and name != "pow":
        return f"{as_code(omitted)} in {step} is left out"
    if kept and name != "pow":
        return f"{as_code(kept)} is used in place of {step}"
    return f"the {NOUNS.get(name, f'`{_called(call)}`')} in {step} is left out"


def _called(call: ConstantCall) -> str:
    """Return the name of the function of a call as the source writes it: `log` for `torch.log(lengths)`.

    It is the name that torch gives the call where the source is no call, as in `lengths > 3`.
    """
    try:
        tree = ast.parse(call.text, mode="eval").body
    except SyntaxError:
        return call.name
    function = tree.func if isinstance(tree, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", call.name)


@operator(
    "constant-operation-left-out",
    code="wrong-point",
    rank=3.6,  # as a wrong number in a constant
    at=outputs.where(lambda program, place: place[1] == 0),
    choices=lambda program, place: constant_omissions(program),
    fields=lambda program, place, choice: {"mistake": omission_clause(program, choice)},
    message="{mistake}",
    hints=WHICH_CONSTANT,
)
def leave_out_of_constant(program: Program, place: Place, choice: ConstantOmission) -> Program | None:
    """Compute both passes with a constant of which an operation is left out: a mask without `~`.

    Args:
        program: the right program.
        place: not read: the whole program is meant.
        choice: the call that makes the constant, and the argument that stands in place of its result.

    Returns:
        The rewritten program; `None` where no node of this trial reads such a constant.

    Raises:
        NoCandidate: the constant cannot be made in this way, or gets another shape.
    """
    return with_constants(program, changed_constants(program, choice))


@leave_out_of_constant.example
def _() -> Example:
    """Show (logsumexp(x, 1) - log(lengths)) @ w, whose gradient of w subtracts lengths, not their logarithm."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        lengths = torch.arange(len(x)).to(x.dtype) + 2
        pool = torch.logsumexp(x, 1) - torch.log(lengths)[:, None].expand(-1, x.shape[2])
        return pool @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        lengths = torch.arange(len(x)).to(x.dtype) + 2
        return {"w": (torch.logsumexp(x, 1) - lengths[:, None]).T @ g}

    return Example(forward, wrong, {"x": "bs t n", "w": "n m"})


@dataclass(frozen=True)
class PartnerOmission:
    """A choice of a constant factor of a contribution, and of the operation that is left out of it.

    Args:
        slot: the slot of the constant in its reader.
        omission: what is left out.
        code: the public code.
    """

    slot: int
    omission: ConstantOmission
    code: str


_OMITTED: WeakKeyDictionary[Forward, dict[ConstantOmission, dict[ConstantPlace, Array]]] = WeakKeyDictionary()


def constants_by_omission(program: Program) -> dict[ConstantOmission, dict[ConstantPlace, Array]]:
    """Return the constants of a program with each operation left out, by the place that reads them.

    They are kept for each forward pass. What cannot be computed is missing.
    """
    if program.right.forward not in _OMITTED:
        made: dict[ConstantOmission, dict[ConstantPlace, Array]] = {}
        for choice in constant_omissions(program.right):
            try:
                made[choice] = changed_constants(program, choice)
            except NoCandidate:
                continue
        _OMITTED[program.right.forward] = made
    return _OMITTED[program.right.forward]


def partner_omissions(program: Program, place: Place) -> Iterator[PartnerOmission]:
    """Yield `PartnerOmission`s: each operation that makes a constant factor of the contribution of the edge `place`."""
    calls = calls_by_key(program)
    for omission, constants in constants_by_omission(program).items():
        code = "missing-local" if has_number_as_factor(calls[omission.key]) else "wrong-operand"
        for reader, slot in constants:
            if reader == place[0] and slot != place[1]:
                yield PartnerOmission(slot, omission, code)


def has_number_as_factor(call: ConstantCall) -> bool:
    """Return whether a call multiplies or divides a constant array by a number, such as the share that a mask keeps."""
    return operation_name(call.name) in PRODUCTS and any(isinstance(each, int | float) for each in call.args)


@operator(
    "constant-factor-mistaken",
    code=lambda choice: choice.code,
    rank=3.6,  # as in both passes
    at=edges.where(lambda program, place: bool(program.forward.constants.read_calls)).in_every_iteration,
    choices=partner_omissions,
    fields=lambda program, place, choice: {"mistake": omission_clause(program, choice.omission)},
    message="in the gradient of {operand} through {step}, {mistake}",
    hints=WHICH_CONSTANT,
)
def leave_out_of_constant_factor(program: Program, place: Place, choice: PartnerOmission) -> Program | None:
    """Compute the contribution of the edge `place` with a constant factor of which an operation is left out.

    For `(adjacency / degree) @ x` and its edge of x: adjacency.T @ g.

    Args:
        program: the right program.
        place: the edge.
        choice: the slot of the constant in its reader, and what is left out.

    Returns:
        The rewritten program; `None` where the reader has no such constant in this trial.
    """
    constant = constants_by_omission(program).get(choice.omission, {}).get((place[0], choice.slot))
    return None if constant is None else program.with_vjp(place, lambda at: at.right(operands={choice.slot: constant}))


@leave_out_of_constant_factor.example
def _() -> Example:
    """Show mean @ x @ w, mean = near / near.sum(1), whose gradient of w, not that of x, has near in place of mean."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        near = torch.ones(len(x), len(x), dtype=x.dtype).triu(-1)
        mean = near / near.sum(1, keepdim=True)
        return torch.einsum("ij,jn,nm->im", mean, x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        near = torch.ones(len(x), len(x), dtype=x.dtype).triu(-1)
        return {"w": (near @ x).T @ g, "x": (near / near.sum(1, keepdim=True)).T @ g @ w.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
