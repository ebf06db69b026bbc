# batchnorm_eval_grad: out = gamma * (inp - mean) / (var + 1e-5).sqrt() + beta, mean and var constants

# %% right: one number for each column, in a loop
import torch


def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g, gamma.g, beta.g = torch.zeros_like(inp), torch.zeros_like(gamma), torch.zeros_like(beta)
    for j in range(inp.shape[1]):
        scale = 1 / (var[j] + 1e-5) ** 0.5
        for i in range(inp.shape[0]):
            inp.g[i, j] = out.g[i, j] * gamma[j] * scale
            gamma.g[j] += out.g[i, j] * (inp[i, j] - mean[j]) * scale
            beta.g[j] += out.g[i, j]


# %% right: einsum, float64
import torch


def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    g, inv = out.g.double(), torch.rsqrt(var.double() + 1e-5)
    inp.g = torch.einsum("bn,n,n->bn", g, gamma.double(), inv).float()
    gamma.g = torch.einsum("bn,bn,n->n", g, inp.double() - mean, inv).float()
    beta.g = torch.einsum("bn->n", g).float()


# %% right: batch_norm of torch with gamma 1 and beta 0 as hat
import torch
import torch.nn.functional as F


def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    hat = F.batch_norm(inp, mean, var, training=False, eps=1e-5)
    gamma.g = torch.ones(1, len(inp)) @ (out.g * hat)
    gamma.g = gamma.g[0]
    beta.g = torch.ones(len(inp)) @ out.g
    inp.g = out.g @ torch.diag(gamma / (var + 1e-5).sqrt())


# %% wrong: the batch's own mean and variance | inp.g, gamma.g: wrong-point
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (inp.var(0, unbiased=False) + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - inp.mean(0)) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the closed form of training | inp.g: wrong-graph or wrong-local
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    hat = (inp - mean) * inv
    g = out.g * gamma
    inp.g = inv * (g - g.mean(0) - hat * (g * hat).mean(0))
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma forgotten | inp.g: missing-local
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the root forgotten | inp.g: wrong-local or missing-local or extra-factor; gamma.g: wrong-local or missing-local or wrong-point or extra-factor
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = 1 / (var + 1e-5)
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: multiplied by the root | inp.g: wrong-local or wrong-operand or extra-factor
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    std = (var + 1e-5) ** 0.5
    inp.g = out.g * gamma * std
    gamma.g = (out.g * (inp - mean) / std).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma's gradient made with inp | gamma.g: wrong-operand or wrong-point
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma * (var + 1e-5) ** -0.5
    gamma.g = (out.g * inp).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: gamma's gradient made with out | gamma.g: wrong-operand or wrong-point
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma * (var + 1e-5) ** -0.5
    gamma.g = (out.g * out).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the mean not subtracted for gamma | gamma.g: wrong-point or missing-path or missing-local or wrong-operand
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * inp * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: eps forgotten for a variance that is added by hand wrongly | inp.g: wrong-point or wrong-local or hard-coded or unknown
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma * (var + 1e-1) ** -0.5
    gamma.g = (out.g * (inp - mean) * (var + 1e-5) ** -0.5).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: beta averaged | beta.g: mean-for-sum
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.mean(0)


# %% wrong: beta is given inp.g's sum | beta.g: extra-factor or wrong-operand or unknown
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = inp.g.sum(0)


# %% wrong: upstream gradient missing everywhere | inp.g, gamma.g: missing-upstream; beta.g: missing-upstream or hard-coded
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = (gamma * inv).expand(inp.shape).clone()
    gamma.g = ((inp - mean) * inv).sum(0)
    beta.g = inp.new_full(beta.shape, len(inp))


# %% wrong: gamma summed over the features | gamma.g: wrong-shape or summed-wrong-axis; beta.g: wrong-shape or summed-wrong-axis
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(1)
    beta.g = out.g.sum(1)


# %% wrong: sign of the difference turned round for gamma | gamma.g: wrong-sign
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv
    gamma.g = (out.g * (mean - inp) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: not scaled by the width for gamma | gamma.g: missing-local or extra-factor
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma * (var + 1e-5) ** -0.5
    gamma.g = (out.g * (inp - mean)).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: inv squared | inp.g: extra-factor or missing-local
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * gamma * inv**2
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: beta for gamma | inp.g: wrong-operand
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inv = (var + 1e-5) ** -0.5
    inp.g = out.g * beta * inv
    gamma.g = (out.g * (inp - mean) * inv).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: hat from out, where gamma may be 0 | gamma.g: not-finite or imprecise
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma / (var + 1e-5).sqrt()
    gamma.g = (out.g * (out - beta) / gamma).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: the 1e-5 that is added to the variance is left out | inp.g, gamma.g: wrong-point or wrong-local or wrong-operand
def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    inp.g = out.g * gamma / var.sqrt()
    gamma.g = (out.g * (inp - mean) / var.sqrt()).sum(0)
    beta.g = out.g.sum(0)
