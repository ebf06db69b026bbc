"""One file in, one verdict out: right answers pass however they are written, wrong ones get facts and evidence."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.corpus import SUBMISSIONS
from helpers.courses import SEED, solution, with_policy
from helpers.grading import Grade, codes, words_of
from helpers.workers import mode_worker

from grader.child.protocol import Frame
from grader.course.course import Course, CourseExercise
from grader.course.exercise import stored
from grader.course.sampling import Array
from grader.course.trial_sizes import Setting
from grader.diagnosis.evidence import sample_text
from grader.diagnosis.mistake import Mistake
from grader.errors import InfrastructureError
from grader.judging.grading import Grader
from grader.reference.trial import Sample, Trial
from grader.sandbox.worker import Unanswered, Worker

SOURCE_DISCUSSION = """
def lin_grad(inp, out, w, b):
    # grad of matmul with respect to input
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).sum(0)
    b.g = out.g.sum(0)
"""
RELU = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
LIN = "def lin_grad(inp, out, w, b):\n    inp.g = {}\n    w.g = {}\n    b.g = {}\n"
RIGHT = ("out.g @ w.t()", "inp.t() @ out.g", "out.g.sum(0)")


def function_of(course: Course, exercise_id: str) -> Callable[..., Any]:
    """The worked solution as a function."""
    namespace: dict[str, Any] = {}
    exec(compile(solution(course, exercise_id), exercise_id, "exec"), namespace)
    function: Callable[..., Any] = namespace[exercise_id]
    return function


def test_the_code_of_the_source_discussion_passes_as_it_stands(grade: Grade) -> None:
    assert codes(grade("lin_grad", SOURCE_DISCUSSION)) == {"inp.g": None, "w.g": None, "b.g": None}


def test_the_chain_of_the_source_discussion_is_four_and_a_half(course: Course) -> None:
    """x = ones(2, 2), y = x + 2, z = 3 y², out = mean(z): every entry of the gradient is 4.5."""
    torch.testing.assert_close(function_of(course, "dout_dx")(torch.ones(2, 2)), torch.full((2, 2), 4.5))


def test_the_small_solutions_compose_to_the_whole_network(course: Course) -> None:
    """mse_grad, lin_grad, relu_grad, lin_grad one after the other: what forward_and_backward stores."""
    generator = torch.Generator().manual_seed(4)
    shapes = {"inp": (6, 5), "targ": (6,), "w1": (5, 4), "b1": (4,), "w2": (4, 1), "b2": (1,)}
    given = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    whole = {name: value.clone() for name, value in given.items()}
    loss = function_of(course, "forward_and_backward")(**whole)

    mse_grad, lin_grad, relu_grad = (function_of(course, name) for name in ("mse_grad", "lin_grad", "relu_grad"))
    first = given["inp"] @ given["w1"] + given["b1"]
    hidden = first.clamp_min(0)
    out = hidden @ given["w2"] + given["b2"]
    mse_grad(out, given["targ"])
    lin_grad(hidden, out, given["w2"], given["b2"])
    relu_grad(first, hidden)
    lin_grad(given["inp"], first, given["w1"], given["b1"])

    torch.testing.assert_close(loss, (out.squeeze(-1) - given["targ"]).pow(2).mean())
    for name in ("inp", "w1", "b1", "w2", "b2"):
        torch.testing.assert_close(whole[name].g, given[name].g)


def test_every_worked_solution_passes(exercises: list[CourseExercise], course: Course, grade: Grade) -> None:
    """With nothing for a person to look at."""
    for exercise in exercises:
        result = grade(exercise.id, solution(course, exercise.id))
        assert (result.status, result.flags) == ("passed", ()), result
        assert result.score == pytest.approx(exercise.points)


SAME_VERDICT: dict[str, tuple[str, str, dict[str, str | None]]] = {
    "right": ("lin_grad", SOURCE_DISCUSSION, {"inp.g": None, "w.g": None, "b.g": None}),
    "right at a kink": ("relu_grad", RELU.replace(">", ">="), {"inp.g": None}),
    "averaged": (
        "lin_grad",
        LIN.format(RIGHT[0], "inp.t() @ out.g / len(inp)", RIGHT[2]),
        {"inp.g": None, "w.g": "mean-for-sum", "b.g": None},
    ),
    "ones upstream": ("relu_grad", RELU.replace("* out.g", "* 1.0"), {"inp.g": "missing-upstream"}),
    "reshaped": (
        "lin_grad",
        LIN.format("out.g @ w.reshape(w.t().shape)", *RIGHT[1:]),
        {"inp.g": "reshape-for-transpose", "w.g": None, "b.g": None},
    ),
    "no mean": (
        "mse_grad",
        "def mse_grad(inp, targ):\n    inp.g = 2 * (inp - targ.unsqueeze(-1))\n",
        {"inp.g": "sum-for-mean"},
    ),
    "mask on the wrong side": ("relu_grad", RELU.replace(">", "<"), {"inp.g": "inverted-mask"}),
    "random": (
        "relu_grad",
        "import torch\n" + RELU.replace("(inp > 0)", "torch.rand_like(inp)"),
        {"inp.g": "not-repeatable"},
    ),
    "off by no more than amplified rounding": (
        "relu_grad",
        "import torch\n" + RELU.replace("(inp > 0)", "(inp > 0) * (1.0005 + 1e-3 * torch.rand(()))"),
        {"inp.g": "imprecise"},
    ),
}


@pytest.mark.parametrize("submission", SAME_VERDICT)
def test_the_verdict_is_the_same_for_every_seed(submission: str, grade: Grade) -> None:
    """Here for three of them; for thirty in `thorough/test_every_seed.py`."""
    exercise_id, source, expected = SAME_VERDICT[submission]
    assert [codes(grade(exercise_id, source, seed=seed)) for seed in range(3)] == [expected] * 3


def test_without_a_seed_no_two_graders_draw_the_same_inputs(course: Course) -> None:
    first, second = (Grader().trials(course.find("relu_grad")).judged_trials[0].out_g for _ in range(2))
    assert first.shape != second.shape or not torch.equal(first, second)


def test_each_exercise_draws_its_own_inputs(course: Course, grader: Grader) -> None:
    first, second = (
        grader.trials(course.find(name)).judged_trials[0].inputs["inp"] for name in ("relu_grad", "exp_grad")
    )
    assert first.shape != second.shape or not torch.equal(first, second)


def test_an_exercise_of_another_course_has_its_own_right_answers(
    course: Course, grader: Grader, worker: Worker, tmp_path: Path
) -> None:
    """The tests share one grader, for whatever courses they make."""
    exercise, content = course.find("lin_grad"), LIN.format(*RIGHT).encode()
    spec = course.spec(exercise.unit).read_text(encoding="utf-8")
    (tmp_path / exercise.unit).mkdir()
    (tmp_path / exercise.unit / "spec.py").write_text(spec.replace("inp @ w + b,", "inp @ w + 2 * b,", 1))
    other = Course(course.root, tmp_path, course.config).find("lin_grad")
    assert set(codes(grader.grade(exercise, content, worker)).values()) == {None}
    assert codes(grader.grade(other, content, worker)) == {"inp.g": None, "w.g": None, "b.g": "missing-local"}


def test_the_evidence_is_a_nudge_of_the_worst_entry(course: Course, grade: Grade, grader: Grader) -> None:
    """`nudge w[0,1] by 1e-4: the loss moves by ..., your gradient says ...`, both to be believed."""
    result = grade("lin_grad", LIN.format(RIGHT[0], "inp.t() @ out.g / len(inp)", RIGHT[2]))
    answer = result.answers[1]
    number = r"(-?\d\.\d\de[+-]\d\d)"
    found = re.fullmatch(
        rf"nudge w\[(\d),(\d)\] by 1e-4: the loss moves by {number}, your gradient says {number}", answer.evidence
    )
    assert found is not None, answer.evidence
    i, j, moved, said = int(found[1]), int(found[2]), float(found[3]), float(found[4])
    trial = grader.trials(course.find("lin_grad")).judged_trials[0]
    expected = trial.expected["w.g"]
    assert expected is not None
    assert moved == pytest.approx(1e-4 * expected[i, j], rel=1e-2)
    assert said == pytest.approx(1e-4 * expected[i, j] / trial.setting.sizes["bs"], rel=1e-2)
    assert abs(expected[i, j]) == pytest.approx(np.abs(expected).max())


def test_of_a_jacobian_one_output_moves(course: Course, grade: Grade, grader: Grader) -> None:
    (answer,) = grade("df_dx", "def df_dx(x, w, b):\n    return 3 * w.t()\n").answers
    found = re.fullmatch(
        r"nudge x\[(\d)\] by 1e-4: output\[(\d)\] moves by (\S+), your Jacobian says (\S+)", answer.evidence
    )
    assert found is not None, answer.evidence
    expected = grader.trials(course.find("df_dx")).judged_trials[0].expected["return"]
    assert expected is not None
    right = expected[int(found[2]), int(found[1])]
    assert [float(found[3]), float(found[4])] == pytest.approx([1e-4 * right, 3e-4 * right], rel=1e-2)


@pytest.mark.parametrize(
    "slip",
    {
        "one gate more": "inp.g = out.g * (inp > 0); inp.g[inp == inp.max()] = 0",
        "another slope": "inp.g = out.g * (inp > 0) * inp.cos()",
    }.items(),
    ids=lambda slip: slip[0],
)
def test_the_entry_that_the_finding_names_is_the_one_that_is_nudged(grade: Grade, slip: tuple[str, str]) -> None:
    (answer,) = grade("relu_grad", f"def relu_grad(inp, out):\n    {slip[1]}\n").answers
    named = re.search(r"inp\[[\d,]*\] = ", answer.message)
    assert named, answer.message
    assert f"nudge {named[0].removesuffix(' = ')} by" in answer.evidence


def test_the_number_of_a_product_is_named_whichever_side_it_is_on(grade: Grade) -> None:
    """torch computes `lam * x` as `x * lam`."""
    (answer,) = grade("l2_penalty_grad", "def l2_penalty_grad(w, lam):\n    w.g = 2 * w\n").answers
    assert answer.message == "the factor lam in the derivative of `lam * (w**2).sum()` is missing"


def test_where_there_is_no_loss_the_output_moves(grade: Grade) -> None:
    (answer,) = grade("dout_dx", "def dout_dx(x):\n    return 6 * x / x.numel()\n").answers
    assert "the output moves by" in answer.evidence


def test_the_loss_moves_where_the_forward_pass_names_one(grade: Grade) -> None:
    source = "def dloss_dx(x, target):\n    return 12 * (x + 2) / x.numel()\n"
    (answer,) = grade("dloss_dx", source).answers
    assert "the loss moves by" in answer.evidence
    assert "between the loss and this variable" in answer.hints[0]


def test_an_option_that_decides_is_named_alone(grade: Grade) -> None:
    source = "def pad_grad(inp, out, before, after):\n    inp.g = out.g[:, before:-after]\n"
    (answer,) = grade("pad_grad", source).answers
    assert answer.message == "it is wrong when `after` is 0"


def test_two_arrays_are_shown_with_as_many_digits_as_tell_them_apart() -> None:
    given, expected = np.array([-8.9212, -0.285]), np.array([-8.9213, -0.285])
    (answer,) = stored("x.g")
    says = sample_text(answer, Sample(Trial(Setting(0, "", {}), {}, {}, {}), given, expected), Mistake("unknown"))
    assert says == "expected [-8.9213, -0.285], yours is [-8.9212, -0.285]"


def test_of_an_answer_that_is_added_the_numbers_are_what_is_added() -> None:
    """Each entry was said to be a third of what it should be, beside two sums with what had been stored."""
    prior, new = np.array([5.0, -1.0]), np.array([3.0, 6.0])
    trial = Trial(Setting(0, "", {}), {"b": Array(np.zeros(2), ("m",), prior)}, {}, {})
    (answer,), sample = stored("b.g"), Sample(trial, prior + new / 3, prior + new)
    of_new = Mistake("mean-for-sum", rewrite=lambda program: program)
    assert sample_text(answer, sample, of_new) == "expected [3, 6] to be added to what is stored, yours adds [1, 2]"
    assert sample_text(answer, sample, Mistake("stale-gradient")) == "expected [8, 5], yours is [6, 1]"


def test_a_routine_that_is_wrong_in_no_known_way_shows_the_call(grade: Grade) -> None:
    """Which can be typed in again, and gives what it says."""
    source = "import math\ndef slope(f, x, h):\n    return (f(x + h) - f(x)) / h + math.sin(7 * x)\n"
    (answer,) = grade("slope", source).answers
    assert answer.code == "unknown"
    assert re.match(r"the value is -?[\d.]+; it must be -?[\d.]+", answer.message)
    call, _, returned = answer.evidence.partition(", but must return ")[0].partition(" returns ")
    assert re.fullmatch(r"slope\(f=lambda x: .+, x=0?\.\d+, h=0?\.\d+\)", call.replace("x=1.", "x=0."))
    names: dict[str, Any] = {}
    exec(source, names)
    assert eval(call, names) == pytest.approx(float(returned), rel=1e-2)


def test_of_a_routine_the_smallest_call_is_shown(grade: Grade, course: Course) -> None:
    answers = grade("numerical_grad", "def numerical_grad(f, x, h):\n    return x.sinh() + h\n").answers
    assert re.search(r"^numerical_grad\(f=lambda x: .*, x=torch\.tensor\(.*\), h=[\d.]+\) returns", answers[0].evidence)


def test_of_a_routine_with_several_answers_the_call_shows_each_with_its_own(grade: Grade) -> None:
    source = (
        "def momentum_step(p, g, m, lr, beta):\n    new = beta * m + g\n    return p - lr * new + 1e-2 * p.sin(), {}\n"
    )
    assert [answer.code for answer in grade("momentum_step", source.format("new")).answers][1] is None
    first, second = grade("momentum_step", source.format("new + 0.1 * new.cos()")).answers
    for place, answer in (("first", first), ("second", second)):
        returns = rf"\) returns \[.*\] as its {place} value, but must return \["
        assert re.search(returns, answer.evidence)
    assert first.evidence.partition("must return")[2] != second.evidence.partition("must return")[2]


@pytest.mark.parametrize(
    ("wanted", "code", "says"),
    [
        ("True", "extra-work", "this gradient is not asked for when `needs` is {'b'}, but the function stores it"),
        ("len(needs) > 1", "missing-answer", "nothing is stored in inp.g when `needs` is {'inp'}"),
        ("False", "missing-answer", "nothing is stored in inp.g when `needs` is {'inp', 'w', 'b'}"),
        (
            "needs['inp']",
            "error",
            f"TypeError: {words_of('set()[0]')} (lin_grad_needed.py, line 5: if needs['inp']: "
            "inp.g = out.g @ w.t()). Here needs is {'inp', 'w', 'b'}",
        ),
        ("worked_out is None", "extra-work", "inp.g is computed even when `needs` is {'w', 'b'}"),
    ],
)
def test_what_needs_held_is_said(grade: Grade, wanted: str, code: str, says: str) -> None:
    source = (
        "def lin_grad_needed(inp, out, w, b, needs):\n    worked_out = None\n"
        "    if 'w' in needs: w.g = inp.t() @ out.g\n    if 'b' in needs: b.g = out.g.sum(0)\n"
    )
    if "worked_out" in wanted:
        source += "    worked_out = out.g @ w.t()\n    if 'inp' in needs: inp.g = worked_out\n"
    else:
        source += f"    if {wanted}: inp.g = out.g @ w.t()\n"
    answer = grade("lin_grad_needed", source).answers[0]
    assert (answer.code, answer.message) == (code, says)


def test_the_evidence_speaks_of_the_output_where_there_is_no_loss(grade: Grade) -> None:
    answer = grade("dout_dx", "def dout_dx(x):\n    return 6 * (x + 2)\n").answers[0]
    assert re.match(r"nudge x\[\d(,\d)*\] by 1e-4: the (loss|output) moves by ", answer.evidence)


@pytest.mark.parametrize(
    ("exercise", "slip", "index"),
    [
        ("straight_through_grad", ("inp.g = ", "inp.g = 2 * "), 0),
        ("truncated_rnn_grad", ("t - k)", "t - k - 1)"), 0),
        ("truncated_rnn_grad", ("range(max(0, t - k), t)", "range(t)"), 1),
    ],
    ids=str,
)
def test_no_nudge_is_told_whose_loss_moves_by_another_amount(
    course: Course, grade: Grade, grader: Grader, exercise: str, slip: tuple[str, str], index: int
) -> None:
    """The right gradient of a straight-through estimator is, on purpose, not that of its own forward pass."""
    found = course.find(exercise)
    source = found.solution.read_text(encoding="utf-8").replace(*slip)
    answer = grade(exercise, source).answers[index]
    assert answer.status == "failed"
    assert not answer.evidence.startswith("nudge")


@pytest.mark.parametrize(
    ("exercise", "body", "says"),
    [
        ("maximum_grad(a, b, out)", "a.g, b.g = out.g * (a >= b), out.g * (b >= a)",
         r"it is wrong only where a and b are equal: in \d+ of \d+ entries, for example where b\[.*\] = a\[.*\] = "
         r"[\d.-]+; there, their gradients must add up to the upstream gradient"),
        ("where_grad(mask, a, b, out)", "a.g, b.g = out.g * (out == a), out.g * mask.logical_not()",
         r"it is wrong only where a and b are equal: in .*; there, comparing values does not tell which of the two .*"),
        ("max_grad(inp, out, dim)", "inp.g = out.g.unsqueeze(dim) * (inp == out.unsqueeze(dim))",
         r"it is wrong only where entries of inp are equal: in .*, for example where inp\[.*\] = inp\[.*\] = [\d.-]+"),
        ("relu_grad(inp, out)", "inp.g = out.g * (inp >= 0) + out.g * (inp == 0)",
         r"it is wrong only where inp is exactly 0: in .*"),
        ("clamp_grad(inp, out, lo, hi)", "inp.g = out.g * ((inp > lo) & (inp < hi)) + 3 * out.g * (inp == hi)",
         r"it is wrong only where inp is exactly [\d.-]+: in .*"),
        ("weight_grad(x, w, b, df)",
         "_, which, counts = x.unique(return_inverse=True, return_counts=True)\n"
         "    return (x / counts[which])[:, None] * df",
         r"it is wrong only where entries of x are equal: in .*, for example where x\[\d+\] = x\[\d+\] = [\d.-]+"),
    ],
)  # fmt: skip
def test_what_is_wrong_at_exact_entries_alone_names_what_they_have_in_common(
    grade: Grade, exercise: str, body: str, says: str
) -> None:
    """Ties are told apart from zeros, though the first tie may be one of two zeros."""
    result = grade(exercise.partition("(")[0], f"def {exercise}:\n    {body}\n")
    (answer,) = (answer for answer in result.answers if answer.status == "failed")
    assert re.fullmatch(says, answer.message)
    assert ("equal" in answer.hints[0]) == ("equal" in says)


@pytest.mark.parametrize(
    ("exercise", "slip", "asked", "not_asked"),
    [
        ("nll_grad", ("range(len(targ)), targ", ":, targ"),
         "how many entries stand at the class of that row", "subtract"),
        ("mul_grad", ("(out.g * b).sum_to_size(a.shape)", "out.g.sum_to_size(a.shape) * b"),
         "Is the larger shape wanted there", "minus"),
        ("truncated_rnn_grad", ("t - k)", "t - k - 1)"), "where this number is 1", "derivative of this operation"),
        ("causal_attention_grad", ("triu(1)", "triu(0)"), "a row in which every entry is masked", "typed in"),
        ("numerical_grad", (".clone()", ""), "make no copy", "typed in"),
        ("slope", ("return ", "return 2 * "), "By which factor is your result wrong", "parentheses"),
        ("slope", ("f(x)", "f(x - h)"), "At which two points", "parentheses"),
        ("topological_order", ("return order", "return order[::-1]"), "Which value comes first in your list", "Visit"),
        ("topological_order", ("return order", "return order + order[:1]"), "more than once", "your search"),
        ("causal_attention_grad", ("triu(1)", "tril(-1)"), "Print the mask of a small case", "function is flat"),
        ("rope_grad", ("inp.shape[1])", "inp.shape[1]).add(1)"), "depend on no input", "which operand"),
        ("max_grad", ("mask / mask.sum(dim, keepdim=True)", "mask.new_ones(mask.shape)"), "Nudge one", "List the"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_the_hints_are_of_this_mistake_and_of_no_other(
    course: Course, grade: Grade, exercise: str, slip: tuple[str, str], asked: str, not_asked: str
) -> None:
    source = course.find(exercise).solution.read_text(encoding="utf-8").replace(*slip)
    answer = grade(exercise, source).answers[0]
    assert answer.status == "failed"
    assert any(asked in hint for hint in answer.hints), answer.hints
    assert not any(not_asked in text for text in (answer.message, *answer.hints)), answer


@pytest.mark.parametrize(
    ("exercise", "body", "says"),
    [
        ("softplus_grad(inp, out)", "inp.g = out.g * inp.sigmoid() * (1 - inp.sigmoid())",
         "there is one factor too many, `1 / (1 + inp.exp())`, the derivative of the logarithm"),
        ("rmsnorm_grad(inp, gamma, out)",
         "rms, h = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt(), out.g * gamma; gamma.g = (out.g * inp / rms).sum(0)"
         "; inp.g = (h - inp * (h * inp).mean(-1, keepdim=True)) / rms",
         "in the term of inp.g that comes from the root mean square, inp is used in place of the normalized value, "
         "both inside the mean and in front of it"),
        ("batchnorm_eval_grad(inp, gamma, beta, mean, var, out)",
         "inp.g = out.g * gamma * (var + 1e-5) ** -0.5; gamma.g = (out.g * inp).sum(0); beta.g = out.g.sum(0)",
         "in gamma.g, the gradient of `gamma * (inp - mean) / std` is multiplied by inp; it must be "
         "multiplied by `(inp - mean) / std`"),
        ("batchnorm_eval_grad(inp, gamma, beta, mean, var, out)",
         "std = (var + 1e-5) ** 0.5; inp.g = out.g * gamma * std; gamma.g = (out.g * (inp - mean) / std).sum(0); "
         "beta.g = out.g.sum(0)",
         "out.g is multiplied by `std`; it must be divided by `std`"),
        ("maxpool1d_grad(inp, out, size, step)",
         "places = inp.unfold(-1, size, step).argmax(-1) + step * inp.new_ones(out.shape).cumsum(-1).long()"
         " - step; inp.g = inp.new_zeros(inp.shape).scatter_add(-1, places, out.g * out)",
         "the gradient of `inp.unfold(-1, size, step)` through the maximum has an extra factor, `out`"),
        ("dout_dx(x)", "return 6 * (x + 2) / len(x) ** 2", "it is right only where all axes have the same size"),
    ],
    ids=lambda value: value.partition("(")[0],
)  # fmt: skip
def test_a_message_fits_the_formula_that_the_file_has(grade: Grade, exercise: str, body: str, says: str) -> None:
    """Of two mistakes with the same numbers, the one whose words are in the file is told."""
    result = grade(exercise.partition("(")[0], f"def {exercise}:\n    {body}\n")
    assert [answer.message for answer in result.answers if answer.status == "failed"] == [says]


def test_rows_that_pieces_overwrite_are_asked_for_by_their_numbers(grade: Grade) -> None:
    wrong = next(text for name, text in SUBMISSIONS.items() if name.endswith("rows of b.g counted within the piece"))
    (answer,) = (answer for answer in grade("checkpoint_grad", wrong.source).answers if answer.status == "failed")
    assert "row of `b`" in answer.hints[0]
    assert not any("used twice" in hint for hint in answer.hints)


def test_axes_without_names_are_told_with_what_must_stay_apart(course: Course, grade: Grade) -> None:
    source = course.find("groupnorm_grad").solution.read_text(encoding="utf-8")
    result = grade("groupnorm_grad", source.replace("(len(inp), groups, -1)", "(len(inp), 1, -1)"))
    inp, gamma, beta = result.answers
    assert beta.status == "passed"
    for answer in (inp, gamma):
        assert "over axes 1 and 2 of `grouped` together" in answer.message
        assert "over axis 2 of `grouped` alone, separately for each index of axis 1 (of size " in answer.message
        assert not any("which axis does your code name" in hint for hint in answer.hints)


def test_the_evidence_tells_the_two_numbers_that_the_finding_tells(course: Course, grade: Grade) -> None:
    """They were those of two trials."""
    source = course.find("smallest_failing_input").solution.read_text(encoding="utf-8")
    slip = "(size[0] * size[1], size[0])", "(abs(size[0] - 3), size[1])"
    answer = grade("smallest_failing_input", source.replace(*slip)).answers[1]
    told = re.fullmatch(r"the value is (\d+); it must be (\d+)", answer.message)
    assert told is not None, answer.message
    assert re.search(rf"returns {told[1]} as its second value, .* must return {told[2]}$", answer.evidence), (
        answer.evidence
    )


def test_an_answer_of_another_shape_has_no_evidence_but_names_the_axes(grade: Grade) -> None:
    answer = grade("lin_grad", LIN.format(*RIGHT[:2], "out.g.sum(0, keepdim=True)")).answers[2]
    assert (answer.code, answer.evidence, answer.error) == ("wrong-shape", "", None)
    assert re.search(r"its shape is \(1, m=\d\); it should be that of b, \(m=\d,\)", answer.message)


def test_expected_numbers_are_shown_only_where_the_policy_allows_it(course: Course, worker: Worker) -> None:
    wrong = b"def slope(f, x, h):\n    return f(x)\n"
    hidden, shown = (
        Grader(SEED).grade(with_policy(course, show_expected=allowed).find("slope"), wrong, worker).answers[0]
        for allowed in (False, True)
    )
    assert hidden.evidence.startswith("slope(f=")
    assert shown.evidence.startswith(f"{hidden.evidence}, but must return ")


def test_the_error_is_the_greatest_scaled_one(grade: Grade) -> None:
    answer = grade("relu_grad", RELU.replace("out.g", "out.g * 3")).answers[0]
    assert answer.error == pytest.approx(2, rel=1e-4)
    assert "3" in answer.message


def test_a_failed_answer_leaves_the_others_their_points(grade: Grade) -> None:
    result = grade("lin_grad", LIN.format(*RIGHT[:2], "..."))
    assert [(answer.status, answer.score) for answer in result.answers] == [("passed", 1), ("passed", 1), ("todo", 0)]
    assert (result.status, result.score, result.max_score) == ("todo", 2, 3)


def test_a_shape_error_names_the_axes(grade: Grade) -> None:
    answer = grade("lin_grad", LIN.format("out.g @ w", *RIGHT[1:])).answers[0]
    assert answer.code == "error"
    assert "lin_grad.py, line 2: inp.g = out.g @ w" in answer.message
    assert re.search(r"inp is \(bs=\d, n=\d\), out and out\.g are \(bs=\d, m=\d\), w is \(n=\d, m=\d\)", answer.message)


def test_an_error_about_the_number_of_axes_has_hints_about_it(grade: Grade) -> None:
    wrong = "import torch\ndef embedding_grad(idx, w, out):\n    w.g = torch.zeros_like(w).index_add(0, idx, out.g)\n"
    answer = grade("embedding_grad", wrong).answers[0]
    assert answer.code == "error"
    assert "Here idx is (bs=" in answer.message
    assert answer.hints[0] == (
        "How many axes does each array in this line have, and how many must it have for this operation?"
    )


def test_hints_on_a_jacobian_do_not_take_it_for_a_gradient(grade: Grade) -> None:
    answer = grade("df_db", "def df_db(x, w, b):\n    return b\n").answers[0]
    assert answer.code == "wrong-shape"
    assert not any("gradient" in hint for hint in answer.hints)


BYTES: dict[str, tuple[bytes | None, str | None]] = {
    "missing": (None, "todo"),
    "empty": (b"", "missing-function"),
    "only spaces": (b"  \n\n", "missing-function"),
    "only a comment": (b"# later\n", "missing-function"),
    "not UTF-8": (b"# caf\xe9\n" + RELU.encode(), "syntax-error"),
    "a null byte": (RELU.encode() + b"\x00", "syntax-error"),
    "random bytes": (bytes(range(256)), "syntax-error"),
    "UTF-16": (RELU.encode("utf-16"), "syntax-error"),
    "an unknown coding": (b"# coding: nonesuch\n" + RELU.encode(), "syntax-error"),
    "a coding that is no text": (b"# coding: hex\n" + RELU.encode(), "syntax-error"),
    "a coding that turns letters": (b"# coding: rot13\n" + RELU.encode(), "syntax-error"),
    "a coding that is undefined": (b"# coding: undefined\n" + RELU.encode(), "syntax-error"),
    "a coding of domain names": (b"# coding: punycode\n" + RELU.encode(), "syntax-error"),
    "latin-1 with a cookie": ("# -*- coding: latin-1 -*-\n# café\n".encode("latin-1") + RELU.encode(), None),
    "windows-1252 on the second line": (
        "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# “café”\n".encode("cp1252") + RELU.encode(),
        None,
    ),
    "a byte order mark": (b"\xef\xbb\xbf" + RELU.encode(), None),
    "Windows line ends": (RELU.replace("\n", "\r\n").encode(), None),
    "old Macintosh line ends": (RELU.replace("\n", "\r").encode(), None),
    "no newline at the end": (RELU.strip().encode(), None),
    "a form feed": (b"\x0c" + RELU.encode(), None),
    "UTF-8 names": (RELU.replace("inp", "größe").encode(), None),
    "tabs": (RELU.replace("    ", "\t").encode(), None),
    "a renamed function": (RELU.replace("relu_grad", "relu_backward").encode(), "missing-function"),
    "a method": (b"class Relu:\n    def relu_grad(self, inp, out): pass\n", "missing-function"),
    "a name that is no function": (b"relu_grad = 3\n", "missing-function"),
    "too few parameters": (RELU.replace("inp, out", "inp").encode(), "error"),
    "too many parameters": (RELU.replace("inp, out", "inp, out, w").encode(), "error"),
    "more parameters with defaults": (RELU.replace("inp, out", "inp, out, slope=0.0, *more, **others").encode(), None),
    "a missing module": (
        b"import nonesuch\n" + RELU.replace("    inp.g", "    nonesuch.f()\n    inp.g").encode(),
        "error",
    ),
    "a deep expression": (b"x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\n" + RELU.encode(), "syntax-error | memory"),
    "a long expression": (b"x = " + b"-" * 100_000 + b"1\n" + RELU.encode(), "syntax-error | memory | error | crash"),
    "a megabyte of comments": (b"# " + b"x" * 1_000_000 + b"\n" + RELU.encode(), None),
}


@pytest.mark.parametrize("what", BYTES)
def test_a_file_that_is(what: str, grade: Grade) -> None:
    """Any bytes get a verdict with a sentence; right code passes in every encoding that says what it is."""
    content, expected = BYTES[what]
    (answer,) = grade("relu_grad", content).answers
    assert answer.code in (expected.split(" | ") if expected else [None])
    assert bool(answer.message) == (expected is not None)


def test_zero_bytes_are_told_apart_from_a_line_that_python_cannot_read(grade: Grade) -> None:
    (answer,) = grade("relu_grad", RELU.encode("utf-16-le")).answers
    assert "is not UTF-8 text (it has zero bytes in it, like a file in UTF-16): save it as UTF-8" in answer.message


def test_a_file_in_latin_1_is_told_its_line_and_its_character(grade: Grade) -> None:
    (answer,) = grade("relu_grad", b"x = 1\r\n# un caf\xe9\r\n" + RELU.encode()).answers
    assert answer.message == (
        "relu_grad.py is not UTF-8 text (line 2, after '# un caf', has the byte 0xE9, which is é in Latin-1): "
        "save it as UTF-8"
    )


def test_a_renamed_function_is_told_its_name(grade: Grade) -> None:
    (answer,) = grade("relu_grad", RELU.replace("relu_grad", "relu_gard")).answers
    assert "defines `relu_gard`, not `relu_grad`" in answer.message


def test_a_missing_file_says_how_to_get_the_stub_back(grade: Grade) -> None:
    assert "handgrad reset relu_grad" in grade("relu_grad", None).answers[0].message


def test_a_wrong_arity_says_how_the_function_is_called(grade: Grade) -> None:
    (answer,) = grade("relu_grad", "def relu_grad(inp):\n    inp.g = inp\n").answers
    assert "relu_grad(inp, out)" in answer.message


ODD_VALUES: dict[str, tuple[str, str]] = {
    "complex": ("out.g.to(torch.complex64)", "wrong-dtype"),
    "complex of another shape": ("torch.ones(3, dtype=torch.complex64)", "wrong-dtype | wrong-shape | hard-coded"),
    "complex with an axis more": ("out.g.to(torch.complex64).unsqueeze(0)", "wrong-dtype | wrong-shape"),
    "empty": ("torch.zeros(0)", "wrong-shape | hard-coded"),
    "nan of another shape": ("torch.full((3,), float('nan'))", "wrong-shape | hard-coded"),
    "all nan": ("out.g * float('nan')", "not-finite"),
    "infinite": ("out.g / 0", "not-finite"),
    "boolean": ("inp > 0", "wrong-dtype"),
    "half": ("((inp > 0) * out.g).half()", "wrong-dtype"),
    "bfloat16": ("((inp > 0) * out.g).bfloat16()", "wrong-dtype"),
    "integer": ("(inp > 0).long()", "wrong-dtype"),
    "a number": ("0.5", "wrong-type"),
    "a list": ("[1.0]", "wrong-type"),
    "a list in itself": ("looped", "wrong-type"),
    "a numpy array of float64": ("((inp > 0) * out.g).double().numpy()", "wrong-dtype"),
    "a string": ("'g'", "wrong-type"),
    "a module": ("torch", "wrong-type"),
    "sparse": ("((inp > 0) * out.g).to_sparse()", "wrong-type"),
    "without contents": ("out.g.to('meta')", "wrong-type"),
    "huge": ("torch.zeros(1).expand(10**12)", "wrong-shape"),
    "None": ("None", "missing-answer"),
    "an ellipsis": ("...", "todo"),
    "the input itself": ("inp", "forward-value"),
    "very large": ("out.g * 1e38", "wrong-factor | not-finite | hard-coded"),
    "very small": ("out.g * 1e-38", "missing-local | wrong-factor | hard-coded | unknown"),
}


@pytest.mark.parametrize("what", ODD_VALUES)
def test_an_answer_that_is(what: str, grade: Grade) -> None:
    value, expected = ODD_VALUES[what]
    source = f"import torch\nlooped = []\nlooped.append(looped)\ndef relu_grad(inp, out):\n    inp.g = {value}\n"
    (answer,) = grade("relu_grad", source).answers
    assert answer.code in expected.split(" | ")
    assert answer.status in {"failed", "todo"}
    assert answer.message


def test_an_answer_stored_among_many_attributes_is_found(grade: Grade) -> None:
    """A learner may keep notes on a tensor, before and after the gradient."""
    notes = "".join(f"    inp.note{i} = {i}\n" for i in range(30))
    assert codes(grade("relu_grad", f"def relu_grad(inp, out):\n{notes}    inp.g = (inp > 0) * out.g\n{notes}")) == {
        "inp.g": None
    }


def test_a_step_size_that_is_two_numbers_has_the_wrong_shape(grade: Grade) -> None:
    answer = grade("pick_h", "import torch\ndef pick_h(dtype):\n    return torch.tensor([1e-3, 1e-5])\n").answers[0]
    assert answer.code == "wrong-shape"


class Scripted:
    """A worker that gives one reply, or fails."""

    isolation = "none"

    def __init__(self, reply: Frame | Unanswered | InfrastructureError) -> None:
        self.reply = reply

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        if isinstance(self.reply, InfrastructureError):
            raise self.reply
        return self.reply


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Unanswered("timeout"), "failed", "timeout"),
        (Unanswered("crash", detail="the process was ended by SIGSEGV"), "failed", "crash"),
        (Frame({"nonsense": True}), "failed", "crash"),
        (InfrastructureError("the warm process was lost"), "error", "error"),
    ],
)
def test_a_worker_that_does_not_answer_is_never_a_pass(
    reply: Frame | Unanswered | InfrastructureError, status: str, code: str, course: Course, grader: Grader
) -> None:
    """A dead child is the learner's failure, a dead worker the grader's error; neither is full points, or silent."""
    result = grader.grade(course.find("lin_grad"), SOURCE_DISCUSSION.encode(), Scripted(reply))  # type: ignore[arg-type]
    assert {(answer.status, answer.code) for answer in result.answers} == {(status, code)}
    assert result.score == 0


def test_a_reply_to_fewer_calls_is_never_a_pass(course: Course, grader: Grader, worker: Worker) -> None:
    """A file that answers for another exercise, with fewer calls, has tampered with the messages."""

    class Recorded:
        isolation = "none"

        def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
            header = {**job.header, "calls": job.header["calls"][:1]}
            return worker.run(Frame(header, job.arrays), time_limit)

    result = grader.grade(course.find("lin_grad"), SOURCE_DISCUSSION.encode(), Recorded())  # type: ignore[arg-type]
    assert {answer.code for answer in result.answers} == {"crash"}


def test_what_a_learner_prints_comes_back(grade: Grade) -> None:
    assert "hello" in grade("relu_grad", RELU + "print('hello')\n").printed


def test_the_time_limit_is_the_courses(course: Course, worker: Worker, grader: Grader) -> None:
    quick = with_policy(course, time_limit=0.3)
    result = grader.grade(quick.find("relu_grad"), b"while True: pass\n", worker)
    assert result.answers[0].code == "timeout"
    assert "0.3 seconds" in result.answers[0].message


if sys.platform == "linux":

    def test_the_memory_limit_is_the_courses(course: Course, grader: Grader) -> None:
        small = with_policy(course, memory_limit=64)
        source = "import torch\n" + RELU.replace("inp.g", "big = torch.empty(60_000_000)\n    inp.g")
        with mode_worker("fork") as worker:
            assert codes(grader.grade(small.find("relu_grad"), source.encode(), worker)) == {"inp.g": "memory"}
            assert codes(grader.grade(course.find("relu_grad"), source.encode(), worker)) == {"inp.g": None}


def test_the_learners_parameters_may_have_any_names(course: Course, grade: Grade) -> None:
    names = list(inspect.signature(function_of(course, "lin_grad")).parameters)
    source = SOURCE_DISCUSSION
    for i, name in enumerate(names):
        source = re.sub(rf"\b{name}\b", f"argument_{i}", source)
    assert set(codes(grade("lin_grad", source)).values()) == {None}
