"""A learner's source text, one file or the cells of a notebook, and how messages name a place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath

from grader.child import ipython_cells
from grader.safe_text import plain

LONGEST = 1 << 20
LONGEST_JOB = 3 << 20
LONGEST_LINE = 200


@dataclass(frozen=True)
class Source:
    """A learner's source text.

    Args:
        cells: the text of each code cell; a file is one cell.
        file: the file's name in the course, with forward slashes; empty for a notebook.
        skipped_cells: the numbers of cells that are too long, and so were emptied; from 0.
    """

    cells: tuple[str, ...]
    file: str = ""
    skipped_cells: tuple[int, ...] = field(default=())

    @classmethod
    def of_cells(cls, texts: Sequence[str]) -> Source:
        """The code cells of a notebook, in their order, as far as there is room for them in a job."""
        kept, unread, room = [], [], LONGEST_JOB
        for number, text in enumerate(texts):
            needed = len(json.dumps(text)) if len(text) <= LONGEST else LONGEST_JOB + 1
            fits = needed <= room
            room -= needed if fits else 0
            kept.append(text if fits else "")
            unread += [] if fits else [number]
        return cls(tuple(kept), "", tuple(unread))

    @classmethod
    def of_file(cls, text: str, file: str) -> Source:
        """One file."""
        read = cls.of_cells([text])
        return cls(read.cells, file, read.skipped_cells)

    @property
    def kind(self) -> str:
        """What holds a piece of source: a `file`, or a `cell`."""
        return "file" if self.file else "cell"

    def location(self, line: int) -> str:
        """A line in brackets, for the end of a sentence: ` (lin_grad.py, line 3: w.g = ...)`.

        Args:
            line: numbered through all cells, from 1.
        """
        number = max((i for i, before in enumerate(self._starts) if before < line), default=0)
        text = self._lines[number]
        line -= self._starts[number]
        says = plain(text[line - 1].strip()[:LONGEST_LINE]) if 0 < line <= len(text) else ""
        where = f"{PurePath(self.file).name if self.file else self.cell_name(number)}, line {line}"
        return f" ({where}: {says})" if says else f" ({where})"

    @staticmethod
    def cell_name(number: int) -> str:
        """What a cell is called, by its number from 0."""
        return f"cell {number + 1}"

    def last_failed_naming(self, name: str, failed: Iterable[int]) -> int | None:
        """The last of the failed cells that speaks of a name which is nowhere defined."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        known = [number for number in failed if 0 <= number < len(self.cells) and word.search(self.cells[number])]
        return known[-1] if known else None

    @cached_property
    def _lines(self) -> list[list[str]]:
        """The lines of each cell, taken apart once, however many of them are spoken of."""
        return [ipython_cells.lines(cell) for cell in self.cells]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self._lines))][: len(self.cells)]
