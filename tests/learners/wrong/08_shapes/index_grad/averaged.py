# expect inp.g: mean-for-sum
import torch


def index_grad(inp, out, idx):
    total = torch.zeros_like(inp).index_add(0, idx, out.g)
    counts = torch.bincount(idx, minlength=len(inp)).clamp(min=1)
    inp.g = total / counts.unsqueeze(1)
