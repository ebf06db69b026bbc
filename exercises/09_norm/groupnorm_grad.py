"""Group norm, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def groupnorm_grad(inp, gamma, beta, out, groups):
    """Store the gradient of the loss in `inp.g`, `gamma.g` and `beta.g`.

    Forward: `grouped = inp.reshape(bs, groups, -1)` cuts the c channels into `groups` groups of c // groups neighbours
    each. In every example all the entries of a group, over its channels and its l positions, are standardized together:
    `mean = grouped.mean(-1, keepdim=True)`, `centred = grouped - mean`, `var = (centred**2).mean(-1, keepdim=True)`,
    `inv = (var + 1e-5) ** -0.5`, `hat = (centred * inv).reshape(inp.shape)`. Then `out = gamma[:, None] * hat +
    beta[:, None]`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, c, l)
    gamma: (c,)
    beta: (c,)
    out: (bs, c, l), and out.g: (bs, c, l)
    groups: a whole number that divides c
    """
    inp.g = ...
    gamma.g = ...
    beta.g = ...
