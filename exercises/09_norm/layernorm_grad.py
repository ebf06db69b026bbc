"""Layer norm, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


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
    inp.g = ...
    gamma.g = ...
    beta.g = ...
