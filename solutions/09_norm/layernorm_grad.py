"""Layer norm, backwards. The lesson is README.md in this folder."""


def layernorm_grad(inp, gamma, beta, out):
    """Store the gradient of the loss in `inp.g`, `gamma.g` and `beta.g`.

    Forward: `mean = inp.mean(-1, keepdim=True)`, `centred = inp - mean`, `var = (centred**2).mean(-1, keepdim=True)`,
    `inv = (var + 1e-5) ** -0.5`, `hat = centred * inv`, `out = gamma * hat + beta`.
    The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, t, n)
    gamma: (n,)
    beta: (n,)
    out: (bs, t, n), and out.g: (bs, t, n)
    """
    ### BEGIN SOLUTION
    # Gamma differs inside a row, so it has to be multiplied in before the means over that row are taken.
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))
    ### END SOLUTION
