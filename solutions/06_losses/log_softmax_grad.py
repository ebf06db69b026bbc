"""Log-softmax, backwards. The lesson is README.md in this folder."""


def log_softmax_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.log_softmax(-1)`, each row on its own. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, c)
    out: (bs, c), and so is out.g
    """
    ### BEGIN SOLUTION
    # Each entry has a path to its own output, at the rate 1, and one to every output, at minus its share.
    inp.g = out.g - out.exp() * out.g.sum(-1, keepdim=True)
    ### END SOLUTION
