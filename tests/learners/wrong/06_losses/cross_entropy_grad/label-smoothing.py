# expect inp.g: wrong-local
import torch


def cross_entropy_grad(inp, targ):
    eps = 0.1
    hot = torch.zeros_like(inp).scatter(1, targ[:, None], 1.0) * (1 - eps) + eps / inp.shape[1]
    inp.g = (inp.softmax(-1) - hot) / len(inp)
