"""A depthwise convolution, backwards. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # A channel meets its own kernel only, so that nothing is summed over channels.
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for j in range(w.shape[-1]):
        inp.g[:, :, j : j + places] += out.g * w[:, j].unsqueeze(-1)
        w.g[:, j] = (out.g * inp[:, :, j : j + places]).sum((0, 2))
    ### END SOLUTION
