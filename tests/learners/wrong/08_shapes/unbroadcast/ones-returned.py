# expect return: missing-upstream
import torch


def unbroadcast(g, shape):
    return torch.ones(g.shape).sum_to_size(shape)
