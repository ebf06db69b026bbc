import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.stack([g @ w.T for g in out.g])
    w.g = sum(x.T @ g for x, g in zip(inp, out.g, strict=True))
    b.g = out.g.flatten(0, -2).sum(0)
