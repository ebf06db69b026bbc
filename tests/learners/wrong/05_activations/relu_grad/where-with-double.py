# expect inp.g: wrong-dtype
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g.double(), 0.0)
