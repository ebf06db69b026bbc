# expect return: extra-batch-sum | summed-wrong-axis
import torch

def dout_dx(x):
    y = x + 2
    return torch.ones_like(x) * (6 * y).mean() / x.numel()
