"""Option arguments are named where a call fails, and where an answer is right for some of their values only."""

from __future__ import annotations

import pytest
from helpers.grading import Grade

from grader.course.trial_sizes import Setting
from grader.reference.trial import Trial, describe_options, options

UNSQUEEZED = "def sum_grad(inp, out, dim, keepdim):\n    g = out.g{}\n    inp.g = {}\n"


def test_whole_numbers_truth_values_and_tuples_are_options() -> None:
    arguments = {"dim": -1, "keepdim": False, "order": (2, 0, 1), "h": 0.5}
    trial = Trial(Setting(0, "", {}), arguments, {}, {})
    assert options(trial) == {"dim": -1, "keepdim": False, "order": (2, 0, 1)}
    assert describe_options(trial) == "dim is -1 and keepdim is False and order is (2, 0, 1)"
    asked = {"x": 1.5, "w": 2.5, "needs": frozenset(("w", "x"))}
    assert describe_options(Trial(Setting(0, "", {}), asked, {}, {})) == "needs is {'x', 'w'}"
    assert describe_options(Trial(Setting(0, "", {}), {}, {}, {})) == ""


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (UNSQUEEZED.format("", "g.expand_as(inp)"), "error", "dim is 1 and keepdim is False"),
        (
            UNSQUEEZED.format(".unsqueeze(dim)", "g.expand_as(inp)"),
            "error",
            "The answer is right only when `keepdim` is False",
        ),
        (UNSQUEEZED.format("", "g.summ()"), "error", "line 3: inp.g = g.summ()). Here dim is 1 and keepdim is False"),
        (UNSQUEEZED.format("", "g.sum()"), "wrong-shape", "; here `dim` is 1 and `keepdim` is False"),
        (
            UNSQUEEZED.format("", "(g if keepdim else g.unsqueeze(dim)).expand_as(inp) * (1 if keepdim else 3)"),
            "hard-coded",
            "it is right only when `keepdim` is True",
        ),
    ],
)
def test_a_learner_reads_which_options_were_given(grade: Grade, source: str, code: str, says: str) -> None:
    (answer,) = grade("sum_grad", source).answers
    assert (answer.code, says in answer.message) == (code, True), answer.message
