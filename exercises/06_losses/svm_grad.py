"""The hinge loss of several classes, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def svm_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `own = inp.gather(1, targ.unsqueeze(-1))`, the score of the right class of each row, and
    `margins = inp - own + 1`. `loss = (wrong * margins.clamp_min(0)).sum(-1).mean()`, where `wrong` is 0 at the right
    class of each row and 1 at the others.

    inp: (bs, c), scores; inp.g has the same shape
    targ: (bs,), whole numbers: the right class of each row
    """
    inp.g = ...
