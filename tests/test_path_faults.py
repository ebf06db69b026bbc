"""A factor that all paths share, left out on one of them."""

from __future__ import annotations

import pytest
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, stored
from grader.sampling import normal, output

MEAN = Exercise(
    "mean of x * sin(x) + x**3",
    lambda x: (x * x.sin() + x**3).mean(),
    {"x": normal("bs n")},
    stored("x.g"),
)
HALF = Exercise("half of x + x**2", lambda x: (x + x**2) / 2, {"x": normal("bs n"), "out": output()}, stored("x.g"))


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (
            MEAN,
            lambda v: (v["x"].sin() + v["x"] * v["x"].cos()) / v["x"].numel() + 3 * v["x"] ** 2,
            "sum-for-mean",
            "on the path through `** 3` the 1/",
        ),
        (HALF, lambda v: v["out_g"] * (1 + v["x"]), "missing-local", "on the path through `+` the derivative of `/ 2`"),
        (HALF, lambda v: v["out_g"] * (0.5 + 2 * v["x"]), "missing-local", "on the path through `** 2`"),
    ],
)
def test_a_shared_factor_left_out_on_one_path_is_named(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says
