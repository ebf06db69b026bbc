# expect inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[idx] = out.g
