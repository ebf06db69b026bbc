"""Any learner code ends its job with a stated outcome, and the next honest job is answered right.

A worker that forks meets nearly all of it here; what costs a worker that answers jobs itself its process, and the
rest, is in `thorough/test_every_misdeed.py`.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.probes import (
    HONEST,
    PATIENT,
    SHORT,
    X,
    assert_still_honest,
    body,
    limit_for,
    observed,
    outcome,
    run,
)
from helpers.processes import PATIENCE, alive, children_of, ended, wait_until
from helpers.workers import MODES, make_job, mode_worker

from grader.errors import InfrastructureError
from grader.sandbox import worker as sandbox
from grader.sandbox.worker import ForkingProcess, SpawnedProcess, Unanswered, Worker, start_worker

HOSTILE = {
    "hangs": (body("while True: pass"), "timeout"),
    "hangs while it is imported": ("while True: pass\n", "timeout"),
    "sleeps": (body("time.sleep(1e6)"), "timeout"),
    "swallows every exception": (
        body("while True:\n    try:\n        time.sleep(1e6)\n    except BaseException:\n        pass"),
        "timeout",
    ),
    "holds the interpreter lock": (body("import re\nre.match('(a+)+$', 'a' * 40 + 'b')"), "timeout"),
    "leaves by os._exit": (body("os._exit(0)"), "crash"),
    "leaves by os._exit when imported": ("import os\nos._exit(0)\n", "crash"),
    "reads address zero": (body("ctypes.string_at(0)"), "crash"),
    "aborts": (body("os.abort()"), "crash"),
    "kills itself": (body("ctypes.CDLL(None).kill(os.getpid(), 9)"), "crash"),
    "leaves by sys.exit": (body("sys.exit(0)"), "exit"),
    "leaves by sys.exit when imported": ("import sys\nsys.exit(0)\n", "exit"),
    "forks without end": (body("while True: os.fork()"), "PermissionError"),
    "takes memory without end": (body("kept = []\nwhile True: kept.append(x.new_empty(1 << 24))"), "memory"),
    "takes a huge tensor": (body("torch.ones(1 << 40)"), "memory"),
    "prints a gigabyte": (body("for _ in range(1000): print('x' * 1_000_000)"), "returned tensor"),
    "prints a gigabyte past Python": (body("for _ in range(1000): os.write(1, b'x' * 1_000_000)"), "returned tensor"),
    "recurses without end": (body("probe(x)"), "RecursionError"),
    "starts a program": (body("import subprocess\nsubprocess.run(['true'])"), "PermissionError"),
    "starts a shell": (body("os.system('true')"), "PermissionError"),
    "spawns a program": (body("os.posix_spawn('/bin/true', ['true'], {})"), "PermissionError"),
    "replaces itself": (body("os.execv('/bin/true', ['true'])"), "PermissionError"),
    "signals its parent": (body("os.kill(os.getppid(), 9)"), "PermissionError"),
    "opens a connection": (
        body("import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)"),
        "PermissionError",
    ),
    "writes garbage on stdout": (
        body("os.write(1, b'HGF1 garbage')\nprint('x', file=sys.__stdout__)"),
        "returned tensor",
    ),
    "reads from the keyboard": (body("input()"), "absent"),
    "raises KeyboardInterrupt": (body("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "raises GeneratorExit": (body("raise GeneratorExit"), "GeneratorExit"),
    "raises what cannot be shown": (
        body("class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Mute"),
        "Mute",
    ),
    "raises a lone surrogate": (body(r"raise ValueError('\ud800')"), "ValueError"),
    "raises a class with a lying name": (body("raise type('x' * 10**6, (Exception,), {})('y' * 10**7)"), "x" * 100),
    "expands to a million million": (body("return torch.zeros(1).expand(10**12)"), "returned tensor"),
    "returns a sparse tensor": (body("return torch.eye(3).to_sparse()"), "returned other"),
    "returns a tensor without contents": (body("return torch.ones(3, device='meta')"), "returned other"),
    "returns itself inside a list": (body("loop = []\nloop.append(loop)\nreturn loop"), "returned items"),
    "leaves a thread running": (
        body("import threading\nthreading.Thread(target=lambda: time.sleep(1e6), daemon=True).start()"),
        "returned tensor|RuntimeError",  # only root may have as many as it likes
    ),
}


ONE_OF_A_KIND = (  # of those that cost no worker, which takes seconds to start, its process
    "leaves by sys.exit", "recurses without end",
    "starts a program", "opens a connection", "raises KeyboardInterrupt", "raises what cannot be shown",
    "writes garbage on stdout", "returns itself inside a list", "prints a gigabyte", "raises a class with a lying name",
    "expands to a million million",
)  # fmt: skip
LONG = (
    "swallows every exception",
    "hangs while it is imported",
    "kills itself",
    "sleeps",
    "holds the interpreter lock",
    "prints a gigabyte past Python",
)
BRIEF = [
    (mode, what)
    for mode in MODES
    for what in (ONE_OF_A_KIND if mode == "spawn" else [name for name in HOSTILE if name not in LONG])
]


@pytest.mark.parametrize(("mode", "what"), BRIEF)
def test_learner_code_that(mode: str, what: str, warm: Callable[[str], Worker]) -> None:
    assert_stated(what, warm(mode))


def assert_stated(what: str, worker: Worker) -> None:
    """Check that a misdeed has its stated outcome, and that the next honest job is answered right."""
    source, expected = HOSTILE[what]
    assert re.fullmatch(expected, outcome(run(worker, source, limit_for(expected))))
    assert_still_honest(worker)


LIMITED = """
    import resource
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)
    assert [resource.getrlimit(kind) for kind in kinds] == [(n, n) for n in (77, 0, 0, 0)]
    assert resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY
"""

if sys.platform == "linux":

    def test_every_limit_is_set(warm: Callable[[str], Worker]) -> None:
        """Limits on processor time, processes, files and memory end a job that its clock cannot end."""
        assert PATIENT == 60
        assert outcome(run(warm("fork"), body(textwrap.dedent(LIMITED)))) == "returned tensor"


@pytest.fixture
def each_worker(worker: Worker) -> Worker:
    """Return the worker of the default mode; `thorough/test_every_misdeed.py` has one of each."""
    return worker


SEVERED = {
    "returning": "",
    "sleeping": "time.sleep(1e6)",
    "sleeping through every exception": (
        "while True:\n    try:\n        time.sleep(1e6)\n    except BaseException:\n        pass"
    ),
}


def assert_severed(then: str, worker: Worker) -> None:
    """Check that a job whose descriptors are closed ends as a crash or a timeout, and that the grader goes on."""
    reply = run(worker, body(f"os.closerange(0, 256)\n{SEVERED[then]}"), SHORT)
    assert isinstance(reply, Unanswered)
    assert_still_honest(worker)


@pytest.mark.parametrize("then", SEVERED)
def test_closing_every_descriptor_and(then: str, worker: Worker) -> None:
    assert_severed(then, worker)


GARBAGE = "for fd in range(3, 64):\n    try:\n        os.write(fd, {!r})\n    except OSError:\n        pass"


NO_ANSWER = {
    "no frame": b"garbage, longer than a prefix",
    "an empty frame": b"HGF1" + bytes(12),
    "a giant frame": b"HGF1" + b"\xff" * 12,
}


def assert_no_answer(garbage: str, worker: Worker) -> None:
    """Check that garbage on every descriptor ends as a crash or a timeout, and that the grader goes on."""
    reply = run(worker, body(GARBAGE.format(NO_ANSWER[garbage])), SHORT)
    assert isinstance(reply, Unanswered)
    assert_still_honest(worker)


@pytest.mark.parametrize("garbage", NO_ANSWER)
def test_garbage_on_every_descriptor_is_no_answer(garbage: str, worker: Worker) -> None:
    assert_no_answer(garbage, worker)


def test_a_gigabyte_of_print_is_cut_short(each_worker: Worker) -> None:
    source, _ = HOSTILE["prints a gigabyte"]
    printed = observed(run(each_worker, source)).printed
    assert len(printed) < 20_000
    assert printed.endswith("(the rest was not kept)")


def test_an_expanded_giant_is_described_without_its_contents(each_worker: Worker) -> None:
    source, _ = HOSTILE["expands to a million million"]
    returned = observed(run(each_worker, source)).calls[0].returned
    assert (returned.shape, returned.array) == ([10**12], None)


def test_the_text_of_an_exception_is_kept_short(each_worker: Worker) -> None:
    source, _ = HOSTILE["raises a class with a lying name"]
    error = observed(run(each_worker, source)).calls[0].error
    assert error is not None
    assert len(error.type) <= 100
    assert len(error.message) <= 2000


LIES = """
    import torch
    class Liar(torch.Tensor):
        @property
        def shape(self): return torch.Size([99])
        @property
        def dtype(self): return torch.float64
        def __eq__(self, other): return True
        def numpy(self, *a, **k): raise AssertionError
        def detach(self): return torch.zeros(99)
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None): return torch.zeros(99)
    def probe(x):
        return (x * 2).as_subclass(Liar)
"""


def test_a_tensor_subclass_cannot_lie_about_itself(each_worker: Worker) -> None:
    """Shape, dtype and contents are those of the storage, whatever the subclass says."""
    reply = observed(run(each_worker, LIES))
    returned = reply.calls[0].returned
    assert (returned.dtype, returned.shape) == ("float32", [2, 3])
    np.testing.assert_array_equal(returned.array, X * 2)
    assert_still_honest(each_worker)


WRITES = {
    "open": "open({path!r}, 'w').write('x')",
    "append": "open({path!r}, 'a').write('x')",
    "os.open": "os.open({path!r}, os.O_WRONLY | os.O_TRUNC)",
    "pathlib": "import pathlib; pathlib.Path({path!r}).write_text('x')",
    "remove": "os.remove({path!r})",
    "rename": "os.rename({path!r}, {path!r} + '2')",
    "truncate": "os.truncate({path!r}, 0)",
    "chmod": "os.chmod({path!r}, 0)",
    "mkdir": "os.mkdir({path!r} + '.d')",
    "symlink": "os.symlink({path!r}, {path!r} + '2')",
    "rmtree": "import shutil; shutil.rmtree(os.path.dirname({path!r}))",
    "numpy.save": "import numpy; numpy.save(open({path!r}, 'wb'), numpy.ones(3))",
    "tensor.tofile": "x.numpy().tofile({path!r})",
    "torch.save": "torch.save(x, {path!r})",
    "torch.save to a new file": "torch.save(x, {path!r} + '2')",
    "sqlite3": "import sqlite3; sqlite3.connect({path!r} + '2').execute('create table t (x)')",
}


@pytest.mark.parametrize("way", WRITES)
def test_no_file_is_changed_by(way: str, each_worker: Worker, tmp_path: Path) -> None:
    """The learner reads an error, and the folder is unchanged."""
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    reply = run(each_worker, body(WRITES[way].format(path=str(precious))))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"precious.txt": "precious"}
    assert re.search("Error|crash", outcome(reply))


def test_no_connection_reaches_a_listener(each_worker: Worker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        reply = run(each_worker, body(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=1)"))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert outcome(reply) == "PermissionError"


STATE = {
    "a patched method": "import torch\ntorch.Tensor.__mul__ = lambda self, other: self",
    "a patched module": "import builtins\nbuiltins.len = None",
    "a default dtype": "import torch\ntorch.set_default_dtype(torch.float64)",
    "a recursion limit": "import sys\nsys.setrecursionlimit(60)",
    "a module": "import sys\nsys.modules['numpy'] = None",
    "an ignored alarm": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)",
    "closed streams": "import sys\nsys.__stdout__ and sys.__stdout__.close()\nsys.stdout = None",
    "silenced gradients": "import torch\ntorch.set_grad_enabled(False)",
}


@pytest.mark.parametrize("left", STATE)
def test_the_next_job_does_not_meet(left: str, each_worker: Worker) -> None:
    """A change that one submission makes to Python, torch or its own limits does not affect the next."""
    run(each_worker, f"{STATE[left]}\n{HONEST}")
    reply = run(
        each_worker,
        "import torch\nimport numpy\nONE = torch.ones(1)\n"
        "def probe(x):\n    return x * 2 * ONE if len([1]) else None\n",
    )
    assert outcome(reply) == "returned tensor"
    returned = observed(reply).calls[0].returned
    assert returned.dtype == "float32"
    np.testing.assert_array_equal(returned.array, X * 2)


ORPHAN = """
    import ctypes, os, time
    def probe(x):
        pid = ctypes.CDLL(None).fork()
        if pid == 0:
            {session}
            while True: time.sleep(1)
        return pid
"""


SESSIONS = {"child": "pass", "daemon": "os.setsid()"}


def assert_gone_with_its_job(session: str, worker: Worker) -> None:
    """Check that a forked grandchild has ended when the reply is read, in the child's session or its own."""
    reply = run(worker, ORPHAN.format(session=SESSIONS[session]))
    assert children_of(worker.process.popen.pid) == []
    if not isinstance(reply, Unanswered):
        pid = int(observed(reply).calls[0].returned.array)
        with ended(pid):
            assert not alive(pid)
    assert_still_honest(worker)


def assert_gone_with_its_worker(session: str) -> None:
    """Check that closing the worker also ends the processes that a job left behind, without waiting for them."""
    with mode_worker("spawn") as worker:
        pid = int(observed(run(worker, ORPHAN.format(session=SESSIONS[session]))).calls[0].returned.array)
        closing = threading.Thread(target=worker.close)
        with ended(pid):
            closing.start()
            closing.join(PATIENCE)
            assert not closing.is_alive(), "closing the worker waits for the process left behind"
            assert not alive(pid)


if sys.platform == "linux":

    def test_a_process_left_behind_does_not_survive_its_job(warm: Callable[[str], Worker]) -> None:
        assert_gone_with_its_job("daemon", warm("fork"))

    def test_a_killed_warm_process_is_the_graders_error_and_is_replaced(warm: Callable[[str], Worker]) -> None:
        """The job ends in an infrastructure error and not in a verdict, and the next one is answered."""
        with pytest.raises(InfrastructureError, match="replaced"):
            run(warm("fork"), body("ctypes.CDLL(None).kill(os.getppid(), 9)\ntime.sleep(1e6)"))
        assert_still_honest(warm("fork"))

    def test_a_forked_job_cannot_see_the_one_before(warm: Callable[[str], Worker]) -> None:
        run(warm("fork"), f"import builtins\nbuiltins.left_behind = 1\n{HONEST}")
        assert outcome(run(warm("fork"), "def probe(x):\n    return left_behind\n")) == "NameError"


def test_many_jobs_leave_no_descriptor_open(each_worker: Worker) -> None:
    assert_still_honest(each_worker)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        assert_still_honest(each_worker)
    assert len(os.listdir("/dev/fd")) <= before


def test_the_environment_chooses_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sandbox.MODE_VARIABLE, "spawn")
    with start_worker("none") as worker:
        assert isinstance(worker.process, SpawnedProcess)


def test_linux_forks_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sandbox.MODE_VARIABLE, raising=False)
    monkeypatch.setattr(sandbox.sys, "platform", "linux")
    monkeypatch.setattr(sandbox.ForkingProcess, "__init__", lambda self, isolation: None)
    assert isinstance(start_worker("none").process, ForkingProcess)


def test_an_unknown_mode_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sandbox.MODE_VARIABLE, "telepathy")
    with pytest.raises(InfrastructureError, match=r"'telepathy'.*HANDGRAD_WORKER=spawn"):
        start_worker("none")


@pytest.mark.parametrize("mode", MODES)
def test_a_worker_that_cannot_start_says_why(mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message shows the last line that it wrote to stderr, and no traceback."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sandbox.sys, "executable", str(fake))
    with mode_worker(mode) as worker, pytest.raises(InfrastructureError, match="torch is not installed"):
        worker.run(make_job(HONEST, {"x": X}), PATIENT)


def run_beside(worker: Worker, source: str) -> tuple[threading.Thread, list[str]]:
    """Run a job in a thread, and return the thread and a list that receives how the job ended."""
    ends: list[str] = []
    thread = threading.Thread(target=lambda: ends.append(outcome(run(worker, source))))
    thread.start()
    return thread, ends


def test_a_job_that_runs_is_ended_from_another_thread(each_worker: Worker) -> None:
    """Such a job is not run again, and the next job is answered as usual."""
    assert_still_honest(each_worker)
    process = each_worker.process
    thread, ends = run_beside(each_worker, body("while True: pass"))
    wait_until(lambda: each_worker._end_job is not None, "the job never began")
    each_worker.stop()
    thread.join()
    assert ends == ["crash"]
    assert each_worker.process is process or isinstance(each_worker.process, SpawnedProcess), (
        "it stays warm where it forks"
    )
    each_worker.resume()
    assert_still_honest(each_worker)


def test_a_job_that_comes_after_the_stop_is_ended_as_well(each_worker: Worker) -> None:
    """The thread that stops a check does not know whether its job has begun."""
    each_worker.stop()
    assert outcome(run(each_worker, body("while True: pass"))) == "crash"
    each_worker.resume()
    assert_still_honest(each_worker)


def test_a_stop_when_nothing_runs_costs_nothing(each_worker: Worker) -> None:
    assert_still_honest(each_worker)
    process = each_worker.process
    each_worker.stop()
    each_worker.resume()
    assert_still_honest(each_worker)
    assert each_worker.process is process
