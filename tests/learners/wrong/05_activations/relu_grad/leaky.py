# expect inp.g: wrong-local
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, 0.01 * out.g)
