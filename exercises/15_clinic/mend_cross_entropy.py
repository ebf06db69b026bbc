"""A backward pass of cross-entropy with one wrong line. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def mend_cross_entropy(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = -inp.log_softmax(-1)[range(bs), targ].mean()`, which is
    `(inp.logsumexp(-1) - inp[range(bs), targ]).mean()`. One line of the body is wrong, and the others are right. Find
    it and fix it.

    inp: (bs, c), logits; inp.g has the same shape
    targ: (bs,), int64, the right class of each row: from 0 to c - 1
    """
    # One line is wrong.
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= inp.shape[1]
