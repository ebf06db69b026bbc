"""A learner's own check as one page of HTML that needs nothing else: the verdicts, and pictures of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from grader.course import Course, CourseExercise
from grader.picture.picture_data import ExercisePictures
from grader.results import ExerciseResult

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
    title = escape(f"{course.config.title}: check")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{title}</title><style>{STYLE}</style>'
    )
    body = "\n".join([f"<h1>{title}</h1>", *reports])
    page = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'
    return page.encode("ascii", "xmlcharrefreplace").decode()
