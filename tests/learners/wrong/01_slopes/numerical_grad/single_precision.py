# expect return: wrong-dtype
import torch

def numerical_grad(f, x, h):
    out = torch.zeros(x.numel(), dtype=torch.float32)
    for i in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[i] = h
        e = e.reshape(x.shape)
        out[i] = (f(x + e) - f(x - e)) / (2 * h)
    return out.reshape(x.shape)
