"""Max pooling, backwards. The lesson is README.md in this folder."""

import torch


def maxpool1d_grad(inp, out, size, step):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.unfold(-1, size, step).max(-1).values`: the largest entry of each window of `size`
    neighbours, where each window begins `step` places after the one before it. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: (bs, c, l)
    out: (bs, c, number of windows); out.g: the same
    size: a whole number
    step: a whole number; where it is smaller than size, windows overlap
    """
    ### BEGIN SOLUTION
    # Only the winner of a window moves out, and one that wins several windows adds up what they say.
    winners = inp.unfold(-1, size, step).argmax(-1)
    places = winners + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g)
    ### END SOLUTION
