# expect w.g: wrong-factor
# expect b.g: wrong-factor
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[-1:].t() @ out.g[-1:]
    b.g = out.g[-1]
    for i in range(len(inp)):
        w.g = w.g + torch.outer(inp[i], out.g[i])
        b.g = b.g + out.g[i]
