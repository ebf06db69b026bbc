"""Text from learner code or file names made safe to show: no command for a terminal, a page or a spreadsheet."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from typing import TextIO

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MARKDOWN = re.compile(r"[<&$\\*]|__|~~|\]\(|!\[|://|``")
TICKS = re.compile("`+")
FORMULA = re.compile(r"(\A|[;|\t\r\n][ '\"]*)(?=[=+\-@＝＋－＠])|\A(?=[\t\r\n])")


def plain(text: str) -> str:
    """Return a text with every character replaced that is not printable, except line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else REPLACEMENT for c in text)


def one_line(text: str) -> str:
    """Return a text on one line, with every character replaced that is not printable, except tabs."""
    return plain(" ".join(text.split("\n")))


def print_message(text: str, file: TextIO | None = None) -> None:
    """Print a text; on a terminal, lines that are wider than the terminal are broken between words.

    Args:
        text: one or more lines.
        file: an open file; standard output if left out.
    """
    file = sys.stdout if file is None else file
    if file.isatty():
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) if " " in line.strip() else line for line in text.split("\n"))
    print(text, file=file)


def escaped(document: str) -> str:
    """Return a JSON document with every character escaped that is not printable, except line ends between values."""
    if document.isprintable():
        return document
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in document)


def no_formula(cell: str) -> str:
    """Return a cell's text with `'` before each place where a spreadsheet could see a formula begin.

    Such places are its start, and what follows a semicolon, a bar, a tab or a line end: some split cells there.
    """
    return FORMULA.sub(r"\1'", cell)


def as_markdown(text: str, active: re.Pattern[str] = MARKDOWN) -> str:
    """Return Markdown, on one line, that shows a text as it is: as code if a renderer would change it, else unchanged.

    Args:
        text: any text.
        active: matches what the renderer would turn into HTML, mathematics, links or emphasis.
    """
    line = " ".join(plain(text).split())
    return as_code(line) if active.search(line) else line


def as_code(line: str) -> str:
    """Return a line as code in Markdown, between more backticks than it has in a row."""
    fence = "`" * (1 + max((len(run) for run in TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"
