"""A sum of two tensors that broadcast, backwards. The lesson is README.md in this folder."""


def add_grad(a, b, out):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `out = a + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    a: any shape, such as (bs, 1, m)
    b: any shape that broadcasts with that of a, such as (n, 1)
    out: the shape that both broadcast to, such as (bs, n, m); out.g: the same
    """
    ### BEGIN SOLUTION
    # Both have the rate 1; sum_to_size is PyTorch's unbroadcast, which adds up what belongs to one entry.
    a.g = out.g.sum_to_size(a.shape)
    b.g = out.g.sum_to_size(b.shape)
    ### END SOLUTION
