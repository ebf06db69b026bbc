"""Sliding windows, backwards. The lesson is README.md in this folder."""

import torch


def unfold_grad(inp, out, size, step):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.unfold(-1, size, step)`, windows of `size` neighbours, each beginning `step` places
    after the one before it; places at the end that fill no window are left out. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: (bs, t)
    out: (bs, number of windows, size); out.g: the same
    size: a whole number
    step: a whole number
    """
    ### BEGIN SOLUTION
    # An entry adds up what each of its windows says, so the windows are added in; one in no window keeps its 0.
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out.g[:, i]
    ### END SOLUTION
