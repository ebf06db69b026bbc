"""A convolution with stride and padding, backwards. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # Stride and padding only change which entries a tap meets, so it is conv1d again, in the padded size.
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out.g, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((0, 2, 3))
    ### END SOLUTION
