"""Judges answers to quiz questions, and finds the mistake in a wrong one. Answers are text, and are only read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from grader.errors import ExpressionError

from .formula_evaluation import arithmetic
from .questions import AnswerableQuestion, Choice, Choices, Expression, Given, Mistake, Number, Option, Shape, Word

if TYPE_CHECKING:
    import numpy as np

    from .formula_equivalence import Points

LONGEST = 500
ROUNDING = 1e-9
NUMBER_AND_UNIT = re.compile(r"(.*?[\d.)])\s*([A-Za-z]+)")
WRAPPED = re.compile(r"(?:torch\.)?(?:Size|tuple|size|shape)?\s*[(\[](.*)[)\]]")
NOT_IT = "Look at the question again, and try it with small numbers."


def mistake_in(question: AnswerableQuestion, answer: str) -> Mistake | None:
    """The mistake that an answer reveals; `None` if it is right."""
    if len(answer) > LONGEST:
        says = f"It has {len(answer)} characters: {LONGEST} are more than enough for any answer here."
        return Mistake(code="syntax-error", says=says)
    try:
        if isinstance(question, Choice):
            return _choice(question, answer)
        if isinstance(question, Choices):
            return _choices(question, answer)
        if isinstance(question, Number):
            return _number(question, answer)
        if isinstance(question, Shape):
            return _shape(question, answer)
        return _expression(question, answer) if isinstance(question, Expression) else _word(question, answer)
    except ExpressionError as error:
        says = str(error)
        return Mistake(code=error.code, says=f"{says[0].upper()}{says[1:]}{'' if says.endswith('?') else '.'}")


def _choice(question: Choice, answer: str) -> Mistake | None:
    label = _label(answer, [*question.right, *question.wrong])
    return None if label in question.right else question.wrong[label]


def _choices(question: Choices, answer: str) -> Mistake | None:
    """The first one that does not belong; if there is none, the first that is missing."""
    known = [*question.right, *question.wrong]
    chosen = {_label(part, known) for part in re.split(r"[\s,;]+", answer) if part}
    options: Mapping[str, Option] = {**question.wrong, **question.right}
    return next((option for label, option in options.items() if (label in chosen) != (label in question.right)), None)


def _label(text: str, known: Collection[str]) -> str:
    label = text.strip().strip("\"'`.").lower()
    if label not in known:
        near = difflib.get_close_matches(label, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(sorted(known))}"
        raise ExpressionError(f"there is no choice {label[:40]!r}: {hint}", "wrong-type")
    return label


def _number(question: Number, answer: str) -> Mistake | None:
    value, right = _number_in_unit(question, answer), arithmetic(question.right)

    def is_near(other: float) -> bool:
        return abs(value - other) <= question.tolerance + ROUNDING * abs(other)

    if is_near(right):
        return None
    for wrong, mistake in question.wrong.items():
        if is_near(arithmetic(wrong)):
            return mistake
    if is_near(-right):
        return Mistake(code="wrong-sign", says="The size is right; the sign is not.")
    return Mistake(code="unknown", says=NOT_IT)


def _number_in_unit(question: Number, answer: str) -> float:
    """The number that an answer gives, in the question's unit."""
    found = NUMBER_AND_UNIT.fullmatch(answer)
    if found is None or not question.unit:
        return arithmetic(answer)
    worth = {question.unit: 1.0, **question.units}
    if found[2] not in worth:
        raise ExpressionError(f"{found[2]} is no unit here: give the number in {question.unit}", "wrong-type")
    return arithmetic(found[1]) * worth[found[2]]


def _shape(question: Shape, answer: str) -> Mistake | None:
    axes, right = axes_in(answer), axes_in(question.right)
    sizes = {name: f"{size:g}" for name, (size,) in question.params.items()}

    def is_same(other: tuple[str, ...]) -> bool:
        return len(axes) == len(other) and all(a in (b, sizes.get(b)) for a, b in zip(axes, other, strict=True))

    if is_same(right):
        return None
    for wrong, mistake in question.wrong.items():
        if is_same(axes_in(wrong)):
            return mistake
    if sorted(axes) == sorted(right) or sorted(axes) == sorted(sizes.get(axis, axis) for axis in right):
        return Mistake(code="transposed", says="These are the right axes, in another order.")
    return Mistake(code="wrong-shape", says="That is not its shape. Ask of each axis: what does it count?")


def axes_in(text: str) -> tuple[str, ...]:
    """The axes of a shape as it was typed: `(bs, n)`, `[4, 3]`, `bs n`; none for a single number."""
    bare = text.strip()
    while found := WRAPPED.fullmatch(bare):
        bare = found[1].strip()
    axes = tuple(part for part in re.split(r"[\s,]+", bare) if part)
    if axes == ("scalar",):
        return ()
    strange = next((axis for axis in axes if not re.fullmatch(r"\w+", axis, re.ASCII)), None)
    if strange is not None:
        raise ExpressionError(f"{strange[:40]!r} is no axis: write the shape like (k, 3)", "wrong-type")
    return axes


def _word(question: Word, answer: str) -> Mistake | None:
    said, right = answer.strip().strip("\"'`.").lower(), question.right.lower()
    if said == right or (said in {"error", "exception"} and right.endswith("error")):
        return None
    for wrong, mistake in question.wrong.items():
        if said == wrong.lower():
            return mistake
    return Mistake(code="unknown", says=NOT_IT)


def _expression(question: Expression, answer: str) -> Mistake | None:
    from .formula_equivalence import constant_ratio, same_values

    points = points_of(question)
    values, right = points.values(answer), points.values(question.right)
    if same_values(values, right):
        return None
    for wrong, mistake in question.wrong.items():
        if same_values(values, points.values(wrong)):
            return mistake
    if values[0].shape != right[0].shape:
        return _wrong_shape_mistake(points, values, right)
    factor = constant_ratio(values, right)
    if factor is not None and abs(factor + 1) < ROUNDING:
        return Mistake(code="wrong-sign", says="The size is right; the sign is not.")
    if factor is not None:
        return Mistake(code="wrong-factor", says="Only a constant factor is wrong: where would one come from?")
    return Mistake(code="unknown", says="It gives other values. Put in small numbers and compare, step by step.")


def _wrong_shape_mistake(points: Points, values: list[np.ndarray], right: list[np.ndarray]) -> Mistake:
    from .array_operations import shape_text
    from .formula_equivalence import same_values

    if all(value.ndim == 2 for value in values) and same_values([value.T for value in values], right):
        return Mistake(code="transposed", says="The entries are right, but rows and columns are exchanged.")
    shape = shape_text(values[0].shape, points.draws[0].sizes)
    return Mistake(code="wrong-shape", says=f"It gives {shape}. A gradient has the shape of what it belongs to.")


def points_of(question: Expression) -> Points:
    """Where the formulas of a question are compared."""
    given = tuple((name, one if isinstance(one, Given) else Given(axes=one)) for name, one in question.given.items())
    return _points(given, question.functions)


@lru_cache(maxsize=64)
def _points(given: tuple[tuple[str, Given], ...], functions: tuple[str, ...]) -> Points:
    from grader.shapes import axes_of

    from .formula_equivalence import Variable, draw_points

    variables = {name.replace(".", "_"): Variable(axes_of(one.axes), one.low, one.high) for name, one in given}
    return draw_points(variables, functions)
