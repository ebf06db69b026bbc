"""Backward pass of a matrix inverse. The lesson is README.md in this folder."""


def inverse_grad(a, out):
    """Store the gradient of the loss in `a.g`.

    Forward: `out = a.inverse()`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: (n, n)
    out: (n, n), and so is out.g
    """
    ### BEGIN SOLUTION
    # A nudge of a moves out by -out @ nudge @ out, so both factors are transposed on the way back.
    a.g = -out.t() @ out.g @ out.t()
    ### END SOLUTION
