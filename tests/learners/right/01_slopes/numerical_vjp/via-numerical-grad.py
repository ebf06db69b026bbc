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
