"""A linear layer, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def lin_grad(inp, out, w, b):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m)
    b: (m,)
    """
    inp.g = ...
    w.g = ...
    b.g = ...
