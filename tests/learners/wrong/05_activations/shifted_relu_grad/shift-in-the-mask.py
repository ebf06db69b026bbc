# expect inp.g: wrong-local
import torch


def shifted_relu_grad(inp, out):
    mask = torch.where(inp > 0, 1.0, -0.5)
    inp.g = mask * out.g
