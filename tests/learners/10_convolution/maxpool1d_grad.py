# maxpool1d_grad: out = inp.unfold(-1, size, step).max(-1).values

# %% wrong: every winner of a window gets all of its gradient | inp.g: wrong-local
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step : i * step + size]
        inp.g[..., i * step : i * step + size] += (window == out[..., i, None]) * out.g[..., i, None]


# %% right: max_pool1d of torch that tells the places, index_add in a flat view
import torch
import torch.nn.functional as F


def maxpool1d_grad(inp, out, size, step):
    _, where = F.max_pool1d(inp, size, step, return_indices=True)
    rows = torch.arange(inp.shape[0] * inp.shape[1]).view(*inp.shape[:2], 1) * inp.shape[2]
    flat = torch.zeros(inp.numel()).index_add(0, (rows + where).reshape(-1), out.g.reshape(-1))
    inp.g = flat.view(inp.shape)


# %% right: one-hot winners, einsum, float64
import torch


def maxpool1d_grad(inp, out, size, step):
    windows = inp.unfold(-1, size, step)
    hot = torch.nn.functional.one_hot(windows.argmax(-1), size).double()
    place = torch.eye(inp.shape[-1]).double().unfold(-1, size, step)
    inp.g = torch.einsum("bcw,bcws,tws->bct", out.g.double(), hot, place).float()


# %% wrong: assigned, so that a winner of two windows hears one | inp.g: overwritten
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    places = inp.unfold(-1, size, step).argmax(-1) + step * torch.arange(out.shape[-1])
    inp.g.scatter_(-1, places, out.g)


# %% wrong: windows assigned as a whole | inp.g: overwritten
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step : i * step + size]
        inp.g[..., i * step : i * step + size] = (window == out[..., i, None]) * out.g[..., i, None]


# %% wrong: every entry of a window hears it | inp.g: missing-local
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        inp.g[..., i * step : i * step + size] += out.g[..., i, None]


# %% wrong: shared among the window, as in average pooling | inp.g: wrong-local or mean-for-sum or wrong-graph or unknown
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        inp.g[..., i * step : i * step + size] += out.g[..., i, None] / size


# %% wrong: ones where a window is won | inp.g: missing-upstream
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    places = inp.unfold(-1, size, step).argmax(-1) + step * torch.arange(out.shape[-1])
    inp.g = inp.g.scatter_add(-1, places, torch.ones_like(out.g))


# %% wrong: the window's start forgotten | inp.g: wrong-local or unknown or overwritten
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmax(-1)
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g)


# %% wrong: starts size apart, not step | inp.g: hard-coded or error or unknown
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmax(-1) + size * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places.clamp(max=inp.shape[-1] - 1), out.g)


# %% wrong: the losers hear it | inp.g: inverted-mask
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step : i * step + size]
        inp.g[..., i * step : i * step + size] += (window != out[..., i, None]) * out.g[..., i, None]


# %% wrong: the smallest of each window | inp.g: inverted-mask or wrong-local or wrong-point
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmin(-1) + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g)


# %% wrong: the winner's value as a factor | inp.g: extra-factor or wrong-operand
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmax(-1) + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g * out)


# %% wrong: out for out.g | inp.g: value-for-gradient
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmax(-1) + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out)


# %% wrong: shaped like out | inp.g: wrong-shape or missing-local
def maxpool1d_grad(inp, out, size, step):
    inp.g = out.g.clone()


# %% wrong: the first entry of each window | inp.g: wrong-local or hard-coded or missing-path or unknown or wrong-point
import torch


def maxpool1d_grad(inp, out, size, step):
    places = (step * torch.arange(out.shape[-1])).expand(out.shape)
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g)


# %% wrong: the last window forgotten | inp.g: missing-path or partial-batch or unknown
import torch


def maxpool1d_grad(inp, out, size, step):
    places = inp.unfold(-1, size, step).argmax(-1) + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places[..., :-1], out.g[..., :-1])


# %% wrong: winner one late | inp.g: wrong-operand or error
import torch


def maxpool1d_grad(inp, out, size, step):
    winners = inp.unfold(-1, size, step).argmax(-1)
    places = winners + 1 + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g)


# %% wrong: mean over winners | inp.g: mean-for-sum or wrong-factor
import torch


def maxpool1d_grad(inp, out, size, step):
    winners = inp.unfold(-1, size, step).argmax(-1)
    places = winners + step * torch.arange(out.shape[-1])
    inp.g = torch.zeros_like(inp).scatter_add(-1, places, out.g) / size


# %% wrong: none of the gradient where a window has its largest entry twice | inp.g: wrong-local
import torch


def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step : i * step + size]
        top = (window == out[..., i, None]).float()
        alone = top.sum(-1, keepdim=True) == 1
        inp.g[..., i * step : i * step + size] += top * alone * out.g[..., i, None]


# %% wrong: one winner for all windows of a row | inp.g: wrong-operand
import torch
import torch.nn.functional as F


def maxpool1d_grad(inp, out, size, step):
    winner = F.one_hot(inp.max(-1).indices, inp.shape[-1]).to(inp.dtype)
    inp.g = winner * out.g.sum(-1)[..., None]
