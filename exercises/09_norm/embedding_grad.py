"""An embedding lookup, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def embedding_grad(idx, w, out):
    """Store the gradient of the loss in `w.g`.

    Forward: `out = w[idx]`. The gradient of the loss with respect to `out` is already in `out.g`.

    idx: (bs, t), whole numbers: which row of w is looked up at each place; a row may be looked up several times
    w: (v, n)
    out: (bs, t, n), and out.g: (bs, t, n)
    """
    w.g = ...
