"""Tied weights, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def tied_weights_grad(inp, out, w):
    """Store the gradient of the loss in `inp.g` and `w.g`.

    Forward: `hidden = (inp @ w).tanh()`, `out = hidden @ w.t()`. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, n)
    out: (bs, n), and out.g: (bs, n)
    w: (n, m)
    """
    inp.g = ...
    w.g = ...
