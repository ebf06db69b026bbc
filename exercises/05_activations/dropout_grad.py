"""Dropout, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def dropout_grad(inp, out, mask, p):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp * mask / (1 - p)`, entry by entry. The gradient of the loss with respect to `out` is already in
    `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    mask: the shape of inp; 1 where an entry was kept, 0 where it was dropped
    p: a float between 0 and 1, the fraction that is dropped on average
    """
    inp.g = ...
