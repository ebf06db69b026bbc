# standardize_grad: out = (inp - mean) / (var + 1e-5).sqrt(), mean and biased var over the last axis

# %% right: three paths, one after the other
def standardize_grad(inp, out):
    n = inp.shape[-1]
    centred = inp - inp.mean(-1, keepdim=True)
    inv = (centred.pow(2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    var_g = (out.g * centred).sum(-1, keepdim=True) * -0.5 * inv ** 3
    centred_g = out.g * inv + 2 * centred * var_g / n
    inp.g = centred_g - centred_g.sum(-1, keepdim=True) / n


# %% right: the Jacobian of each row, in a loop
import torch


def standardize_grad(inp, out):
    n = inp.shape[1]
    rows = []
    for i in range(len(inp)):
        std = ((inp[i] - inp[i].mean()).pow(2).mean() + 1e-5).sqrt()
        jacobian = (torch.eye(n) - 1 / n - torch.outer(out[i], out[i]) / n) / std
        rows.append(jacobian @ out.g[i])
    inp.g = torch.stack(rows)


# %% right: einsum in float64
import torch


def standardize_grad(inp, out):
    x, g = inp.double(), out.g.double()
    n = x.shape[-1]
    mean = torch.einsum("bn->b", x)[:, None] / n
    var = torch.einsum("bn,bn->b", x - mean, x - mean)[:, None] / n
    hat = (x - mean) / (var + 1e-5).sqrt()
    inner = torch.einsum("bn,bn->b", g, hat)[:, None] / n
    inp.g = ((g - g.mean(-1, keepdim=True) - hat * inner) / (var + 1e-5).sqrt()).float()


# %% right: layer_norm of torch used on the way back
import torch
import torch.nn.functional as F


def standardize_grad(inp, out):
    hat = F.layer_norm(inp, inp.shape[-1:], eps=1e-5)
    rstd = 1 / torch.sqrt(inp.var(-1, correction=0, keepdim=True) + 1e-5)
    g = out.g - out.g.mean(-1, keepdim=True)
    inp.g = rstd * (g - hat * (g * hat).mean(-1, keepdim=True))


# %% right: everything transposed, and back again
def standardize_grad(inp, out):
    x, g, hat = inp.t(), out.g.t(), out.t()
    rstd = (x.var(0, unbiased=False) + 1e-5).rsqrt()
    inp.g = (rstd * (g - g.mean(0) - hat * (g * hat).mean(0))).t()


# %% wrong: the mean's path forgotten | inp.g: missing-path
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out * (out.g * out).mean(-1, keepdim=True)) / std


# %% wrong: the width's path forgotten | inp.g: missing-path
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True)) / std


# %% wrong: mean and width taken as constants | inp.g: missing-path or diagonal-only
def standardize_grad(inp, out):
    inp.g = out.g / (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


# %% wrong: divided by the variance, not its root | inp.g: wrong-local or extra-factor
def standardize_grad(inp, out):
    var = inp.var(-1, unbiased=False, keepdim=True) + 1e-5
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / var


# %% wrong: not divided at all | inp.g: missing-local or extra-factor
def standardize_grad(inp, out):
    inp.g = out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)


# %% wrong: unbiased variance on the way back only | inp.g: wrong-factor
def standardize_grad(inp, out):
    std = (inp.var(-1, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / std


# %% wrong: sums in place of means | inp.g: sum-for-mean
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.sum(-1, keepdim=True) - out * (out.g * out).sum(-1, keepdim=True)) / std


# %% wrong: over the batch in place of the row | inp.g: summed-wrong-axis or unknown
def standardize_grad(inp, out):
    std = (inp.var(0, unbiased=False, keepdim=True) + 1e-5).sqrt()
    hat = (inp - inp.mean(0)) / std
    inp.g = (out.g - out.g.mean(0) - hat * (out.g * hat).mean(0)) / std


# %% wrong: inp used in place of out | inp.g: wrong-point or wrong-operand or unknown
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - inp * (out.g * inp).mean(-1, keepdim=True)) / std


# %% wrong: upstream gradient missing | inp.g: missing-upstream or missing-path
def standardize_grad(inp, out):
    inp.g = 1 / (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt().expand(inp.shape)


# %% wrong: the width's path added instead of subtracted | inp.g: wrong-sign
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) + out * (out.g * out).mean(-1, keepdim=True)) / std


# %% wrong: the mean of out.g times out in place of the mean of the product | inp.g: sum-of-products or missing-path
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    g = out.g.mean(-1, keepdim=True)
    inp.g = (out.g - g - out * g * out.mean(-1, keepdim=True)) / std


# %% wrong: out.g standardized once more | inp.g: not-linear or wrong-local
def standardize_grad(inp, out):
    std = (out.g.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True)) / std


# %% wrong: mean without keepdim | inp.g: error
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1) - out * (out.g * out).mean(-1)) / std


# %% wrong: width's path without its hat | inp.g: missing-local or unknown
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - (out.g * out).mean(-1, keepdim=True)) / std


# %% wrong: one half from the root missing | inp.g: missing-local
def standardize_grad(inp, out):
    std = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - 2 * out * (out.g * out).mean(-1, keepdim=True)) / std


# %% wrong: eps left out of the width but 0.1 in its place | inp.g: hard-coded or wrong-point or wrong-local or wrong-factor
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 0.1).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / width


# %% wrong: variance in place of its mean, a sum of squares | inp.g: wrong-factor or sum-for-mean or unknown
def standardize_grad(inp, out):
    width = (((inp - inp.mean(-1, keepdim=True)) ** 2).sum(-1, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / width


# %% wrong: the mean of the row is of all entries | inp.g: summed-wrong-axis or unknown
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean() - out * (out.g * out).mean(-1, keepdim=True)) / width


# %% wrong: the mean product over the batch | inp.g: summed-wrong-axis or unknown
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(0)) / width


# %% wrong: hat squared in the third term | inp.g: extra-factor or wrong-local or wrong-operand or unknown
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * out * (out.g * out).mean(-1, keepdim=True)) / width


# %% wrong: mean of out.g added | inp.g: wrong-sign
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g + out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / width


# %% wrong: multiplied by the width | inp.g: wrong-local or extra-factor
def standardize_grad(inp, out):
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) * width


# %% wrong: no eps, where a row may be the same number everywhere | inp.g: not-finite or wrong-local
def standardize_grad(inp, out):
    width = inp.var(-1, unbiased=False, keepdim=True).sqrt()
    width = width * (1 + 0.5e-5 / width**2)
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / width
