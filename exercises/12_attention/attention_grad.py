"""Backward pass of attention. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def attention_grad(q, k, v, out):
    """Store the gradient of the loss in `q.g`, `k.g` and `v.g`.

    Forward: `scores = q @ k.mT / sqrt(d)`, `weights = scores.softmax(-1)`, `out = weights @ v`; `.mT` transposes the
    last two axes. The gradient of the loss with respect to `out` is already in `out.g`.

    q: (bs, s, d), s queries in each example
    k: (bs, t, d), t keys
    v: (bs, t, e), a value for each key
    out: (bs, s, e), and so is out.g
    """
    q.g = ...
    k.g = ...
    v.g = ...
