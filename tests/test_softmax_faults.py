"""Slips in softmax, log-softmax and logsumexp: each is computed and told apart."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.diagnosis.fault import NORMALISING, Fault
from grader.diagnosis.softmax_faults import softmax_faults
from grader.exercise import Exercise, stored
from grader.reference.operation_recorder import record
from grader.sampling import normal, output

SOFTMAX, LOG, LSE = (
    Exercise(name, forward, {"x": normal("bs c"), "out": output()}, stored("x.g"))
    for name, forward in (
        ("softmax", lambda x: x.softmax(-1)),
        ("log_softmax", lambda x: x.log_softmax(-1)),
        ("logsumexp", lambda x: x.logsumexp(-1)),
    )
)
CASES: list[tuple[Exercise, Rule, str, str]] = [
    (SOFTMAX, lambda v: v["out"] * (1 - v["out"]) * v["out_g"], "diagonal-only", "its row's other outputs"),
    (SOFTMAX, lambda v: v["out"] * v["out_g"], "missing-path", "the sum that its row has in common is missing"),
    (SOFTMAX, lambda v: -v["out"] * total(v["out"] * v["out_g"]), "missing-path", "own part is missing"),
    (SOFTMAX, lambda v: soft(v["x"], v["out_g"]), "wrong-point", "x stands where the shares"),
    (SOFTMAX, lambda v: soft(v["out"].softmax(-1), v["out_g"]), "wrong-point", "softmax is taken twice"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] + total(v["out"] * v["out_g"])), "wrong-sign", "added"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] - total(v["out_g"])), "missing-local", "without their shares"),
    (SOFTMAX, lambda v: v["out"] * v["out_g"] - total(v["out"] * v["out_g"]), "missing-local", "every entry alike"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).mean(-1, True)), "mean-for-sum", "mean"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).sum(0)), "summed-wrong-axis", "over bs"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).sum()), "summed-wrong-axis", "bs and c"),
    (SOFTMAX, lambda v: soft(v["x"].softmax(0), v["out_g"], 0), "summed-wrong-axis", "the shares add up to 1 over bs"),
    (SOFTMAX, lambda v: v["out_g"] - v["out"] * total(v["out_g"]), "wrong-local", "the rule for log-softmax"),
    (SOFTMAX, lambda v: v["out"] - v["out"] * total(v["out"] * v["out_g"]), "missing-upstream", "only in the sum"),
    (SOFTMAX, lambda v: 0 * v["x"], "missing-upstream", "this is what 1 in its place gives"),
    (SOFTMAX, lambda v: -v["out"] * (total(v["out"] * v["out_g"]) - v["out"] * v["out_g"]), "missing-path", "its own"),
    (SOFTMAX, lambda v: v["out"] * (v["out_g"] - v["out_g"].mean(-1, True)), "missing-local", "averaged evenly"),
    (SOFTMAX, lambda v: v["out"] - v["out_g"], "wrong-local", "as if it were a target"),
    (SOFTMAX, lambda v: v["out_g"].softmax(-1), "wrong-local", "the forward pass is run on out.g"),
    (LOG, lambda v: log(v["out"], v["out_g"]), "wrong-point", "the logarithms of the shares"),
    (LOG, lambda v: log(v["x"].exp(), v["out_g"]), "missing-local", "not divided by the sum"),
    (LOG, lambda v: v["out_g"] - total(v["out_g"]), "missing-local", "shares that softmax gives are left out"),
    (LOG, lambda v: (1 - v["out"].exp()) * v["out_g"], "diagonal-only", "own effect on itself"),
    (LOG, lambda v: soft(v["out"].exp(), v["out_g"]), "wrong-local", "the rule for softmax"),
    (LOG, lambda v: v["out_g"] / v["out"].exp(), "missing-local", "the softmax inside it is not"),
    (LOG, lambda v: v["out_g"] - v["out"].exp(), "missing-upstream", "its sum over the row belongs with them"),
    (LOG, lambda v: v["out_g"], "missing-path", "only an entry's own part is there"),
    (LSE, lambda v: v["x"].exp() * v["out_g"][:, None], "missing-local", "not divided by the sum"),
    (LSE, lambda v: v["x"].softmax(0) * v["out_g"][:, None], "summed-wrong-axis", "over bs"),
    (LSE, lambda v: v["x"].sigmoid() * v["out_g"][:, None], "wrong-local", "no entry knows of the others"),
    (LSE, lambda v: v["out_g"][:, None] / v["x"].softmax(-1), "wrong-local", "upside down"),
    (LSE, lambda v: v["x"].exp() / v["out"][:, None] * v["out_g"][:, None], "wrong-point", "by the logarithm"),
]


def total(terms: Any, axis: int = -1) -> Any:
    return terms.sum(axis, keepdim=True)


def soft(shares: Any, g: Any, axis: int = -1) -> Any:
    """softmax's rule with these shares"""
    return shares * (g - total(shares * g, axis))


def log(shares: Any, g: Any) -> Any:
    """log-softmax's rule with these shares"""
    return g - shares * total(g)


@pytest.mark.parametrize(("exercise", "rule", "code", "says"), CASES)
def test_each_slip_has_its_code_and_its_sentence(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


def faults(forward: Any, x: torch.Tensor) -> list[Fault]:
    """Every fault of the one step of `forward`."""
    trace = record(forward, {"x": x}, torch.ones_like(forward(x)))
    (step,) = trace.steps
    assert step.name in NORMALISING

    def fault(code: str, says: str, rule: Any) -> Fault:
        return Fault(code, says, step.index, (0,), rule)

    found = list(softmax_faults(trace, step, (0,), {}, fault, upstream_given=True))
    for one in found:
        assert one.rule(trace, step, trace.out_g).shape == x.shape
    return found


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x.softmax(dim=1),
        lambda x: torch.softmax(x, -1),
        lambda x: torch.nn.functional.log_softmax(x, dim=0),
        lambda x: torch.logsumexp(x, (0, 2)),
        lambda x: x.logsumexp(dim=1, keepdim=True),
    ],
)
def test_the_axis_is_found_however_it_is_given(forward: Any) -> None:
    """As an argument, by name, negative, several of them, kept or dropped."""
    assert len(faults(forward, torch.randn(3, 4, 5, dtype=torch.float64))) > 10


def test_the_softmax_of_a_single_number_has_no_slips() -> None:
    assert faults(lambda x: x.softmax(0), torch.tensor(2.0)) == []
