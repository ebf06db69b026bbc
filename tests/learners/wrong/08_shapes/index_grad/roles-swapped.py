# expect inp.g: error | wrong-operand | transposed | unknown
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for i in range(len(idx)):
        inp.g[i] += out.g[idx[i]]
