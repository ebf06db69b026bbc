# expect return: mutated-input
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
