"""The properties of what everything rests on, for examples that nobody has seen: keep a failure as an `@example`."""

from __future__ import annotations

import subprocess
import sys

from helpers.courses import ROOT

FILES = (
    "answer_sheet answer_spellings compare formula_syntax plain_yaml protocol results points drawn_programs "
    "class_counts score_changes export_totals export_sheets"
).split()


def test_every_property_holds_for_fresh_examples() -> None:
    """All in one process: to start it takes longer than most of them."""
    files = [str(*(ROOT / "tests").glob(f"*/test_{name}.py")) for name in FILES]
    options = ["-q", "-m", "hypothesis", "--hypothesis-profile", "fresh", "-p", "no:cacheprovider"]
    words = [sys.executable, "-m", "pytest", *files, *options]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-20_000:]
