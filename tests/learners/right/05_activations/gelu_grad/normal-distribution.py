import torch


def gelu_grad(inp, out):
    n = torch.distributions.Normal(0.0, 1.0)
    inp.g = out.g * (n.cdf(inp) + inp * n.log_prob(inp).exp())
