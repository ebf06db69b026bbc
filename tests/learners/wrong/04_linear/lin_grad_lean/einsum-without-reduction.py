# expect *: memory
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    pairs = torch.einsum("bn,bm->bnm", inp, out.g)
    w.g = pairs.sum(dim=0)
    b.g = out.g.sum(dim=0)
