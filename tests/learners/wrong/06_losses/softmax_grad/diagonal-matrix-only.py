# expect inp.g: missing-path
import torch


def softmax_grad(inp, out):
    jac = torch.diag_embed(out)
    inp.g = (jac @ out.g.unsqueeze(-1)).squeeze(-1)
