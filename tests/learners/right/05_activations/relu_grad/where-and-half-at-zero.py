import torch


def relu_grad(inp, out):
    inp.g = out.g * torch.heaviside(inp, torch.tensor(0.5))
