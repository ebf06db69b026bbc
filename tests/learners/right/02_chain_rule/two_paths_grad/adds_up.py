import torch
def two_paths_grad(inp, out):
    inp.g = torch.zeros(inp.shape)
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp * inp.cos()
    inp.g += out.g * 2 * inp
