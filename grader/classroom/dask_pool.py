"""A class graded by the workers of a Dask cluster, with what each of them says checked before it counts.

Dask sees to workers that die or fall silent: it gives their batches to others. What a worker refuses, or answers
wrongly, is tried on another one, in smaller and smaller batches: one submission never stands for its neighbours.
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
from grader.judging.grading_pool import TICK, Graded, Part
from grader.results.records import LARGEST_SEED, ExerciseResult
from grader.sandbox.isolation import Isolation, Machine, choose
from grader.sandbox.warm_process import Closing

from . import dask_worker
from .cluster_wire import Setting, pack_batch, pack_setting, setting_name, unpack_results, unpack_submission

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
CONNECT_LIMIT = 10  # seconds, and for going on without a scheduler that is gone
ATTEMPTS = 3
AHEAD = 2  # batches that a worker has, so that it never waits for the coordinator
BATCH_SECONDS = 3.0
FIRST_BATCH, MOST_SUBMISSIONS, MOST_BYTES = 4, 2000, 4 << 20
BY_STRENGTH: tuple[Isolation, ...] = ("box", "kernel", "seccomp", "none")
Submitted = tuple[Any, Sequence[Part]]


@contextmanager
def connected(scheduler: str, workers: int) -> Iterator[Cluster]:
    """A cluster.

    Args:
        scheduler: the address of a scheduler, the path of its scheduler file, or `local` for a cluster on this machine.
        workers: how many workers a local one has.

    Raises:
        UsageError: dask is not installed, or no scheduler answers there.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError(f"--scheduler needs Dask: install it with {INSTALL_DASK}") from error
    for name in ("distributed", *logging.root.manager.loggerDict):  # what matters to an instructor is said here
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
    """The address in a scheduler file, or what it is itself.

    Raises:
        UsageError: it is a file with no address in it.
    """
    if not Path(scheduler).is_file():
        return scheduler
    try:
        return str(json.loads(Path(scheduler).read_bytes())["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{scheduler} is no scheduler file: name the one that dask scheduler wrote.") from error


@contextmanager
def scheduler_at_hand() -> Iterator[None]:
    """Ask the scheduler something.

    Raises:
        InfrastructureError: it does not answer any more.
    """
    try:
        yield
    except (OSError, CancelledError) as error:
        raise InfrastructureError(f"The scheduler of the cluster is gone. {KEPT}") from error


@dataclass(frozen=True)
class Cluster:
    """A connection to a scheduler."""

    client: Client

    @property
    def size(self) -> str:
        """How many workers there are, in words."""
        count = len(self.client.nthreads())
        return f"{count} worker{'s' if count != 1 else ''}"

    def isolation(self, wanted: Isolation | None) -> Isolation:
        """What every worker can keep learner code in: what is wanted, or the strongest that all of them have.

        Raises:
            InfrastructureError: there is no worker, one of them has another handgrad or none, or cannot isolate.
        """
        try:
            self.client.wait_for_workers(1, timeout=CONNECT_LIMIT)
            found = self.client.run(dask_worker.facts)
        except TimeoutError as error:
            raise InfrastructureError("The cluster has no workers: start some with dask worker.") from error
        except Exception as error:
            raise InfrastructureError(
                f"A worker of the cluster cannot grade ({type(error).__name__}: {error}): install handgrad "
                f"{__version__} for it, in the environment that dask worker runs in."
            ) from error
        each: dict[str, Isolation] = {}
        for address, facts in found.items():
            if facts["version"] != __version__:
                raise InfrastructureError(
                    f"The worker at {address} has handgrad {facts['version']}: install {__version__} there."
                )
            try:
                each[address] = choose(Machine(**facts["machine"]), wanted)
            except InfrastructureError as error:
                raise InfrastructureError(f"On the worker at {address}, {error}") from error
        return max(each.values(), key=BY_STRENGTH.index)

    def pool(self, course: Course, isolation: Isolation, seed: int | None) -> ClusterPool:
        """The cluster as grading processes that are used as one."""
        seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        return ClusterPool(self.client, course, isolation, seed)


@dataclass
class _Batch:
    """Submissions that are graded by one worker.

    Args:
        refused: where it was tried in vain.
    """

    submitted: list[Submitted]
    refused: list[str] = field(default_factory=list)
    address: str = ""

    def halves(self) -> list[_Batch]:
        """The same submissions, as few together as that is worth trying again."""
        middle = len(self.submitted) // 2
        parts = [self.submitted[:middle], self.submitted[middle:]] if middle else [self.submitted]
        return [_Batch(part, [*self.refused]) for part in parts]


class ClusterPool(Closing):
    """Grade submissions with the workers of a cluster, in the way of a `GradingPool`.

    Args:
        seed: the seed of every trial.
    """

    def __init__(self, client: Client, course: Course, isolation: Isolation, seed: int) -> None:
        self.client, self.course, self.isolation, self.seed = client, course, isolation, seed
        self.setting: Future | None = None
        self.running: dict[Future, _Batch] = {}
        self.again = deque[_Batch]()
        self.pace: dict[str, float] = {}  # seconds for one submission, by the address of a worker
        self.failures = Counter[str]()  # one after the other, by the address of a worker
        self.why = ""  # it failed last
        self.names = (f"handgrad-{uuid.uuid4().hex}-{count}" for count in itertools.count())

    def close(self) -> None:
        """Cancel the batches that are being graded, and submit no more."""
        if self.running:
            self.client.cancel(list(self.running), force=True)
        self.running = {}
        self.setting = None

    def prepare(self, exercises: Iterable[CourseExercise]) -> None:
        """Have each worker compute the references of these exercises once, before its first batch."""
        wanted = tuple(exercise.id for exercise in exercises)
        data = pack_setting(Setting(self.course, self.seed, self.isolation, wanted))
        self.setting = self.client.submit(dask_worker.same, data, key=f"handgrad-setting-{setting_name(data)}")

    def grade(self, submissions: Iterable[Submitted]) -> Iterator[tuple[Any, list[ExerciseResult]] | None]:
        """Yield each submission's key and results as soon as it is graded; `None` whenever a second passes without one.

        Raises:
            InfrastructureError: every worker that is there has failed too often.
        """
        waiting, was_told = iter(submissions), False
        while True:
            with scheduler_at_hand():
                workers = self.client.nthreads()
            if not workers and not was_told:
                print("handgrad: the cluster has no workers now; waiting for one.", file=sys.stderr, flush=True)
            was_told = not workers
            able = {address: threads for address, threads in workers.items() if self.failures[address] < ATTEMPTS}
            if workers and not able:
                raise InfrastructureError(f"No worker of the cluster can grade: {self.why}. {KEPT}")
            for address in self._free(able):
                if (batch := self._next(address, able, waiting)) is not None:
                    self._submit(batch, address)
            if not self.running and workers and not self.again:
                return
            with scheduler_at_hand():
                done = self._done()
            for future in done:
                yield from self._landed(future)
            if not done:
                yield None

    def grade_readings(self, submissions: Iterable[Graded | None]) -> Iterator[Graded | None]:
        """Yield the outcome of each submission that was read on this machine; see `grade`.

        Args:
            submissions: the outcomes of reading, whose facts include the parts to judge; `None` is skipped.
        """
        for outcome in self.grade(_split_off_parts(read) for read in submissions if read is not None):
            yield None if outcome is None else outcome[0]._replace(results=outcome[1])

    def _done(self) -> Iterable[Future]:
        """What has ended within a second; it takes no longer than it must."""
        from distributed import wait

        if not self.running:
            time.sleep(TICK)  # until there are workers
            return ()
        with suppress(TimeoutError), self.client.as_current():
            return wait(list(self.running), TICK, return_when="FIRST_COMPLETED").done  # type: ignore[no-any-return]
        return ()

    def _free(self, able: Iterable[str]) -> list[str]:
        """Whose turn it is, by turns: whoever has too little to do."""
        load = Counter(batch.address for batch in self.running.values())
        return [address for more in range(AHEAD, 0, -1) for address in able if AHEAD - load[address] >= more]

    def _next(self, address: str, able: Mapping[str, int], waiting: Iterator[Submitted]) -> _Batch | None:
        """The next batch for a worker: what it has not refused itself, or as much as it does in a few seconds."""
        for batch in self.again:
            if address not in batch.refused or not able.keys() - batch.refused:
                self.again.remove(batch)
                return batch
        pace = self.pace.get(address)
        max_submissions = (
            FIRST_BATCH * able[address] if pace is None else min(int(BATCH_SECONDS / pace) + 1, MOST_SUBMISSIONS)
        )
        submissions, size = list[Submitted](), 0
        for key, parts in waiting:
            submissions.append((key, parts))
            size += sum(len(piece) for part in parts for piece in (*_pieces(part.content), *part.beside.values()))
            if len(submissions) >= max_submissions or size >= MOST_BYTES:
                break
        return _Batch(submissions) if submissions else None

    def _submit(self, batch: _Batch, address: str) -> None:
        batch.address = address
        data = pack_batch([parts for _, parts in batch.submitted])
        here = {"key": next(self.names), "workers": [address], "allow_other_workers": True}
        self.running[self.client.submit(dask_worker.grade_batch, self.setting, data, **here)] = batch

    def _landed(self, future: Future) -> Iterator[tuple[Any, list[ExerciseResult]]]:
        """The results of a batch, or those of what cannot be graded anywhere."""
        batch = self.running.pop(future)
        try:
            data = future.result()
            if not isinstance(data, bytes):
                raise ProtocolError("a worker answered with something else than bytes")
            results, seconds = unpack_results(data, self.course, [parts for _, parts in batch.submitted])
        except Exception as error:  # whatever became of it there, another worker may do better
            yield from self._failed(batch, error)
            return
        self.failures.pop(batch.address, None)
        self.pace[batch.address] = max(seconds, 1e-3) / len(batch.submitted)
        yield from zip((key for key, _ in batch.submitted), results, strict=True)

    def _failed(self, batch: _Batch, error: Exception) -> Iterator[tuple[Any, list[ExerciseResult]]]:
        """Try a batch again elsewhere, in halves; say so of a submission that was tried often enough."""
        self.failures[batch.address] += 1
        self.why = f"{error}".partition("\n")[0] or type(error).__name__
        batch.refused.append(batch.address)
        if len(batch.submitted) > 1 or len(batch.refused) < ATTEMPTS:
            self.again.extend(batch.halves())
            return
        [(key, parts)] = batch.submitted
        reason = f"no worker could grade it ({self.why}): run the same command again"
        yield key, [self.course.find(part.exercise).unread_result(reason) for part in parts]


def _split_off_parts(read: Graded) -> tuple[Graded, Sequence[Part]]:
    """Remove the parts to judge from the facts of a reading; return both, no parts if it could not be read."""
    if read.facts is None:
        return read, ()
    try:
        return read._replace(facts={**read.facts, "parts": None}), unpack_submission(read.facts["parts"])
    except Exception as error:
        return read._replace(facts=None, failure=f"what was read of it is lost ({describe_error(error)[:200]})"), ()


def _pieces(content: bytes | tuple[str, ...]) -> tuple[bytes, ...] | tuple[str, ...]:
    return (content,) if isinstance(content, bytes) else content
