import torch


def clamp_grad(inp, out, lo, hi):
    inp.g = torch.where(out == inp, out.g, 0.0)
