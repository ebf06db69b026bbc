# expect return: imprecise | unknown
import torch

def pick_h(dtype):
    # smaller is better, so take the smallest step there is
    return torch.finfo(dtype).eps
