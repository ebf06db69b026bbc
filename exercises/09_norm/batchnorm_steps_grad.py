"""Batch norm, backwards, step by step. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    """Store the gradient of the loss in `.g` of `hat, gamma, beta, inv, var, centred, mean, inp`.

    Forward, over the batch:

        mean = inp.mean(0)
        centred = inp - mean
        var = (centred**2).mean(0)
        inv = (var + 1e-5) ** -0.5
        hat = centred * inv
        out = gamma * hat + beta

    The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    gamma: (n,)
    beta: (n,)
    mean: (n,)
    centred: (bs, n)
    var: (n,)
    inv: (n,)
    hat: (bs, n)
    out: (bs, n), and out.g: (bs, n)
    """
    hat.g = ...
    gamma.g = ...
    beta.g = ...
    inv.g = ...
    var.g = ...
    centred.g = ...
    mean.g = ...
    inp.g = ...
