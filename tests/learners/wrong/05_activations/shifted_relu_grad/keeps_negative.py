# expect inp.g: inverted-mask
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(inp > 0, 0.0, out.g)
