# expect inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    g = torch.zeros(inp.shape)
    for place, row in enumerate(idx):
        g[row] = out.g[place]
    inp.g = g
