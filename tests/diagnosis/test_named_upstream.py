"""Slips in what arrives at a step, in products of two values, in numbers, and in what a loop hands on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, unmended

from grader.course.exercise import Exercise, stored
from grader.course.sampling import indices, normal, output
from grader.diagnosis.operators.upstream import name_of_upstream_gradient
from grader.program.recording import record


def _gate(x: Any, w: Any, u: Any) -> Any:
    return (x @ w).sigmoid() * (x @ u).tanh()


def _beside(x: Any, y: Any, r: Any) -> Any:
    return (x.sin() + r * y).tanh()


def _turned(x: Any) -> Any:
    places = torch.arange(x.shape[-1], dtype=x.dtype)
    return x * places.cos() + x.tanh() * places.sin()


ROWS = {"x": normal("bs n"), "out": output()}
GATE = Exercise("a gate", _gate, ROWS | {"w": normal("n m"), "u": normal("n m")}, stored("x.g"))
BESIDE = Exercise("a sum", _beside, ROWS | {"y": normal("bs n"), "r": normal("bs n")}, stored("x.g"))
SQUARE = Exercise("a square", lambda x, w: (x @ w).tanh(), ROWS | {"w": normal("n n")}, stored("x.g"))
LAYERS = Exercise("two layers", lambda x: x + (x + x.sin()).tanh(), ROWS, stored("x.g"))
ADDED = Exercise("a residual", lambda x: (h := x + x.sin()) + h.tanh(), ROWS, stored("x.g"))
JOINED = Exercise(
    "two inputs", lambda x, y, w: torch.cat((x, y), -1) @ w,
    {"x": normal("bs n"), "y": normal("bs m"), "w": normal("n+m k"), "out": output()}, stored("w.g"),
)  # fmt: skip
SCORES = Exercise("scores", lambda x, y: (x @ y.T / x.shape[1] ** 0.5).softmax(-1),
                  {"x": normal("bs n"), "y": normal("m n"), "out": output()}, stored("x.g"))  # fmt: skip
TURNED = Exercise("turned", _turned, ROWS, stored("x.g"))
PICKED = Exercise("rows", lambda t, w: w[t], {"t": indices("bs s", "n"), "w": normal("n m"), "out": output()},
                  stored("w.g"))  # fmt: skip


def by_themselves(v: dict[str, Any]) -> Any:
    a, b = (v["x"] @ v["w"]).sigmoid(), (v["x"] @ v["u"]).tanh()
    return (v["out_g"] * a * a * (1 - a)) @ v["w"].T + (v["out_g"] * b * (1 - b * b)) @ v["u"].T


def scored(size: Callable[[Any], int], back: Callable[[Any], int]) -> Rule:
    """Attention's scores divided by the root of one size, and of another one on the way back."""

    def rule(v: dict[str, Any]) -> Any:
        p = (v["x"] @ v["y"].T / size(v) ** 0.5).softmax(-1)
        g = p * (v["out_g"] - (p * v["out_g"]).sum(-1, keepdim=True))
        return g @ v["y"] / back(v) ** 0.5

    return rule


def width(v: dict[str, Any]) -> int:
    return int(v["x"].shape[1])


def keys(v: dict[str, Any]) -> int:
    return len(v["y"])


def turned_back(first: Any, second: Any, start: int = 0) -> Rule:
    def rule(v: dict[str, Any]) -> Any:
        places = torch.arange(start, width(v) + start, dtype=torch.float64)
        return v["out_g"] * first(places) + v["out_g"] * (1 - v["x"].tanh() ** 2) * second(places)

    return rule


def picked(v: dict[str, Any]) -> Any:
    return torch.zeros_like(v["w"]).index_add_(0, v["t"].T.flatten(), v["out_g"].flatten(0, 1))


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (GATE, by_themselves, "wrong-operand"),
        (BESIDE, lambda v: v["out_g"] * (1 - v["out"] ** 2) * v["x"].cos() * v["r"],
         "extra-factor: is multiplied by r"),
        (SQUARE, lambda v: v["out_g"] * (1 - v["out_g"] ** 2) @ v["w"].T, "not-linear: instead of `out`"),
        (SQUARE, lambda v: v["out_g"] * (1 - v["out"] ** 2), "missing-local: skips"),
        (LAYERS, lambda v: v["out_g"] * (2 + v["x"].cos()), "missing-local"),
        (ADDED, lambda v: v["out_g"] * (1 + v["x"].cos() * (2 - (v["x"] + v["x"].sin()).tanh() ** 2)),
         "missing-path: is incomplete: the contribution of"),
        (JOINED, lambda v: torch.cat((v["y"], v["x"]), -1).T @ v["out_g"], "wrong-operand: in reverse order"),
        (SCORES, scored(keys, keys), "wrong-factor: in place of `x.shape[1] ** 0.5`"),
        (SCORES, scored(width, keys), "wrong-factor: in place of `x.shape[1] ** 0.5`"),
        unmended(TURNED, turned_back(torch.cos, torch.sin, 1), "wrong-operand", reason="constants that count places"),
        (PICKED, picked, "reshape-for-transpose"),
    ],
)  # fmt: skip
def test_each_slip_has_its_name(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


def test_the_gradient_of_a_loop_is_that_of_its_value_where_the_output_is_the_last_one() -> None:
    """Named in a trial of two time steps, where the second value is the output: in others it is none."""
    inputs = {"x": torch.randn(3, 2, 4), "h": torch.randn(3, 4), "w": torch.randn(4, 4)}
    program = record(LAST.forward, inputs, torch.randn(3, 4))
    assert name_of_upstream_gradient(program, program.forward.outputs[-1]) == "the gradient of h"


def test_the_other_size_is_told() -> None:
    rule = scored(keys, keys)
    assert_named(SCORES, rule, "wrong-factor: `y.shape[-2] ** 0.5` is used in place of `x.shape[1] ** 0.5`")


# --- loops --------------------------------------------------------------------------------------------------------


def _states(x: Any, h: Any, w: Any) -> list[Any]:
    states = []
    for i in range(x.shape[1]):
        h = (x[:, i] + h @ w).tanh()
        states.append(h)
    return states


LOOP = {"x": normal("bs t n"), "h": normal("bs n"), "w": normal("n n", scale=0.4), "out": output()}
LAST = Exercise("the last state", lambda x, h, w: _states(x, h, w)[-1], LOOP, stored("x.g", "w.g"))
EVERY = Exercise("all states", lambda x, h, w: torch.stack(_states(x, h, w), 1), LOOP, stored("x.g", "w.g"))


def back(own: Callable[[Any, Any, Any], Any], handed: Callable[[Any, Any], Any], first: Callable[[Any], Any]) -> Rule:
    """The gradient of the weight by hand.

    Args:
        own: what goes on from a state, made of its upstream gradient, what was handed on to it, and its slope.
        handed: what is handed on, from that and the weight.
        first: what the first turn takes for the state that comes in.
    """

    def rule(v: dict[str, Any]) -> Any:
        states, found = [v["h"], *_states(v["x"], v["h"], v["w"])], torch.zeros_like(v["w"])
        g, turns = torch.zeros_like(v["h"]), v["x"].shape[1]
        for i in reversed(range(turns)):
            if v["out_g"].dim() == 3:
                upstream = v["out_g"][:, i]
            else:
                upstream = v["out_g"] if i == turns - 1 else torch.zeros_like(g)
            s = own(upstream, g, 1 - states[i + 1] ** 2)
            found += (states[i] if i else first(states)).T @ s
            g = handed(s, v)
        return found

    return rule


def _own(upstream: Any, g: Any, slope: Any) -> Any:
    return (upstream + g) * slope


def _handed(s: Any, v: Any) -> Any:
    return s @ v["w"].T


def _first(states: Any) -> Any:
    return states[0]


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (LAST, back(_own, lambda s, v: s, _first), "missing-local: skips"),
        (LAST, back(_own, lambda s, v: v["out_g"], _first), "missing-local: the operations between them are skipped"),
        (EVERY, back(lambda upstream, g, slope: upstream + g * slope, _handed, _first),
         "missing-local: is added after multiplying by the derivative"),
        (EVERY, back(_own, _handed, lambda states: states[-1]), "wrong-operand"),
    ],
)  # fmt: skip
def test_a_slip_in_what_a_loop_takes_or_hands_on_has_its_name(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name, "w.g")
