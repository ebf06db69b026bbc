# expect *: used-autograd
import torch
def lin_grad(inp, out, w, b):
    i, ww, bb = [t.clone().requires_grad_() for t in (inp, w, b)]
    res = i @ ww + bb
    gi, gw, gb = torch.autograd.grad(res, [i, ww, bb], out.g)
    inp.g, w.g, b.g = gi, gw, gb
