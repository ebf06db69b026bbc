import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_put((idx,), out.g, accumulate=True)
