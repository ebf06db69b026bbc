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
