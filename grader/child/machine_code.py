"""Takes functions out of a library that is loaded: over their machine code goes an instruction that ends the process.

A function is found by its name in the library's symbol table (`elf.h`), local ones too, and all of its bytes are
overwritten: nothing of it is left to be jumped into. The pages become this process's own and are inherited by every
fork. Who can make no memory executable and map no file cannot bring them back.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from .linux_calls import PR_SET_DUMPABLE, fork, mprotect, prctl

ILLEGAL = {"x86_64": 0x06, "aarch64": 0x00}
"""A byte of which any number is an instruction that does not exist, wherever one jumps to (x86-64: `push es`)."""
SECTION = np.dtype([(name, size) for name, size in zip(
    "name kind flags address offset size link info alignment entry".split(), "IIQQQQIIQQ", strict=True)])  # fmt: skip
SYMBOL = np.dtype([("name", "I"), ("info", "B"), ("other", "B"), ("section", "H"), ("value", "Q"), ("size", "Q")])
SECTIONS = ((40, "<Q"), (60, "<H"))  # where the header has their place and their number
SYMBOLS, FUNCTION = 2, 2
DESTRUCTOR = re.compile(rb"D[012]Ev$")  # they run when the process ends
Named = Mapping[bytes, re.Pattern[bytes]]


@dataclass(frozen=True)
class Code:
    """Functions in this process's memory.

    Args:
        spans: the address and the size of each, and which of the names it was found by, [functions, 3].
        text: first and last address of the mappings that they lie in.
    """

    spans: np.ndarray
    text: tuple[int, int]

    @classmethod
    def of(cls, library: str, named: Named) -> Self:
        """The functions of a loaded library whose mangled names match; but none that the linker folded with another.

        Args:
            named: patterns of names, each with a literal that is in every name it matches.

        Raises:
            OSError: the library's file cannot be read.
            ValueError: the library is not loaded, or its file has no symbol table.
        """
        maps = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
        mine = [fields for fields in maps if fields[-1].endswith(f"/{library}")]
        spans = [[int(address, 16) for address in fields[0].split("-")] for fields in mine]
        text = [span for span, fields in zip(spans, mine, strict=True) if "x" in fields[1]]
        if len(text) != 1:
            raise ValueError(f"{library} is not loaded in one piece")
        found = _functions(mine[0][5], named)
        found[:, 0] += spans[0][0]
        return cls(found, (text[0][0], text[0][1]))

    def overwrite(self) -> None:
        """Take their code out, for good.

        Raises:
            OSError: the system does not let a process change its code.
        """
        first, last = self.text
        collecting = gc.isenabled()
        gc.disable()  # until its code is executable again, nothing may call the library
        mprotect(first, last - first, mmap.PROT_READ | mmap.PROT_WRITE)
        try:
            for address, size, _ in self.spans.tolist():
                ctypes.memset(address, ILLEGAL[os.uname().machine], size)
        finally:
            mprotect(first, last - first, mmap.PROT_READ | mmap.PROT_EXEC)
        if collecting:
            gc.enable()

    @staticmethod
    def ends_by(address: int) -> int:
        """The signal that ends a child which calls a function; 0 if it returns."""
        pid = fork()
        if pid == 0:
            prctl(PR_SET_DUMPABLE, 0)  # its end leaves no file behind
            ctypes.CFUNCTYPE(None)(address)()
            os._exit(0)
        return max(-os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)


def _functions(path: str, named: Named) -> np.ndarray:
    """Offset, size and number of the pattern for each function that is to go, [functions, 3]."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        place, number = (struct.unpack_from(kind, content, at)[0] for at, kind in SECTIONS)
        sections = np.frombuffer(content[place : place + number * SECTION.itemsize], SECTION)
        tables = sections[sections["kind"] == SYMBOLS]
        if not len(tables):
            raise ValueError(f"{Path(path).name} was stripped of its symbols")
        table, names = tables[0], sections[tables[0]["link"]]
        symbols = np.frombuffer(content[table["offset"] : table["offset"] + table["size"]], SYMBOL)
        functions = symbols[(symbols["info"] & 15 == FUNCTION) & (symbols["size"] > 0) & (symbols["section"] > 0)]
        which = np.full(len(functions), -1)
        for index, (literal, pattern) in enumerate(named.items()):
            which[np.isin(functions["name"], _names(content, names, literal, pattern))] = index
    kept, gone = functions[which < 0], functions[which >= 0]
    found = np.stack([gone["value"].astype(int), gone["size"].astype(int), which[which >= 0]], axis=1)
    return found[~np.isin(gone["value"], kept["value"])]


def _names(content: mmap.mmap, table: Any, literal: bytes, pattern: re.Pattern[bytes]) -> list[int]:
    """Where in the table of names the matching ones begin."""
    first, last = int(table["offset"]), int(table["offset"] + table["size"])
    found = []
    at = content.find(literal, first, last)
    while at >= 0:
        start, end = content.rfind(b"\0", first, at) + 1, content.find(b"\0", at)
        name = content[start:end]
        if pattern.search(name) and not DESTRUCTOR.search(name):
            found.append(start - first)
        at = content.find(literal, end, last)
    return found
