# expect a.g: missing-upstream
# expect b.g: missing-upstream
import torch


def cat_grad(a, b, out, dim):
    a.g = torch.ones_like(a)
    b.g = torch.ones_like(b)
