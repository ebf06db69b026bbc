"""The certificate of a whole course: every unit's card on one page and in one picture; made in the learner's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import escape

from grader.rendering.render_html import page
from grader.rendering.render_text import Line
from grader.rendering.svg_drawing import SvgDrawing
from grader.results.codes import meaning

from .card import Card, Met

WIDTH, LEFT, BAR, STEP = 640, 32, 180, 26
BAR_FROM, COUNT_FROM = 300, 500
STYLE = """
svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
td, th { text-align: left; vertical-align: top; padding: .1em 1em .1em 0; }
"""


def totals(cards: Sequence[Card]) -> str:
    """What was solved of the course, in a line."""
    solved, exercises = sum(len(card.solved) for card in cards), sum(card.exercises for card in cards)
    done, questions = (sum(getattr(card.answers, name) for card in cards) for name in ("questions_done", "questions"))
    return f"{solved} of {exercises} exercises solved, {done} of {questions} questions answered"


def met_in(cards: Sequence[Card]) -> list[Met]:
    """The mistakes that were met in any unit; overcome is what is overcome wherever it was met."""
    found: dict[str, Met] = {}
    for each in (met for card in cards for met in card.met):
        before = found.get(each.code, Met(each.code, (), True))
        found[each.code] = Met(each.code, (*before.exercises, *each.exercises), before.overcome and each.overcome)
    return sorted(found.values(), key=lambda each: (not each.overcome, -len(each.exercises), each.code))


def certificate_lines(cards: Sequence[Card]) -> Iterator[Line]:
    """The certificate as text."""
    yield ((cards[0].course, "bold"),)
    yield ((totals(cards), ""),)
    for card in cards:
        whole = len(card.solved) == card.exercises
        yield ((f"  {card.unit}", "good" if whole else ""), (f"  {len(card.solved)} of {card.exercises}", "dim"))
    met = met_in(cards)
    overcome = sum(each.overcome for each in met)
    yield ((f"mistakes met: {len(met)}, overcome: {overcome}", ""),)


def certificate_svg(cards: Sequence[Card], day: date) -> str:
    """The certificate as the text of an SVG file, with no name and no path in it."""
    met = met_in(cards)
    overcome = [each.code for each in met if each.overcome]
    picture = SvgDrawing(WIDTH, 150 + STEP * len(cards), cards[0].course, totals(cards))
    picture.text(LEFT, 40, cards[0].course, "", "start")
    picture.text(WIDTH - LEFT, 40, day.isoformat(), "faint small", "end")
    picture.text(LEFT, 66, totals(cards), "faint small", "start")
    for number, card in enumerate(cards):
        y = 84 + STEP * number
        picture.text(LEFT, y + 15, f"{card.unit[:2]}  {card.title.partition(',')[0]}", "small", "start")
        picture.box(BAR_FROM, y + 4, BAR, 14)
        if card.solved:
            picture.box(BAR_FROM, y + 4, BAR * len(card.solved) / card.exercises, 14, "marked")
        picture.text(COUNT_FROM, y + 15, f"{len(card.solved)} of {card.exercises}", "faint small", "start")
    picture.text(
        LEFT, 112 + STEP * len(cards), f"mistakes met: {len(met)}, overcome: {len(overcome)}", "small", "start"
    )
    return picture.svg()


def certificate_page(cards: Sequence[Card], curves: Mapping[str, str], day: date) -> str:
    """The certificate as a page of HTML that needs nothing else.

    Args:
        curves: what `handgrad train` has drawn, by unit: SVG.
    """
    rows = "".join(
        f"<tr><td><code>{escape(each.code)}</code></td><td>{'overcome' if each.overcome else 'not yet'}</td>"
        f"<td>{escape(meaning(each.code))}</td><td>{escape(', '.join(each.exercises))}</td></tr>"
        for each in met_in(cards)
    )
    mistakes = f"<table><tr><th>mistake</th><th></th><th></th><th>met in</th></tr>{rows}</table>" if rows else ""
    solved = "".join(
        f"<tr><td>{escape(card.unit)}</td><td>{escape(', '.join(card.solved))}</td></tr>"
        for card in cards
        if card.solved
    )
    drawn = (f"<h2>Trained with these gradients: {escape(unit)}</h2>{_inline(svg)}" for unit, svg in curves.items())
    return page(
        cards[0].course,
        [
            _inline(certificate_svg(cards, day)),
            "<h2>Solved</h2>", f"<table>{solved}</table>" if solved else "<p>Nothing yet.</p>",
            "<h2>Mistakes, met and overcome</h2>", mistakes or "<p>None was met.</p>",
            *drawn,
        ],
        STYLE,
    )  # fmt: skip


def _inline(svg: str) -> str:
    """A drawing without what only a file of its own begins with."""
    return svg[max(svg.find("<svg"), 0) :]
