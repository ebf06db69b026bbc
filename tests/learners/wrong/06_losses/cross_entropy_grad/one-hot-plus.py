# expect inp.g: wrong-sign
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = (inp.softmax(-1) + hot) / len(targ)
