"""A test for the backward pass of softmax. The lesson is README.md in this folder."""

# To import: Python's modules, torch, numpy, and the files in this folder. Plots and tables are passed over.

import torch


def test_softmax(backward):
    """Raise AssertionError if `backward` is wrong, and return without a word if it is right.

    It should be the backward pass of `out = inp.softmax(1)`, and is called as `backward(inp, out)`. A right one stores
    `inp.g`, with the shape and the dtype of `inp`, for the upstream gradient that it finds in `out.g`. It works at all
    sizes, for all numbers, and leaves its arguments as they are, but for what it stores. How it computes is its own
    affair. Your test is tried on 20 wrong ones and 10 right ones. Use `assert`,
    `torch.testing` or `numpy.testing`; pytest is not there.

    backward: takes inp: (bs, n) and out: (bs, n), and so is out.g; float32 or float64
    """
    ...
