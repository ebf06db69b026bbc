"""A worker that cannot start says why as soon as that is known, and the next job finds one that can."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import MODES, ROOT, make_job, mode_worker
from test_killed import Family
from test_sandbox import HONEST, X, assert_still_honest, outcome

from grader.errors import InfrastructureError
from grader.sandbox import warm_process
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Worker, start_worker

SOON = warm_process.START_LIMIT / 4  # seconds: a busy machine is slow, but nothing waits until a limit has passed
KINDS: dict[str, tuple[str, Isolation]] = {
    **{mode: (mode, "none") for mode in MODES},
    **({"kernel": ("fork", "kernel"), "box": ("fork", "box")} if sys.platform == "linux" else {}),
}


@pytest.fixture(params=KINDS)
def starting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """A worker of each kind whose process has been started, and is importing torch."""
    mode, isolation = KINDS[request.param]
    with start_worker(isolation, mode) as worker:
        yield worker


def refusal(worker: Worker) -> str:
    """What a job is told by a worker that cannot start, without waiting for a limit."""
    job, started = make_job(HONEST, {"x": X}), time.monotonic()
    with pytest.raises(InfrastructureError) as error:
        worker.run(job, 5)
    assert time.monotonic() - started < SOON
    return str(error.value)


def family(worker: Any) -> list[int]:
    """The processes that belong to a worker which is starting: in a box there are several."""
    pid = worker.process.popen.pid
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.process.popen.wait(0.3)
    return [pid, *Family.of(pid).warm]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_ended_by_a_signal(starting: Worker, number: signal.Signals) -> None:
    os.kill(starting.process.popen.pid, number)
    assert f"the process was ended by {number.name}" in refusal(starting)
    assert_still_honest(starting)


@pytest.mark.parametrize("which", [0, -1], ids=["the first process", "the last process"])
def test_stopped(starting: Worker, which: int) -> None:
    """A box holds processes below the one that was started: one of them may be the one that stands still."""
    pid = family(starting)[which]
    os.kill(pid, signal.SIGSTOP)
    assert f"process {pid} was stopped by a signal or a debugger" in refusal(starting)
    assert_still_honest(starting)


def test_killed_inside_its_box() -> None:
    with start_worker("box") as worker:
        os.kill(family(worker)[-1], signal.SIGKILL)
        assert "the process was ended by SIGKILL" in refusal(worker)
        assert_still_honest(worker)


@pytest.mark.parametrize("mode", MODES)
def test_killed_again_and_again_it_says_so_each_time(mode: str) -> None:
    """What was once lost is not asked for again: not at once and wrong, nor after two minutes."""
    with mode_worker(mode) as worker:
        for _ in range(3):
            if worker.process is not None:
                worker.process.popen.kill()
                refusal(worker)
        assert_still_honest(worker)


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """This process with as many open files as it may have."""
    before, opened = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, before[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.dup(1))
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("mode", MODES)
def test_refused_for_want_of_descriptors(mode: str) -> None:
    """It comes to nothing while too many files are open, and goes on as soon as there are fewer."""
    with mode_worker(mode) as worker:
        worker.close()
        with no_descriptor_left():
            assert "Too many open files" in refusal(worker)
        assert_still_honest(worker)


@pytest.mark.parametrize("mode", MODES)
def test_refused_for_want_of_memory(mode: str) -> None:
    """Python starts in so little memory, torch does not."""
    with mode_worker(mode) as worker:
        worker.close()
        start_after(worker, "resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))")
        assert "could not start: the process" in refusal(worker)
        assert_still_honest(worker)


def start_after(worker: Any, statement: str) -> None:
    """Have the worker's next process, and only that one, begin with a statement of Python."""
    plain = warm_process._command
    code = f"import os, resource, sys; {statement}; os.execv(sys.argv[1], sys.argv[1:])"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_process, "_command", lambda *given: [sys.executable, "-c", code, *plain(*given)])
        worker._start()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("ends", "why"),
    [("sys.exit('of no use')", "ended itself with exit code 1: of no use"), ("sys.exit(7)", "with exit code 7.")],
    ids=["with last words", "without a word"],
)
def test_an_interpreter_that_ends_says_how(mode: str, ends: str, why: str) -> None:
    with mode_worker(mode) as worker:
        worker.close()
        start_after(worker, ends)
        assert why in refusal(worker)
        assert_still_honest(worker)


@pytest.mark.parametrize("mode", MODES)
def test_no_interpreter(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with mode_worker(mode) as worker:
        worker.close()
        with monkeypatch.context() as patch:
            patch.setattr(warm_process.sys, "executable", "/nowhere/python")
            assert "refuses a new process (No such file or directory)" in refusal(worker)
        assert_still_honest(worker)


@pytest.mark.parametrize("mode", MODES)
def test_last_words_are_no_condition(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no temporary file can be made, a worker starts, and its end is told without its words."""
    monkeypatch.setattr(tempfile, "TemporaryFile", _disk_is_full)
    with mode_worker(mode) as worker:
        worker.process.popen.kill()
        assert "ended by SIGKILL" in refusal(worker)
        assert_still_honest(worker)


def _disk_is_full() -> None:
    raise OSError(28, "No space left on device")


def test_a_fork_that_is_refused_is_said() -> None:
    """The warm process may make no child: it says why, and lives on to try again for the next job."""
    with start_worker("kernel") as worker:
        worker.close()
        start_after(worker, "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))")
        for _ in range(2):
            assert "the system refuses another process (Resource temporarily unavailable)" in refusal(worker)
        worker.close()
        assert_still_honest(worker)


PARENTS: dict[str, Callable[[], object]] = {
    "ignores the end of its children": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "blocks every signal": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
    "ignores Ctrl-C": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "has a thousand files open": lambda: [os.dup(0) for _ in range(1100)],
    "was forked itself": lambda: os.fork() and os._exit(os.waitstatus_to_exitcode(os.wait()[1])),
}
HANG = "def probe(x):\n    while True: pass\n"


def in_a_process(parent: Callable[[], object], mode: str) -> str:
    """The outcomes of an honest job and of one that hangs, in a process that was prepared so."""
    name = next(name for name, function in PARENTS.items() if function is parent)
    code = f"from test_worker_start import main; main({name!r}, {mode!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main(name: str, mode: str) -> None:
    """In a process of its own: prepare it, then ask a worker."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with mode_worker(mode) as before:  # a thread that belongs to this process is of no use to a fork of it
        before.close()
        PARENTS[name]()
        jobs = [(make_job(source, {"x": X}, time_limit=limit), limit) for source, limit in ((HONEST, 10), (HANG, 1))]
        print(*(outcome(before.run(*job)) for job in jobs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parent", PARENTS)
def test_it_works_for_a_grader_that(parent: str, mode: str) -> None:
    """Nothing that a long-lived process leaves to what it starts keeps a worker from working."""
    assert in_a_process(PARENTS[parent], mode) == "returned tensor timeout\n"
