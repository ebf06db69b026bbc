"""A square root, backwards. The lesson is README.md in this folder."""


def sqrt_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.sqrt()`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: any shape, every entry greater than 0
    out: like inp, and out.g too
    """
    ### BEGIN SOLUTION
    # The local derivative is 1 / (2 * root), and out holds the root already.
    inp.g = out.g / (2 * out)
    ### END SOLUTION
