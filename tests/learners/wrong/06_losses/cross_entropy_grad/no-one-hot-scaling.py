# expect inp.g: wrong-factor
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = (inp.softmax(-1) - hot) / len(targ) / 2
