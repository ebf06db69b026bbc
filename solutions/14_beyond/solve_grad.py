"""Backward pass of solving a linear system. The lesson is README.md in this folder."""

import torch


def solve_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a.inverse() @ b`, the solution of `a @ out = b` (`torch.linalg.solve(a, b)`). The gradient of the
    loss with respect to `out` is already in `out.g`.

    a: (n, n)
    b: (n, m)
    out: (n, m), and so is out.g
    """
    ### BEGIN SOLUTION
    # b went through the inverse of a, so its gradient goes through the inverse transposed: one more solve.
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -b.g @ out.t()
    ### END SOLUTION
