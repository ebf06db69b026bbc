"""Log-sum-exp, backwards. The lesson is README.md in this folder."""


def logsumexp_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.logsumexp(-1)`, one number for each row. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, c)
    out: (bs,), and so is out.g
    """
    ### BEGIN SOLUTION
    # e^inp / sum is the share of each entry, here e^(inp - out); a row's entries have one upstream gradient.
    inp.g = (inp - out.unsqueeze(-1)).exp() * out.g.unsqueeze(-1)
    ### END SOLUTION
