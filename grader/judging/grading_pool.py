"""Grading processes: each reads, runs and judges what one student handed in, and takes nobody else along if it is lost.

The coordinator passes on where a submission lies, and reads records; it never looks into what learners wrote. A
grading process has a budget of processor time and memory for reading a submission, and one for each exercise: parsing,
mistake and words included. It sends the verdicts before it looks for mistakes. If it is lost, it is replaced; what
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
from grader.course.course import Course, CourseExercise
from grader.errors import InfrastructureError, describe_error
from grader.results.records import ExerciseResult, Status, exercise_from_json
from grader.sandbox.isolation import Isolation
from grader.sandbox.source_text import Part
from grader.sandbox.warm_process import Closing, states_below
from grader.sandbox.worker import Worker, start_worker, worker_mode
from grader.sandbox.worker_probe import probe

from . import new_grader

if TYPE_CHECKING:
    from .grading import Grader

TICK = 1.0
PATIENCE = 2  # times as long as its jobs may take: of code that sleeps, a busy machine sees less time pass
ATTEMPTS = 2
MEMORY = 2 << 30  # bytes that judging may take beyond what a grading process has when it starts
READING_MEMORY = 1 << 30  # bytes that reading a submission may take, likewise
READING_TIME = 20.0  # seconds of processor time to read a submission: many times what the largest honest one takes
SEARCH_TIME = 30.0  # seconds of processor time to look for mistakes: counted work ends it long before, on any machine
LONGEST_REASON = 200
AT_WORK = frozenset("RD")  # on a processor, waiting for one, or for a disk


@dataclass(frozen=True)
class Reading:
    """Hold what a `Read` function read of one submission.

    Args:
        parts: the answers to judge.
        facts: what else its record needs, as JSON values.
    """

    parts: tuple[Part, ...] = ()
    facts: Any = None


class Graded(NamedTuple):
    """Hold the outcome of one submission.

    Args:
        key: the key under which the caller submitted it.
        results: one for each of its parts, in their order; fewer if `failure` is set.
        facts: `Reading.facts` of the submission; `None` if it could not be read.
        failure: why it could not be read, or not be judged completely; empty if it was.
    """

    key: Any
    results: list[ExerciseResult]
    facts: Any = None
    failure: str = ""


Read = Callable[[Course, Any], Reading]  # in another process: it is handed over once, and each submission after it


def parts_as_given(course: Course, parts: Iterable[Part]) -> Reading:
    """Return the parts of a submission as a `Reading`, for a caller that has read the submission itself."""
    return Reading(tuple(parts))


@dataclass(eq=False)
class _Task:
    """Track one submission that is read and graded by one process.

    Args:
        key: identifies the outcome for the caller.
        submission: what the `Read` function is called with.
        left: the ids of the exercises whose results are still to come; `None` until the submission has been read.
        results: the results so far, in the order of the exercises.
        facts: `Reading.facts`; `None` until the submission has been read.
        failure: why the submission could not be read or judged; empty if there is no failure.
        attempts: how often reading the submission, or judging the current exercise, has failed.
        verdicts: the verdicts on the first exercise in `left`, without mistakes; `None` until they are received.
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
        """Return whether the submission failed, or has a result for each of its exercises."""
        return bool(self.failure) or (self.left is not None and not self.left)

    def add(self, result: ExerciseResult) -> None:
        """Append the result of the current exercise; the next one becomes the current one, with no attempt made."""
        assert self.left
        self.left.popleft()
        self.results.append(result)
        self.attempts, self.verdicts = 0, None

    @property
    def graded(self) -> Graded:
        """Return the outcome of the submission: its results, facts and failure under its key."""
        return Graded(self.key, self.results, self.facts, self.failure)


class ReadingPool(Closing):
    """Read submissions in other processes, so that a crash while reading costs one submission; judge nothing.

    Args:
        course: the course whose exercises are looked for.
        processes: how many processes there are; each is started when there is a submission for it to read.
        read: reads one submission.
    """

    def __init__(self, course: Course, processes: int, read: Read) -> None:
        """Begin without any process; up to `processes` are started when submissions are read, and call `read`."""
        self.course, self.processes, self._read_one = course, processes, read
        self._running: list[_Process] = []

    def close(self) -> None:
        """End all processes, including those at work."""
        running, self._running = self._running, []
        _close_all(running)

    def read(self, submissions: Iterable[tuple[Any, Any]]) -> Iterator[Graded | None]:
        """Yield the outcome of each submission as soon as it is read.

        Args:
            submissions: pairs of a key, which identifies the outcome, and the submission, which is passed to `read`.

        Returns:
            The outcomes, in the order in which they finish; `None` whenever `TICK` seconds pass without one.

        Raises:
            InfrastructureError: no process can be started.
        """
        waiting, queue, refusals = iter(submissions), deque[_Task](), 0
        while True:
            try:
                self._start_missing()
            except Exception as error:  # no memory, or no more processes: those there are go on
                refusals += 1
                if not self._running and refusals >= ATTEMPTS:
                    reason = f"No grading process can be started ({describe_error(error)[:LONGEST_REASON]})"
                    raise InfrastructureError(f"{reason}: make room for more processes or memory.") from error
            else:
                refusals = 0
            for process in [process for process in self._running if process.task is None]:
                while process.task is None:
                    if not queue and (next_submission := next(waiting, None)) is not None:
                        queue.append(_Task(*next_submission))
                    if not queue:
                        break
                    task = queue.popleft()
                    try:
                        process.take(task)
                    except Exception as error:  # whatever it is about this submission, the others go on
                        process.task, task.failure = None, _grader_fault(error)
                        yield task.graded
            busy = [(process, process.task) for process in self._running if process.task is not None]
            if not busy and (self._running or not self.processes):
                return
            ready = wait([process.connection for process, _ in busy], TICK)
            done = list[Graded]()
            for process, task in busy:
                try:
                    done += self._process_message(process, task, process.connection in ready, queue)
                except Exception as error:
                    self._give_up(process, task, queue)
                    done.append(Graded(task.key, task.results, task.facts, _grader_fault(error)))
            yield from done or (None,)

    def _start_missing(self) -> None:
        """Start processes until there are as many as were asked for."""
        while len(self._running) < self.processes:
            self._running.append(self._new_process())

    def _new_process(self) -> _Process:
        """Start and return a process that reads submissions."""
        return _Process(self.course, self._read_one)

    def _close_process(self, process: _Process) -> int | None:
        """End a process and take it out of the pool, where a new one will take its place.

        Returns:
            The exit code, if the process had ended by itself; `None` if it had not, or could not be closed.
        """
        if process in self._running:
            self._running.remove(process)
        with contextlib.suppress(Exception):  # it is nobody's any more, and the class goes on
            return process.close()
        return None

    def _give_up(self, process: _Process, task: _Task, queue: deque[_Task]) -> None:
        """Close the process of a submission that cannot be continued, and take the submission out of `queue`."""
        if task in queue:
            queue.remove(task)
        process.task = None
        if process in self._running:
            self._close_process(process)

    def _process_message(self, process: _Process, task: _Task, is_ready: bool, queue: deque[_Task]) -> list[Graded]:
        """Take in one message of a process about its submission, or notice that the process was lost.

        Args:
            process: the process.
            task: the submission that the process reads and judges.
            is_ready: whether the process has sent a message, or ended.
            queue: the submissions to hand out next; `task` is appended if another process must continue it.

        Returns:
            The outcome of the submission as the only entry, if it is done; otherwise an empty list.
        """
        if not is_ready and not process.is_frozen():
            return []
        message = process.receive() if is_ready else None
        if message is None or "failure" in message:
            self._handle_loss(process, task, None if message is None else message["failure"])
        elif "exercises" in message:
            if task.left is None:  # else it was read once more, because the process before was lost
                task.left, task.facts = deque(message["exercises"]), message["facts"]
        elif not message["is_final"]:
            task.verdicts = exercise_from_json(message)
        else:
            self._accept_result(process, task, exercise_from_json(message))
        if task.is_done:
            process.task = None
            return [task.graded]
        if process not in self._running:
            queue.append(task)
        return []

    def _accept_result(self, process: _Process, task: _Task, result: ExerciseResult) -> None:
        """Store the result of a submission's current exercise, unless it is an error and another attempt is due.

        After an error, the process is closed. If no other attempt is due, verdicts that were sent before count as the
        result.
        """
        if result.status != "error":
            task.add(result)
            return
        self._close_process(process)
        task.attempts += 1
        if task.attempts == ATTEMPTS:
            task.add(_sent_verdicts_or(task, result, result.answers[0].message))

    def _handle_loss(self, process: _Process, task: _Task, failure: str | None) -> None:
        """Close a process that was lost or failed, and record the failure if no other attempt is due.

        It is the failure of the submission while that is read, and then of the exercise that was judged.

        Args:
            process: the process.
            task: the submission that the process was reading or judging.
            failure: the failure that the process reported; `None` if the process was lost.
        """
        code = self._close_process(process)
        is_timeout = failure is None and code == -getattr(signal, "SIGPROF", 0)
        task.attempts += 1
        is_last = is_timeout or task.attempts == ATTEMPTS  # after a timeout, as much time would be spent again
        if task.left is None or failure is not None:
            if is_last:
                task.failure = failure or _why_not_read(is_timeout, code)
            return
        if is_last:
            limit = self.course.policy.time_limit if task.verdicts is None else SEARCH_TIME
            why, status = _why_not_judged(is_timeout, code, limit)
            task.add(_sent_verdicts_or(task, self.course.find(task.left[0]).unread_result(why, status), why))


class GradingPool(ReadingPool):
    """Read, run and judge submissions in several processes.

    Args:
        course: the course whose exercises are graded.
        isolation: how learner code is isolated.
        processes: how many processes there are; their workers start at once, while torch is imported here.
        seed: the seed of every trial; drawn at random if not given.
        read: reads one submission; without it, a submission is an iterable of its parts.
    """

    def __init__(
        self, course: Course, isolation: Isolation, processes: int, seed: int | None = None, read: Read = parts_as_given
    ) -> None:
        """Start the workers, import torch, and draw a random seed if `seed` is `None`.

        Args:
            course: the course.
            isolation: the isolation of learner code.
            processes: how many processes grade at the same time.
            seed: the seed of every trial.
            read: reads a submission; called in a process of the pool.
        """
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
        """End all processes and workers, including those at work."""
        running, warm = self._running, self._warm
        self._running, self._warm = [], []
        _close_all([*running, *warm])

    def probe(self) -> None:
        """Check that a worker can answer a small job, before anything is read.

        Raises:
            NoGradedRuns: no worker can; the message gives the reason.
        """
        if self._warm:
            probe(self._warm[-1])
        else:
            with start_worker(self.isolation) as worker:
                probe(worker)

    def prepare(self, exercises: Iterable[CourseExercise]) -> None:
        """Compute the references of these exercises once, for all processes to inherit; end processes that lack any."""
        if self.grader.prepare(exercises, isolated=self.isolation != "none"):
            super().close()

    def grade(self, submissions: Iterable[tuple[Any, Any]]) -> Iterator[Graded | None]:
        """Yield the outcome of each submission as soon as it is graded.

        Args:
            submissions: pairs of a key, which identifies the outcome, and the submission, which is passed to `read`.

        Returns:
            The outcomes, in the order in which they finish; `None` whenever `TICK` seconds pass without one.

        Raises:
            InfrastructureError: no process can be started.
        """
        return self.read(submissions)

    def _new_process(self) -> _Process:
        """Start and return a process that reads and judges, with a worker that was started before if there is one."""
        worker = self._warm.pop() if self._warm else None
        try:
            return _Process(self.course, self._read_one, _JudgingSetup(self.isolation, self.grader, worker))
        except BaseException:
            if worker is not None:  # nobody else would end it
                worker.close()
            raise


class _JudgingSetup(NamedTuple):
    """Hold what a process needs for judging.

    Args:
        isolation: how learner code is isolated.
        grader: the grader to inherit; or a seed, from which the process makes its own, importing torch.
        worker: the worker to run learner code in; `None` if the process is to start one.
    """

    isolation: Isolation
    grader: Grader | int
    worker: Worker | None


class _Process:
    """Start, feed and end one reading or grading process, on the coordinator's side.

    Args:
        course: the course.
        read: reads a submission.
        judging: what it judges with; `None` for a process that only reads.
    """

    def __init__(self, course: Course, read: Read, judging: _JudgingSetup | None = None) -> None:
        """Start the process, with a pipe for messages to and from it.

        Args:
            course: the course.
            read: reads a submission.
            judging: what the process needs to judge submissions; `None` for a process that only reads them.
        """
        forks = sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        self.task: _Task | None = None
        self.worker, self.limit, self.heard = judging and judging.worker, course.policy.time_limit, 0.0
        if not forks:  # what is declared cannot be sent, only inherited
            course = replace(course, _specs={})
            judging = judging and _JudgingSetup(judging.isolation, judging.grader.seed, None)  # type: ignore[union-attr]
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
        """Send a submission to the process, with the number of its exercises that already have a result."""
        self.task, self.heard = task, time.monotonic()
        message = pickle.dumps((task.submission, len(task.results)))
        with contextlib.suppress(OSError):  # it has ended: that is seen when it should answer
            self.connection.send_bytes(message)

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message and return it; `None` if the process has ended.

        Returns:
            What `_serve` or `_Judge` has sent, as JSON values: "exercises" and "facts" of a submission that was read,
            a result or verdicts, or a "failure".
        """
        self.heard = time.monotonic()
        try:
            message: dict[str, Any] = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        return message

    def is_frozen(self) -> bool:
        """Return whether an answer is overdue, and neither the process nor its worker is running or runnable."""
        if time.monotonic() <= self.heard + PATIENCE * time_of_job(self.limit) + TICK:
            return False
        processes = [self.process.pid, self.worker.pid if self.worker is not None else 0]
        return not any(state in AT_WORK for pid in processes for _, state in states_below(pid))

    def close(self) -> int | None:
        """End the process and its worker.

        Returns:
            The exit code, if the process had ended by itself; else `None`.
        """
        with ExitStack() as stack:
            if self.worker is not None:
                stack.callback(self.worker.close)
            stack.callback(self.process.join)
            stack.callback(self.process.kill)
            self.connection.close()
            self.process.join(0.1 if self.task is not None else 0)  # whoever lost its task may still say how
            code: int | None = self.process.exitcode
        return code


def _close_all(processes: Sequence[_Process | Worker]) -> None:
    """Close each of the processes, even if closing one raises; the exception is raised again at the end."""
    with ExitStack() as stack:
        for running in processes:
            stack.callback(running.close)


def _sent_verdicts_or(task: _Task, result: ExerciseResult, why: str) -> ExerciseResult:
    """Return the result of an exercise whose process was lost: the verdicts that were sent before, else `result`.

    Args:
        task: the submission; it holds the verdicts that were sent on its current exercise, if any.
        result: the result to return if no verdicts were sent.
        why: why no mistakes were found, for a note in the result with the verdicts.
    """
    return result if task.verdicts is None else task.verdicts.without_mistakes(why)


def _why_not_read(is_timeout: bool, code: int | None) -> str:
    """Return why a submission could not be read.

    Args:
        is_timeout: whether the process used up its processor time.
        code: the exit code of the process; `None` if it did not end by itself.
    """
    if is_timeout:
        return f"reading it took more than {READING_TIME:g} seconds of processor time: see what was handed in"
    return f"the process that read it was lost ({_exit_phrase(code)})"


def _why_not_judged(is_timeout: bool, code: int | None, limit: float) -> tuple[str, Status]:
    """Return why an exercise was not judged, and the status that it gets.

    Args:
        is_timeout: whether the process was ended because it took too much processor time.
        code: the exit code of the process; `None` if it did not end by itself.
        limit: the processor time that it could take, in seconds.
    """
    if is_timeout:
        return f"judging it took more than {limit:g} seconds of processor time", "failed"
    return f"the grading process was lost ({_exit_phrase(code)}): run the same command again", "error"


def _exit_phrase(code: int | None) -> str:
    """Return how a process with this exit code ended, as a clause; `None` stands for a process that does not answer."""
    return "it did not answer any more" if code is None else f"it ended with {code}"


def _grader_fault(error: BaseException) -> str:
    """Return the sentence that reports a fault of the grader, with the file that it arose at if that is known."""
    at = "".join(f" at {note}" for note in getattr(error, "__notes__", ())[:1])
    return f"the grader failed{at} ({describe_error(error)[:LONGEST_REASON]})"


def _serve(connection: Connection, course: Course, read: Read, judging: _JudgingSetup | None) -> None:
    """Read and judge each submission that arrives over a connection, until it is closed; the main loop of a process."""
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
                _send(connection, {"failure": _grader_fault(error)})


def _read(course: Course, read: Read, submission: Any) -> Reading:
    """Return what `read` makes of a submission, within `READING_TIME` and `READING_MEMORY`.

    Raises:
        MemoryError: reading takes more memory. A process that takes more time is ended by a signal.
    """
    with _time_limit(READING_TIME), _memory_limit(READING_MEMORY):
        return read(course, submission)


def _send(connection: Connection, message: dict[str, Any]) -> None:
    """Send a message to the coordinator as JSON."""
    connection.send_bytes(json.dumps(message).encode())


class _Judge:
    """Judge exercises in a grading process and send their results to the coordinator.

    Args:
        course: the course.
        connection: the pipe to the coordinator.
        judging: the isolation, the grader or its seed, and a worker if one was started before.
        stack: closes a worker that this object starts when the process ends.
    """

    def __init__(self, course: Course, connection: Connection, judging: _JudgingSetup, stack: ExitStack) -> None:
        """Make the grader, unless one is inherited from the process that forked this one.

        A missing worker is started at the first job; `stack` closes it at the end.
        """
        self.course, self.connection, self.isolation, self.stack = course, connection, judging.isolation, stack
        self.grader = new_grader(judging.grader) if isinstance(judging.grader, int) else judging.grader
        self.worker = judging.worker

    def judge(self, parts: Iterable[Part]) -> None:
        """Judge the parts of a submission, and send a result for each.

        They are run in one combined job; those for which it gives no result are run alone.
        """
        parts, limit = list(parts), self.course.policy.time_limit
        known_results: dict[str, ExerciseResult] = {}
        with _time_limit(limit), contextlib.suppress(Exception):  # whatever it is, each exercise alone may do better
            self.worker = self.worker or self.stack.enter_context(start_worker(self.isolation))
            together = self.grader.together(self.course, parts, self.worker)
            known_results = dict(together.results_of(together.run()))
        for part in parts:
            with _time_limit(limit):
                message = self._judge_part(part, known_results)
            self.connection.send_bytes(message)

    def _judge_part(self, part: Part, known_results: dict[str, ExerciseResult]) -> bytes:
        """Return the message with the result of the answer to one exercise, which is judged if it has no result yet.

        Args:
            part: the answer.
            known_results: by exercise id, the results of the combined job.
        """
        exercise = self.course.find(part.exercise)
        try:
            self.worker = self.worker or self.stack.enter_context(start_worker(self.isolation))
            result = known_results.get(exercise.id) or self.grader.grade(
                exercise, part.content, self.worker, beside=part.beside, on_verdicts=self._send_verdicts
            )
            return _encoded_result(result)
        except MemoryError:
            reason = "judging it takes more memory than there is for one exercise"
            return _encoded_result(exercise.unread_result(reason))  # whose doing that is, nobody can know
        except Exception as error:  # one exercise never stops the rest
            return _encoded_result(exercise.unread_result(f"{_grader_fault(error)}: run the same command again"))

    def _send_verdicts(self, result: ExerciseResult) -> None:
        """Send a result in which mistakes are not yet searched for, because the search may cost this process its life.

        The search has a time limit of its own: on a slow or busy machine a record must not lack what it has on another.
        """
        self.connection.send_bytes(_encoded_result(result, is_final=False))
        _limit_time(SEARCH_TIME)


def _encoded_result(result: ExerciseResult, *, is_final: bool = True) -> bytes:
    """Return a result as the bytes of a message; `is_final` is false for verdicts whose mistakes are not yet known."""
    record = {**result.record, "printed": result.printed, "notes": result.notes, "is_final": is_final}
    return json.dumps(record).encode()


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """End this process if it uses `seconds` of processor time inside the block; its worker's time does not count."""
    _limit_time(seconds)
    try:
        yield
    finally:
        _limit_time(0)


def _limit_time(seconds: float) -> None:
    """End this process once it has used `seconds` more of processor time; 0 lifts the limit.

    Nothing is done where the system has no such timer.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


@contextlib.contextmanager
def _memory_limit(size: int) -> Iterator[None]:
    """Limit this process to `size` bytes more than it uses now, inside the block."""
    previous_limits = _limit_memory(size)
    try:
        yield
    finally:
        if previous_limits is not None and sys.platform == "linux":
            import resource

            resource.setrlimit(resource.RLIMIT_AS, previous_limits)


def _limit_memory(size: int) -> tuple[int, int] | None:
    """Limit this process to `size` bytes more than it uses now; return the limits before, `None` off Linux.

    Returns:
        The previous soft and hard limit of the address space, in bytes.
    """
    if sys.platform != "linux":
        return None
    import resource

    previous_limits = resource.getrlimit(resource.RLIMIT_AS)
    soft, hard = Memory.in_use().addresses + size, previous_limits[1]
    resource.setrlimit(resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    return previous_limits
