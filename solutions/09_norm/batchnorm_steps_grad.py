"""Batch norm, backwards, step by step. The lesson is README.md in this folder."""


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
    ### BEGIN SOLUTION
    # What was copied to every example is summed over the batch; centred and inp have two paths each, and these add.
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)
    ### END SOLUTION
