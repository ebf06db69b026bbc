# expect inp.g: partial-batch
import torch

def softmax_grad(inp, out):
    s = out[0]
    j = torch.diag(s) - torch.outer(s, s)
    inp.g = out.g @ j
