"""A backward pass of layer norm with one wrong line. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


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
    # One line is wrong.
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)
