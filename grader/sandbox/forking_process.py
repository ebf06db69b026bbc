"""A warm process that forks: it stays clean, and each job has a child of its own (Linux)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import replace
from io import FileIO
from pathlib import Path

from grader.errors import InfrastructureError

from .isolation import Isolation
from .warm_process import GRACE, LINGER, Reply, Running, WarmProcess, checked, could_not_start, kill, readable

STATUS_LIMIT = 5.0
SLICE = 0.25  # seconds
MESSAGE = 64  # bytes: more than the warm process ever says at once
PIPE = 1 << 20  # bytes: as much as anybody may ask for
FROM_OUTSIDE = -9, -15  # SIGKILL (Windows has none) and SIGTERM: no isolated child can send these, not even to itself


class ForkingProcess(WarmProcess):
    """A warm process that forks a child for each job; the child is killed when its time is up."""

    def __init__(self, isolation: Isolation) -> None:
        try:
            self.control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        except OSError as error:
            raise could_not_start(f"the system refuses a channel to it ({error.strerror})") from error
        words = ["fork", str(theirs.fileno()), isolation]
        with theirs:
            try:
                super().__init__(words, isolation, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
            except InfrastructureError:
                self.control.close()
                raise
        self.control.settimeout(STATUS_LIMIT)

    def close(self) -> None:
        super().close()
        self.control.close()

    def says_ready(self, seconds: float) -> bool | None:
        if not readable(self.control.fileno(), seconds):
            return None
        with contextlib.suppress(OSError):
            return self.control.recv(1) != b""
        return False

    def answer(self, job: bytes, time_limit: float, running: Running) -> Reply:
        ours, theirs = _pipe()
        with open(ours, "rb", buffering=0) as reply:
            with open(theirs, "wb", buffering=0), open(os.memfd_create("job"), "wb", buffering=0) as content:
                child = self._child(job, content.fileno(), theirs)
            try:
                running(lambda: kill(child))
                return self._outcome(child, reply, time_limit)
            finally:
                running(None)
                os.close(child)

    def _child(self, job: bytes, content: int, result: int) -> int:
        """Hand over the job, and where its reply goes; a handle of the child comes back."""
        from grader.child import protocol

        try:
            protocol.write(content, [job])
            os.lseek(content, 0, os.SEEK_SET)
            socket.send_fds(self.control, [b"job"], [content, result])
            message, fds, _, _ = socket.recv_fds(self.control, MESSAGE, 1)
        except OSError as error:
            raise self._lost() from error
        if fds:
            return fds[0]
        if not message.isdigit():
            raise self._lost()
        why = os.strerror(int(message))  # the warm process goes on
        raise InfrastructureError(f"the system refuses another process ({why}): run the same command again later.")

    def _outcome(self, child: int, reply: FileIO, time_limit: float) -> Reply:
        from grader.child.protocol import MAX_FRAME

        frame = _read_until(reply, child, time_limit + GRACE, MAX_FRAME)
        ours = frame is None or len(frame) > MAX_FRAME or not readable(child, LINGER)
        if ours:
            kill(child)
        try:
            code, milliseconds = map(int, self.control.recv(MESSAGE).split())
        except (OSError, ValueError) as error:
            raise self._lost() from error
        cpu = milliseconds / 1000
        if frame is None or code == -signal.SIGXCPU or (code == -signal.SIGKILL and not ours and cpu >= time_limit):
            return Reply("timeout", cpu=cpu)
        if len(frame) > MAX_FRAME:
            return Reply("crash", detail="it sent more than a reply may hold")
        found = checked(frame, code)
        killed = found.end == "crash" and not ours and code in FROM_OUTSIDE
        return replace(found, killed=killed, cpu=cpu)

    def _lost(self) -> InfrastructureError:
        self.is_spent = True
        return InfrastructureError("the warm process was lost and has been replaced: run the same command again.")


def _pipe() -> tuple[int, int]:
    """A pipe that holds an honest reply in one piece, where the kernel gives that much: nobody is woken twice."""
    import fcntl  # not everywhere, as the rest of this module

    ends = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE)
    return ends


def _read_until(reply: FileIO, child: int, left: float, most: int) -> bytes | None:
    """All that is written until it is closed, or there is more than may be; `None` once the child's time is over.

    What that waits for a processor on a busy machine does not count, nor does it while this process stands still.
    """
    frame, waited = bytearray(), 0.0
    while len(frame) <= most:
        if left <= 0:
            before, waited = waited, _waited(child)
            left += waited - before
        if left <= 0:
            return None
        slice_, began = min(left, SLICE), time.monotonic()
        there = readable(reply.fileno(), slice_)
        left -= min(time.monotonic() - began, slice_)
        if there:
            part = reply.read(PIPE)
            if not part:
                break
            frame += part
    return bytes(frame)


def _waited(child: int) -> float:
    """Seconds for which a child has waited for a processor; 0 once it has ended, or where the kernel does not tell."""
    with contextlib.suppress(OSError, IndexError):
        handle = Path(f"/proc/self/fdinfo/{child}").read_text()
        number = next(line.split()[1] for line in handle.splitlines() if line.startswith("Pid:"))
        return int(Path(f"/proc/{number}/schedstat").read_text().split()[1]) / 1e9
    return 0.0
