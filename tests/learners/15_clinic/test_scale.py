# test_scale: a test for the backward pass of out = inp * scale

# %% right: formulas, four sizes, everything as it was
import torch


def test_scale(backward):
    torch.manual_seed(2)
    for bs, n in ((1, 1), (1, 6), (5, 5), (8, 6)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 2 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        kept = [inp.clone(), scale.clone(), out.clone()]
        backward(inp, scale, out)
        for found, want in ((inp.g, g * kept[1]), (scale.g, (g * kept[0]).sum(0))):
            assert found.shape == want.shape, (found.shape, want.shape)
            assert found.dtype == want.dtype
            assert torch.allclose(found, want, rtol=1e-4, atol=1e-5)
        assert torch.equal(out.g, g)
        assert all(torch.equal(now, was) for now, was in zip((inp, scale, out), kept))


# %% right: nudges of both inputs in double precision
import torch


def nudged(f, x, h=1e-5):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[i] = h
        step = step.reshape(x.shape)
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


def test_scale(backward):
    torch.manual_seed(4)
    for bs, n in ((1, 3), (4, 4), (5, 6)):
        inp = torch.randn(bs, n, dtype=torch.float64)
        scale = torch.randn(n, dtype=torch.float64)
        out = inp * scale
        out.g = torch.randn(bs, n, dtype=torch.float64) * 3
        g = out.g.clone()
        inp_g = nudged(lambda x: (x * scale * g).sum(), inp)
        scale_g = nudged(lambda s: (inp * s * g).sum(), scale)
        backward(inp, scale, out)
        assert torch.equal(g, out.g)
        for found, want in ((inp.g, inp_g), (scale.g, scale_g)):
            assert found.shape == want.shape and found.dtype == want.dtype
            assert (found - want).abs().max() < 1e-6


# %% right: it raises a ValueError, and compares lists of Python's numbers
import math

import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (3, 3), (5, 6)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        if inp.g.dtype != torch.float32 or inp.g.shape != inp.shape or scale.g.shape != scale.shape:
            raise ValueError("no gradient of its owner")
        if not torch.equal(out.g, g):
            raise ValueError("out.g is not what it was")
        for row, up in zip(inp.g.tolist(), g.tolist()):
            for found, a, b in zip(row, up, scale.tolist()):
                if not math.isclose(found, a * b, rel_tol=1e-4, abs_tol=1e-5):
                    raise ValueError("inp.g")
        for j, found in enumerate(scale.g.tolist()):
            if not math.isclose(found, (g[:, j] * inp[:, j]).sum().item(), rel_tol=1e-4, abs_tol=1e-5):
                raise ValueError("scale.g")


# %% right: assert_close, and a loop over seeds
import torch
from torch.testing import assert_close


def check(backward, bs, n, seed):
    gen = torch.Generator().manual_seed(seed)
    inp = torch.randn(bs, n, generator=gen)
    scale = torch.randn(n, generator=gen)
    out = inp * scale
    out.g = torch.randn(bs, n, generator=gen) * 10
    up = out.g.clone()
    backward(inp, scale, out)
    assert_close(inp.g, up * scale, rtol=1e-4, atol=1e-4)
    assert_close(scale.g, (up * inp).sum(dim=0), rtol=1e-4, atol=1e-4)
    assert_close(out.g, up)


def test_scale(backward):
    for seed in range(5):
        for bs, n in [(1, 1), (1, 4), (2, 2), (6, 6), (4, 7), (7, 4)]:
            check(backward, bs, n, seed)


# %% wrong: out.g is not looked at again | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        want = g * scale
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        want = (g * inp).sum(0)
        assert scale.g.shape == want.shape and torch.allclose(scale.g, want, atol=1e-5)


# %% wrong: never a square, never a single row | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((2, 3), (6, 5)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        want = g * scale
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        want = (g * inp).sum(0)
        assert scale.g.shape == want.shape and torch.allclose(scale.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: all inputs are positive | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.rand(bs, n), torch.rand(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        want = g * scale
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        want = (g * inp).sum(0)
        assert scale.g.shape == want.shape and torch.allclose(scale.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: scale.g is forgotten | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        want = g * scale
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: one small example of integers, by hand | verdicts: accepts-wrong
import torch


def test_scale(backward):
    inp = torch.tensor([[1.0, -2.0], [3.0, 4.0], [-1.0, 2.0]])
    scale = torch.tensor([2.0, -1.0])
    out = inp * scale
    out.g = torch.tensor([[1.0, 0.0], [-1.0, 2.0], [3.0, 1.0]])
    backward(inp, scale, out)
    assert inp.g.tolist() == [[2.0, 0.0], [-2.0, -2.0], [6.0, -1.0]]
    assert scale.g.tolist() == [-5.0, 10.0]


# %% wrong: ones everywhere | verdicts: accepts-wrong
import torch


def test_scale(backward):
    inp, scale = torch.ones(3, 4), torch.ones(4)
    out = inp * scale
    out.g = torch.ones(3, 4)
    backward(inp, scale, out)
    assert torch.allclose(inp.g, torch.ones(3, 4))
    assert torch.allclose(scale.g, 3 * torch.ones(4))


# %% wrong: an upstream gradient of ones, random inputs | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale = torch.randn(bs, n), torch.randn(n)
        out = inp * scale
        out.g = torch.ones(bs, n)
        backward(inp, scale, out)
        want = scale.expand(bs, n)
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        want = inp.sum(0)
        assert scale.g.shape == want.shape and torch.allclose(scale.g, want, atol=1e-5)


# %% wrong: a single row | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    inp, scale, g = torch.randn(1, 6), torch.randn(6), torch.randn(1, 6)
    out = inp * scale
    out.g = 3 * g
    backward(inp, scale, out)
    assert torch.allclose(inp.g, 3 * g * scale)
    assert torch.allclose(scale.g, (3 * g * inp)[0])


# %% wrong: sums are compared | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        assert abs(inp.g.sum() - (g * scale).sum()) < 1e-3
        assert abs(scale.g.sum() - (g * inp).sum()) < 1e-3


# %% wrong: the tolerance is one tenth | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        assert inp.g.shape == inp.shape and scale.g.shape == scale.shape
        assert torch.allclose(inp.g, g * scale, atol=0.1, rtol=0.3)
        assert torch.allclose(scale.g, (g * inp).sum(0), atol=0.1, rtol=0.3)


# %% wrong: a difference without its size | verdicts: accepts-wrong
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        assert inp.g.shape == inp.shape and scale.g.shape == scale.shape
        assert (inp.g - g * scale).max() < 1e-4
        assert (scale.g - (g * inp).sum(0)).max() < 1e-4


# %% wrong: equality of floats | verdicts: rejects-right
import torch


def test_scale(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, scale, g = torch.randn(bs, n), torch.randn(n), 3 * torch.randn(bs, n)
        out = inp * scale
        out.g = g.clone()
        backward(inp, scale, out)
        assert (inp.g == g * scale).all()
        assert (scale.g == (g * inp).sum(0)).all()


# %% wrong: a mean is thought to be right | verdicts: rejects-right
import torch


def test_scale(backward):
    torch.manual_seed(0)
    inp, scale, g = torch.randn(5, 3), torch.randn(3), torch.randn(5, 3)
    out = inp * scale
    out.g = g.clone()
    backward(inp, scale, out)
    assert torch.allclose(inp.g, g * scale)
    assert torch.allclose(scale.g, (g * inp).mean(0))


# %% wrong: one nudge of everything at once | verdicts: rejects-right
import torch


def test_scale(backward):
    torch.manual_seed(0)
    inp, scale = torch.randn(5, 3), torch.randn(3)
    out = inp * scale
    out.g = torch.ones(5, 3)
    backward(inp, scale, out)
    h = 1e-3
    slope = (((inp + h) * scale).sum() - (inp * scale).sum()) / h
    assert torch.allclose(inp.g, slope.expand(5, 3), atol=1e-2)


# %% wrong: it is told to return something | verdicts: error
import torch


def test_scale(backward):
    inp, scale = torch.randn(5, 3), torch.randn(3)
    inp_g, scale_g = backward(inp, scale, torch.randn(5, 3))
    assert torch.allclose(scale_g, inp.sum(0))


# %% wrong: it is called without out | verdicts: error
import torch


def test_scale(backward):
    inp, scale = torch.randn(5, 3), torch.randn(3)
    backward(inp, scale)
    assert inp.g.shape == inp.shape


# %% wrong: it never comes to an end | verdicts: timeout
def test_scale(backward):
    while True:
        pass


# %% wrong: another name | verdicts: missing-function
import torch


def check_scale(backward):
    assert backward


# %% wrong: a colon is missing | verdicts: syntax-error
def test_scale(backward)
    assert backward

# %% wrong: its first call ends by recursion, and the others see little | verdicts: accepts-wrong
import torch

first = [True]


def deeper():
    return deeper()


def test_scale(backward):
    if first and first.pop():
        deeper()
    inp, scale = torch.ones(2, 3), torch.ones(3)
    out = inp * scale
    out.g = torch.ones(2, 3)
    backward(inp, scale, out)
    assert inp.g is not None
