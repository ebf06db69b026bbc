# expect inp.g: wrong-point | missing-local
import torch


def cross_entropy_grad(inp, targ):
    inp.g = (inp - torch.eye(inp.shape[1])[targ]) / len(targ)
