# numerical_grad: the gradient of f at x, one entry of x at a time

# %% right: one copy, each entry moved and put back, a list of floats
import torch


def numerical_grad(f, x, h):
    y = x.clone()
    flat = y.view(-1)
    result = []
    for i in range(flat.numel()):
        old = flat[i].item()
        flat[i] = old + h
        up = f(y)
        flat[i] = old - h
        down = f(y)
        flat[i] = old
        result.append(float(up - down) / (2 * h))
    return torch.tensor(result, dtype=x.dtype).reshape(x.shape)


# %% right: two fresh copies for each entry
import torch

def numerical_grad(f, x, h):
    grads = torch.zeros_like(x)
    for i in range(x.numel()):
        up, down = x.clone(), x.clone()
        up.view(-1)[i] += h
        down.view(-1)[i] -= h
        grads.view(-1)[i] = (f(up) - f(down)) / (2 * h)
    return grads


# %% right: rows of a scaled identity as steps, divided by h, then by 2
import torch


def numerical_grad(f, x, h):
    steps = h * torch.eye(x.numel(), dtype=x.dtype)
    slopes = [(f(x + s.reshape(x.shape)) - f(x - s.reshape(x.shape))) / h / 2 for s in steps]
    return torch.stack(slopes).view_as(x)


# %% right: x itself moved and put back, by a flat index
import torch


def numerical_grad(f, x, h):
    g, flat = torch.zeros_like(x), x.view(-1)
    for i in range(flat.numel()):
        old = flat[i].item()
        flat[i] = old + h
        up = f(x).item()
        flat[i] = old - h
        down = f(x).item()
        flat[i] = old
        g.view(-1)[i] = (up - down) / (2 * h)
    return g


# %% right: indices from numpy.ndindex, the result made by NumPy
import numpy as np
import torch


def numerical_grad(f, x, h):
    g = np.zeros(tuple(x.shape))
    for idx in np.ndindex(*x.shape):
        plus, minus = x.clone(), x.clone()
        plus[idx] += h
        minus[idx] -= h
        g[idx] = (f(plus) - f(minus)).item() / (2 * h)
    return torch.from_numpy(g)


# %% right: x itself moved and put back, in a finally block
import itertools
import torch

def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for idx in itertools.product(*[range(s) for s in x.shape]):
        keep = x[idx].item()
        try:
            x[idx] = keep + h
            hi = float(f(x))
            x[idx] = keep - h
            lo = float(f(x))
        finally:
            x[idx] = keep
        g[idx] = (hi - lo) / (2 * h)
    return g


# %% right: x itself moved and put back, by an index from cartesian_prod
import torch


def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for at in torch.cartesian_prod(*[torch.arange(n) for n in x.shape]).reshape(-1, x.dim()):
        at = tuple(at.tolist())
        saved = x[at].clone()
        x[at] = saved + h
        up = f(x)
        x[at] = saved - h
        down = f(x)
        x[at] = saved
        g[at] = (up - down) / (2 * h)
    return g


# %% right: rows of a scaled identity as steps
import torch


def numerical_grad(f, x, h):
    steps = h * torch.eye(x.numel(), dtype=x.dtype)
    return torch.stack(
        [(f(x + e.reshape(x.shape)) - f(x - e.reshape(x.shape))) / (2 * h) for e in steps]
    ).reshape(x.shape)


# %% right: checked against autograd below the function
import torch
from itertools import product


def numerical_grad(f, x, h):
    def nudged(index, by):
        y = x.clone()
        y[index] += by
        return f(y)

    g = torch.empty_like(x)
    for index in product(*map(range, x.shape)):
        g[index] = (nudged(index, h) - nudged(index, -h)) / (2 * h)
    return g


x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
(x**3).sum().backward()
assert torch.allclose(x.grad, numerical_grad(lambda t: (t**3).sum(), x.detach(), 1e-5))


# %% right: float32 zeros and steps, where no dtype was given
import torch

def numerical_grad(f, x, h):
    g = torch.zeros(x.shape)
    for i in range(x.numel()):
        step = torch.zeros(x.numel())
        step[i] = h
        step = step.reshape(x.shape)
        g.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return g


# %% wrong: only one step back | return: imprecise or wrong-point
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x) - f(x - step)) / h
    return grad


# %% wrong: only one step forward | return: imprecise
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        xp = x.clone()
        xp.view(-1)[i] += h
        g.view(-1)[i] = (f(xp) - f(x)) / h
    return g


# %% wrong: measured in float32, turned into float64 at the end | return: imprecise
import torch


def numerical_grad(f, x, h):
    small = x.float()
    g = torch.zeros_like(small)
    for i in range(x.numel()):
        e = torch.zeros_like(small)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(small + e) - f(small - e)) / (2 * h)
    return g.to(x.dtype)


# %% wrong: divided by h, though the step is 2h wide | return: missing-local
import torch


def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / h
    return g


# %% wrong: only the first entry measured | return: partial-batch
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    e = torch.zeros_like(x)
    e.view(-1)[0] = h
    g.view(-1)[0] = (f(x + e) - f(x - e)) / (2 * h)
    return g


# %% wrong: the first entry skipped | return: partial-batch
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(1, x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


# %% wrong: the last entry skipped | return: partial-batch
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel() - 1):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


# %% wrong: the two sides subtracted the wrong way round | return: wrong-sign
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[i] = h
        e = e.reshape(x.shape)
        g.view(-1)[i] = (f(x - e) - f(x + e)) / (2 * h)
    return g


# %% wrong: steps of earlier entries left in place | return: wrong-point or extra-factor
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    step = torch.zeros_like(x)
    for i in range(x.numel()):
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


# %% wrong: a step in proportion to the entry, divided by h alone | return: wrong-point or extra-factor
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h * x.view(-1)[i]
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


# %% wrong: two names for the same tensor instead of two copies | return: hard-coded or wrong-point
import torch

def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        up = x
        down = x
        up.view(-1)[i] += h
        down.view(-1)[i] -= h
        g.view(-1)[i] = (f(up) - f(down)) / (2 * h)
    return g


# %% wrong: every slope measured and none stored | return: hard-coded
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        d = (f(x + e) - f(x - e)) / (2 * h)
    return g


# %% wrong: whole rows moved at once | return: shape-special
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(len(x)):
        step = torch.zeros_like(x)
        step[i] = h
        grad[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad


# %% wrong: a list of floats | return: wrong-type
import torch


def numerical_grad(f, x, h):
    answers = []
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        answers.append(float(f(x + e) - f(x - e)) / (2 * h))
    return answers


# %% wrong: every entry moved at once | return: wrong-shape
def numerical_grad(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


# %% wrong: the answer as one column | return: wrong-shape
import torch


def numerical_grad(f, x, h):
    answers = []
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        answers.append((f(x + e) - f(x - e)) / (2 * h))
    return torch.stack(answers).unsqueeze(1)


# %% wrong: the answer left flat | return: wrong-shape
import torch


def numerical_grad(f, x, h):
    slopes = []
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[i] = h
        step = step.reshape(x.shape)
        slopes.append((f(x + step) - f(x - step)) / (2 * h))
    return torch.stack(slopes)


# %% wrong: the answer kept in float32 | return: wrong-dtype
import torch


def numerical_grad(f, x, h):
    g = torch.zeros(x.shape, dtype=torch.float32)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / (2 * h)
    return g


# %% wrong: the answer rounded to whole numbers | return: wrong-dtype
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros(x.shape, dtype=torch.int64)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x + step) - f(x - step)) / (2 * h)).int()
    return grad


# %% wrong: a step so small that it is zero | return: not-finite
import torch


def numerical_grad(f, x, h):
    h = 1e-400  # the smaller the better
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / (2 * h)
    return g


# %% wrong: x moved down by h, and never put back | return: mutated-input
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    flat = x.view(-1)
    for i in range(flat.numel()):
        flat[i] += h
        up = f(x)
        flat[i] -= 2 * h
        down = f(x)
        g.view(-1)[i] = (up - down) / (2 * h)
    return g


# %% wrong: moved and put back in place, where rounding leaves a trace | return: mutated-input
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    flat, gf = x.view(-1), g.view(-1)
    for i in range(flat.numel()):
        flat[i] += h
        up = f(x)
        flat[i] -= 2 * h
        gf[i] = (up - f(x)) / (2 * h)
        flat[i] += h
    return g


# %% wrong: autograd on a detached copy | return: used-autograd
import torch

def numerical_grad(f, x, h):
    z = x.detach().clone().requires_grad_(True)
    f(z).backward()
    return z.grad


# %% wrong: autograd on a copy | return: used-autograd
def numerical_grad(f, x, h):
    x = x.clone().requires_grad_(True)
    f(x).backward()
    return x.grad
