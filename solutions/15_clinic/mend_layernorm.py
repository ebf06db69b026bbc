"""A backward pass of layer norm with one wrong line. The lesson is README.md in this folder."""


def mend_layernorm(inp, gamma, beta, out):
    """Store the gradient of the loss in `inp.g` and `gamma.g`.

    Forward: `mean = inp.mean(-1, keepdim=True)`, `centred = inp - mean`, `var = (centred**2).mean(-1, keepdim=True)`,
    `hat = centred / (var + 1e-5).sqrt()`, `out = gamma * hat + beta`. The gradient of the loss with respect to `out` is
    already in `out.g`. One line of the body is wrong, and the others are right. Find it and fix it.

    inp: (bs, n)
    gamma: (n,)
    beta: (n,)
    out: (bs, n), and so is out.g
    """
    ### BEGIN SOLUTION
    # The forward pass divides by n; torch's var divides by n - 1 unless it is told not to.
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)
    ### END SOLUTION
