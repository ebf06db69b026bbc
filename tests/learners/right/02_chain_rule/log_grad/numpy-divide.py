import numpy as np
import torch


def log_grad(inp, out):
    g = np.divide(out.g.numpy(), inp.numpy())
    assert g.dtype == np.float32
    inp.g = torch.tensor(g)
