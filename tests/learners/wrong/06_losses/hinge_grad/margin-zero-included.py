# expect inp.g: wrong-point
import torch


def hinge_grad(inp, targ):
    inp.g = torch.where(targ * inp > 0, torch.zeros_like(inp), -targ) / len(inp)
