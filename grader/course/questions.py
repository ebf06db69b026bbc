"""The questions of a quiz as their author writes them; `right` and `wrong` in every kind, each mistake explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from grader.results.codes import CODES

ID = r"^[a-z][a-z0-9_]*$"
MOST_VARIANTS = 200
NOT_READ = "not-read"


def _known(code: str) -> str:
    if code not in CODES:
        raise ValueError(f"{code} is no public code of a mistake")
    return code


Code = Annotated[str, AfterValidator(_known)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Label = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=24)]
ParameterName = Annotated[str, StringConstraints(pattern=ID)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuizMistake(_StrictModel):
    """What a wrong answer reveals.

    Args:
        code: the public code of the mistake.
        says: what was mistaken, to the learner.
    """

    code: Code
    says: Words


class Option(QuizMistake):
    """One choice; its code and words are for whoever judges it wrongly."""

    text: Words


class _Question(_StrictModel):
    """What every kind of question has.

    Args:
        ask: the question; `{n + 1}` in any text becomes its value, if `n` is a parameter.
        listing: code that is shown with it.
        params: what a learner's variant draws from, by name; `[first]` where there is no variant.
        hints: up to three steps.
        because: why the right answer is right, told once it has been given.
    """

    ask: Words
    listing: str = ""
    params: dict[ParameterName, Annotated[tuple[float, ...], Field(min_length=1)]] = Field(default_factory=dict)
    hints: Annotated[tuple[Words, ...], Field(min_length=1, max_length=3)]
    because: Words


class Choice(_Question):
    """One of several is right."""

    kind: Literal["choice"]
    right: Annotated[dict[Label, Words], Field(min_length=1, max_length=1)]
    wrong: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]


class Choices(_Question):
    """Every right one is to be named, and no other; a right one's code and words are for leaving it out."""

    kind: Literal["choices"]
    right: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]
    wrong: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]


class Number(_Question):
    """A number.

    Args:
        tolerance: how far an answer may be off, in `unit`.
        unit: what it is counted in; may be left out by the learner.
        units: other units and how many of `unit` each is worth.
    """

    kind: Literal["number"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    tolerance: float = Field(default=0, ge=0)
    unit: str = ""
    units: Mapping[str, float] = Field(default_factory=dict)


class Given(_StrictModel):
    """A variable: its axes, `"bs n"`, and the range its entries are drawn from."""

    axes: str = ""
    low: float = -2
    high: float = 2


class Shape(_Question):
    """A shape, in axis names or sizes: `(bs, n)`; a name that is a parameter may be answered by its size.

    Args:
        given: the arrays whose shapes an answer may speak of, each with its axes: `{x: bs n}`, for `x.shape`.
    """

    kind: Literal["shape"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    given: dict[str, Given | str] = Field(default_factory=dict)


class Expression(_Question):
    """A formula; every formula that gives the same values is right.

    Args:
        given: the variables it may use, each with its axes: `{inp: bs n, out.g: bs m}`; axis sizes may be used too.
    """

    kind: Literal["expression"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    given: Annotated[dict[str, Given | str], Field(min_length=1)]


class Predict(_Question):
    """What the last line of the listing gives; the right answer is found by running it."""

    kind: Literal["predict"]
    listing: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    tolerance: float = Field(default=0, ge=0)


class Word(_Question):
    """What a listing gives, where that is neither a number nor a shape: `None`, `True`, `RuntimeError`."""

    kind: Literal["word"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)


Question = Choice | Choices | Number | Shape | Expression | Predict
AnswerableQuestion = Choice | Choices | Number | Shape | Expression | Word
KINDS: Mapping[str, type[Question]] = {
    "choice": Choice,
    "choices": Choices,
    "number": Number,
    "shape": Shape,
    "expression": Expression,
    "predict": Predict,
}


def codes_of(question: Question) -> set[str]:
    """Return the codes of the mistakes that a wrong answer to a question can be."""
    left_out = question.right.values() if isinstance(question, Choices) else ()
    return {mistake.code for mistake in (*question.wrong.values(), *left_out)}
