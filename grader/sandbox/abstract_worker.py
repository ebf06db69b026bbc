"""What every worker does with its warm process: wait until it is ready, and start another where it was lost.

An `InfrastructureError` says why there can be none.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from grader.errors import InfrastructureError

from .isolation import Isolation
from .warm_process import Closing, Reply, WarmProcess


class Worker(Closing, ABC):
    """A warm process that answers jobs, one at a time; it can be lost at any moment: the next job starts another."""

    isolation: Isolation
    process: WarmProcess | None = None

    def __init__(self) -> None:
        self._lock = threading.Lock()  # on what follows
        self._stopped = False
        self._end_job: Callable[[], None] | None = None
        self._start()

    @property
    def pid(self) -> int:
        """The number of its process; 0 where there is none."""
        return self.process.popen.pid if self.process is not None else 0

    @abstractmethod
    def run(self, job: bytes, time_limit: float) -> Reply:
        """Answer one job frame within `time_limit` seconds."""

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

    @contextlib.contextmanager
    def _running(self, end: Callable[[], None]) -> Iterator[None]:
        """Within this context a job is running, which `end` ends."""
        with self._lock:
            self._end_job = end
            if self._stopped:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._end_job = None

    @abstractmethod
    def _start(self) -> WarmProcess:
        """Start a process, which is not ready yet, and keep it in `process`."""

    @abstractmethod
    def _says_ready(self, seconds: float) -> bool | None:
        """What the process says within so many seconds; see `WarmProcess.await_ready`."""

    def _ready_process(self) -> WarmProcess:
        """The process once it is ready: another one if it ended between two jobs, or could not start before."""
        if self.process is not None and self.process.is_ready and self.process.has_ended():
            self.close()
        process = self.process or self._start()
        try:
            process.await_ready(self._says_ready)
        except InfrastructureError:
            self.close()
            raise
        return process

    def _replace(self) -> None:
        """Another process in place of this one, to be ready soon; if there can be none, the next job says why."""
        self.close()
        with contextlib.suppress(InfrastructureError):
            self._start()
