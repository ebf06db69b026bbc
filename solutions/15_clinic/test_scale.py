"""A test for the backward pass of a scale. The lesson is README.md in this folder."""

import torch


def test_scale(backward):
    """Raise AssertionError if `backward` is wrong, and return nothing if it is right.

    It should be the backward pass of `out = inp * scale`, and is called as `backward(inp, scale, out)`. A right one
    stores `inp.g` and `scale.g`, each with the shape and the dtype of its variable, for the upstream gradient in
    `out.g`. It works at all sizes and changes nothing in its arguments except the gradients that it stores. It may
    compute them in any way. Your test is tried on 20 wrong ones and 10 right ones. Use `assert`, `torch.testing` or
    `numpy.testing`; pytest is not available.

    backward: takes inp: (bs, n), scale: (n,), out: (bs, n), and so is out.g; float32 or float64
    """
    ### BEGIN SOLUTION
    # No mistake is hidden at all of these sizes, by numbers that are large, negative and no integers.
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale = torch.randn(bs, n), torch.randn(n)
        out = inp * scale
        out.g = 3 * torch.randn(bs, n)
        before, upstream = inp.clone(), out.g.clone()
        backward(inp, scale, out)
        for found, right in ((inp.g, upstream * scale), (scale.g, (upstream * before).sum(0))):
            assert found.shape == right.shape
            assert found.dtype == right.dtype
            assert torch.allclose(found, right, atol=1e-5)
        assert torch.equal(out.g, upstream)
        assert torch.equal(inp, before)
    ### END SOLUTION
