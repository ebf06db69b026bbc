import torch

def numerical_grad(f, x, h):
    g = torch.zeros(x.shape)
    for i in range(x.numel()):
        step = torch.zeros(x.numel())
        step[i] = h
        step = step.reshape(x.shape)
        g.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return g
