import torch
from itertools import product


def numerical_grad(f, x, h):
    def nudged(index, by):
        y = x.clone()
        y[index] += by
        return f(y)

    g = torch.empty_like(x)
    for index in product(*map(range, x.shape)):
        g[index] = (nudged(index, h) - nudged(index, -h)) / (2 * h)
    return g


x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
(x**3).sum().backward()
assert torch.allclose(x.grad, numerical_grad(lambda t: (t**3).sum(), x.detach(), 1e-5))
