import numpy as np
import torch


def logsumexp_grad(inp, out):
    x = inp.numpy()
    e = np.exp(x - x.max(1, keepdims=True))
    inp.g = torch.tensor(e / e.sum(1, keepdims=True) * out.g.numpy()[:, None])
