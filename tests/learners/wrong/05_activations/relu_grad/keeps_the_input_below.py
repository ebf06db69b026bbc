# expect inp.g: wrong-local | unknown
import torch


def relu_grad(inp, out):
    inp.g = torch.where(inp > 0, out.g, inp)
