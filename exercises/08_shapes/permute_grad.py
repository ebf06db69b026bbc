"""Axes in another order, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def permute_grad(inp, out, order):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.permute(order)`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n, m)
    out: the axes of inp, in this order; out.g: the same
    order: a tuple of 0, 1 and 2; axis i of out is axis order[i] of inp
    """
    inp.g = ...
