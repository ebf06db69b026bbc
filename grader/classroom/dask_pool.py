"""The grading of a class by the workers of a Dask cluster, whose results are checked before they count.

Dask gives the batches of workers that die or fall silent to others. A batch that a worker refuses, or answers wrongly,
is tried on another worker in halves, so that no submission fails because of others in its batch.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import INSTALL_DASK, __version__
from grader.course.course import Course, CourseExercise
from grader.errors import KEPT, InfrastructureError, ProtocolError, UsageError, describe_error
from grader.judging.grading_pool import TICK, Graded
from grader.results.records import LARGEST_SEED, ExerciseResult
from grader.sandbox.isolation import Isolation, Machine, choose
from grader.sandbox.source_text import Part
from grader.sandbox.warm_process import Closing

from . import dask_worker
from .cluster_wire import GradingSetting, pack_batch, pack_setting, setting_name, unpack_results, unpack_submission

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
CONNECT_LIMIT = 10  # seconds to connect to a scheduler, and to wait for a first worker
ATTEMPTS = 3
BATCHES_PER_WORKER = 2  # so that a worker never waits for the coordinator
BATCH_SECONDS = 3.0
FIRST_BATCH, MOST_SUBMISSIONS, MOST_BYTES = 4, 2000, 4 << 20
BY_STRENGTH: tuple[Isolation, ...] = ("box", "kernel", "seccomp", "none")
KeyedParts = tuple[Any, Sequence[Part]]  # of a submission: its key, and the answers to judge


@contextmanager
def connected(scheduler: str, workers: int) -> Iterator[Cluster]:
    """Connect to a cluster, and disconnect at the end of the block.

    Args:
        scheduler: the address of a scheduler, the path of its scheduler file, or `local` for a cluster on this machine.
        workers: how many workers a local one has.

    Yields:
        The cluster.

    Raises:
        UsageError: dask is not installed, no scheduler answers at this address, or the address needs certificates that
            are not configured.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError(f"--scheduler needs Dask: install it with {INSTALL_DASK}") from error
    # handgrad itself reports what matters to an instructor
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        if scheduler == LOCAL:
            quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
            where = {"address": stack.enter_context(LocalCluster(n_workers=workers, threads_per_worker=1, **quiet))}
        else:
            where = {"address": _address(scheduler)}
            if where["address"].startswith("tls://") and not dask.config.get("distributed.comm.tls.ca-file", None):
                raise UsageError(
                    f"{where['address']} needs certificates: name them in Dask's configuration (docs/cluster.md)."
                )
        try:
            client = stack.enter_context(Client(**where, timeout=CONNECT_LIMIT, set_as_default=False))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"No Dask scheduler answers at {scheduler} ({error}): name its address, such as tls://host:8786, its "
                f"scheduler file, or {LOCAL}."
            ) from error
        yield Cluster(client)


def _address(scheduler: str) -> str:
    """Return the address of a scheduler: that in the file `scheduler` if it is one, or else `scheduler` itself.

    Raises:
        UsageError: the file has no address in it.
    """
    if not Path(scheduler).is_file():
        return scheduler
    try:
        return str(json.loads(Path(scheduler).read_bytes())["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{scheduler} is no scheduler file: name the one that dask scheduler wrote.") from error


@contextmanager
def explain_lost_scheduler() -> Iterator[None]:
    """Convert the errors of a scheduler that does not answer any more.

    Raises:
        InfrastructureError: the block failed because the scheduler is gone.
    """
    try:
        yield
    except (OSError, CancelledError) as error:
        raise InfrastructureError(f"The scheduler of the cluster is gone. {KEPT}") from error


@dataclass(frozen=True)
class Cluster:
    """Hold a connection to a scheduler."""

    client: Client

    @property
    def size(self) -> str:
        """Return the number of workers with its noun, such as "1 worker" or "8 workers"."""
        count = len(self.client.nthreads())
        return f"{count} worker{'s' if count != 1 else ''}"

    def isolation(self, wanted: Isolation | None) -> Isolation:
        """Return the isolation that every worker can use: the wanted one, or the strongest that all of them have.

        Args:
            wanted: the isolation; the strongest one if `None`.

        Raises:
            InfrastructureError: there is no worker, one of them has another handgrad or none, or cannot isolate.
        """
        try:
            self.client.wait_for_workers(1, timeout=CONNECT_LIMIT)
            facts_by_address = self.client.run(dask_worker.facts)
        except TimeoutError as error:
            raise InfrastructureError("The cluster has no workers: start some with dask worker.") from error
        except Exception as error:
            raise InfrastructureError(
                f"A worker of the cluster cannot grade ({type(error).__name__}: {error}): install handgrad "
                f"{__version__} for it, in the environment that dask worker runs in."
            ) from error
        isolations: dict[str, Isolation] = {}
        for address, facts in facts_by_address.items():
            if facts["version"] != __version__:
                raise InfrastructureError(
                    f"The worker at {address} has handgrad {facts['version']}: install {__version__} there."
                )
            try:
                isolations[address] = choose(Machine(**facts["machine"]), wanted)
            except InfrastructureError as error:
                raise InfrastructureError(f"On the worker at {address}, {error}") from error
        return max(isolations.values(), key=BY_STRENGTH.index)

    def pool(self, course: Course, isolation: Isolation, seed: int | None) -> ClusterPool:
        """Return the pool of the cluster's workers, with a seed that is drawn at random if `seed` is `None`."""
        seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        return ClusterPool(self.client, course, isolation, seed)


@dataclass
class _Batch:
    """Hold submissions that are graded together by one worker.

    Args:
        submissions: the key of each submission, and its parts to judge.
        refused: the addresses of the workers that failed to grade it.
        address: the address of the worker that grades it; empty while it waits.
    """

    submissions: list[KeyedParts]
    refused: list[str] = field(default_factory=list)
    address: str = ""

    def halves(self) -> list[_Batch]:
        """Return the submissions as two batches that wait, or as one if there is only one submission.

        Each has a copy of `refused`, and no address.
        """
        middle = len(self.submissions) // 2
        halves = [self.submissions[:middle], self.submissions[middle:]] if middle else [self.submissions]
        return [_Batch(half, [*self.refused]) for half in halves]


class ClusterPool(Closing):
    """Grade submissions with the workers of a cluster, as `GradingPool` does with processes of this machine.

    Args:
        client: the connection to the scheduler.
        course: the course.
        isolation: how learner code is isolated.
        seed: the seed of every trial.
    """

    def __init__(self, client: Client, course: Course, isolation: Isolation, seed: int) -> None:
        """Begin with no batch, on the cluster that `client` is connected to."""
        self.client, self.course, self.isolation, self.seed = client, course, isolation, seed
        self.setting: Future | None = None
        self.running: dict[Future, _Batch] = {}
        self.waiting_batches = deque[_Batch]()  # that were refused, and are tried again
        self.pace: dict[str, float] = {}  # seconds for one submission, by the address of a worker
        self.failures = Counter[str]()  # in sequence without a success, by the address of a worker
        self.last_reason = ""  # of a failure
        self.task_keys = (f"handgrad-{uuid.uuid4().hex}-{count}" for count in itertools.count())

    def close(self) -> None:
        """Cancel the batches that are being graded, and submit no more."""
        if self.running:
            self.client.cancel(list(self.running), force=True)
        self.running = {}
        self.setting = None

    def prepare(self, exercises: Iterable[CourseExercise]) -> None:
        """Have each worker compute the references of these exercises once, before its first batch."""
        wanted = tuple(exercise.id for exercise in exercises)
        data = pack_setting(GradingSetting(self.course, self.seed, self.isolation, wanted))
        self.setting = self.client.submit(dask_worker.same, data, key=f"handgrad-setting-{setting_name(data)}")

    def grade(self, submissions: Iterable[KeyedParts]) -> Iterator[tuple[Any, list[ExerciseResult]] | None]:
        """Yield each submission's key and results as soon as it is graded; `None` whenever a second passes without one.

        Args:
            submissions: the key of each submission, and its parts to judge.

        Raises:
            InfrastructureError: the scheduler is gone, or every worker has failed too often.
        """
        waiting, is_waiting_for_workers = iter(submissions), False
        while True:
            with explain_lost_scheduler():
                workers = self.client.nthreads()
            if not workers and not is_waiting_for_workers:
                print("handgrad: the cluster has no workers now; waiting for one.", file=sys.stderr, flush=True)
            is_waiting_for_workers = not workers
            able = {address: threads for address, threads in workers.items() if self.failures[address] < ATTEMPTS}
            if workers and not able:
                raise InfrastructureError(f"No worker of the cluster can grade: {self.last_reason}. {KEPT}")
            for address in self._underloaded_workers(able):
                if (batch := self._next_batch(address, able, waiting)) is not None:
                    self._submit(batch, address)
            if not self.running and workers and not self.waiting_batches:
                return
            with explain_lost_scheduler():
                done = self._ended_tasks()
            for future in done:
                yield from self._take_results(future)
            if not done:
                yield None

    def grade_readings(self, submissions: Iterable[Graded | None]) -> Iterator[Graded | None]:
        """Yield each submission's outcome with its results once graded; `None` whenever a second passes without one.

        Args:
            submissions: the outcomes of reading on this machine, whose facts include the parts to judge; `None` is
                skipped.

        Raises:
            InfrastructureError: the scheduler is gone, or every worker has failed too often.
        """
        for outcome in self.grade(_split_off_parts(read) for read in submissions if read is not None):
            yield None if outcome is None else outcome[0]._replace(results=outcome[1])

    def _ended_tasks(self) -> Iterable[Future]:
        """Return the tasks that have ended, as soon as there is one, or none after a second."""
        from distributed import wait

        if not self.running:
            time.sleep(TICK)  # until there are workers
            return ()
        with suppress(TimeoutError), self.client.as_current():
            return wait(list(self.running), TICK, return_when="FIRST_COMPLETED").done  # type: ignore[no-any-return]
        return ()

    def _underloaded_workers(self, able: Iterable[str]) -> list[str]:
        """Return the addresses of workers with fewer batches than `BATCHES_PER_WORKER`, the one with the fewest first.

        An address is there once for each batch that the worker lacks.

        Args:
            able: the addresses of the workers that can grade.
        """
        load = Counter(batch.address for batch in self.running.values())
        return [
            address
            for missing in range(BATCHES_PER_WORKER, 0, -1)
            for address in able
            if BATCHES_PER_WORKER - load[address] >= missing
        ]

    def _next_batch(self, address: str, able: Mapping[str, int], waiting: Iterator[KeyedParts]) -> _Batch | None:
        """Return the next batch for a worker: one that another worker has refused, or new submissions.

        New submissions are as many as take a few seconds.

        Args:
            address: the worker's address.
            able: the number of threads of each worker that can grade, by address.
            waiting: the submissions that are in no batch yet.

        Returns:
            The batch, which is removed from those that wait; `None` if nothing is left for this worker.
        """
        for batch in self.waiting_batches:
            if address not in batch.refused or not able.keys() - batch.refused:
                self.waiting_batches.remove(batch)
                return batch
        pace = self.pace.get(address)
        max_submissions = (
            FIRST_BATCH * able[address] if pace is None else min(int(BATCH_SECONDS / pace) + 1, MOST_SUBMISSIONS)
        )
        submissions, size = list[KeyedParts](), 0
        for key, parts in waiting:
            submissions.append((key, parts))
            size += sum(len(piece) for part in parts for piece in (*_pieces(part.content), *part.beside.values()))
            if len(submissions) >= max_submissions or size >= MOST_BYTES:
                break
        return _Batch(submissions) if submissions else None

    def _submit(self, batch: _Batch, address: str) -> None:
        """Have a worker grade a batch; Dask may move it to another one if this one is lost."""
        batch.address = address
        data = pack_batch([parts for _, parts in batch.submissions])
        task_options = {"key": next(self.task_keys), "workers": [address], "allow_other_workers": True}
        self.running[self.client.submit(dask_worker.grade_batch, self.setting, data, **task_options)] = batch

    def _take_results(self, future: Future) -> Iterator[tuple[Any, list[ExerciseResult]]]:
        """Yield the results of a batch whose task has ended; if it failed, `_try_again` puts it back in the queue.

        If it did not, the worker's failures are forgotten, and its seconds for each submission stored in `pace`.

        Yields:
            The key of a submission (see `KeyedParts`), and its results; of a batch that failed, only for a submission
            that is given up.
        """
        batch = self.running.pop(future)
        try:
            data = future.result()
            if not isinstance(data, bytes):
                raise ProtocolError("a worker did not answer with bytes")
            results, seconds = unpack_results(data, self.course, [parts for _, parts in batch.submissions])
        except Exception as error:  # whatever it is, another worker may grade the batch
            yield from self._try_again(batch, error)
            return
        self.failures.pop(batch.address, None)
        self.pace[batch.address] = max(seconds, 1e-3) / len(batch.submissions)
        yield from zip((key for key, _ in batch.submissions), results, strict=True)

    def _try_again(self, batch: _Batch, error: Exception) -> Iterator[tuple[Any, list[ExerciseResult]]]:
        """Put the halves of a failed batch back in the queue; give up a single submission that has failed often enough.

        Args:
            batch: the batch.
            error: why it failed.

        Yields:
            The key of the submission that is given up, after `ATTEMPTS` failures of batches that contained it, and
            results that say why it was not graded.
        """
        self.failures[batch.address] += 1
        self.last_reason = f"{error}".partition("\n")[0] or type(error).__name__
        batch.refused.append(batch.address)
        if len(batch.submissions) > 1 or len(batch.refused) < ATTEMPTS:
            self.waiting_batches.extend(batch.halves())
            return
        [(key, parts)] = batch.submissions
        reason = f"no worker could grade it ({self.last_reason}): run the same command again"
        yield key, [self.course.find(part.exercise).unread_result(reason) for part in parts]


def _split_off_parts(read: Graded) -> tuple[Graded, Sequence[Part]]:
    """Return the outcome of a reading without the parts to judge, and these parts.

    There are no parts if the submission could not be read; if the parts cannot be unpacked, the outcome gets that as
    its `failure`.
    """
    if read.facts is None:
        return read, ()
    try:
        return read._replace(facts={**read.facts, "parts": None}), unpack_submission(read.facts["parts"])
    except Exception as error:
        return read._replace(
            facts=None, failure=f"the answers that were read are lost ({describe_error(error)[:200]})"
        ), ()


def _pieces(content: bytes | tuple[str, ...]) -> tuple[bytes, ...] | tuple[str, ...]:
    """Return the bytes of a file as the only element of a tuple, and the cells of a notebook as they are."""
    return (content,) if isinstance(content, bytes) else content
