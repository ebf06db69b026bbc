"""Operators on the derivative of a pointwise operation: left out, with a wrong sign, taken at a wrong point."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import positive
from grader.diagnosis.hints import COMPUTE_ONE_ENTRY, MISSING_PARENTHESES
from grader.program.arithmetic import sigmoid
from grader.program.forward import SINK, Node, Place
from grader.program.operation import OPERATIONS, Array, NoCandidate, Operand, unbroadcast
from grader.program.program import EdgeContext, Program, as_code
from grader.program.queries import EdgeKind, edges_by_kind, has_minus
from grader.program.selectors import ValueName, named_array, values_by_name

from .contract import Example, describe_local_derivative, divisor_of, no_choice, operator
from .partners import NAMED_ITERATIONS, EdgeOperand, ValueOfIteration, final_values
from .places import edges, expression_of, name_of_value, number_source, operand_source, operation_label, values

NEARLY_ZERO = 1e-6  # a factor as small as this leaves nothing: that is a path which is missing
pointwise = edges.of_family("pointwise")
MASKED = ("relu", "relu6", "hardtanh", "threshold", "hardshrink", "softshrink", "clamp", "maximum", "minimum")
"""Operations whose derivative is a mask, and which are given none in the forward pass."""

KINKED = ("relu", "leaky_relu", "clamp", "abs")  # their derivatives are constant up to a kink


def is_nonzero(program: Program, value: int) -> bool:
    """Return whether a value is more than rounding; f(x) - x at a fixed point is not."""
    return bool(np.abs(program.nodes[value].value).max(initial=0.0) > NEARLY_ZERO)


def local_derivative(program: Program, place: Place) -> Array:
    """Return dy/dx of the pointwise operation y that reads x by the edge `place`, entry by entry; shaped like y.

    For y = x * w and the edge of x: w, broadcast to the shape of y.
    """
    node = program.reader(place)
    wide = {i: np.broadcast_to(v, node.value.shape) for i, v in enumerate(node.values)}  # so that nothing is summed
    return node.vjp(place[1], np.ones(node.value.shape), wide)


def has_derivative(program: Program, place: Place) -> bool:
    """Return whether the local derivative of the edge `place` is something else than 1 everywhere or -1 everywhere.

    True for tanh, and for every abs: its derivative may be 1 everywhere in one trial, and not in another one.
    """
    derivative = local_derivative(program, place)
    return program.reader(place).name in KINKED or bool((derivative != 1).any() and (derivative != -1).any())


def has_distinct_sign(program: Program, place: Place) -> bool:
    """Return whether a wrong sign of the contribution of the edge `place` is no wrong sign of another edge as well.

    False only for the operand of an addition of a number that is read once, such as x in y = x + 1: there the sign may
    as well be wrong in what the reader of y contributes.
    """
    node = program.reader(place)
    adds_number = node.name == "add" and len(node.operands) == 1
    return not adds_number or len(program.forward.uses[node.id]) > 1


def depends_on_operand(program: Program, place: Place) -> bool:
    """Return whether the local derivative of edge `place` changes with its operand x: for tanh, but not for x + 1."""
    node = program.reader(place)
    if node.name in KINKED or np.size(node.values[place[1]]) == 0:
        return node.name in KINKED
    ones = np.ones(node.value.shape)
    moved = node.vjp(place[1], ones, {place[1]: np.asarray(node.values[place[1]]) * 0.75 + 0.1})
    return not np.allclose(moved, node.vjp(place[1], ones), equal_nan=True)


def as_if_mask_were_one(program: Program, place: Place, choice: None) -> dict[str, str]:
    """Return the message field `as_if`: that the derivative's mask is taken for 1, if it is a mask; else empty.

    A mask that selects every entry, as by `|` in place of `&`, gives the same numbers as none.
    """
    return {"as_if": ", as if its mask were 1 everywhere" if program.reader(place).name in MASKED else ""}


@operator(
    "derivative-missing",
    code="missing-local",
    rank=1.5,
    at=pointwise.where(has_derivative),
    choices=no_choice,
    message="{where}{derivative} is missing{as_if}",
    fields=as_if_mask_were_one,
)
def leave_out_derivative(program: Program, place: Place, choice: None) -> Program:
    """Contribute the upstream gradient itself, summed over broadcast axes, without the local derivative.

    Args:
        program: the right program.
        place: the edge (pointwise operation, slot of the operand).
        choice: always `None`: there is nothing to choose.
    """
    return program.with_vjp(place, lambda at: unbroadcast(at.g, at.x))


@leave_out_derivative.example
def _() -> Example:
    """Show tanh(x @ w) whose backward pass leaves out the derivative of tanh."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g @ w.T, "w": x.T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@leave_out_derivative.example
def _() -> Example:
    """Show the root of abs(x @ w) whose backward pass leaves out the sign of x @ w."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return ((x @ w).abs() + 0.1).sqrt()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g / (2 * ((x @ w).abs() + 0.1).sqrt())
        return {"x": dz @ w.T, "w": x.T @ dz}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def is_scaled_by_negative_number(program: Program, place: Place) -> bool:
    """Return whether the operand of an edge is multiplied or divided by a negative number other than -1: x in -2 * x.

    Args:
        program: the program of a trial.
        place: the edge.
    """
    node = program.reader(place)
    is_multiple = node.name == "mul" or (node.name == "div" and place[1] == 0)
    return is_multiple and has_minus(node, place[1]) and bool(np.asarray(node.values[1 - place[1]]) != -1)


def name_of_size(program: Program, place: Place, choice: None) -> dict[str, str]:
    """Return the field `what` of a message: "the factor 2 in the derivative of `-2 * x`" for the edge of x.

    Args:
        program: the program of the trial that the message is for.
        place: the edge.
        choice: not read.
    """
    node = program.reader(place)
    number, step = f"{abs(float(np.asarray(node.values[1 - place[1]]))):g}", expression_of(program, node)
    part = f"the factor {number}" if node.name == "mul" else f"the division by {number}"
    return {"what": f"{part} in the derivative of {step}"}


@operator(
    "number-missing-but-its-sign",
    code="missing-local",
    rank=1.6,  # as likely as a missing derivative, which has no sign either
    at=pointwise.where(is_scaled_by_negative_number),
    choices=lambda program, place: (None,),
    message="{what} is missing",
    fields=name_of_size,
)
def leave_out_size(program: Program, place: Place, choice: None) -> Program:
    """Contribute -g where the operand is multiplied by a negative number such as -2, or divided by one.

    Args:
        program: the right program.
        place: the edge (product or quotient, slot of the operand).
        choice: always `None`: there is nothing to choose.
    """
    return program.with_vjp(place, lambda at: -unbroadcast(at.g, at.x))


@leave_out_size.example
def _() -> Example:
    """Show u * exp(-s) + v * exp(-2 * s) whose gradient of s loses the factor 2, and not the minus sign."""

    def forward(u: Tensor, v: Tensor, s: Tensor) -> Tensor:
        return u * torch.exp(-s) + v * torch.exp(-2 * s)

    def wrong(u: Tensor, v: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate exp(-2 * s) as if it were exp(-s), taken at 2 * s."""
        return {"s": -(g * (u * torch.exp(-s) + v * torch.exp(-2 * s))).sum(0)}

    return Example(forward, wrong, {"u": "bs n", "v": "bs n", "s": "n"})


def may_have_wrong_sign(program: Program, place: Place) -> bool:
    """Return whether a learner may write a wrong sign in the vjp of the edge `place` itself.

    True for a pointwise operation, but for x + 1 that is read once, where the sign may as well be wrong in what its
    reader contributes; for a product of two operands that get a gradient, such as `x @ w` or a cross product, where the
    gradient of the partner operand stays right; for an inverse, whose vjp has a minus sign; and for an operation whose
    value is a target, such as the step `mean`, where the learner's own answer for that value may be right.
    """
    node = program.reader(place)
    family = node.operation.family
    if node.id in program.forward.targets.values():
        return True
    if family == "pointwise":
        return has_distinct_sign(program, place)
    is_product = family in ("contraction", "other") and len(program.forward.edges[node.id]) > 1
    return has_minus(node, place[1]) or is_product


@operator(
    "sign-flipped",
    code="wrong-sign",
    rank=2.0,
    at=edges.where(lambda program, place: may_have_wrong_sign(program, place)),
    message="{negation}",
)
def flip_sign(program: Program, place: Place, choice: None) -> Program:
    """Negate the contribution of the edge `place`: for x in `x @ w`, -g @ w.T."""
    return program.with_vjp(place, lambda at: -at.right())


@flip_sign.example
def _() -> Example:
    """Show the solution of (u @ u.T + diag(exp(s))) y = x, whose gradients of u and s lack the minus of the inverse."""

    def forward(x: Tensor, u: Tensor, s: Tensor) -> Tensor:
        solution: Tensor = torch.linalg.solve(u @ u.T + s.exp() * torch.eye(len(u), dtype=u.dtype), x)
        return solution

    def wrong(x: Tensor, u: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        matrix = u @ u.T + s.exp() * torch.eye(len(u), dtype=u.dtype)
        dx = torch.linalg.solve(matrix.T, g)
        dmatrix = dx @ torch.linalg.solve(matrix, x).T
        return {"u": (dmatrix + dmatrix.T) @ u, "s": s.exp() * dmatrix.diagonal()}

    return Example(forward, wrong, {"x": "n m", "u": "n k", "s": "n"})


@flip_sign.example
def _() -> Example:
    """Show s = s + outer(v[t] - s @ k[t], k[t]), whose ds gets plus outer(ds @ k[t], k[t]) in place of minus it."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        state = torch.zeros(v.shape[1], k.shape[1], dtype=q.dtype)
        for t in range(len(k)):
            state = state + torch.outer(v[t] - state @ k[t], k[t])
        return state @ q

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add to the state's gradient what must be subtracted from it."""
        dstate, dv = torch.outer(g, q), torch.zeros_like(v)
        for t in reversed(range(len(k))):
            dv[t] = dstate @ k[t]
            dstate = dstate + torch.outer(dv[t], k[t])
        return {"v": dv}

    return Example(forward, wrong, {"q": "n", "k": "t n", "v": "t m"})


@flip_sign.example
def _() -> Example:
    """Show the square of cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), whose first factor's gradient has a lost sign."""

    def forward(x: Tensor) -> Tensor:
        first, second = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
        product: Tensor = torch.linalg.cross(first, second)
        return product**2

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Exchange the operands of the cross product that gives the first edge its gradient."""
        first, second = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
        g = g * 2 * torch.linalg.cross(first, second)
        dfirst, dsecond = torch.linalg.cross(g, second), torch.linalg.cross(g, first)
        return {"x": torch.stack([-dfirst - dsecond, dfirst, dsecond], 1)}

    return Example(forward, wrong, {"x": "bs 3 3"})


@flip_sign.example
def _() -> Example:
    """Show sigmoid(x @ w - x @ v) whose gradient of `x` adds the contribution of x @ v."""

    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return (x @ w - x @ v).sigmoid()

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = (x @ w - x @ v).sigmoid()
        dz = g * y * (1 - y)
        return {"x": dz @ w.T + dz @ v.T}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "v": "n m"})


def values_at_wrong_point(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values at which the derivative of the edge `place` may be taken by mistake.

    These are all of `values_by_name` at the reader that have the operand's shape, the function's own value among them,
    but not the operand itself.
    """
    operand = program.source(place)
    shape = program.nodes[operand].value.shape
    yield from (name for name, value in values_by_name(program, place[0], shape).items() if value != operand)


@operator(
    "derivative-at-another-point",
    code="wrong-point",
    rank=2.0,
    at=pointwise.where(depends_on_operand).in_every_iteration,
    choices=values_at_wrong_point,
    message="the derivative of {step} is taken at {choice}; it must be taken at {operand}",
)
def take_derivative_at_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Take the derivative of the edge `place` at the value that the choice names, in place of its operand.

    For y = tanh(x) and the value v: g * (1 - tanh(v) ** 2). Returns `None` where the program has no such value.
    """
    array = named_array(program, choice, place[0])
    return None if array is None else program.with_vjp(place, lambda at: at.right(operands={at.slot: array}))


@take_derivative_at_value.example
def _() -> Example:
    """Show tanh(z) whose derivative is taken at tanh(z)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of tanh at its value, as if `y` were its input."""
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * (1 - torch.tanh(y) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Another derivative -------------------------------------------------------------------------------------------------


@operator(
    "derivative-twice",
    code="extra-factor",
    rank=2.0,
    at=pointwise.where(has_derivative),
    choices=lambda program, place: (None,),
    message="{mistake}",
    fields=lambda program, place, choice: {"mistake": describe_derivative_twice(program, place)},
)
def apply_derivative_twice(program: Program, place: Place, choice: None) -> Program:
    """Multiply the upstream gradient by the local derivative of the edge `place` twice: g * cos(x) ** 2 for sin(x)."""
    return program.with_vjp(place, lambda at: at.right(at.g * local_derivative_at(at)))


def describe_derivative_twice(program: Program, place: Place) -> str:
    """Return the clause that the local derivative of the edge `place` is applied twice.

    Such as "the derivative of `tanh(x)` is applied twice"; for the edge of x in `x / std`, "the gradient is divided by
    std once too often". That of a logarithm is named as a factor: another formula may contain it under another name.
    """
    if divisor := divisor_of(program, place):
        return f"the gradient is divided by {divisor} once too often"
    step = expression_of(program, program.reader(place))
    if program.reader(place).name == "log":
        argument = program.name_of(program.source(place)).strip("`")
        reciprocal = ast.unparse(ast.parse(f"1 / ({argument})", mode="eval")) if " of " not in argument else ""
        factor = f"{as_code(reciprocal)}, the derivative" if reciprocal else "the derivative"
        return f"there is one factor too many, {factor} of {step}"
    return f"{describe_local_derivative(program, place, step)} is applied twice"


def derivative_ahead(program: Program, place: Place) -> Place | None:
    """Return the edge by which a pointwise operation, and no other, reads the value of the reader of `place`.

    For gate * (x @ w) and the edge of x, or of w, as `place`: the edge of `x @ w` in the product. `None` where there is
    no such edge, where its local derivative is 1 or -1, or where the reader of `place` is pointwise or has only one
    operand that gets a gradient.
    """
    if (
        place[0] == SINK
        or len(program.forward.edges[place[0]]) < 2
        or program.reader(place).operation.family == "pointwise"
    ):
        return None
    uses = program.forward.uses[place[0]]
    if len(uses) != 1 or uses[0][0] == SINK or program.reader(uses[0]).operation.family != "pointwise":
        return None
    return uses[0] if has_derivative(program, uses[0]) else None


def describe_derivative_ahead(program: Program, place: Place, choice: None) -> dict[str, str]:
    """Return the field `missing` of a message: the local derivative that is left out, such as "the factor gate in ...".

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose contribution lacks the derivative; `derivative_ahead` returns the edge that this is of.
        choice: not read.
    """
    ahead = derivative_ahead(program, place) or place
    return {"missing": describe_local_derivative(program, ahead, expression_of(program, program.reader(ahead)))}


@operator(
    "derivative-missing-for-one-operand",
    code="missing-local",
    rank=2.3,  # less than that of the gradient that the operation reads, which gives the same numbers and says less
    at=edges.where(lambda program, place: derivative_ahead(program, place) is not None).in_every_iteration,
    choices=lambda program, place: (None,),
    fields=describe_derivative_ahead,
    message="in the gradient of {operand} through {step}, {missing} is missing",
)
def leave_out_derivative_for_operand(program: Program, place: Place, choice: None) -> Program | None:
    """Leave out the derivative of the next operation in the contribution of the edge `place`, not for other operands.

    For y = gate * (x @ w) and the edge of w: dw = x.T @ dy, while dx = (gate * dy) @ w.T is right. Returns `None` where
    no such operation follows in this trial.
    """
    ahead = derivative_ahead(program.right, place)
    if ahead is None:
        return None
    reader = ahead[0]
    return program.with_vjp(place, lambda at: at.right(unbroadcast(at.sweep.gradient(reader), at.y)))


@leave_out_derivative_for_operand.example
def _() -> Example:
    """Show gate * (tanh(x @ u) @ w), whose gradient of w lacks the gate, and that of u has it."""

    def forward(x: Tensor, u: Tensor, w: Tensor, gate: Tensor) -> Tensor:
        return gate * (torch.tanh(x @ u) @ w)

    def wrong(x: Tensor, u: Tensor, w: Tensor, gate: Tensor, g: Tensor) -> dict[str, Tensor]:
        h = torch.tanh(x @ u)
        return {"w": h.T @ g, "u": x.T @ ((g * gate) @ w.T * (1 - h**2))}

    return Example(forward, wrong, {"x": "bs n", "u": "n m", "w": "m k", "gate": "bs 1"})


def local_derivative_at(at: EdgeContext) -> Array:
    """Return dy/dx of the pointwise operation that reads x by the edge `at`, entry by entry; shaped like its value y.

    The derivative is that at the operands in the edited program. For y = x * w and the edge of x: w, broadcast to the
    shape of y.
    """
    wide = {i: np.broadcast_to(v, at.y.shape) for i, v in enumerate(at.node.values)}
    return at.node.vjp(at.slot, np.ones(at.y.shape), wide)


@apply_derivative_twice.example
def _() -> Example:
    """Show sigmoid(x @ w) whose backward pass multiplies by (y * (1 - y)) ** 2."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sigmoid(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.sigmoid(x @ w)
        return {"w": x.T @ (g * (y * (1 - y)) ** 2)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def following_function(program: Program, place: Place) -> Place | None:
    """Return the edge into the function that alone reads a node's value, perhaps after sums: tanh in tanh(x @ w + b).

    Args:
        program: the program of a trial.
        place: an edge into the node, such as that of x.

    Returns:
        The edge; `None` where several nodes read the value or such a sum, the shape changes, or the derivative of the
        function is the same everywhere.
    """
    value, shape = place[0], program.reader(place).value.shape
    while len(program.forward.uses[value]) == 1:
        reader, slot = program.forward.uses[value][0]
        if reader < 0 or program.nodes[reader].value.shape != shape:
            return None
        node = program.nodes[reader]
        if node.name not in ("add", "sub"):
            single = node.operation.family == "pointwise" and len(node.operands) == 1
            return (reader, slot) if single and has_varying_derivative(program, (reader, slot)) else None
        value = reader
    return None


@operator(
    "derivative-twice-for-operand",
    code="extra-factor",
    rank=2.1,
    at=edges.of_family("contraction").where(lambda program, place: following_function(program, place) is not None),
    message="in the contribution of {step} to the gradient of {operand}, the derivative of {function} is applied twice",
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {
        "function": expression_of(program, program.reader(following_function(program, place) or place))
    },
)
def apply_derivative_again(program: Program, place: Place, choice: None) -> Program | None:
    """Multiply the upstream gradient of a product by the derivative of the following function again, for one operand.

    For tanh(x @ w), its edge of x, and dz = g * (1 - y ** 2): dz * (1 - y ** 2) @ w.T for x, and x.T @ dz for w.

    Args:
        program: the right program.
        place: the edge of the operand into the product.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where no function follows the product in this trial.
    """
    behind = following_function(program, place)
    if behind is None:
        return None
    slope = local_derivative(program, behind)
    return program.with_vjp(place, lambda at: at.right(at.g * slope))


@apply_derivative_again.example
def _() -> Example:
    """Show steps h = tanh(h @ w + b) whose contribution to the previous h has the derivative of tanh twice."""

    def forward(h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        for row in b:
            h = torch.tanh(h @ w + row)
        return h

    def wrong(h: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply dz by the derivative of tanh once more before it is passed to the previous state."""
        states = [h]
        for row in b:
            states.append(torch.tanh(states[-1] @ w + row))
        dw, db = torch.zeros_like(w), torch.zeros_like(b)
        for i in reversed(range(len(b))):
            slope = 1 - states[i + 1] ** 2
            dz = g * slope
            dw += states[i].T @ dz
            db[i] = dz.sum(0)
            g = (dz * slope) @ w.T
        return {"h": g, "w": dw, "b": db}

    return Example(forward, wrong, {"h": "bs n", "w": "n n", "b": "t n"})


def has_varying_derivative(program: Program, place: Place) -> bool:
    """Return whether the local derivative of the edge `place` differs between entries: of exp(x), but not of 3 * x."""
    slope = local_derivative(program, place)
    return bool(slope.size and (slope != slope.flat[0]).any())


def name_of_derivative(program: Program, place: Place) -> str:
    """Return what a learner calls the local derivative of the edge `place`: "the derivative of `x.tanh()`".

    For the edge of `hat` in the product `gamma * hat`: gamma; for that of x in `x * angle.cos()`: `angle.cos()`.
    """
    node = program.reader(place)
    if node.name == "mul" and len(node.values) == 2:
        partner = node.operand(1 - place[1])
        source = number_source(program, node, 1 - place[1]) if partner is None else ""
        if partner is not None or source:
            return as_code(source) if partner is None else program.name_of(partner)
    return f"the derivative of {expression_of(program, node)}"


Combination = Literal["added", "divided"]


def fields_of_combination(program: Program, place: Place, choice: Combination) -> dict[str, str]:
    """Return the fields of a message: what is done to the upstream gradient, with what, and what must be done.

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose local derivative is not multiplied by; for the numerator of a quotient, the denominator
            is named.
        choice: "added", or "divided" for a division by the derivative.
    """
    divisor, derivative = divisor_of(program, place), name_of_derivative(program, place)
    of = "" if program.upstream_name else f" of {expression_of(program, program.reader(place))}"
    if choice == "divided" and divisor:
        return {"of": of, "how": "multiplied by", "what": divisor, "right": f"it must be divided by {divisor}"}
    if of and " of " in derivative:
        derivative = "its derivative"
    right = "multiply the two" if "derivative" in derivative else f"it must be multiplied by {derivative}"
    return {"of": of, "how": "divided by" if choice == "divided" else "added to", "what": derivative, "right": right}


@operator(
    "derivative-not-multiplied",
    code="wrong-local",
    rank=2.5,
    at=pointwise.where(has_varying_derivative),
    choices=lambda program, place: COMBINATIONS,
    message="the upstream gradient{of} is {how} {what}; {right}",
    fields=lambda program, place, choice: fields_of_combination(program, place, choice),
    hints=(
        "The chain rule has two factors here. What are they?",
        "What must be done with the two, and what does your code do with them?",
        COMPUTE_ONE_ENTRY,
    ),
)
def add_or_divide_by_derivative(program: Program, place: Place, choice: Combination) -> Program:
    """Contribute g + dy/dx or g / dy/dx in place of g * dy/dx, summed over broadcast axes.

    The choice is `"added"` for the first, `"divided"` for the second; y is the value of the reader, x the operand.
    """

    def rule(at: EdgeContext) -> Array:
        slope = local_derivative_at(at)
        return unbroadcast(at.g + slope if choice == "added" else at.g / slope, at.x)

    return program.with_vjp(place, rule)


COMBINATIONS: tuple[Combination, ...] = ("added", "divided")


@add_or_divide_by_derivative.example
def _() -> Example:
    """Show exp(a * x) whose backward pass adds the derivative of exp to g."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.exp(a * x)

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g + torch.exp(a * x)) * a}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


@add_or_divide_by_derivative.example
def _() -> Example:
    """Show sin(x) * a whose gradient of `x` divides by `a`."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        return torch.sin(x) * a

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g / a * torch.cos(x)}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})


def is_function_of_operand(program: Program, place: Place) -> bool:
    """Return whether the edge `place` of a pointwise operation leads into a function of one value: tanh(x), or x ** 3.

    False for a sum, product or quotient with a constant, a negation, a cast and a `detach`.
    """
    node = program.reader(place)
    return len(node.operands) == 1 and node.name not in ("neg", "cast", "detach", "add", "sub", "mul", "div")


functions = pointwise.where(is_function_of_operand)


def has_one_operand(program: Program, place: Place) -> bool:
    """Return whether the edge `place` leads into an operation on one array, such as tanh(x) or x + 2.

    False for -x, casts and `detach`.
    """
    return len(program.reader(place).operands) == 1 and program.reader(place).name not in ("neg", "cast", "detach")


Factor = Literal["value", "operand"]
FACTORS: tuple[Factor, ...] = ("value", "operand")


def factor_fields(program: Program, place: Place, choice: Factor) -> dict[str, str]:
    """Return the fields `where`, `what` and `derivative` of a message, and `factor` for the label of a picture.

    Such as "", "x" and "the derivative of `tanh(x)`". The value of the function is named by its expression, and by its
    own name if it has one: "`tanh(x)` itself, which is y," in place of "its derivative". Where it is in another term
    rightly, the term is named: "in the term `x * tanh(x)`, ".

    Args:
        program: the program of a trial.
        place: the edge into the function.
        choice: `"value"` for the value of the function, `"operand"` for its operand.
    """
    step = expression_of(program, program.reader(place))
    if choice == "operand":
        operand = program.name_of(program.source(place))
        return {"where": "", "what": operand, "factor": operand, "derivative": f"the derivative of {step}"}
    name, product = program.name_of(place[0]), product_with_dependent(program, place)
    has_name = name != step and " " not in name
    return {
        "where": f"in the term {expression_of(program, product)}, " if product is not None else "",
        "what": f"{step} itself, which is {name}," if has_name else f"{step} itself",
        "factor": name if has_name else f"{step} itself",
        "derivative": "its derivative",
    }


def product_with_dependent(program: Program, place: Place) -> Node | None:
    """Return the product of the function that reads the edge `place` with a value that depends on its operand, too.

    Such as x * tanh(x), whose derivative has the function itself in the other term. `None` if there is none.
    """
    forward, operand = program.forward, program.source(place)
    for reader, slot in forward.uses[place[0]]:
        node = program.nodes[reader] if reader != SINK else None
        partners = [value for i, value in node.operands if i != slot] if node is not None and node.name == "mul" else []
        if any(value == operand or forward.ancestors[value] >> operand & 1 for value in partners):
            return node
    return None


@operator(
    "value-for-derivative",
    code="wrong-local",
    rank=2.5,
    at=functions,
    choices=lambda program, place: FACTORS,
    message="{where}{what} is used in place of {derivative}",
    fields=lambda program, place, choice: factor_fields(program, place, choice),
)
def use_value_for_derivative(program: Program, place: Place, choice: Factor) -> Program:
    """Contribute g * y or g * x in place of g * dy/dx, for the function y of the operand x.

    The choice is "value", for y, or "operand", for x.
    """
    return program.with_vjp(place, lambda at: at.g * (at.y if choice == "value" else at.x))


@use_value_for_derivative.example
def _() -> Example:
    """Show tanh(x @ w) ** 2 whose backward pass multiplies by the value of tanh, and not by its derivative."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return y.square()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * 2 * y * y)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_value_for_derivative.example
def _() -> Example:
    """Show lgamma(x @ w) whose backward pass multiplies by the logarithm of gamma itself, and not by digamma."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.lgamma(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * torch.lgamma(x @ w)) @ w.T}

    return Example(forward, wrong, {"x": positive("bs n"), "w": positive("n m")})


@operator(
    "quotient-for-derivative",
    code="wrong-local",
    rank=3.0,
    at=pointwise.where(has_one_operand).where(lambda program, place: is_nonzero(program, place[0])),
    choices=lambda program, place: (None,),
    message="{whole} divided by {operand} is used in place of the derivative of {step}",
    fields=lambda program, place, choice: {"whole": program.name_of(place[0])},
)
def use_quotient_for_derivative(program: Program, place: Place, choice: None) -> Program:
    """Contribute g * y / x in place of g * dy/dx, for the function y of the operand x: the ratio of two values."""
    return program.with_vjp(place, lambda at: np.asarray(at.g * at.y / at.x))


@use_quotient_for_derivative.example
def _() -> Example:
    """Show exp(x) whose derivative is taken to be exp(x) / x."""

    def forward(x: Tensor) -> Tensor:
        return x.exp()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * x.exp() / x}

    return Example(forward, wrong, {"x": "bs n"})


# The derivatives of functions in terms of their values.
OF_VALUE: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "softplus": ("1 - exp(-y)", lambda y: 1 - np.exp(-y)),
    "sigmoid": ("y (1 - y)", lambda y: y * (1 - y)),
    "tanh": ("1 - y ** 2", lambda y: 1 - y**2),
    "sqrt": ("1 / (2 y)", lambda y: 0.5 / y),
    "rsqrt": ("-y ** 3 / 2", lambda y: -0.5 * y**3),
    "reciprocal": ("-y ** 2", lambda y: -(y**2)),
    "log": ("exp(-y)", lambda y: np.exp(-y)),
    "log1p": ("exp(-y)", lambda y: np.exp(-y)),
    "expm1": ("y + 1", lambda y: y + 1),
    "elu": ("y + 1 where y < 0", lambda y: np.where(y < 0, y + 1, 1.0)),
}


@operator(
    "formula-of-value-at-operand",
    code="wrong-point",
    rank=2.6,
    at=functions.of(*OF_VALUE),
    message="the derivative of {step} is {formula} for its value y, but {operand} is used in place of y",
    fields=lambda program, place, choice: {"formula": OF_VALUE[program.reader(place).name][0]},
    choices=lambda program, place: (None,),
    hints=(
        "For which of the two is your formula written: for what goes into the function, or for what comes out of it?",
        "Derive the formula once more, and call the value of the function y. What does y stand for in your code?",
        "Print what goes into the function and what comes out, for one small input. Which of them does your code use?",
    ),
)
def use_formula_of_value(program: Program, place: Place, choice: None) -> Program:
    """Compute the derivative of a function by its formula for the value y, but with the operand x in place of y.

    For y = softplus(x), whose derivative is 1 - exp(-y): g * (1 - exp(-x)). `place` is the edge of x.
    """
    formula = OF_VALUE[program.reader(place).name][1]
    return program.with_vjp(place, lambda at: at.g * formula(np.asarray(at.x)))


@use_formula_of_value.example
def _() -> Example:
    """Show softplus(x @ w) whose derivative is 1 - exp(-z), with the argument z in place of the value."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.nn.functional.softplus(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (1 - torch.exp(-(x @ w))))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def functions_that_read(program: Program, place: Place) -> Iterator[EdgeKind]:
    """Yield the kinds of edges by which a function such as exp reads the value `place`, if there are other kinds too.

    Only for functions that are one-to-one and have a derivative everywhere.
    """
    kinds = edges_by_kind(program, place[0])
    for kind, places in kinds.items() if len(kinds) > 1 else ():
        if all(reader != SINK and program.nodes[reader].name in ONE_TO_ONE for reader, _ in places):
            yield kind


ONE_TO_ONE = ("exp", "log", "sigmoid", "tanh", "softplus", "sqrt", "expm1", "log1p")


@operator(
    "gradient-of-function-of-value",
    code="missing-local",
    rank=2.4,
    at=values,
    choices=functions_that_read,
    message="the gradient of {choice} is used as that of {value}; multiply it by the derivative of {choice}",
)
def use_gradient_of_function(program: Program, place: Place, choice: EdgeKind) -> Program | None:
    """Divide all contributions to the value `place` by the derivative of one function that reads it.

    This is then the gradient of that function's value: for v and exp(v), each contribution is divided by exp(v). The
    choice is the kind of edges by which the function reads v. Returns `None` where no such edge is there in this trial.
    """
    own = choice.places(program, place[0])
    if not own:
        return None
    node, slot = program.reader(own[0]), own[0][1]
    derivative = node.vjp(slot, np.ones(node.value.shape))
    for reader in program.forward.uses[place[0]]:
        program = program.with_vjp(reader, lambda at: at.right() / derivative)
    return program


@use_gradient_of_function.example
def _() -> Example:
    """Show -z * z / 2 - log_scale, z = x / exp(log_scale), whose gradient of log_scale is that of exp(log_scale)."""

    def forward(x: Tensor, m: Tensor, s: Tensor) -> Tensor:
        log_scale = m @ s
        z = x / log_scale.exp()
        return -0.5 * z * z - log_scale

    def wrong(x: Tensor, m: Tensor, s: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate by the scale in place of its logarithm."""
        scale = (m @ s).exp()
        z = x / scale
        return {"s": m.T @ (g * (z * z - 1) / scale)}

    return Example(forward, wrong, {"x": "bs m", "m": "bs n", "s": "n m"})


@operator(
    "derivative-at-negative",
    code="wrong-point",
    rank=3.0,
    at=functions.where(depends_on_operand),
    message="the derivative of {step} is taken at minus {operand}; it must be taken at {operand}",
)
def take_derivative_at_negative(program: Program, place: Place, choice: None) -> Program:
    """Take the derivative of a function at -x, where x is the operand of the edge `place`: g * cos(-x) for sin(x)."""
    return program.with_vjp(place, lambda at: at.right(operands={at.slot: -np.asarray(at.x)}))


@take_derivative_at_negative.example
def _() -> Example:
    """Show softplus(x @ w) whose derivative is sigmoid(-x @ w)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.nn.functional.softplus(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * torch.sigmoid(-(x @ w)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def is_scaled_unevenly(program: Program, place: Place) -> bool:
    """Return whether the derivative of a smooth function at twice its operand is no multiple of that at the operand.

    True for tanh; False for the square and the logarithm, of which a wrong factor says more, and for functions with a
    kink, such as a clamp.

    Args:
        program: the program of a trial.
        place: the edge of the operand.
    """
    node = program.reader(place)
    if node.name in KINKED or not depends_on_operand(program, place):
        return False
    twice = {place[1]: 2 * np.asarray(node.values[place[1]])}
    right, other = local_derivative(program, place), node.vjp(place[1], np.ones(node.value.shape), twice)
    return not np.allclose(other * np.abs(right).max(), right * np.abs(other).max(), rtol=1e-3)


MULTIPLES: Mapping[str, float] = {"twice": 2.0, "half of": 0.5}


@operator(
    "derivative-at-multiple",
    code="wrong-point",
    rank=3.0,
    at=functions.where(is_scaled_unevenly),
    choices=lambda program, place: MULTIPLES,
    message="your derivative of {step} is the one at {choice} {operand}; the function that it is computed from needs an"
    " inner factor of {missing}",
    fields=lambda program, place, choice: {"missing": f"{1 / MULTIPLES[choice]:g}"},
    hints=(
        "At which value does your code evaluate this function, or the one in terms of which you wrote it?",
        "If you write it in terms of another function, an inner factor may be needed, as in"
        " `tanh(x) = 2 * sigmoid(2 * x) - 1`. Is it there, exactly once?",
    ),
)
def take_derivative_at_multiple(program: Program, place: Place, choice: str) -> Program:
    """Take the derivative of a function at a multiple of the operand x of the edge `place`: 1 - tanh(x / 2) ** 2.

    That is 4 * y * (1 - y) for y = sigmoid(x), which is the derivative of tanh(x) if y is sigmoid(2 * x).
    """
    return program.with_vjp(place, lambda at: at.right(operands={at.slot: MULTIPLES[choice] * np.asarray(at.x)}))


@take_derivative_at_multiple.example
def _() -> Example:
    """Show tanh(x @ w) whose derivative is written with a sigmoid that lacks the inner factor 2."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.sigmoid(x @ w)
        return {"w": x.T @ (g * 4 * y * (1 - y))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def applied_to_gradient_is_wrong(program: Program, place: Place) -> bool:
    """Return whether the reader of the edge `place`, applied to g in place of its operand, gives a wrong contribution.

    True for unary functions, as tanh(g) for tanh(x), and for sums with a number, as g - 0.25 for x - 0.25.
    """
    node = program.reader(place)
    plus_number = node.name in ("add", "sub") and len(node.operands) == 1 and np.ndim(node.values[1 - place[1]]) == 0
    return plus_number or is_function_of_operand(program, place)


def operation_of_gradient(at: EdgeContext) -> Array:
    """Return the value of the reader's operation with g in place of the operand: tanh(g) for tanh(x)."""
    return at.node.operation.run((*at.node.values[: at.slot], at.g, *at.node.values[at.slot + 1 :]), at.node.options)


NAMED_FUNCTIONS = frozenset(
    ("clamp", "cos", "elu", "erf", "exp", "gelu", "log", "relu", "sigmoid", "silu", "sin", "softplus", "sqrt", "tanh")
)


def name_of_applied_function(program: Program, place: Place) -> str:
    """Return what a learner calls the function that reads the edge `place`: "exp", or "the step `- 0.25`".

    It has its own name where `NAMED_FUNCTIONS` has it and the forward pass applies no other function of this name.
    """
    node = program.reader(place)
    alike = {each.key for each in program.nodes if each.name == node.name}
    if node.name in NAMED_FUNCTIONS and len(alike) == 1:
        return node.name
    return f"the step `{operation_label(node)}`"


@operator(
    "function-of-gradient",
    code="wrong-local",
    rank=3.0,
    at=pointwise.where(applied_to_gradient_is_wrong),
    choices=lambda program, place: (None,),
    message="{function} is applied to the gradient; multiply the gradient by the derivative of this function instead",
    fields=lambda program, place, choice: {"function": name_of_applied_function(program, place)},
)
def apply_operation_to_gradient(program: Program, place: Place, choice: None) -> Program:
    """Contribute f(g) in place of g * f'(x), f being the operation that reads x by `place`: tanh(g) for tanh(x)."""
    return program.with_vjp(place, operation_of_gradient)


@apply_operation_to_gradient.example
def _() -> Example:
    """Show sigmoid(x @ w) whose backward pass applies sigmoid to g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sigmoid(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ torch.sigmoid(g)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@apply_operation_to_gradient.example
def _() -> Example:
    """Show relu(x @ w) - 0.25 whose backward pass subtracts 0.25 from g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w) - 0.25

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ ((g - 0.25) * (x @ w > 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# The functions of each group are taken for one another; any other function, for all of them.
LIKE_FUNCTIONS = (
    ("tanh", "sigmoid", "relu", "exp", "silu", "gelu", "softplus", "tan"),
    ("exp", "log", "sqrt", "square", "reciprocal", "abs"),
    ("sin", "cos", "tan"),
    ("asin", "acos", "atan"),
    ("sinh", "cosh", "tanh"),
    ("asinh", "acosh", "atanh"),
    ("lgamma", "digamma"),
)
FUNCTIONS_IN_WORDS = {
    "tanh": "the tanh", "sigmoid": "the sigmoid", "relu": "the relu", "softmax": "the softmax",
    "exp": "the exponential", "log": "the logarithm", "square": "the square", "sqrt": "the square root",
    "reciprocal": "the reciprocal", "abs": "the absolute value",
}  # fmt: skip


@dataclass(frozen=True)
class OtherFunction:
    """A function whose derivative is used in place of that of the reader's function.

    Args:
        name: torch's name of it, such as `tanh`.
        of: what its derivative is computed from: `"operand"`, as 1 - tanh(x) ** 2, or the reader's value, `"value"`, as
            1 - y ** 2.
    """

    name: str
    of: Factor

    def contribution(self, at: EdgeContext) -> Array:
        """Return g times the derivative of the function `self.name` at the edge `at`; shaped like the operand.

        The derivative is computed from the edge's operand x, or, if `self.of` is `"value"`, from the reader's value y:
        for tanh, g * (1 - tanh(x) ** 2) or g * (1 - y ** 2).

        Raises:
            NoCandidate: `self.of` is `"value"`, and the derivative cannot be computed from a value.
        """
        other = OPERATIONS[self.name]
        if self.of == "operand":
            return other.vjp(0, at.g, other.run((at.x,), {}), (at.x,), {})
        if other.value_vjp is None:
            raise NoCandidate(f"the derivative of {self.name} is not written in terms of its value")
        return np.asarray(other.value_vjp(at.g, at.y, at.x))


def other_functions(program: Program, place: Place) -> Iterator[OtherFunction]:
    """Yield `OtherFunction`s: the name of a function whose derivative is used, and what it is computed from.

    For a reader tanh: "sigmoid" computed from the `"operand"`, as s * (1 - s) with s = sigmoid(x), and from the
    `"value"`, as y * (1 - y), and so on. The functions are those in a group of `LIKE_FUNCTIONS` with the reader's, or
    of all groups if it is in none. The reader is that of the edge `place`.
    """
    own = program.reader(place).name
    groups = [group for group in LIKE_FUNCTIONS if own in group] or LIKE_FUNCTIONS
    for name in dict.fromkeys(name for group in groups for name in group):
        if name != own:
            yield OtherFunction(name, "operand")
            if OPERATIONS[name].value_vjp is not None:
                yield OtherFunction(name, "value")


def has_exponent_by_name(program: Program, place: Place) -> bool:
    """Return whether the source has the exponent of a power as a name: True for `x ** power`, False for `x ** 3`.

    True also for an expression with a name, as in `x.pow(n + 1)`. False where the exponent is an array, or the value of
    a node, and for a power that the source does not write, as that inside `mse_loss(x, y)`.

    Args:
        program: the program of a trial.
        place: the edge of the base in the power.
    """
    node = program.reader(place)
    exponent = _exponent_in_source(node.text)
    is_number = np.ndim(node.values[1]) == 0 and node.operand(1) is None
    return is_number and exponent is not None and any(isinstance(part, ast.Name) for part in ast.walk(exponent))


def _exponent_in_source(text: str) -> ast.expr | None:
    """Return the exponent of a power, parsed: `power` in `x ** power`, in `torch.pow(x, power)` and in `x **= power`.

    Args:
        text: the source of the operation.

    Returns:
        The expression; `None` where the source is no power.
    """
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # ValueError for a text that is empty
        return None
    match statement:
        case ast.Expr(ast.BinOp(op=ast.Pow(), right=exponent)) | ast.AugAssign(op=ast.Pow(), value=exponent):
            return exponent
        case ast.Expr(ast.Call(ast.Attribute(attr="pow") | ast.Name("pow"), arguments, keywords)):
            operands = [*arguments, *(keyword.value for keyword in keywords)]
            return operands[-1] if operands else None
    return None


@operator(
    "exponent-typed-in",
    code="hard-coded",
    rank=2.4,  # not the derivative of another function
    at=edges.of("pow").at_slot(0).where(has_exponent_by_name),
    choices=lambda program, place: (2, 3, 1),
    message="the exponent of {step} is assumed to be {choice}, but it differs between calls",
)
def type_in_exponent(program: Program, place: Place, choice: int) -> Program:
    """Contribute g * n * x ** (n - 1) with the chosen number n in place of the exponent of the power.

    The choice is 1, 2 or 3: the derivative of one call is typed in, where the exponent differs from trial to trial.
    """
    return program.with_vjp(place, lambda at: unbroadcast(at.g * choice * np.asarray(at.x) ** (choice - 1), at.x))


@type_in_exponent.example
def _() -> Example:
    """Show x ** power, where the power depends on the number of rows, whose gradient is always 2 * x."""

    def forward(x: Tensor) -> Tensor:
        power = 1 + len(x) % 3
        return x**power

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * 2 * x}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "derivative-of-another-function",
    code="wrong-local",
    rank=2.5,
    at=functions,
    choices=other_functions,
    message="the derivative of {name} is used in place of that of {step}",
    fields=lambda program, place, choice: {"name": FUNCTIONS_IN_WORDS.get(choice.name, choice.name)},
)
def use_derivative_of_other_function(program: Program, place: Place, choice: OtherFunction) -> Program:
    """Contribute g times the derivative of a wrong function in place of that of the edge's reader.

    The choice is the name of the function, and what its derivative is computed from: for y = sigmoid(x) and
    `OtherFunction("tanh", "value")`, g * (1 - y ** 2); with `"operand"`, g * (1 - tanh(x) ** 2).
    """
    return program.with_vjp(place, choice.contribution)


@use_derivative_of_other_function.example
def _() -> Example:
    """Show sigmoid(x @ w) whose backward pass has the derivative of tanh, 1 - y ** 2."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.sigmoid(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.sigmoid(x @ w)
        return {"w": x.T @ (g * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_derivative_of_other_function.example
def _() -> Example:
    """Show gelu(x @ w) whose backward pass has the derivative of relu."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.nn.functional.gelu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (x @ w > 0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Derivatives that are written with the value ------------------------------------------------------------------------


def has_derivative_of_value(program: Program, place: Place) -> bool:
    """Return whether the function's derivative can be computed from its value, as 1 - y ** 2 for y = tanh(x).

    The function is the reader of the edge `place`. It also holds for y = logsumexp(x), with the derivative exp(x - y);
    a softmax does not count.
    """
    operation = program.reader(place).operation
    return operation.value_vjp is not None and operation.family in ("pointwise", "reduction")


def values_for_function_value(program: Program, place: Place) -> Iterator[ValueName | ValueOfIteration | EdgeOperand]:
    """Yield what may be used in place of the value y of a function in its derivative, such as 1 - y ** 2 of tanh.

    First an `EdgeOperand`, which stands for the function's operand x, if x has y's shape; then the name of each
    other value of this shape; then, in a loop of three iterations or more, a `ValueOfIteration` each for y of the last,
    next, previous and first iteration, and of the iterations in reverse order, and for what loops end with.
    """
    node = program.reader(place)
    operand = program.source(place)
    if np.shape(node.values[place[1]]) == node.value.shape:
        yield EdgeOperand(place[1])
    for name, value in values_by_name(program, node.id, node.value.shape).items():
        if value not in (node.id, operand):
            yield name
    if len(program.forward.by_key[node.key]) > 2:
        yield from (ValueOfIteration(node.key, which) for which in NAMED_ITERATIONS)
        finals = (value for value in final_values(program) if value.key != node.key)
        yield from (value for value in finals if value.has_shape(program, node.value.shape))


@operator(
    "derivative-with-another-value",
    code="wrong-point",
    rank=2.0,
    at=edges.where(has_derivative_of_value).in_every_iteration,
    choices=values_for_function_value,
    message="in the derivative of {step}, {other} is used in place of {value}",
    fields=lambda program, place, choice: {
        "other": program.name_of(program.source(place)) if isinstance(choice, EdgeOperand) else choice.describe(program)
    },
)
def use_wrong_value_in_derivative(
    program: Program, place: Place, choice: ValueName | ValueOfIteration | EdgeOperand
) -> Program | None:
    """Compute the derivative of the edge's function from a wrong value in place of the function's own value y.

    The choice names the value v: a value of y's shape, y of a certain iteration of the loop (`ValueOfIteration`), or
    the operand x (`EdgeOperand`). For y = tanh(x): g * (1 - v ** 2). Returns `None` where the program has no such
    value.
    """
    array = named_array(program, choice, place[0])
    return None if array is None else program.with_vjp(place, lambda at: at.right(value=array))


@use_wrong_value_in_derivative.example
def _() -> Example:
    """Show tanh(z) whose derivative is written 1 - z ** 2."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write 1 - z**2 with the input where the value of tanh belongs."""
        z = x @ w
        return {"w": x.T @ (g * (1 - z**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_wrong_value_in_derivative.example
def _() -> Example:
    """Show h = tanh(x[t] @ w + h @ u), whose backward loop has 1 - h**2 with the last h in every iteration."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the last state in each iteration."""
        dw, last = torch.zeros_like(w), h
        for step in x:
            last = torch.tanh(step @ w + last @ u)
        for step in reversed(x):
            dz = g * (1 - last**2)
            dw += step.T @ dz
            g = dz @ u.T
        return {"w": dw}

    return Example(forward, wrong, {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"})


@dataclass(frozen=True)
class OneOccurrence:
    """A value that is used for one of the two occurrences of y in y * (1 - y) or 1 - y * y.

    Args:
        value: names the value.
        first: whether it is used for the first y, and not the second; for sigmoid only.
    """

    value: ValueName
    first: bool


def values_for_one_occurrence(program: Program, place: Place) -> Iterator[OneOccurrence]:
    """Yield `OneOccurrence`s: the name of a value v, and which y of a derivative y * (1 - y) or 1 - y * y it replaces.

    For sigmoid both v * (1 - y), the first, and y * (1 - v), the second; for tanh 1 - y * v alone. The edge `place` is
    that into the sigmoid or tanh.
    """
    node = program.reader(place)
    for name, value in values_by_name(program, node.id, node.value.shape).items():
        if value != node.id:
            yield OneOccurrence(name, first=False)
            if node.name == "sigmoid":
                yield OneOccurrence(name, first=True)


@operator(
    "another-value-in-one-place",
    code="wrong-point",
    rank=3.0,
    at=pointwise.of("sigmoid", "tanh").in_every_iteration,
    choices=values_for_one_occurrence,
    message="in the derivative of {step}, {other} is used in one of the two places where {value} belongs",
    fields=lambda program, place, choice: {"other": choice.value.describe(program)},
)
def use_value_in_one_occurrence(program: Program, place: Place, choice: OneOccurrence) -> Program | None:
    """Compute the derivative of sigmoid or tanh with a wrong value v for one of its two y, such as y * (1 - v).

    The choice is the name of v, and whether it replaces the first y. The edge `place` is that into the function.
    Returns `None` where the program has no such value.
    """
    other = named_array(program, choice.value, place[0])
    if other is None:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return g times the derivative with the wrong value for one of its two y."""
        y = at.y
        if at.node.name == "tanh":
            return np.asarray(at.g * (1 - y * other))
        return np.asarray(at.g * (other * (1 - y) if choice.first else y * (1 - other)))

    return program.with_vjp(place, rule)


@use_value_in_one_occurrence.example
def _() -> Example:
    """Show sigmoid(z) whose derivative is written y * (1 - z)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.sigmoid(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        z = x @ w
        y = torch.sigmoid(z)
        return {"w": x.T @ (g * y * (1 - z))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def roles_of_upstream(program: Program, place: Place) -> Iterator[str]:
    """Yield words for what the upstream gradient g may replace in the derivative of the function at the edge `place`.

    `"operand"`, as in g * exp(g); for a function whose derivative needs only its value also `"value"`, as in g * (1 - g
    ** 2) for tanh, but not for sqrt; for one with a kink only `"mask"`, as in g * (g > 0) for relu.
    """
    is_mask = program.reader(place).name in KINKED
    yield "mask" if is_mask else "operand"
    if has_derivative_of_value(program, place) and not is_mask and program.reader(place).name != "sqrt":  # g / (2 * g)
        yield "value"


def upstream_misuse(program: Program, place: Place, choice: str) -> str:
    """Return what is wrong where a derivative is computed from the upstream gradient.

    A relu only compares: "the upstream gradient is kept where it is positive; it must be kept where x is positive".

    Args:
        program: the program of a trial.
        place: the edge into the function.
        choice: what the upstream gradient replaces: `"operand"`, `"value"` or `"mask"`.
    """
    node, operand = program.reader(place), program.source(place)
    replaced = program.name_of(place[0] if choice == "value" else operand)
    if np.array_equal(node.value, np.maximum(program.nodes[operand].value, 0)):
        return f"the upstream gradient is kept where it is positive; it must be kept where {replaced} is positive"
    return f"the derivative is computed from the upstream gradient instead of {replaced}"


@operator(
    "upstream-in-derivative",
    code=lambda choice: "wrong-point" if choice == "mask" else "not-linear",
    rank=2.5,
    at=functions.where(depends_on_operand),
    choices=roles_of_upstream,
    message="in the gradient of {operand} through {step}, {misuse}",
    fields=lambda program, place, choice: {"misuse": upstream_misuse(program, place, choice)},
)
def use_upstream_in_derivative(program: Program, place: Place, choice: str) -> Program:
    """Compute the derivative of the function that reads the edge `place` from g, not from its operand, value or mask.

    With the choice "value" and tanh: g * (1 - g ** 2); with "operand" and exp: g * exp(g); with "mask" and relu: g
    where g > 0.
    """
    if choice == "value":
        return program.with_vjp(place, lambda at: at.right(value=at.g))
    return program.with_vjp(place, lambda at: at.right(operands={at.slot: at.g}))


@use_upstream_in_derivative.example
def _() -> Example:
    """Show clamp(x @ w, -1, 1) whose backward pass tests whether g, and not x @ w, is within the limits."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).clamp(-1, 1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (g.abs() <= 1))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_upstream_in_derivative.example
def _() -> Example:
    """Show tanh(x @ w) whose backward pass is g * (1 - g ** 2)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (1 - g**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Formulas of single functions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Formula:
    """A wrong contribution of a single operation that is common enough to have its own sentence.

    Args:
        operations: the names of the operations that it is for, separated by spaces.
        code: the public code of the mistake.
        mistake: a clause about the derivative; `{exponent}` stands for the other operand, `{operand}` for the operand
            and `{value}` for the value.
        contribution: takes the upstream gradient g, the operand x, the value y and the other operand n (an exponent, a
            base or a denominator; 2 for a unary operation); returns the wrong contribution, before broadcast axes are
            summed.
        slot: the slot of the edge that it is for.
    """

    operations: str
    code: str
    mistake: str
    contribution: Callable[[Array, Array, Array, Operand], Array]
    slot: int = 0


FORMULAS = (
    Formula("sigmoid", "missing-local", "the factor {value} is missing", lambda g, x, y, n: g * (1 - y)),
    Formula("sigmoid", "missing-local", "the derivative of exp(-x) in 1 / (1 + exp(-x)) is missing",
            lambda g, x, y, n: g * y * y),
    Formula("sigmoid", "wrong-sign", "the square of {value} is added; it must be subtracted",
            lambda g, x, y, n: g * (y + y * y)),
    Formula("sigmoid", "wrong-local", "the formula for the derivative of sigmoid is differentiated once more",
            lambda g, x, y, n: g * (1 - 2 * y)),
    Formula("sigmoid", "missing-upstream", "the upstream gradient does not multiply the square of {value}",
            lambda g, x, y, n: g * y - y * y),
    Formula("sigmoid", "missing-upstream",
            "the upstream gradient multiplies only the square of {value}; it must multiply both terms",
            lambda g, x, y, n: y - g * y * y),
    Formula("sigmoid", "wrong-local", "both factors are 1 minus {value}; one of them must be {value}",
            lambda g, x, y, n: g * (1 - y) ** 2),
    Formula("sigmoid", "wrong-operand", "{value} and the upstream gradient are swapped",
            lambda g, x, y, n: y * g * (1 - g)),
    Formula("tanh", "wrong-operand", "{value} and the upstream gradient are swapped",
            lambda g, x, y, n: y * (1 - g * g)),
    Formula("sigmoid", "not-linear", "1 minus the upstream gradient is used in place of the upstream gradient times"
            " 1 minus {value}", lambda g, x, y, n: y * (1 - g)),
    Formula("sigmoid", "not-linear", "{value} is multiplied by the upstream gradient in both places; only the whole"
            " derivative must be", lambda g, x, y, n: y * g * (1 - y * g)),
    Formula("sigmoid", "not-linear", "the upstream gradient is used in place of {value}, and does not multiply the"
            " derivative", lambda g, x, y, n: g * (1 - g)),
    Formula("tanh", "not-linear", "the upstream gradient is used in place of {value}, and does not multiply the"
            " derivative", lambda g, x, y, n: 1 - g * g),
    Formula("tanh", "not-linear", "the upstream gradient is squared together with {value}; it must multiply the whole"
            " derivative", lambda g, x, y, n: 1 - (g * y) ** 2),
    Formula("tanh", "not-linear", "the upstream gradient is squared together with {value}, and multiplies the"
            " derivative as well", lambda g, x, y, n: g * (1 - (g * y) ** 2)),
    Formula("tanh", "wrong-local", "{value} is not squared", lambda g, x, y, n: g * (1 - y)),
    Formula("tanh", "wrong-sign", "the square of {value} is added; it must be subtracted",
            lambda g, x, y, n: g * (1 + y * y)),
    Formula("tanh", "wrong-local", "1 / cosh is not squared", lambda g, x, y, n: g / np.cosh(x)),
    Formula("tanh", "wrong-local", "1 minus {value} is squared as a whole; only {value} must be squared",
            lambda g, x, y, n: g * (1 - y) ** 2),
    Formula("tanh", "wrong-local", "the formula for the derivative of tanh is differentiated once more",
            lambda g, x, y, n: g * -2 * y),
    Formula("tanh", "missing-upstream", "the upstream gradient does not multiply the square of {value}",
            lambda g, x, y, n: g - y * y),
    Formula("tanh", "missing-upstream",
            "the upstream gradient multiplies only the square of {value}; it must multiply both terms",
            lambda g, x, y, n: 1 - g * y * y),
    Formula("exp", "wrong-local", "the power rule is applied, but the variable is in the exponent",
            lambda g, x, y, n: g * x * np.exp(x - 1)),
    Formula("sqrt", "missing-local", "the factor 1/2 is missing", lambda g, x, y, n: g / y),
    Formula("sqrt", "wrong-local", "the root is in the numerator; it belongs in the denominator",
            lambda g, x, y, n: g * y / 2),
    Formula("erf", "missing-local", "the factor 2 / sqrt(pi) is missing", lambda g, x, y, n: g * np.exp(-x * x)),
    Formula("erf", "wrong-sign", "the minus sign in the exponent is missing",
            lambda g, x, y, n: g * 2 / math.sqrt(math.pi) * np.exp(x * x)),
    Formula("silu", "missing-path", "only the first factor of x * sigmoid(x) is differentiated",
            lambda g, x, y, n: g * sigmoid(x)),
    Formula("silu", "missing-path", "only the second factor of x * sigmoid(x) is differentiated",
            lambda g, x, y, n: g * x * sigmoid(x) * sigmoid(-x)),
    Formula("gelu", "missing-path", "only the first factor of x * Phi(x) is differentiated",
            lambda g, x, y, n: g * y / x),
    Formula("gelu", "missing-path", "only the second factor of x * Phi(x) is differentiated",
            lambda g, x, y, n: g * x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)),
    Formula("elu", "wrong-local", "the derivative below 0 is used above 0 as well", lambda g, x, y, n: g * np.exp(x)),
    Formula("elu", "wrong-local", "below 0, {value} is used in place of the derivative",
            lambda g, x, y, n: g * np.where(x > 0, 1.0, y)),
    Formula("elu", "inverted-mask", "the derivatives above 0 and below 0 are swapped",
            lambda g, x, y, n: g * np.where(x > 0, np.exp(x), 1.0)),
    Formula("elu", "inverted-mask", "the derivatives above 0 and below 0 are swapped",
            lambda g, x, y, n: g * np.where(x > 0, y + 1, 1.0)),
    Formula("relu", "wrong-local", "the slope is -1 where the function is flat; it must be 0 there",
            lambda g, x, y, n: g * np.sign(x)),
    Formula("pow square", "missing-local", "the factor {exponent} is missing",
            lambda g, x, y, n: g * x ** (n - 1)),
    Formula("pow square", "missing-local", "the factor {exponent} is there, but the power of {operand} is missing",
            lambda g, x, y, n: g * n),
    Formula("pow square", "wrong-local", "the exponent is not reduced by 1", lambda g, x, y, n: g * n * x**n),
    Formula("pow square", "wrong-local", "the exponent is increased by 1; it must be reduced by 1",
            lambda g, x, y, n: g * n * x ** (n + 1)),
    Formula("pow square", "wrong-local", "the exponent is taken to be one larger than it is",
            lambda g, x, y, n: g * (n + 1) * x**n),
    Formula("pow square", "wrong-local", "the factor {exponent} is inside the power; it must be outside",
            lambda g, x, y, n: g * (n * x) ** (n - 1)),
    Formula("pow square", "wrong-local", "1 is subtracted after the power; put the reduced exponent in parentheses",
            lambda g, x, y, n: n * y - g),
    Formula("pow square", "extra-factor", "the factor {exponent} is there twice",
            lambda g, x, y, n: g * n * n * x ** (n - 1)),
    Formula("pow square", "wrong-sign", "{operand} has the wrong sign",
            lambda g, x, y, n: g * n * np.abs(x) ** (n - 1)),
    Formula("div", "wrong-local", "the denominator is not squared", lambda g, x, y, n: g * -y, slot=1),
    Formula("reciprocal", "wrong-local", "the denominator is not squared", lambda g, x, y, n: g * -y),
    Formula("reciprocal", "wrong-local", "the function is integrated instead of differentiated",
            lambda g, x, y, n: g * np.log(np.abs(x))),
    Formula("pow", "missing-local", "the logarithm of the base {exponent} is missing",
            lambda g, x, y, n: g * y, slot=1),
    Formula("pow", "wrong-local", "the logarithm of the base {exponent} is a divisor; it must be a factor",
            lambda g, x, y, n: g * y / np.log(n), slot=1),
    Formula("div", "wrong-local", "the quotient is differentiated as if it were a product",
            lambda g, x, y, n: g * n, slot=1),
    Formula("add sub", "wrong-local", "the sum is differentiated as if it were a product", lambda g, x, y, n: g * n),
    Formula("add sub", "wrong-local", "the sum is differentiated as if it were a product",
            lambda g, x, y, n: g * n, slot=1),
)  # fmt: skip


def formulas(program: Program, place: Place) -> Iterator[Formula]:
    """Yield the `Formula`s in `FORMULAS` that are for the operation and the slot of the edge `place`.

    A `Formula` is a wrong contribution such as g * (1 - y) for y = tanh(x), with a clause that says what is wrong. For
    a sum, g * b for x in `x + b`, only where the second operand b is an array.
    """
    name = program.reader(place).name
    if name == "sqrt" and is_divisor_only(program, place[0]):  # then the other factors are those of the quotient
        yield from (each for each in FORMULAS if each.operations == name and each.code == "missing-local")
    elif name not in ("add", "sub") or np.ndim(other_operand(program, place)):  # a number as a factor is a factor
        yield from (each for each in FORMULAS if name in each.operations.split() and each.slot == place[1])


def is_divisor_only(program: Program, value: int) -> bool:
    """Return whether a value is read as a denominator, and as nothing else; False where nothing reads it."""
    uses = program.forward.uses[value]
    return bool(uses) and all(reader >= 0 and program.nodes[reader].name == "div" and slot for reader, slot in uses)


def other_operand(program: Program, place: Place) -> Operand:
    """Return the partner operand of the edge `place` in a binary operation, an array or a number.

    For a unary operation return 2.0, the exponent of a square.
    """
    values = program.reader(place).values
    return values[1 - place[1]] if len(values) > 1 else 2.0


@operator(
    "formula-wrong",
    code=lambda choice: choice.code,
    rank=1.9,  # what is known of one function says more than another point or value
    at=pointwise,
    choices=formulas,
    message="in the derivative of {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": describe_formula(program, place, choice)},
    hints={"missing-upstream": MISSING_PARENTHESES},
)
def use_wrong_formula(program: Program, place: Place, choice: Formula) -> Program:
    """Contribute what a wrong formula gives, such as g * (1 - y) for y = tanh(x), summed over broadcast axes.

    The choice is the `Formula`: a function of g, the operand x, the value y and the partner operand. `place` is the
    edge of x.
    """
    partner = other_operand(program, place)

    def rule(at: EdgeContext) -> Array:
        return unbroadcast(choice.contribution(at.g, np.asarray(at.x), at.y, partner), at.x)

    return program.with_vjp(place, rule)


def describe_formula(program: Program, place: Place, formula: Formula) -> str:
    """Return the clause of a `Formula` with names: "the factor k is missing", or "out is not squared".

    Args:
        program: the program of a trial.
        place: the edge into the function.
        formula: the wrong formula.
    """
    node = program.reader(place)
    partner, source = node.operand(1 - place[1]), operand_source(node.text, node.name, 1 - place[1])
    number = other_operand(program, place)
    constant = "given by the constant" if np.ndim(number) else f"{float(number):g}"
    if partner is not None:
        exponent = program.name_of(partner)
    else:
        exponent = as_code(source) if source else constant
    words = formula.mistake.format(
        exponent=exponent, operand=program.name_of(program.source(place)), value=name_of_value(program, node.id)
    )
    return words.replace(f"the factor the value of {node.name}", f"the factor {expression_of(program, node)}")


@use_wrong_formula.example
def _() -> Example:
    """Show tanh(x @ w) whose derivative is written 1 - y."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (1 - torch.tanh(x @ w)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_wrong_formula.example
def _() -> Example:
    """Show (x @ w) ** 3 whose derivative is written 3 * x ** 3."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w) ** 3

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * 3 * (x @ w) ** 3)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_wrong_formula.example
def _() -> Example:
    """Show x / cosh(scale) whose gradient of `scale` divides by the denominator only once."""

    def forward(x: Tensor, scale: Tensor) -> Tensor:
        return x / torch.cosh(scale)

    def wrong(x: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"scale": (g * -x / torch.cosh(scale)).sum(0) * torch.sinh(scale)}

    return Example(forward, wrong, {"x": "bs n", "scale": "n"})
