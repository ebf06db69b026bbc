import torch


def pow_grad(inp, out, k):
    upstream = out.g
    total = torch.zeros_like(inp)
    for used in range(k):
        others = [inp for j in range(k) if j != used]
        term = upstream.clone()
        for o in others:
            term *= o
        total += term
    inp.g = total
