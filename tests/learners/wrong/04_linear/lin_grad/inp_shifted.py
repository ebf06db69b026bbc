# expect w.g: wrong-operand
import torch

def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = sum(torch.outer(inp[i - 1], out.g[i]) for i in range(len(inp)))
    b.g = out.g.sum(0)
