"""Max pooling, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def maxpool1d_grad(inp, out, size, step):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.unfold(-1, size, step).max(-1).values`: the largest entry of each window of `size`
    neighbours, where each window begins `step` places after the one before it. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: (bs, c, l)
    out: (bs, c, number of windows); out.g: the same
    size: a whole number
    step: a whole number; where it is smaller than size, windows overlap
    """
    inp.g = ...
