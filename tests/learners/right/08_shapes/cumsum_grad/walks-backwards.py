import torch


def cumsum_grad(inp, out, dim):
    inp.g = torch.zeros_like(inp)
    running = torch.zeros_like(out.g.select(dim, 0))
    for i in reversed(range(inp.shape[dim])):
        running = running + out.g.select(dim, i)
        inp.g.select(dim, i).copy_(running)
