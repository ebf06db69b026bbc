"""A depthwise convolution, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def depthwise_conv1d_grad(inp, w, out):
    """Store the gradient of the loss in `inp.g` and `w.g`.

    Forward: `out = torch.nn.functional.conv1d(inp, w.unsqueeze(1), groups=len(w))`: each channel has its own kernel, so
    that in every example `out[c, i]` is the sum of `inp[c, i + j] * w[c, j]` over the taps j. The gradient of the loss
    with respect to `out` is already in `out.g`.

    inp: (bs, c, l)
    w: (c, k)
    out: (bs, c, l - k + 1); out.g: the same
    """
    inp.g = ...
    w.g = ...
