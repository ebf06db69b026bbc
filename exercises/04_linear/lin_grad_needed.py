"""A linear layer, backwards, as far as it is needed. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def lin_grad_needed(inp, out, w, b, needs):
    """Store the gradient of the loss in the `.g` of those arguments that `needs` names.

    Store nothing on the others, and do no work for them.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m)
    b: (m,)
    needs: a set of names, out of "inp", "w" and "b"
    """
    inp.g = ...
    w.g = ...
    b.g = ...
