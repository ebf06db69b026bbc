import torch


def hinge_grad(inp, targ):
    inp.g = torch.tensor([-t / len(targ) if t * x < 1 else 0.0 for x, t in zip(inp.tolist(), targ.tolist())])
