import torch

def numerical_grad(f, x, h):
    grads = torch.zeros_like(x)
    for i in range(x.numel()):
        up, down = x.clone(), x.clone()
        up.view(-1)[i] += h
        down.view(-1)[i] -= h
        grads.view(-1)[i] = (f(up) - f(down)) / (2 * h)
    return grads
