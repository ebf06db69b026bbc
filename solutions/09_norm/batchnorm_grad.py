"""Batch norm, backwards, in closed form. The lesson is README.md in this folder."""


def batchnorm_grad(inp, gamma, beta, out):
    """Store the gradient of the loss in `inp.g`, `gamma.g` and `beta.g`.

    Forward: `mean = inp.mean(0)`, `centred = inp - mean`, `var = (centred**2).mean(0)`, `inv = (var + 1e-5) ** -0.5`,
    `hat = centred * inv`, `out = gamma * hat + beta`.
    The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    gamma: (n,)
    beta: (n,)
    out: (bs, n), and out.g: (bs, n)
    """
    ### BEGIN SOLUTION
    # Each column is standardized over the batch, so the two means in the formula of a row run over axis 0.
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    ### END SOLUTION
