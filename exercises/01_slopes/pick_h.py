"""A good step for central differences. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def pick_h(dtype):
    """Return a good step, as a float, for central differences computed in `dtype`.

    It is judged by the worst relative error it achieves on a few smooth functions, at points around 1.

    dtype: torch.float32 or torch.float64
    """
    return ...
