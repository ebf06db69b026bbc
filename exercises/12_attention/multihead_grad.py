"""Backward pass of multi-head attention. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

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
    x.g = ...
    wqkv.g = ...
    wo.g = ...
