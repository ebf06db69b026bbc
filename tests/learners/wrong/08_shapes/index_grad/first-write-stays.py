# expect inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    g, seen = torch.zeros_like(inp), set()
    for place, row in enumerate(idx.tolist()):
        if row not in seen:
            g[row] = out.g[place]
            seen.add(row)
    inp.g = g
