"""Text from learner code or file names, made safe to show: nothing for a terminal or a spreadsheet to obey."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def plain(text: str) -> str:
    """The text with every character that is not printable replaced, line ends and tabs aside."""
    return "".join(c if c in "\n\t" or c.isprintable() else REPLACEMENT for c in text)


def no_formula(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
