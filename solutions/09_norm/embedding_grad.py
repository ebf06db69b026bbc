"""An embedding lookup, backwards. The lesson is README.md in this folder."""

import torch


def embedding_grad(idx, w, out):
    """Store the gradient of the loss in `w.g`.

    Forward: `out = w[idx]`. The gradient of the loss with respect to `out` is already in `out.g`.

    idx: (bs, t), whole numbers: which row of w is looked up at each place; a row may be looked up several times
    w: (v, n)
    out: (bs, t, n), and out.g: (bs, t, n)
    """
    ### BEGIN SOLUTION
    # A row that is looked up several times gets every contribution; an assignment would keep only the last.
    w.g = torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1))
    ### END SOLUTION
