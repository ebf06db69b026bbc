# expect inp.g: wrong-dtype
import numpy as np
import torch


def inv_grad(inp, out):
    x = np.array(inp.tolist())
    g = np.array(out.g.tolist())
    inp.g = torch.from_numpy(-g / x**2)
