"""The logarithm, backwards. The lesson is README.md in this folder."""


def log_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.log()`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: any shape, all entries positive
    out: the shape of inp, and so is out.g
    """
    ### BEGIN SOLUTION
    # The local derivative of log is 1 / inp, so the upstream gradient is divided by inp.
    inp.g = out.g / inp
    ### END SOLUTION
