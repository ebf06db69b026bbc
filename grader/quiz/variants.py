"""A quiz's questions as one learner meets them: with the numbers and the order of choices that the variant draws."""

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

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
Values = Mapping[str, float]


def question_of(quiz: Quiz, name: str, variant: int) -> Question:
    """Return a question as this variant asks it, with its numbers drawn."""
    question = quiz.questions[name]
    return fill_in_values(question, draw_values(name, question, variant))


def question_with_key(quiz: Quiz, name: str, variant: int) -> AnswerableQuestion:
    """Return a question as answers to it are judged: a prediction with its key.

    Raises:
        SpecError: the key of a prediction was never computed.
    """
    return question_with_values(quiz, name, draw_values(name, quiz.questions[name], variant))


def question_with_values(quiz: Quiz, name: str, values: Values) -> AnswerableQuestion:
    """Return a question with these values for its parameters; see `question_with_key`."""
    question = fill_in_values(quiz.questions[name], values)
    return _with_predicted_key(quiz, name, question, values) if isinstance(question, Predict) else question


def _with_predicted_key(quiz: Quiz, name: str, question: Predict, values: Values) -> AnswerableQuestion:
    key = quiz.keys.get(name, {}).get(values_text(values))
    if key is None:
        raise SpecError(f"{KEYS_FILE} has no answer for {name} ({values_text(values)}): run handgrad build.")
    common = question.model_dump(exclude={"kind", "tolerance"}) | dict(key)
    if key["kind"] == "number":
        return Number.model_validate({**common, "tolerance": question.tolerance})
    return (Shape if key["kind"] == "shape" else Word).model_validate(common)


def _seeded_number(variant: int, *what: str) -> int:
    """Draw a number for this variant: the same in every run and on every machine."""
    return int.from_bytes(hashlib.sha256("/".join((str(variant), *what)).encode()).digest()[:8])


def draw_values(name: str, question: Question, variant: int) -> Values:
    """Draw the values of a question's parameters: the first of each in variant 0."""
    return {
        parameter: values[_seeded_number(variant, name, parameter) % len(values) if variant else 0]
        for parameter, values in question.params.items()
    }


def every_values(question: Question) -> Iterator[Values]:
    """Yield every draw of a question's parameters."""
    for values in itertools.product(*question.params.values()):
        yield dict(zip(question.params, values, strict=True))


def values_text(values: Values) -> str:
    """Write drawn values in short: `bs=4 n=3`; empty where there are none."""
    return " ".join(f"{name}={_number_text(value)}" for name, value in values.items())


def options(name: str, question: Choice | Choices, variant: int) -> dict[str, str]:
    """Return the text of each choice by its label, in the order that this variant has drawn."""
    texts = {label: right if isinstance(right, str) else right.text for label, right in question.right.items()}
    texts |= {label: wrong.text for label, wrong in question.wrong.items()}
    return {label: texts[label] for label in shuffled(name, texts, variant)}


def shuffled(name: str, labels: Iterable[str], variant: int) -> list[str]:
    """Return the labels in the order that this variant has drawn for a question."""
    return sorted(labels, key=lambda label: _seeded_number(variant, name, label))


def fill_in_values(question: Question, values: Values) -> Question:
    """Return the question with `{...}` worked out in all of its texts, and one value for each parameter."""
    if not values:
        return question
    texts = _filled(question.model_dump(exclude={"params"}), values)
    return type(question).model_validate({**texts, "params": {name: (value,) for name, value in values.items()}})


def _filled(part: Any, values: Values) -> Any:
    if isinstance(part, str):
        return PLACEHOLDER.sub(lambda found: _placeholder_value(found, values), part)
    if isinstance(part, dict):
        return {_filled(key, values): _filled(value, values) for key, value in part.items()}
    return [_filled(item, values) for item in part] if isinstance(part, (list, tuple)) else part


def _placeholder_value(found: re.Match[str], values: Values) -> str:
    """Return the value of `{n + 1}`; braces around anything else, as code has them, stay."""
    try:
        from .formula_evaluation import arithmetic  # imports numpy

        return _number_text(arithmetic(found[1], values))
    except ExpressionError:
        return found[0]


def _number_text(value: float) -> str:
    return f"{value:.10g}"
