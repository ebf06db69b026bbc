# expect w.g: unknown | partial-batch
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("bn,btm->nm", inp[:, 0], out.g)
    b.g = out.g.sum((0, 1))
