# expect return: hard-coded | wrong-point
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
