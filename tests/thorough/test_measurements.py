"""In each isolation measurements are flagged; whoever forges the meter gains nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import test_measuring
from helpers.corpus import BLIND, SUBMISSIONS, graded_codes
from helpers.courses import with_policy
from helpers.grading import Grade, codes
from helpers.measurements import SOURCES
from helpers.workers import make_job
from test_measuring import FLAGGED

from grader.child.protocol import Frame
from grader.course.course import Course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker, start_worker


@pytest.fixture(scope="module", params=["box", "kernel", "seccomp"])
def everywhere(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A warm worker of each isolation."""
    with start_worker(request.param) as worker:
        assert isinstance(worker.run(make_job("def probe(): pass", {}), 60), Frame)
        yield worker


@pytest.mark.parametrize("source", FLAGGED, ids=" ".join)
def test_a_measurement_is_flagged(source: tuple[str, str], course: Course, grader: Grader, everywhere: Worker) -> None:
    result = grader.grade(course.find(source[0]), SOURCES[source].encode(), everywhere)
    assert result.status == "passed"
    assert result.flags


@pytest.mark.parametrize("name", BLIND)
def test_no_right_answer_that_was_written_blind_is_accused(name: str, grade: Grade) -> None:
    test_measuring.test_no_right_answer_that_was_written_blind_is_accused(name, grade)


FORGED_METERS = {
    "stepped out of": "from torch.utils._python_dispatch import _disable_current_modes as out_of_the_meter",
    "told that nothing is held": (
        "import contextlib, tracemalloc\nimport grader.child.job_answer as meter\n"
        "meter.CostMeter._count, tracemalloc.get_traced_memory = lambda *_: None, lambda: (0, 0)\n"
        "out_of_the_meter = contextlib.nullcontext"
    ),
    "not asked": (
        "import contextlib, sys\nframe, out_of_the_meter = sys._getframe(), contextlib.nullcontext\n"
        "while 'header' not in frame.f_locals: frame = frame.f_back\n"
        "for call in frame.f_locals['header']['calls']: call['meter'] = False"
    ),
}


HOLDS_ALL = """
def lin_grad_lean(inp, out, w, b):
    with out_of_the_meter():
        inp.g = out.g @ w.t()
        w.g = (inp[:, :, None] * out.g[:, None, :]).sum(0)
        b.g = out.g.sum(0)
"""


@pytest.mark.parametrize("way", FORGED_METERS)
def test_whoever_forges_the_meter_has_no_room_all_the_same(
    way: str, course: Course, grader: Grader, everywhere: Worker
) -> None:
    """What must never be held is more than the kernel gives a child in another trial."""
    source = f"{FORGED_METERS[way]}\n{HOLDS_ALL}"
    assert codes(grader.grade(course.find("lin_grad_lean"), source.encode(), everywhere))["w.g"] == "memory"


def test_whoever_holds_a_row_at_a_time_has_room(course: Course, grader: Grader, everywhere: Worker) -> None:
    for way in (
        "one row at a time, with addr_ and mv",
        "one row of w.g at a time",
        "three rows of the batch at a time",
    ):
        submission = SUBMISSIONS[f"04_linear/lin_grad_lean: {way}"]
        assert set(graded_codes(submission, course, grader, everywhere).values()) == {None}


TOO_SLOW_WITHOUT_ROOM = """
import time

def lin_grad_lean(inp, out, w, b):
    while inp.numel() > 10_000:
        time.sleep(1)
    inp.g, w.g, b.g = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
"""


def test_whoever_is_too_slow_without_room_is_flagged(course: Course, grader: Grader, everywhere: Worker) -> None:
    """The clock fails no right answer; a person is told that nobody has seen what it holds."""
    exercise = with_policy(course, time_limit=1).find("lin_grad_lean")
    result = grader.grade(exercise, TOO_SLOW_WITHOUT_ROOM.encode(), everywhere)
    assert result.status == "passed"
    assert "could not be checked" in " ".join(result.flags)
