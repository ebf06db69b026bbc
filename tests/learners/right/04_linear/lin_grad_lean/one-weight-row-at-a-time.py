import torch


def lin_grad_lean(inp, out, w, b):
    w.g = torch.stack([(column[:, None] * out.g).sum(0) for column in inp.t()])
    inp.g = torch.nn.functional.linear(out.g, w)
    b.g = out.g.sum(0)
