"""A unit's lesson: in the terminal, or as a page for the browser with its pictures."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import webbrowser
from collections.abc import Sequence
from html import escape, unescape
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, RenderableType

from grader.course.course import Course
from grader.errors import CourseError, InfrastructureError
from grader.files import FOLDER, remedy, write_atomically
from grader.rendering.console import code_theme, is_plain, report_width, styled_text
from grader.rendering.render_text import Line

if TYPE_CHECKING:
    from markdown_it.token import Token

IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
FILE_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*[^)\s:]*\.md[^)\s]*\)")
OTHER_LESSON = re.compile(r'href="\.\./([^/"]+)/README\.md(#[^"]*)?"')
CODE = ("pycon", "python")
HEADING = re.compile(r"<h2>(.*?)</h2>")
PICTURE = re.compile(r'<p><img src="([^"]*)" alt="([^"]*)" /></p>')
TAG = re.compile(r"<[^>]*>")
NEXT = re.compile(r'<p>Next: <a href="[^"]*">[^<]*</a></p>\s*$')
NEGATIVE = re.compile(r"(?<![^\s(])-[^\s\d-]\S{0,15}")
BACK, ON = "\N{LEFTWARDS ARROW}\N{NO-BREAK SPACE}", "\N{NO-BREAK SPACE}\N{RIGHTWARDS ARROW}"
BESIDE_CODE = 2  # columns of the terminal, one on each side
DEEPER = " " * 4  # what stands before the rest of a line that is folded
WHOLE, WHOLE_CELL = 16, 12  # characters of code, and of a table's cell, that are not broken over two lines


def lesson_text(course: Course, unit: str) -> str:
    """Return the lesson of a unit, as Markdown.

    Raises:
        CourseError: the lesson is missing or cannot be read.
    """
    path = _path(course, unit)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read ({error}): handgrad init makes a folder with all lessons.") from error


def in_terminal(text: str) -> list[Line | RenderableType]:
    """Return a lesson as what is printed on the terminal: a picture is its description, a link to a lesson its words.

    Args:
        text: the lesson, as Markdown.

    Returns:
        In plain mode the lines of the Markdown; otherwise one element, which rich renders.
    """
    text = FILE_LINK.sub(r"\1", IMAGE.sub(r"Picture: \1.", text))
    if is_plain():
        return [((line, ""),) for line in text.splitlines()]
    from rich.console import ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.syntax import Syntax

    class FoldedCode(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = folded(str(self.text).rstrip(), options.max_width - BESIDE_CODE, is_table=self.lexer_name == "text")
            yield Syntax(code, self.lexer_name, theme=self.theme, padding=1)

    class Lesson(Markdown):
        elements: ClassVar = {**Markdown.elements, "fence": FoldedCode, "code_block": FoldedCode}

    return [Lesson(text, code_theme=code_theme(), hyperlinks=False)]  # type: ignore[arg-type]  # rich takes a theme, too


def folded(code: str, width: int, *, is_table: bool) -> str:
    """Return code in which what does not fit into `width` columns goes on in the lines below it, set in deeper.

    Args:
        code: lines of code, or of formulas and numbers.
        width: the number of columns; a longer word is not broken.
        is_table: whether neighbouring lines are cut in the same column, so that what stands below each other does so.
    """
    lines: list[str] = []
    for _, group in groupby(code.splitlines(), key=lambda line: bool(line.strip())):
        rows = list(group)
        lines += _folded_rows(rows, width) if is_table else [part for row in rows for part in _folded_line(row, width)]
    return "\n".join(lines)


def _folded_rows(rows: list[str], width: int) -> list[str]:
    """Return rows that are cut in one column which is free in all of them, or each alone if there is none.

    If all rows but one at most go on behind the cut, these parts stand below all rows, in columns of their own; else
    each stands below its row.
    """
    if max(map(len, rows)) <= width:
        return rows
    cut = next((c for c in range(width, width // 2, -1) if not any(row[c - 2 : c].strip() for row in rows)), None)
    if cut is None:
        return [part for row in rows for part in _folded_line(row, width)]
    deeper = " " * min(len(row) - len(row.lstrip()) for row in rows) + DEEPER
    beginnings, ends = [row[:cut].rstrip() for row in rows], [row[cut:] for row in rows]
    if ends.count("") > 1:
        both = zip(beginnings, (f"{deeper}{part.lstrip()}".rstrip() for part in ends), strict=True)
        return [part for parts in both for part in parts if part]
    return [*beginnings, *_folded_rows(textwrap.indent(textwrap.dedent("\n".join(ends)), deeper).split("\n"), width)]


def _folded_line(line: str, width: int) -> list[str]:
    """Return a line in parts of at most `width` columns, broken between words."""
    deeper = line[: len(line) - len(line.lstrip())] + DEEPER
    wrap = textwrap.TextWrapper(width, subsequent_indent=deeper, replace_whitespace=False)
    wrap.break_long_words = wrap.break_on_hyphens = False
    return wrap.wrap(line) or [line]


def print_in(console: Console, text: str) -> None:
    """Print a lesson, given as Markdown, as wide as `report_width` says."""
    for part in in_terminal(text):
        console.print(styled_text(part) if isinstance(part, tuple) else part, width=report_width(), soft_wrap=False)


def open_in_browser(course: Course, unit: str) -> str:
    """Show the lesson of a unit, with its pictures, in the browser; return a sentence that says where the page is.

    Raises:
        CourseError: the lesson is missing or cannot be read.
        InfrastructureError: the page cannot be written.
    """
    pages = write_pages(course, unit)
    if _has_browser() and webbrowser.open(pages[unit].as_uri()):
        return f"The lesson of {unit} is open in your browser."
    return f"There is no browser to open here. The lesson is the page {pages[unit].as_uri()}"


def write_pages(course: Course, unit: str = "") -> dict[str, Path]:
    """Write the lessons of a course as pages for the browser; return the path of each page by its unit, written or not.

    The units come in the order of the course. A page is not written if its unit has no lesson.

    Args:
        course: the course.
        unit: the unit whose lesson must exist; that of another unit may be missing. Empty for none.

    Raises:
        CourseError: the lesson is missing or cannot be read.
        InfrastructureError: a page cannot be written.
    """
    pages = {config.id: _page_path(course, config.id) for config in course.config.units}
    try:
        for name, path in pages.items():
            if name == unit or _path(course, name).is_file():
                write_atomically(path, _page(course, name).encode("ascii", "xmlcharrefreplace"))
    except OSError as error:
        folder = _page_path(course, unit).parent
        raise InfrastructureError(f"{folder} cannot be written: {remedy(error)}.") from error
    return pages


def unit_named(course: Course, name: str) -> str:
    """Return the id of the unit that a learner means.

    Args:
        course: the course.
        name: the id or the number of a unit, such as "4", or the id of an exercise in it.

    Raises:
        UsageError: nothing has this name; the message names the nearest.
    """
    return course.select([name])[0].unit


def _path(course: Course, unit: str) -> Path:
    """Return the path of a unit's lesson."""
    return course.root / "exercises" / unit / "README.md"


def _page_path(course: Course, unit: str) -> Path:
    """Return the path at which the lesson of a unit is written as a page for the browser."""
    return course.root / FOLDER / "lessons" / f"{unit}.html"


def _page(course: Course, unit: str) -> str:
    """Return a unit's lesson as a page in HTML: with its pictures, a table of contents, and links to its neighbours."""
    from markdown_it import MarkdownIt

    from grader.rendering.page import figure, page

    markdown = MarkdownIt("commonmark").enable("table")
    markdown.add_render_rule(
        "fence", lambda _self, tokens, place, *_: _block(tokens[place].content, tokens[place].info)
    )
    markdown.add_render_rule("text", lambda _self, tokens, place, *_: _with_minuses(tokens[place].content))
    tokens = markdown.parse(lesson_text(course, unit))
    _keep_short_parts_whole(tokens)
    body = markdown.renderer.render(tokens, markdown.options, {})
    known = {config.id: config.title for config in course.config.units if _path(course, config.id).is_file()}
    body = OTHER_LESSON.sub(lambda match: f'href="{match[1]}.html"' if match[1] in known else match[0], body)

    def drawn(match: re.Match[str]) -> str:
        """Return a picture of the lesson as a part of the page; its description alone if it cannot be read."""
        try:
            svg = (_path(course, unit).parent / match[1]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return f"<p>{match[2]}</p>"
        return figure(svg, unescape(match[2]))

    body = PICTURE.sub(drawn, body)
    scrolls = '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
    body = body.replace("<table>", f"{scrolls}<table>").replace("</table>", "</table></div>")
    heads = {f"part-{number}": head for number, head in enumerate(HEADING.findall(body), 1)}
    names = iter(heads)
    body = HEADING.sub(lambda match: f'<h2 id="{next(names)}">{match[1]}</h2>', body)
    title, _, main = body.partition("</h1>")
    entries = "".join(f'<a href="#{name}">{TAG.sub("", head)}</a>' for name, head in heads.items())
    contents = f'<nav class="contents" aria-label="Contents">{entries}</nav>' if heads else ""
    order = list(known)
    place = order.index(unit)
    before, after = order[place - 1] if place else "", order[place + 1] if place + 1 < len(order) else ""
    links = [f'<a href="{before}.html" rel="prev">{BACK}{escape(known[before])}</a>'] if before else []
    if after:
        main = NEXT.sub("", main)  # it is in the footer
        links.append(f'<a href="{after}.html" rel="next">{escape(known[after])}{ON}</a>')
    return page(
        f"{unit}: lesson",
        [main],
        header=[f"{title}</h1>" if main else f"<h1>{escape(unit)}</h1>", contents],
        footer=[f'<nav aria-label="Lessons before and after">{" ".join(links)}</nav>'] if links else [],
        kind="lesson",
    )


def _keep_short_parts_whole(tokens: Sequence[Token]) -> None:
    """Put short code and short cells of tables into class `whole`, which is not broken over two lines.

    Args:
        tokens: a parsed lesson; changed in place.
    """
    for token, content in pairwise(tokens):
        if token.type == "td_open" and len(content.content) <= WHOLE_CELL:
            token.attrSet("class", "whole")
        for part in token.children or ():
            if part.type == "code_inline" and len(part.content) <= WHOLE:
                part.attrSet("class", "whole")


def _with_minuses(text: str) -> str:
    """Return text as HTML in which a minus stays on the line of what it negates, as in `-u`."""
    return NEGATIVE.sub(r'<span class="whole">\g<0></span>', escape(text))


def _block(text: str, language: str) -> str:
    """Return a block of code or of formulas as HTML; it can be scrolled by keyboard as well.

    Args:
        text: the lines of the block.
        language: the word behind the fence, such as `python`; may be empty.
    """
    from grader.rendering.formulas import formulas_html

    if language == "text" and (mathml := formulas_html(text)):
        return f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{mathml}</div>\n'
    code = _coloured(text) if language in CODE else escape(text)
    return f'<pre tabindex="0"><code>{code}</code></pre>\n'


def _coloured(code: str) -> str:
    """Return Python as HTML: keywords in class `k`, texts in `s`, numbers in `m`, comments in `c`, prompts in `p`.

    Args:
        code: Python, or a session at the prompt.
    """
    from pygments.lexers import PythonConsoleLexer, PythonLexer
    from pygments.token import Comment, Generic, Keyword, Number, Operator, String

    kinds = ((Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Number, "m"), (Comment, "c"), (Generic.Prompt, "p"))
    lexer = PythonConsoleLexer() if code.startswith(">>>") else PythonLexer()
    parts = []
    for token, text in lexer.get_tokens(code):
        kind = next((name for family, name in kinds if token in family), "")
        parts.append(f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text))
    return "".join(parts)


def _has_browser() -> bool:
    """Return whether a page would open in a window, and not in this terminal."""
    window = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in window)
