import torch


def hinge_grad(inp, targ):
    g = torch.zeros(len(inp))
    g[(targ == 1) & (inp < 1)] = -1
    g[(targ == -1) & (inp > -1)] = 1
    inp.g = g / len(g)
