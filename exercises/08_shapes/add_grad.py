"""A sum of two tensors that broadcast, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def add_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: any shape, such as (bs, 1, m)
    b: any shape that broadcasts with that of a, such as (n, 1)
    out: the shape that both broadcast to, such as (bs, n, m); out.g: the same
    """
    a.g = ...
    b.g = ...
