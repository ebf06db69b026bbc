"""A grading service of a worker on another machine: what it says, and that it ends with whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from helpers.processes import Family, alive, descendants, wait_until
from test_cluster import NAME, SEED, Results, batch, graded, lines, setting

from grader.classroom import cluster_wire as wire
from grader.classroom.dask_worker import Service
from grader.course.course import Course
from grader.sandbox.source_text import Part


def test_a_service_says_what_one_machine_says(course: Course, setting: bytes, batch: Any, graded: Results) -> None:
    service = Service(setting, 1)
    try:
        for _ in range(2):
            results, seconds = wire.unpack_results(service.grade(wire.pack_batch(batch)), course, batch)
            assert lines(results) == lines(graded)
            assert seconds > 0
    finally:
        service.close()
    assert not Path(service.folder).exists()
    assert service.has_ended


def test_a_service_ends_with_whoever_started_it(course: Course, tmp_path: Path) -> None:
    """With what it started, and its folder; in the middle of a batch."""
    (tmp_path / "setting").write_bytes(wire.pack_setting(wire.GradingSetting(course, SEED, "none", (NAME,))))
    sleeps = "import time\ndef lin_grad(inp, out, w, b):\n    time.sleep(600)"
    (tmp_path / "batch").write_bytes(wire.pack_batch([[Part(NAME, sleeps.encode())]]))
    run = (
        "from pathlib import Path; from grader.classroom.dask_worker import Service\n"
        "service = Service(Path('setting').read_bytes(), 1)\n"
        "print(service.popen.pid, service.folder, flush=True)\n"
        "service.grade(Path('batch').read_bytes())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(wire.__file__).parents[2])}
    starter = subprocess.Popen([sys.executable, "-c", run], cwd=tmp_path, stdout=subprocess.PIPE, env=environment)
    with starter, starter.stdout as said:  # type: ignore[union-attr]
        service, folder = said.readline().split()
        grading = int(service)
        wait_until(lambda: len(Family.of(grading).children) == 1, "it grades nothing")
        started = {grading, *descendants(grading)}
        starter.kill()
    wait_until(lambda: not any(map(alive, started)), "something of it outlives its starter")
    wait_until(lambda: not Path(folder.decode()).exists(), "its folder is left")
