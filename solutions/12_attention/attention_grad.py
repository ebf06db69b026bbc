"""Backward pass of attention. The lesson is README.md in this folder."""


def attention_grad(q, k, v, out):
    """Store the gradient of the loss in `q.g`, `k.g` and `v.g`.

    Forward: `scores = q @ k.mT / sqrt(d)`, `weights = scores.softmax(-1)`, `out = weights @ v`; `.mT` transposes the
    last two axes. The gradient of the loss with respect to `out` is already in `out.g`.

    q: (bs, s, d), s queries in each example
    k: (bs, t, d), t keys
    v: (bs, t, e), a value for each key
    out: (bs, s, e), and so is out.g
    """
    ### BEGIN SOLUTION
    # Every query meets every key, so q.g is a sum over the keys, and k.g and v.g are sums over the queries.
    root = q.shape[-1] ** 0.5
    weights = (q @ k.mT / root).softmax(-1)
    weights_g = out.g @ v.mT
    scores_g = weights * (weights_g - (weights_g * weights).sum(-1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.mT @ q
    v.g = weights.mT @ out.g
    ### END SOLUTION
