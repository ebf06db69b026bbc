"""Functions are found in a library's file by their names, wherever its first segment is loaded to."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from grader.child.machine_code import _symbols

NAMES = (b"kept", b"_Z8backward", b"_ZN1xD1Ev_backward", b"folded", b"_Z15folded_backward", b"_Z8backwardD1Ev")
PLACES = (0x10, 0x20, 0x40, 0x60, 0x60, 0x80)
NAMED = {b"backward": re.compile(b"^_Z")}


def library(path: Path, loaded_at: int, tables: tuple[int, ...] = (2, 3)) -> Path:
    """A file with nothing but a header, one segment, and a symbol for each name."""
    names = b"\0" + b"\0".join(NAMES) + b"\0"
    starts = [names.index(b"\0" + name + b"\0") + 1 for name in NAMES]
    symbols = b"".join(
        struct.pack("<IBBHQQ", start, 2, 0, 1, loaded_at + place, 8)
        for start, place in zip(starts, PLACES, strict=True)
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, loaded_at, 0, 4096, 4096, 4096)
    at = 64 + len(segment)
    sections = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, place, size, 1, 0, 0, 0)
        for kind, place, size in zip(tables, (at, at + len(symbols)), (len(symbols), len(names)), strict=True)
    )
    header = bytearray(64)
    struct.pack_into("<QQ", header, 32, 64, at + len(symbols) + len(names))
    struct.pack_into("<H", header, 56, 1)
    struct.pack_into("<H", header, 60, 2)
    path.write_bytes(bytes(header) + segment + symbols + names + sections)
    return path


@pytest.mark.parametrize("loaded_at", [0, 0x400000])
def test_functions_are_found_by_name(loaded_at: int, tmp_path: Path) -> None:
    """Not what the linker made one with another function, and not what runs when the process ends."""
    found = _symbols(str(library(tmp_path / "lib.so", loaded_at)), NAMED)
    assert found.tolist() == [[0x20, 8, 0], [0x40, 8, 0]]


def test_a_library_without_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lib\.so was stripped of its symbols"):
        _symbols(str(library(tmp_path / "lib.so", 0, tables=(11, 3))), NAMED)
