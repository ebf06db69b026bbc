"""A power, backwards. The lesson is README.md in this folder."""


def pow_grad(inp, out, k):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp**k`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    k: a positive integer
    """
    ### BEGIN SOLUTION
    # The power rule is the local derivative, taken at inp; out.g says how the loss reacts to out.
    inp.g = k * inp ** (k - 1) * out.g
    ### END SOLUTION
