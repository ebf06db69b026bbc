# expect inp.g: wrong-shape | hard-coded
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros(len(targ), 10)
    inp.g[range(len(targ)), targ] = -1 / len(targ)
