"""Backward pass of causal attention. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # A weight that the mask made 0 makes the gradient of its score 0 too, so nothing is masked on the way back.
    root = q.shape[-1] ** 0.5
    later = torch.ones(q.shape[1], q.shape[1]).triu(1).bool()
    weights = (q @ k.mT / root).masked_fill(later, float("-inf")).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g
    ### END SOLUTION
