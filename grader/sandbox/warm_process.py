"""The process behind every worker: how it is started and ended, and what can come back from it.

An `InfrastructureError` says why it cannot start, or was lost before it was ready.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from grader.child.linux_calls import children_of
from grader.errors import InfrastructureError, ProtocolError

from .bubblewrap import PACKAGE, PACKAGES, command
from .isolation import Isolation

if TYPE_CHECKING:
    from grader.child.protocol import Frame

START_LIMIT = 120.0
OF_A_SHELL = 128  # what bubblewrap, like a shell, adds to the number of a signal
LOOK = 0.25  # seconds between two looks at a process that is starting
GRACE = 0.6
LINGER = 0.25
END_LIMIT = 5.0
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG")
KEPT_STRICTLY = ("LD_LIBRARY_PATH",)
End = Literal["answered", "timeout", "crash"]
STOPPED = frozenset("Tt")  # by a signal, or by a debugger
Running = Callable[[Callable[[], None] | None], None]


@dataclass(frozen=True)
class Reply:
    """How a job ended, and the frame if it was answered.

    Args:
        end: `answered`, `timeout`, or `crash` (the process died or sent something malformed).
        frame: what was answered, a well-formed frame and nothing more; `None` for every other end.
        detail: how it crashed, in a few words.
        killed: by a signal that neither the grader nor a limit sent.
        cpu: seconds of processor time that the child took, where the job had one of its own.
    """

    end: End
    frame: Frame | None = None
    detail: str = ""
    killed: bool = False
    cpu: float = 0.0


class WarmProcess(ABC):
    """The warm process: started, waited for until it is ready, given jobs, and ended.

    Attributes:
        is_spent: it can be given no other job, and another process must take its place.
    """

    is_spent = False

    def __init__(self, arguments: Sequence[str], isolation: Isolation, **streams: Any) -> None:
        self.in_box, self.owner, self.is_ready = isolation == "box", os.getpid(), False
        command, environment = _command(arguments, isolation), _environment(isolation)
        self.words: IO[bytes] | None = None
        with contextlib.suppress(OSError):  # where no file can be made, it has no last words
            self.words = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        to = self.words or subprocess.DEVNULL
        try:
            self.popen = subprocess.Popen(command, stderr=to, env=environment, start_new_session=True, **streams)
        except OSError as error:
            if self.words:
                self.words.close()
            raise could_not_start(f"the system refuses a new process ({error.strerror or error})") from error

    @abstractmethod
    def says_ready(self, seconds: float) -> bool | None:
        """Wait so many seconds for its answer: `True` for ready, `None` for none yet, `False` for never."""

    @abstractmethod
    def answer(self, job: bytes, time_limit: float, running: Running) -> Reply:
        """Answer one job frame within `time_limit` seconds.

        Args:
            running: it is told how the job can be ended while it is running, and `None` when it is over.
        """

    def await_ready(self) -> None:
        """Wait until the process has said that it is ready; its end, and whatever holds it up, is noticed at once."""
        deadline = time.monotonic() + START_LIMIT
        while not (self.is_ready or (ready := self.says_ready(LOOK))):
            if ready is False or self.has_ended():
                raise self._why_it_ended()
            if stopped := [pid for pid, state in states_below(self.popen.pid) if state in STOPPED]:
                raise could_not_start(f"process {stopped[0]} was stopped by a signal or a debugger")
            if time.monotonic() > deadline:
                raise could_not_start(f"it was not ready after {START_LIMIT:.0f} seconds{self._last_words()}")
        self.is_ready = True

    def has_ended(self) -> bool:
        """It has ended; whoever was forked from the process that started it cannot ask for its exit code."""
        if os.getpid() == self.owner:
            return self.popen.poll() is not None
        return next(states_below(self.popen.pid), (0, "Z"))[1] == "Z"

    def close(self) -> None:
        """Kill the process, its children and its session; wait until all of them have ended."""
        children: list[int] = []  # handles of them, where the platform has such
        with contextlib.suppress(OSError, AttributeError):
            children += map(os.pidfd_open, children_of(self.popen.pid))
        with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):  # the last one on Windows
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()
        for child in children:  # the first process of a box takes everything in it along
            kill(child)
            readable(child, END_LIMIT)
            os.close(child)
        if self.words:
            self.words.close()

    def ending(self) -> str:
        """How the process ended, in words; empty if it only fell silent, and is about to be killed."""
        if os.getpid() != self.owner:
            return ""
        try:
            code = self.popen.wait(LINGER)
        except subprocess.TimeoutExpired:
            return ""
        if self.in_box and code > OF_A_SHELL:
            code = OF_A_SHELL - code
        return how_it_ended(code)

    def _why_it_ended(self) -> InfrastructureError:
        """How a process ended that was not ready yet, and its last words."""
        ended, said = self.ending(), self._last_words()
        if ended and "No module named 'torch'" in said:
            return InfrastructureError(f"torch is not installed for {sys.executable}: run `pip install torch`.")
        return could_not_start((ended or "it closed its end of the channel") + said)

    def _last_words(self) -> str:
        """The last line that it wrote to its stderr, after a colon; empty where there is none."""
        if self.words is None:
            return ""
        self.words.seek(0)
        said = self.words.read().decode(errors="replace").strip().splitlines()
        return f": {said[-1]}" if said else ""


def could_not_start(why: str) -> InfrastructureError:
    """The error that a worker which is not ready ends in; the next job starts another process."""
    return InfrastructureError(f"the worker process could not start: {why}. Run the same command again.")


def states_below(pid: int) -> Iterator[tuple[int, str]]:
    """The number and the state, a letter, of a process and of those below it, where `/proc` tells."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            yield pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            waiting += children_of(pid)


def _command(arguments: Sequence[str], isolation: Isolation) -> list[str]:
    """What starts the warm process: in a box, this package is elsewhere."""
    root = PACKAGES if isolation == "box" else str(PACKAGE.parent)
    run = "from grader.child.worker_process import main; main()"
    code = f"import gc, sys; gc.disable(); sys.path.insert(0, {root!r}); {run}"
    words = ["-c", code, *arguments]
    return command(words) if isolation == "box" else [sys.executable, "-I", *words]


def _environment(isolation: Isolation) -> dict[str, str]:
    """Nothing of the grader's own environment but what Python needs to start; learner code can read all of it."""
    useful = KEPT if isolation == "none" else () if isolation == "box" else KEPT_STRICTLY
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {name: os.environ[name] for name in useful if name in os.environ}
    huge_pages = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # fewer page tables to copy at each fork
    return {**kept, **threads, **huge_pages, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}


class Closing:
    """A context that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


def readable(fd: int, seconds: float) -> bool:
    """Whether a descriptor, of any number, has something to read within so many seconds (not on Windows)."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


def checked(frame: bytes | bytearray, code: int | None = None) -> Reply:
    """The reply a frame makes, or where there is no well-formed one how the process ended, if it has."""
    from grader.child import protocol

    ended = "" if code is None else how_it_ended(code)
    if not frame:
        return Reply("crash", detail=ended)
    try:
        return Reply("answered", protocol.unpack(frame, protocol.MAX_REPLY_HEADER))
    except ProtocolError as error:
        return Reply("crash", detail=ended or str(error))


def kill(child: int) -> None:
    """End the process of such a handle, if it has not ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(child, signal.SIGKILL)


def how_it_ended(code: int) -> str:
    """An exit code in words, or the number of a signal, which is below zero."""
    if code >= 0:
        return f"the process ended itself with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"the process was ended by {names.get(-code, f'signal {-code}')}"
