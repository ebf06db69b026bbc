"""Parses the cells of a notebook: lines are numbered through all cells, and what only IPython reads is left out.

A file is the case of one cell. `jupyter nbconvert --to script` writes magics as calls of `get_ipython()`, which are
read as the magics that they were. What IPython would run, the statement behind `%time` or below `%%capture`, is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

MOST_COMMANDS, MOST_READ = 50, 2 << 20  # in a cell; characters that are parsed, for each command once more
DEEPEST = 5  # cells in the texts of cells
COMMAND = re.compile(
    r"""\s*[%!?]            # a magic, a shell line, help
      | .*\?\s*$            # help, behind
      | \s*[\w.,][^=%!'"#]*(?<![=<>+\-*/@&|^~:])=\s*[%!](?!=)  # what one of them gives
    """,
    re.VERBOSE,
)
RUNS = "time|timeit|prun|lprun|memit|mprun"  # run the statement behind them
ABOVE_OTHER_LANGUAGE = re.compile(rf"\s*%%(?!(?:{RUNS}|capture)\b)[^\r\n]*")
RUN_LINE = re.compile(rf"(?P<before>\s*(?:[^=%!]*=\s*)?)%{{1,2}}(?P<magic>{RUNS})\b(?P<line>.*)")
# What stands between a magic and its statement: `-n 10`, `-r3`, `-f name`, `-q`. %time has none: there, -x is a number.
OPTIONS = re.compile(r"(?:\s+-(?:[nrpRN]\s*\d+|[lsTDfmu]\s*\S+|[a-zA-Z]+)(?=\s|$))*+\s*")
CELL_MAGICS = frozenset((*RUNS.split("|"), "capture"))
LINE_MAGICS = frozenset(RUNS.split("|"))


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
    """Parse one cell as Python; magics, shell lines and help lines are left out and their numbers returned.

    Args:
        before: the number of lines in the cells before it, which is added to every line number.

    Raises:
        SyntaxError: the cell is not Python; the line is numbered through all cells.
        RecursionError: the cell is nested too deeply; so does MemoryError.
    """
    return _parse(cell, before, filename, DEEPEST)


def _parse(cell: str, before: int, filename: str, depth: int) -> Parsed:
    """Parse one cell as `parse` does; the texts that `get_ipython()` would run are parsed to a depth of `depth`.

    Args:
        before: the number of lines in the cells before this one.
    """
    text, ignored, tries = _python_lines(cell), list[int](), 0
    while True:
        try:
            tree = _tree(text, before, filename)
            break
        except ValueError as error:
            raise SyntaxError("it holds characters that Python source cannot have") from error
        except SyntaxError as error:
            commands = _command_lines(text, error.lineno or 0)
            tries += len(commands)
            if not commands or tries > MOST_COMMANDS or tries * len(cell) > MOST_READ:
                error.lineno = error.lineno and error.lineno + before
                raise
            statement = _code_after_magic(text[commands[0] - 1])
            if statement is not None:
                text[commands[0] - 1] = statement
            else:
                text = _blank_out(text, commands)
                ignored += [line + before for line in commands]
    if depth and "get_ipython" in cell:
        shell = _ShellCalls(filename, depth)
        tree = shell.visit(tree)
        ignored += shell.ignored
    return Parsed(tree, tuple(ignored))


def _tree(text: Sequence[str], before: int, filename: str = "") -> ast.Module:
    tree = ast.parse("\n".join(text), filename)
    return ast.increment_lineno(tree, before) if before else tree


def _python_lines(cell: str) -> list[str]:
    """The lines of a cell, but for those below a `%%command` whose cell is not Python."""
    command = ABOVE_OTHER_LANGUAGE.match(cell)
    return lines(command[0] if command else cell)


def _code_after_magic(line: str) -> str | None:
    """Return a line without the magic that runs the rest of it (`w.g = y` of `%time w.g = y`), `None` without such."""
    magic_line = RUN_LINE.fullmatch(line)
    if magic_line is None:
        return None
    code = _without_options(magic_line["magic"], magic_line["line"])
    return magic_line["before"] + code if code.strip(" \t\\;") else None


def _without_options(magic: str, line: str) -> str:
    """Return what follows a magic without the magic's options, such as `-n 10` of `%timeit`."""
    return line.lstrip() if magic == "time" else OPTIONS.sub("", line, count=1)


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


@dataclass
class _ShellCalls(ast.NodeTransformer):
    """Replace each call of `get_ipython()` by the statements that it would run, or by `pass` if it runs no Python.

    Args:
        filename: of the learner's source.
        depth: how many levels of texts in texts are still parsed.
        ignored: receives the lines of the calls that are replaced by `pass`.
    """

    filename: str
    depth: int
    ignored: list[int] = field(default_factory=list)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """Replace a statement that is a call of `get_ipython()`."""
        shell_call = _shell_call(node.value)
        if shell_call is None:
            return node
        return [*self._statements(*shell_call, node)] or self._replace_by_pass(node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Replace an assignment of what `get_ipython()` runs: by one of the expression itself, or by `pass`."""
        shell_call = _shell_call(node.value)
        if shell_call is None:
            return node
        statements = [*self._statements(*shell_call, node)]
        if len(statements) == 1 and isinstance(statements[0], ast.Expr):
            return ast.copy_location(ast.Assign(node.targets, statements[0].value), node)
        return self._replace_by_pass(node)

    def _replace_by_pass(self, node: ast.stmt) -> ast.stmt:
        """Return `pass` in place of a statement, and add its line to `ignored`."""
        self.ignored.append(node.lineno)
        return ast.copy_location(ast.Pass(), node)

    def _statements(self, method: str, arguments: Sequence[str], node: ast.stmt) -> Iterator[ast.stmt]:
        """Yield the statements that a call runs, each with the call's line number.

        Args:
            method: of `get_ipython()`, such as `run_line_magic`.
            arguments: the texts that the method is called with.
            node: the statement with the call.

        Raises:
            SyntaxError: the call runs a text that is not Python.
        """
        match method, *arguments:
            case ["run_line_magic", magic, line] if magic in LINE_MAGICS:
                code = _without_options(magic, f" {line}").strip()
            case ["run_cell_magic", magic, _, body] if magic in CELL_MAGICS:
                code = body
            case ["magic", line] if (magic_line := RUN_LINE.fullmatch(f"%{line.lstrip('%')}")) is not None:
                code = _without_options(magic_line["magic"], magic_line["line"]).strip()
            case _:
                return
        try:
            parsed = _parse(code, 0, self.filename, self.depth - 1)
        except SyntaxError as error:
            error.lineno = node.lineno
            raise
        self.ignored += [node.lineno] * bool(parsed.ignored)
        for statement in parsed.tree.body:
            for part in ast.walk(statement):
                if hasattr(part, "lineno"):
                    ast.copy_location(part, node)
            yield statement


def _shell_call(node: ast.expr) -> tuple[str, list[str]] | None:
    """Return the method of `get_ipython()` that an expression calls and its arguments, empty unless all are texts."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    owner = node.func.value
    maker = owner.func if isinstance(owner, ast.Call) else None
    if getattr(maker, "id", getattr(maker, "attr", "")) != "get_ipython":
        return None
    texts = [given.value for given in node.args if isinstance(given, ast.Constant) and isinstance(given.value, str)]
    return node.func.attr, texts if len(texts) == len(node.args) and not node.keywords else []


def is_stub(node: ast.stmt | None) -> bool:
    """Return whether a function's body does nothing: a docstring, `...`, `pass` or `raise NotImplementedError`."""
    return isinstance(node, ast.FunctionDef) and all(_does_nothing(statement) for statement in node.body)


def _does_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is `pass`, a constant or `raise NotImplementedError`."""
    if isinstance(statement, ast.Raise):
        return any(getattr(node, "id", "") == "NotImplementedError" for node in ast.walk(statement))
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
