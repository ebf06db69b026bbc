"""A straight-through estimator. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def straight_through_grad(inp, out):
    """Store the substitute gradient in `inp.g`.

    Forward: `out = inp.sign()`, whose derivative is 0. Use the gradient of `clamped = inp.clamp(-1, 1)` in its place,
    as if that had been the forward pass. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    """
    inp.g = ...
