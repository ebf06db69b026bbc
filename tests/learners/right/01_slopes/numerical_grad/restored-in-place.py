import torch


def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for at in torch.cartesian_prod(*[torch.arange(n) for n in x.shape]).reshape(-1, x.dim()):
        at = tuple(at.tolist())
        saved = x[at].clone()
        x[at] = saved + h
        up = f(x)
        x[at] = saved - h
        down = f(x)
        x[at] = saved
        g[at] = (up - down) / (2 * h)
    return g
