import torch


def lin_grad(inp, out, w, b):
    w.g = torch.bmm(inp.unsqueeze(2), out.g.unsqueeze(1)).sum(0)
    inp.g = torch.bmm(w.expand(len(inp), *w.shape), out.g.unsqueeze(2)).squeeze(2)
    b.g = out.g.sum(-2)
