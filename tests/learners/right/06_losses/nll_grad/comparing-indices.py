import torch


def nll_grad(inp, targ):
    hit = targ.unsqueeze(1) == torch.arange(inp.size(1))
    inp.g = torch.where(hit, -1 / targ.numel(), 0.0)
