"""The same numbers in other rows, backwards. The lesson is README.md in this folder."""


def reshape_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.reshape(inp.shape[-1], -1)`. The gradient of the loss with respect to `out` is already
    in `out.g`.

    inp: (bs, n, m)
    out: (m, bs * n), and out.g: (m, bs * n)
    """
    ### BEGIN SOLUTION
    # A reshape keeps the order of the entries and only draws new borders, so drawing the old ones again undoes it.
    inp.g = out.g.reshape(inp.shape)
    ### END SOLUTION
