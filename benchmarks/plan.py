"""What a very large class costs, by the submission: `python benchmarks/plan.py [--submissions N] [--plan M]`.

A few are graded for real, every second one with a mistake, on a cluster of two workers on this machine: what the
workers take. Then N are, where the workers only repeat these verdicts: what the coordinator takes. Both give the plan
for M: processor time, memory of the coordinator, size of the results.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import dev_environment  # noqa: F401
import psutil
import run

if TYPE_CHECKING:
    from grader.course.course import Course

WORKERS, REAL = 2, 2000
MIB = 1 << 20


def processor(process: psutil.Process) -> float:
    """Seconds of processor time of a process, and of those below it that have ended."""
    return sum(process.cpu_times()[:4])


def below(process: psutil.Process) -> float:
    """Seconds of processor time of all processes below one."""
    return sum(map(processor, process.children(recursive=True)))


def repeating(course: Course, contents: Iterable[bytes]) -> Callable[[bytes, bytes], bytes]:
    """Return a worker's function that knows the verdicts on these files, and grades nothing."""
    from grader.classroom.cluster_wire import pack_results, unpack_batch
    from grader.judging.grading import Grader
    from grader.sandbox.worker import start_worker

    with start_worker("none") as worker:
        grader = Grader(1)
        known = {content: grader.grade(course.find("lin_grad"), content, worker) for content in contents}

    def grade_batch(_setting: bytes, batch: bytes) -> bytes:
        return pack_results([[known[part.content] for part in parts] for parts in unpack_batch(batch)], 1.0)

    return grade_batch


def graded(course: Course, submissions: Path, out: Path, count: int) -> tuple[float, float]:
    """Grade a class on a cluster: seconds of processor time that the coordinator took, and the workers."""
    from grader.classroom.class_folder import find_submissions
    from grader.classroom.class_grading import Grading, grade_class
    from grader.classroom.dask_pool import connected

    this = psutil.Process()
    before = processor(this)
    with connected("local", WORKERS) as cluster:
        grading = Grading(WORKERS, cluster.isolation(None), seed=1, cluster=cluster)
        summary = grade_class(course, find_submissions(course, submissions, out), out, grading)
        there = below(this)
    assert summary.graded == count
    assert not summary.errors
    return processor(this) - before, there


def main() -> None:
    """Print a table: measured, and what follows for M."""
    from grader.classroom import dask_worker
    from grader.course.course import load_course

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--plan", type=int, default=1_000_000)
    options = parser.parse_args()
    many, plan = options.submissions, options.plan
    with tempfile.TemporaryDirectory(prefix="handgrad-plan-") as name:
        folder = Path(name)
        course = run.solved_course(folder / "course")
        loaded, submissions = load_course(course), folder / "submissions"
        run.hand_in(course, REAL)
        _, there = graded(loaded, submissions, folder / "real", REAL)
        contents = {path.read_bytes() for path in submissions.rglob("lin_grad.py")}
        run.hand_in(course, many)
        dask_worker.grade_batch = repeating(loaded, contents)
        idle = _memory()
        here, _ = graded(loaded, submissions, folder / "repeated", many)
        held = _memory() - idle
        size = sum(entry.stat().st_size for entry in os.scandir(folder / "repeated"))
    each = there / REAL
    rows = [
        ("processor time of the workers", f"{REAL:,} graded: {there:,.0f} s", f"{each * plan / 3600:,.1f} h"),
        ("processor time of the coordinator", f"{many:,}: {here:,.0f} s", f"{here * plan / many / 3600:,.1f} h"),
        ("memory of the coordinator, beyond its start", f"{many:,}: {held:,.0f} MiB", f"{held * plan / many:,.0f} MiB"),
        ("size of the results", f"{many:,}: {size / MIB:,.0f} MiB", f"{size * plan / many / MIB:,.0f} MiB"),
    ]
    print(f"| | measured | for {plan:,}, by proportion |\n|---|---|---|")
    for what, measured, planned in rows:
        print(f"| {what} | {measured} | {planned} |")


def _memory() -> float:
    """Return the most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
