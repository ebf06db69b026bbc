# expect inp.g: extra-factor | wrong-local
import torch


def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    d = (p - torch.eye(inp.shape[1])[targ]) / len(targ)
    inp.g = p * (d - (d * p).sum(-1, keepdim=True))
