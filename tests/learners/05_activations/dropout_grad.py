# dropout_grad: out = inp * mask / (1 - p)

# %% right: dropped entries set to zero, with a boolean mask
def dropout_grad(inp, out, mask, p):
    g = out.g / (1 - p)
    g[~mask.bool()] = 0
    inp.g = g


# %% right: in-place operations on a copy
def dropout_grad(inp, out, mask, p):
    g = out.g.clone()
    g.mul_(mask).div_(1 - p)
    inp.g = g


# %% right: kept entries only, scaled by 1 + p / (1 - p)
def dropout_grad(inp, out, mask, p):
    inp.g = out.g.new_zeros(out.g.shape)
    kept = mask == 1
    inp.g[kept] = out.g[kept] * (1 + p / (1 - p))


# %% wrong: mask read from out, which is 0 where inp is, too | inp.g: wrong-local
import torch


def dropout_grad(inp, out, mask, p):
    keep = 1 - p
    inp.g = torch.where(out != 0, out.g, 0.0).div(keep)


# %% right: kept entries only, where the mask is not 0
import torch


def dropout_grad(inp, out, mask, p):
    keep = 1 - p
    inp.g = torch.zeros_like(inp)
    inp.g[mask != 0] = out.g[mask != 0] / keep


# %% wrong: local derivative as out / inp, where inp may be 0 | inp.g: not-finite
def dropout_grad(inp, out, mask, p):
    inp.g = out / inp * out.g


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def dropout_grad(inp, out, mask, p):
    inp.g = mask / (1 - p)


# %% wrong: mask missing | inp.g: missing-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g / (1 - p)


# %% wrong: division by 1 - p missing | inp.g: missing-local
def dropout_grad(inp, out, mask, p):
    inp.g = mask * out.g


# %% wrong: upstream gradient copied | inp.g: missing-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g + 0


# %% wrong: multiplied by inp | inp.g: extra-factor or wrong-operand
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * inp * mask / (1 - p)


# %% wrong: divided by 1 - p twice | inp.g: extra-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / (1 - p) ** 2


# %% wrong: divided by p instead of 1 - p | inp.g: wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / p


# %% wrong: multiplied by p too | inp.g: wrong-factor or extra-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * p / (1 - p)


# %% wrong: multiplied by p instead of divided by 1 - p | inp.g: wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * p


# %% wrong: multiplied by 1 - p instead of divided | inp.g: wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * (1 - p)


# %% wrong: divided by the share measured in the mask | inp.g: wrong-factor or hard-coded
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / mask.mean()


# %% wrong: square root of 1 - p | inp.g: wrong-factor or wrong-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / (1 - p) ** 0.5


# %% wrong: mask from the sign of out | inp.g: wrong-operand or inverted-mask or wrong-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (out > 0) / (1 - p)


# %% wrong: p subtracted last, for lack of brackets | inp.g: wrong-operand or wrong-local or wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / 1 - p


# %% wrong: inp used in place of the mask | inp.g: wrong-operand
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * inp / (1 - p)


# %% wrong: the forward pass itself | inp.g: forward-value
def dropout_grad(inp, out, mask, p):
    inp.g = inp * mask / (1 - p)


# %% wrong: dropped entries in place of the kept ones | inp.g: inverted-mask
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (1 - mask) / (1 - p)


# %% wrong: always 2 in place of 1 / (1 - p) | inp.g: hard-coded or wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * 2


# %% wrong: zeros, as if no gradient went through | inp.g: hard-coded
import torch


def dropout_grad(inp, out, mask, p):
    inp.g = torch.zeros_like(inp)


# %% wrong: upstream gradient copied where entries are dropped | inp.g: wrong-local
import torch


def dropout_grad(inp, out, mask, p):
    inp.g = torch.where(mask == 1, out.g / (1 - p), out.g)


# %% wrong: 1 - p in place of the mask | inp.g: wrong-local or missing-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (1 - p)


# %% wrong: a new random mask | inp.g: not-repeatable
import torch


def dropout_grad(inp, out, mask, p):
    again = (torch.rand_like(inp) > p).float()
    inp.g = out.g * again / (1 - p)


# %% wrong: where inp is 0 nothing was dropped | inp.g: wrong-local
import torch


def dropout_grad(inp, out, mask, p):
    inp.g = torch.where(inp == 0, out.g, out / inp * out.g)
