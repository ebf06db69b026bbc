import torch


def linear_grad(inp, out, weight, bias):
    m, n = weight.shape
    inp.g = torch.stack([sum(g[j] * weight[j] for j in range(m)) for g in out.g])
    weight.g = torch.stack([(out.g[:, j : j + 1] * inp).sum(0) for j in range(m)])
    bias.g = torch.stack([out.g[:, j].sum() for j in range(m)])
