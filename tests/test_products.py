"""Two arrays at hand, multiplied: the formula is spelt out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader.diagnosis.diagnose import matching
from grader.diagnosis.products import candidates
from grader.exercise import Exercise, stored
from grader.reference.references import make_trials
from grader.sampling import normal, output

LINEAR = Exercise(
    "a layer",
    lambda x, w, b: x @ w + b,
    {"x": normal("bs n"), "w": normal("n m"), "b": normal("m"), "out": output()},
    stored("w.g", "b.g"),
)
Values = dict[str, np.ndarray]


def clause(rule: Callable[[Values], np.ndarray], answer: int) -> str:
    trials, asked = make_trials(LINEAR, np.random.default_rng(5)), LINEAR.answers[answer]
    pairs = []
    for trial in trials:
        known = {**trial.inputs, "out": trial.out, "g": trial.out_g, **trial.expected}
        pairs.append((trial, rule({name: np.asarray(value) for name, value in known.items()})))
    named = matching(asked, pairs, candidates(asked, trials[0]))
    return "" if named is None else f"{named.code}: {named.says}"


@pytest.mark.parametrize(
    ("rule", "answer", "says"),
    [
        (lambda v: v["w"] * v["b.g"], 0, "wrong-operand: this is w * b.g"),
        (lambda v: v["x"].T @ v["out"], 0, "wrong-operand: this is x.T @ out"),
        (lambda v: (v["out"] * v["g"]).sum(0), 1, "wrong-operand: this is (out * out.g).sum(0)"),
        (lambda v: v["w.g"].sum(0), 1, "wrong-operand: this is w.g.sum(0)"),
        (lambda v: v["w"].mean(0), 1, "wrong-operand: this is w.mean(0)"),
        (lambda v: v["g"].sum(0), 1, ""),
        (lambda v: v["b"] ** 2, 1, "wrong-operand: this is b * b"),
        (lambda v: v["x"].T @ v["g"], 0, ""),
        (lambda v: v["w"] ** 3, 0, ""),
    ],
)
def test_a_product_is_spelt_out(rule: Callable[[Values], np.ndarray], answer: int, says: str) -> None:
    """The right answer is none of the mistakes, though it may be such a product itself."""
    assert clause(rule, answer) == says
