"""Find where a file or the cells of a notebook define a name at their top level, by reading and never by running."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.child import ipython_cells

LONGEST = 1 << 20  # characters of a cell that is parsed; a longer one is not graded
DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While, ast.Match)
VALUES = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Set, ast.Tuple)
WORD = re.compile(r"\w+")
TEXTS = re.compile(r"#[^\n]*|(?P<quotes>'''|\"\"\")[\s\S]*?(?:(?P=quotes)|\Z)")
# What a cell that cannot be parsed seems to define: a definition or an assignment that begins its line.
APPARENT_DEFINITION = re.compile(
    r"^(?:(?:async[ \t]+)?def[ \t]+(?P<function>\w+)[ \t]*[(\[]|class[ \t]+(?P<type>\w+)\b|(?P<name>\w+)[ \t]*=(?!=))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Definition:
    """Describe one place where a name is bound.

    Attributes:
        name: the name.
        cell: the index of the cell, from 0; a file is one cell.
        statement: the statement that binds it, with lines counted in its cell; `None` where the cell cannot be parsed.
        is_in_block: whether it stands in a block, such as that of an `if`, and may never be run.
    """

    name: str
    cell: int
    statement: ast.stmt | None = None
    is_in_block: bool = False

    @property
    def line(self) -> int:
        """Return the first line of the definition in its cell, decorators included, from 1; 0 where it is not known."""
        decorators = getattr(self.statement, "decorator_list", [])
        return min([node.lineno for node in (*decorators, self.statement) if node is not None], default=0)

    @property
    def is_import(self) -> bool:
        """Return whether the name is bound by an import."""
        return isinstance(self.statement, (ast.Import, ast.ImportFrom))

    @property
    def module(self) -> str:
        """Return the module that the name is imported from by a `from ... import`; empty if it is not."""
        return (self.statement.module or "") if isinstance(self.statement, ast.ImportFrom) else ""


def definitions(texts: Sequence[str], names: Collection[str], *, literals_count: bool = False) -> list[Definition]:
    """Return where any of some names is bound at the top level of a file or of cells, in their order.

    A name is bound by a function, a class, an import, or an assignment of a value that may be a function.
    Blocks of `if`, `try`, `with` and loops are searched; the bodies of functions and classes are not.

    In a cell that cannot be parsed, the lines that look like a definition count.

    Args:
        texts: the texts of the cells; a file is one cell.
        names: the names to be searched for.
        literals_count: whether an assignment of a number, text or list binds a name, too.
    """
    places = list[Definition]()
    for number, text in enumerate(texts):
        if len(text) <= LONGEST and not any(word[0] in names for word in WORD.finditer(text)):
            continue
        tree = parse_cell(text)
        if tree is None:
            places += [Definition(name, number) for name in _apparent_names(text) if name in names]
        else:
            outside = set(map(id, tree.body))
            places += [
                Definition(name, number, statement, id(statement) not in outside)
                for statement in _statements(tree.body)
                for name in _bound_names(statement, literals_count)
                if name in names
            ]
    return places


def parse_cell(text: str) -> ast.Module | None:
    """Return a file or a cell as a module; `None` if it is not Python, is too long, or is nested too deeply."""
    try:
        return ipython_cells.parse(text, 0).tree if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements at top level, and after an `if`, `for`, `while`, `with`, `try` or `match` those in it.

    At any depth, in the order of the text; but not those in functions and classes.
    """
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, BLOCKS):
            inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
            inner[1:1] = [part.body for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", []))]
            waiting += [statement for part in reversed(inner) for statement in reversed(part)]


def _bound_names(statement: ast.stmt, literals_count: bool) -> Iterator[str]:
    """Yield the names that a statement binds by `def`, `class`, import or assignment.

    Args:
        statement: the statement.
        literals_count: whether names that are assigned a literal, such as a number, are yielded too.
    """
    if isinstance(statement, DEFINING):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.split(".")[0] for alias in statement.names)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        is_value = literals_count or not isinstance(statement.value, VALUES)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if is_value and statement.value is not None:
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _apparent_names(text: str) -> Iterator[str]:
    """Yield the names that a text which cannot be parsed seems to define, by the beginnings of its lines."""
    for match in APPARENT_DEFINITION.finditer(TEXTS.sub("", text)):
        yield match[match.lastgroup or 0]


def without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Return the statements of a function or a class without its docstring."""
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[is_text:]


def comparable_text(node: ast.AST) -> str:
    """Return a node as text that is equal for equal code; empty if it cannot be written, as a huge number."""
    try:
        return ast.dump(node)
    except (ValueError, RecursionError):
        return ""


def is_placeholder(statement: ast.stmt) -> bool:
    """Return whether a statement stands for a missing answer.

    Such are `...`, `pass`, a string, `raise NotImplementedError`, and an assignment or a return of `...`.
    """
    if isinstance(statement, ast.Raise):
        return any(getattr(node, "id", "") == "NotImplementedError" for node in ast.walk(statement))
    if isinstance(statement, ast.Pass):
        return True
    value = getattr(statement, "value", None)
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    is_ellipsis = isinstance(value, ast.Constant) and value.value is ...
    return is_ellipsis or (is_text and isinstance(statement, ast.Expr))
