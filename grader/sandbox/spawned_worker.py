"""A worker that answers jobs itself, wherever `fork` is unsafe; replaced after a crash or a timeout."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from typing import Any

from grader.errors import ProtocolError

from .abstract_worker import Worker
from .isolation import Isolation
from .warm_process import GRACE, LINGER, Reply, WarmProcess, checked


class SpawnedWorker(Worker):
    """A process that answers jobs itself; it is kept while it behaves and replaced after a crash or a timeout."""

    isolation: Isolation = "none"

    def _start(self) -> WarmProcess:
        self.process = WarmProcess(["pipe"], "none", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.jobs: Any = self.process.popen.stdin
        self.replies: queue.Queue[bytes | None] = queue.Queue()
        self.reader = threading.Thread(target=_pump, args=(self.process.popen.stdout, self.replies), daemon=True)
        self.reader.start()
        return self.process

    def close(self) -> None:
        """End the process; a job that comes all the same starts another."""
        if self.process is not None:
            self.process.close()
            self.reader.join(LINGER)  # one that something still keeps waiting ends with this process
            with contextlib.suppress(OSError):
                self.jobs.close()
            self.process = None

    def run(self, job: bytes, time_limit: float) -> Reply:
        process = self._ready_process()
        started = time.monotonic()
        try:
            with self._running(process.popen.kill):
                self.jobs.write(job)
                self.jobs.flush()
                frame = self.replies.get(timeout=time_limit + GRACE)
        except queue.Empty:
            return self._replaced(Reply("timeout"))
        except OSError:
            frame = None
        if frame is None:
            return self._replaced(Reply("crash", detail=process.ending() or "it wrote into the grader's channel"))
        reply = checked(frame, "")
        in_time = time.monotonic() - started < time_limit and not self._stopped  # it may have been killed
        return reply if in_time and reply.end == "answered" else self._replaced(reply)

    def _says_ready(self, seconds: float) -> bool | None:
        try:
            return self.replies.get(timeout=seconds) is not None
        except queue.Empty:
            return None

    def _replaced(self, reply: Reply) -> Reply:
        """A reply after which another process takes over; if there can be none, the next job says why."""
        self._replace()
        return reply


def _pump(stream: Any, replies: queue.Queue[bytes | None]) -> None:
    """Read frames until the stream ends, or says something that is no frame, and close it."""
    try:
        from grader.child import protocol  # numpy: not needed before the worker process is on its way

        with stream, contextlib.suppress(ProtocolError, OSError, ValueError):  # the end of its replies, like any other
            while (frame := protocol.read_frame(stream)) is not None:
                replies.put(frame)
    finally:
        replies.put(None)
