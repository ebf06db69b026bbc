import torch


def gelu_grad(inp, out):
    x = inp.double()
    phi = torch.special.ndtr(x)
    bell = torch.distributions.Normal(0.0, 1.0).log_prob(x).exp()
    inp.g = ((phi + x * bell) * out.g).to(inp.dtype)
