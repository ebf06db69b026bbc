"""Every misdeed in every mode, also where it costs a worker its process: the rest of `test_sandbox.py`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest
from helpers.probes import HONEST, assert_still_honest, outcome, run
from helpers.processes import alive
from helpers.workers import MODES, mode_worker
from test_sandbox import (
    BRIEF,
    HOSTILE,
    NO_ANSWER,
    SESSIONS,
    SEVERED,
    assert_gone_with_its_job,
    assert_gone_with_its_worker,
    assert_no_answer,
    assert_severed,
    assert_stated,
    test_a_gigabyte_of_print_is_cut_short,
    test_a_job_that_comes_after_the_stop_is_ended_as_well,
    test_a_job_that_runs_is_ended_from_another_thread,
    test_a_stop_when_nothing_runs_costs_nothing,
    test_a_tensor_subclass_cannot_lie_about_itself,
    test_an_expanded_giant_is_described_without_its_contents,
    test_many_jobs_leave_no_descriptor_open,
    test_no_connection_reaches_a_listener,
    test_no_file_is_changed_by,
    test_the_next_job_does_not_meet,
    test_the_text_of_an_exception_is_kept_short,
)

from grader.sandbox.worker import MODE_VARIABLE, Worker, start_worker

REST = [(mode, what) for mode in MODES for what in HOSTILE if (mode, what) not in BRIEF]


@pytest.fixture
def spawned(warm: Callable[[str], Worker]) -> Worker:
    """The session's worker that answers jobs itself, and is replaced whenever one of them spoils it."""
    return warm("spawn")


@pytest.mark.parametrize(("mode", "what"), REST)
def test_learner_code_that(mode: str, what: str, warm: Callable[[str], Worker]) -> None:
    assert_stated(what, warm(mode))


@pytest.mark.parametrize("then", SEVERED)
def test_closing_every_descriptor_and(then: str, spawned: Worker) -> None:
    assert_severed(then, spawned)


@pytest.mark.parametrize("garbage", NO_ANSWER)
def test_garbage_on_every_descriptor_is_no_answer(garbage: str, spawned: Worker) -> None:
    assert_no_answer(garbage, spawned)


if sys.platform == "linux":

    @pytest.mark.parametrize("session", SESSIONS)
    def test_a_process_left_behind_does_not_survive_its_job(session: str, warm: Callable[[str], Worker]) -> None:
        assert_gone_with_its_job(session, warm("fork"))

    @pytest.mark.parametrize("session", SESSIONS)
    def test_a_process_left_behind_does_not_survive_its_worker(session: str) -> None:
        assert_gone_with_its_worker(session)


@pytest.mark.parametrize("mode", MODES)
def test_no_process_is_left_when_a_worker_is_closed(mode: str) -> None:
    with mode_worker(mode) as worker:
        assert_still_honest(worker)
        pid = worker.process.popen.pid
    assert not alive(pid)


@pytest.mark.parametrize("mode", MODES)
def test_a_worker_outlives_the_thread_that_asked_for_it(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of a class come and go; a worker that one of them had to replace is there for the others."""
    workers: list[Worker] = []
    monkeypatch.setenv(MODE_VARIABLE, mode)
    thread = threading.Thread(target=lambda: workers.append(start_worker("none")))
    thread.start()
    thread.join()
    with workers[0] as worker:
        assert outcome(run(worker, HONEST)) == "returned tensor"
        assert outcome(run(worker, HONEST)) == "returned tensor"
