import torch

def numerical_vjp(f, x, v, h):
    J = torch.zeros(v.numel(), x.numel(), dtype=x.dtype)
    for i in range(x.numel()):
        a = x.clone().reshape(-1); a[i] += h
        b = x.clone().reshape(-1); b[i] -= h
        J[:, i] = ((f(a.reshape(x.shape)) - f(b.reshape(x.shape))) / (2*h)).reshape(-1)
    return (v.reshape(-1) @ J).reshape(x.shape)
