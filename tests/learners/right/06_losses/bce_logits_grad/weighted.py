import torch


def bce_logits_grad(inp, targ):
    n = inp.shape[0]
    inp.g = torch.where(inp > 0, 1 / (1 + (-inp).exp()), inp.exp() / (1 + inp.exp())) / n - targ / n
