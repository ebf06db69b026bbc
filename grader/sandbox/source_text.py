"""A learner's source text, one file or the cells of a notebook, and how messages name a place in it."""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

from grader.child import ipython_cells
from grader.safe_text import plain

from .definitions import definitions, dumped, without_docstring

LONGEST, SHOWN, NEW_LINE = 1 << 20, 20, "\n"
ZEROS = "it has zero bytes in it, like a file in UTF-16"
LONGEST_JOB = 3 << 20
LONGEST_LINE = 200
MOST_MODULES, LONGEST_MODULES = 20, 256 << 10  # files that are imported: how many, and their characters together
NOT_OWN = sys.stdlib_module_names | {"torch", "numpy", "handgrad", "grader"}
DOMAIN_ENCODINGS = frozenset(("punycode", "idna"))  # decoded in time that grows with the square of the length
Files = Mapping[str, bytes]  # what lies in a submission's folder, by name
NO_FILES: Files = {}
Content = bytes | Sequence[str]  # of a file, or of the code cells of a notebook
WORD = re.compile(r"\w+")


class UnreadableSource(ValueError):
    """A file that is no text; says why."""


@dataclass(frozen=True)
class Source:
    """A learner's source text.

    Args:
        cells: the text of each code cell; a file is one cell.
        file: the file's name in the course, with forward slashes; empty for a notebook.
        skipped_cells: the numbers of cells that are too long, and so were emptied; from 0.
        modules: the other files of the submission that it may import, by the name of the module.
        notes: what of it was passed over before it was run.
    """

    cells: tuple[str, ...]
    file: str = ""
    skipped_cells: tuple[int, ...] = field(default=())
    modules: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Content, file: str = "", beside: Files = NO_FILES) -> Source:
        """The text of a file, or of a notebook's code cells, as far as there is room for them in a job; see `decode`.

        Args:
            file: the name that a file has in the course; a notebook has none.
            beside: the files in the same folder, which it may import.
        """
        if isinstance(content, bytes):
            texts: Sequence[str] = [decode(content)]
            beside = {name: found for name, found in beside.items() if name != PurePath(file).name}
        else:
            texts, file = content, ""
        kept, unread, room = [], [], LONGEST_JOB
        for number, text in enumerate(texts):
            needed = len(json.dumps(text)) if len(text) <= LONGEST else LONGEST_JOB + 1
            fits = needed <= room
            room -= needed if fits else 0
            kept.append(text if fits else "")
            unread += [] if fits else [number]
        return cls(tuple(kept), file, tuple(unread), _imported(kept, beside))

    def location(self, line: int, module: str = "") -> str:
        """A line in brackets, for the end of a sentence: ` (lin_grad.py, line 3: w.g = ...)`.

        Args:
            line: numbered through all cells, from 1.
            module: the name of another file of the submission that the line is in.
        """
        if module:
            known = self.modules.get(PurePath(module).stem, "")
            return Source((known,), plain(module[:LONGEST_LINE])).location(line)
        number = max((i for i, before in enumerate(self._starts) if before < line), default=0)
        text = self._lines[number]
        line -= self._starts[number]
        says = plain(text[line - 1].strip()[:LONGEST_LINE]) if 0 < line <= len(text) else ""
        where = f"{PurePath(self.file).name if self.file else self.cell_name(number)}, line {line}"
        return f" ({where}: {says})" if says else f" ({where})"

    def command(self, line: int) -> str:
        """Describe a line that only IPython reads, such as `line 3 of cell 2 begins with %`.

        Args:
            line: numbered through all cells, from 1.
        """
        number = max((i for i, before in enumerate(self._starts) if before < line), default=0)
        where = PurePath(self.file).name if self.file else self.cell_name(number)
        text = self._lines[number][line - self._starts[number] - 1].strip()
        begins = f"begins with {text[0]}" if text[:1] in ("%", "!", "?") else "is a command for IPython"
        return f"line {line - self._starts[number]} of {where} {begins}"

    def lines_of(self, function: str) -> set[int]:
        """Return the lines of every definition of a function, numbered through all cells from 1."""
        found = set[int]()
        for each in definitions(self.cells, {function}):
            if each.statement is not None:
                before = self._starts[each.cell]
                found.update(range(before + each.line, before + (each.statement.end_lineno or each.line) + 1))
        return found

    @staticmethod
    def cell_name(number: int) -> str:
        """What a cell is called, by its number from 0."""
        return f"cell {number + 1}"

    def last_failed_naming(self, name: str, failed: Iterable[int]) -> int | None:
        """The last of the failed cells that speaks of a name which is nowhere defined."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        known = [number for number in failed if 0 <= number < len(self.cells) and word.search(self.cells[number])]
        return known[-1] if known else None

    def has_body(self, function: str, body: str) -> bool:
        """Return whether the last definition of a function has exactly the statements of `body`; false for no body."""
        wanted = [ast.dump(statement) for statement in ast.parse(body).body]
        made = [each.statement for each in definitions(self.cells, {function})] if wanted else []
        statements = without_docstring(getattr(made[-1], "body", [])) if made else []
        return bool(wanted) and list(map(dumped, statements)) == wanted

    @cached_property
    def _lines(self) -> list[list[str]]:
        """The lines of each cell, taken apart once, however many of them are spoken of."""
        return [ipython_cells.lines(cell) for cell in self.cells]

    @cached_property
    def _starts(self) -> list[int]:
        return ipython_cells.line_offsets(self.cells)


def files_beside(folder: Path) -> dict[str, bytes]:
    """The Python files in a folder, as far as they can be read and are small enough to be imported."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        with suppress(OSError):
            if path.is_file() and path.stat().st_size <= LONGEST_MODULES:
                found[path.name] = path.read_bytes()
    return found


def decode(content: bytes) -> str:
    """Decode the bytes of a source file, by the encoding that it declares, UTF-8 without one.

    Python reads no other file, so that a learner could not have run it either.

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
    """Describe the first byte that is not in the encoding: its line, its value, and what it is in Latin-1."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ZEROS
    before = content[: error.start].decode("utf-8", "replace")
    behind = plain(before.rpartition("\n")[2].strip())[-SHOWN:]
    byte = content[error.start : error.start + 1]
    meant = byte.decode("cp1252", "replace")
    shown = f", which is {meant} in Latin-1" if meant.isprintable() and meant != "\N{REPLACEMENT CHARACTER}" else ""
    where = f"line {before.count(NEW_LINE) + 1}" + (f", behind {behind!r}," if behind else "")
    return f"{where} has the byte 0x{byte.hex().upper()}{shown}"


def _imported(texts: Iterable[str], beside: Files) -> dict[str, str]:
    """The files that a source may import, directly or through others: those whose names are words in it."""
    waiting, found, room = list(texts), dict[str, str](), LONGEST_MODULES
    there = {PurePath(name).stem: content for name, content in beside.items() if name.endswith(".py")}
    while waiting and there:
        for name in sorted({*WORD.findall(waiting.pop())} & (there.keys() - found.keys() - NOT_OWN)):
            with suppress(UnreadableSource):
                text = decode(there[name])
                if len(text) <= room and len(found) < MOST_MODULES:
                    room -= len(text)
                    found[name] = text
                    waiting.append(text)
    return found
