"""Backward pass of InfoNCE. The lesson is README.md in this folder."""

import torch


def info_nce_grad(a, b, temperature):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `scores = a @ b.t() / temperature`, `loss = (scores.logsumexp(-1) - scores.diagonal()).mean()`: row i of a
    belongs to row i of b, and the other rows of b are the wrong answers.

    a: (bs, d)
    b: (bs, d)
    temperature: a float
    """
    ### BEGIN SOLUTION
    # Each row of a meets every row of b, so a.g sums along a row of the scores, and b.g along a column.
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature
    ### END SOLUTION
