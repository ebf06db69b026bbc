"""After the removal no road through torch gives a gradient; `thorough/test_every_road.py` shows that each did before."""
# ruff: noqa: E501

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from helpers.autograd_roads import ABSENT, ACCEPTED, BY_POINTER, PRELUDE, ROADS
from helpers.courses import ROOT
from helpers.probes import PATIENT, observed
from helpers.workers import make_job
from test_isolation import assert_harmless, make_precious

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.sandbox.checked_reply import Facts
from grader.sandbox.worker import Unanswered, Worker

pytestmark = pytest.mark.slow

HELPERS = ROOT / "tests/helpers"
X = np.array([1, 2, -0.5], "float32")  # as in `forked_sources`
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}


def source(body: str) -> str:
    """Return a learner's file whose function has this body."""
    return f"{PRELUDE}def answer(x):\n{textwrap.indent(body, '    ')}\n"


def forked(mode: str, sources: dict[str, str]) -> dict[str, str]:
    """Return the outcome of each source, by name, each in a forked child of one process; see `forked_sources`."""
    run = subprocess.run(
        [sys.executable, str(HELPERS / "forked_sources.py"), mode],
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
    """Return the names of the roads by which learner code finds the right gradient."""
    return {name for name, body in bodies.items() if finds_gradient(source(body), worker)}


def finds_gradient(source: str, worker: Worker) -> bool:
    """Return whether `answer(x)` of a learner's file returns the gradient of sum(x ** 3)."""
    reply = worker.run(make_job(source, {"x": X}, function="answer", time_limit=PATIENT), PATIENT)
    if isinstance(reply, Unanswered) or not (seen := observed(reply)).calls:
        return False
    returned = seen.calls[0].returned
    values = returned.items if returned.kind == "items" else [returned]
    arrays = [array.ravel() for value in values if (array := value.array) is not None]
    return bool(arrays) and np.allclose(np.concatenate(arrays), 3 * X**2, atol=1e-2)


def test_no_gradient_comes_by_a_few_roads(isolated: Worker) -> None:
    """Only the accepted roads give one: those that learners write themselves, by hand or with an engine of their own."""
    roads = {name: ROADS[name] for name in sorted(ROADS)[::20]}
    assert found_by({**roads, **ABSENT, **ACCEPTED}, isolated) == set(ACCEPTED)


HONEST = {
    "backward": "torch.Tensor.backward",
    "backward on torch.autograd": "torch.autograd.backward",
    "autograd.grad": "torch.autograd.grad",
    "a Parameter": "torch.Tensor.backward",
    "an LBFGS closure": "torch.Tensor.backward",
    "enable_grad": "torch.Tensor.backward",
    "inference_mode(False)": "torch.Tensor.backward",
    "a Function's backward": "torch.Tensor.backward",
    "checkpoint": "torch.Tensor.backward",
    "torch.compile": "torch.Tensor.backward",
    "torch.compile without autograd": "torch.func.grad",
    "torch.jit.script": "torch.Tensor.backward",
    "torch.jit.script with a gradient inside": "torch._C.CompilationUnit",
    "func.grad": "torch.func.grad",
    "func.vjp": "torch.func.vjp",
    "func.jvp": "torch.func.jvp",
    "func.jacrev": "torch.func.jacrev",
    "func.jacfwd": "torch.func.jacfwd",
    "func.hessian": "torch.func.hessian",
    "func.linearize": "torch.func.linearize",
    "vmap over grad": "torch.func.grad",
    "functional.jacobian": "torch.autograd.functional.jacobian",
    "functional.hvp": "torch.autograd.functional.hvp",
    "forward mode": "torch.autograd.forward_ad.dual_level",
    "functorch levels": "torch._C._functorch._grad_increment_nesting",
    "an engine of one's own": "torch._C._ImperativeEngine",
    "nn.grad.conv2d_weight": "torch.nn.grad.conv2d_weight",
    "tanh_backward": "torch.ops.aten.tanh_backward",
    "aten::_backward": "torch.ops.aten._backward",
    "a decomposition from the table": "torch._decomp.decompositions.tanh_backward",
}


@pytest.mark.parametrize("road", HONEST)
def test_an_honest_attempt_is_named(road: str, isolated: Worker) -> None:
    """In each version of torch the message names the function that the learner called, by its public name."""
    error = answered(source(ROADS[road]), isolated).calls[0].error
    assert error is not None
    assert (error.kind, error.type) == ("autograd", "AutogradUsed")
    assert error.message == f"{HONEST[road]} is switched off here: differentiate by hand"


IMPORTED = {
    "from torch.autograd import grad": ("y = leaf(x); return grad(f(y), y)[0]", "torch.autograd.grad"),
    "from torch.func import grad": ("return grad(f)(x)", "torch.func.grad"),
    "from torch.func import vjp": ("return vjp(f, x)[1](torch.ones(()))[0]", "torch.func.vjp"),
    "from torch.nn.grad import conv1d_input": (
        "return conv1d_input((1, 1, 3), torch.ones(1, 1, 1), (3 * x * x).view(1, 1, 3))", "torch.nn.grad.conv1d_input",
    ),
}  # fmt: skip


@pytest.mark.parametrize("statement", IMPORTED)
def test_a_check_names_the_same_road(statement: str, worker: Worker) -> None:
    """A function that was imported at the top of a file raises as well, in a check as in a graded run."""
    body, road = IMPORTED[statement]
    error = answered(f"{statement}\n{source(body)}", worker).calls[0].error
    assert error is not None
    assert (error.kind, error.message) == ("autograd", f"{road} is switched off here: differentiate by hand")


OPERATIONS = ("threshold_backward", "tanh_backward", "convolution_backward", "an operation redispatched")


@pytest.mark.parametrize("road", OPERATIONS)
def test_an_operation_that_is_a_derivative_is_refused_in_a_check_too(road: str, worker: Worker) -> None:
    """A check refuses what a graded run refuses, and gives torch its operations back for the next submission."""
    reply = answered(source(ROADS[road]), worker)
    assert reply.calls[0].error is not None
    assert "_backward" in reply.calls[0].error.message
    check = "import torch\ny = torch.ones(3, requires_grad=True)\ny.tanh().sum().backward()\nassert y.grad[0] > 0\n"
    assert answered(f"{check}def answer(x):\n    return x\n", worker).error is None


GOES_ON = """
import errno, os
libc = ctypes.CDLL(None, use_errno=True)
def probe(x):
    try: answer(torch.tensor([1.0, 2.0, -0.5]))
    except Exception: pass
    for call in (lambda: libc.open({path!r}.encode(), 2), lambda: libc.kill(os.getppid(), 9), lambda: libc.socket(2, 1, 0),
                 libc.fork, lambda: libc.ptrace(16, os.getppid(), None, None), lambda: libc.execv(b"/bin/true", None)):
        assert call() == -1 and ctypes.get_errno() == errno.EPERM
    return x * 2
"""


@pytest.mark.parametrize("road", BY_POINTER)
def test_who_goes_by_pointers_reaches_a_gradient_at_most(road: str, isolated: Worker, tmp_path: Path) -> None:
    """No file, no other process and no other student's answer: the child is confined whatever it calls in memory."""
    hostile = f"import ctypes\n{source(BY_POINTER[road])}{GOES_ON}"
    assert_harmless(hostile, "returned tensor|crash", isolated, make_precious(tmp_path))


@pytest.mark.parametrize("road", ["a kernel in C++", "a formula by its symbol"])
def test_who_goes_by_pointers_reaches_no_verdict(road: str, isolated: Worker, course: Course, grader: Grader) -> None:
    """A wrong answer stays wrong."""
    code = "import torch\ndef lin_grad(inp, out, w, b):\n    answer(torch.ones(3))\n    w.g = inp.g = b.g = torch.ones(2)\n"
    result = grader.grade(course.find("lin_grad"), f"{source(BY_POINTER[road])}{code}".encode(), isolated)
    assert result.score == 0
    assert result.status == "failed"


WITHOUT = {
    "the list of operations": "del torch._C._dispatch_get_all_op_names",
    "the list of kernels": "del torch._C._dispatch_get_registrations_for_dispatch_key",
    "the engine's entrances": "del torch.autograd._engine_run_backward, torch.autograd.graph._engine_run_backward",
    "the levels of functorch": (
        "import torch._functorch.eager_transforms as e; del e.grad_increment_nesting, e.jvp_increment_nesting"
    ),
    "the compiled part of functorch": "sys.modules.pop('torch._C._functorch')",
    "the table of decompositions": "del torch._decomp.global_decomposition_table",
    "scripts": "del torch._C.CompilationUnit, torch._C.ScriptModule",
    "the variable": "del torch.autograd.Variable",
    "linearize": "del torch.func.linearize",
}
CARRIED = """
import sys, torch
import grader.child.job_answer
{line}
from grader.child import no_autograd as r
r.ROADS.pop("an operation")  # which one list alone leads to
r.remove_autograd()
for road in (lambda: torch.Tensor.backward(torch.ones(2, requires_grad=True).sum()),
             lambda: torch.func.grad(torch.sum)(torch.ones(2)), lambda: torch.func.jvp(torch.sum, (), ())):
    try: road()
    except Exception as error: print(error)
"""
CLOSED = [f"{road} is switched off here: differentiate by hand" for road in HONEST.values()]


OPEN = """
import torch
import grader.child.job_answer
from grader.child import no_autograd as r
from grader.errors import InfrastructureError
r.FUNCTIONS.clear(); r.INNER.clear()
r._bypass_recording = lambda kernels: None
r._disable_compiled_entries = lambda: None
try: r.remove_autograd()
except InfrastructureError as error: print(error)
"""


def said_without(lacking: Iterable[str], **more: str) -> dict[str, str]:
    """Return the output by name: of a removal without each of these APIs of torch, and of other sources."""
    return forked("said", {**{what: CARRIED.format(line=WITHOUT[what]) for what in lacking}, **more})


def assert_closed(said: dict[str, str]) -> None:
    """Check that every road stays closed."""
    for what, printed in said.items():
        assert len(printed.splitlines()) == 3, (what, printed)
        assert set(printed.splitlines()) <= set(CLOSED), (what, printed)


def answered(source: str, worker: Worker) -> Facts:
    """Return the reply of a worker without autograd to a call of `answer(x)`."""
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
    """A learner may check the gradient outside the function: without autograd the check is skipped, and the file runs."""
    honest = "def answer(x):\n    return x * half(2)\ndef half(x):\n    return x / 2\n"
    reply = answered(CHECKS[check].format(honest), isolated)
    assert reply.error is None
    assert reply.calls[0].returned.array.tolist() == [1, 1, 1]


def test_another_error_at_top_level_is_still_one(isolated: Worker) -> None:
    error = answered("def answer(x):\n    return x\nanswer(1)[0]\n", isolated).error
    assert error is not None
    assert error.type == "TypeError"


def test_autograd_in_the_function_is_named_with_its_line(isolated: Worker) -> None:
    source = "def answer(x):\n    y = x.requires_grad_()\n    y.sum().backward()\n    return y.grad\n"
    error = answered(source, isolated).calls[0].error
    assert error is not None
    assert (error.kind, error.lines) == ("autograd", [3])
