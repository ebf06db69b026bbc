# expect inp.g: broadcast-accident | wrong-operand
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[:, targ] = -1 / len(targ)
