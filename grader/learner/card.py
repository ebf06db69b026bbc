"""The card of a unit and the certificate of a course: the exercises solved, and the mistakes met and overcome."""

from __future__ import annotations

import re
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
from grader.safe_text import plain

from .progress import Progress, UnitProgress, by_unit

WIDTH, LEFT = 640, 32  # of both pictures
LARGE = 22  # pixels of a title
CARD_STEP, CARD_TOP, TEXT_COLUMNS = 22, 132, 78
UNIT_STEP, BAR_FROM, BAR, COUNT_FROM = 26, 300, 180, 500  # of the certificate
BAR_HEIGHT = 12
WITH_PLANE = re.compile(r'viewBox="0 0 900 \d+" width="900" height="\d+"')
CURVES_ALONE = 'viewBox="-12 32 450 350" width="450" height="350"'  # of the same picture
LAST_LOSS = re.compile(r"<text [^>]*>(?:loss with your|with torch\S+) gradients[^<:]*: ([^<]*)</text>\n?")
BESIDE_CURVES = re.compile(
    r'<rect [^>]*class="page"/>\n?|<text [^>]* y="26"[^>]*>[^<]*</text>\n?|<text [^>]*>loss[^<]*</text>\n?'
)
SMALL_LETTERS = ".small { font-size: 12px; }"
LARGE_LETTERS = ".small { font-size: 20px; }"  # of three curves beside each other


@dataclass(frozen=True)
class CardMistake:
    """A mistake that was met in an exercise. In two exercises the same mistake is met, and overcome, twice.

    Args:
        code: the public code of the mistake.
        exercise: the id of the exercise.
        is_overcome: whether every answer of the exercise in which it was met has been right since.
    """

    code: str
    exercise: str
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
        mistakes: the mistakes that were met in each exercise, ordered by code.
    """

    course: str
    unit: str
    title: str
    solved: tuple[str, ...]
    exercises: int
    answers: UnitProgress
    mistakes: tuple[CardMistake, ...]


def card_of(course: Course, progress: Progress, unit: str) -> Card:
    """Return the card of a unit: what the learner has solved and which mistakes were met, by the files' last results.

    What is solved counts without the quizzes. The mistakes come sorted by their codes, once for each exercise or quiz
    in which they were met.

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
    open_codes = {
        name: {code for codes in state.counted.values() for code in codes} for name, state in progress.exercises.items()
    }
    mistakes = [
        CardMistake(code, name, code not in open_codes.get(name, ()))
        for code, counts in sorted(progress.met.items())
        for name in counts
        if name in names
    ]
    (answers,) = by_unit(course, progress, [unit])
    return Card(course.config.title, unit, config.title, solved, len(written), answers, tuple(mistakes))


def card_lines(card: Card) -> Iterator[Line]:
    """Yield the lines of a card: the unit, its totals, the solved exercises and the mistakes."""
    yield ((f"{card.unit}  {card.title}", "bold"),)
    yield ((_totals_of_card(card), "good" if len(card.solved) == card.exercises else ""),)
    yield from (((f"  {line}", "dim"),) for line in textwrap.wrap(", ".join(card.solved), TEXT_COLUMNS))
    for overcome, head in ((True, "Met and overcome:"), (False, "Met, not yet overcome:")):
        exercises = exercises_by_code(card.mistakes, is_overcome=overcome)
        if exercises:
            yield ((head, ""),)
        for code, names in exercises.items():
            yield ((f"  {code}", "good" if overcome else "todo"), (f"  {', '.join(names)}", "dim"))
            yield ((f"    {meaning(code)}", "dim"),)
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
    lines = [(line, "code faint small") for line in textwrap.wrap(", ".join(card.solved), TEXT_COLUMNS)]
    for head, mark, is_overcome in (
        ("Met and overcome", "\N{CHECK MARK}", True),
        ("Met, not yet overcome", "\N{WHITE CIRCLE}", False),
    ):
        exercises = exercises_by_code(card.mistakes, is_overcome=is_overcome)
        lines += [("", ""), (head, "")] if exercises else []
        for code, names in exercises.items():
            lines += [
                (f"{mark} {code}", "code"),
                (f"   {textwrap.shorten(', '.join(names), TEXT_COLUMNS)}", "code faint small"),
            ]
            lines += [(f"   {line}", "faint small") for line in textwrap.wrap(meaning(code), TEXT_COLUMNS)]
    height = CARD_TOP + CARD_STEP * max(len(lines), 1)
    picture = SvgDrawing(WIDTH, height, f"{card.unit}: {card.title}", _totals_of_card(card))
    picture.text(LEFT, 34, card.course, "faint small", "start")
    picture.text(LEFT, 62, card.title, "", "start", size=LARGE)
    _draw_bar(picture, LEFT, 78, WIDTH - 2 * LEFT, len(card.solved) / card.exercises if card.exercises else 0)
    picture.text(LEFT, 108, _totals_of_card(card), "", "start")
    for number, (line, style) in enumerate(lines):
        picture.text(LEFT, CARD_TOP + CARD_STEP * number, line, style, "start")
    return picture.svg()


def _draw_bar(picture: SvgDrawing, x: float, y: float, width: float, share: float) -> None:
    """Draw a bar of this width, filled from the left to a share of it from 0 to 1, whose left end is at `x` and `y`."""
    picture.box(x, y, width, BAR_HEIGHT)
    if share:
        picture.box(x, y, width * share, BAR_HEIGHT, "forward-fill")


def totals(cards: Sequence[Card]) -> str:
    """Return the totals of the course: "2 of 5 exercises solved, 3 of 8 questions answered"."""
    solved, exercises = sum(len(card.solved) for card in cards), sum(card.exercises for card in cards)
    done, questions = (sum(getattr(card.answers, name) for card in cards) for name in ("questions_done", "questions"))
    return f"{solved} of {exercises} exercises solved, {done} of {questions} questions answered"


def exercises_by_code(mistakes: Sequence[CardMistake], *, is_overcome: bool) -> dict[str, list[str]]:
    """Return by code the ids of the exercises in which a mistake is overcome, or of those in which it is not.

    Codes and ids are in the order of `mistakes`; a code without any such exercise is missing.
    """
    exercises: dict[str, list[str]] = {}
    for mistake in mistakes:
        if mistake.is_overcome is is_overcome:
            exercises.setdefault(mistake.code, []).append(mistake.exercise)
    return exercises


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
    picture = SvgDrawing(WIDTH, 160 + UNIT_STEP * len(cards), cards[0].course, totals(cards))
    picture.text(LEFT, 44, cards[0].course, "", "start", size=LARGE)
    picture.text(WIDTH - LEFT, 44, day.isoformat(), "faint small", "end")
    picture.text(LEFT, 72, totals(cards), "", "start")
    for number, card in enumerate(cards):
        y = 92 + UNIT_STEP * number
        picture.text(LEFT, y + 15, f"{card.unit[:2]}  {_short_title(card)}", "small", "start")
        _draw_bar(picture, BAR_FROM, y + 4, BAR, len(card.solved) / card.exercises if card.exercises else 0)
        picture.text(COUNT_FROM, y + 15, f"{len(card.solved)} of {card.exercises}", "faint small", "start")
    picture.text(LEFT, 122 + UNIT_STEP * len(cards), _mistake_counts(cards), "small", "start")
    return picture.svg()


def _short_title(card: Card) -> str:
    """Return the title of a unit up to its first comma."""
    return card.title.partition(",")[0]


def _mistake_counts(cards: Sequence[Card]) -> str:
    """Return how many mistakes the cards hold, one in each exercise: "mistakes met: 5, overcome: 3"."""
    mistakes = [mistake for card in cards for mistake in card.mistakes]
    return f"mistakes met: {len(mistakes)}, overcome: {sum(mistake.is_overcome for mistake in mistakes)}"


def certificate_page(cards: Sequence[Card], curves: Mapping[str, str], day: date, name: str = "") -> str:
    """Return the certificate as a page of HTML that refers to no other file: a document to print, and its details.

    Args:
        cards: the cards of all units.
        curves: the pictures that `handgrad train` has drawn, by unit, as SVG text.
        day: the date on the certificate.
        name: the learner's name; if empty, there is a line to write it on.
    """
    course = cards[0].course
    long_day = f"{day.day} {day:%B} {day.year}"
    titles = {card.unit: _short_title(card) for card in cards}
    pictures = "".join(_curve_figure(titles.get(unit, unit), svg) for unit, svg in curves.items())
    if pictures:
        key = "Trained with these gradients (blue, thin) and with torch's (orange, wide), on a logarithmic scale:"
        pictures = f'<p class="dim">{key}</p><div class="trained">{pictures}</div>'
    units = f'<table class="units"><caption>Exercises solved</caption>{"".join(map(_unit_row, cards))}</table>'
    document = [
        '<section class="document">',
        f'<p class="course">{escape(course)}</p>',
        "<h1>Certificate</h1>",
        f'<p class="name">{escape(plain(name)) or "<small>name</small>"}</p>',
        f'<p class="all">{escape(totals(cards))}</p>',
        f'<p>{escape(_mistake_counts(cards))}</p>',
        f'<p><time datetime="{day.isoformat()}">{long_day}</time></p>',
        f'<div class="all-units">{units}</div>{pictures}',
        "</section>",
    ]  # fmt: skip
    return page(f"{course}: certificate", [*document, *_details(cards)], header=[], kind="certificate")


def _unit_row(card: Card) -> str:
    """Return the progress in the unit of a card as an HTML table row: title, bar, and number of solved exercises."""
    share = 100 * len(card.solved) / card.exercises if card.exercises else 0
    bar = (
        '<svg class="bar" width="100%" height="12" aria-hidden="true">'
        f'<rect width="100%" height="12" class="untried"/><rect width="{share:.4g}%" height="12" class="passed"/></svg>'
    )
    count = f"{len(card.solved)} of {card.exercises}"
    return f'<tr><th scope="row">{escape(_short_title(card))}</th><td>{bar}</td><td class="number">{count}</td></tr>'


def _curve_figure(title: str, svg: str) -> str:
    """Return the curves of a training as a small HTML figure, cut out of the picture, which also has a plane or a text.

    Args:
        title: the title of the unit.
        svg: the picture of the training, as SVG text.
    """
    last = LAST_LOSS.findall(svg)
    if WITH_PLANE.search(svg):
        svg = BESIDE_CURVES.sub("", LAST_LOSS.sub("", WITH_PLANE.sub(CURVES_ALONE, svg, count=1)))
        svg = svg.replace(SMALL_LETTERS, LARGE_LETTERS)
    about = f"Two loss curves of {title}: with these gradients, and with torch's"
    losses = f": loss {' and '.join(dict.fromkeys(last))}" if last else ""
    return f"<figure>{figure(svg, about)}<figcaption>{escape(title + losses)}</figcaption></figure>"


def _details(cards: Sequence[Card]) -> list[str]:
    """Return the HTML lines that follow the document: the exercises that are solved, and the mistakes.

    Mistakes that are not overcome somewhere come first, then those that were overcome in most exercises.
    """
    solved = "".join(
        f'<tr><th scope="row">{escape(card.unit)}</th><td>{escape(", ".join(card.solved))}</td></tr>'
        for card in cards
        if card.solved
    )
    mistakes = [mistake for card in cards for mistake in card.mistakes]
    overcome, others = (exercises_by_code(mistakes, is_overcome=state) for state in (True, False))
    states = {"overcome in": overcome, "not yet overcome in": others}
    codes = sorted({*overcome, *others}, key=lambda code: (code not in others, -len(overcome.get(code, ())), code))
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(code)}</code><br><span class="dim">{escape(meaning(code))}</span></th>'
        + "".join(
            f'<td data-label="{head}">{escape(", ".join(exercises.get(code, ())))}</td>'
            for head, exercises in states.items()
        )
        + "</tr>"
        for code in codes
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("mistake", *states))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    return [
        '<h2 class="details">Solved</h2>', f"<table>{solved}</table>" if solved else "<p>Nothing yet.</p>",
        "<h2>Mistakes, met and overcome</h2>", table or "<p>None was met.</p>",
    ]  # fmt: skip
