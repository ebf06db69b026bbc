"""The worker process: torch imported once, then one job after another.

`fork`: each job runs in a forked child, and the warm process itself never reads a job (Linux). Unless its isolation is
`none`, the child confines itself before its first learner byte.
`pipe`: each job runs in this process, which the grader replaces after a crash or a timeout (anywhere).
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import math
import mmap
import os
import select
import signal
import socket
import sys
from functools import partial
from os import _exit
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from . import plain_torch, protocol, warm_memory
from .accident_limits import Memory, forbid_accidents, forget_inherited_signals, limit
from .job_answer import answer
from .linux_calls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, children_of, fork, prctl

if TYPE_CHECKING:
    from .confinement import Confinement

PATCHABLE = (builtins, math, np, torch, torch.Tensor, torch.nn.functional, torch.linalg)
"""What learner code may patch by accident or habit, and the next job would trip over."""
SPECIALIZED = 12  # times that code runs before Python has specialized it


def main() -> None:
    """Entry: `fork FD ISOLATION` with a control socket, or `pipe` with frames on stdin and stdout."""
    isolation = sys.argv[3] if sys.argv[1] == "fork" else "none"
    forget_inherited_signals()
    null = os.open(os.devnull, os.O_RDWR)  # which the confined may not open
    confinement = _settle(isolation)
    forbid_accidents()
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    if sys.argv[1] == "pipe":
        serve_pipe(null)
    else:
        gc.freeze()
        serve_fork(socket.socket(fileno=int(sys.argv[2])), null, confinement)


def serve_fork(control: socket.socket, null: int, confinement: Confinement | None) -> None:
    """Fork a child for each job: the job arrives as a file descriptor, the reply leaves on another.

    It says in packets: once that it is ready; for each job a handle of the child, and when that has ended, its exit
    code and its processor time in milliseconds. Where the system refuses a child: the number of the error.
    """
    parent, in_use = os.getpid(), Memory.in_use()
    _silence(null)  # until here, it has words for whatever keeps it from being ready
    control.send(b"ready")
    while fds := socket.recv_fds(control, 1, 2)[1]:  # nothing at all, once the grader has ended
        job, result = fds
        try:
            pid = fork()
        except OSError as error:
            pid = -1
            control.send(str(error.errno).encode())
        if pid == 0:
            control.close()
            _child(parent, job, result, confinement, in_use)
        os.close(job)
        os.close(result)
        if pid > 0:
            _oversee_child(control, pid)


def _oversee_child(control: socket.socket, pid: int) -> None:
    """Report how a child ends; it is killed if the grader ends before it."""
    handle = os.pidfd_open(pid)
    socket.send_fds(control, [b"started"], [handle])
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.register(control, select.POLLIN)
    if control.fileno() in dict(waiting.poll()):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)
    _, status, used = os.wait4(pid, 0)
    _kill_strays()
    code = os.waitstatus_to_exitcode(status)
    control.send(b"%d %d" % (code, round(1000 * (used.ru_utime + used.ru_stime))))


def _kill_strays() -> None:
    """End everything the child started: as subreaper, this process inherits what it left behind."""
    with contextlib.suppress(ChildProcessError):  # once there is none
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for child in children_of(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)


def _child(parent: int, job: int, result: int, confinement: Confinement | None, in_use: Memory) -> NoReturn:
    """Answer one job in a forked process, and end it.

    Args:
        parent: the process id of the warm process, with which this one dies.
        job: the descriptor of the file with the job's frame.
        result: the descriptor that the reply is written to.
        confinement: what the process may no longer do, if it is isolated.
        in_use: the memory that the warm process uses; the job's limit comes on top of it.
    """
    code = 1
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            _exit(code)  # it died before its death could be heard of
        frame = mmap.mmap(job, 0, mmap.MAP_PRIVATE)  # arrays can be written to where they lie
        os.close(job)
        header, arrays = protocol.unpack(frame)
        limit(header, Memory(*(size + len(frame) for size in in_use)))
        if confinement is not None:
            result = confinement.enter(result)
        gc.enable()
        protocol.write(result, answer(header, arrays, partial(protocol.write, result)))
        code = 0
    finally:
        _exit(code)


def serve_pipe(null: int) -> None:
    """Answer jobs from stdin on what was stdout, one after the other, until stdin is closed.

    Args:
        null: the descriptor of the null device, to which learner code prints.
    """
    replies = os.fdopen(os.dup(1), "wb")
    jobs = os.fdopen(os.dup(0), "rb")
    _silence(null)
    replies.write(protocol.pack({"ready": True}))
    replies.flush()
    gc.enable()
    originals = [(owner, dict(vars(owner))) for owner in PATCHABLE]

    def send(parts: list[bytes | memoryview]) -> None:
        """Write the parts of one reply to the pipe."""
        replies.writelines(parts)
        replies.flush()

    modules: dict[str, Any] = {}
    while (frame := protocol.read_frame(jobs)) is not None:
        header, arrays = protocol.unpack(frame)
        if not modules:
            limit({**header, "time_limit": None}, Memory.in_use())
            modules = dict(sys.modules)
        send(answer(header, arrays, send))
        sys.modules.update(modules)
        for owner, attributes in originals:
            _undo_patches(owner, attributes)
        plain_torch.reset()


def _undo_patches(owner: Any, attributes: dict[str, Any]) -> None:
    now = vars(owner)
    for name in [name for name, value in attributes.items() if now.get(name) is not value]:
        setattr(owner, name, attributes[name])
    for name in [name for name in now if isinstance(owner, type) and name not in attributes]:
        delattr(owner, name)


def _settle(isolation: str) -> Confinement | None:
    """Leave every folder, and make torch plain; load what can never be loaded once no file can be opened.

    What confines a child comes back, unless nothing does.
    """
    plain_torch.settle()
    os.chdir(os.sep)
    os.environ["LOGNAME"] = "learner"
    if isolation == "none":
        _rehearse(1)
        return None
    from . import autograd_removal, preloaded_modules
    from .confinement import prepare

    torch.backends.mkldnn.set_flags(False)  # type: ignore[no-untyped-call]  # which writes machine code
    preloaded_modules.load()
    autograd_removal.remove()
    _rehearse(SPECIALIZED)
    warm_memory.settle()
    return prepare(with_landlock=isolation != "seccomp")


def _rehearse(times: int) -> None:
    """Answer a job as a child does: what it loads, caches and specializes on the way is here before the fork."""
    array = np.ones((2, 2), np.float32)
    code = "import torch\ndef warm(x):\n    x.g = (x.t() @ x.g).sum(0) + torch.ones(1)\n"
    job: dict[str, Any] = {"cells": [code], "cell_limit": None, "filename": "warm.py", "function": "warm"}
    plain = {"arguments": [["x", {"tensor": 0, "g": 1}]], "meter": False}
    job |= {"time_limit": 60, "calls": [plain, {**plain, "meter": True}], "watched": {**plain, "nudges": True}}
    for _ in range(times):
        answer(*protocol.unpack(bytearray(protocol.pack(job, [array, array]))))


def _silence(null: int) -> None:
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
