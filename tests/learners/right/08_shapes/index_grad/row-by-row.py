import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for place in range(len(idx)):
        inp.g[idx[place]] += out.g[place]
