"""After the removal no road through torch leads to a gradient; `thorough/test_every_road.py` shows that each would."""
# ruff: noqa: E501

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from autograd_roads import ABSENT, ACCEPTED, PRELUDE, ROADS
from conftest import ROOT, make_job
from probes import PATIENT, observed

from grader.sandbox.checked_reply import Observation
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
X = np.array([1, 2, -0.5], "float32")  # as in `forked_sources`
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}


def source(body: str) -> str:
    """A learner's file with this as the body of its function."""
    return f"{PRELUDE}def answer(x):\n{textwrap.indent(body, '    ')}\n"


def forked(mode: str, sources: dict[str, str]) -> dict[str, str]:
    """What each source comes to in a forked child of one process; see `forked_sources`."""
    run = subprocess.run(
        [sys.executable, str(HERE / "forked_sources.py"), mode],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(run.stdout))


def found_by(bodies: dict[str, str], worker: Worker) -> set[str]:
    """The roads by which learner code finds the right gradient."""
    return {name for name, body in bodies.items() if finds_gradient(source(body), worker)}


def finds_gradient(source: str, worker: Worker) -> bool:
    """Whether `answer(x)` of a learner's file returns the gradient of sum(x ** 3)."""
    reply = worker.run(make_job(source, {"x": X}, function="answer", time_limit=PATIENT), PATIENT)
    if reply.end != "answered" or not (seen := observed(reply)).facts.calls:
        return False
    returned = seen.facts.calls[0].returned
    values = returned.items if returned.kind == "items" else [returned]
    arrays = [array.ravel() for value in values if (array := seen.array(value)) is not None]
    return bool(arrays) and np.allclose(np.concatenate(arrays), 3 * X**2, atol=1e-2)


def test_no_gradient_comes_by_a_few_roads(isolated: Worker) -> None:
    """What a learner writes alone is a gradient by hand, and what changes nothing does no harm: that is still right."""
    roads = {name: ROADS[name] for name in sorted(ROADS)[::20]}
    assert found_by({**roads, **ABSENT, **ACCEPTED}, isolated) == set(ACCEPTED)


HONEST = (
    "backward", "autograd.grad", "a Parameter", "optimiser step", "func.grad", "func.vjp", "func.jacrev", "func.jacfwd",
    "func.linearize", "functional.jacobian", "functional.vjp", "forward mode", "a Function's backward", "checkpoint",
    "torch.compile", "torch.jit.script", "nn.grad.conv2d_weight", "an LBFGS closure", "vmap over grad",
)  # fmt: skip


@pytest.mark.parametrize("road", HONEST)
def test_an_honest_attempt_is_named(road: str, isolated: Worker) -> None:
    error = answered(source(ROADS[road]), isolated).facts.calls[0].error
    assert error is not None
    assert (error.kind, error.type) == ("autograd", "AutogradUsed")


def test_who_calls_what_is_not_there_is_told(isolated: Worker) -> None:
    frame = make_job(source(ROADS["tanh_backward"]), {"x": X}, function="answer", time_limit=PATIENT)
    reply = isolated.run(frame, PATIENT)
    assert (reply.end, reply.killed) == ("crash", False)
    assert reply.detail == "the process was ended by SIGILL: what differentiates in torch is not there in graded runs"


UNTESTED = ("2.12.1+cpu", "2.13.1", "3.0.0", "2.13.0rc1", "2.14.0a0+git123")
REFUSED = """
import torch
from grader.child import autograd_removal as r, machine_code as m
from grader.errors import InfrastructureError
{line}
try:
    r.remove()
except InfrastructureError as error:
    print(error)
"""
SABOTAGED = {
    "m.overwrite = lambda functions: None": "torch can still differentiate here",
    "r.COMPILED[b'ackward'] = r.re.compile(b'nothing of this name')": "torch can still differentiate here (ackward)",
    "r.LIBRARY = 'libtorch_other.so'": "libtorch_other.so is not loaded in one piece",
    "r.LIBRARY = 'libc.so.6'": "libc.so.6 was stripped of its symbols",
    "m.map_code = lambda *_: m.os.open('/nowhere', 0)": "torch's differentiation cannot be removed here",
}


def answered(source: str, worker: Worker) -> Observation:
    """What a worker without autograd reports of `answer(x)`."""
    frame = make_job(source, {"x": np.ones(3, "float32")}, function="answer", time_limit=PATIENT)
    return observed(worker.run(frame, PATIENT))


CHECKS = {
    "below the function": "import torch\n{}y = torch.ones(3, requires_grad=True)\ny.sum().backward()\nassert answer(y)[0] == y.grad[0]\n",
    "above it": "import torch\ny = torch.ones(3, requires_grad=True)\ny.sum().backward()\nprint(y.grad[0])\n{}",
    "with torch.func": "import torch\n{}assert torch.func.grad(torch.sum)(torch.ones(3))[0] == 1\n",
    "in a loop": "import torch\n{}for _ in range(2):\n    assert torch.autograd.functional.jacobian(torch.sum, torch.ones(3))[0] == 1\n",
    "under a future": "from __future__ import annotations\nimport torch\ntorch.func.grad(1)\n{}def other(a: nonsense): ...\n",
}  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_at_top_level_is_passed_over(check: str, isolated: Worker) -> None:
    """A learner may check themselves outside the function: without autograd the check is skipped, not the file failed."""
    honest = "def answer(x):\n    return x * half(2)\ndef half(x):\n    return x / 2\n"
    reply = answered(CHECKS[check].format(honest), isolated)
    assert reply.facts.error is None
    assert reply.array(reply.facts.calls[0].returned).tolist() == [1, 1, 1]


def test_another_error_at_top_level_is_still_one(isolated: Worker) -> None:
    error = answered("def answer(x):\n    return x\nanswer(1)[0]\n", isolated).facts.error
    assert error is not None
    assert error.type == "TypeError"


def test_autograd_in_the_function_is_named_with_its_line(isolated: Worker) -> None:
    source = "def answer(x):\n    y = x.requires_grad_()\n    y.sum().backward()\n    return y.grad\n"
    error = answered(source, isolated).facts.calls[0].error
    assert error is not None
    assert (error.kind, error.lines) == ("autograd", [3])
