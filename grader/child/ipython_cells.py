"""Parse the cells of a notebook as Python: lines are numbered through all cells, and IPython's commands are left out.

A file is the case of one cell. `jupyter nbconvert --to script` writes magics as calls of `get_ipython()`, which are
read as the magics that they were. The statement after `%time` or below `%%capture`, which IPython would run, is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

MOST_COMMANDS, MOST_READ = 50, 2 << 20  # in a cell; characters that are parsed, once more for each command
DEEPEST = 5  # levels of cells in the texts of cells
COMMAND = re.compile(
    r"""\s*[%!?]            # a magic, a shell line, help
      | .*\?\s*$            # help, with the mark at the end
      | \s*[\w.,][^=%!'"#]*(?<![=<>+\-*/@&|^~:])=\s*[%!](?!=)  # the result of one of them, assigned
    """,
    re.VERBOSE,
)
RUNS = "time|timeit|prun|lprun|memit|mprun"  # magics that run the statement after them
ABOVE_OTHER_LANGUAGE = re.compile(rf"\s*%%(?!(?:{RUNS}|capture)\b)[^\r\n]*")
RUN_LINE = re.compile(rf"(?P<before>\s*(?:[^=%!]*=\s*)?)%{{1,2}}(?P<magic>{RUNS})\b(?P<line>.*)")
# The options between a magic and its statement: `-n 10`, `-r3`, `-f name`, `-q`. %time has none: there, -x is a number.
OPTIONS = re.compile(r"(?:\s+-(?:[nrpRN]\s*\d+|[lsTDfmu]\s*\S+|[a-zA-Z]+)(?=\s|$))*+\s*")
WRITE_MAGICS = frozenset(("writefile", "file"))
WRITE_LINE = re.compile(r"\s*%%(?:writefile|file)\b(?P<line>[^\r\n]*)(?:\r\n?|\n|\Z)")
# What follows the magic: perhaps `-a`, which appends, and the path of a Python file.
PYTHON_FILE = re.compile(r"""\s+(?P<append>-a\s+|--append\s+)?(["']?)(?:[^"'\r\n]*[/\\])?(?P<stem>\w+)\.py\2\s*""")
CELL_MAGICS = frozenset((*RUNS.split("|"), "capture"))
LINE_MAGICS = frozenset(RUNS.split("|"))


@dataclass(frozen=True)
class Parsed:
    """One cell as Python.

    Attributes:
        tree: its statements, with lines numbered through all cells from 1.
        ignored: the numbers of the lines that are for IPython alone.
    """

    tree: ast.Module
    ignored: tuple[int, ...] = ()


def line_offsets(cells: Sequence[str]) -> list[int]:
    """Return for each cell how many lines the cells before it have together."""
    return [0, *accumulate(len(lines(cell)) for cell in cells)][: len(cells)]


def lines(cell: str) -> list[str]:
    """Return the lines of a cell as Python counts them, without their ends.

    Only line feeds, carriage returns and the two together end a line: a form feed does not, unlike in `str.splitlines`.
    """
    return cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@dataclass(frozen=True)
class WrittenFile:
    """Hold the Python file that a cell below `%%writefile` writes.

    Attributes:
        stem: the name of the file, without its ending.
        text: what is written.
        is_appended: whether it is added to what cells above have written.
    """

    stem: str
    text: str
    is_appended: bool = False

    @property
    def defines_its_name(self) -> bool:
        """Return whether the file is named after a function in it: such a cell counts as if it defined the function."""
        return re.search(rf"^def[ \t]+{self.stem}[ \t]*[(\[]", self.text, re.MULTILINE) is not None


def written_file(cell: str) -> WrittenFile | None:
    """Return the Python file that a cell writes; `None` if it writes none."""
    magic_line = WRITE_LINE.match(cell)
    return _written_file(magic_line["line"], cell[magic_line.end() :]) if magic_line else None


def _written_file(line: str, text: str) -> WrittenFile | None:
    """Return the Python file that `%%writefile` writes; `None` if it is another file.

    Args:
        line: the text after the magic in its line.
        text: the text below it.
    """
    file = PYTHON_FILE.fullmatch(line)
    return WrittenFile(file["stem"], text, bool(file["append"])) if file else None


def parse(cell: str, before: int, filename: str = "") -> Parsed:
    """Parse one cell as Python, without its magics, shell lines and help lines.

    Args:
        cell: the text of the cell.
        before: the number of lines in the cells before it, which is added to every line number.
        filename: the path of the learner's source, for tracebacks.

    Raises:
        SyntaxError: the cell is not Python; the line is numbered through all cells.
        RecursionError: the cell is nested too deeply.
        MemoryError: the cell is nested too deeply for Python's own parser.
    """
    return _parse(cell, before, filename, DEEPEST)


def _parse(cell: str, before: int, filename: str, depth: int) -> Parsed:
    """Parse one cell as Python, without its magics, shell lines and help lines.

    Args:
        cell: the text of the cell.
        before: the number of lines in the cells before this one, which is added to every line number.
        filename: the path of the learner's source, for tracebacks.
        depth: to how many levels the texts in calls of `get_ipython()` are parsed as code; deeper ones stay calls.
    """
    text, ignored, tries = _python_lines(cell), list[int](), 0
    while True:
        try:
            tree = _parse_lines(text, before, filename)
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


def _parse_lines(text: Sequence[str], before: int, filename: str = "") -> ast.Module:
    """Parse lines of Python as one module.

    Args:
        text: the lines.
        before: the number of lines in the cells before them, which is added to every line number.
        filename: the path of the learner's source, for tracebacks.

    Raises:
        SyntaxError: the lines are not Python.
        ValueError: the lines hold null characters.
    """
    tree = ast.parse("\n".join(text), filename)
    return ast.increment_lineno(tree, before) if before else tree


def _python_lines(cell: str) -> list[str]:
    """Return the lines of a cell; only the first line if it is a `%%command` for a cell in another language.

    A file that is named after a function in it is read as a cell that defines the function.
    """
    command = ABOVE_OTHER_LANGUAGE.match(cell)
    file = written_file(cell) if command else None
    return lines(command[0] if command and not (file and file.defines_its_name) else cell)


def _code_after_magic(line: str) -> str | None:
    """Return the code behind a magic that runs the rest of its line, `w.g = y` for `%time w.g = y`.

    `None` if the line has no such magic.
    """
    magic_line = RUN_LINE.fullmatch(line)
    if magic_line is None:
        return None
    code = _without_options(magic_line["magic"], magic_line["line"])
    return magic_line["before"] + code if code.strip(" \t\\;") else None


def _without_options(magic: str, line: str) -> str:
    """Return the text that follows a magic in its line, without options at its beginning, such as `-n 10` of `%timeit`.

    Args:
        magic: the name of the magic; `time` takes no options.
        line: the text after that name.
    """
    return line.lstrip() if magic == "time" else OPTIONS.sub("", line, count=1)


def _blank_out(text: Sequence[str], numbers: Collection[int]) -> list[str]:
    """Return the lines of a cell with some replaced by `pass`, or by an empty line where they continue another line.

    Args:
        text: the lines.
        numbers: the numbers of the lines to be replaced, from 1.
    """
    replaced = list(text)
    for i in {number - 1 for number in numbers} & set(range(len(text))):
        is_continuation = i > 0 and text[i - 1].endswith("\\")
        replaced[i] = "" if is_continuation else text[i][: len(text[i]) - len(text[i].lstrip())] + "pass"
    return replaced


def _command_lines(text: Sequence[str], number: int) -> list[int]:
    """Return the numbers of the lines of the IPython command that begins at a line; empty if there is none.

    Args:
        text: the lines of a cell.
        number: the number of the line, from 1, where Python found a syntax error; a backslash at its end continues the
            command.
    """
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
        filename: the path of the learner's source.
        depth: how many levels of texts within texts may still be parsed.
        ignored: receives the lines of the calls that are replaced by `pass`.
    """

    filename: str
    depth: int
    ignored: list[int] = field(default_factory=list)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """Return the statements that a call of `get_ipython()` runs, or `pass`; any other statement unchanged."""
        shell_call = _shell_call(node.value)
        if shell_call is None:
            return node
        return [*self._statements(*shell_call, node)] or self._replace_by_pass(node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Return an assignment of the expression that a call of `get_ipython()` runs, or `pass`.

        Any other unchanged.
        """
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
            method: the name of the method of `get_ipython()`, such as `run_line_magic`.
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
            case ["run_cell_magic", magic, line, body] if magic in WRITE_MAGICS:
                file = _written_file(f" {line}", body)
                if file is None or not file.defines_its_name:
                    return
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
    """Return the method of `get_ipython()` that an expression calls, and its arguments; `None` for another expression.

    The list of arguments is empty unless all of them are texts.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    owner = node.func.value
    maker = owner.func if isinstance(owner, ast.Call) else None
    if getattr(maker, "id", getattr(maker, "attr", "")) != "get_ipython":
        return None
    texts = [text.value for text in node.args if isinstance(text, ast.Constant) and isinstance(text.value, str)]
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
