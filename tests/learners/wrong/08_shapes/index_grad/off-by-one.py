# expect inp.g: partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for k in range(1, len(idx)):
        inp.g[idx[k]] += out.g[k]
