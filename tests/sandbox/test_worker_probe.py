"""A machine on which graded runs cannot work is reported before any submission is read, and by `handgrad doctor`."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.courses import ROOT
from test_isolation import handed_in, handgrad

from grader.child.protocol import Frame
from grader.errors import InfrastructureError, NoGradedRuns
from grader.sandbox import warm_process
from grader.sandbox.isolation import machine
from grader.sandbox.worker import Unanswered, Worker
from grader.sandbox.worker_probe import NUMBERS, Versions, probe, worker_versions

BROKEN = (
    "import grader.sandbox.warm_process as w; plain = w._command; w._command = lambda arguments, isolation: "
    "[sys.executable, '-c', 'import sys; sys.exit(\"there is no such thing\")'] if isolation in {where!r} "
    "else plain(arguments, isolation)"
)
NOWHERE = BROKEN.format(where=("box", "kernel", "seccomp", "none"))
SENTENCE = (
    "A graded run does not work here, so nothing was graded: the worker process could not start: the process ended "
    "itself with exit code 1: there is no such thing. Run the same command again. `handgrad doctor` shows what works "
    "on this machine."
)
CALL = {"returned": {"kind": "tensor", "dtype": "float32", "shape": [3], "array": 0}, "stored": {}, "after": {}}
COST = {"work": 0, "peak": 0}
RAISED = {"kind": "raised", "type": "OSError", "message": "no room", "lines": []}
RIGHT = np.array(NUMBERS, np.float32) * sum(number * number for number in NUMBERS)


class Says:
    """A worker that gives every job the same reply."""

    def __init__(self, reply: Frame | Unanswered) -> None:
        self.reply = reply

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        return self.reply


PROBE = "probe.py"  # the name of its file


def right_reply() -> Frame:
    """Return the right reply to the job."""
    return reply()


def reply(array: Any = RIGHT, printed: str = "3.11.7 2.13.0 2.1.0", **changes: Any) -> Frame:
    """Return a worker's reply."""
    facts = {"calls": [{**CALL, **COST}], "printed": printed, **changes}
    return Frame(facts, [np.asarray(array, np.float32)])


WRONG = {
    "ended": (Unanswered("crash", detail="it was ended by SIGKILL"), "ended in a crash: it was ended by SIGKILL"),
    "still running": (Unanswered("timeout"), "ended in a timeout"),
    "other numbers": (reply(RIGHT + 1), r"gave \[6\.25, -9\.5, 3\.625\], not \[5\.25, -10\.5, 2\.625\]"),
    "nothing": (reply(calls=[]), "gave None"),
    "an error": (reply(error=RAISED, calls=[]), "raised OSError: no room"),
    "an error of the call": (reply(calls=[{**CALL, **COST, "error": RAISED}]), "raised OSError: no room"),
    "malformed": (reply(calls=[{**CALL}]), "came back malformed"),
    "no versions": (reply(printed=""), "not its versions"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_an_answer_that_is_not_right_is_said(what: str) -> None:
    says, why = WRONG[what]
    with pytest.raises(NoGradedRuns, match=f"so nothing was graded: a job of one line .*{why}.*handgrad doctor"):
        probe(Says(says))  # type: ignore[arg-type]


def test_a_worker_says_what_it_runs_code_with(isolated: Worker) -> None:
    import torch

    assert worker_versions(isolated) == Versions(platform.python_version(), torch.__version__, np.__version__)
    assert worker_versions(Says(reply())) == Versions("3.11.7", "2.13.0", "2.1.0")  # type: ignore[arg-type]


def assert_nothing_is_read_or_written(option: str, tmp_path: Path) -> None:
    """Check that one message is printed, however many submissions there are, and that nothing is written."""
    school, out = handed_in(tmp_path), tmp_path / "grades"
    for number in range(62):
        (school / f"s{number:02}").mkdir()
    one = ["--one", str(school / "ada"), "--out", str(out)] if option == "--one" else [str(school), "--out", str(out)]
    done = handgrad("grade", *one, code=NOWHERE)
    assert (done.returncode, out.exists()) == (3, False)
    assert [line for line in done.stderr.splitlines() if "isolated by" not in line] == [f"handgrad: {SENTENCE}"]
    assert done.stdout == ""


@pytest.mark.slow
def test_the_doctor_tries_a_graded_run() -> None:
    """The exit code says whether `grade` will work; the output gives the versions, or the reason and what does work."""
    import torch

    fine = handgrad("doctor")
    assert fine.returncode == 0
    assert re.search(rf"graded runs\s+isolated: {machine().strongest}", fine.stdout)
    assert re.search(rf"^torch +{re.escape(torch.__version__)}$", fine.stdout, re.MULTILINE)
    assert re.search(r"^python +3\.\d+\.\d+", fine.stdout, re.MULTILINE)
    assert fine.stdout.endswith("tried       a graded run gave the right answer\n")
    broken = handgrad("doctor", code=NOWHERE)
    assert broken.returncode == 3
    assert f"graded runs do not work in isolation {machine().strongest}\n" in broken.stdout
    assert "there is no such thing" in broken.stdout


@pytest.mark.slow
def test_a_session_of_nbgrader_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends before the first submission is opened."""
    from grader.course.course import load_course
    from grader.nbgrader.plugin import AutogradeSession

    monkeypatch.setattr(warm_process, "_command", lambda *_given: ["/bin/false"])
    with pytest.raises(InfrastructureError, match="A graded run does not work here"):
        AutogradeSession(load_course(ROOT), machine().strongest)
