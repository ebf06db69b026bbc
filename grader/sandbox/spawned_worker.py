"""A worker that answers jobs itself, wherever `fork` is unsafe; replaced after a crash or a timeout."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from typing import Any

from grader.errors import ProtocolError

from .isolation import Isolation
from .warm_process import GRACE, LINGER, START_LIMIT, Closing, Reply, WarmProcess, checked, how_it_ended


class SpawnedWorker(Closing):
    """A process that answers jobs itself; it is kept while it behaves and replaced after a crash or a timeout."""

    isolation: Isolation = "none"

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.process = WarmProcess(["pipe"], "none", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.replies: queue.Queue[bytes | None] = queue.Queue()
        self.ready = False
        self.reader = threading.Thread(target=_pump, args=(self.process.popen.stdout, self.replies), daemon=True)
        self.reader.start()

    def close(self) -> None:
        self.process.close()
        self.reader.join(LINGER)
        streams = [self.process.popen.stdin] + ([] if self.reader.is_alive() else [self.process.popen.stdout])
        for stream in streams:  # a reader that something still keeps waiting ends with this process
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
            return self._replaced(Reply("crash", detail=self._last_words()))
        reply = checked(frame, "")
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

    def _last_words(self) -> str:
        """How the process ended; one that only fell silent is about to be killed."""
        try:
            code = self.process.popen.wait(LINGER)
        except subprocess.TimeoutExpired:
            return "it wrote into the grader's channel"
        return how_it_ended(max(code, 0), max(-code, 0))

    def _replaced(self, reply: Reply) -> Reply:
        self.close()
        self._start()
        return reply


def _pump(stream: Any, replies: queue.Queue[bytes | None]) -> None:
    """Read frames until the stream ends, or says something that is no frame."""
    from grader.child import protocol  # numpy: not needed before the worker process is on its way

    try:
        while (frame := protocol.read_frame(stream)) is not None:
            replies.put(frame)
    except (ProtocolError, OSError, ValueError):
        pass  # the end of this process's replies, like any other: the `None` below says so
    replies.put(None)
