"""Part of the short suite in an order that nobody has tried: no test may rest on what another one left behind.

Each run takes other files and another order; `pytest tests/ -p randomly` takes all of them.
"""

from __future__ import annotations

import random
import shlex
import subprocess
import sys

from helpers.courses import ROOT

PART = 40  # one file of so many
LONG = ("test_learners.py",)  # hundreds of tests of one kind


def test_the_order_of_the_tests_does_not_matter() -> None:
    seed = random.SystemRandom().randrange(2**32)
    files = sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if not {"thorough", "learners"} & set(path.parts) and path.name not in LONG
    )
    chosen = sorted(random.Random(seed).sample(files, len(files) // PART))
    words = [*chosen, "-m", "not slow", "-p", "randomly", f"--randomly-seed={seed}"]
    run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(['pytest', *words])}\n{done.stdout[-20_000:]}{done.stderr[-2000:]}"
