# expect inp.g: wrong-point
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(inp > 0.5, out.g, torch.zeros_like(inp))
