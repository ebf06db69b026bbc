# expect inp.g: overwritten | partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for row in reversed(range(len(idx))):
        inp.g[idx[row]] = out.g[row]
