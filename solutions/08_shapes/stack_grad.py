"""Two tensors stacked, backwards. The lesson is README.md in this folder."""


def stack_grad(a, b, out, dim):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = torch.stack((a, b), dim)`: a new axis of length 2 at the place dim. The gradient of the loss with
    respect to `out` is already in `out.g`.

    a: (bs, n)
    b: (bs, n)
    out: like a with a new axis dim; out.g: the same
    dim: the position of the new axis in out, an int; a negative one counts from the end
    """
    ### BEGIN SOLUTION
    # Each of the two is one slice of out along the new axis; to take the slices apart also drops that axis.
    a.g, b.g = out.g.unbind(dim)
    ### END SOLUTION
