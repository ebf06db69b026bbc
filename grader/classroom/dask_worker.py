"""The functions that a Dask worker runs, and the process that grades for it.

A Dask worker has threads, and may have no children of its own. Grading processes are forked from a process without
threads, so each worker starts a grading service, a process that holds them, and talks to it through two pipes.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader import __version__
from grader.errors import HandgradError, InfrastructureError
from grader.judging.grading_pool import TICK, GradingPool
from grader.results.records import ExerciseResult
from grader.sandbox.isolation import machine
from grader.sandbox.warm_process import is_readable

from .cluster_wire import pack_results, unpack_batch, unpack_setting

HEAD = struct.Struct("<cQ")
BEAT, ANSWER, REFUSAL = b"b", b"a", b"r"
SILENCE = 120.0  # seconds without a message after which a service, which sends one every second, counts as lost
TEMPORARY = "handgrad-service-"
MOST_SERVICES = 2  # of several classes that are graded at the same time; each takes as much memory as torch


class Service:
    """Start a grading service, and send it batches, one at a time, from any thread of this process.

    Args:
        setting: the course and the options; see `cluster_wire.pack_setting`.
        processes: how many grading processes the service has.
    """

    def __init__(self, setting: bytes, processes: int) -> None:
        """Start the service's process, with this number of grading processes.

        It gets the setting with the first batch.
        """
        code = "from grader.classroom.dask_worker import main; main()"
        self.lock, self.folder = threading.Lock(), tempfile.mkdtemp(prefix=TEMPORARY)
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-c", code, self.folder, str(processes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.setting, self.has_setting = setting, False

    def grade(self, batch: bytes) -> bytes:
        """Return the results of a batch, packed by `pack_results`; after any exception the service is closed.

        Args:
            batch: the parts of some submissions, packed by `pack_batch`.

        Raises:
            InfrastructureError: the service is lost, or cannot grade with this setting.
        """
        with self.lock:
            try:
                if not self.has_setting:
                    self._ask(self.setting)
                    self.has_setting = True
                return self._ask(batch)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the process and its grading processes, and remove its folder."""
        self.popen.kill()  # its grading processes end with it
        self.popen.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def has_ended(self) -> bool:
        """Return whether the process of the service has ended."""
        return self.popen.poll() is not None

    def _ask(self, message: bytes) -> bytes:
        """Send a message to the service, and return its answer.

        Raises:
            InfrastructureError: the service is lost, gives no sign of life for `SILENCE` seconds, or refuses the
                message.
        """
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        try:
            _send(self.popen.stdin.fileno(), ANSWER, message)
            while True:
                if not is_readable(self.popen.stdout.fileno(), SILENCE):
                    raise InfrastructureError("the grading service does not answer any more")
                kind, answer = _receive(self.popen.stdout.fileno())
                if kind == REFUSAL:
                    raise InfrastructureError(answer.decode())
                if kind == ANSWER:
                    return answer
        except (OSError, EOFError) as error:
            raise InfrastructureError("the grading service was lost") from error


def main() -> None:
    """Grade the batches that arrive on stdin, and send the results to stdout, until the process that asks ends.

    The command line names an empty folder and the number of grading processes.
    """
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    channel = _Channel(os.dup(0), os.dup(1), os.getppid())
    os.dup2(2, 1)  # text that is printed must not be taken for an answer
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        setting = unpack_setting(channel.receive(), folder)
        with GradingPool(setting.course, setting.isolation, processes, setting.seed) as pool:
            for name in setting.exercises:
                pool.prepare([setting.course.find(name)])
                channel.beat()
            pool.probe()
            for exercise in setting.course.exercises:
                _ = exercise.declaration
            shutil.rmtree(folder)  # now that all of it has been read, so that it is gone even if this process is killed
            channel.send(ANSWER, b"")
            while True:
                channel.send(ANSWER, _grade(pool, channel))
    except HandgradError as error:
        with suppress(OSError):
            channel.send(REFUSAL, str(error).encode())
    except (EOFError, OSError):  # the process that asks has ended
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _Channel:
    """Hold the pipes of a service, and the process at their other end.

    Args:
        source: the descriptor to read from.
        target: the descriptor to write to.
        starter: the id of the process that started the service.
    """

    source: int
    target: int
    starter: int

    def receive(self) -> bytes:
        """Return the next message, without its kind.

        Raises:
            EOFError: the other end is closed.
        """
        return _receive(self.source)[1]

    def send(self, kind: bytes, message: bytes) -> None:
        """Send a message: `ANSWER`, `REFUSAL` or `BEAT`, and its content."""
        _send(self.target, kind, message)

    def beat(self) -> None:
        """Send a sign of life.

        Raises:
            EOFError: the process that started this one has ended.
        """
        if os.getppid() != self.starter:
            raise EOFError
        self.send(BEAT, b"")


def _grade(pool: GradingPool, channel: _Channel) -> bytes:
    """Grade the next batch, with a sign of life every second, and return its results as bytes.

    Raises:
        InfrastructureError: a submission could not be graded.
        EOFError: the process that started this one has ended.
    """
    batch, started = unpack_batch(channel.receive()), time.monotonic()
    results: list[list[ExerciseResult]] = [[] for _ in batch]
    last_beat = started
    for outcome in pool.grade(enumerate(batch)):
        if outcome is not None:
            if outcome.failure:
                raise InfrastructureError(outcome.failure)
            results[outcome.key] = outcome.results
        if time.monotonic() > last_beat + TICK:
            last_beat = time.monotonic()
            channel.beat()
    return pack_results(results, time.monotonic() - started)


def _send(target: int, kind: bytes, message: bytes) -> None:
    """Write a message, after its kind and length, to the pipe with the file descriptor `target`."""
    remaining = memoryview(HEAD.pack(kind, len(message)) + message)
    while remaining:
        remaining = remaining[os.write(target, remaining) :]


def _receive(source: int) -> tuple[bytes, bytes]:
    """Return the kind and the content of the next message in the pipe with the file descriptor `source`.

    Raises:
        EOFError: the pipe was closed before its end.
    """
    kind, size = HEAD.unpack(_read(source, HEAD.size))
    return kind, _read(source, size)


def _read(source: int, size: int) -> bytes:
    """Return exactly the next `size` bytes in the pipe with the file descriptor `source`.

    Raises:
        EOFError: the pipe was closed before.
    """
    data = bytearray()
    while len(data) < size:
        piece = os.read(source, min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def facts() -> dict[str, Any]:
    """Return the facts about this worker that grading depends on, for a comparison with the coordinator's.

    Returns:
        Under "version" the version of handgrad, and under "machine" the facts of `machine()` that isolation depends on.
    """
    return {"version": __version__, "machine": asdict(machine())}


def same(setting: bytes) -> bytes:
    """Return the setting unchanged, as the result of a Dask task, so that Dask sends it to each worker only once."""
    return setting


def grade_batch(setting: bytes, batch: bytes) -> bytes:
    """Return the results of a batch, packed by `pack_results`; a Dask worker runs this.

    Args:
        setting: the course and the options, packed by `pack_setting`.
        batch: the parts of some submissions, packed by `pack_batch`.

    Raises:
        InfrastructureError: this worker cannot grade the batch.
    """
    return _service(setting).grade(batch)


_services: dict[bytes, Service] = {}  # of this worker, by setting
_starting = threading.Lock()


def _service(setting: bytes) -> Service:
    """Return this worker's service with a setting, started if there is none, with a process for each thread.

    At most `MOST_SERVICES` run: to start another, the one that was not used for longest is closed.
    """
    from distributed import get_worker  # not in the service's own process

    with _starting:
        service = _services.pop(setting, None)
        if service is None or service.has_ended:
            while len(_services) >= MOST_SERVICES:
                oldest = _services.pop(next(iter(_services)))
                with oldest.lock:
                    oldest.close()
            service = Service(setting, get_worker().state.nthreads)
        _services[setting] = service  # the last one used is the last to be closed
        return service
