# expect return: mutated-input
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
