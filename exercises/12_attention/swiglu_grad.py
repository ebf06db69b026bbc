"""Backward pass of SwiGLU. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def swiglu_grad(inp, w1, w2, out):
    """Store the gradient of the loss in `inp.g`, `w1.g` and `w2.g`.

    Forward: `linear = inp @ w1`, `gate = inp @ w2`, `out = linear * (gate * gate.sigmoid())`, entry by entry; the
    second factor is silu of `gate`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    w1: (n, m)
    w2: (n, m)
    out: (bs, m), and so is out.g
    """
    inp.g = ...
    w1.g = ...
    w2.g = ...
