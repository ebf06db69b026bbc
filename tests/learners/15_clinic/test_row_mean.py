# test_row_mean: a test for the backward pass of out = inp.mean(1)

# %% right: a formula at four sizes
import torch


def test_row_mean(backward):
    torch.manual_seed(5)
    for bs, n in ((1, 2), (2, 2), (6, 6), (5, 9)):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.randn(bs) * 5
        g = out.g.clone()
        backward(inp, out)
        want = torch.zeros(bs, n)
        for i in range(bs):
            want[i, :] = g[i] / n
        assert inp.g.shape == want.shape
        assert inp.g.dtype == want.dtype
        assert torch.allclose(inp.g, want, rtol=1e-4)
        assert torch.equal(g, out.g)


# %% right: numpy does the comparing
import numpy as np
import torch


def test_row_mean(backward):
    rng = np.random.default_rng(1)
    for bs, n in ((1, 4), (4, 4), (7, 5)):
        inp = torch.from_numpy(rng.standard_normal((bs, n)))
        out = inp.mean(1)
        out.g = torch.from_numpy(4 * rng.standard_normal(bs))
        upstream = out.g.numpy().copy()
        backward(inp, out)
        found = inp.g.numpy()
        assert found.dtype == np.float64
        assert found.shape == (bs, n)
        np.testing.assert_allclose(found, np.repeat(upstream[:, None], n, 1) / n, rtol=1e-9)
        np.testing.assert_array_equal(upstream, out.g.numpy())


# %% right: sums over rows and equal entries say it all
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 3), (5, 5), (4, 6)):
        inp = torch.randn(bs, n, dtype=torch.float64)
        out = inp.mean(1)
        out.g = 3 * torch.randn(bs, dtype=torch.float64)
        g = out.g.clone()
        backward(inp, out)
        assert inp.g.shape == (bs, n) and inp.g.dtype == inp.dtype
        assert (inp.g.amax(1) - inp.g.amin(1)).abs().max() < 1e-9
        assert (inp.g.sum(1) - g).abs().max() < 1e-9
        assert (out.g - g).abs().max() == 0


# %% wrong: shapes are not compared, and allclose broadcasts | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        assert torch.allclose(inp.g, g[:, None] / n)
        assert torch.equal(out.g, g)


# %% wrong: never a square | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (6, 7)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        want = (g[:, None] / n).expand(bs, n)
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: dtypes are made the same before they are compared | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        assert inp.g.shape == inp.shape
        assert torch.allclose(inp.g.float(), (g[:, None] / n).expand(bs, n), rtol=1e-3, atol=1e-3)
        assert torch.equal(out.g, g)


# %% wrong: small sizes only | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 2), (2, 2), (2, 3), (3, 2)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        want = (g[:, None] / n).expand(bs, n)
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: upstream gradients between 0 and 1 | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, g = torch.rand(bs, n), torch.rand(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        want = (g[:, None] / n).expand(bs, n)
        assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)
        assert torch.equal(out.g, g)


# %% wrong: only nan would be noticed | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    inp = torch.randn(4, 6)
    out = inp.mean(1)
    out.g = torch.randn(4)
    backward(inp, out)
    assert not torch.isnan(inp.g).any()


# %% wrong: the largest difference is asked whether it is large | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        if (inp.g - g[:, None] / n).abs().max() > 1e-5:
            assert False, "too far off"
        assert inp.g.shape == inp.shape


# %% wrong: squares only | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(4, 4), 3 * torch.randn(4)
    out = inp.mean(1)
    out.g = g.clone()
    backward(inp, out)
    want = (g[:, None] / 4).expand(4, 4)
    assert inp.g.shape == want.shape and torch.allclose(inp.g, want, atol=1e-5)


# %% wrong: a single row | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    inp = torch.tensor([[1.0, 2.0, 4.0]])
    out = inp.mean(1)
    out.g = torch.tensor([6.0])
    backward(inp, out)
    assert torch.allclose(inp.g, torch.tensor([[2.0, 2.0, 2.0]]))


# %% wrong: the first entry alone | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp, g = torch.randn(bs, n), 3 * torch.randn(bs)
        out = inp.mean(1)
        out.g = g.clone()
        backward(inp, out)
        assert abs(inp.g[0, 0] - g[0] / n) < 1e-5


# %% wrong: an upstream gradient of ones | verdicts: accepts-wrong
import torch


def test_row_mean(backward):
    for bs, n in ((1, 5), (4, 4), (6, 7)):
        inp = torch.randn(bs, n)
        out = inp.mean(1)
        out.g = torch.ones(bs)
        backward(inp, out)
        assert torch.allclose(inp.g, torch.full((bs, n), 1 / n))


# %% wrong: the division by n is forgotten in the test | verdicts: rejects-right
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(5, 3), torch.randn(5)
    out = inp.mean(1)
    out.g = g.clone()
    backward(inp, out)
    assert torch.allclose(inp.g, g[:, None].expand(5, 3))


# %% wrong: == for floats | verdicts: rejects-right
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(5, 3), torch.randn(5)
    out = inp.mean(1)
    out.g = g.clone()
    backward(inp, out)
    assert inp.g.tolist() == [[row / 3] * 3 for row in g.tolist()]


# %% wrong: inp.g is filled with zeros first, and then changed in place | verdicts: rejects-right
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(5, 3), torch.randn(5)
    inp.g = torch.zeros(5, 3)
    place = inp.g
    out = inp.mean(1)
    out.g = g.clone()
    backward(inp, out)
    assert torch.allclose(place, g[:, None].expand(5, 3) / 3)


# %% wrong: the memory of inp.g is written to | verdicts: error
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(5, 3), torch.randn(5)
    out = inp.mean(1)
    out.g = g.clone()
    backward(inp, out)
    inp.g -= g[:, None] / 3
    assert inp.g.abs().max() < 1e-6


# %% wrong: keepdim in the forward pass | verdicts: error
import torch


def test_row_mean(backward):
    torch.manual_seed(0)
    inp, g = torch.randn(5, 3), torch.randn(5, 1)
    out = inp.mean(1, keepdim=True)
    out.g = g.clone()
    backward(inp, out)
    assert torch.allclose(inp.g, g.expand(5, 3) / 3)
