"""What every worker does with its warm process: wait until it is ready, and start another where it was lost."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod

from grader.errors import InfrastructureError

from .warm_process import Closing, WarmProcess


class ReplaceableWorker(Closing, ABC):
    """A worker whose process can be lost at any moment: the next job starts another."""

    process: WarmProcess | None = None
    ready = False

    @property
    def pid(self) -> int:
        """The number of its process; 0 where there is none."""
        return self.process.popen.pid if self.process is not None else 0

    def __init__(self) -> None:
        self._lock = threading.Lock()  # on what follows, and on the job that is running
        self._stopped = False
        self._start()

    def stop(self) -> None:
        """From another thread: end the job that is running, and every one that comes, until `resume`."""
        with self._lock:
            self._stopped = True
            self._end_job()

    def resume(self) -> None:
        """Answer jobs again."""
        with self._lock:
            self._stopped = False

    @abstractmethod
    def _end_job(self) -> None:
        """End the job that is running, if there is one; `_lock` is held."""

    @abstractmethod
    def _start(self) -> WarmProcess:
        """Start a process, which is not ready yet, and keep it in `process`.

        Raises:
            InfrastructureError: the system refuses; says why.
        """

    @abstractmethod
    def _says_ready(self, seconds: float) -> bool | None:
        """What the process says within so many seconds; see `WarmProcess.await_ready`."""

    def _ready_process(self) -> WarmProcess:
        """The process once it is ready: another one if it ended between two jobs, or could not start before.

        Raises:
            InfrastructureError: it cannot start; says why.
        """
        if self.process is not None and self.ready and self.process.has_ended():
            self.close()
        process = self.process or self._start()
        if not self.ready:
            try:
                process.await_ready(self._says_ready)
            except InfrastructureError:
                self.close()
                raise
            self.ready = True
        return process

    def _replace(self) -> None:
        """Another process in place of this one, to be ready soon; if there can be none, the next job says why."""
        self.close()
        with contextlib.suppress(InfrastructureError):
            self._start()
