# expect inp.g: wrong-local
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, 1.0, 0.1) * out.g
