"""A test for the backward pass of a mean over rows. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def test_row_mean(backward):
    """Raise AssertionError if `backward` is wrong, and return nothing if it is right.

    It should be the backward pass of `out = inp.mean(1)`, and is called as `backward(inp, out)`. A right one stores
    `inp.g`, with the shape and the dtype of `inp`, for the upstream gradient in `out.g`. It works at all sizes and
    changes nothing in its arguments except the gradients that it stores. It may compute them in any way. Your test is
    tried on 20 wrong ones and 10 right ones. Use `assert`, `torch.testing` or `numpy.testing`; pytest is not available.

    backward: takes inp: (bs, n) and out: (bs,), and so is out.g; float32 or float64
    """
    ...
