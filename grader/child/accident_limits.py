"""Limits against accidents: processor time, memory, and calls that no exercise needs, such as those that open files.

They stop slips, not attacks; `confinement` holds what a graded run relies on.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import types
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .clock import time_of_job

FORBIDDEN = frozenset(
    (
        "os.fork os.forkpty os.exec os.posix_spawn os.spawn os.system os.startfile subprocess.Popen os.kill os.killpg "
        "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime "
        "shutil.rmtree shutil.move shutil.copyfile socket.__new__ socket.connect socket.bind sqlite3.connect "
        "os.chdir os.listdir os.scandir open"
    ).split()
)
STACK = 8 << 20  # bytes
NO_THREAD = "can't start new thread"  # Python's own message where the system refuses one
_is_limited = {"now": False}


class Memory(NamedTuple):
    """The bytes of address space and of data that a process uses."""

    addresses: int = 0
    data: int = 0

    @classmethod
    def in_use(cls) -> Memory:
        """Return the bytes of address space and of data that this process uses now.

        Zeros on other systems than Linux.
        """
        if sys.platform != "linux":
            return cls()
        status = Path("/proc/self/status").read_text()
        return cls(*(1024 * int(size) for size in re.findall(r"^Vm(?:Size|Data):\s*(\d+) kB", status, re.MULTILINE)))


def forget_inherited_signals() -> None:
    """Unblock every signal, and stop ignoring the signals for a child's end and for the end of this process's time.

    A process inherits both settings from the one that started it.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)


def limit(header: dict[str, Any], in_use: Memory) -> None:
    """Limit, from now on, what this process can use by accident: processor time, memory, files, processes.

    Also from now on, what `forbid_accidents` forbids is refused. On Windows that is all, and only the grader's own
    limit of time remains.

    Args:
        header: the header of the job, with `time_limit` in seconds (`None` for no limit) and `memory_limit` in MiB.
        in_use: the memory that the process used before the job; the job's limit is added to it.
    """
    if sys.platform != "win32":
        import resource

        limits = dict.fromkeys((resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC), 0)
        limits[resource.RLIMIT_STACK] = STACK
        if header["time_limit"] is not None:
            limits[resource.RLIMIT_CPU] = int(time_of_job(header["time_limit"])) + 2
        if sys.platform == "linux":
            room = header["memory_limit"] << 20
            limits[resource.RLIMIT_AS] = in_use.addresses + room
            limits[resource.RLIMIT_DATA] = in_use.data + room  # unmapping code makes no room for data
        for kind, value in limits.items():
            _, hard = resource.getrlimit(kind)
            lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (lowered, lowered))
    _is_limited["now"] = True


def _is_importing(runner: types.CodeType) -> bool:
    """Return whether the call that the audit hook is handling comes from an import, which may read further files.

    Args:
        runner: the code of the function that runs all learner code, also that of an imported file.
    """
    frame: types.FrameType | None = sys._getframe(2)  # the caller of the audit hook
    while frame is not None and frame.f_code is not runner:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def forbid_accidents(runner: types.CodeType) -> None:
    """Make learner code fail if it starts processes or threads, sends signals, or opens files or connections.

    Python's own imports can still read modules. Threads and `torch.save` are refused at once, to any code; all else
    only after `limit` is called.

    Args:
        runner: the code of the function that runs all learner code, also that of an imported file.
    """
    sys.dont_write_bytecode = True

    def refuse_event(event: str, arguments: tuple[Any, ...]) -> None:
        """Raise `PermissionError` for a forbidden audit event of learner code; the null device may be opened."""
        if event in FORBIDDEN and _is_limited["now"] and arguments[:1] != (os.devnull,) and not _is_importing(runner):
            raise PermissionError(f"an exercise may not do this ({event})")

    def refuse_to_write(*_args: object, **_kwargs: object) -> NoReturn:
        raise PermissionError("an exercise may not write files")

    def refuse_thread(*_args: object, **_kwargs: object) -> NoReturn:
        raise RuntimeError(NO_THREAD)

    sys.addaudithook(refuse_event)
    torch: Any = sys.modules["torch"]
    torch.save = refuse_to_write  # its C++ writer raises no audit event
    for name in {"_start_new_thread", "_start_joinable_thread"} & vars(threading).keys():
        setattr(threading, name, refuse_thread)  # the start of a thread raises no audit event either
