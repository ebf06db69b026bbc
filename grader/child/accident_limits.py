"""Limits against accidents: what learner code has no use for is refused, and nothing that was inherited is in its way.

These stop slips, not attacks: what a graded run is confined by is in `confinement`.
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
NO_THREAD = "can't start new thread"  # as Python says it where the system refuses
_learners = {"run": False}


class Memory(NamedTuple):
    """How many bytes a process uses, of addresses and of data."""

    addresses: int = 0
    data: int = 0

    @classmethod
    def in_use(cls) -> Memory:
        """By this process, now; nothing is known of it but on Linux."""
        if sys.platform != "linux":
            return cls()
        status = Path("/proc/self/status").read_text()
        return cls(*(1024 * int(size) for size in re.findall(r"^Vm(?:Size|Data):\s*(\d+) kB", status, re.MULTILINE)))


def forget_inherited_signals() -> None:
    """Unblock every signal, and let none be ignored that a child's end or its clock is heard by."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)


def limit(header: dict[str, Any], in_use: Memory) -> None:
    """Limit what this process can use by accident: processor time, memory beyond what is in use, files, processes."""
    if sys.platform != "win32":  # there the wall clock limit remains
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
    _learners["run"] = True


def _is_importing() -> bool:
    """A module is being imported, which may read files beside its own."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "run_statements":  # which runs learner code, imported or not
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def forbid_accidents() -> None:
    """Let no learner code start processes and threads, signal them, open files or connections: it needs none of it.

    Nor does a graded run let it. Only modules are read, by Python's own imports.
    """
    sys.dont_write_bytecode = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN and _learners["run"] and arguments[:1] != (os.devnull,) and not _is_importing():
            raise PermissionError(f"an exercise may not do this ({event})")

    def refuse_to_write(*_args: object, **_kwargs: object) -> NoReturn:
        raise PermissionError("an exercise may not write files")

    def refuse_thread(*_args: object, **_kwargs: object) -> NoReturn:
        raise RuntimeError(NO_THREAD)

    sys.addaudithook(watch)
    torch: Any = sys.modules["torch"]
    torch.save = refuse_to_write  # its C++ writer raises no audit event
    for name in {"_start_new_thread", "_start_joinable_thread"} & vars(threading).keys():
        setattr(threading, name, refuse_thread)  # nor does the start of a thread
