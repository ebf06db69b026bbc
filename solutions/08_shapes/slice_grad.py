"""A slice of an axis, backwards. The lesson is README.md in this folder."""

import torch


def slice_grad(inp, out, start, stop):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp[:, start:stop]`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, t, m)
    out: (bs, stop - start, m); out.g: the same
    start: a whole number
    stop: a whole number, at most t
    """
    ### BEGIN SOLUTION
    # What lies outside the slice went nowhere, so its gradient is 0, and it still needs its place in inp.g.
    inp.g = torch.zeros_like(inp)
    inp.g[:, start:stop] = out.g
    ### END SOLUTION
