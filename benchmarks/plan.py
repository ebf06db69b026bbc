"""What a very large class costs, by the submission: `python benchmarks/plan.py [--submissions N] [--plan M]`.

It grades N submissions of one exercise, every second one with a mistake, on a cluster of two workers on this machine,
and says what M would take: processor time, memory of the coordinator, size of the results.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from pathlib import Path

import psutil
import run

WORKERS = 2
MIB = 1 << 20


def processor(process: psutil.Process) -> float:
    """Seconds of processor time of a process, and of those below it that have ended."""
    return sum(process.cpu_times()[:4])


def main() -> None:
    """Print a table: measured at N, and what follows for M."""
    from grader.batch.class_grading import Grading, grade_class
    from grader.batch.hand_ins import find_hand_ins
    from grader.cluster.dask_pool import connected
    from grader.course import load_course

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--plan", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="handgrad-plan-") as folder:
        course = run.solved_course(Path(folder) / "course")
        run.hand_in(course, options.submissions)
        loaded, out = load_course(course), Path(folder) / "grades"
        this, idle = psutil.Process(), _memory()
        before = processor(this)
        with connected("local", WORKERS) as cluster:
            grading = Grading(WORKERS, cluster.isolation(None), seed=1, cluster=cluster)
            found = find_hand_ins(loaded, Path(folder) / "submissions", out)
            summary = grade_class(loaded, found, out, grading)
            here, there = processor(this) - before, sum(map(processor, this.children(recursive=True)))
        assert summary.graded == options.submissions
        assert not summary.errors
        size = sum(entry.stat().st_size for entry in os.scandir(out))
    share = options.plan / options.submissions
    held = _memory() - idle
    print(f"| | {options.submissions:,} submissions, measured | {options.plan:,}, by proportion |\n|---|---|---|")
    print(f"| processor time of the workers | {there:,.0f} s | {there * share / 3600:,.1f} h |")
    print(f"| processor time of the coordinator | {here:,.0f} s | {here * share / 3600:,.1f} h |")
    print(f"| memory of the coordinator, beyond what it starts with | {held:,.0f} MiB | {held * share:,.0f} MiB |")
    print(f"| size of the results | {size / MIB:,.0f} MiB | {size * share / MIB:,.0f} MiB |")


def _memory() -> float:
    """The most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
