# expect inp.g: error
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(1, idx, out.g)
