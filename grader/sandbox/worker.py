"""Worker processes as the grader sees them: a job frame goes in; a reply frame comes out, or word of its end.

An `InfrastructureError` says why there can be none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable

from grader.errors import InfrastructureError

from .forking_process import ForkingProcess
from .isolation import Isolation
from .spawned_process import SpawnedProcess
from .warm_process import Closing, WarmProcess
from .warm_process import Reply as Reply

MODE_VARIABLE = "HANDGRAD_WORKER"


class Worker(Closing):
    """A warm process that answers jobs, one at a time; it can be lost at any moment: the next job starts another.

    Another thread waits for its turn.
    """

    def __init__(self, start: Callable[[Isolation], WarmProcess], isolation: Isolation) -> None:
        self.isolation, self._start = isolation, start
        self._turn = threading.Lock()  # of whoever has a job answered
        self._lock = threading.Lock()  # on what follows
        self._stopped = False
        self._end_job: Callable[[], None] | None = None
        self.process: WarmProcess | None = start(isolation)

    @property
    def pid(self) -> int:
        """The number of its process; 0 where there is none."""
        return self.process.popen.pid if self.process is not None else 0

    def close(self) -> None:
        """End the process; a job that comes all the same starts another."""
        if self.process is not None:
            self.process.close()
            self.process = None

    def run(self, job: bytes, time_limit: float) -> Reply:
        """Answer one job frame within `time_limit` seconds.

        A child that is killed by a signal may be the victim of somebody else, or of a machine without memory: it is
        given a second chance, in a fresh warm process. One that kills itself has no third, and one that was stopped
        has no second.
        """
        with self._turn:
            reply = self._attempt(job, time_limit)
            if reply.killed and not self._stopped:
                self._replace()
                reply = self._attempt(job, time_limit)
            return reply

    def _attempt(self, job: bytes, time_limit: float) -> Reply:
        process = self._ready_process()
        try:
            return process.answer(job, time_limit, self._running)
        finally:
            if process.is_spent:
                self._replace()

    def stop(self) -> None:
        """From another thread: end the job that is running, and every one that comes, until `resume`."""
        with self._lock:
            self._stopped = True
            if self._end_job is not None:
                self._end_job()

    def resume(self) -> None:
        """Answer jobs again."""
        with self._lock:
            self._stopped = False

    def _running(self, end: Callable[[], None] | None) -> None:
        """A job is running, which `end` ends; or none is running any more."""
        with self._lock:
            self._end_job = end
            if end is not None and self._stopped:
                end()

    def _ready_process(self) -> WarmProcess:
        """The process once it is ready: another one if it ended between two jobs, or could not start before."""
        if self.process is not None and self.process.is_ready and self.process.has_ended():
            self.close()
        if self.process is None:
            self.process = self._start(self.isolation)
        try:
            self.process.await_ready()
        except InfrastructureError:
            self.close()
            raise
        return self.process

    def _replace(self) -> None:
        """Another process in place of this one, to be ready soon; if there can be none, the next job says why."""
        self.close()
        with contextlib.suppress(InfrastructureError):
            self.process = self._start(self.isolation)


def start_worker(isolation: Isolation) -> Worker:
    """Start a worker, without waiting until it is warm.

    Raises:
        InfrastructureError: there is no such worker here.
    """
    chosen = worker_mode(isolation)
    if chosen == "fork" and sys.platform == "linux":
        return Worker(ForkingProcess, isolation)
    if chosen == "spawn":
        return Worker(SpawnedProcess, "none")
    raise InfrastructureError(f"there is no worker mode {chosen!r} on this platform: set {MODE_VARIABLE}=spawn")


def worker_mode(isolation: Isolation) -> str:
    """`fork` (usual on Linux, and the only one with an isolation) or `spawn`, or what the environment asks for.

    A worker that forks can be handed on to a forked process.
    """
    usual = "fork" if sys.platform == "linux" else "spawn"
    return "fork" if isolation != "none" else os.environ.get(MODE_VARIABLE) or usual
