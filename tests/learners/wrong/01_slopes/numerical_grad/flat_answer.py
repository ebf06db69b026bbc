# expect return: wrong-shape
import torch


def numerical_grad(f, x, h):
    slopes = []
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[i] = h
        step = step.reshape(x.shape)
        slopes.append((f(x + step) - f(x - step)) / (2 * h))
    return torch.stack(slopes)
