"""A result as semantic HTML, for pages and for notebooks, and as text for notebooks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from grader.course.course import Course, CourseExercise
from grader.results.records import AnswerResult, ExerciseResult, Status

from .exercise_summary import formula_or_words
from .own_statements import Statement, statements_of
from .page import UNBROKEN, code_html, page, text_html
from .picture_data import ExercisePictures
from .picture_html import NOTEBOOK_PAPER, pictures_html
from .render_text import MOST_PRINTED, as_text, exercise_report, group_alike, message_with_code, printed_lines

WIDTH, WIDEST = 80, 200
END_CODE = re.compile(r"\[[a-z-]+\]$")  # that of a mistake
CLASS = re.compile(r' class="([^"]*)"(?: style="([^"]*)")?')
# Edges have a contrast of 3:1 on white and on near-black alike; a mark, mixed with the text's colour, has 4.5:1.
COLOUR: dict[Status, str] = {"passed": "#2b9348", "failed": "#e0453a", "todo": "#b7791f", "error": "#8b5fd6"}
MARK: dict[Status, str] = {
    "passed": "\N{CHECK MARK}",
    "failed": "\N{BALLOT X}",
    "todo": "\N{WHITE CIRCLE}",
    "error": "!",
}
MARK_NAMES: dict[Status, str] = {"passed": "right", "failed": "wrong", "todo": "to do", "error": "error"}
SAYS_DONE = "All right. Go on with the next exercise."
SAYS_RUN = "Run the exercise's cell first, and check again."
SAYS_TODO = "Write your answer in the exercise's cell, run that cell, and check again."
# What the style sheet of a page says of these classes, for notebooks, which have no style sheet of ours.
NOTEBOOK: dict[str, str] = {
    "result": "margin: 0.3em 0; max-width: 60em; line-height: 1.45; overflow-wrap: anywhere",
    "heading": "display: inline; margin: 0; font-size: 1em; font-weight: bold",
    "dim": "opacity: 0.8",
    "finding": "display: flex; gap: 0.6em; margin-top: 0.5em; max-width: 48em",
    "helps": "padding-left: 1.6em; max-width: 48em",
    "help": "margin: 0",
    "next": "margin: 0.5em 0 0; opacity: 0.8",
    "printed": "margin-top: 0.5em; white-space: pre-wrap; font-family: monospace",
    "source": "margin: 0.2em 0; padding: 0.2em 0.6em; border-left: 2px solid; white-space: pre-wrap; "
    "font-family: monospace",
    "part": "background: none; color: inherit; font-weight: bold; text-decoration: underline wavy #e0453a",
    "folded": "margin-top: 0.5em",
    "summary": "display: list-item",
    "picture": "margin: 0.6em 0",
    "drawing": "margin: 0.6em 0",
    "scroll": "position: relative; overflow-x: auto",
    "first": "position: absolute; top: 0; height: 1px; scroll-initial-target: nearest",
    "maps": "display: flex; flex-wrap: wrap; gap: 0.4em 1.6em; margin: 0.3em 0; overflow-x: auto",
    "shapes": "display: flex; flex-wrap: wrap; gap: 0.8em 2em; margin: 0.5em 0; align-items: baseline",
    "captioned": "flex: none; min-width: min(100%, 18em); max-width: 100%",
    "shape": "overflow-x: auto",
    "map": "flex: none; align-self: flex-start; margin: 0; border-collapse: collapse; font-size: 13px; "
    "font-variant-numeric: tabular-nums",
    "caption": "text-align: left; font-weight: bold; white-space: nowrap; padding: 0; color: inherit",
    "row": "background:none;text-align:right",  # there are many of these four
    "index": "font-weight:400;opacity:.7;padding:.1em .4em;text-align:right",
    "corner": "white-space:nowrap",
    "across": "min-width:max(4em,var(--digits,0)*1ch)",
    "key": "margin: 0.2em 0; font-size: 0.9em",
    "cell": "padding:0 .4em",
    "whole": "white-space: nowrap",
    **{
        f"mark {status}": f"flex: none; width: 1em; color: color-mix(in srgb,currentColor 40%,{colour})"
        for status, colour in COLOUR.items()
    },
    **{status: f"border-left: 4px solid {colour}; padding: 0.2em 0 0.2em 0.8em" for status, colour in COLOUR.items()},
}


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
        code: the learner's file, or the cells in the order in which they ran; its statements stand beside the findings.
    """

    exercise: CourseExercise
    result: ExerciseResult
    hints: int = 1
    shown: ExercisePictures | None = None
    of_notebook: bool = True
    aside: str = ""
    code: Sequence[str] = ()

    def __repr__(self) -> str:
        """Return the result as plain text, with the first `self.hints` hints of each answer."""
        seen = {answer.name: self.hints for answer in self.result.answers}
        title = self.exercise.id
        lines = exercise_report(self.exercise, self.result, WIDTH, seen, title=title, step=after_hint)
        parts = [as_text(lines), self._printed(WIDTH), next_step(self.result)]
        return "\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        """Return the result as an HTML element for a notebook, with its styles in attributes."""
        return styles_inlined(self.html())

    def html(self, level: int = 3, drawing: str = "") -> str:
        """Return the result as an HTML element for a page that the function `page` makes.

        Args:
            level: the level of the heading, which is the exercise's id: 3 for `<h3>`.
            drawing: HTML that stands below the pictures; empty for none.
        """
        about, is_formula = formula_or_words(self.exercise)
        task = f"<code>{text_html(about)}</code>" if is_formula else f"<span>{text_html(about)}</span>"
        aside = f" <span>{text_html(self.aside)}</span>" if self.aside else ""
        heading = f'<h{level} class="heading">{text_html(self.exercise.id)}</h{level}>'
        text = textwrap.dedent(as_text(printed_lines(replace(self.result, notes=(), flags=()), WIDEST)))
        step = next_step(self.result) if self.of_notebook else ""
        parts = [
            f"<header>{heading}{aside} {task}</header>",
            *(answers_html(group, self.hints, self._statements(group)) for group in group_alike(self.result)),
            *(f'<p class="next dim">{text_html(note)}</p>' for note in self._notes()),
            f'<pre class="printed">{escape(text)}</pre>' if text else "",
            self._pictures(),
            drawing,
            f'<p class="next">{text_html(step)}</p>' if step else "",
        ]
        return f'<article class="result {self.result.status}">{"".join(parts)}</article>'

    def _statements(self, answers: Sequence[AnswerResult]) -> str:
        """Return the HTML of the learner's statements that give wrong answers; empty where none is seen."""
        if answers[0].status != "failed" or not self.code:
            return ""
        causes = {answer.name: answer for answer in self.result.answers}
        statements = dict.fromkeys(
            statement
            for answer in answers
            for statement in statements_of(
                self.code, self.exercise.id, answer, causes.get((answer.mistake or {}).get("cause", ""))
            )
        )
        return "".join(
            f'<pre class="source"><span class="dim">{statement.place}{", " * bool(statement.role)}'
            f"{text_html(statement.role)}</span>\n{_with_mark(statement)}</pre>"
            for statement in statements
        )

    def _pictures(self) -> str:
        """Return the HTML of the pictures, folded away if it is for a notebook; empty if there is nothing to draw."""
        if (
            self.shown is None
            or self.exercise.is_quiz
            or not (self.shown.is_drawn or (self.result.status == "failed" and not self.of_notebook))
        ):
            return ""
        if not self.of_notebook:
            return pictures_html(self.shown)
        drawn = pictures_html(self.shown, NOTEBOOK_PAPER)
        return f'<details class="folded"><summary class="summary">see the mistake</summary>{drawn}</details>'

    def _printed(self, width: int) -> str:
        """Return notes on ignored code, unless everything is right, and what the learner's code printed, as plain text.

        Args:
            width: the greatest number of characters in a line.
        """
        harmless = self.result.status == "passed"
        return as_text(printed_lines(replace(self.result, notes=()) if harmless else self.result, width))

    def _notes(self) -> list[str]:
        """Return the first notes on ignored code, unless everything is right, and the first flags."""
        notes = () if self.result.status == "passed" else self.result.notes
        return [*notes[:MOST_PRINTED], *self.result.flags[:MOST_PRINTED]]


def _with_mark(statement: Statement) -> str:
    """Return a statement as HTML in which the part that is wrong is marked, if it is known."""
    begin, end = statement.marked or (0, 0)
    before, part, after = (
        code_html(t) for t in (statement.text[:begin], statement.text[begin:end], statement.text[end:])
    )
    return f'{before}<mark class="part">{part}</mark>{after}' if part else before + after


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
    """Return a sentence on the next step if the exercise is passed, not defined or not begun; empty otherwise."""
    if result.status == "passed":
        return SAYS_DONE
    if result.answers[0].code == "missing-function":
        return SAYS_RUN
    return SAYS_TODO if {answer.status for answer in result.answers} <= {"todo", "passed"} else ""


def answers_html(answers: Sequence[AnswerResult], shown: int, statements: str = "") -> str:
    """Return the HTML of answers with the same verdict: a line with their names, and the evidence and hints below it.

    Args:
        answers: at least one; the message, evidence and hints are those of the first.
        shown: the number of hints that are not folded away.
        statements: the HTML of the learner's statements that give these answers; empty for none.
    """
    first = answers[0]
    names = ", ".join(f"<b>{text_html(answer.name)}</b>" for answer in answers)
    name = MARK_NAMES[first.status]  # for whoever hears the page
    mark = f'<b class="mark {first.status}" role="img" aria-label="{name}">{MARK[first.status]}</b>'
    message = "ok" if first.status == "passed" else END_CODE.sub(UNBROKEN, text_html(message_with_code(first)))
    evidence = f'<p class="help">{text_html(first.evidence)}</p>' if first.evidence else ""
    hints = _hints(first.hints, shown) if first.status == "failed" else ""
    helps = f'<div class="helps">{statements}{evidence}{hints}</div>' if statements or evidence or hints else ""
    return f'<div class="finding">{mark} <span>{names} {message}</span></div>{helps}'


def _hints(hints: Sequence[str], shown: int, number: int = 1) -> str:
    """Return the HTML of hints; those after the first `shown` are folded away, each inside the one before it.

    Args:
        hints: the hints from number `number` on.
        shown: how many of the answer's hints, counted from its first, are not folded away.
        number: the number of the first of these hints, from 1.
    """
    if not hints:
        return ""
    label = f"hint {number}/{number + len(hints) - 1}"
    further = _hints(hints[1:], shown, number + 1)
    if number <= shown:
        return f'<p class="help"><b>{label}:</b> {text_html(hints[0])}</p>{further}'
    hint = f'<p class="help">{text_html(hints[0])}</p>'
    return f'<details><summary class="summary">{label}</summary>{hint}{further}</details>'


def styles_inlined(html: str) -> str:
    """Return HTML that this package made, with the styles of `NOTEBOOK` in place of its classes, for a notebook.

    A class that has no style there stays.
    """

    def style(match: re.Match[str]) -> str:
        names = match[1].split()
        keys = [match[1]] if match[1] in NOTEBOOK else [name for name in names if name in NOTEBOOK]
        rules = [NOTEBOOK[key].replace("; ", ";").replace(": ", ":") for key in keys]
        rules += [match[2]] if match[2] else []
        return f' style="{";".join(rules)}"' if keys else match[0]

    return CLASS.sub(style, html)


def _checked_code(exercise: CourseExercise, result: ExerciseResult) -> tuple[str, ...]:
    """Return the text of an exercise's file as the only element, if it is still the file that was checked.

    Empty if the file has changed, cannot be read, is no UTF-8, or is a quiz.
    """
    try:
        content = exercise.path.read_bytes()
        is_checked = result.with_hash_of(content).made_from == result.made_from
        return (content.decode("utf-8"),) if is_checked and not exercise.is_quiz else ()
    except (OSError, UnicodeDecodeError):
        return ()


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
        ResultDisplay(
            exercise, result, shown=pictures.get(exercise.id), of_notebook=False, code=_checked_code(exercise, result)
        ).html(2)
        for exercise, result in zip(chosen, results, strict=True)
    ]
    return page(f"{course.config.title}: check", reports, kind="wide")
