# expect return: imprecise | unknown
import torch

def pick_h(dtype):
    if dtype == torch.float64:
        return 5e-3
    return 6e-6
