"""A result as a notebook shows it, as text and as HTML for any colours, and pages of HTML that load nothing."""

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
from .render_text import as_text, exercise_report, group_alike, message_with_code, printed_lines

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
    """The result of an exercise that a notebook displays by its `repr` or as HTML.

    Args:
        exercise: the exercise.
        result: its result.
        hints: the number of hints to show of each answer; in HTML the others are folded away.
        shown: pictures of wrong answers, for HTML only; `None` to show none.
        of_notebook: whether it stands in a notebook whose cells were checked, and names the next step there.
        aside: a text behind the exercise's name, such as its points.
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
        parts = [as_text(lines), self._printed(WIDTH), next_step(self.result)]
        return "\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        """Return the result as an HTML element."""
        about, is_formula = formula_or_words(self.exercise)
        task = f"<code>{_text(about)}</code>" if is_formula else f"<span>{_text(about)}</span>"
        aside = f"&ensp;<span>{_text(self.aside)}</span>" if self.aside else ""
        title = f"<b>{_text(self.exercise.id)}</b>{aside}&ensp;{task}"
        groups = [answers_html(group, self.hints) for group in group_alike(self.result)]
        text = self._printed(WIDEST)
        printed = [div(f"<pre>{escape(text)}</pre>", "margin-top: 0.5em; overflow-x: auto")] if text else []
        step = next_step(self.result) if self.of_notebook else ""
        then = [div(_text(step), "margin-top: 0.5em; opacity: 0.8")] if step else []
        edge = f"border-left: 4px solid {COLOUR[self.result.status]}; padding: 0.2em 0 0.2em 0.8em"
        body = "".join([div(title), *groups, *self._pictures(), *printed, *then])
        widest = "48em" if self.shown is None else "60em"
        return div(body, f"{edge}; margin: 0.3em 0; max-width: {widest}; line-height: 1.45; overflow-wrap: anywhere")

    def _pictures(self) -> list[str]:
        """Return the HTML of the pictures, in a notebook folded away; empty if there is nothing to draw."""
        if self.shown is None or not (self.shown.is_drawn or (self.result.status == "failed" and not self.of_notebook)):
            return []
        drawn = pictures_html(self.shown)
        if not self.of_notebook:
            return [drawn]
        summary = '<summary style="display: list-item">see the mistake</summary>'
        return [f'<details style="margin-top: 0.5em">{summary}{drawn}</details>']

    def _printed(self, width: int) -> str:
        """Return the text that the cells printed, and the notes on ignored code unless everything is right."""
        harmless = self.result.status == "passed"
        return as_text(printed_lines(replace(self.result, notes=()) if harmless else self.result, width))


def after_hint(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """Return the next step for a learner in a notebook who has seen some hints of an answer.

    Args:
        exercise: the exercise.
        answer: the wrong answer.
        seen: the number of hints seen.
    """
    if seen < len(answer.hints):
        return f'next hint: check("{exercise.id}", hints={seen + 1})'
    return "no more hints; the lesson is at the top of this notebook"


def next_step(result: ExerciseResult) -> str:
    """Return the next step that the result as a whole suggests; empty if the hints suggest it."""
    if result.status == "passed":
        return SAYS_DONE
    if result.answers[0].code == "missing-function":
        return SAYS_RUN
    return SAYS_TODO if {answer.status for answer in result.answers} <= {"todo", "passed"} else ""


def answers_html(answers: Sequence[AnswerResult], shown: int) -> str:
    """Return the HTML of answers with the same verdict: a line with their names, and the evidence and hints below it.

    Args:
        answers: at least one; the message, evidence and hints are those of the first.
        shown: the number of hints that are not folded away.
    """
    first = answers[0]
    names = ", ".join(f"<b>{_text(answer.name)}</b>" for answer in answers)
    mark = f'<b style="color: {COLOUR[first.status]}">{MARK[first.status]}</b>'
    message = "ok" if first.status == "passed" else _text(message_with_code(first))
    evidence = div(_text(first.evidence)) if first.evidence else ""
    hints = _hints(first.hints, shown) if first.status == "failed" else ""
    helps = div(evidence + hints, "padding-left: 1.4em") if evidence or hints else ""
    fact = div(f"{mark}&ensp;{names}&ensp;{message}", "padding-left: 1.4em; text-indent: -1.4em")
    return div(fact + helps, "margin-top: 0.5em")


def _hints(hints: Sequence[str], shown: int, number: int = 1) -> str:
    """Return the HTML of hints; those after the first `shown` are folded away, each inside the one before it."""
    if not hints:
        return ""
    label = f"hint {number} of {number + len(hints) - 1}"
    further = _hints(hints[1:], shown, number + 1)
    if number <= shown:
        return f"{div(f'<b>{label}:</b> {_text(hints[0])}')}{further}"
    return f'<details><summary style="display: list-item">{label}</summary>{div(_text(hints[0]))}{further}</details>'


def _text(text: str) -> str:
    """Return a text as HTML, with `code` between backticks."""
    return CODE.sub(r"<code>\1</code>", escape(plain(text)))


def check_page(
    course: Course,
    chosen: Sequence[CourseExercise],
    results: Sequence[ExerciseResult],
    album: Sequence[ExercisePictures],
) -> str:
    """Return the page of `handgrad check --show`, as ASCII so that any terminal or pipe can carry it.

    Args:
        course: the course.
        chosen: the exercises.
        results: the result of each.
        album: pictures of some of the exercises.
    """
    pictures = {seen.exercise: seen for seen in album}
    reports = [
        ResultDisplay(exercise, result, shown=pictures.get(exercise.id), of_notebook=False)._repr_html_()
        for exercise, result in zip(chosen, results, strict=True)
    ]
    title = f"{course.config.title}: check"
    return page(title, [f"<h1>{escape(title)}</h1>", *reports])


def page(title: str, body: Sequence[str], style: str = "") -> str:
    """Return an HTML page, as ASCII, that runs no script and loads nothing.

    Args:
        title: plain text.
        body: lines of HTML.
        style: CSS to be added to that of every page.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{escape(title)}</title>'
        f"<style>{STYLE}{style}</style>"
    )
    inside = "\n".join(body)
    whole = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{inside}</body></html>\n'
    return whole.encode("ascii", "xmlcharrefreplace").decode()
