# expect w.g: extra-batch-sum | summed-wrong-axis
import torch

def l2_penalty_grad(w, lam):
    w.g = torch.full_like(w, 2 * lam * w.sum().item())
