# expect inp.g: wrong-local | missing-local
import torch


def dropout_grad(inp, out, mask, p):
    inp.g = torch.where(mask == 1, out.g / (1 - p), out.g)
