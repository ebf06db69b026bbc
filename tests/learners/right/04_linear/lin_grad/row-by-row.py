import torch


def lin_grad(inp, out, w, b):
    inp.g, w.g, b.g = torch.zeros(inp.shape), torch.zeros(w.shape), torch.zeros(b.shape)
    for r in range(inp.shape[0]):
        inp.g[r] = w @ out.g[r]
        w.g += torch.outer(inp[r], out.g[r])
        b.g += out.g[r]
