"""Grading processes: each runs and judges what one student handed in, and takes nobody else along if it is lost.

This process only passes bytes on and reads records; it never looks into what learners wrote. A grading process has a
budget of processor time and memory for each exercise, parsing, diagnosis and words included. It sends the
verdicts before it looks for mistakes. If it is lost, it is replaced; verdicts that it had sent stand, and an exercise
without them is tried once more, or says so.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from grader.child.accident_limits import Memory
from grader.child.linux_calls import PR_SET_PDEATHSIG, prctl
from grader.course import Course, CourseExercise
from grader.results import ExerciseResult, Status, exercise_from_json
from grader.sandbox.isolation import Isolation
from grader.sandbox.warm_process import Closing, states_below
from grader.sandbox.worker import Worker, start_worker, worker_mode
from grader.source.text import Content, Files

from .lazy_grader import new_grader
from .verdicts import without_mistakes

if TYPE_CHECKING:
    from .grading import Grader

TICK = 1.0
ATTEMPTS = 2
MEMORY = 2 << 30  # bytes that judging may take beyond what a grading process has when it starts
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


@dataclass
class _Task:
    """The parts of one submission that are graded by one process, one after the other."""

    key: Any
    left: deque[Part]
    results: list[ExerciseResult] = field(default_factory=list)
    attempts: int = 0
    verdicts: ExerciseResult | None = None  # of the part that comes next, without its mistakes


class GradingPool(Closing):
    """Grading processes that are used as one.

    Args:
        course: whose declarations are graded by.
        isolation: what learner code is kept in.
        processes: how many there are; their workers start now, beside the import of torch.
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, course: Course, isolation: Isolation, processes: int, seed: int | None = None) -> None:
        self.course, self.isolation = course, isolation
        self._running: list[_GradingProcess] = []
        self._warm: list[Worker] = []
        try:
            for _ in range(processes if worker_mode(isolation) == "fork" else 0):
                self._warm.append(start_worker(isolation))
            self.processes, self.grader = processes, new_grader(seed)
            self.seed = self.grader.seed
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Run nothing more, whatever is running now."""
        for process in self._running:
            process.close()
        for worker in self._warm:
            worker.close()
        self._running, self._warm = [], []

    def prepare(self, exercises: Iterable[CourseExercise]) -> None:
        """Make the references of these exercises, once for all processes; those that lack some are replaced."""
        if self.grader.prepare(exercises, isolated=self.isolation != "none"):
            for process in self._running:
                process.close()
            self._running = []

    def grade(
        self, submissions: Iterable[tuple[Any, Sequence[Part]]]
    ) -> Iterator[tuple[Any, list[ExerciseResult]] | None]:
        """Each submission's results under its key when they are there, in the order of its parts.

        `None` comes where a second brought none.
        """
        tasks, again = (_Task(key, deque(parts)) for key, parts in submissions), deque[_Task]()
        while True:
            for process in self._idle():
                while (task := again.popleft() if again else next(tasks, None)) and not task.left:
                    yield task.key, []
                if task is not None:
                    process.take(task)
            busy = [(process, process.task) for process in self._running if process.task is not None]
            if not busy:
                return
            ready = wait([process.connection for process, _ in busy], TICK)
            for process, task in busy:
                self._advance(process, task, process.connection in ready, again)
            finished = [(task.key, task.results) for _, task in busy if not task.left]
            yield from finished or (None,)

    def _idle(self) -> list[_GradingProcess]:
        """The processes that have nothing to do, of as many as there should be."""
        while len(self._running) < self.processes:
            worker = self._warm.pop() if self._warm else None
            self._running.append(_GradingProcess(self.course, self.isolation, self.grader, worker))
        return [process for process in self._running if process.task is None]

    def _advance(self, process: _GradingProcess, task: _Task, is_ready: bool, again: deque[_Task]) -> None:
        """Hear what a process has to say of its submission; one that another process must end goes to `again`."""
        if not is_ready and not process.is_frozen():
            return
        found, is_final = process.receive() if is_ready else (None, True)
        if not is_final:
            task.verdicts = found
            return
        if found is None or found.status == "error":  # whatever it was, a fresh process may do better
            self._running.remove(process)
            why, status = process.close()
            if task.verdicts is not None:
                found = without_mistakes(task.verdicts, why)
            found = found or self.course.find(task.left[0].exercise).unread_result(why, status)
            task.attempts += 1
        if found.status != "error" or task.attempts == ATTEMPTS:
            task.results.append(found)
            task.left.popleft()
            task.attempts, task.verdicts = 0, None
        if not task.left:
            process.task = None
        elif process not in self._running:
            again.append(task)


class _GradingProcess:
    """One grading process as the coordinator sees it; it starts a worker of its own if it is given none."""

    def __init__(self, course: Course, isolation: Isolation, grader: Grader, worker: Worker | None) -> None:
        forks = sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        self.connection, theirs = context.Pipe()
        self.task: _Task | None = None
        self.worker, self.limit, self.heard = worker, course.policy.time_limit, 0.0
        given = (grader, worker) if forks else (grader.seed, None)  # what is declared cannot be sent, only inherited
        described = course if forks else replace(course, _specs={})
        self.process = context.Process(target=_serve, args=(theirs, described, isolation, *given), daemon=True)
        self.process.start()
        theirs.close()

    def take(self, task: _Task) -> None:
        """Hand over a submission."""
        self.task, self.heard = task, time.monotonic()
        with contextlib.suppress(OSError):  # it has ended: that is seen when it should answer
            self.connection.send(list(task.left))

    def receive(self) -> tuple[ExerciseResult | None, bool]:
        """The next result, and whether it is final: verdicts come first; `None` where the process has ended."""
        self.heard = time.monotonic()
        try:
            record = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None, True
        return exercise_from_json(record), record["is_final"]

    def is_frozen(self) -> bool:
        """It should have answered long ago, and neither computes nor waits its turn on a busy machine."""
        if time.monotonic() <= self.heard + self.limit + TICK:
            return False
        processes = [self.process.pid, self.worker.pid if self.worker is not None else 0]
        return not any(state in AT_WORK for pid in processes for _, state in states_below(pid))

    def close(self) -> tuple[str, Status]:
        """End the process and its worker; why it was lost, and what that makes of the exercise that it had."""
        self.connection.close()
        self.process.join(0.1 if self.task is not None else 0)  # whoever lost its task may still say how
        code = self.process.exitcode
        self.process.kill()
        self.process.join()
        if self.worker is not None:
            self.worker.close()
        if code == -signal.SIGPROF:
            return f"judging it took more than {self.limit:g} seconds of processor time", "failed"
        how = "it did not answer any more" if code is None else f"it ended with {code}"
        return f"the grading process was lost ({how}): run the same command again", "error"


def _serve(
    connection: Connection, course: Course, isolation: Isolation, grader: Grader | int, worker: Worker | None
) -> None:
    """Grade what comes over a connection, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator ends this process
    if sys.platform == "linux":
        import resource

        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whenever the coordinator ends, so does this process
        resource.setrlimit(resource.RLIMIT_AS, (Memory.in_use().addresses + MEMORY, resource.RLIM_INFINITY))
    grader = new_grader(grader) if isinstance(grader, int) else grader
    with contextlib.suppress(EOFError, OSError), contextlib.ExitStack() as stack:
        while True:
            submission = [(course.find(part.exercise), part.content, part.beside) for part in connection.recv()]
            with _budget(course.policy.time_limit):
                worker = worker or stack.enter_context(start_worker(isolation))
                together = grader.together(submission, worker)
                settled = together.settled(together.run())
            for exercise, content, beside in submission:
                with _budget(course.policy.time_limit):
                    found = settled.get(exercise.id) or _grade(grader, exercise, content, worker, beside, connection)
                _send(connection, found)


def _send(connection: Connection, result: ExerciseResult, *, is_final: bool = True) -> None:
    record = {**result.record, "printed": result.printed, "notes": result.notes, "is_final": is_final}
    connection.send_bytes(json.dumps(record).encode())


def _grade(
    grader: Grader, exercise: CourseExercise, content: Content, worker: Worker, beside: Files, connection: Connection
) -> ExerciseResult:
    """Grade one exercise; its verdicts are sent before its mistakes are looked for, which may take this process."""
    try:
        return grader.grade(
            exercise, content, worker, beside=beside, on_verdicts=partial(_send, connection, is_final=False)
        )
    except MemoryError:
        return exercise.unread_result("judging it takes more memory than there is for one exercise", "failed")
    except Exception as error:  # one submission never stops the rest
        says = f"the grader failed ({type(error).__name__}: {error}): run the same command again"
        return exercise.unread_result(says)


@contextlib.contextmanager
def _budget(seconds: float) -> Iterator[None]:
    """End this process if it computes for so long; what its worker's children take is not its own."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
