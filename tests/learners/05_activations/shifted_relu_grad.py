# shifted_relu_grad: out = inp.clamp_min(0) - 0.5

# %% right: out above -0.5
def shifted_relu_grad(inp, out):
    # closed gates sit exactly on the floor
    inp.g = out.g * (out > -0.5)


# %% right: NumPy's heaviside with a half at the kink
import numpy as np
import torch


def shifted_relu_grad(inp, out):
    slope = np.heaviside(inp.numpy(), 0.5)
    inp.g = torch.from_numpy(slope * out.g.numpy()).to(inp.dtype)


# %% right: heaviside with a 1 at the kink
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.heaviside(inp, torch.ones((), dtype=inp.dtype)) * out.g


# %% right: where, with a derivative of 1 at the kink
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(inp < 0, torch.zeros(()), out.g)


# %% right: out shifted back, then compared with zero
def shifted_relu_grad(inp, out):
    inp.g = out.g * ((out + 0.5) > 0).float()


# %% wrong: quotient of the shifted out and an inp that may be 0 | inp.g: not-finite
def shifted_relu_grad(inp, out):
    # relu(x) / x is 1 where the gate is open, 0 where it is closed
    inp.g = (out + 0.5) / inp * out.g


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def shifted_relu_grad(inp, out):
    inp.g = inp.gt(0).to(inp.dtype)


# %% wrong: out compared with -0.5, edge included, so that all is selected | inp.g: missing-local
def shifted_relu_grad(inp, out):
    inp.g = (out >= -0.5) * out.g


# %% wrong: upstream gradient copied, without a mask | inp.g: missing-local
def shifted_relu_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: the shift of 0.5 as a factor | inp.g: wrong-factor
def shifted_relu_grad(inp, out):
    inp.g = (inp > 0) * out.g * 0.5


# %% wrong: out compared with 0 instead of inp | inp.g: wrong-point
def shifted_relu_grad(inp, out):
    inp.g = (out > 0).float() * out.g


# %% wrong: inp compared with 0.5 instead of 0 | inp.g: wrong-local
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(inp > 0.5, out.g, torch.zeros_like(inp))


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def shifted_relu_grad(inp, out):
    inp.g = out * (inp > 0)


# %% wrong: mask of the negative inputs | inp.g: inverted-mask
def shifted_relu_grad(inp, out):
    g = out.g.clone()
    g[inp > 0] = 0
    inp.g = g


# %% wrong: 0.5 added to the gradient | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * (inp > 0) + 0.5


# %% wrong: 0.5 subtracted from the gradient | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * (inp > 0) - 0.5


# %% wrong: a hundredth of the gradient kept for negative inputs | inp.g: wrong-local
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, 0.01 * out.g)


# %% wrong: 0.5 subtracted from the mask | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    # relu' is 0 or 1, minus the shift
    slope = (inp > 0).float() - 0.5
    inp.g = slope * out.g


# %% wrong: 0.5 subtracted from the upstream gradient, then masked | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = (inp > 0) * (out.g - 0.5)


# %% wrong: the forward pass applied to the upstream gradient | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g.clamp_min(0) - 0.5


# %% wrong: gradient times -0.5 for negative inputs | inp.g: wrong-local
import torch


def shifted_relu_grad(inp, out):
    mask = torch.where(inp > 0, 1.0, -0.5)
    inp.g = mask * out.g


# %% wrong: sign of inp in place of the mask | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * inp.sign()


# %% wrong: out.g multiplied in place | inp.g: mutated-input
def shifted_relu_grad(inp, out):
    inp.g = out.g.mul_(inp > 0)


# %% wrong: twice the gradient exactly on the kink, where both masks are open | inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * ((inp > 0).float() + 2 * (inp == 0))
