"""The tests of `check` and `score` again, in a real Jupyter kernel, and what only one has: interrupts and restarts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from test_notebook_kernel import *  # noqa: F403
from test_notebook_kernel import CLEAR, MEAN, RIGHT, Output, Run, ok

from grader.course.course import COURSE_VARIABLE
from grader.nbgrader.source_notebook import SETUP

WORKER = "import grader.nbgrader.cells as cells; print(cells.kernel_session().session.warm_up().pid)"
TIMEOUT = 600


class Kernel:
    """A running kernel and its client."""

    def __init__(self, folder: Path) -> None:
        self.manager, self.client = start_new_kernel(
            cwd=str(folder), extra_arguments=["--HistoryManager.hist_file=:memory:"]
        )

    def run(self, code: str) -> Output:
        output = Output()

        def keep(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] in ("display_data", "execute_result"):
                output.plain += content["data"]["text/plain"]
                output.html += content["data"].get("text/html", "")
            elif message["msg_type"] == "stream":
                setattr(output, content["name"], getattr(output, content["name"]) + content["text"])
            elif message["msg_type"] == "error":
                output.error = content["traceback"]

        reply = self.client.execute_interactive(code, timeout=TIMEOUT, output_hook=keep)
        assert reply["content"]["status"] != "aborted"
        return output

    def interrupted(self, code: str, worker: int) -> str:
        """The name of the exception that an interrupt ends the cell with, once the worker is busy with it."""
        started = self.client.execute(code, stop_on_error=False)  # or what the kernel is sent next may be dropped
        while not children(worker):
            time.sleep(0.1)
        self.manager.interrupt_kernel()
        while True:
            reply = self.client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"]["msg_id"] == started:
                return str(reply["content"].get("ename"))

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


@pytest.fixture(scope="module")
def kernel(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in a learner's notebook folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(COURSE_VARIABLE, str(folder))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        started = Kernel(tmp_path_factory.mktemp("notebooks"))
    assert started.run(SETUP) == Output()
    yield started
    started.close()


@pytest.fixture
def run(kernel: Kernel) -> Run:
    """Run a cell in the kernel, in which nothing was run yet."""
    kernel.run(CLEAR)
    return kernel.run


def children(pid: int) -> list[str]:
    """The processes that a process has started, for each job one."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_check_can_be_interrupted_and_the_next_one_works(kernel: Kernel, run: Run):
    run("def relu_grad(inp, out):\n    while True: pass")
    run('check("lin_grad")')
    before = int(run(WORKER).stdout)
    assert kernel.interrupted('check("relu_grad")', before) == "KeyboardInterrupt"
    run(RIGHT)
    assert ok(run('check("lin_grad")'))
    assert int(run(WORKER).stdout) != before


def test_the_worker_is_kept_between_checks_and_ends_with_the_kernel(kernel: Kernel, run: Run):
    run(RIGHT)
    run('check("lin_grad")')
    pid = int(run(WORKER).stdout)
    run(MEAN)
    run('check("lin_grad")')
    assert int(run(WORKER).stdout) == pid
    assert is_alive(pid)
    kernel.manager.restart_kernel()
    kernel.client.wait_for_ready(timeout=TIMEOUT)
    deadline = time.monotonic() + 300
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_alive(pid)
    kernel.run(SETUP)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return not Path("/proc/self").exists()
