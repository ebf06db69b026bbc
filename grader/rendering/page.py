"""Pages of HTML that are one file each: a single style sheet, no script, and nothing that is loaded."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from grader.safe_text import plain

from .svg_drawing import shrinking

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
CODE, POWER_OF_TEN = re.compile(r"`([^`\n]+)`"), re.compile(r"\d[\d.]*e-\d+")
UNBROKEN = r'<span class="whole">\g<0></span>'


@cache
def stylesheet() -> str:
    """Return the style sheet of all pages."""
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(
    title: str, main: Sequence[str], *, header: Sequence[str] | None = None, footer: Sequence[str] = (), kind: str
) -> str:
    """Return an HTML page, as ASCII, that runs no script and loads nothing.

    Args:
        title: plain text, which is the first heading too, unless there is a `header`.
        main: lines of HTML.
        header: lines of HTML above them; they or `main` have the first heading.
        footer: lines of HTML below them.
        kind: the class of the body in the style sheet, such as `narrow`.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{stylesheet()}</style>"
    )
    parts = (
        ("header", [f"<h1>{escape(title)}</h1>"] if header is None else header),
        ("main", main),
        ("footer", footer),
    )
    body = "\n".join("\n".join((f"<{tag}>", *lines, f"</{tag}>")) for tag, lines in parts if lines)
    whole = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body class="{kind}">{body}</body></html>\n'
    return whole.encode("ascii", "xmlcharrefreplace").decode()


def text_html(text: str) -> str:
    """Return a text as HTML: each part between backticks is a `<code>` element, and no number like 1e-5 is broken."""
    return CODE.sub(r"<code>\1</code>", code_html(text))


def code_html(text: str) -> str:
    """Return source code as HTML in which no number like 1e-5 is broken."""
    return POWER_OF_TEN.sub(UNBROKEN, escape(plain(text)))


def figure(svg: str, about: str) -> str:
    """Return a drawing as a figure that shrinks on a narrow page, and scrolls sideways where it would be tiny.

    It stands in the page as an image of its own, so that its styles and ids do not meet those of another figure.

    Args:
        svg: the text of an SVG file.
        about: a description for those who cannot see it.
    """
    data = base64.b64encode(svg[max(svg.find("<svg"), 0) :].encode()).decode()
    width = re.search(r'<svg[^>]* width="(\d+)"', svg)
    style = f' style="{shrinking(float(width[1]))}"' if width else ""
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(about)}"{style}>'
    return f'<div class="figure" tabindex="0" role="group" aria-label="Figure">{image}</div>'
