"""Mistakes in the gradient of a loss: another target, another prediction, another weight.

The gradient of many losses is a factor times a difference, prediction less target: softmax probabilities less marks
for cross entropy, x less target for a squared error. Whoever knows that writes it down at once, and errs in its parts,
not in the operations of the forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from grader.program.arithmetic import sigmoid, softmax
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import EdgeContext, Program
from grader.program.rearrangement import Slot
from grader.sampling import indices, positive, uniform

from .contract import Example, operator
from .places import edges, nodes, values

EXACT = 1e-9  # how nearly a gradient must be a difference, in proportion to its greatest entry


@dataclass(frozen=True, eq=False)
class Difference:
    """A right gradient that is a factor times a prediction less a target.

    Args:
        factor: a number.
        x: what the gradient is of.
        prediction: the prediction; shaped like x.
        target: the target; shaped like x.
        names: what a learner calls the two.
        function: what makes the prediction of x, where that is known.
        classes: the target as numbers of classes, with the last axis of size 1, where it is given so.
        marks: the classes one-hot, where the target is that with some of it shared among all classes.
        smoothing: how much is shared.
        vjp: takes a gradient of the prediction back to x, where the function is known.
    """

    factor: float
    x: Array
    prediction: Array
    target: Array
    names: tuple[str, str]
    function: Callable[[Array], Array] | None
    classes: Array | None
    marks: Array | None = None
    smoothing: float = 0.0
    vjp: Callable[[Array], Array] | None = None

    @property
    def is_target_alone(self) -> bool:
        """Return whether there is no prediction in the gradient."""
        return not self.names[0]

    @property
    def decision(self) -> Array:
        """Return the prediction as a decision: 1 where it is the greatest of its row, or above one half."""
        if self.classes is None:
            return np.where(self.prediction > 0.5, 1.0, 0.0)
        return np.where(self.prediction == self.prediction.max(axis=-1, keepdims=True), 1.0, 0.0)


class Prediction(NamedTuple):
    """What the gradient may have as its first part; see `Difference`."""

    array: Array
    name: str
    function: Callable[[Array], Array] | None = None
    vjp: Callable[[Array], Array] | None = None


class Target(NamedTuple):
    """What the gradient may have as its second part; see `Difference`."""

    array: Array
    name: str
    classes: Array | None = None


Names = tuple[str, str]
_DIFFERENCES: WeakKeyDictionary[Program, dict[tuple[int, Names | None], Difference | None]] = WeakKeyDictionary()


def difference_of(program: Program, value: int, names: Names | None = None) -> Difference | None:
    """Return the right gradient of a value as a difference; `None` where it is none, or the output is no loss.

    Args:
        program: whose right gradient.
        value: the id.
        names: those of the prediction and the target that are meant, as another trial has them; any by default. A
            single entry is a multiple of every difference.
    """
    known = _DIFFERENCES.setdefault(program.right, {})
    if (value, names) not in known:
        known[value, names] = _recognised(program.right, program.right.nodes[value], names)
    return known[value, names]


def _recognised(program: Program, node: Node, given: Names | None) -> Difference | None:
    """Return the first prediction and target whose difference is the gradient of a value but for a factor."""
    is_loss = all(program.nodes[output].value.ndim == 0 for output in program.forward.outputs)
    if not is_loss or node.value.ndim == 0 or len(program.forward.by_key[node.key]) > 1:
        return None
    if node.value.size < 2 and given is None:
        return None
    right = program.right_sweep.total(node.id)
    if right is None:
        return None
    predictions = list(_predictions(program, node))
    nothing = Prediction(np.zeros_like(node.value), "")
    for target in _targets(program, node):
        for prediction in (*predictions, *([] if target.classes is None else [nothing])):
            difference = prediction.array - target.array
            size = float(np.square(difference).sum())
            factor = float((right * difference).sum()) / size if size else 0.0
            if factor and np.abs(right - factor * difference).max() <= EXACT * np.abs(right).max():
                names = (prediction.name, target.name)
                if given not in (None, names):
                    continue
                return Difference(
                    factor, node.value, prediction.array, target.array, names, prediction.function, target.classes,
                    vjp=prediction.vjp,
                )  # fmt: skip
            smoothed = (
                None if target.classes is None or prediction is nothing else _smoothed(node, right, prediction, target)
            )
            if smoothed is not None and given in (None, smoothed.names):
                return smoothed
    return None


def _smoothed(node: Node, right: Array, prediction: Prediction, target: Target) -> Difference | None:
    """Return the gradient of a loss with smoothed labels: a factor times p - (1 - e) marks - e / classes."""
    marks, count = target.array, node.value.shape[-1]
    columns = np.stack([prediction.array.ravel(), marks.ravel(), np.ones(marks.size)], axis=1)
    (factor, marked, shared), *_ = np.linalg.lstsq(columns, right.ravel(), rcond=None)
    if not factor or np.abs(columns @ (factor, marked, shared) - right.ravel()).max() > EXACT * np.abs(right).max():
        return None
    smoothing = -shared / factor * count
    if not 0 < smoothing < 1 or abs(-marked / factor - (1 - smoothing)) > EXACT:
        return None
    soft = (1 - smoothing) * marks + smoothing / count
    names = (prediction.name, f"the smoothed {target.name}")
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


def _predictions(program: Program, node: Node) -> Iterator[Prediction]:
    """Yield a value, what the forward pass makes of it in the same shape, and what the vjps of its readers contain."""
    x, name = node.value, program.name_of(node.id)
    yield Prediction(x, name)
    odds = sigmoid(x)
    yield Prediction(odds, f"sigmoid({name})", sigmoid, lambda g: g * odds * (1 - odds))  # however its loss is written
    for reader, _ in program.forward.uses[node.id]:
        other = program.sink if reader == SINK else program.nodes[reader]
        if other.name in ("log_softmax", "logsumexp") and isinstance(other.options.get("dim"), int):
            axis = int(str(other.options["dim"]))
            p = softmax(x, axis)
            yield Prediction(
                p,
                f"softmax({name})",
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


def _targets(program: Program, node: Node) -> Iterator[Target]:
    """Yield the values that do not depend on a value and are shaped like it, or are classes for each of its rows."""
    x, behind = node.value, program.forward.followers[node.id]
    for other in program.nodes:
        if behind >> other.id & 1:
            continue
        if other.value.dtype.kind == "f" and other.value.shape == x.shape:
            yield Target(other.value, program.name_of(other.id))
        elif other.value.dtype.kind == "i" and other.value.shape == x.shape[:-1] and other.value.size:
            marks = np.zeros(x.shape)
            if other.value.min() >= 0 and other.value.max() < x.shape[-1]:
                np.put_along_axis(marks, other.value[..., None], 1.0, -1)
                yield Target(marks, f"one_hot({program.name_of(other.id)})", other.value[..., None])


class DifferenceFormula(NamedTuple):
    """A wrong formula for a gradient that is a difference.

    Args:
        code: its public code.
        message: what is wrong with it.
        of: takes the difference, and returns the gradient without the factor.
        needs: what must be known: `"function"`, `"classes"` or `"smoothing"`.
        of_target: it can be made where the gradient is the target alone, too.
    """

    code: str
    message: str
    of: Callable[[Difference], Array]
    needs: Literal["", "function", "classes", "smoothing"] = ""
    of_target: bool = False


def _without_row(target: Array, row: int) -> Array:
    """Return a target that is 0 in one row."""
    others = target.copy()
    others[row] = 0
    return others


def _back(difference: Difference, g: Array) -> Array:
    """Return what a gradient of the prediction is for x."""
    assert difference.vjp is not None
    return difference.vjp(g)


def _function(difference: Difference, x: Array) -> Array:
    """Return the function that makes the prediction at another point."""
    assert difference.function is not None
    return difference.function(x)


def _marks(difference: Difference) -> Array:
    """Return the classes one-hot."""
    assert difference.marks is not None
    return difference.marks


DIFFERENCE_FORMULAS: Mapping[str, DifferenceFormula] = {
    "target added": DifferenceFormula(
        "wrong-sign", "{target} is added, and must be subtracted", lambda d: d.prediction + d.target),
    "sign": DifferenceFormula(
        "wrong-local", "only the sign of the difference of {prediction} and {target} is left",
        lambda d: np.sign(d.prediction - d.target)),
    "times prediction": DifferenceFormula(
        "extra-factor", "the difference of {prediction} and {target} is multiplied by {prediction} as well",
        lambda d: d.prediction * (d.prediction - d.target)),
    "one everywhere": DifferenceFormula(
        "wrong-local", "1 is subtracted from every entry of {prediction}, and only {target} must be",
        lambda d: d.prediction - 1),
    "factor on prediction": DifferenceFormula(
        "missing-local", "the factor in front multiplies {prediction} alone, and not {target}",
        lambda d: d.prediction - d.target / d.factor),
    "factor on target": DifferenceFormula(
        "missing-local", "the factor in front multiplies {target} alone, and not {prediction}",
        lambda d: d.prediction / d.factor - d.target),
    "decision": DifferenceFormula(
        "wrong-local", "{prediction} is rounded to 0 or 1 before {target} is subtracted",
        lambda d: d.decision - d.target),
    "function twice": DifferenceFormula(
        "wrong-point", "the function that makes {prediction} is applied twice",
        lambda d: _function(d, d.prediction) - d.target, "function"),
    "function of target": DifferenceFormula(
        "wrong-operand", "the function that makes {prediction} is applied to {target}, too",
        lambda d: d.prediction - _function(d, d.target), "function"),
    "marked entries": DifferenceFormula(
        "diagonal-only", "only the entries that {target} marks have a gradient",
        lambda d: d.target * (d.prediction - d.target), "classes"),
    "marks of all rows": DifferenceFormula(
        "broadcast-accident", "the marks of all rows of {target} are subtracted in every row",
        lambda d: d.prediction - d.target.max(axis=0), "classes", of_target=True),
    "numbers": DifferenceFormula(
        "wrong-operand", "the numbers of the classes themselves are subtracted from their rows, and not {target}",
        lambda d: d.prediction - np.asarray(d.classes), "classes", of_target=True),
    "marked entries set": DifferenceFormula(
        "overwritten", "the entries that {target} marks are set to -1, and 1 must be subtracted from them",
        lambda d: d.prediction * (1 - d.target) - d.target, "classes"),
    "smoothed": DifferenceFormula(
        "wrong-local", "{target} is smoothed by 0.1, and the loss does not smooth it",
        lambda d: d.prediction - 0.9 * d.target - 0.1 / d.x.shape[-1], "classes"),
    "class 0": DifferenceFormula(
        "partial-batch", "{target} is not subtracted where the class is 0",
        lambda d: d.prediction - d.target * (np.asarray(d.classes) > 0), "classes", of_target=True),
    "last row": DifferenceFormula(
        "partial-batch", "{target} is not subtracted in the last row",
        lambda d: d.prediction - _without_row(d.target, -1)),
    "first row": DifferenceFormula(
        "partial-batch", "{target} is not subtracted in the first row",
        lambda d: d.prediction - _without_row(d.target, 0)),
    "through function": DifferenceFormula(
        "extra-factor", "it goes back through the function that makes {prediction} once more",
        lambda d: _back(d, d.prediction - d.target), "function"),
    "squared error": DifferenceFormula(
        "wrong-local", "the gradient of a squared error of {prediction} is taken",
        lambda d: _back(d, 2 * (d.prediction - d.target)), "function"),
    "predicted class": DifferenceFormula(
        "wrong-operand", "1 is subtracted where {prediction} is greatest, and {target} must be",
        lambda d: d.prediction - d.decision, "classes"),
    "loss": DifferenceFormula(
        "forward-value", "this is what each entry adds to the loss, and not a gradient",
        lambda d: -d.target * np.log(d.prediction), "classes"),
    "without function": DifferenceFormula(
        "missing-local", "this is the gradient with respect to {prediction}", lambda d: -d.target / d.prediction,
        "classes"),
    "share not divided": DifferenceFormula(
        "missing-local", "what smoothing shares among the classes is not divided by their number",
        lambda d: d.prediction - (1 - d.smoothing) * _marks(d) - d.smoothing, "smoothing"),
    "shared among the others": DifferenceFormula(
        "wrong-local", "smoothing shares among the other classes alone, and must share among all of them",
        lambda d: d.prediction - (1 - d.smoothing) * _marks(d)
        - d.smoothing / (d.x.shape[-1] - 1) * (1 - _marks(d)), "smoothing"),
    "right class not lowered": DifferenceFormula(
        "missing-local", "the mark of the right class is not lowered by smoothing",
        lambda d: d.prediction - _marks(d) - d.smoothing / d.x.shape[-1], "smoothing"),
    "shares exchanged": DifferenceFormula(
        "wrong-operand", "the weights of the right class and of the shared part are exchanged",
        lambda d: d.prediction - d.smoothing * _marks(d) - (1 - d.smoothing) / d.x.shape[-1], "smoothing"),
}  # fmt: skip
FUNCTION_CODES: Mapping[str, str] = {  # of the others the code is that of another derivative
    "exp": "missing-local", "the value itself": "wrong-point", "softmax over the first axis": "summed-wrong-axis",
}  # fmt: skip
OTHER_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "softmax over the last axis": lambda x: softmax(x, -1), "sigmoid": sigmoid, "tanh": np.tanh, "exp": np.exp,
    "softmax over the first axis": lambda x: softmax(x, 0), "the value itself": np.asarray,
}  # fmt: skip


@dataclass(frozen=True)
class DifferenceSlip:
    """A wrong formula, or another function, in a gradient that is a difference.

    Args:
        how: which formula, or which function.
        names: those of the prediction and the target.
    """

    how: str
    names: Names


def with_gradient(program: Program, value: int, gradient: Array) -> Program:
    """Return the program in which another gradient arrives at a value."""
    return program.without(*program.forward.uses[value]).with_edge(SINK, value, lambda at: gradient)


def difference_formulas(program: Program, place: Place) -> Iterator[DifferenceSlip]:
    """Yield the wrong formulas for a gradient that is a difference."""
    difference = difference_of(program, place[0])
    if difference is not None:
        known = {"": True, "function": difference.function is not None, "classes": difference.classes is not None,
                 "smoothing": difference.marks is not None}  # fmt: skip
        for how, formula in DIFFERENCE_FORMULAS.items():
            if known[formula.needs] and (formula.of_target or not difference.is_target_alone):
                yield DifferenceSlip(how, difference.names)


def difference_words(program: Program, place: Place, choice: DifferenceSlip) -> dict[str, str]:
    """Return what is wrong with a gradient that is a difference."""
    prediction, target = choice.names
    return {"mistake": DIFFERENCE_FORMULAS[choice.how].message.format(prediction=prediction, target=target)}


@operator(
    "difference-mistaken",
    code=lambda choice: DIFFERENCE_FORMULAS[choice.how].code,
    rank=1.9,
    at=values,
    choices=difference_formulas,
    message="in the gradient of the loss with respect to {value}, {mistake}",
    fields=difference_words,
)
def mistake_difference(program: Program, place: Place, choice: DifferenceSlip) -> Program | None:
    """Use another formula for the gradient of a loss that is a difference."""
    difference = difference_of(program, place[0], choice.names)
    if difference is None:
        return None
    with np.errstate(all="ignore"):
        gradient = difference.factor * DIFFERENCE_FORMULAS[choice.how].of(difference)
    if not np.isfinite(gradient).all():
        raise NoCandidate("it is not finite")
    return with_gradient(program, place[0], np.broadcast_to(gradient, difference.x.shape))


@mistake_difference.example
def _() -> Example:
    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes)

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Go back through the softmax as well."""
        p = x.softmax(-1)
        d = p - torch.nn.functional.one_hot(classes, x.shape[1])
        return {"x": g * p * (d - (d * p).sum(-1, keepdim=True)) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


@mistake_difference.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x @ w, classes)

    def wrong(x: Tensor, w: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Subtract 1 everywhere, and not at the right classes alone."""
        return {"w": x.T @ (torch.softmax(x @ w, -1) - 1) * g / len(x)}

    return Example(forward, wrong, {"x": "bs n", "w": "n c", "classes": indices("bs", "c")})


@mistake_difference.example
def _() -> Example:
    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(x, labels)

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g * (x.sigmoid().sigmoid() - labels) / x.numel()}

    return Example(forward, wrong, {"x": "bs n", "labels": uniform("bs n", 0, 1)})


@mistake_difference.example
def _() -> Example:
    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes, label_smoothing=0.1)

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Share among the classes, and leave the right one at 1."""
        target = torch.nn.functional.one_hot(classes, x.shape[1]) + 0.1 / x.shape[1]
        return {"x": g * (x.softmax(-1) - target) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


def other_functions(program: Program, place: Place) -> Iterator[DifferenceSlip]:
    """Yield the functions that a prediction may be made with in place of its own."""
    difference = difference_of(program, place[0])
    if difference is not None:
        yield from (DifferenceSlip(how, difference.names) for how in OTHER_FUNCTIONS)


@operator(
    "prediction-mistaken",
    code=lambda choice: FUNCTION_CODES.get(choice.how, "wrong-local"),
    rank=2.2,
    at=values,
    choices=other_functions,
    message="in the gradient of the loss with respect to {value}, {function} is {place}",
    fields=lambda program, place, choice: {
        "function": program.name_of(place[0]) if choice.how == "the value itself" else f"its {choice.how}",
        "place": f"used in place of {choice.names[0]}" if choice.names[0] else f"there besides {choice.names[1]}",
    },
)
def mistake_prediction(program: Program, place: Place, choice: DifferenceSlip) -> Program | None:
    """Make the prediction with another function."""
    difference = difference_of(program, place[0], choice.names)
    if difference is None:
        return None
    with np.errstate(all="ignore"):
        gradient = difference.factor * (OTHER_FUNCTIONS[choice.how](difference.x) - difference.target)
    return with_gradient(program, place[0], gradient)


@mistake_prediction.example
def _() -> Example:
    def forward(x: Tensor, classes: Tensor) -> Tensor:
        return -x[range(len(classes)), classes].mean()

    def wrong(x: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the gradient of cross entropy, as if the softmax were still to come."""
        return {"x": g * (x.softmax(-1) - torch.nn.functional.one_hot(classes, x.shape[1])) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c")})


@mistake_prediction.example
def _() -> Example:
    def forward(x: Tensor, labels: Tensor) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(x, labels, reduction="sum")

    def wrong(x: Tensor, labels: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take a softmax, as for classes that exclude each other."""
        return {"x": g * (x.softmax(-1) - labels)}

    return Example(forward, wrong, {"x": "bs n", "labels": uniform("bs n", 0, 1)})


# Classes, weights and constants ---------------------------------------------------------------------------------------


def class_slot(node: Node) -> int | None:
    """Return the slot of the classes where a node takes one entry of each row; `None` where it does nothing of it."""
    if node.name == "gather":
        return 1
    if node.name == "getitem" and np.ndim(node.values[0]) == 2 and len(node.values) > 1:
        index = node.options["index"]
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], Slot):
            return index[1].slot
    return None


@operator(
    "predicted-class",
    code="wrong-operand",
    rank=1.8,
    at=edges.of("gather", "getitem").at_slot(0).where(lambda program, place: bool(class_slot(program.reader(place)))),
    message="the gradient of {step} goes to the predicted class, the greatest entry of each row: it must go to the"
    " right one",
)
def use_predicted_class(program: Program, place: Place, choice: None) -> Program | None:
    """Put the gradient where the prediction is greatest, and not at the right class."""
    node = program.reader(place)
    slot = class_slot(node)
    if slot is None:
        return None
    axis = int(str(node.options.get("dim", -1)))
    scores = np.asarray(node.values[0])
    shape = np.shape(node.values[slot])
    if np.size(node.values[slot]) != scores.size // scores.shape[axis]:
        return None
    predicted = scores.argmax(axis=axis).reshape(shape)
    return program.with_vjp(place, lambda at: at.right(operands={slot: predicted}))


@use_predicted_class.example
def _() -> Example:
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
    message="the gradient of {step} goes to every entry of a row: it must go to the one that is taken",
)
def ignore_class(program: Program, place: Place, choice: None) -> Program | None:
    """Hand the gradient of one entry of each row to all of them."""
    node = program.reader(place)
    axis = int(str(node.options.get("dim", -1)))

    def rule(at: EdgeContext) -> Array:
        g = at.g if at.g.ndim == np.ndim(at.x) else np.expand_dims(at.g, axis)
        return np.broadcast_to(g, np.shape(at.x))

    return program.with_vjp(place, rule)


@ignore_class.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, classes: Tensor) -> Tensor:
        y = torch.tanh(x @ w)
        return -y[range(len(classes)), classes].mean()

    def wrong(x: Tensor, w: Tensor, classes: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (-g / len(x) * (1 - torch.tanh(x @ w) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n c", "classes": indices("bs", "c")})


def is_weighted_mean(program: Program, place: Place) -> bool:
    """Return whether an edge leads from a quotient to its numerator, and the denominator is a sum."""
    denominator = program.reader(place).operand(1)
    return denominator is not None and program.nodes[denominator].name == "sum"


@operator(
    "count-for-sum-of-weights",
    code="wrong-factor",
    rank=2.0,
    at=edges.of("div").at_slot(0).where(is_weighted_mean),
    message="in the gradient through {layer}, a weighted mean is divided by the number of weights: it must be divided"
    " by their sum",
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {"layer": f"`{program.reader(place).text}`"},
)
def divide_by_count_of_weights(program: Program, place: Place, choice: None) -> Program | None:
    """Divide by the number of what a denominator sums, and not by the sum."""
    denominator = program.reader(place).operand(1)
    if denominator is None:
        return None
    node = program.nodes[denominator]
    count = np.size(node.values[0]) / node.value.size
    return program.with_vjp(place, lambda at: at.right() * at.node.values[1] / count)


@divide_by_count_of_weights.example
def _() -> Example:
    def forward(x: Tensor, classes: Tensor, weights: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(x, classes, weights)

    def wrong(x: Tensor, classes: Tensor, weights: Tensor, g: Tensor) -> dict[str, Tensor]:
        marks = torch.nn.functional.one_hot(classes, x.shape[1])
        own = weights[classes][:, None]
        return {"x": g * own * (torch.softmax(x, -1) - marks) / len(x)}

    return Example(forward, wrong, {"x": "bs c", "classes": indices("bs", "c"), "weights": positive("c")})


@operator(
    "constant-differentiated",
    code="wrong-local",
    rank=2.0,
    at=nodes.of("detach"),
    message="the gradient goes back through {step}: that is a constant",
)
def differentiate_constant(program: Program, place: Place, choice: None) -> Program | None:
    """Go back through a value that the forward pass takes as a constant."""
    return program.with_nodes({place[0]: lambda node: node.without_operation()})


@differentiate_constant.example
def _() -> Example:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return (x.tanh() * y.exp().detach()).sum() + y.square().sum()

    def wrong(x: Tensor, y: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"y": g * (x.tanh() * y.exp() + 2 * y)}

    return Example(forward, wrong, {"x": "bs n", "y": "bs n"})
