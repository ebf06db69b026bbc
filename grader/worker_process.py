"""The process behind every worker: how it is started and ended, and what can come back from it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Protocol, Self

from .box import PACKAGES, command
from .errors import InfrastructureError, ProtocolError
from .isolation import Isolation

START_LIMIT = 120.0
GRACE = 0.6
LINGER = 0.25
End = Literal["answered", "timeout", "crash"]


@dataclass(frozen=True)
class Reply:
    """How a job ended, and the frame if it was answered.

    Args:
        end: `answered`, `timeout`, or `crash` (the process died or sent something malformed).
        frame: the reply frame, already well-formed; empty unless answered.
        detail: how it crashed, in a few words.
    """

    end: End
    frame: bytes = b""
    detail: str = ""


class Worker(Protocol):
    """A warm process that answers jobs, one at a time."""

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

    def __init__(self, arguments: Sequence[str], isolation: Isolation = "none", **streams: Any) -> None:
        self.words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self.popen = subprocess.Popen(
            _command(arguments, isolation),
            stderr=self.words,
            env=_environment(),
            start_new_session=True,
            **streams,
        )

    def close(self) -> None:
        """Kill the process and everything in its session that is still there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()
        self.words.close()

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
    root = PACKAGES if isolation == "box" else str(Path(__file__).resolve().parent.parent)
    code = f"import gc, sys; gc.disable(); sys.path.insert(0, {root!r}); from grader.zygote import main; main()"
    words = ["-c", code, *arguments]
    return command(words) if isolation == "box" else [sys.executable, "-I", *words]


def _environment() -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept: Mapping[str, str] = {
        name: os.environ[name]
        for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG")
        if name in os.environ
    }
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
    from . import protocol

    if not frame:
        return Reply("crash", detail=ended)
    try:
        protocol.unpack(frame)
    except ProtocolError as error:
        return Reply("crash", detail=ended or str(error))
    return Reply("answered", frame)


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
