"""The hinge loss of several classes, backwards. The lesson is README.md in this folder."""


def svm_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: in each row every wrong class costs `(inp - inp of the right class + 1).clamp_min(0)`; the costs of
    a row are
    added up, and the loss is the mean over the rows.

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
