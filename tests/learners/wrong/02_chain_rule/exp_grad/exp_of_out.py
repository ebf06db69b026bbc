# expect inp.g: wrong-point
import torch
def exp_grad(inp, out):
    inp.g = torch.exp(out) * out.g
