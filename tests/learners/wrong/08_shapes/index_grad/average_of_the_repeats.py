# expect inp.g: mean-for-sum
import torch


def index_grad(inp, out, idx):
    total = inp.new_zeros(inp.shape).index_add(0, idx, out.g)
    count = torch.bincount(idx, minlength=len(inp)).clamp_min(1)
    inp.g = total / count.unsqueeze(1)
