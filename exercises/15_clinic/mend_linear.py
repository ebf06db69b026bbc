"""A backward pass of a linear layer with relu with one wrong line. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def mend_linear(inp, w, b, out):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = (inp @ w + b).relu()`. The gradient of the loss with respect to `out` is already in `out.g`. One
    line of the body is wrong, and the others are right. Find it and fix it.

    inp: (bs, n)
    w: (n, m)
    b: (m,)
    out: (bs, m), and so is out.g
    """
    # One line is wrong.
    pre_g = out.g * out
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)
