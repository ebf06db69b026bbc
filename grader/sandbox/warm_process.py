"""The process behind every worker: how it is started and ended, and what can come back from it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol, Self

from grader.errors import InfrastructureError, ProtocolError

from .bubblewrap import PACKAGE, PACKAGES, command
from .isolation import Isolation

if TYPE_CHECKING:
    from grader.child.protocol import Frame

START_LIMIT = 120.0
GRACE = 0.6
LINGER = 0.25
END_LIMIT = 5.0
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG")
KEPT_STRICTLY = ("LD_LIBRARY_PATH",)
End = Literal["answered", "timeout", "crash"]
STARTER = ThreadPoolExecutor(1)  # Linux ends a worker with the thread that started it: this one stays to the end


@dataclass(frozen=True)
class Reply:
    """How a job ended, and the frame if it was answered.

    Args:
        end: `answered`, `timeout`, or `crash` (the process died or sent something malformed).
        frame: what was answered, a well-formed frame and nothing more; `None` for every other end.
        detail: how it crashed, in a few words.
        killed: by a signal that neither the grader nor a limit sent.
        cpu: seconds of processor time that the child took, where the job had one of its own.
        seconds: wall time that this child took.
    """

    end: End
    frame: Frame | None = None
    detail: str = ""
    killed: bool = False
    cpu: float = 0.0
    seconds: float = 0.0


class Worker(Protocol):
    """A warm process that answers jobs, one at a time; `isolation` is what their code is kept in."""

    isolation: Isolation

    def run(self, job: bytes, time_limit: float) -> Reply:
        """Answer one job frame within `time_limit` seconds."""

    def close(self) -> None:
        """End the process."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None: ...


class WarmProcess:
    """The warm process, and the words it says when it cannot start."""

    def __init__(self, arguments: Sequence[str], isolation: Isolation, **streams: Any) -> None:
        self.words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`

        def start() -> subprocess.Popen[bytes]:
            words, environment = _command(arguments, isolation), _environment(isolation)
            return subprocess.Popen(words, stderr=self.words, env=environment, start_new_session=True, **streams)

        self.popen = STARTER.submit(start).result()

    def close(self) -> None:
        """Kill the process, its children and its session; wait until all of them have ended."""
        children = self._children()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()
        for child in children:  # the first process of a box takes everything in it along
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            select.select([child], [], [], END_LIMIT)
            os.close(child)
        self.words.close()

    def _children(self) -> list[int]:
        """Handles of its children, where the platform has such handles."""
        found: list[int] = []
        with contextlib.suppress(OSError, AttributeError):
            for pid in Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children").read_text().split():
                found.append(os.pidfd_open(int(pid)))
        return found

    def failure(self) -> InfrastructureError:
        """Why the process did not become ready."""
        self.words.seek(0)
        said = self.words.read().decode(errors="replace").strip().splitlines()
        last = said[-1] if said else "it said nothing"
        if "No module named 'torch'" in last:
            return InfrastructureError(f"torch is not installed for {sys.executable}: run `pip install torch`.")
        return InfrastructureError(f"the worker process could not start: {last}")


def _command(arguments: Sequence[str], isolation: Isolation) -> list[str]:
    """What starts the warm process: in a box, this package is elsewhere."""
    root = PACKAGES if isolation == "box" else str(PACKAGE.parent)
    run = "from grader.child.worker_process import main; main()"
    code = f"import gc, sys; gc.disable(); sys.path.insert(0, {root!r}); {run}"
    words = ["-c", code, *arguments]
    return command(words) if isolation == "box" else [sys.executable, "-I", *words]


def _environment(isolation: Isolation) -> dict[str, str]:
    """Nothing of the grader's own environment but what Python needs to start; learner code can read all of it."""
    useful = KEPT if isolation == "none" else () if isolation == "box" else KEPT_STRICTLY
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept: Mapping[str, str] = {name: os.environ[name] for name in useful if name in os.environ}
    huge_pages = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # fewer page tables to copy at each fork
    return {**kept, **threads, **huge_pages, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}


class Closing:
    """A context that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


def checked(frame: bytes, ended: str) -> Reply:
    """The reply a frame makes, or how the process ended where there is no well-formed one."""
    from grader.child import protocol

    if not frame:
        return Reply("crash", detail=ended)
    try:
        return Reply("answered", protocol.unpack(frame, protocol.MAX_REPLY_HEADER))
    except ProtocolError as error:
        return Reply("crash", detail=ended or str(error))


def how_it_ended(code: int, number: int) -> str:
    """An exit code or signal number in words."""
    if number:
        return f"the process was ended by {_signal_name(number)}"
    return f"the process ended itself with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
