"""RMS norm, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def rmsnorm_grad(inp, gamma, out):
    """Store the gradient of the loss in `inp.g` and `gamma.g`.

    Forward: `out = gamma * inp / rms` with `rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()`.
    The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    gamma: (n,)
    out: (bs, n), and out.g: (bs, n)
    """
    inp.g = ...
    gamma.g = ...
