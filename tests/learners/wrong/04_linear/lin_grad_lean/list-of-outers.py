# expect *: memory
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    outers = [torch.outer(x, g) for x, g in zip(inp, out.g)]
    w.g = sum(outers)
    b.g = out.g.sum(0)
