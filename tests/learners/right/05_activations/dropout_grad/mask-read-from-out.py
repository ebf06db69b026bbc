import torch


def dropout_grad(inp, out, mask, p):
    keep = 1 - p
    inp.g = torch.where(out != 0, out.g, 0.0).div(keep)
