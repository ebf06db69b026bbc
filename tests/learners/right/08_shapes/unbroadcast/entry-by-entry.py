import itertools

import torch


def unbroadcast(g, shape):
    total = torch.zeros(shape)
    new = g.dim() - len(shape)
    for index in itertools.product(*map(range, g.shape)):
        home = tuple(0 if s == 1 else i for i, s in zip(index[new:], shape))
        total[home] += g[index]
    return total
