"""Backward pass of multi-head attention. The lesson is README.md in this folder."""

import torch


def multihead_grad(x, wqkv, wo, out, heads):
    """Store the gradient of the loss in `x.g`, `wqkv.g` and `wo.g`.

    Forward: `q, k, v = (x @ wqkv).chunk(3, -1)`; each is split into heads of c columns,
    `part.reshape(bs, t, heads, c).transpose(1, 2)`; every head attends as in `attention_grad`: `scores = q @ k.mT /
    sqrt(c)`, `weights = scores.softmax(-1)`, `mixed = weights @ v`. The heads are put side by side again, `joined =
    mixed.transpose(1, 2).reshape(bs, t, heads * c)`, and `out = joined @ wo`. The gradient of the loss with respect to
    `out` is already in `out.g`.

    x: (bs, t, n)
    wqkv: (n, 3 * heads * c)
    wo: (heads * c, m)
    out: (bs, t, m), and so is out.g
    heads: how many heads there are
    """
    ### BEGIN SOLUTION
    # To part heads only moves numbers, so the same moves in reversed order undo it, and each head attends alone.
    bs, t, _ = x.shape
    q, k, v = (part.reshape(bs, t, heads, -1).transpose(1, 2) for part in (x @ wqkv).chunk(3, -1))
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(bs, t, -1)
    wo.g = joined.flatten(0, 1).t() @ out.g.flatten(0, 1)
    mixed_g = (out.g @ wo.t()).reshape(bs, t, heads, -1).transpose(1, 2)
    weights_g = mixed_g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    parts = (scores_g @ k, scores_g.mT @ q, weights.mT @ mixed_g)
    qkv_g = torch.cat([part.transpose(1, 2).reshape(bs, t, -1) for part in parts], -1)
    wqkv.g = x.flatten(0, 1).t() @ qkv_g.flatten(0, 1)
    x.g = qkv_g @ wqkv.t()
    ### END SOLUTION
