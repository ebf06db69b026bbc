# leaky_relu_grad: out = inp where inp > 0, slope * inp elsewhere

# %% right: where
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, slope * out.g)


# %% right: out instead of inp, and a loop
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.stack([g if o > 0 else slope * g for o, g in zip(out.reshape(-1), out.g.reshape(-1))]).view(inp.shape)


# %% right: a sign made into a factor
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * ((1 + slope) + (1 - slope) * inp.sign()) / 2


# %% wrong: leaky_relu of torch, divided by an inp that may be 0 | inp.g: not-finite
import torch
import torch.nn.functional as F


def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * (F.leaky_relu(inp, slope) / inp)


# %% wrong: plain relu | inp.g: missing-path or hard-coded or wrong-local or missing-local
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * (inp > 0)


# %% wrong: the two sides exchanged | inp.g: inverted-mask or wrong-local
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, slope * out.g, out.g)


# %% wrong: slope on both sides | inp.g: wrong-factor or wrong-local or extra-factor or missing-path or unknown or missing-local
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * slope


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def leaky_relu_grad(inp, out, slope):
    inp.g = (inp > 0) + slope * (inp <= 0)


# %% wrong: slope fixed at 0.01 | inp.g: hard-coded
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, 0.01 * out.g)


# %% wrong: upstream gradient alone | inp.g: missing-local
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g.clone()


# %% wrong: mask from out.g | inp.g: wrong-operand or not-linear or wrong-point or wrong-local
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(out.g > 0, out.g, slope * out.g)


# %% wrong: slope negative | inp.g: wrong-sign
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, -slope * out.g)


# %% wrong: slope added | inp.g: wrong-local or extra-factor or missing-local or unknown
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * ((inp > 0) + slope)


# %% wrong: one over slope | inp.g: wrong-local or wrong-factor or unknown
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, out.g / slope)


# %% wrong: value of the negative side | inp.g: wrong-operand or extra-factor or unknown or wrong-local
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, slope * inp * out.g)


# %% wrong: mask compared with slope | inp.g: wrong-point or hard-coded or wrong-operand or unknown or wrong-local
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > slope, out.g, slope * out.g)


# %% wrong: out for out.g | inp.g: value-for-gradient
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out, slope * out)


# %% wrong: written into out.g | *: mutated-input
def leaky_relu_grad(inp, out, slope):
    g = out.g
    g[inp <= 0] *= slope
    inp.g = g


# %% wrong: slope squared | inp.g: extra-factor
import torch


def leaky_relu_grad(inp, out, slope):
    inp.g = torch.where(inp > 0, out.g, slope * slope * out.g)


# %% wrong: neither mask is open at 0 | inp.g: wrong-local
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * ((inp > 0) + slope * (inp < 0))


# %% wrong: both masks are open at 0 | inp.g: wrong-local
def leaky_relu_grad(inp, out, slope):
    inp.g = out.g * ((inp >= 0) + slope * (inp <= 0))
