# expect return: imprecise
import torch


def df_dx(x, w, b):
    h, cols = 1e-3, []
    for e in torch.eye(len(x)):
        up, down = (x + h * e) @ w + b, (x - h * e) @ w + b
        cols.append((up - down) / (2 * h))
    return torch.stack(cols, dim=1)
