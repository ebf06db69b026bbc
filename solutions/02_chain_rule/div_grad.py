"""A quotient, backwards. The lesson is README.md in this folder."""


def div_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a / b`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    a: any shape
    b: the shape of a, no entry zero
    out: the shape of a, and so is out.g
    """
    ### BEGIN SOLUTION
    # With b held, out is a times the constant 1 / b; with a held, it is the constant a times 1 / b.
    a.g = out.g / b
    b.g = -out.g * a / b**2
    ### END SOLUTION
