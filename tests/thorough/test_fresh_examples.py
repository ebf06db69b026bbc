"""Every property once more, for examples that nobody has seen: a failure prints one to keep as an `@example`."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_every_property_holds_for_fresh_examples() -> None:
    words = [
        "-m",
        "pytest",
        "tests",
        "-q",
        "-m",
        "hypothesis",
        "--hypothesis-profile",
        "fresh",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-20_000:]
