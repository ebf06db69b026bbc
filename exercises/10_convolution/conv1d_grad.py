"""A convolution in one dimension, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def conv1d_grad(inp, w, b, out):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = torch.nn.functional.conv1d(inp, w, b)`. In every example, `out[o, i]` is the sum of
    `inp[c, i + j] * w[o, c, j]` over all channels c and taps j, plus `b[o]`. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: (bs, c, l)
    w: (o, c, k)
    b: (o,)
    out: (bs, o, l - k + 1); out.g: the same
    """
    inp.g = ...
    w.g = ...
    b.g = ...
