# expect inp.g: wrong-point
import torch


def shifted_relu_grad(inp, out):
    inp.g = torch.where(out > 0, out.g, inp * 0)
