"""A learner's source text, one file or the cells of a notebook, and how messages name a place in it."""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import sys
import tokenize
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

from grader.child import ipython_cells
from grader.safe_text import plain

from .definitions import comparable_text, definitions, without_docstring

LONGEST = 1 << 20  # characters of a cell
LONGEST_JOB = 3 << 20  # characters of all cells together, as JSON
LONGEST_LINE, SHOWN = 200, 20  # characters of a line, and of the text before a wrong byte, in a message
NEW_LINE = "\n"
ZEROS = "it has zero bytes in it, like a file in UTF-16"
MOST_MODULES, LONGEST_MODULES = 20, 256 << 10  # files that are imported: how many, and their characters together
NOT_OWN = sys.stdlib_module_names | {"torch", "numpy", "handgrad", "grader"}
DOMAIN_ENCODINGS = frozenset(("punycode", "idna"))  # decoded in time that grows with the square of the length
Files = Mapping[str, bytes]  # the files in a submission's folder, by name
NO_FILES: Files = {}
Content = bytes | Sequence[str]  # of a file, or of the code cells of a notebook
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Part:
    """Hold a student's answer to one exercise: a part of a submission.

    Args:
        exercise: the exercise's id.
        content: the bytes of its file, or the texts of a notebook's code cells.
        beside: the files in the same folder, by name, which the answer may import.
    """

    exercise: str
    content: bytes | tuple[str, ...]
    beside: Files = field(default_factory=dict)


class UnreadableSource(ValueError):
    """A source file cannot be decoded; the message says why."""


@dataclass(frozen=True)
class Source:
    """A learner's source text.

    Attributes:
        cells: the text of each code cell; a file is one cell.
        file: the file's name in the course, with forward slashes; empty for a notebook.
        skipped_cells: the indices of the cells that were too long, and so were emptied.
        modules: the other files of the submission that it may import, by the names of their modules.
        notes: notes for the learner on parts that were passed over before it was run.
    """

    cells: tuple[str, ...]
    file: str = ""
    skipped_cells: tuple[int, ...] = field(default=())
    modules: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Content, file: str = "", other_files: Files = NO_FILES) -> Source:
        """Return the text of a file, or of a notebook's code cells.

        A cell of over `LONGEST` characters is emptied, and one that does not fit into what the cells before it leave of
        `LONGEST_JOB`; a file is one cell.

        Args:
            content: the bytes of a file, or the texts of cells.
            file: the name that a file has in the course; ignored for a notebook.
            other_files: the files in the same folder, which the source may import; those that a notebook's cells write
                by `%%writefile` count among them.

        Raises:
            UnreadableSource: the file is not text in its encoding.
        """
        if isinstance(content, bytes):
            texts: Sequence[str] = [decode(content)]
            other_files = {name: other for name, other in other_files.items() if name != PurePath(file).name}
        else:
            texts, file = content, ""
            other_files = {**other_files, **_written_files(texts)}
        cells, skipped, room = [], [], LONGEST_JOB
        for number, text in enumerate(texts):
            needed = len(json.dumps(text)) if len(text) <= LONGEST else LONGEST_JOB + 1
            fits = needed <= room
            room -= needed if fits else 0
            cells.append(text if fits else "")
            skipped += [] if fits else [number]
        return cls(tuple(cells), file, tuple(skipped), _imported_files(cells, other_files))

    def location(self, line: int, module: str = "") -> str:
        """Return a place in the source for the end of a sentence: ` (lin_grad.py, line 3: w.g = ...)`.

        Args:
            line: the line, numbered through all cells from 1.
            module: the name of the submission's other file that the line is in; empty for the source itself.
        """
        if module:
            text = self.modules.get(PurePath(module).stem, "")
            return Source((text,), plain(module[:LONGEST_LINE])).location(line)
        number = self._cell_of(line)
        lines = self._lines[number]
        line -= self._starts[number]
        code = plain(lines[line - 1].strip()[:LONGEST_LINE]) if 0 < line <= len(lines) else ""
        where = f"{PurePath(self.file).name if self.file else self.cell_name(number)}, line {line}"
        return f" ({where}: {code})" if code else f" ({where})"

    def loop_around(self, line: int) -> int | None:
        """Return the line of the outermost `while` loop around a line; `None` if the line is in no loop.

        Both lines are numbered through all cells, from 1. `None` also if the line's cell is no plain Python.
        """
        number = self._cell_of(line)
        start = self._starts[number]
        try:
            tree = ast.parse(self.cells[number])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None  # Python has read it, with what IPython makes of it
        loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
        around = (loop.lineno for loop in loops if loop.lineno <= line - start <= (loop.end_lineno or loop.lineno))
        first = min(around, default=None)
        return None if first is None else first + start

    def describe_command(self, line: int) -> str:
        """Describe a line that only IPython reads, such as `line 3 of cell 2 begins with %`.

        If it begins with none of `%`, `!` and `?`, it "is a command for IPython".

        Args:
            line: numbered through all cells, from 1.
        """
        number = self._cell_of(line)
        where = PurePath(self.file).name if self.file else self.cell_name(number)
        text = self._lines[number][line - self._starts[number] - 1].strip()
        begins = f"begins with {text[0]}" if text[:1] in ("%", "!", "?") else "is a command for IPython"
        return f"line {line - self._starts[number]} of {where} {begins}"

    def defines_class(self, name: str) -> bool:
        """Return whether the source, or a file that it may import, has a `class` statement of this name."""
        statement = re.compile(rf"\bclass\s+{re.escape(name)}\b")
        return any(statement.search(text) for text in (*self.cells, *self.modules.values()))

    def lines_of(self, function: str) -> set[int]:
        """Return the lines of every definition of a function, numbered through all cells from 1."""
        lines = set[int]()
        for definition in definitions(self.cells, {function}):
            if definition.statement is not None:
                before, last = self._starts[definition.cell], definition.statement.end_lineno or definition.line
                lines.update(range(before + definition.line, before + last + 1))
        return lines

    @staticmethod
    def cell_name(number: int) -> str:
        """Return the name of a cell in a message, such as `cell 1` for the index 0."""
        return f"cell {number + 1}"

    def last_failed_cell(self, name: str, failed: Iterable[int]) -> int | None:
        """Return the last of the failed cells whose text contains a name; `None` if there is none.

        Args:
            name: the name of a function that the notebook does not define, perhaps because one of these cells failed.
            failed: the indices of the cells that raised, as a worker reports them.
        """
        word = re.compile(rf"\b{re.escape(name)}\b")
        cells = [number for number in failed if 0 <= number < len(self.cells) and word.search(self.cells[number])]
        return cells[-1] if cells else None

    def has_body(self, function: str, body: str) -> bool:
        """Return whether the last definition of a function consists of the statements of `body`.

        False if `body` is empty.
        """
        expected = [ast.dump(statement) for statement in ast.parse(body).body]
        places = definitions(self.cells, {function}) if expected else []
        statements = without_docstring(getattr(places[-1].statement, "body", [])) if places else []
        return bool(expected) and list(map(comparable_text, statements)) == expected

    def _cell_of(self, line: int) -> int:
        """Return the index of the cell that a line is in; the line is numbered through all cells from 1."""
        return max((number for number, before in enumerate(self._starts) if before < line), default=0)

    @cached_property
    def _lines(self) -> list[list[str]]:
        """Return the lines of each cell, which are split once for all messages."""
        return [ipython_cells.lines(cell) for cell in self.cells]

    @cached_property
    def _starts(self) -> list[int]:
        """Return for each cell how many lines the cells before it have together."""
        return ipython_cells.line_offsets(self.cells)


def importable_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of the Python files in a folder by name, sorted.

    Those that are unreadable, or longer than `LONGEST_MODULES` bytes, are left out. An accented letter of a name is one
    character, as in the name of a module that Python imports.
    """
    contents = {}
    for path in sorted(folder.glob("*.py")):
        with suppress(OSError):
            if path.is_file() and path.stat().st_size <= LONGEST_MODULES:
                contents[unicodedata.normalize("NFC", path.name)] = path.read_bytes()
    return contents


def decode(content: bytes) -> str:
    """Return the text of a source file, decoded by the encoding that it declares; UTF-8 without a declaration.

    Python itself reads a file in no other way, so that a learner could not have run it either.

    Raises:
        UnreadableSource: the bytes are not text in that encoding; the message names the line and the byte.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if codecs.lookup(encoding).name in DOMAIN_ENCODINGS:
            raise UnreadableSource(f"{encoding} is for names of domains")
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableSource(_first_wrong_byte(content, error)) from error
    except SyntaxError as error:
        try:
            content.decode("utf-8-sig")
        except UnicodeDecodeError as wrong:  # in the first two lines, where an encoding may be declared
            raise UnreadableSource(_first_wrong_byte(content, wrong)) from error
        raise UnreadableSource(str(error)) from error
    except (LookupError, UnicodeError) as error:
        raise UnreadableSource(str(error)) from error
    if "\0" in text:
        raise UnreadableSource(ZEROS)
    return text


def _first_wrong_byte(content: bytes, error: UnicodeDecodeError) -> str:
    """Describe the first byte that is not in the encoding: its line, its value, and the character it is in Latin-1.

    Of a text in UTF-16 it says that.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ZEROS
    before = content[: error.start].decode("utf-8", "replace")
    text_before = plain(before.rpartition("\n")[2].strip())[-SHOWN:]
    byte = content[error.start : error.start + 1]
    meant = byte.decode("cp1252", "replace")
    shown = f", which is {meant} in Latin-1" if meant.isprintable() and meant != "\N{REPLACEMENT CHARACTER}" else ""
    where = f"line {before.count(NEW_LINE) + 1}" + (f", after {text_before!r}," if text_before else "")
    return f"{where} has the byte 0x{byte.hex().upper()}{shown}"


def _written_files(cells: Iterable[str]) -> dict[str, bytes]:
    """Return the Python files that cells of a notebook write by `%%writefile`, by name.

    A later cell replaces the file, or with `-a` adds to it.
    """
    written: dict[str, str] = {}
    for file in filter(None, map(ipython_cells.written_file, cells)):
        written[f"{file.stem}.py"] = (written.get(f"{file.stem}.py", "") if file.is_appended else "") + file.text
    return {name: text.encode("utf-8", "replace") for name, text in written.items()}


def _imported_files(texts: Iterable[str], other_files: Files) -> dict[str, str]:
    """Return the texts of the files that a source may import, directly or through others, by their modules' names.

    A file may be imported if the name of its module is a word in the text of another one. At most `MOST_MODULES` files
    of together `LONGEST_MODULES` characters are taken; a file that is not text, or has the name of a module of
    `NOT_OWN`, is left out.

    Args:
        texts: the texts of the source's cells.
        other_files: the files in the source's folder.
    """
    waiting, modules, room = list(texts), dict[str, str](), LONGEST_MODULES
    contents = {PurePath(name).stem: content for name, content in other_files.items() if name.endswith(".py")}
    while waiting and contents:
        for name in sorted({*WORD.findall(waiting.pop())} & (contents.keys() - modules.keys() - NOT_OWN)):
            with suppress(UnreadableSource):
                text = decode(contents[name])
                if len(text) <= room and len(modules) < MOST_MODULES:
                    room -= len(text)
                    modules[name] = text
                    waiting.append(text)
    return modules
