# expect inp.g: missing-local
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = (inp.exp() - hot) / len(targ)
