"""Group norm, backwards. The lesson is README.md in this folder."""


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
    ### BEGIN SOLUTION
    # In the shape (bs, groups, -1) a group is a row, and the formula of a standardized row holds as it stands.
    grouped = inp.reshape(len(inp), groups, -1)
    inv = (grouped.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (grouped - grouped.mean(-1, keepdim=True)) * inv
    hat_g = (out.g * gamma.unsqueeze(-1)).reshape(grouped.shape)
    grouped_g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    inp.g = grouped_g.reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))
    ### END SOLUTION
