"""The hinge loss of several classes, backwards. The lesson is README.md in this folder."""


def svm_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `own = inp.gather(1, targ.unsqueeze(-1))`, the score of the right class of each row, and
    `margins = inp - own + 1`. `loss = (wrong * margins.clamp_min(0)).sum(-1).mean()`, where `wrong` is 0 at the right
    class of each row and 1 at the others.

    inp: (bs, c), scores; inp.g has the same shape
    targ: (bs,), whole numbers: the right class of each row
    """
    ### BEGIN SOLUTION
    # The right score is in the cost of every wrong class, so -1 comes to it from each of those that cost something.
    rows = range(len(targ))
    counts = (inp - inp[rows, targ].unsqueeze(-1) + 1 > 0).to(inp.dtype)
    counts[rows, targ] = 0
    counts[rows, targ] = -counts.sum(-1)
    inp.g = counts / len(targ)
    ### END SOLUTION
