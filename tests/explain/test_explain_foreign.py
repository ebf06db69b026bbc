"""`explain` on forward passes that no exercise has: slips in loops, masks, indices and sizes have their true names.

One in six of them; `thorough/test_every_explained_case.py` has all.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from handgrad import explain

NORMAL = torch.Generator().manual_seed(11)


@pytest.fixture(autouse=True)
def same_draws_whatever_ran_before():
    NORMAL.manual_seed(11)


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


def noise_like(x):
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(3)).to(x.dtype)


def jittered(m, s):
    """A gate with noise, whose width is learned."""
    return torch.sigmoid(m + F.softplus(s) * noise_like(s))


def gate_for_noise(out, out_g, m, s):
    gate = m + F.softplus(s) * noise_like(s)
    return {"s": out_g * out * (1 - out) * gate * torch.sigmoid(s)}


def scaled_by_rank(x, a):
    """Rows are scaled by their number and by a learned scale."""
    return a[0] * torch.arange(1, len(x) + 1).to(x.dtype)[:, None] * torch.tanh(x) + a[1]


def ranks_left_out(out, out_g, x, a):
    return {"x": a[0] * out_g * (1 - torch.tanh(x) ** 2)}


def heavy_tailed(x, log_width):
    """The logarithm of a Cauchy density, whose width is the exponential of what is learned."""
    return -torch.log1p((x / log_width.exp()) ** 2) - log_width


def by_the_width(out, out_g, x, log_width):
    width = log_width.exp()
    z = x / width
    return {"log_width": (out_g * (2 * z * z / (1 + z * z) - 1) / width).sum(0)}


def volume(w, u):
    """The logarithm of the volume that a map spans, and its size."""
    return torch.linalg.slogdet(w * u)[1] + (w * u).square().sum()


def inverse_as_it_is(out, out_g, w, u):
    v = w * u
    return {"w": out_g * (torch.linalg.inv(v) + 2 * v) * u}


def unrolled_filter(taps, x):
    """The inverse of a filter: equations with a triangular matrix."""
    return torch.tanh(torch.linalg.solve_triangular(taps.tril() + 3 * torch.eye(len(taps)), x, upper=False))


def solved_with_the_same(out, out_g, taps, x):
    matrix = taps.tril() + 3 * torch.eye(len(taps))
    y = torch.linalg.solve_triangular(matrix, x, upper=False)
    c = torch.linalg.solve_triangular(matrix, out_g * (1 - out**2), upper=False)
    return {"taps": (-c @ y.T).tril(), "x": c}


def squared_shares(x, v):
    """Attention weights that are squares divided by their sum."""
    squares = (x + 2).square()
    p = squares / squares.sum(-1, keepdim=True)
    return p @ v


def as_a_softmax(out, out_g, x, v):
    squares, g = (x + 2).square(), out_g @ v.T
    p = squares / squares.sum(-1, keepdim=True)
    return {"x": p * (g - (p * g).sum(-1, keepdim=True))}


def paired_by_rank(x, y):
    """The greatest of x meets the greatest of y."""
    return torch.sin(x.sort(0).values) * y.sort(0).values


def one_order_for_both(out, out_g, x, y):
    (a, order), b = x.sort(0), y.sort(0).values
    back = torch.zeros_like(x)
    return {"x": back.scatter(0, order, out_g * a.cos() * b), "y": back.scatter(0, order, out_g * a.sin())}


def perturbed_choice(x, w):
    """The logarithm of the shares of perturbed scores."""
    return ((x @ w - noise_like(x @ w)) * 0.7).log_softmax(-1)


def unperturbed(out, out_g, x, w):
    p = (x @ w * 0.7).softmax(-1)
    g = 0.7 * (out_g - p * out_g.sum(-1, keepdim=True))
    return {"x": g @ w.T, "w": x.T @ g}


def pruned(x, u):
    """The three rows with the greatest scores, each times its score."""
    score, kept = (x @ u).topk(3)
    return x.index_select(0, kept) * torch.sigmoid(score).unsqueeze(1)


def rows_by_position(out, out_g, x, u):
    score, kept = (x @ u).topk(3)
    gate = torch.sigmoid(score)
    return {"u": x[kept].T @ ((out_g * x[:3]).sum(1) * gate * (1 - gate))}


def causal_products(q, k, v):
    """Attention with a sigmoid in place of a softmax."""
    products = q @ k.T
    return torch.sigmoid(products.masked_fill(torch.ones_like(products).triu(1) > 0, -30.0)) @ v


def before_itself_only(out, out_g, q, k, v):
    products = q @ k.T
    p = torch.sigmoid(products.masked_fill(torch.ones_like(products).triu(1) > 0, -30.0))
    g = (out_g @ v.T * p * (1 - p)).tril(-1)
    return {"q": g @ k, "k": g.T @ q, "v": p.T @ out_g}


def rates(x, w):
    """Positive rates."""
    return F.softplus(x @ w) ** 2


def formula_at_the_sum(out, out_g, x, w):
    z = x @ w
    return {"w": x.T @ (out_g * 2 * F.softplus(z) * (1 - torch.exp(-z)))}


def drawn_masks(x, seed):
    return (torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) < 0.7).to(x.dtype) / 0.7


def forgetful(x, u, h, seed):
    """A state of which a part is lost in every step."""
    keep = drawn_masks(x, seed)
    for t in range(len(x)):
        h = keep[t] * torch.sin(h @ u + x[t])
    return h


def kept_without_division(out, out_g, x, u, h, seed):
    keep, states = drawn_masks(x, seed), [h]
    for t in range(len(x)):
        states.append(keep[t] * torch.sin(states[-1] @ u + x[t]))
    g, found = out_g, {"x": torch.zeros_like(x), "u": torch.zeros_like(u)}
    for t in reversed(range(len(x))):
        found["x"][t] = g * (keep[t] > 0) * torch.cos(states[t] @ u + x[t])
        found["u"] += torch.outer(states[t], found["x"][t])
        g = found["x"][t] @ u.T
    return {**found, "h": g}


def enlarged(x, gain):
    """A picture of twice the size."""
    return F.pixel_shuffle(torch.tanh(x), 2) * gain


def rows_for_columns(out, out_g, x, gain):
    n, c, h, w = out_g.shape
    g = (out_g * gain).reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 5, 3, 2, 4).reshape(x.shape)
    return {"x": g * (1 - torch.tanh(x) ** 2)}


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
    "the sum for the noise in it": (
        jittered, {"m": normal(4, 3), "s": normal(4, 3)}, gate_for_noise, {"s": "wrong-operand"}
    ),
    "one of three factors": (
        scaled_by_rank, {"x": normal(5, 3), "a": normal(2)}, ranks_left_out, {"x": "wrong-operand"}
    ),
    "by the width, not its logarithm": (
        heavy_tailed, {"x": normal(5, 3), "log_width": normal(3)}, by_the_width, {"log_width": "missing-local"}
    ),
    "the inverse of a map as it is": (
        volume, {"w": normal(4, 4), "u": normal(4, 4)}, inverse_as_it_is, {"w": "transposed"}
    ),
    "the same equations once more": (
        unrolled_filter, {"taps": normal(4, 4), "x": normal(4, 3)}, solved_with_the_same,
        {"taps": "transposed", "x": "transposed"},
    ),
    "squares as if they were exponentials": (
        squared_shares, {"x": normal(4, 5), "v": normal(5, 3)}, as_a_softmax, {"x": "wrong-local"}
    ),
    "both by the order of the first": (
        paired_by_rank, {"x": normal(6, 2), "y": normal(6, 2)}, one_order_for_both, {"y": "wrong-operand"}
    ),
    "shares of scores as they were": (
        perturbed_choice, {"x": normal(6, 4), "w": normal(4, 3)}, unperturbed, {"x": "wrong-point", "w": "wrong-point"}
    ),
    "the first rows for the kept ones": (
        pruned, {"x": normal(7, 4), "u": normal(4)}, rows_by_position, {"u": "wrong-operand"}
    ),
    "nobody reads itself": (
        causal_products, {"q": normal(5, 3), "k": normal(5, 3), "v": normal(5, 2)}, before_itself_only,
        {"q": "partial-batch", "k": "partial-batch"},
    ),
    "what is for the rate, of the sum": (
        rates, {"x": normal(6, 4), "w": normal(4, 3)}, formula_at_the_sum, {"w": "wrong-point"}
    ),
    "what is kept is not divided": (
        forgetful, {"x": normal(4, 6), "u": normal(6, 6), "h": normal(6), "seed": 5}, kept_without_division,
        dict.fromkeys(("x", "u", "h"), "missing-local"),
    ),
    "rows of a block for columns": (
        enlarged, {"x": normal(2, 8, 3, 4), "gain": torch.tensor(1.5)}, rows_for_columns, {"x": "transposed"}
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


def test_it_is_not_said_that_the_derivative_of_a_softmax_is_right_where_nothing_shows_it():
    """The rows of a wrong derivative may sum to 0 as well, so that some gradient of the shares gives the answer."""

    def forward(x, w, v):
        shares = (x @ w).softmax(-1)
        return shares @ v

    def backward(out, out_g, x, w, v):
        shares = (x @ w).softmax(-1)
        g = out_g @ v.T * shares**3
        dz = g - g.mean(-1, keepdim=True)
        return {"x": dz @ w.T, "w": x.T @ dz, "v": shares.T @ out_g}

    inputs = {"x": normal(9, 6), "w": normal(6, 4), "v": normal(4, 3)}
    mistake, _ = explain(forward, inputs, backward=backward, seed=3).mistakes
    assert "shares" not in mistake.says, mistake.says
    assert "everything from there back to the inputs is right" in mistake.says


def test_a_number_in_front_of_a_product_is_named_and_not_what_it_multiplies() -> None:
    """torch computes `lam * x` as `x * lam`."""

    def backward(out, out_g, x, lam):
        return {"x": lam**0.5 * (lam * x).cos() * out_g}

    inputs = {"x": torch.linspace(-1, 2, 12).reshape(3, 4), "lam": 0.3}
    (mistake,) = explain(lambda x, lam: (lam * x).sin(), inputs, backward=backward, seed=1).mistakes
    assert "`lam**0.5` is used in place of lam" in mistake.says


@pytest.mark.parametrize(("kept", "step"), [("right", "mean"), ("smooth", "gather")])
def test_a_path_inside_a_call_is_named_by_its_own_ends(kept: str, step: str) -> None:
    """Both paths begin and end in the one call that the source shows."""

    def backward(out, out_g, x, w, classes):
        p, terms = (x @ w).softmax(1), {"right": 0.9 * F.one_hot(classes, w.shape[1]), "smooth": 0.1 / w.shape[1]}
        g = (p * {"right": 0.9, "smooth": 0.1}[kept] - terms[kept]) * out_g / len(x)
        return {"x": g @ w.T, "w": x.T @ g}

    inputs = classified_backward(None)[1]
    smoothed = explain(
        lambda x, w, classes: F.cross_entropy(x @ w, classes, label_smoothing=0.1), inputs, backward=backward, seed=3
    )
    says = {mistake.says for mistake in smoothed.mistakes}
    assert f"the path from the `log_softmax` through the `{step}` inside `cross_entropy` is missing" in says
