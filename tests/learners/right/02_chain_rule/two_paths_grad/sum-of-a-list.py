import torch


def two_paths_grad(inp, out):
    paths = [torch.sin(inp), inp * torch.cos(inp), inp, inp]
    inp.g = torch.stack([out.g * p for p in paths]).sum(dim=0)
