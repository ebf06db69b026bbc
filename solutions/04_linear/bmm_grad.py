"""A batch of matrix products, backwards. The lesson is README.md in this folder."""


def bmm_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a @ b`, one product for each example. The gradient of the loss with respect to `out` is
    already in `out.g`.

    a: (bs, n, k)
    b: (bs, k, m)
    out: (bs, n, m), and out.g: (bs, n, m)
    """
    ### BEGIN SOLUTION
    # Each example has its own a and b, so nothing is summed over the batch; only the last two axes are turned.
    a.g = out.g @ b.transpose(1, 2)
    b.g = a.transpose(1, 2) @ out.g
    ### END SOLUTION
