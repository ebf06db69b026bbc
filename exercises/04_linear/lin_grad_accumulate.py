"""A linear layer, backwards, adding to what is there. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def lin_grad_accumulate(inp, out, w, b):
    """Add the gradient of the loss to `inp.g`, `w.g` and `b.g`; create each that is not there yet.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n), with or without an inp.g: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m), with or without a w.g: (n, m)
    b: (m,), with or without a b.g: (m,)
    """
    inp.g = ...
    w.g = ...
    b.g = ...
