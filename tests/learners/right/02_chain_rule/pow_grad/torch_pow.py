import torch
def pow_grad(inp, out, k):
    inp.g = torch.pow(inp, k - 1).mul(k).mul(out.g)
