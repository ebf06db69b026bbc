"""A batch of matrix products, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def bmm_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a @ b`, one product for each example. The gradient of the loss with respect to `out` is
    already in `out.g`.

    a: (bs, n, k)
    b: (bs, k, m)
    out: (bs, n, m), and out.g: (bs, n, m)
    """
    a.g = ...
    b.g = ...
