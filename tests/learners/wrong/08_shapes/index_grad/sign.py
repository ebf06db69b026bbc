# expect inp.g: wrong-sign
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(0, idx, out.g, alpha=-1)
