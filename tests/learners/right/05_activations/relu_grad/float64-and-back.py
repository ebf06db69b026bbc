import numpy as np
import torch


def relu_grad(inp, out):
    x = inp.numpy().astype(np.float64)
    inp.g = torch.tensor((x > 0) * out.g.numpy(), dtype=torch.float32)
