"""Backward pass of causal attention. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def causal_attention_grad(q, k, v, out):
    """Store the gradient of the loss in `q.g`, `k.g` and `v.g`.

    Forward: `later = torch.ones(t, t).triu(1).bool()`, `scores = (q @ k.mT / sqrt(d)).masked_fill(later, -inf)`,
    `weights = scores.softmax(-1)`, and `out = weights @ v`: row i looks at the rows up to i. The gradient of the loss
    with respect to `out` is already in `out.g`.

    q: (bs, t, d)
    k: (bs, t, d)
    v: (bs, t, e)
    out: (bs, t, e), and so is out.g
    """
    q.g = ...
    k.g = ...
    v.g = ...
