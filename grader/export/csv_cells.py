"""A CSV file whose cells can be changed one by one: every other byte of it stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import UsageError

BYTE_ORDER_MARK = "\ufeff"
DELIMITERS = ",;\t"


@dataclass
class Cell:
    """One cell as it is written, and what follows it: a delimiter, the end of a line, or nothing."""

    written: str
    end: str

    @property
    def value(self) -> str:
        """The cell as a reader gets it."""
        if len(self.written) > 1 and self.written.startswith('"') and self.written.endswith('"'):
            return self.written[1:-1].replace('""', '"')
        return self.written


class CellTable:
    """The rows of a CSV file by RFC 4180, delimited by commas, semicolons or tabs; the first row is its header.

    Raises:
        UsageError: it is empty.
    """

    def __init__(self, content: bytes) -> None:
        try:
            text, self._encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:  # any byte is a character of it, and the same byte again when it is written
            text, self._encoding = content.decode("latin-1"), "latin-1"
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        text = text.removeprefix(BYTE_ORDER_MARK)
        first = text.partition("\n")[0]
        if not first.strip():
            raise UsageError("The CSV file is empty: export it once more, and name it with --fill.")
        self._delimiter = max(DELIMITERS, key=first.count)
        self.rows = list(self._read(text))

    def _read(self, text: str) -> Iterator[list[Cell]]:
        quoted, plain = r'"(?:[^"]|"")*+(?:"|\Z)', rf'[^"{self._delimiter}\r\n]+'
        cell = re.compile(rf"((?:{quoted}|{plain})*+)({self._delimiter}|\r\n|\n|\r|\Z)")
        row: list[Cell] = []
        for found in cell.finditer(text):
            if found.end() == found.start() and not row:  # after the end of the last line
                return
            row.append(Cell(found[1], found[2]))
            if found[2] != self._delimiter:
                yield row
                row = []

    def values(self, row: int) -> list[str]:
        return [cell.value for cell in self.rows[row]]

    def put(self, row: int, column: int, value: str) -> None:
        """Write one cell, in quotes if it needs them."""
        needs = any(c in value for c in f'"\r\n{self._delimiter}')
        self.rows[row][column].written = '"' + value.replace('"', '""') + '"' if needs else value

    def content(self) -> bytes:
        """The whole file; a character that its encoding does not have is written as HTML does it."""
        text = "".join(f"{cell.written}{cell.end}" for row in self.rows for cell in row)
        return (self._mark + text).encode(self._encoding, "xmlcharrefreplace")
