# expect *: extra-work
import torch

def lin_grad_needed(inp, out, w, b, needs):
    inp.g = out.g @ w.t() if "inp" in needs else torch.zeros_like(inp)
    w.g = inp.t() @ out.g if "w" in needs else torch.zeros_like(w)
    b.g = out.g.sum(0) if "b" in needs else torch.zeros_like(b)
