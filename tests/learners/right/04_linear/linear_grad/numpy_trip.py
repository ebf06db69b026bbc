import torch
def linear_grad(inp, out, weight, bias):
    g, x, wt = (t.numpy() for t in (out.g, inp, weight))
    inp.g = torch.from_numpy(g @ wt)
    weight.g = torch.from_numpy(g.T @ x)
    bias.g = torch.from_numpy(g.sum(axis=0))
