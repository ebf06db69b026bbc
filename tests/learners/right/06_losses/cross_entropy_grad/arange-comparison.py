import torch


def cross_entropy_grad(inp, targ):
    hot = torch.arange(inp.size(1)) == targ[:, None]
    inp.g = (inp.softmax(1) - hot.float()) / inp.size(0)
