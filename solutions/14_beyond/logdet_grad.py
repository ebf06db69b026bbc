"""Backward pass of a log-determinant. The lesson is README.md in this folder."""


def logdet_grad(a, out):
    """Store the gradient of the loss in `a.g`.

    Forward: `out = a.det().log()`; the determinant of `a` is positive. The gradient of the loss with respect to `out`
    is already in `out.g`.

    a: (n, n)
    out: (), and so is out.g
    """
    ### BEGIN SOLUTION
    # The gradient of the determinant is itself times the inverse transposed; the logarithm divides it away.
    a.g = out.g * a.inverse().t()
    ### END SOLUTION
