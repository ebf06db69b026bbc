"""Backward pass of a masked softmax. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def masked_softmax_grad(scores, out, mask):
    """Store the gradient of the loss in `scores.g`.

    Forward: `out = scores.masked_fill(~mask, float("-inf")).softmax(-1)`, each row on its own. The gradient of the loss
    with respect to `out` is already in `out.g`.

    scores: (s, t)
    out: (s, t), and so is out.g
    mask: (s, t), bool: True where a score takes part; each row has at least one
    """
    scores.g = ...
