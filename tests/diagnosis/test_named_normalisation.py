"""Slips in softmax, log-softmax, logsumexp and norms: each is computed and told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Exercise, stored
from grader.course.sampling import mask, normal, output, positive

SOFTMAX, LOG, LSE = (
    Exercise(name, forward, {"x": normal("bs c"), "out": output()}, stored("x.g"))
    for name, forward in (
        ("softmax", lambda x: x.softmax(-1)),
        ("log_softmax", lambda x: x.log_softmax(-1)),
        ("logsumexp", lambda x: x.logsumexp(-1)),
    )
)
OF_QUOTIENT = Exercise("", lambda x: (2 / x).softmax(-1), {"x": positive("bs c"), "out": output()}, stored("x.g"))
CASES: list[tuple[Exercise, Rule, str]] = [
    (OF_QUOTIENT, lambda v: soft(v["x"].softmax(-1), v["out_g"]) * -2 / v["x"] ** 2, "wrong-point: the softmax of x"),
    (SOFTMAX, lambda v: v["out"] * (1 - v["out"]) * v["out_g"], "diagonal-only: only its own output"),
    (SOFTMAX, lambda v: v["out"] * v["out_g"], "missing-path: the sum over the row is missing"),
    (SOFTMAX, lambda v: -v["out"] * total(v["out"] * v["out_g"]), "missing-path: only the sum over the row"),
    (SOFTMAX, lambda v: soft(v["x"], v["out_g"]), "wrong-point: x is used"),
    (
        SOFTMAX,
        lambda v: soft(v["out"].softmax(-1), v["out_g"]),
        "wrong-point: the softmax of `out` is used",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] + total(v["out"] * v["out_g"])),
        "wrong-sign: over the row is added",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] - total(v["out_g"])),
        "missing-local: not weighted by",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * v["out_g"] - total(v["out"] * v["out_g"]),
        "missing-local: not multiplied by",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).mean(-1, True)),
        "mean-for-sum: the mean over the row",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).sum(0)),
        "summed-wrong-axis",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] - (v["out"] * v["out_g"]).sum()),
        "summed-wrong-axis",
    ),
    (SOFTMAX, lambda v: soft(v["x"].softmax(0), v["out_g"], 0), "summed-wrong-axis"),
    (SOFTMAX, lambda v: v["out_g"] - v["out"] * total(v["out_g"]), "wrong-local: the derivative of log-softmax"),
    (
        SOFTMAX,
        lambda v: v["out"] - v["out"] * total(v["out"] * v["out_g"]),
        "missing-upstream: occurs only in the sum over the row",
    ),
    (SOFTMAX, lambda v: 0 * v["x"], "hard-coded: every entry is 0"),
    (
        SOFTMAX,
        lambda v: -v["out"] * (total(v["out"] * v["out_g"]) - v["out"] * v["out_g"]),
        "missing-path: on its own output is missing",
    ),
    (
        SOFTMAX,
        lambda v: v["out"] * (v["out_g"] - v["out_g"].mean(-1, True)),
        "missing-local: the plain mean",
    ),
    (SOFTMAX, lambda v: v["out"] - v["out_g"], "wrong-local: out.g is subtracted from `out`"),
    (SOFTMAX, lambda v: v["out_g"].softmax(-1), "wrong-local: the softmax itself is applied to out.g"),
    (LOG, lambda v: log(v["out"], v["out_g"]), "wrong-point: the logarithm of the softmax of x"),
    (LOG, lambda v: log(v["x"].exp(), v["out_g"]), "missing-local: the exponentials are not divided by their sum"),
    (LOG, lambda v: v["out_g"] - total(v["out_g"]), "missing-local: not multiplied by"),
    (LOG, lambda v: (1 - v["out"].exp()) * v["out_g"], "diagonal-only: only its own output"),
    (LOG, lambda v: soft(v["out"].exp(), v["out_g"]), "wrong-local: the derivative of softmax is used"),
    (LOG, lambda v: v["out_g"] / v["out"].exp(), "missing-local: only the logarithm"),
    (LOG, lambda v: v["out_g"] - v["out"].exp(), "missing-upstream: missing from the sum over the row"),
    (LOG, lambda v: v["out_g"], "missing-local: this is the gradient with respect to `out`"),
    (LSE, lambda v: v["x"].exp() * v["out_g"][:, None], "missing-local: the exponentials are not divided by their sum"),
    (LSE, lambda v: v["x"].softmax(0) * v["out_g"][:, None], "summed-wrong-axis"),
    (LSE, lambda v: v["x"].sigmoid() * v["out_g"][:, None], "wrong-local: the sigmoid of x"),
    (LSE, lambda v: v["out_g"][:, None] / v["x"].softmax(-1), "wrong-local: the reciprocal of each probability"),
    (LSE, lambda v: v["x"].exp() / v["out"][:, None] * v["out_g"][:, None], "wrong-point: the logarithm of their sum"),
]


def total(terms: Any, axis: int = -1) -> Any:
    return terms.sum(axis, keepdim=True)


def soft(shares: Any, g: Any, axis: int = -1) -> Any:
    """softmax's rule with these shares"""
    return shares * (g - total(shares * g, axis))


def log(shares: Any, g: Any, axis: int = -1) -> Any:
    """log-softmax's rule with these shares"""
    return g - shares * total(g, axis)


@pytest.mark.parametrize(("exercise", "rule", "name"), CASES)
def test_each_slip_has_its_code_and_its_operator(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


AXES: dict[str, tuple[Callable[..., Any], str, Rule]] = {
    "by name": (lambda x: x.softmax(dim=1), "bs c n", lambda v: soft(v["x"].softmax(2), v["out_g"], 2)),
    "negative": (lambda x: torch.softmax(x, -1), "bs c n", lambda v: soft(v["x"].softmax(1), v["out_g"], 1)),
    "of a function": (
        lambda x: torch.nn.functional.log_softmax(x, dim=0), "bs c", lambda v: log(v["x"].softmax(1), v["out_g"], 1)
    ),
    "several": (
        lambda x: torch.logsumexp(x, (0, 2)), "bs c n", lambda v: v["x"].softmax(1) * v["out_g"][:, None]
    ),
    "kept": (
        lambda x: x.logsumexp(dim=1, keepdim=True), "bs c n", lambda v: v["x"].softmax(2) * v["out_g"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("spelling", AXES)
def test_the_axis_is_found_however_it_is_given(spelling: str) -> None:
    """As an argument, by name, negative, several of them, kept or dropped."""
    forward, axes, rule = AXES[spelling]
    assert_named(Exercise("", forward, {"x": normal(axes), "out": output()}, stored("x.g")), rule, "summed-wrong-axis")


def test_the_softmax_of_a_single_number_has_no_slips() -> None:
    """It is 1, and so the gradient 0: what is there instead is no part of a rule."""
    one = Exercise("", lambda x: x.softmax(-1), {"x": normal("bs 1"), "out": output()}, stored("x.g"))
    assert "softmax" not in verdict(one, lambda v: v["x"].sin() * v["out_g"]).says


def _layer(x: Any, gain: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + 0.1).sqrt() * gain


NORMED = {"x": normal("bs t n"), "gain": normal("n"), "out": output()}
LAYER = Exercise("", _layer, NORMED, stored("x.g"))
RMS = Exercise("", lambda x, gain: x * (x.pow(2).mean(-1, keepdim=True) + 0.1).rsqrt() * gain, NORMED, stored("x.g"))


def norm(centre: bool, form: Callable[..., Any]) -> Rule:
    """A gradient written with the upstream gradient g, the normalized value h and what it was multiplied by, r."""

    def rule(v: dict[str, Any]) -> Any:
        c = v["x"] - v["x"].mean(-1, keepdim=True) if centre else v["x"]
        r = ((c**2).mean(-1, keepdim=True) + 0.1).rsqrt()
        return form(v["out_g"] * v["gain"], c * r, r, v)

    return rule


def u(v: dict[str, Any]) -> Any:
    return v["out_g"]


def mean(terms: Any, axes: Any = -1) -> Any:
    return terms.mean(axes, keepdim=True)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (LAYER, norm(True, lambda g, h, r, v: r * (g - h * mean(g * h))),
         "missing-path: the path through the mean is missing"),
        (RMS, norm(False, lambda g, h, r, v: r * (g - mean(g) - h * mean(g * h))),
         "wrong-local: the forward pass does not"),
        (LAYER, norm(True, lambda g, h, r, v: g - mean(g) - h * mean(g * h)), "missing-local: is not divided by the"),
        (RMS, norm(False, lambda g, h, r, v: r * (g - h * mean(g * h, (1, 2)))),
         "summed-wrong-axis"),
        (LAYER, norm(True, lambda g, h, r, v: r * (g - mean(g, 1) - h * mean(g * h, 1))),
         "summed-wrong-axis"),
        (LAYER, norm(True, lambda g, h, r, v: v["gain"] * r * (u(v) - mean(u(v)) - h * mean(u(v) * h))),
         "wrong-local: after the means"),
        (LAYER, norm(True, lambda g, h, r, v: r * (g - mean(g) - v["x"] * mean(g * h))),
         "wrong-operand: x is used in place of the normalized value"),
        (LAYER, norm(True, lambda g, h, r, v: r * (g - mean(g) - mean(g * h))),
         "missing-local: the normalized value is missing"),
        (LAYER, norm(True, lambda g, h, r, v: g), "missing-local: and nothing is subtracted from it"),
        (LAYER, norm(True, lambda g, h, r, v: r * (g - mean(g) - v["x"] * r * mean(g * v["x"] * r))),
         "wrong-operand: with no mean subtracted"),
        (LAYER, norm(True, lambda g, h, r, v: r * (g - mean(u(v)) - h * mean(u(v) * h))),
         "missing-local: outside the means only"),
    ],
)  # fmt: skip
def test_each_slip_in_a_norm_has_its_name(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


def _normed(x: Any) -> Any:
    return x * (x.pow(2).mean(-1, keepdim=True) + 0.1).rsqrt()


def _groups(x: Any, gain: Any) -> Any:
    return _normed(x.reshape(len(x), 2, -1)).reshape(x.shape) * gain.unsqueeze(-1)


def _masked(x: Any, mask: Any, v: Any) -> Any:
    return x.masked_fill(mask > 0, float("-inf")).softmax(-1) @ v


GROUPS = Exercise("groups", _groups, {"x": normal("bs 4 l"), "gain": normal("4"), "out": output()}, stored("x.g"))
MASKED = Exercise("a mask", _masked, {"x": normal("s t"), "mask": mask("s t"), "v": normal("t n"), "out": output()},
                  stored("x.g"))  # fmt: skip


def through(x: Any, g: Any, scaled_as: Any = None) -> Any:
    """Back through the norm without a mean; scaled as another value's norm is."""
    h, z = _normed(x), x if scaled_as is None else scaled_as
    return (z.pow(2).mean(-1, keepdim=True) + 0.1).rsqrt() * (g - h * mean(g * h))


def gain_last(v: dict[str, Any]) -> Any:
    bs, _, length = v["x"].shape
    rows, g = (value.reshape(bs, 2, -1) for value in (v["x"], v["out_g"]))
    return through(rows, g).reshape(bs, 4, length) * v["gain"].unsqueeze(-1)


def of_channels(v: dict[str, Any]) -> Any:
    bs, _, length = v["x"].shape
    rows, g = (value.reshape(bs, 2, 2, length) for value in (v["x"], v["out_g"] * v["gain"].unsqueeze(-1)))
    r = (rows.pow(2).mean((2, 3), keepdim=True) + 0.1).rsqrt()
    return (r * (g - rows * r * mean(g * rows * r))).reshape(v["x"].shape)


def dealt_out(v: dict[str, Any]) -> Any:
    x, g = (value[:, [0, 2, 1, 3]].reshape(len(value), 2, -1)
            for value in (v["x"], v["out_g"] * v["gain"].unsqueeze(-1)))  # fmt: skip
    return through(x, g).reshape(v["x"].shape)[:, [0, 2, 1, 3]]


def _batch(x: Any) -> Any:
    centred = x - x.mean(0)
    return centred * ((centred**2).mean(0) + 0.1).rsqrt()


BATCH = Exercise("a batch norm", _batch, {"x": normal("bs n"), "out": output()}, stored("x.g"))


def of_the_row(v: dict[str, Any]) -> Any:
    r, h, g = (v["x"].var(0, correction=0) + 0.1).rsqrt(), v["out"], v["out_g"]
    return r * (g - mean(g) - h * mean(g * h))


def masked_behind(v: dict[str, Any]) -> Any:
    return soft(v["x"].softmax(-1).masked_fill(v["mask"] > 0, 0.0), v["out_g"] @ v["v"].T)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (GROUPS, of_channels, "summed-wrong-axis"),
        (GROUPS, dealt_out, "reshape-for-transpose"),
        (BATCH, of_the_row, "summed-wrong-axis"),
        (GROUPS, gain_last, "wrong-local: `gain.unsqueeze(-1)` is applied after the mean;"),
        (MASKED, masked_behind, "wrong-local"),
    ],
)
def test_each_slip_with_a_norm_or_softmax_among_others_has_its_name(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)
