# test_softmax: a test for the backward pass of out = inp.softmax(1)

# The wrong ones stand in the order in which a careful reader would rank them; the points must not contradict it.

# %% right: a formula, four sizes, and out.g as it was
import torch


def right_answer(out, g):
    return out * (g - (g * out).sum(-1, keepdim=True))


def test_softmax(backward):
    g = torch.Generator().manual_seed(3)
    for bs, n, scale in [(1, 4, 1.0), (3, 3, 1.0), (5, 8, 2.0), (6, 4, 500.0)]:
        inp = torch.randn(bs, n, generator=g) * scale
        out = torch.softmax(inp, dim=-1)
        out.g = torch.randn(bs, n, generator=g) * 4
        up = out.g.clone()
        backward(inp, out)
        want = right_answer(out, up)
        assert inp.g.shape == want.shape and inp.g.dtype == want.dtype
        assert torch.allclose(inp.g, want, rtol=1e-3, atol=1e-5), f"off by {(inp.g - want).abs().max()}"
        assert torch.equal(out.g, up), "out.g was changed"


# %% right: nudges in double precision
import torch


def numeric(inp, g, h=1e-5):
    found = torch.zeros_like(inp)
    for i in range(inp.shape[0]):
        for j in range(inp.shape[1]):
            up, down = inp.clone(), inp.clone()
            up[i, j] += h
            down[i, j] -= h
            found[i, j] = ((up.softmax(1) - down.softmax(1)) * g).sum() / (2 * h)
    return found


def test_softmax(backward):
    torch.manual_seed(1)
    for shape, scale in (((1, 3), 1), ((4, 4), 1), ((5, 6), 1), ((4, 3), 3000)):
        inp = torch.randn(*shape, dtype=torch.double) * scale
        out = inp.softmax(1)
        out.g = torch.randn(*shape, dtype=torch.double) * 3
        g = out.g.clone()
        wanted = numeric(inp, g)
        backward(inp, out)
        assert inp.g.shape == wanted.shape
        assert inp.g.dtype == torch.double
        assert not inp.g.isnan().any()
        assert (inp.g - wanted).abs().max() < 1e-6
        assert (out.g == g).all()


# %% right: numpy's comparison, and a Jacobian for each row
import numpy as np
import torch


def test_softmax(backward):
    rng = np.random.default_rng(0)
    for bs, n, scale in ((1, 2, 1), (2, 2, 1), (7, 6, 1), (4, 3, 2000)):
        inp = torch.tensor(scale * rng.normal(size=(bs, n)))
        out = inp.softmax(1)
        out.g = torch.tensor(5 * rng.normal(size=(bs, n)))
        kept = out.g.numpy().copy()
        backward(inp, out)
        want = np.stack([(np.diag(p) - np.outer(p, p)) @ g for p, g in zip(out.numpy(), kept)])
        assert tuple(inp.g.shape) == want.shape
        assert inp.g.dtype == inp.dtype
        np.testing.assert_allclose(inp.g.numpy(), want, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(out.g.numpy(), kept)


# %% right: the tolerance that allclose has, in single precision
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n, size in ((1, 4, 1), (4, 4, 1), (9, 12, 1), (6, 8, 1), (7, 9, 1), (5, 6, 400)):
        inp = size * torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = torch.randn(bs, n) * 3
        g = out.g.clone()
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)))
        assert torch.equal(out.g, g)


# %% wrong: thorough, but out.g is not looked at again | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n, scale in ((1, 4, 1), (4, 4, 1), (5, 6, 1), (3, 4, 900)):
        inp = torch.randn(bs, n) * scale
        out = inp.softmax(1)
        out.g = torch.randn(bs, n) * 3
        want = out * (out.g - (out.g * out).sum(1, keepdim=True))
        backward(inp, out)
        torch.testing.assert_close(inp.g, want)


# %% wrong: thorough, but a turned tensor is called wrong | verdicts: rejects-right
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n, scale in ((1, 4, 1), (4, 4, 1), (5, 6, 1), (3, 4, 900)):
        inp = torch.randn(bs, n) * scale
        out = inp.softmax(1)
        out.g = torch.randn(bs, n) * 3
        g = out.g.clone()
        backward(inp, out)
        assert inp.g.is_contiguous()
        torch.testing.assert_close(inp.g, out * (g - (g * out).sum(1, keepdim=True)))
        torch.testing.assert_close(out.g, g)


# %% wrong: random and not square, at two sizes of several rows | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n in ((4, 3), (5, 8)):
        inp, g = torch.randn(bs, n), 2 * torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = g.clone()
        backward(inp, out)
        assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)), atol=1e-6)


# %% wrong: random, one size of three rows | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(3, 5), torch.randn(3, 5)
    out = inp.softmax(1)
    out.g = 2 * g
    backward(inp, out)
    want = out * (2 * g - (2 * g * out).sum(1, keepdim=True))
    assert torch.allclose(inp.g, want, atol=1e-6)


# %% wrong: square sizes only | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(3, 3), torch.randn(3, 3)
    out = inp.softmax(1)
    out.g = g
    want = out * (g - (g * out).sum(1, keepdim=True))
    backward(inp, out)
    assert torch.allclose(inp.g, want, atol=1e-6)


# %% wrong: one row only | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.tensor([[0.5, -1.0, 2.0]])
    out = inp.softmax(1)
    out.g = torch.tensor([[1.0, 0.0, -1.0]])
    g = out.g.clone()
    backward(inp, out)
    p = out[0]
    jacobian = torch.diag(p) - torch.outer(p, p)
    assert torch.allclose(inp.g[0], jacobian @ g[0], atol=1e-6)


# %% wrong: a tolerance of a half, random | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n in ((4, 3), (5, 8)):
        inp, g = torch.randn(bs, n), 2 * torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = g.clone()
        backward(inp, out)
        assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)), atol=0.5)


# %% wrong: an upstream gradient of ones | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 4), (4, 4), (5, 6)):
        inp = torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = torch.ones(bs, n)
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert torch.allclose(inp.g, torch.zeros(bs, n), atol=1e-6)


# %% wrong: exact equality | verdicts: rejects-right
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 4), (4, 4), (5, 6)):
        inp = torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = torch.randn(bs, n)
        g = out.g.clone()
        backward(inp, out)
        assert torch.equal(inp.g, out * (g - (g * out).sum(1, keepdim=True)))


# %% wrong: a relative tolerance alone | verdicts: rejects-right
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    for bs, n, size in ((1, 4, 1), (4, 4, 1), (9, 12, 1), (6, 8, 1), (7, 9, 1), (5, 6, 400)):
        inp = size * torch.randn(bs, n)
        out = inp.softmax(1)
        out.g = torch.randn(bs, n) * 3
        g = out.g.clone()
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)), rtol=1e-6, atol=0)
        assert torch.equal(out.g, g)


# %% wrong: only the shape is looked at | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    backward(inp, out)
    assert inp.g.shape == inp.shape


# %% wrong: whether something was stored | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    backward(inp, out)
    assert hasattr(inp, "g")


# %% wrong: nothing is asserted | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    backward(inp, out)
    want = out * (out.g - (out.g * out).sum(1, keepdim=True))
    print((getattr(inp, "g", 0) - want).abs().max() if getattr(inp, "g", want).shape == want.shape else "shape")


# %% wrong: it returns what it should assert | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    want = out * (out.g - (out.g * out).sum(1, keepdim=True))
    backward(inp, out)
    found = getattr(inp, "g", torch.zeros(()))
    return found.shape == want.shape and bool(torch.isclose(found.to(want.dtype), want).all())


# %% wrong: backward is never called | verdicts: accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    assert torch.allclose(out.sum(1), torch.ones(4))


# %% wrong: everything is rejected | verdicts: rejects-right
def test_softmax(backward):
    assert False


# %% wrong: the diagonal is taken for the right answer | verdicts: rejects-right
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    g = out.g.clone()
    backward(inp, out)
    assert torch.allclose(inp.g, out * (1 - out) * g, atol=1e-6)


# %% wrong: nudges of 1e-7 in single precision | verdicts: rejects-right
import torch


def test_softmax(backward):
    torch.manual_seed(0)
    inp, h = torch.randn(3, 4), 1e-7
    out = inp.softmax(1)
    out.g = torch.randn(3, 4)
    want = torch.zeros(3, 4)
    for i in range(3):
        for j in range(4):
            up = inp.clone()
            up[i, j] += h
            want[i, j] = ((up.softmax(1) - out) * out.g).sum() / h
    backward(inp, out)
    assert torch.allclose(inp.g, want, atol=1e-4)


# %% wrong: the gradient is taken from what is returned | verdicts: error
import torch


def test_softmax(backward):
    inp = torch.randn(3, 4)
    out = inp.softmax(1)
    out.g = torch.randn(3, 4)
    found = backward(inp, out)
    assert found.shape == inp.shape


# %% wrong: out has no upstream gradient | verdicts: error
import torch


def test_softmax(backward):
    inp = torch.randn(3, 4)
    backward(inp, inp.softmax(1))
    assert inp.g.shape == inp.shape


# %% wrong: a name is misspelt | verdicts: error
import torch


def test_softmax(backward):
    inp = torch.randn(3, 4)
    out = inp.softmax(1)
    out.g = torch.randn(3, 4)
    backward(inp, ouput)


# %% wrong: torch's autograd says what is right | verdicts: used-autograd
import torch


def test_softmax(backward):
    inp = torch.randn(3, 4, requires_grad=True)
    out = inp.softmax(1)
    out.g = torch.randn(3, 4)
    out.backward(out.g)
    backward(inp, out)
    assert torch.allclose(inp.g, inp.grad, atol=1e-6)


# %% wrong: a coin decides whether it looks | verdicts: not-repeatable
import random

import torch


def test_softmax(backward):
    inp = torch.randn(4, 6)
    out = inp.softmax(1)
    out.g = torch.randn(4, 6)
    g = out.g.clone()
    backward(inp, out)
    if random.random() < 0.5:
        assert torch.allclose(inp.g, out * (g - (g * out).sum(1, keepdim=True)), atol=1e-6)


# %% wrong: one entry of a random array, without a seed | verdicts: not-repeatable or accepts-wrong
import torch


def test_softmax(backward):
    inp = torch.randn(6, 6)
    out = inp.softmax(1)
    out.g = 2 * torch.randn(6, 6)
    g = out.g.clone()
    backward(inp, out)
    i, j = torch.randint(6, (2,)).tolist()
    want = out * (g - (g * out).sum(1, keepdim=True))
    assert abs(inp.g[i, j] - want[i, j]) < 1e-6


# %% wrong: not begun | verdicts: todo
def test_softmax(backward):
    ...
