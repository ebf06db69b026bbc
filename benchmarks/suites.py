"""Measure the tests as multiples of `import torch` in one run: `python benchmarks/suites.py [--rounds N] [--ci]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import dev_environment  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
TORCH = [sys.executable, "-c", "import torch"]
SHORT = [sys.executable, "-m", "pytest", "tests/", "-n", "2", "-q", "-p", "no:cacheprovider"]
ALL = ["bash", ".ci/run"]
IMPORTS = 5


def seconds(command: Sequence[str]) -> float:
    """Wall time of a command that must end well; what it says is shown if it does not."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return time.perf_counter() - started


def ratio(command: Sequence[str]) -> float:
    """Wall time of a command, divided by the median of `import torch` right before and after it."""
    before = [seconds(TORCH) for _ in range(IMPORTS)]
    taken = seconds(command)
    return taken / median([*before, *(seconds(TORCH) for _ in range(IMPORTS))])


def main() -> None:
    """Print one line of a table for each command, and exit with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often the short suite is run")
    parser.add_argument("--ci", action="store_true", help="run all of .ci/run as well, once")
    options = parser.parse_args()
    seconds(TORCH)
    plan = [("pytest tests/ -n 2", SHORT, 180.0)] * options.rounds + [(".ci/run", ALL, 2400.0)] * options.ci
    missed = 0
    for name, command, limit in plan:
        found = ratio(command)
        missed += found > limit
        print(f"| `{name}` | {found:.1f} x | at most {limit:g} x | {'no' if found > limit else 'yes'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
