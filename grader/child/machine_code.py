"""Takes functions out of a library that is loaded: over their machine code goes an instruction that ends the process.

A function is found by its name in the library's symbol table (`elf.h`), local ones too, and all of its bytes are
overwritten: nothing of it is left to be jumped into. Every fork inherits that, and who can neither make memory
executable nor map a file cannot bring them back.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .linux_calls import PR_SET_DUMPABLE, fork, map_code, prctl

ILLEGAL = {"x86_64": 0x06, "aarch64": 0x00}
"""A byte of which any number is an instruction that does not exist, wherever one jumps to (x86-64: `push es`)."""
SECTION = np.dtype([(name, size) for name, size in zip(
    "name kind flags address offset size link info alignment entry".split(), "IIQQQQIIQQ", strict=True)])  # fmt: skip
SYMBOL = np.dtype([("name", "I"), ("info", "B"), ("other", "B"), ("section", "H"), ("value", "Q"), ("size", "Q")])
SEGMENT = np.dtype([(name, size) for name, size in zip(
    "kind flags offset address physical size memory alignment".split(), "IIQQQQQQ", strict=True)])  # fmt: skip
SEGMENTS, SECTIONS = ((32, "<Q"), (56, "<H")), ((40, "<Q"), (60, "<H"))  # where the header has their place and number
LOADED = 1
SYMBOLS, FUNCTION = 2, 2
PAGE = mmap.PAGESIZE
APART = 64  # pages: each run of them is a mapping of its own, which costs every fork a little
DESTRUCTOR = re.compile(rb"D[012]Ev$")  # they run when the process ends
Named = Mapping[bytes, re.Pattern[bytes]]


def functions(library: str, named: Named) -> np.ndarray:
    """The functions of a loaded library whose mangled names match; but none that the linker folded with another.

    The address and the size of each, and the number of the pattern that it was found by, [functions, 3].

    Args:
        named: patterns of names, each with a literal that is in every name it matches.

    Raises:
        OSError: the library's file cannot be read.
        ValueError: the library is not loaded, or its file has no symbol table.
    """
    maps = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    mine = [fields for fields in maps if fields[-1].endswith(f"/{library}")]
    if sum("x" in fields[1] for fields in mine) != 1:
        raise ValueError(f"{library} is not loaded in one piece")
    found = _symbols(mine[0][5], named)
    found[:, 0] += int(mine[0][0].split("-")[0], 16)
    return found


def overwrite(functions: np.ndarray) -> None:
    """Take the code of functions out, for good: other pages come in the place of theirs.

    These are shared, so that no fork has to copy what is known of each page, and sealed against writing.

    Raises:
        OSError: the system does not let a process change its code.
    """
    pages, runs = os.memfd_create("code", os.MFD_ALLOW_SEALING), _overwritten(functions)
    try:
        for content in runs.values():
            os.write(pages, content)
        fcntl.fcntl(pages, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        at = 0
        for address, content in runs.items():
            map_code(address, len(content), pages, at)
            at += len(content)
    finally:
        os.close(pages)


def _overwritten(functions: np.ndarray) -> dict[int, bytearray]:
    """Whole pages around the functions, less these, by address; those with little between them are one run."""
    runs: dict[int, bytearray] = {}
    first = end = 0
    illegal = bytes([ILLEGAL[os.uname().machine]])
    for address, size, _ in sorted(functions.tolist()):
        page, last = address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE
        if not runs or page - end > APART * PAGE:
            first = end = page
            runs[first] = bytearray()
        if last > end:
            runs[first] += ctypes.string_at(end, last - end)
            end = last
        runs[first][address - first : address - first + size] = illegal * size
    return runs


def ends_by(address: int) -> int:
    """The signal that ends a child which calls a function; 0 if it returns."""
    pid = fork()
    if pid == 0:
        prctl(PR_SET_DUMPABLE, 0)  # its end leaves no file behind
        ctypes.CFUNCTYPE(None)(address)()
        os._exit(0)
    return max(-os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)


def _symbols(path: str, named: Named) -> np.ndarray:
    """Offset in memory, size and number of the pattern for each function that is to go, [functions, 3]."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        segments, sections = _table(content, SEGMENTS, SEGMENT), _table(content, SECTIONS, SECTION)
        first = segments[segments["kind"] == LOADED][0]
        tables = sections[sections["kind"] == SYMBOLS]
        if not len(tables):
            raise ValueError(f"{Path(path).name} was stripped of its symbols")
        table, names = tables[0], sections[tables[0]["link"]]
        symbols = np.frombuffer(content[table["offset"] : table["offset"] + table["size"]], SYMBOL)
        functions = symbols[(symbols["info"] & 15 == FUNCTION) & (symbols["size"] > 0) & (symbols["section"] > 0)]
        matching = _matching(content, names, named)
    goes = np.isin(functions["name"], list(matching))
    kept, gone = functions[~goes], functions[goes]
    places = gone["value"].astype(int) - int(first["address"]) + int(first["offset"])
    found = np.stack([places, gone["size"].astype(int), [matching[name] for name in gone["name"].tolist()]], axis=1)
    return found[~np.isin(gone["value"], kept["value"])]


def _table(content: mmap.mmap, where: tuple[tuple[int, str], ...], kind: np.dtype[Any]) -> np.ndarray:
    """The table of segments or of sections."""
    place, number = (struct.unpack_from(size, content, at)[0] for at, size in where)
    return np.frombuffer(content[place : place + number * kind.itemsize], kind)


def _matching(content: mmap.mmap, table: Any, named: Named) -> dict[int, int]:
    """Where in the table of names each one that matches begins, and the number of its pattern."""
    first, last = int(table["offset"]), int(table["offset"] + table["size"])
    found = {}
    for index, (literal, pattern) in enumerate(named.items()):
        end = first
        while (at := content.find(literal, end, last)) >= 0:
            start, end = content.rfind(b"\0", first, at) + 1, content.find(b"\0", at)
            name = content[start:end]
            if pattern.search(name) and not DESTRUCTOR.search(name):
                found[start - first] = index
    return found
