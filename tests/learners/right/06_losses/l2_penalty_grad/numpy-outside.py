import numpy as np
import torch


def l2_penalty_grad(w, lam):
    w.g = torch.from_numpy(np.ascontiguousarray(w.numpy() * np.float32(2 * lam)))
