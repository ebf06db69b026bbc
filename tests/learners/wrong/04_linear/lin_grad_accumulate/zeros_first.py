# expect w.g: overwritten
# expect b.g: overwritten
import torch
def lin_grad_accumulate(inp, out, w, b):
    gi = out.g @ w.t()
    inp.g = inp.g + gi if hasattr(inp, "g") else gi
    w.g = torch.zeros_like(w)
    b.g = torch.zeros_like(b)
    w.g += inp.t() @ out.g
    b.g += out.g.sum(0)
