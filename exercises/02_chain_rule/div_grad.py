"""A quotient, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def div_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a / b`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    a: any shape
    b: the shape of a, no entry zero
    out: the shape of a, and so is out.g
    """
    a.g = ...
    b.g = ...
