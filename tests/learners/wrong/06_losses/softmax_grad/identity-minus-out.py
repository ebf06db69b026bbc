# expect inp.g: missing-local
import torch


def softmax_grad(inp, out):
    # forgot that row i is scaled by out[i]
    jac = torch.eye(out.shape[1]) - out.unsqueeze(1)
    inp.g = (jac @ out.g.unsqueeze(-1)).squeeze(-1)
