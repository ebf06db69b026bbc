import torch


def mean_grad(inp, out, dim, keepdim):
    axis = dim % inp.ndim
    shape = [1 if i == axis else s for i, s in enumerate(inp.shape)]
    g = torch.empty(inp.shape)
    g[:] = out.g.view(shape)
    inp.g = g / inp.shape[axis]
