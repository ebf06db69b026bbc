"""Paths that contribute nothing may be left out, by a learner as by the sweep that looks for the mistake."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.diagnosis.detours import idle_paths
from grader.exercise import Exercise, stored
from grader.reference.operation_recorder import record
from grader.sampling import each_of, normal, output


def spread(x: torch.Tensor, dim: int) -> torch.Tensor:
    return ((x - x.mean(dim, keepdim=True)) ** 2).sum(dim)


GIVEN = {"x": normal("bs n m"), "out": output(), "dim": each_of(1, -1, 0)}
SPREAD = Exercise("a sum of squared deviations", spread, GIVEN, stored("x.g"))


def test_the_path_through_the_mean_of_squared_deviations_is_idle() -> None:
    x, g = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    trace = record(lambda x: spread(x, 1), {"x": x}, g)
    assert {trace.steps[step].name for step, _ in idle_paths(trace, "x")} == {"mean"}
    assert idle_paths(record(lambda x: x * x.sin(), {"x": x}, torch.ones_like(x)), "x") == frozenset()


@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        (lambda v: 2 * v["x"], "wrong-point", "taken at x instead of the result of `-`"),
        (lambda v: v["x"] - v["x"].mean(v["dim"], keepdim=True), "missing-local", "the 2 that the power"),
        (lambda v: 2 * (v["x"] - v["x"].mean()), "summed-wrong-axis", "over all entries"),
        (lambda v: 2 * (v["x"] - v["x"].mean(0, keepdim=True)), "summed-wrong-axis", "along axis 0"),
        (lambda v: 2 * (v["x"] - v["x"].mean(v["dim"], keepdim=True)) ** 2, "wrong-local", "not lowered"),
    ],
)
def test_a_slip_in_a_gradient_without_its_idle_path_is_named(rule: Rule, code: str, says: str) -> None:
    said = verdict(SPREAD, lambda v: rule(v) * v["out_g"].unsqueeze(v["dim"]))
    assert said.code == code
    assert says in said.says


SILU = Exercise("x sigmoid(x)", lambda x: x * x.sigmoid(), {"x": normal("n m"), "out": output()}, stored("x.g"))


def test_an_operation_taken_of_another_value_throughout_is_a_wrong_point() -> None:
    """The gate is computed from out, and then used rightly in both places."""

    def rule(v: dict[str, Any]) -> torch.Tensor:
        gate = v["out"].sigmoid()
        return v["out_g"] * (gate + v["x"] * gate * (1 - gate))

    said = verdict(SILU, rule)
    assert (said.code, said.says) == ("wrong-point", "`sigmoid` is taken of out, not of x")
