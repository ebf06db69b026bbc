"""Every way to measure a gradient fails in a graded run, in each isolation; slow formulas pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import pytest
from conftest import Grade, codes, solution, with_policy
from corpus import SUBMISSIONS, found_codes
from measurements import AT_LARGE, MEASURED, SOURCES, WAYS, measuring
from test_large_trial_checks import CAREFUL, LIMIT, isolated, judged, patient, warm

from grader.course import Course
from grader.judging import grading
from grader.judging.grading import Grader
from grader.reference.large_trials import most_entries
from grader.sandbox.worker import ForkingWorker, Reply


@pytest.fixture(scope="module", params=["box", "kernel"])
def everywhere(request: pytest.FixtureRequest) -> Iterator[ForkingWorker]:
    """A warm worker of each isolation."""
    with ForkingWorker(request.param) as worker:
        yield warm(worker)


ONCE = {("mse_grad", way) for way in WAYS if way != "numpy"}  # every way is tried on lin_grad already
STOPPED = [source for source in MEASURED if source != CAREFUL and source not in ONCE]
ABOUT_THE_LIMIT = {"input_grad": measuring("input_grad", "numpy")}


@pytest.mark.parametrize("source", MEASURED, ids=" ".join)
def test_measurements_are_exact_enough_for_every_ordinary_trial(source: tuple[str, str], grade: Grade) -> None:
    """So it is the large case that stops them."""
    assert grade(source[0], SOURCES[source]).status == "passed"


@pytest.mark.parametrize("source", STOPPED, ids=" ".join)
def test_no_measurement_passes_in_a_graded_run(
    source: tuple[str, str], patient: Course, grader: Grader, isolated: ForkingWorker
) -> None:
    exercise = patient.find(source[0])
    grader.large_trials(
        exercise, most_entries(LIMIT) // len(grader.large_trials(exercise))
    )  # drawn before, as it takes time too
    result = judged(source, patient, grader, isolated)
    assert {answer.status for answer in result.answers} == {"failed"}
    assert set(codes(result).values()) <= {"timeout", "memory"}


@pytest.mark.parametrize("source", AT_LARGE, ids=" ".join)
def test_what_is_not_right_at_large_is_wrong(
    source: tuple[str, str], patient: Course, grader: Grader, isolated: ForkingWorker
) -> None:
    assert codes(judged(source, patient, grader, isolated))["inp.g"] == AT_LARGE[source]


def test_what_is_wrong_elsewhere_is_told_first(patient: Course, grader: Grader, isolated: ForkingWorker) -> None:
    """A slow function with a mistake: the answer that has it is told of the mistake."""
    slow = SOURCES["lin_grad", "torch"]
    wrong = slow.replace("given[name].g = measured[-1]", "given[name].g = measured[-1] * (2 if name == 'w' else 1)")
    assert wrong != slow
    found = codes(grader.grade(patient.find("lin_grad"), wrong.encode(), isolated))
    assert found == {"inp.g": "timeout", "w.g": "wrong-factor", "b.g": "timeout"}


# Right every time, and in large calls at the last moment: just before the child would be killed.
AT_THE_LAST_MOMENT = """
import signal, sys, time

STARTED = time.monotonic()


def wait():
    frame = sys._getframe()
    while "header" not in frame.f_locals:
        frame = frame.f_back
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while time.monotonic() - STARTED < frame.f_locals["header"]["time_limit"] + 0.5:
        pass


def {name}(*given):
    size = given[0].numel()
    if size > 20_000 and {tables}:
        raise MemoryError
    if size > 2_000:
        wait()
    return right(*given)
"""


@pytest.mark.parametrize(("name", "tables"), [("lin_grad", False), ("var_grad", True)])
def test_whoever_answers_at_the_last_moment_is_not_called_again(
    name: str, tables: bool, patient: Course, grader: Grader, isolated: ForkingWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit is for all calls together, however many there are."""
    right = solution(patient, name).decode().replace(f"def {name}(", "def right(")
    calls: list[tuple[float, Reply]] = []
    run = ForkingWorker.run

    def recorded(self: ForkingWorker, job: bytes, limit: float) -> Reply:
        calls.append((limit, run(self, job, limit)))
        return calls[-1][1]

    monkeypatch.setattr(ForkingWorker, "run", recorded)
    exercise = patient.find(name)
    grader.prepare(exercise, isolated=True)
    result = grader.grade(exercise, (right + AT_THE_LAST_MOMENT.format(name=name, tables=tables)).encode(), isolated)
    used = [0.0, *accumulate(reply.seconds for _, reply in calls)]
    assert all(0 < limit <= LIMIT - before for (limit, _), before in zip(calls, used, strict=False))
    assert set(codes(result).values()) == {"timeout"}


FORGED_METERS = {
    "stepped out of": "from torch.utils._python_dispatch import _disable_current_modes as out_of_the_meter",
    "told that nothing is held": (
        "import contextlib, tracemalloc\nimport grader.child.cost_meter as meter\n"
        "meter._StorageCounter._count, tracemalloc.get_traced_memory = lambda *_: None, lambda: (0, 0)\n"
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
    way: str, course: Course, grader: Grader, everywhere: ForkingWorker
) -> None:
    """What must never be held is more than the kernel gives a child in another trial."""
    source = f"{FORGED_METERS[way]}\n{HOLDS_ALL}"
    assert set(codes(grader.grade(course.find("lin_grad_lean"), source.encode(), everywhere)).values()) == {"memory"}


def test_whoever_holds_a_row_at_a_time_has_room(course: Course, grader: Grader, everywhere: ForkingWorker) -> None:
    for way in (
        "one row at a time, with addr_ and mv",
        "one row of w.g at a time",
        "three rows of the batch at a time",
    ):
        submission = SUBMISSIONS[f"04_linear/lin_grad_lean: {way}"]
        assert set(found_codes(submission, course, grader, everywhere).values()) == {None}


SPINS = """
import time

def input_grad(x, w, b, df):
    end = time.process_time() + {seconds} * (len(x) / 30_000) ** {power}
    while time.process_time() < end:
        pass
    return w @ df
"""


@pytest.mark.parametrize(("power", "code"), [(1, None), (2, "timeout")])
def test_time_that_grows_as_the_square_is_that_of_a_measurement(
    power: int,
    code: str | None,
    course: Course,
    grader: Grader,
    isolated: ForkingWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine so fast that the time limit never comes."""
    monkeypatch.setattr(grading, "LOOKS", 1)
    usual = with_policy(course, time_limit=10)
    result = grader.grade(usual.find("input_grad"), SPINS.format(seconds=0.06, power=power).encode(), isolated)
    assert codes(result) == {"return": code}
    assert code is None or "its time grows as the square of a large input: x has " in result.answers[0].message


@pytest.mark.parametrize("name", ABOUT_THE_LIMIT)
def test_what_takes_about_the_time_limit_is_found_out_on_any_machine(
    name: str, course: Course, grader: Grader, isolated: ForkingWorker
) -> None:
    """Either the usual limit ends it, or how its time grows shows it."""
    usual = with_policy(course, time_limit=10)
    result = grader.grade(usual.find(name), ABOUT_THE_LIMIT[name].encode(), isolated)
    assert set(codes(result).values()) == {"timeout"}
