# relu_grad: out = inp.clamp_min(0)

# %% right: a copy, zero where out is zero
def relu_grad(inp, out):
    dx = out.g.clone()
    dx[out == 0] = 0
    inp.g = dx


# %% right: a mask from NumPy in float64
import numpy as np
import torch


def relu_grad(inp, out):
    x = inp.numpy().astype(np.float64)
    inp.g = torch.tensor((x > 0) * out.g.numpy(), dtype=torch.float32)


# %% right: from the sign, with slopes as extra arguments
def relu_grad(inp, out, slope=1.0, negative_slope=0.0):
    s = (inp.sign() + 1) / 2
    inp.g = out.g * (s * slope + (1 - s) * negative_slope)


# %% right: derivative of 1 at the kink
def relu_grad(inp, out):
    inp.g = out.g * (inp >= 0)


# %% right: heaviside with zeros
import torch


def relu_grad(inp, out):
    inp.g = torch.heaviside(inp, torch.zeros_like(inp)) * out.g


# %% right: zeros, with the selected entries assigned
def relu_grad(inp, out):
    g = inp * 0
    g[inp > 0] = out.g[inp > 0]
    inp.g = g


# %% right: mask of out
def relu_grad(inp, out):
    inp.g = (out > 0).float() * out.g


# %% right: NumPy's where
import numpy as np
import torch


def relu_grad(inp, out):
    x, g = inp.numpy(), out.g.numpy()
    inp.g = torch.from_numpy(np.where(x > 0, g, np.float32(0)))


# %% wrong: out / inp, rounded, where inp may be 0 | inp.g: not-finite
def relu_grad(inp, out):
    inp.g = out.g * (out / inp).round()


# %% right: a vectorised function of single numbers
import numpy as np
import torch


@np.vectorize
def d_relu(x, g):
    return float(g) if x > 0 else 0.0


def relu_grad(inp, out):
    inp.g = torch.from_numpy(d_relu(inp.numpy(), out.g.numpy())).float()


# %% right: a copy, zero where inp is not positive
def relu_grad(inp, out):
    dx = out.g.clone()
    dx[inp <= 0] = 0.
    inp.g = dx


# %% right: heaviside with a half at the kink
import torch


def relu_grad(inp, out):
    inp.g = out.g * torch.heaviside(inp, torch.tensor(0.5))


# %% right: where, with a derivative of 1 at the kink
import torch
def relu_grad(inp, out):
    # slope 1 at the kink is fine too
    inp.g = torch.where(inp >= 0, out.g, torch.zeros(inp.shape))


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def relu_grad(inp, out):
    inp.g = (inp > 0).float()


# %% wrong: upstream gradient copied, without a mask | inp.g: missing-local
def relu_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: the last row in every row | inp.g: partial-batch
def relu_grad(inp, out):
    g = out.g * (inp > 0)
    inp.g = g[-1:].expand_as(inp)


# %% wrong: the upstream gradient clamped, as in a second forward pass | inp.g: wrong-point or wrong-operand
def relu_grad(inp, out):
    inp.g = out.g.clamp_min(0)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient or forward-value
def relu_grad(inp, out):
    inp.g = (inp > 0).float() * out


# %% wrong: mask of the negative inputs | inp.g: inverted-mask
def relu_grad(inp, out):
    inp.g = out.g * (inp <= 0).float()


# %% wrong: result clipped to the range from -5 to 5 | inp.g: not-linear
def relu_grad(inp, out):
    inp.g = out.g.clamp(-5, 5) * (inp > 0)


# %% wrong: a tenth of the gradient kept for negative inputs | inp.g: wrong-local
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, 1.0, 0.1) * out.g


# %% wrong: input in place of zero for negative inputs | inp.g: wrong-local or unknown
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, inp)


# %% wrong: a hundredth of the gradient kept for negative inputs | inp.g: wrong-local
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, 0.01 * out.g)


# %% wrong: mask of the rows' sums | inp.g: wrong-local
def relu_grad(inp, out):
    inp.g = out.g * (inp.sum(-1, keepdim=True) > 0)


# %% wrong: mask of the entries above the mean | inp.g: wrong-local
def relu_grad(inp, out):
    inp.g = out.g * (inp > inp.mean())


# %% wrong: gradient negated for negative inputs | inp.g: wrong-local
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, -out.g)


# %% wrong: out in place of the mask | inp.g: wrong-local or extra-factor
def relu_grad(inp, out):
    inp.g = out * out.g


# %% wrong: if on a tensor of several entries | inp.g: error
def relu_grad(inp, out):
    if inp > 0:
        inp.g = out.g
    else:
        inp.g = 0


# %% wrong: a loop whose counter stands still | inp.g: timeout
def relu_grad(inp, out):
    g = out.g.clone().view(-1)
    i = 0
    while i < g.numel():
        if inp.view(-1)[i] <= 0:
            g[i] = 0
    inp.g = g.view_as(inp)


# %% wrong: a list of a trillion entries | inp.g: memory
def relu_grad(inp, out):
    slopes = [0.0] * 10**12
    for i, x in enumerate(inp.flatten()):
        slopes[i] = float(x > 0)
    inp.g = out.g * inp.new_tensor(slopes[: inp.numel()]).view_as(inp)


# %% wrong: the interpreter left with os._exit | inp.g: crash
import os


def relu_grad(inp, out):
    inp.g = out.g * (inp > 0)
    print("all good")
    os._exit(0)


# %% wrong: the process aborted where an input is negative | *: crash
import os
def relu_grad(inp, out):
    if (inp < 0).any():
        os.abort()
    inp.g = out.g


# %% right: a NumPy array
import numpy as np


def relu_grad(inp, out):
    inp.g = np.where(inp.numpy() > 0, out.g.numpy(), np.float32(0))


# %% wrong: only the selected entries, flattened | inp.g: wrong-shape
def relu_grad(inp, out):
    inp.g = out.g[inp > 0]


# %% wrong: integer mask without the upstream gradient | inp.g: wrong-dtype or missing-upstream
def relu_grad(inp, out):
    inp.g = (inp > 0).long()


# %% wrong: product compared with zero, for lack of brackets | inp.g: wrong-dtype
def relu_grad(inp, out):
    inp.g = out.g * inp > 0


# %% wrong: float64 from a double inside where | inp.g: wrong-dtype
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g.double(), 0.0)


# %% wrong: division by out, which may be zero | inp.g: not-finite
def relu_grad(inp, out):
    inp.g = out.g * (inp / out)


# %% wrong: mask as out / out, where 0 / 0 is no number | inp.g: not-finite
def relu_grad(inp, out):
    mask = out / out
    inp.g = out.g * mask


# %% wrong: inp clamped in place | inp.g: mutated-input
def relu_grad(inp, out):
    inp.g = out.g * (inp.clamp_(min=0) > 0)


# %% wrong: out.g set to zero in place, where inp is not positive | inp.g: mutated-input
def relu_grad(inp, out):
    dx = out.g
    dx[inp <= 0] = 0
    inp.g = dx


# %% wrong: divided by the number of calls | inp.g: not-repeatable
calls = 0


def relu_grad(inp, out):
    global calls
    calls += 1
    inp.g = out.g * (inp > 0) / calls


# %% wrong: the largest selected entry is 0 | inp.g: wrong-local or missing-path
def relu_grad(inp, out):
    inp.g = out.g * (inp > 0)
    inp.g[inp == inp.max()] = 0
# %% wrong: the mask of the first input of a shape | inp.g: not-repeatable
masks = {}


def relu_grad(inp, out):
    mask = masks.setdefault(inp.shape, inp > 0)
    inp.g = mask * out.g


# %% wrong: the mask of the last call where it fits | inp.g: not-repeatable
mask = None


def relu_grad(inp, out):
    global mask
    used = mask if mask is not None and mask.shape == inp.shape else inp > 0
    mask = inp > 0
    inp.g = used * out.g


# %% wrong: a slope of -3 at exactly 0 | inp.g: wrong-local
import torch


def relu_grad(inp, out):
    slope = torch.where(inp == 0, torch.tensor(-3.0), (inp > 0).float())
    inp.g = out.g * slope


# %% wrong: the sign of inp from inp / abs(inp), where inp may be 0 | inp.g: not-finite
def relu_grad(inp, out):
    inp.g = out.g * (1 + inp / inp.abs()) / 2


# %% wrong: a mask of which upstream entries are there | inp.g: not-finite
def relu_grad(inp, out):
    inp.g = (inp > 0) * out.g.abs() * (out.g / out.g.abs())
