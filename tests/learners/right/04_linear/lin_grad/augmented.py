import torch


def lin_grad(inp, out, w, b):
    import torch
    rows = torch.cat([inp, torch.ones(len(inp), 1, dtype=inp.dtype)], 1)
    both = rows.t() @ out.g
    inp.g, w.g, b.g = out.g @ w.t(), both[:-1], both[-1]
