"""`explain` on forward passes that no exercise has: slips in loops, masks, indices and sizes have their true names."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from grader import explain

NORMAL = torch.Generator().manual_seed(11)


def normal(*shape):
    return torch.randn(*shape, generator=NORMAL)


def gated(z, x, h):
    """Each state is a mixture of the one before and an input."""
    keep, states = z.sigmoid(), []
    for t in range(len(x)):
        h = keep[t] * h + (1 - keep[t]) * x[t]
        states.append(h)
    return torch.stack(states)


def gated_backward(slip):
    def backward(out, out_g, z, x, h):
        keep, found = z.sigmoid(), {"z": torch.zeros_like(z), "x": torch.zeros_like(x)}
        g, before = torch.zeros_like(h), torch.cat([h[None], out[:-1]])
        for t in range(len(x)) if slip == "first turn first" else reversed(range(len(x))):
            total = g + out_g[t]
            here = g if slip == "own upstream later" else total
            state = out[t] if slip == "state after" else before[t]
            found["z"][t] = here * (state - x[t]) * keep[t] * (1 - keep[t])
            found["x"][t] = here * (1 - keep[t])
            g = total if slip == "first gate" and t == 0 else total * keep[t]
        return {**found, "h": g}

    return gated, {"z": normal(5, 4), "x": normal(5, 4), "h": normal(4)}, backward


def balanced(cost, turns):
    shares = (-cost).exp()
    for _ in range(turns):
        shares = shares / shares.sum(1, keepdim=True)
        shares = shares / shares.sum(0, keepdim=True)
    return shares


def balanced_backward(slip):
    def backward(out, out_g, cost, turns):
        shares = [(-cost).exp()]
        for i in range(2 * turns):
            shares.append(shares[-1] / shares[-1].sum(1 - i % 2, keepdim=True))
        order = range(2 * turns - 2, 2 * turns) if slip == "last turn" else range(2 * turns)
        order = [2 * (i // 2) + 1 - i % 2 for i in order] if slip == "first turn first" else reversed(order)
        g = out_g
        for i in order:
            total = shares[i].sum(1 - i % 2, keepdim=True)
            through_total = (g * shares[i]).sum(1 - i % 2, keepdim=True) / total**2
            g = g / total if slip == "sums constant" else g / total - through_total
        return {"cost": -g * shares[0]}

    return balanced, {"cost": torch.rand(5, 4, generator=NORMAL), "turns": 2}, backward


def delayed(x, w, step):
    """A causal convolution, tap by tap."""
    wide, out = F.pad(x, ((len(w) - 1) * step, 0)), 0
    for tap in range(len(w)):
        out = out + w[tap] * wide[:, tap * step : tap * step + x.shape[1]]
    return out


def delayed_backward(slip):
    def backward(out, out_g, x, w, step):
        n, wide = x.shape[1], F.pad(x, ((len(w) - 1) * step, 0))
        wide_g = torch.zeros_like(wide)
        for tap in range(len(w)):
            wide_g[:, tap * step : tap * step + n] += w[tap] * out_g
        found = delayed(out_g, w, step) if slip == "forwards" else wide_g[:, :n] if slip == "cut" else wide_g[:, -n:]
        taps = [(out_g * wide[:, i * step : i * step + n]).sum() for i in range(len(w))]
        return {"x": found, "w": torch.stack(taps)}

    return delayed, {"x": normal(3, 9), "w": normal(3), "step": 2}, backward


def mean_of_kept(x, keep):
    return (x * keep).sum(1) / keep.sum(1)


def mixed(x, share, order):
    return share[:, None] * x + (1 - share[:, None]) * x[order]


def permuted_again(out, out_g, x, share, order):
    g = out_g * (1 - share[:, None])
    return {"x": share[:, None] * out_g + g[order], "share": (out_g * (x - x[order])).sum(1)}


def ranked(score, i, j):
    return F.softplus(score[j] - score[i]).mean()


def ranked_backward(sign, size):
    def backward(out, out_g, score, i, j):
        g = torch.sigmoid(sign * (score[j] - score[i])) * out_g / len((score, i)[size])
        return {"score": torch.zeros_like(score).index_add(0, j, g).index_add(0, i, -g)}

    pairs = {"i": torch.tensor([0, 0, 1, 2, 3, 3, 5]), "j": torch.tensor([1, 4, 2, 5, 0, 5, 4])}
    return ranked, {"score": normal(6), **pairs}, backward


def sent(x, w, share, source, target):
    return torch.zeros_like(x).index_add(0, target, share[:, None] * x[source]) @ w


def sent_the_same_way(out, out_g, x, w, share, source, target):
    g, arrived = out_g @ w.T, torch.zeros_like(x).index_add(0, target, share[:, None] * x[source])
    found = torch.zeros_like(x).index_add(0, target, share[:, None] * g[source])
    return {"x": found, "w": arrived.T @ out_g, "share": (g[target] * x[source]).sum(1)}


def best(x):
    return x.topk(2, dim=1).values.softmax(1)


def put_first(out, out_g, x):
    found = torch.zeros_like(x)
    found[:, :2] = out * (out_g - (out * out_g).sum(1, keepdim=True))
    return {"x": found}


def averaged(x, near):
    near = near.to(x.dtype)
    return ((near / near.sum(1, keepdim=True)) @ x).relu()


def divided_by_columns(out, out_g, x, near):
    near = near.to(x.dtype)
    return {"x": (near / near.sum(1)).T @ (out_g * (out > 0))}


def cosine(a, b):
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1)).clamp(min=1e-6)


def lengths_held(out, out_g, a, b):
    g = (out_g / (a.norm(dim=1) * b.norm(dim=1)))[:, None]
    return {"a": g * b, "b": g * a - (out_g * out / b.norm(dim=1) ** 2)[:, None] * b}


def nearest(x, c, v):
    return ((x[:, None] - c) ** 2).sum(-1).softmax(1) @ v


def centre_left_out(out, out_g, x, c, v):
    shares, g = ((x[:, None] - c) ** 2).sum(-1).softmax(1), out_g @ v.T
    g = 2 * shares * (g - (shares * g).sum(1, keepdim=True))
    x_g = g.sum(1, keepdim=True) * x
    return {"x": x_g, "c": -(g[:, :, None] * (x[:, None] - c)).sum(0), "v": shares.T @ out_g}


def normed(x, gain):
    return F.layer_norm(x, (x.shape[-1],), gain, eps=1e-4)


def deviation_held(out, out_g, x, gain):
    centred = x - x.mean(-1, keepdim=True)
    scale, g = (centred.square().mean(-1, keepdim=True) + 1e-4).rsqrt(), out_g * gain
    return {"x": scale * (g - g.mean(-1, keepdim=True)), "gain": (out_g * centred * scale).sum((0, 1))}


KEPT = {"x": normal(4, 6), "keep": torch.rand(4, 6, generator=NORMAL) < 0.7}
MIXED = {
    "x": normal(6, 5),
    "share": torch.rand(6, generator=NORMAL),
    "order": torch.tensor([2, 0, 5, 1, 3, 4]),
}
SOME = {
    "x": normal(6, 3),
    "w": normal(3, 2),
    "share": torch.rand(7, generator=NORMAL),
    "source": torch.tensor([0, 3, 3, 1, 5, 2, 4]),
    "target": torch.tensor([1, 0, 2, 2, 4, 5, 1]),
}
WRONG = {
    "the state after a turn for the one before it": (*gated_backward("state after"), {"z": "wrong-operand"}),
    "the own upstream gradient is added too late": (
        *gated_backward("own upstream later"), {"z": "missing-path", "x": "missing-path"}
    ),
    "the gate of the first turn": (*gated_backward("first gate"), {"h": "missing-local"}),
    "sums held constant, wherever they are": (*balanced_backward("sums constant"), {"cost": "missing-path"}),
    "only the last turn is gone back through": (*balanced_backward("last turn"), {"cost": "missing-path"}),
    "the forward pass run on the gradient": (*delayed_backward("forwards"), {"x": "wrong-local"}),
    "cut from the other end of what was padded": (*delayed_backward("cut"), {"x": "wrong-operand"}),
    "divided by the length with what is left out": (
        mean_of_kept, KEPT, lambda out, out_g, x, keep: {"x": keep * out_g[:, None] / x.shape[1]},
        {"x": "wrong-operand"},
    ),
    "permuted as in the forward pass": (mixed, MIXED, permuted_again, {"x": "transposed"}),
    "the derivative at minus the input": (*ranked_backward(-1, 1), {"score": "wrong-point"}),
    "the number of items for that of pairs": (*ranked_backward(1, 0), {"score": "wrong-factor"}),
    "sent on the way back as on the way forward": (sent, SOME, sent_the_same_way, {"x": "wrong-local"}),
    "the first columns for the best": (best, {"x": normal(6, 5)}, put_first, {"x": "wrong-operand"}),
    "an axis that was not kept": (
        averaged, {"x": normal(6, 4), "near": torch.eye(6).roll(1, 0) + torch.eye(6) > 0}, divided_by_columns,
        {"x": "broadcast-accident"},
    ),
    "a clamp that closes nothing has no mask to invert": (
        cosine, {"a": normal(6, 5), "b": normal(6, 5)}, lengths_held, {"a": "missing-path"}
    ),
    "a norm that is one operation": (
        normed, {"x": normal(3, 4, 5), "gain": normal(5)}, deviation_held, {"x": "missing-path"}
    ),
    "zeros that only rounding keeps from being exact": (
        nearest, {"x": normal(6, 3), "c": normal(4, 3), "v": normal(4, 2)}, centre_left_out, {"x": "hard-coded"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_slip_in_a_foreign_forward_pass_has_its_true_code(case):
    forward, inputs, backward, codes = WRONG[case]
    explanation = explain(forward, inputs, backward=backward, seed=3)
    assert {one.answer: one.code for one in explanation.mistakes} == codes, str(explanation)


@pytest.mark.parametrize("right", [gated_backward, balanced_backward, delayed_backward])
def test_the_same_without_a_slip_is_right(right):
    forward, inputs, backward = right("")
    assert explain(forward, inputs, backward=backward, seed=3).ok
