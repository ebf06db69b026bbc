"""Mistakes in the vjps of a normalised value h = (x - mean) / s: layer norms, batch norms, RMS norms, unit vectors.

For a normalised value h = (x - mean) / s with upstream gradient g, the gradient of x is r (g - mean(g) - h mean(g h)),
where r = 1 / s: a term for the entry itself, one for the mean, and one for the variance. A `Normalisation` is found by
its numbers, however the forward pass writes it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, positive, sized
from grader.diagnosis.hints import NORMALISED_TOGETHER
from grader.program.forward import SINK, Forward, Node, Place
from grader.program.operation import Array, Operand, Operation
from grader.program.program import Affects, Program
from grader.program.queries import nodes_between, reduced_axes
from grader.program.rearrangement import joined_axes, refined_shape
from grader.program.selectors import ValueName, values_by_name

from .contract import Example, operator
from .places import RESHAPES, edges, expression_of, nodes

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Normalisation:
    """A value x that is divided by the root of its own squares, and the formula for the gradient of x.

    Args:
        source: the id of what is normalised, x.
        axes: the axes that the mean and the variance run over, counted from the front.
        centred: whether a mean is subtracted first.
        count: what the sum of squares is divided by: n, n - 1, or 1 for a norm.
        r: one over the root, which the centred x is multiplied by; broadcasts to the shape of x.
        h: the normalised value, shaped like x.
        gain: what x is multiplied by before the division, so that the node's value is `gain * h`; 1 for nothing.
    """

    source: int
    axes: Axes
    centred: bool
    count: float
    r: Array
    h: Array
    gain: Operand = 1.0

    @property
    def n(self) -> int:
        """Return how many entries are normalised together: the product of the sizes of `self.axes`."""
        return math.prod(self.h.shape[axis] for axis in self.axes)

    def mean_term(self, g: Array, axes: Axes | None = None) -> Array:
        """Return what is subtracted from g because the mean depends on x: mean(g); zeros where no mean is subtracted.

        The mean has size 1 along the axes that it is taken over.

        Args:
            g: the gradient of the normalised value, shaped like x.
            axes: wrong axes to average over; the right ones by default.
        """
        return self.mean(g, axes) if self.centred else np.zeros_like(g)

    def variance_term(self, g: Array, axes: Axes | None = None) -> Array:
        """Return what is subtracted from g because the variance depends on x: h * mean(g * h) * n / count.

        h is the normalised value `self.h`, n the number of entries that are normalised together, and count what their
        sum of squares is divided by, such as n or n - 1. For a norm, n is the number of entries along `axes`.

        Args:
            g: the gradient of the normalised value, shaped like x.
            axes: wrong axes to average over, counted from the front; the right ones by default.

        Returns:
            Shape: that of x.
        """
        n = self.n if axes is None else math.prod(self.h.shape[axis] for axis in axes)
        is_sum = self.count == 1 and not self.centred
        return np.asarray(self.h * self.mean(g * self.h, axes) * (n if is_sum else self.n / self.count))

    def mean(self, terms: Array, axes: Axes | None = None) -> Array:
        """Return the mean of an array over `self.axes`, those of the normalisation, which are kept with size 1.

        Args:
            terms: an array shaped like x, such as g * h.
            axes: wrong axes to average over, counted from the front; the right ones by default.
        """
        return np.asarray(terms.mean(axis=self.axes if axes is None else axes, keepdims=True))

    def gradient(self, g: Array) -> Array:
        """Return the right gradient of x for a gradient g of the normalised value h; both shaped like x.

        r * (g - mean(g) - h * mean(g * h)), with r = 1 / s for h = (x - mean) / s.
        """
        return np.asarray(self.r * (g - self.mean_term(g) - self.variance_term(g)))


TINY_CONSTANT = 1e-6  # how far what is added under a root may vary, in proportion to what is there
Formula = Callable[[Normalisation, Array], Array]  # from the gradient of the normalised value to that of x
_NORMALISATIONS: WeakKeyDictionary[Forward, dict[int, Normalisation | None]] = WeakKeyDictionary()


def normalisation_of(program: Program, place: Place) -> Normalisation | None:
    """Return the normalisation whose value a node computes; `None` where it computes none.

    For the division in `(x - m) / s`, m and s being mean and standard deviation of x: a `Normalisation`, which holds x,
    the axes of the mean, h = (x - m) / s, r = 1 / s, and the formula for the gradient of x.

    Args:
        program: the program of a trial.
        place: the node.
    """
    known = _NORMALISATIONS.setdefault(program.forward, {})
    if place[0] not in known:
        known[place[0]] = _find_normalisation(program, program.nodes[place[0]])
    return known[place[0]]


class Scaling(NamedTuple):
    """A quotient by a scale, or a product with one, in which all entries along an axis have the same scale.

    Args:
        numerator: the slot of what is scaled.
        scale: the slot of the scale.
        axes: the axes along which the scale is the same, counted from the front.
        factor: the scale, or one over it for a quotient; it has as many axes as the value, these of size 1.
    """

    numerator: int
    scale: int
    axes: Axes
    factor: Array


def scaling_of(program: Program, node: Node) -> Scaling | None:
    """Return the `Scaling` that a node computes: which operand is divided by which scale, the same along which axes.

    For `x / s` with x of shape (n, m) and s of shape (n, 1): slots 0 and 1, axes (1,), factor 1 / s. Return `None`
    where the node is no product or quotient of two values, or each entry has its own scale.
    """
    if node.name not in ("div", "mul") or len(node.operands) != 2:
        return None
    scales = [_operand_before_expand(program, node, slot) for slot in (0, 1)]
    scale = 0 if node.name == "mul" and scales[0].size < scales[1].size else 1
    factor = scales[scale].reshape((1,) * (node.value.ndim - scales[scale].ndim) + scales[scale].shape)
    new = node.value.ndim - scales[scale].ndim  # axes in front, which are shared whatever their size
    axes = tuple(i for i, size in enumerate(node.value.shape) if i < new or factor.shape[i] == 1 < size)
    if np.shape(node.values[1 - scale]) != node.value.shape or not axes:
        return None
    return Scaling(1 - scale, scale, axes, 1 / factor if node.name == "div" else factor)


def _operand_before_expand(program: Program, node: Node, slot: int) -> Array:
    """Return the operand in a slot of a node; if an `expand` makes it, the array before: s in `x / s.expand(3)`.

    Args:
        program: the program of a trial.
        node: the node.
        slot: the slot of the operand, which is also its position in `node.operands`.
    """
    operand = program.nodes[node.operands[slot][1]]
    return np.asarray(operand.values[0] if operand.name == "expand" else node.values[slot])


def _find_normalisation(program: Program, node: Node) -> Normalisation | None:
    """Return the normalisation whose value a node computes, such that its formula gives the right gradient of x.

    The formula is compared with the vjps of all nodes between x and the value, for one fixed upstream gradient.

    Args:
        program: the program of a trial.
        node: the node, of a division by a scale or a product with one.

    Returns:
        The first normalisation that fits, with a mean subtracted before one without; `None` where no choice of x, mean
        and count gives that gradient.
    """
    with np.errstate(all="ignore"):
        scaling = scaling_of(program, node)
        if scaling is None:
            return None
        forward = program.forward
        scale = node.operands[scaling.scale][1]
        g = np.sin(np.arange(1.0, node.value.size + 1).reshape(node.value.shape) * 1.7)
        n = math.prod(node.value.shape[axis] for axis in scaling.axes)
        for numerator, gain in _possible_numerators(program, node.operands[scaling.numerator][1]):
            h = program.nodes[numerator].value * scaling.factor
            for source in _possible_sources(program, numerator):
                if not forward.ancestors[scale] >> source & 1 or program.nodes[source].value.shape != node.value.shape:
                    continue
                part = replace(forward, nodes=forward.nodes[: node.id + 1], outputs=(node.id,), targets={"x": source})
                right = Program(part, (g,)).gradients()["x"]
                for centred, count in itertools.product((True, False), (n, n - 1, 1)):
                    known = Normalisation(source, scaling.axes, centred, count, scaling.factor, h, gain)
                    if count and np.allclose(known.gradient(g * gain), right, 1e-8, 1e-10):
                        return known
    return None


def _possible_numerators(program: Program, numerator: int) -> Iterator[tuple[int, Operand]]:
    """Yield what may be normalised by a scale s, with its gain: for `(x * w) / s`, x * w with 1, x with w, w with x.

    Args:
        program: the program of a trial.
        numerator: the id of what is divided by the scale.

    Yields:
        The id of the value that may be normalised, and the array that it is multiplied by, its gain. A factor is
        yielded only if it has the shape of the product.
    """
    yield numerator, 1.0
    node = program.nodes[numerator]
    if node.name == "mul" and len(node.values) == 2:
        for slot, operand in node.operands:
            if np.shape(node.values[slot]) == node.value.shape:
                yield operand, node.values[1 - slot]


def _possible_sources(program: Program, value: int) -> Iterator[int]:
    """Yield the ids of what may be the x of a normalised value: for `(x - m) / s`, x and then x - m.

    For `u / s` with u that is no difference, u alone.

    Args:
        program: the program of a trial.
        value: the id of the numerator without a gain: x - m, both for `(x - m) / s` and for `gain * (x - m) / s`.
    """
    node = program.nodes[value]
    if node.name == "sub" and (operand := node.operand(0)) is not None:
        yield operand
    yield value


def is_normalisation(program: Program, place: Place) -> bool:
    """Return whether the node `place` computes a normalised value, such as the division at the end of a layer norm."""
    return normalisation_of(program, place) is not None


normalisations = nodes.of("div", "mul").where(is_normalisation)


def with_normalisation_formula(program: Program, place: Place, formula: Formula) -> Program | None:
    """Return the program with a formula for the gradient of x in place of all contributions through a normalisation.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        formula: takes the `Normalisation` (axes, h, r, and so on) and the gradient of the normalised value h; returns
            that of x, both shaped like x.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """
    known = normalisation_of(program, place)
    if known is None:
        return None
    own = edges_of_source(program, known.source, place[0]) if np.ndim(known.gain) else ()
    own = own or tuple((place[0], slot) for slot, _ in program.forward.edges[place[0]])
    return program.without(*own).with_edge(place[0], known.source, lambda at: formula(known, at.g * known.gain))


def edges_of_source(program: Program, source: int, node: int) -> tuple[Place, ...]:
    """Return the edges by which a value enters the computation of a node, if these lead to no other node.

    Without them, the gradients of the further operands of this computation, such as a gain, stay right. Return an empty
    tuple where a node in between is read elsewhere, too.

    Args:
        program: the program.
        source: the id of the value.
        node: the id of the node.
    """
    between = {*nodes_between(program.forward, source, node)}
    if any(reader not in between for i in between - {node} for reader, _ in program.forward.uses[i]):
        return ()
    return tuple(edge for edge in program.forward.uses[source] if edge[0] in between)


def normalisation_fields(program: Program, place: Place, choice: object) -> dict[str, str]:
    """Return the fields `x`, `variance`, `scale`, `divisor` and perhaps `step` of a message about a normalisation.

    `x` names what is normalised; `variance` and `scale` are "variance" and "standard deviation", "norm" and "norm", or
    "mean of squares" and "root mean square"; `divisor` is what the source divides by, such as `rms`, or "the
    standard deviation" where that has no name; `step` is the call of a layer such as `layer_norm(x)`.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        choice: not read.
    """
    known, node = normalisation_of(program, place), program.nodes[place[0]]
    words = {"x": program.name_of(known.source) if known else "what is normalized"}
    words["variance"], words["scale"] = SCALES_IN_WORDS[
        "centred" if known is None or known.centred else known.count == 1
    ]
    divisor = program.name_of(node.operands[1][1]) if node.name == "div" and len(node.operands) > 1 else ""
    words["divisor"] = divisor if divisor.isidentifier() else f"the {words['scale']}"
    return {**words, "step": f"`{node.text}`"} if node.composite else words


# What is taken of the squares, and what a value is divided by.
SCALES_IN_WORDS: Mapping[str | bool, tuple[str, str]] = {
    "centred": ("variance", "standard deviation"),
    True: ("norm", "norm"),
    False: ("mean of squares", "root mean square"),
}


# The terms of a normalisation -----------------------------------------------------------------------------------------

Term = Literal["mean", "variance"]


def averaged_quantity(program: Program, place: Place, term: Term) -> str:
    """Return what a term of a normalisation's gradient takes the mean of: "out.g", or "out times out.g".

    For a normalised value that has the name hat and is no output: "the gradient of hat", or "hat times its gradient".

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        term: the term of the mean, or that of the variance.
    """
    value = name_of_normalised_value(program, place)
    gradient = f"the gradient of {value}"
    if value == program.output_name:
        gradient = program.upstream_name or gradient
    if term == "mean":
        return gradient
    return f"{value} times {'its gradient' if gradient.startswith('the ') else gradient}"


MISSING_TERMS: Mapping[tuple[Term, ...], str] = {
    ("variance",): "the path through the {variance} is missing: the {scale} depends on every entry",
    ("mean",): "the path through the mean is missing: subtract the mean of {averaged}",
    ("mean", "variance"): "the mean and the {scale} are treated as constants, but both depend on every entry",
}


def term_sets(program: Program, place: Place) -> Iterator[tuple[Term, ...]]:
    """Yield the sets of terms that may be left out of a normalisation's gradient, (g - mean(g) - h * mean(g * h)) / s.

    ("variance",) for the last term, ("mean",) for mean(g), ("mean", "variance") for both; ("variance",) alone where no
    mean is subtracted.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    known = normalisation_of(program, place)
    if known is not None:
        yield from (terms for terms in MISSING_TERMS if known.centred or "mean" not in terms)


@operator(
    "normalisation-term-missing",
    code="missing-path",
    rank=1.0,
    at=normalisations,
    choices=term_sets,
    message="in the gradient of {x} through {step}, {lack}",
    fields=lambda program, place, choice: {
        **normalisation_fields(program, place, choice),
        "lack": MISSING_TERMS[choice].format_map(
            normalisation_fields(program, place, choice) | {"averaged": averaged_quantity(program, place, "mean")}
        ),
    },
    hints=(
        "Which statistics of the entries that are normalized together does one entry move? Each contributes a term.",
        "Compute each term of your formula by itself. Is one of them missing, or 0?",
        "Nudge one entry: which entries are normalized together with it, and do their outputs move as well?",
    ),
)
def drop_term(program: Program, place: Place, choice: tuple[Term, ...]) -> Program | None:
    """Leave the term of the mean, of the variance, or both out of the gradient of x: (g - mean(g)) / s, for instance.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: the terms that are left out, as a tuple: ("variance",) in the example.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """

    def formula(known: Normalisation, g: Array) -> Array:
        """Return the gradient of x without the chosen terms."""
        mean = 0 if "mean" in choice else known.mean_term(g)
        variance = 0 if "variance" in choice else known.variance_term(g)
        return np.asarray(known.r * (g - mean - variance))

    return with_normalisation_formula(program, place, formula)


@drop_term.example
def _() -> Example:
    """Show layer_norm(x) * gain whose gradient of x leaves out the term of the variance."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gain)

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out the term of the variance, h * mean(dh * h)."""
        s = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        dh = g * gain
        return {"x": (dh - dh.mean(-1, keepdim=True)) / s}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})


@drop_term.example
def _() -> Example:
    """Show a batch norm of x @ w whose gradient treats mean and standard deviation as constants."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return (y - y.mean(0)) / y.std(0)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Treat the statistics of the batch as constants."""
        return {"w": x.T @ (g / (x @ w).std(0))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "normalisation-term-extra",
    code="wrong-local",
    rank=2.0,
    at=normalisations.where(lambda program, place: not getattr(normalisation_of(program, place), "centred", True)),
    message="in the gradient of {x} through {step}, a mean is subtracted, as for layer norm; the forward pass does not"
    " subtract one",
    choices=lambda program, place: (None,),
    fields=normalisation_fields,
)
def add_mean_term(program: Program, place: Place, choice: None) -> Program | None:
    """Subtract mean(g) / s from the gradient of x in a normalisation that subtracts no mean, such as an RMS norm.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """
    return with_normalisation_formula(program, place, lambda known, g: known.gradient(g) - known.r * known.mean(g))


@add_mean_term.example
def _() -> Example:
    """Show x / sqrt(mean(x**2)) whose gradient of x subtracts the mean of g, as that of a layer norm does."""

    def forward(x: Tensor) -> Tensor:
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        r = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        h = x * r
        return {"x": r * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True))}

    return Example(forward, wrong, {"x": "bs n"})


@dataclass(frozen=True)
class TermAveraging:
    """A term in the gradient of a normalisation, and what is done in place of its mean.

    Args:
        term: the term of the mean, `"mean"`, or of the variance, `"variance"`.
        how: what is done in place of the right mean: a sum, nothing, or a mean with a wrong count.
    """

    term: Term
    how: Literal["summed", "not summed", "averaged with n - 1", "averaged with n"]

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `"sum-for-mean"` for a term that is `"summed"`."""
        return {"summed": "sum-for-mean", "not summed": "diagonal-only"}.get(self.how, "wrong-factor")


def term_averagings(program: Program, place: Place) -> Iterator[TermAveraging]:
    """Yield `TermAveraging`s: a term in a normalisation's gradient, and what is done in place of its mean.

    The terms are `"mean"`, mean(g), and `"variance"`, h * mean(g * h), with h the normalised value. Either is
    `"summed"` (but not that of a norm, which is a sum), or divided by a wrong count: `"averaged with n - 1"` where that
    is not right, or, for the variance, `"averaged with n"` where it is. The variance is also `"not summed"`: h * g * h.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    known = normalisation_of(program, place)
    if known is None:
        return
    if known.centred:
        yield from (TermAveraging("mean", how) for how in ("summed", "averaged with n - 1"))
    yield TermAveraging("variance", "not summed")
    if known.count > 1:
        yield TermAveraging("variance", "summed")
    yield TermAveraging("variance", "averaged with n - 1" if known.count != known.n - 1 else "averaged with n")


def describe_averaging(program: Program, place: Place, choice: TermAveraging) -> str:
    """Return what is done in place of a mean, and what must be: "the sum of out.g is not divided; it must be ... by n".

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        choice: the term, and what is done in place of its mean.
    """
    known = normalisation_of(program, place)
    count = "n - 1" if known is not None and choice.term == "variance" and known.count == known.n - 1 else "n"
    n, meaning = ("n", "") if known is None else count_of_axes(program, known.source, known.axes)
    quantity = averaged_quantity(program, place, choice.term)
    if choice.how == "not summed":
        is_norm = known is not None and known.count == 1
        return (
            f"{quantity} is used entry by entry; it must be {'summed' if is_norm else 'averaged'} over the entries that"
            " are normalized together"
        )
    done = "not divided"
    if choice.how != "summed":
        done = f"divided by {choice.how.removeprefix('averaged with ').replace('n', n)}"
    return f"the sum of {quantity} is {done}; it must be divided by {count.replace('n', n)}{meaning}"


def count_of_axes(program: Program, value: int, axes: Axes) -> tuple[str, str]:
    """Return what a learner calls the number of entries along some axes of a value, and what that means.

    The name of an axis, such as `bs`, says it by itself; else return "n" and ", where n is the number of entries that
    are normalised together".

    Args:
        program: the program of a trial.
        value: the id of the value.
        axes: the axes, counted from the front.
    """
    name = name_axes(program, value, axes)
    if name.isidentifier():
        return name, ""
    return "n", ", where n is the number of entries that are normalized together"


@operator(
    "normalisation-averaged-otherwise",
    code=lambda choice: choice.code,
    rank=2.0,
    at=normalisations,
    choices=term_averagings,
    message="in the gradient of {x} through {step}, {how}",
    fields=lambda program, place, choice: {
        **normalisation_fields(program, place, choice),
        "how": describe_averaging(program, place, choice),
    },
)
def average_term_wrongly(program: Program, place: Place, choice: TermAveraging) -> Program | None:
    """Sum a term in the gradient of a normalisation where it must be averaged, do neither, or use a wrong count.

    With `TermAveraging("variance", "summed")`: r * (g - mean(g) - h * sum(g * h)).

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which term, `"mean"` or `"variance"`, and what is done: `"summed"`, `"not summed"`, or `"averaged with n
            - 1"` or `"averaged with n"`, the wrong one of the two.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """

    def formula(known: Normalisation, g: Array) -> Array:
        """Return the gradient of x with the chosen term averaged wrongly."""
        mean, variance = known.mean_term(g), known.variance_term(g)
        factor = {"summed": known.n, "averaged with n - 1": known.n / (known.n - 1)}.get(choice.how, 1.0)
        if choice.term == "mean":
            mean = mean * factor
        elif choice.how == "not summed":
            variance = known.h * known.h * g
        else:
            variance = variance * (known.count / known.n) * factor
        return np.asarray(known.r * (g - mean - variance))

    return with_normalisation_formula(program, place, formula)


@average_term_wrongly.example
def _() -> Example:
    """Show (x - mean) / std, of rows, whose gradient of x has a sum for the mean in the term of the variance."""

    def forward(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        s = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        h = (x - x.mean(-1, keepdim=True)) / s
        return {"x": (g - g.mean(-1, keepdim=True) - h * (g * h).sum(-1, keepdim=True)) / s}

    return Example(forward, wrong, {"x": "bs n"})


@average_term_wrongly.example
def _() -> Example:
    """Show gain * (x - mean) / std, of columns, whose gradient of x neither sums nor averages the variance term."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return gain * (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use h * h * dh in place of h * mean(h * dh)."""
        s = (x.var(0, correction=0) + 1e-5).sqrt()
        h, dh = (x - x.mean(0)) / s, g * gain
        return {"x": (dh - dh.mean(0) - h * h * dh) / s}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})


@dataclass(frozen=True)
class Substitute:
    """A choice of what stands in place of the normalised value h in the variance term h * mean(g * h).

    Args:
        value: the name of a wrong value; `None` for a factor 1; `"uncentred"` for x / s without its mean subtracted.
        where: which of the two h is replaced: that inside the mean, that in front of it, or both.
    """

    value: ValueName | Literal["uncentred"] | None
    where: Literal["inside the mean", "outside the mean", "inside and outside the mean"]


def _subtracts_mean(program: Program, place: Place) -> bool:
    """Return whether the node `place` computes a normalised value in which a mean is subtracted, as in a layer norm."""
    known = normalisation_of(program, place)
    return known is not None and known.centred


def substitutes(program: Program, place: Place) -> Iterator[Substitute]:
    """Yield `Substitute`s: a wrong value for h in the variance term h * mean(g * h), and which h it replaces.

    The wrong value is the name of a value of the shape of h, or `"uncentred"`: x / s, where h is (x - mean) / s, or
    `None`: h is left out.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    shape = program.nodes[place[0]].value.shape
    known = normalisation_of(program, place)
    own = place[0] if known is None or isinstance(known.gain, float) else None  # with a gain, the value is another one
    names = [name for name, value in values_by_name(program, place[0], shape).items() if value != own]
    uncentred: tuple[Literal["uncentred"], ...] = ("uncentred",) if _subtracts_mean(program, place) else ()
    for value in (*names, *uncentred, None):
        yield Substitute(value, "outside the mean")
        yield Substitute(value, "inside the mean")
        if value is not None:
            yield Substitute(value, "inside and outside the mean")


WHERE_IN_WORDS = {
    "inside the mean": " inside the mean",
    "outside the mean": " in front of the mean",
    "inside and outside the mean": ", both inside the mean and in front of it",
}


def substitute_name(program: Program, value: ValueName | Literal["uncentred"]) -> str:
    """Return what a learner calls a value that stands in place of the normalised value, such as `y`.

    Args:
        program: the program of a trial.
        value: its name, or `"uncentred"` for the normalised value without its mean subtracted.
    """
    return "the normalized value with no mean subtracted" if value == "uncentred" else value.describe(program)


def name_of_normalised_value(program: Program, place: Place) -> str:
    """Return what a learner calls the normalised value: its variable, such as `hat`, or "the normalised value".

    Where it has no variable itself, that of its reshape is taken.

    Args:
        program: the program of a trial.
        place: the node that computes it, perhaps multiplied by a gain.
    """
    known = normalisation_of(program, place)
    readers = [reader for reader, _ in program.forward.uses[place[0]] if reader != SINK]
    reshapes = [reader for reader in readers if program.nodes[reader].name in RESHAPES]
    names = [name for value in (place[0], *reshapes) if (name := program.name_of(value)).isidentifier()]
    has_name = known is not None and isinstance(known.gain, float) and names
    return names[0] if has_name else "the normalized value"


@operator(
    "another-value-for-normalised",
    code=lambda choice: "missing-local" if choice.value is None else "wrong-operand",
    rank=2.0,
    at=normalisations,
    choices=substitutes,
    message="in the term of the gradient of {x} that comes from the {scale}, {wrong}{where}",
    fields=lambda program, place, choice: {
        **normalisation_fields(program, place, choice),
        "where": WHERE_IN_WORDS[choice.where],
        "wrong": f"{name_of_normalised_value(program, place)} is missing as a factor"
        if choice.value is None
        else f"{substitute_name(program, choice.value)} is used in place of {name_of_normalised_value(program, place)}",
    },
)
def replace_normalised_value(program: Program, place: Place, choice: Substitute) -> Program | None:
    """Use a wrong value in place of h in the variance term h * mean(g * h): y * mean(g * y), with y the layer's output.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which value, or `None` to leave h out, and which of the two h it replaces: `Substitute(name of y,
            "inside and outside the mean")` in the example.

    Returns:
        The rewritten program; `None` where the node computes no normalised value, or there is no such value, in this
        trial.
    """
    other: Array | float = 1.0
    known_here = normalisation_of(program, place)
    if choice.value == "uncentred":
        if known_here is None:
            return None
        other = program.nodes[known_here.source].value * known_here.r
    elif choice.value is not None:
        value = choice.value.find(program, place[0])
        if value is None or program.nodes[value].value.shape != program.nodes[place[0]].value.shape:
            return None
        other = program.nodes[value].value

    def formula(known: Normalisation, g: Array) -> Array:
        """Return the gradient of x with the other value for h in the variance term."""
        inside = other if choice.where.startswith("inside") else known.h
        front = other if choice.where.endswith("outside the mean") else known.h
        variance = front * known.mean(g * inside) * (known.n / known.count)
        return np.asarray(known.r * (g - known.mean_term(g) - variance))

    return with_normalisation_formula(program, place, formula)


@replace_normalised_value.example
def _() -> Example:
    """Show tanh(y @ w), y = gain * h, h = x / rms, whose gradient of x has y in place of h in the variance term."""

    def forward(x: Tensor, gain: Tensor, w: Tensor) -> Tensor:
        y = gain * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return torch.tanh(y @ w)

    def wrong(x: Tensor, gain: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use gain * h in place of the normalised values h in the term of the variance."""
        r = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        y = gain * x * r
        dy = (g * (1 - torch.tanh(y @ w) ** 2)) @ w.T
        dh = dy * gain
        return {"x": r * (dh - y * (dh * y).mean(-1, keepdim=True)), "gain": (dy * x * r).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "gain": "n", "w": "n m"})


@replace_normalised_value.example
def _() -> Example:
    """Show h * gain + bias, h = (x - mean) / std, whose gradient of x has the output for h in the variance term."""

    def forward(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        h = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        return h * gain + bias

    def wrong(x: Tensor, gain: Tensor, bias: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the output of the layer in place of its normalised value."""
        s = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        y = (x - x.mean(-1, keepdim=True)) / s * gain + bias
        dh = g * gain
        return {"x": (dh - dh.mean(-1, keepdim=True) - y * (dh * y).mean(-1, keepdim=True)) / s}

    return Example(forward, wrong, {"x": "bs n", "gain": "n", "bias": "n"})


@replace_normalised_value.example
def _() -> Example:
    """Show x / norm, of rows, whose gradient has x in place of x / norm in the variance term."""

    def forward(x: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return x / norm

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use x in place of x / norm in the term x / norm * sum(g * x / norm)."""
        norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return {"x": (g - x * (g * x).sum(1, keepdim=True)) / norm}

    return Example(forward, wrong, {"x": "bs n"})


def _gradient_with_larger_epsilon(more: float, known: Normalisation, g: Array) -> Array:
    """Return the gradient of x divided by sqrt(s * s + more) in place of the scale s; its terms are right.

    Args:
        more: the number that is added under the root, such as 0.1.
        known: the normalisation of x, h = (x - mean) / s, with its right formula for the gradient.
        g: the gradient of the normalised value, shaped like x.
    """
    return np.asarray(known.gradient(g) / known.r / np.sqrt(known.r**-2.0 + more))


class WrongScale(NamedTuple):
    """Describe what is done to the gradient of a normalisation in place of the division by its scale s.

    Args:
        code: the public code of the mistake.
        message: what a message says of the gradient, in which `{divisor}` or `the {scale}` is what s is called.
        formula: the wrong formula.
    """

    code: str
    message: str
    formula: Formula


WRONG_SCALES: Mapping[str, WrongScale] = {
    "missing": WrongScale(
        "missing-local", "is not divided by {divisor}", lambda known, g: known.gradient(g) / known.r),
    "applied once too often": WrongScale(
        "extra-factor", "is divided by {divisor} once too often",
        lambda known, g: known.gradient(g) * known.r),
    "replaced by a multiplication": WrongScale(
        "wrong-local", "is multiplied by {divisor}; it must be divided by it",
        lambda known, g: known.gradient(g) / known.r**2),
    "missing, and so are all other terms": WrongScale(
        "missing-local", "is not divided by {divisor}, and nothing is subtracted from it", lambda known, g: g),
    "differentiated without the factor 1/2 of the square root": WrongScale(
        "missing-local", "lacks the factor 1/2 of the square root in the {scale}",
        lambda known, g: known.gradient(g) - known.r * known.variance_term(g)),
    **{
        f"computed with {more:g} added under the square root": WrongScale(
            "wrong-point", f"is divided by a {{scale}} with {more:g} added under the square root",
            partial(_gradient_with_larger_epsilon, more))
        for more in (1.0, 0.1, 0.01, 0.001)
    },
}  # fmt: skip


@operator(
    "normalisation-scaled-otherwise",
    code=lambda choice: WRONG_SCALES[choice].code,
    rank=1.5,
    at=normalisations,
    choices=lambda program, place: WRONG_SCALES,
    message="the gradient of {x} through {step} {how}",
    fields=lambda program, place, choice: {
        **(fields := normalisation_fields(program, place, choice)),
        "choice": choice,
        "how": WRONG_SCALES[choice].message.format_map(fields),
    },
)
def scale_gradient_wrongly(program: Program, place: Place, choice: str) -> Program | None:
    """Leave out the division by s in the gradient of x, divide twice, multiply, or use a wrong s or derivative of s.

    The right gradient is (g - mean(g) - h * mean(g * h)) / s.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which of these, a key of `WRONG_SCALES`, such as "missing" or "applied once too often".

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """
    return with_normalisation_formula(program, place, WRONG_SCALES[choice].formula)


@scale_gradient_wrongly.example
def _() -> Example:
    """Show rows of x @ w divided by their norms whose gradient is multiplied by the norm, not divided."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        unit: Tensor = torch.nn.functional.normalize(x @ w, dim=1)
        return unit

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        norm = (x @ w).square().sum(1, keepdim=True).sqrt()
        h = x @ w / norm
        return {"w": x.T @ ((g - h * (g * h).sum(1, keepdim=True)) * norm)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@dataclass(frozen=True)
class WrongAxes:
    """A choice of wrong axes for the means in the gradient of a normalisation.

    Args:
        axes: the axes, counted from the front.
        terms: the terms whose means run over them; the means of further terms are right.
    """

    axes: Axes
    terms: tuple[Term, ...]


def wrong_axes(program: Program, place: Place) -> Iterator[WrongAxes]:
    """Yield `WrongAxes`: axes that are not those of a normalisation, and the terms whose means run over them.

    `WrongAxes((0,), ("mean", "variance"))`, say, for a layer norm over axis 1: mean(g) and mean(g * h) over axis 0. The
    smallest sets of axes come first.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    known = normalisation_of(program, place)
    if known is not None:
        for count in range(1, known.h.ndim + 1):
            for axes in itertools.combinations(range(known.h.ndim), count):
                if axes != known.axes:
                    yield from (
                        WrongAxes(axes, terms) for terms in MISSING_TERMS if known.centred or "mean" not in terms
                    )


@operator(
    "normalised-over-other-axes",
    code="summed-wrong-axis",
    rank=2.0,
    at=normalisations,
    choices=wrong_axes,
    message="in the gradient of {x} through {step}, {means} over {wrong}; {they} must be taken over {right}",
    fields=lambda program, place, choice: {
        **normalisation_fields(program, place, choice),
        **_words_for_means(program, place, choice),
        **_axes_fields(program, place, choice.axes),
    },
    hints=NORMALISED_TOGETHER,
)
def average_over_wrong_axes(program: Program, place: Place, choice: WrongAxes) -> Program | None:
    """Average over wrong axes in the term of the mean or of the variance in the gradient of x, or in both.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which axes, in which terms: `WrongAxes((0,), ("mean", "variance"))` for a layer norm over axis 1.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial.
    """

    def formula(known: Normalisation, g: Array) -> Array:
        """Return the gradient of x with the chosen terms averaged over the wrong axes."""
        mean = known.mean_term(g, choice.axes if "mean" in choice.terms else None)
        variance = known.variance_term(g, choice.axes if "variance" in choice.terms else None)
        return np.asarray(known.r * (g - mean - variance))

    return with_normalisation_formula(program, place, formula)


def _words_for_means(program: Program, place: Place, choice: WrongAxes) -> dict[str, str]:
    """Return the fields `means` and `they` of a message: "the mean of out times out.g is taken", and "it".

    For two terms: "the means of out.g and of out times out.g are taken", and "both means". For a norm it is a sum.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        choice: the terms whose means run over wrong axes.
    """
    known = normalisation_of(program, place)
    word = "sum" if known is not None and known.count == 1 and not known.centred else "mean"
    quantities = " and of ".join(averaged_quantity(program, place, term) for term in choice.terms)
    if len(choice.terms) > 1:
        return {"means": f"the {word}s of {quantities} are taken", "they": f"both {word}s"}
    return {"means": f"the {word} of {quantities} is taken", "they": "it"}


def _axes_fields(program: Program, place: Place, wrong: Axes) -> dict[str, str]:
    """Return the fields `wrong` and `right` of a message: the names of the wrong and the right axes of a normalisation.

    Where the wrong ones are nameless, and are the right ones and one more, `wrong` ends in "together" and `right` in
    "alone, separately for each index of axis 1 (of size 3 here)". Both are empty where the node normalises nothing.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        wrong: the wrong axes, counted from the front.
    """
    known = normalisation_of(program, place)
    if known is None:
        return {"wrong": "", "right": ""}
    fields = {key: name_axes(program, known.source, axes) for key, axes in (("wrong", wrong), ("right", known.axes))}
    extra = [axis for axis in wrong if axis not in known.axes]
    if len(extra) == 1 and fields["wrong"].startswith("axes ") and set(known.axes) < set(wrong):
        size = known.h.shape[extra[0]]
        fields["wrong"] += " together"
        fields["right"] += f" alone, separately for each index of axis {extra[0]} (of size {size} here)"
    return fields


def name_axes(program: Program, value: int, axes: Axes) -> str:
    """Return what a learner calls some axes of a value: "bs and t", or "axes 1 and 2 of grouped" where none has a name.

    Args:
        program: the program of a trial.
        value: the id of the value.
        axes: the axes, counted from the front.
    """
    names = [program.name_of_axis(value, axis) for axis in axes]
    if len(names) > 1 and all(name.startswith("axis ") for name in names):
        return f"axes {' and '.join(map(str, axes))} of {program.name_of(value)}"
    return " and ".join(names)


@average_over_wrong_axes.example
def _() -> Example:
    """Show (x - mean) / std over axis 0, whose gradient of x averages over axis 1."""

    def forward(x: Tensor) -> Tensor:
        return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Average g and g * h over axis 1 in place of axis 0."""
        s = (x.var(0, correction=0) + 1e-5).sqrt()
        h = (x - x.mean(0)) / s
        return {"x": (g - g.mean(1, keepdim=True) - h * (g * h).mean(1, keepdim=True)) / s}

    return Example(forward, wrong, {"x": "bs n"})


@average_over_wrong_axes.example
def _() -> Example:
    """Show gain * x / x.norm(dim=0), whose gradient projects along the rows, not the columns."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        unit: Tensor = gain * x / x.norm(dim=0)
        return unit

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum g * h over axis 1 in place of axis 0."""
        s = x.norm(dim=0)
        h, dh = x / s, g * gain
        return {"x": (dh - h * (dh * h).sum(1, keepdim=True)) / s}

    return Example(forward, wrong, {"x": "n m", "gain": "m"})


@dataclass(frozen=True)
class OtherStatistics:
    """A choice of wrong axes for all statistics of a normalisation.

    Args:
        axes: the axes, counted from the front.
        is_value_right: whether the normalised value in the formula is still the right one, such as the given output.
    """

    axes: Axes
    is_value_right: bool


def over_other_axes(known: Normalisation, x: Array, choice: OtherStatistics) -> Normalisation | None:
    """Return a normalisation over other axes of the same x, with the right one's constant (epsilon) under its root.

    `None` where what is under the right root less the variance is no constant.

    Args:
        known: the right normalisation.
        x: what is normalised.
        choice: the axes, and whether the normalised value stays the right one.
    """

    def centred(axes: Axes) -> Array:
        """Return x minus its mean over the axes, if the normalisation subtracts one."""
        return np.asarray(x - x.mean(axis=axes, keepdims=True) if known.centred else x)

    def variance(axes: Axes) -> Array:
        """Return the mean of the squares over the axes, times n / count."""
        return np.asarray(known.mean(np.square(centred(axes)), axes) * (known.n / known.count))

    added = 1 / np.square(known.r) - variance(known.axes)
    if np.ptp(added) > TINY_CONSTANT * np.abs(1 / np.square(known.r)).max():
        return None
    r = 1 / np.sqrt(variance(choice.axes) + np.median(added))
    h = known.h if choice.is_value_right else centred(choice.axes) * r
    n = math.prod(x.shape[axis] for axis in choice.axes)
    return replace(known, axes=choice.axes, count=known.count * n / known.n, r=r, h=h)


def other_statistics(program: Program, place: Place) -> Iterator[OtherStatistics]:
    """Yield `OtherStatistics`: wrong axes of a mean and a variance, and whether the normalised value stays right.

    Every set of axes but the right one comes, each twice: with the normalised value left right, and with it wrong, too.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    axes = dict.fromkeys(choice.axes for choice in wrong_axes(program, place))
    yield from (OtherStatistics(each, is_value_right) for each in axes for is_value_right in (False, True))


def _statistics_in_words(program: Program, place: Place) -> str:
    """Return "the mean and the standard deviation are"; or, where no mean is subtracted, such as "the norm is".

    `place` is the node that computes the normalised value.
    """
    known, scale = normalisation_of(program, place), normalisation_fields(program, place, None)["scale"]
    return f"the mean and the {scale} are" if known is not None and known.centred else f"the {scale} is"


def _fields_of_statistics(program: Program, place: Place, axes: Axes) -> dict[str, str]:
    """Return the fields of a message about statistics over wrong axes.

    `statistics` and `verb`, such as "the mean and the standard deviation are" and "they"; `wrong` and `right`, the
    names of the axes; and those of `normalisation_fields`.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        axes: the wrong axes, counted from the front.
    """
    statistics = _statistics_in_words(program, place)
    return {
        **normalisation_fields(program, place, axes),
        **_axes_fields(program, place, axes),
        "statistics": statistics,
        "verb": "they" if statistics.endswith(" are") else "it",
    }


@operator(
    "gradient-over-other-axes",
    code="summed-wrong-axis",
    rank=2.2,
    at=normalisations,
    choices=other_statistics,
    message="in the gradient of {x} through {step}, {statistics} taken over {wrong}; {verb} must be taken over {right}",
    fields=lambda program, place, choice: _fields_of_statistics(program, place, choice.axes),
    hints=NORMALISED_TOGETHER,
)
def normalise_over_other_axes(program: Program, place: Place, choice: OtherStatistics) -> Program | None:
    """Take all means, and the root that is divided by, over wrong axes in the gradient of x.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: the axes, and whether the normalised value in the formula is the right one.

    Returns:
        The rewritten program; `None` where the node computes no normalised value in this trial, or one with something
        else under its root than a variance and a constant.
    """
    known = normalisation_of(program, place)
    x = None if known is None else program.nodes[known.source].value
    other = None if known is None or x is None else over_other_axes(known, x, choice)
    return None if other is None else with_normalisation_formula(program, place, lambda _, g: other.gradient(g))


@normalise_over_other_axes.example
def _() -> Example:
    """Show (x - mean) / std over axis 1, a layer norm, whose gradient of x is that of a batch norm, over axis 0."""

    def forward(x: Tensor) -> Tensor:
        return (x - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take mean and variance over the batch in place of the features."""
        s = (x.var(0, correction=0) + 1e-5).sqrt()
        h = (x - x.mean(0)) / s
        return {"x": (g - g.mean(0) - h * (g * h).mean(0)) / s}

    return Example(forward, wrong, {"x": "bs n"})


def joined_parts(program: Program, place: Place) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape in which an axis of a normalisation is split again, and the axes of this shape that it joins.

    For x.reshape(bs, groups, -1), with x of shape (bs, channels, n), normalised over the last axis: (bs, groups,
    channels / groups, n), and (2, 3). Both are empty where no reshape makes what is normalised, or it joins no axes
    into the only normalised one.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    known = normalisation_of(program, place)
    maker = known and program.nodes[known.source]
    if not known or not maker or maker.name not in RESHAPES or len(known.axes) != 1:
        return (), ()
    refined = refined_shape(np.shape(maker.values[0]), maker.value.shape) or maker.value.shape
    own = joined_axes(maker.value.shape, refined)
    axes = tuple(axis for axis, whole in enumerate(own) if whole == known.axes[0])
    return (refined, axes) if len(axes) > 1 else ((), ())


def parts_of_joined_axis(program: Program, place: Place) -> range:
    """Return the axes, counted from the back, that a reshape joins into the axis of a normalisation.

    For a reshape of x from (bs, c, l) to (bs, c * l), whose rows are normalised: -2 and -1, the axes of x of sizes c
    and l. The range is empty where no reshape joins axes there.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    return range(-len(joined_parts(program, place)[1]), 0)


@operator(
    "normalised-over-part-of-axis",
    code="summed-wrong-axis",
    rank=2.5,
    at=normalisations,
    choices=parts_of_joined_axis,
    message="in the gradient of {x} through {step}, the means run over {axis} alone; they must run over all entries"
    " that are normalized together",
    fields=lambda program, place, choice: {
        **normalisation_fields(program, place, choice),
        "axis": _name_of_part(program, place, choice),
    },
)
def average_over_part(program: Program, place: Place, choice: int) -> Program | None:
    """Average over one of the axes that a reshape joins before they are normalised together, not over all of them.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which of them, from the back: -1 for the pixels alone, where channels and pixels are joined.

    Returns:
        The rewritten program; `None` where no reshape joins as many axes in this trial.
    """
    shape, axes = joined_parts(program, place)
    if len(axes) < -choice:
        return None

    def mean(terms: Array) -> Array:
        split = terms.reshape(shape)
        return np.broadcast_to(split.mean(axes[choice], keepdims=True), shape).reshape(terms.shape)

    def formula(known: Normalisation, g: Array) -> Array:
        mean_term = mean(g) if known.centred else 0.0
        return np.asarray(known.r * (g - mean_term - known.h * mean(g * known.h) * (known.n / known.count)))

    return with_normalisation_formula(program, place, formula)


def _name_of_part(program: Program, place: Place, choice: int) -> str:
    """Return what a learner calls a part of a normalisation's joined axis: its axis in the array before the reshape.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        choice: which part, from the back.
    """
    known, (shape, axes) = normalisation_of(program, place), joined_parts(program, place)
    if known is None or len(axes) < -choice:
        return "a part of them"
    maker = program.nodes[known.source]
    before = joined_axes(np.shape(maker.values[0]), shape)
    whole = before[axes[choice]]
    source = maker.operand(0)
    if before.count(whole) > 1 or source is None:
        return f"axis {axes[choice]} of {shape}"
    return program.name_of_axis(source, whole)


@average_over_part.example
def _() -> Example:
    """Show (x - mean) / std of groups of channels, whose gradient averages over the pixels of each channel alone."""

    def forward(x: Tensor) -> Tensor:
        groups = x.reshape(len(x), 2, -1)
        return (groups - groups.mean(-1, keepdim=True)) / (groups.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Average over the pixels of each channel in place of all channels of a group."""
        bs, c, n = x.shape
        groups = x.reshape(bs, 2, -1)
        s = (groups.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        h = (groups - groups.mean(-1, keepdim=True)) / s
        h, up = h.reshape(bs, 2, c // 2, n), g.reshape(bs, 2, c // 2, n)
        return {"x": ((up - up.mean(-1, True) - h * (up * h).mean(-1, True)) / s[..., None]).reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(normal("bs c n"), c=(6, 8))})


@operator(
    "statistics-over-other-axes",
    code="summed-wrong-axis",
    rank=3.5,
    at=normalisations,
    choices=lambda program, place: dict.fromkeys(choice.axes for choice in wrong_axes(program, place)),
    message="in your forward pass, {statistics} taken over {wrong}; {verb} must be taken over {right}",
    fields=lambda program, place, choice: _fields_of_statistics(program, place, choice),
    hints=NORMALISED_TOGETHER,
)
def normalise_over_wrong_axes(program: Program, place: Place, choice: Axes) -> Program | None:
    """Run both passes with the mean and the variance of a normalisation over wrong axes.

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: the wrong axes, counted from the front, such as (0,) for a layer norm over axis 1.

    Returns:
        The rewritten program; `None` where in this trial the node computes no normalised value, or one that is
        multiplied by a gain before the division, as in (x - mean) * w / s.
    """
    known = normalisation_of(program, place)
    if known is None or np.ndim(known.gain):  # a gain inside would lose its gradient
        return None
    source, centred, own = known.source, known.centred, known.n
    spread = np.square(known.h / known.r).sum(axis=known.axes, keepdims=True) / known.count
    epsilon = float(np.mean(1 / np.square(known.r) - spread))

    def statistics(x: Array) -> tuple[Array, Array, float]:
        """Return the normalised values, their factor, and what the squares are divided by."""
        n = math.prod(x.shape[axis] for axis in choice)
        count = known.count if known.count == 1 else n - (own - known.count)
        bare = x - x.mean(axis=choice, keepdims=True) if centred else x
        r = 1 / np.sqrt(np.square(bare).sum(axis=choice, keepdims=True) / count + epsilon)
        return bare * r, r, count

    def run(x: Array) -> Array:
        return np.asarray(known.gain * statistics(x)[0])

    def vjp(g: Array, y: Array, x: Array) -> Array:
        h, r, count = statistics(x)
        return Normalisation(source, choice, centred, count, r, h).gradient(g * known.gain)

    normalised = Operation("normalise", "normalisation", run, (vjp,))
    x = program.nodes[source].value

    def change(node: Node) -> Node:
        return replace(node, operation=normalised, operands=((0, source),), values=(x,), options={})

    return program.with_nodes({place[0]: change})


@normalise_over_wrong_axes.example
def _() -> Example:
    """Show layer_norm(x) * gain whose gradient of the gain uses values that are normalised over the batch."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gain)

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use values normalised over axes 0 and 1 in place of the last axis."""
        s = (x.var((0, 1), correction=0) + 1e-5).sqrt()
        return {"gain": (g * (x - x.mean((0, 1))) / s).sum((0, 1))}

    return Example(forward, wrong, {"x": "bs t n", "gain": "n"})


# Gains, variances and statistics --------------------------------------------------------------------------------------


def gain_of(program: Program, place: Place) -> Array | None:
    """Return what a normalised value is multiplied by, shaped like it; `None` where it has no gain.

    For `(x - m) / s * w`: w, broadcast to the shape of x; for `x * w / s`, too.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    if (edge := edge_of_gain(program, place)) is None:
        return None
    node = program.reader(edge)
    gain = np.broadcast_to(np.asarray(node.values[edge[1]]), node.value.shape)
    return gain.reshape(program.nodes[place[0]].value.shape)


def name_of_gain(program: Program, place: Place) -> str:
    """Return what a learner calls the gain of a normalised value, such as `gamma`, w in `(x - m) / s * w`.

    Return "the gain" where that is a constant.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
    """
    edge = edge_of_gain(program, place)
    operand = None if edge is None else program.reader(edge).operand(edge[1])
    return "the gain" if operand is None else program.name_of(operand)


def edge_of_gain(program: Program, place: Place) -> Place | None:
    """Return the edge of the gain in the product with a normalised value: of w in `(x - m) / s * w`.

    Of a gain before the division, w in `x * w / s`, it is the edge in that product.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.

    Returns:
        The edge (product, slot of the gain); the gain may be a plain number. `None` where neither the value nor a
        reshape of it is read by a product of two factors that has as many entries as the value.
    """
    value, shape = place[0], program.nodes[place[0]].value.shape
    known, scaling = normalisation_of(program, place), scaling_of(program, program.nodes[value])
    if known is not None and scaling is not None and np.ndim(known.gain):
        product = program.nodes[program.nodes[value].operands[scaling.numerator][1]]
        return product.id, next(i for i, values in enumerate(product.values) if np.array_equal(values, known.gain))
    for _ in range(2):  # a reshape may come in between
        for reader, slot in program.forward.uses[value]:
            node = program.nodes[reader]
            if reader >= 0 and node.name == "mul" and len(node.values) == 2 and node.value.size == math.prod(shape):
                return reader, 1 - slot
        reshapes = [i for i, _ in program.forward.uses[value] if i >= 0 and program.nodes[i].name in RESHAPES]
        if not reshapes:
            return None
        value = reshapes[0]
    return None


GainPosition = Literal["after the means", "outside the means only"]
GAIN_POSITIONS: tuple[GainPosition, ...] = ("after the means", "outside the means only")


def fields_of_gain(program: Program, place: Place, choice: GainPosition) -> dict[str, str]:
    """Return the fields of a message about a gain in the wrong position, beside those of any normalisation.

    They are `gain`, its name, and `position` and `means`: "after the mean" and "the mean is" where no mean is
    subtracted, so that only one is taken, "the sum" in place of "the mean" for a norm.

    Args:
        program: the program of a trial.
        place: the node that computes the normalised value.
        choice: where the gain is applied.
    """
    known = normalisation_of(program, place)
    means, verb = "the means", "are"
    if known is not None and not known.centred:
        means, verb = "the sum" if known.count == 1 else "the mean", "is"
    position = choice.replace("the means", means)
    fields = {"gain": name_of_gain(program, place), "position": position, "means": f"{means} {verb}"}
    return {**normalisation_fields(program, place, choice), **fields}


@operator(
    "gain-misplaced",
    code=lambda choice: "wrong-local" if choice == "after the means" else "missing-local",
    rank=2.0,
    at=normalisations.where(lambda program, place: gain_of(program, place) is not None),
    choices=lambda program, place: GAIN_POSITIONS,
    message="in the gradient of {x} through {step}, {gain} is applied {position}; it must be applied before {means}"
    " taken",
    fields=fields_of_gain,
)
def misplace_gain(program: Program, place: Place, choice: GainPosition) -> Program | None:
    """Multiply the gradient of x by the gain w after the means are taken, or only in the term outside the means.

    Right is (w g - mean(w g) - h mean(w g h)) / s; wrong are w (g - mean(g) - h mean(g h)) / s, "after the means", and
    (w g - mean(g) - h mean(g h)) / s, "outside the means only".

    Args:
        program: the right program.
        place: the node that computes the normalised value.
        choice: which of the two: "after the means" or "outside the means only".

    Returns:
        The rewritten program; `None` where the normalised value has no gain in this trial.
    """
    gain = gain_of(program, place)
    if gain is None:
        return None

    def formula(known: Normalisation, g: Array) -> Array:
        """Return the gradient of x with the gain, a factor of `g`, misplaced."""
        bare = g / gain
        if choice == "after the means":
            return np.asarray(gain * known.gradient(bare))
        return np.asarray(known.r * (g - bare) + known.gradient(bare))

    return with_normalisation_formula(program, place, formula)


@misplace_gain.example
def _() -> Example:
    """Show x / rms * gain whose gradient of x is multiplied by the gain at the end, not the beginning."""

    def forward(x: Tensor, gain: Tensor) -> Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], gain, 1e-5)

    def wrong(x: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        r = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        h = x * r
        return {"x": gain * r * (g - h * (g * h).mean(-1, keepdim=True))}

    return Example(forward, wrong, {"x": "bs n", "gain": "n"})


VARIANCE_AFFECTS: tuple[Affects, ...] = ("all", "values")


def is_variance(program: Program, place: Place) -> bool:
    """Return whether the node `place` computes a variance or standard deviation: `var`, `std` or a mean of squares."""
    node = program.reader(place)
    if node.name in ("var", "std"):
        return True
    operand = node.operand(0)
    squares = operand is not None and program.nodes[operand]
    if not squares or node.name != "mean" or node.value.size == np.size(node.values[0]):
        return False
    return squares.name == "square" or (squares.name == "pow" and bool(np.all(squares.values[1] == 2)))


def has_several_entries(program: Program, place: Place) -> bool:
    """Return whether the node of an edge computes a variance of two entries or more, which has a denominator n - 1."""
    node = program.reader(place)
    return node.value.size < np.size(node.values[0])


def fields_of_variance(program: Program, place: Place) -> dict[str, str]:
    """Return the fields of a message about a variance that is divided by n - 1 in place of n, or the reverse.

    They are `wrong` and `right`, such as "bs - 1" and "bs"; and `meaning`, which is empty where n is the size of a
    named axis, such as bs, and else says that n is the number of entries that are normalized together.

    Args:
        program: the program of a trial.
        place: the node of the variance, standard deviation, or mean of squares.
    """
    node = program.reader(place)
    n, meaning = count_of_axes(program, node.operands[0][1], reduced_axes(node))
    wrong, right = (n, f"{n} - 1") if _is_unbiased(node) else (f"{n} - 1", n)
    return {"wrong": wrong, "right": right, "meaning": meaning}


@operator(
    "other-variance",
    code="wrong-factor",
    rank=3.5,
    at=nodes.of("var", "std", "mean").where(is_variance),
    choices=lambda program, place: VARIANCE_AFFECTS,
    message="the forward pass is recomputed with a variance whose denominator is {wrong}; it must be {right}{meaning}",
    hints=(
        "Compute the variance of the numbers 1 and 3 by hand as the forward pass does, and with the line of your code.",
        "Which option of `var` or `std` says by what the sum of the squares is divided? What if it is left out?",
        "Which lines of your code use this variance? They are right only if it is.",
    ),
    fields=lambda program, place, choice: fields_of_variance(program, place),
)
def use_wrong_variance(program: Program, place: Place, choice: Affects) -> Program:
    """Compute a variance, sum of squares / n, with n - 1 in place of n, or the reverse, in both passes or the values.

    Args:
        program: the right program.
        place: the node of the variance, standard deviation, or mean of squares.
        choice: where the wrong divisor takes effect: `"all"`, in both passes; `"values"`, in the values, but not in the
            node's vjp.

    Returns:
        The rewritten program.
    """

    def change(node: Node) -> Node:
        """Return the node divided by n - 1 in place of n, or the reverse."""
        if node.name != "mean":
            return node.with_options(correction=0 if _is_unbiased(node) else 1)
        n = np.size(node.values[0]) / node.value.size
        factor = n / (n - 1)
        return node.then(lambda y: y * factor, lambda g: g * factor)

    return program.with_nodes({place[0]: change}, choice)


def _is_unbiased(node: Node) -> bool:
    """Return whether the node of a variance, standard deviation or mean of squares divides by n - 1, and not by n."""
    return node.name != "mean" and bool(node.options.get("correction", 1))


@use_wrong_variance.example
def _() -> Example:
    """Show (x - mean) / std, of columns, std divided by n, whose gradient has the std that is divided by n - 1."""

    def forward(x: Tensor) -> Tensor:
        return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        s = (x.var(0) + 1e-5).sqrt()
        h = (x - x.mean(0)) / s
        return {"x": (g - g.mean(0) - h * (g * h).sum(0) / (len(x) - 1)) / s}

    return Example(forward, wrong, {"x": "bs n"})


@operator(
    "variance-divided-by-another-count",
    code="wrong-factor",
    rank=2.0,
    at=edges.of("var", "std").where(has_several_entries),
    choices=lambda program, place: (None,),
    message="in the derivative of {step}, the denominator is {wrong}; it must be {right}{meaning}",
    fields=lambda program, place, choice: fields_of_variance(program, place),
)
def divide_variance_by_wrong_count(program: Program, place: Place, choice: None) -> Program:
    """Divide the derivative of a variance or standard deviation by n in place of n - 1, or the reverse.

    The value is right: for s = x.std(), g * (x - x.mean()) / (n * s) in place of g * (x - x.mean()) / ((n - 1) * s).
    """
    correction = 0 if _is_unbiased(program.reader(place)) else 1
    return program.with_vjp(place, lambda at: at.right(correction=correction))


@divide_variance_by_wrong_count.example
def _() -> Example:
    """Show y.mean(0) / y.std(0), y = x @ w, whose backward pass divides the variance by n, not n - 1."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return y.mean(0) / y.std(0)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y, n = x @ w, len(x)
        s = y.std(0)
        dy = g / s / n - g * y.mean(0) / s**2 * (y - y.mean(0)) / (n * s)
        return {"x": dy @ w.T, "w": x.T @ dy}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


def subtraction_of_given_mean(program: Program, place: Place) -> Node | None:
    """Return the node that subtracts a given mean from x before x is divided by a given scale: x - m in `(x - m) / s`.

    A batch norm outside of training has such a node. Mean and scale are given if they are not computed from x.

    Args:
        program: the program of a trial.
        place: the node of the division by the scale.

    Returns:
        The subtraction; `None` where there is none, or mean or scale are computed from x.
    """
    scaling = scaling_of(program, program.nodes[place[0]])
    if scaling is None:
        return None
    numerator, scale = (program.nodes[place[0]].operands[slot][1] for slot in (scaling.numerator, scaling.scale))
    for value, _ in _possible_numerators(program, numerator):
        node = program.nodes[value]
        source, mean = node.operand(0), node.operand(1)
        if node.name == "sub" and source is not None and mean is not None:
            given = program.forward.ancestors[scale] | program.forward.ancestors[mean]
            return None if given >> source & 1 else node
    return None


Statistics = Literal["in the derivative", "in the forward pass as well"]
BATCH_STATISTICS: Mapping[Statistics, str] = {
    "in the derivative": "in the derivative of {step}, mean and variance are treated as functions of the batch; here"
    " they are constants",
    "in the forward pass as well": "{step} is computed with the mean and the variance of the batch in both the forward"
    " and the backward pass; here both are given constants",
}
STATISTICS: tuple[Statistics, ...] = ("in the derivative", "in the forward pass as well")


@operator(
    "batch-statistics",
    code=lambda choice: "wrong-local" if choice == "in the derivative" else "wrong-operand",
    rank=2.5,
    at=nodes.of("div", "mul").where(lambda program, place: subtraction_of_given_mean(program, place) is not None),
    choices=lambda program, place: STATISTICS,
    message="{what}",
    fields=lambda program, place, choice: {
        "what": BATCH_STATISTICS[choice].format(
            step=f"`{node.text}`" if (node := program.nodes[place[0]]).composite else expression_of(program, node)
        )
    },
    hints=(
        "Where do the mean and the variance come from in this forward pass? Do they depend on this batch?",
        "If you nudge one entry of the input, which of the statistics move?",
        "What does not depend on the input is a constant, and no gradient flows through it.",
    ),
)
def use_batch_statistics(program: Program, place: Place, choice: Statistics) -> Program | None:
    """Treat the given mean and scale of a batch norm as if they were those of x: in the derivative, or in both passes.

    Args:
        program: the right program.
        place: the node of the division by the given scale.
        choice: "in the derivative": the gradient of x gets the terms of a mean and a variance of x, at the right
            values; or "in the forward pass as well": x is normalised by its own mean and variance.

    Returns:
        The rewritten program; `None` where mean and scale are not given in this trial.
    """
    scaling, centred = scaling_of(program, program.nodes[place[0]]), subtraction_of_given_mean(program, place)
    if scaling is None or centred is None:
        return None
    axes, r = scaling.axes, scaling.factor

    def gradient(own_r: Array, h: Array, g: Array) -> Array:
        """Return the gradient of x for that of the centred value, which is h / r."""
        count = math.prod(h.shape[axis] for axis in axes)
        return Normalisation(0, axes, True, count, own_r, h).gradient(g / r)

    if choice == "in the derivative":
        return program.with_vjp((centred.id, 0), lambda at: gradient(r, at.y * r, at.g))

    def run(x: Array, mean: Array) -> Array:
        return np.asarray(_standardized(x, axes)[0] / r)

    def vjp(g: Array, y: Array, x: Array, mean: Array) -> Array:
        return gradient(_standardized(x, axes)[1], y * r, g)

    standardized = Operation("standardize", "normalisation", run, (vjp, None))
    return program.with_nodes({centred.id: lambda node: replace(node, operation=standardized)})


EPSILON = 1e-5  # torch's own, which is all that a forward pass with given statistics can tell


def _standardized(x: Array, axes: Axes) -> tuple[Array, Array]:
    """Return (x - mean) / s and 1 / s, with the mean and the standard deviation s of x over some axes.

    s is the root of the variance plus `EPSILON`.

    Args:
        x: any array.
        axes: the axes of mean and variance, counted from the front.

    Returns:
        An array shaped like x, and one in which the axes have size 1.
    """
    r = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + EPSILON)
    return (x - x.mean(axis=axes, keepdims=True)) * r, r


@use_batch_statistics.example
def _() -> Example:
    """Show batch_norm(x, mean, var)**2 whose gradient of x is that of statistics computed from x."""

    def forward(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        return torch.nn.functional.batch_norm(x, mean, var).square()

    def wrong(x: Tensor, mean: Tensor, var: Tensor, g: Tensor) -> dict[str, Tensor]:
        s = (var + 1e-5).sqrt()
        h = (x - mean) / s
        dh = 2 * h * g
        return {"x": (dh - dh.mean(0) - h * (dh * h).mean(0)) / s}

    return Example(forward, wrong, {"x": "bs n", "mean": "n", "var": positive("n")})


@use_batch_statistics.example
def _() -> Example:
    """Show batch_norm(x, mean, var) * gain whose gradient of the gain uses the batch's own mean and variance."""

    def forward(x: Tensor, mean: Tensor, var: Tensor, gain: Tensor) -> Tensor:
        return torch.nn.functional.batch_norm(x, mean, var, gain)

    def wrong(x: Tensor, mean: Tensor, var: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"gain": (g * (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "mean": "n", "var": positive("n"), "gain": "n"})


@use_batch_statistics.example
def _() -> Example:
    """Show gain * (x - mean) / sqrt(var) whose gradient of x is that of the batch's own mean and variance."""

    def forward(x: Tensor, mean: Tensor, var: Tensor, gain: Tensor) -> Tensor:
        return gain * (x - mean) / (var + 1e-5).sqrt()

    def wrong(x: Tensor, mean: Tensor, var: Tensor, gain: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the batch's mean and variance, which depend on x, in place of the given ones."""
        s = (x.var(0, correction=0) + 1e-5).sqrt()
        h, dh = (x - x.mean(0)) / s, g * gain
        return {"x": (dh - dh.mean(0) - h * (dh * h).mean(0)) / s}

    return Example(forward, wrong, {"x": "bs n", "mean": "n", "var": positive("n"), "gain": "n"})
