# expect inp.g: partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[idx] = out.g
    if len(idx) > 1:
        inp.g[idx[0]] = sum(out.g[k] for k in range(len(idx)) if idx[k] == idx[0])
