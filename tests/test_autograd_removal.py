"""After the removal no road through torch leads to a gradient, and honest work gives the same numbers, bit by bit."""
# ruff: noqa: E501

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from autograd_roads import ABSENT, ACCEPTED, PRELUDE, ROADS
from conftest import ROOT

HERE = Path(__file__).parent
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}


def source(body: str) -> str:
    """A learner's file with this as the body of its function."""
    return f"{PRELUDE}def answer(x):\n{textwrap.indent(body, '    ')}\n"


def outcomes(mode: str, bodies: dict[str, str]) -> dict[str, str]:
    """What each body comes to in a forked child of one process, with autograd removed or not."""
    run = subprocess.run(
        [sys.executable, str(HERE / "forked_sources.py"), mode],
        input=json.dumps({name: source(body) for name, body in bodies.items()}),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(run.stdout))


@pytest.fixture(scope="module")
def removed() -> dict[str, str]:
    """Every road's outcome in a process without autograd."""
    return outcomes("removed", {**ROADS, **ABSENT, **ACCEPTED})


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    """Every road's outcome in a process that can differentiate."""
    return outcomes("plain", ROADS)


@pytest.mark.parametrize("road", [*ROADS, *ABSENT])
def test_no_gradient_comes_by(road: str, removed: dict[str, str]) -> None:
    assert removed[road] != "right"


@pytest.mark.parametrize("road", ROADS)
def test_the_gradient_would_come_by(road: str, plain: dict[str, str]) -> None:
    """A road that leads nowhere even with autograd would test nothing."""
    assert plain[road] == "right"


@pytest.mark.parametrize("way", ACCEPTED)
def test_still_possible_is(way: str, removed: dict[str, str]) -> None:
    """What a learner writes alone is a gradient by hand, and what changes nothing does no harm."""
    assert removed[way] == "right"


def digests(mode: str) -> dict[str, str]:
    """What every honest operation gives, with autograd removed or not."""
    run = subprocess.run(
        [sys.executable, str(HERE / "honest_operations.py"), mode],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(run.stdout))


def test_honest_operations_give_the_same_bits_at_the_same_cost() -> None:
    plain, removed = digests("plain"), digests("removed")
    assert len(plain) > 180
    assert {name: (plain[name], removed[name]) for name in plain if plain[name] != removed[name]} == {}


def in_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )


@pytest.mark.parametrize("version", ["2.12.1+cpu", "2.13.1", "3.0.0", "2.13.0rc1", "2.14.0a0+git123"])
def test_an_untested_torch_is_refused(version: str) -> None:
    """It is named, and so are the versions that were tested; nothing has been removed by then."""
    ran = in_python(f"""
        import torch
        from grader.child.autograd_removal import TESTED, remove
        from grader.errors import InfrastructureError
        torch.__version__ = {version!r}
        try:
            remove()
        except InfrastructureError as error:
            assert all(tested in str(error) for tested in TESTED) and {version!r} in str(error)
            print("refused")
    """)
    assert ran.stdout == "refused\n", ran.stderr


@pytest.mark.parametrize(
    "sabotage",
    [
        "r._Registry.put = lambda *_: None",
        "put = r._Registry.put; r._Registry.put = lambda s, op, key, k: key == 'Autograd' or put(s, op, key, k)",
        "put = r._Registry.put; r._Registry.put = lambda s, op, key, k: op == 'aten::mul.Tensor' or put(s, op, key, k)",
        "put = r._Registry.put; r._Registry.put = lambda s, op, key, k: k is r.refuse or put(s, op, key, k)",
        "r.autograd_entrances.close_entrances = lambda: None",
        "r.import_ban.ban_imports = lambda: None",
        "r.autograd_entrances._close_script_classes = lambda: None",
    ],
)
def test_a_removal_that_removed_too_little_is_refused(sabotage: str) -> None:
    """The probe finds what still works, so that nothing is graded where something is left."""
    ran = in_python(f"""
        from grader.child import autograd_removal as r
        from grader.errors import InfrastructureError
        {sabotage}
        try:
            r.remove()
        except InfrastructureError as error:
            print(error)
    """)
    assert ran.stdout.startswith("torch can still differentiate here ("), ran.stdout + ran.stderr


def test_every_probe_finds_its_gradient_before_the_removal() -> None:
    """A probe that never succeeds would prove nothing."""
    ran = in_python(
        "from grader.child.autograd_probe import PROBES, working_probes; print(set(PROBES) - set(working_probes()))"
    )
    assert ran.stdout == "set()\n", ran.stderr


def test_the_removal_takes_less_than_importing_torch() -> None:
    ran = in_python("""
        import gc, time
        gc.disable()
        start = time.process_time()
        import torch, grader.child.job_answer
        from grader.child.autograd_removal import remove
        imported = time.process_time()
        remove()
        print(time.process_time() - imported < imported - start)
    """)
    assert ran.stdout == "True\n", ran.stderr


def answered(source: str) -> dict[str, Any]:
    """The facts that a worker without autograd reports of `answer(x)`."""
    ran = in_python(f"""
        import json
        import numpy as np
        from grader.child import protocol
        from grader.child.autograd_removal import remove
        from grader.child.job_answer import answer
        remove()
        header = {{"cells": [{source!r}], "cell_limit": None, "filename": "learner.py", "function": "answer", "time_limit": 20}}
        header["calls"] = [{{"arguments": [["x", {{"tensor": 0, "g": None}}]], "meter": False}}]
        facts, arrays = protocol.unpack(b"".join(answer(header, [np.ones(3, "float32")])))
        print(json.dumps(facts | {{"values": [array.tolist() for array in arrays]}}))
    """)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


CHECKS = {
    "below the function": "import torch\n{}y = torch.ones(3, requires_grad=True)\ny.sum().backward()\nassert answer(y)[0] == y.grad[0]\n",
    "above it": "import torch\ny = torch.ones(3, requires_grad=True)\ny.sum().backward()\nprint(y.grad[0])\n{}",
    "with torch.func": "import torch\n{}assert torch.func.grad(torch.sum)(torch.ones(3))[0] == 1\n",
    "in a loop": "import torch\n{}for _ in range(2):\n    assert torch.autograd.functional.jacobian(torch.sum, torch.ones(3))[0] == 1\n",
    "under a future": "from __future__ import annotations\nimport torch\ntorch.func.grad(1)\n{}def other(a: nonsense): ...\n",
}  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_at_top_level_is_passed_over(check: str) -> None:
    """A learner may check themselves outside the function: without autograd the check is skipped, not the file failed."""
    facts = answered(CHECKS[check].format("def answer(x):\n    return x * half(2)\ndef half(x):\n    return x / 2\n"))
    assert facts.get("error") is None
    assert facts["values"][facts["calls"][0]["returned"]["array"]] == [1, 1, 1]


def test_another_error_at_top_level_is_still_one() -> None:
    assert answered("def answer(x):\n    return x\nanswer(1)[0]\n")["error"]["type"] == "TypeError"


def test_autograd_in_the_function_is_named_with_its_line() -> None:
    facts = answered("def answer(x):\n    y = x.requires_grad_()\n    y.sum().backward()\n    return y.grad\n")
    error = facts["calls"][0]["error"]
    assert (error["kind"], error["lines"]) == ("autograd", [3])
