"""A warm process that forks: it stays clean, and each job has a child of its own (Linux)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

from grader.child.control_channel import ERROR, JOB, READY, REFUSED, STARTED, STATUS
from grader.errors import InfrastructureError

from .isolation import Isolation
from .warm_process import (
    GRACE,
    LINGER,
    Reply,
    Running,
    WarmProcess,
    checked,
    could_not_start,
    how_it_ended,
    readable,
)

STATUS_LIMIT = 5.0
SLICE = 0.25  # seconds
PIPE = 1 << 20  # bytes: as much as anybody may ask for
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)  # no isolated child can send these, not even to itself


class ForkingProcess(WarmProcess):
    """A warm process that forks a child for each job; the child is killed when its time is up."""

    def __init__(self, isolation: Isolation) -> None:
        try:
            self.control, theirs = socket.socketpair()
        except OSError as error:
            raise could_not_start(f"the system refuses a channel to it ({error.strerror})") from error
        words = ["fork", str(theirs.fileno()), isolation]
        try:
            super().__init__(words, isolation, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        except InfrastructureError:
            self.control.close()
            raise
        finally:
            theirs.close()
        self.control.settimeout(STATUS_LIMIT)

    def close(self) -> None:
        super().close()
        self.control.close()

    def says_ready(self, seconds: float) -> bool | None:
        if not readable(self.control.fileno(), seconds):
            return None
        with contextlib.suppress(OSError):
            return self.control.recv(1) == READY
        return False

    def answer(self, job: bytes, time_limit: float, running: Running) -> Reply:
        child, result = self._send(job)
        try:
            with running(lambda: _kill(child)):
                return self._outcome(child, result, time_limit)
        finally:
            os.close(child)
            os.close(result)

    def _send(self, job: bytes) -> tuple[int, int]:
        """Hand over the job; the child's process handle and the readable end of its reply come back."""
        from grader.child import protocol

        content = os.memfd_create("job")
        result, theirs = _pipe()
        try:
            protocol.write(content, [job])
            os.lseek(content, 0, os.SEEK_SET)
            socket.send_fds(self.control, [JOB], [content, theirs])
            message, fds, _, _ = socket.recv_fds(self.control, 1, 1)
        except OSError as error:
            os.close(result)
            raise self._lost() from error
        finally:
            os.close(content)
            os.close(theirs)
        if message == STARTED:
            return fds[0], result
        os.close(result)
        if message != REFUSED:
            raise self._lost()
        why = os.strerror(*ERROR.unpack(self._receive(ERROR.size)))  # the warm process goes on
        raise InfrastructureError(f"the system refuses another process ({why}): run the same command again later.")

    def _outcome(self, child: int, result: int, time_limit: float) -> Reply:
        frame, why = _read_until(result, child, time_limit + GRACE)
        ours = why != "end" or not readable(child, LINGER)
        if ours:
            _kill(child)
        code, number, milliseconds = STATUS.unpack(self._receive(STATUS.size))
        cpu = milliseconds / 1000
        if why == "late" or number == signal.SIGXCPU or (number == signal.SIGKILL and not ours and cpu >= time_limit):
            return Reply("timeout", cpu=cpu)
        if why == "much":
            return Reply("crash", detail="it sent more than a reply may hold")
        reply = checked(frame, how_it_ended(code, number))
        killed = reply.end == "crash" and not ours and number in FROM_OUTSIDE
        return replace(reply, killed=killed, cpu=cpu)

    def _receive(self, size: int) -> bytes:
        """So many bytes from the warm process."""
        data = b""
        with contextlib.suppress(OSError):
            while len(data) < size and (part := self.control.recv(size - len(data))):
                data += part
        if len(data) < size:
            raise self._lost()
        return data

    def _lost(self) -> InfrastructureError:
        self.is_spent = True
        return InfrastructureError("the warm process was lost and has been replaced: run the same command again.")


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child, signal.SIGKILL)


def _pipe() -> tuple[int, int]:
    """A pipe that holds an honest reply in one piece, where the kernel gives that much: nobody is woken twice."""
    import fcntl  # not everywhere, as the rest of this module

    ends = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE)
    return ends


def _read_until(fd: int, child: int, seconds: float) -> tuple[bytes, Literal["end", "late", "much"]]:
    """Everything a descriptor gives until it is closed, its limit is passed, or the child's time is over.

    What that waits for a processor on a busy machine does not count, nor does it while this process stands still.
    """
    from grader.child.protocol import MAX_FRAME

    parts: list[bytes] = []
    size, left, waited = 0, seconds, 0.0
    while True:
        if left <= 0:
            before, waited = waited, _waited(child)
            left += waited - before
        if left <= 0:
            return b"", "late"
        slice_, began = min(left, SLICE), time.monotonic()
        there = readable(fd, slice_)
        left -= min(time.monotonic() - began, slice_)
        if not there:
            continue
        part = os.read(fd, 1 << 20)
        if not part:
            return b"".join(parts), "end"
        parts.append(part)
        size += len(part)
        if size > MAX_FRAME:
            return b"", "much"


def _waited(child: int) -> float:
    """Seconds for which a child has waited for a processor; 0 once it has ended, or where the kernel does not tell."""
    with contextlib.suppress(OSError, IndexError):
        handle = Path(f"/proc/self/fdinfo/{child}").read_text()
        number = next(line.split()[1] for line in handle.splitlines() if line.startswith("Pid:"))
        return int(Path(f"/proc/{number}/schedstat").read_text().split()[1]) / 1e9
    return 0.0
