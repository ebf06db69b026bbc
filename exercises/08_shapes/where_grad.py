"""A choice between two, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def where_grad(mask, a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a.where(mask.bool(), b)`: a where mask is 1, b where it is 0. The gradient of the
    loss with respect to `out` is already in `out.g`.

    mask: any shape, each entry 1 or 0
    a: like mask
    b: like mask
    out: like mask, and out.g too
    """
    a.g = ...
    b.g = ...
