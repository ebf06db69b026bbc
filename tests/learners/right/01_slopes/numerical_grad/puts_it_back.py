import itertools
import torch

def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for idx in itertools.product(*[range(s) for s in x.shape]):
        keep = x[idx].item()
        try:
            x[idx] = keep + h
            hi = float(f(x))
            x[idx] = keep - h
            lo = float(f(x))
        finally:
            x[idx] = keep
        g[idx] = (hi - lo) / (2 * h)
    return g
