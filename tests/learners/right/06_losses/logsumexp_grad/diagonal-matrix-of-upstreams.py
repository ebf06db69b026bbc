import torch


def logsumexp_grad(inp, out):
    inp.g = torch.diag(out.g) @ torch.softmax(inp, dim=1)
