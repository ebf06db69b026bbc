# expect inp.g: missing-upstream
import torch


def softmax_grad(inp, out):
    jac = torch.diag_embed(out) - out.unsqueeze(2) * out.unsqueeze(1)
    inp.g = jac.sum(-1)
