"""The card at the end of a unit: what was solved, and which mistakes were met and overcome."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.course import Course
from grader.rendering.render_text import Line
from grader.rendering.svg_drawing import SvgDrawing
from grader.results.codes import meaning

from .progress import Progress, UnitProgress, by_unit

WIDTH, LEFT, STEP, WORDS = 640, 32, 22, 78


@dataclass(frozen=True)
class Met:
    """A mistake that was met in a unit.

    Args:
        code: its public code.
        exercises: where it was met.
        overcome: every answer that it was met in has been right since.
    """

    code: str
    exercises: tuple[str, ...]
    overcome: bool


@dataclass(frozen=True)
class Card:
    """One unit of a learner.

    Args:
        solved: the exercises that pass.
        exercises: how many there are, without the quiz.
        answers: the same in answers, and the questions of the quiz.
    """

    course: str
    unit: str
    title: str
    solved: tuple[str, ...]
    exercises: int
    answers: UnitProgress
    met: tuple[Met, ...]


def card_of(course: Course, progress: Progress, unit: str) -> Card:
    """The card of a unit, from what was last seen of its files."""
    config = next(each for each in course.config.units if each.id == unit)
    exercises = [each for each in course.exercises if each.unit == unit]
    written = [each for each in exercises if not each.is_quiz]
    results = {each.id: progress.result(each) for each in written}
    solved = tuple(name for name, result in results.items() if result is not None and result.status == "passed")
    names = {each.id for each in exercises}
    met = []
    for code, where in sorted(progress.met.items()):
        here = tuple(name for name in where if name in names)
        counted = [codes for name in here for codes in progress.exercises.get(name, {}).get("counted", {}).values()]
        if here:
            met.append(Met(code, here, not any(code in codes for codes in counted)))
    (answers,) = by_unit(course, progress, [unit])
    return Card(course.config.title, unit, config.title, solved, len(written), answers, tuple(met))


def card_lines(card: Card) -> Iterator[Line]:
    """The card as text."""
    yield ((f"{card.unit}  {card.title}", "bold"),)
    yield ((_solved(card), "good" if len(card.solved) == card.exercises else ""),)
    yield from (((f"  {line}", "dim"),) for line in textwrap.wrap(", ".join(card.solved), WORDS))
    for overcome, head in ((True, "Met and overcome:"), (False, "Met, not yet overcome:")):
        found = [each for each in card.met if each.overcome is overcome]
        if found:
            yield ((head, ""),)
        for each in found:
            yield ((f"  {each.code}", "good" if overcome else "todo"), (f"  {', '.join(each.exercises)}", "dim"))
            yield ((f"    {meaning(each.code)}", "dim"),)
    if not card.met:
        yield (("No mistake was met here.", ""),)


def _solved(card: Card) -> str:
    answers = card.answers
    quiz = f", quiz {answers.questions_done} of {answers.questions}" if answers.questions else ""
    exercises = f"{len(card.solved)} of {card.exercises} exercises solved"
    return f"{exercises}, {answers.done} of {answers.total} answers{quiz}"


def card_svg(card: Card) -> str:
    """The card as the text of an SVG file, with no name and no path in it."""
    overcome, left = ([each for each in card.met if each.overcome is it] for it in (True, False))
    lines = [(_solved(card), "")]
    lines += [(line, "code faint small") for line in textwrap.wrap(", ".join(card.solved), WORDS)]
    for head, found in (("Met and overcome", overcome), ("Met, not yet overcome", left)):
        lines += [("", ""), (head, "")] if found else []
        for each in found:
            lines.append((each.code, "code"))
            lines += [(line, "faint small") for line in textwrap.wrap(meaning(each.code), WORDS)]
    picture = SvgDrawing(WIDTH, 96 + STEP * len(lines), f"{card.unit}: {card.title}", _solved(card))
    picture.text(LEFT, 34, card.course, "faint small", "start")
    picture.text(LEFT, 60, f"{card.unit}  {card.title}", "", "start")
    for number, (words, style) in enumerate(lines):
        picture.text(LEFT, 94 + STEP * number, words, style, "start")
    return picture.svg()
