"""Average pooling, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def avgpool2d_grad(inp, out, size):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = torch.nn.functional.avg_pool2d(inp, size)`: the average of each square of `size` times
    `size` entries; the squares lie side by side, and rows and columns at the end that fill no square are left
    out. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, c, h, w)
    out: (bs, c, h // size, w // size); out.g: the same
    size: a whole number
    """
    inp.g = ...
