# avgpool2d_grad: out = torch.nn.functional.avg_pool2d(inp, size)

# %% right: kron with a square of ones, float64
import torch


def avgpool2d_grad(inp, out, size):
    tile = torch.ones(size, size, dtype=torch.float64) / size**2
    spread = torch.kron(out.g.double(), tile).float()
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% right: conv_transpose of torch, channel by channel
import torch
import torch.nn.functional as F


def avgpool2d_grad(inp, out, size):
    c = inp.shape[1]
    w = torch.full((c, 1, size, size), 1 / size**2)
    g = F.conv_transpose2d(out.g, w, stride=size, groups=c)
    inp.g = F.pad(g, (0, inp.shape[3] - g.shape[3], 0, inp.shape[2] - g.shape[2]))


# %% right: expanded, then reshaped
import torch


def avgpool2d_grad(inp, out, size):
    bs, c, h, w = out.shape
    tiles = (out.g / (size * size))[:, :, :, None, :, None].expand(bs, c, h, size, w, size)
    inp.g = torch.zeros(inp.shape)
    inp.g[:, :, : h * size, : w * size] = tiles.reshape(bs, c, h * size, w * size)


# %% right: a loop over squares
import torch


def avgpool2d_grad(inp, out, size):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            inp.g[:, :, i * size : (i + 1) * size, j * size : (j + 1) * size] += out.g[:, :, i : i + 1, j : j + 1] / size**2


# %% wrong: not shared out | inp.g: sum-for-mean or missing-local
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3)
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: divided by size once | inp.g: wrong-factor or missing-local or sum-for-mean
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: squares tiled in place of stretched | inp.g: reshape-for-transpose
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat(1, 1, size, size) / size**2
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: only the first entry of each square | inp.g: missing-path or wrong-local or unknown or partial-batch
import torch


def avgpool2d_grad(inp, out, size):
    h, w = out.shape[2] * size, out.shape[3] * size
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, :h:size, :w:size] = out.g / size**2


# %% wrong: to the largest entry, as in max pooling | inp.g: wrong-local or wrong-graph or unknown
import torch
import torch.nn.functional as F


def avgpool2d_grad(inp, out, size):
    _, where = F.max_pool2d(inp, size, return_indices=True)
    flat = torch.zeros(*inp.shape[:2], inp[0, 0].numel()).scatter_add(-1, where.flatten(2), out.g.flatten(2))
    inp.g = flat.view(inp.shape)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def avgpool2d_grad(inp, out, size):
    h, w = out.shape[2] * size, out.shape[3] * size
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, :h, :w] = 1 / size**2


# %% wrong: rows and columns left over forgotten | inp.g: wrong-shape
def avgpool2d_grad(inp, out, size):
    inp.g = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**2


# %% wrong: left at the size of out | inp.g: wrong-shape or missing-local
def avgpool2d_grad(inp, out, size):
    inp.g = out.g / size**2


# %% wrong: divided by the number of squares | inp.g: wrong-factor or mean-for-sum
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / (out.shape[2] * out.shape[3])
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: size fixed at 2 | inp.g: hard-coded or error
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(2, 2).repeat_interleave(2, 3) / 4
    inp.g = torch.zeros_like(inp)
    part = inp.g[..., : spread.shape[2], : spread.shape[3]]
    part += spread[..., : part.shape[2], : part.shape[3]]


# %% wrong: divided by size to the fourth | inp.g: wrong-factor or extra-factor or mean-for-sum
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**4
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: multiplied by inp | inp.g: extra-factor or wrong-operand
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**2
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread
    inp.g = inp.g * inp


# %% wrong: the values of out, not its gradient | inp.g: value-for-gradient
import torch


def avgpool2d_grad(inp, out, size):
    spread = out.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**2
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: sign turned round | inp.g: wrong-sign
import torch


def avgpool2d_grad(inp, out, size):
    spread = -out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / size**2
    inp.g = torch.zeros_like(inp)
    inp.g[..., : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: size added instead of squared | inp.g: wrong-factor
def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 3) / (size + size)
    inp.g = inp.new_zeros(inp.shape)
    inp.g[:, :, : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: axes stretched twice along rows | inp.g: error or wrong-shape
def avgpool2d_grad(inp, out, size):
    spread = out.g.repeat_interleave(size, 2).repeat_interleave(size, 2) / size**2
    inp.g = inp.new_zeros(inp.shape)
    inp.g[:, :, : spread.shape[2], : spread.shape[3]] = spread


# %% wrong: stretched over the rows and columns that no window reached | inp.g: shape-special
import torch


def avgpool2d_grad(inp, out, size):
    (h, w), (rows, columns) = out.shape[-2:], inp.shape[-2:]
    which = torch.arange(rows) * h // rows, torch.arange(columns) * w // columns
    inp.g = out.g[:, :, which[0]][:, :, :, which[1]] / size**2
