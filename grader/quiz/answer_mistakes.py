"""The mistake in a learner's answer to a quiz question. Answers are text, which is read and never run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Number, Option, QuizMistake, Shape
from grader.errors import ExpressionError, InfrastructureError, describe_error

from .answer_reading import LONGEST_MESSAGE, TypedQuestion, key_values, points_of, readings, worth_of_units
from .choice_reading import named_choices

if TYPE_CHECKING:
    import numpy as np

    from .answer_reading import Values

LONGEST_REASON = 200
ROUNDING = 1e-9
PERCENT = 0.01
DECIMAL = re.compile(r"[-+−]?(\d*)[.,](\d+)\s*(%?)")
LEAST_DIGITS = 3  # of a decimal, without zeros in front, that may be the right number rounded
COMPUTED = re.compile(r"[-+*/@]|\.(?!t\()\w+\(")
NOT_IT = "Look at the question again, and try it with small numbers."
WRONG_NUMBER = "Look at the question again, and write down each step that leads to the number."
UNIT = QuizMistake(code="wrong-factor", says="The digits are right; the unit or the point in them is not.")
SIGN = QuizMistake(code="wrong-sign", says="The size is right; the sign is not.")


def mistake_in(question: AnswerableQuestion, answer: str) -> QuizMistake | None:
    """Return the mistake in an answer; `None` if it is right.

    An answer that cannot be read is a mistake with the code `not-read`.

    Args:
        question: the question, with the numbers of the learner's variant.
        answer: the learner's answer as typed.

    Raises:
        InfrastructureError: the answer cannot be judged, because of a mistake in handgrad.
    """
    try:
        if len(answer) > LONGEST_MESSAGE:
            raise ExpressionError(f"it has {len(answer)} characters: the answer is much shorter")
        if isinstance(question, (Choice, Choices)):
            return _choices_mistake(question, answer)
        return _typed_mistake(question, answer)
    except ExpressionError as error:
        return unread(error)
    except RecursionError:
        return QuizMistake(code="not-read", says="It is nested too deeply: the answer is much simpler.")
    except Exception as error:  # an answer is any text: an unforeseen one must not end the judging of the others
        reason = describe_error(error)[:LONGEST_REASON]
        raise InfrastructureError(
            f"handgrad cannot judge this answer ({reason}), which is a fault of its own: please report it, with the "
            "answer"
        ) from error


def unread(error: ExpressionError) -> QuizMistake:
    """Return the mistake of an answer that cannot be read or evaluated, with its error's message as a sentence."""
    message = str(error)
    return QuizMistake(code=error.code, says=f"{message[0].upper()}{message[1:]}{'' if message.endswith('?') else '.'}")


def _choices_mistake(question: Choice | Choices, answer: str) -> QuizMistake | None:
    """Return the mistake in an answer that names choices, such as "a, c"; `None` if it names exactly the right ones.

    It is the mistake of the first wrong choice that the answer names, else of the first right one that it leaves out.

    Raises:
        ExpressionError: the answer names no choice, or something that is none.
    """
    chosen = named_choices(question, answer)
    if isinstance(question, Choice):
        return question.wrong.get(chosen[0])
    options: Mapping[str, Option] = {**question.wrong, **question.right}
    return next((option for name, option in options.items() if (name in chosen) != (name in question.right)), None)


def _typed_mistake(question: TypedQuestion, answer: str) -> QuizMistake | None:
    """Return the mistake in a typed answer; `None` if it is right.

    It is the first declared one that any reading of the answer has, else one that the likeliest reading shows.

    Raises:
        ExpressionError: the answer cannot be read, or repeats the question.
    """
    meanings = list(readings(question, answer))
    right = key_values(question, question.right)
    rounded = _rounding_of(answer)
    if any(_mean_the_same(question, values, right, rounded) for values in meanings):
        if isinstance(question, Shape) and _repeats_question(question, answer):
            raise ExpressionError("that is the question itself: write its axes, such as (k, 3)")
        return None
    for wrong, mistake in question.wrong.items():
        if any(_mean_the_same(question, values, key_values(question, wrong), rounded) for values in meanings):
            return mistake
    return _undeclared_mistake(question, meanings[0], right)


def _rounding_of(answer: str) -> float:
    """Return the greatest error by which a decimal number of three digits or more is rounded, 0.005 for `1.33`.

    0 for any other answer, such as `133`. For a percentage, such as `1.33%`, it is a hundredth of that.
    """
    match = DECIMAL.fullmatch(answer.strip())
    if match is None or len((match[1] + match[2]).lstrip("0")) < LEAST_DIGITS:
        return 0.0
    return 0.5 * 10.0 ** -len(match[2]) * (0.01 if match[3] else 1.0)


def _mean_the_same(question: TypedQuestion, values: Values, other: Values, rounded: float = 0.0) -> bool:
    """Return whether two answers have the same meaning; the word `error` means any error.

    Numbers without a tolerance may differ by rounding errors alone.

    Args:
        question: the question.
        values: the meaning of the learner's answer: a word, or an array for each point.
        other: the meaning of the author's answer, right or wrong.
        rounded: by how much the learner may have rounded a number.
    """
    if isinstance(values, str) or isinstance(other, str):
        return values == other or (values in ("error", "exception") and str(other).endswith("error"))
    from .formula_equivalence import same_values

    if isinstance(question, Number):
        allowed = max(question.tolerance, rounded) if question.tolerance else 0.0  # without one, numbers are exact
        return abs(float(values[0]) - float(other[0])) <= allowed + ROUNDING * abs(float(other[0]))
    return same_values(values, other)


def _repeats_question(question: Shape, answer: str) -> bool:
    """Return whether an answer asks the question back: `(inp - targ).shape`."""
    question_text = re.sub(r"\s", "", question.ask + question.listing)
    computed = re.fullmatch(r"\(?(.+?)\)?\.(?:shape|size\(\))", re.sub(r"\s", "", answer))
    return computed is not None and computed[1] in question_text and COMPUTED.search(computed[1]) is not None


def _undeclared_mistake(question: TypedQuestion, values: Values, right: Values) -> QuizMistake:
    """Return the mistake in a wrong answer for which the author has declared none.

    It is `unknown` if one of the two meanings is a word.

    Args:
        question: the question.
        values: the meaning of the answer.
        right: the meaning of the right answer.
    """
    if isinstance(values, str) or isinstance(right, str):
        return QuizMistake(code="unknown", says=NOT_IT)
    if isinstance(question, Shape):
        if sorted(values[0]) == sorted(right[0]):
            return QuizMistake(code="transposed", says="These are the right axes, in another order.")
        return QuizMistake(code="wrong-shape", says="That is not its shape. Ask of each axis: what does it count?")
    if isinstance(question, Expression):
        return _wrong_formula(question, values, right)
    return _wrong_number(question, values, right)


def _wrong_number(question: TypedQuestion, values: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> QuizMistake:
    """Return the mistake in a wrong number: a wrong sign, a wrong unit, or else the mistake `unknown`.

    The unit is wrong if the ratio to the right number is what a unit is worth, or 0.01 where that number is below 1.
    """
    ratio = float(values[0] / right[0]) if right[0] else 0.0
    if abs(ratio + 1) < ROUNDING:
        return SIGN
    factors = {*worth_of_units(question).values()} if isinstance(question, Number) else set()
    factors |= {PERCENT} if abs(float(right[0])) < 1 else set()
    is_unit = any(abs(ratio / factor - 1) < ROUNDING for factor in factors)
    return UNIT if is_unit else QuizMistake(code="unknown", says=WRONG_NUMBER)


def _wrong_formula(question: Expression, values: list[np.ndarray], right: list[np.ndarray]) -> QuizMistake:
    """Return the mistake in a wrong formula, from its values and the right ones at each point.

    A wrong shape comes first (`transposed`, if the transposed values are right, else `wrong-shape`), then a wrong sign,
    then `wrong-factor` for another constant factor; else it is `unknown`.
    """
    from .formula_equivalence import constant_ratio, same_values
    from .formula_work import shape_text

    if values[0].shape != right[0].shape:
        if all(value.ndim == 2 for value in values) and same_values([value.T for value in values], right):
            return QuizMistake(code="transposed", says="The entries are right, but rows and columns are swapped.")
        shape = shape_text(values[0].shape, points_of(question)[0].sizes)
        return QuizMistake(
            code="wrong-shape", says=f"It gives {shape}. A gradient has the shape of what it belongs to."
        )
    factor = constant_ratio(values, right)
    if factor is None:
        return QuizMistake(
            code="unknown", says="It gives other values. Put in small numbers and compare, step by step."
        )
    if abs(factor + 1) < ROUNDING:
        return SIGN
    return QuizMistake(code="wrong-factor", says="Only a constant factor is wrong: where would one come from?")
