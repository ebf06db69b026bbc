# expect *: overwritten
import torch


def lin_grad_accumulate(inp, out, w, b):
    for t in (inp, w, b):
        t.g = torch.zeros_like(t)
    inp.g += out.g @ w.t()
    w.g += inp.t() @ out.g
    b.g += out.g.sum(0)
