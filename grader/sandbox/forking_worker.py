"""A worker that forks: the warm process stays clean, and each job has a child of its own (Linux)."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time
from dataclasses import replace
from typing import Literal

from grader.errors import InfrastructureError

from .isolation import Isolation
from .warm_process import GRACE, LINGER, START_LIMIT, Closing, Reply, WarmProcess, checked, how_it_ended

STATUS = struct.Struct("<iii")
STATUS_LIMIT = 5.0
PIPE = 1 << 20  # bytes: as much as anybody may ask for
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)  # no isolated child can send these, not even to itself


class ForkingWorker(Closing):
    """A warm process that forks a child for each job; the child is killed when its time is up.

    Args:
        isolation: what the child is kept in; `none` contains accidents only.
    """

    def __init__(self, isolation: Isolation) -> None:
        self.isolation: Isolation = isolation
        self._start()

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()
        self.ready = False
        with theirs:
            theirs.set_inheritable(True)
            words = ["fork", str(theirs.fileno()), *([] if self.isolation == "none" else ["strict"])]
            self.process = WarmProcess(words, self.isolation, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    def close(self) -> None:
        self.process.close()
        self.control.close()

    def run(self, job: bytes, time_limit: float) -> Reply:
        """Answer one job frame within `time_limit` seconds.

        A child that is killed by a signal may be the victim of somebody else, or of a machine without memory: it is
        given a second chance, in a fresh warm process. One that kills itself has no third.
        """
        reply = self._attempt(job, time_limit)
        if reply.killed:
            self._restart()
            reply = self._attempt(job, time_limit)
        return reply

    def _attempt(self, job: bytes, time_limit: float) -> Reply:
        self._await_ready()
        child, result = self._send(job)
        started = time.monotonic()
        try:
            reply = self._outcome(child, result, started + time_limit + GRACE)
            seconds = time.monotonic() - started
            late = reply.end == "crash" and seconds >= time_limit
            return replace(Reply("timeout") if late else reply, seconds=seconds)
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
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.popen.wait(LINGER)
            raise self.process.failure()
        self.control.settimeout(STATUS_LIMIT)

    def _send(self, job: bytes) -> tuple[int, int]:
        """Hand over the job; the child's process handle and the readable end of its reply come back."""
        from grader.child import protocol

        content = os.memfd_create("job")
        result, theirs = _pipe()
        try:
            protocol.write(content, [job])
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
        ours = why != "end" or not select.select([child], [], [], LINGER)[0]
        if ours:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
        code, number, milliseconds = self._status()
        if why == "late" or number == signal.SIGXCPU:
            return Reply("timeout")
        if why == "much":
            return Reply("crash", detail="it sent more than a reply may hold")
        reply = checked(frame, how_it_ended(code, number))
        killed = reply.end == "crash" and not ours and number in FROM_OUTSIDE
        return replace(reply, killed=killed, cpu=milliseconds / 1000)

    def _status(self) -> tuple[int, int, int]:
        """The child's exit code, the signal that ended it, and its processor time in milliseconds."""
        data = b""
        try:
            while len(data) < STATUS.size:
                part = self.control.recv(STATUS.size - len(data))
                if not part:
                    raise self._lost()
                data += part
        except OSError as error:
            raise self._lost() from error
        return STATUS.unpack(data)

    def _restart(self) -> None:
        self.close()
        self._start()

    def _lost(self) -> InfrastructureError:
        self._restart()
        return InfrastructureError("the warm process was lost and has been replaced: run the same command again.")


def _pipe() -> tuple[int, int]:
    """A pipe that holds an honest reply in one piece, where the kernel gives that much: nobody is woken twice."""
    import fcntl  # not everywhere, as the rest of this module

    ends = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE)
    return ends


def _read_until(fd: int, deadline: float) -> tuple[bytes, Literal["end", "late", "much"]]:
    """Everything a descriptor gives until it is closed, its limit is passed, or the deadline comes."""
    from grader.child.protocol import MAX_FRAME

    parts: list[bytes] = []
    size = 0
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
