"""Operators on sums: the reductions of a forward pass, and the sums in the vjps of products and broadcast operands.

The contribution to an operand of a product, and to one that is broadcast, is a sum of terms: over the examples of a
batch, over the rows that share a bias. `ContributionTerms` is this sum, whichever operation needs it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, positive, sized
from grader.course.shapes import PARTS as PARTS_OF_AXIS
from grader.diagnosis.hints import SUM_OR_MEAN, USES_OF_AN_ENTRY, WHICH_ENTRIES_TOGETHER, WHICH_SELECTED
from grader.program.arithmetic import softmax
from grader.program.forward import SINK, Node, Place
from grader.program.operation import OPERATIONS, Array, NoCandidate
from grader.program.program import Affects, EdgeContext, Program, Sweep
from grader.program.queries import broadcast_to_operand, contraction_of, reduced_axes

from .contract import Example, operator
from .places import (
    WHOLE,
    WORDS,
    edges,
    names_of_two_axes,
    nodes,
    target_of,
    targets,
    with_gradient_of_any_shape,
)
from .pointwise import local_derivative, local_derivative_at

MOST_TERMS = 1_000_000  # that are laid out before they are summed
BIAS_SLOT = 2  # of a convolution
PARTS = {**PARTS_OF_AXIS, "only every other one": slice(0, None, 2)}


@dataclass(frozen=True)
class ContributionTerms:
    """The sum of products that is the contribution of an edge, as an einsum of g and a factor: a letter for each axis.

    For y = x @ w with x (bs, n) and w (n, m), and the edge of w: the terms are x[a, b] * g[a, c], factors ("ac", "ab"),
    operand "bc", sizes {"a": bs, "c": m, "b": n}; so the contribution x.T @ g is summed over "a". For `x + b` and the
    edge of b: the terms are g * 1, factors ("ab", "ab"), operand "b", again summed over "a".

    Args:
        factors: the letters of the upstream gradient, and of the array that it is multiplied by: the partner operand of
            a contraction, or the local derivative of a pointwise operation.
        operand: the letters of the operand, but for axes of size 1 along which it is broadcast.
        sizes: the size of the axis for each letter, first those of the upstream gradient in the order of its axes.
    """

    factors: tuple[str, str]
    operand: str
    sizes: dict[str, int]

    @property
    def summed(self) -> str:
        """Return the letters of the axes that the contribution sums over: for w in x @ w "a", the batch axis.

        These are the letters in `self.sizes` that the operand does not have.
        """
        return "".join(letter for letter in self.sizes if letter not in self.operand)

    @property
    def letters(self) -> str:
        """Return all letters, each once, those of the operand among them in the order of its axes.

        They are in the order of `self.sizes`, but that the operand's letters change places among themselves. For the
        edge of w in x @ w, with `self.sizes` by the letters a, c, b, and the operand "bc": "abc".
        """
        own = iter(self.operand)
        return "".join(next(own) if letter in self.operand else letter for letter in self.sizes)

    def count(self, letters: str) -> int:
        """Return the number of terms in the sum over the given letters, such as "a": the product of their sizes."""
        return math.prod(self.sizes[letter] for letter in letters)

    def arrays(self, at: EdgeContext) -> tuple[Array, Array]:
        """Return the two factors of the terms at an edge, with axes as in `self.factors`: g and x for w in x @ w.

        The first is the upstream gradient; the second the partner operand of a contraction, or the local derivative of
        a pointwise operation, shaped like its value; and 1 for the bias of a convolution.
        """
        if at.node.name == "convolution":
            return at.g, np.ones(())
        if at.node.operation.family == "pointwise":
            return at.g, local_derivative(at.program, (at.node.id, at.slot))
        return at.g, np.asarray(at.node.values[1 - at.slot])

    def sum_to(self, letters: str, arrays: Sequence[Array]) -> Array:
        """Return the sum of the products of the two factors over all letters but the given ones.

        For the edge of w in x @ w, g with the letters "ac" and x with "ab": with "bc" it is x.T @ g, the right
        contribution; with "abc" all products x[a, b] * g[a, c].

        Args:
            letters: the letters of the result, in the order of its axes.
            arrays: the two factors, with axes as in `self.factors`.

        Raises:
            NoCandidate: the result has more than `MOST_TERMS` entries.
        """
        if self.count(letters) > MOST_TERMS:
            raise NoCandidate("there are too many terms")
        return np.asarray(np.einsum(f"{','.join(self.factors)}->{letters}", *arrays))


def contribution_terms(node: Node, slot: int) -> ContributionTerms | None:
    """Return the terms that the contribution to the operand in a slot is the sum of, with a letter for each axis.

    For slot 1 of x @ w, x (bs, n) and w (n, m): the terms x[a, b] * g[a, c], summed over "a" to the operand's "bc".
    For the bias of a convolution they are g itself, summed over all axes but that of the channels. Return `None` unless
    the node is a pointwise operation, a contraction of two operands, or a convolution, and the slot that of its bias.
    """
    if node.operation.family == "pointwise":
        value = "abcdefgh"[: node.value.ndim]
        shape = np.shape(node.values[slot])
        added = len(value) - len(shape)
        operand = "".join(value[added + i] for i, size in enumerate(shape) if size == node.value.shape[added + i])
        return ContributionTerms((value, value), operand, dict(zip(value, node.value.shape, strict=True)))
    if node.name == "convolution" and slot == BIAS_SLOT:
        value = "abcdefgh"[: node.value.ndim]
        return ContributionTerms((value, ""), value[1], dict(zip(value, node.value.shape, strict=True)))
    contraction = contraction_of(node)
    if contraction is None or len(contraction.operands) != 2 or slot > 1:
        return None
    partner, value = contraction.operands[1 - slot], contraction.value
    sizes = dict(zip(value, node.value.shape, strict=True))
    sizes |= {letter: size for letter, size in zip(partner, np.shape(node.values[1 - slot]), strict=True)
              if letter not in sizes}  # fmt: skip
    shape = np.shape(node.values[slot])
    own = "".join(
        letter for letter, size in zip(contraction.operands[slot], shape, strict=True) if sizes.get(letter) == size
    )
    return ContributionTerms((value, partner), own, sizes)


def has_terms(program: Program, place: Place) -> bool:
    """Return whether the contribution of the edge `place` is a sum of `ContributionTerms`, perhaps of a single term.

    True if the reader is a pointwise operation, or a contraction of two operands, such as `x @ w`; and for the bias of
    a convolution.
    """
    return contribution_terms(program.reader(place), place[1]) is not None


def is_sum(program: Program, place: Place) -> bool:
    """Return whether the contribution of the edge `place` is a sum of two terms or more: g.sum(0) for b in `x + b`."""
    terms = contribution_terms(program.reader(place), place[1])
    return terms is not None and terms.count(terms.summed) > 1


sums = edges.of_family("contraction", "pointwise").where(is_sum)


def subsets(letters: str) -> Iterator[str]:
    """Yield every set of the letters but the empty one, the largest first: for "ab" these are "ab", "a" and "b"."""
    for count in range(len(letters), 0, -1):
        yield from map("".join, itertools.combinations(letters, count))


def summed_letters(program: Program, place: Place) -> Iterator[str]:
    """Yield every set of axes that the contribution of the edge `place` sums over, as letters, the largest set first.

    For b of shape (m,) in `x + b`, x of shape (bs, t, m), whose axes have the letters a, b, c: "ab", "a", "b". Axes of
    size 1 are left out.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is not None:
        yield from subsets("".join(letter for letter in terms.summed if terms.sizes[letter] > 1))


def describe_axes(program: Program, place: Place, letters: str, *, numbered: bool = False) -> str:
    """Return what a learner calls the axes of the given letters: "ab" is `bs and t`.

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose contribution the letters of `ContributionTerms` belong to.
        letters: some of these letters.
        numbered: whether each axis is called `axis 0 of x`, even where it has a name.
    """

    def words_of(value: int, axis: int) -> str:
        return f"axis {axis} of {program.name_of(value)}" if numbered else program.name_of_axis(value, axis)

    node = program.reader(place)
    terms = contribution_terms(node, place[1])
    assert terms is not None
    words = []
    for letter in letters:
        if letter in terms.factors[0]:
            words.append(words_of(node.id, terms.factors[0].index(letter)))
        else:
            partner = node.operand(1 - place[1])
            axis = terms.factors[1].index(letter)
            words.append(f"axis {axis} of the other factor" if partner is None else words_of(partner, axis))
    numbered_axes = [re.fullmatch(r"axis (\d+) of (.*)", text) for text in words]
    owners = {match[2] for match in numbered_axes if match}
    if len(words) > 1 and all(numbered_axes) and len(owners) == 1:
        return f"axes {' and '.join(match[1] for match in numbered_axes if match)} of {owners.pop()}"
    return " and ".join(words)


def describe_sizes(program: Program, place: Place, letters: str) -> str:
    """Return the product of the sizes of the axes of the given letters, as a formula: "ab" is `bs * t`.

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose contribution the letters of `ContributionTerms` belong to.
        letters: some of these letters.
    """
    words = [describe_axes(program, place, letter) for letter in letters]
    return " * ".join(f"the size of {word}" if " " in word else word for word in words)


def count_of(program: Program, place: Place, letters: str) -> int:
    """Return how many terms the contribution of the edge `place` sums over the given letters of `ContributionTerms`."""
    terms = contribution_terms(program.reader(place), place[1])
    assert terms is not None
    return terms.count(letters)


# Sums over the axes of a batch or of a broadcast ----------------------------------------------------------------------


@operator(
    "averaged",
    code="mean-for-sum",
    rank=1.5,
    at=sums,
    choices=summed_letters,
    message="{share} is 1/{count} of what it should be, and {sizes} = {count} here",
    fields=lambda program, place, choice: {
        "sizes": describe_sizes(program, place, choice),
        "count": str(count_of(program, place, choice)),
    },
)
def average(program: Program, place: Place, choice: str) -> Program | None:
    """Divide the contribution of the edge `place` by the number of terms that it is the sum of, as for a mean.

    The choice is the axes, as letters of `ContributionTerms`, whose sizes it is divided by: "a" for a batch axis a.
    Returns `None` where the contribution has no such axes in this trial.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is None or not set(choice) <= set(terms.sizes):
        return None
    count = terms.count(choice)
    return program.with_vjp(place, lambda at: at.right() / count)


@average.example
def _() -> Example:
    """Show tanh(x @ w + b) whose gradient of `b` is a mean over the batch, and must be a sum."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": (g * (1 - torch.tanh(x @ w + b) ** 2)).mean(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@average.example
def _() -> Example:
    """Show relu(x @ w) whose gradient of `w` is divided by the batch size."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.relu(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g * (x @ w > 0)) / len(x)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def keep_entries(array: Array, entries: tuple[slice, ...]) -> Array:
    """Return the array with zeros in all entries but array[entries]; same shape. `entries` is a tuple of slices."""
    few = np.zeros_like(array)
    few[entries] = array[entries]
    return few


@dataclass(frozen=True)
class PartOfSum:
    """The part of the terms that is kept of a sum over one axis.

    Args:
        letter: the axis, as a letter of `ContributionTerms`.
        part: which of the terms along it are kept, a key of `PARTS`, such as `"only the first"`, the first row of a
            batch.
    """

    letter: str
    part: str


def parts_of_sums(program: Program, place: Place) -> Iterator[PartOfSum]:
    """Yield `PartOfSum`s: an axis that the contribution of the edge `place` sums over, and the part of it that is kept.

    The axis is a letter, the part a key of `PARTS`: `PartOfSum("a", "only the first")` for g[0] in place of g.sum(0).
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is not None:
        several = [letter for letter in terms.summed if terms.sizes[letter] > 1]
        yield from (PartOfSum(letter, part) for letter in several for part in PARTS)


@operator(
    "some-terms-summed",
    code="partial-batch",
    rank=2.0,
    at=sums,
    choices=parts_of_sums,
    message="in the gradient of {operand} through {step}, the sum over {axis} contains {part} of its terms",
    fields=lambda program, place, choice: {"axis": describe_axes(program, place, choice.letter), "part": choice.part},
    hints=USES_OF_AN_ENTRY,
)
def sum_some_terms(program: Program, place: Place, choice: PartOfSum) -> Program | None:
    """Compute the contribution of the edge `place` with only a part of the terms along one axis, such as the first.

    With `PartOfSum("a", "only the first")` and the edge of a bias: g[0] in place of g.sum(0). Returns `None` where the
    contribution has no such axis in this trial.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is None or choice.letter not in terms.sizes:
        return None
    factor = 0 if choice.letter in terms.factors[0] else 1
    axis = terms.factors[factor].index(choice.letter)

    entries = (slice(None),) * axis + (PARTS[choice.part],)

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with g, or the partner, set to 0 in the terms that are left out."""
        if factor == 0:
            return at.right(keep_entries(at.g, entries))
        return at.right(operands={1 - at.slot: keep_entries(np.asarray(at.node.values[1 - at.slot]), entries)})

    return program.with_vjp(place, rule)


@sum_some_terms.example
def _() -> Example:
    """Show exp(x @ w + b) whose gradient of `b` is that of the first example only."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return (x @ w + b).exp()

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": (g * (x @ w + b).exp())[0]}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@dataclass(frozen=True)
class SummedFactors:
    """Axes over which both factors of each term are summed before they are multiplied.

    Args:
        letters: the axes, as letters of `ContributionTerms`.
        averaged: of how many of the two factors a mean is taken in place of a sum.
    """

    letters: str
    averaged: int


def factors_to_sum(program: Program, place: Place) -> Iterator[SummedFactors]:
    """Yield `SummedFactors`: a set of axes, as letters, over which both factors are summed before they are multiplied.

    Every non-empty subset of the letters over which the contribution of the edge `place` sums and which both factors of
    its terms have, without axes of size 1: for w in `x @ w`, the letter of the batch axis. Each set comes three times:
    with two sums, with a sum and a mean, and with two means. Nothing is yielded unless the reader is a contraction, a
    product or a quotient.
    """
    node = program.reader(place)
    terms = contribution_terms(node, place[1])
    if terms is None or (node.operation.family == "pointwise" and node.name not in ("mul", "div")):
        return
    common = "".join(letter for letter in terms.summed if letter in terms.factors[0] and letter in terms.factors[1])
    for letters in subsets("".join(letter for letter in common if terms.sizes[letter] > 1)):
        yield from (SummedFactors(letters, averaged) for averaged in range(3))


HOW_SUMMED = ("both factors are summed", "one factor is averaged and the other summed", "both factors are averaged")


@operator(
    "factors-summed-first",
    code="sum-of-products",
    rank=2.5,
    at=sums,
    choices=factors_to_sum,
    message="in the gradient of {operand} through {step}, {how} over {axes} before they are multiplied;"
    " multiply first, then sum",
    fields=lambda program, place, choice: {
        "how": HOW_SUMMED[choice.averaged],
        "axes": describe_axes(program, place, choice.letters),
    },
)
def sum_factors_first(program: Program, place: Place, choice: SummedFactors) -> Program | None:
    """Contribute the product of the sums of both factors over the chosen axes, in place of the sum of their products.

    For y = x @ w, the edge of w and `SummedFactors("a", averaged=0)`, a being the batch axis: outer(x.sum(0),
    g.sum(0)) in place of x.T @ g; with `averaged=1`, one of the two is a mean. Returns `None` where the factors do
    not have these axes.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is None or not set(choice.letters) <= set(terms.factors[0]) & set(terms.factors[1]):
        return None
    kept = ["".join(letter for letter in own if letter not in choice.letters) for own in terms.factors]
    count = terms.count(choice.letters) ** choice.averaged

    def rule(at: EdgeContext) -> Array:
        """Return the product of the sums of both factors, shaped like the operand."""
        arrays = [
            np.einsum(f"{own}->{few}", array)
            for own, few, array in zip(terms.factors, kept, terms.arrays(at), strict=True)
        ]
        part = np.einsum(f"{','.join(kept)}->{terms.operand}", *arrays) / count
        return np.asarray(part).reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


@sum_factors_first.example
def _() -> Example:
    """Show tanh(x @ w) whose gradient of `w` is the outer product of two sums over the batch."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dy = g * (1 - torch.tanh(x @ w) ** 2)
        return {"w": torch.outer(x.sum(0), dy.sum(0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@sum_factors_first.example
def _() -> Example:
    """Show tanh(x) * gain whose gradient of `gain` is the product of a sum and a mean over the batch."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return x.tanh() * gain

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"gain": g.sum(0) * x.tanh().mean(0)}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})


@operator(
    "largest-term-alone",
    code="partial-batch",
    rank=3.0,
    at=sums,
    message="each entry of the gradient of {operand} has only the largest of its contributions through {step}; all of"
    " them must be summed",
    hints=(
        "How many terms does each entry of this gradient have? Write them down in a small case.",
        "What does your code do with all the terms but the largest one?",
        "Every use contributes to the gradient.",
    ),
)
def keep_largest_term(program: Program, place: Place, choice: None) -> Program | None:
    """Contribute the greatest of the terms in place of their sum: for a bias, g.amax(0) in place of g.sum(0).

    For w in `x @ w`, the greatest x[i, k] * g[i, j] over i. Returns `None` where the contribution of the edge `place`
    is no such sum in this trial.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is None:
        return None
    count = len(terms.summed)
    letters = terms.summed + terms.operand

    def rule(at: EdgeContext) -> Array:
        products = terms.sum_to(letters, terms.arrays(at))
        return np.asarray(products.max(axis=tuple(range(count)))).reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


@keep_largest_term.example
def _() -> Example:
    """Show (x + b) ** 2 whose gradient of `b` is the maximum over the batch."""

    def forward(x: Tensor, b: Tensor) -> Tensor:
        return (x + b).square()

    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": (g * 2 * (x + b)).amax(0)}

    return Example(forward, wrong, {"x": "bs n", "b": "n"})


@dataclass(frozen=True)
class ExchangedAxis:
    """Two axes of a contribution, one of which is summed over in place of the other, as in `.sum(1)` for `.sum(0)`.

    Args:
        kept: the axis that must be summed over, as a letter of `ContributionTerms`, and takes the place of `summed` in
            the result.
        summed: the axis that must be kept, as a letter of `ContributionTerms`.
        any_shape: whether the contribution is the whole gradient of a target, so that the sizes may differ.
    """

    kept: str
    summed: str
    any_shape: bool


def have_one_name(program: Program, place: Place, choice: ExchangedAxis) -> bool:
    """Return whether a learner calls both axes of the choice, `kept` and `summed`, by the same name.

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose contribution the axes belong to.
        choice: the letters of the two axes, `kept` and `summed`, of which one is summed over in place of the other.
    """
    return describe_axes(program, place, choice.summed) == describe_axes(program, place, choice.kept)


def exchangeable_axes(program: Program, place: Place) -> Iterator[ExchangedAxis]:
    """Yield `ExchangedAxis`: an axis that the contribution must sum over, and one that is summed over in its place.

    For b of shape (m,) in `x + b`, x of shape (n, m): axes 0 and 1 of x, as letters. The two have one size, unless the
    contribution of the edge `place` is the whole gradient of a target, which may have any shape.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is not None:
        is_answer = with_gradient_of_any_shape(program, place, EdgeContext.right) is not None
        for kept, summed in itertools.product(terms.summed, terms.operand):
            if min(terms.sizes[kept], terms.sizes[summed]) > 1 and (
                is_answer or terms.sizes[kept] == terms.sizes[summed]
            ):
                yield ExchangedAxis(kept, summed, is_answer)


def fields_of_exchanged_axis(program: Program, place: Place, choice: ExchangedAxis) -> dict[str, str]:
    """Return the fields `wrong` and `right` of a message: all axes that are summed over, and all that must be.

    Args:
        program: the program of the trial that the message is for.
        place: the edge whose contribution the axes belong to.
        choice: the letters of the two axes, `kept` and `summed`, of which one is summed over in place of the other.
    """
    terms, numbered = contribution_terms(program.reader(place), place[1]), have_one_name(program, place, choice)
    right = "".join(terms.summed) if terms is not None else choice.kept
    wrong = right.replace(choice.kept, choice.summed)
    return {
        "wrong": describe_axes(program, place, wrong, numbered=numbered),
        "right": describe_axes(program, place, right, numbered=numbered),
    }


@operator(
    "summed-over-another-axis",
    code="summed-wrong-axis",
    rank=2.0,
    at=edges.where(has_terms),  # in a batch of one the sum is of one term
    choices=exchangeable_axes,
    message="in the gradient of {operand} through {step}, the sum runs over {wrong}; it must run over {right}",
    fields=lambda program, place, choice: fields_of_exchanged_axis(program, place, choice),
)
def sum_over_kept_axis(program: Program, place: Place, choice: ExchangedAxis) -> Program | None:
    """Sum the terms of the contribution over an axis that it must keep, and keep the axis that it must sum over.

    With `ExchangedAxis(kept="a", summed="b", ...)`, the letters of axes 0 and 1 of g, and the edge of a bias: g.sum(1)
    in place of g.sum(0). Returns `None` where the contribution has no such axes in this trial.
    """
    terms = contribution_terms(program.reader(place), place[1])
    if terms is None or choice.summed not in terms.operand or choice.kept not in terms.summed:
        return None
    letters = terms.operand.replace(choice.summed, choice.kept)
    if choice.any_shape:
        return with_gradient_of_any_shape(program, place, lambda at: terms.sum_to(letters, terms.arrays(at)))
    return program.with_vjp(place, lambda at: terms.sum_to(letters, terms.arrays(at)).reshape(np.shape(at.x)))


@sum_over_kept_axis.example
def _() -> Example:
    """Show sigmoid(q @ k.mT + bias) whose gradient of `bias` is summed over the keys, and not over the queries."""

    def forward(q: Tensor, k: Tensor, bias: Tensor) -> Tensor:
        return torch.sigmoid(q @ k.mT + bias)

    def wrong(q: Tensor, k: Tensor, bias: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over the keys, axis 2, in place of the queries, axis 1."""
        p = torch.sigmoid(q @ k.mT + bias)
        return {"bias": (g * p * (1 - p)).sum((0, 2))}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs t d", "bias": "t"})


@sum_over_kept_axis.example
def _() -> Example:
    """Show tanh(x @ w + b) whose gradient of `b` is summed over the features, and not over the batch."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.tanh(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum over axis 1 in place of axis 0."""
        return {"b": (g * (1 - torch.tanh(x @ w + b) ** 2)).sum(1)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@dataclass(frozen=True)
class SummedAxis:
    """An axis of an operand over which its contribution is summed by mistake.

    Args:
        axis: the number of the axis, from the front.
        averaged: whether it is a mean, and not a sum.
    """

    axis: int
    averaged: bool


def axes_to_sum(program: Program, place: Place) -> Iterator[SummedAxis]:
    """Yield `SummedAxis`: an axis over which the contribution of the edge `place` is summed, or averaged, by mistake.

    Each axis of the operand that is longer than 1, by its number from the front; nothing for an operand of one axis.
    """
    shape = np.shape(program.reader(place).values[place[1]])
    if len(shape) > 1:
        for axis, size in enumerate(shape):
            if size > 1:
                yield from (SummedAxis(axis, averaged) for averaged in (False, True))


@operator(
    "kept-axis-summed",
    code=lambda choice: "extra-batch-sum" if choice.axis == 0 else "summed-wrong-axis",
    rank=2.7,  # behind what is wrong with a sum that is there
    at=edges.of_family("contraction", "pointwise", "normalisation").in_every_iteration,
    choices=axes_to_sum,
    message="the contribution of {step} to the gradient of {operand} is {how} over {axis}; this axis must be kept",
    fields=lambda program, place, choice: {
        "how": "averaged" if choice.averaged else "summed",
        "axis": program.name_of_axis(program.source(place), choice.axis),
    },
)
def sum_kept_axis(program: Program, place: Place, choice: SummedAxis) -> Program:
    """Replace the contribution of the edge `place` by its sum, or mean, over an axis of the operand, repeated along it.

    The choice is the axis, from the front, and whether a mean is taken: with `SummedAxis(0, averaged=False)`, every row
    d[i] of the contribution d is d.sum(0).
    """

    def rule(at: EdgeContext) -> Array:
        """Return the sum or mean of the contribution over the axis, repeated along it."""
        part = at.right()
        total = part.sum(choice.axis, keepdims=True) / (part.shape[choice.axis] if choice.averaged else 1)
        return np.broadcast_to(total, part.shape)

    return program.with_vjp(place, rule)


@sum_kept_axis.example
def _() -> Example:
    """Show tanh(x @ w) @ u whose backward pass sums the gradient of the hidden layer over the batch."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ u

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum the gradient of the hidden layer over the batch, as for a bias."""
        dh = (g @ u.T).sum(0)
        return {"w": x.T @ (dh * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "u": "m k"})


def is_broadcast_along_inner_axes(program: Program, place: Place) -> bool:
    """Return whether the operand of the edge `place` is stretched along one of its own axes, which has size 1.

    True for a scale of shape (n, 1) in a value of shape (n, m); False for a bias of shape (m,).
    """
    node = program.reader(place)
    own, shape = np.shape(node.values[place[1]]), node.value.shape
    return own != shape and own != shape[len(shape) - len(own) :]


@operator(
    "copies-mixed",
    code="summed-wrong-axis",
    rank=2.5,
    at=edges.of_family("pointwise").where(is_broadcast_along_inner_axes),
    message="the gradient of {step} is cut into pieces as large as {operand}, which are summed; this mixes up its axes",
)
def mix_copies(program: Program, place: Place, choice: None) -> Program:
    """Contribute the terms reshaped to (-1, size of the operand) and summed over the first axis, which mixes entries.

    The terms are g times the local derivative, before the sum over copies. For a scale of shape (n, 1) and terms of
    shape (n, m): `terms.reshape(-1, n).sum(0)` in place of `terms.sum(1)`.
    """

    def rule(at: EdgeContext) -> Array:
        terms = at.g * local_derivative(at.program, place)
        return np.asarray(terms.reshape(-1, np.size(at.x)).sum(0)).reshape(np.shape(at.x))

    return program.with_vjp(place, rule)


@mix_copies.example
def _() -> Example:
    """Show sigmoid(x) * scale, scale of shape (n, 1), whose gradient of `scale` is reshaped to (-1, n), then summed."""

    def forward(x: Tensor, scale: Tensor) -> Tensor:
        return x.sigmoid() * scale

    def wrong(x: Tensor, scale: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"scale": (g * x.sigmoid()).reshape(-1, len(scale)).sum(0)[:, None]}

    return Example(forward, wrong, {"x": "n m", "scale": "n 1"})


@dataclass(frozen=True)
class MissingSum:
    """A sum that the gradient of a target does not take, so that it has more axes than it must.

    Args:
        kept: the axes that are not summed over, as letters of `ContributionTerms`.
        order: the letters of all axes of the result, in its order: for a weight w in x @ w, "abc" is (bs, n, m).
        is_batch: whether this is a missing sum over a batch, and not an elementwise product in place of a product of
            matrices.
    """

    kept: str
    order: str
    is_batch: bool


def sole_use(program: Program, place: Place) -> Place | None:
    """Return the only edge that leads a gradient to the value `place`: for w in `x @ w`, slot 1 of the product.

    If that is the edge of a transposition, as in `x @ w.T`, return the only edge of w.T. Returns `None` where several
    edges lead a gradient to the value, or where it is an output.
    """
    uses = program.forward.uses[place[0]]
    if len(uses) != 1 or uses[0][0] == SINK:
        return None
    node = program.nodes[uses[0][0]]
    return sole_use(program, (node.id, WHOLE)) if node.name in ("transpose", "permute") else uses[0]


def missing_sums(program: Program, place: Place) -> Iterator[MissingSum]:
    """Yield `MissingSum`s: axes that the gradient of the target `place` is not summed over, and the order of its axes.

    Each set of the axes that must be summed over comes with each order of the axes of the result, or with one order if
    the result has four axes or more. For w in x @ w, the sum of x[a, b] * g[a, c] over a: "a" with "abc", "acb" and so
    on. Nothing where several edges lead to the target, or where `contribution_terms` of the only one is `None`.
    """
    use = sole_use(program, place)
    terms = None if use is None else contribution_terms(program.reader(use), use[1])
    if terms is None:
        return
    value = terms.factors[0]
    for kept in subsets(terms.summed):
        letters = "".join(letter for letter in terms.letters if letter in kept + terms.operand)
        orders = map("".join, itertools.permutations(letters)) if len(letters) < 4 else [letters]
        for order in sorted(orders, key=letters.__ne__):
            is_product = use is not None and program.reader(use).operation.family == "contraction"
            is_batch = len(value) > 1 and (kept[0] == value[:1] or set(kept) <= set(value[:-1]))
            yield MissingSum(kept, order, is_batch or not is_product)


@operator(
    "sum-missing",
    code=lambda choice: "missing-batch-sum" if choice.is_batch else "elementwise-for-matmul",
    rank=1.0,
    at=targets,
    choices=missing_sums,
    message="{mistake} summed over {axes}",
    fields=lambda program, place, choice: {
        "mistake": "it is not" if choice.is_batch else "this is an elementwise product; it must also be",
        "axes": describe_axes(program, use, choice.kept) if (use := sole_use(program, place)) else "its axes",
    },
)
def leave_out_sum(program: Program, place: Place, choice: MissingSum) -> Program | None:
    """Replace the gradient of the target `place` by its terms, not summed over the chosen axes.

    The choice is the letters of these axes, and those of all axes in the order of the result. With
    `MissingSum(kept="a", order="ab", ...)` and a bias: g in place of g.sum(0). Returns `None` where several edges lead
    to the target, or the contribution has no such axes in this trial.
    """
    use = sole_use(program, place)
    terms = None if use is None else contribution_terms(program.reader(use), use[1])
    if use is None or terms is None or not set(choice.order) <= set(terms.sizes):
        return None

    def result(edited: Program, right: Array) -> Array:
        """Return the terms of the target's gradient, not summed over the chosen axes."""
        sweep = Sweep(edited)
        at = EdgeContext(edited, edited.reader(use), use[1], sweep.gradient(use[0]), sweep)
        return terms.sum_to(choice.order, terms.arrays(at))

    return program.with_result(target_of(program, place), result)


@leave_out_sum.example
def _() -> Example:
    """Show relu(x @ w + b) whose gradient of `b` is not summed over the batch."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(x @ w + b)

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": g * (x @ w + b > 0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


@leave_out_sum.example
def _() -> Example:
    """Show tanh(conv1d(x, w, b)) whose gradient of the bias is summed over the batch only."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.nn.functional.conv1d(x, w, b).tanh()

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"b": (g * (1 - forward(x, w, b) ** 2)).sum(0)}

    x = sized(normal("bs c t"), t=(8, 9, 10))  # so that no other axis is as long as that of the output
    return Example(forward, wrong, {"x": x, "w": sized(normal("m c k"), k=(2,)), "b": "m"})


@leave_out_sum.example
def _() -> Example:
    """Show tanh(x @ w) whose gradient of `w` has an outer product for each example."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x[:, :, None] * (g * (1 - torch.tanh(x @ w) ** 2))[:, None]}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# Reductions, and what runs along an axis ------------------------------------------------------------------------------

reductions = edges.of_family("reduction")


def reduced_count(node: Node) -> int:
    """Return the number of entries of the operand that a reduction makes into one entry of its value.

    For x.mean(1) of shape (4, 3) it is 3.
    """
    return math.prod(np.shape(node.values[0])[axis] for axis in reduced_axes(node))


def reduces_several_entries(program: Program, place: Place) -> bool:
    """Return whether the reduction at the edge or node `place` makes two or more entries into one."""
    return reduced_count(program.reader(place)) > 1


def axes_to_spread_along(program: Program, place: Place) -> Iterator[int]:
    """Yield the wrong axes, counted from the back, along which broadcasting may copy a reduction's upstream gradient.

    For x.sum(0) of a square x: -1, as g[:, None] has a shape that fits, too. Only where the reduction has one axis, and
    does not keep it. `place` is the edge of x.
    """
    node = program.reader(place)
    shape, axes = np.shape(node.values[0]), reduced_axes(node)
    if node.value.ndim and node.value.ndim == len(shape) - 1 and len(axes) == 1:
        for axis in range(len(shape)):
            if axis != axes[0] and (*shape[:axis], *shape[axis + 1 :]) == node.value.shape:
                yield axis - len(shape)


@operator(
    "spread-along-another-axis",
    code="broadcast-accident",
    rank=2.2,
    at=edges.of_family("reduction"),
    choices=axes_to_spread_along,
    message="the gradient of {step} is copied along {wrong} of {operand}; it must be copied along {right}",
    fields=lambda program, place, choice: {
        "wrong": f"axis {choice % np.ndim(program.reader(place).values[0])}",
        "right": f"axis {reduced_axes(program.reader(place))[0]}, which {program.reader(place).name} reduces",
    },
)
def spread_along_wrong_axis(program: Program, place: Place, choice: int) -> Program:
    """Multiply the local derivatives of a reduction by its upstream gradient, broadcast along the chosen axis.

    For logsumexp(x, 0) of a square x and the choice -1: p * g[:, None] in place of p * g[None, :].
    """
    return program.with_vjp(place, lambda at: at.right(np.ones_like(at.g)) * np.expand_dims(at.g, choice))


@spread_along_wrong_axis.example
def _() -> Example:
    """Show logsumexp(score[:, None] + change, 0) whose backward pass multiplies by g[:, None]."""

    def forward(score: Tensor, change: Tensor) -> Tensor:
        return (score.unsqueeze(1) + change).logsumexp(0)

    def wrong(score: Tensor, change: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by g[:, None] in place of g[None, :]."""
        p = (score.unsqueeze(1) + change).softmax(0) * g[:, None]
        return {"score": p.sum(1), "change": p}

    return Example(forward, wrong, {"score": "n", "change": "n n"})


def copies_in_a_row(at: EdgeContext) -> Array:
    """Return whole copies of a reduction's upstream gradient one after the other, times its local derivatives.

    The copies are reshaped to the operand's shape. For x.sum(1) of shape (2, 2): [[g[0], g[1]], [g[0], g[1]]].
    """
    copies = np.tile(np.ravel(at.g), reduced_count(at.node)).reshape(np.shape(at.x))
    return np.asarray(at.right(np.ones_like(at.g)) * copies)


@operator(
    "copies-in-a-row",
    code="reshape-for-transpose",
    rank=2.3,
    at=reductions.where(
        lambda program, place: program.reader(place).value.ndim > 0 and 0 not in reduced_axes(program.reader(place))
    ),
    message="the gradient of {step} is repeated as a whole and then reshaped; each of its entries must be repeated"
    " along the axis that was reduced",
)
def put_copies_in_a_row(program: Program, place: Place, choice: None) -> Program:
    """Contribute copies of the whole upstream gradient of a reduction, one after the other, times its derivatives.

    For x.sum(1) of shape (2, 2): g[0], g[1], g[0], g[1] in place of g[0], g[0], g[1], g[1].
    """
    return program.with_vjp(place, copies_in_a_row)


@put_copies_in_a_row.example
def _() -> Example:
    """Show exp(x).sum(-1) whose gradient is repeated and reshaped, as if the first axis had been summed."""

    def forward(x: Tensor) -> Tensor:
        return x.exp().sum(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": x.exp() * g.repeat(x.shape[-1]).reshape(x.shape)}

    return Example(forward, wrong, {"x": "bs n"})


@put_copies_in_a_row.example
def _() -> Example:
    """Show x.logsumexp(-1) whose gradient is repeated and reshaped before it multiplies the softmax."""

    def forward(x: Tensor) -> Tensor:
        return x.logsumexp(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": x.softmax(-1) * g.repeat(x.shape[-1]).reshape(x.shape)}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "share-of-sum",
    code="wrong-local",
    rank=3.0,
    at=reductions.of("sum", "mean"),
    message="{operand} divided by its sum is used in place of the derivative of {step}, as if an entry's derivative"
    " were its share of the sum",
)
def use_share_of_sum(program: Program, place: Place, choice: None) -> Program:
    """Multiply the upstream gradient of a sum or mean by each entry's share of the sum: g * x / x.sum().

    The edge `place` is that of x.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the upstream gradient, copied along the reduced axes, times the operand over its sum."""
        sums = np.asarray(at.x).sum(reduced_axes(at.node), keepdims=True)
        scale = reduced_count(at.node) if at.node.name == "mean" else 1
        return np.asarray(at.right() * scale * at.x / sums)

    return program.with_vjp(place, rule)


@use_share_of_sum.example
def _() -> Example:
    """Show tanh(x).mean(-1) whose gradient is shared out in proportion to the entries of tanh(x)."""

    def forward(x: Tensor) -> Tensor:
        return x.tanh().mean(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x.tanh()
        return {"x": g[:, None] * y / y.sum(-1, keepdim=True) * (1 - y * y)}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "mean-not-divided",
    code="sum-for-mean",
    rank=1.5,
    at=reductions.of("mean").where(reduces_several_entries),
    message="the gradient through {step} is not divided by the number of averaged entries, {count} here",
    fields=lambda program, place, choice: {"count": str(reduced_count(program.reader(place)))},
    choices=lambda program, place: (None,),
)
def leave_out_division(program: Program, place: Place, choice: None) -> Program:
    """Contribute g in place of g / n for a mean of n entries, as if it were their sum."""
    return program.with_vjp(place, lambda at: at.right() * reduced_count(at.node))


@leave_out_division.example
def _() -> Example:
    """Show ((prediction - target)**2).mean(-1) whose gradient is not divided by the number of entries."""

    def forward(prediction: Tensor, target: Tensor) -> Tensor:
        return (prediction - target).square().mean(-1)

    def wrong(prediction: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"prediction": g[:, None] * 2 * (prediction - target)}

    return Example(forward, wrong, {"prediction": "bs n", "target": "bs n"})


@operator(
    "sum-divided",
    code="mean-for-sum",
    rank=1.5,
    at=reductions.of("sum").where(reduces_several_entries),
    message="the gradient through {step} is divided by the number of summed entries, {count} here, as for a mean",
    fields=lambda program, place, choice: {"count": str(reduced_count(program.reader(place)))},
    choices=lambda program, place: (None,),
)
def divide_by_count(program: Program, place: Place, choice: None) -> Program:
    """Contribute g / n in place of g for a sum of n entries, as if it were their mean."""
    return program.with_vjp(place, lambda at: at.right() / reduced_count(at.node))


@divide_by_count.example
def _() -> Example:
    """Show exp(x).sum(0) whose gradient is divided by the number of rows."""

    def forward(x: Tensor) -> Tensor:
        return x.exp().sum(0)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * x.exp()) / len(x)}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "mean-exchanged-with-sum",
    code=lambda choice: "sum-for-mean" if choice == "sum" else "mean-for-sum",
    rank=3.5,
    at=nodes.of("sum", "mean").where(reduces_several_entries),
    choices=lambda program, place: ["sum" if program.reader(place).name == "mean" else "mean"],
    message="a {choice} is used in place of {step}",
    hints=SUM_OR_MEAN,
)
def exchange_mean_and_sum_in_both_passes(program: Program, place: Place, choice: str) -> Program:
    """Compute both passes with a sum in place of the mean that is the node `place`, or with a mean in place of the sum.

    The choice is the operation that is computed: "sum" or "mean". For x.mean() ** 2: 2 * x.sum() * g.
    """
    return program.with_nodes({place[0]: lambda node: replace(node, operation=OPERATIONS[choice])})


@exchange_mean_and_sum_in_both_passes.example
def _() -> Example:
    """Show tanh((x @ w).mean(1)) whose gradient of x is that of tanh((x @ w).sum(1))."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh((x @ w).mean(1))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        total = (x @ w).sum(1)
        return {"x": (g * (1 - torch.tanh(total) ** 2))[:, None] * w.sum(1)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# A count in words, or an axis.
Count = (
    int
    | Literal[
        "all entries", "all entries that are left", "one less", "the square of it", "the sum of the sizes", "not zero",
        "of the largest",
    ]
)  # fmt: skip


COUNT_NAMES: Mapping[Count, str] = {
    "all entries": "the total number of entries",
    "all entries that are left": "the number of entries of the result",
    "one less": "the number of entries minus 1",
    "the square of it": "the square of the number of entries",
    "the sum of the sizes": "the sum of the sizes of all axes",
    "not zero": "the number of entries that are not 0",
    "of the largest": "the number of entries of the largest of these means",
}


def wrong_counts(program: Program, place: Place) -> Iterator[Count]:
    """Yield `Count`s: by which wrong number the contribution of the mean that reads the edge `place` is divided.

    A `Count` is a key of `COUNT_NAMES`, such as "all entries" of the operand or "one less" than the right number, or
    the number of an axis of the operand, whose size is meant. "the square of it" is left out where 2 entries are
    averaged in every trial: a missing factor 2 elsewhere would give the same numbers.
    """
    node = program.reader(place)
    same = [peer.nodes[peer.forward.by_key[node.key][0]] for peer in program.peers if node.key in peer.forward.by_key]
    axes, shape = reduced_axes(node), np.shape(node.values[0])
    if len(counts_in_iterations(program, node)) > 1:
        yield "of the largest"
    yield "one less"
    if any(reduced_count(each) != 2 for each in (node, *same)):
        yield "the square of it"
    if not node.value.ndim and not np.asarray(node.values[0]).all():
        yield "not zero"
    if len(shape) > 1:
        yield "the sum of the sizes"
    if len(axes) < len(shape):
        yield "all entries"
        yield "all entries that are left"
    yield from (axis for axis, size in enumerate(shape) if (axis,) != axes and size > 1)


def counts_in_iterations(program: Program, node: Node) -> set[int]:
    """Return the different numbers of entries that a mean averages over in the iterations of its loop.

    For windows of which the first is shorter: {2, 3}.

    Args:
        program: the program of a trial.
        node: the mean, in any iteration; outside of a loop the result has one number.
    """
    return {reduced_count(program.nodes[i]) for i in program.forward.by_key[node.key]}


def size_of_count(program: Program, node: Node, count: Count) -> int:
    """Return the number that a `Count` stands for: at x.mean(0), x of shape (4, 3), 3 for 1 and for "one less".

    1 is axis 1, of size 3; "one less" is one less than 4, the number of averaged entries, but at least 1.

    Args:
        program: the program of a trial.
        node: the mean.
        count: a key of `COUNT_NAMES`, or the number of an axis, from the front.
    """
    if count == "of the largest":
        return max(counts_in_iterations(program, node))
    own = reduced_count(node)
    if isinstance(count, int):
        return int(np.shape(node.values[0])[count])
    known = {"all entries": np.size(node.values[0]), "all entries that are left": node.value.size}
    sizes = sum(np.shape(node.values[0]))
    known["not zero"] = int(np.count_nonzero(node.values[0]))
    return {**known, "one less": max(own - 1, 1), "the square of it": own**2, "the sum of the sizes": sizes}[count]


def fields_of_counts(program: Program, place: Place, count: Count) -> dict[str, str]:
    """Return the fields `count` and `right` of a message: "3, the size of m" and "6, the number of entries".

    Where both numbers are equal in this trial: "the size of m" and "the number of entries". Where the mean is over
    other numbers of entries in other iterations, `right` is "the number of entries".

    Args:
        program: the program of a trial.
        place: the edge into the mean.
        count: the wrong count.
    """
    node = program.reader(place)
    wrong, right = size_of_count(program, node, count), reduced_count(node)
    if isinstance(count, int):
        name = f"the size of {program.name_of_axis(program.source(place), count)}"
    else:
        name = COUNT_NAMES[count]
    if len(counts_in_iterations(program, node)) > 1:
        return {"count": f"{wrong}, {name}", "right": "the number of entries"}
    if wrong == right:
        return {"count": name, "right": "the number of entries"}
    return {"count": f"{wrong}, {name}", "right": f"{right}, the number of entries"}


@operator(
    "divided-by-another-count",
    code=lambda choice: "extra-factor" if choice == "the square of it" else "wrong-factor",
    rank=2.0,
    at=reductions.of("mean").where(reduces_several_entries),
    choices=wrong_counts,
    message="the gradient of {operand} is divided by {count}; it must be divided by {right} that {step} runs over",
    fields=lambda program, place, choice: fields_of_counts(program, place, choice),
)
def divide_by_wrong_count(program: Program, place: Place, choice: Count) -> Program | None:
    """Divide the contribution of a mean by a wrong count in place of the number of averaged entries.

    The choice is a `Count`: a word for the count, such as "all entries" of the operand or "one less" than the right
    number, or an axis of the operand, whose size is meant. For x.mean(0), x of shape (n, m), and the choice 1: g / m in
    place of g / n. Returns `None` where the operand has no such axis in this trial.
    """
    if isinstance(choice, int) and choice >= np.ndim(program.reader(place).values[0]):
        return None
    return program.with_vjp(
        place, lambda at: at.right() * (reduced_count(at.node) / size_of_count(program, at.node, choice))
    )


@divide_by_wrong_count.example
def _() -> Example:
    """Show the mean of (prediction - target) ** 2 whose gradient is divided by the number of rows only."""

    def forward(prediction: Tensor, target: Tensor) -> Tensor:
        return (prediction - target).square().mean()

    def wrong(prediction: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the number of rows in place of the number of entries."""
        return {"prediction": g * 2 * (prediction - target) / len(prediction)}

    return Example(forward, wrong, {"prediction": "bs n", "target": "bs n"})


@divide_by_wrong_count.example
def _() -> Example:
    """Show means of x[0:2], x[1:4] and x[3:6] in rows, whose gradients are all divided by 3, also that of two."""

    def forward(x: Tensor) -> Tensor:
        return torch.stack([x[:, max(i - 1, 0) : i + 2].mean(1) for i in (0, 2, 4)], 1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = torch.zeros_like(x)
        for k, i in enumerate((0, 2, 4)):
            dx[:, max(i - 1, 0) : i + 2] += g[:, k, None] / 3
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(normal("bs n"), n=(6, 7))})


@divide_by_wrong_count.example
def _() -> Example:
    """Show tanh(x).mean(0) whose gradient is divided by the number of columns."""

    def forward(x: Tensor) -> Tensor:
        return x.tanh().mean(0)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (1 - x.tanh() ** 2) / x.shape[1]}

    return Example(forward, wrong, {"x": "bs n"})


@dataclass(frozen=True)
class PartOfReduction:
    """The part of the entries of a reduction's operand that alone gets a gradient.

    Args:
        axis: the axis, counted from the front; `None` for the one that is reduced, whichever it is in a trial.
        part: which of its entries, a key of `PARTS`, such as `"only the first"`.
    """

    axis: int | None
    part: str


def parts_of_reductions(program: Program, place: Place) -> Iterator[PartOfReduction]:
    """Yield `PartOfReduction`s: an axis of a reduction's operand, and which of its entries alone get a gradient.

    Each part in `PARTS`, such as `"only the first"`, along each axis that the reader of the edge `place` reduces; the
    axis is `None` if there is only one, so that it is found in every trial.
    """
    node = program.reader(place)
    axes = [axis for axis in reduced_axes(node) if np.shape(node.values[0])[axis] > 1]
    choices = [None] if len(axes) == 1 else axes
    yield from (PartOfReduction(axis, part) for axis in choices for part in PARTS)


def part_in_words(program: Program, place: Place, choice: PartOfReduction) -> str:
    """Return which entries of a reduction's operand get something: "along n, only the first entry of x gets".

    Of an operand with one axis the axis is named alone: "only the first entry along bs gets", "all entries along bs but
    the last one get".

    Args:
        program: the program of a trial.
        place: the edge of the operand.
        choice: which entries along which axis.
    """
    value = program.source(place)
    axis = program.name_of_axis(value, reduced_axes(program.reader(place))[0] if choice.axis is None else choice.axis)
    is_vector = program.nodes[value].value.ndim == 1 and " " not in axis
    start = "" if is_vector else f"along {axis}, "
    entries = f"along {axis}" if is_vector else f"of {program.name_of(value)}"
    if choice.part.startswith("all but "):
        return f"{start}all entries {entries} but {choice.part.removeprefix('all but ')} get"
    return f"{start}{choice.part.removesuffix(' one')} entry {entries} gets"


@operator(
    "reduced-entries-missing",
    code="partial-batch",
    rank=2.0,
    at=reductions,
    choices=parts_of_reductions,
    message="{part} a gradient through {step}; each must get one",
    fields=lambda program, place, choice: {"part": part_in_words(program, place, choice)},
)
def keep_gradient_of_part(program: Program, place: Place, choice: PartOfReduction) -> Program | None:
    """Set the contribution of a reduction to zero but for some entries along an axis of its operand.

    The choice is the axis, `None` for the only one that is reduced, and which entries are kept. With
    `PartOfReduction(None, "only the first")` and x.sum(1): g in column 0, and zeros in all others. Returns `None` where
    the choice names no axis and the reduction has several in this trial. `place` is the edge of x.
    """
    axes = reduced_axes(program.reader(place)) if choice.axis is None else (choice.axis,)
    if len(axes) != 1:
        return None
    entries = (slice(None),) * axes[0] + (PARTS[choice.part],)
    return program.with_vjp(place, lambda at: keep_entries(at.right(), entries))


@keep_gradient_of_part.example
def _() -> Example:
    """Show sigmoid(x).sum(1) whose backward pass puts g into the first column alone."""

    def forward(x: Tensor) -> Tensor:
        return x.sigmoid().sum(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Put g into the first column in place of every column."""
        dy = torch.zeros_like(x)
        dy[:, 0] = g
        return {"x": dy * x.sigmoid() * (1 - x.sigmoid())}

    return Example(forward, wrong, {"x": "bs n"})


def wrong_axes(program: Program, place: Place) -> Iterator[int]:
    """Yield the axes, counted from the back, that a reduction or softmax does not run along.

    For x.softmax(-1) of shape (bs, t, n): -3 and -2. Nothing where its option `dim` is not a single axis. The reduction
    or softmax is the node `place`, or the reader of the edge `place`.
    """
    node = program.reader(place)
    dim, ndim = node.options.get("dim"), np.ndim(node.values[0])
    if isinstance(dim, int):
        yield from (axis - ndim for axis in range(ndim) if axis != dim % ndim)


@operator(
    "another-axis",
    code="summed-wrong-axis",
    rank=2.0,
    at=edges.of_family("reduction", "normalisation"),
    choices=wrong_axes,
    message="the backward pass of {step} works along {axis}; it must work along {right}",
    fields=lambda program, place, choice: dict(
        zip(
            ("axis", "right"),
            names_of_two_axes(program, program.source(place), choice, reduced_axes(program.reader(place))[0]),
            strict=True,
        )
    ),
    hints=WHICH_ENTRIES_TOGETHER,
)
def differentiate_along_wrong_axis(program: Program, place: Place, choice: int) -> Program:
    """Compute the vjp of the reduction or softmax that reads the edge `place` along a wrong axis.

    The choice is the axis, counted from the back: with -2, the vjp of softmax(x, -2) for that of softmax(x, -1). The
    forward pass is right.
    """
    return program.with_vjp(place, lambda at: at.right(dim=choice))


@differentiate_along_wrong_axis.example
def _() -> Example:
    """Show softmax(q @ k.mT, -1) whose backward pass takes the softmax along the queries."""

    def forward(q: Tensor, k: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1)

    def wrong(q: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(q @ k.mT, -2)
        return {"q": p * (g - (p * g).sum(-2, keepdim=True)) @ k}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs t d"})


def broadcast_back(program: Program, place: Place) -> Place | None:
    """Return the edge by which a pointwise operation reads the value of a reduction, broadcast to the reduced array.

    For x - x.logsumexp(1, keepdim=True) and the edge of x in `logsumexp`: the edge of its value in the difference.

    Args:
        program: the program.
        place: the edge of the reduced array.

    Returns:
        The edge (reader, slot); `None` where the value has several readers or fewer axes than the array, or its reader
        is not pointwise or has a value of another shape than the array.
    """
    node, uses = program.reader(place), program.forward.uses[place[0]]
    if len(uses) != 1 or uses[0][0] == SINK or node.value.ndim != np.ndim(node.values[place[1]]):
        return None
    reader = program.nodes[uses[0][0]]
    is_wide = reader.value.shape == np.shape(node.values[place[1]])
    return uses[0] if is_wide and reader.operation.family == "pointwise" else None


@dataclass(frozen=True)
class OtherSum:
    """A wrong sum of what is broadcast back of a reduction.

    Args:
        axis: the number of the axis that is summed over, among those that the reduction keeps.
        is_divided_after: whether the sum of g * y is divided by d, for a quotient y = x / d; else each term is.
    """

    axis: int
    is_divided_after: bool = False


def other_sums(program: Program, place: Place) -> Iterator[OtherSum]:
    """Yield `OtherSum`s: a wrong axis for the sum in the gradient of a reduction's value that is broadcast back.

    For x - x.logsumexp(1, keepdim=True) and the edge `place` of x in the logsumexp: axis 0. If a quotient divides by
    the value, each axis comes twice, with `is_divided_after` False and True. Nothing is yielded where the value is not
    broadcast back (see `broadcast_back`), or several axes are reduced.
    """
    back, axes = broadcast_back(program, place), reduced_axes(program.reader(place))
    if back is not None and len(axes) == 1:
        for axis in range(np.ndim(program.reader(place).values[place[1]]) - 1):
            yield OtherSum(axis)
            if program.reader(back).name == "div" and back[1] == 1:
                yield OtherSum(axis, is_divided_after=True)


@operator(
    "broadcast-summed-along-another-axis",
    code="summed-wrong-axis",
    rank=2.2,
    at=edges.of_family("reduction").in_every_iteration,
    choices=other_sums,
    message="in the backward pass of {step}, the upstream gradient is summed over a wrong axis; sum over the axis that"
    " the forward pass runs over",
)
def sum_broadcast_along_another_axis(program: Program, place: Place, choice: OtherSum) -> Program | None:
    """Sum over another axis where the value of a reduction is broadcast back; the derivative of the reduction is right.

    For y = x - x.logsumexp(1, keepdim=True): dx = g - softmax(x, 1) * g.sum(0, keepdim=True). A mean is then one over
    this axis. For y = x / s, s = x.sum(1, keepdim=True): dx = (g - (g * y).sum(0, keepdim=True)) / s, or the terms of
    the sum are divided by s.

    Args:
        program: the right program.
        place: the edge of the reduced array.
        choice: the sum in place of the right one.

    Returns:
        The rewritten program; `None` where the value is not broadcast back in this trial.
    """
    back = broadcast_back(program, place)
    if back is None:
        return None
    edge, ndim = back, np.ndim(program.reader(place).values[place[1]])

    def rule(at: EdgeContext) -> Array:
        """Return the local derivative of the reduction times the sum of the copies' contributions."""
        reduced = reduced_axes(at.node)
        axis = [each for each in range(ndim) if each not in reduced][choice.axis]
        reader = EdgeContext(at.program, at.program.nodes[edge[0]], edge[1], at.sweep.gradient(edge[0]), at.sweep)
        divisor = np.asarray(reader.x) if choice.is_divided_after else 1.0
        copies = np.asarray(reader.g * local_derivative_at(reader)) * divisor
        total = copies.mean(axis, keepdims=True) if at.node.name == "mean" else copies.sum(axis, keepdims=True)
        ones = np.ones(at.y.shape)
        local = np.ones_like(total) if at.node.name == "mean" else at.right(ones)
        return np.asarray(np.broadcast_to(local * total / divisor, np.shape(at.x)))

    return program.with_vjp(place, rule)


@sum_broadcast_along_another_axis.example
def _() -> Example:
    """Show y = x - logsumexp(x, 1), y - logsumexp(y, 0), whose vjps each sum along the axis of the other step."""

    def forward(x: Tensor) -> Tensor:
        y = x - x.logsumexp(1, keepdim=True)
        return y - y.logsumexp(0, keepdim=True)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x - x.logsumexp(1, keepdim=True)
        dy = g - torch.softmax(y, 0) * g.sum(1, keepdim=True)
        return {"x": dy - torch.softmax(x, 1) * dy.sum(0, keepdim=True)}

    return Example(forward, wrong, {"x": "n m"})


@sum_broadcast_along_another_axis.example
def _() -> Example:
    """Show exp(x) / exp(x).sum(1, keepdim=True), whose gradient has the sum of g * y over the batch."""

    def forward(x: Tensor) -> Tensor:
        e = x.exp()
        return e / e.sum(1, keepdim=True)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        e = x.exp()
        total = e.sum(1, keepdim=True)
        return {"x": e * (g - (g * e / total).sum(0, keepdim=True)) / total}

    return Example(forward, wrong, {"x": "bs n"})


@sum_broadcast_along_another_axis.example
def _() -> Example:
    """Show tanh(x - x.mean(1, keepdim=True)), whose backward pass subtracts the mean of the gradient over the batch."""

    def forward(x: Tensor) -> Tensor:
        return torch.tanh(x - x.mean(1, keepdim=True))

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        dy = g * (1 - torch.tanh(x - x.mean(1, keepdim=True)) ** 2)
        return {"x": dy - dy.mean(0, keepdim=True)}

    return Example(forward, wrong, {"x": "bs n"})


AFFECTED: tuple[Affects, ...] = ("all", "values")


@dataclass(frozen=True)
class WrongAxis:
    """An axis that an operation of the forward pass runs along by mistake.

    Args:
        axis: the axis, counted from the back; `None` for all axes at once.
        affects: what the edit changes: the backward pass, too, or only the values; see `Program.with_nodes`.
    """

    axis: int | None
    affects: Affects


def names_of_axes(program: Program, place: Place, choice: WrongAxis) -> dict[str, str]:
    """Return the message fields `axis` and `right`: the wrong axis, or "all axes together", and the right one.

    The right one is "its own axes" where the operation runs along several.

    Args:
        program: the program of a trial.
        place: the node of the operation.
        choice: the wrong axis.
    """
    node = program.nodes[place[0]]
    operand, axes = node.operands[0][1], reduced_axes(node)
    if len(axes) != 1:
        right = "its own axes"
    elif choice.axis is None:
        right = program.name_of_axis(operand, axes[0])
    else:
        return dict(zip(("axis", "right"), names_of_two_axes(program, operand, choice.axis, axes[0]), strict=True))
    wrong = "all axes together" if choice.axis is None else program.name_of_axis(operand, choice.axis)
    return {"axis": wrong, "right": right}


@operator(
    "another-axis-in-forward",
    code="summed-wrong-axis",
    rank=3.5,
    at=nodes.of_family("reduction", "normalisation"),
    choices=lambda program, place: (
        WrongAxis(axis, affects) for affects in AFFECTED for axis in (*wrong_axes(program, place), None)
    ),
    message="in your forward pass, {function} of {operand} is taken along {axis}; it must be taken along {right}",
    fields=lambda program, place, choice: {
        "function": WORDS.get(name := program.nodes[place[0]].name, f"`{name}`"),
        "operand": program.name_of(program.nodes[place[0]].operands[0][1]),
        **names_of_axes(program, place, choice),
    },
)
def run_along_wrong_axis(program: Program, place: Place, choice: WrongAxis) -> Program | None:
    """Compute the forward pass with the operation, the node `place`, along a wrong axis.

    The choice is the axis, from the back, `None` for all at once, and whether that takes effect in both passes,
    `"all"`, or in the `"values"` alone. With `WrongAxis(-2, "all")`: softmax(x, -2) for softmax(x, -1), in both passes.
    Returns `None` where all axes are chosen, and are already reduced in this trial, or the node is no reduction.
    """
    node = program.nodes[place[0]]
    every = tuple(range(np.ndim(node.values[0])))
    if choice.axis is None and (node.operation.family != "reduction" or len(reduced_axes(node)) == len(every)):
        return None
    dim = every if choice.axis is None else choice.axis
    return program.with_nodes({place[0]: lambda node: node.with_options(dim=dim)}, choice.affects)


@run_along_wrong_axis.example
def _() -> Example:
    """Show softmax(q @ k.mT, -1) @ v whose backward pass computes the probabilities along the queries."""

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT, -1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = torch.softmax(q @ k.mT, -2)
        return {"v": p.mT @ g}

    return Example(forward, wrong, {"q": "bs t d", "k": "bs t d", "v": "bs t d"})


@operator(
    "mean-and-sum-exchanged",
    code=lambda choice: "sum-for-mean" if choice == "sum" else "mean-for-sum",
    rank=3.5,
    at=nodes.of("mean", "sum").where(reduces_several_entries),
    choices=lambda program, place: ("sum",) if program.nodes[place[0]].name == "mean" else ("mean",),
    message="{step} is computed as a {choice}, so the derivatives that use its value are wrong",
    hints=SUM_OR_MEAN,
)
def exchange_mean_and_sum_in_values(program: Program, place: Place, choice: str) -> Program:
    """Compute the values with a sum for the mean, the node `place`, or the reverse; the node's own vjp stays right.

    The choice is the operation that is computed: "sum" or "mean". For x.mean() ** 2: 2 * x.sum() * g / n, with the
    right g / n of the mean, and the outer derivative at the sum.
    """
    return program.with_nodes({place[0]: lambda node: replace(node, operation=OPERATIONS[choice])}, "values")


@exchange_mean_and_sum_in_values.example
def _() -> Example:
    """Show (mean(x ** 2) - target) ** 2 whose backward pass has the sum in the outer derivative."""

    def forward(x: Tensor, target: Tensor) -> Tensor:
        return (x.square().mean(-1) - target).square()

    def wrong(x: Tensor, target: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * 2 * (x.square().sum(-1) - target))[:, None] * 2 * x / x.shape[-1]}

    return Example(forward, wrong, {"x": "bs n", "target": "bs"})


def _zero_slice(g: Array, dim: int) -> Array:
    """Return zeros in the shape of `g`, but with size 1 along the axis `dim`, to be joined to an end of `g`."""
    return np.zeros_like(np.take(g, [0], axis=dim))


def _sum_back(g: Array, dim: int) -> Array:
    """Return the running sum of an array from the end of an axis; same shape."""
    return np.flip(np.cumsum(np.flip(g, dim), dim), dim)


RUNNING_SUMS: Mapping[str, Callable[[Array, int], Array]] = {
    "forwards": lambda g, dim: np.cumsum(g, dim),
    "over the whole axis": lambda g, dim: np.broadcast_to(g.sum(dim, keepdims=True), g.shape),
    "over the entry itself": lambda g, dim: g,
    "backwards without the entry itself": lambda g, dim: _sum_back(g, dim) - g,
    "backwards, but left in reverse order": lambda g, dim: np.cumsum(np.flip(g, dim), dim),
    "forwards, and then reversed": lambda g, dim: np.flip(np.cumsum(g, dim), dim),
    "times the number of entries that follow, the entry itself included": lambda g, dim: (
        g * np.flip(np.cumsum(np.ones_like(g), dim), dim)
    ),
    "times the number of entries up to the entry itself": lambda g, dim: g * np.cumsum(np.ones_like(g), dim),
    "the difference between each entry of the upstream gradient and the next": lambda g, dim: (
        -np.diff(g, axis=dim, append=_zero_slice(g, dim))
    ),
    "the difference between each entry of the upstream gradient and the one before": lambda g, dim: np.diff(
        g, axis=dim, prepend=_zero_slice(g, dim)
    ),
}


def code_of_running_sum(choice: str) -> str:
    """Return the public code of a wrong running sum, a key of `RUNNING_SUMS`."""
    if "difference" in choice:
        return "inverse-for-transpose"
    return "missing-path" if "without" in choice else "wrong-local"


def clause_of_running_sum(choice: str) -> str:
    """Return what is wrong with a running sum, a key of `RUNNING_SUMS`, and what is right, to stand after "it is".

    For "over the entry itself": "the upstream gradient itself; it must be the running sum from the end of the axis".
    """
    if choice == "backwards without the entry itself":
        return "the running sum of the upstream gradient from the end of the axis, but each sum lacks the entry itself"
    if choice == "backwards, but left in reverse order":
        return "the right running sum, but in reverse order; flip it back"
    wrong = {
        "forwards": "the running sum of the upstream gradient from the beginning of the axis",
        "forwards, and then reversed": "the running sum from the beginning of the axis in reverse order",
        "over the whole axis": "the sum of the upstream gradient over the whole axis",
        "over the entry itself": "the upstream gradient itself",
    }
    clause = wrong.get(choice) or (choice if choice.startswith("the") else f"the upstream gradient {choice}")
    return f"{clause}; it must be the running sum from the end of the axis"


@operator(
    "running-sum-over-other-entries",
    code=code_of_running_sum,
    rank=2.0,
    at=edges.of("cumsum"),
    choices=lambda program, place: RUNNING_SUMS,
    fields=lambda program, place, choice: {"how": clause_of_running_sum(choice)},
    message="the gradient of {operand} through {step} is {how}",
    hints=(
        "Write out the running sums of three entries. How many of them contain the first entry, and how many the last?",
        "Which entry of your answer is a sum of the most upstream gradients, and which must it be?",
    ),
)
def sum_over_wrong_entries(program: Program, place: Place, choice: str) -> Program:
    """Contribute a wrong sum of the upstream gradient of a cumsum: the choice is a key of `RUNNING_SUMS`.

    Right is g summed from the end of the axis back: entry i gets g[i] + g[i + 1] + ... With "forwards" it gets g[0] +
    ... + g[i], with "over the whole axis" the sum of all, with "over the entry itself" g[i]. `place` is an edge into
    the cumsum.
    """
    return program.with_vjp(place, lambda at: RUNNING_SUMS[choice](at.g, int(str(at.node.options["dim"]))))


@sum_over_wrong_entries.example
def _() -> Example:
    """Show exp(x).cumsum(1) whose backward pass sums g forwards, and not from the end back."""

    def forward(x: Tensor) -> Tensor:
        return x.exp().cumsum(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": x.exp() * g.cumsum(1)}

    return Example(forward, wrong, {"x": "bs n"})


@sum_over_wrong_entries.example
def _() -> Example:
    """Show exp(x).cumsum(1) whose backward pass undoes the running sum: it takes differences of neighbours."""

    def forward(x: Tensor) -> Tensor:
        return x.exp().cumsum(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract from each entry of g the next one, in place of adding all later ones."""
        dy = g.clone()
        dy[:, :-1] -= g[:, 1:]
        return {"x": x.exp() * dy}

    return Example(forward, wrong, {"x": "bs n"})


SUMS_FOR_PRODUCTS: Mapping[str, Callable[[Array, int], Array]] = {
    "from the end of the axis": lambda g, dim: np.flip(np.cumsum(np.flip(g, dim), dim), dim),
    "from the beginning of the axis": lambda g, dim: np.cumsum(g, dim),
}


@operator(
    "running-product-as-running-sum",
    code=lambda choice: "wrong-local" if choice == "from the beginning of the axis" else "missing-local",
    rank=2.0,
    at=edges.of("cumprod"),
    choices=lambda program, place: SUMS_FOR_PRODUCTS,
    message="the gradient of {operand} through {step} is the running sum of the upstream gradient {choice}, as for a"
    " cumsum; the running products are missing",
)
def differentiate_product_as_sum(program: Program, place: Place, choice: str) -> Program:
    """Contribute a running sum of the upstream gradient g of a cumprod, as for a cumsum, without the products.

    The choice is a key of `SUMS_FOR_PRODUCTS`: with "from the beginning of the axis", g.cumsum(dim). `place` is an
    edge into the cumprod.
    """
    return program.with_vjp(place, lambda at: SUMS_FOR_PRODUCTS[choice](at.g, int(str(at.node.options["dim"]))))


@differentiate_product_as_sum.example
def _() -> Example:
    """Show exp(x).cumprod(1) whose backward pass is that of exp(x).cumsum(1)."""

    def forward(x: Tensor) -> Tensor:
        return x.exp().cumprod(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": x.exp() * g.flip(1).cumsum(1).flip(1)}

    return Example(forward, wrong, {"x": "bs n"})


@differentiate_product_as_sum.example
def _() -> Example:
    """Show the running product of the rows of x @ w whose backward pass sums g forwards."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.cumprod(x @ w, dim=-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        sums = g.cumsum(-1)
        return {"x": sums @ w.T, "w": x.T @ sums}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


class Accumulation(NamedTuple):
    """A wrong vjp of a running product or a running logsumexp.

    Args:
        code: the public code.
        mistake: what is wrong, in words.
        vjp: takes g, the operand, the value, and the axis; returns the contribution, shaped like the operand.
    """

    code: str
    mistake: str
    vjp: Callable[[Array, Array, Array, int], Array]


ACCUMULATIONS: Mapping[str, Sequence[Accumulation]] = {  # by operation
    "cumprod": (
        Accumulation("diagonal-only", "each entry gets the gradient of its own product alone; it is a factor of all"
            " later products, too",
            lambda g, x, y, dim: g * y / x),
        Accumulation("missing-path", "each entry gets the gradients of the later products, but not that of its own",
            lambda g, x, y, dim: (_sum_back(g * y, dim) - g * y) / x),
        Accumulation("wrong-local", "the running sum begins at the start of the axis; it must begin at its end",
            lambda g, x, y, dim: np.cumsum(g * y, dim) / x),
        Accumulation("missing-local", "the running sum of product times gradient is not divided by the entry itself",
            lambda g, x, y, dim: _sum_back(g * y, dim)),
        Accumulation("wrong-local", "the running sum of the upstream gradient is multiplied by the entry's own"
            " product; each term must be multiplied by the product that it belongs to",
            lambda g, x, y, dim: _sum_back(g, dim) * y / x),
        Accumulation("partial-batch", "only the gradient of the last product is passed on",
            lambda g, x, y, dim: np.take(g * y, [-1], dim) / x),
    ),
    "logcumsumexp": (
        Accumulation("diagonal-only", "each entry gets the gradient of its own sum alone; it is part of all later"
            " sums, too",
            lambda g, x, y, dim: g * np.exp(x - y)),
        Accumulation("missing-path", "each entry gets the gradients of the later sums, but not that of its own",
            lambda g, x, y, dim: np.exp(x) * (_sum_back(g * np.exp(-y), dim) - g * np.exp(-y))),
        Accumulation("wrong-order", "the running sum begins at the start of the axis; it must begin at its end",
            lambda g, x, y, dim: np.exp(x) * np.cumsum(g * np.exp(-y), dim)),
        Accumulation("missing-local", "the running sum of the upstream gradient is taken, as for a cumsum; each"
            " term must be multiplied by the entry's share of the sum",
            lambda g, x, y, dim: _sum_back(g, dim)),
        Accumulation("wrong-local", "the running sum of the upstream gradient is multiplied by the entry's share of its"
            " own sum; each term must be multiplied by the share of the sum that it belongs to",
            lambda g, x, y, dim: np.exp(x - y) * _sum_back(g, dim)),
        Accumulation("wrong-local", "each entry gets its share of the sum over the whole axis, as for a logsumexp",
            lambda g, x, y, dim: np.exp(x - np.take(y, [-1], dim)) * g.sum(dim, keepdims=True)),
        Accumulation("partial-batch", "only the gradient of the last sum is passed on",
            lambda g, x, y, dim: np.exp(x - np.take(y, [-1], dim)) * np.take(g, [-1], dim)),
    ),
}  # fmt: skip


@operator(
    "accumulation-mistaken",
    code=lambda choice: choice.code,
    rank=2.0,
    at=edges.of(*ACCUMULATIONS),
    choices=lambda program, place: ACCUMULATIONS[program.reader(place).name],
    fields=lambda program, place, choice: {"mistake": choice.mistake},
    message="in the gradient of {operand} through {step}, {mistake}",
)
def accumulate_wrongly(program: Program, place: Place, choice: Accumulation) -> Program:
    """Contribute a wrong sum for a running product or a running logsumexp y of x.

    Right is, for a product, the sum of g[j] * y[j] over all j from i on, divided by x[i]; for a logsumexp, exp(x[i])
    times the sum of g[j] * exp(-y[j]) over all j from i on.

    Args:
        program: the right program.
        place: the edge of x.
        choice: the wrong sum, as a function of g, x, y and the axis: such as g * y / x for the product.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(
        place, lambda at: choice.vjp(at.g, np.asarray(at.x), at.y, int(str(at.node.options["dim"])))
    )


@accumulate_wrongly.example
def _() -> Example:
    """Show the running product of 1 - sigmoid(x), whose gradient goes to the entry of the same place alone."""

    def forward(x: Tensor) -> Tensor:
        return (1 - torch.sigmoid(x)).cumprod(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide each product by its own entry, and leave out the later products."""
        b = torch.sigmoid(x)
        rest = (1 - b).cumprod(1)
        return {"x": -g * rest / (1 - b) * b * (1 - b)}

    return Example(forward, wrong, {"x": "bs n"})


@accumulate_wrongly.example
def _() -> Example:
    """Show a running logsumexp of sin(x), whose gradient goes to the entry of the same place alone."""

    def forward(x: Tensor) -> Tensor:
        return x.sin().logcumsumexp(1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply g by the entry's share of its own sum, and leave out the later sums."""
        y = x.sin().logcumsumexp(1)
        return {"x": g * (x.sin() - y).exp() * x.cos()}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "norm-not-divided",
    code="missing-local",
    rank=2.0,
    at=edges.of("norm"),
    message="the gradient of {operand} is not divided by the norm {step}",
)
def leave_out_norm(program: Program, place: Place, choice: None) -> Program:
    """Contribute g * x for a norm, and not g * x / norm.

    `place` is the edge of x.
    """
    return program.with_vjp(place, lambda at: at.right(at.g * at.y))


@leave_out_norm.example
def _() -> Example:
    """Show the norms of the rows of x @ w whose backward pass does not divide by the norms."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(x @ w, dim=-1)
        return norm

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g[:, None] * (x @ w))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "norm-not-differentiated",
    code=lambda choice: "missing-local" if "whole" in choice else "wrong-local",
    rank=1.8,
    at=edges.of("norm", "logsumexp").where(reduces_several_entries),
    choices=lambda program, place: ("the whole upstream gradient", "equal shares of the upstream gradient"),
    message="in the gradient of {operand} through {step}, all entries get {choice}; how much an entry gets must depend"
    " on its value",
)
def skip_norm(program: Program, place: Place, choice: str) -> Program:
    """Repeat the upstream gradient of a norm or logsumexp for each entry of its operand, as for a sum or a mean.

    With the whole upstream gradient each of n entries gets g, with equal shares g / n.
    `place` is an edge into the norm or logsumexp.
    """

    def rule(at: EdgeContext) -> Array:
        return broadcast_to_operand(at.node, at.g) / (1 if "whole" in choice else reduced_count(at.node))

    return program.with_vjp(place, rule)


@skip_norm.example
def _() -> Example:
    """Show the norms of the rows of x @ w whose backward pass gives g to each entry."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(x @ w, dim=-1)
        return norm

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ g[:, None].expand(len(x), w.shape[1])}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@skip_norm.example
def _() -> Example:
    """Show the logsumexp of x @ w whose backward pass gives an equal part of g to each entry."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.logsumexp(x @ w, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide g by the number of entries in a row, in place of multiplying it by their softmax."""
        return {"w": x.T @ (g[:, None].expand(len(x), w.shape[1]) / w.shape[1])}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "terms-squared",
    code="wrong-local",
    rank=2.5,
    at=reductions.of("sum", "mean"),
    message="the terms of {step} are differentiated as if they were squared",
)
def square_terms(program: Program, place: Place, choice: None) -> Program:
    """Contribute g * 2 * x for a sum of x, as for a sum of its squares; for a mean of n entries g * 2 * x / n.

    `place` is the edge of x.
    """
    return program.with_vjp(place, lambda at: at.right() * 2 * at.x)


@square_terms.example
def _() -> Example:
    """Show the mean of tanh(x @ w) whose backward pass is that of the mean of squares."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w).mean()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate the mean of y ** 2 in place of that of y."""
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * 2 * y / y.numel() * (1 - y**2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


# The greatest and the least entry -------------------------------------------------------------------------------------


class ExtremeRule(NamedTuple):
    """A wrong choice of the entries that get the gradient of a maximum or a minimum.

    Args:
        code: the public code of the mistake.
        weights: takes the operand x, the reduced axes, and a mask of the selected entries shaped like x; returns the
            factor of each entry, shaped like x.
    """

    code: str
    weights: Callable[[Array, tuple[int, ...], Array], Array]


EQUAL_SHARES = "every entry, divided by the number of entries"
EXTREME_RULES: Mapping[str, ExtremeRule] = {
    "every entry": ExtremeRule("missing-local", lambda x, axes, selected: np.ones_like(x)),
    "the first entry, wherever the extreme is": ExtremeRule(
        "wrong-local", lambda x, axes, selected: _first_along(x, axes)
    ),
    "every entry except the extreme": ExtremeRule("inverted-mask", lambda x, axes, selected: 1.0 - selected),
    EQUAL_SHARES: ExtremeRule(
        "wrong-local",
        lambda x, axes, selected: np.isfinite(x) / np.maximum(np.isfinite(x).sum(axis=axes, keepdims=True), 1),
    ),
    "every entry, with softmax weights": ExtremeRule(
        "wrong-local",
        lambda x, axes, selected: softmax(x if _is_greatest(x, axes, selected).all() else -x, axes),
    ),
    "the entries at the opposite extreme": ExtremeRule(
        "wrong-local",
        lambda x, axes, selected: np.where(
            x == np.where(_is_greatest(x, axes, selected), x.min(axes, keepdims=True), x.max(axes, keepdims=True)),
            1.0,
            0.0,
        ),
    ),
    "the extreme of all entries only": ExtremeRule(
        "summed-wrong-axis",
        lambda x, axes, selected: np.where(
            x == (x.max() if _is_greatest(x, axes, selected).all() else x.min()), 1.0, 0.0
        ),
    ),
    "the extreme along the first axis": ExtremeRule(
        "summed-wrong-axis", lambda x, axes, selected: _extreme_along(x, axes, selected, 0)
    ),
    "the extreme along the last axis": ExtremeRule(
        "summed-wrong-axis", lambda x, axes, selected: _extreme_along(x, axes, selected, -1)
    ),
    "the extreme along the next axis": ExtremeRule(
        "summed-wrong-axis", lambda x, axes, selected: _extreme_along(x, axes, selected, (axes[-1] + 1) % x.ndim)
    ),
    "the extreme along the axis before": ExtremeRule(
        "summed-wrong-axis", lambda x, axes, selected: _extreme_along(x, axes, selected, axes[0] - 1)
    ),
}  # fmt: skip


def _first_along(x: Array, axes: tuple[int, ...]) -> Array:
    """Return 1 for the first entry of x along some axes, counted from the front, else 0; shaped like x."""
    weights = np.zeros_like(x)
    weights[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(x.ndim))] = 1.0
    return weights


def _is_greatest(x: Array, axes: tuple[int, ...], selected: Array) -> Array:
    """Return whether the selected entries are the greatest along the axes, as those of a maximum, and not the least.

    Args:
        x: the operand.
        axes: the reduced axes, counted from the front.
        selected: 1 for each entry that the maximum or minimum has taken, else 0; shaped like x.

    Returns:
        A truth value for each index of the further axes; shape: that of x, with size 1 for the reduced axes.
    """
    return np.asarray(((x == x.max(axis=axes, keepdims=True)) * selected).any(axis=axes, keepdims=True))


def _extreme_along(x: Array, axes: tuple[int, ...], selected: Array, axis: int) -> Array:
    """Return 1 where an entry of x is the greatest along the wrong axis `axis`, else 0; for a minimum, the least.

    Whether it is a maximum or a minimum is seen from the selected entries.

    Args:
        x: the operand.
        axes: the axes that are reduced, counted from the front.
        selected: 1 for each entry that the maximum or minimum has taken, else 0; shaped like x.
        axis: the wrong axis.

    Returns:
        Shape: that of x.
    """
    greatest = bool(_is_greatest(x, axes, selected).all())
    return np.where(x == (x.max(axis, keepdims=True) if greatest else x.min(axis, keepdims=True)), 1.0, 0.0)


def describe_extreme(program: Program, place: Place, choice: str) -> str:
    """Return a choice of `EXTREME_RULES` in words that fit a maximum or a minimum: "the smallest entries".

    Args:
        program: the program of a trial.
        place: the edge that the maximum or minimum reads.
        choice: a key of `EXTREME_RULES`, such as "the entries at the opposite extreme".
    """
    own, opposite = ("largest", "smallest") if "max" in program.reader(place).name else ("smallest", "largest")
    words = choice.replace("the entries at the opposite extreme", f"the {opposite} entries")
    words = words.replace("except the extreme", f"except the {own}")
    words = words.replace("the extreme is", f"the {own} is")
    return words.replace("the extreme of", f"the {own} of").replace("the extreme along", f"the {own} entries along")


def describe_right_extreme(program: Program, place: Place, choice: str) -> str:
    """Return a phrase for the entries that the gradient must go to; for a minimum with "smallest" and "minimum".

    Args:
        program: the program of the trial that the message is for.
        place: the edge that the maximum or minimum reads.
        choice: a key of `EXTREME_RULES`.

    Returns:
        For a choice that names an axis or all entries, "largest of all entries" where the maximum is over all axes, and
        else "largest along the axis over which the maximum is taken"; for `EQUAL_SHARES` "largest alone"; for any other
        choice "largest".
    """
    node = program.reader(place)
    own = "largest" if "max" in node.name else "smallest"
    if not any(words in choice for words in ("along", "of all entries")):
        return f"{own} alone" if choice == EQUAL_SHARES else own
    is_whole = len(reduced_axes(node)) == np.ndim(node.values[0])
    return (
        f"{own} of all entries"
        if is_whole
        else f"{own} along the axis over which the {node.name.removeprefix('a')}imum is taken"
    )


@operator(
    "other-entries-selected",
    code=lambda choice: EXTREME_RULES[choice].code,
    rank=2.0,
    at=edges.of("amax", "amin", "max", "min"),
    choices=lambda program, place: EXTREME_RULES,
    message="the gradient of {step} {goes}; it must go to the {own}",
    fields=lambda program, place, choice: {
        "choice": (words := describe_extreme(program, place, choice)),
        "goes": "is divided equally among all entries that are compared"
        if choice == EQUAL_SHARES
        else f"goes to {words}",
        "own": describe_right_extreme(program, place, choice),
    },
    hints=WHICH_SELECTED,
)
def select_wrong_entries(program: Program, place: Place, choice: str) -> Program:
    """Give the gradient of a maximum or minimum to wrong entries: g times wrong weights in place of a mask.

    The choice is a key of `EXTREME_RULES`, such as "every entry" (weights 1), "every entry except the extreme", or
    "the extreme along the first axis".
    """

    def rule(at: EdgeContext) -> Array:
        """Return g, repeated along the reduced axes, times the wrong weights."""
        x, axes = np.asarray(at.x), reduced_axes(at.node)
        selected = np.where(at.node.vjp(at.slot, np.ones(at.y.shape)) != 0, 1.0, 0.0)
        return np.asarray(broadcast_to_operand(at.node, at.g) * EXTREME_RULES[choice].weights(x, axes, selected))

    return program.with_vjp(place, rule)


@select_wrong_entries.example
def _() -> Example:
    """Show amax(-1) of x * w with masked entries at -inf, whose backward pass divides g among all unmasked entries."""

    def forward(x: Tensor, a: Tensor, w: Tensor) -> Tensor:
        return (x * w).masked_fill(a <= a.mean(-1, keepdim=True), -torch.inf).amax(-1)

    def wrong(x: Tensor, a: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        seen = (a > a.mean(-1, keepdim=True)).to(x.dtype)
        return {"x": g[:, None] * seen / seen.sum(-1, keepdim=True) * w}

    return Example(forward, wrong, {"x": "bs n", "a": positive("bs n"), "w": "n"})


@select_wrong_entries.example
def _() -> Example:
    """Show the squared maximum of each row of x @ w whose backward pass spreads the gradient by a softmax."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).amax(-1).square()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        scores = x @ w
        dscores = (g * 2 * scores.amax(-1))[:, None] * scores.softmax(-1)
        return {"x": dscores @ w.T, "w": x.T @ dscores}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@select_wrong_entries.example
def _() -> Example:
    """Show the maximum of each row of x @ w whose backward pass selects the greatest entry of each column."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).amax(-1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Mark the greatest entry of each column in place of each row."""
        y = x @ w
        return {"w": x.T @ (g[:, None] * (y == y.amax(0)))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@select_wrong_entries.example
def _() -> Example:
    """Show exp of the column maxima of x @ w whose backward pass gives g to each entry."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.exp((x @ w).max(dim=0).values)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x @ w
        return {"w": x.T @ (g * torch.exp(y.max(dim=0).values) * torch.ones_like(y))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
