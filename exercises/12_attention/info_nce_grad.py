"""Backward pass of InfoNCE. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def info_nce_grad(a, b, temperature):
    """Store the gradient of the loss in `a.g` and `b.g`.

    Forward: `scores = a @ b.t() / temperature`, `loss = (scores.logsumexp(-1) - scores.diagonal()).mean()`: row i of a
    belongs to row i of b, and the other rows of b are the wrong answers.

    a: (bs, d)
    b: (bs, d)
    temperature: a float
    """
    a.g = ...
    b.g = ...
