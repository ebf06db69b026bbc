"""Quiz questions for export: choices, numbers, and words of which some spellings are right."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.course.course import CourseExercise
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Number, QuizMistake, Shape
from grader.quiz.formula_evaluation import arithmetic
from grader.quiz.variants import options, question_with_key, shuffled

CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Answer:
    """An answer that is known in advance.

    Args:
        id: its name within the question.
        text: what is chosen, or typed.
        right: it is one of the right ones.
        feedback: what is told to whoever gives it; empty where nothing is.
    """

    id: str
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Item:
    """One question.

    Args:
        id: unique among all questions of a course: `quiz_04_linear-why_sum_0`.
        kind: one choice, several choices, a number, or a word.
        answers: all choices in order; or the numbers and words that are known, the right ones first.
        tolerance: how far a number may be off.
        units: what a number may be counted in, and how many of the first each is worth.
        because: why the right answer is right.
    """

    id: str
    unit: str
    kind: Literal["choice", "choices", "number", "word"]
    ask: str
    listing: str
    answers: tuple[Answer, ...]
    hints: tuple[str, ...]
    because: str
    tolerance: float = 0.0
    units: Mapping[str, float] | None = None


def items(exercises: Iterable[CourseExercise], variant: int = 0) -> list[Item]:
    """Every question of these quizzes.

    Raises:
        SpecError: the key of a prediction was never computed.
    """
    return [
        _item(f"{exercise.id}-{name}", exercise.unit, name, question_with_key(exercise.quiz, name, variant), variant)
        for exercise in exercises
        for name in exercise.quiz.questions
    ]


def _item(id: str, unit: str, name: str, question: AnswerableQuestion, variant: int) -> Item:
    ask, tolerance, units = question.ask, 0.0, None
    if isinstance(question, (Choice, Choices)):
        kind: Literal["choice", "choices", "number", "word"] = question.kind
        answers = tuple(_choices(question, options(name, question, variant)))
    elif isinstance(question, Expression):
        kind, answers = "choice", tuple(_formulas(name, question, variant))
        ask += " Which of these formulas is right?"
    elif isinstance(question, Number):
        kind, tolerance = "number", question.tolerance
        units = {question.unit: 1.0, **question.units} if question.unit else None
        answers = tuple(_typed([_plain(question.right)], {_plain(w): m for w, m in question.wrong.items()}))
        ask += f" Answer in {question.unit}." if question.unit else ""
    else:
        kind, answers = "word", tuple(_words(question))
        ask += " Answer with a shape, such as (k, 3)." if isinstance(question, Shape) else ""
    return Item(id, unit, kind, ask, question.listing.rstrip(), answers, question.hints, question.because, tolerance, units)  # fmt: skip  # noqa: E501


def _choices(question: Choice | Choices, texts: Mapping[str, str]) -> Iterator[Answer]:
    for label, text in texts.items():
        right = label in question.right
        feedback = question.because if right else question.wrong[label].says
        yield Answer(label, text, right, feedback)


def _formulas(name: str, question: Expression, variant: int) -> Iterator[Answer]:
    """The right formula among the known wrong ones: nobody can judge a formula elsewhere."""
    texts = {f"formula_{i}": text for i, text in enumerate((question.right, *question.wrong))}
    for id in shuffled(name, texts, variant):
        mistake = question.wrong.get(texts[id])
        yield Answer(id, texts[id], mistake is None, question.because if mistake is None else mistake.says)


def _words(question: AnswerableQuestion) -> Iterator[Answer]:
    assert not isinstance(question, (Choice, Choices, Number, Expression))
    if not isinstance(question, Shape):
        return _typed([question.right], question.wrong)
    return _typed(_spellings(question.right), {_spellings(w)[0]: mistake for w, mistake in question.wrong.items()})


def _typed(right: Sequence[str], wrong: Mapping[str, QuizMistake]) -> Iterator[Answer]:
    for number, text in enumerate(right):
        yield Answer(f"right_{number}", text, True, "")
    for number, (text, mistake) in enumerate(wrong.items()):
        yield Answer(f"wrong_{number}", text, False, mistake.says)


def _plain(number: str) -> str:
    """A number without a formula."""
    return f"{arithmetic(number):.10g}"


def _spellings(shape: str) -> list[str]:
    """How a shape may be typed."""
    axes = re.findall(r"\w+", shape)
    joined = ", ".join(axes)
    if not axes:
        return ["()", "scalar"]
    if len(axes) == 1:
        return [f"({joined},)", f"({joined})", joined, f"[{joined}]"]
    return [f"({joined})", joined, f"[{joined}]", f"({','.join(axes)})", f"[{','.join(axes)}]", ",".join(axes)]


def as_html(text: str, listing: str = "") -> str:
    """Paragraphs, `code` in backticks, and a listing."""
    paragraphs = (html.escape(paragraph, quote=False) for paragraph in re.split(r"\n\s*\n", text.strip()))
    marked = (CODE.sub(r"<code>\1</code>", paragraph) for paragraph in paragraphs)
    found = "".join(f"<p>{paragraph}</p>" for paragraph in marked)
    return found + (f"<pre>{html.escape(listing, quote=False)}</pre>" if listing else "")
