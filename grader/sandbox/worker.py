"""Worker processes as the grader uses them: a job goes in; a reply comes out, or how the job ended.

An `InfrastructureError` says why there can be none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.errors import InfrastructureError

from .isolation import Isolation
from .warm_process import Closing, EndJob, ForkingProcess, SpawnedProcess, WarmProcess
from .warm_process import Unanswered as Unanswered

if TYPE_CHECKING:
    from grader.child.protocol import Frame

MODE_VARIABLE = "HANDGRAD_WORKER"


class Worker(Closing):
    """A warm process that answers jobs, one at a time; when it is lost, the next job starts another one.

    Several threads may use it: each waits until the jobs before its own are answered.

    Args:
        start: starts a warm process for an isolation; called at once, and whenever the process must be replaced.
        isolation: the isolation of the jobs.
    """

    def __init__(self, start: Callable[[Isolation], WarmProcess], isolation: Isolation) -> None:
        """Start the first process, without waiting until it is ready.

        Raises:
            InfrastructureError: the system refuses a process.
        """
        self.isolation, self._start = isolation, start
        self._is_answering = threading.Lock()  # held while a job is answered
        self._lock = threading.Lock()  # guards the two attributes below
        self._stopped = False
        self._end_job: EndJob | None = None
        self.process: WarmProcess | None = start(isolation)

    @property
    def pid(self) -> int:
        """Return the process id; 0 if there is no process."""
        return self.process.popen.pid if self.process is not None else 0

    def close(self) -> None:
        """End the process; a job that is given to the worker afterwards starts another."""
        if self.process is not None:
            self.process.close()
            self.process = None

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        """Return the reply to one job, or how the job ended without one.

        A child that was killed by a signal from outside is not blamed: its job is answered once more, in a fresh warm
        process, unless the worker was stopped.

        Args:
            job: the job.
            time_limit: the seconds that the job may take.

        Raises:
            InfrastructureError: no process could be started, or the process was lost with the job.
        """
        with self._is_answering:
            reply = self._attempt(job, time_limit)
            if isinstance(reply, Unanswered) and reply.killed and not self._stopped:
                self.replace_process()
                reply = self._attempt(job, time_limit)
            return reply

    def _attempt(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        """Return the reply of the running process, or of a new one, to a job; drop a process that the job has ended."""
        process = self._ready_process()
        try:
            return process.answer(job, time_limit, self._set_end_job)
        finally:
            if process.is_spent:
                self.replace_process()

    def stop(self) -> None:
        """End the job that is running and, until `resume`, every later job as soon as it runs.

        To be called from another thread.
        """
        with self._lock:
            self._stopped = True
            if self._end_job is not None:
                self._end_job()

    def resume(self) -> None:
        """Answer jobs again after `stop`."""
        with self._lock:
            self._stopped = False

    def _set_end_job(self, end: EndJob | None) -> None:
        """Remember how to end the job that is running, and end it at once if the worker is stopped.

        Args:
            end: ends the job; `None` once the job is over.
        """
        with self._lock:
            self._end_job = end
            if end is not None and self._stopped:
                end()

    def _ready_process(self) -> WarmProcess:
        """Return the process once it is ready: a new one if the last one ended after its job, or could not start.

        Raises:
            InfrastructureError: the process does not become ready.
        """
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

    def replace_process(self) -> None:
        """End the process and start another one; if that fails, the next job tries again and reports the error."""
        self.close()
        with contextlib.suppress(InfrastructureError):
            self.process = self._start(self.isolation)


def start_worker(isolation: Isolation) -> Worker:
    """Start a worker, without waiting until its process is ready.

    Raises:
        InfrastructureError: this platform has no such worker, or the system refuses a process.
    """
    mode = worker_mode(isolation)
    if mode == "fork" and sys.platform == "linux":
        return Worker(ForkingProcess, isolation)
    if mode == "spawn":
        return Worker(SpawnedProcess, "none")
    raise InfrastructureError(f"there is no worker mode {mode!r} on this platform: set {MODE_VARIABLE}=spawn")


def worker_mode(isolation: Isolation) -> str:
    """Return how a worker answers jobs: `fork` or `spawn`.

    For the isolation `none`, it is the value of the environment variable `HANDGRAD_WORKER` or, if that is not set,
    `fork` on Linux and `spawn` elsewhere; for any other isolation it is `fork`. A worker that forks can be used in a
    process that was forked from the one that started it.
    """
    usual = "fork" if sys.platform == "linux" else "spawn"
    return "fork" if isolation != "none" else os.environ.get(MODE_VARIABLE) or usual
