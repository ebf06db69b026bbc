"""What unit 13 trains: the two spirals of unit 07 once more, with gradients that come from `tensor_engine` alone."""

import math

import torch

title = "Two spirals, told apart by a network that your own engine differentiates"
exercises = ("tensor_engine",)
steps, rate, goal = 1000, 0.02, 0.005
units, points = 64, 97

# The inputs are 0 inp, 1 w1, 2 b1, 3 w2, 4 b2, 5 what to take away, 6 what to divide by: mean((network - targ) ** 2).
program = [
    ("matmul", 0, 1),
    ("add", 7, 2),
    ("relu", 8),
    ("matmul", 9, 3),
    ("add", 10, 4),
    ("add", 11, 5),
    ("mul", 12, 12),
    ("sum", 13),
    ("mul", 14, 6),
]


def data():
    """`inp: (2 * points, 2)` and `targ: (2 * points,)`, 1 on one spiral and -1 on the other."""
    turn = torch.linspace(0.5, 3, points) * math.pi
    spiral = torch.stack((turn.cos(), turn.sin()), 1) * turn[:, None] / math.pi
    return {"inp": torch.cat((spiral, -spiral)), "targ": torch.cat((torch.ones(points), -torch.ones(points)))}


def weights():
    """`w1: (2, units)`, `b1: (units,)`, `w2: (units, 1)`, `b2: (1,)`: the same at every start."""
    drawn = torch.Generator().manual_seed(7)
    w1, w2 = torch.randn(2, units, generator=drawn), torch.randn(units, 1, generator=drawn) / units**0.5
    return {"w1": w1, "b1": torch.randn(units, generator=drawn), "w2": w2, "b2": torch.zeros(1)}


def batch(data, _step):
    """Every example, at every step."""
    return data


def plane(w, inp):
    """What the network says of each point, above 0 for one spiral and below for the other: (n,)."""
    return ((inp @ w["w1"] + w["b1"]).clamp_min(0) @ w["w2"] + w["b2"]).squeeze(-1)


def loss(w, batch):
    """The mean of the squared differences."""
    return (plane(w, batch["inp"]) - batch["targ"]).pow(2).mean()


def gradients(w, batch):
    """Let the learner's engine run the program forward and back, and store what it says of each of the weights."""
    from tensor_engine import tensor_engine

    inp, targ = batch["inp"], batch["targ"]
    share = torch.tensor(1 / len(targ))
    found = tensor_engine(program, [inp, w["w1"], w["b1"], w["w2"], w["b2"], -targ[:, None], share])
    for name, gradient in zip(("w1", "b1", "w2", "b2"), found[1:], strict=False):
        w[name].g = gradient
