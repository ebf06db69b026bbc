"""Backward pass of rotary position embeddings. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # The transpose of a turn is the turn back: the same cosines, and sines with the opposite sign.
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    first_g, second_g = out.g[..., :c], out.g[..., c:]
    inp.g = torch.cat(
        (first_g * angle.cos() + second_g * angle.sin(), second_g * angle.cos() - first_g * angle.sin()), -1
    )
    ### END SOLUTION
