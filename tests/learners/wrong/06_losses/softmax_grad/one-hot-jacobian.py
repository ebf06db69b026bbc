# expect inp.g: missing-path | diagonal-only
import torch


def softmax_grad(inp, out):
    jac = torch.stack([torch.diag(o) for o in out])
    inp.g = torch.einsum("bij,bj->bi", jac, out.g)
