"""Mistakes in the gradient of a loss: a wrong label, a wrong prediction, a wrong class or weight.

The gradient of many losses is a factor times a *difference*, prediction less label: softmax probabilities less one-hot
labels for cross entropy, x less label for a squared error. Whoever knows that writes it down at once, and errs in its
parts, not in the operations of the forward pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import indices, positive, uniform
from grader.diagnosis.hints import WHICH_SELECTED
from grader.program.arithmetic import sigmoid, softmax
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate, unbroadcast
from grader.program.program import EdgeContext, Program, as_code
from grader.program.rearrangement import Slot

from .contract import Example, operator
from .indexing import selected_positions
from .places import edges, nodes, values

LARGEST_COUNT = 10_000  # by which a difference is divided where a sentence says so
EXACT = 1e-9  # how nearly a gradient must be a difference, in proportion to its greatest entry


@dataclass(frozen=True, eq=False)
class Difference:
    """The right gradient of a value x, written as a factor times (prediction - label).

    For x of a mean cross entropy over 8 rows, the factor is 1/8, the prediction softmax(x), the label one-hot classes.

    Args:
        factor: a number.
        x: the value that the gradient is of.
        prediction: shaped like x; zeros where the gradient is the label alone.
        label: shaped like x.
        names: what a learner calls prediction and label; that of the prediction is empty where there is none.
        function: computes the prediction from x, where that is known.
        classes: the label as numbers of classes, with the last axis of size 1, where the loss is given numbers.
        marks: the one-hot classes, where the label is smoothed; shaped like x.
        smoothing: which part of the label is spread evenly over all classes.
        vjp: takes a gradient of the prediction to one of x, both shaped like x, where the function is known.
    """

    factor: float
    x: Array
    prediction: Array
    label: Array
    names: tuple[str, str]
    function: Callable[[Array], Array] | None
    classes: Array | None
    marks: Array | None = None
    smoothing: float = 0.0
    vjp: Callable[[Array], Array] | None = None

    @property
    def is_label_alone(self) -> bool:
        """Return whether the gradient is factor * (0 - label), without a prediction.

        True for x in a negative log-likelihood, a mean of -x[i, class].
        """
        return not self.names[0]

    @property
    def decision(self) -> Array:
        """Return the prediction rounded to 0 and 1, in its shape.

        Where the label is given as classes: 1 at the greatest entry along the last axis. Else: 1 where the prediction
        is above one half. 0 at all other entries.
        """
        if self.classes is None:
            return np.where(self.prediction > 0.5, 1.0, 0.0)
        return np.where(self.prediction == self.prediction.max(axis=-1, keepdims=True), 1.0, 0.0)


class Prediction(NamedTuple):
    """A choice of the prediction in a gradient, see `Difference`: for x in a cross entropy, softmax(x).

    Args:
        array: the prediction, shaped like x.
        name: what a learner calls it, such as `softmax(x)`.
        function: computes it from x, where that is known.
        vjp: takes a gradient of the prediction to one of x, where the function is known.
    """

    array: Array
    name: str
    function: Callable[[Array], Array] | None = None
    vjp: Callable[[Array], Array] | None = None


class Label(NamedTuple):
    """A choice of the label in a gradient, see `Difference`: for a cross entropy, the one-hot classes.

    Args:
        array: the label, shaped like x.
        name: what a learner calls it, such as "the one-hot encoding of y".
        classes: the label as numbers of classes, with the last axis of size 1; `None` where it is given as an array.
    """

    array: Array
    name: str
    classes: Array | None = None


Names = tuple[str, str]
_DIFFERENCES: WeakKeyDictionary[Program, dict[tuple[int, Names | None], Difference | None]] = WeakKeyDictionary()


def difference_of(program: Program, value: int, names: Names | None = None) -> Difference | None:
    """Return the right gradient of a value as a `Difference`: factor * (prediction - label).

    For x in a mean cross entropy of n rows: (softmax(x) - one_hot(y)) / n. `None` where the gradient has no such form,
    where the value is in a loop or has no axes, or where an output has axes and so is no loss.

    Args:
        program: the program of a trial.
        value: the id of the value.
        names: those of the prediction and the label that must be found, as they were in another trial; any by default.
            A gradient of a single entry is a multiple of every difference, and is recognised by names alone.
    """
    known = _DIFFERENCES.setdefault(program.right, {})
    if (value, names) not in known:
        known[value, names] = _find_difference(program.right, program.right.nodes[value], names)
    return known[value, names]


def _find_difference(program: Program, node: Node, given: Names | None) -> Difference | None:
    """Return the first difference of a possible prediction and label that the gradient of a value is a multiple of.

    For x in a mean cross entropy: that of softmax(x) and one_hot(y).

    Args:
        program: the right program of a trial.
        node: the node of the value, or the input.
        given: the names of prediction and label that must be found; `None` for any.

    Returns:
        The difference; `None` where there is none, an output has axes, or the node has none, is in a loop, gets no
        gradient, or has a single entry and no names are given.
    """
    is_loss = all(program.nodes[output].value.ndim == 0 for output in program.forward.outputs)
    if not is_loss or node.value.ndim == 0 or len(program.forward.by_key[node.key]) > 1:
        return None
    if node.value.size < 2 and given is None:
        return None
    right = program.right_sweep.gradient_or_none(node.id)
    if right is None:
        return None
    predictions = list(_possible_predictions(program, node))
    nothing = Prediction(np.zeros_like(node.value), "")
    for label in _possible_labels(program, node):
        for prediction in (*predictions, *([] if label.classes is None else [nothing])):
            difference = prediction.array - label.array
            size = float(np.square(difference).sum())
            factor = float((right * difference).sum()) / size if size else 0.0
            if factor and np.abs(right - factor * difference).max() <= EXACT * np.abs(right).max():
                names = (prediction.name, label.name)
                if given not in (None, names):
                    continue
                return Difference(
                    factor, node.value, prediction.array, label.array, names, prediction.function, label.classes,
                    vjp=prediction.vjp,
                )  # fmt: skip
            smoothed = (
                None
                if label.classes is None or prediction is nothing
                else _smoothed_difference(node, right, prediction, label)
            )
            if smoothed is not None and given in (None, smoothed.names):
                return smoothed
    return None


def _smoothed_difference(node: Node, right: Array, prediction: Prediction, label: Label) -> Difference | None:
    """Return a gradient as factor * (p - (1 - e) * marks - e / classes), with prediction p and label smoothing e.

    Args:
        node: the node of the value.
        right: its right gradient, shaped like the value.
        prediction: a possible p.
        label: the label without smoothing: one-hot marks.

    Returns:
        The difference; `None` where the gradient is not of this form with 0 < e < 1.
    """
    marks, count = label.array, node.value.shape[-1]
    columns = np.stack([prediction.array.ravel(), marks.ravel(), np.ones(marks.size)], axis=1)
    if not (np.isfinite(columns).all() and np.isfinite(right).all()):  # LAPACK may never end
        return None
    (factor, marked, shared), *_ = np.linalg.lstsq(columns, right.ravel(), rcond=None)
    if not factor or np.abs(columns @ (factor, marked, shared) - right.ravel()).max() > EXACT * np.abs(right).max():
        return None
    smoothing = -shared / factor * count
    if not 0 < smoothing < 1 or abs(-marked / factor - (1 - smoothing)) > EXACT:
        return None
    soft = (1 - smoothing) * marks + smoothing / count
    names = (prediction.name, f"the smoothed {label.name}")
    return Difference(
        float(factor),
        node.value,
        prediction.array,
        soft,
        names,
        prediction.function,
        None,
        marks,
        float(smoothing),
        prediction.vjp,
    )


def _possible_predictions(program: Program, node: Node) -> Iterator[Prediction]:
    """Yield what may be the prediction in the gradient of a value x: x itself, sigmoid(x), and what is made of x alone.

    The last is what the forward pass computes of x alone, in its shape, such as tanh(x); if a log_softmax or logsumexp
    reads x, it is the softmax. A `Prediction` is an array shaped like x, its name, and, but for x itself, the function
    that computes it, with its vjp.

    Args:
        program: the right program of a trial.
        node: the node of the value.
    """
    x, name = node.value, program.name_of(node.id)
    yield Prediction(x, name)
    odds = sigmoid(x)
    odds_name = as_code(f"sigmoid({name})")
    yield Prediction(odds, odds_name, sigmoid, lambda g: g * odds * (1 - odds))  # however its loss is written
    for reader, _ in program.forward.uses[node.id]:
        other = program.sink if reader == SINK else program.nodes[reader]
        if other.name in ("log_softmax", "logsumexp") and isinstance(other.options.get("dim"), int):
            axis = int(str(other.options["dim"]))
            p = softmax(x, axis)
            yield Prediction(
                p,
                as_code(f"softmax({name})"),
                lambda x, axis=axis: softmax(x, axis),  # type: ignore[misc]
                lambda g, p=p, axis=axis: p * (g - (p * g).sum(axis=axis, keepdims=True)),  # type: ignore[misc]
            )
        elif reader != SINK and other.value.shape == x.shape and len(other.values) == 1:
            yield Prediction(
                other.value,
                program.name_of(reader),
                lambda x, o=other: o.operation.run((x,), o.options),  # type: ignore[misc]
                lambda g, o=other: o.vjp(0, g),  # type: ignore[misc]
            )


def _possible_labels(program: Program, node: Node) -> Iterator[Label]:
    """Yield what may be the label in a gradient of a value x: arrays of its shape, and one-hot classes of its rows.

    A `Label` is an array shaped like x and its name, such as "the one-hot encoding of y", y holding a class for each
    row of x. What is computed from the value is no label of it.

    Args:
        program: the right program of a trial.
        node: the node of the value.
    """
    x, behind = node.value, program.forward.followers[node.id]
    for other in program.nodes:
        if behind >> other.id & 1:
            continue
        if other.value.dtype.kind == "f" and other.value.shape == x.shape:
            yield Label(other.value, program.name_of(other.id))
        elif other.value.dtype.kind == "i" and other.value.shape == x.shape[:-1] and other.value.size:
            marks = np.zeros(x.shape)
            if other.value.min() >= 0 and other.value.max() < x.shape[-1]:
                np.put_along_axis(marks, other.value[..., None], 1.0, -1)
                yield Label(marks, f"the one-hot encoding of {program.name_of(other.id)}", other.value[..., None])


class DifferenceFormula(NamedTuple):
    """A wrong formula for a gradient that is a difference.

    Args:
        code: the public code.
        message: what is wrong with it, in words, with some of the fields `{prediction}`, `{target}` (the label),
            `{function}`, `{scaled}` and `{verb}`.
        of: takes the right difference; returns the wrong gradient, without its factor, shaped like x.
        needs: what the difference must have: `"function"`, `"classes"`, `"smoothing"`, or nothing.
        of_label: the message for a label without a prediction, to which the formula applies, too; empty if it does not.
    """

    code: str
    message: str
    of: Callable[[Difference], Array]
    needs: Literal["", "function", "classes", "smoothing"] = ""
    of_label: str = ""


def _label_without_row(label: Array, row: int) -> Array:
    """Return a copy of a label, shape (rows, ...), with zeros in one row, such as row -1, the last one."""
    others = label.copy()
    others[row] = 0
    return others


def _vjp_of_prediction(difference: Difference, g: Array) -> Array:
    """Return the gradient of x for a gradient g of the prediction, by the vjp of the prediction's function.

    For the prediction p = sigmoid(x): g * p * (1 - p).

    Args:
        difference: the right gradient of x as factor * (prediction - label); its `vjp` must not be `None`.
        g: shaped like x.
    """
    assert difference.vjp is not None
    return difference.vjp(g)


def _prediction_at(difference: Difference, x: Array) -> Array:
    """Return what `difference.function`, which computes the prediction from x, makes of an array in place of x.

    For the difference softmax(x) - label and the array p: softmax(p).

    Args:
        difference: the right gradient of x as factor * (prediction - label); its `function` must not be `None`.
        x: the array, shaped like the difference's own x.
    """
    assert difference.function is not None
    return difference.function(x)


def _one_hot(difference: Difference) -> Array:
    """Return the label of a difference before it was smoothed: 1 at the right class, else 0; shaped like x."""
    assert difference.marks is not None
    return difference.marks


def _smoothed_by(part: float, difference: Difference) -> Array:
    """Return prediction - label, shaped like x, with a label smoothed by `part`, such as 0.2, not its own smoothing."""
    return np.asarray(difference.prediction - (1 - part) * _one_hot(difference) - part / difference.x.shape[-1])


DIFFERENCE_FORMULAS: Mapping[str, DifferenceFormula] = {
    "target added": DifferenceFormula(
        "wrong-sign", "{target} is added; it must be subtracted", lambda d: d.prediction + d.label),
    "sign": DifferenceFormula(
        "wrong-local", "only the sign of {prediction} minus {target} is used",
        lambda d: np.sign(d.prediction - d.label)),
    "times prediction": DifferenceFormula(
        "extra-factor", "{prediction} minus {target} is multiplied by {prediction}; leave this factor out",
        lambda d: d.prediction * (d.prediction - d.label)),
    "one everywhere": DifferenceFormula(
        "wrong-local", "1 is subtracted from every entry of {prediction}; {target} must be subtracted in place of 1",
        lambda d: d.prediction - 1),
    "factor on prediction": DifferenceFormula(
        "missing-local", "only {prediction} is {scaled}; {target} must be {verb} as well",
        lambda d: d.prediction - d.label / d.factor),
    "factor on target": DifferenceFormula(
        "missing-local", "only {target} is {scaled}; {prediction} must be {verb} as well",
        lambda d: d.prediction / d.factor - d.label),
    "decision": DifferenceFormula(
        "wrong-local", "a hard decision, 0 or 1, is used in place of {prediction}",
        lambda d: d.decision - d.label),
    "function twice": DifferenceFormula(
        "wrong-point", "{function} is applied twice",
        lambda d: _prediction_at(d, d.prediction) - d.label, "function"),
    "function of target": DifferenceFormula(
        "wrong-operand", "{function} is also applied to {target}",
        lambda d: d.prediction - _prediction_at(d, d.label), "function"),
    "marked entries": DifferenceFormula(
        "diagonal-only", "only the entries marked by {target} get a gradient",
        lambda d: d.label * (d.prediction - d.label), "classes"),
    "marks of all rows": DifferenceFormula(
        "broadcast-accident", "1 is subtracted in every row at the classes of all rows; in each row it must be"
        " subtracted only at the class of that row",
        lambda d: d.prediction - d.label.max(axis=0), "classes",
        of_label="in every row, the entries at the classes of all rows are set; in each row only the entry at the class"
        " of that row must be set"),
    "numbers": DifferenceFormula(
        "wrong-operand", "the class indices themselves are subtracted in place of {target}",
        lambda d: d.prediction - np.asarray(d.classes), "classes",
        of_label="the class indices themselves are used in place of {target}"),
    "marked entries set": DifferenceFormula(
        "overwritten", "the entries marked by {target} are set to -1; 1 must be subtracted from them",
        lambda d: d.prediction * (1 - d.label) - d.label, "classes"),
    "smoothed": DifferenceFormula(
        "wrong-local", "{target} is smoothed by 0.1, but the loss does not smooth it",
        lambda d: d.prediction - 0.9 * d.label - 0.1 / d.x.shape[-1], "classes"),
    "class 0": DifferenceFormula(
        "partial-batch", "{target} is not subtracted where the class is 0",
        lambda d: d.prediction - d.label * (np.asarray(d.classes) > 0), "classes",
        of_label="the entry at the right class is 0 where the class is 0"),
    "last row": DifferenceFormula(
        "partial-batch", "{target} is not subtracted in the last row",
        lambda d: d.prediction - _label_without_row(d.label, -1)),
    "first row": DifferenceFormula(
        "partial-batch", "{target} is not subtracted in the first row",
        lambda d: d.prediction - _label_without_row(d.label, 0)),
    "through function": DifferenceFormula(
        "extra-factor", "{prediction} minus {target} is multiplied by the derivative of {prediction}, which it"
        " already includes",
        lambda d: _vjp_of_prediction(d, d.prediction - d.label), "function"),
    "squared error": DifferenceFormula(
        "wrong-local", "the loss is differentiated as if it were the squared error between {prediction} and {target}",
        lambda d: _vjp_of_prediction(d, 2 * (d.prediction - d.label)), "function"),
    "predicted class": DifferenceFormula(
        "wrong-operand", "1 is subtracted where {prediction} is largest; {target} must be subtracted",
        lambda d: d.prediction - d.decision, "classes"),
    "loss": DifferenceFormula(
        "forward-value", "each entry holds its part of the loss, a value of the forward pass, in place of its"
        " derivative",
        lambda d: -d.label * np.log(d.prediction), "classes"),
    "without function": DifferenceFormula(
        "missing-local", "the chain rule stops at {prediction}", lambda d: -d.label / d.prediction,
        "classes"),
    "share not divided": DifferenceFormula(
        "missing-local", "the smoothing term is not divided by the number of classes",
        lambda d: d.prediction - (1 - d.smoothing) * _one_hot(d) - d.smoothing, "smoothing"),
    "shared among the others": DifferenceFormula(
        "wrong-local", "the smoothing is spread over the other classes only; it must be spread over all classes",
        lambda d: d.prediction - (1 - d.smoothing) * _one_hot(d)
        - d.smoothing / (d.x.shape[-1] - 1) * (1 - _one_hot(d)), "smoothing"),
    "right class not lowered": DifferenceFormula(
        "missing-local", "the 1 of the right class is not reduced by the smoothing",
        lambda d: d.prediction - _one_hot(d) - d.smoothing / d.x.shape[-1], "smoothing"),
    "mark in place of share": DifferenceFormula(
        "overwritten", "the right class has its own weight, but not its share of the smoothing",
        lambda d: d.prediction - (1 - d.smoothing) * _one_hot(d)
        - d.smoothing / d.x.shape[-1] * (1 - _one_hot(d)), "smoothing"),
    **{
        f"smoothing of {typed:g}": DifferenceFormula(
            "hard-coded", f"{{target}} is smoothed by {typed:g}, whatever the smoothing of the loss is",
            partial(_smoothed_by, typed), "smoothing")
        for typed in (0.1, 0.2, 0.05, 0.01)
    },
    "shares exchanged": DifferenceFormula(
        "wrong-operand", "the weight of the right class and the weight of the smoothing are swapped",
        lambda d: d.prediction - d.smoothing * _one_hot(d) - (1 - d.smoothing) / d.x.shape[-1], "smoothing"),
}  # fmt: skip
FUNCTION_CODES: Mapping[str, str] = {  # of the others the code is that of another derivative
    "exp": "missing-local", "the value itself": "wrong-point", "softmax over the first axis": "summed-wrong-axis",
}  # fmt: skip
PREDICTION_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "softmax over the last axis": lambda x: softmax(x, -1), "sigmoid": sigmoid, "tanh": np.tanh, "exp": np.exp,
    "softmax over the first axis": lambda x: softmax(x, 0), "the value itself": np.asarray,
}  # fmt: skip


@dataclass(frozen=True)
class DifferenceMistake:
    """A choice of a wrong formula, or of a wrong function for the prediction, in a gradient that is a difference.

    Args:
        how: a key of `DIFFERENCE_FORMULAS` or of `PREDICTION_FUNCTIONS`.
        names: the names of prediction and label, by which the difference is found in every trial.
    """

    how: str
    names: Names


def with_gradient_of_value(program: Program, value: int, gradient: Array) -> Program:
    """Return the program in which a value has the given gradient, in place of the sum of all contributions to it.

    Args:
        program: the right program.
        value: the id of the value.
        gradient: shaped like the value.
    """
    return program.without(*program.forward.uses[value]).with_edge(SINK, value, lambda at: gradient)


def difference_formulas(program: Program, place: Place) -> Iterator[DifferenceMistake]:
    """Yield `DifferenceMistake`s: a wrong formula for a gradient that is a factor times (prediction - label).

    A `DifferenceMistake` is the key of the formula in `DIFFERENCE_FORMULAS`, such as "target added" for prediction +
    label, and the names of prediction and label. Nothing is yielded for a gradient of another form.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    difference = difference_of(program, place[0])
    if difference is not None:
        known = {"": True, "function": difference.function is not None, "classes": difference.classes is not None,
                 "smoothing": difference.marks is not None}  # fmt: skip
        for how, formula in DIFFERENCE_FORMULAS.items():
            if known[formula.needs] and (formula.of_label or not difference.is_label_alone):
                yield DifferenceMistake(how, difference.names)


FUNCTION_CALL = re.compile(r"`(\w+)\([^()]*\)`$")  # `softmax(x)`


def difference_fields(program: Program, place: Place, choice: DifferenceMistake) -> dict[str, str]:
    """Return the message fields `where` and `mistake`: whose gradient it is, and the formula's message.

    `where` is "in the gradient of the loss with respect to z, ", or empty if the value is an input. `mistake` is such
    as "the one-hot encoding of y is added; it must be subtracted".

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
        choice: the key of the formula, and the names of prediction and label.
    """
    prediction, label = choice.names
    difference, formula = difference_of(program, place[0], choice.names), DIFFERENCE_FORMULAS[choice.how]
    is_alone = difference is not None and difference.is_label_alone
    message = formula.of_label if is_alone and formula.of_label else formula.message
    verb, by = _scaling_in_words(program, difference.factor if difference is not None else 1.0)
    call = FUNCTION_CALL.match(prediction)
    function = f"the {call[1].replace('_', '-')}" if call else f"the function that computes {prediction}"
    clause = message.format(prediction=prediction, target=label, function=function, verb=verb, scaled=f"{verb} by {by}")
    return {"where": _gradient_in_words(program, place), "mistake": clause}


def _scaling_in_words(program: Program, factor: float) -> tuple[str, str]:
    """Return how a difference is scaled, as "divided" and "5 (bs = 5 here)", or as "multiplied" and "2".

    The sign is left out. A factor that is not one over a whole number multiplies: "2/5", or "0.123" where it is no
    fraction with a small denominator; so does 1.

    Args:
        program: the program of a trial.
        factor: what the difference is multiplied by.
    """
    fraction = Fraction(abs(factor)).limit_denominator(LARGEST_COUNT)
    if abs(fraction - abs(factor)) > EXACT:
        return "multiplied", f"{abs(factor):.3g}"
    if fraction.numerator != 1 or fraction == 1:
        return "multiplied", str(fraction)
    count = fraction.denominator
    names = [name for name, size in program.sizes.items() if size == count and not name.startswith("_")]
    return "divided", f"{count} ({names[0]} = {count} here)" if len(names) == 1 else str(count)


def _gradient_in_words(program: Program, place: Place) -> str:
    """Return the beginning of a clause on the gradient of a value: "in the gradient of the loss with respect to x, ".

    It is empty for an input: a mistake in its gradient is in one answer only, which a finding names already.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    if program.nodes[place[0]].operation.family == "input":
        return ""
    return f"in the gradient of the loss with respect to {program.name_of(place[0])}, "


@operator(
    "difference-mistaken",
    code=lambda choice: DIFFERENCE_FORMULAS[choice.how].code,
    rank=1.9,
    at=values,
    choices=difference_formulas,
    message="{where}{mistake}",
    fields=difference_fields,
    hints={
        "broadcast-accident": (
            "In row i, how many entries stand at the class of that row? How many does your code change?",
            "Which entries does `table[:, columns]` pick, and which does `table[range(n), columns]`?",
            "Print the shape of what your index picks. There must be one entry for each row.",
        ),
    },
)
def use_wrong_difference(program: Program, place: Place, choice: DifferenceMistake) -> Program | None:
    """Give a value a wrong formula of prediction and label as its gradient, such as p + label in place of p - label.

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: which formula, a key of `DIFFERENCE_FORMULAS` such as "target added", and the names of prediction and
            label, such as "`softmax(x)`" and "the one-hot encoding of y".

    Returns:
        The rewritten program; `None` where the gradient is no such difference in this trial.

    Raises:
        NoCandidate: the formula gives numbers that are not finite.
    """
    difference = difference_of(program, place[0], choice.names)
    if difference is None:
        return None
    with np.errstate(all="ignore"):
        gradient = difference.factor * DIFFERENCE_FORMULAS[choice.how].of(difference)
    if not np.isfinite(gradient).all():
        raise NoCandidate("it is not finite")
    return with_gradient_of_value(program, place[0], np.broadcast_to(gradient, difference.x.shape))


@use_wrong_difference.example
def _() -> Example:
    """Show cross_entropy(x, classes) whose gradient is p * (d - sum(d * p)) / n, d = p - one_hot, not d / n."""

    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes)

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply p - one_hot by the derivative of the softmax, which it contains already."""
        p = x.softmax(-1)
        d = p - torch.nn.functional.one_hot(classes, x.shape[1])
        return {"x": g * p * (d - (d * p).sum(-1, keepdim=True)) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


@use_wrong_difference.example
def _() -> Example:
    """Show a cross entropy of x @ w whose gradient subtracts 1 from every probability, not at the right class only."""

    def forward(x: Tensor, w: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x @ w, classes)

    def wrong(x: Tensor, w: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract 1 from every probability, in place of that of the right class alone."""
        return {"w": x.T @ (torch.softmax(x @ w, -1) - 1) * g / len(x)}

    return Example(forward, wrong, {"x": "bs n", "w": "n c", "classes": indices("bs", "c")})


@use_wrong_difference.example
def _() -> Example:
    """Show binary_cross_entropy_with_logits(x, labels) whose gradient of x applies the sigmoid twice."""

    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(x, labels)

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (x.sigmoid().sigmoid() - labels) / x.numel()}

    return Example(forward, wrong, {"x": "bs n", "labels": uniform("bs n", 0, 1)})


@use_wrong_difference.example
def _() -> Example:
    """Show cross_entropy(x, classes, label_smoothing=0.1) whose gradient leaves the label of the right class at 1."""

    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes, label_smoothing=0.1)

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract 1 + 0.1 / n for the right class in place of 0.9 + 0.1 / n, with n classes."""
        label = torch.nn.functional.one_hot(classes, x.shape[1]) + 0.1 / x.shape[1]
        return {"x": g * (x.softmax(-1) - label) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


def is_probability_in_logarithms(program: Program, place: Place) -> bool:
    """Return whether the value p, `place`, is between 0 and 1, and read by a logarithm both directly and after a sum.

    The sum or difference, as in log(1 - p), is not looked at.
    """
    node = program.nodes[place[0]]
    if not node.value.size or node.value.min() <= 0 or node.value.max() >= 1:
        return False
    readers = [reader for reader, _ in program.forward.uses[place[0]] if reader != SINK]
    behind = [further for reader in readers if program.nodes[reader].name in ("sub", "add")
              for further, _ in program.forward.uses[reader] if further != SINK]  # fmt: skip
    return all(any(program.nodes[i].name in ("log", "log1p") for i in ids) for ids in (readers, behind))


@operator(
    "probability-as-logit",
    code="missing-local",
    rank=2.0,
    at=values.where(is_probability_in_logarithms),
    choices=lambda program, place: (None,),
    message="in the gradient of {value}, the division by {product} is missing; only the formula for logits does without"
    " it",
    fields=lambda program, place, choice: {
        "product": f"{name} * (1 - {name})"
        if (name := program.name_of(place[0])).isidentifier()
        else f"p * (1 - p), where p is {name},"
    },
)
def treat_probability_as_logit(program: Program, place: Place, choice: None) -> Program | None:
    """Multiply the gradient of a probability p by p * (1 - p), as in the loss of a logit whose sigmoid is p.

    For a binary cross entropy: (p - y) / n in place of (p - y) / (p * (1 - p)) / n. `place` is p. Returns `None` where
    p gets no gradient in this trial.
    """
    p = program.nodes[place[0]].value
    gradient = program.right_sweep.gradient_or_none(place[0])
    return None if gradient is None else with_gradient_of_value(program, place[0], gradient * p * (1 - p))


@treat_probability_as_logit.example
def _() -> Example:
    """Show -(y * log(p) + (1 - y) * log(1 - p)).sum() whose gradient of p is the formula for logits, p - y."""

    def forward(p: Tensor, y: Tensor) -> Tensor:
        return -(y * p.log() + (1 - y) * (1 - p).log()).sum()

    def wrong(p: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"p": g * (p - y)}

    return Example(forward, wrong, {"p": uniform("bs", 0.1, 0.9), "y": uniform("bs", 0.0, 1.0)})


def prediction_functions(program: Program, place: Place) -> Iterator[DifferenceMistake]:
    """Yield `DifferenceMistake`s: a wrong function for the prediction in a gradient factor * (prediction - label).

    A `DifferenceMistake` is the key of the function in `PREDICTION_FUNCTIONS`, such as "sigmoid", and the names of
    prediction and label. Nothing is yielded for a gradient of another form.

    Args:
        program: the program of a trial.
        place: the value: an input or a node.
    """
    difference = difference_of(program, place[0])
    if difference is not None:
        yield from (DifferenceMistake(how, difference.names) for how in PREDICTION_FUNCTIONS)


def describe_function(how: str, value: str) -> str:
    """Return a function of a value in words, such as "the softmax of x over the last axis".

    Args:
        how: a key of `PREDICTION_FUNCTIONS`.
        value: the name of the value.
    """
    if how == "the value itself":
        return value
    function, _, axis = how.replace("exp", "exponential").partition(" ")
    return f"the {function} of {value} {axis}".rstrip()


@operator(
    "prediction-mistaken",
    code=lambda choice: FUNCTION_CODES.get(choice.how, "wrong-local"),
    rank=2.2,
    at=values,
    choices=prediction_functions,
    message="{where}{function} {place}",
    fields=lambda program, place, choice: {
        "where": _gradient_in_words(program, place),
        "function": describe_function(choice.how, program.name_of(place[0])),
        "place": f"is used in place of {choice.names[0]}"
        if choice.names[0]
        else f"minus {choice.names[1]} is used; it must be minus {choice.names[1]} alone",
    },
)
def use_wrong_prediction(program: Program, place: Place, choice: DifferenceMistake) -> Program | None:
    """Compute the prediction in the gradient of a value with a wrong function, such as sigmoid(x) for softmax(x).

    Args:
        program: the right program.
        place: the value: an input or a node.
        choice: which function, a key of `PREDICTION_FUNCTIONS` such as "sigmoid", and the names of prediction and
            label, such as "`softmax(x)`" and "the one-hot encoding of y". That of the prediction is empty where the
            right gradient is minus the label alone, times a factor; then the function of x is added to minus the label.

    Returns:
        The rewritten program; `None` where the gradient is no such difference in this trial.
    """
    difference = difference_of(program, place[0], choice.names)
    if difference is None:
        return None
    with np.errstate(all="ignore"):
        gradient = difference.factor * (PREDICTION_FUNCTIONS[choice.how](difference.x) - difference.label)
    return with_gradient_of_value(program, place[0], gradient)


@use_wrong_prediction.example
def _() -> Example:
    """Show a mean of -x[i, class] whose gradient of x is that of a cross entropy, softmax(x) less one-hot classes."""

    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return -x[range(len(classes)), classes].mean()

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Differentiate a cross entropy of x in place of the mean of -x[i, class]."""
        return {"x": g * (x.softmax(-1) - torch.nn.functional.one_hot(classes, x.shape[1])) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


@use_wrong_prediction.example
def _() -> Example:
    """Show binary_cross_entropy_with_logits(x, labels) whose gradient has softmax(x) in place of sigmoid(x)."""

    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(x, labels, reduction="sum")

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use softmax(x) in place of sigmoid(x), as for classes that exclude each other."""
        return {"x": g * (x.softmax(-1) - labels)}

    return Example(forward, wrong, {"x": "bs n", "labels": uniform("bs n", 0, 1)})


# Classes, weights and constants ---------------------------------------------------------------------------------------


def class_slot(node: Node) -> int | None:
    """Return the slot of the class numbers in a node that takes one entry of each row, such as `x[range(n), classes]`.

    That is a `gather`, or an index `[..., array]` of two items into a matrix, whose value has one entry of each row in
    their order; for a `gather`, the rows are the lines along its axis. Return `None` for any other node.
    """
    index = node.options.get("index")
    if node.name == "gather":
        slot = 1
    elif isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], Slot) and np.ndim(node.values[0]) == 2:
        slot = index[1].slot
    else:
        return None
    shape, axis = np.shape(node.values[0]), int(str(node.options.get("dim", -1)))
    if not shape or not math.prod(shape):
        return None
    rows = np.arange(math.prod(shape)).reshape(shape).take([0], axis)  # the first position in each
    rows_of_entries = np.broadcast_to(rows, shape).ravel()[selected_positions(node)]
    is_one_of_each = np.size(node.values[slot]) == rows.size and np.array_equal(rows_of_entries.ravel(), rows.ravel())
    return slot if is_one_of_each else None


@operator(
    "predicted-class",
    code="wrong-operand",
    rank=1.8,
    at=edges.of("gather", "getitem").at_slot(0).where(lambda program, place: bool(class_slot(program.reader(place)))),
    message="the gradient of {step} goes to the predicted class, the largest entry of each row; it must go to the"
    " right class",
)
def use_predicted_class(program: Program, place: Place, choice: None) -> Program | None:
    """Give the gradient of `x[range(n), classes]` to the greatest entry of each row, not to that of the right class.

    Args:
        program: the right program.
        place: an edge (selection of one entry in each row, slot 0).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where not exactly one entry of each row is taken in this trial.
    """
    node = program.reader(place)
    slot = class_slot(node)
    if slot is None:
        return None
    axis = int(str(node.options.get("dim", -1)))
    predicted = np.asarray(node.values[0]).argmax(axis=axis).reshape(np.shape(node.values[slot]))
    return program.with_vjp(place, lambda at: at.right(operands={slot: predicted}))


@use_predicted_class.example
def _() -> Example:
    """Show a cross entropy of x @ w whose gradient subtracts 1 at the greatest entry of each row, not at its class."""

    def forward(x: Tensor, w: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x @ w, classes)

    def wrong(x: Tensor, w: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        marks = torch.nn.functional.one_hot((x @ w).argmax(-1), w.shape[1])
        return {"w": x.T @ (torch.softmax(x @ w, -1) - marks) * g / len(x)}

    return Example(forward, wrong, {"x": "bs n", "w": "n c", "classes": indices("bs", "c")})


@operator(
    "class-ignored",
    code="wrong-local",
    rank=1.9,
    at=edges.of("gather", "getitem").at_slot(0).where(lambda program, place: bool(class_slot(program.reader(place)))),
    message="the gradient of {step} goes to every entry of a row; it must go only to the entry that was selected",
    hints=WHICH_SELECTED,
)
def give_gradient_to_all_classes(program: Program, place: Place, choice: None) -> Program | None:
    """Give the gradient of `x[range(n), classes]` to all entries of a row, not only to the one that is taken.

    Args:
        program: the right program.
        place: an edge (selection of one entry in each row, slot 0).
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program; `None` where not exactly one entry of each row is taken in this trial.
    """
    node = program.reader(place)
    if class_slot(node) is None:
        return None
    axis = int(str(node.options.get("dim", -1)))

    def rule(at: EdgeContext) -> Array:
        g = at.g if at.g.ndim == np.ndim(at.x) else np.expand_dims(at.g, axis)
        return np.broadcast_to(g, np.shape(at.x))

    return program.with_vjp(place, rule)


@give_gradient_to_all_classes.example
def _() -> Example:
    """Show a mean of -tanh(x @ w)[i, class] whose gradient is -1 / n at every class."""

    def forward(x: Tensor, w: Tensor, classes: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return -y[range(len(classes)), classes].mean()

    def wrong(x: Tensor, w: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (-g / len(x) * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n c", "classes": indices("bs", "c")})


def makers_of_divisor(program: Program, quotient: int) -> list[Node]:
    """Return the `sum` or `index_add` that computes the divisor of a quotient, and the rearrangements after it.

    They are in the order of the forward pass: for `x / w.sum()` the sum alone; for `x / w.sum(1)[:, None]` the sum and
    the `[:, None]`. Empty where the divisor is a constant, or no sum of a single array.

    Args:
        program: the program of a trial.
        quotient: the id of the node `/`.
    """
    value, makers = program.nodes[quotient].operand(1), list[Node]()
    while value is not None:
        node = program.nodes[value]
        makers.insert(0, node)
        if node.name in ("sum", "index_add"):
            return makers if len(node.operands) == 1 else []
        is_rearranged = node.operation.family in ("rearrangement", "selection") and len(node.operands) == 1
        value = node.operands[0][1] if is_rearranged else None
    return []


def is_weighted_mean(program: Program, place: Place) -> bool:
    """Return whether a sum is the divisor of a quotient, as in (weights * x).sum() / weights.sum().

    Args:
        program: the program of a trial.
        place: the edge (quotient, slot of the numerator).
    """
    return bool(makers_of_divisor(program, place[0]))


@dataclass(frozen=True)
class CountForWeights:
    """The number of weights, by which a backward pass divides in place of their sum.

    Args:
        varies: whether it differs between the sums, as those of groups of different sizes do.
        everywhere: whether the gradient of the weights has it as well, and not that of the numerator alone.
    """

    varies: bool
    everywhere: bool


def counts_for_weights(program: Program, place: Place) -> Iterator[CountForWeights]:
    """Yield the two choices at a weighted mean: in the gradient of the numerator alone, or in that of the weights, too.

    Args:
        program: the program of a trial.
        place: the edge (quotient, slot of the numerator).
    """
    varies = makers_of_divisor(program, place[0])[0].name == "index_add"
    yield from (CountForWeights(varies, everywhere) for everywhere in (False, True))


@operator(
    "count-for-sum-of-weights",
    code=lambda choice: "wrong-operand" if choice.varies else "wrong-factor",
    rank=2.0,
    at=edges.of("div").at_slot(0).where(is_weighted_mean),
    message="in the gradient through {layer}, the weighted sum is divided by the number of terms; it must be divided by"
    " the sum of their weights",
    choices=counts_for_weights,
    fields=lambda program, place, choice: {"layer": f"`{program.reader(place).text}`"},
)
def divide_by_count_of_weights(program: Program, place: Place, choice: CountForWeights) -> Program | None:
    """Divide the gradient of a weighted mean's numerator by the number of weights, not by their sum.

    For out = (w * x).sum() / w.sum(), the numerator gets g / len(w) in place of g / w.sum(). If `choice.everywhere`,
    the sum of the weights gets -g * out / len(w).

    Args:
        program: the right program.
        place: an edge (quotient, slot of the numerator).
        choice: whether the gradient of the weights is divided by the number, too.

    Returns:
        The rewritten program; `None` where the denominator is a constant in this trial, or a sum has no terms.
    """
    makers = makers_of_divisor(program, place[0])
    if not makers:
        return None
    counts = np.ones_like(makers[0].values[makers[0].operands[0][0]])
    for node in makers:
        counts = np.asarray(node.value_for(node.operands[0][0], counts))
    if (counts == 0).any():
        return None
    program = program.with_vjp(place, lambda at: at.right(operands={1: counts}))
    if not choice.everywhere:
        return program
    out = program.reader(place).value
    return program.with_vjp((place[0], 1), lambda at: unbroadcast(-at.g * out / counts, at.x))


@divide_by_count_of_weights.example
def _() -> Example:
    """Show cross_entropy(x, classes, weights) whose gradient is divided by the rows' number, not the weights' sum."""

    def forward(x: Tensor, classes: Tensor, weights: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes, weights)

    def wrong(x: Tensor, classes: Tensor, weights: Tensor, g: Tensor) -> dict[str, Tensor]:
        marks = torch.nn.functional.one_hot(classes, x.shape[1])
        own = weights[classes][:, None]
        return {"x": g * own * (torch.softmax(x, -1) - marks) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c"), "weights": positive("c")})


@divide_by_count_of_weights.example
def _() -> Example:
    """Show tanh(sum(w * x) / sum(w)) of groups of rows, whose gradients divide by the numbers of rows."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        groups, sums = torch.arange(len(w)) % 2, torch.zeros(2, dtype=w.dtype)
        means = torch.zeros(2, x.shape[1], dtype=x.dtype).index_add(0, groups, w[:, None] * x)
        return torch.tanh(means / sums.index_add(0, groups, w).unsqueeze(1))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the number of rows of each group."""
        groups, out = torch.arange(len(w)) % 2, forward(x, w)
        sums = torch.zeros(2, x.shape[1], dtype=x.dtype).index_add(0, groups, w[:, None] * x)
        means = sums / torch.zeros(2, dtype=w.dtype).index_add(0, groups, w)[:, None]
        dz = (g * (1 - out**2) / torch.bincount(groups)[:, None])[groups]
        return {"x": w[:, None] * dz, "w": (dz * (x - means[groups])).sum(1)}

    return Example(forward, wrong, {"x": "bs n", "w": positive("bs")})


@operator(
    "constant-differentiated",
    code="wrong-local",
    rank=2.0,
    at=nodes.of("detach"),
    message="a gradient flows back through {step}, which is a constant",
    hints=(
        "What is the gradient of a constant, and of what it was computed from?",
        "Which values does the forward pass treat as constants? No gradient is passed back to where they came from.",
    ),
)
def differentiate_constant(program: Program, place: Place, choice: None) -> Program:
    """Let the gradient through a `detach`, as if the value were no constant.

    Args:
        program: the right program.
        place: the node of the `detach`.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_nodes({place[0]: lambda node: node.without_operation()})


@differentiate_constant.example
def _() -> Example:
    """Show (x.tanh() * y.exp().detach()).sum() + y.square().sum() whose gradient of y includes the detached factor."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return (x.tanh() * y.exp().detach()).sum() + y.square().sum()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"y": g * (x.tanh() * y.exp() + 2 * y)}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})
