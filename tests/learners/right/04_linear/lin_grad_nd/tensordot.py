import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.tensordot(out.g, w, dims=([2], [1]))
    w.g = torch.tensordot(inp, out.g, dims=([0, 1], [0, 1]))
    b.g = torch.tensordot(torch.ones(out.shape[:2]), out.g, dims=2)
