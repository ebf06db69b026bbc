"""Backward pass of a transformer block. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # What is used more than once, x, n and h, adds up its paths; the straight ones pass on all of out.g.

    def norm(z):
        centred = z - z.mean(-1, keepdim=True)
        inv = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
        return centred * inv, inv

    def norm_g(g, hat, inv):
        return inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))

    def weight_g(rows, g):
        return rows.flatten(0, 1).t() @ g.flatten(0, 1)

    n, n_inv = norm(x)
    q, k, v = n @ wq, n @ wk, n @ wv
    root = wq.shape[1] ** 0.5
    later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    mixed = weights @ v
    h_hat, h_inv = norm(x + mixed @ wo)
    hidden = (h_hat @ w1).clamp_min(0)

    w2.g = weight_g(hidden, out.g)
    sums_g = (out.g @ w2.t()) * (hidden > 0)
    w1.g = weight_g(h_hat, sums_g)
    h_g = out.g + norm_g(sums_g @ w1.t(), h_hat, h_inv)

    wo.g = weight_g(mixed, h_g)
    mixed_g = h_g @ wo.t()
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q_g, k_g, v_g = scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g
    wq.g, wk.g, wv.g = weight_g(n, q_g), weight_g(n, k_g), weight_g(n, v_g)
    x.g = h_g + norm_g(q_g @ wq.t() + k_g @ wk.t() + v_g @ wv.t(), n, n_inv)
    ### END SOLUTION
