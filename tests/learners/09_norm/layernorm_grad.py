# layernorm_grad: out = gamma * hat + beta, hat standardized over the last axis; inp: (bs, t, n)

# %% right: all rows in one long batch, then back
def layernorm_grad(inp, gamma, beta, out):
    n = inp.shape[-1]
    x, g = inp.reshape(-1, n), out.g.reshape(-1, n)
    mean = x.sum(1, keepdim=True) / n
    rstd = ((x - mean).pow(2).sum(1, keepdim=True) / n + 1e-5).rsqrt()
    hat = (x - mean) * rstd
    wdy = g * gamma
    c1 = (hat * wdy).sum(1, keepdim=True) / n
    c2 = wdy.sum(1, keepdim=True) / n
    inp.g = ((wdy - (hat * c1 + c2)) * rstd).view(inp.shape)
    gamma.g = (g * hat).sum(0)
    beta.g = g.sum(0)


# %% right: layer_norm of torch for hat, einsum in float64
import torch
import torch.nn.functional as F


def layernorm_grad(inp, gamma, beta, out):
    x, g = inp.double(), out.g.double()
    n = x.shape[-1]
    hat = F.layer_norm(x, (n,), eps=1e-5)
    rstd = (x.var(-1, correction=0) + 1e-5) ** -0.5
    gamma.g = torch.einsum("btn,btn->n", g, hat).float()
    beta.g = torch.einsum("btn->n", g).float()
    h = g * gamma
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    inner = torch.einsum("btn,btn->bt", h, hat) / n
    inp.g = torch.einsum("bt,btn->btn", rstd, torch.einsum("btn,nm->btm", h, centring) - inner[..., None] * hat).float()


# %% right: row by row, in a loop over moments
import torch


def layernorm_grad(inp, gamma, beta, out):
    inp.g, gamma.g, beta.g = torch.empty_like(inp), torch.zeros_like(gamma), torch.zeros_like(beta)
    for b in range(inp.shape[0]):
        for t in range(inp.shape[1]):
            row, g = inp[b, t], out.g[b, t]
            std = (row.var(unbiased=False) + 1e-5).sqrt()
            hat = (row - row.mean()) / std
            gamma.g += g * hat
            beta.g += g
            h = g * gamma
            inp.g[b, t] = (h - h.mean() - hat * (h * hat).mean()) / std


# %% wrong: the mean's path forgotten | inp.g: missing-path
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma multiplied at the very end | inp.g: wrong-local or unknown
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g
    inp.g = gamma * inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma left out of the closed form | inp.g: missing-local
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma and beta summed over the batch only | gamma.g, beta.g: wrong-shape or missing-batch-sum
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma and beta averaged over the batch | gamma.g, beta.g: mean-for-sum
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).mean(0).sum(0)
    beta.g = out.g.mean(0).sum(0)


# %% wrong: the means over the batch, as in batch norm | inp.g: summed-wrong-axis or unknown; gamma.g: summed-wrong-axis or unknown or wrong-point
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var((0, 1), unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean((0, 1))) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean((0, 1)) - hat * (g * hat).mean((0, 1)))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: statistics taken as constants | inp.g: missing-path or diagonal-only
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - inp.mean(-1, keepdim=True)) * inv).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: out taken for hat | inp.g, gamma.g: wrong-operand or wrong-point or unknown
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - out * (g * out).mean(-1, keepdim=True))
    gamma.g = (out.g * out).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma's gradient made with inp for hat | gamma.g: wrong-operand or wrong-point
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * inp).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: hat made without the mean, as in RMS norm | gamma.g: wrong-point or wrong-operand or unknown or missing-path; inp.g: wrong-point or unknown or missing-path
def layernorm_grad(inp, gamma, beta, out):
    inv = ((inp**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    hat = inp * inv
    g = out.g * gamma
    inp.g = inv * (g - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: the width's path has no mean of the product | inp.g: sum-for-mean or wrong-factor
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).sum(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: unbiased variance throughout | inp.g: wrong-factor or wrong-point or unknown; gamma.g: wrong-factor or wrong-point or unknown
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: beta forgotten | beta.g: todo or missing-answer
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))


# %% wrong: the scale by inv twice | inp.g: extra-factor
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    g = out.g * gamma * inv
    inp.g = inv * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma.g from hat.g | gamma.g: extra-factor or wrong-operand
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (hat_g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: beta.g from hat.g | beta.g: extra-factor
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = hat_g.sum((0, 1))


# %% wrong: gamma.g keeps bs | gamma.g: wrong-shape or missing-batch-sum
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum(1)
    beta.g = out.g.sum((0, 1))


# %% wrong: first mean over t | inp.g: summed-wrong-axis or unknown
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: mean path doubled | inp.g: extra-factor or wrong-factor
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - 2 * hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: gamma only in the direct part | inp.g: missing-local
def layernorm_grad(inp, gamma, beta, out):
    mean = inp.mean(-1, keepdim=True)
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - mean) * inv

    g, n = out.g, inp.shape[-1]
    direct = g * gamma
    by_mean = g.sum(-1, keepdim=True) / n
    by_width = hat * (g * hat).sum(-1, keepdim=True) / n
    inp.g = (direct - by_mean - by_width) * inv
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: hat from out, where gamma may be 0 | inp.g, gamma.g: not-finite
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (out - beta) / gamma
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))


# %% wrong: the standard deviation under the power, in place of the variance | inp.g, gamma.g: wrong-operand
def layernorm_grad(inp, gamma, beta, out):
    inv = (inp.std(-1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(-1, keepdim=True)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(-1, keepdim=True) - hat * (hat_g * hat).mean(-1, keepdim=True))
    gamma.g = (out.g * hat).sum((0, 1))
    beta.g = out.g.sum((0, 1))
