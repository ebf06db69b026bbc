"""The process behind every worker: how it is started, given jobs and ended, in its two kinds.

On Linux a `ForkingProcess` has each job answered by a child of its own; wherever `fork` is unsafe, a `SpawnedProcess`
answers jobs itself. An `InfrastructureError` says why a process cannot start, or that it was lost.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from grader.child.linux_calls import children_of
from grader.errors import InfrastructureError, ProtocolError

from .bubblewrap import PACKAGE, PACKAGES, box_command
from .isolation import Isolation

if TYPE_CHECKING:
    from grader.child.protocol import Frame

START_LIMIT = 120.0  # seconds
LOOK = 0.25  # seconds between two looks at a process that is starting
GRACE = 0.6  # seconds after the time limit, in which the child itself ends what takes too long
LINGER = 0.25  # seconds for a process to end that has closed its channel
END_LIMIT = 5.0  # seconds for a killed child to end
STATUS_LIMIT = 5.0  # seconds for the warm process to start a child, and to report its end
SLICE = 0.25  # seconds of a child's time that are counted at once
SHELL_SIGNAL = 128  # what bubblewrap, like a shell, adds to the number of a signal
MESSAGE = 64  # bytes: more than any message of the warm process has
PIPE = 1 << 20  # bytes: as much as any user may ask for
SIGNALS_FROM_OUTSIDE = (
    -9,
    -15,
)  # SIGKILL and SIGTERM (by number, for Windows): no isolated child can send them to itself
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG")
KEPT_STRICTLY = ("LD_LIBRARY_PATH",)
STOPPED = frozenset("Tt")  # states of a process: by a signal, or by a debugger
OVERWRITTEN = "it wrote into the grader's channel"

EndJob = Callable[[], None]
Announce = Callable[[EndJob | None], None]


@dataclass(frozen=True)
class Unanswered:
    """The end of a job that has no reply: it ran out of time, or its process crashed.

    Attributes:
        end: `timeout`, or `crash` (the process died or sent something malformed).
        detail: how it crashed, in a few words.
        killed: whether a signal ended the child that neither the grader nor a limit sent.
        cpu: seconds of processor time that the child took; 0 if the job had no child of its own.
    """

    end: Literal["timeout", "crash"]
    detail: str = ""
    killed: bool = False
    cpu: float = 0.0


class WarmProcess(ABC):
    """A process that has imported torch and answers jobs; this base starts it, waits until it is ready, and ends it.

    Attributes:
        is_ready: whether it has reported that it is ready.
        is_spent: whether it can be given no other job, so that another process must take its place.
        owner: the process id of the process that started it.
        popen: the process.
        errors: the file that its stderr is written to; `None` if there is none.
    """

    is_spent = False

    def __init__(self, arguments: Sequence[str], isolation: Isolation, **streams: Any) -> None:
        """Start the process, without waiting until it is ready.

        Args:
            arguments: the arguments of `grader.child.worker_process.main`.
            isolation: the isolation of the jobs.
            streams: options of `subprocess.Popen`: which streams and descriptors the process inherits.

        Raises:
            InfrastructureError: the system refuses a process.
            FileNotFoundError: the isolation is `box`, and bubblewrap, torch or numpy is not installed.
        """
        self.is_in_box, self.owner, self.is_ready = isolation == "box", os.getpid(), False
        command, environment = _command(arguments, isolation), _environment(isolation)
        self.errors: IO[bytes] | None = None
        with contextlib.suppress(OSError):  # without a file, its last error message is not known
            self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        stderr = self.errors or subprocess.DEVNULL
        try:
            self.popen = subprocess.Popen(command, stderr=stderr, env=environment, start_new_session=True, **streams)
        except OSError as error:
            if self.errors:
                self.errors.close()
            raise _could_not_start(f"the system refuses a new process ({error.strerror or error})") from error

    @abstractmethod
    def is_ready_within(self, seconds: float) -> bool | None:
        """Wait for the process's message that it is ready.

        Returns:
            True once it is ready, false if its channel has ended, `None` if there was no message within `seconds`.
        """

    @abstractmethod
    def answer(self, job: Frame, time_limit: float, announce: Announce) -> Frame | Unanswered:
        """Have one job answered by a child.

        Args:
            job: the job.
            time_limit: the seconds that the job may take; the child itself keeps to them, and is killed soon after.
            announce: called with a function that ends the job while it is running, and with `None` when it is over.

        Returns:
            The child's reply; how the job ended if the child ran out of time, was ended or crashed.

        Raises:
            InfrastructureError: the process was lost, or the system refuses it a child.
        """

    def await_ready(self) -> None:
        """Wait until the process is ready.

        Raises:
            InfrastructureError: the process has ended, is stopped by a signal or a debugger, or takes longer than
                `START_LIMIT`.
        """
        deadline = time.monotonic() + START_LIMIT
        while not (self.is_ready or (ready := self.is_ready_within(LOOK))):
            if ready is False or self.has_ended():
                raise self._start_error()
            if stopped := [pid for pid, state in states_below(self.popen.pid) if state in STOPPED]:
                raise _could_not_start(f"process {stopped[0]} was stopped by a signal or a debugger")
            if time.monotonic() > deadline:
                raise _could_not_start(f"it was not ready after {START_LIMIT:.0f} seconds{self._last_error()}")
        self.is_ready = True

    def has_ended(self) -> bool:
        """Return whether the process has ended.

        A process that was forked from the owner cannot ask for the exit code, and reads the state in `/proc`.
        """
        if os.getpid() == self.owner:
            return self.popen.poll() is not None
        return next(states_below(self.popen.pid), (0, "Z"))[1] == "Z"

    def close(self) -> None:
        """Kill the process, its children and its session; wait until all of them have ended."""
        children: list[int] = []  # pidfds of them, where the platform has such
        with contextlib.suppress(OSError, AttributeError):
            children += map(os.pidfd_open, children_of(self.popen.pid))
        with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):  # the last one on Windows
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()
        for child in children:  # the first process of a box takes everything in it along
            _kill(child)
            is_readable(child, END_LIMIT)
            os.close(child)
        if self.errors:
            self.errors.close()

    def _ending(self) -> str:
        """Return how the process ended, in words; empty if it is still running, or another process started it.

        It waits for the end for up to `LINGER` seconds.
        """
        if os.getpid() != self.owner:
            return ""
        try:
            code = self.popen.wait(LINGER)
        except subprocess.TimeoutExpired:
            return ""
        if self.is_in_box and code > SHELL_SIGNAL:
            code = SHELL_SIGNAL - code
        return _exit_description(code)

    def _start_error(self) -> InfrastructureError:
        """Return the error for a process that ended before it was ready: how it ended, and its last error message."""
        ending, message = self._ending(), self._last_error()
        if ending and "No module named 'torch'" in message:
            return InfrastructureError(f"torch is not installed for {sys.executable}: run `pip install torch`.")
        return _could_not_start((ending or "it closed its end of the channel") + message)

    def _last_error(self) -> str:
        """Return the last line that the process wrote to stderr, after a colon; empty if there is none."""
        if self.errors is None:
            return ""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""


class ForkingProcess(WarmProcess):
    """A warm process that forks a child for each job (Linux): it stays clean, and a child is killed in time."""

    def __init__(self, isolation: Isolation) -> None:
        """Start the process with a socket by which it is given jobs.

        Raises:
            InfrastructureError: the system refuses the socket or the process.
            FileNotFoundError: the isolation is `box`, and bubblewrap, torch or numpy is not installed.
        """
        try:
            self.control, child_end = socket.socketpair(type=socket.SOCK_SEQPACKET)
        except OSError as error:
            raise _could_not_start(f"the system refuses a channel to it ({error.strerror})") from error
        arguments = ["fork", str(child_end.fileno()), isolation]
        with child_end:
            try:
                super().__init__(arguments, isolation, stdin=subprocess.DEVNULL, pass_fds=[child_end.fileno()])
            except InfrastructureError:
                self.control.close()
                raise
        self.control.settimeout(STATUS_LIMIT)

    def close(self) -> None:
        """Kill the process and all that it started, and close the socket."""
        super().close()
        self.control.close()

    def is_ready_within(self, seconds: float) -> bool | None:
        """Wait for a message on the socket.

        Return `True` if it came, `False` if the other end is closed, and `None` if nothing came within `seconds`.
        """
        if not is_readable(self.control.fileno(), seconds):
            return None
        with contextlib.suppress(OSError):
            return self.control.recv(1) != b""
        return False

    def answer(self, job: Frame, time_limit: float, announce: Announce) -> Frame | Unanswered:
        """Have one job answered by a child that is forked for it.

        Args:
            job: the job.
            time_limit: the seconds that the job may take; the child itself keeps to them, and is killed soon after.
            announce: called with a function that ends the job while it is running, and with `None` when it is over.

        Returns:
            The child's reply; how the job ended if the child ran out of time, was ended or crashed.

        Raises:
            InfrastructureError: the process was lost, or the system refuses it a child.
        """
        reading_end, writing_end = _pipe()
        with open(reading_end, "rb", buffering=0) as reply:
            with open(writing_end, "wb", buffering=0), open(os.memfd_create("job"), "wb", buffering=0) as content:
                child = self._start_child(job, content.fileno(), writing_end)
            try:
                announce(lambda: _kill(child))
                return self._read_outcome(child, reply, time_limit)
            finally:
                announce(None)
                os.close(child)

    def _start_child(self, job: Frame, content: int, result: int) -> int:
        """Have a child started for a job, and return a pidfd of the child, which the caller closes.

        Args:
            job: the job.
            content: the descriptor of an empty file, which brings the job to the child.
            result: the descriptor of the pipe that the child writes its reply to.

        Raises:
            InfrastructureError: the process was lost, or the system refuses it a child.
        """
        try:
            job.write(content)
            os.lseek(content, 0, os.SEEK_SET)
            socket.send_fds(self.control, [b"job"], [content, result])
            message, fds, _, _ = socket.recv_fds(self.control, MESSAGE, 1)
        except OSError as error:
            raise self._lost_error() from error
        if fds:
            return fds[0]
        if not message.isdigit():
            raise self._lost_error()
        why = os.strerror(int(message))  # the warm process goes on
        raise InfrastructureError(f"the system refuses another process ({why}): run the same command again later.")

    def _read_outcome(self, child: int, reply: FileIO, time_limit: float) -> Frame | Unanswered:
        """Return the child's reply, or how the job ended without one.

        A child that goes on after its reply or its time is killed. Its exit code and the time that it computed come
        from the warm process, by `self.control`.

        Args:
            child: a pidfd of the child.
            reply: the pipe that the child writes its reply to.
            time_limit: the seconds that the job may take.

        Raises:
            InfrastructureError: the process was lost.
        """
        from grader.child.protocol import MAX_FRAME

        frame = _read_until(reply, child, time_limit + GRACE, MAX_FRAME)
        is_killed_here = frame is None or len(frame) > MAX_FRAME or not is_readable(child, LINGER)
        if is_killed_here:
            _kill(child)
        try:
            code, milliseconds = map(int, self.control.recv(MESSAGE).split())
        except (OSError, ValueError) as error:
            raise self._lost_error() from error
        cpu = milliseconds / 1000
        is_over_limit = code == -signal.SIGKILL and not is_killed_here and cpu >= time_limit
        if frame is None or code == -signal.SIGXCPU or is_over_limit:
            return Unanswered("timeout", cpu=cpu)
        if len(frame) > MAX_FRAME:
            return Unanswered("crash", detail="it sent more than a reply may hold")
        outcome = _reply_in(frame, code)
        if isinstance(outcome, Unanswered):
            killed = not is_killed_here and code in SIGNALS_FROM_OUTSIDE
            return replace(outcome, killed=killed, cpu=cpu)
        return outcome

    def _lost_error(self) -> InfrastructureError:
        """Mark this process as spent, and return the error for the job with which it was lost."""
        self.is_spent = True
        return InfrastructureError("the warm process was lost and has been replaced: run the same command again.")


class SpawnedProcess(WarmProcess):
    """A process that answers jobs itself (anywhere); it must be replaced after a crash or a timeout."""

    def __init__(self, isolation: Isolation) -> None:
        """Start the process with pipes for jobs and replies, and a thread that reads the replies.

        Raises:
            InfrastructureError: the system refuses the process.
        """
        super().__init__(["pipe"], isolation, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.jobs: Any = self.popen.stdin
        self.replies: queue.Queue[bytearray | None] = queue.Queue()
        self.reader = threading.Thread(target=_pump, args=(self.popen.stdout, self.replies), daemon=True)
        self.reader.start()

    def close(self) -> None:
        """Kill the process and all that it started, and wait for the thread that reads its replies."""
        super().close()
        self.reader.join(LINGER)  # a thread that is kept waiting ends with this process
        with contextlib.suppress(OSError):
            self.jobs.close()

    def is_ready_within(self, seconds: float) -> bool | None:
        """Wait for the first frame.

        Return `True` once it is there, `False` if the stream has ended, and `None` if nothing came within `seconds`.
        """
        try:
            return self.replies.get(timeout=seconds) is not None
        except queue.Empty:
            return None

    def answer(self, job: Frame, time_limit: float, announce: Announce) -> Frame | Unanswered:
        """Have one job answered by the process itself, which is killed if it takes too long.

        Args:
            job: the job.
            time_limit: the seconds that the job may take; the process itself keeps to them, and is killed soon after.
            announce: called with a function that ends the job while it is running, and with `None` when it is over.

        Returns:
            The reply; how the job ended if the process ran out of time, was ended or crashed.
        """
        started, frame = time.monotonic(), None
        reply: Frame | Unanswered
        try:
            announce(self._kill_process)
            with contextlib.suppress(OSError):
                self.jobs.writelines(job.parts())
                self.jobs.flush()
                frame = self.replies.get(timeout=time_limit + GRACE)
        except queue.Empty:
            reply = Unanswered("timeout")
        else:
            reply = _reply_in(frame) if frame else Unanswered("crash", detail=self._ending() or OVERWRITTEN)
        finally:
            announce(None)
        self.is_spent |= isinstance(reply, Unanswered) or time.monotonic() - started >= time_limit
        return reply

    def _kill_process(self) -> None:
        """Kill the process, and mark it as spent, so that it gets no further job."""
        self.is_spent = True
        self.popen.kill()


class Closing:
    """A context that calls `close` at its end."""

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close this object."""
        self.close()

    def close(self) -> None:
        """Release what this object holds; each subclass says what."""
        raise NotImplementedError


def states_below(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the process id and the state of a process and of all its descendants; nothing where `/proc` is not known.

    The state is a letter as in `/proc/PID/stat`, such as `R` (running), `T` (stopped) or `Z` (ended).
    """
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            yield pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            waiting += children_of(pid)


def is_readable(fd: int, seconds: float) -> bool:
    """Return whether a file descriptor has something to read within `seconds`; not on Windows.

    A pidfd becomes readable when its process ends.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


def _could_not_start(why: str) -> InfrastructureError:
    """Return the error for a process that does not become ready; `why` is a clause: `it ended with exit code 1`."""
    return InfrastructureError(f"the worker process could not start: {why}. Run the same command again.")


def _command(arguments: Sequence[str], isolation: Isolation) -> list[str]:
    """Return the command that starts the warm process; in a sandbox, this package has another path.

    Args:
        arguments: the arguments of `grader.child.worker_process.main`.
        isolation: the isolation of the jobs.

    Raises:
        FileNotFoundError: the isolation is `box`, and bubblewrap, torch or numpy is not installed.
    """
    root = PACKAGES if isolation == "box" else str(PACKAGE.parent)
    run = "from grader.child.worker_process import main; main()"
    code = f"import gc, sys; gc.disable(); sys.path.insert(0, {root!r}); {run}"
    options = ["-c", code, *arguments]
    return box_command(options) if isolation == "box" else [sys.executable, "-I", *options]


def _environment(isolation: Isolation) -> dict[str, str]:
    """Return the environment of the warm process, all of which learner code can read.

    Of this process's own variables it has only those that Python needs to start in this isolation.
    """
    useful = KEPT if isolation == "none" else () if isolation == "box" else KEPT_STRICTLY
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    variables = {name: os.environ[name] for name in useful if name in os.environ}
    huge_pages = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # fewer page tables to copy at each fork
    return {**variables, **threads, **huge_pages, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}


def _reply_in(content: bytes | bytearray, code: int | None = None) -> Frame | Unanswered:
    """Return the reply that some bytes are; a crash if they are none, or no well-formed frame.

    Args:
        content: all bytes that the process sent.
        code: the exit code of the process, for the description of a crash; `None` if it has not ended.
    """
    from grader.child import protocol

    ending = "" if code is None else _exit_description(code)
    if not content:
        return Unanswered("crash", detail=ending)
    try:
        return protocol.unpack(content, protocol.MAX_REPLY_HEADER)
    except ProtocolError as error:
        return Unanswered("crash", detail=ending or str(error))


def _exit_description(code: int) -> str:
    """Describe an exit code; one below zero is the number of the signal that ended the process."""
    if code >= 0:
        return f"the process ended itself with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"the process was ended by the signal {names.get(-code, -code)}"


def _kill(pidfd: int) -> None:
    """Kill the process of a pidfd, if it has not ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def _pipe() -> tuple[int, int]:
    """Create a pipe, and return the descriptors of its reading and its writing end.

    It holds an honest reply in one piece, if the kernel allows that size: no process is woken twice.
    """
    import fcntl  # which Windows does not have

    ends = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE)
    return ends


def _read_until(reply: FileIO, child: int, seconds: float, most: int) -> bytes | None:
    """Return all that a child writes before it closes its pipe, or the first part if it writes more than `most` bytes.

    Args:
        reply: the pipe.
        child: a pidfd of the child.
        seconds: the seconds that the child may take. The time for which it waits for a processor on a busy machine does
            not count, nor does time in which this process stands still.
        most: the number of bytes after which reading ends.

    Returns:
        The bytes; `None` if the child's time is over before.
    """
    frame, waited = bytearray(), 0.0
    while len(frame) <= most:
        if seconds <= 0:
            before, waited = waited, _seconds_waited(child)
            seconds += waited - before
        if seconds <= 0:
            return None
        slice_, began = min(seconds, SLICE), time.monotonic()
        has_data = is_readable(reply.fileno(), slice_)
        seconds -= min(time.monotonic() - began, slice_)
        if has_data:
            part = reply.read(PIPE)
            if not part:
                break
            frame += part
    return bytes(frame)


def _seconds_waited(child: int) -> float:
    """Return for how many seconds a child has waited for a processor; 0 if it has ended or the kernel does not know.

    Args:
        child: a pidfd of the child.
    """
    with contextlib.suppress(OSError, IndexError):
        handle = Path(f"/proc/self/fdinfo/{child}").read_text()
        pid = next(line.split()[1] for line in handle.splitlines() if line.startswith("Pid:"))
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _pump(stream: Any, replies: queue.Queue[bytearray | None]) -> None:
    """Put each frame of a stream into a queue.

    At the stream's end, or at anything that is no frame, put `None`, and stop.
    """
    try:
        from grader.child import protocol  # numpy: not needed before the worker process has been started

        with stream, contextlib.suppress(ProtocolError, OSError, ValueError):  # the end of its replies, like any other
            while (frame := protocol.read_frame(stream)) is not None:
                replies.put(frame)
    finally:
        replies.put(None)
