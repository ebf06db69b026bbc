# batchnorm_steps_grad: mean, centred, var, inv, hat, out = gamma * hat + beta

# %% right: the closed form for all that comes late
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    n = len(inp)
    hat.g = gamma * out.g
    gamma.g, beta.g = (hat * out.g).sum(0), out.g.sum(0)
    inv.g = (centred * hat.g).sum(0)
    var.g = -inv.g * inv / (2 * (var + 1e-5))
    centred.g = inv * (hat.g - hat * (hat.g * hat).mean(0))
    mean.g = -(inv * hat.g).sum(0)
    inp.g = centred.g - centred.g.mean(0)


# %% right: einsum everywhere, in float64
import torch


def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    g = out.g.double()
    hat.g = torch.einsum("bn,n->bn", g, gamma.double())
    gamma.g = torch.einsum("bn,bn->n", g, hat.double())
    beta.g = torch.einsum("bn->n", g)
    inv.g = torch.einsum("bn,bn->n", hat.g, centred.double())
    var.g = inv.g * -0.5 * (var.double() + 1e-5) ** -1.5
    centred.g = torch.einsum("bn,n->bn", hat.g, inv.double()) + torch.einsum("bn,n->bn", centred.double(), var.g) * 2 / len(inp)
    mean.g = torch.einsum("bn->n", -centred.g)
    inp.g = centred.g + mean.g / len(inp)
    for t in (inp, gamma, beta, mean, centred, var, inv, hat):
        t.g = t.g.float()


# %% right: a loop over columns, += for every use
import torch


def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    bs, n = inp.shape
    for t in (hat, gamma, beta, inv, var, centred, mean, inp):
        t.g = torch.zeros_like(t)
    for j in range(n):
        for i in range(bs):
            hat.g[i, j] += out.g[i, j] * gamma[j]
            gamma.g[j] += out.g[i, j] * hat[i, j]
            beta.g[j] += out.g[i, j]
            inv.g[j] += hat.g[i, j] * centred[i, j]
            centred.g[i, j] += hat.g[i, j] * inv[j]
        var.g[j] += inv.g[j] * -0.5 * (var[j] + 1e-5) ** -1.5
        for i in range(bs):
            centred.g[i, j] += var.g[j] * 2 * centred[i, j] / bs
            mean.g[j] += -centred.g[i, j]
            inp.g[i, j] += centred.g[i, j]
        for i in range(bs):
            inp.g[i, j] += mean.g[j] / bs


# %% wrong: centred used once, its square forgotten | centred.g: missing-path; inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv
    mean.g = -centred.g.sum(0)
    inp.g = centred.g - centred.g.mean(0)


# %% wrong: the second use of centred replaces the first | centred.g: overwritten or missing-path; mean.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    centred.g = hat.g * inv
    var.g = -0.5 * inv**3 * inv.g
    centred.g = 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: the mean's path forgotten in inp.g | inp.g: missing-path
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g.clone()


# %% wrong: the mean's gradient not shared out | inp.g: sum-for-mean or missing-local
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g


# %% wrong: gamma's gradient made with inp for hat | gamma.g: wrong-operand or wrong-point
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * inp).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: gamma forgotten in hat.g, and so in all below | hat.g: missing-local; inv.g, var.g, centred.g, mean.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g.clone()
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: the minus of the power forgotten | var.g: wrong-sign; centred.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = 0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: inv cubed left out of var.g | var.g: missing-local or wrong-local
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv.g
    centred.g = inv * (hat.g - hat * (hat.g * hat).mean(0))
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: inv to the power of two | var.g: wrong-local or missing-local or extra-factor
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**2 * inv.g
    centred.g = inv * (hat.g - hat * (hat.g * hat).mean(0))
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: inv.g, gamma.g and beta.g not summed over the batch | inv.g, gamma.g, beta.g: missing-batch-sum or wrong-shape
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = out.g * hat
    beta.g = out.g.clone()
    inv.g = hat.g * centred
    var.g = -0.5 * inv**3 * inv.g.sum(0)
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: mean.g without its minus | mean.g: wrong-sign
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = centred.g.sum(0)
    inp.g = centred.g - mean.g / len(inp)


# %% wrong: the share of the variance's mean forgotten | centred.g: sum-for-mean or missing-local; inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: means in place of sums over the batch | gamma.g, beta.g, inv.g: mean-for-sum
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).mean(0)
    beta.g = out.g.mean(0)
    inv.g = (hat.g * centred).mean(0)
    var.g = -0.5 * inv**3 * inv.g * len(inp)
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: hat used in place of centred | inv.g: wrong-operand or missing-local or extra-factor
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * hat).sum(0)
    var.g = -0.5 * inv**3 * (hat.g * centred).sum(0)
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: only half of it written | inv.g, var.g, centred.g, mean.g, inp.g: missing-answer or todo
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)


# %% wrong: hat.g with hat | hat.g: wrong-operand; inv.g, var.g, centred.g, mean.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * hat
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: inv.g with inv | inv.g: wrong-operand; var.g, centred.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * inv).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -(hat.g * inv).sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: the square's 2 forgotten | centred.g: missing-local; inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: half forgotten | var.g: missing-local or wrong-factor; centred.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -(inv**3) * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: mean.g averaged | mean.g: mean-for-sum; inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.mean(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: centred.g without inv | centred.g: missing-local or extra-factor; mean.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: centred over centred, where an entry may be the mean | gamma.g: not-finite
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * centred**2 / centred * inv).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = inv.g * -0.5 * inv**3
    centred.g = hat.g * inv + var.g * 2 * centred / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: inv.g keeps the batch, and so does what is made of it | inv.g: missing-batch-sum; var.g, centred.g, mean.g, inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = hat.g * centred
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / len(inp)


# %% wrong: mean.g keeps the batch | mean.g: missing-batch-sum; inp.g: follows
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = -0.5 * inv**3 * inv.g
    centred.g = hat.g * inv + 2 * centred * var.g / len(inp)
    mean.g = -centred.g
    inp.g = centred.g + mean.g / len(inp)
