"""Average pooling, backwards. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # All size * size entries of a square move its average at the same rate; what is in no square keeps its 0.
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**2
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, : spread.shape[2], : spread.shape[3]] = spread
    ### END SOLUTION
