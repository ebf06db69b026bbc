# expect inp.g: wrong-local | missing-local
import torch


def softmax_grad(inp, out):
    jac = torch.eye(out.shape[1]) - torch.einsum("bi,bj->bij", out, out)
    inp.g = torch.einsum("bij,bj->bi", jac, out.g)
