"""Operators on the vjps of softmax, log-softmax and logsumexp: wrong probabilities, wrong terms, wrong axes.

With the probabilities p of the operand along an axis, the vjps are p (g - sum(p g)) for softmax, g - p sum(g) for
log-softmax, and p g for logsumexp. So the first two are `own - p sum(own)`, where an entry's own term is p g, or g.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import positive
from grader.diagnosis.hints import WHICH_PROBABILITIES
from grader.program.arithmetic import sigmoid, softmax
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, unbroadcast
from grader.program.program import EdgeContext, Program
from grader.program.queries import broadcast_to_operand, product_of_weights, reduced_axes
from grader.program.selectors import ValueName, values_by_name

from .contract import Example, operator
from .places import RESHAPES, edges, name_of_value, names_of_two_axes, nodes
from .upstream import name_of_upstream_gradient

Axes = tuple[int, ...]


def has_axis(program: Program, place: Place) -> bool:
    """Return whether the operand of the softmax that reads the edge `place` has at least one axis."""
    node = program.reader(place)
    return np.ndim(node.values[0]) > 0


softmaxes = edges.of("softmax", "log_softmax", "logsumexp").where(has_axis)


def total(terms: Array, axes: Axes) -> Array:
    """Return the sum of an array over the given axes, kept with size 1: terms.sum(1, keepdims=True) for (1,)."""
    return np.asarray(terms.sum(axis=axes, keepdims=True))


def vjp_with_probabilities(at: EdgeContext, p: Array, axes: Axes) -> Array:
    """Return the contribution of an edge into a softmax, log-softmax or logsumexp, with p as softmax probabilities.

    p * (g - sum(p * g)) for softmax, g - p * sum(g) for log-softmax, and p * g for logsumexp.

    Args:
        at: the edge into a softmax, log-softmax or logsumexp.
        p: the probabilities, shaped like the operand.
        axes: the axes of the sum in the vjp.

    Returns:
        Shape: that of the operand.
    """
    if at.node.name == "softmax":
        return np.asarray(p * (at.g - total(p * at.g, axes)))
    if at.node.name == "log_softmax":
        return np.asarray(at.g - p * total(at.g, axes))
    kept = [1 if i in reduced_axes(at.node) else size for i, size in enumerate(np.shape(at.x))]
    return np.asarray(p * at.g.reshape(kept))


# Other probabilities --------------------------------------------------------------------------------------------------


class Probabilities(NamedTuple):
    """An array that is used in place of the softmax probabilities, such as the exponentials.

    Args:
        code: the public code of the mistake.
        of: takes the operand and the softmax axes; returns the array, shaped like the operand.
        message: a clause that says what is wrong; empty where the name of the array says it.
    """

    code: str
    of: Callable[[Array, Axes], Array]
    message: str = ""


def _log_total(x: Array, axes: Axes) -> Array:
    """Return the logarithm of the sum of the exponentials of x over the given axes, each kept with size 1."""
    return np.asarray(np.log(total(np.exp(x), axes)))


PROBABILITIES: Mapping[str, Probabilities] = {
    "the exponential": Probabilities(
        "missing-local", lambda x, axes: np.exp(x), "the exponentials are not divided by their sum"
    ),
    "the operand divided by its sum": Probabilities("missing-local", lambda x, axes: x / total(x, axes)),
    "the reciprocal of the sum of the exponentials": Probabilities(
        "missing-local", lambda x, axes: np.broadcast_to(1 / total(np.exp(x), axes), x.shape)
    ),
    "1": Probabilities("missing-local", lambda x, axes: np.ones_like(x)),
    "the operand": Probabilities("wrong-point", lambda x, axes: x),
    "the logarithm of the probabilities": Probabilities("wrong-point", lambda x, axes: x - _log_total(x, axes)),
    "the exponential divided by the logarithm of its sum": Probabilities(
        "wrong-point",
        lambda x, axes: np.exp(x) / _log_total(x, axes),
        "the exponentials are divided by the logarithm of their sum; they must be divided by the sum itself",
    ),
    "the softmax of the probabilities": Probabilities("wrong-point", lambda x, axes: softmax(softmax(x, axes), axes)),
    "the sigmoid of the operand": Probabilities("wrong-local", lambda x, axes: sigmoid(x)),
    "the reciprocal of each probability": Probabilities("wrong-local", lambda x, axes: 1 / softmax(x, axes)),
    "the softmax of minus the operand": Probabilities("wrong-sign", lambda x, axes: softmax(-x, axes)),
    "each probability minus 1": Probabilities("wrong-local", lambda x, axes: softmax(x, axes) - 1),
    "the sum of the exponentials": Probabilities(
        "wrong-local", lambda x, axes: np.broadcast_to(total(np.exp(x), axes), x.shape)
    ),
    "the same probability for every entry": Probabilities(
        "wrong-local", lambda x, axes: np.broadcast_to(1 / total(np.ones_like(x), axes), x.shape)
    ),
    "p * (1 - p), for each probability p,": Probabilities(
        "wrong-local", lambda x, axes: (p := softmax(x, axes)) * (1 - p)
    ),
    "1 at the largest entry and 0 elsewhere": Probabilities(
        "wrong-local", lambda x, axes: np.where(x == x.max(axis=axes, keepdims=True), 1.0, 0.0)
    ),
}


def name_of_probabilities(program: Program, place: Place) -> str:
    """Return what a learner calls the softmax probabilities in the vjp of the edge `place`, such as `p`.

    "the softmax of x" where the softmax has no name, and for a log-softmax or logsumexp.
    """
    name = program.name_of(place[0])
    is_softmax = program.reader(place).name == "softmax"
    return name if is_softmax and name.isidentifier() else f"the softmax of {program.name_of(program.source(place))}"


def describe_wrong_probabilities(program: Program, place: Place, choice: str) -> dict[str, str]:
    """Return the fields `wrong`, an array that is used in place of the softmax probabilities, and `mistake`, a clause.

    Such as "1" and "1 is used in place of the softmax of x", or "the exponential" and "the exponentials are not divided
    by their sum".

    Args:
        program: the program of a trial.
        place: the edge into the softmax, log-softmax or logsumexp.
        choice: which array, a key of `PROBABILITIES`.
    """
    right = name_of_probabilities(program, place)
    wrong = choice.replace("the operand", program.name_of(program.source(place))).replace("the probabilities", right)
    mistake = PROBABILITIES[choice].message or f"{wrong} is used in place of {right}"
    return {"wrong": wrong, "mistake": mistake}


@operator(
    "other-probabilities",
    code=lambda choice: PROBABILITIES[choice].code,
    rank=2.5,
    at=softmaxes,
    choices=lambda program, place: PROBABILITIES,
    message="in the derivative of {step}, {mistake}",
    fields=describe_wrong_probabilities,
    hints={
        "wrong-point": (
            "The softmax probabilities are positive, and add up to 1 in each row. Is that so for what you use?",
            "Write down how a probability is computed from the row, one step after the other. Which steps do you take?",
            "Print what you use for one small row, and beside it the softmax of this row.",
        ),
    },
)
def use_wrong_probabilities(program: Program, place: Place, choice: str) -> Program:
    """Compute the contribution of the edge `place` with a wrong array in place of the softmax probabilities p.

    The choice is a key of `PROBABILITIES`, such as "the sigmoid of the operand": for y = logsumexp(x), g * sigmoid(x)
    in place of g * p.
    """

    def rule(at: EdgeContext) -> Array:
        axes = reduced_axes(at.node)
        return vjp_with_probabilities(at, PROBABILITIES[choice].of(np.asarray(at.x), axes), axes)

    return program.with_vjp(place, rule)


@use_wrong_probabilities.example
def _() -> Example:
    """Show the logsumexp of x @ w whose backward pass multiplies by the exponentials, not divided by their sum."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).logsumexp(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g[:, None] * (x @ w).exp())}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@use_wrong_probabilities.example
def _() -> Example:
    """Show log_softmax(x @ w) whose backward pass has the sigmoid in place of the softmax."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.log_softmax(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use sigmoid(x @ w), as for labels that do not exclude each other."""
        return {"w": x.T @ (g - (x @ w).sigmoid() * g.sum(-1, keepdim=True))}

    return Example(forward, wrong, {"x": "bs n", "w": "n c"})


# Other terms ----------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """The arrays in the vjp of a softmax or log-softmax, `own - p * total(own)`; a row is the entries along its axes.

    Args:
        g: the upstream gradient, shaped like the operand, as are all other arrays here.
        p: the probabilities.
        own: each entry's own term: p g for softmax, g for log-softmax.
        axes: the axes of the softmax.
        x: the operand.
        y: the value.
        weights: what g is multiplied by in an entry's own term: p for softmax, 1 for log-softmax.
    """

    g: Array
    p: Array
    own: Array
    axes: Axes
    x: Array
    y: Array
    weights: Array

    def total(self, terms: Array) -> Array:
        """Return the sum of an array over `self.axes`, those of the softmax, which are kept with size 1."""
        return total(terms, self.axes)


def row_of(at: EdgeContext) -> Row:
    """Return the `Row` of an edge into a softmax or log-softmax: the arrays that the formula of its vjp is made of.

    These are g, the probabilities p, the operand x, the value y, and each entry's own term: p * g for softmax, g for
    log-softmax; so the vjp is own - p * sum(own), the sum over the softmax axes.
    """
    axes = reduced_axes(at.node)
    p = softmax(np.asarray(at.x), axes)
    weights = p if at.node.name == "softmax" else np.ones_like(p)
    return Row(at.g, p, weights * at.g, axes, np.asarray(at.x), at.y, weights)


class RowFormula(NamedTuple):
    """A wrong formula for the vjp of softmax or log-softmax, such as `own` alone, without the sum over the row.

    Args:
        code: the public code of the mistake.
        message: a clause that says what is wrong with it.
        of: takes the arrays in the vjp; returns the contribution, shaped like the operand.
        names: the operations that it is a mistake for, separated by spaces.
    """

    code: str
    message: str
    of: Callable[[Row], Array]
    names: str = "softmax log_softmax"


class RowSums(NamedTuple):
    """Describe a wrong sum in the vjp of a softmax whose probabilities weigh values.

    Args:
        code: the public code of the mistake.
        message: a clause that says what it is, in which `{product}` names the weighted sums of the values.
        of: takes the weighed values and their gradient, shaped alike; returns the sums, with the last axis of size 1.
    """

    code: str
    message: str
    of: Callable[[Array, Array], Array]


ROW_FORMULAS: Mapping[str, RowFormula] = {
    "own": RowFormula(
        "missing-path", "the sum over the row is missing; each entry affects all outputs of its row",
        lambda r: r.own),
    "sum": RowFormula(
        "missing-path", "only the sum over the row is there; {gradient} itself is missing",
        lambda r: -r.p * r.total(r.own)),
    "sum added": RowFormula(
        "wrong-sign", "the sum over the row is added; it must be subtracted", lambda r: r.own + r.p * r.total(r.own)),
    "mean": RowFormula(
        "mean-for-sum", "the mean over the row is subtracted; it must be the sum",
        lambda r: r.own - r.p * r.total(r.own) / r.total(np.where(r.p > 0, 1.0, 0.0))),
    "mean of masked entries, too": RowFormula(
        "mean-for-sum", "the mean over the row is subtracted; it must be the sum",
        lambda r: r.own - r.p * r.own.mean(axis=r.axes, keepdims=True)),
    "divided": RowFormula(
        "mean-for-sum", "the result is divided by the number of entries in the row; it must not be divided",
        lambda r: (r.own - r.p * r.total(r.own)) / r.total(np.ones_like(r.p))),
    "divided by the number of unmasked entries": RowFormula(
        "mean-for-sum", "the result is divided by the number of unmasked entries in the row; it must not be divided",
        lambda r: (r.own - r.p * r.total(r.own)) / r.total(np.where(r.p > 0, 1.0, 0.0))),
    "diagonal": RowFormula(
        "diagonal-only", "each entry affects only its own output; it must also affect the others in its row",
        lambda r: r.own - r.p * r.own),
    "off the diagonal": RowFormula(
        "missing-path", "the effect of each entry on its own output is missing",
        lambda r: -r.p * (r.total(r.own) - r.own)),
    "others negated": RowFormula(
        "wrong-sign", "the effect of each entry on the other outputs of its row has the wrong sign",
        lambda r: r.own + r.p * (r.total(r.own) - 2 * r.own)),
    "own overwrites": RowFormula(
        "overwritten", "where {gradient} is not 0, the sum over the row is overwritten; subtract it there, too",
        lambda r: np.where(r.g != 0, r.own, r.own - r.p * r.total(r.own))),
    "sum laid along the columns": RowFormula(
        "broadcast-accident", "the sums over the rows lack an axis, so that they are laid along the columns; each must"
        " be subtracted in its own row", lambda r: r.own - r.p * np.squeeze(r.total(r.own), r.axes)),
    "sum unweighted": RowFormula(
        "missing-local", "the sum over the row is not multiplied by the probability of the entry",
        lambda r: r.own - r.total(r.own)),
    "upstream missing in the sum": RowFormula(
        "missing-upstream", "{gradient} is missing from the sum over the row", lambda r: r.own - r.p),
    "upstream missing in its own term": RowFormula(
        "missing-upstream", "{gradient} occurs only in the sum over the row; this sum must be subtracted from"
        " {gradient}",
        lambda r: r.weights - r.p * r.total(r.own)),
    "value in its own term": RowFormula(
        "value-for-gradient", "the sum over the row is subtracted from {value}; it must be subtracted from {gradient}",
        lambda r: r.weights * r.y - r.p * r.total(r.own)),
    "value in the sum": RowFormula(
        "value-for-gradient", "the sum over the row contains {value} in place of {gradient}",
        lambda r: r.own - r.p * r.total(r.weights * r.y)),
    "diagonal without upstream": RowFormula(
        "missing-upstream", "{gradient} is missing, and so is the effect of each entry on the other outputs of its row",
        lambda r: r.p - r.p * r.p, "softmax"),
    "exponential": RowFormula(
        "diagonal-only", "only the exponential is differentiated; the division by the sum over the row is missing, and"
        " so is the path through that sum", lambda r: np.exp(r.x) * r.g, "softmax"),
    "applied to the gradient": RowFormula(
        "wrong-local", "the softmax itself is applied to {gradient}; {gradient} must be multiplied by the derivative of"
        " the softmax", lambda r: softmax(r.g, r.axes), "softmax"),
    "difference": RowFormula(
        "wrong-local", "{gradient} is subtracted from {value}, as if {gradient} were the target of a loss",
        lambda r: r.y - r.g, "softmax"),
    "terms unweighted": RowFormula(
        "missing-local", "the terms of the sum over the row are not weighted by the probabilities",
        lambda r: r.own - r.p * r.total(r.g), "softmax"),
    "terms of the unmasked entries unweighted": RowFormula(
        "missing-local", "the terms of the sum over the row are not weighted by the probabilities",
        lambda r: r.own - r.p * r.total(np.where(r.p > 0, r.g, 0.0)), "softmax"),
    "terms averaged": RowFormula(
        "missing-local", "the plain mean of the upstream gradient over the row is used; the mean must be weighted"
        " by the probabilities", lambda r: r.own - r.p * r.g.mean(axis=r.axes, keepdims=True), "softmax"),
    "unmasked terms averaged": RowFormula(
        "missing-local", "the plain mean of the upstream gradient over the entries that are not masked is used; the"
        " mean must be weighted by the probabilities",
        lambda r: r.own - r.p * r.total(np.where(r.p > 0, r.g, 0.0)) / r.total((r.p > 0) * 1.0), "softmax"),
    "no factor": RowFormula(
        "missing-local", "the leading factor, the probability of the entry, is missing",
        lambda r: r.g - r.total(r.own), "softmax"),
    "own unweighted": RowFormula(
        "missing-local", "the probability multiplies only the sum over the row; it must multiply {gradient}, too",
        lambda r: r.g - r.p * r.total(r.own), "softmax"),
    "own squared": RowFormula(
        "wrong-operand", "each entry's own probability is used for all entries in the sum over the row",
        lambda r: r.own - r.p * r.p * r.total(r.g), "softmax"),
    "only the probabilities": RowFormula(
        "missing-path", "each probability is multiplied by the sum of {gradient} over the row; it must be multiplied"
        " by {gradient} minus the sum of {gradient} times the probabilities", lambda r: r.p * r.total(r.g), "softmax"),
    "weighted before": RowFormula(
        "extra-factor", "the upstream gradient is multiplied by the probabilities twice",
        lambda r: r.p * (r.own - r.total(r.p * r.own)), "softmax"),
    "log-softmax": RowFormula(
        "wrong-local", "the derivative of log-softmax is used", lambda r: r.g - r.p * r.total(r.g), "softmax"),
    "softmax": RowFormula(
        "wrong-local", "the derivative of softmax is used, in which the probabilities are an extra factor",
        lambda r: r.p * (r.g - r.total(r.p * r.g)), "log_softmax"),
    "softmax behind": RowFormula(
        "extra-factor", "the derivative of softmax is applied as well, but is already included",
        lambda r: r.p * ((d := r.own - r.p * r.total(r.own)) - r.total(r.p * d)), "log_softmax"),
    "logarithm": RowFormula(
        "missing-local", "only the logarithm is differentiated, not the softmax inside it",
        lambda r: r.g / r.p, "log_softmax"),
    "terms weighted": RowFormula(
        "extra-factor",
        "the upstream gradient is weighted by the probabilities in the sum over the row; it must not be",
        lambda r: r.own - r.p * r.total(r.p * r.g), "log_softmax"),
    "probabilities inside": RowFormula(
        "wrong-local", "the probabilities are inside the sum over the row; they must multiply the sum",
        lambda r: r.own - r.total(r.p * r.g), "log_softmax"),
    "softmax of the gradient": RowFormula(
        "wrong-local",
        "the softmax of {gradient} is subtracted; it must be the probabilities times the sum of {gradient}",
        lambda r: r.own - softmax(r.g, r.axes), "log_softmax"),
    "sum for own": RowFormula(
        "wrong-local", "{gradient} is summed over the row in both terms; the first term must be {gradient} itself",
        lambda r: r.total(r.g) - r.p * r.total(r.g), "log_softmax"),
}  # fmt: skip


def is_masked_before(program: Program, place: Place) -> bool:
    """Return whether a `masked_fill` makes the operand of the edge `place`, which a softmax reads."""
    maker = program.nodes[program.source(place)]
    return maker.name == "masked_fill" and has_axis(program, place)


@operator(
    "masked-after-softmax",
    code="wrong-local",
    rank=2.2,
    at=edges.of("softmax").where(is_masked_before),
    message="in the derivative of {step}, the probabilities are computed without the mask, which is applied to them"
    " afterwards, so they do not sum to 1",
)
def mask_after_softmax(program: Program, place: Place, choice: None) -> Program:
    """Compute the contribution with the softmax of the unmasked scores as probabilities, set to 0 where the mask is.

    The edge `place` is that of `scores.masked_fill(mask, -inf)` in a softmax: softmax(scores) * ~mask is used in place
    of its value, and does not add up to 1.
    """
    source = program.source(place)

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with softmax(scores), 0 at masked entries, as the probabilities."""
        scores, mask, *_ = at.program.nodes[source].values
        axes = reduced_axes(at.node)
        everywhere = softmax(np.broadcast_to(np.asarray(scores), np.shape(at.x)), axes)
        return vjp_with_probabilities(at, np.where(np.asarray(mask), 0.0, everywhere), axes)

    return program.with_vjp(place, rule)


@mask_after_softmax.example
def _() -> Example:
    """Show softmax(masked x) @ v, causal, whose backward pass masks the probabilities, and not the scores."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        return x.masked_fill(torch.ones_like(x).tril() == 0, float("-inf")).softmax(-1) @ v

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        mask, h = torch.ones_like(x).tril(), g @ v.T
        p = x.softmax(-1) * mask
        right = x.masked_fill(mask == 0, float("-inf")).softmax(-1)
        return {"x": p * (h - (p * h).sum(-1, keepdim=True)), "v": right.T @ g}

    return Example(forward, wrong, {"x": "s t", "v": "t n"})


def other_softmax_operands(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values of the operand's shape whose softmax may be used as the probabilities.

    The operand is left out, and so is the value that it is a multiple of: z, for the operand z / 8, but not for 8 / z.
    The operand is that of the edge `place`.
    """
    operand = program.nodes[program.source(place)]
    is_multiple = operand.name in ("mul", "div", "neg") and len(operand.operands) == 1
    scaled = [source for slot, source in operand.operands if is_multiple and (operand.name, slot) != ("div", 1)]
    for name, value in values_by_name(program, place[0], operand.value.shape).items():
        if value not in (operand.id, *scaled):  # a number that is missing says more
            yield name


@operator(
    "softmax-of-another-value",
    code="wrong-point",
    rank=2.7,
    at=softmaxes.in_every_iteration,
    choices=other_softmax_operands,
    message="in the derivative of {step}, the softmax of {choice} is used in place of that of {operand}",
)
def use_softmax_of_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Compute the contribution of the edge `place` with the softmax of a wrong value v as the probabilities p.

    The choice is the name of v: for y = logsumexp(x), g * softmax(v) in place of g * softmax(x). Returns `None` where
    the program has no such value.
    """
    value = choice.find(program, place[0])
    if value is None:
        return None

    def rule(at: EdgeContext) -> Array:
        axes = reduced_axes(at.node)
        return vjp_with_probabilities(at, softmax(at.program.nodes[value].value, axes), axes)

    return program.with_vjp(place, rule)


@use_softmax_of_value.example
def _() -> Example:
    """Show softmax(masked h @ u) * (h @ v), entry by entry, whose backward pass takes the softmax of unmasked h @ u."""

    def forward(h: Tensor, u: Tensor, v: Tensor) -> Tensor:
        scores = h @ u
        return (scores.masked_fill(scores > 1, -2.0)).softmax(1) * (h @ v)

    def wrong(h: Tensor, u: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out the mask in the probabilities of the derivative."""
        scores = h @ u
        shares = (scores.masked_fill(scores > 1, -2.0)).softmax(1)
        p, g_p = scores.softmax(1), g * (h @ v)
        g_scores = (p * (g_p - (p * g_p).sum(1, keepdim=True))).masked_fill(scores > 1, 0.0)
        return {"u": h.T @ g_scores, "v": h.T @ (g * shares)}

    return Example(forward, wrong, {"h": "bs n", "u": "n m", "v": "n m"})


def operand_without_noise(program: Program, place: Place) -> Array | None:
    """Return what the operand of the edge `place` is without the constant array that is added on its way.

    For softmax((x + noise) / tau): x / tau. Return `None` where no node that adds a constant array is among the last
    `MOST_BEHIND_NOISE` nodes before the softmax, which are followed as long as they are pointwise, with one operand
    each.

    Args:
        program: the program of a trial.
        place: the edge.
    """
    chain, value = list[Node](), program.source(place)
    while len(chain) < MOST_BEHIND_NOISE:
        node = program.nodes[value]
        if node.operation.family != "pointwise" or len(node.operands) != 1:
            return None
        ((slot, value),) = node.operands
        constants = [np.asarray(each) for i, each in enumerate(node.values) if i != slot]
        if node.name in ("add", "sub") and any(each.size > 1 for each in constants):
            array = program.nodes[value].value * (-1 if (node.name, slot) == ("sub", 1) else 1)
            for later in reversed(chain):
                ((slot, _),) = later.operands
                values = [array if i == slot else each for i, each in enumerate(later.values)]
                array = later.operation.run(tuple(values), later.options)
            return array if array.shape == program.nodes[program.source(place)].value.shape else None
        chain.append(node)
    return None


MOST_BEHIND_NOISE = 3  # operations between the sum with noise and the softmax


@operator(
    "noise-left-out-of-derivative",
    code="wrong-point",
    rank=2.5,
    at=softmaxes.where(lambda program, place: operand_without_noise(program, place) is not None),
    message="in the derivative of {step}, the probabilities are computed without the constant that is added before the"
    " softmax",
)
def leave_noise_out(program: Program, place: Place, choice: None) -> Program | None:
    """Compute the contribution of the edge `place` with the softmax of its operand without an added constant array.

    Returns `None` where no constant array is added in this trial.
    """
    operand = operand_without_noise(program, place)
    if operand is None:
        return None
    return program.with_vjp(
        place, lambda at: vjp_with_probabilities(at, softmax(operand, reduced_axes(at.node)), reduced_axes(at.node))
    )


@leave_noise_out.example
def _() -> Example:
    """Show softmax((x + noise) / 2) @ v whose derivative is that of softmax(x / 2)."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        return ((x + torch.arange(x.shape[1]).sin()) / 2).softmax(-1) @ v

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use softmax(x / 2) in place of softmax((x + noise) / 2)."""
        p, g_p = (x / 2).softmax(-1), g @ v.T
        return {"x": p * (g_p - (p * g_p).sum(-1, keepdim=True)) / 2}

    return Example(forward, wrong, {"x": "bs n", "v": "n m"})


def later_values(program: Program, place: Place) -> Iterator[ValueName]:
    """Yield the names of values that are computed from the softmax p and have its shape, such as p * drop.

    The softmax is the reader of the edge `place`.
    """
    node = program.reader(place)
    for name, value in values_by_name(program, node.id, node.value.shape).items():
        if value != node.id and program.forward.ancestors[value] >> node.id & 1:
            yield name


@operator(
    "later-value-for-probabilities",
    code="wrong-point",
    rank=2.6,
    at=softmaxes.of("softmax"),
    choices=later_values,
    message="in the derivative of {step}, {choice} is used in place of the probabilities",
)
def use_later_value(program: Program, place: Place, choice: ValueName) -> Program | None:
    """Compute the contribution of the edge `place` with a later value in place of the softmax probabilities.

    The choice names the value v, which is computed from the probabilities p, such as v = p * drop: v * (g - sum(v * g))
    in place of p * (g - sum(p * g)). Returns `None` where the program has no such value.
    """
    value = choice.find(program, place[0])
    if value is None:
        return None
    return program.with_vjp(
        place, lambda at: vjp_with_probabilities(at, at.program.nodes[value].value, reduced_axes(at.node))
    )


@use_later_value.example
def _() -> Example:
    """Show d @ v, d = p * drop, p = softmax(s), whose gradient of s is d * (dp - sum(d * dp)), with d for p."""

    def forward(s: Tensor, drop: Tensor, v: Tensor) -> Tensor:
        dropped = s.softmax(-1) * drop
        return dropped @ v

    def wrong(s: Tensor, drop: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        dropped, dp = s.softmax(-1) * drop, g @ v.T * drop
        return {"s": dropped * (dp - (dropped * dp).sum(-1, keepdim=True))}

    return Example(forward, wrong, {"s": "t n", "drop": positive("t n"), "v": "n m"})


def is_masked_once(program: Program, place: Place) -> bool:
    """Return whether a `masked_fill` with a constant makes the operand of `place`, and only this edge reads it.

    The unmasked scores then get all of their gradient through the softmax that reads the edge.
    """
    source = program.source(place)
    maker = program.nodes[source]
    return maker.name == "masked_fill" and len(maker.edges) == 1 and len(program.forward.uses[source]) == 1


@operator(
    "mask-left-out-of-derivative",
    code="wrong-point",
    rank=2.6,
    at=softmaxes.where(is_masked_once),
    message="in the derivative of {step}, the probabilities are computed without the mask",
)
def leave_mask_out(program: Program, place: Place, choice: None) -> Program | None:
    """Compute the contribution with the softmax of the unmasked scores, and leave out the vjp of the mask.

    For softmax(scores.masked_fill(mask, -inf)): scores get the gradient of softmax(scores), at masked entries, too.
    Returns `None` where no `masked_fill` makes the operand in this trial. `place` is the edge of the masked scores.
    """
    masked = program.source(place)
    if program.nodes[masked].name != "masked_fill":
        return None
    ((slot, scores),) = program.nodes[masked].edges

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with softmax(scores), without the mask, as the probabilities."""
        axes = reduced_axes(at.node)
        everywhere = np.broadcast_to(at.program.nodes[scores].value, np.shape(at.x))
        return vjp_with_probabilities(at, softmax(everywhere, axes), axes)

    return program.with_vjp(place, rule).with_vjp((masked, slot), lambda at: unbroadcast(at.g, at.x))


@leave_mask_out.example
def _() -> Example:
    """Show softmax(masked h @ u) @ v, causal, whose backward pass is that of the softmax of the unmasked scores."""

    def forward(h: Tensor, u: Tensor) -> Tensor:
        scores = h @ u
        return scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float("-inf")).softmax(1) @ h[:1].T.expand(-1, 2)

    def wrong(h: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = (h @ u).softmax(1)
        g_p = g @ h[:1].T.expand(-1, 2).T
        return {"u": h.T @ (p * (g_p - (p * g_p).sum(1, keepdim=True)))}

    return Example(forward, wrong, {"h": "n m", "u": "m m"})


def with_axis_for_row(program: Program, place: Place, text: str) -> str:
    """Return a text on a softmax with the axis that it is taken along in place of "the row", if that is not the last.

    For softmax(x, 1) and x of shape (bs, t, d): "the sum over t" for "the sum over the row", and "along t" for "of its
    row".

    Args:
        program: the program of a trial.
        place: an edge into the softmax.
        text: the text.
    """
    node = program.reader(place)
    axes = reduced_axes(node)
    if len(axes) != 1 or axes[0] in (-1, node.value.ndim - 1):
        return text
    name = program.name_of_axis(node.id, axes[0])
    axis = f"its {name.partition(' of ')[0]}" if name.startswith("axis ") else name
    over = re.sub(r"\bover (the|its) rows?\b", f"over {axis}", text)
    return re.sub(r"\b(of|in) (the|its) rows?\b", f"along {axis}", over)


@operator(
    "softmax-formula-mistaken",
    code=lambda choice: ROW_FORMULAS[choice].code,
    rank=2.0,
    at=softmaxes.of("softmax", "log_softmax"),
    choices=lambda program, place: (
        name for name, formula in ROW_FORMULAS.items() if program.reader(place).name in formula.names.split()
    ),
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {
        "mistake": with_axis_for_row(program, place, ROW_FORMULAS[choice].message).format(
            value=name_of_value(program, place[0]), gradient=name_of_upstream_gradient(program, place[0])
        )
    },
    hints={
        "mean-for-sum": (
            "Every output of the row depends on this entry. Are their contributions added, or averaged?",
            "Write out a softmax of two entries, and the derivative of each output with respect to the first entry.",
            "Nothing in a softmax takes a mean.",
        ),
        "missing-local": (
            "Write out a softmax of two entries, and the derivative of each output with respect to the first entry.",
            "Which upstream gradients of the row reach one entry, and with which factors?",
            "Compute the gradient of one row of two entries by hand, and compare each number with your code.",
        ),
        "missing-upstream": (
            "If the upstream gradient were all zeros, what should your answer be? What does your code give?",
            "An entry moves every output of its row, and each of them moves the loss. Write this out for a row of two.",
            "Which terms of your code do not contain the upstream gradient?",
        ),
    },
)
def use_wrong_softmax_formula(program: Program, place: Place, choice: str) -> Program:
    """Compute the contribution of the edge `place` by a wrong formula: the choice is a key of `ROW_FORMULAS`.

    With "own": p * g for a softmax, in place of p * (g - sum(p * g)).
    """
    return program.with_vjp(place, lambda at: ROW_FORMULAS[choice].of(row_of(at)))


@use_wrong_softmax_formula.example
def _() -> Example:
    """Show softmax(q @ k.mT) @ v whose backward pass has p (1 - p), as for a sigmoid."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use p (1 - p), as for a sigmoid."""
        p = torch.softmax(q @ k.mT, -1)
        return {"q": (p * (1 - p) * (g @ v.mT)) @ k}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs s d", "v": "bs s e"})


@use_wrong_softmax_formula.example
def _() -> Example:
    """Show log_softmax(x @ w) whose backward pass subtracts p, not multiplied by the sum of g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.log_softmax(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract p in place of p * sum(g), as for a loss that selects one entry of each row."""
        return {"w": x.T @ (g - torch.softmax(x @ w, -1))}

    return Example(forward, wrong, {"x": "bs n", "w": "n c"})


@use_wrong_softmax_formula.example
def _() -> Example:
    """Show softmax(masked x), causal, whose backward pass subtracts the mean of g over the unmasked entries."""

    def forward(x: Tensor) -> Tensor:
        return x.masked_fill(torch.ones_like(x).triu(1) > 0, float("-inf")).softmax(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        kept = torch.ones_like(x).tril()
        p = x.masked_fill(kept == 0, float("-inf")).softmax(-1)
        return {"x": p * (g - (g * kept).sum(-1, keepdim=True) / kept.sum(-1, keepdim=True))}

    return Example(forward, wrong, {"x": "n n"})


@use_wrong_softmax_formula.example
def _() -> Example:
    """Show softmax(x) @ v whose backward pass is that of log-softmax."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        return x.softmax(-1) @ v

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        dp, p = g @ v.T, x.softmax(-1)
        return {"x": dp - p * dp.sum(-1, keepdim=True)}

    return Example(forward, wrong, {"x": "bs t", "v": "t d"})


def wrong_row_axes(program: Program, place: Place) -> Iterator[Axes]:
    """Yield wrong axes for the sum or the probabilities of the softmax that reads the edge `place`.

    Each single axis but that of the softmax, and all axes. For softmax(x, -1) of a matrix x: (-2,) and (-2, -1).

    Yields:
        The axes, counted from the back.
    """
    node = program.reader(place)
    ndim = np.ndim(node.values[0])
    yield from ((axis - ndim,) for axis in range(ndim) if (axis,) != reduced_axes(node))
    if len(reduced_axes(node)) < ndim:
        yield tuple(range(-ndim, 0))


def axes_field(program: Program, place: Place, axes: Axes) -> dict[str, str]:
    """Return the message fields `axes` and `right`: the wrong axes of a softmax, and its own, such as `t`.

    Several axes are "all entries". Where both axes have the same name they are "axis 0" and "axis 1".

    Args:
        program: the program of a trial.
        place: an edge into the softmax.
        axes: the wrong axes, counted from the back.
    """
    own = reduced_axes(program.reader(place))
    wrong, right = names_of_two_axes(program, program.source(place), axes[0], own[0])
    return {
        "axes": wrong if len(axes) == 1 else "all entries",
        "right": right if len(own) == 1 else "all entries",
    }


@operator(
    "row-summed-over-another-axis",
    code="summed-wrong-axis",
    rank=2.0,
    at=softmaxes.of("softmax", "log_softmax"),
    choices=wrong_row_axes,
    message="in the gradient of {operand} through {step}, the sum runs over {axes}; it must run over {right}",
    fields=axes_field,
)
def sum_row_over_wrong_axes(program: Program, place: Place, choice: Axes) -> Program:
    """Compute the contribution with the right probabilities p, and the sum in the vjp over wrong axes.

    The choice is these axes, counted from the back: with (-2,) and softmax(x, -1), p * g - p * (p * g).sum(-2). `place`
    is the edge of x.
    """

    def rule(at: EdgeContext) -> Array:
        row = row_of(at)
        return np.asarray(row.own - row.p * row.own.sum(axis=choice, keepdims=True))

    return program.with_vjp(place, rule)


@sum_row_over_wrong_axes.example
def _() -> Example:
    """Show (softmax(x, 0) * v) ** 2 whose backward pass sums over axis 1."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        return (x.softmax(0) * v).square()

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = x.softmax(0)
        dp = 2 * p * v * v * g
        return {"x": p * (dp - (p * dp).sum(1, keepdim=True))}

    return Example(forward, wrong, {"x": "t n", "v": "t n"})


ROW_SUMS_OF_PRODUCT: Mapping[str, RowSums] = {
    "mean": RowSums(
        "mean-for-sum", "the mean of {product} times its gradient over the row is used; it must be the sum",
        lambda y, g: (y * g).mean(-1, keepdims=True)),
    "sums": RowSums(
        "sum-of-products", "{product} and its gradient are each summed over the row before they are multiplied;"
        " multiply first, then sum",
        lambda y, g: y.sum(-1, keepdims=True) * g.sum(-1, keepdims=True)),
    "value": RowSums(
        "missing-upstream",
        "the sum over the row contains {product} alone; it must contain {product} times its gradient",
        lambda y, g: y.sum(-1, keepdims=True)),
    "gradient": RowSums(
        "missing-local",
        "the sum over the row contains only the gradient of {product}; it must contain {product} times its gradient",
        lambda y, g: g.sum(-1, keepdims=True)),
    "gradient squared": RowSums(
        "wrong-operand", "in the sum over the row, the gradient of {product} is used in place of {product}",
        lambda y, g: (g * g).sum(-1, keepdims=True)),
    "value squared": RowSums(
        "value-for-gradient", "in the sum over the row, {product} is used in place of its gradient",
        lambda y, g: (y * y).sum(-1, keepdims=True)),
}  # fmt: skip


def weighs_values(program: Program, place: Place) -> bool:
    """Return whether the only reader of a softmax is its product with values, as in softmax(scores) @ v.

    Args:
        program: the program of a trial.
        place: an edge into the softmax.
    """
    return product_of_weights(program, place[0]) is not None


@operator(
    "row-sums-of-output-mistaken",
    code=lambda choice: ROW_SUMS_OF_PRODUCT[choice].code,
    rank=2.1,
    at=softmaxes.of("softmax").where(weighs_values),
    choices=lambda program, place: ROW_SUMS_OF_PRODUCT,
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {
        "mistake": ROW_SUMS_OF_PRODUCT[choice].message.format(
            product=program.name_of(product_of_weights(program, place[0]) or 0)
        )
    },
)
def use_wrong_row_sums(program: Program, place: Place, choice: str) -> Program | None:
    """Use wrong row sums, made of y = `p @ v` and its gradient g_y, in the vjp of the softmax p.

    With "mean": p * (g - (y * g_y).mean(-1)) in place of p * (g - (y * g_y).sum(-1)).

    Args:
        program: the right program.
        place: an edge into the softmax.
        choice: which sums, a key of `ROW_SUMS_OF_PRODUCT`.

    Returns:
        The rewritten program; `None` where the probabilities are not multiplied with values in this trial.
    """
    product = product_of_weights(program, place[0])
    if product is None:
        return None

    def rule(at: EdgeContext) -> Array:
        sums = ROW_SUMS_OF_PRODUCT[choice].of(at.program.nodes[product].value, at.sweep.gradient(product))
        return np.asarray(at.y * (at.g - sums))

    return program.with_vjp(place, rule)


@use_wrong_row_sums.example
def _() -> Example:
    """Show out = softmax(q @ k.mT) @ v whose backward pass has the mean of out * out.g in place of the sum."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(q @ k.mT, -1)
        delta = (g * (p @ v)).mean(-1, keepdim=True)
        dscores = p * (g @ v.mT - delta)
        return {"q": dscores @ k, "k": dscores.mT @ q}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs s d", "v": "bs s e"})


def merged_axes(program: Program, place: Place) -> tuple[int, ...]:
    """Return the sizes of the axes that a reshape merged to the last axis, over which the softmax at `place` is taken.

    For `x.reshape(bs, h * w).softmax(1)` with x of shape (bs, h, w): (h, w). Empty where there is no such reshape.
    """
    node = program.reader(place)
    maker = program.nodes[program.source(place)]
    if maker.name not in RESHAPES or reduced_axes(node) != (node.value.ndim - 1,):
        return ()
    before, kept = np.shape(maker.values[0]), node.value.shape[:-1]
    return before[len(kept) :] if before[: len(kept)] == kept and len(before) > len(kept) + 1 else ()


def axes_merged_before_softmax(program: Program, place: Place) -> range:
    """Return the axes, counted from the back, that a reshape merges into one before the softmax, reader of `place`.

    For `x.reshape(bs, h * w).softmax(1)` with x of shape (bs, h, w): -2 and -1. Empty where there is no such reshape.
    """
    return range(-len(merged_axes(program, place)), 0)


@operator(
    "row-summed-in-parts",
    code="summed-wrong-axis",
    rank=2.5,
    at=softmaxes.of("softmax", "log_softmax").where(lambda program, place: bool(merged_axes(program, place))),
    choices=axes_merged_before_softmax,
    message="in the gradient of {operand} through {step}, the sum runs over {axis} only; it must run over all entries"
    " of the softmax",
    fields=lambda program, place, choice: {
        "axis": program.name_of_axis(program.nodes[program.source(place)].operands[0][1], choice)
    },
)
def sum_row_in_parts(program: Program, place: Place, choice: int) -> Program | None:
    """Compute the contribution with the sum in the vjp along one of the axes that a reshape merged, not along all.

    For `x.reshape(bs, h * w).softmax(1)` and the choice -1: the sums run over w alone. The axis is counted from the
    back. Returns `None` where the reshape merges fewer axes in this trial. `place` is an edge into the softmax.
    """
    sizes = merged_axes(program, place)
    if len(sizes) < -choice:
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with sums along the chosen one of the merged axes."""
        row = row_of(at)
        own = row.own.reshape(*row.own.shape[:-1], *sizes)
        summed = np.broadcast_to(total(own, (choice,)), own.shape).reshape(row.own.shape)
        return np.asarray(row.own - row.p * summed)

    return program.with_vjp(place, rule)


@sum_row_in_parts.example
def _() -> Example:
    """Show log(p).cumsum(2) * v, p = softmax(x.flatten(1)), whose backward pass sums p g within each column of x."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        p = torch.softmax(x.flatten(1), 1).view(x.shape)
        return torch.log(p).cumsum(2) * v

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(x.flatten(1), 1).view(x.shape)
        own = (g * v).flip(2).cumsum(2).flip(2)
        return {"x": own - p * own.sum(1, keepdim=True)}

    return Example(forward, wrong, {"x": "bs h w", "v": "1"})


@sum_row_in_parts.example
def _() -> Example:
    """Show softmax(x.flatten(1))**2 * v, x an image, whose backward pass sums p g within each row of the image."""

    def forward(x: Tensor, v: Tensor) -> Tensor:
        return x.reshape(len(x), -1).softmax(1).square() * v

    def wrong(x: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = x.reshape(len(x), -1).softmax(1)
        own = (p * (2 * p * v * g)).reshape(x.shape)
        return {"x": own - p.reshape(x.shape) * own.sum(2, keepdim=True)}

    return Example(forward, wrong, {"x": "bs h w", "v": "1"})


@operator(
    "probabilities-over-other-axes",
    code="summed-wrong-axis",
    rank=2.0,
    at=softmaxes,
    choices=wrong_row_axes,
    message="in the derivative of {step}, the probabilities sum to 1 over {axes}; they must sum to 1 over {right}",
    fields=axes_field,
    hints=WHICH_PROBABILITIES,
)
def normalise_over_wrong_axes(program: Program, place: Place, choice: Axes) -> Program:
    """Compute the contribution with probabilities over wrong axes, and the sum in the vjp over the right ones.

    The choice is the wrong axes, counted from the back: with (-2,) and logsumexp(x, -1), softmax(x, -2) * g. `place` is
    the edge of x.
    """

    def rule(at: EdgeContext) -> Array:
        return vjp_with_probabilities(at, softmax(np.asarray(at.x), choice), reduced_axes(at.node))

    return program.with_vjp(place, rule)


@normalise_over_wrong_axes.example
def _() -> Example:
    """Show the logsumexp of the rows of x @ w whose backward pass takes the softmax of the columns."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).logsumexp(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g[:, None] * (x @ w).softmax(0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@normalise_over_wrong_axes.example
def _() -> Example:
    """Show log_softmax(x @ w) whose backward pass divides by the sum of all exponentials."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.log_softmax(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide the exponentials by the sum of all, in place of those of the row."""
        e = (x @ w).exp()
        return {"w": x.T @ (g - e / e.sum() * g.sum(-1, keepdim=True))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def is_softmax_by_logarithm(program: Program, place: Place) -> bool:
    """Return whether a log_softmax makes the operand of the edge `place`, as in exp(log_softmax(x)) = softmax(x)."""
    return program.nodes[program.source(place)].name == "log_softmax"


@operator(
    "mean-under-probabilities-missing",
    code="missing-path",
    rank=2.2,
    at=edges.of("exp").where(is_softmax_by_logarithm),
    message="in the derivative of the probabilities {step}, the mean of the upstream gradient, weighted by the"
    " probabilities, is not subtracted",
)
def leave_out_weighted_mean(program: Program, place: Place, choice: None) -> Program | None:
    """Contribute g * p for p = exp(log_softmax(x)) straight to x, without the term -p * sum(p * g).

    The edge `place` leads into the exp. Returns `None` where the operand of the log_softmax is a constant.
    """
    logarithms = program.nodes[program.source(place)]
    source = logarithms.operand(0)
    if source is None:
        return None
    return program.without(place).with_edge(place[0], source, lambda at: at.g * at.y)


@leave_out_weighted_mean.example
def _() -> Example:
    """Show an expected cost under p = exp(log_softmax(x @ w)) whose backward pass multiplies by p alone."""

    def forward(x: Tensor, w: Tensor, cost: Tensor) -> Tensor:
        logarithms = torch.log_softmax(x @ w, 1)
        return (logarithms.exp() * (logarithms - cost)).sum(1)

    def wrong(x: Tensor, w: Tensor, cost: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use p * d in place of p * (d - sum(p * d)), with d = g * (logarithms - cost)."""
        logarithms = torch.log_softmax(x @ w, 1)
        p = logarithms.exp()
        dz = g[:, None] * p * (logarithms - cost)
        return {"x": dz @ w.T, "w": x.T @ dz, "cost": -g[:, None] * p}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "cost": "bs m"})


# A second softmax -----------------------------------------------------------------------------------------------------


def axes_from_back(program: Program, place: Place) -> range:
    """Return the axes of the value of the softmax at the node `place`, counted from the back: -2 and -1 of a matrix."""
    return range(-program.nodes[place[0]].value.ndim, 0)


@operator(
    "softmax-twice",
    code="wrong-point",
    rank=3.0,
    at=nodes.of("softmax"),
    choices=axes_from_back,
    message="{step} is recomputed with one softmax too many: {operand} goes through a softmax along {axis} first",
    fields=lambda program, place, choice: {
        "axis": program.name_of_axis(program.nodes[place[0]].operands[0][1], choice)
    },
)
def take_softmax_twice(program: Program, place: Place, choice: int) -> Program | None:
    """Use the softmax of a softmax as the probabilities in the backward pass; the derivative is that of one softmax.

    The choice is the axis of the softmax that is taken first, counted from the back. For softmax(x, -1) and the choice
    -2: p = softmax(softmax(x, -2), -1). Returns `None` where the operand has no such axis in this trial. `place` is the
    node of the softmax.
    """
    if program.nodes[place[0]].value.ndim < -choice:
        return None

    def twice(node: Node) -> Node:
        x, axes = np.asarray(node.values[0]), reduced_axes(node)
        return node.then(lambda _: softmax(softmax(x, (choice,)), axes))

    return program.with_nodes({place[0]: twice}, "values")


@take_softmax_twice.example
def _() -> Example:
    """Show softmax(q @ k.mT, -1) @ v whose backward pass has a softmax over the queries in front of that softmax."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT).softmax(-1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p, dp = (q @ k.mT).softmax(-2).softmax(-1), g @ v.mT
        ds = p * (dp - (p * dp).sum(-1, keepdim=True))
        return {"q": ds @ k, "k": ds.mT @ q, "v": p.mT @ g}

    return Example(forward, wrong, {"q": "t d", "k": "s d", "v": "s e"})


# Mixtures: the logarithm of a sum over components --------------------------------------------------------------------


def summands_of(program: Program, value: int) -> tuple[Place, ...]:
    """Return the edges of the summands of a sum, those of its inner sums in their place: of a, b and c in a + b + c.

    Empty where the value is no sum, or is read by several nodes or none; such an inner sum is one summand.

    Args:
        program: the program of a trial.
        value: the id of the sum.
    """
    node = program.nodes[value]
    if node.name != "add" or len(program.forward.uses[value]) != 1:
        return ()
    parts: list[Place] = []
    for slot, operand in node.operands:
        inner = summands_of(program, operand)
        parts += inner or [(value, slot)]
    return tuple(parts)


def sums_to_one_along(array: Array, axes: tuple[int, ...]) -> bool:
    """Return whether an array has no negative entries, and these sum to 1 along the given axes, as those of a prior."""
    return bool((array >= 0).all()) and array.size > 0 and bool(np.allclose(array.sum(axis=axes), 1))


def log_priors(program: Program, place: Place) -> Iterator[tuple[int, bool]]:
    """Yield the choices of `weight_by_prior`: pairs (number, whether all summands are weighted by the prior).

    The number is that of a summand of the operand of a logsumexp whose exponential is a prior, which sums to 1: 0 for
    logsumexp(log_prior + fit). With False, only the other summands get a gradient weighted by the prior in place of the
    posterior; with True this one as well.

    Args:
        program: the program of a trial.
        place: the node of the logsumexp.
    """
    node = program.nodes[place[0]]
    for number, edge in enumerate(summands_of(program, node.operands[0][1])):
        prior = _prior(program, place[0], edge)
        if prior is not None:
            yield from ((number, False), (number, True))


def _prior(program: Program, mixture: int, edge: Place) -> Array | None:
    """Return the exponential of a summand of a logsumexp, shaped like its operand, if it sums to 1; else `None`.

    It must sum to 1 along the axes of the logsumexp.

    Args:
        program: the program of a trial.
        mixture: the id of the logsumexp.
        edge: the edge by which the summand enters the sum.
    """
    node = program.right.nodes[mixture]
    summand = np.asarray(program.right.nodes[edge[0]].values[edge[1]])
    operand = np.asarray(node.values[0])
    if summand.ndim == 0 or not np.isfinite(summand).all():
        return None
    prior = np.broadcast_to(np.exp(summand), operand.shape)
    return prior if sums_to_one_along(prior, reduced_axes(node)) else None


@operator(
    "prior-for-posterior",
    code="wrong-operand",
    rank=2.2,
    at=nodes.of("logsumexp").where(lambda program, place: bool(program.nodes[place[0]].operands)),
    choices=log_priors,
    message="in the gradient {where} {step}, the components are weighted by their prior probabilities; they must be"
    " weighted by their posterior probabilities",
    fields=lambda program, place, choice: {"where": "through" if choice[1] else "of the components in"},
)
def weight_by_prior(program: Program, place: Place, choice: tuple[int, bool]) -> Program | None:
    """Use exp(a), the prior, in place of the softmax probabilities of a + b in the vjp of logsumexp(a + b).

    Args:
        program: the right program.
        place: the node of the logsumexp.
        choice: the number of the summand a in the sum, from 0, and whether the prior is used in the contribution to a,
            too; if not, that keeps the softmax probabilities.

    Returns:
        The rewritten program; `None` where exp(a) does not sum to 1, so that it is no prior.
    """
    node = program.right.nodes[place[0]]
    parts = summands_of(program.right, node.operands[0][1])
    prior = _prior(program, place[0], parts[choice[0]]) if choice[0] < len(parts) else None
    if prior is None:
        return None
    posterior = node.vjp(0, np.ones(node.value.shape))
    ratio = np.divide(prior, posterior, out=np.zeros_like(posterior), where=posterior > 0)
    if choice[1]:
        return program.with_vjp((node.id, 0), lambda at: at.right() * ratio)
    for number, part in enumerate(parts):
        if number != choice[0] and part in program.forward.sources:
            program = program.with_vjp(part, lambda at: at.right(at.g * ratio))
    return program


@weight_by_prior.example
def _() -> Example:
    """Show logsumexp(log_prior + fit, 1) whose gradient of fit is g times the prior, in place of the posterior."""

    def forward(x: Tensor, mean: Tensor, logits: Tensor) -> Tensor:
        prior = torch.log_softmax(logits, 0)
        fit = -(x[:, None] - mean).square().sum(-1)
        return torch.logsumexp(prior + fit, 1)

    def wrong(x: Tensor, mean: Tensor, logits: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(logits, 0)
        return {"mean": torch.einsum("b,k,bkn->kn", g, p, 2 * (x[:, None] - mean))}

    return Example(forward, wrong, {"x": "bs n", "mean": "k n", "logits": "k"})


def weighs_components(program: Program, place: Place) -> bool:
    """Return whether the edge `place` leads to components that a prior multiplies before a sum and a logarithm.

    True for q in log(sum(p * q)) with a prior p, which sums to 1.
    """
    return _summed_prior(program, place) is not None


def _summed_prior(program: Program, place: Place) -> tuple[Array, Node] | None:
    """Return for q in log(sum(p * q)) the prior p, shaped like p * q, and the node of the sum.

    `None` where p does not sum to 1, or the products are read in another way.

    Args:
        program: the program of a trial.
        place: the edge of the components; its reader is the product.
    """
    node, uses = program.right.reader(place), program.right.forward.uses[place[0]]
    if node.name != "mul" or len(uses) != 1 or uses[0][0] == SINK:
        return None
    total = program.right.nodes[uses[0][0]]
    if total.name != "sum" or not _leads_to_logarithm(program.right, total.id):
        return None
    prior = np.broadcast_to(np.asarray(node.values[1 - place[1]]), node.value.shape)
    return (prior, total) if sums_to_one_along(prior, reduced_axes(total)) else None


def _leads_to_logarithm(program: Program, value: int) -> bool:
    """Return whether a value is read once, by a logarithm; selections and rearrangements may come in between."""
    while True:
        uses = program.forward.uses[value]
        if len(uses) != 1 or uses[0][0] == SINK:
            return False
        value = uses[0][0]
        node = program.nodes[value]
        if node.name == "log":
            return True
        if node.operation.family in ("pointwise", "contraction", "reduction"):
            return False


@operator(
    "prior-for-posterior-in-sum",
    code="wrong-operand",
    rank=2.2,
    at=edges.where(weighs_components),
    message="in the gradient of {operand} through {step}, the components are weighted by their prior probabilities;"
    " they must be weighted by their posterior probabilities",
)
def weight_sum_by_prior(program: Program, place: Place, choice: None) -> Program | None:
    """Contribute to the components q of log(sum(p * q)) with the prior p in place of the posterior p * q / sum(p * q).

    The edge `place` leads to q. Returns `None` where p does not sum to 1 in this trial.
    """
    prior = _summed_prior(program, place)
    if prior is None:
        return None
    _, total = prior
    sums = broadcast_to_operand(total, total.value)

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the sums in place of the components."""
        components = np.broadcast_to(np.asarray(at.x), sums.shape)
        return at.right(at.g * np.divide(sums, components, out=np.zeros_like(sums), where=components != 0))

    return program.with_vjp(place, rule)


@weight_sum_by_prior.example
def _() -> Example:
    """Show log((prior * q).sum(0)[0]), q a softmax, whose gradient of q has the prior in place of the posterior."""

    def forward(logits: Tensor, scores: Tensor) -> Tensor:
        prior, q = logits.softmax(0), scores.softmax(-1)
        return (prior * q).sum(0)[0].log()

    def wrong(logits: Tensor, scores: Tensor, g: Tensor) -> dict[str, Tensor]:
        prior, q = logits.softmax(0), scores.softmax(-1)
        hot = torch.zeros_like(q)
        hot[:, 0] = 1
        return {"scores": g * prior * (hot - q)}

    return Example(forward, wrong, {"logits": "k 1", "scores": "k n"})
