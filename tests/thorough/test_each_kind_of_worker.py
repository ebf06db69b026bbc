"""Right answers in odd notebooks, run by a worker of each kind; the short suite has the default one."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from helpers.workers import mode_worker
from test_notebook_cells import course, test_a_right_answer_is_right_whatever_stands_around_it

from grader.sandbox.isolation import machine
from grader.sandbox.worker import Worker, start_worker

WAYS = ("fork", "spawn", "isolated") if sys.platform == "linux" else ("spawn",)


@pytest.fixture(scope="module", params=WAYS)
def any_worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker of each kind: forked, kept, and in the strongest isolation there is here."""
    if request.param == "isolated":
        with start_worker(isolation=machine().strongest) as started:
            yield started
    else:
        with mode_worker(request.param) as started:
            yield started
