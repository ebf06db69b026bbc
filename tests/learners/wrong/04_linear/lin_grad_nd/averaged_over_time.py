# expect b.g: mean-for-sum
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("btn,btm->nm", inp, out.g)
    b.g = out.g.mean(1).sum(0)
