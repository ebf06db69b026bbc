"""A test for the backward pass of a mean over rows. The lesson is README.md in this folder."""

import torch


def test_row_mean(backward):
    """Raise AssertionError if `backward` is wrong, and return nothing if it is right.

    It should be the backward pass of `out = inp.mean(1)`, and is called as `backward(inp, out)`. A right one stores
    `inp.g`, with the shape and the dtype of `inp`, for the upstream gradient in `out.g`. It works at all sizes and
    changes nothing in its arguments except the gradients that it stores. It may compute them in any way. Your test is
    tried on 20 wrong ones and 10 right ones. Use `assert`, `torch.testing` or `numpy.testing`; pytest is not available.

    backward: takes inp: (bs, n) and out: (bs,), and so is out.g; float32 or float64
    """
    ### BEGIN SOLUTION
    # One nudge of inp[i, j] moves out[i] by 1/n of it: the answer is measured, in double precision.
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp = torch.randn(bs, n, dtype=torch.float64)
        out = inp.mean(1)
        out.g = 3 * torch.randn(bs, dtype=torch.float64)
        upstream, nudged = out.g.clone(), torch.zeros(bs, n, dtype=torch.float64)
        for i in range(bs):
            for j in range(n):
                step = torch.zeros_like(inp)
                step[i, j] = 1e-6
                nudged[i, j] = (((inp + step).mean(1) - (inp - step).mean(1)) * upstream).sum() / 2e-6
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert inp.g.dtype == inp.dtype
        assert torch.allclose(inp.g, nudged, atol=1e-6)
        assert torch.equal(out.g, upstream)
    ### END SOLUTION
