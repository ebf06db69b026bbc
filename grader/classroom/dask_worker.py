"""What a Dask worker runs, and the grading service beside it that grades for it."""

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
SILENCE = 120.0  # seconds in which a service that is alive has said something: it says so every second
TEMPORARY = "handgrad-service-"
MOST_SERVICES = 2  # of several classes that are graded at the same time; each takes as much memory as torch


class Service:
    """A grading service, as a thread of the process that started it sees it; batches have their turns.

    Args:
        setting: what is graded by; see `wire.pack_setting`.
        processes: how many grading processes it has.
    """

    def __init__(self, setting: bytes, processes: int) -> None:
        code = "from grader.classroom.dask_worker import main; main()"
        self.turn, self.folder = threading.Lock(), tempfile.mkdtemp(prefix=TEMPORARY)
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-c", code, self.folder, str(processes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.setting, self.is_set = setting, False

    def grade(self, batch: bytes) -> bytes:
        """The verdicts on a batch; see `wire.pack_batch` and `wire.pack_results`.

        Raises:
            InfrastructureError: the service is lost, or cannot grade with this setting; says why.
        """
        with self.turn:
            try:
                if not self.is_set:
                    self._ask(self.setting)
                    self.is_set = True
                return self._ask(batch)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the process and whatever it started."""
        self.popen.kill()  # its grading processes end with it
        self.popen.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def has_ended(self) -> bool:
        return self.popen.poll() is not None

    def _ask(self, message: bytes) -> bytes:
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
    """Serve the grading requests on stdin in an empty folder, with so many processes, until the requester ends."""
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    channel = _Channel(os.dup(0), os.dup(1), os.getppid())
    os.dup2(2, 1)  # what is printed here is no answer
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
            shutil.rmtree(folder)  # all of it has been read: nothing is left, whatever happens to this process
            channel.send(ANSWER, b"")
            while True:
                channel.send(ANSWER, _grade(pool, channel))
    except HandgradError as error:
        with suppress(OSError):
            channel.send(REFUSAL, str(error).encode())
    except (EOFError, OSError):  # whoever asked has ended
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _Channel:
    """The two pipes of a service, and the process at their other end."""

    of: int
    to: int
    starter: int

    def receive(self) -> bytes:
        """The next message.

        Raises:
            EOFError: there is none any more.
        """
        return _receive(self.of)[1]

    def send(self, kind: bytes, message: bytes) -> None:
        _send(self.to, kind, message)

    def beat(self) -> None:
        """A sign of life.

        Raises:
            EOFError: whoever started this process has ended.
        """
        if os.getppid() != self.starter:
            raise EOFError
        self.send(BEAT, b"")


def _grade(pool: GradingPool, channel: _Channel) -> bytes:
    """Grade the next batch, with a sign of life every second, and return its results as bytes."""
    batch, started = unpack_batch(channel.receive()), time.monotonic()
    results: list[list[ExerciseResult]] = [[] for _ in batch]
    beat = started
    for outcome in pool.grade(enumerate(batch)):
        if outcome is not None:
            if outcome.failure:
                raise InfrastructureError(outcome.failure)
            results[outcome.key] = outcome.results
        if time.monotonic() > beat + TICK:
            beat = time.monotonic()
            channel.beat()
    return pack_results(results, time.monotonic() - started)


def _send(to: int, kind: bytes, message: bytes) -> None:
    left = memoryview(HEAD.pack(kind, len(message)) + message)
    while left:
        left = left[os.write(to, left) :]


def _receive(of: int) -> tuple[bytes, bytes]:
    """The next message, and its kind.

    Raises:
        EOFError: there is none any more.
    """
    kind, size = HEAD.unpack(_read(of, HEAD.size))
    return kind, _read(of, size)


def _read(of: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = os.read(of, min(size - len(found), 1 << 20))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def facts() -> dict[str, Any]:
    """What this worker grades with, and what it can keep learner code in."""
    return {"version": __version__, "machine": asdict(machine())}


def same(setting: bytes) -> bytes:
    """The setting itself, so that Dask brings it to each worker once."""
    return setting


def grade_batch(setting: bytes, batch: bytes) -> bytes:
    """The verdicts on a batch; see `wire`.

    Raises:
        InfrastructureError: this worker cannot grade it; says why.
    """
    return _service(setting).grade(batch)


_services: dict[bytes, Service] = {}  # of this worker, by setting
_starting = threading.Lock()


def _service(setting: bytes) -> Service:
    """The service of this worker process that grades by a setting, with a grading process for each of its threads."""
    from distributed import get_worker  # not in the service's own process

    with _starting:
        found = _services.pop(setting, None)
        if found is None or found.has_ended:
            while len(_services) >= MOST_SERVICES:
                oldest = _services.pop(next(iter(_services)))
                with oldest.turn:
                    oldest.close()
            found = Service(setting, get_worker().state.nthreads)
        _services[setting] = found
        return found
