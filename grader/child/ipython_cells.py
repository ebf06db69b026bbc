"""Parses the cells of a notebook: lines are numbered through all cells, and what only IPython reads is left out.

A file is the case of one cell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

MOST_COMMANDS = 50
COMMAND = re.compile(r"\s*[%!?]|.*\?\s*$|\s*[\w.,][\w., ]*=\s*[%!]")
ABOVE_OTHER_LANGUAGE = re.compile(r"\s*%%(?!(time|timeit|capture|prun)\b)[^\r\n]*")


@dataclass(frozen=True)
class Parsed:
    """One cell as Python, its lines numbered through all cells; those `ignored` are for IPython alone."""

    tree: ast.Module
    ignored: tuple[int, ...] = ()


def line_offsets(cells: Sequence[str]) -> list[int]:
    """How many lines stand before each cell."""
    return [0, *accumulate(len(lines(cell)) for cell in cells)][: len(cells)]


def lines(cell: str) -> list[str]:
    """The lines of a cell as Python counts them."""
    return cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parse(cell: str, before: int, filename: str = "") -> Parsed:
    """Read one cell, below so many lines of other cells; magics, shell lines and help lines are passed over.

    Raises:
        SyntaxError: it is no Python, with the line numbered through all cells.
        RecursionError: it is nested too deeply; so does MemoryError.
    """
    text, ignored = _python_lines(cell), list[int]()
    while True:
        try:
            return Parsed(_tree(text, before, filename), tuple(line + before for line in ignored))
        except ValueError as error:
            raise SyntaxError("it holds characters that Python source cannot have") from error
        except SyntaxError as error:
            commands = _command_lines(text, error.lineno or 0)
            if not commands or len(ignored) > MOST_COMMANDS:
                error.lineno = error.lineno and error.lineno + before
                raise
            text, ignored = _blank_out(text, commands), [*ignored, *commands]


def parse_again(cell: str, before: int, ignored: Collection[int]) -> ast.Module:
    """The tree of a cell once more, its ignored lines known: one look at the text, whatever is in it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python that can be read.
    """
    return _tree(_blank_out(_python_lines(cell), [line - before for line in ignored]), before)


def _tree(text: Sequence[str], before: int, filename: str = "") -> ast.Module:
    tree = ast.parse("\n".join(text), filename)
    return ast.increment_lineno(tree, before) if before else tree


def _python_lines(cell: str) -> list[str]:
    """The lines of a cell, but for those below a `%%command` whose cell is not Python."""
    command = ABOVE_OTHER_LANGUAGE.match(cell)
    return lines(command[0] if command else cell)


def _blank_out(text: Sequence[str], numbers: Collection[int]) -> list[str]:
    """The lines with some of them, numbered from 1, doing nothing; one that goes on from another is emptied."""
    kept = list(text)
    for i in {number - 1 for number in numbers} & set(range(len(text))):
        goes_on = i > 0 and text[i - 1].endswith("\\")
        kept[i] = "" if goes_on else text[i][: len(text[i]) - len(text[i].lstrip())] + "pass"
    return kept


def _command_lines(text: Sequence[str], number: int) -> list[int]:
    """The line where Python stopped, if it is a command for IPython, and the lines that it goes on in."""
    if not 0 < number <= len(text) or not COMMAND.match(text[number - 1]):
        return []
    last = number
    while text[last - 1].endswith("\\") and last < len(text):
        last += 1
    return list(range(number, last + 1))


def is_stub(node: ast.stmt | None) -> bool:
    """The function's body does nothing: a docstring, `...`, `pass` or `raise NotImplementedError`."""
    return isinstance(node, ast.FunctionDef) and all(_does_nothing(statement) for statement in node.body)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" in ast.dump(statement)
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
