"""A quiz as `quiz.yaml` declares it: its questions, and the computed answers of predictions."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from grader.errors import ReadError, SpecError

from .course_file import KEYS_FILE
from .exercise import Answer
from .plain_yaml import Map, Text, YamlNode, line_of, read_map
from .questions import (
    ID,
    KINDS,
    MOST_VARIANTS,
    Question,
)

VARIANT = "variant"
Keys = Mapping[str, Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True)
class Quiz:
    """Hold the quiz of one unit.

    Args:
        questions: the questions by id, in order.
        keys: by id of a `predict` question and `values_text` of its parameters, the right answer that `handgrad build`
            has computed, as `{"kind": ..., "right": ...}`.
    """

    questions: Mapping[str, Question]
    keys: Keys

    @property
    def title(self) -> str:
        """Return the title of the quiz in lists, "Quiz of 8 questions"."""
        return f"Quiz of {len(self.questions)} questions"

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """Return an `Answer` for each question, which is named by the id of the question."""
        return tuple(Answer(name, kind="value") for name in self.questions)

    @property
    def hints(self) -> Mapping[str, tuple[str, ...]]:
        """Return the hints of each question, by id."""
        return {name: question.hints for name, question in self.questions.items()}


def read_quiz(path: Path) -> Quiz:
    """Return the quiz in a `quiz.yaml`, with the computed answers in the `quiz_keys.json` of the same folder.

    Raises:
        SpecError: either file cannot be used; names the file and the line.
    """
    try:
        tree = read_map(path.read_text(encoding="utf-8"))
        questions = {str(name): _question(name, node, tree) for name, node in tree.items()}
        if not questions:
            raise ReadError(1, "there is no question in it: write one")
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}): course.yaml gives this unit a quiz: write it."
        raise SpecError(message) from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not UTF-8 text: save it as UTF-8.") from error
    except ReadError as error:
        raise SpecError(f"{path}, line {error.line}: {error.problem}.") from error
    return Quiz(questions, _keys(path.with_name(KEYS_FILE)))


def _keys(path: Path) -> Keys:
    """Return the computed answers in a `quiz_keys.json`; none if there is no such file.

    Raises:
        SpecError: the file cannot be read.
    """
    try:
        keys: Keys = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SpecError(f"{path} cannot be read: write it anew with: handgrad build") from error
    return keys


def _question(name: Text, node: YamlNode, tree: YamlNode) -> Question:
    """Return the question that a part of a `quiz.yaml` declares.

    Args:
        name: the id of the question.
        node: the part of the file.
        tree: the whole file, which has the lines of all parts.

    Raises:
        ReadError: the part declares no valid question; names the line.
    """
    if not re.fullmatch(ID, name) or name == VARIANT:
        raise ReadError(name.line, f"{name} is no name for a question: use letters from a to z, digits and _")
    if not isinstance(node, Map):
        raise ReadError(name.line, f"{name} holds no question: indent what belongs to it")
    kind = node.get(Text("kind"))
    if not isinstance(kind, Text) or kind not in KINDS:
        near = difflib.get_close_matches(str(kind), KINDS, 1)
        advice = f"write {near[0]}" if near else f"choose among {', '.join(KINDS)}"
        raise ReadError(line_of(tree, (name, "kind")), f"{name} is of no known kind: {advice}")
    try:
        question = KINDS[kind].model_validate(node)
    except ValidationError as error:
        raise _question_error(name, error, tree) from error
    if math.prod(map(len, question.params.values())) > MOST_VARIANTS:
        line = line_of(tree, (name, "params"))
        raise ReadError(line, f"{name} has more than {MOST_VARIANTS} variants: leave some out")
    return question


def _question_error(name: str, error: ValidationError, tree: YamlNode) -> ReadError:
    """Return the error with the line and the sentence for a question that pydantic refuses.

    Args:
        name: the id of the question.
        error: pydantic's error.
        tree: the whole file, which has the lines of all parts.
    """
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")  # a misspelt key comes first
    path = (name, *first["loc"])
    where = ".".join(str(part) for part in path)
    if first["type"] == "extra_forbidden":
        return ReadError(line_of(tree, path), f"{where} is not a known setting; remove it or correct its name")
    if first["type"] == "missing":
        return ReadError(line_of(tree, path), f"{where} is missing: add it")
    message = first["msg"].removeprefix("Value error, ")
    return ReadError(line_of(tree, path), f"{where}: {message[0].lower()}{message[1:]}; correct it")
