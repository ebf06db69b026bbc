"""Two things at once: the variable and its gradient, a mistake and a factor, the right answer and a mistake."""

from __future__ import annotations

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, returned, stored
from grader.sampling import normal, output

LAYER = Exercise(
    "a layer",
    lambda x, w, b: x @ w + b,
    {"x": normal("bs n"), "w": normal("n m"), "b": normal("m"), "out": output()},
    stored("w.g"),
)
BENT = Exercise(
    "a bent layer and a flat one",
    lambda x, w, v: (x @ w).tanh() @ v,
    {"x": normal("bs n"), "w": normal("n h"), "v": normal("h m"), "out": output()},
    stored("w.g"),
)
ROWS = Exercise(
    "logsumexp less an entry",
    lambda x, t: (x.logsumexp(-1) - (x * t).sum(-1)).mean(),
    {"x": normal("bs c"), "t": normal("bs c")},
    returned("x"),
)


def last_row_left_out(v: dict[str, torch.Tensor]) -> torch.Tensor:
    """x.g of `ROWS`, with nothing subtracted in the last row."""
    kept = v["t"].clone()
    kept[-1] = 0
    return (v["x"].softmax(-1) - kept) / len(kept)


def stepped(v: dict[str, torch.Tensor]) -> torch.Tensor:
    """w.g of `BENT`, worked out after a step of training has changed v."""
    hidden = (v["x"] @ v["w"]).tanh()
    changed = v["v"] - 0.1 * hidden.T @ v["out_g"]
    return v["x"].T @ (v["out_g"] @ changed.T * (1 - hidden**2))


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (LAYER, lambda v: v["w"] - 0.1 * v["x"].T @ v["out_g"], "wrong-local", "w less 0.1 times its gradient"),
        (LAYER, lambda v: v["w"] + 0.01 * v["x"].T @ v["out_g"], "wrong-local", "w and 0.01 times its gradient"),
        (LAYER, lambda v: v["out_g"].T @ v["x"] / len(v["x"]), "transposed", "besides, every entry is 1/"),
        (LAYER, lambda v: -2 * v["x"].T @ v["out"], "value-for-gradient", "besides, every entry is -2 times that"),
        (BENT, stepped, "wrong-operand", "0.1 times v.g is subtracted from v, which alone belongs in its place"),
        (
            ROWS,
            lambda v: (v["x"].softmax(-1) - 0.9 * v["t"] - 0.1 * v["t"].mean(-1, keepdim=True)) / len(v["x"]),
            "wrong-local",
            "0.1 of the path through `*` is spread evenly over its row",
        ),
        (ROWS, last_row_left_out, "partial-batch", "the path through `*` does not count for row"),
    ],
)  # fmt: skip
def test_two_things_at_once_are_both_told(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    """A step of training; a mistake with a name times a factor with a name; a share spread over the row."""
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says
