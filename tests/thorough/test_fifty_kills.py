"""`kill -9` of the grader, of a warm process and of a child at random moments: nothing is lost, left or done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from helpers.courses import ROOT
from helpers.processes import PATIENCE, Family, at_work, kill, parent_of, wait_until
from helpers.workers import strongest, worker_of
from test_killed import assert_second_chance_and_no_third

from grader.learner import workspace

STUDENTS, SLOW, MOMENTS_SEED, SEED = 300, 60, 20, "7"
HANG_LIMIT = 10  # seconds: two of the class hang, and the others are far from it on a busy machine too
HANG = (20, 180)  # who: early enough that the other worker still has enough to do, and to be killed at
MOMENTS = {"grader": 6, "warm process": 22, "child": 22}
LIN = (ROOT / "solutions/04_linear/lin_grad.py").read_text()
RELU = (ROOT / "solutions/05_activations/relu_grad.py").read_text()


def lin_grad(line: str) -> str:
    return f"import ctypes, os, time\n\ndef lin_grad(inp, out, w, b):\n    {line}\n"


def relu_grad(line: str) -> str:
    return f"import ctypes, os, time\n\ndef relu_grad(inp, out):\n    {line}\n    inp.g = (inp > 0) * out.g\n"


KINDS = (  # what is handed in, by turns
    {"lin_grad": LIN},
    {"lin_grad": LIN.replace("out.g.sum(0)", "out.g.mean(0)")},
    {"relu_grad": RELU},
    {"lin_grad": LIN, "relu_grad": RELU},
    {"lin_grad": LIN.replace("inp.t()", "inp"), "relu_grad": RELU.replace(">", "<")},
    {"relu_grad": relu_grad("time.sleep(0.01)")},
    {"lin_grad": LIN.replace("w.t()", "w.reshape(w.t().shape)")},
    {"relu_grad": relu_grad("os._exit(0)")},
    {"lin_grad": LIN},
    {"relu_grad": relu_grad("ctypes.CDLL(None).kill(os.getppid(), 9)")},
    {"lin_grad": lin_grad("print('x' * 1_000_000)")},
    {"relu_grad": "def relu_grad(inp, out:"},
    {"relu_grad": relu_grad("open('/tmp/handgrad-attack', 'w')")},
    {},
    {"relu_grad": relu_grad("return os.fork()")},
)
HANGS = {"lin_grad": lin_grad("time.sleep(600)")}
SLEEPS = {"relu_grad": relu_grad("time.sleep(0.02)")}  # in every trial; the last ones, so that a last child can be met
UNITS = {"lin_grad": "04_linear", "relu_grad": "05_activations"}


@dataclass
class Run:
    """`handgrad grade`, started again whenever it has been killed.

    Args:
        finished: the modification time of each result that has a score; an error is graded again, 0 is entered last.
        seen: the children that each warm process has been seen with.
        met: every process that stood below the grader when one was killed.
    """

    folder: Path
    out: Path
    temporary: Path
    finished: dict[str, int] = field(default_factory=dict)
    seen: dict[int, set[int]] = field(default_factory=dict)
    met: set[int] = field(default_factory=set)

    def start(self) -> None:
        """The command, just as before."""
        words = [
            "grade",
            "submissions",
            "--yes",
            "--out",
            str(self.out),
            "--seed",
            SEED,
            "--workers",
            "2",
            "--format",
            "json",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from grader.cli.main import main; main()", *words],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def landed(self) -> int:
        """How many results there are."""
        return len(list(self.out.glob("*.json")))

    def kill(self, kind: str, rng: random.Random) -> bool:
        """Kill such a process, if there is one now."""
        family = Family.of(self.process.pid)
        self.met.update(family.warm, family.children)
        if kind == "grader":
            self.kill_grader()
            return True
        for child, warm in family.children.items():
            self.seen.setdefault(warm, set()).add(child)
        # The first child of a fresh warm process may be a second chance: two kills would be held against the student.
        seasoned = [(child, warm) for child, warm in family.children.items() if self.seen[warm] - {child}]
        warm = [(process, parent_of(process)) for process in family.warm]
        chosen = seasoned if kind == "child" else warm
        return bool(chosen) and kill(*rng.choice(chosen))

    def kill_grader(self) -> None:
        """Kill the command itself, see that everything dies with it, and start it again."""
        self.process.kill()
        self.process.communicate()
        self.check_finished()
        wait_until(lambda: not any(map(at_work, self.met)), "a process outlives the grader")
        self.start()

    def check_finished(self) -> None:
        """What was finished is still as it was."""
        for student, modified in self.finished.items():
            assert (self.out / student).stat().st_mtime_ns == modified, f"{student} was graded twice"
        for path in self.out.glob("*.json"):
            if json.loads(path.read_bytes())["score"] is not None:
                self.finished[path.name] = path.stat().st_mtime_ns

    def ended(self) -> dict[str, object]:
        """What the command says in the end."""
        said, complaints = self.process.communicate(timeout=5 * PATIENCE)
        assert self.process.returncode in (0, 3), complaints
        self.check_finished()
        return json.loads(said)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["fork", strongest()])
def test_a_child_ended_from_outside_has_a_second_chance_and_no_third(kind: str, number: signal.Signals) -> None:
    with worker_of(kind) as worker:
        assert_second_chance_and_no_third(worker, number)


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of two exercises, and three hundred submissions to it."""
    root = workspace.init(tmp_path_factory.mktemp("killed") / "course").root
    config = yaml.safe_load((root / "course.yaml").read_text())
    config["policy"]["time_limit"] = HANG_LIMIT
    config["units"] = [
        {**unit, "exercises": [entry for entry in unit["exercises"] if entry["id"] in UNITS]}
        for unit in config["units"]
        if unit["id"] in UNITS.values()
    ]
    (root / "course.yaml").write_text(yaml.safe_dump(config))
    for i in range(STUDENTS):
        student = root / "submissions" / f"s{i:03}"
        student.mkdir(parents=True)
        handed_in = HANGS if i in HANG else SLEEPS if i >= STUDENTS - SLOW else KINDS[i % len(KINDS)]
        for name, source in handed_in.items():
            (student / f"{name}.py").write_text(f"# {i}\n{source}")
    return root


@pytest.fixture
def undisturbed(school: Path) -> Iterator[Run]:
    """A run that nobody disturbs, at the same time as the other: most of it is waiting for what hangs."""
    with running(school, "undisturbed") as run:
        yield run


@contextmanager
def running(school: Path, name: str) -> Iterator[Run]:
    run = Run(school, school / name, school / f"{name}-tmp")
    run.temporary.mkdir()
    run.start()
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def differences(first: Path, second: Path) -> dict[str, tuple[bytes, ...]]:
    """The files of two folders that are not the same, in both."""
    found = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in (first, second)]
    names = found[0].keys() | found[1].keys()
    return {name: both for name in names if len(set(both := tuple(each.get(name, b"") for each in found))) > 1}


def told(summary: dict[str, object]) -> dict[str, object]:
    """What a summary says of the class, whatever it took."""
    return {key: value for key, value in summary.items() if key not in ("graded", "reused", "seconds")}


def litter() -> set[Path]:
    return {*Path(tempfile.gettempdir()).glob("handgrad-*")}


def test_fifty_kills_change_nothing(school: Path, undisturbed: Run) -> None:
    rng, before = random.Random(MOMENTS_SEED), litter()
    kinds = [kind for kind, count in MOMENTS.items() for _ in range(count)]
    rng.shuffle(kinds)
    moments = list(zip(sorted(rng.randrange(STUDENTS - SLOW) for _ in kinds), kinds, strict=True))
    assert len(moments) == 50
    print("seed", MOMENTS_SEED, "moments", moments)
    with running(school, "disturbed") as run:
        for moment, kind in moments:
            wait_until(lambda: run.landed() >= moment, f"no result lands after {moment}")
            time.sleep(rng.uniform(0, 0.02))
            wait_until(lambda: run.kill(kind, rng), f"there is no {kind} any more")
        summary = run.ended()
        while summary["errors"]:
            run.start()
            summary = run.ended()
        run.start()
        summary = run.ended()  # what is told of changes is told of those since the run before
    undisturbed.ended()
    undisturbed.start()
    assert told(summary) == told(undisturbed.ended())
    assert differences(undisturbed.out, run.out) == {}
    assert not any(map(at_work, run.met))
    assert list(run.temporary.iterdir()) == []
    left = litter() - before
    wait_until(lambda: not any(path.exists() for path in left), f"left behind: {left}")
