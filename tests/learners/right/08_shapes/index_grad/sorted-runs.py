import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    order = idx.argsort()
    rows, counts = idx[order].unique_consecutive(return_counts=True)
    for row, part in zip(rows, out.g[order].split(counts.tolist())):
        inp.g[row] = part.sum(0)
