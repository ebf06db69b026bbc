"""The page on `explain`: every Python block runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import linecache
import re

import pytest
from helpers.courses import ROOT

PAGE = ROOT / "docs/explain.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def printed() -> list[tuple[str, str, str]]:
    """Each block in order, as a part of one file: its code, what the page says that it prints, and what it prints."""
    namespace: dict = {"__name__": "example"}
    found, above = [], ""
    for code, shown in BLOCK.findall(PAGE.read_text("utf-8")):
        out = io.StringIO()
        linecache.cache["example.py"] = (0, None, (above + code).splitlines(keepends=True), "example.py")
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * above.count("\n") + code, "example.py", "exec"), namespace)
        found.append((code, shown, out.getvalue()))
        above += f"{code}\n\n"
    with pytest.raises(AssertionError, match="mean-for-sum"):
        namespace["test_backward"]()
    return found


def test_every_block_prints_what_the_page_shows():
    for code, shown, real in printed():
        assert real == shown, code


if __name__ == "__main__":  # writes what is printed into the page
    blocks = iter(printed())

    def with_output(match: re.Match[str]) -> str:
        code, _, real = next(blocks)
        return f"```python\n{code}```" + (f"\n\n```text\n{real}```" if real else "")

    PAGE.write_text(BLOCK.sub(with_output, PAGE.read_text("utf-8")), encoding="utf-8")
