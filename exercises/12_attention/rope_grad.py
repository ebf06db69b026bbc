"""Backward pass of rotary position embeddings. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def rope_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward, with places p = 0, 1, ... and i = 0, ..., c-1: the pair `first = inp[:, p, i]`, `second = inp[:, p, c + i]`
    is rotated by `angle = p / 10000 ** (i / c)`, so that
    `out[:, p, i] = first * angle.cos() - second * angle.sin()` and
    `out[:, p, c + i] = first * angle.sin() + second * angle.cos()`. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, t, 2c)
    out: (bs, t, 2c), and so is out.g
    """
    inp.g = ...
