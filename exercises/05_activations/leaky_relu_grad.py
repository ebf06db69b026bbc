"""Leaky ReLU, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def leaky_relu_grad(inp, out, slope):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.where(inp > 0, slope * inp)`: `inp` where it is positive, and `slope * inp` where it is not. The
    gradient of the loss with respect to `out` is already in `out.g`.

    inp: any shape
    out: like inp, and out.g too
    slope: a float between 0 and 1
    """
    inp.g = ...
