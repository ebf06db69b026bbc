"""What a learner reads, compared with files in this folder; sizes and numbers differ from run to run, or as the
course grows, and are masked; so is what Python and torch say in their own words.

`HANDGRAD_WRITE_GOLDEN=1 pytest tests/` writes the files anew: read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent
CONTINUED = re.compile(r"^ {9,10}(?! |hint|next hint|nudge)")
MASKS = (
    (re.compile(r"(RuntimeError|cannot read the file): .*? (?=\(\w+\.py, line)"), r"\1: <its words> "),
    (re.compile(r"(error: RuntimeError): .*"), r"\1: <its words>"),
    (re.compile(r"-?\d\.\d\de[-+]\d\d"), "<number>"),
    (re.compile(r"\[\d+(,\d+)*\]"), "[<index>]"),
    (re.compile(r"\b(is|by) 1/\d+"), r"\1 1/<bs>"),
    (re.compile(r"\b([a-z]+) ?= ?\d+"), r"\1=<size>"),
    (re.compile(r" +(?=\[[a-z-]+\]$)"), "  "),
    (re.compile(r"\bin \d+\.\d\ds"), "in <seconds>"),
    (re.compile(r"\b\d+ of \d+(?=$|  quiz)"), "<done> of <all>"),
    (re.compile(r"[=_-]{3,} "), "--- "),
    (re.compile(r" [=_-]{3,}$"), ""),
)


def masked(text: str) -> str:
    """The text with wrapped lines joined, numbers and sizes replaced, and rules shortened."""
    lines: list[str] = []
    for line in text.splitlines():
        if CONTINUED.match(line) and lines and lines[-1].strip():
            lines[-1] += " " + line.strip()
        else:
            lines.append(line.rstrip())
    for pattern, mask in MASKS:
        lines = [pattern.sub(mask, line) for line in lines]
    return "\n".join(lines).strip() + "\n"


def assert_golden(name: str, text: str) -> None:
    """The masked text is what stands in `<name>.txt`."""
    assert_exactly(name, masked(text))


def assert_exactly(name: str, text: str) -> None:
    """The text, as it is, is what stands in `<name>.txt`."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get("HANDGRAD_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
