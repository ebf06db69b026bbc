import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = torch.empty_like(inp)
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for i, (x, g) in enumerate(zip(inp, out.g)):
        inp.g[i] = w @ g
        w.g.addr_(x, g)
        b.g.add_(g)
