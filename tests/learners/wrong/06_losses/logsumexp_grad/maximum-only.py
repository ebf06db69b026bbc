# expect inp.g: wrong-local
import torch


def logsumexp_grad(inp, out):
    hot = torch.nn.functional.one_hot(inp.argmax(-1), inp.shape[-1])
    inp.g = hot * out.g.unsqueeze(-1)
