"""The card of a unit and the certificate of a course: the exercises solved, and the mistakes met and overcome."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

from grader.course.course import Course
from grader.rendering.page import figure, page
from grader.rendering.render_text import Line
from grader.rendering.svg_drawing import SvgDrawing
from grader.results.codes import meaning

from .progress import Progress, UnitProgress, by_unit

WIDTH, LEFT = 640, 32  # of both pictures
CARD_STEP, TEXT_COLUMNS = 22, 78
UNIT_STEP, BAR_FROM, BAR, COUNT_FROM = 26, 300, 180, 500  # of the certificate


@dataclass(frozen=True)
class CardMistake:
    """A mistake that was met in a unit.

    Args:
        code: its public code.
        exercises: the ids of the exercises in which it was met.
        is_overcome: whether every answer in which it was met has been right since.
    """

    code: str
    exercises: tuple[str, ...]
    is_overcome: bool


@dataclass(frozen=True)
class Card:
    """The card of one unit.

    Args:
        course: the title of the course.
        unit: the id of the unit.
        title: the title of the unit.
        solved: the ids of the exercises that pass.
        exercises: the number of exercises, without the quiz.
        answers: the answers to the exercises and the questions of the quiz, done and in all.
        mistakes: the mistakes that were met, ordered by code.
    """

    course: str
    unit: str
    title: str
    solved: tuple[str, ...]
    exercises: int
    answers: UnitProgress
    mistakes: tuple[CardMistake, ...]


def card_of(course: Course, progress: Progress, unit: str) -> Card:
    """Return the card of a unit, from the last verdicts on its files.

    Args:
        course: the course.
        progress: the learner's progress.
        unit: the id of the unit.
    """
    config = next(config for config in course.config.units if config.id == unit)
    exercises = [exercise for exercise in course.exercises if exercise.unit == unit]
    written = [exercise for exercise in exercises if not exercise.is_quiz]
    results = {exercise.id: progress.result(exercise) for exercise in written}
    solved = tuple(name for name, result in results.items() if result is not None and result.status == "passed")
    names = {exercise.id for exercise in exercises}
    mistakes = []
    for code, counts in sorted(progress.met.items()):
        here = tuple(name for name in counts if name in names)
        not_overcome = [
            codes for name in here for codes in progress.exercises.get(name, {}).get("counted", {}).values()
        ]
        if here:
            mistakes.append(CardMistake(code, here, not any(code in codes for codes in not_overcome)))
    (answers,) = by_unit(course, progress, [unit])
    return Card(course.config.title, unit, config.title, solved, len(written), answers, tuple(mistakes))


def card_lines(card: Card) -> Iterator[Line]:
    """Yield the lines of a card: the unit, its totals, the solved exercises and the mistakes."""
    yield ((f"{card.unit}  {card.title}", "bold"),)
    yield ((_totals_of_card(card), "good" if len(card.solved) == card.exercises else ""),)
    yield from (((f"  {line}", "dim"),) for line in textwrap.wrap(", ".join(card.solved), TEXT_COLUMNS))
    for overcome, head in ((True, "Met and overcome:"), (False, "Met, not yet overcome:")):
        mistakes = [mistake for mistake in card.mistakes if mistake.is_overcome is overcome]
        if mistakes:
            yield ((head, ""),)
        for mistake in mistakes:
            where = ", ".join(mistake.exercises)
            yield ((f"  {mistake.code}", "good" if overcome else "todo"), (f"  {where}", "dim"))
            yield ((f"    {meaning(mistake.code)}", "dim"),)
    if not card.mistakes:
        yield (("No mistake was met here.", ""),)


def _totals_of_card(card: Card) -> str:
    """Return the totals of a unit, such as "2 of 5 exercises solved, 7 of 20 answers, quiz 3 of 8"."""
    answers = card.answers
    quiz = f", quiz {answers.questions_done} of {answers.questions}" if answers.questions else ""
    exercises = f"{len(card.solved)} of {card.exercises} exercises solved"
    return f"{exercises}, {answers.done} of {answers.total} answers{quiz}"


def card_svg(card: Card) -> str:
    """Return the card as the text of an SVG file; it holds no name and no path."""
    overcome, others = ([m for m in card.mistakes if m.is_overcome is state] for state in (True, False))
    lines = [(_totals_of_card(card), "")]
    lines += [(line, "code faint small") for line in textwrap.wrap(", ".join(card.solved), TEXT_COLUMNS)]
    for head, mistakes in (("Met and overcome", overcome), ("Met, not yet overcome", others)):
        lines += [("", ""), (head, "")] if mistakes else []
        for mistake in mistakes:
            lines.append((mistake.code, "code"))
            lines += [(line, "faint small") for line in textwrap.wrap(meaning(mistake.code), TEXT_COLUMNS)]
    picture = SvgDrawing(WIDTH, 96 + CARD_STEP * len(lines), f"{card.unit}: {card.title}", _totals_of_card(card))
    picture.text(LEFT, 34, card.course, "faint small", "start")
    picture.text(LEFT, 60, f"{card.unit}  {card.title}", "", "start")
    for number, (line, style) in enumerate(lines):
        picture.text(LEFT, 94 + CARD_STEP * number, line, style, "start")
    return picture.svg()


def totals(cards: Sequence[Card]) -> str:
    """Return the totals of the course: "2 of 5 exercises solved, 3 of 8 questions answered"."""
    solved, exercises = sum(len(card.solved) for card in cards), sum(card.exercises for card in cards)
    done, questions = (sum(getattr(card.answers, name) for card in cards) for name in ("questions_done", "questions"))
    return f"{solved} of {exercises} exercises solved, {done} of {questions} questions answered"


def mistakes_in(cards: Sequence[Card]) -> list[CardMistake]:
    """Return the mistakes met in any unit, one for each code; it is overcome if it is overcome in all units."""
    by_code: dict[str, CardMistake] = {}
    for mistake in (mistake for card in cards for mistake in card.mistakes):
        before = by_code.get(mistake.code, CardMistake(mistake.code, (), True))
        exercises = (*before.exercises, *mistake.exercises)
        by_code[mistake.code] = CardMistake(mistake.code, exercises, before.is_overcome and mistake.is_overcome)
    return sorted(
        by_code.values(), key=lambda mistake: (not mistake.is_overcome, -len(mistake.exercises), mistake.code)
    )


def certificate_lines(cards: Sequence[Card]) -> Iterator[Line]:
    """Yield the lines of the certificate: the course, its totals, those of each unit, and the counts of mistakes."""
    yield ((cards[0].course, "bold"),)
    yield ((totals(cards), ""),)
    for card in cards:
        is_complete = len(card.solved) == card.exercises
        yield ((f"  {card.unit}", "good" if is_complete else ""), (f"  {len(card.solved)} of {card.exercises}", "dim"))
    yield ((_mistake_counts(cards), ""),)


def certificate_svg(cards: Sequence[Card], day: date) -> str:
    """Return the certificate as the text of an SVG file; it holds no name and no path."""
    picture = SvgDrawing(WIDTH, 150 + UNIT_STEP * len(cards), cards[0].course, totals(cards))
    picture.text(LEFT, 40, cards[0].course, "", "start")
    picture.text(WIDTH - LEFT, 40, day.isoformat(), "faint small", "end")
    picture.text(LEFT, 66, totals(cards), "faint small", "start")
    for number, card in enumerate(cards):
        y = 84 + UNIT_STEP * number
        picture.text(LEFT, y + 15, f"{card.unit[:2]}  {card.title.partition(',')[0]}", "small", "start")
        picture.box(BAR_FROM, y + 4, BAR, 14)
        if card.solved:
            picture.box(BAR_FROM, y + 4, BAR * len(card.solved) / card.exercises, 14, "marked")
        picture.text(COUNT_FROM, y + 15, f"{len(card.solved)} of {card.exercises}", "faint small", "start")
    picture.text(LEFT, 112 + UNIT_STEP * len(cards), _mistake_counts(cards), "small", "start")
    return picture.svg()


def _mistake_counts(cards: Sequence[Card]) -> str:
    """Return how many different mistakes the cards hold: "mistakes met: 5, overcome: 3"."""
    mistakes = mistakes_in(cards)
    return f"mistakes met: {len(mistakes)}, overcome: {sum(mistake.is_overcome for mistake in mistakes)}"


def certificate_page(cards: Sequence[Card], curves: Mapping[str, str], day: date) -> str:
    """Return the certificate as a page of HTML that refers to no other file.

    Args:
        cards: the cards of all units.
        curves: the pictures that `handgrad train` has drawn, by unit, as SVG text.
        day: the date on the certificate.
    """
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(mistake.code)}</code><br><span class="dim">{escape(meaning(mistake.code))}'
        f"</span></th><td>{'overcome' if mistake.is_overcome else 'not yet'}</td>"
        f"<td>{escape(', '.join(mistake.exercises))}</td></tr>"
        for mistake in mistakes_in(cards)
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("mistake", "overcome", "met in"))
    mistakes = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    solved = "".join(
        f'<tr><th scope="row">{escape(card.unit)}</th><td>{escape(", ".join(card.solved))}</td></tr>'
        for card in cards
        if card.solved
    )
    pictures = (
        f"<section><h2>Trained with these gradients: {escape(unit)}</h2>"
        f"{figure(svg, 'Two loss curves: with your gradients, and with those of torch')}</section>"
        for unit, svg in curves.items()
    )
    return page(
        cards[0].course,
        [
            figure(certificate_svg(cards, day), "The exercises solved in each unit, as bars"),
            "<h2>Solved</h2>", f"<table>{solved}</table>" if solved else "<p>Nothing yet.</p>",
            "<h2>Mistakes, met and overcome</h2>", mistakes or "<p>None was met.</p>",
            *pictures,
        ],
        header=[
            f"<h1>{escape(cards[0].course)}</h1>",
            f'<p class="dim">Certificate of <time datetime="{day.isoformat()}">{day.isoformat()}</time></p>',
            f'<p class="all">{escape(totals(cards))}</p>',
        ],
        kind="certificate",
    )  # fmt: skip
