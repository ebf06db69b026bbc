"""The worker process: torch imported once, then one job after another.

`fork`: each job runs in a forked child, and the warm process itself never reads a job (Linux). If it is also
`strict`, the child confines itself before its first learner byte.
`pipe`: each job runs in this process, which the grader replaces after a crash or a timeout (anywhere).
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import select
import signal
import socket
import struct
import sys
import tempfile
from os import _exit
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from . import protocol, warm_memory
from .job_answer import answer
from .linux_calls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, fork, prctl

if TYPE_CHECKING:
    from .confinement import Confinement

STATUS, ERROR = struct.Struct("<iii"), struct.Struct("<i")
SPECIALIZED = 24  # times that code runs before Python has specialized it
READY, JOB, STARTED, REFUSED = b"R", b"J", b"P", b"E"
FORBIDDEN = frozenset(
    (
        "os.fork os.forkpty os.exec os.posix_spawn os.spawn os.system os.startfile subprocess.Popen os.kill os.killpg "
        "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime "
        "shutil.rmtree shutil.move shutil.copyfile socket.connect socket.bind sqlite3.connect"
    ).split()
)


def main() -> None:
    """Entry: `fork FD [strict]` with a control socket, or `pipe` with frames on stdin and stdout."""
    strict = sys.argv[3:] == ["strict"]
    _forget_inherited_signals()
    null = os.open(os.devnull, os.O_RDWR)  # which the confined may not open
    _settle(strict)
    if sys.argv[1] == "fork":
        serve_fork(socket.socket(fileno=int(sys.argv[2])), _confinement() if strict else None, null)
    else:
        serve_pipe(null)


def serve_fork(control: socket.socket, confinement: Confinement | None, null: int) -> None:
    """Fork a child for each job: the job arrives as a file descriptor, the reply leaves on another.

    Args:
        null: the descriptor that its streams become, once it is ready.
    """
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _forbid_accidents()
    if confinement is None:
        gc.freeze()
    else:
        warm_memory.settle()
    warm, parent = _address_space(), os.getpid()
    _silence(null)  # until here, it has words for whatever keeps it from being ready
    control.sendall(READY)
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, 2)
        if message != JOB:  # nothing at all, once the grader has ended
            return
        job, result = fds
        try:
            pid = fork()
        except OSError as error:
            pid, refusal = -1, REFUSED + ERROR.pack(error.errno)
        if pid == 0:
            control.close()
            _child(parent, job, result, warm, confinement)
        os.close(job)
        os.close(result)
        if pid > 0:
            _oversee_child(control, pid)
        else:
            control.sendall(refusal)


def _oversee_child(control: socket.socket, pid: int) -> None:
    """Report how a child ends; it is killed if the grader ends before it."""
    handle = os.pidfd_open(pid)
    socket.send_fds(control, [STARTED], [handle])
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.register(control, select.POLLIN)
    if control.fileno() in dict(waiting.poll()):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)
    _, status, used = os.wait4(pid, 0)
    _kill_strays()
    code = os.waitstatus_to_exitcode(status)
    control.sendall(STATUS.pack(max(code, 0), max(-code, 0), round(1000 * (used.ru_utime + used.ru_stime))))


def _kill_strays() -> None:
    """End everything the child started: as subreaper, this process inherits what it left behind."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            with open(f"/proc/self/task/{os.getpid()}/children") as children:
                for child in children.read().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), signal.SIGKILL)


def _child(parent: int, job: int, result: int, warm: int, confinement: Confinement | None) -> NoReturn:
    code = 1
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            _exit(code)  # it died before its death could be heard of
        frame = mmap.mmap(job, 0, mmap.MAP_PRIVATE)  # arrays can be written to where they lie
        os.close(job)
        header, arrays = protocol.unpack(frame)
        _limit(header, warm + len(frame))
        if confinement is not None:
            result = confinement.enter(result)
        gc.enable()
        protocol.write(result, answer(header, arrays))
        code = 0
    finally:
        _exit(code)


def serve_pipe(null: int) -> None:
    """Answer jobs from stdin on what was stdout; what learner code prints cannot reach it.

    Args:
        null: the descriptor that its streams become, once it is ready.
    """
    replies = os.fdopen(os.dup(1), "wb")
    jobs = os.fdopen(os.dup(0), "rb")
    _forbid_accidents()
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    _silence(null)
    replies.write(protocol.pack({"ready": True}))
    replies.flush()
    gc.enable()
    originals: list[tuple[Any, dict[str, Any]]] = []
    modules: dict[str, Any] = {}
    while (frame := protocol.read_frame(jobs)) is not None:
        header, arrays = protocol.unpack(frame)
        if not originals:
            _limit({**header, "time_limit": None}, _address_space())
            originals = [(owner, dict(vars(owner))) for owner in _patchable()]
            modules = dict(sys.modules)
        replies.writelines(answer(header, arrays))
        replies.flush()
        sys.modules.update(modules)
        _undo_patches(originals)


def _patchable() -> list[Any]:
    """What learner code may patch by accident or habit, and the next job would trip over."""
    import builtins
    import math

    import numpy as np
    import torch

    return [builtins, math, np, torch, torch.Tensor, torch.nn.functional, torch.linalg]


def _undo_patches(originals: list[tuple[Any, dict[str, Any]]]) -> None:
    for owner, attributes in originals:
        now = vars(owner)
        for name in [name for name, value in attributes.items() if now.get(name) is not value]:
            setattr(owner, name, attributes[name])
        for name in [name for name in now if isinstance(owner, type) and name not in attributes]:
            delattr(owner, name)


def _confinement() -> Confinement:
    from .confinement import prepare

    return prepare()


def _settle(strict: bool) -> None:
    """Leave every folder, forget the terminal, and run torch on one thread."""
    import torch

    torch.set_num_threads(1)
    if strict:
        _settle_strictly()
        return
    _rehearse(1)
    nowhere = tempfile.mkdtemp(prefix="handgrad-")
    os.chdir(nowhere)
    with contextlib.suppress(OSError):  # a folder in use cannot be removed everywhere
        os.rmdir(nowhere)


def _settle_strictly() -> None:
    """Load what can never be loaded once no file can be opened, and switch off what writes machine code."""
    import torch

    from . import autograd_removal, preloaded_modules

    os.chdir("/")
    torch.backends.mkldnn.set_flags(False)  # type: ignore[no-untyped-call]
    preloaded_modules.load()
    autograd_removal.remove()
    _rehearse(1, meter=True)
    _rehearse(SPECIALIZED)


def _rehearse(times: int, *, meter: bool = False) -> None:
    """Answer a job as a child does: what it loads, caches and specializes on the way is here before the fork."""
    array = np.ones((2, 2), np.float32)
    call = {"arguments": [["x", {"tensor": 0, "g": 1}]], "meter": meter}
    for _ in range(times):
        answer(*protocol.unpack(protocol.pack({**_REHEARSAL, "calls": [call]}, [array, array])))


def _forget_inherited_signals() -> None:
    """Unblock every signal, and let none be ignored that a child's end or its clock is heard by."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)


def _silence(null: int) -> None:
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _limit(header: dict[str, Any], before: int) -> None:
    """Limits against accidents: processor time, memory, files and processes.

    Args:
        before: bytes of address space that are in use before learner code runs.
    """
    _learners["run"] = True
    try:
        import resource
    except ImportError:  # Windows: the wall clock limit remains
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NPROC: 0}
    if header["time_limit"] is not None:
        limits[resource.RLIMIT_CPU] = int(header["time_limit"]) + 2
    if sys.platform == "linux":
        limits[resource.RLIMIT_AS] = before + header["memory_limit"] * (1 << 20)
    for kind, value in limits.items():
        _, hard = resource.getrlimit(kind)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowered, lowered))


def _address_space() -> int:
    if sys.platform != "linux":
        return 0  # nor is it limited
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _forbid_accidents() -> None:
    """Let no learner code start processes, signal them, write files or open connections: it needs none of it."""
    sys.dont_write_bytecode = True
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        opens_to_write = event == "open" and arguments[2] & writing and arguments[0] != os.devnull
        if _learners["run"] and (opens_to_write or event in FORBIDDEN):
            raise PermissionError(f"an exercise may not do this ({event})")

    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise PermissionError("an exercise may not write files")

    sys.addaudithook(watch)
    torch: Any = sys.modules["torch"]
    torch.save = refuse  # its C++ writer raises no audit event


_learners = {"run": False}
_REHEARSAL: dict[str, Any] = {
    "cells": ["import torch\ndef warm(x):\n    x.g = (x.t() @ x.g).sum(0) + torch.ones(1)\n"],
    "cell_limit": None,
    "filename": "warm.py",
    "function": "warm",
    "time_limit": 60,
}
