"""Softplus, backwards. The lesson is README.md in this folder."""


def softplus_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = (1 + inp.exp()).log()`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: any shape
    out: like inp, and out.g too
    """
    ### BEGIN SOLUTION
    # The slope of log(1 + e^inp) is e^inp / (1 + e^inp), and that is the sigmoid.
    inp.g = out.g * inp.sigmoid()
    ### END SOLUTION
