"""Backward passes for `explain`, labelled before they were tried: right ones, wrong ones, wrong at other sizes only.

Each is `(forward, inputs, what is under test)`. `RIGHT` has what people write who know what they do: modules, closures,
numpy, work in place, odd sizes, views, ties and zeros. `WRONG` is wrong at the inputs that are given. `ELSEWHERE` is
right at these, and wrong at sizes that nobody gave.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

RANDOM = torch.Generator().manual_seed(26)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=RANDOM, dtype=dtype)


def uniform(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=RANDOM)


Case = tuple[Any, dict[str, Any], dict[str, Any]]
RIGHT: dict[str, Case] = {}
WRONG: dict[str, Case] = {}
ELSEWHERE: dict[str, Case] = {}


# --- rotations of pairs --------------------------------------------------------------------


def halves(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def halves_back(g):
    a, b = g.chunk(2, -1)
    return torch.cat([b, -a], -1)


def table(n, d, dtype=torch.float32):
    angles = torch.arange(n, dtype=dtype)[:, None] * 100.0 ** (-torch.arange(d // 2, dtype=dtype) / (d // 2))
    return angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)


def rope(x, cos, sin):
    return x * cos + halves(x) * sin


COS, SIN = table(6, 8)
ANY_COS, ANY_SIN = normal(6, 8), normal(6, 8)
RIGHT["rope with any tables"] = (
    rope,
    {"x": normal(2, 3, 6, 8), "cos": ANY_COS, "sin": ANY_SIN},
    {"backward": lambda out, out_g, x, cos, sin: {"x": out_g * cos + halves_back(out_g * sin)}},
)
RIGHT["rope as unsloth has it, which needs tables of two equal halves"] = (
    rope,
    {"x": normal(2, 6, 8), "cos": COS, "sin": SIN},
    {"backward": lambda out, out_g, x, cos, sin: {"x": out_g * cos - halves(out_g) * sin}},
)
RIGHT["rope with its tables in a closure"] = (
    lambda x: x * COS + halves(x) * SIN,
    {"x": normal(2, 6, 8)},
    {"backward": lambda out, out_g, x: {"x": out_g * COS - halves(out_g) * SIN}},
)


def interleaved(x):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * a - b, a + 2 * b], -1).flatten(-2)


def interleaved_back(out, out_g, x):
    g = torch.zeros_like(x)
    g[..., ::2] = out_g[..., ::2] * 2 * x[..., ::2] + out_g[..., 1::2]
    g[..., 1::2] = -out_g[..., ::2] + 2 * out_g[..., 1::2]
    return {"x": g}


RIGHT["pairs that are interleaved"] = (interleaved, {"x": normal(3, 5, 4)}, {"backward": interleaved_back})


class Rope(Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return rope(x, cos, sin)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        return g * cos - halves(g) * sin, None, None


RIGHT["rope as a Function, with x marked"] = (
    rope,
    {"x": normal(4, 6, 8).requires_grad_(), "cos": COS, "sin": SIN},
    {"function": Rope},
)

# --- parameters, modules and closures --------------------------------------------------------------------

P = nn.Parameter(normal(6, 3))
P64 = nn.Parameter(normal(6, 3, dtype=torch.float64))
LIN = nn.Linear(6, 3)
MLP = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
NORM = nn.LayerNorm(6)
CONV = nn.Conv1d(3, 4, 3, padding=1)
EMB = nn.Embedding(9, 4)
GRU = nn.GRU(4, 4, batch_first=True)
ATT = nn.MultiheadAttention(8, 2, batch_first=True)
BN = nn.BatchNorm1d(5).eval()
BN.running_mean.normal_(generator=RANDOM)
BN.running_var.uniform_(0.5, 2, generator=RANDOM)


def through_module(module):
    """Return the gradient of a module's input, by torch."""

    def backward(out, out_g, x):
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad(module(leaf), leaf, out_g)
        return {"x": g}

    return backward


RIGHT["a parameter in a closure"] = (
    lambda x: x @ P,
    {"x": normal(4, 6)},
    {"backward": lambda out, out_g, x: {"x": out_g @ P.T.detach()}},
)
RIGHT["a parameter in a closure, in float64"] = (
    lambda x: x @ P64,
    {"x": normal(4, 6, dtype=torch.float64)},
    {"backward": lambda out, out_g, x: {"x": out_g @ P64.T}},
)
RIGHT["a linear module as forward"] = (
    LIN,
    {"input": normal(4, 6)},
    {"backward": lambda out, out_g, input: {"input": out_g @ LIN.weight.detach()}},
)
RIGHT["a linear module on both sides"] = (LIN, {"input": normal(4, 6)}, {"function": LIN})
RIGHT["a network of modules"] = (lambda x: MLP(x), {"x": normal(3, 5)}, {"backward": through_module(MLP)})
RIGHT["a layer norm module"] = (
    lambda x: NORM(x),
    {"x": normal(4, 6)},
    {"function": lambda x: F.layer_norm(x, (6,), NORM.weight, NORM.bias)},
)
RIGHT["a convolution module"] = (CONV, {"input": normal(2, 3, 9)}, {"function": lambda input: CONV(input)})
RIGHT["a batch norm module that is evaluated"] = (
    lambda x: BN(x),
    {"x": normal(6, 5)},
    {"backward": lambda out, out_g, x: {"x": out_g * (BN.weight * (BN.running_var + BN.eps).rsqrt()).detach()}},
)
RIGHT["a recurrent module"] = (
    lambda x: GRU(x)[0],
    {"x": normal(2, 3, 4)},
    {"backward": through_module(lambda x: GRU(x)[0])},
)
RIGHT["an attention module"] = (
    lambda x: ATT(x, x, x, need_weights=False)[0],
    {"x": normal(2, 5, 8)},
    {"backward": through_module(lambda x: ATT(x, x, x, need_weights=False)[0])},
)
RIGHT["weights by functional_call"] = (
    lambda x, weight, bias: torch.func.functional_call(LIN, {"weight": weight, "bias": bias}, (x,)),
    {"x": normal(4, 6), "weight": normal(3, 6), "bias": normal(3)},
    {
        "backward": lambda out, out_g, x, weight, bias: {
            "x": out_g @ weight,
            "weight": out_g.T @ x,
            "bias": out_g.sum(0),
        }
    },
)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.linspace(0.5, 2, 4))

    def forward(self, x):
        return x.sigmoid() * self.gain


SCALED = Scaled()
RIGHT["a bound method of a module"] = (
    SCALED.forward,
    {"x": normal(3, 4)},
    {"backward": lambda out, out_g, x: {"x": out_g * SCALED.gain.detach() * x.sigmoid() * (1 - x.sigmoid())}},
)
WEIGHT32 = normal(6, 2)
RIGHT["a float32 tensor in a closure"] = (
    lambda x: torch.einsum("ij,jk->ik", x, WEIGHT32),
    {"x": normal(4, 6)},
    {"backward": lambda out, out_g, x: {"x": out_g @ WEIGHT32.T}},
)


def cumulated(x):
    out = torch.zeros(x.shape)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = 0.5 * out[t - 1] + x[t]
    return out


def cumulated_back(out, out_g, x):
    g = out_g.clone()
    for t in reversed(range(len(x) - 1)):
        g[t] += 0.5 * g[t + 1]
    return {"x": g}


RIGHT["a buffer made without a dtype"] = (cumulated, {"x": normal(5, 3)}, {"backward": cumulated_back})

# --- what leaves torch --------------------------------------------------------------------


def numpy_tanh(x):
    return torch.from_numpy(np.tanh(x.detach().numpy()))


def by_lists(x):
    return torch.tensor([[math.sin(value) for value in row] for row in x.tolist()], dtype=x.dtype)


def by_item(x):
    return x * x.pow(2).sum().item()


class NumpySoftplus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.logaddexp(0, x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sigmoid()


def tanh_back(out, out_g, x):
    return {"x": out_g * (1 - out**2)}


RIGHT["numpy"] = (numpy_tanh, {"x": normal(4, 5)}, {"backward": tanh_back})
RIGHT["half of it numpy"] = (
    lambda x: x.tanh() + numpy_tanh(x),
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": out_g * 2 * (1 - x.tanh() ** 2)}},
)
RIGHT["data"] = (lambda x: x.data.tanh(), {"x": normal(4, 5)}, {"backward": tanh_back})
RIGHT["everything detached"] = (lambda x: x.detach().tanh(), {"x": normal(4, 5)}, {"backward": tanh_back})
RIGHT["lists of numbers"] = (
    by_lists,
    {"x": normal(3, 4)},
    {"backward": lambda out, out_g, x: {"x": out_g * x.cos()}},
)
RIGHT["a plain number of it"] = (
    by_item,
    {"x": normal(6)},
    {"backward": lambda out, out_g, x: {"x": out_g * x.square().sum() + 2 * x * (out_g * x).sum()}},
)
RIGHT["numpy without a detach"] = (
    lambda x: torch.from_numpy(np.exp(x.numpy())),
    {"x": normal(5)},
    {"backward": lambda out, out_g, x: {"x": out_g * out}},
)
RIGHT["numpy in a Function that is its own reference"] = (
    NumpySoftplus.apply,
    {"x": normal(4, 3)},
    {"function": NumpySoftplus},
)
RIGHT["a largest entry that is detached"] = (
    lambda x: (
        (x - x.amax(-1, keepdim=True).detach()).exp() / (x - x.amax(-1, keepdim=True).detach()).exp().sum(-1, True)
    ),
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": out * (out_g - (out * out_g).sum(-1, keepdim=True))}},
)
RIGHT["a straight-through estimator"] = (
    lambda x: x + (x.round() - x).detach(),
    {"x": 3 * normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": out_g}},
)
RIGHT["numpy that is relu, at zeros"] = (
    lambda x: torch.from_numpy(np.maximum(x.detach().numpy(), 0)),
    {"x": torch.tensor([[1.0, 0, -2], [0, 0, 3]])},
    {"backward": lambda out, out_g, x: {"x": out_g * (x > 0)}},
)

# --- work in place, views, layouts --------------------------------------------------------------------


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


class ExpInPlace(Function):
    @staticmethod
    def forward(ctx, x, scale):
        x.mul_(scale).exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * ctx.scale, None


RIGHT["mark_dirty"] = (lambda x: 2 * x, {"x": normal(3, 4)}, {"function": DoubleInPlace})
RIGHT["mark_dirty with what it returns saved"] = (
    lambda x, scale: (x * scale).exp(),
    {"x": normal(3, 4), "scale": 0.5},
    {"function": ExpInPlace},
)
RIGHT["mark_dirty that is its own reference"] = (DoubleInPlace.apply, {"x": normal(5)}, {"function": DoubleInPlace})
RIGHT["a forward pass in place"] = (
    lambda x: x.mul_(3).sin_(),
    {"x": normal(3, 4)},
    {"backward": lambda out, out_g, x: {"x": 3 * out_g * (3 * x).cos()}},
)
RIGHT["rows that are set in place"] = (
    lambda x, row: x.index_copy_(0, torch.tensor([1]), row),
    {"x": normal(4, 3), "row": normal(1, 3)},
    {"backward": lambda out, out_g, x, row: {"x": out_g.index_fill(0, torch.tensor([1]), 0), "row": out_g[1:2]}},
)
RIGHT["relu in place on a product"] = (
    lambda x, w: torch.relu_(x @ w),
    {"x": normal(4, 3), "w": normal(3, 5)},
    {"backward": lambda out, out_g, x, w: {"x": (out_g * (out > 0)) @ w.T, "w": x.T @ (out_g * (out > 0))}},
)
RIGHT["a transposed input"] = (
    lambda x: x.cos(),
    {"x": normal(6, 4, dtype=torch.float64).t()},
    {"backward": lambda out, out_g, x: {"x": -out_g * x.sin()}},
)
RIGHT["an expanded input"] = (
    lambda x, w: x * w,
    {"x": normal(3, 1).expand(3, 4), "w": normal(3, 4)},
    {"backward": lambda out, out_g, x, w: {"x": out_g * w, "w": out_g * x}},
)
RIGHT["a view of a part"] = (
    lambda x: x[:, 1::2] ** 2,
    {"x": normal(3, 7)[:, 1:]},
    {"backward": lambda out, out_g, x: {"x": torch.zeros_like(x).slice_scatter(2 * x[:, 1::2] * out_g, 1, 1, None, 2)}},
)


class SumOfColumns(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum(0)

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape)


RIGHT["a gradient that is expanded"] = (lambda x: x.sum(0), {"x": normal(5, 3)}, {"function": SumOfColumns})

# --- sizes --------------------------------------------------------------------


def groups(x):
    return x.view(x.shape[0], 2, -1).softmax(1).view(x.shape)


def groups_back(out, out_g, x):
    p, g = out.view(len(x), 2, -1), out_g.reshape(len(x), 2, -1)
    return {"x": (p * (g - (p * g).sum(1, keepdim=True))).view(x.shape)}


RIGHT["two groups of columns"] = (groups, {"x": normal(3, 6)}, {"backward": groups_back})
RIGHT["a layer of one output"] = (
    lambda x, w, y: ((x @ w - y) ** 2).mean(),
    {"x": normal(8, 5), "w": normal(5, 1), "y": normal(8, 1)},
    {"backward": lambda out, out_g, x, w, y: {"w": out_g * 2 * x.T @ (x @ w - y) / len(x)}},
)
RIGHT["pixels that are shuffled"] = (
    lambda x: F.pixel_shuffle(x, 2),
    {"x": normal(2, 8, 3, 2)},
    {"backward": lambda out, out_g, x: {"x": F.pixel_unshuffle(out_g, 2)}},
)


def blocks(x):
    assert x.shape[0] % 4 == 0
    return x.view(-1, 4, x.shape[1]).mean(1)


RIGHT["blocks of four rows"] = (
    blocks,
    {"x": normal(8, 3)},
    {"backward": lambda out, out_g, x: {"x": (out_g / 4).repeat_interleave(4, 0)}},
)


def heads(q, k, v):
    b, n, d = q.shape
    q, k, v = (t.view(b, n, 2, d // 2).transpose(1, 2) for t in (q, k, v))
    return ((q @ k.mT / (d // 2) ** 0.5).softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


def heads_back(out, out_g, q, k, v):
    b, n, d = q.shape
    q, k, v, g = (t.reshape(b, n, 2, d // 2).transpose(1, 2) for t in (q, k, v, out_g))
    root = (d // 2) ** 0.5
    p = (q @ k.mT / root).softmax(-1)
    s = p * (g @ v.mT - (p * (g @ v.mT)).sum(-1, keepdim=True)) / root
    return {name: t.transpose(1, 2).reshape(b, n, d) for name, t in (("q", s @ k), ("k", s.mT @ q), ("v", p.mT @ g))}


RIGHT["two heads"] = (heads, {name: normal(2, 5, 6) for name in "qkv"}, {"backward": heads_back})
RIGHT["an empty batch"] = (
    lambda x, w: x @ w,
    {"x": normal(0, 4), "w": normal(4, 3)},
    {"backward": lambda out, out_g, x, w: {"x": out_g @ w.T, "w": x.T @ out_g}},
)
RIGHT["one row"] = (
    lambda x: x.log_softmax(-1),
    {"x": normal(1, 7)},
    {"backward": lambda out, out_g, x: {"x": out_g - out.exp() * out_g.sum(-1, keepdim=True)}},
)
RIGHT["a single number"] = (
    lambda x: x.exp(),
    {"x": torch.tensor(0.3)},
    {"backward": lambda out, out_g, x: {"x": out * out_g}},
)

# --- kinks, ties and zeros --------------------------------------------------------------------

ZEROS = torch.tensor([[0.0, -1.0, 2.0, 0.0], [0.5, 0.0, -0.3, 0.0], [1.0, 0.0, 0.0, -2.0]])
TIES = torch.tensor([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, -1.0, 0.0]])
RIGHT["relu at zeros, 0 there"] = (
    lambda x: x.relu(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * (x > 0)}},
)
RIGHT["relu at zeros, 1 there"] = (
    lambda x: x.relu(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * (x >= 0)}},
)
RIGHT["relu at zeros, half there"] = (
    lambda x: x.relu(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * torch.heaviside(x, torch.tensor(0.5))}},
)
RIGHT["abs at zeros, 1 there"] = (
    lambda x: x.abs(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * torch.where(x >= 0, 1.0, -1.0)}},
)
RIGHT["abs at zeros, -1 there"] = (
    lambda x: x.abs(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * torch.where(x > 0, 1.0, -1.0)}},
)
RIGHT["a layer behind rows of zeros"] = (
    lambda x, w, b: (x @ w + b).relu(),
    {"x": torch.cat([normal(3, 4), torch.zeros(2, 4)]), "w": normal(4, 3), "b": torch.zeros(3)},
    {
        "backward": lambda out, out_g, x, w, b: {
            "x": (out_g * (x @ w + b >= 0)) @ w.T,
            "w": x.T @ (out_g * (x @ w + b >= 0)),
            "b": (out_g * (x @ w + b >= 0)).sum(0),
        }
    },
)
RIGHT["ties of a maximum, the first has all"] = (
    lambda x: x.amax(1),
    {"x": TIES},
    {"backward": lambda out, out_g, x: {"x": F.one_hot(x.argmax(1), x.shape[1]) * out_g[:, None]}},
)
RIGHT["ties of a maximum, shared"] = (
    lambda x: x.max(1).values,
    {"x": TIES},
    {"backward": lambda out, out_g, x: {"x": (x == out[:, None]) * (out_g / (x == out[:, None]).sum(1))[:, None]}},
)
RIGHT["a pool behind a relu, the last has all"] = (
    lambda x: F.max_pool1d(x, 2),
    {"x": normal(2, 3, 8).relu()},
    {
        "backward": lambda out, out_g, x: {
            "x": torch.stack([out_g * (x[..., ::2] > x[..., 1::2]), out_g * (x[..., ::2] <= x[..., 1::2])], -1).flatten(
                -2
            )
        }
    },
)
RIGHT["a clamp at its ends"] = (
    lambda x: x.clamp(-1, 1),
    {"x": torch.tensor([1.0, -1.0, 0.3, 2.0, -3.0])},
    {"backward": lambda out, out_g, x: {"x": out_g * ((x > -1) & (x < 1))}},
)
RIGHT["a maximum of two equal arrays"] = (
    lambda a, b: torch.maximum(a, b),
    {"a": torch.tensor([1.0, 2.0, 3.0]), "b": torch.tensor([1.0, 0.0, 3.0])},
    {"backward": lambda out, out_g, a, b: {"a": out_g * (a >= b), "b": out_g * (a < b)}},
)
RIGHT["the numbers of a relu at a zero"] = (
    lambda x: x.relu(),
    {"x": torch.tensor([1.0, 0.0, -2.0])},
    {"gradients": {"x": torch.tensor([0.5, 0.0, 0.0])}, "upstream": torch.tensor([0.5, 2.0, 1.0])},
)
RIGHT["the numbers of a relu at a zero, 1 there"] = (
    lambda x: x.relu(),
    {"x": torch.tensor([1.0, 0.0, -2.0])},
    {"gradients": {"x": torch.tensor([0.5, 2.0, 0.0])}, "upstream": torch.tensor([0.5, 2.0, 1.0])},
)
RIGHT["dropout whose mask has zeros"] = (
    lambda x, mask: x * mask / 0.75,
    {"x": ZEROS, "mask": (uniform(3, 4) < 0.75).float()},
    {"backward": lambda out, out_g, x, mask: {"x": out_g * mask / 0.75}},
)
RIGHT["a hinge at its corner"] = (
    lambda x, y: (1 - x * y).clamp(min=0).mean(),
    {"x": torch.tensor([1.0, -0.5, -1.0, 3.0]), "y": torch.tensor([1.0, 1.0, -1.0, 1.0])},
    {"backward": lambda out, out_g, x, y: {"x": -out_g * y * (x * y < 1) / len(x)}},
)
RIGHT["a sort with equal entries"] = (
    lambda x: x.sort(-1).values,
    {"x": TIES},
    {
        "backward": lambda out, out_g, x: {
            "x": torch.zeros_like(x).scatter(-1, x.sort(dim=-1, stable=True).indices, out_g)
        }
    },
)
RIGHT["a root at zero, right elsewhere"] = (
    lambda x: x.sqrt(),
    {"x": torch.tensor([0.0, 1.0, 4.0])},
    {"backward": lambda out, out_g, x: {"x": torch.where(x > 0, out_g / (2 * out), torch.zeros_like(x))}},
)

# --- wrong at the given inputs --------------------------------------------------------------------


def slope_at_zero(slope):
    return lambda out, out_g, x: {"x": torch.where(x == 0, torch.tensor(float(slope)), out_g * (x > 0))}


for slope in (-3, 1e6, float("nan"), float("inf"), -1e-2):
    WRONG[f"relu at zeros, {slope} there"] = (lambda x: x.relu(), {"x": ZEROS}, {"backward": slope_at_zero(slope)})
WRONG["three times a relu"] = (
    lambda x: x.relu(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": 3 * out_g * (x > 0)}},
)
WRONG["three times a relu, behind a relu"] = (
    lambda x: x.relu(),
    {"x": normal(5, 8).relu()},
    {"backward": lambda out, out_g, x: {"x": 3 * out_g * (x > 0)}},
)
WRONG["the mask of a relu forgotten"] = (
    lambda x: x.relu(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g}},
)
WRONG["abs at zeros, 2 there"] = (
    lambda x: x.abs(),
    {"x": ZEROS},
    {"backward": lambda out, out_g, x: {"x": out_g * torch.where(x == 0, 2.0, x.sign())}},
)
WRONG["all of it to each of equal entries"] = (
    lambda x: x.amax(1),
    {"x": TIES},
    {"backward": lambda out, out_g, x: {"x": (x == out[:, None]) * out_g[:, None]}},
)
WRONG["nothing to equal entries"] = (
    lambda x: x.amax(1),
    {"x": TIES},
    {
        "backward": lambda out, out_g, x: {
            "x": (x == out[:, None]) * ((x == out[:, None]).sum(1) == 1)[:, None] * out_g[:, None]
        }
    },
)
WRONG["a pool that gives all to each of equal entries"] = (
    lambda x: F.max_pool1d(x, 2),
    {"x": normal(2, 3, 8).relu()},
    {"backward": lambda out, out_g, x: {"x": (x == out.repeat_interleave(2, -1)) * out_g.repeat_interleave(2, -1)}},
)
WRONG["a layer behind rows of zeros, averaged"] = (
    lambda x, w, b: (x @ w + b).relu(),
    {"x": torch.cat([normal(3, 4), torch.zeros(2, 4)]), "w": normal(4, 3), "b": torch.zeros(3)},
    {
        "backward": lambda out, out_g, x, w, b: {
            "x": (out_g * (out > 0)) @ w.T,
            "w": x.T @ (out_g * (out > 0)) / len(x),
            "b": (out_g * (out > 0)).mean(0),
        }
    },
)
WRONG["the numbers of a relu at a zero, 5 there"] = (
    lambda x: x.relu(),
    {"x": torch.tensor([1.0, 0.0, -2.0])},
    {"gradients": {"x": torch.tensor([0.5, 5.0, 0.0])}, "upstream": torch.tensor([0.5, 2.0, 1.0])},
)
WRONG["the numbers of a relu, wrong elsewhere"] = (
    lambda x: x.relu(),
    {"x": torch.tensor([1.0, 0.0, -2.0])},
    {"gradients": {"x": torch.tensor([1.5, 0.0, 0.0])}, "upstream": torch.tensor([0.5, 2.0, 1.0])},
)
WRONG["dropout by a quotient"] = (
    lambda x, mask: x * mask / 0.75,
    {"x": ZEROS, "mask": (uniform(3, 4) < 0.6).float()},
    {"backward": lambda out, out_g, x, mask: {"x": torch.where(x == 0, out_g, out / x * out_g)}},
)
WRONG["a root, without its half"] = (
    lambda x: x.sqrt(),
    {"x": torch.tensor([0.0, 1.0, 4.0])},
    {"backward": lambda out, out_g, x: {"x": torch.where(x > 0, out_g / out, torch.zeros_like(x))}},
)
WRONG["a maximum of two arrays, to both of equal ones, and to one of others"] = (
    lambda a, b: torch.maximum(a, b),
    {"a": torch.tensor([1.0, 2.0, 3.0]), "b": torch.tensor([1.0, 0.0, 3.0])},
    {"backward": lambda out, out_g, a, b: {"a": 2 * out_g * (a >= b), "b": out_g * (a < b)}},
)
WRONG["an inverted sort"] = (
    lambda x: x.sort(-1).values,
    {"x": TIES},
    {"backward": lambda out, out_g, x: {"x": torch.zeros_like(x).scatter(-1, x.argsort(-1, descending=True), out_g)}},
)
WRONG["a clamp that lets everything through"] = (
    lambda x: x.clamp(-1, 1),
    {"x": torch.tensor([1.0, -1.0, 0.3, 2.0, -3.0])},
    {"backward": lambda out, out_g, x: {"x": out_g}},
)


# --- wrong: leaves torch, own reference, in place, layouts


class Averages(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g / len(x)


class Twice(Averages):
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return 2 * g @ w.T, x.T @ g


class OneTooFew(Function):
    """Wrong in one entry by a thousandth."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        found = 3 * x**2 * g
        found[0, 0] *= 1.001
        return found


class WrongSoftplus(NumpySoftplus):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.tanh()


class DoubleInPlaceOnce(DoubleInPlace):
    @staticmethod
    def backward(ctx, g):
        return g


class IgnoresStrides(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g.as_strided(x.shape, torch.empty(x.shape).stride())


class Views(IgnoresStrides):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (2 * x.reshape(-1) * g.view(-1)).reshape(x.shape)


class FirstUpstream(IgnoresStrides):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g.flatten()[0]


class OverwritesOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, g):
        return ctx.y.mul_(g)


INPUTS_OF_PRODUCT = {"x": normal(4, 6), "w": normal(6, 3)}
WRONG["its own reference, averaged"] = (Averages.apply, INPUTS_OF_PRODUCT, {"function": Averages})
WRONG["its own reference, twice"] = (Twice.apply, INPUTS_OF_PRODUCT, {"function": Twice})
WRONG["its own reference, behind a tanh"] = (
    lambda x, w: Averages.apply(x, w).tanh(),
    INPUTS_OF_PRODUCT,
    {"function": lambda x, w: Averages.apply(x, w).tanh()},
)
WRONG["its own reference, one entry by a thousandth"] = (OneTooFew.apply, {"x": normal(4, 5)}, {"function": OneTooFew})
WRONG["its own reference in numpy"] = (WrongSoftplus.apply, {"x": normal(4, 3)}, {"function": WrongSoftplus})
WRONG["mark_dirty, and its factor forgotten"] = (
    lambda x: 2 * x,
    {"x": normal(3, 4)},
    {"function": DoubleInPlaceOnce},
)
WRONG["mark_dirty that is its own reference, its factor forgotten"] = (
    DoubleInPlaceOnce.apply,
    {"x": normal(3, 4)},
    {"function": DoubleInPlaceOnce},
)
WRONG["numpy, without the square"] = (
    numpy_tanh,
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": out_g * (1 - out)}},
)
WRONG["numpy, nothing"] = (
    numpy_tanh,
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": torch.zeros_like(x)}},
)
WRONG["half of it numpy, and that half forgotten"] = (
    lambda x: x.tanh() + numpy_tanh(x),
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": out_g * (1 - x.tanh() ** 2)}},
)
WRONG["a plain number of it, as if it were constant"] = (
    by_item,
    {"x": normal(6)},
    {"backward": lambda out, out_g, x: {"x": out_g * x.square().sum()}},
)
WRONG["data, and no upstream"] = (
    lambda x: x.data.tanh(),
    {"x": normal(4, 5)},
    {"backward": lambda out, out_g, x: {"x": 1 - out**2}},
)
WRONG["a forward pass in place, without its factor"] = (
    lambda x: x.mul_(3).sin_(),
    {"x": normal(3, 4)},
    {"backward": lambda out, out_g, x: {"x": out_g * (3 * x).cos()}},
)
WRONG["an upstream gradient read as contiguous"] = (
    lambda x: x**2,
    {"x": normal(4, 3)},
    {"function": IgnoresStrides},
)
WRONG["an upstream gradient that cannot be viewed"] = (lambda x: x**2, {"x": normal(4, 3)}, {"function": Views})
WRONG["the first entry of the upstream gradient"] = (
    lambda x: x**2,
    {"x": normal(4, 3)},
    {"function": FirstUpstream},
)
WRONG["the saved output overwritten"] = (lambda x: x.exp(), {"x": normal(4, 3)}, {"function": OverwritesOutput})
WRONG["an input read in the order of its memory"] = (
    lambda x: x.sin(),
    {"x": normal(6, 4, dtype=torch.float64).t()},
    {"backward": lambda out, out_g, x: {"x": out_g * x.as_strided(x.shape, torch.empty(x.shape).stride()).cos()}},
)
WRONG["an upstream gradient read as contiguous, in a plain function"] = (
    lambda x: x**2,
    {"x": normal(4, 3)},
    {"backward": lambda out, out_g, x: {"x": 2 * x * out_g.as_strided(x.shape, (x.shape[1], 1))}},
)

# --- wrong: everything else


def wrong(name, forward, inputs, backward):
    WRONG[name] = (forward, inputs, {"backward": backward})


wrong(
    "rope turned the same way",
    rope,
    {"x": normal(2, 6, 8), "cos": COS, "sin": SIN},
    lambda out, out_g, x, cos, sin: {"x": out_g * cos + halves(out_g) * sin},
)
wrong(
    "rope without its cosine",
    rope,
    {"x": normal(2, 6, 8), "cos": COS, "sin": SIN},
    lambda out, out_g, x, cos, sin: {"x": out_g - halves(out_g) * sin},
)
wrong(
    "a parameter in a closure, not transposed",
    lambda x: x @ P,
    {"x": normal(4, 6)},
    lambda out, out_g, x: {"x": out_g @ P.detach().reshape(3, 6)},
)
wrong(
    "a module, its mean",
    LIN,
    {"input": normal(4, 6)},
    lambda out, out_g, input: {"input": out_g @ LIN.weight.detach() / len(input)},
)
wrong(
    "a network, without its activation",
    lambda x: MLP(x),
    {"x": normal(3, 5)},
    lambda out, out_g, x: {"x": out_g @ MLP[2].weight.detach() @ MLP[0].weight.detach()},
)
wrong(
    "a module that is evaluated, without its weight",
    lambda x: BN(x),
    {"x": normal(6, 5)},
    lambda out, out_g, x: {"x": out_g / BN.running_var},
)
wrong(
    "two groups, one softmax",
    groups,
    {"x": normal(3, 6)},
    lambda out, out_g, x: {"x": out * (out_g - (out * out_g).sum(-1, keepdim=True))},
)
wrong(
    "two heads, one scale",
    heads,
    {name: normal(2, 5, 6) for name in "qkv"},
    lambda out, out_g, q, k, v: {
        n: g * (1 if n == "v" else 3**0.5) for n, g in heads_back(out, out_g, q, k, v).items()
    },
)
wrong(
    "pixels shuffled again",
    lambda x: F.pixel_shuffle(x, 2),
    {"x": normal(2, 8, 3, 2)},
    lambda out, out_g, x: {"x": out_g.reshape(x.shape)},
)
wrong(
    "blocks of four rows, summed",
    blocks,
    {"x": normal(8, 3)},
    lambda out, out_g, x: {"x": out_g.repeat_interleave(4, 0)},
)
wrong(
    "pairs, one of them",
    interleaved,
    {"x": normal(3, 5, 4)},
    lambda out, out_g, x: {"x": interleaved_back(out, out_g, x)["x"] * (torch.arange(x.shape[-1]) % 2)},
)
wrong(
    "a straight-through estimator, twice",
    lambda x: x + (x.round() - x).detach(),
    {"x": 3 * normal(4, 5)},
    lambda out, out_g, x: {"x": 2 * out_g},
)
wrong("a running sum, not handed back", cumulated, {"x": normal(5, 3)}, lambda out, out_g, x: {"x": out_g})
wrong(
    "one row's softmax, its diagonal",
    lambda x: x.log_softmax(-1),
    {"x": normal(1, 7)},
    lambda out, out_g, x: {"x": out_g * (1 - out.exp())},
)
wrong(
    "a single number, without itself", lambda x: x.exp(), {"x": torch.tensor(0.3)}, lambda out, out_g, x: {"x": out_g}
)
wrong(
    "a layer of one output, without its 2",
    lambda x, w, y: ((x @ w - y) ** 2).mean(),
    {"x": normal(8, 5), "w": normal(5, 1), "y": normal(8, 1)},
    lambda out, out_g, x, w, y: {"w": out_g * x.T @ (x @ w - y) / len(x)},
)
wrong(
    "weights by functional_call, summed twice",
    lambda x, weight, bias: torch.func.functional_call(LIN, {"weight": weight, "bias": bias}, (x,)),
    {"x": normal(4, 6), "weight": normal(3, 6), "bias": normal(3)},
    lambda out, out_g, x, weight, bias: {"bias": out_g.sum().expand(3)},
)
wrong(
    "the sigmoid of the upstream gradient",
    lambda x: x.sigmoid(),
    {"x": normal(4, 3)},
    lambda out, out_g, x: {"x": out_g.sigmoid() * out * (1 - out)},
)
wrong(
    "nothing where it is negative",
    lambda x: F.leaky_relu(x, 0.1),
    {"x": ZEROS},
    lambda out, out_g, x: {"x": out_g * (x > 0)},
)
wrong("a softmax, without the sum", lambda x: x.softmax(-1), {"x": TIES}, lambda out, out_g, x: {"x": out * out_g})
wrong(
    "an expanded input, summed",
    lambda x, w: x * w,
    {"x": normal(3, 1).expand(3, 4), "w": normal(3, 4)},
    lambda out, out_g, x, w: {"x": (out_g * w).sum(1, keepdim=True), "w": out_g * x},
)
wrong(
    "a view of a part, at the other columns",
    lambda x: x[:, 1::2] ** 2,
    {"x": normal(3, 7)[:, 1:]},
    lambda out, out_g, x: {"x": torch.zeros_like(x).slice_scatter(2 * x[:, 1::2] * out_g, 1, 0, None, 2)},
)

# --- right as given, wrong at sizes that nobody gave ----------------------------


def elsewhere(name, forward, inputs, backward):
    ELSEWHERE[name] = (forward, inputs, {"backward": backward})


elsewhere(
    "a square weight, its transpose forgotten where it has one row",
    lambda x, w: x @ w,
    {"x": normal(5, 4), "w": normal(4, 3)},
    lambda out, out_g, x, w: {"w": x.T @ out_g * (1 if out.shape[1] == 3 else 2)},
)
elsewhere(
    "a mean over rows of one output",
    lambda x, w, y: ((x @ w - y) ** 2).mean(),
    {"x": normal(8, 5), "w": normal(5, 1), "y": normal(8, 1)},
    lambda out, out_g, x, w, y: {"w": out_g * 2 * x.T @ (x @ w - y) / len(x)},
)
elsewhere(
    "the tail of a block of eight",
    lambda x: x**2,
    {"x": normal(16, 3)},
    lambda out, out_g, x: {"x": torch.cat([(2 * x * out_g)[: len(x) // 8 * 8], torch.zeros(len(x) % 8, x.shape[1])])},
)
elsewhere(
    "a scale that is typed in",
    lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,
    {"q": normal(5, 4), "k": normal(3, 4)},
    lambda out, out_g, q, k: {"q": out_g @ k / 2, "k": out_g.mT @ q / 2},
)
elsewhere(
    "a batch that is typed in",
    lambda x: (x**2).mean(0),
    {"x": normal(6, 3)},
    lambda out, out_g, x: {"x": 2 * x * out_g / 6},
)
elsewhere(
    "halves of an even row",
    lambda x: x - halves(x),
    {"x": normal(3, 6)},
    lambda out, out_g, x: {"x": out_g - halves_back(out_g)},
)
elsewhere(
    "the variance of eight",
    lambda x: x.var(-1),
    {"x": normal(4, 8)},
    lambda out, out_g, x: {"x": out_g[:, None] * (x - x.mean(-1, keepdim=True)) * 2 / 7},
)
elsewhere(
    "a kernel of three",
    lambda x, w: F.conv1d(x, w, padding=w.shape[-1] // 2),
    {"x": normal(2, 3, 8), "w": normal(4, 3, 3)},
    lambda out, out_g, x, w: {"x": F.conv_transpose1d(out_g, w, padding=1)},
)
elsewhere(
    "three classes",
    lambda x: x.log_softmax(-1),
    {"x": normal(5, 3)},
    lambda out, out_g, x: {"x": out_g - out.exp() * out_g[:, :3].sum(-1, keepdim=True)},
)
elsewhere(
    "rows of four at most",
    lambda x: x.cumsum(0),
    {"x": normal(4, 3)},
    lambda out, out_g, x: {"x": torch.cat([out_g[:4].flip(0).cumsum(0).flip(0), out_g[4:]])},
)
