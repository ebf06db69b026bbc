# expect w.g: unknown | partial-batch
import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(0, len(inp), 2):
        w.g += torch.outer(inp[i], out.g[i])
    b.g = out.g.sum(0)
