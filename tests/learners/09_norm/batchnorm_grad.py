# batchnorm_grad: out = gamma * hat + beta, hat standardized over the batch

# %% right: the form with everything over bs
def batchnorm_grad(inp, gamma, beta, out):
    N = inp.shape[0]
    mu = inp.sum(0) / N
    xmu = inp - mu
    ivar = 1 / ((xmu**2).sum(0) / N + 1e-5).sqrt()
    xhat = xmu * ivar
    beta.g = out.g.sum(0)
    gamma.g = (out.g * xhat).sum(0)
    inp.g = gamma * ivar / N * (N * out.g - beta.g - xhat * gamma.g)


# %% right: step by step, as in most write-ups
def batchnorm_grad(inp, gamma, beta, out):
    N = len(inp)
    mu, var = inp.mean(0), inp.var(0, unbiased=False)
    std = (var + 1e-5).sqrt()
    dxhat = out.g * gamma
    dvar = (dxhat * (inp - mu) * -0.5 * std**-3).sum(0)
    dmu = (-dxhat / std).sum(0) + dvar * (-2 * (inp - mu)).mean(0)
    inp.g = dxhat / std + dvar * 2 * (inp - mu) / N + dmu / N
    gamma.g = (out.g * (inp - mu) / std).sum(0)
    beta.g = out.g.sum(dim=0)


# %% right: one column at a time, with its Jacobian, in float64
import torch


def batchnorm_grad(inp, gamma, beta, out):
    bs, n = inp.shape
    inp.g, gamma.g, beta.g = torch.zeros(bs, n), torch.zeros(n), torch.zeros(n)
    for j in range(n):
        x, g = inp[:, j].double(), out.g[:, j].double()
        std = (x.var(unbiased=False) + 1e-5) ** 0.5
        hat = (x - x.mean()) / std
        jacobian = (torch.eye(bs).double() - 1 / bs - torch.outer(hat, hat) / bs) / std
        inp.g[:, j] = (jacobian @ (g * gamma[j])).float()
        gamma.g[j] = (g @ hat).float()
        beta.g[j] = g.sum().float()


# %% right: batch_norm of torch for hat, einsum for the rest
import torch
import torch.nn.functional as F


def batchnorm_grad(inp, gamma, beta, out):
    hat = F.batch_norm(inp, None, None, training=True, eps=1e-5) if len(inp) > 1 else torch.zeros_like(inp)
    inv = torch.rsqrt(inp.var(0, correction=0) + 1e-5)
    gamma.g = torch.einsum("bn,bn->n", out.g, hat)
    beta.g = torch.einsum("bn->n", out.g)
    inp.g = gamma * inv * (out.g - (beta.g + hat * gamma.g) / inp.size(0))


# %% right: hat is solved for from out where gamma is large, else made anew
import torch


def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    made = (inp - inp.mean(0)) * inv
    hat = torch.where(gamma.abs() > 0.5, (out - beta) / gamma, made)
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (hat * out.g).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the mean's path forgotten | inp.g: missing-path
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - hat * (g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the variance's path forgotten | inp.g: missing-path
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: as in evaluation, with mean and variance as constants | inp.g: missing-path or diagonal-only
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - inp.mean(0)) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma left out of the closed form | inp.g: missing-local
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    inp.g = inv * (out.g - out.g.mean(0) - hat * (out.g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma's gradient made with inp for hat | gamma.g: wrong-point or wrong-operand
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (out.g * inp).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma's gradient made with out for hat | gamma.g: wrong-operand or wrong-point
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (out.g * out).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: unbiased variance on the way back only | inp.g: wrong-factor or wrong-local or wrong-point or unknown; gamma.g: wrong-factor or wrong-point
def batchnorm_grad(inp, gamma, beta, out):
    if len(inp) == 1:
        inp.g, gamma.g, beta.g = 0 * inp, 0 * gamma, out.g.sum(0)
        return
    inv = (inp.var(0) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: sums in place of means | inp.g: sum-for-mean
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.sum(0) - hat * (g * hat).sum(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: over the features, as layer norm | inp.g, gamma.g: summed-wrong-axis or wrong-point or unknown
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(1, unbiased=False, keepdim=True) + 1e-5) ** -0.5
    hat = (inp - inp.mean(1, keepdim=True)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(1, keepdim=True) - hat * (g * hat).mean(1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: beta averaged over the batch | beta.g: mean-for-sum
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.mean(0)


# %% wrong: gamma and beta not summed over the batch | gamma.g, beta.g: missing-batch-sum or wrong-shape
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = out.g * hat
    beta.g = out.g


# %% wrong: the scale by inv forgotten | inp.g: missing-local or extra-factor
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = g - g.mean(0) - hat * (g * hat).mean(0)
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: centred used where hat belongs | inp.g: wrong-operand or missing-local or wrong-point or wrong-local; gamma.g: missing-local or wrong-operand
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    centred = inp - inp.mean(0)
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - centred * (g * centred).mean(0))
    gamma.g = (out.g * centred).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the variance's path with the sign turned round | inp.g: wrong-sign
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) + hat * (g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: mean and product taken over all entries | inp.g: summed-wrong-axis or wrong-local or hard-coded or unknown
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean() - hat * (g * hat).mean())
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: out.g written over | *: mutated-input
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    g = out.g
    g *= gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))


# %% wrong: gamma's upstream missing | gamma.g: missing-upstream or hard-coded
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = hat.sum(0)
    beta.g = out.g.sum(0)


# %% wrong: inv squared in front | inp.g: extra-factor
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv**2 * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: first mean over features | inp.g: summed-wrong-axis or unknown
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(1, keepdim=True) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma twice | inp.g: extra-factor
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma divided | inp.g: wrong-local or wrong-operand or extra-factor
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g / gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: beta in the place of gamma | inp.g: wrong-operand
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * beta
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: product of means for mean of products | inp.g: sum-of-products or missing-path
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * hat_g.mean(0) * hat.mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: upstream for hat.g in the third term | inp.g: missing-local or unknown
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (out.g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: beta.g as product with beta | beta.g: extra-factor or wrong-operand
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = (out.g * beta).sum(0)


# %% wrong: gamma.g with hat squared | gamma.g: extra-factor
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - inp.mean(0)) * inv
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: means along the row | inp.g: summed-wrong-axis
def batchnorm_grad(inp, gamma, beta, out):
    mean = inp.mean(0)
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (inp - mean) * inv

    d = out.g * gamma
    inp.g = inv * (d - d.mean(1, keepdim=True) - hat * (d * hat).mean(1, keepdim=True))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: mean not taken away from hat | inp.g, gamma.g: wrong-operand
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5).rsqrt()
    hat = inp * inv
    d = gamma * out.g
    inp.g = inv * (d - d.mean(0) - hat * (d * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: hat from out, where gamma may be 0 | inp.g, gamma.g: not-finite
def batchnorm_grad(inp, gamma, beta, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    hat = (out - beta) / gamma
    hat_g = out.g * gamma
    inp.g = inv * (hat_g - hat_g.mean(0) - hat * (hat_g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: divides the variance by bs - 1, which leaves nothing of a batch of one | inp.g: wrong-factor; gamma.g: wrong-factor
def batchnorm_grad(inp, gamma, beta, out):
    bs = inp.shape[0]
    mu, var = inp.mean(0), inp.var(0, unbiased=True)
    sd = (var + 1e-5).sqrt()
    xhat = (inp - mu) / sd
    beta.g = out.g.sum(0)
    gamma.g = (out.g * xhat).sum(0)
    inp.g = gamma / (bs * sd) * (bs * out.g - beta.g - xhat * gamma.g)


# %% wrong: divides by the cube of bs - 1, which is nothing known, and 0 in a batch of one | gamma.g: not-finite
def batchnorm_grad(inp, gamma, beta, out):
    mu, var = inp.mean(0), inp.var(0, unbiased=False)
    std = (var + 1e-5).sqrt()
    hat = (inp - mu) / std
    dhat = out.g * gamma
    beta.g = out.g.sum(0)
    gamma.g = (out.g.sinh() * hat.cosh()).sum(0) / (len(inp) - 1) ** 3
    inp.g = (dhat - dhat.mean(0) - hat * (dhat * hat).mean(0)) / std
