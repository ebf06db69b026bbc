# expect inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[-1])
    inp.g = -hot / inp.exp() / len(targ)
