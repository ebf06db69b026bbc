# expect inp.g: missing-path
import torch


def two_paths_grad(inp, out):
    product = torch.sin(inp) + inp * torch.cos(inp)
    inp.g = out.g * product
