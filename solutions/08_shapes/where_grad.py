"""A choice between two, backwards. The lesson is README.md in this folder."""


def where_grad(mask, a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a.where(mask.bool(), b)`: a where mask is 1, b where it is 0. The gradient of the
    loss with respect to `out` is already in `out.g`.

    mask: any shape, each entry 1 or 0
    a: like mask
    b: like mask
    out: like mask, and out.g too
    """
    ### BEGIN SOLUTION
    # Each entry of out is a copy from one of the two, and the mask says from which; the other one gets 0 there.
    a.g = out.g * mask
    b.g = out.g * (1 - mask)
    ### END SOLUTION
