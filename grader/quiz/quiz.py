"""A quiz: its questions as `quiz.yaml` declares them, and the same questions as one learner meets them."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from grader.course_file import KEYS_FILE
from grader.errors import ExpressionError, ReadError, SpecError
from grader.exercise import Answer

from .plain_yaml import Map, Node, Text, line_of, read_map
from .questions import (
    ID,
    KINDS,
    MOST_VARIANTS,
    AnswerableQuestion,
    Choice,
    Choices,
    Number,
    Predict,
    Question,
    Shape,
    Word,
)

VARIANT = "variant"
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
Values = Mapping[str, float]
Keys = Mapping[str, Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True)
class Quiz:
    """The quiz of one unit.

    Args:
        questions: by id, in order.
        keys: for each `predict` question, by `values_text`: the kind of the right answer, and the answer.
    """

    questions: Mapping[str, Question]
    keys: Keys

    @property
    def title(self) -> str:
        """What it is called."""
        return f"Quiz of {len(self.questions)} questions"

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """One answer for each question."""
        return tuple(Answer(name, kind="value") for name in self.questions)

    @property
    def hints(self) -> Mapping[str, tuple[str, ...]]:
        """The hints of each question."""
        return {name: question.hints for name, question in self.questions.items()}

    def question(self, name: str, variant: int) -> Question:
        """Return a question as this variant asks it, with its numbers drawn."""
        question = self.questions[name]
        return fill_in_values(question, draw_values(name, question, variant))

    def question_with_key(self, name: str, variant: int) -> AnswerableQuestion:
        """Return a question as answers to it are judged: a prediction with its key.

        Raises:
            SpecError: the key of a prediction was never computed.
        """
        return self.with_values(name, draw_values(name, self.questions[name], variant))

    def with_values(self, name: str, values: Values) -> AnswerableQuestion:
        """Return a question with these values for its parameters; see `question_with_key`."""
        question = fill_in_values(self.questions[name], values)
        return self._with_predicted_key(name, question, values) if isinstance(question, Predict) else question

    def _with_predicted_key(self, name: str, question: Predict, values: Values) -> AnswerableQuestion:
        key = self.keys.get(name, {}).get(values_text(values))
        if key is None:
            raise SpecError(f"{KEYS_FILE} has no answer for {name} ({values_text(values)}): run handgrad build.")
        common = question.model_dump(exclude={"kind", "tolerance"}) | dict(key)
        if key["kind"] == "number":
            return Number.model_validate({**common, "tolerance": question.tolerance})
        return (Shape if key["kind"] == "shape" else Word).model_validate(common)


def read_quiz(path: Path) -> Quiz:
    """Read and check a `quiz.yaml`, and the computed keys beside it.

    Raises:
        SpecError: it cannot be used; names the file and the line.
    """
    try:
        tree = read_map(path.read_text(encoding="utf-8"))
        questions = {str(name): _question(name, node, tree) for name, node in tree.items()}
        if not questions:
            raise ReadError(1, "there is no question in it: write one")
    except OSError as error:
        says = f"{path} cannot be read ({error.strerror}): course.yaml gives this unit a quiz: write it."
        raise SpecError(says) from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not UTF-8 text: save it as UTF-8.") from error
    except ReadError as error:
        raise SpecError(f"{path}, line {error.line}: {error.problem}.") from error
    return Quiz(questions, _keys(path.with_name(KEYS_FILE)))


def _keys(path: Path) -> Keys:
    try:
        keys: Keys = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SpecError(f"{path} cannot be read: write it anew with: handgrad build") from error
    return keys


def _question(name: Text, node: Node, tree: Node) -> Question:
    if not re.fullmatch(ID, name) or name == VARIANT:
        raise ReadError(name.line, f"{name} is no name for a question: use small letters, digits and _")
    if not isinstance(node, Map):
        raise ReadError(name.line, f"{name} holds no question: indent what belongs to it")
    kind = node.get(Text("kind"))
    if not isinstance(kind, Text) or kind not in KINDS:
        near = difflib.get_close_matches(str(kind), KINDS, 1)
        says = f"write {near[0]}" if near else f"choose among {', '.join(KINDS)}"
        raise ReadError(line_of(tree, (name, "kind")), f"{name} is of no known kind: {says}")
    try:
        question = KINDS[kind].model_validate(node)
    except ValidationError as error:
        raise _explained(name, error, tree) from error
    if math.prod(map(len, question.params.values())) > MOST_VARIANTS:
        line = line_of(tree, (name, "params"))
        raise ReadError(line, f"{name} has more than {MOST_VARIANTS} variants: leave some out")
    return question


def _explained(name: str, error: ValidationError, tree: Node) -> ReadError:
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")  # a misspelt key, above all
    path = (name, *first["loc"])
    where = ".".join(str(part) for part in path)
    if first["type"] == "extra_forbidden":
        return ReadError(line_of(tree, path), f"{where} is not a known setting; remove it or correct its name")
    if first["type"] == "missing":
        return ReadError(line_of(tree, path), f"{where} is missing: add it")
    says = first["msg"].removeprefix("Value error, ")
    return ReadError(line_of(tree, path), f"{where}: {says[0].lower()}{says[1:]}; correct it")


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
