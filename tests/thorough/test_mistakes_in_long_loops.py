"""Mistakes in what a long loop carries from one iteration to the next are named."""

from __future__ import annotations

import pytest
import torch
from helpers.verdicts import Rule, assert_named
from test_named_paths import GATED, MOMENTS, decaying, gated
from torch import Tensor

from grader.course.exercise import Exercise
from handgrad import explain


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (MOMENTS, decaying((1.0, 1.0)), "missing-local"),
        (GATED, gated, "missing-path: is missing"),
    ],
)
def test_a_slip_in_what_a_loop_hands_on_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    """Also where the loop begins with a value that is made in front of it, and where it hands on several."""
    assert_named(exercise, rule, name)


def test_one_slip_in_two_statements_of_the_forward_pass_is_named() -> None:
    """One line of the backward pass is wrong, for the first step, which is in front of the loop, and for the others."""
    steps = 9

    def forward(r: Tensor, a: Tensor, b: Tensor) -> Tensor:
        w, al, be = a.exp(), torch.sigmoid(a), torch.sigmoid(b)
        s = (r**2).mean(0)
        nll = 0.5 * (s.log() + r[0] ** 2 / s)
        for t in range(1, steps):
            s = w + al * r[t - 1] ** 2 + be * s
            nll = nll + 0.5 * (s.log() + r[t] ** 2 / s)
        return nll

    def wrong(out: Tensor, out_g: Tensor, r: Tensor, a: Tensor, b: Tensor) -> dict[str, Tensor]:
        w, al, be = a.exp(), torch.sigmoid(a), torch.sigmoid(b)
        states = [(r**2).mean(0)]
        for t in range(1, steps):
            states.append(w + al * r[t - 1] ** 2 + be * states[-1])
        r_g, w_g, al_g, be_g, s_g = (torch.zeros_like(each) for each in (r, w, al, be, w))
        for t in range(steps - 1, -1, -1):
            s = states[t]
            s_g = s_g + out_g * 0.5 * (1 / s - r[t] ** 2 / s**2)
            r_g[t] += out_g / s  # not times r[t]
            if t > 0:
                w_g += s_g
                al_g += s_g * r[t - 1] ** 2
                be_g += s_g * states[t - 1]
                r_g[t - 1] += s_g * al * 2 * r[t - 1]
                s_g = s_g * be
        r_g += s_g * 2 * r / len(r)
        return {"r": r_g, "a": w_g * w + al_g * al * (1 - al), "b": be_g * be * (1 - be)}

    torch.manual_seed(0)
    inputs = {"r": torch.randn(steps, 4), "a": torch.randn(4), "b": torch.randn(4)}
    (mistake,) = [each for each in explain(forward, inputs, backward=wrong, seed=0).findings if each.status == "failed"]
    assert (mistake.answer, mistake.code) == ("r", "missing-local")
    assert mistake.says.count("the power of") == 2
