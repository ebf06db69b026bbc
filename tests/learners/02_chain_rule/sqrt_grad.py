# sqrt_grad: out = inp.sqrt()

# %% right: a power of minus one half
def sqrt_grad(inp, out):
    inp.g = 0.5 * inp ** -0.5 * out.g


# %% right: NumPy, float64 inside
import numpy as np
import torch


def sqrt_grad(inp, out):
    inp.g = torch.from_numpy((out.g.numpy().astype("float64") / (2 * np.sqrt(inp.numpy().astype("float64")))).astype("float32"))


# %% right: entry by entry in a flat view
import torch


def sqrt_grad(inp, out):
    g, r, h = torch.empty(inp.numel()), inp.reshape(-1), out.g.reshape(-1)
    for i in range(inp.numel()):
        g[i] = h[i] * torch.rsqrt(r[i]) / 2
    inp.g = g.view(inp.shape)


# %% wrong: the half forgotten | inp.g: missing-local
def sqrt_grad(inp, out):
    inp.g = out.g / out


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def sqrt_grad(inp, out):
    inp.g = 1 / (2 * out)


# %% wrong: multiplied by the root | inp.g: wrong-local
def sqrt_grad(inp, out):
    inp.g = out.g * out / 2


# %% wrong: exponent not lowered | inp.g: wrong-local
def sqrt_grad(inp, out):
    inp.g = 0.5 * inp ** 0.5 * out.g


# %% wrong: divided by inp | inp.g: wrong-local or wrong-point or wrong-operand or extra-factor
def sqrt_grad(inp, out):
    inp.g = out.g / (2 * inp)


# %% wrong: root of out, taken at the wrong point | inp.g: wrong-point
def sqrt_grad(inp, out):
    inp.g = out.g / (2 * out.sqrt())


# %% wrong: two in the numerator | inp.g: wrong-factor or wrong-local
def sqrt_grad(inp, out):
    inp.g = 2 * out.g / out


# %% wrong: the root of the gradient | inp.g: not-finite or not-linear
def sqrt_grad(inp, out):
    inp.g = out.g.sqrt()


# %% wrong: upstream gradient alone | inp.g: missing-local
def sqrt_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: sign turned round | inp.g: wrong-sign
def sqrt_grad(inp, out):
    inp.g = -out.g / (2 * out)


# %% wrong: the derivative of a square | inp.g: wrong-local
def sqrt_grad(inp, out):
    inp.g = 2 * inp * out.g


# %% wrong: out for out.g | inp.g: value-for-gradient or hard-coded or unknown
def sqrt_grad(inp, out):
    inp.g = out / (2 * out)


# %% wrong: parentheses forgotten | inp.g: wrong-local or wrong-factor
def sqrt_grad(inp, out):
    inp.g = out.g / 2 * out


# %% wrong: out.g divided in place | *: mutated-input
def sqrt_grad(inp, out):
    out.g /= 2 * out
    inp.g = out.g


# %% wrong: divided by out.g, which may be 0 | inp.g: not-finite
def sqrt_grad(inp, out):
    inp.g = out.g * out.g / (2 * out * out.g)
