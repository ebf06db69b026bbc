"""Rarer mistakes: other rows of an input, an option that is not asked, the right numbers in other places."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_graph_faults import Rule

from grader.diagnosis.diagnose import Diagnosis, matching
from grader.diagnosis.rarer import candidates
from grader.exercise import Exercise, returned_jacobian, stored
from grader.reference.references import make_trials
from grader.sampling import each_of, normal, output

LOSS = Exercise(
    "a squared error", lambda x, t: ((x - t) ** 2).mean(), {"x": normal("bs c"), "t": normal("bs c")}, stored("x.g")
)
LINEAR = Exercise(
    "a product", lambda x, w: x @ w, {"x": normal("bs n"), "w": normal("n m"), "out": output()}, stored("x.g", "w.g")
)
POWER = Exercise(
    "a power", lambda x, k: x**k, {"x": normal("bs n"), "out": output(), "k": each_of(3, 2, 1)}, stored("x.g")
)
BENT = Exercise(
    "a bent product, and another one",
    lambda x, w, v: (x @ w).tanh() @ v,
    {"x": normal("bs n"), "w": normal("n h"), "v": normal("h m"), "out": output()},
    stored("v.g"),
)
SHARES = Exercise("shares", lambda x: x.softmax(-1), {"x": normal("bs c"), "out": output()}, stored("x.g"))


def verdict(exercise: Exercise, rule: Rule, answer: int = 0) -> Diagnosis | None:
    trials, asked = make_trials(exercise, np.random.default_rng(5)), exercise.answers[answer]
    pairs = [
        (t, np.asarray(rule({**t.inputs, "out": t.out, "out_g": t.out_g, "right": t.expected[asked.name]})))
        for t in trials
    ]
    return matching(asked, pairs, candidates(exercise, asked, trials[0]))


def bent_twice(v: dict[str, torch.Tensor]) -> torch.Tensor:
    hidden = (v["x"] @ v["w"]).tanh()
    return hidden.T @ (v["out_g"] * (1 - (hidden @ v["v"]).tanh() ** 2))


@pytest.mark.parametrize(
    ("exercise", "answer", "rule", "code", "says"),
    [
        (LOSS, 0, lambda v: 2 * (v["x"] - v["t"].mean(0)) / v["x"].numel(), "wrong-operand", "the mean of t over its"),
        (LOSS, 0, lambda v: 2 * (v["x"] - v["t"].mean()) / v["x"].numel(), "wrong-operand", "the mean of all of t"),
        (LOSS, 0, lambda v: 2 * (v["x"] - v["t"][0]) / v["x"].numel(), "partial-batch", "the first row of t"),
        (LOSS, 0, lambda v: 2 * (v["x"].mean(0) - v["t"]) / v["x"].numel(), "wrong-point", "the mean of x over its"),
        (LINEAR, 1, lambda v: v["x"].roll(1, 0).T @ v["out_g"], "wrong-operand", "the row of x that comes before"),
        (LINEAR, 1, lambda v: v["x"].abs().T @ v["out_g"], "wrong-operand", "x without its sign"),
        (LINEAR, 0, lambda v: (v["out_g"] - v["out"]) @ v["w"].T, "wrong-operand", "out is subtracted from out.g"),
        (LINEAR, 1, lambda v: v["x"].T @ (v["out_g"] + v["out"]), "wrong-operand", "out is added to out.g"),
        (LINEAR, 1, lambda v: v["x"].flip(0).T @ v["out_g"], "wrong-operand", "x, its rows back to front,"),
        (
            LINEAR,
            1,
            lambda v: (v["x"] - v["x"].mean(0)).T @ v["out_g"],
            "wrong-operand",
            "x less its mean over the fir",
        ),
        (LINEAR, 0, lambda v: (v["out_g"] * (v["out"] > 0)) @ v["w"].T, "wrong-local", "only where out is positive"),
        (BENT, 0, bent_twice, "wrong-local", "`tanh` is applied to out as well"),
        (POWER, 0, lambda v: 2 * v["x"] * v["out_g"], "hard-coded", "this is what k = 2 gives, whatever k is"),
        (SHARES, 0, lambda v: v["out_g"] @ jacobian(v["x"][0].softmax(-1)), "partial-batch", "the first row of x"),
    ],
)
def test_each_rarer_mistake_is_named(exercise: Exercise, answer: int, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule, answer)
    assert said is not None
    assert said.code == code
    assert says in said.says


def jacobian(shares: torch.Tensor) -> torch.Tensor:
    return torch.diag(shares) - torch.outer(shares, shares)


def test_a_right_answer_is_none_of_them() -> None:
    for exercise in (LOSS, LINEAR, POWER, SHARES):
        assert verdict(exercise, lambda v: v["right"]) is None


def test_of_a_jacobian_there_are_none() -> None:
    exercise = Exercise(
        "a jacobian", lambda x, w: x @ w, {"x": normal("n"), "w": normal("n m")}, returned_jacobian("x")
    )
    trial = make_trials(exercise, np.random.default_rng(5))[0]
    assert list(candidates(exercise, exercise.answers[0], trial)) == []
