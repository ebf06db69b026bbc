# expect inp.g: wrong-operand
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ - 1]
    inp.g = (inp.softmax(-1) - hot) / len(targ)
