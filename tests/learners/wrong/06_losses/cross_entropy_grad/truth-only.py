# expect inp.g: missing-path
import torch


def cross_entropy_grad(inp, targ):
    inp.g = -torch.eye(inp.shape[1])[targ] / len(targ)
