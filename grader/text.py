"""Text from learner code or file names, made safe to show: no control characters for a terminal to obey."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def plain(text: str) -> str:
    """The text with every character that is not printable replaced, line ends and tabs aside."""
    return "".join(c if c in "\n\t" or c.isprintable() else REPLACEMENT for c in text)
