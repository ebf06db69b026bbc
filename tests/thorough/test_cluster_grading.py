"""A class graded by a real scheduler and two workers, some of which are killed: the same bytes as on one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.courses import ROOT
from helpers.processes import alive, descendants, wait_until
from helpers.workers import strongest

from grader.learner import workspace

STUDENTS = 90
LIN = (ROOT / "solutions/04_linear/lin_grad.py").read_text()
RELU = (ROOT / "solutions/05_activations/relu_grad.py").read_text()
HANDED_IN = (
    {"lin_grad": LIN, "relu_grad": RELU},
    {"lin_grad": LIN.replace("out.g.sum(0)", "out.g.mean(0)")},
    {"relu_grad": "import time\n" + RELU.replace("inp.g =", "time.sleep(0.05)\n    inp.g =")},
    {"relu_grad": "def relu_grad(inp, out:"},
    {"relu_grad": "import os\n\ndef relu_grad(inp, out):\n    os._exit(0)\n"},
    {},
)


@dataclass
class Machines:
    """A scheduler and two workers, each a process of its own without a nanny to start it again."""

    scheduler: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]]
    file: Path

    def every(self) -> set[int]:
        """All of their processes."""
        return {pid for each in (self.scheduler, *self.workers) for pid in (each.pid, *descendants(each.pid))}


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    file, environment = tmp_path / "scheduler.json", {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}

    def start(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:], "--scheduler-file", str(file)]
        with (tmp_path / "log").open("a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, text=True, cwd=tmp_path, env=environment)

    with ExitStack() as stack:
        found = Machines(start("scheduler", "--port", "0", "--no-dashboard"), [], file)
        stack.callback(found.scheduler.kill)
        wait_until(file.exists, "no scheduler")
        for _ in range(2):
            found.workers.append(start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"))
            stack.callback(found.workers[-1].kill)
        yield found
        everything = found.every()
    for each in (found.scheduler, *found.workers):
        each.wait()
    wait_until(lambda: not any(map(alive, everything)), "something outlives the cluster")
    wait_until(lambda: not list(tmp_path.glob("handgrad-*")), "something is left of it")


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = workspace.init(tmp_path_factory.mktemp("clustered") / "course").root
    for place in range(STUDENTS):
        student = root / "submissions" / f"s{place:03}"
        student.mkdir(parents=True)
        for name, source in HANDED_IN[place % len(HANDED_IN)].items():
            (student / f"{name}.py").write_text(f"# {place}\n{source}")
    return root


def grading(school: Path, out: str, *words: str) -> subprocess.Popen[str]:
    options = ["--yes", "--seed", "7", "--isolation", strongest(), "--exercise", "lin_grad", "--exercise", "relu_grad"]
    return subprocess.Popen(
        [sys.executable, "-m", "handgrad", "grade", "submissions", "--out", out, *options, *words],
        cwd=school, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def on_one_machine(school: Path) -> dict[str, bytes]:
    run = grading(school, "one")
    said, complaints = run.communicate()
    assert run.returncode == 0, said + complaints
    return contents(school / "one")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_the_middle(out: Path, run: subprocess.Popen[str]) -> None:
    """Wait until some results have landed."""
    wait_until(lambda: 8 <= len(list(out.glob("*.json"))) < STUDENTS or run.poll() is not None, "nothing lands")


def test_what_is_lost_in_the_middle_changes_no_result(school: Path, machines: Machines, on_one_machine) -> None:
    """First the grading services, then one of the workers, and the scheduler in the end."""
    lose_the_services(school, machines, on_one_machine)
    lose_a_worker(school, machines, on_one_machine)
    lose_the_scheduler(school, machines, on_one_machine)


def lose_the_services(school: Path, machines: Machines, on_one_machine) -> None:
    """They are replaced, and nobody notices but who looks at the clock."""
    run = grading(school, "again", "--scheduler", str(machines.file))
    in_the_middle(school / "again", run)
    for worker in machines.workers:
        for service in descendants(worker.pid):
            with suppress(ProcessLookupError):  # it may end with the service that it served
                os.kill(service, signal.SIGKILL)
    said, complaints = run.communicate()
    assert run.returncode == 0, said + complaints
    assert contents(school / "again") == on_one_machine


def lose_a_worker(school: Path, machines: Machines, on_one_machine) -> None:
    run = grading(school, "many", "--scheduler", str(machines.file), "--format", "json")
    in_the_middle(school / "many", run)
    assert len(descendants(machines.workers[0].pid)) > 0
    machines.workers[0].kill()
    said, complaints = run.communicate()
    assert run.returncode == 0, said + complaints
    assert json.loads(said)["graded"] == STUDENTS - STUDENTS // len(HANDED_IN)
    assert contents(school / "many") == on_one_machine


def lose_the_scheduler(school: Path, machines: Machines, on_one_machine) -> None:
    """The run ends, and the same command goes on."""
    run = grading(school, "lost", "--scheduler", str(machines.file))
    in_the_middle(school / "lost", run)
    machines.scheduler.kill()
    said, complaints = run.communicate()
    assert run.returncode == 3, said + complaints
    assert complaints.splitlines()[-1] == (
        "handgrad: The scheduler of the cluster is gone. What was finished is kept; the same command goes on."
    )
    assert "Traceback" not in complaints
    on = grading(school, "lost")
    said, complaints = on.communicate()
    assert on.returncode == 0, said + complaints
    assert "unchanged and kept" in said
    assert contents(school / "lost") == on_one_machine


def test_where_no_scheduler_answers_it_is_said(school: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    run = grading(school, "none", "--scheduler", "tcp://127.0.0.1:1")
    _, complaints = run.communicate()
    assert run.returncode == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:1" in complaints
    assert "Traceback" not in complaints
