"""File names as text that can be written and shown anywhere."""

from __future__ import annotations

import os

from grader.safe_text import one_line


def encoded(name: str) -> bytes:
    """Return a file name as bytes: those that it has on disk, if it comes from there."""
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:  # half a character, which no name on disk can hold, but one in an archive or a list can
        return name.encode("utf-8", "surrogatepass")


def printable(name: str) -> str:
    r"""Return a file name as text that can be written anywhere; two names never give the same text.

    Bytes that are no UTF-8, and whatever does not print, are written as `\xe9`, and a backslash as two.
    """
    text = encoded(name).decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c != "\\" else _escaped(c) for c in text)


def displayable(name: str) -> str:
    """Return a file name in a form that is safe to show on one line of a terminal."""
    return one_line(printable(name))


def _escaped(character: str) -> str:
    r"""Return the bytes of a character as `\xe9`, and a backslash as two."""
    if character == "\\":
        return "\\\\"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
