# expect inp.g: not-repeatable
import torch


def exp_grad(inp, out):
    jitter = 1 + 0.05 * torch.randn_like(inp)
    inp.g = out * out.g * jitter
