# expect inp.g: wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    inside = (inp > lo) & (inp < hi)
    inp.g = torch.where(inside, out.g, out.g / 2)
