# expect inp.g: mean-for-sum | wrong-factor
import torch


def nll_grad(inp, targ):
    inp.g = -torch.nn.functional.one_hot(targ, inp.shape[1]).float() / inp.numel()
