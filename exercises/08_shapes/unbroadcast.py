"""Undo a broadcast. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def unbroadcast(g, shape):
    """Return the gradient of a tensor of this shape that was broadcast.

    Forward: `x.expand(wide)`: a tensor x of shape `shape` was broadcast to `wide`, the shape of `g`, which is the
    upstream gradient. Add up what belongs to each entry of x.

    g: any shape that `shape` broadcasts to, such as (bs, n, m)
    shape: a tuple of sizes, such as (n, 1)
    """
    return ...
