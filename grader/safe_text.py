"""Makes text from learner code or file names safe to show: nothing for a terminal, a page or a spreadsheet to obey."""

from __future__ import annotations

import json
import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MARKDOWN = re.compile(r"[<&$\\*]|__|~~|\]\(|!\[|://|``")
TICKS = re.compile("`+")
FORMULA = re.compile(r"(\A|[;|\t\r\n][ '\"]*)(?=[=+\-@＝＋－＠])|\A(?=[\t\r\n])")


def plain(text: str) -> str:
    """The text with every character that is not printable replaced, line ends and tabs aside."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else REPLACEMENT for c in text)


def one_line(text: str) -> str:
    """The text as `plain` has it, on one line."""
    return plain(" ".join(text.split("\n")))


def escaped(document: str) -> str:
    """A JSON document with every character escaped that is not printable; only line ends between values stay."""
    if document.isprintable():
        return document
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in document)


def no_formula(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, whatever it separates cells by."""
    return FORMULA.sub(r"\1'", cell)


def as_markdown(text: str, active: re.Pattern[str] = MARKDOWN) -> str:
    """The text as Markdown that shows just that: as code, where HTML, mathematics or marks would be made of it.

    Args:
        active: what the reader at hand makes something else of.
    """
    line = " ".join(plain(text).split())
    return as_code(line) if active.search(line) else line


def as_code(line: str) -> str:
    """A line as Markdown's code, in more backticks than are in it."""
    fence = "`" * (1 + max((len(run) for run in TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"
