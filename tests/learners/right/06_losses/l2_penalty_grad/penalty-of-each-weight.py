import torch


def l2_penalty_grad(w, lam):
    flat = torch.tensor([2.0 * lam * v for v in w.reshape(-1).tolist()])
    w.g = flat.reshape(w.shape)
