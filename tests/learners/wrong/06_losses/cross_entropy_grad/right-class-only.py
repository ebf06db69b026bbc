# expect inp.g: diagonal-only | missing-path
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = hot * (inp.softmax(-1) - 1) / len(targ)
