"""`explain` on forward passes that no exercise has: slips in loops, masks, indices and sizes have their true names.

One in six of them; `thorough/test_every_explained_case.py` has all.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from handgrad import explain

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
            later = 0 * g if slip == "nothing handed back" else g
            total = later + out_g[-1 if slip == "upstream of the last" else t]
            here = g if slip == "own upstream later" else total
            state = out[t] if slip == "state after" else before[t]
            found["z"][t] = here * (state - x[t]) * keep[t] * (1 - keep[t])
            found["x"][t] = here * (keep[t] if slip == "exchanged" else 1 - keep[t])
            g = total if slip == "first gate" and t == 0 else total * (1 - keep[t] if slip == "exchanged" else keep[t])
        return {**found, "h": g}

    return gated, {"z": normal(5, 4), "x": normal(5, 4), "h": normal(4)}, backward


def rolled(x, v, k, push):
    """A pendulum that is pushed, step by step."""
    states = []
    for t in range(len(push)):
        v = v + 0.3 * (push[t] - k * x.sin())
        x = x + 0.3 * v
        states.append(x)
    return torch.stack(states)


def rolled_backward(slip):
    def backward(out, out_g, x, v, k, push):
        before, found = torch.cat([x[None], out[:-1]]), {"k": torch.zeros_like(k), "push": torch.zeros_like(push)}
        x_g, v_g = torch.zeros_like(x), torch.zeros_like(v)
        for t in reversed(range(len(push))):
            x_g = x_g + out_g[t]
            early, v_g = v_g, v_g + 0.3 * x_g
            g = 0.3 * (early if slip == "read early" else v_g)
            found["push"][t] = g
            found["k"] -= g * before[t].sin()
            x_g = x_g - g * k * (out if slip == "state after" else before)[t].cos()
        return {**found, "x": x_g, "v": v_g}

    inputs = {"x": normal(4), "v": normal(4), "k": 1 + torch.rand(4, generator=NORMAL), "push": normal(5, 4)}
    return rolled, inputs, backward


def survived(risk, when):
    """How many are left after each interval, and the sum of the risks until one of them."""
    total = risk.cumsum(1)
    return (-total).exp(), total[torch.arange(len(risk)), when]


def survived_backward(slip):
    def backward(out, out_g, risk, when):
        g, rows = -out_g[0] * out[0], torch.arange(len(risk))
        g[rows, when] = out_g[1] + (0 if slip == "replaced" else g[rows, when])
        return {"risk": g.cumsum(1) if slip == "forwards" else g.flip(1).cumsum(1).flip(1)}

    return survived, {"risk": torch.rand(4, 6, generator=NORMAL), "when": torch.tensor([2, 5, 0, 3])}, backward


def beside(x, w):
    """A layer behind a norm, and the input beside it."""
    return x + ((x / x.square().mean(1, keepdim=True).sqrt()) @ w).tanh()


def added_before_the_norm(out, out_g, x, w):
    root = x.square().mean(1, keepdim=True).sqrt()
    normed, g = x / root, out_g * (1 - (out - x) ** 2)
    w_g, g = normed.T @ g, g @ w.T + out_g
    return {"x": (g - normed * (g * normed).mean(1, keepdim=True)) / root, "w": w_g}


def looked_up(q, k, v):
    return (q @ k.T).softmax(1) @ v


def shares_before_too(out, out_g, q, k, v):
    p, g = (q @ k.T).softmax(1), out_g @ v.T
    g = p * (p * g - (p * p * g).sum(1, keepdim=True))
    return {"q": g @ k, "k": g.T @ q, "v": p.T @ out_g}


def gathered_at_the_source(out, out_g, x, w, share, source, target):
    g, arrived = out_g @ w.T, torch.zeros_like(x).index_add(0, target, share[:, None] * x[source])
    x_g = torch.zeros_like(x).index_add(0, source, share[:, None] * g[source])
    return {"x": x_g, "w": arrived.T @ out_g, "share": (g[source] * x[source]).sum(1)}


def error_of_kept(x, y, keep):
    return ((x - y) * keep).square().sum() / keep.sum()


def largest(x):
    return x.amax((1, 2))


def classified(x, w, classes):
    return F.cross_entropy(x @ w, classes)


def classified_backward(change):
    def backward(out, out_g, x, w, classes):
        g = change((x @ w).softmax(1), F.one_hot(classes, w.shape[1])) * out_g / len(x)
        return {"x": g @ w.T, "w": x.T @ g}

    inputs = {"x": normal(5, 3), "w": normal(3, 4), "classes": torch.tensor([1, 0, 3, 2, 2])}
    return classified, inputs, backward


def tapped(x, w):
    """Windows that overlap, one after the other."""
    return sum(w[tap] * x[:, tap : tap + 5] for tap in range(len(w)))


def written_over(out, out_g, x, w):
    x_g = torch.zeros_like(x)
    for tap in range(len(w)):
        x_g[:, tap : tap + 5] = w[tap] * out_g
    return {"x": x_g, "w": torch.stack([(out_g * x[:, tap : tap + 5]).sum() for tap in range(len(w))])}


def gate(x, w):
    """Each picture's channels, by a gate of its own."""
    return x * (x.mean(2) @ w).sigmoid()[:, :, None]


def one_gate_for_all(out, out_g, x, w):
    mean, open_ = x.mean(2), (x.mean(2) @ w).sigmoid()
    g = (out_g * x).sum((0, 2)).expand_as(open_) * open_ * (1 - open_)
    return {"x": out_g * open_[:, :, None] + (g @ w.T)[:, :, None] / x.shape[2], "w": mean.T @ g}


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
    "the gate and what it leaves are exchanged": (
        *gated_backward("exchanged"), {"z": "wrong-operand", "x": "wrong-operand", "h": "wrong-operand"}
    ),
    "each turn has only its own upstream gradient": (
        *gated_backward("nothing handed back"), {"z": "missing-path", "x": "missing-path", "h": "missing-path"}
    ),
    "every turn has the last one's upstream gradient": (
        *gated_backward("upstream of the last"), {"z": "wrong-operand", "x": "wrong-operand", "h": "wrong-operand"}
    ),
    "the push is worked out too early": (
        *rolled_backward("read early"), dict.fromkeys(("x", "v", "k", "push"), "missing-path")
    ),
    "the slope at the state that a step makes": (
        *rolled_backward("state after"), dict.fromkeys(("x", "v", "k", "push"), "wrong-point")
    ),
    "the class itself is forgotten": (
        *classified_backward(lambda p, right: p), {"x": "missing-path", "w": "missing-path"}
    ),
    "softmax once more": (
        *classified_backward(lambda p, right: p * (p - right - (p * (p - right)).sum(1, keepdim=True))),
        {"x": "extra-factor", "w": "extra-factor"},
    ),
    "each window is written over the one before": (
        tapped, {"x": normal(2, 7), "w": normal(3)}, written_over, {"x": "overwritten"}
    ),
    "one gate for the whole batch": (
        gate, {"x": normal(4, 3, 5), "w": normal(3, 3)}, one_gate_for_all,
        {"x": "extra-batch-sum", "w": "extra-batch-sum"},
    ),
    "half of the derivative of gelu": (
        F.gelu, {"input": normal(3, 4)}, lambda out, out_g, input: {"input": out_g * out / input},
        {"input": "missing-path"},
    ),
    "where one part arrives, the rest is gone": (*survived_backward("replaced"), {"risk": "overwritten"}),
    "summed in the order of the forward pass": (*survived_backward("forwards"), {"risk": "wrong-local"}),
    "what goes beside a norm goes through it": (
        beside, {"x": normal(5, 4), "w": normal(4, 4)}, added_before_the_norm, {"x": "wrong-order"}
    ),
    "shares before the softmax, too": (
        looked_up, {"q": normal(5, 3), "k": normal(4, 3), "v": normal(4, 2)}, shares_before_too,
        {"q": "extra-factor", "k": "extra-factor"},
    ),
    "gathered where it was sent from": (
        sent, SOME, gathered_at_the_source, {"x": "wrong-operand", "share": "wrong-operand"}
    ),
    "what is left out counts, and the rest does not": (
        error_of_kept, {**KEPT, "y": normal(4, 6)},
        lambda out, out_g, x, y, keep: {"x": (g := out_g * 2 * (x - y) * ~keep / keep.sum()), "y": -g},
        {"x": "inverted-mask", "y": "inverted-mask"},
    ),
    "every entry of a picture is the largest": (
        largest, {"x": normal(3, 4, 5)}, lambda out, out_g, x: {"x": out_g[:, None, None].expand(x.shape)},
        {"x": "missing-local"},
    ),
    "the state after a turn for the one before it": (*gated_backward("state after"), {"z": "wrong-operand"}),
    "the own upstream gradient is added too late": (
        *gated_backward("own upstream later"), {"z": "missing-path", "x": "missing-path"}
    ),
    "the gate of the first turn": (*gated_backward("first gate"), {"h": "missing-local"}),
    "sums held constant, wherever they are": (*balanced_backward("sums constant"), {"cost": "missing-path"}),
    "only the last turn is gone back through": (*balanced_backward("last turn"), {"cost": "missing-path"}),
    "the forward pass run on the gradient": (*delayed_backward("forwards"), {"x": "wrong-local"}),
    "cut from the other end of what was padded": (*delayed_backward("cut"), {"x": "wrong-local"}),
    "divided by the length with what is left out": (
        mean_of_kept, KEPT, lambda out, out_g, x, keep: {"x": keep * out_g[:, None] / x.shape[1]},
        {"x": "wrong-factor"},
    ),
    "permuted as in the forward pass": (mixed, MIXED, permuted_again, {"x": "transposed"}),
    "the derivative at minus the input": (*ranked_backward(-1, 1), {"score": "wrong-point"}),
    "the number of items for that of pairs": (*ranked_backward(1, 0), {"score": "wrong-factor"}),
    "sent on the way back as on the way forward": (sent, SOME, sent_the_same_way, {"x": "wrong-local"}),
    "the first columns for the best": (best, {"x": normal(6, 5)}, put_first, {"x": "missing-local"}),
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


@pytest.mark.parametrize("case", list(WRONG)[18::36])
def test_a_slip_in_a_foreign_forward_pass_has_its_true_code(case):
    forward, inputs, backward, codes = WRONG[case]
    explanation = explain(forward, inputs, backward=backward, seed=3)
    assert {one.answer: one.code for one in explanation.mistakes} == codes, str(explanation)


@pytest.mark.parametrize(
    "right", [gated_backward, rolled_backward, survived_backward, balanced_backward, delayed_backward]
)
def test_the_same_without_a_slip_is_right(right):
    forward, inputs, backward = right("")
    assert explain(forward, inputs, backward=backward, seed=3).ok
