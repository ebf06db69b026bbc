"""Batch norm with running statistics, backwards. The lesson is README.md in this folder."""


def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    """Store the gradient of the loss in `inp.g`, `gamma.g` and `beta.g`.

    Forward: `std = (var + 1e-5).sqrt()`, `out = gamma * (inp - mean) / std + beta`, where `mean` and `var` were
    collected in training and are constants. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    gamma: (n,)
    beta: (n,)
    mean: (n,)
    var: (n,)
    out: (bs, n), and out.g: (bs, n)
    """
    ### BEGIN SOLUTION
    # Mean and var are constants here, so the direct path is the only one that leads from inp to out.
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.sum(0)
    ### END SOLUTION
