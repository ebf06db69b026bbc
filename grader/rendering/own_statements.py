"""The statements of a learner's code that give an answer, to be shown beside what was found in it."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST = 100_000  # characters of a file or a cell that is read
MOST_STATEMENTS, MOST_LINES = 3, 6


@dataclass(frozen=True)
class Statement:
    """Hold a statement of the learner's.

    Args:
        line: the number of its first line in its file or cell, from 1.
        text: its lines, without the indentation that they share.
    """

    line: int
    text: str


def statements_of(code: Sequence[str], function: str, answer: str) -> list[Statement]:
    """Return the statements of a function that store an answer or return it, at most `MOST_STATEMENTS`, in order.

    Where such a statement gives a variable alone, `w.g = total`, the last assignment to it stands before it.

    Args:
        code: the text of the file, or of each cell in the order in which they ran; the last definition counts.
        function: the name of the function.
        answer: the answer's name, such as `w.g` or `return`.

    Returns:
        Nothing if the code is no Python, or stores the answer in a way that is not seen.
    """
    for text in reversed(code):
        definition = _definition(text, function)
        if definition is not None:
            given = list(_giving(definition, answer))
            chosen = [*_assigned_before(definition, given), *given] if len(given) == 1 else given
            return [_statement(text, node) for node in chosen[:MOST_STATEMENTS]]
    return []


def _definition(text: str, function: str) -> ast.FunctionDef | None:
    """Return the last definition of a function in a text; `None` if there is none, or the text is no Python."""
    if len(text) > LONGEST or function not in text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape has been warned of already
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    definitions = (node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef) and node.name == function)
    return next(definitions, None)


def _giving(definition: ast.FunctionDef, answer: str) -> Iterator[ast.stmt]:
    """Yield the statements that store an answer, or that return it."""
    for statement in _statements(definition.body):
        if answer.partition(".")[0] == "return":
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield statement
        elif answer in (ast.unparse(target) for target in _targets(statement)):
            yield statement


def _assigned_before(definition: ast.FunctionDef, given: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the last assignment before a statement to the variable that it gives alone; empty if there is none."""
    value = getattr(given[0], "value", None)
    if not isinstance(value, ast.Name):
        return []
    before = [
        statement
        for statement in _statements(definition.body)
        if statement.lineno < given[0].lineno and value.id in (ast.unparse(target) for target in _targets(statement))
    ]
    return before[-1:]


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """Return what a statement assigns to, the parts of a tuple one by one."""
    if isinstance(statement, ast.Assign):
        return [part for target in statement.targets for part in getattr(target, "elts", [target])]
    return [statement.target] if isinstance(statement, ast.AugAssign | ast.AnnAssign) else []


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function in the order of the text, with those in blocks, not in inner functions."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))


def _statement(text: str, node: ast.stmt) -> Statement:
    """Return a node of a text's syntax tree as a statement, cut after `MOST_LINES` lines."""
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    shown = textwrap.dedent("\n".join(lines[:MOST_LINES]))
    return Statement(node.lineno, shown + ("\n..." if len(lines) > MOST_LINES else ""))
