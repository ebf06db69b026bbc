import numpy as np
import torch


def shifted_relu_grad(inp, out):
    slope = np.heaviside(inp.numpy(), 0.5)
    inp.g = torch.from_numpy(slope * out.g.numpy()).to(inp.dtype)
