"""Worker processes as the grader sees them: a job frame goes in; a reply frame comes out, or word of its end."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Protocol, Self

from .errors import InfrastructureError, ProtocolError

START_LIMIT = 120.0
GRACE = 0.6
LINGER = 0.25
MODE_VARIABLE = "HANDGRAD_WORKER"
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

    def __exit__(self, *_: object) -> None: ...


def start_worker(mode: str | None = None) -> Worker:
    """Start a worker, without waiting until it is warm.

    Args:
        mode: `fork` (the default on Linux) or `spawn`; the environment variable HANDGRAD_WORKER overrides it.

    Raises:
        InfrastructureError: the mode does not exist here.
    """
    chosen = os.environ.get(MODE_VARIABLE) or mode or ("fork" if sys.platform == "linux" else "spawn")
    if chosen == "fork" and sys.platform == "linux":
        return ForkingWorker()
    if chosen == "spawn":
        return SpawnedWorker()
    raise InfrastructureError(f"there is no worker mode {chosen!r} on this platform: set {MODE_VARIABLE}=spawn")


class _Process:
    """The warm process, and the words it says when it cannot start."""

    def __init__(self, arguments: Sequence[str], **streams: Any) -> None:
        self.words: IO[bytes] = tempfile.TemporaryFile()
        root = str(Path(__file__).resolve().parent.parent)
        code = f"import sys; sys.path.insert(0, {root!r}); from grader.zygote import main; main()"
        self.popen = subprocess.Popen(
            [sys.executable, "-I", "-c", code, *arguments],
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


def _environment() -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept: Mapping[str, str] = {
        name: os.environ[name]
        for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG")
        if name in os.environ
    }
    return {**kept, **threads, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}


class _Closing:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


class ForkingWorker(_Closing):
    """A warm process that forks a child for each job; the child is killed when its time is up."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()
        self.ready = False
        with theirs:
            theirs.set_inheritable(True)
            fd = theirs.fileno()
            self.process = _Process(["fork", str(fd)], stdin=subprocess.DEVNULL, pass_fds=[fd])

    def close(self) -> None:
        self.control.close()
        self.process.close()

    def run(self, job: bytes, time_limit: float) -> Reply:
        self._await_ready()
        child, result = self._send(job)
        started = time.monotonic()
        try:
            reply = self._outcome(child, result, started + time_limit + GRACE)
            late = reply.end == "crash" and time.monotonic() - started >= time_limit
            return Reply("timeout") if late else reply
        finally:
            os.close(child)
            os.close(result)

    def _await_ready(self) -> None:
        if self.ready:
            return
        self.control.settimeout(START_LIMIT)
        try:
            self.ready = self.control.recv(1) == b"R"
        except OSError:
            self.ready = False
        if not self.ready:
            self.process.popen.wait(LINGER) if self.process.popen.poll() is None else None
            raise self.process.failure()

    def _send(self, job: bytes) -> tuple[int, int]:
        """Hand over the job; the child's process handle and the readable end of its reply come back."""
        content = os.memfd_create("job")
        result, theirs = os.pipe()
        try:
            _write_all(content, job)
            os.lseek(content, 0, os.SEEK_SET)
            socket.send_fds(self.control, [b"J"], [content, theirs])
            message, fds, _, _ = socket.recv_fds(self.control, 1, 1)
        except OSError as error:
            os.close(result)
            raise self._lost() from error
        finally:
            os.close(content)
            os.close(theirs)
        if message != b"P":
            os.close(result)
            raise self._lost()
        return fds[0], result

    def _outcome(self, child: int, result: int, deadline: float) -> Reply:
        frame, why = _read_until(result, deadline)
        if why != "end" or not select.select([child], [], [], LINGER)[0]:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
        code, number = self._status()
        if why == "late" or number == signal.SIGXCPU:
            return Reply("timeout")
        if why == "much":
            return Reply("crash", detail="it sent more than a reply may hold")
        return _checked(frame, _how_it_ended(code, number))

    def _status(self) -> tuple[int, int]:
        self.control.settimeout(5 + GRACE)
        data = b""
        try:
            while len(data) < 8:
                part = self.control.recv(8 - len(data))
                if not part:
                    raise self._lost()
                data += part
        except OSError as error:
            raise self._lost() from error
        return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little")

    def _lost(self) -> InfrastructureError:
        self.close()
        self._start()
        return InfrastructureError("the warm process was lost and has been replaced: run the same command again.")


class SpawnedWorker(_Closing):
    """A process that answers jobs itself; it is kept while it behaves and replaced after a crash or a timeout."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.process = _Process(["pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.replies: queue.Queue[bytes | None] = queue.Queue()
        self.ready = False
        reader = threading.Thread(target=_pump, args=(self.process.popen.stdout, self.replies), daemon=True)
        reader.start()

    def close(self) -> None:
        self.process.close()
        for stream in (self.process.popen.stdin, self.process.popen.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def run(self, job: bytes, time_limit: float) -> Reply:
        self._await_ready()
        stdin = self.process.popen.stdin
        assert stdin is not None
        started = time.monotonic()
        try:
            stdin.write(job)
            stdin.flush()
            frame = self.replies.get(timeout=time_limit + GRACE)
        except queue.Empty:
            return self._replaced(Reply("timeout"))
        except OSError:
            frame = None
        if frame is None:
            code = self.process.popen.wait()
            return self._replaced(_checked(b"", _how_it_ended(max(code, 0), max(-code, 0))))
        reply = _checked(frame, "")
        in_time = time.monotonic() - started < time_limit
        return reply if in_time and reply.end == "answered" else self._replaced(reply)

    def _await_ready(self) -> None:
        if self.ready:
            return
        try:
            frame = self.replies.get(timeout=START_LIMIT)
        except queue.Empty:
            frame = None
        if frame is None:
            raise self.process.failure()
        self.ready = True

    def _replaced(self, reply: Reply) -> Reply:
        self.close()
        self._start()
        return reply


def _pump(stream: Any, replies: queue.Queue[bytes | None]) -> None:
    """Read frames until the stream ends, or says something that is no frame."""
    from . import protocol  # numpy: not needed before the worker process is on its way

    try:
        while (frame := protocol.read_frame(stream)) is not None:
            replies.put(frame)
    except (ProtocolError, OSError, ValueError):
        pass  # the end of this process's replies, like any other: the `None` below says so
    replies.put(None)


def _checked(frame: bytes, ended: str) -> Reply:
    from . import protocol

    if not frame:
        return Reply("crash", detail=ended)
    try:
        protocol.unpack(frame)
    except ProtocolError as error:
        return Reply("crash", detail=ended or str(error))
    return Reply("answered", frame)


def _how_it_ended(code: int, number: int) -> str:
    if number:
        return f"the process was ended by {_signal_name(number)}"
    return f"the process ended itself with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read_until(fd: int, deadline: float) -> tuple[bytes, Literal["end", "late", "much"]]:
    """Everything a descriptor gives until it is closed, its limit is passed, or the deadline comes."""
    from .protocol import MAX_FRAME

    parts, size = [], 0
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        part = os.read(fd, 1 << 20)
        if not part:
            return b"".join(parts), "end"
        parts.append(part)
        size += len(part)
        if size > MAX_FRAME:
            return b"", "much"
    return b"", "late"
