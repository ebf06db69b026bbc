"""RMS norm, backwards. The lesson is README.md in this folder."""


def rmsnorm_grad(inp, gamma, out):
    """Store the gradient of the loss in `inp.g` and `gamma.g`.

    Forward: `out = gamma * inp / rms` with `rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()`.
    The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    gamma: (n,)
    out: (bs, n), and out.g: (bs, n)
    """
    ### BEGIN SOLUTION
    # No mean is subtracted, so that path is gone; the direct one and the one through the width remain.
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = inp / rms
    hat_g = out.g * gamma
    inp.g = (hat_g - hat * (hat_g * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)
    ### END SOLUTION
