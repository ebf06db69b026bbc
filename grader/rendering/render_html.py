"""Renders what a check cell shows, the words of `handgrad check`, as text and as HTML for any notebook's colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from grader.course.course import Course, CourseExercise
from grader.results.records import AnswerResult, ExerciseResult, Status
from grader.safe_text import plain

from .exercise_summary import formula_or_words
from .picture_data import ExercisePictures
from .picture_html import div, pictures_html
from .render_text import as_text, exercise_report, group_alike, printed_lines

WIDTH, WIDEST = 80, 200
CODE = re.compile(r"`([^`\n]+)`")
# Text keeps the notebook's own colour; marks and edges have 3:1 contrast on white and on near-black alike.
COLOUR: dict[Status, str] = {"passed": "#2b9348", "failed": "#e0453a", "todo": "#b7791f", "error": "#8b5fd6"}
MARK: dict[Status, str] = {
    "passed": "\N{CHECK MARK}",
    "failed": "\N{BALLOT X}",
    "todo": "\N{WHITE CIRCLE}",
    "error": "!",
}
SAYS_DONE = "All right. Go on with the next exercise."
SAYS_RUN = "Run the exercise's cell first, and check again."
SAYS_TODO = "Write your answer in the exercise's cell, run that cell, and check again."
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; padding: 1rem;
  max-width: 60rem; margin: 0 auto; }
h1 { font-size: 1.2rem; }
summary { cursor: pointer; }
"""


@dataclass(frozen=True, repr=False)
class ResultDisplay:
    """The verdict on one exercise, as a notebook displays it.

    Args:
        hints: how many hints to show of each answer; HTML has the others folded away.
        shown: pictures of what is wrong, only in HTML.
        of_notebook: it stands in a notebook, where the cells were checked.
        aside: what is said of it beside its name, such as its points.
    """

    exercise: CourseExercise
    result: ExerciseResult
    hints: int = 1
    shown: ExercisePictures | None = None
    of_notebook: bool = True
    aside: str = ""

    def __repr__(self) -> str:
        seen = {answer.name: self.hints for answer in self.result.answers}
        title = self.exercise.id
        lines = exercise_report(self.exercise, self.result, WIDTH, seen, title=title, step=after_hint)
        said = [as_text(lines), self._noise(WIDTH), next_step(self.result)]
        return "\n".join(part for part in said if part)

    def _repr_html_(self) -> str:
        about, is_formula = formula_or_words(self.exercise)
        what = f"<code>{_text(about)}</code>" if is_formula else f"<span>{_text(about)}</span>"
        aside = f"&ensp;<span>{_text(self.aside)}</span>" if self.aside else ""
        title = f"<b>{_text(self.exercise.id)}</b>{aside}&ensp;{what}"
        groups = [answers_html(group, self.hints) for group in group_alike(self.result)]
        said = self._noise(WIDEST)
        noise = [div(f"<pre>{escape(said)}</pre>", "margin-top: 0.5em; overflow-x: auto")] if said else []
        step = next_step(self.result) if self.of_notebook else ""
        then = [div(_text(step), "margin-top: 0.5em; opacity: 0.8")] if step else []
        edge = f"border-left: 4px solid {COLOUR[self.result.status]}; padding: 0.2em 0 0.2em 0.8em"
        body = "".join([div(title), *groups, *self._pictures(), *noise, *then])
        widest = "48em" if self.shown is None else "60em"
        return div(body, f"{edge}; margin: 0.3em 0; max-width: {widest}; line-height: 1.45; overflow-wrap: anywhere")

    def _pictures(self) -> list[str]:
        """What there is to draw, folded away in a notebook; nothing where nothing is."""
        if self.shown is None or not (self.shown.is_drawn or (self.result.status == "failed" and not self.of_notebook)):
            return []
        drawn = pictures_html(self.shown)
        if not self.of_notebook:
            return [drawn]
        summary = '<summary style="display: list-item">see the mistake</summary>'
        return [f'<details style="margin-top: 0.5em">{summary}{drawn}</details>']

    def _noise(self, width: int) -> str:
        """What the cells printed, and what of them was passed over, unless that did no harm."""
        harmless = self.result.status == "passed"
        return as_text(printed_lines(replace(self.result, notes=()) if harmless else self.result, width))


def after_hint(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """What to do next, once this many hints have been seen."""
    if seen < len(answer.hints):
        return f'next hint: check("{exercise.id}", hints={seen + 1})'
    return "no more hints; the lesson is at the top of this notebook"


def next_step(result: ExerciseResult) -> str:
    """What to do next, where there is no hint to follow."""
    if result.status == "passed":
        return SAYS_DONE
    if result.answers[0].code == "missing-function":
        return SAYS_RUN
    return SAYS_TODO if {answer.status for answer in result.answers} <= {"todo", "passed"} else ""


def answers_html(answers: Sequence[AnswerResult], shown: int) -> str:
    """One line for answers of which the same is to be said, and under it what helps."""
    first = answers[0]
    names = ", ".join(f"<b>{_text(answer.name)}</b>" for answer in answers)
    mark = f'<b style="color: {COLOUR[first.status]}">{MARK[first.status]}</b>'
    says = "ok" if first.status == "passed" else _text(first.message)
    evidence = div(_text(first.evidence)) if first.evidence else ""
    hints = _hints(first.hints, shown) if first.status == "failed" else ""
    helps = div(evidence + hints, "padding-left: 1.4em") if evidence or hints else ""
    fact = div(f"{mark}&ensp;{names}&ensp;{says}", "padding-left: 1.4em; text-indent: -1.4em")
    return div(fact + helps, "margin-top: 0.5em")


def _hints(hints: Sequence[str], shown: int, number: int = 1) -> str:
    """The hints: those to be shown, and each other one folded away under the one before it."""
    if not hints:
        return ""
    label = f"hint {number} of {number + len(hints) - 1}"
    rest = _hints(hints[1:], shown, number + 1)
    if number <= shown:
        return f"{div(f'<b>{label}:</b> {_text(hints[0])}')}{rest}"
    return f'<details><summary style="display: list-item">{label}</summary>{div(_text(hints[0]))}{rest}</details>'


def _text(text: str) -> str:
    """Text as HTML, with `code` between backticks."""
    return CODE.sub(r"<code>\1</code>", escape(plain(text)))


def check_page(
    course: Course,
    chosen: Sequence[CourseExercise],
    results: Sequence[ExerciseResult],
    album: Sequence[ExercisePictures],
) -> str:
    """The whole page, in ASCII, so that no terminal or pipe can spoil it."""
    pictures = {seen.exercise: seen for seen in album}
    reports = [
        ResultDisplay(exercise, result, shown=pictures.get(exercise.id), of_notebook=False)._repr_html_()
        for exercise, result in zip(chosen, results, strict=True)
    ]
    title = f"{course.config.title}: check"
    return page(title, [f"<h1>{escape(title)}</h1>", *reports])


def page(title: str, body: Sequence[str], style: str = "") -> str:
    """A page of these parts, in ASCII; it runs no script and loads nothing.

    Args:
        style: more of it, for this page.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{escape(title)}</title>'
        f"<style>{STYLE}{style}</style>"
    )
    inside = "\n".join(body)
    whole = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{inside}</body></html>\n'
    return whole.encode("ascii", "xmlcharrefreplace").decode()
