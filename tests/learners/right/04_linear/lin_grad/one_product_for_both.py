import torch

def lin_grad(inp, out, w, b):
    ones = torch.ones(inp.shape[0], 1, dtype=inp.dtype)
    both = torch.cat((inp, ones), 1).t() @ out.g
    w.g, b.g = both[:-1], both[-1]
    inp.g = torch.nn.functional.linear(out.g, w)
