"""The messages to other machines and back, and how a coordinator handles workers that fail or lie."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.courses import solution, with_policy

from grader.classroom import cluster_wire as wire
from grader.classroom import dask_pool, dask_worker
from grader.classroom.dask_pool import Cluster, ClusterPool
from grader.classroom.dask_worker import Service
from grader.course.course import Course
from grader.errors import InfrastructureError, ProtocolError, UsageError
from grader.judging.grading_pool import GradingPool
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import Part

NAME, SEED = "lin_grad", 7
Results = list[list[ExerciseResult]]


@pytest.fixture(scope="module")
def setting(course: Course) -> bytes:
    return wire.pack_setting(wire.GradingSetting(course, SEED, "none", (NAME, "quiz_04_linear")))


@pytest.fixture(scope="module")
def batch(course: Course) -> list[list[Part]]:
    """Return a right submission, a wrong notebook with a file to import, an unreadable one and an empty one."""
    right = solution(course, NAME)
    wrong = right.replace(b"out.g.sum(0)", b"half(out.g.mean(0))").replace(b"def ", b"from mine import half\n\ndef ", 1)
    return [
        [Part(NAME, right)],
        [
            Part(NAME, wrong, {"mine.py": b"def half(x): return x", "lin_grad.py": wrong}),
            Part("relu_grad", ("import torch\n", "def relu_grad(inp, out):\n    print('\u00e9')\n    inp.g = out.g")),
        ],
        [Part("quiz_04_linear", b"\xff\xfe")],
        [],
    ]


@pytest.fixture(scope="module")
def graded(course: Course, batch: list[list[Part]]) -> Results:
    """Return the results of the batch on one machine."""
    with GradingPool(course, "none", 1, SEED) as pool:
        found = {each.key: each.results for each in pool.grade(enumerate(batch)) if each is not None}
    return [found[place] for place in range(len(batch))]


def lines(results: Results) -> list[list[str]]:
    return [[f"{one.line}{one.printed}{one.notes}" for one in each] for each in results]


def test_a_setting_arrives_as_it_was(course: Course, tmp_path: Path) -> None:
    stricter = with_policy(course, time_limit=3.5)
    sent = wire.GradingSetting(stricter, SEED, "kernel", (NAME,))
    data = wire.pack_setting(sent)
    assert data == wire.pack_setting(sent) != wire.pack_setting(replace(sent, seed=8))
    found = wire.unpack_setting(data, tmp_path)
    assert (found.seed, found.isolation, found.exercises) == (SEED, "kernel", (NAME,))
    assert found.course.config == stricter.config
    assert found.course.find(NAME).function.argument_names == ("inp", "out", "w", "b")


def test_a_batch_arrives_as_it_was(batch: list[list[Part]]) -> None:
    assert wire.unpack_batch(wire.pack_batch(batch)) == batch


def test_a_service_that_was_killed_says_so(setting: bytes, batch: Any) -> None:
    service = Service(setting, 1)
    service.popen.kill()
    service.popen.wait()
    with pytest.raises(InfrastructureError, match="was lost"):
        service.grade(wire.pack_batch(batch))


def test_a_service_refuses_a_setting_of_another_version(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "__version__", "0.0.1")
    service = Service(wire.pack_setting(wire.GradingSetting(course, SEED, "none", ())), 1)
    with pytest.raises(InfrastructureError, match=r"and the class is graded with 0\.0\.1"):
        service.grade(wire.pack_batch([]))


def packed(record: dict[str, Any], printed: object = "", notes: object = ()) -> bytes:
    told = [[(json.dumps(record), printed, notes)]]
    return zlib.compress(json.dumps({"seconds": 1.0, "results": told}).encode())


NAN, INFINITY = float("nan"), float("inf")
LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "more points than there are": lambda record: record["answers"][0].update(score=99.0),
    "a sum that is none": lambda record: record.update(score=record["score"] + 1),
    "points below nothing": lambda record: record["answers"][0].update(score=-1.0),
    "other points for an answer": lambda record: record["answers"][0].update(max_score=2.0),
    "another exercise": lambda record: record.update(id="relu_grad"),
    "another unit": lambda record: record.update(unit="05_activations"),
    "an answer left out": lambda record: record["answers"].pop(),
    "an answer of another name": lambda record: record["answers"][0].update(name="x.g"),
    "a code that nobody knows": lambda record: record["answers"][0].update(code="nonsense", status="failed"),
    "a field of its own": lambda record: record.update(admin=True),
    "no answers": lambda record: record.pop("answers"),
    "an error that is no number": lambda record: record["answers"][0].update(
        status="failed", code="unknown", error=NAN
    ),
    "an error without end": lambda record: record["answers"][0].update(status="failed", code="unknown", error=INFINITY),
    "a score that is no number": lambda record: record.update(score=NAN),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_result_that_cannot_be_true_is_refused(lie: Callable[..., object], course: Course, graded: Results) -> None:
    record = dict(graded[0][0].record)
    record["answers"] = [dict(answer) for answer in record["answers"]]
    sent = [[Part(NAME, b"")]]
    assert wire.unpack_results(packed(record), course, sent)[0] == [graded[0]]
    lie(record)
    with pytest.raises(ProtocolError):
        wire.unpack_results(packed(record), course, sent)


@pytest.mark.parametrize(
    "seconds", ["NaN", "Infinity", "-Infinity", "-1", "1e999", '"nan"', "true", "null", "[]", "1e12"]
)
def test_a_time_that_cannot_be_true_is_refused(seconds: str, course: Course, graded: Results) -> None:
    said = zlib.decompress(packed(graded[0][0].record)).decode()
    assert '"seconds": 1.0' in said
    data = zlib.compress(said.replace('"seconds": 1.0', f'"seconds": {seconds}').encode())
    with pytest.raises(ProtocolError):
        wire.unpack_results(data, course, [[Part(NAME, b"")]])


def test_an_error_beyond_every_number_is_refused(course: Course, graded: Results) -> None:
    record = {**graded[0][0].record, "answers": [{**each, "error": 0.5} for each in graded[0][0].record["answers"]]}
    told = [[(json.dumps(record).replace("0.5", "1e999"), "", [])]]
    data = zlib.compress(json.dumps({"seconds": 1.0, "results": told}).encode())
    with pytest.raises(ProtocolError, match="is no number"):
        wire.unpack_results(data, course, [[Part(NAME, b"")]])


@pytest.mark.parametrize("data", [b"", b"nonsense", packed({}), wire.pack_batch([])])
def test_a_reply_of_another_form_is_refused(data: bytes, course: Course) -> None:
    with pytest.raises(ProtocolError):
        wire.unpack_results(data, course, [[Part(NAME, b"")]])


@pytest.mark.parametrize("said", [{"printed": 1}, {"notes": [1]}, {"notes": "a note"}, {"notes": None}])
def test_the_output_and_the_notes_of_a_result_must_be_text(
    said: dict[str, Any], course: Course, graded: Results
) -> None:
    with pytest.raises(ProtocolError):
        wire.unpack_results(packed(graded[0][0].record, **said), course, [[Part(NAME, b"")]])


class Future:
    """Act as a future whose task is done, or has failed."""

    def __init__(self, run: Callable[[], bytes]) -> None:
        self.run = run

    def result(self) -> bytes:
        return self.run()


class Workers:
    """Act as the part of a Dask client that a coordinator uses; functions of the test perform the tasks."""

    def __init__(self, **workers: Callable[[list[list[Part]]], bytes]) -> None:
        self.workers, self.asked = workers, list[tuple[str, int]]()

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 1)

    def submit(self, function: Any, *arguments: bytes, key: str, workers: Any = (), **_: Any) -> Future:
        if function is dask_worker.same:
            return Future(lambda: arguments[0])
        batch = wire.unpack_batch(arguments[1])
        self.asked.append((workers[0], len(batch)))
        return Future(lambda: self.workers[workers[0]](batch))

    def cancel(self, futures: list[Future], *, force: bool) -> None:
        assert force


@pytest.fixture
def pool_of(course: Course, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Workers, ClusterPool]]:
    monkeypatch.setattr(ClusterPool, "_ended_tasks", lambda pool: list(pool.running))

    def made(**workers: Callable[[list[list[Part]]], bytes]) -> tuple[Workers, ClusterPool]:
        client = Workers(**workers)
        pool = ClusterPool(client, course, "none", SEED)
        pool.prepare([course.find(NAME)])
        return client, pool

    return made


@pytest.fixture
def honest(graded: Results) -> Callable[[list[list[Part]]], bytes]:
    return lambda batch: wire.pack_results([graded[0]] * len(batch), 0.025 * len(batch))


def fails(batch: list[list[Part]]) -> bytes:
    raise OSError("no room\nand more of a traceback")


def finished(pool: ClusterPool, submissions: int) -> dict[int, list[ExerciseResult]]:
    with pool:
        sent = ((place, [Part(NAME, b"poison" if place == 5 else b"")]) for place in range(submissions))
        return dict(each for each in pool.grade(sent) if each is not None)


@pytest.mark.parametrize(
    "wrong",
    [fails, lambda batch: b"", lambda batch: wire.pack_results([], 0.1)],
    ids=["fails", "nonsense", "nothing"],
)
def test_a_batch_that_one_worker_cannot_grade_goes_to_another(
    wrong: Any, pool_of: Any, honest: Any, graded: Results
) -> None:
    client, pool = pool_of(good=honest, bad=wrong)
    assert finished(pool, 40) == dict.fromkeys(range(40), graded[0])
    assert {address for address, _ in client.asked} == {"good", "bad"}


def test_a_submission_that_no_worker_can_grade_costs_no_other(pool_of: Any, honest: Any, graded: Results) -> None:
    """Its result gives the reason, and is no failure of the student; the others have their points."""

    def poisoned(batch: list[list[Part]]) -> bytes:
        return fails(batch) if any(part.content for parts in batch for part in parts) else honest(batch)

    _, pool = pool_of(first=poisoned, second=poisoned)
    found = finished(pool, 20)
    [alone] = found.pop(5)
    assert alone.status == "error"
    assert alone.answers[0].message == "no worker could grade it (no room): run the same command again"
    assert found == dict.fromkeys(found.keys(), graded[0])
    assert len(found) == 19


def test_a_cluster_without_a_worker_that_can_grade_fails_at_once(pool_of: Any) -> None:
    client, pool = pool_of(first=fails)
    with pytest.raises(InfrastructureError, match="No worker of the cluster can grade: no room"):
        finished(pool, 10_000)
    assert len(client.asked) < 10


def test_batches_grow_until_they_take_seconds(pool_of: Any, honest: Any) -> None:
    client, pool = pool_of(first=honest)
    finished(pool, 1000)
    sizes = [size for _, size in client.asked]
    assert sizes[:2] == [dask_pool.FIRST_BATCH] * 2
    assert max(sizes) == 121  # one takes a fortieth of a second, and a batch should take three
    assert sum(sizes) == 1000


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"version": "0.0.1"}, "The worker at tcp://far has handgrad 0.0.1"),
        ({"machine": {"landlock": 0, "no_seccomp": "no filter", "no_box": "no box", "root": False}},
         "On the worker at tcp://far, learner code cannot be isolated here: no filter"),
    ],
)  # fmt: skip
def test_a_cluster_that_cannot_grade_as_one_machine_does_is_refused(facts: dict[str, Any], says: str) -> None:
    near = dask_worker.facts()
    cluster = Cluster(_Answering({"tcp://near": near, "tcp://far": {**near, **facts}}))
    with pytest.raises(InfrastructureError, match=says):
        cluster.isolation(None)


def test_the_isolation_of_a_cluster_is_what_all_of_its_workers_have() -> None:
    strong, weak = ({"landlock": landlock, "no_seccomp": "", "no_box": "", "root": False} for landlock in (4, 0))
    near = dask_worker.facts()
    cluster = Cluster(_Answering({"a": {**near, "machine": strong}, "b": {**near, "machine": weak}}))
    assert cluster.isolation(None) == "seccomp"
    with pytest.raises(InfrastructureError, match=r"On the worker at b, the isolation .box. is not available here"):
        cluster.isolation("box")


class _Answering:
    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def wait_for_workers(self, count: int, timeout: float) -> None:
        assert count == 1

    def run(self, function: Any) -> dict[str, Any]:
        assert function is dask_worker.facts
        return self.facts


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{}", "is no scheduler file"),
        ("\xff", "is no scheduler file"),
        ('{"address": "tls://far:8786"}', "tls://far:8786 needs certificates"),
        ('{"address": "nonsense://far"}', "No Dask scheduler answers at"),
    ],
)
def test_a_scheduler_that_cannot_be_asked_is_named(written: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(written, encoding="latin-1")
    with pytest.raises(UsageError, match=says), dask_pool.connected(str(file), 1):
        pytest.fail("there is no cluster")
