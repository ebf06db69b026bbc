"""GELU, backwards. The lesson is README.md in this folder."""

import math

import torch


def gelu_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `phi = (1 + (inp / 2**0.5).erf()) / 2`, the normal distribution function Phi at `inp`, and
    `out = inp * phi`, entry by entry; this is the exact GELU, not its tanh approximation. The gradient of the loss with
    respect to `out` is already in `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    """
    ### BEGIN SOLUTION
    # Two paths: the factor inp gives Phi; inp in Phi gives inp times the slope of Phi, which is the bell curve.
    share = (1 + torch.erf(inp / 2**0.5)) / 2
    density = (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g
    ### END SOLUTION
