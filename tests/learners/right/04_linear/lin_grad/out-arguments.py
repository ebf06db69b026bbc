import torch


def lin_grad(inp, out, w, b):
    inp.g = torch.empty_like(inp)
    torch.matmul(out.g, w.t(), out=inp.g)
    w.g = torch.empty_like(w)
    torch.mm(inp.t(), out.g, out=w.g)
    b.g = torch.empty_like(b)
    torch.sum(out.g, 0, out=b.g)
