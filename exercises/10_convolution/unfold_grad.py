"""Sliding windows, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def unfold_grad(inp, out, size, step):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.unfold(-1, size, step)`, windows of `size` neighbours, each beginning `step` places
    after the one before it; places at the end that fill no window are left out. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: (bs, t)
    out: (bs, number of windows, size); out.g: the same
    size: a whole number
    step: a whole number
    """
    inp.g = ...
