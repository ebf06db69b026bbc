"""Load the plugins of these tests, and make their modules importable."""

from __future__ import annotations

import sys
from pathlib import Path

# Tests import `helpers`, and the thorough ones what modules of other folders share, whichever file is run alone.
TESTS = Path(__file__).parent
FOLDERS = [TESTS, *sorted({path.parent for path in TESTS.glob("[a-z]*/test_*.py")})]
sys.path[:0] = [str(folder) for folder in FOLDERS if str(folder) not in sys.path]

import helpers.environment  # noqa: E402, F401  before anything starts a program

pytest_plugins = [f"helpers.{name}" for name in ("order", "skips", "courses", "workers", "grading", "commands")]
