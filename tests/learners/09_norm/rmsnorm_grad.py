# rmsnorm_grad: out = gamma * inp / ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()

# %% right: two paths added, the second through the mean of squares
def rmsnorm_grad(inp, gamma, out):
    n = inp.shape[-1]
    ms = inp.pow(2).mean(-1, keepdim=True) + 1e-5
    h = out.g * gamma
    direct = h * ms**-0.5
    ms_g = (h * inp).sum(-1, keepdim=True) * -0.5 * ms**-1.5
    inp.g = direct + ms_g * 2 * inp / n
    gamma.g = (out.g * inp * ms**-0.5).sum(0)


# %% right: the Jacobian of each row, float64
import torch


def rmsnorm_grad(inp, gamma, out):
    n, grads = inp.shape[1], []
    for x, g in zip(inp.double(), out.g.double()):
        rms = (x.dot(x) / n + 1e-5).sqrt()
        jacobian = torch.eye(n, dtype=torch.float64) / rms - torch.outer(x, x) / (n * rms**3)
        grads.append((g * gamma) @ jacobian)
    inp.g = torch.stack(grads).float()
    hat = inp.double() / (inp.double().square().mean(1, keepdim=True) + 1e-5).sqrt()
    gamma.g = (hat * out.g).sum(0).float()


# %% right: einsum
import torch


def rmsnorm_grad(inp, gamma, out):
    n = inp.shape[-1]
    r = (torch.einsum("bn,bn->b", inp, inp) / n + 1e-5).rsqrt()
    inner = torch.einsum("bn,n,bn->b", out.g, gamma, inp)
    inp.g = torch.einsum("b,bn,n->bn", r, out.g, gamma) - torch.einsum("b,b,bn->bn", r**3 / n, inner, inp)
    gamma.g = torch.einsum("bn,bn,b->n", out.g, inp, r)


# %% wrong: the root taken as a constant | inp.g: missing-path or diagonal-only
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    inp.g = out.g * gamma / rms
    gamma.g = (out.g * inp / rms).sum(0)


# %% wrong: the mean's path of layer norm as well | inp.g: wrong-graph or unknown or wrong-local
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - h.mean(-1, keepdim=True) - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: gamma forgotten | inp.g: missing-local
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: gamma multiplied at the end | inp.g: wrong-local or wrong-operand or unknown
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g
    inp.g = gamma * (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: sum in place of mean | inp.g: sum-for-mean
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (h * hat).sum(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: plus for minus | inp.g: wrong-sign
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h + hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: not divided by the root | inp.g: missing-local or extra-factor
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = h - hat * (h * hat).mean(-1, keepdim=True)
    gamma.g = (out.g * hat).sum(0)


# %% wrong: inp used for hat in the second path | inp.g: wrong-operand or wrong-local or wrong-point or missing-local or unknown
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - inp * (h * inp).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: one half left over from the root | inp.g: missing-local or wrong-factor
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - 0.5 * hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: gamma's gradient made with inp | gamma.g: wrong-operand or missing-local or extra-factor
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * inp).sum(0)


# %% wrong: gamma's gradient made with out | gamma.g: wrong-operand or extra-factor
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * out).sum(0)


# %% wrong: gamma not summed over the batch | gamma.g: missing-batch-sum or wrong-shape
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = out.g * hat


# %% wrong: gamma averaged over the batch | gamma.g: mean-for-sum
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).mean(0)


# %% wrong: divided by the mean of squares, not its root | inp.g: extra-factor or wrong-local
def rmsnorm_grad(inp, gamma, out):
    ms = (inp**2).mean(-1, keepdim=True) + 1e-5
    hat, h = inp / ms.sqrt(), out.g * gamma
    inp.g = (h - hat * (h * hat).mean(-1, keepdim=True)) / ms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: upstream gradient missing in the second path | inp.g: missing-upstream or not-linear or unknown
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat, h = inp / rms, out.g * gamma
    inp.g = (h - hat * (gamma * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: gamma.g with gamma | gamma.g: extra-factor or wrong-operand
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = inp / rms
    hat_g = out.g * gamma
    inp.g = (hat_g - hat * (hat_g * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (hat_g * hat).sum(0)


# %% wrong: mean over the batch | inp.g: summed-wrong-axis or unknown
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = inp / rms
    hat_g = out.g * gamma
    inp.g = (hat_g - hat * (hat_g * hat).mean(0)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: root forgotten in rms | inp.g: wrong-local or missing-local or wrong-point; gamma.g: wrong-local or missing-local or extra-factor or wrong-point
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp**2).mean(-1, keepdim=True) + 1e-5)
    hat = inp / rms
    hat_g = out.g * gamma
    inp.g = (hat_g - hat * (hat_g * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)


# %% wrong: the width from inp / out, where both may be 0 | inp.g, gamma.g: not-finite
def rmsnorm_grad(inp, gamma, out):
    rms = gamma * inp / out
    hat = inp / rms
    hat_g = out.g * gamma
    inp.g = (hat_g - hat * (hat_g * hat).mean(-1, keepdim=True)) / rms
    gamma.g = (out.g * hat).sum(0)
