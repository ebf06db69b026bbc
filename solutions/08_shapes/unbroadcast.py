"""Undo a broadcast. The lesson is README.md in this folder."""


def unbroadcast(g, shape):
    """Return the gradient of a tensor of this shape that was broadcast.

    Forward: `x.expand(wide)`: a tensor x of shape `shape` was broadcast to `wide`, the shape of `g`, which is the
    upstream gradient. Add up what belongs to each entry of x.

    g: any shape that `shape` broadcasts to, such as (bs, n, m)
    shape: a tuple of sizes, such as (n, 1)
    """
    ### BEGIN SOLUTION
    # Copies add: an axis that was put in front is summed away, one that was stretched from size 1 is kept.
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g
    ### END SOLUTION
