# numerical_vjp: the gradient of (f(x) * v).sum() at x, one entry of x at a time

# %% right: a generator of dot products
import torch


def numerical_vjp(f, x, v, h):
    def entries():
        for i in range(x.numel()):
            plus, minus = x.flatten().clone(), x.flatten().clone()
            plus[i] += h
            minus[i] -= h
            df = f(plus.view_as(x)) - f(minus.view_as(x))
            yield torch.dot(df.flatten(), v.flatten()).item() / (2 * h)

    return torch.tensor(list(entries()), dtype=x.dtype).view_as(x)


# %% right: columns of the whole Jacobian, transposed, times v
import torch


def numerical_vjp(f, x, v, h):
    n = x.numel()
    columns = []
    for i in range(n):
        e = torch.zeros(n, dtype=x.dtype)
        e[i] = h
        e = e.view_as(x)
        columns.append(((f(x + e) - f(x - e)) / (2 * h)).reshape(-1))
    J = torch.stack(columns, 1)
    return (J.T @ v.reshape(-1)).reshape(x.shape)


# %% right: v times the whole Jacobian, with steps from the identity
import torch


def numerical_vjp(f, x, v, h):
    columns = []
    for e in torch.eye(x.numel(), dtype=x.dtype):
        d = h * e.reshape(x.shape)
        columns.append(((f(x + d) - f(x - d)) / (2 * h)).reshape(-1))
    J = torch.stack(columns, dim=1)
    return (v.reshape(-1) @ J).reshape(x.shape)


# %% right: rows of the transposed Jacobian, times v
import torch


def numerical_vjp(f, x, v, h):
    rows = []
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        rows.append((f(x + step) - f(x - step)).reshape(-1) / (2 * h))
    return (torch.stack(rows) @ v.reshape(-1)).reshape(x.shape)


# %% right: a routine for scalar functions, with steps from the identity
import torch

def _central(s, x, h):
    eye = torch.eye(x.numel(), dtype=x.dtype) * h
    cols = [(s(x + e.view(x.shape)) - s(x - e.view(x.shape))) / (2 * h) for e in eye]
    return torch.stack(cols).view(x.shape)

def numerical_vjp(f, x, v, h):
    return _central(lambda z: (f(z) * v).sum(), x, h)


# %% right: the routine of numerical_grad, applied to (f(x) * v).sum()
import torch


def numerical_grad(f, x, h):
    out = torch.zeros_like(x).reshape(-1)
    for i in range(len(out)):
        e = torch.zeros_like(out)
        e[i] = h
        e = e.reshape(x.shape)
        out[i] = (f(x + e) - f(x - e)) / (2 * h)
    return out.reshape(x.shape)


def numerical_vjp(f, x, v, h):
    return numerical_grad(lambda t: (f(t) * v).sum(), x, h)


# %% right: v times the whole Jacobian, filled column by column
import torch

def numerical_vjp(f, x, v, h):
    J = torch.zeros(v.numel(), x.numel(), dtype=x.dtype)
    for i in range(x.numel()):
        a = x.clone().reshape(-1); a[i] += h
        b = x.clone().reshape(-1); b[i] -= h
        J[:, i] = ((f(a.reshape(x.shape)) - f(b.reshape(x.shape))) / (2*h)).reshape(-1)
    return (v.reshape(-1) @ J).reshape(x.shape)


# %% wrong: only one step forward | return: imprecise
import torch


def numerical_vjp(f, x, v, h):
    base = (f(x) * v).sum()
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        moved = x.clone()
        moved.view(-1)[i] += h
        g.view(-1)[i] = ((f(moved) * v).sum() - base) / h
    return g


# %% wrong: v left out, the outputs summed | return: missing-upstream
import torch


def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)).sum() / (2 * h)
    return g


# %% wrong: divided by 2, and never by h | return: missing-local or wrong-factor
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x + step) - f(x - step)) * v).sum() / 2
    return grad


# %% wrong: v multiplied in twice before the sum | return: extra-factor
import torch


def numerical_vjp(f, x, v, h):
    loss = lambda t: (f(t) * v)
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((loss(x + e) - loss(x - e)) * v).sum() / (2 * h)
    return g


# %% wrong: result multiplied by v once more | return: extra-factor
import torch

def numerical_vjp(f, x, v, h):
    def s(t):
        return (f(t) * v).sum()
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (s(x + e) - s(x - e)) / (2 * h)
    return g * v


# %% wrong: mean over the outputs of the products instead of their sum | return: mean-for-sum
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        rise = f(x + step) - f(x - step)
        grad.view(-1)[i] = (rise * v).mean() / (2 * h)
    return grad


# %% wrong: sum of the outputs times the sum of v | return: sum-of-products
import torch


def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        df = (f(x + e) - f(x - e)) / (2 * h)
        g.view(-1)[i] = df.sum() * v.sum()
    return g


# %% wrong: outputs summed without v, then the result multiplied by v | return: elementwise-for-matmul
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)).sum() / (2 * h)
    return grad * v


# %% wrong: the output f(x) used in place of v | return: value-for-gradient
import torch


def numerical_vjp(f, x, v, h):
    out = f(x)
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((f(x + e) - f(x - e)) * out).sum() / (2 * h)
    return g


# %% wrong: v moved instead of x | return: forward-value or wrong-operand
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(v)
    for i in range(v.numel()):
        step = torch.zeros_like(v)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x) * (v + step)).sum() - (f(x) * (v - step)).sum()) / (2 * h)
    return grad


# %% wrong: mean of the outputs times the sum of v | return: unknown or sum-of-products
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)).mean() * v.sum() / (2 * h)
    return grad


# %% wrong: a step halved until it is zero | return: not-finite
import torch


def numerical_vjp(f, x, v, h):
    for _ in range(2000):
        h = h / 2  # smaller steps, better slope
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((f(x + e) - f(x - e)) * v).sum() / (2 * h)
    return g


# %% wrong: autograd through torch.func.vjp | return: used-autograd
import torch


def numerical_vjp(f, x, v, h):
    out, pull = torch.func.vjp(f, x)
    return pull(v)[0]
