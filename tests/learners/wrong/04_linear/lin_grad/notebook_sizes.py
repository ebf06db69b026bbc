# expect *: error | hard-coded
import torch
def lin_grad(inp, out, w, b):
    inp.g = torch.zeros(64, 784)
    inp.g[:] = out.g @ w.t()
    w.g = torch.zeros(784, 50)
    w.g[:] = inp.t() @ out.g
    b.g = torch.zeros(50)
    b.g[:] = out.g.sum(0)
