"""A unit's lesson: in the terminal, or as a page for the browser with its pictures."""

from __future__ import annotations

import os
import re
import sys
import webbrowser
from html import escape
from pathlib import Path

from rich.console import Console, RenderableType

from grader.course.course import Course
from grader.errors import CourseError, InfrastructureError
from grader.files import FOLDER, remedy, write_atomically
from grader.rendering.console import is_plain, report_width, styled_text
from grader.rendering.render_text import Line

IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
OTHER_LESSON = re.compile(r'href="\.\./([^/"]+)/README\.md(#[^"]*)?"')
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
  max-width: 46rem; margin: 0 auto; padding: 1rem; }
pre { overflow-x: auto; padding: .7em; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
pre, code { font: 14px/1.4 ui-monospace, Menlo, Consolas, monospace; }
img { max-width: 100%; background: #fff; }
td, th { padding: .1em .7em; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
table { border-collapse: collapse; }
"""


def lesson_text(course: Course, unit: str) -> str:
    """Return the lesson of a unit, as Markdown.

    Raises:
        CourseError: it is missing or cannot be read.
    """
    path = _path(course, unit)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read ({error}): handgrad init makes a folder with all lessons.") from error


def in_terminal(text: str) -> list[Line | RenderableType]:
    """Return a lesson for the terminal, with each picture replaced by its description; in plain mode, as Markdown.

    Args:
        text: the lesson, as Markdown.
    """
    text = IMAGE.sub(r"Picture: \1.", text)
    if is_plain():
        return [((line, ""),) for line in text.splitlines()]
    from rich.markdown import Markdown

    return [Markdown(text, code_theme="ansi_dark", hyperlinks=False)]


def print_in(console: Console, text: str) -> None:
    """Print a lesson, given as Markdown, as wide as reports."""
    for part in in_terminal(text):
        console.print(styled_text(part) if isinstance(part, tuple) else part, width=report_width(), soft_wrap=False)


def open_in_browser(course: Course, unit: str) -> str:
    """Show a lesson in the browser, with its pictures; return a sentence for the learner that says where it is.

    Raises:
        CourseError: it is missing or cannot be read.
        InfrastructureError: the page cannot be written.
    """
    pages = {config.id: _page_path(course, config.id) for config in course.config.units}
    try:
        for name in [unit, *pages]:
            if name == unit or _path(course, name).is_file():
                write_atomically(pages[name], _page(course, name).encode("ascii", "xmlcharrefreplace"))
    except OSError as error:
        raise InfrastructureError(f"{pages[unit].parent} cannot be written: {remedy(error)}.") from error
    if _has_browser() and webbrowser.open(pages[unit].as_uri()):
        return f"The lesson of {unit} is open in your browser."
    return f"There is no browser to open here. The lesson is the page {pages[unit].as_uri()}"


def unit_named(course: Course, name: str) -> str:
    """Return the id of the unit with this id or number, or of the unit of the exercise with this id.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    numbered = [unit.id for unit in course.config.units if name.isdigit() and unit.id.startswith(f"{int(name):02}_")]
    return numbered[0] if numbered else course.select([name])[0].unit


def _path(course: Course, unit: str) -> Path:
    """Return the path of a unit's lesson."""
    return course.root / "exercises" / unit / "README.md"


def _page_path(course: Course, unit: str) -> Path:
    """Return the path at which the lesson of a unit is written as a page for the browser."""
    return course.root / FOLDER / "lessons" / f"{unit}.html"


def _page(course: Course, unit: str) -> str:
    """Return a unit's lesson as a page in HTML, whose links to other lessons lead to their pages."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable("table").render(lesson_text(course, unit))
    known = {config.id for config in course.config.units}

    def link(match: re.Match[str]) -> str:
        return f'href="{_page_path(course, match[1]).as_uri()}"' if match[1] in known else match[0]

    title, base = escape(f"{unit}: lesson"), _path(course, unit).parent.as_uri()
    head = f'<meta charset="utf-8"><base href="{base}/"><title>{title}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{OTHER_LESSON.sub(link, body)}</body></html>\n'


def _has_browser() -> bool:
    """Return whether a page would open in a window, and not in this terminal."""
    window = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in window)
