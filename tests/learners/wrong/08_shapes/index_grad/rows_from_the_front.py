# expect inp.g: error | wrong-operand
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[: len(idx)] += out.g
