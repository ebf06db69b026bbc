"""Backward pass of a transformer block. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def block_grad(x, wq, wk, wv, wo, w1, w2, out):
    """Store the gradient of the loss in `x.g`, `wq.g`, `wk.g`, `wv.g`, `wo.g`, `w1.g` and `w2.g`.

    Forward: `n = norm(x)`, `mixed = causal(n @ wq, n @ wk, n @ wv)`, `h = x + mixed @ wo`, `hidden = (norm(h) @
    w1).clamp_min(0)`, `out = h + hidden @ w2`. `causal` is the attention of `causal_attention_grad`, with its `scores`
    and `weights`, for q, k and v of c or e columns, divided by sqrt(c). `norm` works on each row:
    `centred = x - x.mean(-1, keepdim=True)`, `var = (centred**2).mean(-1, keepdim=True)`, `centred / (var +
    1e-5).sqrt()`. The gradient of the loss with respect to `out` is already in `out.g`.

    x: (bs, t, d)
    wq: (d, c)
    wk: (d, c)
    wv: (d, e)
    wo: (e, d)
    w1: (d, m)
    w2: (m, d)
    out: (bs, t, d), and so is out.g
    """
    x.g = ...
    wq.g = ...
    wk.g = ...
    wv.g = ...
    wo.g = ...
    w1.g = ...
    w2.g = ...
