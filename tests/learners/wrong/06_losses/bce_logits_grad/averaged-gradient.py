# expect inp.g: extra-batch-sum
import torch


def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).mean() * torch.ones_like(inp) / len(inp)
