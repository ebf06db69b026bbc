"""The questions of a quiz in one learner's variant, which determines the numbers and the order of choices."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from grader.course.course_file import KEYS_FILE
from grader.course.questions import (
    AnswerableQuestion,
    Choice,
    Choices,
    Number,
    Predict,
    Question,
    Shape,
    Word,
)
from grader.course.quiz import Quiz
from grader.errors import ExpressionError, SpecError

from .choice_reading import choice_texts

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
ParameterValues = Mapping[str, float]


def question_of(quiz: Quiz, name: str, variant: int) -> Question:
    """Return a question with the numbers of a variant.

    Args:
        quiz: the quiz.
        name: the id of the question.
        variant: the number of the variant.
    """
    question = quiz.questions[name]
    return fill_in_values(question, draw_values(name, question, variant))


def question_with_key(quiz: Quiz, name: str, variant: int) -> AnswerableQuestion:
    """Return a question with the numbers of a variant and its right answer, which a prediction gets from the keys.

    Args:
        quiz: the quiz.
        name: the id of the question.
        variant: the number of the variant.

    Raises:
        SpecError: the right answer of a prediction was never computed.
    """
    return question_with_values(quiz, name, draw_values(name, quiz.questions[name], variant))


def question_with_values(quiz: Quiz, name: str, values: ParameterValues) -> AnswerableQuestion:
    """Return a question with these values of its parameters and its right answer.

    Args:
        quiz: the quiz.
        name: the id of the question.
        values: the value of each parameter.

    Raises:
        SpecError: the right answer of a prediction was never computed.
    """
    question = fill_in_values(quiz.questions[name], values)
    return _with_predicted_key(quiz, name, question, values) if isinstance(question, Predict) else question


def _with_predicted_key(quiz: Quiz, name: str, question: Predict, values: ParameterValues) -> AnswerableQuestion:
    """Return a prediction as a question of the kind that its computed answer has.

    Raises:
        SpecError: the right answer was never computed.
    """
    key = quiz.keys.get(name, {}).get(values_text(values))
    if key is None:
        raise SpecError(f"{KEYS_FILE} has no answer for {name} ({values_text(values)}): run handgrad build.")
    common = question.model_dump(exclude={"kind", "tolerance"}) | dict(key)
    if key["kind"] == "number":
        return Number.model_validate({**common, "tolerance": question.tolerance})
    return (Shape if key["kind"] == "shape" else Word).model_validate(common)


def _seeded_number(variant: int, *names: str) -> int:
    """Return a random number for some names in a variant, the same in every run and on every machine."""
    return int.from_bytes(hashlib.sha256("/".join((str(variant), *names)).encode()).digest()[:8])


def draw_values(name: str, question: Question, variant: int) -> ParameterValues:
    """Return the value of each parameter of the question `name` in a variant; in variant 0 the first of each."""
    return {
        parameter: values[_seeded_number(variant, name, parameter) % len(values) if variant else 0]
        for parameter, values in question.params.items()
    }


def every_values(question: Question) -> Iterator[ParameterValues]:
    """Yield every combination of the values of a question's parameters."""
    for values in itertools.product(*question.params.values()):
        yield dict(zip(question.params, values, strict=True))


def values_text(values: ParameterValues) -> str:
    """Return the values of parameters as text, such as `bs=4 n=3`; empty if there are none."""
    return " ".join(f"{name}={_number_text(value)}" for name, value in values.items())


def options(name: str, question: Choice | Choices, variant: int) -> dict[str, str]:
    """Return the text of each choice by its label, in the order of a variant, for the question `name`."""
    texts = choice_texts(question)
    return {label: texts[label] for label in shuffled(name, texts, variant)}


def shuffled(name: str, labels: Iterable[str], variant: int) -> list[str]:
    """Return labels in the order of a variant, for the question `name`."""
    return sorted(labels, key=lambda label: _seeded_number(variant, name, label))


def fill_in_values(question: Question, values: ParameterValues) -> Question:
    """Return a question with these values in place of its parameters.

    In all of its texts `{...}` becomes its value, and of each parameter this value alone is left; without values, the
    question is unchanged.
    """
    if not values:
        return question
    texts = _with_values(question.model_dump(exclude={"params"}), values)
    return type(question).model_validate({**texts, "params": {name: (value,) for name, value in values.items()}})


def _with_values(part: Any, values: ParameterValues) -> Any:
    """Return a part of a question with the value of each `{...}` in all of its texts."""
    if isinstance(part, str):
        return PLACEHOLDER.sub(lambda match: _placeholder_value(match, values), part)
    if isinstance(part, dict):
        return {_with_values(key, values): _with_values(value, values) for key, value in part.items()}
    return [_with_values(item, values) for item in part] if isinstance(part, (list, tuple)) else part


def _placeholder_value(match: re.Match[str], values: ParameterValues) -> str:
    """Return the value of a match such as `{n + 1}` as text.

    The match itself if it is no formula, as braces in code.
    """
    try:
        from .formula_evaluation import arithmetic  # imports numpy

        return _number_text(arithmetic(match[1], values))
    except ExpressionError:
        return match[0]


def _number_text(value: float) -> str:
    """Return a number with at most ten significant digits and without trailing zeros: "0.5", "3"."""
    return f"{value:.10g}"
