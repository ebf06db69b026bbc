import torch


def two_paths_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp.cos() * inp
    inp.g += out.g * inp
    inp.g += out.g * inp
