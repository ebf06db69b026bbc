"""A learner's test is judged by the backward passes that it rejects: points, what is said, and who is not fooled."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.corpus import PAGES

from grader.child.call_arguments import function_of
from grader.course.course import Course
from grader.course.exercise import Routine
from grader.course.sampling import BackwardPass
from grader.diagnosis.evidence import body_text
from grader.judging.grading import Grader
from grader.reference.trials import make_trials
from grader.results.records import AnswerResult, ExerciseResult
from grader.sandbox.source_text import Part
from grader.sandbox.worker import Worker

TESTS = ("test_scale", "test_row_mean", "test_softmax")
Grade = Callable[[str, str], ExerciseResult]


@pytest.fixture
def grade(course: Course, grader: Grader, worker: Worker) -> Grade:
    return lambda exercise, source: grader.grade(course.find(exercise), source.encode(), worker)


def answer_of(result: ExerciseResult) -> AnswerResult:
    (answer,) = result.answers
    return answer


def passes_of(course: Course, exercise: str) -> list[BackwardPass]:
    routine = course.find(exercise).function
    assert isinstance(routine, Routine)
    trials = make_trials(routine, np.random.default_rng(0))
    return [trial.arguments["backward"] for trial in sorted(trials, key=lambda trial: trial.setting.index)]


@pytest.mark.parametrize("exercise", TESTS)
def test_there_are_twenty_wrong_ones_and_ten_right_ones_and_autograd_says_which(exercise: str, course: Course) -> None:
    """At every size, in both precisions; a wrong one is wrong at some."""
    forward = {"test_scale": torch.mul, "test_row_mean": lambda x: x.mean(1), "test_softmax": lambda x: x.softmax(1)}
    found = [each for each in passes_of(course, exercise) if not each.name]
    wrong = [is_wrong(each.source, forward[exercise], scaled=exercise == "test_scale") for each in found]
    assert wrong == [False] * 10 + [True] * 20


def is_wrong(source: str, forward: Callable[..., torch.Tensor], *, scaled: bool) -> bool:
    """Something that is stored is not what torch's autograd says, or out.g is changed."""
    backward, rng = function_of(source), torch.Generator().manual_seed(1)
    for bs, n, size, dtype in (
        (1, 4, 1, torch.float32), (3, 3, 1, torch.float64), (6, 8, 1, torch.float32), (5, 2, 2000, torch.float64),
        (4, 1, 1, torch.float32), (1, 1, 1, torch.float64), (2, 7, 1, torch.float64),
    ):  # fmt: skip
        shapes = ((bs, n), (n,)) if scaled else ((bs, n),)
        leaves = [(size * torch.randn(shape, generator=rng)).to(dtype).requires_grad_() for shape in shapes]
        out = forward(*leaves)
        out_g = 3 * torch.randn(out.shape, generator=rng).to(dtype)
        out.backward(out_g)
        given, given_out = [leaf.detach().clone() for leaf in leaves], out.detach().clone()
        given_out.g = out_g.clone()
        try:
            backward(*given, given_out)
            same = [
                found.g.shape == leaf.grad.shape
                and found.g.dtype == dtype
                and torch.allclose(found.g, leaf.grad, 1e-4, 1e-6 * size)
                for found, leaf in zip(given, leaves, strict=True)
            ]
        except (AttributeError, RuntimeError):
            return True
        if not all(same) or not torch.equal(given_out.g, out_g):
            return True
    return False


@pytest.mark.parametrize("exercise", TESTS)
def test_what_may_explain_a_mistake_is_there(exercise: str, course: Course) -> None:
    found = passes_of(course, exercise)
    names = [each.name for each in found if each.name]
    assert len(set(names)) == len(names)
    assert {name for each in found for name in each.probes} <= set(names)


def test_names_and_order_tell_nothing(course: Course) -> None:
    routine = course.find("test_softmax").function
    orders = [
        [trial.setting.index for trial in make_trials(routine, np.random.default_rng(seed))] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2] != sorted(orders[2])
    assert all(each.source.startswith("def backward(inp, out):\n") for each in passes_of(course, "test_softmax"))


def test_a_test_is_written_in_place_of_dots(course: Course) -> None:
    assert course.find("test_scale").path.read_text().rstrip().endswith('"""\n    ...')


@pytest.mark.parametrize(
    ("title", "says", "evidence", "hint"),
    [
        (
            "an upstream gradient of ones",
            "your test rejects 10 of 20 wrong backward passes and accepts 10 of 10 right ones. "
            "One of the wrong ones that it accepts does not use out.g. In every call of your test, all entries of out.g"
            " are the same number",
            "it accepts: inp.g = torch.full_like(inp, 1 / inp.shape[1])",
            "If every entry of `out.g` is the same, can the test see whether `out.g` was used?",
        ),
        (
            "small sizes only",
            "your test rejects 18 of 20 wrong backward passes and accepts 10 of 10 right ones. "
            "One of the wrong ones that it accepts leaves the rows from the fourth on at 0. Your test has no call with"
            " more than three rows",
            "it accepts: inp.g = out.g[:, None].expand(inp.shape) / inp.shape[1]; inp.g[3:] = 0",
            "How many rows does it take to see that one is left out?",
        ),
        (
            "squares only",
            "your test rejects 16 of 20 wrong backward passes and accepts 10 of 10 right ones. "
            "One of the wrong ones that it accepts divides by bs in place of n. In every call of your test, bs and n"
            " are the same number",
            "it accepts: inp.g = out.g[:, None].expand(inp.shape) / len(inp)",
            "If bs and n are the same number, can the test see which of them was used?",
        ),
        (
            "the division by n is forgotten in the test",
            "your test rejects 19 of 20 wrong backward passes and accepts 0 of 10 right ones. "
            "One of the right ones that it rejects is written as in the lesson, so the test's assertions fail for a "
            "right answer",
            "it rejects: inp.g = out.g[:, None].expand(inp.shape) / inp.shape[1]",
            "Call your test with this backward pass.",
        ),
    ],
)
def test_the_finding_names_a_backward_pass_and_what_hides_it(
    title: str, says: str, evidence: str, hint: str, grade: Grade
) -> None:
    source = next(each.source for each in PAGES["15_clinic/test_row_mean"] if each.title == title)
    answer = answer_of(grade("test_row_mean", source))
    assert (answer.name, answer.message, answer.evidence) == ("verdicts", says, evidence)
    assert answer.hints[0].startswith(hint)
    assert len(answer.hints) == 3


@pytest.mark.parametrize(
    ("title", "why"),
    [
        (
            "exact equality",
            "Your test compares so strictly that the last digits decide, and these depend on the order of",
        ),
        ("a relative tolerance alone", "Your test leaves no room for rounding where an entry is nearly 0"),
        ("one row only", "In your test, every inp has a single row, bs = 1"),
        ("only the shape is looked at", "Your test compares no entry of inp.g with anything"),
        (
            "nothing is asserted",
            "Your test never looks at inp.g, so a backward pass that does nothing is accepted as well",
        ),
    ],
)
def test_why_is_what_a_probe_tells(title: str, why: str, grade: Grade) -> None:
    source = next(each.source for each in PAGES["15_clinic/test_softmax"] if each.title == title)
    assert f". {why}" in answer_of(grade("test_softmax", source)).message


def test_what_a_test_returns_counts_for_nothing(grade: Grade) -> None:
    answer = answer_of(grade("test_softmax", "def test_softmax(backward):\n    return False\n"))
    says = "What your test returns does not count: it rejects only by an exception, such as that of a failed `assert`"
    assert answer.message.endswith(says)
    assert "Your test never looks at inp.g" not in answer.message  # it may well look, and answer False
    assert (answer.code, answer.score) == ("accepts-wrong", 0)


def test_a_test_that_is_told_by_chance_is_not_repeatable(grade: Grade) -> None:
    """Also where chance falls on right ones alone."""
    source = (
        "import torch\ndef test_row_mean(backward):\n    inp = torch.randn(3, 4)\n    out = inp.mean(1)\n"
        "    out.g = torch.randn(3)\n    backward(inp, out)\n"
        "    assert torch.equal(inp.g, (out.g[:, None] * 0.25).expand(3, 4)) and torch.rand(()) < 0.5\n"
    )
    answer = answer_of(grade("test_row_mean", source))
    assert answer.code == "not-repeatable"
    assert answer.message.startswith(
        "called twice with the same backward pass, your test does not always give the same"
    )


def test_what_is_kept_from_call_to_call_is_not_repeatable(grade: Grade) -> None:
    """The first backward pass that it is given is what it compares the others with."""
    source = (
        "import torch\nKEPT = []\ndef test_row_mean(backward):\n    inp = torch.ones(3, 4)\n    out = inp.mean(1)\n"
        "    out.g = torch.tensor([1.0, 2.0, 3.0])\n    KEPT.append(backward)\n"
        "    assert len(KEPT) < 60\n"
    )
    assert answer_of(grade("test_row_mean", source)).code == "not-repeatable"


def test_what_the_first_one_stores_is_no_pattern_for_the_others(course: Course, worker: Worker) -> None:
    """Whatever the seed, it is a wrong one."""
    source = (
        "import torch\nKEPT = []\ndef test_row_mean(backward):\n    inp = torch.ones(3, 5)\n    out = inp.mean(1)\n"
        "    out.g = torch.tensor([1.0, 2.0, 3.0])\n    backward(inp, out)\n"
        "    KEPT.append(getattr(inp, 'g', torch.zeros(3, 5)))\n    assert torch.equal(KEPT[-1], KEPT[0])\n"
    )
    exercise = course.find("test_row_mean")
    assert [Grader(seed).grade(exercise, source.encode(), worker).score for seed in range(4)] == [0] * 4


def test_another_exception_on_a_right_backward_pass_is_an_error(grade: Grade) -> None:
    answer = answer_of(grade("test_scale", "def test_scale(backward):\n    backward(1, 2, 3)\n"))
    assert answer.code == "error"
    assert answer.message.startswith(
        "called with a right backward pass, your test fails with AttributeError: 'int' object has"
    )
    assert answer.score == 0


def test_an_error_in_part_of_the_right_ones_costs_their_share(grade: Grade) -> None:
    source = next(e.source for e in PAGES["15_clinic/test_row_mean"] if e.title == "the memory of inp.g is written to")
    answer = answer_of(grade("test_row_mean", source))
    assert answer.code == "error"
    assert 0 < answer.score < answer.max_score


def test_a_test_passes_where_a_submission_shares_one_child(course: Course, grader: Grader, worker: Worker) -> None:
    texts = [(name, next(e.source for e in PAGES[f"15_clinic/{name}"] if not e.expected)) for name in TESTS]
    sharing = grader.together(course, [Part(name, text.encode()) for name, text in texts], worker)
    together = sharing.results_of(sharing.run())
    assert {name: (result.status, result.notes) for name, result in together.items()} == dict.fromkeys(
        TESTS, ("passed", ())
    )


def test_rejecting_more_right_ones_never_gains(course: Course, grader: Grader, worker: Worker) -> None:
    """The stricter test catches one more wrong backward pass, and calls a right one wrong."""
    body = (
        "import torch\ndef test_softmax(backward):\n    torch.manual_seed(0)\n    inp = torch.randn(3, 5)\n"
        "    out = inp.softmax(1)\n    out.g = 2 * torch.randn(3, 5)\n    g = out.g.clone()\n    backward(inp, out)\n"
        "    assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)), atol=1e-6)\n"
    )
    stricter = f"{body}    assert torch.equal(out.g, g) and inp.g.is_contiguous()\n"
    scores = [grader.grade(course.find("test_softmax"), text.encode(), worker).score for text in (body, stricter)]
    assert scores[1] < scores[0]


def test_a_body_that_was_left_as_it_was_found_is_still_to_do(course: Course, grade: Grade) -> None:
    """With comments as without; who changes it and does not mend it hears what is wrong."""
    text = course.find("mend_attention").path.read_text()
    for same in (text, text.replace("# One line is wrong.", "# Which one?")):
        result = grade("mend_attention", same)
        assert {(answer.status, answer.message) for answer in result.answers} == {
            ("todo", "nothing has been changed yet; one line of the body is wrong")
        }
    result = grade("mend_attention", text.replace("softmax(0)", "softmax(-2)"))
    assert {(answer.status, answer.code) for answer in result.answers} == {("failed", "summed-wrong-axis")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("lambda x: x + 1", "lambda x: x + 1"),
        ("def bug(x):\n    y = x\n    return y + 1\n", "y = x; return y + 1"),
        ("def bug(x):\n    if x > 0:\n        x = 0\n    return x + 1\n", "if x > 0: x = 0; return x + 1"),
        ("def bug(x):\n    for i in range(2):\n        y = i\n        x += y\n    return x\n", ""),
    ],
)
def test_a_function_argument_is_an_expression_or_a_def(source: str, expected: str) -> None:
    """And is told on one line, unless it has loops and the like."""
    assert function_of(source)(0) == 1
    assert (body_text(source) if "def" in source else source) == expected


def test_the_call_that_shows_a_bug_is_told_with_its_body(grade: Grade) -> None:
    """Each of two returned numbers beside the one that is right."""
    result = grade("smallest_failing_input", "def smallest_failing_input(bug):\n    return 6, 5\n")
    for answer, number, place in zip(result.answers, (6, 5), ("first", "second"), strict=True):
        returns = f"returns {number} as its {place} value, but must return [1-4]"
        call = rf"smallest_failing_input\(bug\) {returns}"
        assert re.fullmatch(rf"for a `bug` that does `inp\.g = .*`, {call}", answer.evidence), answer.evidence


def test_too_many_backward_passes_are_refused() -> None:
    from grader.course.sampling import backward_passes
    from grader.errors import SpecError

    one = BackwardPass("def backward():\n    pass\n")
    with pytest.raises(SpecError, match="50 backward passes at most"):
        backward_passes(*[replace(one, says=str(i)) for i in range(51)])
