"""Powers of a tensor, backwards. The lesson is README.md in this folder."""


def pow_both_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a ** b`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: any shape, every entry greater than 0
    b: like a
    out: like a, and out.g too
    """
    ### BEGIN SOLUTION
    # For a, b is a constant exponent: the power rule. For b, a is a constant base: out grows at log(a) times itself.
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out * a.log()
    ### END SOLUTION
