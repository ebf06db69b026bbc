"""Paths: a value used several times, slips on one path alone, and loops that are cut short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers.verdicts import Rule, assert_named, trials_of

from grader.course.exercise import Exercise, returned, stored
from grader.course.sampling import normal, output, upstream
from grader.diagnosis.candidates import edits
from grader.diagnosis.operators.contract import REGISTRY
from grader.program.recording import record

TWICE = Exercise("x * sin(x)", lambda x: x * x.sin(), {"x": normal("n m"), "out_g": upstream()}, returned("x"))
MEAN = Exercise("a mean", lambda x: (x * x.sin() + x**3).mean(), {"x": normal("bs n")}, stored("x.g"))
SQUARES = Exercise(
    "x * sin(x) + x**2", lambda x: x * x.sin() + x**2, {"x": normal("n m"), "out_g": upstream()}, returned("x")
)
INVERSE = Exercise("2 / (exp(x) + x**2)", lambda x: 2 / (x.exp() + x**2), {"x": normal("n"), "out_g": upstream()},
                   returned("x"))  # fmt: skip
HALF = Exercise("half of x + x**2", lambda x: (x + x**2) / 2, {"x": normal("bs n"), "out": output()}, stored("x.g"))


def _residual(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    h = x + torch.tanh(x @ w)
    return h.exp()


def _cubed(x: torch.Tensor) -> torch.Tensor:
    return x * x * x.sin()


def _area(x: torch.Tensor) -> torch.Tensor:
    first, second = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    product: torch.Tensor = torch.linalg.cross(first, second)
    return product**2


def _area_with_first_edge_thrice(v: dict[str, Any]) -> torch.Tensor:
    x = v["x"]
    first, second = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    g = v["out_g"] * 2 * torch.linalg.cross(first, second)
    dfirst, dsecond = 3 * torch.linalg.cross(second, g), torch.linalg.cross(g, first)
    return torch.stack([-dfirst - dsecond, dfirst, dsecond], 1)


AREA = Exercise("a cross product squared", _area, {"x": normal("bs 3 3"), "out_g": upstream()}, returned("x"))
RESIDUAL = Exercise(
    "h.exp() of a residual", _residual, {"x": normal("bs n"), "w": normal("n n"), "out": output()}, returned("x")
)
CUBED = Exercise("x * x * sin(x)", _cubed, {"x": normal("n m"), "out_g": upstream()}, returned("x"))


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (TWICE, lambda v: v["out_g"] * v["x"].sin(), "missing-path: through `x.sin()` is missing"),
        (TWICE, lambda v: v["out_g"] * v["x"] * v["x"].cos(),
         "missing-path: the direct path from x, through the factor x of `x * x.sin()`, is missing"),
        (SQUARES, lambda v: v["out_g"] * (v["x"].sin() + v["x"] * v["x"].cos()),
         "missing-path: the path from x through `x**2` is missing"),
        (SQUARES, lambda v: v["out_g"] * v["x"].sin(),
         "missing-path: only the contribution of the factor x of `x * x.sin()` is used"),
        (RESIDUAL, lambda v: (v["out_g"] * v["out"] * (1 - torch.tanh(v["x"] @ v["w"]) ** 2)) @ v["w"].T,
         "missing-path: the direct path from x to h, through the term x of `x + torch.tanh(x @ w)`, is missing"),
        (CUBED, lambda v: v["out_g"] * (v["x"] * v["x"].sin() + v["x"] ** 2 * v["x"].cos()),
         "missing-path: one of the two paths from x through `x * x` is missing"),
        (AREA, _area_with_first_edge_thrice,
         "wrong-factor: `cross` to the gradient of `x[:, 1] - x[:, 0]` is 3 times what it should be"),
        (TWICE, lambda v: v["out_g"] * v["x"].cos(), "wrong-local: are multiplied; multiply each"),
        (TWICE, lambda v: v["x"].sin() + v["x"] * v["x"].cos(),
         "missing-upstream: is missing: your code treats it as 1"),
        (TWICE, lambda v: v["x"].sin() + v["out_g"] * v["x"] * v["x"].cos(),
         "missing-upstream: in the gradient of x through"),
        (MEAN, lambda v: (v["x"].sin() + v["x"] * v["x"].cos()) / v["x"].numel() + 3 * v["x"] ** 2,
         "sum-for-mean: on the path through `x**3`, the division by the number of entries"),
        (HALF, lambda v: v["out_g"] * (1 + v["x"]), "missing-local"),
        (HALF, lambda v: v["out_g"] * (0.5 + 2 * v["x"]), "missing-local"),
        (INVERSE, lambda v: v["out_g"] * (2 * v["x"] - 2 * v["x"].exp() / (v["x"].exp() + v["x"] ** 2) ** 2),
         "missing-local: is passed from the output to `x**2` unchanged"),
    ],
)  # fmt: skip
def test_a_slip_on_one_of_several_paths_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    """A path that is left out, or a factor that all paths share, left out on one of them."""
    assert_named(exercise, rule, name)


def _huber(pred: torch.Tensor, targ: torch.Tensor) -> torch.Tensor:
    e = pred - targ
    return torch.where(e.abs() < 1, e.square() / 2, e.abs() - 0.5).mean()


def _cosine(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-1) / ((a**2).sum(-1).sqrt() * (b**2).sum(-1).sqrt())


HUBER = Exercise("the Huber loss", _huber, {"pred": normal("bs n"), "targ": normal("bs n")}, stored("pred.g"))
COSINE = Exercise("a cosine", _cosine, {"a": normal("bs n"), "b": normal("bs n"), "out": output()}, stored("a.g"))


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (HUBER, lambda v: (v["pred"] - v["targ"]) / v["pred"].numel(),
         "wrong-local: e is used in place of the derivative of `e.abs()` in `e.abs() - 0.5`"),
        (COSINE, lambda v: v["out_g"][:, None] * v["b"] / (v["a"].norm(dim=-1) * v["b"].norm(dim=-1))[:, None],
         "missing-path: the path from a through `a**2` is missing"),
    ],
)  # fmt: skip
def test_a_step_of_the_forward_pass_is_named_by_the_text_of_its_line(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


# --- a loop, which takes another number of turns in each trial --------------------------------------------------


def recurrent(x: torch.Tensor, w: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    h = torch.zeros_like(x[0] @ u)
    states = []
    for step in x:
        h = (step @ u + h @ w).tanh()
        states.append(h)
    return torch.stack(states)


LOOP = Exercise(
    "a recurrence",
    recurrent,
    {"x": normal("t bs n"), "w": normal("h h"), "u": normal("n h"), "out": output()},
    stored("w.g", "u.g", "x.g"),
)
Turns = Callable[[int, int], bool]


def swept(
    answer: str,
    slope: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor] = lambda h, a, s: 1 - h * h,
    counts: Turns = lambda i, t: True,
    carries: Callable[[int], bool] = lambda turns: True,
    state: Callable[[torch.Tensor, int], torch.Tensor] = lambda states, i: states[i],
    hands_on: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda before, behind: before,
) -> Rule:
    """The gradient by hand, back from each output; told what goes wrong on the way.

    Args:
        slope: the derivative of tanh, from its value, its operand, and the state that came in.
        counts: whether a turn contributes to the answer, from its number and that of all turns.
        carries: whether the gradient of an output still goes back when it has gone back so many turns.
        state: the state that turn i starts from; `states[0]` is the first.
        hands_on: what goes back to the turn before, from the gradient before tanh and behind it.
    """

    def rule(v: dict[str, Any]) -> torch.Tensor:
        x, w, u, turns = v["x"], v["w"], v["u"], len(v["x"])
        states = torch.cat([torch.zeros_like(v["out"][:1]), v["out"]])
        found = torch.zeros_like(v[answer])
        for last in range(turns):
            g = v["out_g"][last]
            for back, i in enumerate(range(last, -1, -1)):
                if not carries(back):
                    break
                before = g * slope(states[i + 1], x[i] @ u + states[i] @ w, states[i])
                if counts(i, turns):
                    if answer == "x":
                        found[i] += before @ u.T
                    else:
                        found += (x[i] if answer == "u" else state(states, i)).T @ before
                g = hands_on(before, g) @ w.T
        return found

    return rule


def test_the_gradient_by_hand_is_right() -> None:
    for name in ("w", "u", "x"):
        for trial in trials_of(LOOP):
            known = {**trial.inputs, "out": trial.out, "out_g": trial.out_g}
            torch.testing.assert_close(swept(name)(known), torch.from_numpy(trial.expected[f"{name}.g"]))


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        ("w.g", swept("w", carries=lambda back: back < 1), "missing-path: is missing"),
        ("w.g", swept("w", counts=lambda i, t: i == t - 1), "missing-path: of the last time step"),
        ("u.g", swept("u", counts=lambda i, t: i == t - 1), "missing-path: of the last time step"),
        ("u.g", swept("u", counts=lambda i, t: i >= t - 2), "missing-path: of the last 2"),
        ("u.g", swept("u", counts=lambda i, t: i == 0), "overwritten: only the contribution of the first time step"),
        ("u.g", swept("u", counts=lambda i, t: i < 3), "missing-path: of the first 3"),
        ("u.g", swept("u", counts=lambda i, t: i > 0), "missing-path: at the first time step"),
        ("w.g", swept("w", state=lambda s, i: s[i + 1]), "wrong-operand"),
        ("w.g", swept("w", slope=lambda h, a, s: 1 + 0 * h), "missing-local: the derivative of the tanh"),
        ("x.g", swept("x", slope=lambda h, a, s: 1 + 0 * h), "missing-local: the derivative of the tanh"),
        ("x.g", swept("x", slope=lambda h, a, s: 1 - s * s), "wrong-point"),
    ],
)  # fmt: skip
def test_a_slip_in_a_loop_is_one_mistake_made_at_its_turns(answer: str, rule: Rule, name: str) -> None:
    assert len({len(trial.inputs["x"]) for trial in trials_of(LOOP)}) > 2
    assert_named(LOOP, rule, name, answer)


@pytest.mark.parametrize("turns", [3, 4])
def test_some_turns_are_dropped_wherever_the_others_alone_are_kept(turns: int) -> None:
    def forward(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return torch.stack([(step @ u).tanh() for step in x]).sum(0)

    program = record(forward, {"x": np.ones((turns, 2, 3)), "u": np.ones((3, 4))})
    right, listed = program.gradients(), list(edits(REGISTRY["iterations-dropped"], program))
    assert listed
    for edit in listed:
        gradients = edit.apply(program).gradients()
        assert any(not np.array_equal(gradients[name], right[name]) for name in right), edit.choice


def _moments(x: Any) -> Any:
    m, v = 0.4 * x[:, 0], 0.2 * x[:, 0] ** 2
    for t in range(1, 4):
        m = 0.6 * m + 0.4 * x[:, t]
        v = 0.8 * v + 0.2 * x[:, t] ** 2
    return m / (v + 0.1).sqrt()


def _gated(x: Any, w: Any) -> Any:
    states = [x[:, 0]]
    for t in range(1, 4):
        gate = (x[:, t] * w).sigmoid()
        states.append(gate * states[-1] + (1 - gate) * x[:, t].sin())
    return torch.stack(states, 1)


MOMENTS = Exercise("two moments", _moments, {"x": normal("bs 4"), "out": output()}, stored("x.g"))
GATED = Exercise("a gate", _gated, {"x": normal("bs 4 n"), "w": normal("n"), "out": output()}, stored("x.g"))


def decaying(decays: tuple[float, float] = (0.6, 0.8), turns: int = 4) -> Rule:
    """The gradient by hand, with these decays on the way back through so many turns."""

    def rule(k: dict[str, Any]) -> Any:
        x = k["x"]
        m, v = 0 * x[:, 0], 0 * x[:, 0]
        for t in range(4):
            m, v = 0.6 * m + 0.4 * x[:, t], 0.8 * v + 0.2 * x[:, t] ** 2
        gm, gv = k["out_g"] / (v + 0.1).sqrt(), -k["out_g"] * m / (v + 0.1) ** 1.5 / 2
        found = torch.zeros_like(x)
        for t in range(3, 3 - turns, -1):
            found[:, t] = 0.4 * gm + 0.4 * gv * x[:, t]
            gm, gv = decays[0] * gm, decays[1] * gv
        return found

    return rule


def gated(k: dict[str, Any]) -> Any:
    """Nothing goes back from a state to the one before it."""
    found = torch.zeros_like(k["x"])
    found[:, 0] = k["out_g"][:, 0]
    for t in range(1, 4):
        x, g = k["x"][:, t], k["out_g"][:, t]
        gate = (x * k["w"]).sigmoid()
        found[:, t] = g * (1 - gate) * x.cos() + g * (k["out"][:, t - 1] - x.sin()) * gate * (1 - gate) * k["w"]
    return found


def _memory(x: Any, w: Any) -> Any:
    memory, decay, out = x.new_zeros(x.shape[0], 3), 0.5 * torch.eye(3, dtype=x.dtype), 0.0
    for t in range(4):
        memory = memory @ decay + x[:, t, None]
        out = out + (memory @ w).tanh()
    return out


def memory_before(v: dict[str, Any]) -> Any:
    """The gradient of w, with the memory before each update in place of the memory after it."""
    x, w = v["x"], v["w"]
    memory, decay, dw = x.new_zeros(x.shape[0], 3), 0.5 * torch.eye(3, dtype=x.dtype), torch.zeros_like(w)
    for t in range(4):
        before, memory = memory, memory @ decay + x[:, t, None]
        dw += before.T @ (v["out_g"] * (1 - (memory @ w).tanh() ** 2))
    return dw


def test_a_state_that_begins_with_zeros_of_which_no_node_is_made_is_known() -> None:
    memory = Exercise("a memory", _memory, {"x": normal("bs 4"), "w": normal("3 n"), "out": output()}, stored("w.g"))
    assert_named(memory, memory_before, "wrong-operand: `memory` before each iteration is used in place of `memory`")
