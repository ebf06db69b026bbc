"""Limits against accidents: what learner code has no use for is refused, and nothing that was inherited is in its way.

These stop slips, not attacks: what a graded run is confined by is in `confinement`.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

FORBIDDEN = frozenset(
    (
        "os.fork os.forkpty os.exec os.posix_spawn os.spawn os.system os.startfile subprocess.Popen os.kill os.killpg "
        "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime "
        "shutil.rmtree shutil.move shutil.copyfile socket.connect socket.bind sqlite3.connect"
    ).split()
)
STACK = 8 << 20  # bytes
_learners = {"run": False}


def forget_inherited_signals() -> None:
    """Unblock every signal, and let none be ignored that a child's end or its clock is heard by."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)


def limit(header: dict[str, Any]) -> None:
    """Limits against accidents: processor time, memory beyond what is in use now, files and processes."""
    _learners["run"] = True
    try:
        import resource
    except ImportError:  # Windows: the wall clock limit remains
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NPROC: 0, resource.RLIMIT_STACK: STACK}
    if header["time_limit"] is not None:
        limits[resource.RLIMIT_CPU] = int(header["time_limit"]) + 2
    if sys.platform == "linux":
        room = header["memory_limit"] << 20
        limits[resource.RLIMIT_AS] = _kibibytes("VmSize") * 1024 + room
        limits[resource.RLIMIT_DATA] = _kibibytes("VmData") * 1024 + room  # unmapping code makes no room for data
    for kind, value in limits.items():
        _, hard = resource.getrlimit(kind)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowered, lowered))


def _kibibytes(name: str) -> int:
    """What this process uses of something now, by its name in `/proc/self/status`."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:"))


def forbid_accidents() -> None:
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
