# expect w.g: partial-batch
# expect b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    b.g = torch.zeros_like(b)
    for i in range(len(inp) // 2):
        w.g += inp[2*i:2*i+2].t() @ out.g[2*i:2*i+2]
        b.g += out.g[2*i:2*i+2].sum(0)
