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
from collections.abc import Callable
from os import _exit
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
import torch.jit

from . import preloaded_modules, protocol
from .accident_limits import Memory, forbid_accidents, forget_inherited_signals, limit
from .job_answer import answer, run_statements
from .linux_calls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, children_of, fork, gather_huge_pages, malloc, prctl
from .no_autograd import raising_function, remove_autograd

if TYPE_CHECKING:
    from .confinement import Confinement

PATCHABLE = (builtins, math, np, torch, torch.Tensor, torch.nn.functional, torch.linalg)
"""Modules and classes that learner code may patch by accident or habit; in `pipe` the next job would meet the patch."""
SPECIALIZED = 12  # times that code runs before Python has specialized it

# Most of what a short-lived child costs is page faults: each page that it writes to is copied for it, 4 KiB at a time.
# Small objects go where there is room, and after an import there is room on thousands of half-empty pages, so that a
# child which fills these copies them all. C's allocator fills holes in the same way, with what torch asks of it. And
# memory that is not copied has to be mapped at the fork and unmapped at the child's end, page by page, or 2 MiB at a
# time. With all of this arranged beforehand a child has half the page faults, and takes half the processor time.
LARGEST, STEP = 512, 16  # bytes: the sizes that Python's allocator serves from pages of their own
HOLES = 1 << 19  # bytes of each size: more than there is room for on half-empty pages after the imports
C_SIZES = (*range(69_000, 4_200, -1024), *range(4_200, 1_040, -64), *range(1_040, 24, -16))  # bytes, the largest first
HEAP_END_BLOCKS, ENOUGH = 40, 8  # blocks that use up the heap's end; blocks in a row that find no hole any more
YOUNG = 10_000  # objects that wait for a garbage collection, which writes to each of them: few children have as many
_fillers: list[object] = []


def main() -> None:
    """Run the worker process as the command line says.

    The arguments are `fork FD ISOLATION`, with the descriptor of a control socket, or `pipe`, with frames on stdin and
    stdout.
    """
    isolation = sys.argv[3] if sys.argv[1] == "fork" else "none"
    forget_inherited_signals()
    null = os.open(os.devnull, os.O_RDWR)  # which the confined may not open
    confinement = _prepare(isolation)
    forbid_accidents(run_statements.__code__)
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    if sys.argv[1] == "pipe":
        serve_pipe(null)
    else:
        gc.freeze()
        serve_fork(socket.socket(fileno=int(sys.argv[2])), null, confinement)


def serve_fork(control: socket.socket, null: int, confinement: Confinement | None) -> None:
    """Fork a child for each job, until the grader closes its end of the control socket.

    Args:
        control: brings two file descriptors for each job: the file with the job's frame, and the pipe for the reply.
            The packets sent on it are `ready`, once; for each job a pidfd of the child, and after its end its exit code
            and its processor time in milliseconds; where the system refuses a child, the number of the error.
        null: the descriptor of the null device, which becomes stdin, stdout and stderr.
        confinement: the layers that confine each child; `None` without isolation.
    """
    parent, in_use = os.getpid(), Memory.in_use()
    _silence(null)  # not before: an error until here is printed, and the grader reads it
    control.send(b"ready")
    while fds := socket.recv_fds(control, 1, 2)[1]:  # empty once the grader has ended
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
    """Report how a child ends, and kill it if the grader ends before it.

    Args:
        control: the socket on which a pidfd of the child is sent, then its exit code and processor time.
        pid: the process id of the child.
    """
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
    """Kill every process that a child started and left behind: as their subreaper, this process inherits them."""
    with contextlib.suppress(ChildProcessError):  # raised when none is left
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
        confinement: the layers that confine the process; `None` without isolation.
        in_use: the memory that the warm process uses; the job's limit is added to it.
    """
    code = 1
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            _exit(code)  # the parent died before PDEATHSIG was set
        content = mmap.mmap(job, 0, mmap.MAP_PRIVATE)  # arrays can be written to where they lie
        os.close(job)
        frame = protocol.unpack(content)
        limit(frame.header, Memory(*(size + len(content) for size in in_use)))
        if confinement is not None:
            result = confinement.enter(result)
        gc.enable()
        answer(frame, lambda reply: reply.write(result)).write(result)
        code = 0
    finally:
        _exit(code)


def serve_pipe(null: int) -> None:
    """Answer jobs from stdin on what was stdout, one after the other, until stdin is closed.

    After each job, the modules of the warm process, what was patched in `PATCHABLE`, and the settings of torch and
    numpy are restored.

    Args:
        null: the descriptor of the null device, which becomes stdin, stdout and stderr of learner code.
    """
    replies = os.fdopen(os.dup(1), "wb")
    jobs = os.fdopen(os.dup(0), "rb")
    _silence(null)
    gc.enable()
    originals = [(owner, dict(vars(owner))) for owner in PATCHABLE]

    def send(reply: protocol.Frame) -> None:
        """Write one reply to the pipe."""
        replies.writelines(reply.parts())
        replies.flush()

    send(protocol.Frame({"ready": True}))
    modules: dict[str, Any] = {}
    while (content := protocol.read_frame(jobs)) is not None:
        frame = protocol.unpack(content)
        if not modules:
            limit({**frame.header, "time_limit": None}, Memory.in_use())
            modules = dict(sys.modules)
        send(answer(frame, send))
        sys.modules.update(modules)
        for owner, attributes in originals:
            _undo_patches(owner, attributes)
        _reset_settings()


def _undo_patches(owner: Any, attributes: dict[str, Any]) -> None:
    """Give a module or class its former attributes again, and delete those that a class did not have.

    Args:
        owner: one of `PATCHABLE`.
        attributes: the attributes of `owner` by name, as they were before the first job.
    """
    now = vars(owner)
    for name in [name for name, value in attributes.items() if now.get(name) is not value]:
        setattr(owner, name, attributes[name])
    for name in [name for name in now if isinstance(owner, type) and name not in attributes]:
        delattr(owner, name)


def _reset_settings() -> None:
    """Restore the settings of torch and numpy that learner code may have changed for the whole process."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    np.seterr(all="warn")


def _prepare(isolation: str) -> Confinement | None:
    """Prepare this process for jobs: make torch plain, load all that learner code may import, and answer a small job.

    Args:
        isolation: the isolation of the jobs, such as `box`.

    Returns:
        The layers that confine a child; `None` for the isolation `none`.
    """
    make_torch_plain()
    os.chdir(os.sep)
    os.environ["LOGNAME"] = "learner"
    if isolation == "none":
        _rehearse(1)
        return None
    from .confinement import prepare

    torch.backends.mkldnn.set_flags(False)  # type: ignore[no-untyped-call]  # which writes machine code
    preloaded_modules.load()
    remove_autograd()
    _rehearse(SPECIALIZED)
    _arrange_memory()
    return prepare(with_landlock=isolation != "seccomp")


def make_torch_plain() -> None:
    """Replace the functions of torch that a graded run cannot have: threads, compilers, devices, measured gradients.

    Those for threads, compilers and devices do nothing from then on; `gradcheck` raises `AutogradUsed`.
    """
    torch.set_num_threads(1)
    for name in ("set_num_threads", "set_num_interop_threads", "use_deterministic_algorithms"):
        setattr(torch, name, _function_without_effect())
    for device in (torch.cuda, torch.xpu, torch.mtia):  # there is none, and each would note down who asked for it
        vars(device).update(manual_seed=_function_without_effect(), manual_seed_all=_function_without_effect())
    vars(torch).update(compile=_identity_decorator())
    vars(torch.jit).update(script=_identity_decorator(), trace=_identity_decorator())
    for name in ("gradcheck", "gradgradcheck"):
        setattr(torch.autograd, name, raising_function(f"torch.autograd.{name}"))


def _function_without_effect() -> Callable[..., None]:
    """Return a function that does nothing: a new one for each call, as torch's compiler wants one name for each."""
    return lambda *_args, **_options: None


def _identity_decorator() -> Callable[..., Any]:
    """Return a decorator, usable with options too, that returns a function unchanged."""

    def leave(function: Any = None, *_args: object, **_options: object) -> Any:
        """Return `function`, or, called with options alone, a decorator that returns its function."""
        return (lambda later: later) if function is None else function

    return leave


def _arrange_memory() -> None:
    """Make forks cheap: fill the holes in this process's memory for good, and gather it into huge pages."""
    gc.collect()
    for size in range(STEP, LARGEST + 1, STEP):
        make = _object_maker(size)
        _fillers.extend(make() for _ in range(HOLES // size))
    _fill_heap()
    gc.set_threshold(YOUNG)
    gather_huge_pages()


def _fill_heap() -> None:
    """Take memory from C's allocator, for good, until blocks of every size come from the end of the heap alone."""
    end = max(malloc(C_SIZES[0]) for _ in range(HEAP_END_BLOCKS))
    for size in C_SIZES:
        beyond = 0
        while beyond < ENOUGH:
            beyond += malloc(size) > end


def _object_maker(size: int) -> Callable[[], object]:
    """Return a function that makes one Python object of `size` bytes, a multiple of 16, and no other object."""
    if size == 16:
        return object
    if size == 32:
        return lambda: complex(0.0, 1.0)
    content = bytearray(size - b"".__sizeof__())
    return lambda: bytes(content)


def _rehearse(times: int) -> None:
    """Answer a small job as a child does, so that all that it loads, caches and specializes is there before a fork.

    Args:
        times: how often the job is answered.
    """
    array = np.ones((2, 2), np.float32)
    code = "import torch\ndef warm(x):\n    x.g = (x.t() @ x.g).sum(0) + torch.ones(1)\n"
    job: dict[str, Any] = {"cells": [code], "cell_limit": None, "filename": "warm.py", "function": "warm"}
    plain = {"arguments": [["x", {"tensor": 0, "g": 1}]], "meter": False}
    job |= {"time_limit": 60, "calls": [plain, {**plain, "meter": True}], "watched": {**plain, "nudges": True}}
    for _ in range(times):
        answer(protocol.unpack(bytearray(protocol.Frame(job, [array, array]).pack()))).pack()


def _silence(null: int) -> None:
    """Replace stdin, stdout and stderr of this process by the null device, whose descriptor `null` is closed."""
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
