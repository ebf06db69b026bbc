# expect a.g: missing-upstream
# expect b.g: missing-upstream
import torch


def add_grad(a, b, out):
    g = torch.ones_like(out)
    a.g = g.sum_to_size(a.shape)
    b.g = g.sum_to_size(b.shape)
