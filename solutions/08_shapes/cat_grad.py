"""Two tensors concatenated, backwards. The lesson is README.md in this folder."""


def cat_grad(a, b, out, dim):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = torch.cat((a, b), dim)`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: (bs, n, m)
    b: like a, but along dim it may have another size
    out: like a, but along dim as long as both together; out.g: the same
    dim: one axis, a whole number; a negative one counts from the end
    """
    ### BEGIN SOLUTION
    # Each entry went to one place, so out.g is cut where a ends and b begins.
    a.g, b.g = out.g.split([a.shape[dim], b.shape[dim]], dim)
    ### END SOLUTION
