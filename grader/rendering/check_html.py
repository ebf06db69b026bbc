"""Verdicts as one page of HTML that needs nothing else; of a learner's own check, with pictures of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from grader.course.course import Course, CourseExercise
from grader.results.records import ExerciseResult

from .picture_data import ExercisePictures
from .render_html import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; padding: 1rem;
  max-width: 60rem; margin: 0 auto; }
h1 { font-size: 1.2rem; }
summary { cursor: pointer; }
"""


def check_page(
    course: Course,
    chosen: Sequence[CourseExercise],
    results: Sequence[ExerciseResult],
    album: Sequence[ExercisePictures],
) -> str:
    """The whole page, in ASCII, so that no terminal or pipe can spoil it."""
    pictures = {seen.exercise: seen for seen in album}
    reports = [
        Report(exercise, result, shown=pictures.get(exercise.id), of_notebook=False)._repr_html_()
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
