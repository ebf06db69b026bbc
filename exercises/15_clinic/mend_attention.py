"""A backward pass of attention with one wrong line. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def mend_attention(q, k, v, out):
    """Store the gradient of the loss in `q.g`, `k.g` and `v.g`.

    Forward: `scores = q @ k.t() / root` with `root = d ** 0.5`, `weights = scores.softmax(1)`, `out = weights @ v`. The
    gradient of the loss with respect to `out` is already in `out.g`. One line of the body is wrong, and the others are
    right. Find it and fix it.

    q: (s, d), s queries
    k: (t, d), t keys
    v: (t, e), a value for each key
    out: (s, e), and so is out.g
    """
    # One line is wrong.
    root = q.shape[1] ** 0.5
    weights = (q @ k.t() / root).softmax(0)
    weights_g = out.g @ v.t()
    scores_g = weights * (weights_g - (weights_g * weights).sum(1, keepdim=True)) / root
    q.g = scores_g @ k
    k.g = scores_g.t() @ q
    v.g = weights.t() @ out.g
