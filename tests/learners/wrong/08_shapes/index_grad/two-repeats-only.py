# expect inp.g: partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for i in idx.unique():
        rows = (idx == i).nonzero().flatten()
        inp.g[i] = out.g[rows[0]]
        if len(rows) > 1:
            inp.g[i] += out.g[rows[1]]
