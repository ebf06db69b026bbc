"""Softmax, backwards. The lesson is README.md in this folder."""


def softmax_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.softmax(-1)`, each row on its own. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, c)
    out: (bs, c), and so is out.g
    """
    ### BEGIN SOLUTION
    # One nudge moves the whole row: what matters is how far out.g is above the row's average, weighted by shares.
    inp.g = out * (out.g - (out.g * out).sum(-1, keepdim=True))
    ### END SOLUTION
