# expect b.g: wrong-shape | missing-batch-sum
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("btn,btm->nm", inp, out.g)
    b.g = out.g.sum(0)
