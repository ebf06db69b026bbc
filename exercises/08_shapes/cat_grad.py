"""Two tensors concatenated, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def cat_grad(a, b, out, dim):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = torch.cat((a, b), dim)`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: (bs, n, m)
    b: like a, but along dim it may have another size
    out: like a, but along dim as long as both together; out.g: the same
    dim: one axis, a whole number; a negative one counts from the end
    """
    a.g = ...
    b.g = ...
