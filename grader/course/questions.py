"""The kinds of questions in a quiz, as their author declares them: right answers, and wrong ones with explanations."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from grader.results.codes import CODES

from .yaml_file import StrictModel

ID = r"^[a-z][a-z0-9_]*$"
MOST_VARIANTS = 200
NOT_READ = "not-read"


def _public_code(code: str) -> str:
    """Return `code`, the public code of a mistake.

    Raises:
        ValueError: there is no such public code.
    """
    if code not in CODES:
        near = difflib.get_close_matches(code, sorted(CODES), 1)
        known = f"did you mean {near[0]}?" if near else f"the codes are {', '.join(sorted(CODES))}"
        raise ValueError(f"{code} is no public code of a mistake: {known}")
    return code


Code = Annotated[str, AfterValidator(_public_code)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Label = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=24)]
ParameterName = Annotated[str, StringConstraints(pattern=ID)]


class QuizMistake(StrictModel):
    """Describe the mistake in a wrong answer.

    Args:
        code: the public code of the mistake.
        says: the sentence that explains it to the learner.
    """

    code: Code
    says: Words


class Option(QuizMistake):
    """Describe one choice, and the mistake of learners who take it if it is wrong, or leave it out if it is right.

    Args:
        text: the text of the choice.
    """

    text: Words


class _Question(StrictModel):
    """Hold the fields that all kinds of questions share.

    Args:
        ask: the question; `{n + 1}` in any text becomes its value, if `n` is a parameter.
        listing: code that is shown with it.
        params: by name of a parameter, the values of which a learner's variant draws one; variant 0 has the first.
        hints: up to three hints.
        because: the reason why the right answer is right, shown once the learner has given it.
    """

    ask: Words
    listing: str = ""
    params: dict[ParameterName, Annotated[tuple[float, ...], Field(min_length=1)]] = Field(default_factory=dict)
    hints: Annotated[tuple[Words, ...], Field(min_length=1, max_length=3)]
    because: Words

    @property
    def text(self) -> str:
        """Return the question on one line, with its listing behind it: "What is c? Code: `a = 1; c = 2 * a; c`".

        A block is set apart: "Code: `c = 0`, then `for a in (1, 2): c += a`, then `c`".
        """
        lines = [line.rstrip() for line in self.listing.splitlines() if line.strip()]
        parts: list[list[str]] = []
        for before, line in itertools.pairwise(["", *lines]):
            is_apart = line.endswith(":") or before.startswith(" ")
            if not parts or (is_apart and not line.startswith(" ")):
                parts.append([])
            parts[-1].append(line.strip())
        code = ", then ".join(f"`{'; '.join(part).replace(':; ', ': ')}`" for part in parts)
        return " ".join(self.ask.split()) + (f" Code: {code}" if code else "")


class Choice(_Question):
    """Declare a question with several choices, of which one is right.

    Args:
        right: the text of the right choice, by its label.
        wrong: the other choices, by label.
    """

    kind: Literal["choice"]
    right: Annotated[dict[Label, Words], Field(min_length=1, max_length=1)]
    wrong: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]


class Choices(_Question):
    """Declare a question with several choices, of which all right ones must be named, and no other.

    Args:
        right: the right choices by label, each with the mistake of leaving it out.
        wrong: the other choices by label, each with the mistake of naming it.
    """

    kind: Literal["choices"]
    right: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]
    wrong: Annotated[dict[Label, Option], Field(min_length=1, max_length=6)]


class Number(_Question):
    """Declare a question whose answer is a number.

    Args:
        right: the right answer, a number or a formula of numbers.
        wrong: mistakes by the wrong answers that they lead to.
        tolerance: how far an answer may be off, in `unit`; if it is not 0, a decimal with three digits or more may
            also be rounded.
        unit: the unit of the answer, which the learner may leave out.
        units: by name of another unit, how many of `unit` it is worth; units of memory are known without it.
    """

    kind: Literal["number"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    tolerance: float = Field(default=0, ge=0)
    unit: str = ""
    units: Mapping[str, float] = Field(default_factory=dict)


class Given(StrictModel):
    """Describe a variable of a formula.

    Args:
        axes: the names of its axes, such as `"bs n"`; empty for a number.
        low: the least value of an entry.
        high: the greatest value of an entry.
        value: a formula in the variables before it that has the variable's value, such as `a / b`; without it the
            value is drawn.
    """

    axes: str = ""
    low: float = -2
    high: float = 2
    value: Words | None = None


class Shape(_Question):
    """Declare a question whose answer is a shape in axis names or sizes, such as `(bs, n)`.

    A name that is a parameter may be replaced by its size in the answer.

    Args:
        right: the right shape.
        wrong: mistakes by the wrong shapes that they lead to.
        given: the arrays whose shapes an answer may use, each with its axes: `{x: bs n}`, for `x.shape`.
    """

    kind: Literal["shape"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    given: dict[str, Given | str] = Field(default_factory=dict)


class Expression(_Question):
    """Declare a question whose answer is a formula; every formula that gives the same values is right.

    Args:
        right: a right formula.
        wrong: mistakes by the wrong formulas that they lead to.
        given: the variables it may use, each with its axes: `{inp: bs n, out.g: bs m}`, or with its value:
            `out: {value: a / b}`; axis sizes may be used too.
    """

    kind: Literal["expression"]
    right: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    given: Annotated[dict[str, Given | str], Field(min_length=1)]


class Predict(_Question):
    """Declare a question on the value of a listing's last line, which `handgrad build` computes by running the listing.

    Args:
        listing: the code, whose last line is an expression.
        wrong: mistakes by the wrong answers that they lead to.
        tolerance: how far an answer may be off, if it is a number; if it is not 0, a decimal with three digits or more
            may also be rounded.
    """

    kind: Literal["predict"]
    listing: Words
    wrong: dict[Words, QuizMistake] = Field(default_factory=dict)
    tolerance: float = Field(default=0, ge=0)


class Word(_Question):
    """Hold a question with its computed answer, if that is a word: `None`, `True`, `RuntimeError`.

    Args:
        right: the right answer.
        wrong: mistakes by the wrong answers that they lead to.
    """

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
    """Return the codes of all mistakes that are declared for a question."""
    left_out = question.right.values() if isinstance(question, Choices) else ()
    return {mistake.code for mistake in (*question.wrong.values(), *left_out)}
