# expect inp.g: inverse-for-transpose | wrong-local | unknown
import torch


def cumsum_grad(inp, out, dim):
    before = torch.zeros_like(out.g.narrow(dim, 0, 1))
    inp.g = torch.diff(out.g, dim=dim, prepend=before)
