# expect inp.g: extra-factor
import torch


def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = p * (p - hot) / len(targ)
