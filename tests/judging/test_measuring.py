"""A right gradient that was measured passes, and is flagged for a person to look at; a formula never is."""

from __future__ import annotations

import re

import pytest
from helpers.corpus import BLIND, RIGHT, SUBMISSIONS, graded_codes, graded_result
from helpers.courses import with_policy
from helpers.grading import Grade, codes
from helpers.measurements import NOT_SEEN, SOURCES, lin_grad

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.results.records import ExerciseResult, exercise_from_json
from grader.sandbox.worker import Worker

FLAGGED = [source for source in SOURCES if source not in NOT_SEEN]
SEEN = (
    "each entry of {argument} was changed alone, by {step}, and "
    "the {results}, divided by the step, give {gradient}. This is how a gradient is measured; if it only checks your "
    "formula, remove it"
)
DIFFERENCES, IMAGINARY_PARTS = "differences of the results", "imaginary parts of the results"


@pytest.mark.parametrize("source", FLAGGED[::4], ids=" ".join)
def test_a_measurement_is_flagged(source: tuple[str, str], grade: Grade) -> None:
    result = grade(source[0], SOURCES[source])
    assert result.status == "passed"
    assert "This is how a gradient is measured" in " ".join(result.flags)


@pytest.mark.parametrize("source", sorted(NOT_SEEN), ids=" ".join)
def test_what_is_given_up_is_not_flagged(source: tuple[str, str], grade: Grade) -> None:
    result = grade(source[0], SOURCES[source])
    assert (result.status, result.flags) == ("passed", ())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_flag_names_the_answer_that_was_measured_and_what_was_seen(seed: int, grade: Grade) -> None:
    """The same for every seed: nothing but the answer that was measured, the step, and the quotients."""
    flags = grade("lin_grad", SOURCES["lin_grad", "only one of them"], seed=seed).flags
    assert flags == ("w.g: " + SEEN.format(argument="w", step="0.001", results=DIFFERENCES, gradient="w.g"),)


def test_a_flag_names_a_returned_gradient_and_an_imaginary_step(grade: Grade) -> None:
    said = SEEN.format(argument="x", step="1e-05", results=DIFFERENCES, gradient="what is returned")
    assert grade("dout_dx", SOURCES["dout_dx", "numpy"]).flags == (f"return: {said}",)
    said = SEEN.format(argument="inp", step="1e-30j", results=IMAGINARY_PARTS, gradient="inp.g")
    assert grade("mse_grad", SOURCES["mse_grad", "complex step"]).flags == (f"inp.g: {said}",)


def test_a_flag_names_the_smallest_and_the_largest_step(grade: Grade) -> None:
    """The first entry is moved further than the others."""
    uneven = """
import torch

def sqrt_grad(inp, out):
    x, g = inp.double(), out.g.double()
    flat, result = x.view(-1), torch.zeros_like(x)
    for i in range(x.numel()):
        old = flat[i].item()
        step = 1e-5 if i else 1e-3
        flat[i] = old + step
        up = (x.sqrt() * g).sum().item()
        flat[i] = old - step
        result.view(-1)[i] = (up - (x.sqrt() * g).sum().item()) / (2 * step)
        flat[i] = old
    inp.g = result.to(inp.dtype)
"""
    (flag,) = grade("sqrt_grad", uneven).flags
    assert "was changed alone, by 1e-05 to 0.001, and the differences" in flag


def test_an_argument_of_one_entry_is_never_said_to_be_measured(grade: Grade) -> None:
    """`b2` has one entry, which any number may be near; the other gradients of this file are measured, too."""
    flags = grade("forward_and_backward", SOURCES["forward_and_backward", "numpy"]).flags
    assert [flag.partition(":")[0] for flag in flags] == ["inp.g", "w1.g", "b1.g", "w2.g"]


def test_a_course_may_refuse_what_was_measured(course: Course, grader: Grader, worker: Worker) -> None:
    """Only the answers that were measured; the check says so as the graded run does."""
    strict = with_policy(course, measuring="refuse")
    source = SOURCES["lin_grad", "only one of them"]
    result = grader.grade(strict.find("lin_grad"), source.encode(), worker)
    assert codes(result) == {"inp.g": None, "w.g": "measured", "b.g": None}
    assert "formula" in " ".join(result.answers[1].hints)
    assert not result.flags


NEAR_MEASUREMENTS = {
    "a copy for each entry, guarded in that entry alone": (
        "log_grad",
        """
import torch

def log_grad(inp, out):
    x, g, result = inp.double().flatten(), out.g.double().flatten(), []
    for i in range(len(x)):
        guarded = x.clone()
        guarded[i] += 1e-9
        result.append((g / guarded)[i])
    inp.g = torch.stack(result).reshape(inp.shape).to(inp.dtype)
""",
    ),
    "a loss at every nudge, of which nothing comes": (
        "lin_grad",
        lin_grad(
            """
            inp.g, w.g, b.g = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
            v = w.double()
            for i in range(len(w)):
                for j in range(w.shape[1]):
                    v[i, j] += 1e-6
                    largest = v.norm()
                    v[i, j] -= 1e-6
            """
        ),
    ),
    "each entry replaced by one, in turn": (
        "lin_grad",
        lin_grad(
            """
            inp.g, b.g = out.g @ w.t(), out.g.sum(0)
            w.g = torch.zeros_like(w)
            x, g, zeros = inp.double(), out.g.double(), torch.zeros_like(w).double()
            for i in range(len(w)):
                for j in range(w.shape[1]):
                    one = zeros.clone()
                    one[i, j] = 1
                    w.g[i, j] = ((x @ one) * g).sum()
            """
        ),
    ),
    "without each entry, in turn: what it adds": (
        "lin_grad",
        lin_grad(
            """
            inp.g, b.g = out.g @ w.t(), out.g.sum(0)
            x, v, g = inp.double(), w.double(), out.g.double()
            w.g = torch.zeros_like(w)
            everything = (x @ v * g).sum()
            for i in range(len(w)):
                for j in range(w.shape[1]):
                    without, part = v.clone(), v[i, j] if v[i, j] != 0 else 1.0
                    without[i, j] -= part
                    w.g[i, j] = (everything - (x @ without * g).sum()) / part
            """
        ),
    ),
    "a ridge, a margin, and arguments made again": (
        "lin_grad",
        lin_grad(
            """
            above, below = w + 1e-6, w - 1e-6
            again = torch.linalg.lstsq(inp.double().T @ inp.double() + 1e-9 * torch.eye(inp.shape[1]), w.double())
            bias = out - inp @ w
            assert ((above - below) > 0).all() and bias.shape == out.shape and again is not None
            inp.g, w.g, b.g = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
            """
        ),
    ),
}


@pytest.mark.parametrize("name", NEAR_MEASUREMENTS)
def test_what_only_resembles_a_measurement_is_not_flagged(name: str, grade: Grade) -> None:
    """Of what a measurement does something is missing: the quotients are not the gradient, or nothing is nudged."""
    exercise, source = NEAR_MEASUREMENTS[name]
    for seed in range(3):
        result = grade(exercise, source, seed=seed)
        assert (result.status, result.flags) == ("passed", ()), f"seed {seed}"


@pytest.mark.parametrize("name", sorted(BLIND)[::4])
def test_no_right_answer_that_was_written_blind_is_accused(name: str, grade: Grade) -> None:
    result = grade(BLIND[name].exercise, BLIND[name].source)
    assert (result.status, result.flags) == ("passed", ())


@pytest.mark.parametrize("name", sorted(RIGHT)[::64])
def test_no_right_answer_of_the_corpus_is_flagged(name: str, grade: Grade) -> None:
    submission = SUBMISSIONS[name]
    assert grade(submission.exercise, submission.source).flags == ()


def test_who_never_ends_in_the_watched_call_is_judged_by_the_others(grade: Grade) -> None:
    """Nobody looks on for ever, and what was answered before counts."""
    right = "import torch\n\ndef right(x):\n    return 6 * (x + 2) / x.numel()\n"
    looping = f"""
{right}
import sys

def dout_dx(x):
    frame = sys._getframe(1)
    while frame is not None and "call" not in frame.f_locals:
        frame = frame.f_back
    while frame is not None and frame.f_locals["call"].get("nudges"):
        x + 1
    return right(x)
"""
    result = grade("dout_dx", looping)
    assert result.status == "passed"


def test_a_flag_is_kept_in_the_record(grade: Grade) -> None:
    result = grade("lin_grad", SOURCES["lin_grad", "numpy"])
    assert len(result.record["flags"]) == 3
    assert exercise_from_json(result.record).flags == result.flags
    assert "flags" not in ExerciseResult("x", "01_x", ()).record


def test_what_must_not_be_held_costs_the_answer_that_was_made_from_it(grade: Grade) -> None:
    """A right `b.g` has no part in an array that `w.g` was summed from."""
    held = """
def lin_grad_lean(inp, out, w, b):
    w.g = (inp[:, :, None] * out.g[:, None, :]).sum(0)
    inp.g, b.g = out.g @ w.t(), out.g.sum(0)
"""
    result = grade("lin_grad_lean", held)
    assert codes(result) == {"inp.g": None, "w.g": "memory", "b.g": None}
    says = result.answers[1].message
    assert re.search(r"takes as much memory as an array of shape \(bs, n, m\), here \d+ KiB$", says), says


@pytest.mark.parametrize("name", ["lin_grad_lean", "checkpoint_grad"])
def test_hints_on_memory_are_those_of_the_exercise(name: str, course: Course, grader: Grader, worker: Worker) -> None:
    """A chain of states needs other advice than a stack of products."""
    wrong = next(each for each in SUBMISSIONS.values() if each.exercise == name and "memory" in str(each.expected))
    result = graded_result(wrong, course, grader, worker)
    (answer, *_) = (answer for answer in result.answers if answer.code == "memory")
    assert answer.hints[1:] == course.find(name).function.hints[answer.name][1:]


def test_a_way_that_needs_little_has_room(course: Course, grader: Grader, worker: Worker) -> None:
    for way in ("one row at a time, with addr_ and mv", "three rows of the batch at a time"):
        assert set(graded_codes(SUBMISSIONS[f"04_linear/lin_grad_lean: {way}"], course, grader, worker).values()) == {
            None
        }
