import torch


def bmm_grad(a, b, out):
    a.g = torch.einsum("znm,zkm->znk", out.g, b)
    b.g = torch.einsum("znk,znm->zkm", a, out.g)
