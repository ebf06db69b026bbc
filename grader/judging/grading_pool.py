"""Grading processes: each reads, runs and judges what one student handed in, and takes nobody else along if it is lost.

The coordinator passes on where a submission lies, and reads records; it never looks into what learners wrote. A
grading process has a budget of processor time and memory for reading a submission, and one for each exercise: parsing,
diagnosis and words included. It sends the verdicts before it looks for mistakes. If it is lost, it is replaced; what
verdicts it sent stand, and what is left is tried once more, or says so. Whatever is raised ends that one submission.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.child.accident_limits import Memory
from grader.child.clock import time_of_job
from grader.child.linux_calls import PR_SET_PDEATHSIG, prctl
from grader.course import Course, CourseExercise
from grader.errors import InfrastructureError, describe_error
from grader.results import ExerciseResult, Status, exercise_from_json
from grader.sandbox.isolation import Isolation
from grader.sandbox.warm_process import Closing, states_below
from grader.sandbox.worker import Worker, start_worker, worker_mode
from grader.sandbox.worker_probe import probe
from grader.source.text import Files

from .lazy_grader import new_grader
from .verdicts import without_mistakes

if TYPE_CHECKING:
    from .grading import Grader

TICK = 1.0
PATIENCE = 2  # times as long as its jobs may take: of code that sleeps, a busy machine sees less time pass
ATTEMPTS = 2
MEMORY = 2 << 30  # bytes that judging may take beyond what a grading process has when it starts
READING_MEMORY = 1 << 30  # bytes that reading a submission may take, likewise
READING_TIME = 20.0  # seconds of processor time to read a submission: many times what the largest honest one takes
LONGEST_REASON = 200
AT_WORK = frozenset("RD")  # on a processor, waiting for one, or for a disk


@dataclass(frozen=True)
class Part:
    """What somebody handed in for one exercise.

    Args:
        exercise: its id.
        content: the bytes of its file, or the texts of a notebook's code cells.
        beside: the files in the same folder, which it may import.
    """

    exercise: str
    content: bytes | tuple[str, ...]
    beside: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What was read of one submission.

    Args:
        parts: what there is to judge.
        facts: what its record needs besides, as JSON values.
    """

    parts: tuple[Part, ...] = ()
    facts: Any = None


class Graded(NamedTuple):
    """One submission that is done.

    Args:
        key: what it was handed over under.
        results: one for each of its parts, in their order; fewer where `failure` says why.
        facts: what was read of it besides; `None` where nothing was.
        failure: why it could not be read, or not be judged to its end; empty if it was.
    """

    key: Any
    results: list[ExerciseResult]
    facts: Any = None
    failure: str = ""


Read = Callable[[Course, Any], Reading]  # in another process: it is handed over once, and each submission after it


def parts_as_given(course: Course, parts: Iterable[Part]) -> Reading:
    """Read a submission whose parts somebody else has read."""
    return Reading(tuple(parts))


@dataclass(eq=False)
class _Task:
    """One submission that is read and graded by one process.

    Args:
        left: the exercises whose results are still to come; `None` until it has been read.
        verdicts: on the exercise that comes next, without its mistakes; `None` until they are there.
    """

    key: Any
    submission: Any
    left: deque[str] | None = None
    results: list[ExerciseResult] = field(default_factory=list)
    facts: Any = None
    failure: str = ""
    attempts: int = 0
    verdicts: ExerciseResult | None = None

    @property
    def is_done(self) -> bool:
        return bool(self.failure) or (self.left is not None and not self.left)

    def add(self, result: ExerciseResult) -> None:
        """Keep the result of the next exercise."""
        assert self.left
        self.left.popleft()
        self.results.append(result)
        self.attempts, self.verdicts = 0, None

    @property
    def graded(self) -> Graded:
        return Graded(self.key, self.results, self.facts, self.failure)


class ReadingPool(Closing):
    """Processes that read submissions for somebody who must not be lost with one; they judge nothing.

    Args:
        course: whose exercises are looked for.
        processes: how many there are; each is started when there is something to read for it.
        read: reads one submission.
    """

    def __init__(self, course: Course, processes: int, read: Read) -> None:
        self.course, self.processes, self._read_one = course, processes, read
        self._running: list[_Process] = []

    def close(self) -> None:
        """Run nothing more, whatever is running now."""
        running, self._running = self._running, []
        _close_all(running)

    def read(self, submissions: Iterable[tuple[Any, Any]]) -> Iterator[Graded | None]:
        """What was read of each submission, under its key, when it is there; `None` where a second brought none."""
        waiting, again, refusals = iter(submissions), deque[_Task](), 0
        while True:
            try:
                self._start_missing()
            except Exception as error:  # no memory, or no more processes: those there are go on
                refusals += 1
                if not self._running and refusals >= ATTEMPTS:
                    says = f"No grading process can be started ({describe_error(error)[:LONGEST_REASON]})"
                    raise InfrastructureError(f"{says}: make room for more processes or memory.") from error
            else:
                refusals = 0
            for process in [process for process in self._running if process.task is None]:
                while process.task is None:
                    if not again and (following := next(waiting, None)) is not None:
                        again.append(_Task(*following))
                    if not again:
                        break
                    task = again.popleft()
                    try:
                        process.take(task)
                    except Exception as error:  # whatever it is about this submission, the others go on
                        process.task, task.failure = None, _grader_failed(error)
                        yield task.graded
            busy = [(process, process.task) for process in self._running if process.task is not None]
            if not busy and (self._running or not self.processes):
                return
            ready = wait([process.connection for process, _ in busy], TICK)
            done = list[Graded]()
            for process, task in busy:
                try:
                    done += self._advance(process, task, process.connection in ready, again)
                except Exception as error:
                    self._give_up(process, task, again)
                    done.append(Graded(task.key, task.results, task.facts, _grader_failed(error)))
            yield from done or (None,)

    def _start_missing(self) -> None:
        while len(self._running) < self.processes:
            self._running.append(self._new_process())

    def _new_process(self) -> _Process:
        return _Process(self.course, self._read_one)

    def _replace(self, process: _Process) -> int | None:
        """End a process, whose place another one will take; the exit code that it ended itself with, if it did."""
        if process in self._running:
            self._running.remove(process)
        with contextlib.suppress(Exception):  # it is nobody's any more, and the class goes on
            return process.close()
        return None

    def _give_up(self, process: _Process, task: _Task, again: deque[_Task]) -> None:
        """End a submission, whatever it was at, and the process that had it."""
        if task in again:
            again.remove(task)
        process.task = None
        if process in self._running:
            self._replace(process)

    def _advance(self, process: _Process, task: _Task, is_ready: bool, again: deque[_Task]) -> list[Graded]:
        """Hear what a process has to say of its submission; one that another process must end goes to `again`.

        Returns:
            The submission, if it is done.
        """
        if not is_ready and not process.is_frozen():
            return []
        message = process.receive() if is_ready else None
        if message is None or "failure" in message:
            self._lose(process, task, None if message is None else message["failure"])
        elif "exercises" in message:
            if task.left is None:  # else it was read once more, because the process before was lost
                task.left, task.facts = deque(message["exercises"]), message["facts"]
        elif not message["is_final"]:
            task.verdicts = exercise_from_json(message)
        else:
            self._enter(process, task, exercise_from_json(message))
        if task.is_done:
            process.task = None
            return [task.graded]
        if process not in self._running:
            again.append(task)
        return []

    def _enter(self, process: _Process, task: _Task, result: ExerciseResult) -> None:
        """Keep the result of the next exercise; where it could not be judged, a fresh process may do better."""
        if result.status == "error":
            self._replace(process)
            task.attempts += 1
            result = _with_verdicts(task, result, result.answers[0].message)
        if result.status != "error" or task.attempts == ATTEMPTS:
            task.add(result)

    def _lose(self, process: _Process, task: _Task, failure: str | None) -> None:
        """Note that a process was lost, or failed; after a second attempt its submission, or its exercise, says so.

        Args:
            failure: why it failed; `None` where it was lost.
        """
        code = self._replace(process)
        is_over = failure is None and code == -getattr(signal, "SIGPROF", 0)
        task.attempts += 1
        if task.left is None or failure is not None:
            if is_over or task.attempts == ATTEMPTS:  # more time would be spent as well
                task.failure = failure or _why_not_read(is_over, code)
            return
        why, status = _why_not_judged(is_over, code, self.course.policy.time_limit)
        result = _with_verdicts(task, self.course.find(task.left[0]).unread_result(why, status), why)
        if result.status != "error" or task.attempts == ATTEMPTS:
            task.add(result)


class GradingPool(ReadingPool):
    """Grading processes that are used as one.

    Args:
        course: whose declarations are graded by.
        isolation: what learner code is kept in.
        processes: how many there are; their workers start now, beside the import of torch.
        seed: where every trial comes from; drawn afresh if not given.
        read: reads one submission; without it, a submission is its parts.
    """

    def __init__(
        self, course: Course, isolation: Isolation, processes: int, seed: int | None = None, read: Read = parts_as_given
    ) -> None:
        super().__init__(course, processes, read)
        self.isolation = isolation
        self._warm: list[Worker] = []
        try:
            for _ in range(processes if worker_mode(isolation) == "fork" else 0):
                self._warm.append(start_worker(isolation))
            self.grader = new_grader(seed)
            self.seed = self.grader.seed
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Run nothing more, whatever is running now."""
        running, warm = self._running, self._warm
        self._running, self._warm = [], []
        _close_all([*running, *warm])

    def probe(self) -> None:
        """Have a worker answer a small job, before anything is read.

        Raises:
            NoGradedRuns: it cannot; says why.
        """
        if self._warm:
            probe(self._warm[-1])
        else:
            with start_worker(self.isolation) as worker:
                probe(worker)

    def prepare(self, exercises: Iterable[CourseExercise]) -> None:
        """Make the references of these exercises, once for all processes; those that lack some are replaced."""
        if self.grader.prepare(exercises, isolated=self.isolation != "none"):
            super().close()

    def grade(self, submissions: Iterable[tuple[Any, Any]]) -> Iterator[Graded | None]:
        """What each submission came to, under its key, when it is there; `None` where a second brought none."""
        return self.read(submissions)

    def _new_process(self) -> _Process:
        worker = self._warm.pop() if self._warm else None
        try:
            return _Process(self.course, self._read_one, _Judging(self.isolation, self.grader, worker))
        except BaseException:
            if worker is not None:  # nobody else would end it
                worker.close()
            raise


class _Judging(NamedTuple):
    """What a process judges with; it starts a worker of its own if it is given none, and imports torch for a seed."""

    isolation: Isolation
    grader: Grader | int
    worker: Worker | None


class _Process:
    """One reading or grading process as the coordinator sees it.

    Args:
        judging: what it judges with; a process that only reads has nothing.
    """

    def __init__(self, course: Course, read: Read, judging: _Judging | None = None) -> None:
        forks = sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        self.task: _Task | None = None
        self.worker, self.limit, self.heard = judging and judging.worker, course.policy.time_limit, 0.0
        if not forks:  # what is declared cannot be sent, only inherited
            course = replace(course, _specs={})
            judging = judging and _Judging(judging.isolation, judging.grader.seed, None)  # type: ignore[union-attr]
        self.connection, theirs = context.Pipe()
        try:
            self.process = context.Process(target=_serve, args=(theirs, course, read, judging), daemon=True)
            self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def take(self, task: _Task) -> None:
        """Hand over a submission, and how many of its results are there."""
        self.task, self.heard = task, time.monotonic()
        message = pickle.dumps((task.submission, len(task.results)))
        with contextlib.suppress(OSError):  # it has ended: that is seen when it should answer
            self.connection.send_bytes(message)

    def receive(self) -> dict[str, Any] | None:
        """The next message; `None` where it has ended."""
        self.heard = time.monotonic()
        try:
            message: dict[str, Any] = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        return message

    def is_frozen(self) -> bool:
        """It should have answered long ago, and neither computes nor waits its turn on a busy machine."""
        if time.monotonic() <= self.heard + PATIENCE * time_of_job(self.limit) + TICK:
            return False
        processes = [self.process.pid, self.worker.pid if self.worker is not None else 0]
        return not any(state in AT_WORK for pid in processes for _, state in states_below(pid))

    def close(self) -> int | None:
        """End the process and its worker; the exit code that it ended itself with, `None` where it had not ended."""
        with ExitStack() as stack:
            if self.worker is not None:
                stack.callback(self.worker.close)
            stack.callback(self.process.join)
            stack.callback(self.process.kill)
            self.connection.close()
            self.process.join(0.1 if self.task is not None else 0)  # whoever lost its task may still say how
            code: int | None = self.process.exitcode
        return code


def _close_all(closed: Sequence[_Process | Worker]) -> None:
    """Close each of them, whatever becomes of the others."""
    with ExitStack() as stack:
        for each in closed:
            stack.callback(each.close)


def _with_verdicts(task: _Task, result: ExerciseResult, why: str) -> ExerciseResult:
    """The verdicts that were there before the process was lost, if there are any."""
    return result if task.verdicts is None else without_mistakes(task.verdicts, why)


def _why_not_read(is_over: bool, code: int | None) -> str:
    if is_over:
        return f"reading it took more than {READING_TIME:g} seconds of processor time: see what was handed in"
    return f"the process that read it was lost ({_end(code)})"


def _why_not_judged(is_over: bool, code: int | None, limit: float) -> tuple[str, Status]:
    """Why an exercise was not judged, and what that makes of it."""
    if is_over:
        return f"judging it took more than {limit:g} seconds of processor time", "failed"
    return f"the grading process was lost ({_end(code)}): run the same command again", "error"


def _end(code: int | None) -> str:
    return "it did not answer any more" if code is None else f"it ended with {code}"


def _grader_failed(error: BaseException) -> str:
    """What became of a submission, and at which file, if that is known."""
    at = "".join(f" at {note}" for note in getattr(error, "__notes__", ())[:1])
    return f"the grader failed{at} ({describe_error(error)[:LONGEST_REASON]})"


def _serve(connection: Connection, course: Course, read: Read, judging: _Judging | None) -> None:
    """Read and judge what comes over a connection, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator ends this process
    for name in ("SIGTERM", "SIGHUP"):  # which the coordinator hears in a way of its own
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whenever the coordinator ends, so does this process
    _limit_memory(MEMORY)
    with contextlib.suppress(Exception), ExitStack() as stack:  # the coordinator has ended, or will see that this has
        judge = judging and _Judge(course, connection, judging, stack)
        while True:
            data = connection.recv_bytes()
            try:
                submission, done = pickle.loads(data)
                reading = _read(course, read, submission)
                names = [part.exercise for part in reading.parts] if judge else []
                _send(connection, {"exercises": names, "facts": reading.facts})
                if judge and names[done:]:
                    judge.judge(reading.parts[done:])
            except MemoryError:
                _send(connection, {"failure": "reading it takes more memory than there is for one submission"})
            except Exception as error:  # one submission never stops the rest
                _send(connection, {"failure": _grader_failed(error)})


def _read(course: Course, read: Read, submission: Any) -> Reading:
    """Read a submission, within the budget for that."""
    with _budget(READING_TIME), _room(READING_MEMORY):
        return read(course, submission)


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())


class _Judge:
    """Judges exercises in a grading process, and says what they came to."""

    def __init__(self, course: Course, connection: Connection, judging: _Judging, stack: ExitStack) -> None:
        self.course, self.connection, self.isolation, self.stack = course, connection, judging.isolation, stack
        self.grader = new_grader(judging.grader) if isinstance(judging.grader, int) else judging.grader
        self.worker = judging.worker

    def judge(self, parts: Iterable[Part]) -> None:
        """Judge the parts of a submission, and send each result."""
        submission = [(self.course.find(part.exercise), part.content, part.beside) for part in parts]
        limit = self.course.policy.time_limit
        settled: dict[str, ExerciseResult] = {}
        with _budget(limit), contextlib.suppress(Exception):  # whatever it is, each exercise alone may do better
            self.worker = self.worker or self.stack.enter_context(start_worker(self.isolation))
            together = self.grader.together(submission, self.worker)
            settled = dict(together.settled(together.run()))
        for exercise, content, beside in submission:
            with _budget(limit):
                message = self._judged(settled, exercise, content, beside)
            self.connection.send_bytes(message)

    def _judged(
        self,
        settled: dict[str, ExerciseResult],
        exercise: CourseExercise,
        content: bytes | tuple[str, ...],
        beside: Files,
    ) -> bytes:
        """The message with an exercise's result."""
        try:
            self.worker = self.worker or self.stack.enter_context(start_worker(self.isolation))
            result = settled.get(exercise.id) or self.grader.grade(
                exercise, content, self.worker, beside=beside, on_verdicts=self._send_verdicts
            )
            return _packed(result)
        except MemoryError:
            says = "judging it takes more memory than there is for one exercise"
            return _packed(exercise.unread_result(says))  # whose doing that is, nobody can know
        except Exception as error:  # one exercise never stops the rest
            return _packed(exercise.unread_result(f"{_grader_failed(error)}: run the same command again"))

    def _send_verdicts(self, result: ExerciseResult) -> None:
        """Send the verdicts before mistakes are looked for, which may take this process."""
        self.connection.send_bytes(_packed(result, is_final=False))


def _packed(result: ExerciseResult, *, is_final: bool = True) -> bytes:
    record = {**result.record, "printed": result.printed, "notes": result.notes, "is_final": is_final}
    return json.dumps(record).encode()


@contextlib.contextmanager
def _budget(seconds: float) -> Iterator[None]:
    """End this process if it computes for so long; what its worker's children take is not its own."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextlib.contextmanager
def _room(size: int) -> Iterator[None]:
    """Let this process take only so many bytes more than it has, and then as many as before."""
    before = _limit_memory(size)
    try:
        yield
    finally:
        if before is not None and sys.platform == "linux":
            import resource

            resource.setrlimit(resource.RLIMIT_AS, before)


def _limit_memory(size: int) -> tuple[int, int] | None:
    """Let this process take only so many bytes more than it has; the limits that it had before."""
    if sys.platform != "linux":
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    most, hard = Memory.in_use().addresses + size, before[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    return before
