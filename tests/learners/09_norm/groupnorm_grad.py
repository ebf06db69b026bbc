# groupnorm_grad: out = gamma[:, None] * hat + beta[:, None], hat standardized in each group of channels

# %% right: one group after the other
import torch


def groupnorm_grad(inp, gamma, beta, out, groups):
    size = inp.shape[1] // groups
    inp.g = torch.zeros_like(inp)
    gamma.g, beta.g = torch.zeros_like(gamma), torch.zeros_like(beta)
    for k in range(groups):
        c = slice(k * size, (k + 1) * size)
        x, g = inp[:, c], out.g[:, c]
        std = (x.var((1, 2), unbiased=False, keepdim=True) + 1e-5).sqrt()
        hat = (x - x.mean((1, 2), keepdim=True)) / std
        gamma.g[c] = (g * hat).sum((0, 2))
        beta.g[c] = g.sum((0, 2))
        h = g * gamma[c, None]
        inp.g[:, c] = (h - h.mean((1, 2), keepdim=True) - hat * (h * hat).mean((1, 2), keepdim=True)) / std


# %% right: group_norm of torch for hat, einsum in float64
import torch
import torch.nn.functional as F


def groupnorm_grad(inp, gamma, beta, out, groups):
    x, g = inp.double(), out.g.double()
    hat = F.group_norm(x, groups, eps=1e-5)
    gamma.g = torch.einsum("bcl,bcl->c", g, hat).float()
    beta.g = torch.einsum("bcl->c", g).float()
    shape = (len(x), groups, x.shape[1] // groups, x.shape[2])
    h, hat = torch.einsum("bcl,c->bcl", g, gamma.double()).reshape(shape), hat.reshape(shape)
    rstd = (x.reshape(shape).var((2, 3), unbiased=False, keepdim=True) + 1e-5).rsqrt()
    back = rstd * (h - h.mean((2, 3), keepdim=True) - hat * (h * hat).mean((2, 3), keepdim=True))
    inp.g = back.reshape(x.shape).float()


# %% right: rows of a flat view, as in layer norm
def groupnorm_grad(inp, gamma, beta, out, groups):
    bs, c, l = inp.shape
    rows = inp.reshape(bs * groups, -1)
    std = (rows.var(1, correction=0, keepdim=True) + 1e-5) ** 0.5
    hat = (rows - rows.mean(1, keepdim=True)) / std
    h = (out.g * gamma.view(c, 1)).reshape(bs * groups, -1)
    h = h - h.mean(1, keepdim=True)
    inp.g = ((h - hat * (h * hat).mean(1, keepdim=True)) / std).view(bs, c, l)
    by_channel = lambda t: t.reshape(bs, c, l).transpose(0, 1).reshape(c, -1).sum(1)
    gamma.g, beta.g = by_channel(out.g * hat.view(bs, c, l)), by_channel(out.g)


# %% wrong: all channels in one group | inp.g, gamma.g: hard-coded or wrong-point or unknown or summed-wrong-axis
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), 1, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: each channel its own group | inp.g, gamma.g: summed-wrong-axis
def groupnorm_grad(inp, gamma, beta, out, groups):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    h = out.g * gamma[:, None]
    inp.g = inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: groups taken for the size of a group | inp.g, gamma.g: summed-wrong-axis
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), inp.shape[1] // groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: the mean's path forgotten | inp.g: missing-path
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: the variance's path forgotten | inp.g: missing-path
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: gamma forgotten on the way to inp | inp.g: missing-local
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = out.g.reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: gamma multiplied after the means | inp.g: wrong-local or unknown
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = out.g.reshape(x.shape)
    back = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    inp.g = back * gamma[:, None]
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: summed over the batch but not over places | gamma.g, beta.g: wrong-shape or missing-batch-sum
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: averaged over the batch | gamma.g, beta.g: mean-for-sum
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).mean(0).sum(1)
    beta.g = out.g.mean(0).sum(1)


# %% wrong: gamma's gradient made with inp | gamma.g: wrong-operand or wrong-point
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))).reshape(inp.shape)
    gamma.g = (out.g * inp).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: left in the shape of the groups | inp.g: wrong-shape
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = inv * (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: the scale by inv forgotten | inp.g: missing-local or extra-factor or unknown
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    h = (out.g * gamma[:, None]).reshape(x.shape)
    inp.g = (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True)).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: statistics taken as constants | inp.g: missing-path or diagonal-only
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    inp.g = ((out.g * gamma[:, None]).reshape(x.shape) * inv).reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: gamma along the places | inp.g, gamma.g, beta.g: error or broadcast-accident
def groupnorm_grad(inp, gamma, beta, out, groups):
    grouped = inp.reshape(len(inp), groups, -1)
    inv = (grouped.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (grouped - grouped.mean(-1, keepdim=True)) * inv
    hat_g = (out.g * gamma).reshape(grouped.shape)
    grouped_g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    inp.g = grouped_g.reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: beta.g over examples and channels | beta.g: wrong-shape or summed-wrong-axis
def groupnorm_grad(inp, gamma, beta, out, groups):
    grouped = inp.reshape(len(inp), groups, -1)
    inv = (grouped.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (grouped - grouped.mean(-1, keepdim=True)) * inv
    hat_g = (out.g * gamma.unsqueeze(-1)).reshape(grouped.shape)
    grouped_g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    inp.g = grouped_g.reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 1))


# %% wrong: mean term added | inp.g: wrong-sign
def groupnorm_grad(inp, gamma, beta, out, groups):
    grouped = inp.reshape(len(inp), groups, -1)
    inv = (grouped.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (grouped - grouped.mean(-1, keepdim=True)) * inv
    hat_g = (out.g * gamma.unsqueeze(-1)).reshape(grouped.shape)
    grouped_g = inv * (hat_g + hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    inp.g = grouped_g.reshape(inp.shape)
    gamma.g = (out.g * hat.reshape(inp.shape)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: means of each channel alone | inp.g: summed-wrong-axis
def groupnorm_grad(inp, gamma, beta, out, groups):
    bs, c, l = inp.shape
    x = inp.view(bs, groups, c // groups, l)
    std = (x.var((2, 3), unbiased=False, keepdim=True) + 1e-5).sqrt()
    hat = (x - x.mean((2, 3), keepdim=True)) / std
    d = (out.g * gamma[:, None]).view_as(x)
    inp.g = ((d - d.mean(3, keepdim=True) - hat * (d * hat).mean(3, keepdim=True)) / std).reshape(bs, c, l)
    gamma.g = (out.g * hat.reshape(bs, c, l)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: every k-th channel in one group | inp.g, gamma.g: reshape-for-transpose
def groupnorm_grad(inp, gamma, beta, out, groups):
    bs, c, l = inp.shape
    x = inp.view(bs, c // groups, groups, l)
    std = (x.var((1, 3), unbiased=False, keepdim=True) + 1e-5).sqrt()
    hat = (x - x.mean((1, 3), keepdim=True)) / std
    d = (out.g * gamma[:, None]).view_as(x)
    inp.g = ((d - d.mean((1, 3), keepdim=True) - hat * (d * hat).mean((1, 3), keepdim=True)) / std).reshape(bs, c, l)
    gamma.g = (out.g * hat.reshape(bs, c, l)).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: gamma multiplied in at the end | inp.g: wrong-local
def groupnorm_grad(inp, gamma, beta, out, groups):
    bs, c, l = inp.shape
    rows = inp.reshape(bs, groups, -1)
    std = (rows.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    hat = (rows - rows.mean(-1, keepdim=True)) / std
    d = out.g.reshape(bs, groups, -1)
    grad = (d - d.mean(-1, keepdim=True) - hat * (d * hat).mean(-1, keepdim=True)) / std
    inp.g = grad.reshape(bs, c, l) * gamma[:, None]
    hat = hat.reshape(bs, c, l)
    gamma.g = (out.g * hat).sum((0, 2))
    beta.g = out.g.sum((0, 2))


# %% wrong: hat from out, where gamma may be 0 | gamma.g: not-finite
def groupnorm_grad(inp, gamma, beta, out, groups):
    x = inp.reshape(len(inp), groups, -1)
    inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (x - x.mean(-1, keepdim=True)) * inv
    hat_g = (out.g * gamma.unsqueeze(-1)).reshape(x.shape)
    back = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    inp.g = back.reshape(inp.shape)
    gamma.g = (out.g * (out - beta.unsqueeze(-1)) / gamma.unsqueeze(-1)).sum((0, 2))
    beta.g = out.g.sum((0, 2))
