import torch


def index_grad(inp, out, idx):
    inp.g = torch.stack([out.g[idx == row].sum(0) for row in range(inp.shape[0])])
