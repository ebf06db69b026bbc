# expect inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    where = idx.unsqueeze(1).expand_as(out.g)
    inp.g = torch.zeros_like(inp).scatter_(0, where, out.g)
