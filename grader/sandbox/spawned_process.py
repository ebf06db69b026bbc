"""A warm process that answers jobs itself, wherever `fork` is unsafe; replaced after a crash or a timeout."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from typing import Any

from grader.errors import ProtocolError

from .isolation import Isolation
from .warm_process import GRACE, LINGER, Reply, Running, WarmProcess, checked

OVERWRITTEN = "it wrote into the grader's channel"


class SpawnedProcess(WarmProcess):
    """A process that answers jobs itself; it is kept while it behaves and replaced after a crash or a timeout."""

    def __init__(self, isolation: Isolation) -> None:
        super().__init__(["pipe"], isolation, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.jobs: Any = self.popen.stdin
        self.replies: queue.Queue[bytearray | None] = queue.Queue()
        self.reader = threading.Thread(target=_pump, args=(self.popen.stdout, self.replies), daemon=True)
        self.reader.start()

    def close(self) -> None:
        super().close()
        self.reader.join(LINGER)  # one that something still keeps waiting ends with this process
        with contextlib.suppress(OSError):
            self.jobs.close()

    def says_ready(self, seconds: float) -> bool | None:
        try:
            return self.replies.get(timeout=seconds) is not None
        except queue.Empty:
            return None

    def answer(self, job: bytes, time_limit: float, running: Running) -> Reply:
        started, frame = time.monotonic(), None
        try:
            running(self._end)
            with contextlib.suppress(OSError):
                self.jobs.write(job)
                self.jobs.flush()
                frame = self.replies.get(timeout=time_limit + GRACE)
        except queue.Empty:
            reply = Reply("timeout")
        else:
            reply = checked(frame) if frame else Reply("crash", detail=self.ending() or OVERWRITTEN)
        finally:
            running(None)
        self.is_spent |= reply.end != "answered" or time.monotonic() - started >= time_limit
        return reply

    def _end(self) -> None:
        self.is_spent = True
        self.popen.kill()


def _pump(stream: Any, replies: queue.Queue[bytearray | None]) -> None:
    """Read frames until the stream ends, or says something that is no frame, and close it."""
    try:
        from grader.child import protocol  # numpy: not needed before the worker process is on its way

        with stream, contextlib.suppress(ProtocolError, OSError, ValueError):  # the end of its replies, like any other
            while (frame := protocol.read_frame(stream)) is not None:
                replies.put(frame)
    finally:
        replies.put(None)
