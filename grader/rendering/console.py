"""The terminal: printed lines, a spinner, and plain mode for screen readers."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console, PagerContext
from rich.text import Text
from rich.theme import Theme

from grader.course.course import CourseExercise

from .render_text import Line

if TYPE_CHECKING:
    from rich.syntax import SyntaxTheme

# Colours from 16 on are the same in every terminal: these have 4.5:1 contrast on black and on white alike.
STYLES = {
    "bold": "bold", "good": "color(29)", "bad": "color(131)", "todo": "color(130)", "dim": "dim",
    "mark": "bold color(163)",
    "cold1": "color(231) on color(60)", "cold2": "color(231) on color(61)", "cold3": "color(231) on color(26)",
    "cold4": "bold color(231) on color(27)",
    "hot1": "color(231) on color(95)", "hot2": "color(231) on color(130)", "hot3": "color(16) on color(166)",
    "hot4": "bold color(16) on color(202)",
}  # fmt: skip
# Of the first 16, which each terminal paints in its own way, only red is readable on both; black is on cyan and yellow.
FEW_COLOURS = {
    "bold": "bold", "good": "bold", "bad": "red", "todo": "", "dim": "dim", "mark": "bold underline",
    "cold1": "black on bright_cyan", "cold2": "black on bright_cyan",
    "cold3": "bold black on bright_cyan", "cold4": "bold black on bright_cyan",
    "hot1": "black on bright_yellow", "hot2": "black on bright_yellow",
    "hot3": "bold black on bright_yellow", "hot4": "bold black on bright_yellow",
}  # fmt: skip
# Lessons and code, which rich would paint for black terminals alone.
MARKDOWN = {
    **dict.fromkeys(("h1", "h2", "h3", "code", "item.bullet", "item.number"), "bold"),
    **dict.fromkeys(("code_block", "block_quote", "hr", "h1.border", "table.border", "table.header"), ""),
    **dict.fromkeys(("link", "link_url"), "underline"),
}
MAX_WIDTH = 100
ACCESSIBLE = "ACCESSIBLE"
OFF = ("", "0")
WORD = re.compile(r"\S+")
DOCSTRING = '"""'


def report_width() -> int:
    """Return the width of a report in columns: the terminal's, but at most `MAX_WIDTH`."""
    return min(terminal().width, MAX_WIDTH)


def terminal() -> Console:
    """Return a rich console on standard output that neither highlights nor wraps."""
    return Console(highlight=False, soft_wrap=True, theme=markdown_theme())


def markdown_theme() -> Theme:
    """Return a rich theme for lessons that is readable on any background."""
    return Theme({f"markdown.{part}": style for part, style in MARKDOWN.items()})


def progress_theme() -> Theme:
    """Return a rich theme for spinners, and for the bars of long commands, that is readable on any background."""
    known = styles()
    bars = dict.fromkeys(("bar.complete", "bar.finished", "bar.pulse"), known["good"])
    return Theme({**bars, "bar.back": known["dim"], "progress.download": "", "status.spinner": known["bold"]})


def code_theme() -> SyntaxTheme:
    """Return a theme for Python that is readable on any background: keywords are bold, comments dim."""
    from pygments.token import Comment, Keyword, Operator
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme

    bold = Style(bold=True)
    return ANSISyntaxTheme({Keyword: bold, Operator.Word: bold, Comment: Style(dim=True)})


def styles() -> Mapping[str, str]:
    """Return the rich styles by name: those of `STYLES` in a terminal of 256 colours or more, else `FEW_COLOURS`."""
    has_many = os.environ.get("COLORTERM") in ("truecolor", "24bit") or "256" in os.environ.get("TERM", "")
    return STYLES if has_many or os.name == "nt" else FEW_COLOURS


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines; on a terminal, a line that is wider than the terminal is broken between words."""
    console = terminal()
    for line in lines:
        for text in _broken(console, styled_text(line)) if console.is_terminal else [styled_text(line)]:
            console.print(text)


def _broken(console: Console, text: Text) -> Iterator[Text]:
    """Yield a line as lines that fit the terminal, all indented like the first; a long word stays in one piece."""
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    breaks, start = list[int](), indent
    for word in WORD.finditer(text.plain, indent):
        is_too_wide = word.end() - start > console.width - indent
        if is_too_wide and word.start() > start:
            start = word.start()
            breaks.append(start)
    for number, part in enumerate(text.divide(breaks)):
        part.rstrip()
        yield Text(" " * indent).append_text(part) if number else part


def print_source(source: str) -> None:
    """Print Python; on a terminal, comments and docstrings that are wider than it are broken between words.

    Code is not: a line of it can be copied from the terminal in one piece.
    """
    console, in_docstring = terminal(), False
    for line in source.splitlines():
        text = line.lstrip()
        is_prose = in_docstring or text.startswith(("#", DOCSTRING))
        in_docstring ^= line.count(DOCSTRING) % 2 == 1
        if is_prose and console.is_terminal and len(line) > console.width:
            indent = line[: len(line) - len(text)] + ("# " if text.startswith("#") else "")
            wrap = textwrap.TextWrapper(console.width, subsequent_indent=indent, break_long_words=False)
            wrap.break_on_hyphens = False
            line = wrap.fill(line)
        print(line)


def print_paged(lines: Iterable[Line]) -> None:
    """Print lines on the terminal, a page at a time if there are more lines than the terminal has rows."""
    console, shown = terminal(), list(lines)
    if not has_pager() or len(shown) < console.height:
        print_lines(shown)
        return
    with pager(console):
        for line in shown:
            console.print(styled_text(line))


def has_pager() -> bool:
    """Return whether output may go through a pager: to a terminal, not on Windows, and unless plain text was chosen."""
    return sys.stdout.isatty() and not is_plain() and os.name != "nt"


def pager(console: Console) -> PagerContext:
    """Return a context manager in which a console prints a page at a time, with its styles.

    The options of `less` are set in the environment of this process, unless they are set there.
    """
    os.environ.setdefault("LESS", "FRX")
    return console.pager(styles=True)


def styled_text(line: Line, link: CourseExercise | None = None) -> Text:
    """Return a line as rich text in the terminal's colours.

    Args:
        line: pairs of a text and the name of its style.
        link: the exercise whose file name becomes a link to the file wherever it occurs in the line; `None` for no
            link.
    """
    known, text = styles(), Text()
    for part, style in line:
        words = part.lstrip(" ") if style == "mark" else part  # which may be underlined, but not the blanks before it
        text.append(part[: len(part) - len(words)]).append(words, known.get(style, ""))
    if link is not None:
        text.highlight_words([link.file], f"link {link.path.as_uri()}")
    return text


class Spinner:
    """A context manager with a line on stderr that says what is going on; silent where stderr is no terminal.

    Entering it returns `say`.

    Args:
        what: what is going on, such as "checking".
    """

    def __init__(self, what: str) -> None:
        """Prepare the line, `what` behind a spinner; nothing is shown before the context is entered."""
        self.what = what
        is_shown = sys.stderr.isatty() and not is_plain()
        self.status = Console(stderr=True, theme=progress_theme()).status(what) if is_shown else None

    def __enter__(self) -> Any:
        """Show the line, and return the method `say`, which adds a detail to the line."""
        if self.status is not None:
            self.status.start()
        return self.say

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self.status is not None:
            self.status.stop()

    def say(self, detail: str) -> None:
        """Show a detail, what is being done now, behind the spinner's own text."""
        if self.status is not None:
            self.status.update(f"{self.what} {detail}")


def is_plain() -> bool:
    """Return whether plain text was chosen: by `--plain`, by ACCESSIBLE=1, or by the terminal type TERM=dumb."""
    return os.environ.get(ACCESSIBLE, "") not in OFF or os.environ.get("TERM") == "dumb"


def ask_for_plain() -> None:
    """Choose plain text for this process and all processes that it starts, as `--plain` does."""
    os.environ[ACCESSIBLE] = "1"
