"""The mistake in a learner's answer to a quiz question. Answers are text, which is read and never run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Number, Option, QuizMistake, Shape
from grader.errors import ExpressionError, InfrastructureError, describe_error

from .answer_reading import LONGEST_MESSAGE, TypedQuestion, key_values, points_of, readings

if TYPE_CHECKING:
    import numpy as np

    from .answer_reading import Values

LONGEST_CHOICE, LONGEST_REASON = 60, 200
ROUNDING = 1e-9
DECIMAL = re.compile(r"[-+−]?(\d*)[.,](\d+)\s*(%?)")
LEAST_DIGITS = 3  # of a decimal, without zeros in front, that may be the right number rounded
COMPUTED = re.compile(r"[-+*/@]|\.(?!t\()\w+\(")
NOT_IT = "Look at the question again, and try it with small numbers."
WRONG_NUMBER = "Look at the question again, and write down each step that leads to the number."
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
        if isinstance(question, Choice):
            return _choice_mistake(question, answer)
        return _choices_mistake(question, answer) if isinstance(question, Choices) else _typed_mistake(question, answer)
    except ExpressionError as error:
        message = str(error)
        sentence = f"{message[0].upper()}{message[1:]}{'' if message.endswith('?') else '.'}"
        return QuizMistake(code=error.code, says=sentence)
    except RecursionError:
        return QuizMistake(code="not-read", says="It is nested too deeply: the answer is much simpler.")
    except Exception as error:  # an answer is any text: an unforeseen one must not end the judging of the others
        reason = describe_error(error)[:LONGEST_REASON]
        raise InfrastructureError(
            f"handgrad cannot judge this answer ({reason}), which is a fault of its own: please report it, with the "
            "answer"
        ) from error


def _choice_mistake(question: Choice, answer: str) -> QuizMistake | None:
    """Return the mistake of naming a wrong choice; `None` if the right one is named.

    Raises:
        ExpressionError: the answer names no choice.
    """
    label = _label(answer, [*question.right, *question.wrong])
    return None if label in question.right else question.wrong[label]


def _choices_mistake(question: Choices, answer: str) -> QuizMistake | None:
    """Return the mistake in an answer that names choices, such as "a, c"; `None` if it names exactly the right ones.

    It is the mistake of the first wrong choice that the answer names, else of the first right one that it leaves out.

    Raises:
        ExpressionError: a part of the answer names no choice.
    """
    known = [*question.right, *question.wrong]
    chosen = {_label(part, known) for part in re.split(r"[\s,;]+", answer) if part}
    options: Mapping[str, Option] = {**question.wrong, **question.right}
    return next((option for label, option in options.items() if (label in chosen) != (label in question.right)), None)


def _label(text: str, known: Collection[str]) -> str:
    """Return the label of a choice as it is declared, for a text such as "(A)".

    Args:
        text: the learner's text.
        known: the labels of the choices.

    Raises:
        ExpressionError: the text is no label; the message says which are known.
    """
    label = text.strip().strip("\"'`.()").lower()
    if label not in known:
        near = difflib.get_close_matches(label, known, 1) if len(label) <= LONGEST_CHOICE else []
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(sorted(known))}"
        raise ExpressionError(f"there is no choice {label[:16]!r}: {hint}")
    return label


def _typed_mistake(question: TypedQuestion, answer: str) -> QuizMistake | None:
    """Return the mistake in a typed answer; `None` if it is right.

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

    0 for any other answer, such as `133`.
    """
    match = DECIMAL.fullmatch(answer.strip())
    if match is None or len((match[1] + match[2]).lstrip("0")) < LEAST_DIGITS:
        return 0.0
    return 0.5 * 10.0 ** -len(match[2]) * (0.01 if match[3] else 1.0)


def _mean_the_same(question: TypedQuestion, values: Values, other: Values, rounded: float = 0.0) -> bool:
    """Return whether two answers have the same meaning; the word `error` means any error.

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
    return _wrong_formula(question, values, right) if isinstance(question, Expression) else _wrong_number(values, right)


def _wrong_number(values: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> QuizMistake:
    """Return the mistake in a wrong number: a wrong sign, or else the mistake `unknown`."""
    has_other_sign = right[0] and abs(float(values[0] / right[0]) + 1) < ROUNDING
    return SIGN if has_other_sign else QuizMistake(code="unknown", says=WRONG_NUMBER)


def _wrong_formula(question: Expression, values: list[np.ndarray], right: list[np.ndarray]) -> QuizMistake:
    """Return the mistake in a wrong formula, from its values and the right ones at each point."""
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
