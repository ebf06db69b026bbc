"""A convolution with stride and padding, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = torch.nn.functional.conv2d(inp, w, b, stride, padding)`: inp gets a border of `padding`
    zeros on all four sides, and the kernel moves by `stride` places, along both axes. The gradient of the loss
    with respect to `out` is already in `out.g`.

    inp: (bs, c, h, w_in)
    w: (o, c, kh, kw)
    b: (o,)
    out: (bs, o, rows, columns); out.g: the same
    stride: a whole number
    padding: a whole number
    """
    inp.g = ...
    w.g = ...
    b.g = ...
