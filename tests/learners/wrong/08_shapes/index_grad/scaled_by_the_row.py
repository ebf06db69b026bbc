# expect inp.g: extra-factor | wrong-operand
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g.index_add_(0, idx, out.g * out)
