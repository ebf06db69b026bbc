# expect inp.g: wrong-sign
import torch


def softmax_grad(inp, out):
    g = torch.zeros_like(inp)
    for n in range(inp.shape[0]):
        for i in range(inp.shape[1]):
            for j in range(inp.shape[1]):
                d = out[n, i] * (1 - out[n, i]) if i == j else out[n, i] * out[n, j]
                g[n, i] += d * out.g[n, j]
    inp.g = g
