# expect inp.g: partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for k in range(len(idx)):
        if k > 0 and idx[k] == idx[k - 1]:
            inp.g[idx[k]] += out.g[k]
        else:
            inp.g[idx[k]] = out.g[k]
