"""A quiz as `quiz.yaml` declares it: its questions, and the keys that `handgrad build` computed for predictions."""

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
from .plain_yaml import Map, Node, Text, line_of, read_map
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
