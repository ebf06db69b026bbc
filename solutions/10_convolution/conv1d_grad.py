"""A convolution in one dimension, backwards. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # One tap meets one shifted stretch of inp, so that going tap by tap leaves two ordinary matrix products.
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for j in range(w.shape[-1]):
        inp.g[:, :, j : j + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, j])
        w.g[:, :, j] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, j : j + places])
    b.g = out.g.sum((0, 2))
    ### END SOLUTION
