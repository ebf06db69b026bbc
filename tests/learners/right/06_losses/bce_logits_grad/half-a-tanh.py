import math

import torch


def bce_logits_grad(inp, targ):
    n = inp.shape[0]
    values = [(0.5 + 0.5 * math.tanh(x / 2) - t) / n for x, t in zip(inp.tolist(), targ.tolist())]
    inp.g = torch.tensor(values)
