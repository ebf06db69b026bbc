"""A test for the backward pass of softmax. The lesson is README.md in this folder."""

import torch


def test_softmax(backward):
    """Raise AssertionError if `backward` is wrong, and return nothing if it is right.

    It should be the backward pass of `out = inp.softmax(1)`, and is called as `backward(inp, out)`. A right one stores
    `inp.g`, with the shape and the dtype of `inp`, for the upstream gradient in `out.g`. It works at all sizes, for all
    numbers, and changes nothing in its arguments except the gradients that it stores. It may compute them in any way.
    Your test is tried on 20 wrong ones and 10 right ones. Use `assert`, `torch.testing` or `numpy.testing`; pytest is
    not available.

    backward: takes inp: (bs, n) and out: (bs, n), and so is out.g; float32 or float64
    """
    ### BEGIN SOLUTION
    # Inputs of 1000 are harmless to softmax, and fatal to an exponential by itself.
    torch.manual_seed(0)
    for bs, n, size in ((1, 5, 1), (4, 4, 1), (6, 7, 1), (5, 3, 1000)):
        inp = size * torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = 3 * torch.randn(bs, n)
        upstream = out.g.clone()
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert inp.g.dtype == inp.dtype
        assert torch.allclose(inp.g, out * (upstream - (upstream * out).sum(1, keepdim=True)), atol=1e-5)
        assert torch.equal(out.g, upstream)
    ### END SOLUTION
