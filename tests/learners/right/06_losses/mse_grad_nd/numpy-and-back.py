import numpy as np
import torch


def mse_grad_nd(inp, targ):
    d = np.subtract(inp.numpy(), targ.numpy(), dtype=np.float64)
    inp.g = torch.from_numpy((2 / d.size * d).astype(np.float32))
